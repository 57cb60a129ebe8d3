"""A second checker of certificates, in Arb arithmetic, written from docs/check-a-mu.md alone."""

import json
import re
import sys
from fractions import Fraction
from pathlib import Path

from flint import arb, ctx, fmpq

NUMBER = re.compile(r"0x([0-9a-f]+)p([+-][0-9]{1,4})|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")
STATUS = {"valid": 0, "malformed": 2, "refused": 3, "undecided": 4}
INF, ZERO, HALF = arb("inf"), fmpq(0), fmpq(1, 2)
PARAMETERS = {
    "laplace": "scale sensitivity", "pure-dp": "epsilon", "approx-dp": "epsilon delta",
    "randomized-response": "noise_parameter buckets", "gaussian": "sigma sensitivity",
    "gdp": "mu", "sgd-family": "A B sigma", "icea": "messages users",
}  # fmt: skip


def need(truth, why):
    """Refuse the layout unless something is true."""
    if not truth:
        raise ValueError(why)


def number(text, form="decimal"):
    """The exact value of a string: a decimal, one that may be inf, or binary."""
    match = isinstance(text, str) and len(text) < 4000 and NUMBER.fullmatch(text)
    binary = bool(match and match[1])
    need(text == form == "inf" or (match and binary == (form == "binary")), f"number {text!r:.60}")
    if not match:
        return INF
    value = int(match[1], 16) * Fraction(2) ** int(match[2]) if binary else Fraction(text)
    return fmpq(value.numerator, value.denominator)


def part(document, keys):
    """The values of an object with exactly these keys."""
    need(isinstance(document, dict) and set(document) == set(keys.split()), f"keys {keys}")
    return [document[key] for key in keys.split()]


def le(x, y):
    """Whether x ≤ y, exactly unless one of them is a ball."""
    if not (x <= y or x > y):
        raise ArithmeticError
    return bool(x <= y)


def low(*balls):
    """A lower bound of balls."""
    if not all(x.is_finite() for x in balls):
        raise ArithmeticError
    return min(x.lower() for x in balls)


def gauss(mu, e):
    """δ_μ, h, φ(x)/(μδ_μ), U/φ(x), Φ(x)/φ(x) and 1 - δ_μ at ε."""
    x, y, root = arb(e / mu - mu / 2), arb(e / mu + mu / 2), arb(2).sqrt()
    phi, u = (-x * x / 2).exp() / (2 * arb.pi()).sqrt(), arb(e).exp() * (y / root).erfc() / 2
    delta, rest = (x / root).erfc() / 2 - u, (-x / root).erfc() / 2
    return delta, u / delta, phi / (mu * delta), u / phi, rest / phi, rest + u


def at(formula, e):
    """δ, h = -δ'/δ and s, w, f with -δ″/δ = s - f, -(log δ)″ = w - f: all are monotone in ε."""
    (kind, u, v, rate), e = formula, arb(e)
    if kind == "constant":
        return u, *[arb(0)] * 4
    if kind == "exponential":  # u - v·e^{rate·ε}
        delta = u - v * (rate * e).exp()
        h = rate * (u - delta) / delta
        return delta, h, rate * h, rate * h + h * h, arb(0)
    if kind == "sgd-family":  # u·e^{-vε²}
        return u * (-v * e * e).exp(), 2 * v * e, 2 * v - (2 * v * e) ** 2, arb(2 * v), arb(0)
    if kind == "icea":  # u·e^{-v}/ε
        return u * arb(-v).exp() / e, 1 / e, -2 / e**2, -1 / e**2, arb(0)
    delta, h, f, *_ = gauss(u, e)
    return delta, h, h, h + h * h, f


