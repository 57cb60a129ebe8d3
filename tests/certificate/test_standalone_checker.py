"""The second checker, written from the page alone, answers as the built-in one does."""

import ast
import copy
import json
import sys
from pathlib import Path

import pytest
import standalone_checker as standalone
from changes import accepted

import gdpbridge as gdp

PATH = Path(__file__).with_name("standalone_checker.py")
P = gdp.profiles
MECHANISMS = {
    "laplace": P.Laplace(scale=0.5),
    "pure-dp": P.PureDP(epsilon=0.2),
    "approx-dp": P.ApproxDP(epsilon=1, delta=1e-6),
    "randomized-response": P.RandomizedResponse(noise_parameter=0.8, buckets=3),
    "gaussian": P.Gaussian(sigma=2),
    "gdp": P.GDP(mu=1),
    "icea": P.ICEA(messages=20, users=4),
    "zcdp": P.ZCDP(rho=8),
    **{f"sgd-{B}": P.SGDFamily(A=2, B=B, sigma=2) for B in (1, 5, 0.9, 0.5, 0.01)},
}
OPTIONS = {
    "default": {},
    "tol": {"tol": "1e-30"},
    "head": {"eps_h": 0.15},
    "long-head": {"eps_h": 3},
    "approximate": {"failure": 1e-6},
    "coarse": {"failure": 0.1},
}


def _certificate(name, option):
    return json.loads(gdp.measure(MECHANISMS[name], **OPTIONS[option]).certificate.to_json())


def _shift(text, ulps):
    """A binary number moved by some units of a hundred more bits than it has."""
    mantissa, exponent = text[2:].split("p")
    return f"0x{(int(mantissa, 16) << 100) + ulps:x}p{int(exponent) - 100:+d}"


def _step(text, step):
    """A decimal number moved."""
    from decimal import Decimal, localcontext

    with localcontext(prec=60):
        return str(max(Decimal(text) + Decimal(step), Decimal(0)))


