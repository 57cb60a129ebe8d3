"""Every kind, held to what a kind is: a page with formula and source, a nature, a tail, abilities.

And δ(ε) of an example from the literature by mpmath, in oracles.py: a kind without one fails here.
"""

from __future__ import annotations

import re
from typing import Any

import mpmath
import pytest
from oracles import ORACLES, TRANSFORMED, Oracle

import gdpbridge as gdp
from gdpbridge.cli.kinds import described
from gdpbridge.cli.mechanism import mechanism_of
from gdpbridge.cli.parameters import fields_of
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import transformations
from gdpbridge.profiles import kinds

# how samples are drawn, each with a size of its own
SAMPLES: dict[str, dict[str, Any]] = {
    "poisson": {"rate": 0.1},
    "without-replacement": {"sample": 1, "population": 10},
    "with-replacement": {"sample": 1, "population": 10},
}
# of the transformations, what samples each is known on
SAMPLED = {
    "composed": (),
    "sequence": (),
    "subsampled": ("poisson",),
    "grouped": ("poisson", "without-replacement"),
    "converted": ("without-replacement",),
    "tuned": ("poisson", "without-replacement"),
    "clip-rectify": ("poisson", "without-replacement"),
}
# and an ε below the largest loss of a sample of each
SAMPLED_AT = 0.02
POINTS = ("0", "0.3", "0.8")


def example(kind: str) -> Profile:
    """The example of a kind."""
    return kinds()[kind](**ORACLES[kind].given)


def test_every_kind_has_an_oracle() -> None:
    """A kind of gdpbridge's own without one is not finished."""
    own = {kind for kind, cls in kinds().items() if cls.__module__.startswith("gdpbridge.")}
    assert own == set(ORACLES)


@pytest.mark.parametrize("kind", ORACLES)
def test_the_page(kind: str) -> None:
    """It has a formula and a source, and parameters that are described with symbol and range."""
    about = described(kind, kinds()[kind])
    assert re.search(r"[=≤≥^⌈√]", about["about"]), "no formula"
    assert re.search(
        r"\((?:[^()]|\n)*(19|20)\d\d|\b[A-Z]\w+ (et al\.,? )?(19|20)\d\d", about["about"]
    )
    assert about["summary"].endswith(".")
    for one in about["parameters"]:
        assert one["description"]
        assert one["allowed"]


@pytest.mark.parametrize("kind", ORACLES)
def test_delta_is_that_of_the_literature(kind: str) -> None:
    """Both proved ends hold what mpmath finds, or are as far above it as a bound may be."""
    oracle: Oracle = ORACLES[kind]
    profile = example(kind)
    for text in POINTS:
        low, high = profile.delta_bounds(float(text))
        with mpmath.workdps(18):
            found = float(oracle.delta(mpmath.mpf(text)))
        slack = 1e-11 * found + 1e-18
        if oracle.above < 1e-6:
            assert low <= found * (1 + oracle.above) + slack, text
        assert found * (1 - oracle.below) <= high + slack, text
        assert high <= found * (1 + oracle.above) + slack, text


@pytest.mark.parametrize("kind", ORACLES)
def test_nature_and_tail(kind: str) -> None:
    """What δ(ε) is, and whether some finite μ covers every ε, are as the literature has it."""
    oracle, found = ORACLES[kind], gdp.identify(example(kind))
    assert example(kind).profile_is == oracle.nature
    assert (found.verdict, found.tail_status) == (oracle.verdict, "proved")
    assert found.mu_tail is not None
    assert float(found.mu_tail.low) <= oracle.mu_t * (1 + 1e-15)
    assert oracle.mu_t <= float(found.mu_tail.high) * (1 + 1e-15)


@pytest.mark.parametrize("kind", ORACLES)
def test_it_does_what_it_says_that_it_can(kind: str) -> None:
    """Composition, groups and samples are tried; what is not known is refused by name."""
    about, profile = described(kind, kinds()[kind]), example(kind)
    once = profile.delta_bounds(0.3)
    for twice, known in ((profile.compose, about["composes"]), (profile.group, about["groups"])):
        if known:
            # at least as much is given away
            assert once[0] <= twice(2).delta_bounds(0.3)[1] <= 1
        elif twice == profile.compose:
            with pytest.raises(gdp.InputError, match="composition"):
                twice(2).delta_bounds(0.3)
    for scheme, size in SAMPLES.items():
        if scheme in about["sampling"]:
            assert profile.subsample(scheme=scheme, **size).delta_bounds(0.3)[0] <= once[1]
        else:
            with pytest.raises(gdp.InputError):
                profile.subsample(scheme=scheme, **size).delta_bounds(0.3)


