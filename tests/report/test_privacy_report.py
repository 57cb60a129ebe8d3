"""Privacy reports: what they say, and how it is written."""

from __future__ import annotations

import hashlib
import html
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.report.conftest import KINDS, SAID

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.report.privacy.composition import title_of
from gdpbridge.report.privacy.numbers import rounded_down, rounded_up
from gdpbridge.report.privacy.pages import _prose
from gdpbridge.report.privacy.scale import KNOWN
from gdpbridge.specification.title import mechanism_title

Reports = dict[str, gdp.PrivacyReport]

every = pytest.mark.parametrize("name", list(KINDS))


class _Outline(HTMLParser):
    """Headings, tables, and tags of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.levels: list[int] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch(r"h[1-6]", tag):
            self.levels.append(int(tag[1]))


@every
def test_rows_are_on_the_safe_side(reports: Reports, name: str) -> None:
    """δ and ε are upper bounds and f(α) lower ones, of the mechanism and of the statement."""
    report = reports[name]
    profile, found = report.found.profile, report.found
    for row in report.deltas:
        assert row.delta >= float(profile.delta_bounds(row.epsilon)[0])
        mu, p = found.mu.upper, found.failure_probability
        assert row.stated is not None
        assert row.stated >= (p + (1 - p) * gdp.delta(row.epsilon, mu)) * (1 - 1e-12)
        assert row.delta <= row.stated * (1 + 1e-9)
    for pair in report.epsilons:
        assert pair.epsilon is not None
        if pair.epsilon <= 1e5:
            # an answer is the binary number itself, and no decimal
            at = np.array([pair.epsilon])
            assert float(profile.curve.delta_bounds(at)[0][0]) <= pair.delta
    for rates in report.tradeoff:
        assert rates.beta <= float(profile.tradeoff_bounds(rates.alpha)[1])
        assert rates.true_positive_rate >= 1 - rates.beta
        assert rates.stated is not None
        assert rates.stated <= rates.beta * (1 + 1e-9) + 1e-15
    alphas = [rates.alpha for rates in report.tradeoff]
    assert {1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1} < set(alphas)
    assert alphas == sorted(alphas)


@every
def test_statement_and_risk(reports: Reports, name: str) -> None:
    """The first screen's numbers are those of the measurement and of the risk of its upper end."""
    report = reports[name]
    found = gdp.measure(gdp.load_profile(KINDS[name]))
    assert (report.found.mu, report.found.verdict) == (
        found.mu,
        found.verdict,
    )
    assert report.risk is not None
    risk = gdp.risk(found.mu.high, found.failure_probability)
    assert report.risk.advantage == risk.advantage
    assert report.regret is not None
    assert report.regret == gdp.regret(
        report.found.profile, found.mu.upper, found.failure_probability
    )


def test_fit_in_words(reports: Reports) -> None:
    """Only the composition is described well by its μ."""
    assert "counts as a good fit" in reports["composed"].fit
    assert "should be reported too" in reports["laplace"].fit


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("laplace", ["proved in ball arithmetic", "a person's week", "Trust: central."]),
        ("dpsgd", ["proved in ball arithmetic", "is 31.6227766"]),
        ("table", ["The tail is not known", "is not stated"]),
        ("icea", ["No finite μ covers every ε", "replaced by another"]),
        ("clip-rectify", ["the privacy loss is bounded"]),
    ],
)
def test_basis(reports: Reports, name: str, words: list[str]) -> None:
    """What is proved and what is assumed is said."""
    report = reports[name]
    said = " ".join([report.standing, *report.proved, *report.assumed, *report.notes])
    assert all(word in said for word in words)
    covers = {"dpsgd": "p = 1e-10", "table": "[0, 4]", "icea": "[0, 100]"}
    assert covers.get(name, "for every ε ≥ 0") in report.covers


@every
def test_page_stands_alone(pages: dict[str, str], name: str) -> None:
    """A page loads nothing, has no script, and its names are used once."""
    page = pages[name]
    tags = _Outline(page).tags
    assert not [tag for tag, _ in tags if tag in ("script", "link", "img", "iframe", "object")]
    assert not [attrs for _, attrs in tags if {"src", "srcset"} & attrs.keys()]
    assert not re.search(r"@import|url\(\s*['\"]?(?!#)", page)
    links = [attrs["href"] for _, attrs in tags if attrs.get("href")]
    assert all(str(link).startswith("#") for link in links)
    names = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(names) == len(set(names))


