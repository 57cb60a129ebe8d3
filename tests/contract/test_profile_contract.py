"""What every kind of profile promises, tried on parameters from its own declaration."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_series
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gdpbridge as gdp
from gdpbridge.curves.base import Form
from gdpbridge.curves.pieces import ZERO
from gdpbridge.curves.tails import ConstantTail, GaussianCurveTail, GaussianDecayTail, SlowDecayTail
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import SERIES, ball

Draw = Callable[[type[Profile]], st.SearchStrategy[dict[str, Any]]]

# each proved point of these solves equations anew: fewer of them are tried
SOLVED = ("zcdp",)
# the fixture only names the kind: nothing of it changes between examples
tried = settings(
    max_examples=settings().max_examples // 5,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
drawing = given(st.data())


def grid(profile: Profile, count: int = 60) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Points that crowd at 0, on and somewhat beyond the range where δ lives."""
    stop = reach(profile)
    return 1.2 * stop * np.linspace(0, 1, count) ** 2


def reach(profile: Profile) -> float:
    with precision(100):
        end = profile.curve.end
        if end is not None:
            return float(end()) if callable(end) else float(end)
        starts = [piece.start for piece in profile.curve.pieces]
        last = starts[-1]
        return max(1.0, 3 * (float(last()) if callable(last) else float(last)))


class TestShape:
    """δ is a non-increasing function with values in [0, 1], and below 1 at 0."""

    @tried
    @drawing
    def test_floats(self, kind: type[Profile], parameters: Draw, data: st.DataObject) -> None:
        """On a grid of floats: within [0, 1], 1 being a rounded one, never rising, no nan."""
        profile = kind(**data.draw(parameters(kind)))
        values = np.asarray(profile.delta(grid(profile)))
        assert 0 <= values.min() <= values.max() <= 1
        assert (np.diff(values) <= 4e-16).all()
        logs = np.asarray(profile.log_delta(grid(profile)))
        assert not np.isnan(logs).any()
        assert (np.exp(logs) == values).all()

    @tried
    @drawing
    def test_balls(self, kind: type[Profile], parameters: Draw, data: st.DataObject) -> None:
        """In balls: no point is certainly above an earlier one, and δ(0) is certainly below 1."""
        profile = kind(**data.draw(parameters(kind)))
        with precision(200):
            curve = profile.curve
            values = [curve.enclose(arb(float(eps))).log() for eps in grid(profile, 30)]
            assert values[0] < 0 or values[0] == arb.neg_inf()
            assert not any(b > a for a, b in pairwise(values))


class TestKindsOfNumbers:
    """Floats, balls and series are the same function."""

    @tried
    @drawing
    def test_floats_agree_with_balls(
        self, kind: type[Profile], parameters: Draw, data: st.DataObject
    ) -> None:
        """Float logarithms are the balls', at an ε that is off by a few ulps of the range."""
        profile = kind(**data.draw(parameters(kind)))
        points = grid(profile, 25)
        with precision(200):
            curve = profile.curve
            off = arb(reach(profile)) * arb(2) ** -50
            for eps, *computed in zip(points, *curve.logs(points), strict=True):
                before, after = (
                    curve.enclose((arb(eps) + shift).max(arb(0)).mid()) for shift in (-off, off)
                )
                ends = [
                    (after.log(), before.log()),
                    (before.log_complement(), after.log_complement()),
                ]
                for value, (low, high) in zip(computed, ends, strict=True):
                    size = abs(value) * 1e-12 if math.isfinite(value) else 0.0
                    slack = size + 4e-16 * (1 + reach(profile))
                    assert not arb(value) < low - slack, eps
                    assert not arb(value) > high + slack, eps

    @tried
    @drawing
    def test_series_agree_with_finite_differences(
        self, kind: type[Profile], parameters: Draw, data: st.DataObject
    ) -> None:
        """The two derivatives on each piece are those that balls show."""
        profile = kind(**data.draw(parameters(kind)))
        if profile.curve.form is Form.LINEAR:
            pytest.skip("made of lines: the methods use those and no series")
        with precision(600):
            h = arb(2) ** -150
            for eps in grid(profile, 12)[1:]:
                curve = profile.curve
                at = arb(eps)
                pieces = curve.pieces_on(at - h, at + h)
                if len(pieces) != 1 or curve.enclose(at).log() == arb.neg_inf():
                    continue
                series = pieces[0].formula(arb_series([at, 1], 3), SERIES)
                for name in ("log", "log_complement"):
                    left, mid, right = (
                        getattr(curve.enclose((at + k * h).mid()), name)() for k in (-1, 0, 1)
                    )
                    if not (left.is_finite() and right.is_finite()):
                        continue
                    found = getattr(series, name)()
                    slope, curvature = (right - left) / (2 * h), (right - 2 * mid + left) / (h * h)
                    slack = (1 + abs(mid) + abs(slope) + abs(curvature)) * arb(2) ** -100
                    assert found[0].overlaps(mid)
                    assert abs(found[1] - slope) <= slack, (eps, name)
                    assert abs(2 * found[2] - curvature) <= slack, (eps, name)


