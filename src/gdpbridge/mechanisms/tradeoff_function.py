"""A trade-off function by its points: for type I errors α, the least type II error β of any test.

f is the lower convex envelope of the points with (0, 1) and (1, 0): it is taken to be linear
between them. Where the points are samples of a curve that may lie below the lines between them,
``steps`` takes from each point up to the next one the next one's β, and is a lower bound of every
such curve. δ(ε) = sup_α 1 - f(α) - α·e^ε, of f or its inverse, whichever is larger (Dong, Roth and
Su 2022, proposition 2.12): one pair of distributions attains it. If f bounds both orders of the
pair (``symmetric``), so does its inverse, and max(f, f⁻¹) is what is known. Otherwise, with
replace-one neighbours each of several runs may be worst in another order: the convex envelope of f
and f⁻¹, which has the same δ(ε), stands for both.

Instead of points there may be a formula, "beta = (1 - sqrt(alpha))**2": corners below it are
proved, to a thousandth of δ(ε) or less, which is an upper bound; it need not be convex. Or a Python
function, which is sampled and taken on trust.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer, PrivateAttr

from gdpbridge.curves.base import Curve, failure_above
from gdpbridge.curves.constants import logarithm
from gdpbridge.curves.corners import Corner, corner_curve, lower_hull
from gdpbridge.curves.nature import Nature
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.exact import exact
from gdpbridge.reading.named import exact_number, pairs_of_file, too_long_because

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["TradeoffFunction"]

MAX_POINTS = 100_000
_SOURCES = ("file", "alpha", "formula", "function")
_ALPHA = ("alpha", "α", "fpr", "type1", "type_1")
_BETA = ("beta", "β", "fnr", "type2", "type_2")
_ALLOWED = "a number in [0, 1]"
_ZERO, _ONE = Fraction(0), Fraction(1)


def _plain(values: Any) -> Any:
    return None if values is None else [_shown(value) for value in values]


def _shown(value: Any) -> float | str:
    number = float(value)
    return value if isinstance(value, str) and exact(number) != exact(value) else number


def _switch(description: str) -> Any:
    return Field(
        default=False,
        strict=True,
        description=description,
        json_schema_extra={"symbol": "", "allowed": "true or false"},
    )


@register
class TradeoffFunction(Profile):
    """A trade-off function, as points of errors of the first and second type."""

    nature: ClassVar[Nature] = Nature.CLASS
    kind: Literal["tradeoff-function"] = "tradeoff-function"
    file: str | None = Field(
        default=None,
        description="the points, in columns alpha and beta",
        json_schema_extra={
            "symbol": "FILE",
            "word": True,
            "instead": "formula, or alpha and beta",
            "allowed": "a CSV, TSV or JSON file, or - for standard input",
        },
    )
    alpha: Annotated[Any, PlainSerializer(_plain)] = Field(
        default=None,
        description="the type I errors themselves, instead of a file",
        json_schema_extra={"untyped": True, "typed": "0,0.2,1", "allowed": "numbers in [0, 1]"},
    )
    beta: Annotated[Any, PlainSerializer(_plain)] = Field(
        default=None,
        description="the least type II error at each",
        json_schema_extra={
            "untyped": True,
            "typed": "1,0.4,0",
            "allowed": "numbers in [0, 1], as many as alpha",
        },
    )
    formula: str | None = Field(
        default=None,
        description="the function as a formula, instead of points",
        json_schema_extra={"symbol": "FORMULA", "allowed": "beta = ..., a formula of alpha"},
    )
    function: Annotated[Any, PlainSerializer(lambda _: None)] = Field(
        default=None,
        description="the function itself, of a float, taken on trust",
        json_schema_extra={"untyped": True, "allowed": "a function of alpha"},
    )
    steps: bool = _switch("the points are samples: between two of them nothing more is known")
    symmetric: bool = _switch("the function bounds both orders of every pair of data sets")
    _corners: list[Corner] = PrivateAttr()

    def __init__(self, file: str | None = None, **parameters: Any) -> None:
        super().__init__(**(parameters if file is None else {"file": file, **parameters}))

    def model_post_init(self, _: Any) -> None:
        """Read the points, so that errors in them come at once."""
        given = [name for name in _SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            shown = Words(" and ".join(given) or "none given")
            raise InputError("file, alpha, formula or function", shown, Advice("give one of them"))
        corners = self._below()
        if self.symmetric:
            corners = _both_orders(corners)
        elif self.neighbours == "replace-one":
            # each of several runs may be worst in another order: one pair is as bad as either
            corners = lower_hull([*corners, *((beta, alpha) for alpha, beta in corners)])
        self._corners = corners

    def _below(self) -> list[Corner]:
        """Return the corners of a convex function below the one that is given."""
        from gdpbridge.guarantees.tradeoffs import corners_of_formula, corners_of_function

        if self.formula is not None:
            return corners_of_formula(self.formula, "formula")
        if self.function is not None:
            return corners_of_function(self.function, "function")
        if self.file is not None:
            found: Sequence[tuple[Any, Any]] = pairs_of_file(self.file, _ALPHA, _BETA, "errors")
        else:
            found = _paired(self.alpha, self.beta)
        points = _checked(found)
        known = _stepped(points) if self.steps else points
        return lower_hull([*known, (_ZERO, _ONE), (_ONE, _ZERO)])

    @property
    def profile_is(self) -> Nature:
        """A bound of a formula or a function, which corners lie below."""
        by_points = self.formula is None and self.function is None
        return self.nature if by_points else Nature.BOUND

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is relied on of a function."""
        if self.function is None:
            return ()
        name = getattr(self.function, "__name__", "the function")
        return (f"trusted, not proved: {name} falls, and is convex where its samples are",)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is taken of the function between its points."""
        if self.steps or self.formula is not None or self.function is not None:
            return ()
        return ("the function is taken to be linear between its points: steps takes less",)

    @property
    def points(self) -> list[Corner]:
        """The corners of the function, as (α, β)."""
        return self._corners

    @property
    def beyond_certificates(self) -> str:
        """They hold the corners of what is known, as numbers that are not too long."""
        return too_long_because(self._corners)

    def specification(self) -> dict[str, str | None]:
        """Return kind and relation, and the corners as ``α:β α:β …`` up to where f is 0."""
        last = [beta for _, beta in self._corners].index(_ZERO)
        rows = " ".join(f"{alpha}:{beta}" for alpha, beta in self._corners[: last + 1])
        return {**self.stated(), "rows": rows}

    def stated(self) -> dict[str, str | None]:
        """Return kind and relation, and whether the corners only bound what was given."""
        found = {"kind": self.kind, "neighbours": self.neighbours}
        return found | ({} if self.profile_is is Nature.CLASS else {"bound": "true"})

    def build_curve(self) -> Curve:
        """Return the lines of the envelope of the function and its inverse."""
        mirrored = [(beta, alpha) for alpha, beta in self._corners]
        return corner_curve(
            lower_hull([*self._corners, *mirrored]), cut_off=self.profile_is is Nature.BOUND
        )

    @property
    def default_failure(self) -> Fraction | None:
        """A little more than what was cut off, where a formula or a function was."""
        rest = max(1 - self._corners[0][1], 1 - self._first_zero())
        if not rest or self.profile_is is Nature.CLASS:
            return None
        return failure_above(rest)

    @property
    def least_failure(self) -> Fraction:
        """None beside the default one, where what is below is cut off."""
        return Fraction(0) if self.profile_is is Nature.CLASS else Fraction(1)

    def _first_zero(self) -> Fraction:
        return next(alpha for alpha, beta in self._corners if beta == 0)

    @property
    def composes_beside_others_only(self) -> bool:
        """Losses that are logarithms are on no lattice of exact numbers."""
        return True

    def privacy_losses(self) -> Losses:
        """Return the losses of the pair: the logarithms of the slopes between corners."""
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.finite import FiniteTransform

        losses, masses = [], []
        for (alpha, beta), (right, below) in pairwise(self._corners):
            # on the last edge β may be 0 already: P has no mass there
            if beta > below:
                losses.append(logarithm((beta - below) / (right - alpha)))
                masses.append(beta - below)
        never = 1 - self._first_zero()
        transform = FiniteTransform(
            losses[::-1],
            masses[::-1],
            failure=1 - self._corners[0][1],
            reverse_failure=never,
            symmetric=self.symmetric or self.neighbours == "replace-one",
        )
        return [Part(transform, 1)]


def _paired(alpha: Any, beta: Any) -> list[tuple[Any, Any]]:
    try:
        return list(zip(alpha, beta, strict=True))
    except (TypeError, ValueError):
        raise InputError("beta", beta, "as many numbers as alpha, at least one") from None


def _checked(pairs: Sequence[tuple[Any, Any]]) -> list[Corner]:
    if not 1 <= len(pairs) <= MAX_POINTS:
        raise InputError("the number of points", len(pairs), f"from 1 to {MAX_POINTS}")
    points = []
    for number, pair in enumerate(pairs, 1):
        found = []
        for symbol, value in zip("αβ", pair, strict=True):
            one = exact_number(f"{symbol} in row {number}", value, _ALLOWED)
            if one is None or not 0 <= one <= 1:
                raise InputError(f"{symbol} in row {number}", value, _ALLOWED)
            found.append(one)
        if sum(found) == 0:
            raise InputError(f"α + β in row {number}", 0, "above 0: this test is never wrong")
        if sum(found) > 1:
            # guessing has α + β = 1: no test is worse than that
            raise InputError(f"α + β in row {number}", float(sum(found)), "at most 1")
        points.append((found[0], found[1]))
    return points


def _stepped(points: Sequence[Corner]) -> list[Corner]:
    """Return the points that every falling function through the given ones lies above."""
    ordered = sorted(points)
    least = list(accumulate((beta for _, beta in reversed(ordered)), max))[::-1]
    lefts = [_ZERO, *(alpha for alpha, _ in ordered)]
    return [*zip(lefts, [*least, _ZERO], strict=True)]


def _both_orders(corners: list[Corner]) -> list[Corner]:
    """Return the corners of the larger one of the function and its inverse."""
    inverse = lower_hull((beta, alpha) for alpha, beta in corners)
    found = []
    for one, other in ((corners, inverse), (inverse, corners)):
        found += [(alpha, max(beta, _value(other, alpha))) for alpha, beta in one]
    found += _crossings(corners, inverse)
    return lower_hull(found)


def _value(corners: Sequence[Corner], at: Fraction) -> Fraction:
    number = bisect_left(corners, at, key=lambda corner: corner[0])
    if number < len(corners) and corners[number][0] == at:
        return corners[number][1]
    if number == len(corners):
        return _ZERO
    # the first corner is at 0
    (alpha, beta), (right, below) = corners[number - 1], corners[number]
    return beta + (below - beta) * (at - alpha) / (right - alpha)


def _crossings(one: Sequence[Corner], other: Sequence[Corner]) -> list[Corner]:
    """Return where two such functions cross between corners."""
    places = sorted({alpha for alpha, _ in [*one, *other]})
    found = []
    for left, right in pairwise(places):
        first, last = (_value(one, at) - _value(other, at) for at in (left, right))
        if first * last < 0:
            at = left + (right - left) * first / (first - last)
            found.append((at, _value(one, at)))
    return found
