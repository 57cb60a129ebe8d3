"""A second checker of composed losses, in Arb arithmetic, written from docs/check-a-mu.md alone.

It knows dpsgd on Poisson samples for add-remove neighbours, and gaussian, gdp, laplace, pure-dp and
approx-dp, alone or in sequences, with a head or an approximate statement.
"""

import json
from fractions import Fraction

from flint import acb, arb, fmpq
from jsonschema import Draft202012Validator
from standalone_checker import HALF, INF, SCHEMA, WRONG, ZERO, Checker, decided, gauss, le, numbers

NATURES = "own", "class", "bound"


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

    def ends(self, w, n):
        """What is left out beyond both ends."""
        s, root = self.sigma, arb(2).sqrt()
        x, y = arb(n["first"] * n["step"]), arb(n["last"] * n["step"])

        def phi(z):
            return (-z / root).erfc() / 2

        if n["first"] > 0 or n["last"] * n["step"] < max(w / s, ZERO):
            raise ValueError("the nodes end too soon")
        if w < 0:
            most = phi(x) * arb(1 - self.rate) ** arb(w)
            most += phi(-y) * (self.g(y) ** arb(w)).max(arb(1))
        else:
            t = y / s - 1 / (2 * arb(s) ** 2)
            most = phi(x) * self.g(x) ** arb(w)
            shifted = (arb(w * (w - 1)) / (2 * s * s)).exp()
            most += phi(arb(w) / s - y) * (self.g(y) * (-t).exp()) ** arb(w) * shifted
        b = arb(n["shift"])
        return (b * b / 2).exp() * self.power(n["shift"], w) * most

    def sums(self, w, n, weights):
        """Σ η φ(u) weight(log g(u), u) over the nodes on Im u = b."""
        eta, b = n["step"], n["shift"]
        unit = eta / (2 * arb.pi()).sqrt()
        logs, sizes = [], []
        for j in range(n["first"], n["last"] + 1):
            u = acb(arb(j * eta), arb(b))
            logs.append(self.g(u).log())
            sizes.append((-u * u / 2).exp() * unit)
        return weights(logs, sizes)

    def on(self, w, h, count, n):
        a, b, eta = n["strip"], n["shift"], n["step"]
        if not (0 < a <= b and arb(a + b) < arb.pi() * self.sigma and eta > 0):
            raise ValueError("the strip is not possible")

        def weights(logs, sizes):
            turned = [size * (log * arb(w)).exp() for log, size in zip(logs, sizes, strict=True)]
            steps = [(log * acb(0, h)).exp() for log in logs]
            found = []
            for _ in range(count):
                found.append(sum(turned, acb(0)))
                turned = [one * step for one, step in zip(turned, steps, strict=True)]
            return found

        values = self.sums(w, n, weights)
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

    def beyond(self, w, y, n):
        a, b, eta = n["strip"], n["shift"], n["step"]
        height = arb(a + b) if a <= b else 2 * arb(a + b)
        if not (a > 0 and b > 0 and height < arb.pi() * self.sigma and eta > 0):
            raise ValueError("the strip is not possible")
        total = arb(0)
        for j in range(n["first"], n["last"] + 1):
            x = arb(j * eta)
            log = self.g(acb(x, arb(b))).log()
            total += (-x * x / 2 + log.real * arb(w) - log.imag * y).exp()
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
        a, b, eta = n["strip"], n["shift"], n["step"]
        height = arb(a + b) if a <= b else 2 * arb(a + b)
        if not (a > 0 and b > 0 and height < arb.pi() * self.sigma and eta > 0):
            raise ValueError("the strip is not possible")
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


def parts_of(spec, times=1):
    """Parts with their counts, and their natures."""
    kind = spec["kind"]

    def inner(prefix):
        return {k.removeprefix(prefix): v for k, v in spec.items() if k.startswith(prefix)}

    if kind == "composed":
        return parts_of(inner("base."), times * int(spec["times"]))
    if kind == "sequence":
        count = len({k.split(".")[1] for k in spec if k.startswith("parts.")})
        found = [inner(f"parts.{number}.") for number in range(count)]
        return [x for one in found for x in parts_of(one, times * int(one.get("count", "1")))]
    x = {k: decimal(v) for k, v in spec.items() if k not in ("kind", "neighbours", "count")}
    if any(value <= 0 for name, value in x.items() if name not in ("epsilon", "delta", "mu")):
        raise ValueError("a parameter is not possible")
    if kind == "dpsgd":
        if spec["neighbours"] != "add-remove" or not x["sample_rate"] < 1:
            raise ValueError("it is not known here")
        part = Sampled(x["noise_multiplier"], x["sample_rate"])
        return [(part, times * int(x["steps"]), "own")]
    if kind in ("gaussian", "gdp"):
        mu = x["mu"] if kind == "gdp" else x["sensitivity"] / x["sigma"]
        return [(Gaussian(mu * mu), times, "class" if kind == "gdp" else "own")]
    if kind == "laplace":
        return [(Laplace(x["sensitivity"] / x["scale"]), times, "own")]
    if kind in ("pure-dp", "approx-dp"):
        return [(TwoValued(x["epsilon"], x.get("delta", ZERO)), times, "class")]
    raise ValueError("it is not known here")


