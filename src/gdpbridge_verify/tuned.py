"""The best of a random number of runs, for the checker: its Rényi divergences from those of one.

Only the best of K runs is released. With c(α) of one run, D_α is at most (Papernot and Steinke
2022)

    c(α) + (1 + η)((1 - 1/ν)·c(ν) + log(1/γ)/ν) + log E[K]/(α - 1)      for any order ν,

for K from a truncated negative binomial distribution of shape η ≥ 0 (theorem 2), where
E[K] = η(e^s - 1)/(1 - e^{-ηs}), or (e^s - 1)/s for η = 0, with s = log(1/γ). That grows with
s, as 1/(1 - e^{-s}) > 1/s ≥ η/(e^{ηs} - 1): where it is at least E[K], s is at least log(1/γ).
For K from a Poisson distribution it is at most (theorem 6)

    c(α) + E[K]·δ(log(1 + 1/(α - 1))) + log E[K]/(α - 1).

with δ of one run from lemmas. c is given by rows; of another mechanism than one known by its rows,
each row is proved.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.divergences import ProvedRowsCheck, divergences_of
from gdpbridge_verify.parameters import Spec, apart, parameters_of
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, Refused

__all__ = ["TunedCheck", "is_known"]

_HALVINGS = 90
_BITS = 96


def is_known(spec: Spec) -> bool:
    """Whether the divergences of one run can be proved from what it is."""
    try:
        divergences_of(spec, Arithmetic(_BITS))
    except Malformed:
        return False
    return True


class TunedCheck(ProvedRowsCheck):
    """The lines of a certificate of such a mechanism, at one precision."""

    uses = frozenset({"tangents", "table"})

    def build(self) -> Tail:
        """Read the numbers of the selection, and the rows of one run."""
        own, inner = apart(self.spec)
        self._values = parameters_of(own)
        if inner.setdefault("neighbours", own.get("neighbours")) != own.get("neighbours"):
            raise Malformed("mechanism.base.neighbours", inner["neighbours"], "those of the runs")
        self._inner = inner
        self.spec = {"kind": "renyi", "neighbours": inner["neighbours"]}
        found = super().build()
        if inner.get("kind") != "renyi":
            self.prove_rows(inner)
        elif set(inner) != {"kind", "neighbours"}:
            raise Malformed("mechanism.base", ", ".join(sorted(inner)), "rows alone")
        return found

    def allows(self, line: str, p: Fraction, q: Fraction) -> None:
        """Refuse: the rows are of one run, and nothing is known of δ from below."""
        raise Refused(line, "no event is a proof for this kind")

    def most(self, order: Fraction) -> Interval:
        """Enclose the least bound at that order or a larger one."""
        self.arithmetic.charge(20 * len(self.rows))
        log_mean = self.enclosed(self._values["mean"]).log()
        known = [
            log_mean / (alpha - 1) + most + extra
            for (alpha, most), extra in zip(self.rows, self._extras, strict=True)
            if alpha >= order and most is not None
        ]
        if not known:
            raise Refused("evidence.tangents: order", "nothing is known of it")
        return min(known, key=lambda one: one.high)

    @cached_property
    def _extras(self) -> list[Interval]:
        """Bound what is added to the divergence of each row."""
        if self._values["distribution"] == 0:
            return [self._extra] * len(self.rows)
        mean = self._values["mean"]
        return [self.enclosed(mean * self._delta(alpha)) for alpha, _ in self.rows]

    def _delta(self, alpha: Fraction) -> Fraction:
        """Return what a lemma says that δ of one run is at most at log(α/(α - 1))."""
        top = self.arithmetic.exactly(alpha / (alpha - 1)).log()
        answers = [
            answer
            for one in self.document.lemmas or ()
            if one.mechanism == self._inner
            # rows alone are what some runs are known by
            and (self._inner["kind"] != "renyi" or one.table == self.document.table)
            for answer in one.claim.answers or ()
            if answer.quantity == "delta"
        ]
        self.arithmetic.charge(2 * len(answers))
        known = [one.high for one in answers if self.enclosed(Fraction(one.at or 0)) <= top]
        return min(map(Fraction, known), default=Fraction(1))

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
        self.arithmetic.charge(20)
        shape, odds = self._values["shape"], self.enclosed(size).expm1()
        if shape == 0:
            return odds / size
        return odds * shape / -self.enclosed(-shape * size).expm1()
