"""The checker's own arithmetic for composed losses: complex balls, transforms, lines."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from gmpy2 import mpc, mpfr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gdpbridge.certificate.write_composed import line_of
from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.losses.moments import Part
from gdpbridge.losses.transforms.exponential import laplace_transform
from gdpbridge.losses.transforms.finite import two_valued
from gdpbridge.losses.transforms.fixed_size import FixedSizeTransform
from gdpbridge.losses.transforms.gaussian import GaussianTransform
from gdpbridge.losses.transforms.replace_one import ReplaceOneTransform
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge_verify.arithmetic import Arithmetic, Work
from gdpbridge_verify.complexes import Ball, Complexes
from gdpbridge_verify.composed import Line
from gdpbridge_verify.evidence import Line as LineData
from gdpbridge_verify.evidence import Nodes
from gdpbridge_verify.exponentials import Laplace
from gdpbridge_verify.finite import two_valued as two_losses
from gdpbridge_verify.fixed_size import FixedSizeGaussian
from gdpbridge_verify.refusal import Malformed, OutOfWork, Refused, Undecided
from gdpbridge_verify.transforms import Gaussian, Runs, SampledGaussian

BITS = 128
NUMBERS = st.complex_numbers(min_magnitude=1e-3, max_magnitude=30, allow_nan=False)
RADII = st.floats(0, 0.2)


def _ball(field: Complexes, value: complex, radius: float) -> Ball:
    return Ball(field, mpc(value, BITS), mpfr(radius))


def _inside(ball: Ball, value: Any) -> bool:
    with mpmath.workprec(300):
        middle = mpmath.mpc(
            _exact(ball.middle.real),
            _exact(ball.middle.imag),
        )
        return bool(abs(value - middle) <= _exact(ball.radius))


def _exact(value: Any) -> Any:
    top, bottom = value.as_integer_ratio()
    return mpmath.mpf(int(top)) / int(bottom)


@given(NUMBERS, RADII, NUMBERS, RADII, st.floats(0, 6.28), st.floats(0, 1))
def test_operations_enclose(
    a: complex, r: float, b: complex, s: float, angle: float, share: float
) -> None:
    """What an operation gives at any member of its arguments' balls is in the result's ball."""
    field = Complexes(Arithmetic(BITS))
    one, other = _ball(field, a, r), _ball(field, b, s)
    with mpmath.workprec(300):
        # inside, though these themselves are rounded
        turn = mpmath.expj(angle) * share * (1 - mpmath.mpf(2) ** -250)
        x, y = mpmath.mpc(a) + turn * mpmath.mpf(r), mpmath.mpc(b) - turn * mpmath.mpf(s)
        assert _inside(one + other, x + y)
        assert _inside(one - other, x - y)
        assert _inside(one * other, x * y)
        assert _inside(one.exp(), mpmath.exp(x))
        assert _inside(one.conjugate(), mpmath.conj(x))
        try:
            log, inverse = one.log(), one.inverse()
        except Undecided:
            assume(False)
        assert _inside(log, mpmath.log(x))
        assert _inside(inverse, 1 / x)


def _moment(transform: str, w: Any) -> Any:
    """F(w) by quadrature of its integral, or by its sum."""
    if transform == "sampled":
        sigma, q = mpmath.mpf("0.8"), mpmath.mpf("0.05")

        def integrand(u: Any) -> Any:
            g = 1 - q + q * mpmath.exp(u / sigma - 1 / (2 * sigma**2))
            return mpmath.npdf(u) * g**w

        return mpmath.quad(integrand, mpmath.linspace(-13, 13, 14))
    if transform == "replaced":
        sigma, q = mpmath.mpf("0.8"), mpmath.mpf("0.05")

        def pair(u: Any) -> Any:
            there, back = (
                1 - q + q * mpmath.exp(sign * u / sigma - 1 / (2 * sigma**2)) for sign in (1, -1)
            )
            return mpmath.npdf(u) * there**w * back ** (1 - w)

        return mpmath.quad(pair, mpmath.linspace(-13, 13, 14))
    if transform == "fixed size":
        m, q = mpmath.mpf("1.25"), mpmath.mpf("0.05")

        def half(tilt: Any) -> Any:
            def integrand(u: Any) -> Any:
                return mpmath.npdf(u) * (1 - q + q * mpmath.exp(m * (u - m / 2))) ** tilt

            return mpmath.quad(integrand, mpmath.linspace(m / 2, m / 2 + 16, 13))

        return half(w) + half(1 - w) + 1 - half(0) - half(1)
    if transform == "laplace":
        eps = mpmath.mpf("0.7")

        def middle(x: Any) -> Any:
            # noise of scale 1/0.7 about 0 and 1; between them the loss is linear
            loss = eps * (2 * x - 1)
            return eps / 2 * mpmath.exp(-eps * x) * mpmath.exp(w * loss)

        # of Q = noise about 0: below 0 the loss is -ε₀, beyond 1 it is ε₀
        ends = (mpmath.exp(-w * eps) + mpmath.exp(w * eps - eps)) / 2
        return ends + mpmath.quad(middle, [0, 0.5, 1])
    if transform == "gaussian":
        variance = mpmath.mpf("0.3")
        return mpmath.exp(variance * (w * w - w) / 2)
    eps, kept = mpmath.mpf("1.5"), mpmath.mpf("0.99")
    share = kept / (1 + mpmath.exp(eps))
    return share * (mpmath.exp(w * eps) + mpmath.exp((1 - w) * eps))


TRANSFORMS = {
    "sampled": SampledGaussian(Fraction("0.8"), Fraction("0.05")),
    "replaced": SampledGaussian(Fraction("0.8"), Fraction("0.05"), replaced=True),
    "fixed size": FixedSizeGaussian(Fraction("1.25"), Fraction("0.05")),
    "laplace": Laplace(Fraction("0.7")),
    "gaussian": Gaussian(Fraction("0.3")),
    "losses": two_losses(Fraction("1.5"), Fraction("0.01")),
}
NODES = Nodes(shift=Fraction(5, 4), strip=Fraction(9, 8), step=Fraction(1, 8), first=-100, last=130)
# on a ray: the angle is half of the sector's
_ANGLE = Fraction(1, 6)
RAY = Nodes(shift=_ANGLE, strip=_ANGLE, step=Fraction(1, 48), first=-1600, last=130)


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("w", [Fraction(-3, 2), Fraction(1, 2), Fraction(5, 2)])
def test_transforms_enclose_their_integrals(name: str, w: Fraction) -> None:
    """Values on a line, at a real place and bounds far out hold what quadrature gives."""
    transform = TRANSFORMS[name]
    of = Arithmetic(BITS)
    field = Complexes(of)
    on_ray = isinstance(transform, FixedSizeGaussian)
    nodes = (RAY if on_ray else NODES) if transform.needs_nodes else None
    step = Fraction(3, 4)
    found = transform.on_line(field, w, step, 7, nodes)
    narrow = nodes and replace(nodes, shift=Fraction(1, 2), strip=Fraction(3, 4))
    if on_ray:
        narrow = replace(RAY, step=Fraction(1, 16), first=-200, last=43)
    far = transform.beyond(field, w, 4 * step, narrow)
    with mpmath.workdps(25):
        exact = [
            _moment(name, mpmath.mpf(w.numerator) / w.denominator + 1j * k * mpmath.mpf("0.75"))
            for k in range(0, 7, 2)
        ]
        for ball, value in zip(found[::2], exact, strict=True):
            assert abs(value - mpmath.mpc(_exact(ball.middle.real), _exact(ball.middle.imag))) <= (
                _exact(ball.radius) + mpmath.mpf("1e-20") * abs(exact[0])
            )
            assert _exact(ball.radius) < mpmath.mpf("1e-9") * abs(exact[0])
        real = transform.at(of, w)
        assert _exact(real.high) >= exact[0].real * (1 - mpmath.mpf("1e-20"))
        assert all(
            abs(value) <= _exact(far.high) * (1 + mpmath.mpf("1e-20")) for value in exact[2:]
        )


CASES: dict[str, tuple[list[tuple[Any, Any, int]], Fraction]] = {
    "dpsgd": (
        [
            (
                SampledGaussianTransform(Fraction(1), Fraction("0.01")),
                SampledGaussian(Fraction(1), Fraction("0.01")),
                10_000,
            )
        ],
        Fraction(5),
    ),
    "replaced": (
        [
            (
                ReplaceOneTransform(Fraction(2), Fraction("0.02")),
                SampledGaussian(Fraction(2), Fraction("0.02"), replaced=True),
                500,
            )
        ],
        Fraction(1, 2),
    ),
    "fixed size": (
        [
            (
                FixedSizeTransform(Fraction(1), Fraction("0.1")),
                FixedSizeGaussian(Fraction(1), Fraction("0.1")),
                100,
            )
        ],
        Fraction(2),
    ),
    "rare": (
        [
            (
                SampledGaussianTransform(Fraction("0.8"), Fraction("0.004")),
                SampledGaussian(Fraction("0.8"), Fraction("0.004")),
                300,
            )
        ],
        Fraction(1, 2),
    ),
    "mixed": (
        [
            (GaussianTransform(Fraction(1, 4)), Gaussian(Fraction(1, 4)), 3),
            (laplace_transform(Fraction(1, 5)), Laplace(Fraction(1, 5)), 2),
            (two_valued(Fraction(1, 3), Fraction("1e-6")), None, 1),
        ],
        Fraction(1),
    ),
}


def _runs(name: str) -> list[Runs]:
    return [
        Runs(two_losses(Fraction(1, 3), Fraction("1e-6")) if known is None else known, times)
        for _, known, times in CASES[name][0]
    ]


def _lines(name: str, eps: Fraction) -> list[tuple[bool, LineData]]:
    loss = ComposedLoss([Part(own, times) for own, _, times in CASES[name][0]], digits=12)
    return [
        (bool(number), line_of(direction.stretch(eps).line.evidence))
        for number, direction in enumerate(loss.directions)
    ]


def _directed(name: str, eps: Fraction, backward: bool) -> tuple[float, float]:
    """Bounds of one direction's D, or δ without what only fails, by the library's engine."""
    loss = ComposedLoss([Part(own, times) for own, _, times in CASES[name][0]], digits=16)
    direction = loss.directions[int(backward)]
    low, high = direction.delta(eps)
    return float(low), float(high)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("below_zero", [False, True])
def test_lines_agree_with_the_library(name: str, below_zero: bool) -> None:
    """Both arithmetics enclose the same δ to eleven digits, on either scale."""
    eps = Fraction(0) if below_zero else CASES[name][1]
    for backward, data in _lines(name, eps):
        of = Arithmetic(192)
        line = Line(_runs(name), backward, data, of)
        above, below = (line.curve(eps, above=above) for above in (True, False))
        failure = 1e-6 if name == "mixed" else 0.0
        low, high = _directed(name, eps, backward)
        known = (1 - high, 1 - low) if line.is_complement else (low - failure, high - failure)
        assert float(above.high) >= known[0] * (1 - 1e-12)
        assert float(below.low) <= known[1] * (1 + 1e-12)
        assert float(above.high - below.low) <= 1e-11 * known[1]


CHANGES = st.sampled_from(
    ["c", "h", "count", "right", "left", "shift", "strip", "step", "first", "last", "far"]
)


@settings(max_examples=25)
@given(st.sampled_from(sorted(CASES)), CHANGES, st.fractions(Fraction(1, 8), 8), st.data())
def test_no_line_is_wrong_whatever_its_numbers(
    name: str, field: str, factor: Fraction, draw: st.DataObject
) -> None:
    """Changed numbers make a line wider, or are refused: never do they move it past the truth."""
    eps = CASES[name][1]
    backward, data = draw.draw(st.sampled_from(_kept_lines(name)))
    factor = Fraction(factor.limit_denominator(64))
    changed = _changed(data, field, factor)
    of = Arithmetic(96, Work(1e6))
    low, high = _kept_truth(name, backward)
    failure = 1e-6 if name == "mixed" else 0.0
    try:
        line = Line(_runs(name), backward, changed, of)
        above, below = (line.curve(eps, above=above) for above in (True, False))
    except (Malformed, OutOfWork, Refused, Undecided):
        return
    known = (1 - high, 1 - low) if line.is_complement else (low - failure, high - failure)
    assert float(above.high) >= known[0] * (1 - 1e-12)
    assert float(below.low) <= known[1] * (1 + 1e-12)


_LINES: dict[str, list[tuple[bool, LineData]]] = {}
_TRUTHS: dict[tuple[str, bool], tuple[float, float]] = {}


def _kept_lines(name: str) -> list[tuple[bool, LineData]]:
    if name not in _LINES:
        _LINES[name] = _lines(name, CASES[name][1])
    return _LINES[name]


def _kept_truth(name: str, backward: bool) -> tuple[float, float]:
    if (name, backward) not in _TRUTHS:
        _TRUTHS[name, backward] = _directed(name, CASES[name][1], backward)
    return _TRUTHS[name, backward]


def _changed(data: LineData, field: str, factor: Fraction) -> LineData:
    def moved(nodes: Nodes | None) -> Nodes | None:
        if nodes is None:
            return None
        value = getattr(nodes, field) * factor
        return replace(nodes, **{field: round(value) if field in ("first", "last") else value})

    if field == "count":
        return replace(data, count=min(max(1, int(data.count * factor)), 4 * data.count))
    if field in ("c", "h", "right", "left"):
        return replace(data, **{field: getattr(data, field) * factor})
    if field == "far":
        return replace(data, far=data.nodes)
    return replace(data, nodes=tuple(moved(nodes) for nodes in data.nodes))


@pytest.mark.parametrize("low", [Fraction(1, 3), Fraction(-2, 7), Fraction(5, 11)])
@pytest.mark.parametrize("width", [Fraction(1, 7), Fraction(10**9, 13), Fraction(1, 3 * 2**126)])
def test_a_ball_about_a_rectangle_holds_its_corners(low: Fraction, width: Fraction) -> None:
    """Also where the middle, or the radius of fewer bits, is rounded."""
    field = Complexes(Arithmetic(BITS))
    real = field.arithmetic.between(low, low + width)
    imaginary = field.arithmetic.between(-low, width - low)
    for parts in ((real,), (real, imaginary)):
        ball = field.of(*parts)
        for corner in itertools.product(*((one.low, one.high) for one in parts)):
            with mpmath.workprec(600):
                assert _inside(ball, mpmath.mpc(*map(_exact, corner)))
    for one, ball in ((real, field.of(real)), (imaginary, field.of(imaginary))):
        found = ball.real()
        assert found.low <= one.low
        assert one.high <= found.high
