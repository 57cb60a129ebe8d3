"""A pair of densities P and Q as formulas of x, of what a mechanism gives out for two data sets.

δ(ε) is the larger one of ∫(p - e^ε·q)⁺ dx and ∫(q - e^ε·p)⁺ dx, exactly: sums of whole numbers x
with ``integers``. Where p - e^ε·q changes its sign is bracketed, and masses between such places are
integrals of Taylor polynomials with their remainders, all in ball arithmetic. Instead of one of
both, their ratio p/q may be given. On a range without end, what lies beyond all that was
integrated, some 10⁻²³, counts as an outright failure, and δ(ε) is known up to as much.

Several runs are bounded by the composed loss of a pair on a lattice that dominates: δ of one run is
there the chord of this one, between multiples of a unit of the loss (Doroshenko, Ghazi, Kamath,
Kumar and Manurangsi 2022).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from flint import arb, arb_series
from pydantic import Field

from gdpbridge.curves.atoms import atoms_curve
from gdpbridge.curves.base import DEFAULT_FAILURE, Curve
from gdpbridge.curves.composition import cut_off_curve
from gdpbridge.curves.largest import largest_of
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.pieces import Formula, Piece
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tail import Tail
from gdpbridge.curves.tails import ConstantTail, PlateauTail
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.expressions.evaluate import Evaluation
from gdpbridge.expressions.parse import SPELLINGS, parse_expression
from gdpbridge.expressions.tree import Call, Node, Number, names, substituted
from gdpbridge.losses.densities import Pair
from gdpbridge.losses.density_masses import Density
from gdpbridge.mechanisms.base import Profile, Real, parameter
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import decimal_text, exact
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import (
    BALLS,
    FLOATS,
    SERIES,
    Operations,
    Probability,
    ball,
    to_fraction,
)

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["Densities"]

MAX_END = 1_000_000
_BITS = 192
# values of δ: the next cell begins where one ends
_KEPT = 256
# what a density may miss of 1, as written with few digits
_ROUNDED = Fraction(1, 10**9)
# multiples of the unit that one run's loss takes in compositions, and all runs' together
_POINTS, _MOST = 1024, 1 << 17


def _formula(description: str, example: str | None = None) -> Any:
    return Field(
        default=None,
        description=description,
        json_schema_extra={
            "symbol": "FORMULA",
            "allowed": "a formula of x, such as exp(-abs(x))/2",
            **({"example": example} if example else {}),
        },
    )


def _end(description: str) -> Any:
    return parameter(
        description,
        symbol="X",
        allowed=f"a number in [-{MAX_END}, {MAX_END}]",
        typical=(-10, 10),
        default=None,
        ge=-MAX_END,
        le=MAX_END,
    )


@register
class Densities(Profile):
    """What a mechanism gives out for two data sets, as densities or masses of x."""

    nature: ClassVar[Nature] = Nature.OWN
    kind: Literal["densities"] = "densities"
    p: str | None = _formula("the density of the one data set's answer", "exp(-abs(x))/2")
    q: str | None = _formula("that of the other one's", "exp(-abs(x-1))/2")
    ratio: str | None = _formula("p/q, instead of one of both")
    values: dict[str, Real] = Field(
        default_factory=dict,
        alias="set",
        description="the values of other names in the formulas",
        json_schema_extra={"allowed": "names with finite numbers"},
    )
    low: Real | None = _end("where the range of x begins; without, nowhere")
    high: Real | None = _end("where the range of x ends; without, nowhere")
    integers: bool = Field(
        default=False,
        strict=True,
        description="x is a whole number, and the formulas are masses",
        json_schema_extra={"symbol": "", "allowed": "true or false"},
    )

    def model_post_init(self, _: Any) -> None:
        """Read the formulas, so that errors in them come at once."""
        given = [name for name in ("p", "q", "ratio") if getattr(self, name) is not None]
        if len(given) != 2:
            shown = ", ".join(given) or "none"
            raise InputError("p, q and ratio", Words(shown), Advice("give two of the three"))
        if self.low is not None and self.high is not None:
            self.require("high", self.low < self.high, f"above low, {self.low:g}")
        for name, value in self.values.items():
            if not name.isidentifier() or name in ("x", "pi") or name in SPELLINGS:
                raise InputError(
                    "set", name, "a name that is not x or pi, written out (sigma for σ)"
                )
            try:
                exact(value)
            except ValueError:
                raise InputError(f"set {name}", value, "a finite number") from None
        self._nodes()

    def _node(self, name: str) -> Node:
        text = getattr(self, name)
        known: dict[str, Node] = {key: Number(exact(one)) for key, one in self.values.items()}
        node = substituted(parse_expression(text, name), known)
        if "piecewise" in text:
            raise InputError(name, text, Advice("leave piecewise out: abs, min and max may do"))
        for other in sorted(names(node) - {"x", "pi"}):
            raise InputError(name, text, Advice(f"{other} has no value: set {other}=..."))
        return node

    def _nodes(self) -> tuple[Node, Node]:
        """Return both densities."""
        if self.ratio is None:
            return self._node("p"), self._node("q")
        ratio = self._node("ratio")
        if self.p is None:
            q = self._node("q")
            return Call("*", (ratio, q)), q
        p = self._node("p")
        return p, Call("/", (p, ratio))

    @cached_property
    def pair(self) -> Pair:
        """The integrated densities.

        Raises:
            InputError: for what is no density.
            UndecidedError: for densities that could not be integrated.
        """
        low, high = (None if one is None else exact(one) for one in (self.low, self.high))
        p, q = (_density(node) for node in self._nodes())
        pair = Pair(p, q, low, high, integers=self.integers)
        for name, mass in (("p", pair.p_mass), ("q", pair.q_mass)):
            with precision(_BITS):
                slack = ball(_ROUNDED)
                most = 1 + (slack if pair.bounded else slack * slack)
                fits = certainly(1 - slack <= mass) and certainly(mass <= most)
            if not fits:
                shown = getattr(self, name) or f"{name} by its ratio"
                raise InputError(name, shown, Advice(self._missed(mass)))
        return pair.normalized() if pair.bounded else pair

    def _missed(self, mass: arb) -> str:
        verb = "adds up" if self.integers else "integrates"
        with precision(_BITS):
            value, over = float(mass), float(mass - 1)
        found = (
            f"{value:.9g}"
            if abs(over) > _ROUNDED
            else f"1 {'+' if over > 0 else '-'} {abs(over):.2g}"
        )
        return f"make it a density: it {verb} to {found}, not 1"

    @cached_property
    def _both(self) -> tuple[Pair, Pair]:
        return self.pair, self.pair.backward()

    @property
    def default_failure(self) -> Fraction | None:
        """More than what lies beyond all that was integrated."""
        rest = max(self.pair.rest)
        if not rest:
            return None
        return DEFAULT_FAILURE if rest < DEFAULT_FAILURE / 10**5 else DEFAULT_FAILURE + rest

    @property
    def least_failure(self) -> Fraction:
        """None beside the default one: far below, δ is not known well enough."""
        return Fraction(1)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is the user's word."""
        return ("that no other two data sets are told apart better is the user's word",)

    @property
    def beyond_certificates(self) -> str:
        """They are of formulas that the checker can read."""
        from gdpbridge_verify.refusal import Malformed
        from gdpbridge_verify.taylor import density_of

        values = {name: exact(value) for name, value in self.values.items()}
        for name in ("p", "q", "ratio"):
            text = getattr(self, name)
            try:
                if text is not None:
                    density_of(name, text, values)
            except Malformed as error:
                return f"there is no certificate yet for a text that is not {error.allowed}"
        return ""

    def specification(self) -> dict[str, str | None]:
        """Return the formulas, the values of their names, and the ends, as flat text."""
        found: dict[str, str | None] = {"kind": self.kind, "neighbours": self.neighbours}
        for name in ("p", "q", "ratio"):
            found |= {name: getattr(self, name)} if getattr(self, name) is not None else {}
        numbers = {"low": self.low, "high": self.high}
        numbers |= {f"set.{name}": value for name, value in self.values.items()}
        found |= {name: decimal_text(exact(v)) for name, v in numbers.items() if v is not None}
        return found | ({"integers": "true"} if self.integers else {})

    @property
    def composed_is(self) -> Nature:
        """A bound: the pair on the lattice dominates."""
        return Nature.BOUND

    def build_curve(self) -> Curve:
        """Return the larger one of both orders."""
        if self.integers:
            return atoms_curve(self._both)
        rest, ends = max(self.pair.rest), [one.range[1] for one in self._both]
        largest = ends[0].max(ends[1])
        if not rest and largest.is_zero():
            return zero_curve()
        piece = Piece(
            Fraction(0), largest_of([_formula_of(one) for one in self._both]), by_chords=True
        )

        def end() -> arb:
            return largest

        tail: Tail = PlateauTail(end, rest) if rest else ConstantTail(end, Fraction(0))
        return SmoothCurve((piece,), tail, None if rest else end)

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of one run, or one that bounds that of several."""
        from gdpbridge.losses.moments import Part

        return self.curve if times == 1 else cut_off_curve(Part(self._transform(times), times))

    def privacy_losses(self) -> Losses:
        """Return the loss of a pair that dominates.

        Raises:
            InputError: for a range without end, of which a failure would be made up.
        """
        from gdpbridge.losses.moments import Part

        if any(self.pair.rest):
            raise InputError(
                "mechanism",
                Words("densities without bounds on their losses"),
                "bounded between two ends for composition with others",
            )
        return [Part(self._transform(1), 1)]

    def _transform(self, times: int) -> Any:
        points = max(2, min(_POINTS, _MOST // times))
        return self.pair.lattice(self.pair.unit(points))


def _density(node: Node) -> Density:
    def at(x: arb_series) -> Evaluation:
        return Evaluation(SERIES, {"x": x, "pi": arb.pi()})

    return Density(lambda x: _series(at(x).value(node), x), lambda x: _series(at(x).log(node), x))


def _series(value: Any, x: arb_series) -> arb_series:
    """Return a series even of a formula without x."""
    return value if isinstance(value, arb_series) else arb_series([value], x.prec)


def _formula_of(pair: Pair) -> Formula:
    """Return ∫(p - e^ε·q)⁺ dx."""

    @lru_cache(maxsize=_KEPT)
    def at(eps: Fraction, _: int) -> tuple[arb, arb, arb]:
        total, q, density = pair.delta(ball(eps))
        rest = ball(pair.rest[0])
        return total.max(arb(0)) + arb(0).union(rest), q, density

    def value(eps: arb) -> tuple[arb, arb, arb]:
        return at(to_fraction(eps), working_precision())

    def enclosed(eps: arb) -> arb:
        low, high = (value(arb(end))[0] for end in (eps.upper(), eps.lower().max(arb(0)).lower()))
        return low.union(high)

    def delta(eps: Any, ops: Operations) -> Probability:
        if ops is FLOATS:
            return _on_floats(value, eps)
        if ops is BALLS:
            found = value(eps)[0] if eps.is_exact() else enclosed(eps)
            return Probability(found.log, (1 - found).log)
        if not eps[0].is_exact():
            # on a range the chord is looked at
            nothing = arb_series([arb.nan()] * eps.prec, eps.prec)
            return Probability(lambda: nothing, lambda: nothing)
        total, q, density = value(eps[0])
        t, step = eps[0].exp(), eps - eps[0]
        first, second = -t * q, t * (density - q) / 2
        series = total + first * step + second * step * step
        return Probability(series.log, (1 - series).log)

    return delta


def _on_floats(value: Any, eps: Any) -> Probability:
    shape, logs, rests = np.shape(eps), [], []
    with precision(_BITS):
        for at in np.ravel(eps).tolist():
            found = value(arb(at))[0]
            middle = arb(found.mid())
            logs.append(float(middle.log()) if certainly(middle > 0) else -np.inf)
            rests.append(float((1 - middle).log()))
    return Probability(
        lambda: np.array(logs).reshape(shape), lambda: np.array(rests).reshape(shape)
    )
