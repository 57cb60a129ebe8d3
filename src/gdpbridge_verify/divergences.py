"""Rényi divergences of what is run one after the other, for the checker: they add up.

Of known parts D_α is at most ρα, or what rows say of an order that is no smaller; of others it is
had from F(w) = ∫ p^w q^{1-w}, e^{(α-1)·D_α} being ∏ F_i^{T_i}, F_i the larger one of F_i(α) and, in
the other order of the pair, F_i(1 - α).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from gdpbridge_verify.arithmetic import Arithmetic, Interval
from gdpbridge_verify.composition import (
    composition_of,
    leaves_of,
    require_one_relation,
    require_short_sums,
)
from gdpbridge_verify.parameters import Spec, parameters_of
from gdpbridge_verify.refusal import Malformed, Refused
from gdpbridge_verify.transforms import Runs
from gdpbridge_verify.zcdp import MAX_ORDER, RenyiCheck

# rows, and bits below the line of what they say, which is added up for each row
_MOST_ROWS, _MOST_BITS = 100, 1 << 14
_COST_OF_ROW = 6.0  # microseconds
# of losses that are listed, what is missing may be anything
_WITHOUT = ("pld", "random-allocation")
_NUMBER = r"[0-9]{1,400}(?:\.[0-9]{1,400}|/[1-9][0-9]{0,399})?"
_ROWS = re.compile(f"{_NUMBER}:{_NUMBER}(?: {_NUMBER}:{_NUMBER})*")

Rows = list[tuple[Fraction, Fraction]]


@dataclass(frozen=True)
class Divergences:
    """What is known of D_α in both orders of each pair.

    Attributes:
        rho: the sum of all ρ.
        rows: orders and what D_α is at most, of each part that has such, and how often it is run.
        runs: the others' transforms.
    """

    rho: Fraction
    rows: tuple[tuple[Rows, int], ...]
    runs: tuple[Runs, ...]

    def at(self, of: Arithmetic, alpha: Fraction) -> tuple[Fraction, Interval]:
        """Return what D_α is at most in either order of the pair, exactly and a rest.

        Which data set comes first need not be the same one in all runs: of each the larger counts.
        """
        exactly = self.rho * alpha
        for rows, times in self.rows:
            of.charge(20 + 2 * len(rows))
            known = [most for order, most in rows if order >= alpha]
            if not known:
                raise Refused("table.rows", f"nothing is known of the order {float(alpha):.12g}")
            exactly += times * min(known)
        total = of.exactly(0)
        for run in self.runs:
            ways = (False,) if run.symmetric else (False, True)
            towards = [run.directed(backward, alpha - 1) for backward in ways]
            logs = [transform.at(of, place).log() for transform, place, _ in towards]
            total += max(logs, key=lambda one: one.high) * run.times
        return exactly, total / (alpha - 1)


def divergences_of(spec: Spec, of: Arithmetic) -> Divergences:
    """Read what is run one after the other."""
    require_one_relation(spec)
    rho, rows, runs = Fraction(0), list[tuple[Rows, int]](), list[Runs]()
    for part, times in leaves_of(spec):
        kind = part.get("kind")
        of.charge(20)
        if kind == "zcdp":
            rho += times * parameters_of(part)["rho"]
        elif kind == "renyi":
            of.charge(_COST_OF_ROW * (part.get("rows") or "").count(":"))
            rows.append((_rows_of(part), times))
        else:
            found = composition_of(part)
            of.charge(found.cost)
            kinds = {text for name, text in part.items() if name.rpartition(".")[2] == "kind"}
            # what fails in one order alone has no divergence in that one
            both = [one for run in found.parts for one in (run.transform, run.reverse) if one]
            if not kinds.isdisjoint(_WITHOUT) or any(one.failure for one in both):
                raise Malformed("mechanism.kind", kind, "one of known divergences")
            runs += [replace(run, times=times * run.times) for run in found.parts]
    require_short_sums((most for given, _ in rows for _, most in given), _MOST_BITS)
    return Divergences(rho, tuple(rows), tuple(runs))


def _rows_of(spec: Spec) -> Rows:
    """Read rows ``α:ε α:ε …``."""
    text = spec.get("rows") or ""
    if not set(spec) <= {"kind", "neighbours", "rows"} or not _ROWS.fullmatch(text):
        raise Malformed("mechanism.rows", text[:40], "α:ε α:ε …, decimals or quotients")
    pairs = [row.split(":") for row in text.split()]
    rows = [(Fraction(alpha), Fraction(most)) for alpha, most in pairs]
    if not all(1 < alpha <= MAX_ORDER for alpha, _ in rows):
        raise Malformed("mechanism.rows", text[:40], f"orders above 1, at most {MAX_ORDER}")
    return rows


class ProvedRowsCheck(RenyiCheck):
    """What has rows that are proved from what is run."""

    uses = frozenset({"tangents", "event", "table"})

    def prove_rows(self, spec: Spec) -> None:
        """Prove that the divergences of a mechanism are at most those of the rows."""
        if len(self.rows) > _MOST_ROWS:
            raise Malformed("table.rows", len(self.rows), f"at most {_MOST_ROWS}")
        known = divergences_of(spec, self.arithmetic)
        for number, (alpha, most) in enumerate(self.rows):
            assert most is not None
            exactly, rest = known.at(self.arithmetic, alpha)
            if not rest.high <= self.enclosed(most - exactly).low:
                least = float(exactly) + float(rest.high)
                reason = f"D is {least:.12g} or less, no less is proved"
                raise Refused(f"table.rows[{number}]", reason)
