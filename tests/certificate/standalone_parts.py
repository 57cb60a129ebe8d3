"""The parts of composed losses, in Arb arithmetic, written from docs/check-a-mu.md alone."""

from fractions import Fraction

from flint import acb, arb, fmpq
from standalone_checker import HALF, ZERO, le


def signed(text):
    """The exact value of a binary number of either sign."""
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text)
    mantissa, exponent = digits[2:].split("p")
    value = sign * int(mantissa, 16) * Fraction(2) ** int(exponent)
    return fmpq(value.numerator, value.denominator)


def decimal(text):
    """The exact value of a decimal number, or of a quotient."""
    value = Fraction(text)
    return fmpq(value.numerator, value.denominator)


class Gaussian:
    """A part with a Gaussian curve."""

    symmetric, failure, largest, needs_nodes = True, ZERO, None, False

    def __init__(self, square):
        self.variance = square

    def on(self, w, h, count, nodes):
        return [((s * s - s) * self.variance / 2).exp() for s in points(w, h, count)]

    def at(self, w):
        return (arb(w * w - w) * self.variance / 2).exp()

    def beyond(self, w, y, nodes):
        return (arb(w * w - w - y * y) * self.variance / 2).exp()


class Laplace:
    """Laplace noise."""

    symmetric, failure, variance, needs_nodes = True, ZERO, ZERO, False

    def __init__(self, loss):
        self.loss, self.largest = loss, arb(loss)

    def value(self, s):
        r, half = arb(self.loss), acb(HALF) - s
        whole = (((s - 1) * r).exp() + (-s * r).exp()) / 2
        inner = acb(r / 2) if half == 0 else (half * r).sinh() / (2 * half)
        return whole + (-r / 2).exp() * inner

    def on(self, w, h, count, nodes):
        return [self.value(s) for s in points(w, h, count)]

    def at(self, w):
        return self.value(acb(w)).real

    def beyond(self, w, y, nodes):
        r = arb(self.loss)
        return ((r * (w - 1)).exp() + (-r * w).exp()) / 2 * (1 + 1 / (2 * arb(y)))


class TwoValued:
    """(ε, δ)-DP's worst pair."""

    symmetric, variance, needs_nodes = True, ZERO, False

    def __init__(self, epsilon, failure=ZERO):
        self.epsilon, self.failure, self.largest = epsilon, failure, arb(epsilon)

    def on(self, w, h, count, nodes):
        e, kept = arb(self.epsilon), arb(1 - self.failure)
        found = []
        for s in points(w, h, count):
            terms = [kept / (1 + (-i * e).exp()) * ((s - 1) * (e * i)).exp() for i in (1, -1)]
            found.append(terms[0] + terms[1])
        return found

    def at(self, w):
        return self.on(w, ZERO, 1, None)[0].real

    def beyond(self, w, y, nodes):
        return self.at(w)


