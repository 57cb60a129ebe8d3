"""The equations whose solutions are boundary points of a region of events; see events.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

__all__ = ["Equations", "binding_order", "bound_at", "corner", "crossing", "single_order"]

Unknowns = Any
# turns an exact number into one of the kind in use
Constants = Callable[[Fraction], Any]


@dataclass(frozen=True)
class Equations:
    """As many equations as unknowns.

    Attributes:
        size: how many.
        place: gives θ, λ and u of the event from the unknowns.
        residual: gives what is zero at the solution, from the event and ε; it is affine in ε.
    """

    size: int
    place: Callable[[Unknowns, Constants], tuple[Any, Any, Any]]
    residual: Callable[[Any, Any, Constants], list[Any]]


def single_order(tilt: Fraction, bound: Fraction) -> Equations:
    """Return the equations of the point where D_α = ``bound`` touches the line of slope e^ε."""

    def residual(event: Any, eps: Any, constant: Constants) -> list[Any]:
        return [event.own_divergence() - constant(bound), event.epsilon() - eps]

    return Equations(2, lambda z, constant: (z[0], z[1], constant(tilt)), residual)


def binding_order(rho: Fraction) -> Equations:
    """Return the equations of that point for ρ-zCDP, where the order is an unknown too."""

    def residual(event: Any, eps: Any, constant: Constants) -> list[Any]:
        target = constant(rho)
        return [
            event.near - target,
            event.far - target,
            event.epsilon() - eps,
        ]

    return Equations(3, lambda z, constant: (z[0], z[1], z[2]), residual)


def bound_at(tilt: Fraction, rho: Fraction) -> Equations:
    """Return the equations of the point of ρ-zCDP at which a given order binds.

    At u = 0 that is where the binding order leaves 1.
    """

    def residual(event: Any, eps: Any, constant: Constants) -> list[Any]:
        target = constant(rho)
        return [event.near - target, event.far - target]

    return Equations(2, lambda z, constant: (z[0], z[1], constant(tilt)), residual)


def corner(tilt: Fraction, bound: Fraction) -> Equations:
    """Return the equation of randomized response with D_α = ``bound``: there p + q = 1."""

    def residual(event: Any, eps: Any, constant: Constants) -> list[Any]:
        return [event.divergence(constant(tilt)) - constant(bound)]

    return Equations(1, lambda z, constant: (z[0] / 2, z[0], constant(Fraction(0))), residual)


def crossing(first: tuple[Fraction, Fraction], second: tuple[Fraction, Fraction]) -> Equations:
    """Return the equations of the point where two orders bind, each given by u and its bound."""

    def residual(event: Any, eps: Any, constant: Constants) -> list[Any]:
        return [
            event.divergence(constant(tilt)) - constant(bound) for tilt, bound in (first, second)
        ]

    return Equations(2, lambda z, constant: (z[0], z[1], constant(Fraction(0))), residual)