class TestTail:
    """What a profile declares of its tail is true far out."""

    @tried
    @drawing
    def test_facts(self, kind: type[Profile], parameters: Draw, data: st.DataObject) -> None:
        """The declared form holds at points from its start to a thousand times as far."""
        profile = kind(**data.draw(parameters(kind)))
        curve, tail = profile.curve, profile.tail
        with precision(2000):

            def constant(value: Any) -> arb:
                return value() if callable(value) else ball(value)

            start = constant(getattr(tail, "start", Fraction(0)))
            for factor in (1, 1.1, 3, 30, 1000):
                eps = (start * factor + factor / 1000).upper()
                log = curve.enclose(eps).log()
                match tail:
                    case ConstantTail(_, value) if value == 0:
                        assert log == arb.neg_inf()
                    case ConstantTail(_, value):
                        assert log.overlaps(constant(value).log())
                    case GaussianCurveTail(mu):
                        assert log == arb.neg_inf() if mu == 0 else log < 0
                    case GaussianDecayTail(log_factor, mu_t, _, linear):
                        bound = constant(log_factor) + ball(linear) * eps
                        bound -= eps * eps / (2 * constant(mu_t) ** 2)
                        assert not log > bound
                    case SlowDecayTail(log_factor, rate, _):
                        assert not log < constant(log_factor) - ball(rate) * eps

    @tried
    @drawing
    def test_the_tail_parameter_is_a_limit(
        self, kind: type[Profile], parameters: Draw, data: st.DataObject
    ) -> None:
        """ε²/(-2 log δ) is near the interval for μ_t² far out, or grows where μ_t is infinite."""
        profile = kind(**data.draw(parameters(kind)))
        mu_t = gdp.identify(profile).mu_tail
        if mu_t is None:
            return
        # on a line, a - b·e^ε cancels: the precision must hold e^ε
        places = (1e3, 1e5) if profile.curve.form is not Form.LINEAR else (100.0, 1e3)
        with precision(500 if profile.curve.form is not Form.LINEAR else 3000):
            ratios = []
            for far in places:
                log = profile.curve.enclose(arb(far)).log()
                if log == arb.neg_inf():
                    assert Fraction(mu_t.low) >= 0
                    return
                ratios.append(float((far / (-2 * log).sqrt()).mid()))
        if mu_t.high.is_infinite():
            assert ratios[1] > 10 * ratios[0]
        else:
            # log δ_μ(ε) is about -(ε/μ - μ/2)²/2
            limit = 1 / (1 / ratios[1] + float(mu_t.low) / (2 * places[1]))
            assert limit == pytest.approx(float(mu_t.low), rel=0.05)


class TestTrueProfile:
    """δ is convex in t = e^ε, and with its mirror image δ(1/t) = 1 - (1 - δ(t))/t also at t = 1."""

    @tried
    @drawing
    def test_convex(self, kind: type[Profile], parameters: Draw, data: st.DataObject) -> None:
        """Divided differences in t rise, from 0 on; profiles that are mere bounds are left out."""
        profile = kind(**data.draw(parameters(kind)))
        if kind.model_fields["kind"].default in REFINED and len(profile.curve.pieces) != 2:
            return
        with precision(300):
            points = [arb(float(eps)) for eps in grid(profile, 25) if eps < 300]
            values = [probability(profile, eps) for eps in points]
            ts = [eps.exp() for eps in points]
            slopes = [(values[k + 1] - values[k]) / (ts[k + 1] - ts[k]) for k in range(len(ts) - 1)]
            assert not any(b < a for a, b in pairwise(slopes))

    @tried
    @drawing
    def test_mirror(self, kind: type[Profile], parameters: Draw, data: st.DataObject) -> None:
        """The slope at t = 1 is at least -(1 - δ(0))/2: there the mirror image takes over."""
        profile = kind(**data.draw(parameters(kind)))
        if kind.model_fields["kind"].default in REFINED and len(profile.curve.pieces) != 2:
            return
        with precision(300):
            h = arb(2) ** -100
            at, right = probability(profile, arb(0)), probability(profile, h)
            slope = (right - at) / h.expm1()
            assert not slope < -(1 - at) / 2 - arb(2) ** -60


