"""The second checker of answers and parameters answers as the built-in one does."""

import json
from copy import deepcopy
from fractions import Fraction
from functools import cache
from itertools import pairwise

import pytest
import standalone_answers as standalone
from changes import ASKED, accepted, decimal, put

import gdpbridge as gdp
from gdpbridge.certificate.write_answers import write_answers

P = gdp.profiles
FIXED = {"neighbours": "replace-one", "sampling": "fixed-size"}
# with how many of these are asked
PROFILES = {
    "laplace": (P.Laplace(scale=0.5), 6),
    "gaussian": (P.Gaussian(sigma=1), 6),
    "approx-dp": (P.ApproxDP(epsilon=1, delta=1e-6), 6),
    "icea": (P.ICEA(messages=50, users=10), 6),
    "sgd-family": (P.SGDFamily(A=1.0, B=2.0, sigma=1.0), 6),
    "concave": (P.SGDFamily(A=1.0, B=0.5, sigma=1.0), 6),
    "zcdp": (P.ZCDP(rho=0.5), 2),
    "runs": (P.PureDP(epsilon=0.2).compose(5), 6),
    "lattice": (P.DiscreteLaplace(scale=1, sensitivity=2).subsample(0.25).compose(2), 5),
    "dpsgd": (P.DPSGD(noise_multiplier=2, sample_rate=0.25, steps=4), 1),
    "replaced": (
        P.DPSGD(noise_multiplier=2, sample_rate=0.1, steps=20, neighbours="replace-one"),
        2,
    ),
    "fixed size": (P.DPSGD(noise_multiplier=3, sample_rate=0.3, steps=40, **FIXED), 1),
}
CALIBRATED = {
    "a μ": lambda: gdp.calibrate("laplace", 1),
    "an ε": lambda: gdp.calibrate("laplace", target_epsilon=1, target_delta=1e-5),
    "a δ": lambda: gdp.calibrate("gaussian", target_epsilon=1, target_delta=1e-5),
    "an advantage": lambda: gdp.calibrate("gaussian", target_advantage=0.1),
    "a rate": lambda: gdp.calibrate("laplace", target_tpr=0.1, target_fpr=0.01),
    "steps": lambda: gdp.calibrate(
        "dpsgd", target_epsilon=1, target_delta=1e-4, sample_rate=0.25, steps=4
    ),
}
SLOW = "fixed size", "replaced"
EXAMPLES = [
    pytest.param(name, marks=pytest.mark.deep if name in SLOW else ())
    for name in (*PROFILES, "regret", *CALIBRATED)
]
# one in how many changes is tried of what takes the checkers longer
DEAR = {"dpsgd": 40, "replaced": 40, "fixed size": 40, "steps": 50, "regret": 80, "lattice": 20}
TINY = Fraction(1, 10**12)


@cache
def _text(name):
    if name in CALIBRATED:
        return CALIBRATED[name]().certificate.to_json()
    if name == "regret":
        found = gdp.measure(P.Laplace(scale=1.5), failure=0.01)
        return gdp.regret_certificate(found).to_json()
    profile, asked = PROFILES[name]
    return write_answers(profile, ASKED[:asked]).to_json()


def _false(document):
    """Of each number of a true document, an interval above the one that holds it, and one below."""
    for i, one in enumerate(document["claim"].get("answers") or ()):
        low, high = one["low"], one["high"]
        moved = []
        if high not in ("1", "inf") and Fraction(high) > 0:
            above = decimal(Fraction(high) * (1 + TINY))
            moved.append({"low": above, "high": "inf" if one["quantity"] == "epsilon" else "1"})
        if low not in ("0", "inf"):
            moved.append({"low": "0", "high": decimal(Fraction(low) * (1 - TINY))})
        for change in moved:
            changed = deepcopy(document)
            changed["claim"]["answers"][i] |= change
            yield f"{i} {change}", changed


def _numbers(node, path=()):
    """Every number of claims, points and places, with its path."""
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if key not in ("directions", "witness_line", "schema", "tangents"):
                yield from _numbers(value, (*path, key))
    elif isinstance(node, str) and node[:1].isdigit() and "/" not in node:
        yield path, node


