"""Lines of rare noise: whatever a document has, δ lies between what they show.

Two runs are few enough for δ by one integral of the one run's formula.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest

import gdpbridge as gdp
from gdpbridge.certificate.write_answers import Asked, write_answers
from gdpbridge.certificate.write_composed import line_of
from gdpbridge.losses.moments import Factor
from gdpbridge.losses.split import splits_from
from gdpbridge.losses.stretches import Stretches
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge_verify import verify
from gdpbridge_verify.arithmetic import Arithmetic, Work
from gdpbridge_verify.evidence import Line
from gdpbridge_verify.exponentials import Laplace
from gdpbridge_verify.rare import RareLine
from gdpbridge_verify.refusal import Malformed, OutOfWork, Refused, Undecided
from gdpbridge_verify.transforms import Gaussian, Runs, SampledGaussian

SIGMA, RATE, RUNS = Fraction(1), Fraction(1, 10), 2
PLACES = [Fraction(3, 2), Fraction(2)]
BITS, DIGITS = 96, 3


def one_run(eps: mpmath.mpf) -> mpmath.mpf:
    """δ(ε) of one run, for ε of any sign."""
    q, mu = mpmath.mpf(1) / 10, mpmath.mpf(1)
    inner = 1 + mpmath.expm1(eps) / q
    if inner <= 0:
        return -mpmath.expm1(eps)
    at = mpmath.log(inner)
    above, below = (mpmath.ncdf(-at / mu + sign * mu / 2) for sign in (1, -1))
    return q * (above - inner * below)


@cache
def exact(eps: Fraction) -> mpmath.mpf:
    """δ(ε) of two runs."""
    with mpmath.workdps(20):
        at, q = mpmath.mpf(eps.numerator) / eps.denominator, mpmath.mpf(1) / 10

        def inside(u: mpmath.mpf) -> mpmath.mpf:
            g = 1 - q + q * mpmath.exp(u - 0.5)
            return mpmath.npdf(u) * g * one_run(at - mpmath.log(g))

        # where the other run may lose nothing, δ of it has another formula
        turn = mpmath.log((mpmath.exp(at) / (1 - q) - 1 + q) / q) + 0.5
        return mpmath.quad(inside, sorted([*mpmath.arange(-12, 13), turn]))


@cache
def written(eps: Fraction) -> Line:
    """A line that the search finds for an ε, as a document has it."""
    factor = Factor(SampledGaussianTransform(SIGMA, RATE), RUNS, mirrored=False)
    log = float(mpmath.log(exact(eps)))
    split, tilt = next(one for alike in splits_from(factor, float(eps), log - 8) for one in alike)
    found = Stretches(split.moments, None, DIGITS, split.above(tilt))
    return line_of(found.made_for(eps, eps, None, None).line.evidence)


def shown(line: Line, eps: Fraction) -> tuple[mpmath.mpf, mpmath.mpf] | None:
    """What the checker finds below and above δ, None where it refuses the line."""
    parts = [Runs(SampledGaussian(SIGMA, RATE), RUNS)]
    try:
        curve = RareLine(parts, False, line, Arithmetic(BITS, Work(1e6)))
        below, above = (curve.curve(eps, above=above) for above in (False, True))
        return mpmath.mpf(below.low), mpmath.mpf(above.high)
    except (Malformed, OutOfWork, Refused, Undecided):
        return None


@pytest.mark.parametrize("eps", PLACES)
def test_delta_lies_between(eps: Fraction) -> None:
    """Closely where the line was made for it."""
    found, delta = shown(written(eps), eps), exact(eps)
    assert found is not None
    assert found[0] <= delta <= found[1]
    assert found[1] - found[0] < 1e-3 * delta


def changed(line: Line) -> Iterator[tuple[str, Line]]:
    """Lines with one field another one: scaled, negative, 0, or another field's."""
    numbers = [Fraction(0), *(Fraction(*x) for x in ((-1, 1), (1, 16), (1, 2), (2, 1), (16, 1)))]

    def of(given: Any, name: str) -> Iterator[Any]:
        value = getattr(given, name)
        for x in numbers:
            if name == "count":
                yield replace(given, count=max(int(value * x), 1))
            elif isinstance(value, int):
                yield replace(given, **{name: int(value * x)})
                yield replace(given, **{name: value + int(4 * x)})
            else:
                yield replace(given, **{name: value * x})

    for name in ("c", "h", "count", "right", "left"):
        yield from ((name, one) for one in of(line, name))
    for which in ("nodes", "far"):
        for number, nodes in enumerate(getattr(line, which)):
            for name in ("shift", "strip", "step", "first", "last") if nodes else ():
                for one in of(nodes, name):
                    some = list(getattr(line, which))
                    some[number] = one
                    yield f"{which}.{number}.{name}", replace(line, **{which: tuple(some)})
    split = line.split
    assert split is not None
    yield from (("tilt", replace(line, split=one)) for one in of(split, "tilt"))
    for which in ("low", "high"):
        for name in ("place", "width"):
            for one in of(getattr(split, which), name):
                yield f"{which}.{name}", replace(line, split=replace(split, **{which: one}))
    yield "edges", replace(line, split=replace(split, low=split.high, high=split.low))
    yield "alike", replace(line, split=replace(split, low=split.high))
    yield "nodes", replace(line, nodes=line.nodes[::-1])
    yield "far", replace(line, far=line.far[::-1])
    yield "one", replace(line, nodes=line.nodes[:1], far=line.far[:1])
    every = (*line.nodes, *line.far)
    for count in (0, 1, 3, 4):
        yield f"nodes: {count}", replace(line, nodes=every[:count], far=every[count:])