def words_of(kind: str) -> str:
    """The example of a kind as it is typed."""
    words, fields = [kind], kinds()[kind].parameters()
    for name, value in ORACLES[kind].given.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif isinstance(value, dict):
            words += [f"{option} {key}={number}" for key, number in value.items()]
        elif isinstance(value, list):
            rows = value if all(isinstance(row, list) for row in value) and kind == "matrix" else 0
            items = value if not rows else [",".join(map(str, row)) for row in rows]
            groups = [
                ":".join(map(str, one)) if isinstance(one, list | tuple) else str(one)
                for one in items
            ]
            words.append(f"{option} '{(';' if rows else ',').join(groups)}'")
        elif fields[name].is_required() and isinstance(value, str) and name == "text":
            words.append(f"'{value}'")
        else:
            words.append(f"{option} '{value}'")
    return " ".join(words)


@pytest.mark.parametrize("kind", ORACLES)
def test_it_is_the_same_however_it_is_said(kind: str) -> None:
    """Typed, written in a file, or in Python: each is the same mechanism."""
    found = example(kind).specification()
    assert mechanism_of(words_of(kind), "--and").specification() == found
    assert gdp.load_profile({"kind": kind, **ORACLES[kind].given}).specification() == found


@pytest.mark.parametrize("kind", ORACLES)
def test_each_parameter_can_be_typed(kind: str) -> None:
    """All of them are options or words, but what is no number or text at all."""
    declared = set(fields_of(kinds()[kind])) - {"neighbours"}
    assert declared == set(kinds()[kind].parameters()) - {"function"}


def test_every_transformation_has_an_oracle() -> None:
    """Two have tests of their own against the literature: test_rectified.py and test_tuned.py."""
    assert set(transformations()) == {*TRANSFORMED, "clip-rectify", "tuned"} == set(SAMPLED)


def made(kind: str) -> Profile:
    """An example of a transformation."""
    profiles = gdp.profiles
    if kind == "tuned":
        return profiles.Renyi(orders=[2, 4], epsilons=[0.1, 0.2]).tune(2)
    if kind == "clip-rectify":
        return transformations()[kind](base=profiles.Laplace(scale=0.5), eps_h=3)
    return TRANSFORMED[kind][0](profiles)


@pytest.mark.parametrize("kind", SAMPLED)
def test_what_is_done_to_what_is_made_of_others(kind: str) -> None:
    """Composed, of groups or tuned it gives away no less; on a sample no more, or it is refused."""
    profile = made(kind)
    once = profile.delta_bounds(0.3)
    beside = gdp.profiles.Gaussian(sigma=3)
    more = [
        lambda: profile.group(2),
        lambda: profile.compose(2),
        lambda: profile.tune(2),
        lambda: gdp.profiles.Sequence(parts=(profile, beside)),
    ]
    for number, make in enumerate(more):
        if kind == "clip-rectify" and number:
            with pytest.raises(gdp.InputError):
                make().delta_bounds(0.3)
            continue
        low, high = make().delta_bounds(0.3)
        assert once[0] <= high <= 1
        assert low <= high
    once = profile.delta_bounds(SAMPLED_AT)
    for scheme, size in SAMPLES.items():
        if scheme in SAMPLED[kind]:
            low, high = profile.subsample(scheme=scheme, **size).delta_bounds(SAMPLED_AT)
            assert 0 < low <= high <= 0.1 * once[1]
        else:
            with pytest.raises(gdp.InputError):
                profile.subsample(scheme=scheme, **size).delta_bounds(SAMPLED_AT)


@pytest.mark.parametrize("kind", TRANSFORMED)
def test_delta_of_what_is_made_of_others(kind: str) -> None:
    """It is that of the two distributions, integrated."""
    make, delta = TRANSFORMED[kind]
    profile = make(gdp.profiles)
    assert profile.kind == kind
    for text in POINTS:
        low, high = profile.delta_bounds(float(text))
        with mpmath.workdps(18):
            found = float(delta(mpmath.mpf(text)))
        assert low <= found * (1 + 1e-11) + 1e-18
        assert found <= high * (1 + 1e-11) + 1e-18
        assert high - low <= 1e-9 * found