@every
def test_page_is_accessible(pages: dict[str, str], name: str) -> None:
    """Language, title, headings in order, tables with headers, pictures with descriptions."""
    page = pages[name]
    outline = _Outline(page)
    assert ("html", {"lang": "en"}) in outline.tags
    assert re.search(r"<title>[^<]+</title>", page)
    assert outline.levels[0] == 1
    assert outline.levels.count(1) == 1
    assert all(
        after - before <= 1
        for before, after in zip(outline.levels, outline.levels[1:], strict=False)
    )
    assert all(attrs.get("scope") in ("row", "col") for tag, attrs in outline.tags if tag == "th")
    pictures = [attrs for tag, attrs in outline.tags if tag == "svg"]
    assert len(pictures) == 4
    assert all(attrs["role"] == "img" and len(attrs["aria-label"] or "") > 50 for attrs in pictures)


def test_contrast(pages: dict[str, str]) -> None:
    """Text differs from its background by at least 4.5 to 1 (WCAG AA)."""

    def luminance(colour: str) -> float:
        digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
        parts = np.array([int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    light, dark = re.findall(r":root \{([^}]*--ink[^}]*)\}", pages["laplace"])
    for style in (light, dark):
        colours = dict(re.findall(r"--(\w+): #([0-9a-f]{3,6})", style))
        for ink in ("ink", "soft", "yes", "no", "open"):
            for ground in ("wash", "paper"):
                low, high = sorted(luminance(colours[one]) for one in (ink, ground))
                assert (high + 0.05) / (low + 0.05) >= 4.5


def test_users_text_is_escaped(pages: dict[str, str], reports: Reports) -> None:
    """What a user writes is text, in HTML and in Markdown."""
    page = pages["laplace"]
    assert html.escape(SAID["title"], quote=False) in page.replace("&#39;", "'")
    assert "<script>" not in page
    text = reports["laplace"].to_markdown()
    assert not re.search(r"(?<!\\)<script>", text)
    assert r"Weekly counts \| of trips, \<script>alert(1)\</script> rounded to \*tens\*" in text
    # what is no mark is not marked
    assert "δ(ε) ≤ δ_μ(ε)" in text
    assert "is in [1.8009" in text


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("[x](javascript:1)", r"\[x\](javascript:1)"),
        ("see [x](y) and ![p](q)", r"see [x\](y) and \![p\](q)"),
        ("[a]: b", r"\[a]: b"),
        ("_em_ a_b", r"\_em\_ a_b"),
        ("# one", r"\# one"),
        ("&lt; AT&T & co", r"\&lt; AT\&T & co"),
        ("[0, 1] + 2 = 3!", r"\[0, 1] + 2 = 3!"),
    ],
)
def test_marks_of_markdown(text: str, marked: str) -> None:
    """Text is escaped where Markdown would read a mark, and only there."""
    assert _prose(text) == marked


def test_text_of_other_scripts_is_taken() -> None:
    """Spaces, joiners and lines of any script are text, and never a list in Markdown."""
    title = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\u00a0\U0001f469\u200d\U0001f467"
    said = gdp.Release(title=title, description="- one\r\n\ttwo", contact="1. me")
    assert said.description == "- one\n two"
    text = gdp.privacy_report(gdp.profiles.PureDP(epsilon=1.0), release=said).to_markdown()
    assert "\n\\- one two\n" in text
    assert r"1\. me" in text


def test_fields_not_stated(pages: dict[str, str]) -> None:
    """Each field of a release is printed, with "not stated" where nothing is said."""
    fields = gdp.Release.model_fields
    # the neighbouring relation is a row too
    assert pages["icea"].count('class="field"') == len(fields) + 1
    missing = pages["laplace"].count('<span class="missing">not stated</span>')
    assert missing == len(fields) - len(SAID)
    assert "2026-11-01" in pages["laplace"]


def test_certificate_and_its_hash(reports: Reports, tmp_path: Path) -> None:
    """The certificate in a page is one that can be verified, and the hash is its own."""
    report = reports["laplace"]
    proof = report.certificate
    assert proof.text is not None
    assert hashlib.sha256(proof.text.encode()).hexdigest() == proof.sha256
    shown = re.search(r"<pre>(.*?)</pre>", report.to_html(), re.DOTALL)
    assert shown is not None
    file = tmp_path / "certificate.json"
    file.write_text(html.unescape(shown[1]), encoding="utf-8")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == proof.sha256
    assert gdp.verify(file).valid
    for name in ("dpsgd", "table"):
        text = reports[name].certificate.text
        assert text is not None
        assert gdp.verify(text.encode()).valid
    naive = gdp.profiles.Formula("delta = exp(-eps - eps**2)", naive=True)
    absent = gdp.privacy_report(naive).certificate
    assert absent.text is None
    assert "no certificate" in absent.absent_because


