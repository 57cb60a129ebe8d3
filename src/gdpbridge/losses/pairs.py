"""Parts of a sequence as the lattice's steps: for losses that no line serves."""

from __future__ import annotations

from fractions import Fraction

from gdpbridge.errors import InputError, Words
from gdpbridge.losses.atoms import Atoms
from gdpbridge.losses.exponential import ExponentialStep
from gdpbridge.losses.laplace import LaplaceLoss
from gdpbridge.losses.moments import Part
from gdpbridge.losses.step import LossPair, Step
from gdpbridge.losses.transforms.base import Number, Transform
from gdpbridge.losses.transforms.exponential import ExponentialTransform
from gdpbridge.losses.transforms.finite import FiniteTransform
from gdpbridge.losses.transforms.laplace import LaplaceTransform

__all__ = ["on_lattices"]


def on_lattices(part: Part) -> LossPair:
    """Return the part as the lattice's code knows it."""
    reverse = None if part.reverse is None else _step(part.reverse)
    return LossPair(_step(part.transform), part.times, reverse)


def _step(transform: Transform) -> Step:
    if isinstance(transform, LaplaceTransform):
        return LaplaceLoss(transform.epsilon)
    if isinstance(transform, ExponentialTransform):
        return ExponentialStep(transform.loss)
    assert isinstance(transform, FiniteTransform)
    return Atoms(
        [_rational(loss) for loss in transform.losses],
        list(transform.masses),
        spacing=transform.spacing,
        failure=_rational(transform.failure),
        reverse_failure=_rational(transform.reverse_failure),
        symmetric=transform.symmetric,
    )


def _rational(value: Number) -> Fraction:
    if not isinstance(value, Fraction):
        raise InputError(
            "mechanism",
            Words("composed of losses without a common lattice"),
            "one with rational losses, or beside one with a Gaussian tail",
        )
    return value