class Sampled:
    """The Gaussian mechanism on a Poisson sample."""

    symmetric, failure, largest, needs_nodes = False, ZERO, None, True

    def __init__(self, sigma, rate):
        self.sigma, self.rate, self.variance = sigma, rate, 1 / sigma**2

    def g(self, u):
        s = self.sigma
        return 1 - self.rate + self.rate * (u / s - 1 / (2 * s * s)).exp()

    def power(self, v, w):
        """C(v)."""
        low = min(w, ZERO)
        found = (arb(v) / (2 * self.sigma)).cos() ** arb(low)
        if le(arb(2 * v), arb.pi() * self.sigma):
            found = found.min(arb(1 - self.rate) ** arb(low))
        return found

    def right(self, w, y):
        """∫ φ g^w above y."""
        if w < 0:
            return normal(y) * (self.g(y) ** arb(w)).max(arb(1))
        t = y / self.sigma - 1 / (2 * arb(self.sigma) ** 2)
        shifted = (arb(w * (w - 1)) / (2 * self.sigma**2)).exp()
        return normal(y - arb(w) / self.sigma) * (self.g(y) * (-t).exp()) ** arb(w) * shifted

    def outside(self, w, x, y):
        """∫ φ g^w below x and above y."""
        if x > 0 or y < max(w / self.sigma, ZERO):
            raise ValueError("the nodes end too soon")
        first = arb(1 - self.rate) if w < 0 else self.g(arb(x))
        return normal(-arb(x)) * first ** arb(w) + self.right(w, arb(y))

    def ends(self, w, n):
        """What is left out beyond both ends."""
        b, most = arb(n["shift"]), self.outside(w, n["first"] * n["step"], n["last"] * n["step"])
        return (b * b / 2).exp() * self.power(n["shift"], w) * most

    def logs(self, u):
        """b and L, where the integrand is φ·e^{b + wL}."""
        return 0, self.g(u).log()

    def on(self, w, h, count, n):
        a, b, eta = n["strip"], n["shift"], n["step"]
        if not (0 < a <= b and arb(a + b) < arb.pi() * self.sigma and eta > 0):
            raise ValueError("the strip is not possible")

        turned, steps = [], []
        for j in range(n["first"], n["last"] + 1):
            u = acb(arb(j * eta), arb(b))
            base, log = self.logs(u)
            turned.append((base + log * arb(w) - u * u / 2).exp() * eta / (2 * arb.pi()).sqrt())
            steps.append((log * acb(0, h)).exp())
        values = []
        for _ in range(count):
            values.append(sum(turned, acb(0)))
            turned = [one * step for one, step in zip(turned, steps, strict=True)]
        v = arb(a + b)
        share = 2 * (v * v / 2).exp() * self.power(a + b, w) / (2 * arb.pi() * a / eta).expm1()
        ends = self.ends(w, n)
        # F(w) ≤ (|its sum| + ends)/(1 - share), as its own error is share·F(w)
        if not share < 1:
            raise ArithmeticError
        top = (abs(values[0]) + ends) / (1 - share)
        off = (share * top + ends).upper()
        return [value + acb(arb(0, off), arb(0, off)) for value in values]

    def at(self, w):
        """F(w) by nodes of its own, on the real line shifted by little."""
        s = self.sigma
        b = fmpq(int(min(float(s) * 1.4, 2.0 if w >= 0 else min(0.5, float(s))) * 2**20), 2**21)
        low, high = -14 - abs(float(s)), 14 + max(float(w) / float(s), 0) + float(s)
        step = fmpq(1, 2 ** (4 + max(0, int(-float(s) + 1)) + (3 if w < 0 else 0)))
        step = min(step, b / 6)
        n = {"strip": b, "shift": b, "step": step}
        n |= {"first": int(low / float(step)), "last": int(high / float(step)) + 1}
        return self.on(w, ZERO, 1, n)[0].real

    def strip_of(self, n):
        a, b, eta = n["strip"], n["shift"], n["step"]
        height = arb(a + b) if a <= b else 2 * arb(a + b)
        if not (a > 0 and b > 0 and height < arb.pi() * self.sigma and eta > 0):
            raise ValueError("the strip is not possible")
        return a, b, eta

    def beyond(self, w, y, n):
        a, b, eta = self.strip_of(n)
        total = arb(0)
        for j in range(n["first"], n["last"] + 1):
            x = arb(j * eta)
            base, log = self.logs(acb(x, arb(b)))
            total += ((base + log * arb(w)).real - x * x / 2 - log.imag * y).exp()
        total *= eta / (2 * arb.pi()).sqrt()
        share = 2 * (arb(a) ** 2 / 2).exp() * self.power(a + b, w)
        share *= self.at(w) / (2 * arb.pi() * a / eta).expm1()
        return (arb(b) ** 2 / 2).exp() * (total + share) + self.ends(w, n)


def normal(x):
    """Φ(-x)."""
    return (arb(x) / arb(2).sqrt()).erfc() / 2


