"""A second checker of other answers than μ and of calibrated parameters, from docs/check-a-mu.md.

Of the kinds that the other second checkers know: δ at an ε, ε at a δ, an advantage, f, a TPR, the
regret of a μ, and the other end of a parameter.
"""

from itertools import pairwise

from flint import arb, arb_series, ctx, fmpq
from standalone_checker import (
    HALF,
    INF,
    PARAMETERS,
    WRONG,
    ZERO,
    Checker,
    Concentrated,
    gauss,
    le,
    number,
    numbers,
)
from standalone_composed import Composed, answer_of
from standalone_lattice import OnLattice
from standalone_parts import signed

ONE = fmpq(1)
PRECISIONS = 128, 256, 512


class Plain(Checker):
    """One document about a mechanism with a formula, which may be of answers alone."""

    def __init__(self, document):
        claim, evidence = document["claim"], document["evidence"]
        if claim["statement"] == "answers":
            nothing = claim["eps_h"] is None and not evidence["cells"] and not evidence["witness"]
            if not (nothing and claim["mu"] == {"low": "0", "high": "inf"}):
                raise ValueError("a document of answers says nothing of μ")
            # nothing above 0 or below inf is said of a whole statement
            document = {**document, "claim": {**claim, "statement": "whole"}}
        super().__init__(document)

    def is_above(self, e, y, rest, shown, strictly=False):
        """Whether δ(ε) ≥ y = 1 - rest, or above it."""
        value = self.find(e, e)(arb_series([arb(e), 1], 1))
        delta = value if isinstance(value, fmpq) else value[0]
        if y > HALF:
            return not le(rest, 1 - delta) if strictly else le(1 - delta, rest)
        return not le(delta, y) if strictly else le(y, delta)


class PlainConcentrated(Plain, Concentrated):
    """The same of zCDP."""

    def is_below(self, e, y, rest):
        return super().is_below(e, arb(y), arb(rest))

    def is_above(self, e, y, rest, shown, strictly=False):
        """Whether δ(ε) ≥ y = 1 - rest, or above it: as of randomized response."""
        z = 2 * arb(rest) / (1 + arb(e).exp())
        if bool(z >= 1):
            return not strictly
        lost = self.lost(1 - z, z)
        return not le(self.first, lost) if strictly else le(lost, self.first)


def checker_of(document):
    """What knows of a document's mechanism."""
    spec, evidence = document["mechanism"], document["evidence"]
    if spec["kind"] in PARAMETERS and not evidence.get("directions"):
        return (PlainConcentrated if spec["kind"] == "zcdp" else Plain)(document)
    kinds = {text for name, text in spec.items() if name.split(".")[-1] == "kind"}
    pieces = [piece for one in evidence["directions"] for piece in one["pieces"]]
    if "dpsgd" in kinds or any(piece.get("line") for piece in pieces):
        return Composed(document)
    with ctx.workprec(256):
        checker = OnLattice(document)
    if len(checker.directions) != 2 - checker.symmetric:
        raise ValueError("not every direction is there")
    return checker


