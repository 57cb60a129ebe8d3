"""A certificate of two densities that are given as formulas of x: δ is the larger integral."""

from __future__ import annotations

from fractions import Fraction

from gmpy2 import mpfr

from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level
from gdpbridge_verify.document import Evidence
from gdpbridge_verify.evidence import Point
from gdpbridge_verify.pairs import Pair
from gdpbridge_verify.parameters import parameters_of
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed
from gdpbridge_verify.statement import Check
from gdpbridge_verify.taylor import density_of
from gdpbridge_verify.trees import Node, decimal_parameter

_FARTHEST_END = 10**6
# beneath those of the rest
_LEAST_BITS = 96


class DensitiesCheck(Check):
    """The lines of a certificate of two densities, at one precision."""

    def build(self) -> Tail:
        """Read the formulas, and find the largest loss where the range has two ends."""
        own = dict(self.spec)
        known = {
            name.removeprefix("set."): decimal_parameter(name, own.pop(name))
            for name in self.spec
            if name.startswith("set.")
        }
        ends = [own.pop(name, None) for name in ("low", "high")]
        places = [
            None if end is None else decimal_parameter(name, end)
            for name, end in zip(("low", "high"), ends, strict=True)
        ]
        low, high = places
        if any(end is not None and abs(end) > _FARTHEST_END for end in places) or (
            low is not None and high is not None and not low < high
        ):
            raise Malformed("mechanism.high", ends[1], "above low, both within a million")
        integers = own.pop("integers", "false")
        if integers not in ("true", "false"):
            raise Malformed("mechanism.integers", integers, "true or false")
        texts = {name: own.pop(name, None) for name in ("p", "q", "ratio")}
        parameters_of(own)
        # cells are dear, and errors of 10^-24 are none of δ
        bits = max(_LEAST_BITS, self.arithmetic.precision * 5 // 8)
        of = Arithmetic(bits, self.arithmetic.work)
        at_points = integers == "true"
        self.pair = Pair(
            nodes_of(texts, known, integers=at_points), (low, high), of, integers=at_points
        )
        self._known: dict[Fraction, tuple[Interval, Interval]] = {}
        tops = (
            [self.pair.largest(backward=way) for way in (False, True)] if self.pair.bounded else []
        )
        found = [top for top in tops if top is not None]
        if len(found) < 2:
            return Tail("the range has no end, or losses none", square=None, known=False)
        ends_at = [max(*(getattr(top, end) for top in found), mpfr(1)) for end in ("low", "high")]
        return Tail.ends(Interval(self.arithmetic, *ends_at).log())

    def _deltas(self, at: Fraction) -> tuple[Interval, Interval]:
        if at not in self._known:
            t = self.pair.of.exactly(at).exp()
            self._known[at] = (
                self.pair.delta(t, backward=False),
                self.pair.delta(t, backward=True),
            )
        return self._known[at]

    def below(self, line: str, at: Fraction, level: Level) -> None:
        """Compare the larger one of both orders of the pair."""
        one, other = self._deltas(at)
        self.hold(line, level.value - one.larger(other))

    def excess(self, at: Fraction, wanted: Level, _: Evidence | Point) -> Interval:
        """Return by how much δ exceeds a number."""
        one, other = self._deltas(at)
        return one.larger(other) - wanted.value


def nodes_of(
    texts: dict[str, str | None], known: dict[str, Fraction], *, integers: bool = False
) -> tuple[Node, Node]:
    """Return p and q, of which one may be given by their ratio."""
    given = {
        name: density_of(f"mechanism.{name}", text, known, integers=integers)
        for name, text in texts.items()
        if text is not None
    }
    if len(given) != 2:
        raise Malformed("mechanism", ", ".join(given), "two of p, q and ratio")
    p, q, ratio = (given.get(name) for name in ("p", "q", "ratio"))
    if p is None:
        assert q is not None
        assert ratio is not None
        return Node("*", (ratio, q)), q
    if q is None:
        assert ratio is not None
        return p, Node("/", (p, ratio))
    return p, q
