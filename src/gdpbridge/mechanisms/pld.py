"""A privacy loss distribution: losses with their probabilities, in one direction or in both.

δ(ε) = Σ P(l)·(1 - e^{ε-l})⁺ + P(∞), the larger one of both directions (Sommer, Meiser and Mohammadi
2019); more stands in curves/loss_distribution.py. How numbers that are not quite probabilities are
read in reading/loss_distributions.py. A mass at infinity of at most 1e-12 is read as cut off by the
tool that wrote it: whether the mechanism is GDP is then not known.

With replace-one neighbours each of several runs may be worst in another direction: they are bounded
by runs of a symmetric pair whose δ(ε) is the larger one (curves/either_order.py).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer, PrivateAttr

from gdpbridge.curves.base import Curve
from gdpbridge.curves.loss_distribution import Direction, loss_curve
from gdpbridge.curves.nature import Nature
from gdpbridge.errors import Advice, InputError, Words
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import register
from gdpbridge.numeric.exact import float_text
from gdpbridge.reading.loss_distributions import columns_of, direction, pairs_of
from gdpbridge.reading.loss_files import losses_of_file

if TYPE_CHECKING:
    from gdpbridge.losses.moments import Losses

__all__ = ["PLD", "Direction"]


def _plain(pairs: Any) -> Any:
    return None if pairs is None else [[_shown(loss), _shown(mass)] for loss, mass in pairs]


def _shown(value: Any) -> float | str:
    number = float(value)
    return "inf" if number == math.inf else number


_PAIRS: dict[str, Any] = {
    "untyped": True,
    "typed": "-0.5:0.3,0.5:0.7",
    "allowed": "pairs of a loss and its probability",
}


@register
class PLD(Profile):
    """A privacy loss distribution, from a file or as numbers."""

    nature: ClassVar[Nature] = Nature.OWN
    kind: Literal["pld"] = "pld"
    file: str | None = Field(
        default=None,
        description="the losses and their probabilities, and the direction if there are two",
        json_schema_extra={
            "symbol": "FILE",
            "word": True,
            "instead": "remove",
            "allowed": "a CSV, TSV or JSON file, or - for standard input",
        },
    )
    remove: Annotated[Any, PlainSerializer(_plain)] = Field(
        default=None,
        description="pairs of a loss and its probability, where a record is removed",
        json_schema_extra=_PAIRS,
    )
    add: Annotated[Any, PlainSerializer(_plain)] = Field(
        default=None,
        description="the same where a record is added; as for removal if left out",
        json_schema_extra=_PAIRS,
    )
    is_bound: bool = Field(
        False,
        alias="bound",
        description="say that its δ(ε) is only an upper bound of the mechanism's, as of a "
        "distribution that was rounded up",
        json_schema_extra={"allowed": "true or false"},
    )
    _directions: tuple[Direction, ...] = PrivateAttr()

    def __init__(self, file: str | None = None, **parameters: Any) -> None:
        given = parameters if file is None else {"file": file, **parameters}
        if "losses" in given or "probabilities" in given:
            columns = given.pop("losses", None), given.pop("probabilities", None)
            given["remove"] = pairs_of(*columns)
        super().__init__(**given)

    def model_post_init(self, _: Any) -> None:
        """Read the distributions, so that errors in them come at once."""
        if (self.file is None) == (self.remove is None):
            given = "neither" if self.file is None else "both"
            raise InputError("file and remove", Words(given), Advice("give one of them"))
        if self.file is not None:
            columns = losses_of_file(self.file)
        else:
            columns = {"remove": columns_of(self.remove, "remove")}
            if self.add is not None:
                columns["add"] = columns_of(self.add, "add")
        found = [direction(*columns[name], name) for name in ("remove", "add") if name in columns]
        self._directions = tuple(found)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The distributions: for removal, and for addition if that was given."""
        return self._directions

    @property
    def profile_is(self) -> Nature:
        """The mechanism's own, unless it is said to be rounded up, or no mechanism can have it."""
        is_own = not self.is_bound and all(one.is_possible for one in self._directions)
        return self.nature if is_own else Nature.BOUND

    @property
    def composed_is(self) -> Nature:
        """A bound where each run may be worst in another direction."""
        return Nature.BOUND if self._is_mixed else self.profile_is

    @property
    def _is_mixed(self) -> bool:
        """Whether each of several runs may take either of two directions."""
        return len(self._directions) > 1 and self.neighbours == "replace-one"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was repaired, and what one direction means."""
        found = [text for one in self._directions for text in one.remarks]
        if not all(one.is_possible for one in self._directions):
            found.append("under one of both data sets the probabilities add up to more than 1")
        if len(self._directions) == 1:
            found.append("one direction is given: the other one is taken to be the same")
        return tuple(found)

    def build_curve(self) -> Curve:
        """Return the lines of the larger direction, ε by ε."""
        return loss_curve(self._directions, cut_off=True)

    def specification(self) -> dict[str, str | None]:
        """Return kind and relation, and of each direction a unit and the losses as multiples of it.

        These are ``inf:mass place:mass place:mass …``, masses as binary numbers.
        """
        found: dict[str, str | None] = {"kind": self.kind, "neighbours": self.neighbours}
        for name, one in zip(("remove", "add"), self._directions, strict=False):
            found |= {name: _listed(one), f"{name}_unit": str(one.unit)}
        return found | ({"bound": "true"} if self.profile_is is Nature.BOUND else {})

    def privacy_losses(self) -> Losses:
        """Return the loss in each direction.

        Raises:
            InputError: for more losses than can be composed.
        """
        from gdpbridge.curves.either_order import as_bad_either_way
        from gdpbridge.losses.moments import Part
        from gdpbridge.losses.transforms.finite import MAX_LOOSE, FiniteTransform

        steps = []
        for one in self._directions:
            if one.spacing is None and one.losses.size > MAX_LOOSE:
                allowed = f"at most {MAX_LOOSE:,} to be composed, unless they are on a lattice"
                raise InputError("losses", one.losses.size, allowed)
            if not one.losses.size:
                raise InputError(
                    "pld", Words("without finite losses"), Advice("give at least one finite loss")
                )
            masses = [Fraction(mass) for mass in one.masses.tolist()]
            steps.append(
                FiniteTransform(
                    one.exact_losses,
                    masses,
                    spacing=one.spacing,
                    failure=one.failure,
                    symmetric=len(self._directions) == 1,
                )
            )
        found = Part(steps[0], 1, steps[-1])
        return [as_bad_either_way(found) if self._is_mixed else found]


def _listed(one: Direction) -> str:
    losses = zip(one.exact_losses, one.masses.tolist(), strict=True)
    pairs = (f"{loss / one.unit}:{float_text(mass)}" for loss, mass in losses)
    return " ".join((f"inf:{one.failure}", *pairs))
