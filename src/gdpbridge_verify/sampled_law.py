"""A mechanism with discrete losses on a sample, once: δ'(ε') = γ·δ(ε) from the law of its losses.

See :mod:`gdpbridge_verify.sampled`: e^ε' = 1 + γ(e^ε - 1). Where log δ ≤ A - ε²/(2v) + aε, which
falls, and ε ≥ ε' + c from a place on, as ε - ε' grows, log δ' is at most that of ε' + c, and log γ.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from gdpbridge_verify.arithmetic import Interval, exact
from gdpbridge_verify.decay import Decay
from gdpbridge_verify.law import DiscreteCheck
from gdpbridge_verify.numbers import binary
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.sampled import SAMPLED_BY_LAW, nature_of_sample, sample_of


class SampledLawCheck(DiscreteCheck):
    """The lines of a certificate about such a mechanism, at one precision."""

    def build(self) -> Tail:
        """Return what is known of the tail of δ, which is larger."""
        whole = self.spec
        # the losses are those of what is run
        self._rate, self.spec = sample_of(whole, SAMPLED_BY_LAW)
        tail, kind, self.spec = super().build(), self.spec["kind"] or "", whole
        if (decay := tail.decay) is not None:
            start = max(decay.start, binary(self.evidence.tail_from or "0x0p+0"))
            c = max(exact((self._before(start) - start).low), Fraction(0))
            v = self.variance
            log = decay.log_factor + self.enclosed(self._rate).log() - c**2 / (2 * v)
            tail = replace(tail, decay=Decay(log + decay.linear * c, start, decay.linear - c / v))
        nature = nature_of_sample(kind, self.composition.nature, self._rate)
        return replace(tail, floor=tail.floor * self._rate, nature=nature)

    @cached_property
    def _largest(self) -> list[tuple[Fraction, Interval]] | None:
        """The largest finite loss of each direction, on the new scale."""
        found = super()._largest
        if found is None:
            return None
        ends = ((1 + (rest + known).expm1() * self._rate).log() for known, rest in found)
        return [(Fraction(0), end) for end in ends]

    def _enclosed(self, at: Fraction, backward: bool, _: bool) -> Interval:
        found = self.enclosed(self.failure_towards(backward=backward))
        if not self.is_past_losses(at):
            found += self._law_at(at).enclose(self._before(at))
        return found * self._rate

    def parting(self, low: Fraction, high: Fraction) -> Fraction:
        """Return a loss within, on the new scale."""
        found = self._law_at(low).between(self._before(low), self._before(high))
        if found is not None:
            loss = Interval(self.arithmetic, found, found)
            at = exact((1 + loss.expm1() * self._rate).log().low)
            if low < at < high:
                return at
        return super(DiscreteCheck, self).parting(low, high)

    def _before(self, at: Fraction) -> Interval:
        """Return ε from ε'."""
        return (1 + self.enclosed(at).expm1() / self._rate).log()
