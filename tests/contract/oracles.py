"""δ(ε) of an example of each kind, from the literature by mpmath and without any of our code.

Each is written from what the mechanism does: its two distributions, or the statements that it is
known by, summed, integrated or searched through. A kind that is an upper bound has an oracle of the
truth beneath it, and of how far above it may be; the others agree to a few units of 10⁻⁹ at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import mpmath
from mpmath import mp, mpf

__all__ = ["ORACLES", "TRANSFORMED", "Oracle"]

Delta = Callable[[mpf], mpf]
INF = mpmath.inf


@dataclass(frozen=True)
class Oracle:
    """An example of a kind.

    Attributes:
        given: its parameters.
        delta: its δ(ε), of an ε as an mpmath number.
        nature: what δ(ε) is.
        verdict: whether some finite μ covers every ε.
        mu_t: the tail parameter.
        above: how far δ may be above, relatively.
        below: how far it may be below, of an oracle that is a little too large.
    """

    given: dict[str, Any]
    delta: Delta
    nature: str
    verdict: str = "gdp"
    mu_t: float = 0.0
    above: float = 1e-11
    below: float = 0.0


def phi(x: mpf) -> mpf:
    """Φ(x)."""
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def density(x: mpf) -> mpf:
    """The standard normal density."""
    return mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)


def gaussian(mu: float) -> Delta:
    """Balle and Wang 2018, theorem 8."""
    return lambda eps: phi(mu / 2 - eps / mu) - mpmath.exp(eps) * phi(-mu / 2 - eps / mu)


def larger(p: Sequence[mpf], q: Sequence[mpf]) -> Delta:
    """The hockey-stick divergence of masses, the larger one of both orders."""

    def one(a: Sequence[mpf], b: Sequence[mpf], t: mpf) -> mpf:
        return mpmath.fsum(max(x - t * y, mpf(0)) for x, y in zip(a, b, strict=True))

    return lambda eps: max(one(p, q, mpmath.exp(eps)), one(q, p, mpmath.exp(eps)))


def shifted(mass: Callable[[int], mpf], by: int, reach: int) -> Delta:
    """Noise on whole numbers, normalized, against itself moved."""
    values = {x: mass(x) for x in range(-reach - by, reach + by + 1)}
    total = mpmath.fsum(values.values())
    span = range(-reach, reach + 1)
    return larger([values[x] / total for x in span], [values[x - by] / total for x in span])


def integrated(p: Callable[[mpf], mpf], q: Callable[[mpf], mpf], places: Sequence[float]) -> Delta:
    """∫(p - e^ε·q)⁺, for densities whose loss falls: from the left end to where it is 0."""
    low, high = mpf(places[0]), mpf(places[-1])

    def delta(eps: mpf) -> mpf:
        t, left, right = mpmath.exp(eps), low, high
        if p(left) <= t * q(left):
            return mpf(0)
        for _ in range(mp.prec):
            middle = (left + right) / 2
            left, right = (middle, right) if p(middle) > t * q(middle) else (left, middle)
        inner = [one for one in map(mpf, places) if low < one < left]
        return mpmath.quad(lambda x: p(x) - t * q(x), [low, *inner, left])

    return delta


# --- searches ------------------------------------------------------------------------------------


def greatest(function: Callable[[Any], Any], low: Any, high: Any, rounds: int = 50) -> Any:
    """The largest value: on a grid, then by golden section about the best point."""
    steps = 60
    points = [low + (high - low) * k / steps for k in range(steps + 1)]
    best = max(range(steps + 1), key=lambda k: function(points[k]))
    a, b = points[max(best - 1, 0)], points[min(best + 1, steps)]
    share = (math.sqrt(5) - 1) / 2
    for _ in range(rounds):
        c, d = b - share * (b - a), a + share * (b - a)
        a, b = (a, d) if function(c) > function(d) else (c, b)
    return max(function(points[best]), function((a + b) / 2))


def two_outcomes(p_wins: Callable[[mpf], mpf], shift: float, reach: float) -> Delta:
    """The best event "the first one wins", over all gaps of the scores; a record moves the gap."""

    def delta(eps: mpf) -> mpf:
        t = mpmath.exp(eps)
        found = greatest(lambda x: p_wins(x) - t * p_wins(x - shift), mpf(-reach), mpf(reach))
        return max(found, mpf(0))

    return delta


def bounded_range(width: float) -> Delta:
    """Two outcomes of losses s and s - r (Dong, Durfee and Rogers 2020): the best s."""

    def of(s: mpf, t: mpf) -> mpf:
        first = (1 - mpmath.exp(s - width)) / (mpmath.exp(s) - mpmath.exp(s - width))
        both = (first, s), (1 - first, s - width)
        return mpmath.fsum(max(q * (mpmath.exp(loss) - t), mpf(0)) for q, loss in both)

    return lambda eps: greatest(lambda s: of(s, mpmath.exp(eps)), mpf(0), mpf(width))


def implied(bound: Delta, far: float) -> Delta:
    """What (s, δ̂(s)) for all s imply: δ ≤ 1 - (1 + e^ε)·(1 - δ̂(s))/(1 + e^s) for every s ≥ ε."""

    def delta(eps: mpf) -> mpf:
        def height(s: mpf) -> mpf:
            return (1 - min(bound(s), mpf(1))) / (1 + mpmath.exp(s))

        return 1 - (1 + mpmath.exp(eps)) * greatest(height, eps, eps + far)

    return delta


def by_tradeoff(lines: Sequence[tuple[mpf, mpf]]) -> Delta:
    """δ = sup_α 1 - f(α) - α·e^ε of f(α) = max(0, a - b·α), at the corners of f."""
    every = [*lines, (mpf(0), mpf(0))]

    def f(alpha: mpf) -> mpf:
        return max(a - b * alpha for a, b in every)

    corners = [mpf(0), mpf(1)]
    for i, (a, b) in enumerate(every):
        corners += [(a - c) / (b - d) for c, d in every[:i] if b != d]
    inside = [alpha for alpha in corners if 0 <= alpha <= 1]
    return lambda eps: max(1 - f(alpha) - alpha * mpmath.exp(eps) for alpha in inside)


def table(rows: Sequence[tuple[float, float]]) -> Delta:
    """(ε, δ)-DP for each row bounds both errors of any test (Wasserman and Zhou 2010)."""
    lines = []
    for eps, delta in rows:
        rest, t = 1 - mpf(str(delta)), mpmath.exp(eps)
        lines += [(rest, t), (rest / t, 1 / t)]
    return by_tradeoff(lines)


def through(points: Sequence[tuple[str, str]]) -> Delta:
    """A trade-off function linear between points, or its inverse: the larger δ of both."""
    exact = [(mpf(a), mpf(b)) for a, b in points]
    both = []
    for known in (exact, [(b, a) for a, b in reversed(exact)]):
        slopes = [(a, b, (b - d) / (c - a)) for (a, b), (c, d) in pairwise(known)]
        both.append(by_tradeoff([(b + slope * a, slope) for a, b, slope in slopes]))
    return lambda eps: max(one(eps) for one in both)


def by_divergences(orders: Sequence[float], bound: Callable[[float], float]) -> Delta:
    """Two outcomes whose Rényi divergences obey the bounds in both orders: the best p for each q.

    In floats, as there are many to try.
    """
    known = [(a, math.exp((a - 1) * bound(a))) for a in orders]

    def obeys(p: float, q: float) -> bool:
        pairs = (p, q, 1 - p, 1 - q), (q, p, 1 - q, 1 - p)
        return all(
            x**a * y ** (1 - a) + u**a * v ** (1 - a) <= most
            for a, most in known
            for x, y, u, v in pairs
        )

    def best(q: float) -> float:
        low, high = q, 1 - 1e-12
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if obeys(middle, q) else (low, middle)
        return low

    def delta(eps: mpf) -> mpf:
        t = math.exp(eps)
        found = greatest(lambda x: best(math.exp(x)) - t * math.exp(x), -9.0, -0.1)
        return mpf(found)

    return delta


# --- samples -------------------------------------------------------------------------------------


def two_steps(sigma: str, rate: str) -> Delta:
    """Two steps on Poisson samples, add-remove: one integral of what one step has at ε - L."""
    s, q = mpf(sigma), mpf(rate)

    def loss(x: mpf) -> mpf:
        return mpmath.log(1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s)))

    def one(eps: mpf, *, remove: bool) -> mpf:
        """E(P - e^ε·Q)⁺ of one step, of any ε; x is where the loss is ε."""
        t = mpmath.exp(eps)
        inner = (t if remove else 1 / t) - (1 - q)
        if inner <= 0:
            return 1 - t if remove else mpf(0)
        x = s * s * mpmath.log(inner / q) + mpf(1) / 2
        above = 1 - q * phi((x - 1) / s) - (1 - q) * phi(x / s)
        if remove:
            return above - t * (1 - phi(x / s))
        return phi(x / s) - t * (1 - above)

    def delta(eps: mpf) -> mpf:
        found = []
        for remove in (True, False):

            def inside(x: mpf, remove: bool = remove) -> mpf:
                plain = density(x / s) / s
                first = q * density((x - 1) / s) / s + (1 - q) * plain if remove else plain
                rest = eps - loss(x) if remove else eps + loss(x)
                return first * one(rest, remove=remove)

            # where the rest has no sign change left
            turn = mpmath.exp(eps) / (1 - q) - (1 - q)
            kink = s * s * mpmath.log(turn / q) + mpf(1) / 2
            ends = sorted([-12 * s, mpf(0), mpf(1), kink, 12 * s + 1])
            found.append(mpmath.quad(inside, ends))
        return max(found)

    return delta


def allocated(sigma: str) -> Delta:
    """Each record in one of two steps: M = (X₁ + X₂)/2 with Xᵢ = e^{zᵢ/σ - 1/(2σ²)}."""
    s = 1 / mpf(sigma)

    def call(strike: mpf) -> mpf:
        """E(X - k)⁺."""
        if strike <= 0:
            return 1 - strike
        d = -mpmath.log(strike) / s + s / 2
        return phi(d) - strike * phi(d - s)

    def delta(eps: mpf) -> mpf:
        t = mpmath.exp(eps)
        found = []
        for strike, scale, sign in ((2 * t, mpf(1) / 2, 1), (2 / t, t / 2, -1)):
            turn = (mpmath.log(strike) + s * s / 2) / s

            def inside(z: mpf, strike: mpf = strike, scale: mpf = scale, sign: int = sign) -> mpf:
                rest = strike - mpmath.exp(z * s - s * s / 2)
                value = call(rest)
                # E(k - X)⁺ = k - 1 + E(X - k)⁺
                return density(z) * scale * (value if sign > 0 else value + rest - 1)

            found.append(mpmath.quad(inside, sorted([-11, 0, turn, 11])))
        return max(found)

    return delta


def failing(delta: Delta, chance: mpf) -> Delta:
    """With a chance all is given away."""
    return lambda eps: chance + (1 - chance) * delta(eps)


def cut_batches(steps: int, rate: str, others: int, most: int) -> mpf:
    """The chance that in some step as many others are sampled as fit into a batch, or more."""
    q = mpf(rate)
    fits = mpmath.fsum(
        mpmath.binomial(others, k) * q**k * (1 - q) ** (others - k) for k in range(most)
    )
    return 1 - fits**steps


# --- the examples -------------------------------------------------------------------------------

ROWS = [(0, 0.3), (1, 0.08), (2, 0.01), (3, 0.0)]


def laplace(width: float, shift: float, reach: float) -> Delta:
    """Laplace noise, cut off and normalized if its reach is short."""
    mass = 2 * width * (1 - mpmath.exp(-mpf(reach) / width))

    def noise(x: mpf) -> mpf:
        return mpmath.exp(-abs(x) / width) / mass if abs(x) <= reach else mpf(0)

    places = [-reach, -reach + shift, 0, shift, reach]
    return integrated(noise, lambda x: noise(x - shift), sorted(set(places)))


def truncated() -> Delta:
    """Noise on [-A, A]: from -A to 1 - A the other one has nothing."""
    width, failure = mpf(1), mpf("0.001")
    reach = width * mpmath.log(1 + mpmath.expm1(1 / width) / (2 * failure))
    return laplace(width, 1, reach)


def thresholded(eps: mpf) -> mpf:
    """A count of 1 in a group of one's own passes 10, or noise of scale 1 on a large one tells."""
    return max(mpmath.exp(-9) / 2, 1 - mpmath.exp((eps - 1) / 2))


