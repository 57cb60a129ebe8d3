"""The second checker of composed losses answers as the built-in one does, also of changes."""

import ast
import json
from functools import cache
from pathlib import Path

import pytest
import standalone_composed as standalone
from changes import accepted

import gdpbridge as gdp

PATH = Path(__file__).with_name("standalone_composed.py")
P = gdp.profiles
FAILING = P.ApproxDP(epsilon=0.25, delta=0.001)
EXAMPLES = {
    "approximate": (P.DPSGD(noise_multiplier=2, sample_rate=0.1, steps=20), {"failure": 1e-4}),
    "rare": (
        P.DPSGD(noise_multiplier=0.1, sample_rate=1e-5, steps=3000),
        {"failure": 1e-6, "tol": 1e-2},
    ),
    "near 1": (P.DPSGD(noise_multiplier=0.25, sample_rate=0.5, steps=100), {"failure": 1e-6}),
    "replaced": (
        P.DPSGD(noise_multiplier=2, sample_rate=0.1, steps=20, neighbours="replace-one"),
        {"failure": 1e-4, "tol": 1e-2},
    ),
    "fixed size": (
        P.DPSGD(
            noise_multiplier=3,
            sample_rate=0.3,
            steps=40,
            neighbours="replace-one",
            sampling="fixed-size",
        ),
        {"failure": 1e-3, "tol": 1e-2},
    ),
    "unlike": (
        P.Sequence(parts=(P.Gaussian(sigma=2), P.Laplace(scale=4), P.PureDP(epsilon=0.3))),
        {"eps_h": 1},
    ),
    "failing": (
        P.Sequence(parts=(P.DPSGD(noise_multiplier=2, sample_rate=0.25, steps=10), FAILING)),
        {"failure": 0.002},
    ),
}


@cache
def _text(name):
    profile, how = EXAMPLES[name]
    return gdp.measure(profile, **how).certificate.to_json()


def _fresh(name):
    return json.loads(_text(name))


def _moved(text, share):
    """A binary number times one plus a share of it, in more bits."""
    sign, digits = ("-", text[1:]) if text[0] == "-" else ("", text)
    mantissa, exponent = digits[2:].split("p")
    return f"{sign}0x{int(int(mantissa, 16) * 2**60 * (1 + share)):x}p{int(exponent) - 60:+d}"


def _lines(document):
    pieces = [piece for one in document["evidence"]["directions"] for piece in one["pieces"]]
    return [piece["line"] for piece in pieces if piece.get("line")]


def _mu(end, step):
    def change(document):
        from decimal import Decimal

        mu = document["claim"]["mu"]
        mu[end] = str(Decimal(mu[end]) + Decimal(step))

    return change


def _interval(low, high):
    """One of μ that ends where the document's begins, or begins where it ends, but for a little."""

    def change(document):
        from decimal import Decimal

        mu = document["claim"]["mu"]
        document["claim"]["mu"] = {
            "low": "0" if low is None else str(Decimal(mu["high"]) + Decimal(low)),
            "high": "20" if high is None else str(Decimal(mu["low"]) - Decimal(high)),
        }

    return change


def _of_line(key, share):
    def change(document):
        for line in _lines(document):
            line[key] = _moved(line[key], share)

    return change


def _of_nodes(which, key, share):
    def change(document):
        for line in _lines(document):
            for nodes in line[which]:
                if nodes:
                    whole = isinstance(nodes[key], int)
                    nodes[key] = (
                        int(nodes[key] * (1 + share)) if whole else _moved(nodes[key], share)
                    )

    return change


def _parameter(name, text):
    def change(document):
        found = [key for key in document["mechanism"] if key.split(".")[-1] == name]
        for key in found:
            document["mechanism"][key] = text

    return change


def _chord(share):
    def change(document):
        for one in document["evidence"]["directions"]:
            for piece in one["pieces"]:
                if piece.get("chord"):
                    piece["chord"] = _moved(piece["chord"], share)

    return change


