"""A second checker of bounded losses on a lattice, in Arb, written from docs/check-a-mu.md alone.

It knows laplace, pure-dp, approx-dp, randomized-response by epsilon, discrete-laplace and table,
on Poisson samples or not, alone or in sequences, with a unit, or with rational losses and none.
"""

import json
from fractions import Fraction
from math import gcd, lcm

from flint import arb, arb_poly, ctx, fmpq
from jsonschema import Draft202012Validator
from standalone_checker import HALF, INF, SCHEMA, WRONG, ZERO, gauss, le, numbers
from standalone_composed import NATURES, Composed, answer_of
from standalone_parts import decimal


class Part:
    """One run: atoms (loss, P, Q) that grow, perhaps Laplace noise between them, and failures."""

    def __init__(self, atoms, failure=ZERO, rate=None, nature="class", both=True):
        self.atoms, self.failure, self.rate, self.nature, self.symmetric = (
            atoms,
            failure,
            rate,
            nature,
            both,
        )

    def largest(self, backward):
        return -self.atoms[0][0] if backward else self.atoms[-1][0]

    def failing(self, backward):
        return ZERO if backward and not self.symmetric else self.failure


def on_sample(base, rate):
    """A run on a Poisson sample: P' = (1 - γ)Q + γP against Q."""
    atoms, g = [], arb(rate)
    if base.failure > 0:
        q = arb(base.failure)
        atoms.append(((1 - g).log(), (1 - g) * q, q))
    for loss, _, q in base.atoms:
        ratio = 1 + g * arb(loss).expm1()
        atoms.append((ratio.log(), ratio * q, q))
    nature = base.nature
    density = base.rate and (base.rate[0], rate)
    return Part(atoms, rate * base.failure, density, nature, both=False)


def part_of(spec):
    """The run that is named."""
    kind = spec["kind"]
    if kind == "subsampled":
        base = {k.removeprefix("base."): v for k, v in spec.items() if k.startswith("base.")}
        rate = decimal(spec["rate"])
        known = base["kind"] in ("laplace", "pure-dp", "approx-dp", "discrete-laplace")
        if spec["scheme"] != "poisson" or not 0 < rate < 1 or not known:
            raise ValueError("it is not known here")
        return on_sample(part_of(base), rate)
    if kind == "table":
        rows = [tuple(map(decimal, row.split(":"))) for row in spec["rows"].split(" ")]
        t, d = [arb(-1), *(arb(e).exp() for e, _ in rows)], [fmpq(1), *(x for _, x in rows)]
        b = [(d[i] - d[i + 1]) / (t[i + 1] - t[i]) for i in range(len(rows))] + [arb(0)]
        q = [b[i] - b[i + 1] for i in range(len(rows))]
        if not all(le(0, x) for x in q):
            raise ValueError("the rows are not corners")
        found = [(-e, m, m * arb(e).exp()) for (e, _), m in zip(rows[::-1], q[::-1], strict=True)]
        found += [(e, m * arb(e).exp(), m) for (e, _), m in zip(rows, q, strict=True)]
        return Part(found, d[-1])
    x = {k: decimal(v) for k, v in spec.items() if k not in ("kind", "neighbours", "count")}
    if any(value <= 0 for name, value in x.items() if name not in ("epsilon", "delta")):
        raise ValueError("a parameter is not possible")
    if kind == "laplace":
        r = x["sensitivity"] / x["scale"]
        far = arb(-r).exp() / 2
        return Part([(-r, far, arb(HALF)), (r, arb(HALF), far)], ZERO, (r, fmpq(1)), "own")
    if kind == "discrete-laplace":
        n, z = int(spec["sensitivity"]), (-1 / arb(x["scale"])).exp()
        m = [z**i * (1 - z) / (1 + z) for i in range(n + 1)]
        m[0], m[n] = 1 / (1 + z), z**n / (1 + z)
        return Part(
            [(fmpq(2 * i - n) / x["scale"], m[n - i], m[i]) for i in range(n + 1)], nature="own"
        )
    eps, fail = x["epsilon"], x.get("delta", ZERO)
    top, k = arb(eps).exp(), int(spec.get("buckets", "2"))
    if kind not in ("pure-dp", "approx-dp", "randomized-response"):
        raise ValueError("it is not known here")
    kept = arb(1 - fail) / (top + k - 1)
    middle = [(ZERO, kept * (k - 2), kept * (k - 2))] if k > 2 else []
    nature = "own" if kind == "randomized-response" else "class"
    return Part([(-eps, kept, kept * top), *middle, (eps, kept * top, kept)], fail, None, nature)