def response(truth: mpf, lie: mpf, buckets: int) -> Delta:
    """Two people's answers, each the truth or one of the others."""
    rest = [lie] * (buckets - 2)
    return larger([truth, lie, *rest], [lie, truth, *rest])


def pure(eps: float) -> Delta:
    """Binary randomized response."""
    truth = 1 / (1 + mpmath.exp(-mpf(eps)))
    return larger([truth, 1 - truth], [1 - truth, truth])


def examples() -> dict[str, Oracle]:
    """All examples, with the precision in force."""
    sqrt2 = mpmath.sqrt(2)
    run = two_steps("1", "0.1")
    fails = "not-gdp", float("inf")
    return {
        "approx-dp": Oracle(
            {"epsilon": 1, "delta": 1e-3}, failing(pure(1), mpf("0.001")), "class", *fails
        ),
        # ⌈4/2⌉ steps with 2·0.05, and a norm of 5 of the columns (3, 4)
        "banded-matrix": Oracle(
            {"entries": [3, 4], "sigma": 5, "bands": 2, "sample_rate": 0.05, "steps": 4},
            run, "own", mu_t=2**0.5,
        ),
        "bounded-range": Oracle({"range": 1}, bounded_range(1), "class"),
        "densities": Oracle(
            {"p": "0.5+x", "q": "1.5-x", "low": 0, "high": 1},
            integrated(lambda x: 1.5 - x, lambda x: 0.5 + x, [0, 1]), "own",
        ),
        "discrete-gaussian": Oracle(
            {"sigma": 2}, shifted(lambda x: mpmath.exp(-mpf(x * x) / 8), 1, 60), "own", mu_t=0.5
        ),
        "discrete-laplace": Oracle(
            {"scale": 2, "sensitivity": 3},
            shifted(lambda x: mpmath.exp(-mpf(abs(x)) / 2), 3, 160), "own",
        ),
        "dpsgd": Oracle(
            {"noise_multiplier": 1, "sample_rate": 0.1, "steps": 2}, run, "own", mu_t=2**0.5
        ),
        # two candidates drawn by e^{εq/2}: a gap of the scores moves by 2
        "exponential": Oracle(
            {"epsilon": 1}, two_outcomes(lambda x: 1 / (1 + mpmath.exp(-x)), 1, 6), "class"
        ),
        "formula": Oracle(
            {"text": "delta = 0.9*exp(-eps**2)"},
            implied(lambda s: mpf("0.9") * mpmath.exp(-s * s), 3), "bound", mu_t=0.5**0.5,
        ),
        "gaussian": Oracle({"sigma": 2}, gaussian(0.5), "own", mu_t=0.5),
        "gdp": Oracle({"mu": 1}, gaussian(1), "class", mu_t=1),
        "icea": Oracle(
            {"messages": 50, "users": 10},
            implied(lambda s: 10 / s * mpmath.exp(-5) if s else INF, 3), "bound", *fails,
        ),
        "laplace": Oracle({"scale": 0.5}, laplace(mpf("0.5"), 1, 30), "own"),
        # a column of C is (1, 1)
        "matrix": Oracle(
            {"entries": [[1, 0], [1, 1]], "sigma": 2}, gaussian(sqrt2 / 2), "own", mu_t=0.5**0.5
        ),
        "opacus": Oracle({"history": [[1.0, 0.1, 2]]}, run, "own", mu_t=2**0.5),
        # the chance of the better one of two is 1 - e^{-x}/2
        "permute-and-flip": Oracle(
            {"epsilon": 1},
            two_outcomes(
                lambda x: 1 - mpmath.exp(-x) / 2 if x > 0 else mpmath.exp(x) / 2, 1, 6
            ),
            "class",
        ),
        "pld": Oracle(
            {"remove": [[0.5, 0.6], [-0.5, 0.3]]},
            lambda eps: mpf("0.1") + max(mpf("0.6") * (1 - mpmath.exp(eps - mpf("0.5"))), mpf(0)),
            "own", *fails,
        ),
        "pure-dp": Oracle({"epsilon": 1}, pure(1), "class"),
        "random-allocation": Oracle(
            {"noise_multiplier": 1, "steps": 2}, allocated("1"), "bound", mu_t=1, above=0.02
        ),
        "randomized-response": Oracle(
            {"noise_parameter": 0.5, "buckets": 4},
            response(mpf("0.625"), mpf("0.125"), 4), "own",
        ),
        "renyi": Oracle(
            {"orders": [2, 4], "epsilons": [0.1, 0.3]},
            by_divergences([2, 4], {2: 0.1, 4: 0.3}.__getitem__),
            "class", *fails, above=1e-8,
        ),
        # the difference of two Gumbel variables is logistic
        "report-noisy-max": Oracle(
            {"noise": "gumbel", "scale": 2},
            two_outcomes(lambda x: 1 / (1 + mpmath.exp(-x)), 1, 6), "class",
        ),
        "sgd-family": Oracle(
            {"A": 1, "B": 2, "sigma": 1},
            implied(lambda s: 2 * mpmath.exp(-s * s), 3), "bound", mu_t=0.5**0.5,
        ),
        "shuffled-epochs": Oracle(
            {"noise_multiplier": 2, "steps": 10}, gaussian(0.5), "bound", mu_t=0.5
        ),
        "skellam": Oracle(
            {"variance": 5}, shifted(lambda x: mpmath.besseli(abs(x), 5), 1, 50), "own"
        ),
        # 1/2 of the threshold, 2/4 of the answer
        "sparse-vector": Oracle(
            {"threshold_scale": 2, "answer_scale": 4, "count": 1}, pure(1), "bound"
        ),
        "table": Oracle({"pairs": ROWS}, table(ROWS), "class"),
        "thresholded-release": Oracle(
            {"noise": "laplace", "scale": 1, "threshold": 10}, thresholded, "own", *fails
        ),
        "tradeoff": Oracle(
            {"text": "sigma = -2*log(delta)/eps", "set": {"sigma": 4}},
            implied(lambda s: mpmath.exp(-2 * s), 3), "bound", *fails,
        ),
        "tradeoff-function": Oracle(
            {"alpha": [0, 0.2], "beta": [1, 0.4]},
            through([("0", "1"), ("0.2", "0.4"), ("1", "0")]), "class",
        ),
        "truncated-batches": Oracle(
            {"noise_multiplier": 1, "sample_rate": 0.1, "steps": 2, "records": 100,
             "max_batch_size": 20},
            failing(run, cut_batches(2, "0.1", 99, 20)), "bound", *fails,
        ),
        "truncated-laplace": Oracle({"scale": 1, "delta": 1e-3}, truncated(), "own", *fails),
        "zcdp": Oracle(
            {"rho": 0.125},
            by_divergences([1.0001, *(1 + k / 16 for k in range(1, 96))], lambda a: a / 8),
            "class", mu_t=0.5, below=1e-4,
        ),
    }  # fmt: skip


