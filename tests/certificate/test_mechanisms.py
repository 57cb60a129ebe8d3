"""The checker's formulas are those of the profiles, for every kind that there is."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import pytest
from flint import arb
from gmpy2 import mpz
from hypothesis import given, settings
from hypothesis import strategies as st

import gdpbridge
from gdpbridge.certificate.reach import uncertifiable_because
from gdpbridge.certificate.write_several import of_releases
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.laplace import Laplace
from gdpbridge.mechanisms.registry import transformations
from gdpbridge.mechanisms.zcdp import ZCDP
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import ball, to_fraction
from gdpbridge.profiles import kinds
from gdpbridge.transformations.clip_rectify import ClipRectify
from gdpbridge_verify import mechanisms, participation
from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.kinds import KINDS
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.refusal import Malformed, Refused

P = gdpbridge.profiles

BITS = 400
AT = Arithmetic(BITS)
# those with a formula for δ; what is composed, or has tangents, rows or a law, has tests of its own
# (of Skellam noise, whose curve counts as lost what is far out, in test_discrete_mutations.py)
KNOWN = sorted({*mechanisms._BUILDERS, *mechanisms._GAUSSIAN} - {"matrix", "skellam"})


def profiles_of(kind: str) -> st.SearchStrategy[Profile]:
    """Profiles of a kind with parameters from their typical ranges."""
    cls = kinds()[kind]
    strategies = {}
    for name, field in cls.parameters().items():
        extra = field.json_schema_extra
        if "typical" not in extra or {"usual", "alternative"} & set(extra):
            continue
        low, high = field.json_schema_extra["typical"]
        whole = isinstance(low, int) and isinstance(high, int)
        strategies[name] = st.integers(low, high) if whole else st.floats(low, high)
    return st.builds(lambda values: cls(**values), st.fixed_dictionaries(strategies))


def test_one_list_of_kinds() -> None:
    """What certificates may name has formulas in the checker, and is a kind of the library."""
    plain = {kind for kind, known in KINDS.items() if not known.of_others}
    only_composed = {kind for kind in plain if kind not in mechanisms._BUILDERS}
    assert set(mechanisms._BUILDERS) <= plain
    assert all(KINDS[kind].composes or KINDS[kind].alone for kind in only_composed)
    assert set(KINDS) <= set(kinds()) | set(transformations())


@pytest.mark.parametrize("kind", sorted(set(kinds()) - set(KINDS)))
def test_every_other_kind_says_that_it_has_none(kind: str) -> None:
    """The reason names the kind."""
    profile = Laplace(scale=1).model_copy(update={"kind": kind})
    assert f"of kind {kind} yet" in uncertifiable_because(profile)


def test_where_runs_have_none_one_run_is_put_together(tmp_path: Path) -> None:
    """As the reason says: the document of all of them is checked."""
    one = P.PureDP(epsilon=1).subsample(0.1, scheme="without-replacement")
    assert "gdpbridge compose puts several together" in uncertifiable_because(one.compose(3))
    document = gdpbridge.measure(one).certificate
    assert document is not None
    document.save(tmp_path / "one.json")
    together = of_releases([tmp_path / "one.json"] * 3)
    assert 2.9 < (float(together.claim.mu.high) / float(document.claim.mu.high)) ** 2 < 3.1


def test_a_reason_names_what_has_none() -> None:
    """A sample is none of several runs, and a kind with certificates of its own is not without."""
    noisy_max = P.ReportNoisyMax(noise="gumbel", scale=2)
    for profile, what in (
        (ZCDP(rho=0.5).subsample(0.1), "samples of zcdp"),
        (
            P.Renyi(orders=[2], epsilons=[1]).tune(2).compose(2),
            "compositions of tuned by orders",
        ),
        (ClipRectify(base=noisy_max, eps_h=3), "what is made of report-noisy-max"),
        (P.Skellam(variance=4).subsample(0.1), "samples of skellam"),
        (P.BoundedRange(range=1, runs=2).subsample(0.1), "a single sample of bounded-range"),
        (
            P.PureDP(epsilon=1).subsample(0.1, scheme="without-replacement").compose(2),
            "compositions of samples without replacement of pure-dp",
        ),
        (
            P.DiscreteGaussian(sigma=2).subsample(0.1).compose(2),
            "compositions of sampled discrete-gaussian",
        ),
    ):
        why, _, instead = uncertifiable_because(profile).partition(", but ")
        assert why == f"there is no certificate yet for {what}"
        assert bool(instead) is what.startswith("compositions of sample")


def brackets_of(profile: Profile) -> list[tuple[Fraction, Fraction]]:
    """The brackets that a certificate of the profile would have."""
    document = gdpbridge.measure(profile, tol=1e-2, eps_h=1e-3).certificate
    assert document is not None
    return [(binary(b.low), binary(b.high)) for b in document.evidence.breakpoints]


def overlap(interval: Interval, reference: arb) -> bool:
    """Whether two enclosures have a number in common."""
    low, high = (
        Fraction(*map(int, end.as_integer_ratio())) for end in (interval.low, interval.high)
    )
    return low <= to_fraction(reference.upper()) and to_fraction(reference.lower()) <= high


@pytest.mark.parametrize("kind", KNOWN)
@settings(max_examples=15)
@given(data=st.data())
def test_formulas_agree(kind: str, data: st.DataObject) -> None:
    """δ and 1 - δ agree at random points, and δ vanishes at the same ones."""
    profile = data.draw(profiles_of(kind))
    brackets = brackets_of(profile)
    parts, tail = mechanisms.formulas_of(profile.specification(), brackets, AT)
    for eps in data.draw(st.lists(st.fractions(0, 15, max_denominator=999), max_size=6)):
        if any(low <= eps <= high for low, high in brackets):
            continue
        with precision(BITS):
            reference = profile.curve.enclose(ball(eps))
            log, complement = reference.log(), reference.log_complement()
        if tail.vanishes_from is not None and AT.exactly(eps) >= tail.vanishes_from:
            assert log == arb.neg_inf()
            continue
        level = mechanisms.part_on(parts, eps, eps).level(AT.exactly(eps))
        assert overlap(level.value.log(), log)
        assert overlap(level.complement.log(), complement)


@pytest.mark.parametrize("kind", KNOWN)
@settings(max_examples=10)
@given(data=st.data())
def test_formulas_bend_as_they_say(kind: str, data: st.DataObject) -> None:
    """Each is below its chords in e^ε, or below its tangents where it is concave."""
    profile = data.draw(profiles_of(kind))
    parts, _ = mechanisms.formulas_of(profile.specification(), brackets_of(profile), AT)
    for part in parts:
        ends = data.draw(st.tuples(*[st.fractions(0, 1, max_denominator=50)] * 3))
        width = (part.high or part.low + 3) - part.low
        low, middle, high = (AT.exactly(part.low + end * width) for end in sorted(ends))
        if not low < middle < high:
            continue
        if part.over is not None:
            for end in (low, high):
                assert not part.level(end).value > part.over(middle, end)
            continue
        values = [part.level(eps) for eps in (low, middle, high)]
        share = (middle - low).expm1() / (high - low).expm1()
        for first, inner, last in ([v.value for v in values], [-v.complement for v in values]):
            assert not inner > first + share * (last - first)


SGD = {"kind": "sgd-family", "neighbours": None, "A": "1", "B": "2", "sigma": "1"}
ICEA = {"kind": "icea", "neighbours": "replace-one", "messages": "50", "users": "10"}


@pytest.mark.parametrize(
    ("spec", "brackets"),
    [
        (SGD, []),  # B ≥ 1 is always refined
        (ICEA, []),
        ({**SGD, "B": "0.5"}, []),  # it touches
        (SGD, [(Fraction(0), Fraction(4))]),  # δ̂ is not convex at 0
        (SGD, [(Fraction(1, 2), Fraction(6, 10))]),  # before the touching point
        (SGD, [(Fraction(3), Fraction(4))]),  # after it
        (ICEA, [(Fraction(0), Fraction(40))]),
        (ICEA, [(Fraction(1, 10**6), Fraction(1, 1000))]),
        (SGD, [(Fraction(1, 10), Fraction(2, 10)), (Fraction(1), Fraction(3))]),  # no crossing
    ],
)
def test_wrong_brackets_are_refused(spec: dict, brackets: list) -> None:
    """A profile whose breakpoints are misplaced is not built."""
    with pytest.raises((Refused, Malformed)):
        mechanisms.formulas_of(spec, brackets, AT)


@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_a_crossing_elsewhere_is_refused(share: Fraction) -> None:
    """Moving or swapping the two brackets of a profile that has a crossing is found out."""
    profile = kinds()["sgd-family"](A=1, B=0.5, sigma=1)
    crossing, touching = brackets_of(profile)
    spec = profile.specification()
    mechanisms.formulas_of(spec, [crossing, touching], AT)
    for wrong in (
        [touching],
        [crossing],
        [touching, crossing],
        [touching, touching],
        [(crossing[0] * share, crossing[0] * (1 + share) / 2), touching],
        [(crossing[1] + share / 10, crossing[1] + share / 5), touching],
        [(crossing[0], touching[0] + share * (touching[1] - touching[0])), touching],
    ):
        with pytest.raises((Refused, Malformed)):
            mechanisms.formulas_of(spec, wrong, AT)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "unknown"}, {"kind": "__import__('os').system('id')"}, {"kind": None},
        {"A": "0"}, {"A": "-1"}, {"A": None}, {"A": ""}, {"A": "nan"}, {"A": "inf"}, {"A": "1e999"},
        {"A": "1e-999"}, {"A": "1/2"}, {"A": "0x1"}, {"A": "1_0"}, {"A": "١"}, {"A": "1\n"},
        {"A": " 1"}, {"A": "+1"}, {"neighbours": "other"}, {"C": "1"}, {"A": "__import__('os')"},
    ],
)  # fmt: skip
def test_other_parameters_are_refused(change: dict) -> None:
    """Kinds, parameters and relations are known names and plain decimals; all else is refused."""
    touching = brackets_of(kinds()["sgd-family"](A=1, B=2, sigma=1))
    mechanisms.formulas_of(SGD, touching, AT)
    with pytest.raises(Malformed):
        mechanisms.formulas_of(SGD | change, touching, AT)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=7), st.integers(1, 4), st.integers(1, 3))
def test_the_largest_sum_of_weights_that_are_apart(
    weights: list[int], most: int, apart: int
) -> None:
    """Against all choices, one by one."""
    chosen = (
        places
        for size in range(1, most + 1)
        for places in itertools.combinations(range(len(weights)), size)
        if all(b - a >= apart for a, b in itertools.pairwise(places))
    )
    best = max(sum(weights[place] for place in places) for places in chosen)
    assert participation._best([mpz(one) for one in weights], most, apart) == best