class Answers:
    """The answers of one document."""

    def __init__(self, document):
        self.checker, claim = checker_of(document), document["claim"]
        self.answers, self.points = claim["answers"], document["evidence"]["points"]
        self.statement, self.p = claim["statement"], number(claim["failure_probability"])
        self.top = number(claim["mu"]["high"])
        spec = document["mechanism"]
        self.convex = not (spec["kind"] == "sgd-family" and number(spec["B"]) < 1)
        if len(self.answers) != len(self.points):
            raise ValueError("each answer has a point")

    def most(self, e, y):
        """Whether δ(ε) ≤ y."""
        if not le(ZERO, y):
            return False
        rest, checker = 1 - y, self.checker
        if le(ONE, y):
            return True
        if isinstance(checker, Composed):
            return checker.is_everywhere(lambda: checker.is_below(e, y, rest))
        return checker.is_below(e, y, rest)

    def least(self, e, y, shown, strictly=False):
        """Whether δ(ε) ≥ y, or above it."""
        if (y == 0 and not strictly) or self.stays_above(y):
            return True
        return self.checker.is_above(e, y, 1 - y, shown, strictly)

    def stays_above(self, y):
        """Whether δ is above y at every ε."""
        checker = self.checker
        if not isinstance(checker, Composed):
            return checker.kind == "approx-dp" and bool(y < checker.second)
        found = []
        for direction in range(len(checker.directions)):
            checker.number = direction
            found.append(bool(checker.failure() > y))
        return any(found)

    def is_epsilon(self, at, low, high, point):
        if low == INF:
            return high == INF and self.stays_above(at)
        if high < INF and not self.most(high, at):
            return False
        return low == 0 or self.least(low, at, point, strictly=True)

    def has_low_f(self, alpha, b, point):
        """Whether f(α) ≥ b."""
        if b == 0:
            return True
        if point.get("touch") is None:
            return False
        e = signed(point["touch"])
        if e < 0:
            return self.most(-e, 1 - alpha - arb(-e).exp() * b)
        return self.most(e, 1 - b - arb(e).exp() * alpha)

    def has_high_f(self, alpha, b, point):
        """Whether f(α) ≤ b."""
        return b == 1 or self.is_over(point, lambda t: 1 - b - alpha * t, 0)

    def is_regret(self, low, high, point):
        if self.statement == "answers" or not self.top < INF:
            return False

        def stated(e):
            return self.p + (1 - self.p) * gauss(self.top, e)[0] if self.top else arb(self.p)

        if low > 0:
            if point.get("touch") is None or signed(point["touch"]) < 0:
                return False
            e = signed(point["touch"])
            if not self.most(e, stated(e) - low * (1 + arb(e).exp())):
                return False
        return self.is_over(point, lambda t: stated(t.log()) - high * (1 + t), 1)

    def is_over(self, point, curve, start):
        """Whether δ is at least a curve that is convex and falls, from a t on, as places show."""
        places = point.get("places") or ()
        if not (places and self.convex):
            return False
        rows = []
        for place in places:
            e, (low, high) = signed(place["at"]), numbers(place, "low high")
            if not (low <= high <= 1 and self.most(e, high) and self.least(e, low, place)):
                return False
            rows.append((e, arb(e).exp(), arb(low), arb(high)))
            if high < 1 and e > 0:
                t = rows[-1][1]
                rows.append((-e, 1 / t, 1 - (1 - low) / t, 1 - (1 - high) / t))
        order = [signed(place["at"]) for place in places]
        if any(a >= b for a, b in pairwise(order)) or order[0] < 0:
            raise ValueError("the places are not in order")
        if start and order[0] != 0:
            raise ValueError("the places begin at 0")
        rows = [row[1:] for row in sorted(rows, key=lambda row: Exact(row[0]))]
        rows.insert(0, (arb(0), arb(1), arb(1)))
        first = next(i for i, (t, _, _) in enumerate(rows) if t >= start)
        return self.is_covered(rows, first, [curve(t) if t >= start else None for t, _, _ in rows])

    def is_covered(self, rows, first, values):
        """Whether δ is at least a convex curve with these values at the places."""
        pairs = list(zip(values, rows, strict=True))[first:]
        if not all(le(value, low) for value, (_, low, _) in pairs) or not le(values[-1], 0):
            return False
        for i in range(first, len(rows) - 1):
            (s, a, _), (t, b, _) = rows[i], rows[i + 1]
            before = arb("-inf")
            if i:
                last, _, most = rows[i - 1]
                before = a - (most - a) / (s - last) * (t - s) - values[i + 1]
                if before >= 0:
                    continue
            after = b
            if i + 2 < len(rows):
                following, _, most = rows[i + 2]
                after = b + (b - most) / (following - t) * (t - s)
            after -= values[i]
            if after >= 0:
                continue
            if not i or not le(before * after, (a - values[i]) * (b - values[i + 1])):
                return False
        return True

    def holds(self, one, point):
        quantity, (at, low, high) = one["quantity"], numbers(one, "at low high")
        if (at is None) != (quantity in ("advantage", "regret")):
            raise ValueError("an answer is of a place, or of none")
        if quantity in ("delta", "advantage"):
            e = ZERO if at is None else at
            return low <= high <= 1 and self.least(e, low, point) and self.most(e, high)
        if quantity == "epsilon":
            return at <= 1 and low <= high and self.is_epsilon(at, low, high, point)
        if quantity == "regret":
            return low <= high <= 1 and self.is_regret(low, high, point)
        if not (at <= 1 and low <= high <= 1):
            return False
        if quantity == "tpr":
            low, high = 1 - high, 1 - low
        return self.has_low_f(at, low, point) and self.has_high_f(at, high, point)

    def lines(self):
        yield from self.checker.lines()
        for i, (one, point) in enumerate(zip(self.answers, self.points, strict=True)):
            shown = {key: value for key, value in point.items() if value is not None}
            yield f"answer {i}", lambda one=one, shown=shown: self.holds(one, shown)


class Exact:
    """What sorts an exact number."""

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return bool(self.value < other.value)


def one_document(document):
    """The first line that does not hold, in words; else valid."""
    about_answers = document["claim"]["statement"] == "answers"
    if about_answers and not document["claim"].get("answers"):
        raise ValueError("no answer is there")
    whole = Answers(document) if document["claim"].get("answers") else checker_of(document)
    checker = whole.checker if isinstance(whole, Answers) else whole
    return answer_of(checker, PRECISIONS, whole.lines)


def ends(claim):
    """What a document is about, and both ends of its number."""
    answers = claim.get("answers")
    if claim["statement"] == "answers":
        (one,) = answers
        if one["quantity"] == "beta":
            raise ValueError("no parameter is calibrated to that")
        at = None if one["at"] is None else number(one["at"])
        return (one["quantity"], at), numbers(one, "low high")
    if answers:
        raise ValueError("a target is one number")
    eps_h = claim["eps_h"]
    place = number(claim["failure_probability"] if eps_h is None else eps_h)
    return (claim["statement"], place), numbers(claim["mu"], "low high")


def check(document):
    """The answer for a document: valid, refused, malformed or undecided."""
    try:
        if document.get("releases") or document.get("table"):
            raise ValueError("it claims what is not checked here")
        beyond = document.get("beyond")
        document = {k: v for k, v in document.items() if k != "beyond"}
        answer = one_document(document)
        if not beyond or answer != "valid":
            return answer
        spec, changes = document["mechanism"], beyond["changes"]
        stay = any(name.split(".")[-1] in ("kind", "neighbours") for name in changes)
        if stay or not set(changes) <= set(spec):
            raise ValueError("only parameters are changed")
        other = {**document, "mechanism": {**spec, **changes}}
        other |= {"claim": beyond["claim"], "evidence": beyond["evidence"]}
        answer = one_document(other)
        if answer != "valid":
            return f"{answer} of the other end"
        (what, (_, high)), (which, (low, _)) = ends(document["claim"]), ends(other["claim"])
        natures = [one["claim"].get("profile_is") for one in (document, other)]
        target = number(beyond["target"])
        alike = what == which and natures[0] == natures[1] is not None
        return "valid" if alike and high <= target < low else "refused: the other end"
    except WRONG as error:
        return f"malformed: {str(error).splitlines()[0]}"
