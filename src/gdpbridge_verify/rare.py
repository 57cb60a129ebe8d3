"""A line of rare noise alone, and bounds of what usual and large noise add to it.

The noise u of each run on a sample counts by soft steps χ₁ and χ₂: usual with 1 - χ₁, large with
χ₂, rare with χ₁(1 - χ₂). The law of all runs is that of runs some of whose noise is large, that of
those with usual noise alone, and ν: none is large, and some is rare. With F_C of all that is not
large and F_A of what is rare, M_ν = F_C^T - (F_C - F_A)^T, and

    D_ν(ε)  ≤  D(ε)  ≤  D_ν(ε) + κ(b)·F_B(1 + b)^T·e^{-bε} + 1 - (1 - P₂)^T

with F_B of what is below the lower step, and P₂ = ∫ φ·g·χ₂. See docs/check-a-mu.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from gdpbridge_verify import evidence
from gdpbridge_verify.arithmetic import Arithmetic, Interval, Level
from gdpbridge_verify.complexes import Ball, Complexes
from gdpbridge_verify.composed import Line, log_kappa, power_of
from gdpbridge_verify.evidence import MAX_NODES, Edge, Nodes, Split
from gdpbridge_verify.fixed_size import FixedSizeGaussian
from gdpbridge_verify.refusal import Malformed, OutOfWork, Refused
from gdpbridge_verify.transforms import Runs, SampledGaussian, Transform

# where an upper bound at one place is all that is needed: how far φ and a step reach
_REACH, _STEPS_PER_STRIP = 14, 4
_LONGEST = Fraction(2)


class Window(SampledGaussian):
    """∫ φ·ω·g^w for w ≥ 0, ω = χ₁·(1 - χ₂), or 1 - χ₂ where there is no lower step.

    Off the real line |χ(x + iv)| ≤ e^{v²/2τ²}·χ(x), and the same of 1 - χ, as both are integrals of
    normal densities.
    """

    def __init__(self, run: SampledGaussian, low: Edge | None, high: Edge) -> None:
        super().__init__(run.sigma, run.rate)
        self.low, self.high = low, high
        edges = [high] if low is None else [low, high]
        if not all(edge.width > 0 for edge in edges):
            raise Malformed("evidence.lines: split", 0, "steps of a width above 0")
        self.bend = 1 + sum((1 / edge.width**2 for edge in edges), Fraction(0))
        self._known: dict[Fraction, Interval] = {}

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Bound F(w), once."""
        if w not in self._known:
            self._known[w] = super().at(of, w)
        return self._known[w]

    def _real_nodes(self, w: Fraction) -> Nodes:
        # so that e^{bend·a²/2} is modest
        strip = min(self.sigma * _LONGEST, _LONGEST / math.isqrt(math.ceil(self.bend)))
        step = strip / _STEPS_PER_STRIP
        low = Fraction(-_REACH)
        if self.low is not None:
            low = self._start(self.low) - _REACH * min(self.low.width, Fraction(1))
        high = self._top(w) + _REACH * min(self.high.width, Fraction(1))
        first, last = math.floor(low / step), math.ceil(high / step)
        if last - first >= MAX_NODES:
            raise OutOfWork
        return Nodes(shift=Fraction(0), strip=strip, step=step, first=first, last=last)

    def _share_off(self, of: Arithmetic, w: Fraction, y: Fraction, nodes: Nodes) -> Interval:
        """Bound it for nodes on the real line: below it |g^{iy}| ≤ e^{ya/σ}, above it 1."""
        if nodes.shift != 0 or nodes.strip <= 0:
            raise Malformed("evidence.lines: nodes", nodes.shift, "on the real line, with a strip")
        if not of.pi * self.sigma > nodes.strip:
            raise Refused("evidence.lines: strip", "the integrand may not be analytic there")
        turned = 1 + of.exactly(y * nodes.strip / self.sigma).exp()
        return turned * self._growth(of, w, nodes.strip, nodes.strip, nodes)

    def _logs(self, field: Complexes, nodes: Nodes) -> tuple[list[Ball], list[Ball]]:
        """Enclose L at the nodes, and log ω on the real line."""
        logs, _ = super()._logs(field, nodes)
        shares = (self._share(field.arithmetic, nodes.step * j) for j in nodes.numbers())
        return logs, [field.of(share.log()) for share in shares]

    def _log_at(self, of: Arithmetic, w: Fraction, x: Fraction) -> Interval:
        return super()._log_at(of, w, x) + self._share(of, x).log()

    def _share(self, of: Arithmetic, x: Fraction) -> Interval:
        """Enclose ω at a real place."""
        share = self._beyond(of, self.high, x, above=False)
        if self.low is None:
            return share
        return share * self._beyond(of, self.low, x, above=True)

    def _cut(self, of: Arithmetic, w: Fraction, nodes: Nodes) -> Interval:
        """Bound the nodes left out: those below fall from the first one on, those above so too."""
        below, above = nodes.first * nodes.step, nodes.last * nodes.step
        start = Fraction(0) if self.low is None else self._start(self.low)
        if w < 0 or below > start or above < self._top(w):
            raise Refused("evidence.lines: nodes", "they leave out the middle")
        kept = (self._log_g(of, below) * w).exp()
        if self.low is None:
            kept *= of.exactly(-below).normal_tail()
        else:
            mirrored = Edge(place=-self.low.place, width=self.low.width)
            kept *= self._tail(of, mirrored, Fraction(0), -below)
        # g ≤ (g(x)/e^{x/σ})·e^{u/σ} above x
        moved = ((self._log_g(of, above) - above / self.sigma) * w).exp()
        found = kept + moved * self._tail(of, self.high, w / self.sigma, above)
        return found * of.exactly(nodes.shift**2 * self.bend / 2).exp()

    def _start(self, edge: Edge) -> Fraction:
        """Return up to where φ(u)·e^{-(u - u₀)²/2τ²}/2 grows, and χ is at most its share of it."""
        return min(edge.place, edge.place / (1 + edge.width**2))

    def _top(self, w: Fraction) -> Fraction:
        """Return from where on φ(u)·e^{wu/σ}·e^{-(u - u₀)²/2τ²}/2 falls, and is above 1 - χ."""
        edge, square = self.high, self.high.width**2
        return max(edge.place, (w / self.sigma * square + edge.place) / (1 + square))

    def _tail(self, of: Arithmetic, edge: Edge, pull: Fraction, x: Fraction) -> Interval:
        """Return ∫ φ·e^{pull·u}·e^{-(u - u₀)²/2τ²}/2 above x."""
        square = edge.width**2
        bend, place = 1 + 1 / square, (pull * square + edge.place) / (1 + square)
        top = of.exactly((place**2 * bend - edge.place**2 / square) / 2).exp()
        root = of.exactly(bend).sqrt()
        return top / (2 * root) * (root * (x - place)).normal_tail()

    @staticmethod
    def _beyond(of: Arithmetic, edge: Edge, u: Fraction, *, above: bool) -> Interval:
        """Enclose χ, or 1 - χ, at a real place."""
        x = (edge.place - u if above else u - edge.place) / edge.width
        if x < 0 and x * x > 2 * of.precision:
            # Φ(x) ≤ e^{-x²/2}
            return of.just_below_one.hull(of.exactly(1))
        return of.exactly(x).normal_tail()


