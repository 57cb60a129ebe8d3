"""The Gaussian privacy curve on float64 arrays: the numbers behind curve.py.

``δ_μ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2)`` is the privacy profile of N(0, 1) against
N(μ, 1) (Balle and Wang 2018, theorem 8; Dong, Roth and Su 2022, corollary 2.13). Read as a
Black-Scholes call price (spot 1, strike e^ε, total volatility μ), its inverse in μ is an
implied volatility.

Notation: ``m = ε/μ``, ``h = μ/2``, ``x = m − h``, ``y = m + h`` and Mills' ratio
``R(z) = Φ(−z)/φ(z) = √(π/2)·erfcx(z/√2)``. Then

* ``δ = φ(x)·(R(x) − R(y))``, used for x ≥ 0, where δ < 1/2;
* ``1 − δ = φ(x)·(R(−x) + R(y))``, used for x < 0: no cancellation, however close δ is to 1;
* where μ is small beside 1 + m the first difference cancels, and is summed as its Taylor
  series in h instead.

Domain: ε in [0, 1e12], μ = 0 or in [1e-12, 1e6], log δ and log(1 − δ) in [−1e50, 0] or −inf.

Kernels take one-dimensional float64 arrays of one length, validate nothing,
raise no floating-point warnings, and use temporary arrays of the size of their arguments, so
feed them some ten thousand elements at once or go through ``in_blocks``, which broadcasts too:

* ``log_pair(eps, mu)``: (log δ, log(1 − δ)), both accurate;
* ``mu_from_log(eps, log_delta, log_complement)``: μ, from the better conditioned of the two;
* ``epsilon_from_log(mu, log_delta, log_complement)``: the least ε ≥ 0, likewise;
* ``log1mexp(log_p)``: log(1 − p) from log p, to complete such a pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gdpbridge.errors import InputError, Words
from gdpbridge.gaussian.erfcx import erfcx

__all__ = [
    "EPS_MAX",
    "LOG_MIN",
    "MU_MAX",
    "MU_MIN",
    "Array",
    "Kernel",
    "epsilon_from_log",
    "in_blocks",
    "log1mexp",
    "log_pair",
    "mu_from_log",
    "mu_from_logs",
]

Array: TypeAlias = NDArray[np.float64]
Kernel: TypeAlias = Callable[..., Array]

EPS_MAX = 1e12
MU_MIN = 1e-12
MU_MAX = 1e6
LOG_MIN = -1e50

_BLOCK = 16384  # 128 KiB a temporary: a working set of a few MiB
_SQRT_HALF = float(np.sqrt(0.5))
_MILLS_ZERO = float(np.sqrt(0.5 * np.pi))
_LOG_TWO = float(np.log(2.0))
_TINY = float(np.finfo(np.float64).tiny)

# Terms of the series in h, enough for μ < 0.3 + 0.005·m, and steps of the downward recurrence,
# enough from m = 5 on.
_ODD_TERMS = 7
_DOWNWARD_START = 30

# Below this ε the plain difference R(x) − R(y) may lose digits of μ, and above this
# √(−2 log δ) it may vanish.
_PLAIN_EPS_MIN = 0.1
_PLAIN_W_MAX = 1e4
# Above this √(−2 log δ) the higher derivatives are lost in cancellation and Newton's step is
# taken; the first guess is the better the farther out.
_HIGH_ORDER_W_MAX = 1e5
# A step below this is the last one, on a scale of its own: convergence is of fourth order.
_LAST_STEP = 1e-4
_MAX_STEPS = 20  # four is the most seen


# --- forward -----------------------------------------------------------------------------


def _offset(eps: Array, mu: Array) -> Array:
    """x = ε/μ − μ/2 to about one ulp, also where the two nearly cancel (Dekker's product)."""
    m = eps / mu
    split = 134217729.0  # 2^27 + 1
    c = split * m
    m_hi = c - (c - m)
    m_lo = m - m_hi
    c = split * mu
    mu_hi = c - (c - mu)
    mu_lo = mu - mu_hi
    rest = ((eps - m_hi * mu_hi) - m_hi * mu_lo - m_lo * mu_hi) - m_lo * mu_lo
    result: Array = (m - 0.5 * mu) + rest / mu
    return result


def _is_narrow(m: Array, mu: Array) -> NDArray[np.bool_]:
    """Whether R(x) − R(y) needs the series: μ is small beside 1 + m."""
    return mu < 0.3 + 0.005 * m


def _narrow_difference(m: Array, h: Array) -> Array:
    """(R(m − h) − R(m + h))/R(0) for narrow pairs, from the Taylor series in h.

    r_n = ∫ tⁿ/n!·exp(−mt − t²/2) dt, so that R(m − h) − R(m + h) = 2·Σ r_{2k+1}·h^{2k+1},
    obeys (n + 1)·r_{n+1} = r_{n−1} − m·r_n with r_{−1} = 1 and r_0 = R(m) (the repeated
    integrals of erfc: Gautschi 1961). Upwards it is good enough for small m only; downwards
    it is stable, and converges fast for large m.
    """
    odd = np.empty((_ODD_TERMS, m.size))
    small = m < 5.0
    odd[:, small] = _moments_upwards(m[small])
    odd[:, ~small] = _moments_downwards(m[~small])
    h2 = h * h
    total = odd[-1]
    for k in range(_ODD_TERMS - 2, -1, -1):
        total = total * h2 + odd[k]
    result: Array = total * h * (2.0 / _MILLS_ZERO)
    return result


def _moments_upwards(m: Array) -> list[Array]:
    lower, current = np.ones_like(m), _MILLS_ZERO * erfcx(m * _SQRT_HALF)
    odd = []
    for n in range(2 * _ODD_TERMS - 1):
        lower, current = current, (lower - m * current) / (n + 1)
        if n % 2 == 0:
            odd.append(current)
    return odd


def _moments_downwards(m: Array) -> list[Array]:
    # Scaled by m^{n+1}, so that nothing over- or underflows, then divided back.
    t = 1.0 / (m * m)
    upper, current = np.zeros_like(m), np.ones_like(m)
    scaled = []
    for n in range(_DOWNWARD_START, -1, -1):
        upper, current = current, (n + 1) * t * upper + current
        if n % 2 and n < 2 * _ODD_TERMS:
            scaled.append(upper)
    power = t / current
    odd = []
    for value in reversed(scaled):
        odd.append(value * power)
        power = power * t
    return odd


def _log_weight(x: Array, m: Array, mu: Array) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """(F, D, R(y)/R(0), swapped): F = log(1 − δ) where swapped, else log δ.

    D = e^F/(φ(x)·R(0)) is the difference or sum of Mills' ratios.
    """
    mills = erfcx((m + 0.5 * mu) * _SQRT_HALF)
    swapped = x < 0.0
    d = erfcx(np.abs(x) * _SQRT_HALF) + np.copysign(mills, -x)
    narrow = _is_narrow(m, mu)
    if narrow.any():
        d[narrow] = _narrow_difference(m[narrow], 0.5 * mu[narrow])
        swapped &= ~narrow
    return np.log(0.5 * d) - 0.5 * (x * x), d, mills, swapped


@np.errstate(all="ignore")
def log1mexp(log_p: Array) -> Array:
    """log(1 − p) from log p ≤ 0."""
    near_one = log_p > -_LOG_TWO
    result: Array = np.log1p(-np.exp(log_p))
    if near_one.any():
        result[near_one] = np.log(-np.expm1(log_p[near_one]))
    return result


@np.errstate(all="ignore")
def log_pair(eps: Array, mu: Array) -> tuple[Array, Array]:
    """(log δ_μ(ε), log(1 − δ_μ(ε)))."""
    zero = mu == 0.0
    if zero.any():
        mu = np.where(zero, 1.0, mu)
    f, _, _, swapped = _log_weight(_offset(eps, mu), eps / mu, mu)
    # + 0.0 turns a negative zero, from δ that underflows, into a plain one.
    other = log1mexp(f) + 0.0
    log_d, log_c = np.where(swapped, other, f), np.where(swapped, f, other)
    log_d[zero] = -np.inf
    log_c[zero] = 0.0
    return log_d, log_c


# --- inverses ----------------------------------------------------------------------------


@np.errstate(all="ignore")
def mu_from_log(eps: Array, log_delta: Array, log_complement: Array) -> Array:
    """The μ with δ_μ(ε) = δ, from log δ and log(1 − δ)."""
    certain = ~np.isfinite(log_delta) | ~np.isfinite(log_complement)
    if certain.any():
        result = np.where(log_delta == -np.inf, 0.0, np.inf)
        rest = ~certain
        if rest.any():
            result[rest] = mu_from_log(eps[rest], log_delta[rest], log_complement[rest])
        return result
    w, w_c = np.sqrt(-2.0 * log_delta), np.sqrt(-2.0 * log_complement)
    guess = _mu_guess(eps, log_delta, log_complement, w, w_c)
    hard = (eps < _PLAIN_EPS_MIN) | (w > _PLAIN_W_MAX)
    if not hard.any():
        return _refine(_mu_step, _mu_scale, guess, eps, w, w_c)
    small = eps < _PLAIN_EPS_MIN
    guess[small] = _mu_guess_small(eps[small], log_delta[small], log_complement[small])
    result = np.empty_like(eps)
    for part, step in ((hard, _mu_step_careful), (~hard, _mu_step)):
        if part.any():
            result[part] = _refine(step, _mu_scale, guess[part], eps[part], w[part], w_c[part])
    return result


@np.errstate(all="ignore")
def epsilon_from_log(mu: Array, log_delta: Array, log_complement: Array) -> Array:
    """The least ε ≥ 0 with δ_μ(ε) ≤ δ, from log δ and log(1 − δ)."""
    result = np.zeros_like(mu)
    rest = log_delta < log_pair(result, mu)[0]
    result[rest & (log_delta == -np.inf)] = np.inf
    rest &= log_delta > -np.inf
    if rest.any():
        mu, log_delta, log_complement = mu[rest], log_delta[rest], log_complement[rest]
        w, w_c = np.sqrt(-2.0 * log_delta), np.sqrt(-2.0 * log_complement)
        guess = _ratio_guess(mu, log_delta, log_complement)
        result[rest] = mu * _refine(_ratio_step, _ratio_scale, guess, mu, w, w_c)
    return result


def _refine(step: Kernel, scale: Kernel, guess: Array, *args: Array) -> Array:
    """Step until the last step was small on the given scale; elements that are done drop out."""
    value = guess - step(guess, *args)
    active = np.flatnonzero(np.abs(value - guess) > _LAST_STEP * scale(guess))
    for _ in range(_MAX_STEPS):
        if active.size == 0:
            break
        old = value[active]
        new = old - step(old, *(arg[active] for arg in args))
        value[active] = new
        active = active[np.abs(new - old) > _LAST_STEP * scale(old)]
    return value


def _mu_scale(mu: Array) -> Array:
    """How far μ may move before x changes by about one, or by its own size."""
    result: Array = mu / (1.0 + 0.1 * mu)
    return result


def _ratio_scale(m: Array) -> Array:
    """The same for m, kept above rounding."""
    return 1.0 + 1e-6 * m


def _step(f: Array, w: Array, p: Array, a: Array, a1: Array) -> Array:
    """Householder's third-order step for √(−2F) = w, which is nearly linear in the tails.

    ``p`` is F′; ``a`` is v′/v and ``a1`` is a′, where v is the derivative of e^F.
    """
    k = p / (2.0 * f)
    newton = (1.0 - w / np.sqrt(-2.0 * f)) / k
    q = a - p
    b2 = q - k
    b3 = q * (q - p) + a1 - 3.0 * b2 * k
    far = w > _HIGH_ORDER_W_MAX
    if far.any():
        b2, b3 = np.where(far, 0.0, b2), np.where(far, 0.0, b3)
    u = newton * b2
    result: Array = newton * (1.0 - 0.5 * u) / (1.0 - u + newton * newton * b3 * (1.0 / 6.0))
    return result


def _mu_step(mu: Array, eps: Array, w: Array, w_c: Array) -> Array:
    """A step in μ where the plain difference of Mills' ratios is good enough for μ."""
    m, h = eps / mu, 0.5 * mu
    x, y = m - h, m + h
    d = erfcx(np.abs(x) * _SQRT_HALF) + np.copysign(erfcx(y * _SQRT_HALF), -x)
    f = np.log(0.5 * d) - 0.5 * (x * x)
    p = np.copysign(mu, x) / (_MILLS_ZERO * d)
    return _relative_step(mu, m, h, f, np.where(x < 0.0, w_c, w), p)


def _mu_step_careful(mu: Array, eps: Array, w: Array, w_c: Array) -> Array:
    """The same for any ε and μ."""
    m, h = eps / mu, 0.5 * mu
    f, d, _, swapped = _log_weight(m - h, m, mu)
    p = np.where(swapped, -mu, mu) / (_MILLS_ZERO * d)
    step = _relative_step(mu, m, h, f, np.where(swapped, w_c, w), p)
    return np.minimum(step, mu - _TINY)


def _relative_step(mu: Array, m: Array, h: Array, f: Array, w: Array, p: Array) -> Array:
    # Derivatives are taken in units of μ: ∂δ/∂μ = φ(x), and φ(x) has x·y and −3m² − h².
    m2, h2 = m * m, h * h
    relative = _step(f, w, p, m2 - h2, -3.0 * m2 - h2)
    return mu * np.clip(relative, -7.0, 0.875)


def _ratio_step(m: Array, mu: Array, w: Array, w_c: Array) -> Array:
    """A step in m = ε/μ at fixed μ."""
    h = 0.5 * mu
    x, y = m - h, m + h
    f, d, mills, swapped = _log_weight(x, m, mu)
    p = np.where(swapped, mu, -mu) * mills / d
    target = np.where(swapped, w_c, w)
    inverse = 1.0 / (_MILLS_ZERO * mills)
    step = _step(f, target, p, mu - inverse, (y - inverse) * inverse)
    return np.clip(step, -1.0 - m, m)


# --- first guesses -----------------------------------------------------------------------


def _quantile(w: Array) -> Array:
    """About −Φ⁻¹(p) from w = √(−2 log p) (Abramowitz and Stegun 26.2.23); rough for p > 1/2."""
    above = (0.010328 * w + 0.802853) * w + 2.515517
    below = ((0.001308 * w + 0.189269) * w + 1.432788) * w + 1.0
    result: Array = w - above / below
    return result


def _corrected(log_p: Array, sign: Array, z: Array, y: Array) -> Array:
    """Solve p = Φ(−z)·(1 − sign·R(y)/R(z)) for z, with the bracket taken at (z, y).

    R(z) is taken as (z + c)/(z² + cz + 1) with c = R(0), right to 6 %.
    """
    zc, yc = z + _MILLS_ZERO, y + _MILLS_ZERO
    ratio = yc * (zc * z + 1.0) / (zc * (yc * y + 1.0))
    t = log_p - np.log(np.maximum(1.0 - sign * ratio, 1e-20))
    return _quantile(np.sqrt(-2.0 * np.minimum(t, -0.4)))


def _mu_guess(eps: Array, log_d: Array, log_c: Array, w: Array, w_c: Array) -> Array:
    upper = log_d > -_LOG_TWO
    sign = np.where(upper, -1.0, 1.0)
    z = np.maximum(_quantile(np.where(upper, w_c, w)), 0.0)
    two_eps = 2.0 * eps
    x = sign * _corrected(np.where(upper, log_c, log_d), sign, z, np.sqrt(z * z + two_eps))
    total = np.abs(x) + np.sqrt(x * x + two_eps)
    result: Array = np.where(x > 0.0, two_eps / total, total)
    return result


def _mu_guess_small(eps: Array, log_d: Array, log_c: Array) -> Array:
    """For small ε: δ is near μ·(φ(m) − m·Φ(−m)) at small μ, near 2Φ(μ/2) − 1 at large μ."""
    log_q = log_d - np.log(eps)
    z = _quantile(np.sqrt(-2.0 * np.minimum(log_q, -0.4)))
    near = (np.exp(log_d) + 0.5 * eps) * 2.5066
    narrow = np.fmin(near, eps / np.maximum(z - np.minimum(9.0 / (z + 10.0), 0.5), 0.0))
    wide = 2.0 * _quantile(np.sqrt(2.0 * (_LOG_TWO - log_c)))
    result: Array = np.maximum(np.maximum(narrow, wide), _TINY)
    return result


def _ratio_guess(mu: Array, log_d: Array, log_c: Array) -> Array:
    upper = log_d > -_LOG_TWO
    sign = np.where(upper, -1.0, 1.0)
    log_p = np.where(upper, log_c, log_d)
    narrow = np.where(upper, 0.0, np.log(np.minimum(0.8 * mu, 1.0)))
    z = np.maximum(_quantile(np.sqrt(-2.0 * np.minimum(log_p - narrow, -0.4))), 0.0)
    x = sign * _corrected(log_p, sign, z, np.maximum(sign * z + mu, z))
    result: Array = np.maximum(x + 0.5 * mu, 0.0)
    return result


# --- in blocks ---------------------------------------------------------------------------


def in_blocks(kernel: Kernel, *args: ArrayLike) -> Any:
    """Apply a kernel to broadcast arguments block by block; a float when all are scalars."""
    shapes = [np.shape(arg) for arg in args]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        shown = " and ".join(map(str, shapes))
        raise InputError("shape of the arguments", Words(shown), "shapes that broadcast") from None
    # Converted here, not in the iterator's buffers: NumPy 2.0 hands out wrong numbers there.
    args = tuple(np.asarray(arg, dtype=np.float64) for arg in args)
    # Contiguous blocks: some numpy loops round strided data differently. (The ignored type:
    # numpy's stubs spell "contig" wrongly.)
    blocks = np.nditer(  # type: ignore[call-overload]
        [*args, None],
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=[["readonly", "contig", "aligned"]] * len(args) + [["writeonly", "allocate"]],
        op_dtypes=[np.float64] * (len(args) + 1),
        casting="same_kind",
        order="C",
        buffersize=_BLOCK,
    )
    with blocks, np.errstate(all="ignore"):
        for *inputs, out in blocks:
            out[...] = kernel(*inputs)
        result = blocks.operands[-1]
    return float(result) if result.ndim == 0 else result


def mu_from_logs(eps: Array, log_delta: Array, log_complement: Array) -> Array:
    """Return μ(ε, δ) of any shape, using whichever of the two logarithms is better conditioned."""
    return np.asarray(in_blocks(mu_from_log, eps, log_delta, log_complement))
