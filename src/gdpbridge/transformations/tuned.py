"""Private selection: the best of a random number of runs, as in tuning hyperparameters.

How often the mechanism is run is drawn beforehand from a truncated negative binomial distribution
of mean E[K] and shape η (1: geometric, 0: logarithmic), or a Poisson one, and only the best run is
released. Its Rényi divergences are bounded by those of one run (Papernot and Steinke 2022); what
these say together is an upper bound.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

from flint import arb
from pydantic import Field, model_validator

from gdpbridge.curves.base import DEFAULT_FAILURE, Curve
from gdpbridge.curves.nature import Nature
from gdpbridge.errors import InputError, Words
from gdpbridge.guarantees.boundary import Bound
from gdpbridge.guarantees.renyi import renyi_curve
from gdpbridge.guarantees.repeated import Divergences, best_of_poisson, best_of_truncated
from gdpbridge.mechanisms.base import Base, Profile, Real, parameter, with_relation_of_base
from gdpbridge.mechanisms.registry import register_transformation

__all__ = ["Tuned"]

MAX_MEAN = 10**9
# of a mechanism whose divergences are known at every order
_TILTS = tuple(
    Fraction(quarters, 4)
    for quarters in (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024)
)


@register_transformation
class Tuned(Profile):
    """The best one of a random number of runs of a mechanism."""

    nature: ClassVar[Nature] = Nature.BOUND
    kind: Literal["tuned"] = "tuned"
    base: Base = Field(description="the mechanism that is run")
    mean: Real = parameter(
        "mean E[K] of the number of runs",
        symbol="E[K]",
        allowed=f"a number from 1 to {MAX_MEAN:g}",
        typical=(2, 50),
        effect="raises",
        ge=1,
        le=MAX_MEAN,
    )
    distribution: Literal["truncated-negative-binomial", "poisson"] = Field(
        default="truncated-negative-binomial",
        description="the distribution that the number of runs is drawn from",
        json_schema_extra={
            "allowed": "truncated-negative-binomial or poisson",
            "usual": "truncated-negative-binomial",
        },
    )
    shape: Real = parameter(
        "shape η of the truncated negative binomial: 1 is geometric, 0 logarithmic",
        symbol="η",
        allowed="a number from 0 to 1000",
        typical=(0, 2),
        default=1.0,
        ge=0,
        le=1000,
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Take the neighbouring relation from the mechanism that is run."""
        return with_relation_of_base(given)

    def model_post_init(self, _: Any) -> None:
        """Check that the divergences of one run are known."""
        if all(value == 0 for value in self._of_one.values()):
            raise InputError("mechanism", Words("one that gives nothing away"), "another one")
        if not self._divergences:
            raise InputError(
                "mechanism",
                Words(f"{self.base.kind}, without finite Rényi divergences"),
                "one with finite Rényi divergences",
            )

    @cached_property
    def _of_one(self) -> dict[Fraction, Fraction | None]:
        """The divergences of one run, None where they are infinite."""
        orders = self.base.renyi_orders
        return {
            tilt: self.base.renyi_divergence(tilt)
            for tilt in (sorted(orders) if orders is not None else _TILTS)
        }

    @cached_property
    def _divergences(self) -> Divergences:
        known = {tilt: value for tilt, value in self._of_one.items() if value}
        mean = self.exact("mean")
        if self.distribution == "poisson":
            return best_of_poisson(known, mean, self._delta)
        return best_of_truncated(known, mean, self.exact("shape"))

    def _delta(self, eps: arb) -> arb:
        return self.base.curve.enclose(eps).log_complement().expm1().abs_upper()

    @property
    def renyi_orders(self) -> frozenset[Fraction]:
        """α - 1 of each order."""
        return frozenset(self._divergences)

    def renyi_divergence(self, tilt: Fraction) -> Fraction | None:
        """Return the bound for the order, if there is one."""
        return self._divergences.get(tilt)

    @property
    def beyond_certificates(self) -> str:
        """They are of divergences at some orders, or those that the checker proves."""
        base = self.base.certified_as
        if base.kind != "renyi" and (base.neighbours != self.neighbours or not _is_read(base)):
            return f"there is no certificate for tuned runs of {self.base.kind} yet"
        return base.beyond_certificates

    @property
    def default_failure(self) -> Fraction:
        """That of Rényi curves."""
        return DEFAULT_FAILURE

    def build_curve(self) -> Curve:
        """Return what the divergences say together."""
        return self.composed_curve(1)

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of ``times`` times the divergences."""
        return renyi_curve(
            tuple(Bound(tilt, times * value) for tilt, value in self._divergences.items())
        )


def _is_read(base: Profile) -> bool:
    """Whether the checker can prove divergences of a mechanism."""
    from gdpbridge_verify.refusal import OutOfWork
    from gdpbridge_verify.tuned import is_known

    named = base.specification()
    if not all(isinstance(one, str | None) for one in named.values()):
        # it is known by rows, which do not compose
        return False
    try:
        return is_known(named)
    except OutOfWork:
        return False
