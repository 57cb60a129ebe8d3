"""The contract of a privacy profile: parameters declared once, a curve, and what holds of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo

from gdpbridge.curves.base import DEFAULT_FAILURE, Curve
from gdpbridge.curves.constants import upper_bound
from gdpbridge.curves.evaluated import Evaluated
from gdpbridge.curves.nature import Nature, weakest
from gdpbridge.curves.remade import Described, found_in
from gdpbridge.curves.smooth import SmoothCurve
from gdpbridge.curves.tail import Tail
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.registry import kinds_with, profile_class
from gdpbridge.numeric.effort import within
from gdpbridge.numeric.exact import decimal_text, exact
from gdpbridge.reading.equality import ByParameters
from gdpbridge.reading.parameters import (
    Real,
    Whole,
    parameter,
    positive,
    refused,
    sensitivity_parameter,
    whole_sensitivity,
)

if TYPE_CHECKING:
    from gdpbridge.guarantees.concentrated import Concentration
    from gdpbridge.losses.moments import Losses

__all__ = [
    "DEFAULT_FAILURE",
    "Base",
    "Neighbours",
    "Profile",
    "Real",
    "Whole",
    "parameter",
    "positive",
    "sensitivity_parameter",
    "whole_sensitivity",
]

Neighbours = Literal["add-remove", "replace-one", "zero-out"]


class Profile(Described, Evaluated, ByParameters):
    """A mechanism's privacy profile δ(ε), ε ≥ 0, as a frozen value.

    Subclasses declare their parameters with :func:`parameter` and give their curve. A float
    parameter stands for the decimal it prints as: 0.2 means 1/5.

    Raises:
        InputError: (a ``ValueError``) for a parameter outside its range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    nature: ClassVar[Nature] = Nature.BOUND
    """What the kind says of δ(ε) at best; one that does not say gives an upper bound."""

    additive_noise: ClassVar[bool] = False
    """Whether it adds noise to a sum: without the differing record, the noise alone is left."""

    stated_for: ClassVar[tuple[Neighbours, ...]] = ()
    """The relations that the kind is known for; empty where the parameters are stated for one."""

    straight: ClassVar[bool] = False
    """Whether δ is one line in e^ε up to where it becomes constant."""

    samples: ClassVar[bool] = True
    """Whether it may be run on a random sample, and not one that it draws itself."""

    kind: str
    neighbours: Neighbours | None = Field(
        default=None,
        description="the neighbouring relation that the sensitivity or guarantee is stated for",
        json_schema_extra={"allowed": "'add-remove', 'replace-one' or 'zero-out'"},
    )

    def __init__(self, **parameters: Any) -> None:
        try:
            super().__init__(**parameters)
        except ValidationError as error:
            raise refused(error, type(self).__name__, self._public_fields()) from None

    @model_validator(mode="after")
    def _check_stated_for(self) -> Self:
        if self.stated_for and self.neighbours not in self.stated_for:
            raise InputError("neighbours", self.neighbours, " or ".join(self.stated_for))
        return self

    @abstractmethod
    def build_curve(self) -> Curve:
        """Return the pieces and the tail; called once."""

    @cached_property
    def curve(self) -> Curve:
        """The profile as the measuring methods see it; making it is as limited as a question."""
        with within(f"δ(ε) of {self.kind}", "give fewer runs, or groups of fewer"):
            return found_in(self, self.build_curve())

    @property
    def inner(self) -> tuple[Profile, ...]:
        """The mechanisms that this one is made of."""
        found = [getattr(self, "base", None), *getattr(self, "parts", ())]
        return tuple(profile for profile in found if isinstance(profile, Profile))

    @property
    def profile_is(self) -> Nature:
        """What δ(ε) is: "own", "class" or "bound"; see :class:`~gdpbridge.Nature`."""
        return weakest([self.nature, *(profile.profile_is for profile in self.inner)])

    @property
    def composed_is(self) -> Nature:
        """What δ(ε) of several runs is: weaker where no one mechanism attains a class's curve."""
        return weakest([self.profile_is, *(profile.composed_is for profile in self.inner)])

    @property
    def certified_as(self) -> Profile:
        """The mechanism that a certificate is about: this one, or the same in other words."""
        return self

    def as_runs(self, times: int) -> Profile | None:
        """Return several runs as one mechanism of the kind, None where that is no other word."""
        return None

    @property
    def composes_beside_others_only(self) -> bool:
        """Whether several runs need a part with a Gaussian tail beside them to be composed."""
        return False

    @property
    def concentration(self) -> Concentration | None:
        """What ρ-zCDP and μ-GDP say of it, where that is how it composes; None for others."""
        return None

    @property
    def renyi_orders(self) -> frozenset[Fraction] | None:
        """α - 1 of the orders at which alone something is known of it; None for other kinds."""
        return None

    def renyi_divergence(self, tilt: Fraction) -> Fraction | None:
        """Return an upper bound of D_α in both orders of the pair, α = 1 + tilt; None for none.

        Raises:
            InputError: for kinds that know neither divergences nor their privacy loss.
        """
        from gdpbridge.guarantees.renyi import divergence_of

        return divergence_of(self.privacy_losses(), tilt)

    @property
    def beyond_certificates(self) -> str:
        """Why this one has no certificate though its kind has, as a sentence; empty if it has."""
        return ""

    @property
    def default_failure(self) -> Fraction | None:
        """The p of the approximate statement made where none is asked for; None for none."""
        return self.curve.default_failure

    @property
    def least_failure(self) -> Fraction:
        """The least p that is tried beside the default one."""
        level = self.tail.level
        return Fraction(0) if level is None else upper_bound(level.value)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken on trust, a sentence each: results that rest on it are not certified."""
        return tuple(dict.fromkeys(text for one in self.inner for text in one.assumptions))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else every result about this profile should say, a sentence each."""
        return tuple(dict.fromkeys(text for one in self.inner for text in one.remarks))

    @property
    def tail(self) -> Tail:
        """What is known of δ(ε) for large ε."""
        return self.curve.tail

    def subsample(
        self,
        rate: float | None = None,
        scheme: str = "poisson",
        *,
        sample: int | None = None,
        population: int | None = None,
    ) -> Profile:
        """Return the profile of the mechanism run on a random sample of the records.

        Args:
            rate: the chance γ in (0, 1] that a record is in the sample.
            scheme: "poisson" (add-remove neighbours), "without-replacement" or
                "with-replacement" (both replace-one).
            sample: the number of records drawn, instead of the rate; needed with replacement.
            population: the number of records that the sample is drawn from.

        Raises:
            InputError: for a value outside its range, a scheme stated for another neighbouring
                relation than this profile's, or, with replacement, a kind whose profile for groups
                of records is not known.
        """
        return profile_class("subsampled")(
            base=self, rate=rate, scheme=scheme, sample=sample, population=population
        )

    def compose(self, times: int) -> Profile:
        """Return the exact profile of the mechanism run ``times`` times, also adaptively.

        Args:
            times: how often, from 1 to a million.

        Raises:
            InputError: for a value outside its range, or a kind whose exact composition is not
                known.
        """
        return profile_class("composed")(base=self, times=times)

    def tune(
        self, mean: float, *, shape: float = 1.0, distribution: str = "truncated-negative-binomial"
    ) -> Profile:
        """Return an upper bound for the best one of a random number of runs.

        Args:
            mean: the mean of the number of runs, from 1 on.
            shape: that of a truncated negative binomial distribution: 1 is geometric.
            distribution: "truncated-negative-binomial" or "poisson".

        Raises:
            InputError: for a value outside its range, or a mechanism whose Rényi divergences are
                not known.

        Source: Papernot and Steinke (2022).
        """
        return profile_class("tuned")(base=self, mean=mean, shape=shape, distribution=distribution)

    def group(self, size: int) -> Profile:
        """Return the profile for neighbours that differ in ``size`` records, as a user's may.

        Args:
            size: how many records, from 1 to a million.

        Raises:
            InputError: for a value outside its range, or too large for the mechanism.
        """
        return profile_class("grouped")(base=self, size=size)

    def to_neighbours(self, relation: Neighbours) -> Profile:
        """Return the mechanism as stated for other neighbours, where a theorem leads there.

        Args:
            relation: "add-remove", "replace-one" or "zero-out".

        Returns:
            A profile whose ``remarks`` say by what right; itself, if it is stated for these.

        Raises:
            InputError: if it is not stated for any neighbours, or no theorem leads to these.
        """
        if relation not in get_args(Neighbours):
            raise InputError("to_neighbours", relation, f"one of {', '.join(get_args(Neighbours))}")
        if relation == self.neighbours:
            return self
        return profile_class("converted")(base=self, neighbours=relation)

    def restated(self, relation: Neighbours) -> Profile | None:
        """Return the mechanism for other neighbours, for kinds that know it for these; or None."""
        return None

    @property
    def leaves_no_trace(self) -> bool:
        """Whether a record that is zeroed out is as one that is not there."""
        return self.additive_noise

    @property
    def grouped_is(self) -> Nature:
        """What the δ(ε) for groups of records is."""
        return self.profile_is

    def of_group(self, size: int) -> Profile | None:
        """Return the mechanism that a record moves as far as ``size`` move this one, or None.

        A kind that has one needs no more for groups.
        """
        return None

    def grouped_curve(self, size: int) -> Curve:
        """Return the curve for groups of ``size`` records, whatever it is made of.

        Raises:
            InputError: for kinds that do not know it.
        """
        one = self.of_group(size)
        return self.group_curve(size) if one is None else one.curve

    def group_losses(self, size: int) -> Losses:
        """Return the privacy losses for groups of ``size`` records.

        Raises:
            InputError: for kinds that do not know them.
        """
        one = self.of_group(size)
        if one is None:
            known = kinds_with("group_losses", "of_group privacy_losses")
            raise InputError("mechanism", f"{self.kind} for groups of {size}", f"one of {known}")
        return one.privacy_losses()

    def group_curve(self, size: int) -> SmoothCurve:
        """Return the curve for groups of ``size`` records, for kinds that know it as formulas.

        Raises:
            InputError: for other kinds.
        """
        known = kinds_with("group_curve")
        raise InputError("mechanism", self.kind, f"one known for groups of records: {known}")

    def privacy_losses(self) -> Losses:
        """Return the privacy losses that the mechanism is composed of, each with its count.

        Raises:
            InputError: for kinds that do not know them.
        """
        known = kinds_with("privacy_losses")
        allowed = f"one whose privacy loss is known for composition: {known}, or a sample"
        raise InputError("mechanism", self.kind, allowed)

    def composed_curve(self, times: int) -> Curve:
        """Return the curve of ``times`` runs: exact for some kinds, between bounds for others.

        Raises:
            InputError: for kinds that do not know their privacy loss.
        """
        from gdpbridge.curves.composition import composed_loss_curve

        losses = [replace(pair, times=times * pair.times) for pair in self.privacy_losses()]
        return composed_loss_curve(losses)

    @classmethod
    def derived(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that follow from the given ones, for kinds that derive some.

        Raises:
            InputError: for parameters that contradict each other.
        """
        return {}

    @classmethod
    def unit_of(cls, name: str, given: Mapping[str, Any]) -> Fraction | None:
        """Return what a parameter is counted in beside the given ones; None if it is continuous.

        Raises:
            InputError: for parameters that do not tell.
        """
        annotation = cls.parameters()[name].annotation
        return Fraction(1) if {int, Whole} & {annotation, *get_args(annotation)} else None

    @classmethod
    def parameters(cls) -> dict[str, FieldInfo]:
        """Return the declared parameters, by public name, without ``kind`` and ``neighbours``."""
        fields = cls._public_fields().items()
        return {name: field for name, field in fields if name not in ("kind", "neighbours")}

    @classmethod
    def _public_fields(cls) -> dict[str, FieldInfo]:
        return {field.alias or name: field for name, field in cls.model_fields.items()}

    @classmethod
    def overrides(cls, *methods: str) -> bool:
        """Whether the kind has methods of its own in place of all of these."""
        return all(getattr(cls, one) is not getattr(Profile, one) for one in methods)

    def exact(self, name: str) -> Fraction:
        """Return a parameter as the rational number it is written as."""
        return exact(getattr(self, name))

    def specification(self) -> dict[str, str | None]:
        """Return kind, relation and parameters as text, numbers as exact decimals.

        Those of a mechanism inside this one are named base.… there.
        """
        found: dict[str, str | None] = {}
        for name, value in self.model_dump().items():
            given = getattr(self, name, None)
            if isinstance(given, Profile):
                found |= {f"{name}.{key}": text for key, text in given.specification().items()}
            elif isinstance(value, bool):
                # what is switched off is as if it were not there
                found |= {name: "true"} if value else {}
            else:
                found[name] = (
                    decimal_text(exact(value)) if isinstance(value, float | int) else value
                )
        return found

    def require(self, name: str, holds: bool, allowed: str) -> None:
        """Refuse parameters that are each allowed but not together.

        Raises:
            InputError: if ``holds`` is false; ``name`` may name a quotient of parameters.
        """
        if not holds:
            value = getattr(self, name, None)
            shown = value if value is not None else self._quotient(name)
            raise InputError(name, shown, allowed)

    def _quotient(self, name: str) -> float:
        top, bottom = (getattr(self, part) for part in name.split("/"))
        return float(top / bottom)


def with_relation_of_base(given: dict[str, Any]) -> dict[str, Any]:
    """Return what a profile → profile is given, its neighbouring relation that of its base."""
    base = as_profile(given.get("base"))
    if isinstance(base, Profile) and given.get("neighbours") is None:
        return {**given, "base": base, "neighbours": base.neighbours}
    return given


def as_profile(value: object) -> object:
    """Accept a mechanism as a profile or as the plain data of one."""
    if isinstance(value, dict):
        kind = value.get("kind")
        return profile_class(str(kind))(**value)
    return value


# a mechanism inside another one
Base = Annotated[SerializeAsAny[Profile], BeforeValidator(as_profile)]