def runs_of(spec, times=1):
    """All runs, and how often each."""

    def inner(prefix):
        return {k.removeprefix(prefix): v for k, v in spec.items() if k.startswith(prefix)}

    if spec["kind"] == "composed":
        return runs_of(inner("base."), times * int(spec["times"]))
    if spec["kind"] == "sequence":
        count = len({k.split(".")[1] for k in spec if k.startswith("parts.")})
        found = [inner(f"parts.{number}.") for number in range(count)]
        return [x for one in found for x in runs_of(one, times * int(one.pop("count", "1")))]
    return [(spec, times)]


def floor(x):
    """⌊x⌋ of a ball; an ArithmeticError next to a whole number."""
    low, high = arb(x).lower().floor(), arb(x).upper().floor()
    if not low == high:
        raise ArithmeticError
    return int(float(low))


def placed(part, u, backward, above):
    """The lowest loss, and P's masses at the multiples of u above it, in one direction."""
    atoms = [(-y, q, p) for y, p, q in part.atoms[::-1]] if backward else part.atoms
    lowest, masses = atoms[0][0], {}

    def add(k, mass):
        masses[k] = masses.get(k, arb(0)) + mass

    def share(k, p, q):
        upper = (p - q * (arb(lowest) + arb(u) * k).exp()) / -arb(-u).expm1()
        add(k, p - upper)
        add(k + 1, upper)

    for number, (y, p, q) in enumerate(atoms):
        over = (y - lowest) / u if number else ZERO
        exact = isinstance(over, fmpq)
        k = int(over.floor()) if exact else floor(over)
        if not above or (exact and over.floor() == over):
            add(k, p)
        else:
            share(k, p, q)
    if part.rate is None:
        return arb(lowest), masses
    (r, g), sign = part.rate, -1 if backward else 1
    scale = arb(-r / 2).exp() / 2

    def place(y):
        return (1 + (sign * y).expm1() / g).log()

    def between(a, b):
        a, b = (b, a) if backward else (a, b)
        q, p = scale * ((-a / 2).exp() - (-b / 2).exp()), scale * ((b / 2).exp() - (a / 2).exp())
        p = (1 - g) * q + g * p
        return (q, p) if backward else (p, q)

    first, last, k = arb(-r * sign), arb(r * sign), 0
    top = (atoms[-1][0] - lowest) / u
    exact = isinstance(top, fmpq)
    count = int(top.ceil()) if exact else floor(top) + 1
    if above:
        for k in range(count):
            end = last if k == count - 1 else place(arb(lowest) + arb(u) * (k + 1))
            share(k, *between(first, end))
            first = end
        return arb(lowest), masses
    while True:
        here = sign * (1 + g * arb(first).expm1()).log()
        k = max(k + 1, int(float(((here - lowest) / u + HALF).mid())) + 1)
        end = last
        if k < count:
            middle = place(arb(lowest) + arb(u) * k) + sign * arb(2) ** -40
            end = (2 * middle - first).mid()
        if k >= count or end * sign >= r:
            end = last
        loss = sign * (1 + g * ((first + end) / 2).expm1()).log()
        add(floor((loss - lowest) / u), between(first, end)[0])
        if end is last:
            return arb(lowest), masses
        first = end


