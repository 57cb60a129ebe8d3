"""A second checker of certificates, in Arb arithmetic, written from docs/check-a-mu.md alone."""

import json
import re
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from flint import arb, arb_series, ctx, fmpq
from jsonschema import Draft202012Validator, ValidationError

NUMBER = re.compile(r"0x([0-9a-f]+)p([+-][0-9]{1,4})|[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")
SCHEMA = Path(__file__).parents[2] / "docs" / "certificate.schema.json"
WRONG = AttributeError, KeyError, RecursionError, TypeError, ValidationError, ValueError
INF, ZERO, HALF = arb("inf"), fmpq(0), fmpq(1, 2)
PARAMETERS = {
    "laplace": "scale sensitivity", "pure-dp": "epsilon", "approx-dp": "epsilon delta",
    "randomized-response": "noise_parameter buckets", "gaussian": "sigma sensitivity",
    "gdp": "mu", "sgd-family": "A B sigma", "icea": "messages users", "zcdp": "rho",
}  # fmt: skip


def number(text):
    """The exact value of a string."""
    if text in ("inf", "tail"):
        return INF if text == "inf" else text
    match = NUMBER.fullmatch(text)
    value = int(match[1], 16) * Fraction(2) ** int(match[2]) if match[1] else Fraction(text)
    return fmpq(value.numerator, value.denominator)


def numbers(document, keys):
    """The values of some strings of an object, None standing for null."""
    return [None if document[key] is None else number(document[key]) for key in keys.split()]


def le(x, y):
    """Whether x ≤ y, exactly unless one of them is a ball."""
    if not (x <= y or x > y):
        raise ArithmeticError
    return bool(x <= y)


def tangent(mu, c):
    """P, Q and 1 - P of the tangent P - e^ε·Q to δ_μ at c."""
    c, mu = arb(c), arb(mu)
    x, y = ((c / mu + half) / arb(2).sqrt() for half in (-mu / 2, mu / 2))
    return x.erfc() / 2, y.erfc() / 2, (-x).erfc() / 2


def gauss(mu, e):
    """δ_μ and 1 - δ_μ at ε."""
    inside, outside, rest = tangent(mu, e)
    return inside - arb(e).exp() * outside, rest + arb(e).exp() * outside