def distance_of(parts: Sequence[Runs], of: Arithmetic) -> Level:
    """Return what is above δ(0): what both distributions have in common multiplies.

    On a sample that is nothing less than 1 - q.
    """
    kept = of.exactly(0)
    for part in parts:
        if not isinstance(part.transform, SampledGaussian | FixedSizeGaussian):
            return Level.of(of.exactly(1))
        kept += of.exactly(1 - part.transform.rate).log() * part.times
    return Level(-kept.expm1(), kept.exp())


class Rare(Transform):
    """M_ν of all runs, as one transform: F_C^T - (F_C - F_A)^T.

    Args:
        run: one run.
        times: T.
        data: the line, with nodes for F_C and F_A.
    """

    def __init__(self, run: SampledGaussian, times: int, data: evidence.Line, split: Split) -> None:
        self.times, self.data = times, data
        self.whole, self.rare = (Window(run, low, split.high) for low in (None, split.low))
        given = [[one is not None for one in each] for each in (data.nodes, data.far)]
        if given != [[True, True], [False, True]]:
            raise Malformed("evidence.lines: nodes", len(data.nodes), "two, and far out one")

    def on_line(
        self, field: Complexes, w: Fraction, h: Fraction, count: int, nodes: Nodes | None
    ) -> list[Ball]:
        """Enclose F_C^T·(1 - (1 - F_A/F_C)^T)."""
        columns = [
            one.on_line(field, w, h, count, given)
            for one, given in zip((self.whole, self.rare), self.data.nodes, strict=True)
        ]
        return [
            power_of(whole, self.times) * (1 - power_of(1 - rare * whole.inverse(), self.times))
            for whole, rare in zip(*columns, strict=True)
        ]

    def at(self, of: Arithmetic, w: Fraction) -> Interval:
        """Bound it by the smaller one of T·F_A and F_C, times F_C^{T-1}."""
        whole, rare = self.whole.at(of, w), self.rare.at(of, w)
        return self._times_rest(whole, min(rare * self.times, whole, key=lambda one: one.high))

    def beyond(self, field: Complexes, w: Fraction, y: Fraction, nodes: Nodes | None) -> Interval:
        """Bound it by T·|F_A|·F_C^{T-1}."""
        bound = self.rare.beyond(field, w, y, self.data.far[1])
        return self._times_rest(self.whole.at(field.arithmetic, w), bound * self.times)

    def _times_rest(self, whole: Interval, share: Interval) -> Interval:
        return (whole.log() * (self.times - 1) + share.log()).exp().ends()[1]


