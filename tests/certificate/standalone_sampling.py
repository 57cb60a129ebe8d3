"""DP-SGD for replaced records, in Arb arithmetic, written from docs/check-a-mu.md alone."""

from itertools import pairwise

from flint import acb, arb, fmpq
from standalone_checker import HALF, ZERO, le
from standalone_parts import Sampled, normal


class Replaced(Sampled):
    """The Gaussian mechanism on a Poisson sample, in which a record is replaced."""

    symmetric = True

    def power(self, v, w):
        """C(v)."""
        return (arb(v) / (2 * self.sigma)).cos() ** arb(min(w, ZERO) + min(1 - w, ZERO))

    def outside(self, w, x, y):
        """∫ φ(u) g(u)^w g(-u)^{1-w} below x and above y."""
        if y < max(w / self.sigma, ZERO) or x > min((w - 1) / self.sigma, ZERO):
            raise ValueError("the nodes end too soon")
        found = arb(0)
        for v, z in ((w, arb(y)), (1 - w, arb(-x))):
            other = self.g(-z) if v <= 1 else arb(1 - self.rate)
            found += self.right(v, z) * other ** arb(1 - v)
        return found

    def logs(self, u):
        base = self.g(-u).log()
        return base, self.g(u).log() - base

    def at(self, w):
        """F(w) by nodes of its own."""
        sigma = float(self.sigma)
        b = fmpq(int(min(sigma / 4, 0.5) * 2**20), 2**20)
        last = 14 + sigma + max(float(w), 0) / sigma
        first = -14 - sigma - max(float(1 - w), 0) / sigma
        n = {"strip": b, "shift": b, "step": b / 10}
        n |= {"first": int(first / float(b / 10)) - 1, "last": int(last / float(b / 10)) + 1}
        return self.on(w, ZERO, 1, n)[0].real


class FixedSize:
    """The Gaussian mechanism on a sample of fixed size, in which a record is replaced."""

    symmetric, failure, largest, needs_nodes = True, ZERO, None, True

    def __init__(self, sigma, rate):
        self.m, self.rate, self.variance = 2 / sigma, rate, 4 / sigma**2

    def atom(self):
        half = self.m / 2
        return (1 - self.rate) * (normal(-half) - normal(half))

    def log(self, z):
        """The logarithm of g at z = m·x, which is 0 at 0 and goes on from there."""
        q = arb(self.rate)
        if z.real.mid() > ((1 - q) / q).log().mid():
            return z + (q + (1 - q) * (-z).exp()).log()
        return (1 - q + q * z.exp()).log()

    def weight(self, x, angle):
        """W(x)."""
        m, beta = arb(self.m), arb(angle)
        power = m * m / 4 + m * x * beta.cos() + x * x * (2 * beta).cos()
        return (-power / 2).exp() / (2 * arb.pi()).sqrt()

    def growth(self, x, w):
        """G(x)."""
        return (1 + self.rate * (self.m * x).expm1()) ** arb(max(w, ZERO))

    def fall(self, x, w, angle):
        """f(x)."""
        m, beta = arb(self.m), arb(angle)
        return x * (2 * beta).cos() - m * max(w, ZERO) + m * beta.cos() / 2

    def beyond_last(self, x, w, angle):
        """∫ W·G above x."""
        fall = self.fall(x, w, angle)
        if le(fall, 0):
            raise ValueError("the nodes end too soon")
        return self.weight(x, angle) * self.growth(x, w) / fall

    def area(self, w, angle, power):
        """∫ W·g^power, which is at most W·G, over x > 0."""
        end, rate = arb(int(16 + 2 * max(float(w), 0) * float(self.m))), self.rate

        def integrand(x, analytic):
            inner = 1 + rate * ((self.m * x).exp() - 1)
            grown = (inner.log(analytic=analytic) * arb(power)).exp() if power else acb(1)
            return self.weight(x, angle) * grown

        found = acb.integral(integrand, 0, end, rel_tol=arb(2) ** -80).real
        return found + arb(0, self.beyond_last(end, w, angle).upper())

    def possible(self, n):
        theta = n["shift"]
        tangent, q = arb(2 * theta).tan(), arb(self.rate)
        right = [theta == n["strip"], theta > 0, arb(2 * theta) < 1, n["step"] > 0]
        right += [tangent <= HALF, tangent <= 9 * arb.pi() / 20 / ((2 - q) / q).log()]
        if not all(right) or n["first"] > n["last"]:
            raise ValueError("the nodes are not possible")

    def places(self, n):
        return [(n["step"] * arb(j)).exp() for j in range(n["first"], n["last"] + 1)]

    def off(self, w, n, places):
        """How far off a K is."""
        x, y, beta, eta = places[0], places[-1], 2 * n["shift"], n["step"]
        if not self.fall(y, w, beta) * y > 1:
            raise ValueError("the nodes end too soon")
        inner = 2 * self.area(w, beta, max(w, ZERO)) / (2 * arb.pi() * n["shift"] / eta).expm1()
        first = self.weight(arb(0), beta) * x * self.growth(x, w) * eta / -arb(-eta).expm1()
        return (inner + first + self.beyond_last(y, w, beta)).upper()

    def on(self, w, h, count, n):
        self.possible(n)
        places, turn = self.places(n), acb(0, arb(n["shift"])).exp()
        sides = (w, 1 - w)
        terms, turns, found = ([], []), [], []
        for place in places:
            x = place * turn
            log, u = self.log(x * self.m), x + self.m / 2
            size = (-u * u / 2).exp() * x * n["step"] / (2 * arb.pi()).sqrt()
            for row, side in zip(terms, sides, strict=True):
                row.append(size * (log * arb(side)).exp())
            turns.append((log * acb(0, h)).exp())
        for _ in range(count):
            # 1 - w - ikh is the conjugate of 1 - w + ikh, and K of it that of K
            found.append(self.atom() + sum(terms[0], acb(0)) + sum(terms[1], acb(0)).conjugate())
            terms = [[x * step for x, step in zip(row, turns, strict=True)] for row in terms]
        off = sum(self.off(side, n, places) for side in sides)
        return [value + acb(arb(0, off), arb(0, off)) for value in found]

    def at(self, w):
        return self.atom() + sum(self.area(side, ZERO, side) for side in (w, 1 - w))

    def beyond(self, w, y, n):
        self.possible(n)
        theta, places, m = n["shift"], [arb(0), *self.places(n)], arb(self.m)
        turn, total, lows = acb(0, arb(theta)).exp(), self.atom(), []
        for x, end in pairwise(places):
            if m * end * turn.imag + theta <= arb.pi():
                lows.append(self.log(x * turn * m).imag)
            else:
                lows.append(m * x * turn.imag - arb.pi() / 6)
        for side in (w, 1 - w):
            for x, end, low in zip(places, places[1:], lows, strict=False):
                size = (end - x) * self.weight(x, theta) * self.growth(end, side)
                total += size * (-low * y).exp()
            total += self.beyond_last(places[-1], side, theta)
        return total
