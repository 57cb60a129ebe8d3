"""Rényi differential privacy: D_α ≤ ε_α at some orders α, in both orders of the pair.

An event of probabilities p and q is possible exactly when the two-outcome laws obey every bound,
and δ(ε) is the largest p - e^ε q over these pairs (Zhu, Dong and Wang 2022, appendix F.3; Riess et
al. 2026, arXiv 2602.04562): what the usual conversions bound from above, exactly. Of finitely many
orders it falls like e^{-(α-1)ε}, α the largest one, and no finite μ covers every ε: what is
measured is a head, or all but a failure probability. Runs add their divergences order by order
(Mironov 2017, proposition 1); others beside them add theirs at the same orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer, PrivateAttr

from gdpbridge.curves.base import DEFAULT_FAILURE, Curve
from gdpbridge.curves.nature import Nature
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.guarantees.boundary import Bound
from gdpbridge.guarantees.renyi import renyi_curve
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.exact import exact, rational_text
from gdpbridge.reading.named import exact_number, pairs_of_file, too_long_because

__all__ = ["Renyi"]

MAX_ORDER = 10_000
MAX_ORDERS = 256
_ORDERS = ("alpha", "α", "order", "orders")
_EPSILONS = ("epsilon", "eps", "ε", "rdp")
_ALLOWED_ORDER = f"a number above 1, at most {MAX_ORDER}"
_ALLOWED_EPSILON = "a number > 0, or inf where nothing is known"


def _plain(values: Any) -> Any:
    return None if values is None else [_shown(value) for value in values]


def _shown(value: Any) -> float | str:
    number = float(value)
    if isinstance(value, str) and number != float("inf") and exact(number) != exact(value):
        return value
    return "inf" if number == float("inf") else number


@register
class Renyi(Profile):
    """Any mechanism known only by its Rényi divergences at some orders."""

    nature: ClassVar[Nature] = Nature.CLASS
    kind: Literal["renyi"] = "renyi"
    file: str | None = Field(
        default=None,
        description="the orders and the divergences, in columns alpha and epsilon",
        json_schema_extra={
            "symbol": "FILE",
            "word": True,
            "instead": "orders and epsilons",
            "allowed": "a CSV, TSV or JSON file, or - for standard input",
        },
    )
    orders: Annotated[Any, PlainSerializer(_plain)] = Field(
        default=None,
        description="the orders α themselves, instead of a file",
        json_schema_extra={"untyped": True, "typed": "2,4,8", "allowed": "numbers above 1"},
    )
    epsilons: Annotated[Any, PlainSerializer(_plain)] = Field(
        default=None,
        description="the bound of the divergence at each order",
        json_schema_extra={
            "untyped": True,
            "typed": "0.1,0.2,0.5",
            "allowed": "numbers > 0, as many as orders",
        },
    )
    _bounds: tuple[Bound, ...] = PrivateAttr()

    def __init__(self, file: str | None = None, **parameters: Any) -> None:
        super().__init__(**(parameters if file is None else {"file": file, **parameters}))

    def model_post_init(self, _: Any) -> None:
        """Read the curve, so that errors in it come at once."""
        if (self.file is None) == (self.orders is None):
            given = "neither" if self.file is None else "both"
            raise InputError("file and orders", Words(given), Advice("give one of them"))
        if self.file is not None:
            found: Sequence[tuple[Any, Any]] = pairs_of_file(
                self.file, _ORDERS, _EPSILONS, "orders and divergences"
            )
        else:
            found = _paired(self.orders, self.epsilons)
        self._bounds = _bounds_of(found)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The finite bounds, by growing order, each order once."""
        return self._bounds

    @property
    def beyond_certificates(self) -> str:
        """They hold numbers that are not too long."""
        return too_long_because((1 + one.tilt, one.value) for one in self._bounds)

    def specification(self) -> dict[str, str | None]:
        """Return kind and relation, and the rows as ``α:ε α:ε …``."""
        pairs = (
            f"{rational_text(1 + one.tilt)}:{rational_text(one.value)}" for one in self._bounds
        )
        return {"kind": self.kind, "neighbours": self.neighbours, "rows": " ".join(pairs)}

    @property
    def composed_is(self) -> Nature:
        """A bound: no one mechanism attains the whole curve."""
        return Nature.BOUND

    @property
    def default_failure(self) -> Fraction:
        """That of training runs, which such curves are mostly of."""
        return DEFAULT_FAILURE

    @property
    def renyi_orders(self) -> frozenset[Fraction]:
        """α - 1 of each order."""
        return frozenset(one.tilt for one in self._bounds)

    def renyi_divergence(self, tilt: Fraction) -> Fraction | None:
        """Return what is given for the order, if it is."""
        return next((one.value for one in self._bounds if one.tilt == tilt), None)

    def build_curve(self) -> SmoothCurve:
        """Return randomized response first, then corners and arcs of the boundary."""
        return renyi_curve(self._bounds)

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of ``times`` times the divergences."""
        return renyi_curve(tuple(Bound(one.tilt, times * one.value) for one in self._bounds))


def _paired(orders: Any, epsilons: Any) -> list[tuple[Any, Any]]:
    if epsilons is None:
        raise InputError.missing("epsilons", "give as many numbers as there are orders")
    try:
        return list(zip(orders, epsilons, strict=True))
    except (TypeError, ValueError):
        raise InputError(
            "epsilons", epsilons, "as many numbers as there are orders, at least one"
        ) from None


def _bounds_of(pairs: Sequence[tuple[Any, Any]]) -> tuple[Bound, ...]:
    found: dict[Fraction, Fraction] = {}
    for number, (order, epsilon) in enumerate(pairs, 1):
        alpha = exact_number(f"α in row {number}", order, _ALLOWED_ORDER)
        value = exact_number(f"ε in row {number}", epsilon, _ALLOWED_EPSILON)
        if alpha is None or not 1 < alpha <= MAX_ORDER:
            raise InputError(f"α in row {number}", order, _ALLOWED_ORDER)
        if value is None:
            continue
        if value <= 0:
            raise InputError(f"ε in row {number}", epsilon, _ALLOWED_EPSILON)
        # both hold: the smaller one is what is known
        found[alpha - 1] = min(value, found.get(alpha - 1, value))
    if not 1 <= len(found) <= MAX_ORDERS:
        raise InputError("the number of orders", len(found), f"from 1 to {MAX_ORDERS}")
    return tuple(Bound(tilt, value) for tilt, value in sorted(found.items()))
