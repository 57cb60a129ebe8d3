"""Where a sampled Gaussian loss is integrated, and with how many nodes: a search in floats.

Nothing of it is believed; what is found is evaluated in balls, in sampled_gaussian.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np

from gdpbridge.losses.transforms.base import Plan, Transform, require_noise, short
from gdpbridge.losses.transforms.gaussian import log_normal_tail
from gdpbridge.numeric.arrays import Floats, Indices

__all__ = ["Quadrature", "SampledGaussianSearch"]


# e^{a²/2} grows past what a longer strip saves; of the strips' limits, to keep off the edge
_LONGEST_STRIP = 3.5
_EDGE = 0.98
_LONGEST_REAL_STRIP = 8.0
# strips tried, as shares of the longest
_STRIPS = np.geomspace(1e-4, 1.0, 40)
# shifts tried for bounds far out, as shares of the longest
_SHIFTS = np.concatenate([np.geomspace(1e-7, 0.2, 23), np.linspace(0.3, 1.0, 8)])
# of the strip in which the integrand is analytic: what is left for one about the longest of them
_LEFT = 0.25
# float64 nodes reach to where φ is e^{-81/2 - …}, in steps with an error of e^{-2π·π} or less;
# farther where it is asked how small a sum may be, and where a strong tilt makes a shoulder
_REACH, _FAR_REACH = 9.0, 12.0
_STEP = 0.4
# of the size of what a bound far out saves: the error allowed in it
_SHARE = 1e-3
_LEAST_SAVING = 1e-12
_LEAST_LOG = -700.0
# log of an error that is usual there, and the share of the widest step that a shift must allow
_USUAL_ERROR, _LEAST_RATE = -60.0, 0.1
_STEPS, _HAIR = 200, 0.02
# towards the maxima of what is integrated
_ROUNDS, _NEAR = 10, 0.25
# values of log F that are kept
_KEPT = 4096


@dataclass(frozen=True)
class Quadrature(Plan):
    """The nodes j·step + i·shift, j = first, …, last, of the trapezoid rule.

    Attributes:
        shift: b, the line's imaginary part.
        strip: a, half the width of the strip about it that the error is bounded by.
        step: η.
        first: the first j.
        last: the last one.
    """

    shift: Fraction
    strip: Fraction
    step: Fraction
    first: int
    last: int

    @property
    def terms(self) -> int:
        """How many nodes there are."""
        return self.last - self.first + 1


class SampledGaussianSearch(Transform):
    """The floats of one step of the Poisson-subsampled Gaussian mechanism.

    Args:
        sigma: the noise multiplier σ, positive.
        rate: the sample rate q, strictly between 0 and 1.
    """

    def __init__(self, sigma: Fraction, rate: Fraction) -> None:
        require_noise(sigma)
        self.sigma, self.rate = sigma, rate
        self.tail_variance = 1 / sigma**2
        self.distance = rate
        self._s, self._q = float(sigma), float(rate)
        self._known: dict[float, float] = {}
        self._shifted = cache(self._find_shifted)

    # --- floats: where nodes are needed, and how many ------------------------------------------

    def _log_g(self, u: Floats) -> Floats:
        """Return log g on the real line."""
        t = u / self._s - 0.5 / self._s**2
        small = t < 1.0
        back = (1 - self._q) / self._q * np.exp(-np.maximum(t, 1.0))
        off = np.log1p(np.where(small, self._q * np.expm1(np.minimum(t, 1.0)), back))
        return np.where(small, off, self._log_q + t + off)

    @cached_property
    def _log_q(self) -> float:
        return math.log(self._q)

    @cached_property
    def _half_drift(self) -> float:
        return 0.5 * (self._log_q - self._log_unsampled - 0.5 / self._s**2)

    @cached_property
    def _log_unsampled(self) -> float:
        return math.log1p(-self._q)

    def _log_g_at(self, u: float) -> float:
        """Return log g at one real place."""
        t = u / self._s - 0.5 / self._s**2
        if t < 1:
            return math.log1p(self._q * math.expm1(t))
        return t + math.log(self._q + (1 - self._q) * math.exp(-t))

    def _log_weight(self, w: Floats, u: Floats) -> tuple[Floats, Floats]:
        """Return log of what is integrated, without φ, and L, on the real line."""
        loss = self._log_g(u)
        return w * loss, loss

    def _below_zero(self, w: Any) -> Any:
        """Return the sum of the exponents below 0, of moduli that may be smaller off the line."""
        return min(w, 0)

    def _grid(self, w: Floats, least: float = _REACH) -> tuple[Floats, Indices]:
        """Return places for each w, one after the other, and where those of each begin.

        They are multiples of one step about the first and the last maximum of what is integrated:
        nothing counts between two that are far apart.
        """
        step = self._step
        first, last = (np.asarray(side / step) for side in self._maxima(w))
        reach = np.clip(_REACH - 1 + np.abs(w) / self._s, least, _FAR_REACH) / step + 1
        middle = np.rint((first + last) / 2)
        starts = np.stack([np.floor(first - reach), np.maximum(middle, np.floor(last - reach))])
        stops = np.stack([np.minimum(middle, np.ceil(first + reach)), np.ceil(last + reach)])
        counts = (stops - starts).T.ravel().astype(np.int64)
        begins = np.cumsum(counts) - counts
        number = np.arange(int(counts.sum())) - np.repeat(begins - starts.T.ravel(), counts)
        return np.asarray(number * step), np.asarray(begins[::2])

    def _log_steps(self, u: Floats) -> Any:
        """Return log of how far apart places are, and of φ(0)."""
        return math.log(self._step / math.sqrt(2 * math.pi))

    @property
    def _bend(self) -> float:
        """What is integrated, but for g, is larger by e^{bend·v²/2} on Im u = v."""
        return 1.0

    @property
    def _step(self) -> float:
        return min(_STEP, self._s * 0.6)

    def _pull(self, u: Floats) -> Floats:
        """Return L'·σ: the share of q·e^t in g."""
        half = u * (0.5 / self._s) + self._half_drift
        return np.asarray(0.5 + 0.5 * np.tanh(half))

    def _maxima(self, w: Floats) -> tuple[Floats, Floats]:
        """Return places before and after all maxima of φ·g^w: they solve u = (w/σ)·pull(u)."""
        far = w / self._s
        # below, g is flat, and a stronger tilt pulls no further
        flat = self._s * np.log1p(np.maximum(-w, 0.0) * self._q / (1 - self._q)) + 1 / self._s
        ends = np.stack([np.minimum(np.maximum(far, -flat), 0.0), np.maximum(far, 0.0)])
        falling = far < 0
        if falling.all():
            ends = self._only_maximum(far, ends[0])
            return ends[0], ends[1]
        # from either side towards the first and the last one
        for _ in range(_ROUNDS):
            before, ends = ends, far * self._pull(ends)
            if abs(ends - before).max() < _NEAR:
                break
        if falling.any():
            ends[:, falling] = self._only_maximum(far[falling], -flat[falling])
        return ends[0], ends[1]

    def _only_maximum(self, far: Floats, low: Floats) -> Floats:
        """Halve the range of the maximum for w < 0, of which there is one."""
        ends = np.stack([np.minimum(np.maximum(far, low), 0.0), np.zeros(far.size)])
        for _ in range(_ROUNDS):
            middle = (ends[0] + ends[1]) / 2
            past = middle > far * self._pull(middle)
            ends = np.where(past, (ends[0], middle), (middle, ends[1]))
            if (ends[1] - ends[0]).max() < _NEAR:
                break
        return ends

    def log_size(self, w: float) -> float:
        """Return log F(w) in float64."""
        if w not in self._known:
            self.log_sizes(np.array([w]))
        return self._known[w]

    def log_sizes(self, w: Floats) -> Floats:
        """Return log F at many w, of which one may be asked for later."""
        found = self.log_shapes(w)[0]
        if len(self._known) > _KEPT:
            self._known.clear()
        self._known.update(zip(w.tolist(), found.tolist(), strict=True))
        return found

    def log_shapes(self, w: Floats) -> tuple[Floats, Floats, Floats]:
        """Return log F, and mean and variance of L under the tilt, by sums of many w at once."""
        u, begins = self._grid(w)
        counts = np.diff(begins, append=u.size)
        each = np.repeat(w, counts)
        logs, loss = self._log_weight(each, u)
        logs = logs - u * u / 2 + self._log_steps(u)
        tops = np.maximum.reduceat(logs, begins)
        weights = np.exp(logs - np.repeat(tops, counts))
        totals = np.add.reduceat(weights, begins)
        means = np.add.reduceat(weights * loss, begins) / totals
        spread = (loss - np.repeat(means, counts)) ** 2
        variances = np.add.reduceat(weights * spread, begins) / totals
        # F(0) = F(1) = 1: the step's own rounding cancels to first order
        return tops + np.log(totals), means, variances

    def _log_cut_below(self, w: float, x: float, shift: float) -> float:
        """Return log of the bound of the nodes below x ≤ 0; see :meth:`_cut_below`."""
        g = self._log_g_at(x)
        power = w * g if w >= 0 else w * self._log_unsampled
        return self._log_shift_cost(w, shift) + power + log_normal_tail(-x)

    def _log_cut_above(self, w: float, x: float, shift: float) -> float:
        cost = self._log_shift_cost(w, shift)
        g = self._log_g_at(x)
        if w < 0:
            return cost + max(w * g, 0.0) + log_normal_tail(x)
        t = x / self._s - 0.5 / self._s**2
        log_k = g - t
        return cost + w * log_k + w * (w - 1) / (2 * self._s**2) + log_normal_tail(x - w / self._s)

    def _log_shift_cost(self, w: float, shift: float) -> float:
        return shift * shift * self._bend / 2 + float(self._log_thinned(w, np.array([shift]))[0])

    def _log_thinned(self, w: float, heights: Floats) -> Floats:
        """Return log of how much larger the integral of moduli may be on Im u = height."""
        powers = float(self._below_zero(w))
        if not powers:
            return np.zeros(heights.shape)
        found = powers * np.log(np.cos(heights / (2 * self._s)))
        flat = np.where(2 * heights < _EDGE * math.pi * self._s, self._log_flat(w), math.inf)
        return np.minimum(found, flat)

    def _log_flat(self, w: float) -> float:
        """Return log of the largest |g|^w where cos(Im u/σ) ≥ 0."""
        return w * self._log_unsampled

    def _range(self, w: float, shift: float, log_error: float) -> tuple[float, float]:
        """Return between which places the nodes must lie for an error of e^log_error·F(w)."""
        wanted = log_error + self.log_size(w)

        def least(cut: bool, near: float) -> float:
            sign = 1.0 if cut else -1.0
            bound = self._log_cut_above if cut else self._log_cut_below
            # the bound falls like a normal tail, or faster
            far, bend = 0.0, self._cut_bends[cut]
            for _ in range(_STEPS):
                excess = bound(w, near + sign * far, shift) - wanted
                if excess <= 0:
                    break
                far = math.sqrt(far * far + 2 * excess / bend) + _HAIR / math.sqrt(bend)
            return near + sign * far

        low, high = self._middle(Fraction(w))
        return least(False, float(low)), least(True, float(high))

    @property
    def _cut_bends(self) -> tuple[float, float]:
        """Return one over the variances of the tails that bound what is cut off."""
        return 1.0, 1.0

    def _middle(self, w: Fraction) -> tuple[Fraction, Fraction]:
        """Return places beyond which the bounds of what is cut off hold, and fall."""
        return Fraction(0), max(w / self.sigma, Fraction(0))

    def _nodes(
        self, w: float, shift: float, strip: float, need: float, log_error: float
    ) -> Quadrature:
        step = short(2 * math.pi * strip / need)
        below, above = self._range(w, shift, log_error - math.log(4))
        return Quadrature(
            shift=short(shift) if shift else Fraction(0),
            strip=short(strip),
            step=step,
            first=math.floor(below / float(step)),
            last=math.ceil(above / float(step)),
        )

    def plan(self, w: Fraction, log_error: float) -> Quadrature:
        """Return the nodes: the shift equals the strip, so that its lower edge is the real line."""
        strip, need = self._strip(float(w), 2, _LONGEST_STRIP, log_error)
        return self._nodes(float(w), strip, strip, need, log_error)

    def real_plan(self, w: Fraction, log_error: float) -> Quadrature:
        """Return nodes on the real line, which do for Im w = 0 only."""
        strip, need = self._strip(float(w), 1, _LONGEST_REAL_STRIP, log_error)
        return self._nodes(float(w), 0.0, strip, need, log_error)

    def _strip(self, w: float, reach: int, longest: float, log_error: float) -> tuple[float, float]:
        """Return the best strip where it goes up to ``reach`` times its a, and log of its need."""
        strips = min(_EDGE * math.pi * self._s / reach, longest) * _STRIPS
        heights = reach * strips
        # log of 4·e^{height²/2}·cos^{min(0,w)} over the error: e^{2πa/η} must exceed it
        need = math.log(8) - log_error + heights**2 * self._bend / 2
        need += self._log_thinned(w, heights)
        best = int(np.argmax(strips / need))
        return float(short(float(strips[best]))), float(need[best])

    # --- far out -------------------------------------------------------------------------------

    def _find_shifted(self, w: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Return shifts v, and for each log weights and arg g on a real grid, and log e^{v²/2}."""
        u, _ = self._grid(np.array([w]), _FAR_REACH)
        shifts = self._longest_shift * _SHIFTS
        if self._below_zero(w):
            # where the strip's bound grows fast, a small shift needs far fewer nodes
            rates = np.array(
                [(strips / need).max() for strips, need in map(self._strips(w), shifts)]
            )
            shifts = shifts[rates >= _LEAST_RATE * rates.max()]
        log_modulus, angle = self._shifted_logs(w, u, shifts[:, None])
        weight = log_modulus - u * u / 2 + self._log_steps(u)
        return shifts, weight - self.log_size(w), np.maximum(angle, 0.0), shifts**2 * self._bend / 2

    def _shifted_logs(self, w: float, u: Floats, shifts: Floats) -> tuple[Floats, Floats]:
        """Return log of the modulus of what is integrated, without φ and e^{iyL}, and arg e^L."""
        log, angle = self._log_g_off(u, shifts)
        return w * log, angle

    def _log_g_off(self, u: Floats, shifts: Floats) -> tuple[Floats, Floats]:
        """Return log |g| and arg g at u + i·shift: with p the pull, g/g(u) = 1 - p + p·e^{iθ}."""
        pull, theta = self._pull(u), shifts / self._s
        turned = pull * np.sin(theta), (1 - pull) + pull * np.cos(theta)
        lost = np.log1p(-4 * pull * (1 - pull) * np.sin(theta / 2) ** 2) / 2
        return self._log_g(u) + lost, np.arctan2(*turned)

    @property
    def _longest_shift(self) -> float:
        return min((1 - _LEFT) * _EDGE * math.pi * self._s, _LONGEST_STRIP)

    def _decays(self, w: float, y: float) -> Floats:
        """Return log of the bound at every shift."""
        _, weights, angles, costs = self._shifted(w)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.exp(weights - y * angles).sum(axis=1)) + costs)

    def log_decay(self, w: float, y: float) -> float:
        """Return about log of the bound over F(w)."""
        return min(0.0, float(self._decays(w, y).min()))

    def beyond_plan(self, w: Fraction, y: Fraction) -> Plan:
        """Return the shift v that does best, and nodes for it; see :meth:`beyond`."""
        at = float(w)
        decays = self._decays(at, float(y))
        best = int(np.argmin(decays))
        # where floats only see 0, less will do
        decay = max(float(decays[best]), _LEAST_LOG)
        saving = max(-decay, _LEAST_SAVING)
        log_error = math.log(_SHARE * min(saving, 1.0)) + min(decay, 0.0)
        shifts, _, _, costs = self._shifted(at)
        shift = float(shifts[best])
        # the error counts as often as |φ| is larger there
        strips, need = self._strips(at, log_error - float(costs[best]))(shift)
        chosen = int(np.argmax(strips / need))
        return self._nodes(at, shift, float(strips[chosen]), float(need[chosen]), log_error)

    def _strips(
        self, w: float, log_error: float = _USUAL_ERROR
    ) -> Callable[[float], tuple[Floats, Floats]]:
        """Return strips for a shift, and the logarithm by which e^{2πa/η} must exceed 1 in each."""

        def found(shift: float) -> tuple[Floats, Floats]:
            # no wider than the shift, or up to where arg g grows (see sampled_gaussian.py)
            edge = math.pi * self._s * _EDGE
            longest = max(edge / 2 - shift, min(shift, edge - shift))
            strips = min(longest, _LONGEST_STRIP) * _STRIPS
            need = math.log(8) - log_error + strips**2 * self._bend / 2
            return strips, need + self._log_thinned(w, strips + shift)

        return found