# --- transformations ----------------------------------------------------------------------------


def both_signs(delta: Delta) -> Delta:
    """The same of any real ε, of a pair that is as bad in either order."""
    return lambda eps: delta(eps) if eps >= 0 else 1 - mpmath.exp(eps) * (1 - delta(-eps))


def beside_laplace(other: Delta, width: mpf) -> Delta:
    """Laplace noise, Δ = 1, and then another mechanism, which has what is left of ε."""

    def loss(x: mpf) -> mpf:
        return (abs(x - 1) - abs(x)) / width

    def delta(eps: mpf) -> mpf:
        ends = [-45 * width, mpf(0), mpf(1) / 4, mpf(1) / 2, 3 * mpf(1) / 4, mpf(1), 1 + 45 * width]
        # where nothing is left of ε, or what is left is the other one's largest loss
        kinks = [(1 - width * (eps - k)) / 2 for k in (-1, 0, 1)]
        ends = sorted({*ends, *(one for one in kinks if 0 < one < 1)})
        return mpmath.quad(
            lambda x: mpmath.exp(-abs(x) / width) / (2 * width) * other(eps - loss(x)), ends
        )

    return delta


def sampled_laplace(rate: mpf) -> Delta:
    """A record is there with a chance: a mixture of densities against one, in both orders."""

    def noise(x: mpf) -> mpf:
        return mpmath.exp(-abs(x)) / 2

    def mixed(x: mpf, side: int) -> mpf:
        return (1 - rate) * noise(x) + rate * noise(x - side)

    ends = [-40, -1, 0, 1, 40]
    removed = integrated(lambda x: mixed(x, -1), noise, ends)
    added = integrated(noise, lambda x: mixed(x, 1), ends)
    return lambda eps: max(removed(eps), added(eps))


def transformed() -> dict[str, tuple[Callable[[Any], Any], Delta]]:
    """Each with what it makes of the profiles of gdpbridge, which it is given."""
    one = both_signs(lambda eps: max(1 - mpmath.exp((eps - 1) / 2), mpf(0)))
    return {
        "composed": (lambda p: p.Laplace(scale=1).compose(2), beside_laplace(one, mpf(1))),
        "sequence": (
            lambda p: p.Sequence(parts=(p.Laplace(scale=1), p.Gaussian(sigma=2))),
            beside_laplace(gaussian(0.5), mpf(1)),
        ),
        "subsampled": (
            lambda p: p.Laplace(scale=1).subsample(0.25), sampled_laplace(mpf(1) / 4)
        ),
        "grouped": (lambda p: p.Laplace(scale=1).group(2), laplace(mpf(1), 2, 60)),
        "converted": (
            lambda p: p.Gaussian(sigma=4, neighbours="add-remove").to_neighbours("replace-one"),
            gaussian(0.5),
        ),
    }  # fmt: skip


with mpmath.workdps(30):
    ORACLES, TRANSFORMED = examples(), transformed()
