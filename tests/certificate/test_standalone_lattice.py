"""The second checker of bounded losses answers as the built-in one does, also of changes."""

import json
from fractions import Fraction
from functools import cache

import pytest
import standalone_lattice as standalone
from changes import accepted

import gdpbridge as gdp

P = gdp.profiles
EXAMPLES = {
    "response": (P.RandomizedResponse(epsilon=0.5, buckets=4).compose(3), {}),
    "table": (
        P.Table(pairs=[(0, 0.45), (0.5, 0.25), (1, 0.05)]).compose(2),
        {"failure": 0.12},
    ),
    "sampled": (P.DiscreteLaplace(scale=1, sensitivity=2).subsample(0.25).compose(3), {}),
    "failing": (
        P.ApproxDP(epsilon=0.5, delta=0.01).subsample(0.25).compose(2),
        {"failure": 0.03},
    ),
    "laplace": (
        P.Sequence(parts=[P.Laplace(scale=1).subsample(0.25), P.PureDP(epsilon=0.3)]),
        {},
    ),
}
# multiples of the unit, by so many of which a law takes little work
COARSER, WIDER = {"laplace": 16}, Fraction(1, 50)


@cache
def _text(name):
    profile, how = EXAMPLES[name]
    document = json.loads(gdp.measure(profile, **how).certificate.to_json())
    if name in COARSER:
        _unit(COARSER[name])(document)
        _mu("low", -WIDER)(document)
        _mu("high", WIDER)(document)
    return json.dumps(document)


def _mu(end, share):
    def change(document):
        mu = document["claim"]["mu"]
        value = Fraction(mu[end]) * (1 + Fraction(share))
        mu[end] = f"{value.numerator * 10**30 // value.denominator}e-30"

    return change


def _unit(share):
    def change(document):
        evidence = document["evidence"]
        if evidence.get("unit"):
            evidence["unit"] = str(Fraction(evidence["unit"]) * Fraction(share))

    return change


def _named(name, text):
    def change(document):
        for key in document["mechanism"]:
            if key.split(".")[-1] == name:
                document["mechanism"][key] = text

    return change


def _cells(key, text):
    def change(document):
        for one in document["evidence"]["directions"]:
            one["cells"][0][key] = text

    return change


CHANGES = {
    "nothing": lambda document: None,
    "high up": _mu("high", "1e-3"),
    "high down": _mu("high", "-0.05"),
    "low up": _mu("low", "0.05"),
    "low down": _mu("low", "-1e-3"),
    "unit": _unit("4"),
    "half": _unit("1/2"),
    "rate": _named("rate", "0.2501"),
    "times": _named("times", "4"),
    "epsilon": _named("epsilon", "0.31"),
    "delta": _named("delta", "0.011"),
    "scale": _named("scale", "0.99"),
    "rows": _named("rows", "0:0.45 0.5:0.25 1:0.051"),
    "no corners": _named("rows", "0:0.45 0.5:0.44 1:0.05"),
    "verdict": lambda document: document["claim"].update(
        verdict="not-gdp" if document["claim"]["verdict"] == "gdp" else "gdp"
    ),
    "nature": lambda document: document["claim"].update(profile_is="bound"),
    "p": lambda document: document["claim"].update(failure_probability="1e-9"),
    "sooner": _cells("high", "0x1p-6"),
    "later": _cells("low", "0x1p-60"),
    "one direction": lambda document: document["evidence"].update(
        directions=document["evidence"]["directions"][:1]
    ),
    "witness": lambda document: document["evidence"].update(witness="0x3p-1"),
}


REFUSED = ("high down", "low up", "verdict", "nature", "sooner", "later")
# what is to be answered
KNOWN = ("nothing", "high up", "low down", *REFUSED)


@pytest.mark.parametrize("name", EXAMPLES)
def test_both_checkers_answer_alike(name, thinned):
    """Of a certificate, and of changes of it; most changes are refused."""
    answers = {}
    rest = [what for what in CHANGES if what not in KNOWN]
    for what in [*KNOWN, *thinned(rest, 3, len(name))]:
        change = CHANGES[what]
        document = json.loads(_text(name))
        change(document)
        mine, other = standalone.check(document), accepted(document)
        assert (mine == "valid") == other, (what, mine)
        answers[what] = other
    assert answers["nothing"]
    assert answers["high up"]
    assert answers["low down"]
    assert not any(answers[what] for what in REFUSED)