# inverted trade-offs whose naive curve may start inside the refined one: bounds, not profiles
REFINED = ("sgd-family", "icea", "tradeoff")


def probability(profile: Profile, eps: arb) -> arb:
    value = profile.curve.enclose(eps)
    return arb(0) if value is ZERO or value.log() == arb.neg_inf() else value.log().exp()


class TestData:
    """A profile is data: it goes to plain values and back, and describes itself."""

    @tried
    @drawing
    def test_round_trip(
        self, any_kind: type[Profile], parameters: Draw, data: st.DataObject
    ) -> None:
        """model_dump, also by way of JSON, builds an equal profile again."""
        profile = any_kind(**data.draw(parameters(any_kind)))
        plain = profile.model_dump()
        assert any_kind(**plain) == profile
        assert any_kind(**json.loads(json.dumps(plain))) == profile
        assert plain["kind"] == any_kind.model_fields["kind"].default
        assert set(plain) == {"kind", "neighbours", *any_kind.parameters()}

    @tried
    @drawing
    @pytest.mark.slow
    def test_tradeoff_function(
        self, kind: type[Profile], parameters: Draw, data: st.DataObject
    ) -> None:
        """f falls, is at most 1 - α, and no line that a point of δ(ε) implies is above it."""
        profile = kind(**data.draw(parameters(kind)))
        alpha = np.linspace(0, 1, 9)
        found = np.asarray(profile.tradeoff(alpha))
        proved = slice(None, None, 4 if profile.kind in SOLVED else 1)
        low, high = profile.tradeoff_bounds(alpha[proved])
        assert (np.diff(found) <= 1e-12).all()
        assert ((found >= 0) & (found <= 1 - alpha + 1e-12)).all()
        assert ((low <= found[proved] + 1e-12) & (found[proved] <= high + 1e-12)).all()
        for eps in (0.0, 0.3, 1.0, 3.0):
            rest = 1 - float(profile.delta(eps))
            assert (rest - math.exp(eps) * alpha <= found + 1e-9).all()
            assert (math.exp(-eps) * (rest - alpha) <= found + 1e-9).all()

    def test_schema(self, any_kind: type[Profile]) -> None:
        """The JSON schema lists each parameter with symbol, words and range."""
        schema = any_kind.model_json_schema()
        for name in any_kind.parameters():
            described = schema["properties"][name]
            assert {"description", "symbol", "allowed"} <= set(described)
            if described.get("type") == "boolean" or "enum" in described:
                continue
            low, high = described["typical"]
            assert low < high

    def test_docstring(self, any_kind: type[Profile]) -> None:
        """The class says in a sentence which mechanism it is."""
        assert any_kind.__doc__
        assert any_kind.__doc__.split("\n")[0].endswith(".")


BAD = [
    *(math.nan, math.inf, -math.inf, np.float64("nan"), Decimal("nan"), Decimal("inf")),
    *(True, False, np.True_, "1", "abc", b"1", None, [1.0], {}, 1j, -1, -0.5, 10**400),
]


class TestBadParameters:
    """A bad parameter is an InputError with one sentence that names it."""

    @pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{type(bad).__name__} {bad!s:.8}")
    def test_refused(
        self, any_kind: type[Profile], typical: Callable[..., dict[str, Any]], bad: Any
    ) -> None:
        """Each parameter refuses each of these; the error has field, value and words."""
        middle = typical(any_kind, 0)
        for name, usual in middle.items():
            if isinstance(usual, bool) and isinstance(bad, bool):
                continue
            with pytest.raises(InputError) as caught:
                any_kind(**{**middle, name: bad})
            error = caught.value
            assert error.field == name
            assert str(error).startswith(f"{name} is ")
            assert "must be " in str(error)
            assert "\n" not in str(error)
            assert len(str(error)) < 250

    def test_missing_and_unknown(
        self, any_kind: type[Profile], typical: Callable[..., dict[str, Any]]
    ) -> None:
        """A required parameter left out is named, and so is one that does not exist."""
        required = [name for name, field in any_kind.parameters().items() if field.is_required()]
        with pytest.raises(InputError) as caught:
            any_kind()
        assert caught.value.field == required[0]
        with pytest.raises(InputError) as caught:
            any_kind(**typical(any_kind, 0), flavour=1)
        assert caught.value.field == "flavour"