def _mutations(document):
    """Every mutation of a document, by name."""

    def mutant(name, change):
        d = copy.deepcopy(document)
        change(d["claim"], d["evidence"], d["mechanism"], d)
        return name, d

    def put(where, key, value):
        return lambda c, e, m, d: {"c": c, "e": e, "m": m, "d": d}[where].__setitem__(key, value)

    mu, cells = document["claim"]["mu"], document["evidence"]["cells"]
    low, high = mu["low"], mu["high"]
    if high != "inf":
        for step in ("-1e-3", "-1e-9", "1e-3", "1"):
            yield mutant(f"high {step}", put("c", "mu", {"low": low, "high": _step(high, step)}))
            yield mutant(f"low {step}", put("c", "mu", {"low": _step(low, step), "high": high}))
        yield mutant("mu swapped", put("c", "mu", {"low": high, "high": low}))
        yield mutant("mu.low 0", put("c", "mu", {"low": "0", "high": high}))
    for bad in ("inf", "nan", "-1", "", "1e99999", "0x1p+99999", None, 1.5, True, [], {}):
        yield mutant(f"mu.high {bad!r}", put("c", "mu", {"low": low, "high": bad}))
        yield mutant(f"mu.low {bad!r}", put("c", "mu", {"low": bad, "high": high}))
        yield (
            mutant(f"eps_h {bad!r}", put("c", "eps_h", bad))
            if bad is not None
            else mutant("statement null", put("c", "statement", bad))
        )
        if bad is not None:
            yield mutant(f"witness {bad!r}", put("e", "witness", bad))
        yield mutant(f"cells {bad!r}", put("e", "cells", bad if bad != [] else [[]]))
        yield mutant(f"claim {bad!r}", put("d", "claim", bad))
        for key in document["mechanism"]:
            if key not in ("neighbours",):
                yield mutant(f"{key} {bad!r}", put("m", key, bad))
    for key in ("scale", "epsilon", "sigma", "messages", "B"):
        if key in document["mechanism"]:
            yield mutant(f"{key} 1e400", put("m", key, "1e400"))
    yield mutant("eps_h 1e400", put("c", "eps_h", "1e400"))
    yield mutant("p 1e400", put("c", "failure_probability", "1e400"))
    flipped = {"gdp": "not-gdp", "not-gdp": "gdp"}[document["claim"]["verdict"]]
    yield mutant("verdict", put("c", "verdict", flipped))
    for tail in (("0", "0"), ("inf", "inf"), ("0", "inf"), ("0", "5"), ("1", "1"), ("3", "2")):
        yield mutant(f"mu_tail {tail}", put("c", "mu_tail", {"low": tail[0], "high": tail[1]}))
    for p in ("0", "1e-9", "0.3", "0.999", "1", "2"):
        yield mutant(f"p {p}", put("c", "failure_probability", p))
    for statement in ("whole", "head", "approximate"):
        for eps_h in (None, "0", "0.1", "2", "50"):

            def change(c, e, m, d, statement=statement, eps_h=eps_h):
                c.update(statement=statement, eps_h=eps_h)

            yield mutant(f"{statement} {eps_h}", change)

            def empty(c, e, m, d, statement=statement, eps_h=eps_h):
                c.update(statement=statement, eps_h=eps_h, failure_probability="0.9")
                e["cells"] = []

            yield mutant(f"no cells, {statement} {eps_h}", empty)
    for w in (None, "tail", "0x0p+0", "0x1p-4", "0x1p-1", "0x1p+0", "0x1p+3", "0x1p+900"):
        yield mutant(f"witness {w}", put("e", "witness", w))
    for T in (None, "0x0p+0", "0x1p-3", "0x1p+1", "0x3p+0", "0x5p+0", "0x1p+9"):
        yield mutant(f"tail_from {T}", put("e", "tail_from", T))
    yield mutant("a key more", put("c", "note", "x"))
    yield mutant("no generator", lambda c, e, m, d: d.pop("generator"))
    for key, text in document["mechanism"].items():
        if key not in ("kind", "neighbours"):
            for other in ("0", "1", "2", "7", "0.5", _step(text, "1e-8"), _step(text, "1e-1")):
                yield mutant(f"{key} {other}", put("m", key, other))
    yield mutant("neighbours", put("m", "neighbours", "add-remove"))
    yield mutant("no breakpoints", put("e", "breakpoints", []))
    pairs = document["evidence"]["breakpoints"]
    one = {"low": "0x1p-1", "high": "0x3p-1"}
    yield mutant("a breakpoint", put("e", "breakpoints", [one]))
    yield mutant("breakpoints reversed", put("e", "breakpoints", pairs[::-1]))
    yield mutant("breakpoints twice", put("e", "breakpoints", pairs * 2))
    for i, pair in enumerate(pairs):
        wide = {"low": "0x0p+0", "high": pair["high"]}
        late = {"low": pair["low"], "high": "0x1p+5"}
        for name, new in {
            "wide": wide, "late": late, "turned": {"low": pair["high"], "high": pair["low"]},
            "thin": {"low": pair["low"], "high": pair["low"]},
            "up": {k: _shift(x, 1 << 110) for k, x in pair.items()},
            "slightly wide": {"low": _shift(pair["low"], -1), "high": _shift(pair["high"], 1)},
        }.items():  # fmt: skip
            yield mutant(
                f"breakpoint {name}", put("e", "breakpoints", [*pairs[:i], new, *pairs[i + 1 :]])
            )
        yield mutant("breakpoint removed", put("e", "breakpoints", [*pairs[:i], *pairs[i + 1 :]]))
    tangents = document["evidence"].get("tangents") or []
    for i, one in enumerate(tangents):
        for key in one:
            for value in ("0x0p+0", "0x1p+0", "0x1p+3", _shift(one[key], -1), _shift(one[key], 1)):
                new = [*tangents[:i], one | {key: value}, *tangents[i + 1 :]]
                yield mutant(f"tangent {i} {key} {value}", put("e", "tangents", new))
        left = [*tangents[:i], *tangents[i + 1 :]]
        yield mutant(f"tangent {i} removed", put("e", "tangents", left))
    yield mutant("cells reversed", put("e", "cells", cells[::-1]))
    yield mutant("no cells", put("e", "cells", []))
    more = {"low": cells[-1]["high"] if cells else "0x0p+0", "high": "0x1p+6", "centre": None}
    yield mutant("a cell more", put("e", "cells", [*cells, more]))
    yield mutant("a centred cell more", put("e", "cells", [*cells, more | {"centre": "0x3p+3"}]))
    yield mutant("one cell", put("e", "cells", [more | {"low": "0x0p+0"}]))
    for i in range(0, len(cells), max(1, len(cells) // 4)):
        a, cell, b = cells[:i], cells[i], cells[i + 1 :]
        for name, new in {
            "removed": [], "twice": [cell, cell],
            "gap": [cell | {"high": _shift(cell["high"], -1)}],
            "overlap": [cell | {"high": _shift(cell["high"], 1)}],
            "empty": [cell | {"high": cell["low"]}],
            "null": [cell | {"centre": None}],
            "centre low": [cell | {"centre": cell["low"]}],
            "centre high": [cell | {"centre": cell["high"]}],
            "centre off": [cell | {"centre": "0x1p+7"}],
        }.items():  # fmt: skip
            yield mutant(f"cell {i} {name}", put("e", "cells", [*a, *new, *b]))
        if b:
            joined = {"low": cell["low"], "high": b[0]["high"], "centre": cell["centre"]}
            yield mutant(f"cell {i} joined", put("e", "cells", [*a, joined, *b[1:]]))
            yield mutant(f"cell {i} swapped", put("e", "cells", [*a, b[0], cell, *b[1:]]))


# past a tiny failure both are the same curve, in hundreds of cells
VALID = [
    pytest.param(name, option, marks=pytest.mark.deep)
    if (name, option) == ("gdp", "approximate")
    else (name, option)
    for name in MECHANISMS
    for option in OPTIONS
]


@pytest.mark.parametrize(("name", "option"), VALID)
def test_a_certificate_is_valid_to_both(name, option):
    document = _certificate(name, option)
    assert standalone.check(document) == "valid"
    assert accepted(document)


# A cell of another shape can be within the reach of one checker's bound K and not of the other's.
def _shape(change):
    reshaped = ("joined", "centre", "a cell more", "a centred cell more", "approximate None")
    return any(word in change for word in reshaped)


CHANGED = [(name, option) for name in MECHANISMS for option in ("default", "head")]
CHANGED += [(name, "approximate") for name in ("laplace", "approx-dp", "sgd-5", "icea")]


@pytest.mark.parametrize(("name", "option"), CHANGED)
def test_a_changed_certificate_is_the_same_to_both(name, option, thinned):
    different = []
    # other ones of each field, from example to example
    for change, document in thinned(_mutations(_certificate(name, option)), 8, len(name + option)):
        answer, built_in = standalone.check(document) == "valid", accepted(document)
        if answer != built_in and not (_shape(change) and answer):
            different.append(change)
    assert not different


@pytest.mark.parametrize("document", [None, 1, "x", [], {}, float("nan"), {"claim": []}, [[]]])
def test_any_document_has_an_answer(document):
    assert standalone.check(document).startswith("malformed")


def test_it_is_short_and_stands_alone():
    text = PATH.read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines()]
    docstrings = sum(line.startswith('"""') for line in lines)
    assert sum(bool(line) and line[0] != "#" for line in lines) - docstrings < 276
    imports = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = {n.name for i in imports for n in i.names} | {
        getattr(i, "module", None) for i in imports
    }
    assert not any("gdpbridge" in (name or "") for name in names)


def test_the_command_line(tmp_path):
    import subprocess

    document = _certificate("laplace", "default")
    for name, status in (("valid", 0), ("refused", 3), ("malformed", 2)):
        if name == "refused":
            document["claim"]["verdict"] = "not-gdp"
        file = tmp_path / name
        file.write_text("{" if name == "malformed" else json.dumps(document), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, PATH, file], capture_output=True, text=True, check=False
        )
        assert done.returncode == status
        assert done.stdout.startswith(name)


def test_what_is_not_checked_is_not_called_valid():
    """A document with another claim than of μ is not accepted for its μ alone."""
    found = gdp.calibrate("gaussian", 1).certificate
    for document in (found, gdp.regret_certificate(gdp.measure(MECHANISMS["gaussian"]))):
        assert standalone.check(document.to_json().encode()).startswith("malformed: it claims")