def test_no_change_shows_what_is_false(thinned: Any) -> None:
    """Each field on its own, at the ε that the line is for."""
    eps = PLACES[1]
    tried = thinned(changed(written(eps)), 16, 3)
    # as many nodes as there must be, at other places
    tried += [one for one in changed(written(eps)) if one[0].startswith("nodes: ")]
    found = [(what, shown(one, eps)) for what, one in tried]
    kept = [(what, ends) for what, ends in found if ends is not None]
    assert [what for what, ends in kept if not ends[0] <= exact(eps) <= ends[1]] == []
    assert 2 < len(kept) < len(tried)


def test_noise_is_split_of_one_mechanism_alone() -> None:
    """Of runs of one sampled Gaussian mechanism, where a record is added or removed."""
    line, of = written(PLACES[1]), Arithmetic(BITS)
    run = Runs(SampledGaussian(SIGMA, RATE), 2)
    replaced = Runs(SampledGaussian(SIGMA, RATE, replaced=True), 2)
    others = [Runs(Gaussian(Fraction(1)), 2)], [Runs(Laplace(Fraction(1)), 2)], [run, run]
    for parts in ([replaced], *others):
        with pytest.raises(Malformed, match="split"):
            RareLine(parts, False, line, of)
    with pytest.raises(Malformed, match="split"):
        RareLine([run], True, line, of)
    with pytest.raises(Malformed, match="split"):
        RareLine([run], False, replace(line, c=Fraction(-1, 2), left=Fraction(-3, 4)), of)


def test_a_run_with_little_noise_has_a_certificate() -> None:
    """σ = .1, q = 10⁻⁵, T = 3000: no line of the whole law does, and the checker has no longer."""
    run = gdp.profiles.DPSGD(noise_multiplier=0.1, sample_rate=1e-5, steps=3000)
    found = gdp.measure(run, failure=1e-6, tol=1e-2).certificate
    assert found is not None
    text = found.to_json()
    assert '"split"' in text
    assert len(text) < 100_000
    assert verify(text.encode()).valid


@pytest.mark.deep
def test_an_epsilon_of_it_has_one() -> None:
    """Where lines of the whole law are none, to a thousandth."""
    run = gdp.profiles.DPSGD(noise_multiplier=0.1, sample_rate=1e-5, steps=3000)
    found = write_answers(run, [Asked("epsilon", Fraction(1, 10**6))])
    (answer,) = found.claim.answers or ()
    assert answer.high != "inf"
    assert float(answer.high) < 1.003 * float(answer.low)
    assert verify(found).valid


@pytest.mark.parametrize(
    ("profile", "options"),
    [
        # all that is not failure needs no noise: by the distance, and by a line
        (gdp.profiles.DPSGD(noise_multiplier=1, sample_rate=0.001, steps=10), {"failure": 0.3}),
        (gdp.profiles.DPSGD(noise_multiplier=1, sample_rate=0.05, steps=50), {"failure": 0.3}),
        # the search's line at ε_h is of the opposite direction
        (gdp.profiles.DPSGD(noise_multiplier=0.7, sample_rate=1e-4, steps=100_000), {"eps_h": 1}),
        pytest.param(
            # cells as narrow as in the search would be too many
            gdp.profiles.Gaussian(sigma=50),
            {"failure": 1e-10},
            marks=pytest.mark.deep,
        ),
    ],
    ids=["distance", "line", "opposite", "gaussian"],
)
def test_what_the_search_proves_in_another_form_has_one(profile: Any, options: Any) -> None:
    """As close as it was measured, where the search's own steps have no place in a document."""
    found = gdp.measure(profile, **options)
    document = found.certificate
    assert document is not None
    assert verify(document.to_json().encode()).valid
    assert Fraction(document.claim.mu.high) <= Fraction(found.mu.high) * (1 + Fraction(1, 10**6))
