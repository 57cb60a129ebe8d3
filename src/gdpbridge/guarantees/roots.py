"""Solutions of a few equations: floats that guess, balls that prove, power series.

On balls a box is proved to hold exactly one solution, for every ε of the ball, by Krawczyk's
operator: with Y about the inverse of the Jacobian J at the box's centre c,

    K(Z) = c - Y F(c) + (1 - Y J(Z)) (Z - c) inside Z

(Krawczyk 1969; Moore, Kearfott and Cloud 2009, chapter 8). Taylor coefficients in ε follow one by
one, each solving a linear system with the Jacobian on the box.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from flint import arb, arb_mat, arb_series
from numpy.typing import NDArray

from gdpbridge.guarantees.equations import Equations
from gdpbridge.guarantees.events import Event, FloatEvent
from gdpbridge.numeric.decide import certainly
from gdpbridge.numeric.flint_context import precision, working_precision
from gdpbridge.numeric.kinds import ball

__all__ = [
    "Box",
    "enclose",
    "float_jacobian",
    "float_residual",
    "jets",
    "scales_of",
    "solve_floats",
]

Floats = NDArray[np.float64]
Box = list[arb]

_FLOAT_STEPS = 40
_SETTLED = 1e-7
_STEP = 2.0**-20
# one step may shrink or enlarge λ and u by no more than this factor
_DAMPING = 4.0
_LEAST_TILT = 1e-4
_NEWTON_STEPS = 40
_EXPANSIONS = 12
_SLACK_BITS = 24
_CLOSE_BITS = 24
_JACOBIAN_BITS = 96


# --- floats -----------------------------------------------------------------------------------


def _float_event(equations: Equations, z: Floats) -> FloatEvent:
    theta, gap, tilt = equations.place(z, float)
    return FloatEvent(*(np.asarray(one, dtype=np.float64) for one in (theta, gap, tilt)))


def float_residual(equations: Equations, z: Floats, eps: Floats) -> Floats:
    """Return what is zero at a solution, of shape (equations, points)."""
    return np.array(
        [
            np.broadcast_to(one, eps.shape)
            for one in equations.residual(_float_event(equations, z), eps, float)
        ]
    )


def float_jacobian(equations: Equations, z: Floats, eps: Floats) -> Floats:
    """Return the Jacobian, an array (points, equations, unknowns)."""
    return _value_and_jacobian(equations, z, eps)[1]


def _value_and_jacobian(equations: Equations, z: Floats, eps: Floats) -> tuple[Floats, Floats]:
    """Return the residual and, by central differences, the Jacobian."""
    size = equations.size
    steps = _STEP * scales_of(z)
    # all of it in one call: for a few points it is the number of calls that costs
    varied = np.repeat(z[:, None, :], 2 * size + 1, axis=1)
    for number in range(size):
        varied[number, 1 + 2 * number] += steps[number]
        varied[number, 2 + 2 * number] -= steps[number]
    shape = (size, 2 * size + 1, eps.size)
    values = float_residual(
        equations, varied.reshape(size, -1), np.tile(eps, 2 * size + 1)
    ).reshape(shape)
    jacobian = (values[:, 1::2] - values[:, 2::2]) / (2 * steps)
    return values[:, 0], np.moveaxis(jacobian, 2, 0)


def scales_of(z: Floats) -> Floats:
    """Return what a change of each unknown is measured by; θ and u may be 0."""
    scales = np.abs(z)
    if len(z) > 1:
        scales[0] = np.maximum(scales[0], np.minimum(scales[1], 1.0))
    if len(z) > 2:
        scales[2] = np.maximum(scales[2], _LEAST_TILT / (1.0 + scales[1]))
    return scales


def solve_floats(
    equations: Equations, guess: Floats, eps: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Solve in float64 by Newton's method.

    Args:
        equations: the equations.
        guess: where to begin, of shape (unknowns, points).
        eps: ε, one for each point.

    Returns:
        The solutions, and which of them the method settled at.
    """
    z = np.array(guess, dtype=np.float64)
    settled = np.zeros(eps.shape, dtype=bool)
    with np.errstate(all="ignore"):
        for _ in range(_FLOAT_STEPS):
            if settled.all():
                break
            z, settled = _stepped(equations, z, eps)
        # the method doubles the digits at each step; what is left is rounding
        return _stepped(equations, z, eps)[0], settled