class Line:
    """A line in one direction."""

    def __init__(self, parts, backward, data):
        self.parts, self.backward = parts, backward
        self.c, self.h, self.right, self.left = (
            signed(data[k]) for k in ("c", "h", "right", "left")
        )
        self.count, below = data["count"], self.c < 0
        possible = [self.h > 0, self.c > 0 or -1 < self.c < 0, self.left < self.c < self.right]
        possible += [self.left >= (-1 if below else 0), not below or self.right <= 0]
        self.nodes, self.far = (
            [
                one and {k: signed(v) if isinstance(v, str) else v for k, v in one.items()}
                for one in data[key]
            ]
            for key in ("nodes", "far")
        )
        for given, needed in zip((self.nodes, self.far), self.needed(), strict=True):
            possible.append([one is not None for one in given] == needed)
        if not all(possible):
            raise ValueError("the line is not possible")
        self.known = {}

    def needed(self):
        return [[part.needs_nodes for part, _ in self.parts]] * 2

    def numbers(self, bits):
        """The terms, the bound of what is cut off, and the aliases' constants."""
        if bits not in self.known:
            self.known[bits] = (
                self.terms(),
                self.cut(),
                [self.alias(b) for b in (self.left, self.right)],
            )
        return self.known[bits]

    def place(self, s):
        return -s if self.backward else 1 + s

    def terms(self):
        found = [acb(arb(self.h) / (2 * arb.pi()) * (-1 if self.c < 0 else 1))] * (self.count + 1)
        found = [x * (2 if k else 1) for k, x in enumerate(found)]
        for (part, times), nodes in zip(self.parts, self.nodes, strict=True):
            values = part.on(self.place(self.c), self.h, self.count + 1, nodes)
            for k, given in enumerate(values):
                value = given.conjugate() if self.backward else given
                found[k] *= (value.log() * times).exp() if not value.contains(0) else value**times
        for k, s in enumerate(points(self.c, self.h, self.count + 1)):
            found[k] /= s * (s + 1)
        return found

    def cut(self):
        edge, total = self.h * self.count, arb(1)
        for (part, times), far in zip(self.parts, self.far, strict=True):
            w = self.place(self.c)
            total *= part.at(w).min(part.beyond(w, edge, far)) ** times
        return total / (arb.pi() * edge)

    def moment(self, b):
        total = arb(1)
        for part, times in self.parts:
            total *= part.at(self.place(b)) ** times
        return total

    def alias(self, b):
        factor = kappa(b) if self.c > 0 else 1
        return factor * self.moment(b) / (2 * arb.pi() * abs(b - self.c) / self.h).expm1()

    def curves(self, e, bits):
        """What is below and above D, or 1 - δ."""
        terms, cut, aliases = self.numbers(bits)
        turn = acb(0, -arb(self.h) * e).exp()
        wave = sum((a * turn**k for k, a in enumerate(terms)), acb(0)).real
        scale = (-arb(self.c) * e).exp()
        lost = sum(
            (
                x * (-arb(b) * e).exp()
                for b, x in zip((self.left, self.right), aliases, strict=True)
            ),
            arb(0),
        )
        return scale * (wave - cut) - lost, scale * (wave + cut)


