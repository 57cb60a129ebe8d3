"""An auditor's page of a certificate: its claim in words, what was proved anew, and how closely.

It is one file without a network or a script. Everything in a certificate is somebody else's text,
and is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from html import escape

from gdpbridge.risk import risk
from gdpbridge_verify.check import Verification
from gdpbridge_verify.document import Cell, Certificate
from gdpbridge_verify.evidence import Answer
from gdpbridge_verify.numbers import about, binary

__all__ = ["certificate_page"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #565e68; --paper: #fff; --edge: #c9ced6;
  --wash: #f5f6f8; --bar: #0b62a8; --yes: #05603a; --no: #9b1c1c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a9b1bb; --paper: #14171b;
  --edge: #424a54; --wash: #1d2127; --bar: #7cc4ff; --yes: #6fdca8; --no: #ffb4ab; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 56rem; padding: 0 1rem 2rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, "Liberation Sans", sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.soft { color: var(--soft); } .yes { color: var(--yes); } .no { color: var(--no); }
.box { border: 1px solid var(--edge); border-radius: 6px; background: var(--wash);
  padding: .6rem 1rem; font-size: 1.1rem; }
p, li { overflow-wrap: anywhere; } li { margin: .25rem 0; }
figure { margin: 1rem 0; } figcaption { margin-top: .5rem; }
/* places along are shares of the width, so that letters are as large on a phone */
.picture { padding: 0 1rem 0 3.9rem; } svg { display: block; width: 100%; overflow: visible; }
svg rect { fill: var(--bar); } svg line { stroke: var(--edge); }
svg text { fill: var(--soft); font: 13px system-ui, sans-serif; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--edge);
  vertical-align: top; }
td:last-child { white-space: nowrap; }
@media (max-width: 40rem) { table { font-size: .8rem; } th, td { padding-right: .5rem; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
# of a picture, in pixels, and the share of its width between two names on the axis
_HEIGHT, _TOP, _FOOT, _APART = 220, 12, 36, 1 / 7
# margins from 1e-12 to 1 are told apart by their height
_DECADES = 12
# what a table shows of many cells
_MOST_ROWS = 400
_LONGEST = 20


def certificate_page(document: Certificate, found: Verification, sha256: str, checker: str) -> str:
    """Return the page.

    Args:
        document: the certificate.
        found: what checking it came to.
        sha256: of the file that was checked.
        checker: what checked it, and its version.
    """
    verdict = (
        '<span class="yes">proved again</span>'
        if found.valid
        else '<span class="no">refused</span>'
    )
    groups = list(_groups(document))
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        f"<title>Certificate</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n",
        f"<h1>Privacy certificate: {verdict}</h1>\n",
        f'<p class="soft">of {escape(_mechanism(document))}</p>\n',
        '<div class="box">\n',
        *(f"<p>{escape(one)}</p>\n" for one in _in_words(document, found)),
        "</div>\n",
        "<h2>What was recomputed</h2>\n",
        f"<p>{escape(checker)} computed every line below from the mechanism's parameters alone, in "
        "exact and outward rounded arithmetic. Nothing of the program that wrote the certificate "
        "was used.</p>\n" if found.valid else f"<p>The check ended {escape(found.reason)}.</p>\n",
        _list(found.claims[:-1]),
        *(_picture(name, cells, place, found) for name, place, cells in groups),
        "<h2>What is assumed</h2>\n",
        _list(_assumed(found)),
        "<h2>The mathematics</h2>\n",
        _mathematics(document),
        *(_table(name, cells, place, found) for name, place, cells in groups),
        "<h2>The document</h2>\n",
        _list(
            [
                f"SHA-256 {sha256}",
                f"written by {document.generator}",
                *(
                    f"it names {one.file}, {one.count} times, SHA-256 {one.sha256}"
                    for one in document.releases or ()
                ),
            ]
        ),
        "</body>\n</html>\n",
    ]  # fmt: skip
    return "".join(parts)


# --- in words ---------------------------------------------------------------------------------


def _mechanism(document: Certificate) -> str:
    if document.releases is not None:
        count = sum(one.count for one in document.releases)
        return f"{count} releases of the same data, composed"
    said = document.mechanism.items()
    given = ", ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in said if value)
    return given.removeprefix("kind ")


def _plain(text: str) -> str:
    """Return a number without an exponent, if it is not a long one."""
    try:
        plain = f"{Decimal(text):f}"
    except ArithmeticError:
        return text
    return plain if len(plain) <= _LONGEST else text


def _in_words(document: Certificate, found: Verification) -> Iterator[str]:
    claim = document.claim
    if not found.valid:
        yield "This certificate does not prove what it claims. Do not rely on it."
        return
    if claim.statement != "answers":
        yield from _of_mu(document)
    yield from map(_answer, claim.answers or ())
    if document.beyond is not None:
        there = ", ".join(f"{name} {value}" for name, value in document.beyond.changes.items())
        yield (
            f"The parameter is calibrated to the target {document.beyond.target}: with {there} "
            "this number would be above it."
        )


def _answer(one: Answer) -> str:
    eps, delta = (one.high, one.at) if one.quantity == "epsilon" else (one.at, one.high)
    if one.quantity in ("delta", "epsilon") and eps != "inf" and delta != "1":
        return (
            f"With a person's record no event is likelier than e^{eps} times its chance without "
            f"it, plus {delta}: (ε, δ)-differential privacy with ε = {eps} and δ = {delta}."
        )
    wrong = f"An attacker who is wrong about at most {one.at} of the records that were not used"
    if one.quantity == "tpr" and one.high != "1":
        least = "" if one.low == "0" else f", and one finds {one.low}"
        return f"{wrong} finds at most {one.high} of those that were{least}."
    if one.quantity == "beta" and one.low != "0":
        most = "" if one.high == "1" else f", and one misses no more than {one.high}"
        return f"{wrong} misses at least {one.low} of those that were{most}."
    if one.quantity == "regret" and one.high != "1":
        return (
            "No error rate of an attacker is off by more than "
            f"{one.high} from what this μ says, and one is by {one.low}."
        )
    if one.quantity == "advantage" and one.high != "1":
        return (
            "The share that an attacker finds of the records that were used exceeds the share of "
            f"false alarms by at most {one.high}."
        )
    where = "" if one.at is None else f" at {one.at}"
    return f"{one.quantity}{where} is no less than {one.low}."


def _of_mu(document: Certificate) -> Iterator[str]:
    claim = document.claim
    if claim.mu.high == "inf":
        yield "No number μ is claimed that would bound what an attacker can find out."
        return
    head = "" if claim.eps_h is None else f" for every ε up to {claim.eps_h}"
    yield f"Gaussian differential privacy with μ = {claim.mu.high}{head}."
    if float(claim.failure_probability) < 1:
        yield risk(claim.mu.high, claim.failure_probability).sentence
    if claim.mu.low not in ("0", "inf"):
        yield f"No μ below {claim.mu.low} would do, or follow from what is known of the mechanism."


def _assumed(found: Verification) -> Iterator[str]:
    if found.claims:
        yield found.claims[-1].removeprefix("assumed, not proved: ")
    yield "that the program that ran is this mechanism, with sound random numbers"
    yield "that the checker and the library for numbers that it uses (GMP, MPFR) are right"


# --- the cells ----------------------------------------------------------------------------------


def _groups(document: Certificate) -> Iterator[tuple[str, str, Sequence[Cell]]]:
    """Yield the lists of cells: their name, where they stand, and they themselves."""
    if document.evidence.cells:
        yield "", "evidence", document.evidence.cells
    for number, one in enumerate(document.evidence.directions or ()):
        if one.cells:
            which = "with the record against without", "without the record against with"
            yield which[number], f"evidence.directions[{number}]", one.cells


def _picture(name: str, cells: Sequence[Cell], place: str, found: Verification) -> str:
    """Draw each cell as a bar from its ε on, as high as the margin on it."""
    margins, floor = dict(found.margins), _HEIGHT - _FOOT
    end = float(binary(cells[-1].high))
    # small ε are where much happens
    scale = 100 / math.asinh(end)
    parts = []
    for number, cell in enumerate(cells):
        low, high = (scale * math.asinh(float(binary(one))) for one in (cell.low, cell.high))
        height = _height(margins.get(f"{place}.cells[{number}]"), floor - _TOP)
        parts.append(
            f'<rect x="{low:.3f}%" y="{floor - height:.2f}" '
            f'width="{max(high - low - 0.15, 0.07):.3f}%" height="{height:.2f}"/>'
        )
    for decade in range(0, _DECADES + 1, 4):
        y = floor - (floor - _TOP) * (1 - decade / _DECADES)
        label = "1" if decade == 0 else f"10⁻{'⁴⁸'[decade // 4 - 1]}" if decade < 12 else "≤10⁻¹²"
        parts.append(f'<line x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="-6" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for eps in _ticks(end):
        x = scale * math.asinh(eps)
        parts.append(f'<text x="{x:.2f}%" y="{floor + 18}" text-anchor="middle">{eps:g}</text>')
    parts.append(f'<text x="100%" y="{_HEIGHT - 3}" text-anchor="end">ε</text>')
    title = f"{len(cells)} cells cover ε from 0 to {end:.6g}{f', {name}' if name else ''}"
    return (
        f'<figure><div class="picture"><svg height="{_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg></div>'
        f'<figcaption class="soft">{escape(title)}. A bar is a range of ε on '
        "which the claim was proved at once; its height is how much is to spare there, on a "
        "logarithmic scale. Where the claim is tight the bar is short; without one, nothing is "
        "left to prove.</figcaption></figure>\n"
    )


def _height(margin: float | None, whole: float) -> float:
    if margin is None:
        return 0.0
    decades = math.log10(max(margin, 10.0**-_DECADES)) + _DECADES
    return max(min(decades / _DECADES, 1.0) * whole, 2.0)


def _ticks(end: float) -> Iterator[float]:
    """Yield some ε to name on an axis of asinh ε."""
    last = -1.0
    for eps in (0.0, *(m * 10.0**p for p in range(-3, 6) for m in (1, 2, 5))):
        if eps <= end and math.asinh(eps) - last > math.asinh(end) * _APART:
            yield eps
            last = math.asinh(eps)


def _table(name: str, cells: Sequence[Cell], place: str, found: Verification) -> str:
    margins = dict(found.margins)
    rows = [
        (
            f"[{about(binary(cell.low))}, {about(binary(cell.high))}]",
            "ends" if cell.centre is None else f"about {about(binary(cell.centre))}",
            "nothing left" if margin is None else f"{margin:.3g}",
        )
        for number, cell in enumerate(cells[:_MOST_ROWS])
        for margin in [margins.get(f"{place}.cells[{number}]")]
    ]
    more = len(cells) - len(rows)
    heads = (
        f"<tr>{''.join(f'<th>{one}</th>' for one in ('ε from, to', 'proved at', 'to spare'))}</tr>"
    )
    body = "".join(f"<tr>{''.join(f'<td>{escape(one)}</td>' for one in row)}</tr>" for row in rows)
    rest = f'<p class="soft">and {more:,} more</p>' if more else ""
    title = f"<h3>Cells{f', {escape(name)}' if name else ''}</h3>"
    return f'{title}<div class="wide"><table>{heads}{body}</table></div>{rest}\n'


def _mathematics(document: Certificate) -> str:
    lines = [
        "δ(ε) is the privacy profile of the mechanism: the least δ with which it is (ε, δ)-"
        "differentially private. δ_μ(ε) = Φ(-ε/μ + μ/2) - e^ε·Φ(-ε/μ - μ/2) is that of a Gaussian "
        "mechanism.",
    ]
    if any(True for _ in _groups(document)):
        lines.append(
            "On each cell δ ≤ δ_μ is proved for every ε in it at once: from its ends, as both "
            "curves fall; or about a centre, from the difference there, its slope, and a bound of "
            "its curvature on the whole cell. Each cell begins where the last one ended, so that "
            "none is left out."
        )
    if document.releases:
        lines.append(
            "The certificate of each release was proved anew. Releases that are μ_i-GDP but for "
            "failures of probability p_i are together μ-GDP but for one of probability p, with "
            "μ² = Σ μ_i² and 1 - p = Π (1 - p_i)."
        )
    if document.claim.answers:
        lines.append("Each other answer is an inequality or two about δ at one ε.")
    lines.append(
        "Every step, and each mechanism's formula, is on the page “How to check a μ yourself” of "
        "gdpbridge's documentation, from which a checker of one's own can be written."
    )
    return _list(lines)


def _list(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in items)}</ul>\n"