class Checker:
    """One document."""

    def __init__(self, document):
        Draft202012Validator(json.loads(SCHEMA.read_bytes())).validate(document)
        claim, evidence, mechanism = (document[k] for k in ("claim", "evidence", "mechanism"))
        self.verdict, self.statement = claim["verdict"], claim["statement"]
        self.said = claim.get("profile_is")
        self.mu, self.tail = (numbers(claim[key], "low high") for key in ("mu", "mu_tail"))
        self.p, eps_h = numbers(claim, "failure_probability eps_h")
        self.eps_h = INF if eps_h is None else eps_h
        self.cut = self.p if self.statement == "approximate" else ZERO
        right = {"whole": self.p == 0, "head": self.eps_h > 0, "approximate": self.p < 1}
        possible = [right[self.statement], (self.statement == "head") == (self.eps_h < INF)]
        self.cells = [numbers(cell, "low high centre") for cell in evidence["cells"]]
        self.pairs = [numbers(pair, "low high") for pair in evidence["breakpoints"]]
        self.w, self.t = numbers(evidence, "witness tail_from")
        self.kind, names = mechanism["kind"], PARAMETERS[mechanism["kind"]]
        fixed, values = self.kind in ("icea", "randomized-response"), numbers(mechanism, names)
        near = ("replace-one",) if fixed else (None, "replace-one", "add-remove")
        possible += [mechanism["neighbours"] in near, len(mechanism) == len(values) + 2]
        possible += [self.p <= 1, not self.pairs or self.kind in ("icea", "sgd-family")]
        for name, x in zip(names.split(), values, strict=True):
            right = {"epsilon": 1, "delta": x < 1, "noise_parameter": 0 < x <= 1, "buckets": x > 1}
            possible += [x < INF, right.get(name, x > 0 or self.kind == "gdp")]
            possible += [name not in ("buckets", "messages", "users") or x.floor() == x]
        if not all(possible):
            raise ValueError("the claim or the mechanism is not possible")
        self.first, self.second, *_ = *values, ZERO
        self.normal = self.second / self.first if self.kind == "gaussian" else self.first
        self.kappa, self.linear = ZERO, ZERO  # the tail falls like B·e^(linear·ε - kappa·ε²)
        if self.kind == "sgd-family":
            self.kappa = (values[2] / self.first) ** 2

    def pieces(self):
        """The ranges of ε with formulas for δ; none if the breakpoints are not right."""
        first, second = self.first, self.second
        if self.kind in ("gaussian", "gdp"):
            return [(ZERO, INF, lambda e: arb_series([gauss(self.normal, e[0])[0]], 1))]
        if self.kind in ("sgd-family", "icea"):
            return self.refined()
        floor, rate = second if self.kind == "approx-dp" else ZERO, fmpq(1)
        if self.kind == "laplace":
            end, u, v, rate = second / first, fmpq(1), (-arb(second / first) / 2).exp(), HALF
        elif self.kind == "randomized-response":
            u, v = first / second + 1 - first, first / second
            end = arb(u / v).log()
        else:
            end, u = first, 1 - (v := (1 - floor) / (1 + arb(first).exp()))
        stop = end if floor > 0 else INF  # max(formula, 0): the formula may go on below 0
        return [(ZERO, stop, lambda e: u - v * (e * rate).exp()), (end, INF, lambda e: floor)]

    def refined(self):
        """The pieces for a refined δ̂."""
        factor, kappa, pairs = self.second, self.kappa, self.pairs

        def hat(e):
            if kappa:
                return (e * e * -kappa).exp() * factor
            return (1 / e) * (factor * arb(-self.first / 10).exp())

        hat.turn = kappa and factor < 1

        def dome(e):  # h and N
            e, delta = arb(e), hat(arb_series([e, 1], 2))
            return (1 - delta[0]) / (1 + e.exp()), -delta[1] * (1 + (-e).exp()) - 1 + delta[0]

        loose = kappa and factor < 1
        if not pairs:
            flat = loose and not le(0, dome(2 / (1 + (1 + 8 * arb(kappa)).sqrt()))[1])
            return [(ZERO, INF, hat)] if flat else []
        left, r = pairs[-1]
        both, c = arb(left).union(arb(r)), (left + r) / 2
        slope = dome(both)[1] / ((1 + both.exp()) * (1 + (-both).exp()))
        peak = dome(c)[0] + slope * (both - c)
        convex = left < r and not (kappa and 2 * kappa * left * left + left < 1)
        if not convex or le(dome(left)[1], 0) or le(0, dome(r)[1]):
            return []

        def line(e):
            return 1 - peak * (1 + e.exp())

        a, b = pairs[0]
        if len(pairs) == 1 and not (loose and le(peak, dome(0)[0])):
            return [(ZERO, left, line), (r, INF, hat)]
        if not loose or len(pairs) != 2 or not a < b <= left or le(dome(a)[0], peak):
            return []
        return [] if le(peak, dome(b)[0]) else [(ZERO, a, hat), (b, left, line), (r, INF, hat)]

    def find(self, a, b):
        """The formula for [a, b]: an IndexError if there is none."""
        return [x for start, stop, x in self.pieces() if le(start, a) and le(b, stop)][-1]

    def q(self, e):
        """q(ε), which may be below 0 where it stands for 0."""
        value = self.find(e, e)(arb_series([arb(e), 1], 1))
        return ((value if isinstance(value, fmpq) else value[0]) - self.cut) / (1 - self.cut)

    def is_below(self, e, y, rest):
        """Whether δ(ε) ≤ y = 1 - rest."""
        value = self.find(e, e)(arb_series([arb(e), 1], 1))
        delta = arb(value) if isinstance(value, fmpq) else value[0]
        return le(rest, 1 - delta) if y > HALF else le(delta, y)

    def allowed(self, y, rest):
        """What q ≤ y allows δ to be, and one minus it."""
        return self.cut + (1 - self.cut) * y, (1 - self.cut) * rest

    def turn(self, a, b):
        """The formula, if it is concave in e^ε on [a, b]; None if it is convex."""
        formula = self.find(a, b)
        if not getattr(formula, "turn", False) or 2 * self.kappa * a * a + a >= 1:
            return None
        if 2 * self.kappa * b * b + b > 1:
            raise IndexError  # neither of both
        return formula

    def is_proved(self, a, b, c):
        """Whether one tangent to δ_M, or that δ does not rise, is all that a cell needs."""
        m = self.mu[1]
        try:
            formula = self.turn(a, b)
        except IndexError:
            return self.is_below(a, *self.allowed(*gauss(m, b)))
        inside, outside, other = tangent(m, c)
        for e in (a, b):
            fall = arb(e).exp() * outside
            y, rest = self.allowed(inside - fall, other + fall)
            right = self.is_below(e, y, rest)
            if formula:  # δ is below its own tangent at c
                at = formula(arb_series([arb(c), 1], 2))
                right = le(at[0] + at[1] * arb(e - c).expm1(), y)
            if not right:
                return (b - a >= 1 or a >= 8 * m) and self.is_below(a, *self.allowed(*gauss(m, b)))
        return True

    def cell(self, a, b, c):
        """Whether q ≤ δ_M on a cell: on as many parts of it as that takes."""
        m, c = self.mu[1], (a + b) / 2 if c is None else c
        if not 0 < m < INF or not a <= c <= b:
            return False
        ends = [a, *sorted(x for pair in self.pairs for x in pair if a < x < b), b]
        parts = [(x, y, c if x <= c <= y else (x + y) / 2, 60) for x, y in pairwise(ends)]
        while parts:
            a, b, c, left = parts.pop()
            if self.is_over(a) or self.is_proved(a, b, c):
                continue
            middle = (a + b) / 2
            if not left or not self.is_below(middle, *self.allowed(*gauss(m, middle))):
                return False
            parts += [(x, y, (x + y) / 2, left - 1) for x, y in ((a, middle), (middle, b))]
        return True

    def is_cut(self, e):
        """Whether δ is at most what the statement lets fail."""
        return le(self.q(e), self.p - self.cut)

    def is_over(self, e):
        """Whether nothing is left that the statement does not let fail."""
        return le(self.q(e), ZERO) if self.statement == "head" else self.is_cut(e)

    def log_factor(self):
        """log B, of the tail."""
        return arb(self.second).log()

    def end(self, e):
        """Whether the last cell may end at ε."""
        if self.eps_h <= e or self.is_over(e):
            return True
        t, m, k, r = self.t, self.mu[1], self.kappa, self.pairs[-1][1] if self.pairs else ZERO
        if not k or self.statement != "whole" or t is None or r > t or t > e or 2 * k * m * m < 1:
            return False
        left = (arb(m / ((t / m + m / 2) ** 2 + 3)) / (2 * arb.pi()).sqrt()).log()
        left, rate = left - self.log_factor() - m * m / 8 - (t / m) ** 2 / 2, HALF - self.linear
        growth = rate + t * (2 * k - 1 / (m * m)) - 2 / (t + m * m / 2)
        return growth >= 0 and le(0, left + rate * t + k * t * t)

    def below(self, w, m):
        """Whether the statement fails below m, by the witness."""
        if w is None or w == "tail" or m == 0:
            return m == 0 or (w and self.statement == "whole" and 0 < 2 * self.kappa * m * m <= 1)
        return w <= self.eps_h and le(gauss(m, w)[0], self.q(w))

    def lines(self):
        """The name of each line with a function that tells whether it holds."""
        kind, (low, high), cells, M = self.kind, self.mu, self.cells, self.normal
        endless = kind == "icea" or (kind == "approx-dp" and self.second > 0)
        k, normal = self.kappa, kind in ("gaussian", "gdp")
        tail = INF if endless else M * M if normal else 1 / (2 * k) if k else ZERO
        yield "1", lambda: low <= high and self.verdict == ("not-gdp" if endless else "gdp")
        refined = kind in ("sgd-family", "icea")
        nature = "bound" if refined else "class" if "dp" in kind else "own"
        yield "1, profile_is", lambda: self.said in (None, nature)
        (a, b), finite = self.tail, [x < INF for x in self.tail] == [not endless] * 2
        yield "1, mu_tail", lambda: finite and a * a <= tail <= b * b
        yield "2", lambda: self.statement != "head" or self.is_cut(self.eps_h)
        if normal and self.statement != "approximate":
            yield "4, mu", lambda: not cells and low <= M <= high
            return
        ends = [ZERO, *(b for _, b, _ in cells)]
        yield "3", lambda: all(a == e and a < b for (a, b, _), e in zip(cells, ends, strict=False))
        for i, c in enumerate(cells):
            yield f"4, cell {i}", lambda c=c: self.cell(*c)
        free = not cells and (high == INF or (normal and high >= M))
        yield "5", lambda: free or (high < INF and self.end(ends[-1]))
        hopeless = kind == "approx-dp" and self.statement == "approximate" and self.w is None
        sure = hopeless and self.cut < self.second
        yield "6", lambda: sure if low == INF else self.below(self.w, low)