class RareLine(Line):
    """A line of rare noise, and what usual and large noise add."""

    def __init__(self, parts, backward, data):
        (self.run, self.times), *others = parts
        self.low, self.high = (
            tuple(signed(data["split"][key][x]) for x in ("place", "width"))
            for key in ("low", "high")
        )
        self.b = signed(data["split"]["tilt"])
        windows = [(Window(self.run, low, self.high), 1) for low in (None, self.low)]
        super().__init__(windows, backward, data)
        possible = [not others, type(self.run) is Sampled, not backward, self.c > 0, self.b > 0]
        if not all([*possible, self.low[1] > 0, self.high[1] > 0]):
            raise ValueError("noise cannot be split")

    def needed(self):
        return [True, True], [False, True]

    def terms(self):
        whole, rare = (
            part.on(1 + self.c, self.h, self.count + 1, nodes)
            for (part, _), nodes in zip(self.parts, self.nodes, strict=True)
        )
        unit, found = arb(self.h) / (2 * arb.pi()), []
        for k, s in enumerate(points(self.c, self.h, self.count + 1)):
            kept = (1 - rare[k] / whole[k]) ** self.times
            value = whole[k] ** self.times * (1 - kept)
            found.append(value * unit * (2 if k else 1) / (s * (s + 1)))
        return found

    def cut(self):
        edge, ((whole, _), (rare, _)) = self.h * self.count, self.parts
        most = self.times * rare.beyond(1 + self.c, edge, self.far[1])
        return most * whole.at(1 + self.c) ** (self.times - 1) / (arb.pi() * edge)

    def moment(self, b):
        whole, rare = (part.at(1 + b) for part, _ in self.parts)
        return (self.times * rare).min(whole) * whole ** (self.times - 1)

    def curves(self, e, bits):
        low, high = super().curves(e, bits)
        usual = kappa(self.b) * Window(self.run, None, self.low).at(1 + self.b) ** self.times
        (u, t), q = self.high, self.run.rate
        root = (1 + arb(t) ** 2).sqrt()
        chance = (1 - q) * normal(u / root) + q * normal((u - 1 / self.run.sigma) / root)
        return low, high + usual * (-arb(self.b) * e).exp() + 1 - (1 - chance) ** self.times


def kappa(b):
    """κ(b)."""
    b = arb(b)
    return arb(1) if b == 0 else (b * b.log() - (1 + b) * (1 + b).log()).exp()