class RareLine(Line):
    """The curves of one line of ν, with what usual and large noise add above it."""

    def __init__(
        self, parts: Sequence[Runs], backward: bool, data: evidence.Line, arithmetic: Arithmetic
    ) -> None:
        split, part = data.split, parts[0]
        run, is_alone = part.transform, len(parts) == 1 and not backward and data.c > 0
        if not (split and is_alone and type(run) is SampledGaussian and not run.symmetric):
            why = "for runs of one sampled Gaussian mechanism, of large losses, with c > 0"
            raise Malformed("evidence.lines: split", len(parts), why)
        if split.tilt <= 0:
            raise Malformed("evidence.lines: split.tilt", float(split.tilt), "a number > 0")
        self._run, self._runs, self._split = run, part.times, split
        rare = Rare(run, part.times, data, split)
        bare = replace(data, nodes=(None,), far=(None,))
        super().__init__([Runs(rare, 1)], backward, bare, arithmetic)

    def curve(self, at: Fraction, *, above: bool) -> Interval:
        """Return what is above D at an ε, or what is below."""
        found = super().curve(at, above=above)
        if not above:
            return found
        return found + self._usual * self._decay(self._split.tilt, at) + self._large

    @cached_property
    def _usual(self) -> Interval:
        """κ(b)·F_B(1 + b)^T."""
        tilt = self._split.tilt
        one = Window(self._run, None, self._split.low).at(self.of, 1 + tilt)
        return (one.log() * self._runs + log_kappa(tilt, self.of)).exp().ends()[1]

    @cached_property
    def _large(self) -> Interval:
        """1 - (1 - P₂)^T: a sum of normal variables is normal."""
        of, edge, rate = self.of, self._split.high, self._run.rate
        spread = of.exactly(1 + edge.width**2).sqrt()
        usual, moved = (
            (of.exactly(place) / spread).normal_tail()
            for place in (edge.place, edge.place - 1 / self._run.sigma)
        )
        share = (1 - rate) * usual + rate * moved
        return -((-share).log1p() * self._runs).expm1().ends()[0]
