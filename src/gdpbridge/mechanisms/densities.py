"""A pair of densities P and Q as formulas of x, of what a mechanism gives out for two data sets.

δ(ε) is the larger one of ∫(p - e^ε·q)⁺ dx and ∫(q - e^ε·p)⁺ dx, exactly: sums of whole numbers x
with ``integers``. Where p - e^ε·q changes its sign is bracketed, and masses between such places are
integrals of Taylor polynomials with their remainders, all in ball arithmetic. Instead of one of
both, their ratio p/q may be given. On a range without end, what lies beyond all that was
integrated, some 10⁻²³, counts as an outright failure, and δ(ε) is known up to as much. Formulas
that are not smooth at an end, as √x is not at 0, are to be given in another variable: u with x = u²
gives both p and q a factor 2u.

Several runs are bounded by the composed loss of a pair on a lattice that dominates: δ of one run is
there the chord of this one, between multiples of a unit of the loss (Doroshenko, Ghazi, Kamath,
Kumar and Manurangsi 2022). With replace-one neighbours each run may be worst in another order: the
lattice then has the larger one of both (``curves/either_order.py``).

Whether a finite μ covers every ε is decided by how the loss and the densities grow where the range
ends, or where one of them is 0 (see ``guarantees/ends.py``). Two normal densities of one variance
are Gaussian noise: δ(ε) is the Gaussian curve with μ = |m - m'|/σ, also of several runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from flint import arb, arb_series
from pydantic import Field

from gdpbridge.curves.atoms import atoms_curve
from gdpbridge.curves.base import Curve, failure_above
from gdpbridge.curves.composition import cut_off_curve
from gdpbridge.curves.constants import square_root
from gdpbridge.curves.gains import gain_of
from gdpbridge.curves.gaussian import gaussian_curve
from gdpbridge.curves.largest import largest_of
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.pieces import Formula, Piece
from gdpbridge.curves.smooth import SmoothCurve, zero_curve
from gdpbridge.curves.tail import Tail, Verdict
from gdpbridge.curves.tails import (
    ConstantTail,
    FloorTail,
    PlateauTail,
    SettledTail,
    covering_mu,
    runs_of,
    settled_runs,
)
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.expressions.evaluate import Evaluation
from gdpbridge.expressions.exponents import exponent_of
from gdpbridge.expressions.parse import SPELLINGS, parse_expression
from gdpbridge.expressions.tree import Call, Node, Number, names, substituted
from gdpbridge.guarantees.ends import End, losses_at, tail_of
from gdpbridge.losses.densities import Pair
from gdpbridge.losses.density_masses import Density
from gdpbridge.mechanisms.base import Profile, Real, parameter
from gdpbridge.mechanisms.gaussian import Gaussian, gaussian_losses
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.exact import decimal_text, exact
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import (
    BALLS,
    SERIES,
    ball,
    to_fraction,
)

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses, Part

__all__ = ["Densities"]

MAX_END = 1_000_000
_BITS = 192
# what a density may miss of 1, as written with few digits
_ROUNDED = Fraction(1, 10**9)
# multiples of the unit that one run's loss takes in compositions
_POINTS = 2048


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

    @cached_property
    def _beyond(self) -> tuple[Tail | None, arb | None]:
        """What is proved of δ besides what the cells say, and the largest loss, if known.

        Where a loss may be infinite δ does not fall to 0. Else the losses are bounded but at ends
        of the range and where a density is 0; there formulas tell.
        """
        with precision(_BITS):
            infinite = max(to_fraction(one.infinite.lower()) for one in self._both)
            if infinite > 0:
                return FloorTail(infinite), None
            largest = arb(0)
            for one in self._both:
                largest = largest.max(one.range[1])
            growing, known = [], True
            for number, pair in enumerate(self._both):
                for places in self._ends(pair):
                    looks = (losses_at(*self._nodes(), end) for end in places)
                    at = next((one for one in looks if one is not None), None)
                    if at is None:
                        known = False
                        continue
                    at = at.backward() if number else at
                    if at.bounded:
                        largest = largest.max(at.largest + pair.shift)
                    else:
                        growing.append(at)
            if growing:
                found = tail_of(growing, largest)
                decided = known or (found is not None and found.verdict is Verdict.NOT_GDP)
                return found if decided else None, None
        return (ConstantTail(_fixed(largest), Fraction(0)), largest) if known else (None, None)

    def _ends(self, pair: Pair) -> Iterator[list[End]]:
        """Yield where no loss of P is known, each in one way or two."""
        for covered, upwards in zip(pair.covered, (False, True), strict=True):
            if covered is not None:
                yield [End.beyond(covered, upwards=upwards)]
        if not self.integers:
            for cell in pair.unknown:
                low, high = (to_fraction(end) for end in (cell.low, cell.high))
                yield [
                    End.next_to(place, high - low, upwards=place == low) for place in (low, high)
                ]

    @property
    def default_failure(self) -> Fraction | None:
        """More than what lies beyond all that was integrated."""
        if self._normal is not None:
            return None
        rest = max(self.pair.rest)
        if not rest:
            return None
        return failure_above(rest)

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
        if self._normal is not None and not isinstance(square_root(self._normal), Fraction):
            return "there is no certificate for two normal densities whose μ is not rational"
        from gdpbridge_verify.refusal import Malformed
        from gdpbridge_verify.taylor import density_of

        values = {name: exact(value) for name, value in self.values.items()}
        for name in ("p", "q", "ratio"):
            text = getattr(self, name)
            try:
                if text is not None:
                    density_of(name, text, values, integers=self.integers)
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
    def certified_as(self) -> Profile:
        """Gaussian noise, where the densities are those of it."""
        mu = None if self._normal is None else square_root(self._normal)
        if not isinstance(mu, Fraction) or not mu:
            return self
        return Gaussian(sensitivity=mu.numerator, sigma=mu.denominator, neighbours=self.neighbours)

    @property
    def composed_is(self) -> Nature:
        """A bound, as the pair on the lattice dominates; exact of normal densities."""
        return Nature.BOUND if self._normal is None else Nature.OWN

    @cached_property
    def _normal(self) -> Fraction | None:
        """The μ² of two normal densities of one variance: |m - m'|/σ, squared."""
        if self.integers or not (self.low is None and self.high is None):
            return None
        p, q = (exponent_of(node, "x") for node in self._nodes())
        if p is None or q is None or {*p, *q} - {1, 2} or p.get(2, 0) != q.get(2, 0):
            return None
        with precision(_BITS):
            slack = ball(_ROUNDED) ** 2
            off = (abs(1 - mass) for mass in (self.pair.p_mass, self.pair.q_mass))
            if not all(certainly(one < slack) for one in off):
                return None
        between = p.get(1, Fraction(0)) - q.get(1, Fraction(0))
        # what integrates on the whole line has a negative factor of x²
        return between**2 / (-2 * p[2])

    def build_curve(self) -> Curve:
        """Return the larger one of both orders."""
        if self._normal is not None:
            return gaussian_curve(square_root(self._normal))
        if self.integers:
            return atoms_curve(self._both, self._settled)
        rest, ends = max(self.pair.rest), [one.range[1] for one in self._both]
        largest = ends[0].max(ends[1])
        if not rest and largest.is_zero():
            return zero_curve()
        if not rest:
            formula = self._larger(None)
            piece, last = Piece(Fraction(0), formula, by_chords=True), _fixed(largest)
            return SmoothCurve((piece,), ConstantTail(last, Fraction(0)), last)
        _, most = self._beyond
        formula, end = self._larger(most), None if most is None else _fixed(most)
        piece = Piece(Fraction(0), formula, by_chords=True)

        def delta(eps: arb) -> arb:
            return 1 - formula(eps, BALLS).log_complement().exp()

        tail = self._settled(PlateauTail(_fixed(largest), rest), delta)
        return SmoothCurve((piece,), tail, end)

    def _larger(self, last: arb | None) -> Formula:
        return largest_of([gain_of(one, last) for one in self._both])

    def _settled(self, plateau: PlateauTail, delta: Callable[[arb], arb]) -> Tail:
        """Add to what the cells say what is proved besides."""
        beyond, _ = self._beyond
        if beyond is None:
            return plateau
        above = partial(covering_mu, delta, beyond) if beyond.verdict is Verdict.GDP else None
        return SettledTail(plateau, beyond, above)

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of one run, or one that bounds that of several."""
        if self._normal is not None:
            return gaussian_curve(square_root(times * self._normal))
        if times == 1:
            return self.curve
        runs, settled = runs_of(self.tail, times), settled_runs(self.tail, times)
        return cut_off_curve(self._runs(times), settled, None if runs is None else runs.of_all)

    def privacy_losses(self) -> Losses:
        """Return the loss of a pair that dominates.

        Raises:
            InputError: for a range without end, of which a failure would be made up.
        """
        mu = None if self._normal is None else square_root(self._normal)
        if isinstance(mu, Fraction):
            return gaussian_losses(mu)
        if any(self.pair.rest):
            raise InputError(
                "mechanism",
                Words("densities without bounds on their losses"),
                "bounded between two ends for composition with others",
            )
        return [self._runs(1)]

    def _runs(self, times: int) -> Part:
        """Return so many runs of a pair on a lattice that dominates."""
        from gdpbridge.curves.either_order import as_bad_either_way
        from gdpbridge.losses.moments import Part

        found = Part(self.pair.lattice(self.pair.unit(_POINTS)), times)
        # then each run may be worst in another order
        return as_bad_either_way(found) if self.neighbours == "replace-one" else found


def _density(node: Node) -> Density:
    def at(x: arb_series) -> Evaluation:
        return Evaluation(SERIES, {"x": x, "pi": arb.pi()})

    return Density(lambda x: _series(at(x).value(node), x), lambda x: _series(at(x).log(node), x))


def _series(value: Any, x: arb_series) -> arb_series:
    """Return a series even of a formula without x."""
    return value if isinstance(value, arb_series) else arb_series([value], x.prec)


def _fixed(value: arb) -> Callable[[], arb]:
    return lambda: value