def _moved(text):
    """A number a little smaller and larger."""
    if not text.startswith("0x"):
        return [decimal(Fraction(text) * (1 + step)) for step in (-TINY, TINY, 1)]
    mantissa, exponent = text[2:].split("p")
    return [f"0x{(int(mantissa, 16) << 60) + x:x}p{int(exponent) - 60:+d}" for x in (-1, 1, 2**50)]


def _changes(document):
    """Numbers moved, fields exchanged and left out, one at a time."""
    claim = document["claim"]
    for path, text in _numbers(document):
        if path[0] != "generator":
            for other in _moved(text):
                yield f"{path} {other}", put(document, path, other)
    for i, one in enumerate(claim.get("answers") or ()):
        path = "claim", "answers", i
        for quantity in ("delta", "epsilon", "advantage", "beta", "tpr", "regret"):
            at = None if quantity in ("advantage", "regret") else one["at"] or "0.25"
            changed = one | {"quantity": quantity, "at": at}
            yield f"{path} {quantity}", put(document, path, changed)
        yield f"{path} turned", put(document, path, one | {"low": one["high"], "high": one["low"]})
        point = document["evidence"]["points"][i]
        for key in point:
            rest = {k: v for k, v in point.items() if k != key}
            yield f"{path} no {key}", put(document, ("evidence", "points", i), rest)
        places = point.get("places") or ()
        for k in range(len(places)):
            there = "evidence", "points", i, "places"
            yield f"{there} {k}", put(document, there, places[:k] + places[k + 1 :])
        for k, (a, b) in enumerate(pairwise(places)):
            yield f"{there} {k} turned", put(document, (*there, k), {**a, "low": b["low"]})
    for i in range(len(document["evidence"].get("points") or ()) - 1):
        points = document["evidence"]["points"]
        turned = [*points[:i], points[i + 1], points[i], *points[i + 2 :]]
        yield f"points {i}", put(document, ("evidence", "points"), turned)
    for key, values in (
        ("statement", ("whole", "approximate", "answers", "head")),
        ("profile_is", ("own", "class", "bound", None)),
        ("verdict", ("gdp", "not-gdp", "unknown")),
    ):
        for value in values:
            yield f"{key} {value}", put(document, ("claim", key), value)
            if document.get("beyond"):
                yield f"beyond {key} {value}", put(document, ("beyond", "claim", key), value)
    if document.get("beyond"):
        beyond = document["beyond"]
        turned = {"claim": beyond["claim"], "evidence": beyond["evidence"]}
        turned["beyond"] = {**beyond, "claim": claim, "evidence": document["evidence"]}
        turned["beyond"]["changes"] = {key: document["mechanism"][key] for key in beyond["changes"]}
        turned["mechanism"] = {**document["mechanism"], **beyond["changes"]}
        yield "ends turned", {**document, **turned}
        yield "one end", put(document, ("beyond", "claim"), claim)
        yield "the kind", put(document, ("beyond", "changes", "kind"), "gaussian")
        yield "nothing", put(document, ("beyond", "changes"), {})


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_written_is_valid_to_both(name):
    """Certificates of answers, of a regret, and of both ends of a parameter."""
    document = json.loads(_text(name))
    assert (standalone.check(document), accepted(document)) == ("valid", True)


@pytest.mark.parametrize("name", EXAMPLES)
def test_neither_accepts_what_is_false(name):
    """However little a number is moved out of the interval that holds it."""
    document = json.loads(_text(name))
    tried = list(_false(document))
    assert tried or name == "a μ"
    assert [what for what, one in tried if standalone.check(one) == "valid"] == []
    assert [what for what, one in tried if accepted(one)] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_both_answer_alike(name, thinned):
    """Of what is changed a little the answers are alike."""
    document = json.loads(_text(name))
    answers = {}
    for what, changed in thinned(_changes(document), DEAR.get(name, 6), len(name)):
        answers[what] = standalone.check(changed) == "valid", accepted(changed)
    assert [what for what, (mine, other) in answers.items() if mine and not other] == []
    assert [what for what, (mine, other) in answers.items() if other and not mine] == []
    assert {other for _, other in answers.values()} or name in DEAR
