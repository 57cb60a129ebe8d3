"""Write measurements.json, profiles.json and refined.json: values that gdpbridge is tested against.

Everything here is mpmath at 60 digits, from the definitions alone: dense scans and golden sections,
no bounds and no cleverness. Nothing of gdpbridge is used. Run it in this folder after a change
(it takes a few minutes, and needs mpmath, which the tests themselves do not).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 60
DIGITS = 40
FOLDER = Path(__file__).parent

Curve = Callable[[mpf], mpf]


def gaussian(eps: mpf, mu: mpf) -> mpf:
    """δ_μ(ε), with the digits that its subtraction costs."""
    with mp.workdps(2 * mp.dps):
        x, y = eps / mu - mu / 2, eps / mu + mu / 2
        return mp.ncdf(-x) - mp.e**eps * mp.ncdf(-y)


def gdpt(eps: mpf, delta: mpf) -> mpf:
    """The μ with δ_μ(ε) = δ, by false position on log δ (or log(1 - δ) where δ > 1/2)."""
    if delta <= 0:
        return mpf(0)

    def excess(mu: mpf) -> mpf:
        value = gaussian(eps, mu)
        if delta > 0.5:
            return mp.log(1 - delta) - mp.log(1 - value)
        return mp.log(value) - mp.log(delta)

    high = mpf(1)
    while excess(high) < 0:
        high *= 2
    low = high / 2
    while excess(low) > 0:
        high, low = low, low / 2
    f_low, f_high = excess(low), excess(high)
    for _ in range(200):
        middle = (low * f_high - high * f_low) / (f_high - f_low)
        f = excess(middle)
        if abs(f) < mpf(10) ** -min(DIGITS + 8, mp.dps - 4):
            return middle
        if (f > 0) == (f_high > 0):
            high, f_high, f_low = middle, f, f_low / 2
        else:
            low, f_low, f_high = middle, f, f_high / 2
    raise RuntimeError("no convergence")


# --- profiles ----------------------------------------------------------------------------


def positive(value: mpf) -> mpf:
    return max(value, mpf(0))


def laplace(p: dict[str, str]) -> tuple[Curve, mpf]:
    eps0 = mpf(p.get("sensitivity", "1")) / mpf(p["scale"])
    return lambda e: positive(1 - mp.exp((e - eps0) / 2)), eps0


def pure_dp(p: dict[str, str]) -> tuple[Curve, mpf]:
    top = mpf(p["epsilon"])
    return lambda e: positive(mp.exp(top) - mp.exp(e)) / (1 + mp.exp(top)), top


def approx_dp(p: dict[str, str]) -> tuple[Curve, mpf]:
    pure, top = pure_dp(p)
    delta0 = mpf(p["delta"])
    return lambda e: delta0 + (1 - delta0) * pure(e), top


def randomized_response(p: dict[str, str]) -> tuple[Curve, mpf]:
    """Between answers a and b: P(a|a) = 1 - p + p/k, P(a|b) = p/k, and all others alike."""
    noise, k = mpf(p["noise_parameter"]), mpf(p["buckets"])
    truth, lie = 1 - noise + noise / k, noise / k
    return lambda e: positive(truth - mp.exp(e) * lie), mp.log(truth / lie)


def gaussian_noise(p: dict[str, str]) -> tuple[Curve, mpf]:
    mu = mpf(p.get("sensitivity", "1")) / mpf(p["sigma"])
    return lambda e: gaussian(e, mu), mp.inf


def gdp(p: dict[str, str]) -> tuple[Curve, mpf]:
    mu = mpf(p["mu"])
    return lambda e: gaussian(e, mu), mp.inf


def implied(naive: Curve, eps: mpf, top: mpf) -> mpf:
    """min over ε₀ ≥ ε of δ̂(ε₀) + (1 - δ̂(ε₀))(e^ε₀ - e^ε)/(1 + e^ε₀), by scan and section.

    ``top`` is far enough out for the minimum to lie before it.
    """

    def by(eps0: mpf) -> mpf:
        value = min(naive(eps0), mpf(1))
        return value + (1 - value) * (mp.exp(eps0) - mp.exp(eps)) / (1 + mp.exp(eps0))

    return -section(lambda e: -by(e), eps, max(top, eps * 2), 120)[1]


def sgd_naive(p: dict[str, str]) -> tuple[Curve, mpf]:
    A, B, sigma = mpf(p["A"]), mpf(p["B"]), mpf(p["sigma"])
    # at the end of this range δ̂ is below e^-40
    top = A / sigma * mp.sqrt(40 + positive(mp.log(B)))
    return lambda e: B * mp.exp(-((sigma * e / A) ** 2)), top


def sgd_family(p: dict[str, str]) -> tuple[Curve, mpf]:
    naive, top = sgd_naive(p)
    return lambda e: implied(naive, e, top), mp.inf


def icea_naive(p: dict[str, str]) -> tuple[Curve, mpf]:
    scale = mpf(p["users"]) * mp.exp(-mpf(p["messages"]) / 10)
    return lambda e: scale / e if e > scale else mpf(1), 10 * (scale + mp.sqrt(scale))


def icea(p: dict[str, str]) -> tuple[Curve, mpf]:
    naive, top = icea_naive(p)
    return lambda e: implied(naive, e, top), mp.inf


PROFILES = {
    "laplace": laplace,
    "gaussian": gaussian_noise,
    "gdp": gdp,
    "pure-dp": pure_dp,
    "approx-dp": approx_dp,
    "sgd-family": sgd_family,
    "icea": icea,
    "randomized-response": randomized_response,
}


# --- maxima ------------------------------------------------------------------------------


def section(f: Curve, low: mpf, high: mpf, steps: int) -> tuple[mpf, mpf]:
    """The largest value of f on [low, high]: a scan, then sections about its two highest peaks."""
    points = [low + (high - low) * k / steps for k in range(steps + 1)]
    # features crowd at the left end of long ranges
    points += [low + (high - low) * mpf(2) ** -k for k in range(8, 24)]
    points.sort()
    with mp.workdps(30):
        values = [f(point) for point in points]
    last = len(points) - 1
    peaks = [
        k
        for k in range(last + 1)
        if values[k] >= values[max(k - 1, 0)] and values[k] >= values[min(k + 1, last)]
    ]
    peaks.sort(key=lambda k: -values[k])
    found = [golden(f, points[max(k - 1, 0)], points[min(k + 1, last)]) for k in peaks[:2]]
    return max(found, key=lambda pair: pair[1])


def golden(f: Curve, a: mpf, b: mpf) -> tuple[mpf, mpf]:
    """Golden-section search; a flat maximum is found to twice the digits of its place."""
    ratio = (mp.sqrt(5) - 1) / 2
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    fc, fd = f(c), f(d)
    while b - a > mpf(10) ** -min(22, mp.dps - 4) * (1 + b):
        if fc > fd:
            b, d, fd = d, c, fc
            c = b - ratio * (b - a)
            fc = f(c)
        else:
            a, c, fc = c, d, fd
            d = a + ratio * (b - a)
            fd = f(d)
    ends = [(a, f(a)), (b, f(b)), (c, fc), (d, fd)]
    return max(ends, key=lambda pair: pair[1])


def crossing(f: Curve, high: mpf) -> mpf:
    """Where the non-increasing f changes sign, before ``high`` or beyond."""
    while f(high) > 0:
        high *= 2
    low = mpf(0)
    while high - low > mpf(10) ** -(DIGITS + 5) * high:
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return high


def measured(kind: str, p: dict[str, str], scope: dict[str, str], steps: int) -> dict[str, object]:
    curve, end = PROFILES[kind](p)
    if kind == "approx-dp":
        end = mp.inf  # from its ε on, δ stays where it is
    if "eps_h" in scope:
        end = min(end, mpf(scope["eps_h"]))
    failure = mpf(scope.get("failure", 0))
    if failure:
        whole = curve

        def curve(e: mpf) -> mpf:
            return positive(whole(e) - failure) / (1 - failure)

        if whole(mpf(0)) <= failure:
            return {"mu": "0", "at": "0"}
        reach = mpf(1) if end == mp.inf else end
        end = min(end, crossing(lambda e: whole(e) - failure, reach))
    beyond = mpf(0)
    if end == mp.inf:
        # G tends to the tail parameter; the scan stops where δ is below e^-60, before its digits
        # give out
        beyond = mpf(p["A"]) / mpf(p["sigma"]) / mp.sqrt(2)
        end = beyond * mp.sqrt(120 + 2 * abs(mp.log(mpf(p["B"]))))
    at, mu = section(lambda e: gdpt(e, curve(e)), mpf(0), end, steps)
    if beyond > mu:
        at, mu = mp.inf, beyond
    return {"mu": mp.nstr(mu, DIGITS), "at": mp.nstr(at, 25)}


# --- what is written ---------------------------------------------------------------------


def draws() -> Iterator[tuple[str, dict[str, str]]]:
    """Parameters: the ones of the literature, edges, and random ones of four digits."""
    rng = random.Random(20221128)

    def number(low: float, high: float) -> str:
        return f"{low * (high / low) ** rng.random():.4g}"

    for scale in ("0.5", "5", "0.3787878787878788", *(number(0.1, 50) for _ in range(4))):
        yield "laplace", {"scale": scale}
    yield "laplace", {"scale": "3", "sensitivity": "0.7"}
    for epsilon in ("0.2", "0.44", "2.64", *(number(0.02, 15) for _ in range(4))):
        yield "pure-dp", {"epsilon": epsilon}
    for epsilon, delta in (("1", "1e-6"), ("0.1", "0.1"), ("5", "1e-12"), ("0.7", "0.9")):
        yield "approx-dp", {"epsilon": epsilon, "delta": delta}
    for noise, buckets in (("0.8", "2"), ("0.3", "7"), ("0.05", "50"), ("0.99", "3")):
        yield "randomized-response", {"noise_parameter": noise, "buckets": buckets}
    for A, B, sigma in (
        ("2", "1", "2"),
        ("2", "0.5", "2"),
        ("1", "0.4", "1"),
        ("1", "0.01", "1"),
        ("1", "30", "2"),
        ("3", "0.7", "1"),
        *((number(0.5, 5), number(0.05, 10), number(0.5, 5)) for _ in range(4)),
    ):
        yield "sgd-family", {"A": A, "B": B, "sigma": sigma}
    for messages, users in (("20", "4"), ("30", "2"), ("60", "50")):
        yield "icea", {"messages": messages, "users": users}


def scopes(kind: str, number: int) -> Iterator[dict[str, str]]:
    """The whole range where there is a μ for it, and one head or one failure for most."""
    rng = random.Random(f"{kind} {number}")
    whole = kind not in ("approx-dp", "icea")
    if whole:
        yield {}
    if not whole or number % 3 == 0:
        yield {"eps_h": f"{10 ** rng.uniform(-1, 1):.4g}"}
    if not whole or number % 3 == 1:
        yield {"failure": f"{10 ** rng.uniform(-5, -1):.3g}" if kind != "approx-dp" else "0.95"}


def measurements() -> Iterator[dict[str, object]]:
    for number, (kind, p) in enumerate(draws()):
        refined = kind in ("sgd-family", "icea")
        for scope in scopes(kind, number):
            result = measured(kind, p, scope, 60 if refined else 200)
            print(kind, p, scope, result, flush=True)
            yield {"kind": kind, "parameters": p, **scope, **result}
    for delta in ("1e-6", "1e-300"):
        # the exact partial order: past its own δ an (ε, δ) pair is the pure ε
        pure = measured("pure-dp", {"epsilon": "1"}, {}, 200)
        yield {
            "kind": "approx-dp",
            "parameters": {"epsilon": "1", "delta": delta},
            "failure": delta,
            **pure,
        }
    for mu, p in (("1", "1e-5"), ("6", "0.5"), ("0.25", "0.001")):
        result = measured("gdp", {"mu": mu}, {"failure": p}, 100)
        yield {"kind": "gdp", "parameters": {"mu": mu}, "failure": p, **result}


def values() -> Iterator[dict[str, object]]:
    """log δ and log(1 - δ) on a few ε of each profile, the ends and both sides of kinks."""
    extra = [("gaussian", {"sigma": "2"}), ("gdp", {"mu": "0.001"}), ("gdp", {"mu": "5"})]
    for kind, p in [*draws(), *extra]:
        curve, end = PROFILES[kind](p)
        reach = mpf(10) if end == mp.inf else end
        points = []
        for share in ("0", "1e-9", "0.1", "0.5", "0.9", "0.999999", "1.5"):
            eps = mpf(mp.nstr(mpf(share) * reach, 6))
            delta = curve(eps)
            logs = [mp.nstr(mp.log(d), 30) if d > 0 else "-inf" for d in (delta, 1 - delta)]
            points.append([mp.nstr(eps, 12), *logs])
        yield {"kind": kind, "parameters": p, "points": points}


def refined() -> Iterator[dict[str, object]]:
    """The refinement by brute force, also for shapes at the edge of its cases."""
    kappa_edge = mpf(1)
    t = (-1 + mp.sqrt(1 + 8 * kappa_edge)) / (4 * kappa_edge)
    slope = 2 * kappa_edge * t * mp.exp(-kappa_edge * t * t) * (1 + mp.exp(-t))
    edge = 1 / (slope + mp.exp(-kappa_edge * t * t))
    cases = [("sgd-family", {"A": a, "B": b, "sigma": s}) for a, b, s in (
        ("2", "1", "2"), ("2", "0.5", "2"), ("1", "0.6", "1"), ("1", "0.9", "1"),
        ("1", "0.999999", "1"), ("1", "1.000001", "1"), ("1", "5", "1"), ("1", "1e9", "1"),
        ("1", "1e-9", "1"), ("1", "0.3", "1"), ("1000", "2", "1"), ("1", "2", "1000"),
        ("1000", "0.7", "1"), ("1", "0.7", "1000"),
        ("1", mp.nstr(edge * (1 + mpf(10) ** -5), 15), "1"),
        ("1", mp.nstr(edge * (1 - mpf(10) ** -5), 15), "1"),
    )]  # fmt: skip
    cases += [("icea", {"messages": m, "users": n}) for m, n in (
        ("20", "4"), ("1", "1"), ("100", "100"), ("10", "100"), ("300", "3"),
    )]  # fmt: skip
    for kind, p in cases:
        naive, top = sgd_naive(p) if kind == "sgd-family" else icea_naive(p)
        points = []
        for k in range(13):
            eps = mpf(mp.nstr(top * (mpf(k) / 12) ** 2 / 4, 8))
            delta = implied(naive, eps, top)
            points.append([mp.nstr(eps, 12), mp.nstr(mp.log(delta), 20)])
        print(kind, p, flush=True)
        yield {"kind": kind, "parameters": p, "points": points}


def main() -> None:
    for name, rows in (
        ("profiles", values()),
        ("refined", refined()),
        ("measurements", measurements()),
    ):
        text = ",\n".join(json.dumps(row) for row in rows)
        (FOLDER / f"{name}.json").write_text(f"[\n{text}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