def _stepped(equations: Equations, z: Floats, eps: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Take one step of Newton's method; tell where it was a small one."""
    value, jacobian = _value_and_jacobian(equations, z, eps)
    good = np.asarray(np.isfinite(jacobian).all((1, 2)) & np.isfinite(value).all(0))
    good &= np.abs(np.linalg.det(np.where(good[:, None, None], jacobian, 0.0))) > 0
    jacobian[~good] = np.eye(equations.size)
    step = -np.linalg.solve(jacobian, value.T[:, :, None])[:, :, 0].T
    step[:, ~good] = 0.0
    moved = z + step
    first = 1 if equations.size > 1 else 0
    reach = (_DAMPING - 1) * scales_of(z)[first:]
    moved[first:] = np.clip(moved[first:], z[first:] / _DAMPING, z[first:] + reach)
    small = (np.abs(moved - z) <= _SETTLED * scales_of(z)).all(0)
    return moved, good & small


# --- balls ------------------------------------------------------------------------------------


def _residual(equations: Equations, z: list[Any], eps: Any) -> list[Any]:
    return equations.residual(Event(*equations.place(z, ball)), eps, ball)


def _jacobian(equations: Equations, z: Box) -> arb_mat:
    """Enclose the Jacobian on a box."""
    columns = []
    for number in range(equations.size):
        varied: list[Any] = [arb_series([one], 2) for one in z]
        varied[number] = arb_series([z[number], 1], 2)
        columns.append([one[1] for one in _residual(equations, varied, arb(0))])
    return arb_mat([list(row) for row in zip(*columns, strict=True)])


def enclose(equations: Equations, guess: Box, eps: arb) -> Box | None:
    """Enclose the solution near a guess, at a point or for every ε of a ball.

    Returns:
        A box that holds exactly one solution for each ε, or None if that could not be proved.
    """
    found = _polished(equations, guess, eps.mid())
    if found is None:
        return None
    centre, inverse = found
    unit = arb(2) ** (_SLACK_BITS - working_precision())
    radii = [unit * (abs(one) + (number == 0)) for number, one in enumerate(centre)]
    if not eps.is_exact():
        # ε enters the last equation, so that the last column is the derivative by it
        reach = [abs(inverse[row, equations.size - 1]) * eps.rad() for row in range(equations.size)]
        radii = [one + arb(1.25) * more for one, more in zip(radii, reach, strict=True)]
    at_centre = arb_mat([[one] for one in _residual(equations, centre, eps)])
    moved = inverse * at_centre
    for _ in range(_EXPANSIONS):
        box = [one + arb(0, radius) for one, radius in zip(centre, radii, strict=True)]
        image = _krawczyk(equations, centre, box, inverse, moved)
        if image is None:
            return None
        if all(inner in outer for inner, outer in zip(image, box, strict=True)):
            if eps.is_exact():
                return image
            again = _krawczyk(equations, centre, image, inverse, moved)
            return (
                image
                if again is None
                else [one.intersection(two) for one, two in zip(image, again, strict=True)]
            )
        radii = [_wider(*three) for three in zip(image, centre, radii, strict=True)]
    return None


def _wider(image: arb, centre: arb, radius: arb) -> arb:
    """Return a radius that the image would fit into, were it to grow no more."""
    return (abs(image - centre) * arb(1.125)).max(radius)


def _krawczyk(
    equations: Equations, centre: Box, box: Box, inverse: arb_mat, moved: arb_mat
) -> Box | None:
    jacobian = _jacobian(equations, box)
    if not all(entry.is_finite() for entry in jacobian.entries()):
        return None
    size = equations.size
    product = inverse * jacobian
    image = []
    for row in range(size):
        value = centre[row] - moved[row, 0]
        for column in range(size):
            value += (int(row == column) - product[row, column]) * (box[column] - centre[column])
        image.append(value)
    return image


def _inverse(jacobian: arb_mat) -> arb_mat | None:
    if not all(entry.is_finite() for entry in jacobian.entries()):
        return None
    try:
        return jacobian.mid().inv()
    except ZeroDivisionError:
        return None


def _polished(equations: Equations, guess: Box, eps: arb) -> tuple[Box, arb_mat] | None:
    """Return a solution to nearly the working precision, and the inverse of the Jacobian near it.

    Near the solution one Jacobian of a few digits does for all steps: each gains as many digits.
    """
    z = [one.mid() for one in guess]
    unit = arb(2) ** (_SLACK_BITS // 2 - working_precision())
    close = arb(2) ** -_CLOSE_BITS
    near = arb(2) ** -max(_CLOSE_BITS, working_precision() // 8)
    before = arb.pos_inf()
    inverse = None
    for _ in range(_NEWTON_STEPS):
        if inverse is None or not certainly(before <= near):
            with precision(max(_JACOBIAN_BITS, working_precision() // 4)):
                inverse = _inverse(_jacobian(equations, z))
        if inverse is None:
            return None
        step = inverse * arb_mat([[one] for one in _residual(equations, z, eps)])
        steps = [step[row, 0].mid() for row in range(equations.size)]
        if not all(one.is_finite() for one in steps):
            return None
        z = [(one - move).mid() for one, move in zip(z, steps, strict=True)]
        # θ is on a scale of 1, the others on their own
        sizes = [
            abs(move) / (abs(one) + int(number == 0 and equations.size > 1))
            for number, (one, move) in enumerate(zip(z, steps, strict=True))
        ]
        largest = functools.reduce(arb.max, sizes)
        stuck = certainly(largest <= close) and certainly(largest >= before)
        if stuck or certainly(largest <= unit):
            return z, inverse
        before = largest
    return None


# --- series -----------------------------------------------------------------------------------


def jets(equations: Equations, box: Box, eps: arb_series) -> list[arb_series] | None:
    """Return the power series of the unknowns, given a box for the constant terms."""
    length = eps.prec
    jacobian = _jacobian(equations, box)
    if not all(entry.is_finite() for entry in jacobian.entries()):
        return None
    found = [[one] for one in box]
    for order in range(1, length):
        so_far = [arb_series(one, length) for one in found]
        rest = _residual(equations, so_far, eps)
        try:
            move = jacobian.solve(arb_mat([[one[order]] for one in rest]))
        except (ZeroDivisionError, ValueError):
            return None
        for row, coefficients in enumerate(found):
            coefficients.append(-move[row, 0])
    return [arb_series(one, length) for one in found]