class OnLattice(Composed):
    """One document."""

    def __init__(self, document):
        spec = document["mechanism"]
        self.runs = [(part_of(one), times) for one, times in runs_of(spec)]
        text = document["evidence"].get("unit")
        self.spec = spec
        if text is None:
            losses = [y for part, _ in self.runs for y, _, _ in part.atoms]
            if any(part.rate for part, _ in self.runs) or not all(
                isinstance(y, fmpq) for y in losses
            ):
                raise ValueError("a unit is needed")
            exact = [Fraction(int(y.p), int(y.q)) for y in losses]
            bottom = lcm(*(y.denominator for y in exact))
            self.u = fmpq(gcd(*(int(y * bottom) for y in exact)) or 1, bottom)
        else:
            self.u = decimal(text)
        Draft202012Validator(json.loads(SCHEMA.read_bytes())).validate(document)
        claim, evidence = document["claim"], document["evidence"]
        self.verdict, self.statement = claim["verdict"], claim["statement"]
        self.said, self.laws, self.pairs, self.number = claim.get("profile_is"), {}, [], 0
        self.mu, self.tail = (numbers(claim[key], "low high") for key in ("mu", "mu_tail"))
        self.open = claim["mu"] == {"low": "0", "high": "inf"}
        self.p, eps_h = numbers(claim, "failure_probability eps_h")
        self.eps_h = INF if eps_h is None else eps_h
        self.cut = self.p if self.statement == "approximate" else ZERO
        self.w, self.t = numbers(evidence, "witness tail_from")
        self.directions = evidence["directions"]
        near = {v for k, v in spec.items() if k.split(".")[-1] == "neighbours"}
        right = {"whole": self.p == 0, "head": self.eps_h > 0, "approximate": self.p < 1}
        right["answers"] = self.is_about_answers()
        possible = [right[self.statement], (self.statement == "head") == (self.eps_h < INF)]
        possible += [self.t is None, not evidence["cells"], not evidence["breakpoints"]]
        possible += [len(near - {None}) <= 1, not evidence.get("witness_line")]
        if not all(possible):
            raise ValueError("the claim or the mechanism is not possible")
        self.symmetric = all(part.symmetric for part, _ in self.runs)
        self.nature = max((part.nature for part, _ in self.runs), key=NATURES.index)

    def failure(self):
        kept = arb(1)
        for part, times in self.runs:
            kept *= arb(1 - part.failing(self.number == 1)) ** times
        return 1 - kept

    def law(self, above):
        """The lowest loss of all runs, and tails of the masses and of those times e^{-y}."""
        key = self.number, above, self.bits
        if key not in self.laws:
            start, total = arb(0), arb_poly([1])
            parts = [(part_of(one), times) for one, times in runs_of(self.spec)]
            for part, times in parts:
                lowest, masses = placed(part, self.u, self.number == 1, above)
                start += lowest * times
                shift = min(masses)
                start += arb(self.u) * (shift * times)
                row = [masses.get(k, arb(0)) for k in range(shift, max(masses) + 1)]
                total *= arb_poly(row) ** times
            p, q, tails, fall = arb(0), arb(0), [], (-arb(self.u)).exp()
            for mass in total.coeffs()[::-1]:
                p, q = p + mass, q * fall + mass
                tails.append((p, q))
            self.laws[key] = start, tails[::-1]
        return self.laws[key]

    def known(self, e, above):
        """δ(ε) of a law."""
        start, tails = self.law(above)
        place = (arb(e) - start) / self.u
        # at a place, or next to one, it is one of two sums, of which the last term is nearly 0
        ends = {int(float(x.floor())) for x in (place.lower(), place.upper())}
        if max(ends) - min(ends) > 1:
            raise ArithmeticError
        found = []
        for k in (max(0, end + 1) for end in ends):
            p, q = tails[k] if k < len(tails) else (arb(0), arb(0))
            # q counts from the k-th loss
            found.append(p - (arb(e) - start - arb(self.u) * k).exp() * q)
        return self.failure() + (found[0].union(found[-1]))

    def shown(self, e):
        if any(piece.get("tilt") is None for piece in self.directions[self.number]["pieces"]):
            raise ValueError("a piece has a tilt")
        if self.past_losses(e):
            return self.failure(), 1 - self.failure()
        value = self.known(e, True)
        return value, 1 - value

    def past_losses(self, e):
        sums = [
            sum((part.largest(backward) * times for part, times in self.runs), ZERO)
            for backward in (False, True)
        ]
        return all(le(one, e) for one in sums)

    def is_above(self, e, y, rest, shown, strictly=False):
        """Whether δ(ε) ≥ y, in one of the directions."""
        found = []
        for number in range(len(self.directions)):
            self.number = number
            value = self.failure() if self.past_losses(e) else self.known(e, False)
            found.append(not le(value, y) if strictly else le(y, value))
        return any(found)

    def below(self, w, m):
        if m == 0:
            return True
        if w is None or w == "tail" or w > self.eps_h or m == INF:
            return False
        return self.is_above(w, *self.allowed(*gauss(m, w)), {})

    def lines(self):
        fails = [part for part, _ in self.runs if part.failure > 0]
        if self.verdict == "unknown" and any("rows" in name for name in self.spec):
            # nothing is claimed of what is beyond a table's last row
            if self.tail != [ZERO, INF]:
                raise ValueError("nothing is known of the tail")
            self.verdict, self.tail = "not-gdp" if fails else "gdp", [INF if fails else ZERO] * 2
        # what of the runs the names of lines are about
        self.parts = [(type("Failing", (), {"failure": fmpq(1)}), 1)] if fails else []
        self.variance = ZERO
        yield from super().lines()


def check(document):
    """The answer for a document: valid, refused, malformed or undecided."""
    try:
        with ctx.workprec(256):
            checker = OnLattice(document)
        if len(checker.directions) != 2 - checker.symmetric:
            raise ValueError("not every direction is there")
        return answer_of(checker, (192, 384))
    except WRONG as error:
        return f"malformed: {str(error).splitlines()[0]}"