class Checker:
    """One document."""

    def __init__(self, document):
        schema, _, mechanism, *rest = part(document, "schema generator mechanism claim evidence")
        need(part(schema, "name version") == ["gdpbridge.certificate", 1], "schema")
        self.verdict, self.statement, mu, eps_h, p, tail = part(
            rest[0], "verdict statement mu eps_h failure_probability mu_tail"
        )
        cells, pairs, w, T = part(rest[1], "cells breakpoints witness tail_from")
        self.mu, self.tail = ([number(x, "inf") for x in part(y, "low high")] for y in (mu, tail))
        self.p, self.eps_h = number(p), INF if eps_h is None else number(eps_h)
        kinds = {
            "whole": self.p == 0,
            "head": self.eps_h > 0 and self.p <= 1,
            "approximate": self.p < 1,
        }
        need(kinds[self.statement], "statement, eps_h, failure_probability")
        need(isinstance(cells, list) and isinstance(pairs, list), "lists")
        need((self.statement == "head") == (eps_h is not None), "eps_h")
        self.cut = self.p if self.statement == "approximate" else ZERO
        binary = [
            [None if x is None else number(x, "binary") for x in part(c, "low high centre")]
            for c in cells
        ]
        need(all(None not in cell[:2] for cell in binary), "a cell without an end")
        self.pairs = [[number(x, "binary") for x in part(c, "low high")] for c in pairs]
        self.w = w if w in (None, "tail") else number(w, "binary")
        self.cells, self.T = binary, None if T is None else number(T, "binary")
        self.kind, names = mechanism["kind"], PARAMETERS[mechanism["kind"]]
        _, near, *values = part(mechanism, "kind neighbours " + names)
        fixed = self.kind in ("icea", "randomized-response")
        need(
            near == "replace-one" if fixed else near is None or isinstance(near, str), "neighbours"
        )
        for name, x in zip(names.split(), values := [number(x) for x in values], strict=True):
            whole = x > 0 and x.q == 1
            right = {"epsilon": True, "delta": x < 1, "noise_parameter": 0 < x <= 1}
            right |= {"buckets": whole and x > 1, "messages": whole, "users": whole}
            need(right.get(name, x > 0), name)
        self.first, self.second, *_ = *values, ZERO
        self.normal = self.second / self.first if self.kind == "gaussian" else self.first
        self.kappa = (values[2] / self.first) ** 2 if self.kind == "sgd-family" else ZERO
        need(not pairs or self.kind in ("icea", "sgd-family"), "breakpoints")

    def pieces(self):
        """The ranges of ε with their formulas; none if the breakpoints are not right."""
        first, second = self.first, self.second
        if self.kind in ("gaussian", "gdp"):
            return [(ZERO, INF, ("normal", self.normal, 0, 0))]
        if self.kind in ("sgd-family", "icea"):
            return self.refined()
        end, u, rate = first, arb(first).exp() / (1 + arb(first).exp()), fmpq(1)
        if self.kind == "laplace":
            end, u, v, rate = second / first, fmpq(1), (-arb(second / first) / 2).exp(), HALF
        elif self.kind == "randomized-response":
            u, v = first / second + 1 - first, first / second
            end = arb(u / v).log()
        else:
            u, v = second + (1 - second) * u, (1 - second) * (1 - u)
        floor = second if self.kind == "approx-dp" else ZERO
        first = end if floor > 0 else INF  # max(formula, 0): the formula may go on below 0
        return [(ZERO, first, ("exponential", u, v, rate)), (end, INF, ("constant", floor, 0, 0))]

    def refined(self):
        """The pieces for a refined δ̂."""
        B, kappa, pairs = self.second, self.kappa, self.pairs
        hat = (self.kind, B, kappa, 0) if kappa else (self.kind, B, self.first / 10, 0)

        def dome(e):  # h and N
            (delta, h, *_), e = at(hat, e), arb(e)
            return (1 - delta) / (1 + e.exp()), h * delta * (1 + (-e).exp()) - 1 + delta

        loose = kappa and B < 1
        if not pairs:
            flat = loose and not le(0, dome(2 / (1 + (1 + 8 * arb(kappa)).sqrt()))[1])
            return [(ZERO, INF, hat)] if flat else []
        left, r = pairs[-1]
        both, c = arb(left).union(arb(r)), (left + r) / 2
        slope = dome(both)[1] / ((1 + both.exp()) * (1 + (-both).exp()))
        peak = dome(c)[0] + slope * (both - c)
        line = ("exponential", 1 - peak, peak, 1)
        if left >= r or (kappa and 2 * kappa * left * left + left < 1):
            return []
        if le(dome(left)[1], 0) or le(0, dome(r)[1]):
            return []
        if len(pairs) == 1 and not (loose and le(peak, dome(0)[0])):
            return [(ZERO, left, line), (r, INF, hat)]
        (a, b), high = pairs[0], lambda e: dome(e)[0]
        two = loose and len(pairs) == 2 and a < b and b <= left
        right = two and not le(high(a), peak) and not le(peak, high(b))
        return [(ZERO, a, hat), (b, left, line), (r, INF, hat)] if right else []

    def find(self, a, b):
        """The formula for [a, b]: an IndexError if there is none."""
        return [x for start, stop, x in self.pieces() if le(start, a) and le(b, stop)][-1]

    def delta(self, e):
        """δ(ε)."""
        return at(self.find(e, e), e)[0]

    def cell(self, a, b, c):
        """Whether q ≤ δ_M on a cell."""
        value, p, M = self.delta(a), self.cut, self.mu[1]
        if not 0 < M < INF or le(value, p):
            return 0 < M < INF
        if c is None:
            return le((value - p) / (1 - p), gauss(M, b)[0])
        x = self.find(a, b)
        if not a <= c <= b:
            return False
        A, B, C, GA, GB, GC = *(at(x, e) for e in (a, b, c)), *(gauss(M, e) for e in (a, b, c))
        if C[0] > (1 + p) / 2:  # F = log(1 - q) - log(1 - δ_M)
            t, u, v = (y[0] / (1 - y[0]) for y in (A, B, C))
            bend = low(t * (A[2] - t * A[1] ** 2), u * (B[2] - u * B[1] ** 2))
            if x[0] == "normal":
                N = [gauss(self.normal, e) for e in (a, b)]
                g_a, g_b = (y[3] / (y[3] + y[4]) for y in N)
                bend = low(g_a * (1 - g_a), g_b * (1 - g_b))
                bend -= 1 / (self.normal * (N[1][3] + N[0][4]))
            elif x[0] != "exponential":  # for that, the curve is concave
                s, h = low(A[2], B[2]) - B[4], -low(-A[1], -B[1])
                bend = low(s * t, s * u) - (h * t) ** 2
            g_a, g_b, g = (y[3] / (y[3] + y[4]) for y in (GA, GB, GC))
            near = g_a if g_a < HALF else g_b if g_b > HALF else arb(HALF)  # greatest g - g²
            curve = 1 / (M * (GA[3] + GB[4])) - near * (1 - near)
            F, slope = ((1 - C[0]) / (1 - p) / GC[5]).log(), C[1] * v - g
        else:  # F = log δ_M - log q
            if not B[0] > p:
                raise ArithmeticError
            t, u, v = (y[0] / (y[0] - p) for y in (A, B, C))
            s, h = low(A[3], B[3]) - B[4], low(A[1], B[1])
            bend, curve = low(s * t, s * u) + h * h * t * (t - 1), GA[2] - GB[1] - GB[1] ** 2
            F, slope = (GC[0] * (1 - p) / (C[0] - p)).log(), C[1] * v - GC[1]
        K, left, right = low(bend + curve) / 2, a - c, b - c
        least = [F + slope * s + K * s * s for s in (left, right)]
        if K > 0 and not (-slope <= 2 * K * left or -slope >= 2 * K * right):
            least.append(F - slope * slope / (4 * K))
        if not all(y >= 0 for y in least) and ctx.prec < 1024:
            raise ArithmeticError  # K may be poor for want of precision
        return all(le(0, y) for y in least)

    def end(self, E):
        """Whether the last cell may end at E."""
        if self.eps_h <= E or le(self.delta(E), self.cut):
            return True
        T, M, k, r = self.T, self.mu[1], self.kappa, self.pairs[-1][1] if self.pairs else ZERO
        if not k or self.statement != "whole" or T is None or r > T or T > E or 2 * k * M * M < 1:
            return False
        y = T / M + M / 2
        left = (arb(M / (y * y + 3) / self.second) / (2 * arb.pi()).sqrt()).log()
        return y * M >= 4 and le(0, left + T / 2 - M * M / 8 - (T / M) ** 2 / 2 + k * T * T)

    def below(self, w, m):
        """Whether the statement fails below m, by the witness."""
        if w is None or w == "tail" or m == 0:
            tail = w and self.kappa and self.statement == "whole" and 2 * self.kappa * m * m <= 1
            return m == 0 or tail
        q = (self.delta(w) - self.cut) / (1 - self.cut)
        return w <= self.eps_h and le(gauss(m, w)[0], q)

    def lines(self):
        """The name of each line with a function that tells whether it holds."""
        kind, (low, high), cells, M = self.kind, self.mu, self.cells, self.normal
        endless = kind == "icea" or (kind == "approx-dp" and self.second > 0)
        k, normal = self.kappa, kind in ("gaussian", "gdp")
        tail = INF if endless else M * M if normal else 1 / (2 * k) if k else ZERO
        yield "1, verdict", lambda: self.verdict == ("not-gdp" if endless else "gdp")
        bounded = [x < INF for x in self.tail] == [not endless] * 2
        yield "1, mu_tail", lambda: bounded and self.tail[0] ** 2 <= tail <= self.tail[1] ** 2
        yield "breakpoints", self.pieces
        if self.statement == "head":
            yield "2, failure_probability", lambda: le(self.delta(self.eps_h), self.p)
        if normal and self.statement != "approximate":
            yield "4, mu", lambda: not cells and low <= M <= high
            return
        ends = [ZERO, *(b for _, b, _ in cells)]
        yield "3", lambda: all(a == e and a < b for (a, b, _), e in zip(cells, ends, strict=False))
        for i, c in enumerate(cells):
            yield f"4, cell {i}", lambda c=c: self.cell(*c)
        yield "5", lambda: not cells if high == INF else self.end(ends[-1])
        floor = self.second if kind == "approx-dp" and self.statement == "approximate" else ZERO
        hopeless = self.cut < floor and self.w is None and high == INF
        yield "6", lambda: hopeless if low == INF else self.below(self.w, low)


def check(document):
    """The answer for a document: valid, refused, malformed or undecided."""
    saved = ctx.prec
    try:
        for name, holds in Checker(document).lines():
            for ctx.prec in (128, 256, 512, 1024, 2048, 4096):
                try:
                    if not holds():
                        return f"refused: line {name} does not hold"
                    break
                except ArithmeticError:  # the precision is too low to tell
                    continue
            else:
                return f"undecided: line {name}"
    except IndexError:
        return f"refused: line {name}: no one formula there"
    except (ValueError, TypeError, KeyError) as error:
        return f"malformed: {error}"
    finally:
        ctx.prec = saved
    return "valid"


if __name__ == "__main__":
    try:
        answer = check(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    except (ValueError, RecursionError, OSError) as error:
        answer = f"malformed: {error}"
    print(answer)
    sys.exit(STATUS[answer.split(":")[0]])
