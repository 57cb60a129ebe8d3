"""The best of a random number of runs, for the checker: its Rényi divergences from those of one.

K is drawn from a truncated negative binomial distribution of shape η ≥ 0 and mean E[K], and only
the best of K runs is released. With c(α) of one run, D_α is at most (Papernot and Steinke 2022)

    c(α) + (1 + η)((1 - 1/ν)·c(ν) + log(1/γ)/ν) + log E[K]/(α - 1)      for any order ν,

where E[K] = η(e^s - 1)/(1 - e^{-ηs}), or (e^s - 1)/s for η = 0, with s = log(1/γ). That grows with
s, as 1/(1 - e^{-s}) > 1/s ≥ η/(e^{ηs} - 1): where it is at least E[K], s is at least log(1/γ).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

from gdpbridge_verify.arithmetic import Interval
from gdpbridge_verify.parameters import apart, parameters_of
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, Refused
from gdpbridge_verify.zcdp import RenyiCheck

__all__ = ["TunedCheck"]

_HALVINGS = 90


class TunedCheck(RenyiCheck):
    """The lines of a certificate of such a mechanism, at one precision."""

    uses = frozenset({"tangents"})

    def build(self) -> Tail:
        """Read the numbers of the selection, and the rows of one run."""
        own, inner = apart(self.spec)
        self._values = parameters_of(own)
        if {"neighbours": None, **inner} != {"kind": "renyi", "neighbours": own.get("neighbours")}:
            raise Malformed("mechanism.base.kind", inner.get("kind"), "renyi, of these neighbours")
        self.spec = inner
        return super().build()

    def most(self, order: Fraction) -> Interval:
        """Enclose the least bound at that order or a larger one."""
        self.arithmetic.work.charge(20 * len(self.rows))
        log_mean = self.enclosed(self._values["mean"]).log()
        known = [
            log_mean / (alpha - 1) + most
            for alpha, most in self.rows
            if alpha >= order and most is not None
        ]
        if not known:
            raise Refused("evidence.tangents: order", "nothing is known of it")
        return min(known, key=lambda one: one.high) + self._extra

    @cached_property
    def _extra(self) -> Interval:
        """Enclose the least of what is added at every order."""
        shape, size = self._values["shape"], self._log_inverse_gamma()
        found = [
            self.enclosed(((1 - 1 / nu) * most + size / nu) * (1 + shape))
            for nu, most in self.rows
            if most is not None
        ]
        return min(found, key=lambda one: one.high)

    def _log_inverse_gamma(self) -> Fraction:
        """Return a number that is at least log(1/γ), and hardly above it."""
        mean = self._values["mean"]
        if mean == 1:
            return Fraction(0)
        low, high = Fraction(0), Fraction(1)
        while not self._mean(high) >= mean:
            low, high = high, 2 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._mean(middle) >= mean else (middle, high)
        return high

    def _mean(self, size: Fraction) -> Interval:
        """Enclose E[K] at γ = e^{-s}."""
        self.arithmetic.work.charge(20)
        shape, odds = self._values["shape"], self.enclosed(size).expm1()
        if shape == 0:
            return odds / size
        return odds * shape / -self.enclosed(-shape * size).expm1()