class Composed(Checker):
    """One document about composed losses."""

    def __init__(self, document):
        Draft202012Validator(json.loads(SCHEMA.read_bytes())).validate(document)
        claim, evidence = document["claim"], document["evidence"]
        self.verdict, self.statement = claim["verdict"], claim["statement"]
        self.said, self.mechanism = claim.get("profile_is"), document["mechanism"]
        self.mu, self.tail = (numbers(claim[key], "low high") for key in ("mu", "mu_tail"))
        self.p, eps_h = numbers(claim, "failure_probability eps_h")
        self.eps_h = INF if eps_h is None else eps_h
        self.cut = self.p if self.statement == "approximate" else ZERO
        self.w, self.t = numbers(evidence, "witness tail_from")
        self.pairs, found = [], parts_of(self.mechanism)
        self.parts = [(part, times) for part, times, _ in found]
        self.nature = max((nature for _, _, nature in found), key=NATURES.index)
        self.variance = sum((times * part.variance for part, times in self.parts), ZERO)
        self.symmetric = all(part.symmetric for part, _ in self.parts)
        self.directions, self.lines_known = evidence["directions"], {}
        self.witness_line, self.number = evidence.get("witness_line"), 0
        near = {v for k, v in self.mechanism.items() if k.split(".")[-1] == "neighbours"}
        right = {"head": self.eps_h < INF, "approximate": self.p < 1 and self.eps_h == INF}
        possible = [
            right.get(self.statement),
            self.t is None,
            not evidence["cells"],
            not evidence["breakpoints"],
        ]
        possible += [
            len(near - {None}) <= 1,
            len(self.directions) == 2 - self.symmetric,
            self.mu[1] < INF,
        ]
        if not all(possible):
            raise ValueError("the claim or the mechanism is not possible")

    def failure(self):
        """p_∞."""
        kept = arb(1)
        for part, times in self.parts:
            kept *= arb(1 - part.failure) ** times
        return 1 - kept

    def line(self, data, backward):
        key = json.dumps(data, sort_keys=True), backward
        if key not in self.lines_known:
            kind = RareLine if data.get("split") else Line
            self.lines_known[key] = kind(self.parts, backward, data)
        return self.lines_known[key]

    def bound(self, piece, e):
        """δ and 1 - δ of what a piece shows at ε."""
        if ("line" in piece) == ("tilt" in piece):
            raise ValueError("a piece has a line or a tilt")
        if "line" in piece:
            line = self.line(piece["line"], self.number == 1)
            low, high = line.curves(arb(e), self.bits)
            if line.c < 0:
                return 1 - low, low
            return self.failure() + high, 1 - self.failure() - high
        b = signed(piece["tilt"])
        if b < 0:
            raise ValueError("a tilt is not below 0")
        if b == 0:
            kept = arb(1)
            for part, times in self.parts:
                kept *= arb(1 - part.rate if part.needs_nodes else 0) ** times
            return 1 - kept, kept
        moment = arb(1)
        for part, times in self.parts:
            moment *= part.at(-b if self.number else 1 + b) ** times
        value = self.failure() + kappa(b) * moment * (-arb(b) * e).exp()
        return value, 1 - value

    def shown(self, e):
        """δ and 1 - δ of the curve of the direction in question, at an ε."""
        pieces = self.directions[self.number]["pieces"]
        starts = [signed(piece["start"]) for piece in pieces]
        if starts != sorted(starts) or not starts or starts[0] > e:
            raise ValueError("the pieces are not in order")
        piece = [one for one, start in zip(pieces, starts, strict=True) if start <= e][-1]
        piece = {k: v for k, v in piece.items() if v is not None}
        if "chord" not in piece:
            return self.bound(piece, e)
        end = signed(piece["chord"])
        if e > end:
            raise IndexError
        rest = self.bound(piece, end)[1] * arb(e - end).exp()
        return 1 - rest, rest

    def is_below(self, e, y, rest):
        """Whether δ(ε) ≤ y = 1 - rest, in the direction in question."""
        value, left = self.shown(e)
        return le(rest, left) if y > HALF else le(value, y)

    def turn(self, a, b):
        return None

    def is_cut(self, e):
        return self.is_below(e, arb(self.p), arb(1 - self.p))

    def is_over(self, e):
        return self.statement == "approximate" and self.is_cut(e)

    def is_everywhere(self, holds):
        """Whether something holds in every direction."""
        for number in range(len(self.directions)):
            self.number = number
            if not holds():
                return False
        return True

    def past_losses(self, e):
        """Whether all finite losses are at most ε."""
        if any(part.largest is None for part, _ in self.parts):
            return False
        return le(sum((part.largest * times for part, times in self.parts), arb(0)), e)

    def end(self, e):
        return self.eps_h <= e or self.past_losses(e) or self.is_cut(e)

    def below(self, w, m):
        if m == 0:
            return True
        if w is None or w == "tail" or w > self.eps_h or self.witness_line is None:
            return False
        data = self.witness_line
        line = self.line(data["line"], data["reverse"])
        low, high = line.curves(arb(w), self.bits)
        p, mine = self.failure(), gauss(m, w)
        value, rest = (1 - high, high) if line.c < 0 else (p + low, 1 - p - low)
        y, left = self.allowed(*mine)
        return le(rest, left) if y > HALF else le(y, value)

    def lines(self):
        fails = any(part.failure > 0 for part, _ in self.parts)
        low, high = self.mu
        yield "1", lambda: low <= high and self.verdict == ("not-gdp" if fails else "gdp")
        yield "1, profile_is", lambda: self.said in (None, self.nature)
        a, b = self.tail
        square = INF if fails else self.variance
        yield (
            "1, mu_tail",
            lambda: (
                [x < INF for x in self.tail] == [not fails] * 2
                and (fails or a * a <= square <= b * b)
            ),
        )
        yield (
            "2",
            lambda: (
                self.statement != "head"
                or self.is_everywhere(
                    lambda: (self.past_losses(self.eps_h) and not fails) or self.is_cut(self.eps_h)
                )
            ),
        )
        for number, one in enumerate(self.directions):
            cells = [
                [None if x is None else signed(x) for x in (c["low"], c["high"], c["centre"])]
                for c in one["cells"]
            ]
            ends = [ZERO, *(b for _, b, _ in cells)]

            def here(holds, number=number):
                def answer():
                    self.number = number
                    return holds()

                return answer

            yield (
                f"3, {number}",
                here(
                    lambda cells=cells, ends=ends: all(
                        a == e and a < b for (a, b, _), e in zip(cells, ends, strict=False)
                    )
                ),
            )
            for i, c in enumerate(cells):
                yield f"4, cell {i} of {number}", here(lambda c=c: self.cell(*c))
            yield f"5, {number}", here(lambda ends=ends: self.end(ends[-1]))
        yield "6", lambda: self.below(self.w, low)


def answer_of(checker, precisions):
    """The first line that is not shown at any of some precisions, in words; else valid."""
    for name, holds in checker.lines():
        answer = None
        for bits in precisions:
            checker.bits = bits
            answer = decided(holds, bits)
            if answer is not None:
                break
        if not answer:
            return f"{'undecided' if answer is None else 'refused'}: line {name}"
    return "valid"


def check(document):
    """The answer for a document: valid, refused, malformed or undecided."""
    try:
        if any(map(document.get, ("beyond", "releases", "table"))) or document["claim"].get(
            "answers"
        ):
            raise ValueError("it claims what is not checked here")
        checker = Composed(document)
        return answer_of(checker, (128, 256, 512))
    except WRONG as error:
        return f"malformed: {str(error).splitlines()[0]}"