class Concentrated(Checker):
    """One document about ρ-zCDP, of which δ is known by bounds on divergences."""

    def __init__(self, document):
        super().__init__(document)
        tangents = document["evidence"].get("tangents", ())
        self.tangents = [numbers(x, "at order inside outside") for x in tangents]
        places = [ZERO, *(x[0] for x in self.tangents)]
        right = [x[1] >= 1 and x[2] + x[3] > 0 for x in self.tangents]
        if not all(right) or not all(a < b <= 2**200 for a, b in pairwise(places)):
            raise ValueError("the tangents are not possible")
        self.kappa, self.linear = 1 / (4 * self.first), HALF

    def is_over(self, e):
        return self.statement != "head" and self.is_cut(e)

    def log_factor(self):
        return arb(-self.first / 4)

    def shown(self, e, tangent):
        """The D of a tangent, which is a bound where p - e^ε·q is below p - T·q."""
        _, order, a, b = tangent
        u, r, s = order - 1, arb(a).exp(), (-arb(b)).exp()
        if u == 0:  # p·log(p/q) ≥ p(1 + a) - r·q, and with -b and s for the complements
            p, q, rest = a + b, r - s, self.first - (1 - b) + s
        else:  # the slopes of x^α·y^(-u) where x/y is r, and s
            p, q = order * (r**u - s**u), u * (r**order - s**order)
            rest = arb(u * order * self.first).exp() - order * s**u + u * s**order
        return rest / p if le(q, arb(e).exp() * p) else INF

    def is_below(self, e, y, rest):
        """Whether δ(ε) ≤ y = 1 - rest."""
        if e == 0:
            return bool(rest <= 0) or (not le(y, 0) and le(self.first, self.lost(y, rest)))
        known = [x for x in self.tangents if x[0] <= e]
        if known:
            return le(self.shown(known[-1][0], known[-1]), y)
        at = self.tangents[0][0]  # the chord of δ, which is convex in e^ε, from 0 to there
        share = arb(e).expm1() / arb(at).expm1()
        y = (y - share * self.shown(at, self.tangents[0])) / (1 - share)
        return self.is_below(ZERO, y, 1 - y)

    def lost(self, t, rest):
        """The divergence of an answer that is right with the chance (1 + t)/2, t = 1 - rest."""
        return t * ((1 + t) / rest).log()

    def is_cut(self, e):
        return self.p == 1 or (self.p > 0 and self.is_below(e, arb(self.p), arb(1 - self.p)))

    def turn(self, a, b):
        return None

    def below(self, w, m):
        if w is None or w == "tail" or m == 0:
            return super().below(w, m)
        kept = gauss(m, w)[1]
        z = 2 * kept * (1 - self.cut) / (1 + arb(w).exp())
        return w <= self.eps_h and (bool(z >= 1) or le(self.lost(1 - z, z), self.first))


def decided(holds, bits):
    """What a line says, None if the precision is too low to tell; no formula is a no."""
    try:
        with ctx.workprec(bits):
            return bool(holds())
    except (ArithmeticError, IndexError) as error:
        return False if isinstance(error, IndexError) else None


def check(document):
    """The answer for a document: valid, refused, malformed or undecided."""
    try:
        document = json.loads(document) if isinstance(document, bytes) else document
        beside = map(document.get, ("beyond", "releases", "table"))
        if any((*beside, document["claim"].get("answers"))):
            raise ValueError("it claims what is not checked here")
        kind = Concentrated if document["mechanism"]["kind"] == "zcdp" else Checker
        for name, holds in kind(document).lines():
            answers = (decided(holds, 128 << doubling) for doubling in range(6))
            answer = next((x for x in answers if x is not None), None)
            if not answer:
                return f"{'undecided' if answer is None else 'refused'}: line {name}"
    except WRONG as error:
        return f"malformed: {str(error).splitlines()[0]}"
    return "valid"


if __name__ == "__main__":
    print(answer := check(Path(sys.argv[1]).read_bytes()))
    sys.exit({"valid": 0, "malformed": 2, "refused": 3, "undecided": 4}[answer.split(":")[0]])