def test_composition(reports: Reports) -> None:
    """A report lists what a mechanism is made of, like parts together."""
    part = {"kind": "pure-dp", "epsilon": 0.1}
    several = gdp.load_profile({"parts": [part, part, {"kind": "pure-dp", "epsilon": 0.3}]})
    found = gdp.privacy_report(several).components
    assert [(one.level, one.count) for one in found] == [(0, 1), (1, 2), (1, 1)]
    assert ["ε₀ = 0.1" in one.what for one in found] == [False, True, False]
    inner = reports["clip-rectify"].components
    assert [one.level for one in inner] == [0, 1]
    assert "messages m = 20" in inner[1].what


def test_first_lines_of_a_run(pages: dict[str, str]) -> None:
    """What will be quoted is an upper bound, with its p, and what needs none beside it."""
    page = html.unescape(pages["dpsgd"])
    assert re.search(
        r'<p class="mu">μ ≤ 0\.51\d+, but for a failure of probability <[^>]+>1e-10<', page
    )
    assert "For every ε, without a failure, that μ is 31.6228." in page
    assert "proved in ball arithmetic" in page
    assert re.search(r"As an \(ε, δ\) pair: ε ≤ [\d.]+ at δ = 1e-5\.", page)


@pytest.mark.parametrize(
    ("name", "first", "beside"),
    [
        ("laplace", "μ ≤ 1.80091 for every ε", ""),
        ("icea", "δ ≤ 0.05414 at ε = 10", "μ ≤ 11.8845 up to ε = 100"),
        ("table", "ε ≤ 4 at δ = 1e-9", "μ ≤ 0.822523 up to ε = 4"),
    ],
)
def test_top_of_a_page(
    pages: dict[str, str], reports: Reports, name: str, first: str, beside: str
) -> None:
    """A page begins with the number to quote; how it was proved, and what is empty, is below."""
    top, below = pages[name].split("What this rests on")
    top = re.sub(r"<[^>]+>", "", html.unescape(top))
    assert first in top
    assert (f"Beside Gaussian noise: {beside}." in top) == bool(beside)
    assert not re.search(r"cells|ball arithmetic|μ_t|100\.00|54140", top)
    assert "cells" in below
    # μ in one rounding, but for the interval
    high = rounded_up(reports[name].found.mu, 6)
    near = [word for word in re.findall(r"\d+\.\d{2,}", top) if word[:4] == high[:4]]
    assert set(near) <= {high}


def test_attacks_are_those_of_the_mechanism(reports: Reports) -> None:
    """The first table has the mechanism's own rates, which are at most those of its μ."""
    for report in reports.values():
        own = np.array([row.true_positive_rate for row in report.attacks])
        stated = np.array([row.stated for row in report.attacks])
        assert (own <= stated + 1e-12).all()
        rates = [row.false_positive_rate for row in report.attacks]
        low = np.asarray(report.found.profile.tradeoff_bounds(rates)[0])
        assert (own >= 1 - low).all()
        assert report.advantage >= float(report.found.profile.delta_bounds(0.0)[1])


def test_files_that_were_read(reports: Reports, pages: dict[str, str]) -> None:
    """A table is named without its folder, with its size and hash."""
    (file,) = reports["table"].inputs
    path = Path(KINDS["table"]["file"])
    assert (file.name, file.size) == (path.name, path.stat().st_size)
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert str(path.parent) not in pages["table"]
    assert str(path.parent) not in reports["table"].to_json()
    assert reports["laplace"].inputs == ()


def test_run_is_named_by_its_phases() -> None:
    """A history of Opacus names noise, rate and steps of each phase, in a title and in a report."""
    history = [[1.1, 0.01, 3], [0.9, 0.02, 2]]
    profile = gdp.profiles.OpacusHistory(history=history)
    for text in (title_of(profile), mechanism_title(profile.model_dump())):
        assert re.search(r"σ = 1\.1, sample rate q = 0\.01, steps T = 3\b.*σ = 0\.9", text)


def test_sequence_is_named_by_its_parts() -> None:
    """The title of a sequence names what is run, and its relation is that of its parts."""
    part = {"kind": "pure-dp", "epsilon": 0.1, "neighbours": "add-remove"}
    report = gdp.privacy_report(gdp.load_profile({"parts": [part, part, part]}))
    assert report.mechanism == "3 times pure-dp: epsilon ε₀ = 0.1, neighbours add-remove"
    assert "added or removed (add-remove)" in report.assumed[0]


def test_rectified_mechanisms_need_a_safe_sampler(reports: Reports) -> None:
    """What clipping and noise rest on is said."""
    said = " ".join(reports["clip-rectify"].assumed)
    assert "without a look at the private data" in said
    assert "safe against floating-point attacks" in said


