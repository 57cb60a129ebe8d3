"""A second checker of composed losses, in Arb arithmetic, written from docs/check-a-mu.md alone.

It knows dpsgd, and gaussian, gdp, laplace, pure-dp and approx-dp, alone or in sequences, with a
head or an approximate statement, or with answers alone.
"""

import json

from flint import acb, arb
from jsonschema import Draft202012Validator
from standalone_checker import HALF, INF, SCHEMA, WRONG, ZERO, Checker, decided, gauss, le, numbers
from standalone_parts import (
    Gaussian,
    Laplace,
    Sampled,
    TwoValued,
    Window,
    decimal,
    kappa,
    normal,
    points,
    signed,
)
from standalone_sampling import FixedSize, Replaced

NATURES = "own", "class", "bound"


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
    words = "kind", "neighbours", "count", "sampling"
    x = {k: decimal(v) for k, v in spec.items() if k not in words}
    if any(value <= 0 for name, value in x.items() if name not in ("epsilon", "delta", "mu")):
        raise ValueError("a parameter is not possible")
    if kind == "dpsgd":
        count, way = times * int(x["steps"]), (spec["neighbours"], spec.get("sampling"))
        known = {("add-remove", None): Sampled, ("replace-one", None): Replaced}
        known[("replace-one", "fixed-size")] = FixedSize
        if way not in known or not x["sample_rate"] < 1 or count == 1:
            raise ValueError("it is not known here")
        part = known[way](x["noise_multiplier"], x["sample_rate"])
        return [(part, count, "bound" if way[1] else "own")]
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


class Composed(Checker):
    """One document about composed losses."""

    def __init__(self, document):
        Draft202012Validator(json.loads(SCHEMA.read_bytes())).validate(document)
        claim, evidence = document["claim"], document["evidence"]
        self.verdict, self.statement = claim["verdict"], claim["statement"]
        self.said, self.mechanism = claim.get("profile_is"), document["mechanism"]
        self.mu, self.tail = (numbers(claim[key], "low high") for key in ("mu", "mu_tail"))
        self.open = claim["mu"] == {"low": "0", "high": "inf"}
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
        right["whole"] = self.p == 0 and self.mu == [ZERO, INF] and self.eps_h == INF
        possible = [
            right.get(self.statement) or self.is_about_answers(),
            self.t is None,
            not evidence["cells"],
            not evidence["breakpoints"],
        ]
        possible += [
            len(near - {None}) <= 1,
            len(self.directions) == 2 - self.symmetric,
        ]
        if not all(possible):
            raise ValueError("the claim or the mechanism is not possible")

    def is_about_answers(self):
        """Whether nothing is said of μ."""
        cells = any(one["cells"] for one in self.directions)
        nothing = [self.p == 0, self.eps_h == INF, self.open, self.w is None]
        return self.statement == "answers" and all(nothing) and not cells

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

    def is_above(self, e, y, rest, shown, strictly=False):
        """Whether δ(ε) ≥ y = 1 - rest, by a witness line."""
        data = shown.get("witness_line")
        if data is None:
            return False
        line = self.line(data["line"], data["reverse"])
        low, high = line.curves(arb(e), self.bits)
        p = self.failure()
        value, left = (1 - high, high) if line.c < 0 else (p + low, 1 - p - low)
        if strictly:
            return not (le(rest, left) if y > HALF else le(value, y))
        return le(left, rest) if y > HALF else le(y, value)

    def below(self, w, m):
        if m == 0:
            return True
        if w is None or w == "tail" or w > self.eps_h or m == INF:
            return False
        return self.is_above(w, *self.allowed(*gauss(m, w)), {"witness_line": self.witness_line})

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
        if self.statement == "answers":
            return
        yield (
            "2",
            lambda: (
                self.statement != "head"
                or self.is_everywhere(
                    lambda: (self.past_losses(self.eps_h) and not fails) or self.is_cut(self.eps_h)
                )
            ),
        )
        if high == INF:
            # nothing is claimed above
            yield "3", lambda: not any(one["cells"] for one in self.directions)
            yield "6", lambda: self.below(self.w, low)
            return
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


def answer_of(checker, precisions, lines=None):
    """The first line that is not shown at any of some precisions, in words; else valid.

    The lines are the checker's, or those of what it is part of.
    """
    for name, holds in (lines or checker.lines)():
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
