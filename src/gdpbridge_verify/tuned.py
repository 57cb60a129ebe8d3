"""The best of a random number of runs, for the checker: its Rényi divergences from those of one.

Only the best of K runs is released. With c(α) of one run, D_α is at most (Papernot and Steinke
2022)

    c(α) + (1 + η)((1 - 1/ν)·c(ν) + log(1/γ)/ν) + log E[K]/(α - 1)      for any order ν,

for K from a truncated negative binomial distribution of shape η ≥ 0 (theorem 2), where
E[K] = η(e^s - 1)/(1 - e^{-ηs}), or (e^s - 1)/s for η = 0, with s = log(1/γ). That grows with
s, as 1/(1 - e^{-s}) > 1/s ≥ η/(e^{ηs} - 1): where it is at least E[K], s is at least log(1/γ).
For K from a Poisson distribution it is at most (theorem 6)

    c(α) + E[K]·δ(log(1 + 1/(α - 1))) + log E[K]/(α - 1).

c is given by rows; of another mechanism than one known by its rows, each row is proved from
F(w) = ∫ p^w q^{1-w} of its parts, e^{(α-1)·D_α} being ∏ F_i(α)^{T_i}, or ∏ F_i(1 - α)^{T_i} in the
other order of the pair, or from its ρ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from gdpbridge_verify.arithmetic import Interval
from gdpbridge_verify.composition import composition_of
from gdpbridge_verify.document import Claim, Evidence, Range
from gdpbridge_verify.mechanisms import FormulasCheck
from gdpbridge_verify.parameters import Spec, apart, parameters_of
from gdpbridge_verify.profile import Tail
from gdpbridge_verify.refusal import Malformed, Refused, Undecided
from gdpbridge_verify.zcdp import RenyiCheck

__all__ = ["OF_FORMULAS", "TunedCheck", "is_known"]

_HALVINGS = 90
_MOST_ROWS = 100
# microseconds of a comparison with δ of one run
_COST_OF_DELTA = 100.0
# bits of δ of one run, beyond those before its first
_DELTA_BITS, _LEAST_DELTA = 40, 1 << 12
# of losses that are listed, what is missing may be anything
_WITHOUT = ("pld", "random-allocation")
# whose δ is a formula that needs no evidence
OF_FORMULAS = frozenset(
    {"gaussian", "gdp", "laplace", "matrix", "pure-dp"}
    | {"randomized-response", "shuffled-epochs", "sparse-vector"}
)


def is_known(spec: Spec) -> bool:
    """Whether the divergences of one run can be proved from what it is."""
    if spec.get("kind") in ("renyi", "zcdp"):
        return True
    try:
        parts = composition_of(spec).parts
    except Malformed:
        return False
    kinds = {text for name, text in spec.items() if name.rpartition(".")[2] == "kind"}
    return kinds.isdisjoint(_WITHOUT) and not any(part.transform.failure for part in parts)


class TunedCheck(RenyiCheck):
    """The lines of a certificate of such a mechanism, at one precision."""

    uses = frozenset({"tangents"})

    def build(self) -> Tail:
        """Read the numbers of the selection, and the rows of one run."""
        own, inner = apart(self.spec)
        self._values = parameters_of(own)
        if inner.setdefault("neighbours", own.get("neighbours")) != own.get("neighbours"):
            raise Malformed("mechanism.base.neighbours", inner["neighbours"], "those of the runs")
        if not is_known(inner):
            raise Malformed("mechanism.base.kind", inner.get("kind"), "one of known divergences")
        self._inner = inner
        self.spec = {"kind": "renyi", "neighbours": inner["neighbours"]}
        if inner.get("kind") == "renyi" and set(inner) != {"kind", "neighbours"}:
            raise Malformed("mechanism.base", ", ".join(sorted(inner)), "rows alone")
        found = super().build()
        if inner["kind"] != "renyi":
            self._prove_rows()
        if self._is_poisson and not self._has_formula:
            raise Malformed("mechanism.base.kind", inner["kind"], "one whose δ is a formula")
        return found

    @property
    def _is_poisson(self) -> bool:
        return self._values["distribution"] == 1

    @property
    def _has_formula(self) -> bool:
        return self._inner.get("kind") in OF_FORMULAS

    def _prove_rows(self) -> None:
        """Prove that the divergences of one run are at most those of the rows."""
        if len(self.rows) > _MOST_ROWS:
            raise Malformed("table.rows", len(self.rows), f"at most {_MOST_ROWS}")
        for number, (alpha, most) in enumerate(self.rows):
            assert most is not None
            for exact in self._divergences(alpha):
                # more precision would hardly make a bound better
                if not exact.high <= self.enclosed(most).low:
                    reason = f"D is {float(exact.high):.12g} or less, no less is proved"
                    raise Refused(f"table.rows[{number}]", reason)

    def _divergences(self, alpha: Fraction) -> Iterator[Interval]:
        """Bound D_α of one run from above, in both orders of the pair."""
        inner, of = self._inner, self.arithmetic
        if inner["kind"] == "zcdp":
            yield of.exactly(parameters_of(inner)["rho"] * alpha)
            return
        composition = composition_of(inner)
        of.work.charge(composition.cost)
        symmetric = all(part.symmetric for part in composition.parts)
        for backward in (False,) if symmetric else (False, True):
            total = of.exactly(0)
            for part in composition.parts:
                transform, w, _ = part.directed(backward, alpha - 1)
                total += transform.at(of, w).log() * part.times
            yield total / (alpha - 1)

    def allows(self, line: str, p: Fraction, q: Fraction) -> None:
        """Refuse: the rows are of one run, and nothing is known of δ from below."""
        raise Refused(line, "no event is a proof for this kind")

    def most(self, order: Fraction) -> Interval:
        """Enclose the least bound at that order or a larger one."""
        self.arithmetic.charge(20 * len(self.rows))
        log_mean = self.enclosed(self._values["mean"]).log()
        known = [
            log_mean / (alpha - 1) + most + self._extra_at(number)
            for number, (alpha, most) in enumerate(self.rows)
            if alpha >= order and most is not None
        ]
        if not known:
            raise Refused("evidence.tangents: order", "nothing is known of it")
        return min(known, key=lambda one: one.high)

    def _extra_at(self, number: int) -> Interval:
        """Enclose what is added at an order."""
        return self._of_poisson[number] if self._is_poisson else self._extra

    @cached_property
    def _of_poisson(self) -> list[Interval]:
        """Bound E[K]·δ(log(1 + 1/(α - 1))) of the rows."""
        mean = self._values["mean"]
        return [self.enclosed(mean * self._delta(alpha)) for alpha, _ in self.rows]

    def _delta(self, alpha: Fraction) -> Fraction:
        """Return at least δ of one run at log(α/(α - 1)), which the formula of it proves."""
        top = self.arithmetic.exactly(alpha / (alpha - 1)).log().low
        at = Fraction(*top.as_integer_ratio())
        line, low = "mechanism.base", Fraction(0)
        if self._single.vanishes_at(at):
            return low
        # the least power of two that it is shown to be at most, down to a last one
        size, more = 1, _LEAST_DELTA
        while size < more:
            half = (size + more) // 2
            is_most = self._is_most(line, at, Fraction(1, 2**half))
            size, more = (half + 1, more) if is_most else (size, half)
        high = Fraction(1, 2 ** (size - 1))
        for _ in range(_DELTA_BITS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._is_most(line, at, middle) else (middle, high)
        return high

    def _is_most(self, line: str, at: Fraction, value: Fraction) -> bool:
        self.arithmetic.charge(_COST_OF_DELTA)
        try:
            self._single.at_most(line, at, value)
        except (Refused, Undecided):
            return False
        return True

    @cached_property
    def _single(self) -> FormulasCheck:
        """What is known of δ of one run."""
        claim = Claim(
            verdict="unknown",
            statement="answers",
            mu=Range(low="0", high="inf"),
            eps_h=None,
            failure_probability="0",
            mu_tail=Range(low="0", high="inf"),
        )
        evidence = Evidence(breakpoints=(), cells=(), witness=None, tail_from=None)
        bare = replace(self.document, mechanism=self._inner, claim=claim, evidence=evidence)
        return FormulasCheck(replace(bare, table=None), self.arithmetic)

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