def test_json(reports: Reports) -> None:
    """The document has its name and version, the measurement, and no NaN."""
    document = json.loads(reports["laplace"].to_json())
    assert document["schema"] == {"name": "gdpbridge.report", "version": 1}
    assert document["measurement"]["statement"] == "whole"
    assert document["release"]["unit_of_privacy"] == "a person's week"
    assert document["release"]["contact"] is None
    assert document["regret"]["low"] <= document["regret"]["high"]
    assert document["epsilons"][-1]["epsilon"] == pytest.approx(2.0, abs=1e-8)


def test_files(reports: Reports, tmp_path: Path) -> None:
    """Markdown comes with its pictures, and a file's ending says what it is."""
    report = reports["laplace"]
    text = report.save(tmp_path / "a report.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^]]+\]\(<([^>]+)>\)", text)
    assert len(pictures) == 4
    assert all((tmp_path / picture).read_text().startswith("<svg") for picture in pictures)
    tables = [line.count("|") for line in text.splitlines() if line.startswith("|")]
    assert len(tables) > 50
    assert report.save(tmp_path / "r.json").read_text(encoding="utf-8") == report.to_json()
    for bad in ("r.gif", "no/such/r.html"):
        with pytest.raises(InputError, match="output is"):
            report.save(tmp_path / bad)


def _trusted() -> gdp.profiles.Callable:
    return gdp.profiles.Callable(
        lambda eps: 1.0 + 0 * eps, trusted=["non-increasing", "upper bound"], name="certain"
    )


@pytest.mark.parametrize(
    ("profile", "mu"),
    [
        (gdp.profiles.Laplace(scale=1e-4), "μ ≤ 199.904"),
        (gdp.profiles.Formula(text="delta = 1 - eps/2", naive=True), "μ ≤ ∞"),
        (_trusted(), "μ ≤ ∞"),
    ],
    ids=["certain failure", "infinite", "trusted"],
)
def test_statements_that_say_nothing(profile: Profile, mu: str, tmp_path: Path) -> None:
    """An infinite μ or a p of 1 says nothing of attackers; the mechanism's numbers remain."""
    report = gdp.privacy_report(profile, gdp.measure(profile, eps_h=1))
    assert (report.risk, report.regret) == (None, None)
    page = report.save(tmp_path / "r.html").read_text(encoding="utf-8")
    assert mu in page.replace("&nbsp;", " ")
    assert "The stated μ in words" not in page
    assert "by the stated μ" not in page
    for text in (page, report.to_markdown()):
        assert "the statement says nothing" in text


def test_a_huge_mu_is_stated() -> None:
    """A μ beyond all use still has a report, with bounds that hold."""
    huge = gdp.privacy_report(gdp.profiles.Gaussian(sigma=1e-3).compose(100))
    assert huge.regret is not None
    assert {row.stated for row in huge.deltas} == {1.0}
    assert {row.stated for row in huge.epsilons} == {math.inf}
    assert huge.to_html()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (0.12341, "0.1235"), (1e-10, "1e-10"), (math.inf, "∞"), (0.99999, "1.000")],
)
def test_rounded_up(value: float, shown: str) -> None:
    """Upper bounds are shown rounded up."""
    assert rounded_up(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (0.12349, "0.1234"),
        (0.99999, "0.99999"),
        (1 - 2**-40, "0.999999999999"),
        (3.21987e-9, "3.219e-9"),
        (12345678.9, "1.234e7"),
    ],
)
def test_rounded_down(value: float, shown: str) -> None:
    """Lower bounds are shown rounded down, with the digits that tell one from 1."""
    assert rounded_down(value) == shown


def test_refusals() -> None:
    """A measurement of another mechanism, and fields that are not known or not texts."""
    laplace, other = gdp.profiles.Laplace(scale=0.5), gdp.profiles.Laplace(scale=1)
    with pytest.raises(InputError, match="measured is"):
        gdp.privacy_report(laplace, gdp.measure(other))
    for fields, message in (
        ({"titel": "x"}, r"release\.titel is"),
        ({"title": ""}, r"release\.title is"),
        ({"title": True}, r"release\.title is"),
        ({"title": ["x"]}, r"release\.title is"),
        ({"title": "x" * 5001}, r"release\.title is"),
        ({"title": "a\x00b"}, r"release\.title is"),
        ({"title": "a\u202eb"}, r"release\.title is"),
        ({"title": math.nan}, r"release\.title is"),
    ):
        with pytest.raises(InputError, match=message):
            gdp.Release(**fields)


def test_scale_names_what_the_deployments_prove() -> None:
    """Each μ of the scale is that of the deployment's file, rounded up."""
    folder = Path(__file__).parents[2] / "examples" / "deployments"
    for name, known in KNOWN.items():
        found = gdp.measure(gdp.load_profile(folder / f"{name}.toml")).mu.upper
        assert found <= known.value <= found * 1.002
