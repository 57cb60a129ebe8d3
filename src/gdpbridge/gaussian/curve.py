"""The Gaussian privacy curve in float64, vectorised; formulas and domain are told in kernels.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gdpbridge.errors import Advice, InputError
from gdpbridge.gaussian.kernels import (
    EPS_MAX,
    LOG_MIN,
    MU_MAX,
    MU_MIN,
    Array,
    Kernel,
    epsilon_from_log,
    in_blocks,
    log1mexp,
    log_pair,
    mu_from_log,
)

__all__ = [
    "beta",
    "beta_complement",
    "delta",
    "delta_complement",
    "epsilon",
    "log_delta",
    "log_delta_complement",
    "mu",
]


def _checked(
    name: str,
    value: ArrayLike,
    low: float,
    high: float,
    allowed: str,
    isolated: float | None = None,
) -> NDArray[Any]:
    """The argument as an array, or an InputError naming its first bad value.

    ``isolated`` is one value outside [low, high] that is allowed too.
    """
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(name, value, f"a number or a rectangular array, {allowed}") from None
    if array.dtype.kind not in "biuf":
        raise InputError(name, value, f"real numbers, not {array.dtype.name} values: {allowed}")
    if array.size and not (float(array.min()) >= low and float(array.max()) <= high):
        inside = (array >= low) & (array <= high)
        if isolated is not None:
            inside |= array == isolated
        if not inside.all():
            raise InputError(name, array[~inside][0], allowed)
    return array


def _eps(value: ArrayLike) -> NDArray[Any]:
    return _checked("eps", value, 0.0, EPS_MAX, f"in [0, {EPS_MAX:g}]")


def _mu(value: ArrayLike) -> NDArray[Any]:
    return _checked("mu", value, MU_MIN, MU_MAX, f"0 or in [{MU_MIN:g}, {MU_MAX:g}]", 0.0)


def _probability(name: str, value: ArrayLike) -> NDArray[Any]:
    return _checked(name, value, 0.0, 1.0, "in [0, 1]")


def _log_probability(name: str, value: ArrayLike) -> NDArray[Any]:
    return _checked(name, value, LOG_MIN, 0.0, f"in [{LOG_MIN:g}, 0] or -inf", -np.inf)


@overload
def log_delta(eps: float, mu: float) -> float: ...
@overload
def log_delta(eps: ArrayLike, mu: ArrayLike) -> Any: ...
def log_delta(eps: ArrayLike, mu: ArrayLike) -> Any:
    """log δ_μ(ε), the logarithm of the Gaussian privacy profile.

    Finite wherever μ > 0, also where δ itself underflows. The error is at most
    ``1e-13·max(1, |log δ|)``.

    Args:
        eps: ε in [0, 1e12]; any shape.
        mu: μ, 0 or in [1e-12, 1e6]; any shape that broadcasts with ``eps``.

    Returns:
        A float for scalars, else a float64 array of the broadcast shape; −inf where μ = 0.

    Raises:
        InputError: a value is outside its range, nan, or not a real number.

    Source: Balle and Wang (2018), theorem 8; Dong, Roth and Su (2022), corollary 2.13.
    """
    return in_blocks(lambda e, m: log_pair(e, m)[0], _eps(eps), _mu(mu))


@overload
def delta(eps: float, mu: float) -> float: ...
@overload
def delta(eps: ArrayLike, mu: ArrayLike) -> Any: ...
def delta(eps: ArrayLike, mu: ArrayLike) -> Any:
    """δ_μ(ε), the Gaussian privacy profile.

    Relative error at most 1e-12 down to 1e-307. Smaller values are subnormal or 0.0; use
    ``log_delta`` there, which stays finite. See ``log_delta`` for arguments, errors and source.
    """
    return in_blocks(lambda e, m: np.exp(log_pair(e, m)[0]), _eps(eps), _mu(mu))


@overload
def delta_complement(eps: float, mu: float) -> float: ...
@overload
def delta_complement(eps: ArrayLike, mu: ArrayLike) -> Any: ...
def delta_complement(eps: ArrayLike, mu: ArrayLike) -> Any:
    """1 − δ_μ(ε), with relative error at most 1e-12 down to 1e-307, also where δ → 1.

    See ``log_delta`` for arguments, errors and source.
    """
    return in_blocks(lambda e, m: np.exp(log_pair(e, m)[1]), _eps(eps), _mu(mu))


@overload
def log_delta_complement(eps: float, mu: float) -> float: ...
@overload
def log_delta_complement(eps: ArrayLike, mu: ArrayLike) -> Any: ...
def log_delta_complement(eps: ArrayLike, mu: ArrayLike) -> Any:
    """log(1 − δ_μ(ε)), with relative error at most 1e-12; 0 where μ = 0.

    Where δ is below the smallest positive float, the result is 0 or subnormal.
    See ``log_delta`` for arguments, errors and source.
    """
    return in_blocks(lambda e, m: log_pair(e, m)[1], _eps(eps), _mu(mu))


@overload
def mu(
    eps: float,
    delta: float | None = None,
    *,
    log_delta: float | None = None,
    delta_complement: float | None = None,
    log_delta_complement: float | None = None,
) -> float: ...
@overload
def mu(
    eps: ArrayLike,
    delta: ArrayLike | None = None,
    *,
    log_delta: ArrayLike | None = None,
    delta_complement: ArrayLike | None = None,
    log_delta_complement: ArrayLike | None = None,
) -> Any: ...
def mu(
    eps: ArrayLike,
    delta: ArrayLike | None = None,
    *,
    log_delta: ArrayLike | None = None,
    delta_complement: ArrayLike | None = None,
    log_delta_complement: ArrayLike | None = None,
) -> Any:
    """The μ with δ_μ(ε) = δ: the GDP parameter that one (ε, δ) pair amounts to.

    Give δ in exactly one of four forms; the logarithms reach where δ or 1 − δ underflows.
    The relative error is at most 1e-12 in each well-conditioned form: from 1 − δ or its
    logarithm the answer can be no better than the δ that these determine.

    Args:
        eps: ε in [0, 1e12]; any shape.
        delta: δ in [0, 1]; any shape that broadcasts with ``eps``, as for the other forms.
        log_delta: log δ in [−1e50, 0] or −inf.
        delta_complement: 1 − δ in [0, 1].
        log_delta_complement: log(1 − δ) in [−1e50, 0] or −inf.

    Returns:
        A float for scalars, else a float64 array of the broadcast shape; 0 where δ = 0 and
        inf where δ = 1. A δ > 0 never gives 0: below 2.2e-308, the smallest normal float, μ
        is rounded up to it.

    Raises:
        InputError: a value is outside its range, nan, or not a real number; or the number of
            forms given is not one.

    Source: Liu, Sun, Jiang and Kong (2022), the GDP transformation; ∂δ/∂μ = φ(ε/μ − μ/2) > 0.
    """
    kernel, target = _target(
        mu_from_log,
        delta=delta,
        log_delta=log_delta,
        delta_complement=delta_complement,
        log_delta_complement=log_delta_complement,
    )
    return in_blocks(kernel, _eps(eps), target)


@overload
def epsilon(mu: float, delta: float | None = None, *, log_delta: float | None = None) -> float: ...
@overload
def epsilon(
    mu: ArrayLike, delta: ArrayLike | None = None, *, log_delta: ArrayLike | None = None
) -> Any: ...
def epsilon(
    mu: ArrayLike, delta: ArrayLike | None = None, *, log_delta: ArrayLike | None = None
) -> Any:
    """The least ε ≥ 0 with δ_μ(ε) ≤ δ.

    0 where δ ≥ δ_μ(0) = 2Φ(μ/2) − 1, and where μ = 0; inf where δ = 0 and μ > 0. The error is
    at most 1e-12·ε + 1e-14·μ·(1 + μ). The second part matters near ε = 0 only, where it is of
    the size by which rounding the arguments moves the answer: ∂ε/∂μ = 1/R(y) with y ≥ μ/2.

    Args:
        mu: μ, 0 or in [1e-12, 1e6]; any shape.
        delta: δ in [0, 1]; any shape that broadcasts with ``mu``.
        log_delta: log δ in [−1e50, 0] or −inf, instead of ``delta``.

    Returns:
        A float for scalars, else a float64 array of the broadcast shape.

    Raises:
        InputError: a value is outside its range, nan, or not a real number; or not exactly
            one of ``delta`` and ``log_delta`` is given.

    Source: as for ``log_delta``; ∂δ/∂ε = −e^ε·Φ(−y) < 0.
    """
    kernel, target = _target(epsilon_from_log, delta=delta, log_delta=log_delta)
    return in_blocks(kernel, _mu(mu), target)


@overload
def beta(alpha: float, mu: float) -> float: ...
@overload
def beta(alpha: ArrayLike, mu: ArrayLike) -> Any: ...
def beta(alpha: ArrayLike, mu: ArrayLike) -> Any:
    """f_μ(α) = Φ(Φ⁻¹(1 − α) − μ), the least type II error at type I error α.

    Relative error at most 1e-12 down to 1e-307, for α however small; use ``beta_complement``
    where the result is close to 1.

    Args:
        alpha: α in [0, 1]; any shape.
        mu: μ, 0 or in [1e-12, 1e6]; any shape that broadcasts with ``alpha``.

    Returns:
        A float for scalars, else a float64 array of the broadcast shape.

    Raises:
        InputError: a value is outside its range, nan, or not a real number.

    Source: Dong, Roth and Su (2022), definition 2.6.
    """
    from scipy.special import ndtr, ndtri

    return in_blocks(lambda a, m: ndtr(-ndtri(a) - m), _probability("alpha", alpha), _mu(mu))


@overload
def beta_complement(alpha: float, mu: float) -> float: ...
@overload
def beta_complement(alpha: ArrayLike, mu: ArrayLike) -> Any: ...
def beta_complement(alpha: ArrayLike, mu: ArrayLike) -> Any:
    """1 − f_μ(α), the best true-positive rate at false-positive rate α.

    Relative error at most 1e-12, also where it is tiny. See ``beta`` for arguments, errors and
    source.
    """
    from scipy.special import ndtr, ndtri

    return in_blocks(lambda a, m: ndtr(ndtri(a) + m), _probability("alpha", alpha), _mu(mu))


def _target(solve: Kernel, **forms: ArrayLike | None) -> tuple[Kernel, NDArray[Any]]:
    """The kernel that completes the one form given to a pair of logarithms, and its values."""
    given = [(name, value) for name, value in forms.items() if value is not None]
    if len(given) != 1:
        received = " and ".join(name for name, _ in given) or None
        raise InputError(", ".join(forms), received, Advice("give exactly one of them"))
    name, value = given[0]
    complete = _COMPLETE[name]
    check = _log_probability if name.startswith("log") else _probability
    return lambda first, form: solve(first, *complete(form)), check(name, value)


def _pair_of_delta(p: Array) -> tuple[Array, Array]:
    return np.log(p), np.log1p(-p)


def _pair_of_log(log_p: Array) -> tuple[Array, Array]:
    return log_p, log1mexp(log_p)


_COMPLETE: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "delta": _pair_of_delta,
    "log_delta": _pair_of_log,
    "delta_complement": lambda q: _pair_of_delta(q)[::-1],
    "log_delta_complement": lambda log_q: _pair_of_log(log_q)[::-1],
}