CHANGES = {
    "nothing": lambda document: None,
    "high up": _mu("high", "1e-3"),
    "high down": _mu("high", "-1e-9"),
    "low up": _mu("low", "1e-9"),
    "low down": _mu("low", "-1e-3"),
    "above": _interval("1e-9", None),
    "below": _interval(None, "1e-9"),
    "verdict": lambda document: document["claim"].update(verdict="unknown"),
    "p": lambda document: document["claim"].update(failure_probability="1e-9"),
    "nature": lambda document: document["claim"].update(profile_is="bound"),
    "tail": lambda document: document["claim"].update(mu_tail={"low": "0", "high": "0.01"}),
    "c": _of_line("c", 0.25),
    "h": _of_line("h", 1.0),
    "right": _of_line("right", 8.0),
    "count": lambda document: [line.update(count=line["count"] // 2) for line in _lines(document)],
    "step": _of_nodes("nodes", "step", 4.0),
    "last": _of_nodes("nodes", "last", -0.6),
    "shift": _of_nodes("nodes", "shift", 3.0),
    "far": _of_nodes("far", "step", 3.0),
    "noise": _parameter("noise_multiplier", "0.2499"),
    "fixed": lambda document: document["mechanism"].update(sampling="fixed-size"),
    "poisson": lambda document: document["mechanism"].pop("sampling", None),
    "added": _parameter("neighbours", "add-remove"),
    "replaced": _parameter("neighbours", "replace-one"),
    "rate": _parameter("sample_rate", "0.2501"),
    "steps": _parameter("steps", "101"),
    "epsilon": _parameter("epsilon", "0.301"),
    "chord near": _chord(-0.9),
    "chord far": _chord(3.0),
    "no last cell": lambda document: [
        one.update(cells=one["cells"][:-1]) for one in document["evidence"]["directions"]
    ],
    "one direction": lambda document: document["evidence"].update(
        directions=document["evidence"]["directions"][:1]
    ),
    "turned": lambda document: document["evidence"]["directions"].reverse(),
    "witness": lambda document: document["evidence"].update(
        witness=_moved(document["evidence"]["witness"], -0.01)
    ),
    "tilt": lambda document: [
        line["split"].update(tilt=_moved(line["split"]["tilt"], -0.9))
        for line in _lines(document)
        if line.get("split")
    ],
    "high step": lambda document: [
        line["split"]["high"].update(place=_moved(line["split"]["high"]["place"], -0.2))
        for line in _lines(document)
        if line.get("split")
    ],
    "reverse": lambda document: document["evidence"]["witness_line"].update(
        reverse=not document["evidence"]["witness_line"]["reverse"]
    ),
}


# seconds, until they are undecided
DEAR = ("fixed size", "step"), ("fixed size", "last")


def test_it_stands_alone():
    """It imports neither the library nor its checker."""
    for path in PATH.parent.glob("standalone_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", None), *(one.name for one in node.names)]
                assert not any("gdpbridge" in (name or "") for name in names), path


@pytest.mark.parametrize("name", EXAMPLES)
def test_both_checkers_answer_alike(name, thinned):
    """Of a certificate, and of each change of it; some changes are of nothing that is claimed."""
    answers = {}
    one_in = {"rare": 40, "replaced": 6, "fixed size": 12}.get(name, 9)
    some = thinned(
        [one for one in CHANGES.items() if (name, one[0]) not in DEAR], one_in, len(name)
    )
    for change, make in [("nothing", CHANGES["nothing"]), *some]:
        document = _fresh(name)
        make(document)
        answers[change] = standalone.check(document), accepted(document)
    assert answers["nothing"] == ("valid", True)
    assert {change: one for change, one in answers.items() if (one[0] == "valid") != one[1]} == {}
    false = {"above", "below", "verdict", "tail"}
    if "tol" not in EXAMPLES[name][1]:
        false |= {"high down", "low up"}
    assert not any(answers[change][1] for change in false & set(answers))