class Window(Sampled):
    """The same of noise below a step, and perhaps above another: ∫ φ χ₁ (1 - χ₂) g^w."""

    def __init__(self, whole, low, high):
        super().__init__(whole.sigma, whole.rate)
        self.low, self.high = low, high
        self.growth = 1 + sum((1 / t**2 for _, t in filter(None, (low, high))), ZERO)

    def share(self, x):
        u, t = self.high
        kept = normal(arb(x - u) / t)
        return kept if self.low is None else kept * normal(arb(self.low[0] - x) / self.low[1])

    def lifted(self, v):
        return (arb(v) ** 2 * self.growth / 2).exp()

    def ends(self, w, n):
        x, y = n["first"] * n["step"], n["last"] * n["step"]
        u, t = self.high
        pull = w / self.sigma
        first = ZERO if self.low is None else min(self.low[0], self.low[0] / (1 + self.low[1] ** 2))
        if x > first or y < max(u, (pull * t * t + u) / (1 + t * t)):
            raise ValueError("the nodes end too soon")
        below = normal(-x) if self.low is None else step_tail(-self.low[0], self.low[1], ZERO, -x)
        above = (self.g(arb(y)) * (-arb(y) / self.sigma).exp()) ** arb(w)
        return self.g(arb(x)) ** arb(w) * below + above * step_tail(u, t, pull, y)

    def on(self, w, h, count, n):
        a, eta = n["strip"], n["step"]
        if not (n["shift"] == 0 and a > 0 and arb(a) < arb.pi() * self.sigma and eta > 0):
            raise ValueError("the strip is not possible")
        unit = arb(eta) / (2 * arb.pi()).sqrt()
        terms, logs = [], []
        for j in range(n["first"], n["last"] + 1):
            x = arb(j * eta)
            logs.append(self.g(x).log())
            terms.append((logs[-1] * w - x * x / 2).exp() * self.share(j * eta) * unit)
        turns, values = [acb(0, log * arb(h)).exp() for log in logs], []
        terms = list(map(acb, terms))
        for _ in range(count):
            values.append(sum(terms, acb(0)))
            terms = [one * turn for one, turn in zip(terms, turns, strict=True)]
        turned = 1 + (arb(h * (count - 1) * a) / self.sigma).exp()
        share = turned * self.lifted(a) / (2 * arb.pi() * a / eta).expm1()
        if not share < 1:
            raise ArithmeticError
        ends = self.ends(w, n)
        off = (share * (abs(values[0]) + ends) / (1 - share) + ends).upper()
        return [value + acb(arb(0, off), arb(0, off)) for value in values]

    def at(self, w):
        t = float(min(self.high[1], self.high[1] if self.low is None else self.low[1], 1))
        a = fmpq(int(min(float(self.sigma), t) * 2**20), 2**20)
        step = a / 4
        u, width = map(float, self.high)
        top = max(u, (float(w / self.sigma) * width**2 + u) / (1 + width**2), 0)
        first = -14.0
        if self.low is not None:
            u, width = map(float, self.low)
            first = min(u, u / (1 + width**2)) - 14 * min(width, 1)
        n = {"strip": a, "shift": ZERO, "step": step, "first": int(first / float(step)) - 1}
        return self.on(w, ZERO, 1, n | {"last": int((top + 14) / float(step)) + 1})[0].real

    def beyond(self, w, y, n):
        a, b, eta = self.strip_of(n)
        total = arb(0)
        for j in range(n["first"], n["last"] + 1):
            x = arb(j * eta)
            log = self.g(acb(x, arb(b))).log()
            total += (log.real * w - log.imag * y - x * x / 2).exp() * self.share(j * eta)
        total *= arb(eta) / (2 * arb.pi()).sqrt()
        off = 2 * self.lifted(a) * self.at(w) / (2 * arb.pi() * a / eta).expm1()
        return self.lifted(b) * (total + off + self.ends(w, n))


def step_tail(u, t, pull, x):
    """∫ φ e^{pull·v} e^{-(v - u)²/2t²}/2 dv above x."""
    bend, m = 1 + 1 / (t * t), (pull * t * t + u) / (1 + t * t)
    top = (arb(m * m * bend - u * u / (t * t)) / 2).exp()
    return top / (2 * arb(bend).sqrt()) * normal((arb(x) - m) * arb(bend).sqrt())


def points(w, h, count):
    """The places w + ikh."""
    return [acb(arb(w), arb(h * k)) for k in range(count)]


def kappa(b):
    """κ(b)."""
    b = arb(b)
    return arb(1) if b == 0 else (b * b.log() - (1 + b) * (1 + b).log()).exp()
