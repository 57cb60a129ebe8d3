"""No change to the certificate of a composed loss that makes its claim false is accepted.

What is true is found by direct integration: the losses of a Gaussian mechanism, of one step on a
sample and of randomized response, added up. The claims' statements are decided by that alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import pytest
from changes import accepted, changes, documents_of, outcome, put
from truth import best, mu_at

import gdpbridge
from gdpbridge import profiles

Document = dict[str, Any]

DIGITS = 22
SLACK = mpmath.mpf(10) ** -14

SAMPLED = profiles.DPSGD(noise_multiplier=1.5, sample_rate=0.25, steps=1)
RUN = {"noise_multiplier": 1.5, "sample_rate": 0.25, "steps": 1, "neighbours": "replace-one"}
EXAMPLES = {
    "sampled": (profiles.Sequence(parts=(profiles.Gaussian(sigma=2), SAMPLED)), {"eps_h": 1}),
    "sampled, past p": (
        profiles.Sequence(parts=(profiles.Gaussian(sigma=2), SAMPLED)),
        {"failure": 0.01},
    ),
    "response": (
        profiles.Sequence(parts=(profiles.Gaussian(sigma=1), profiles.PureDP(epsilon=0.5))),
        {"eps_h": 2},
    ),
    "replaced": (
        profiles.Sequence(parts=(profiles.Gaussian(sigma=2), profiles.DPSGD(**RUN))),
        {"eps_h": 1.2},
    ),
    "failing": (
        profiles.Sequence(
            parts=(profiles.Gaussian(sigma=1), profiles.ApproxDP(epsilon=0.25, delta=0.001))
        ),
        {"failure": 0.002},
    ),
    "given away": (
        profiles.Sequence(
            parts=(
                profiles.ThresholdedRelease(noise="gaussian", scale=2, threshold=7, groups=2),
                profiles.PureDP(epsilon=0.5, neighbours="add-remove"),
            )
        ),
        {"failure": 0.01},
    ),
}
TOL = 1e-9


text_of, fresh = documents_of(EXAMPLES, tol=TOL)


# --- what is true ------------------------------------------------------------------------------


def parts_of(spec: dict[str, str | None]) -> list[tuple[dict[str, str], int]]:
    """The parts of a sequence with their counts."""
    found = []
    for number in range(len(spec)):
        prefix = f"parts.{number}."
        own = {k.removeprefix(prefix): str(v) for k, v in spec.items() if k.startswith(prefix)}
        if own:
            count = int(own.pop("count", "1"))
            found.append((own, count))
    return found


def atoms_of(spec: dict[str, str | None], backward: bool) -> tuple[Any, list[tuple[Any, Any]], Any]:
    """Split a sequence in a Gaussian part, other losses with their weights, and a failure mass."""
    variance, kept = mpmath.mpf(0), mpmath.mpf(1)
    losses: list[tuple[Any, Any]] = [(mpmath.mpf(0), mpmath.mpf(1))]
    for part, count in parts_of(spec):
        for _ in range(count):
            if part["kind"] == "gaussian":
                ratio = mpmath.mpf(part["sensitivity"]) / mpmath.mpf(part["sigma"])
                variance += ratio**2
                continue
            if part["kind"] == "thresholded-release":
                groups, scale = int(part["groups"]), mpmath.mpf(part["scale"])
                contribution = mpmath.mpf(part["contribution"])
                variance += groups * (contribution / scale) ** 2
                away = (mpmath.mpf(part["threshold"]) - contribution) / scale
                own = (1 - mpmath.ncdf(-away)) ** groups
                kept *= own
                losses = [(loss, weight * own) for loss, weight in losses]
                continue
            one, own = loss_of(part, backward)
            kept *= own
            losses = [(a + b, p * q) for a, p in losses for b, q in one]
    return mpmath.sqrt(variance), losses, 1 - kept


def loss_of(part: dict[str, str], backward: bool) -> tuple[list[tuple[Any, Any]], Any]:
    """The losses of one part under its first distribution, as a fine sum, and its finite mass."""
    if part["kind"] in ("pure-dp", "approx-dp"):
        eps, kept = mpmath.mpf(part["epsilon"]), 1 - mpmath.mpf(part.get("delta", "0"))
        top = kept / (1 + mpmath.exp(-eps))
        return [(eps, top), (-eps, kept - top)], kept
    sigma, rate = mpmath.mpf(part["noise_multiplier"]), mpmath.mpf(part["sample_rate"])
    # the trapezoid rule is as good as exact for what is analytic about the real line
    step = sigma / 2
    found = []
    for j in range(-21, 22):
        u = j * step
        ratio, other = (
            1 - rate + rate * mpmath.exp((side - mpmath.mpf(1) / 2) / sigma**2) for side in (u, -u)
        )
        weight = mpmath.npdf(u, 0, sigma) * step
        if part["neighbours"] == "replace-one":
            found.append((mpmath.log(ratio / other), ratio * weight))
            continue
        found.append(
            (mpmath.log(ratio), ratio * weight) if not backward else (-mpmath.log(ratio), weight)
        )
    return found, mpmath.mpf(1)


@cache
def delta_of(spec: str) -> Callable[[Any], Any]:
    """δ(ε): the larger one of both directions."""
    directions = [atoms_of(json.loads(spec), backward) for backward in (False, True)]

    def delta(eps: Any) -> Any:
        return max(
            failure + sum(weight * gaussian(eps - loss, mu) for loss, weight in losses)
            for mu, losses, failure in directions
        )

    return delta


def gaussian(x: Any, mu: Any) -> Any:
    """E[(1 - e^{x - L})⁺] of a Gaussian loss, for every real x."""
    return mpmath.ncdf(mu / 2 - x / mu) - mpmath.exp(x) * mpmath.ncdf(-mu / 2 - x / mu)


@cache
def supremum(spec: str, statement: str, eps_h: str | None, failure: str) -> Any:
    """The least μ for which a statement holds, to some twelve digits."""
    delta, p = delta_of(spec), mpmath.mpf(failure)

    def transform(eps: Any) -> Any:
        value = delta(eps)
        if statement == "approximate":
            value = (value - p) / (1 - p)
        return mu_at(eps, value)

    end = mpmath.mpf(eps_h) if eps_h else mpmath.mpf(6)
    grid = [end * i / 16 for i in range(17)]
    values = [transform(eps) for eps in grid]
    top = max(range(17), key=values.__getitem__)
    peak = best(transform, grid[max(top - 1, 0)], grid[min(top + 1, 16)], 1e-8)
    return max(values[top], transform(peak))


def is_true(document: Document) -> bool:
    """Whether the claim is true, up to errors far below its digits."""
    claim, spec = document["claim"], document["mechanism"]
    text = json.dumps(spec, sort_keys=True)
    with mpmath.workdps(DIGITS):
        mu, _, failure = atoms_of(spec, backward=False)
        tails = sum(
            count / mpmath.mpf(part["noise_multiplier"]) ** 2
            for part, count in parts_of(spec)
            if part["kind"] == "dpsgd"
        )
        tail = mpmath.inf if failure > SLACK else mpmath.sqrt(mu**2 + tails)
        if claim["verdict"] != ("gdp" if tail < mpmath.inf else "not-gdp"):
            return False
        ends = [mpmath.mpf(claim["mu_tail"][end]) for end in ("low", "high")]
        if not ends[0] - SLACK <= tail <= ends[1] + SLACK:
            return False
        p = claim["failure_probability"]
        if claim["statement"] == "whole":
            return mpmath.mpf(p) == 0 and ends[0] - SLACK <= mpmath.mpf(claim["mu"]["high"])
        if claim["statement"] == "head":
            if delta_of(text)(mpmath.mpf(claim["eps_h"])) > mpmath.mpf(p) + SLACK:
                return False
            p = "0"
        top = supremum(text, claim["statement"], claim["eps_h"], p)
        mus = [mpmath.mpf(claim["mu"][end]) for end in ("low", "high")]
        return bool(mus[0] - SLACK <= top <= mus[1] + SLACK)


# --- tests -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_claims_are_true(name: str) -> None:
    """Direct integration agrees with every certificate as it was written, and its size is small."""
    document = fresh(name)
    assert outcome(document) == "valid"
    assert is_true(document)
    assert len(text_of(name)) < 100_000


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_oracle_tells_what_is_false(name: str) -> None:
    """An interval short of the truth on either side is false to it."""
    document = fresh(name)
    mu = document["claim"]["mu"]
    for low, high in (("0", float(mu["low"]) - 1e-8), (float(mu["high"]) + 1e-8, "1000")):
        assert not is_true(put(document, ("claim", "mu"), {"low": str(low), "high": str(high)}))


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_still_accepted_is_still_true(name: str, thinned: Callable) -> None:
    """One changed field never makes the checker crash, or accept what is false."""
    # there are some 20,000 in all; these are spread over every field
    tried = thinned(changes(fresh(name)), 100, 3 + len(name))
    assert len(tried) > 25
    wrong = [
        what for what, changed in tried if outcome(changed) == "valid" and not is_true(changed)
    ]
    assert not wrong


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_missing_direction_or_cell_is_refused(name: str) -> None:
    """Every cell, every piece and every direction is needed; swapped directions prove nothing."""
    document = fresh(name)
    directions = document["evidence"]["directions"]
    assert outcome(put(document, ("evidence", "directions"), [])) in (
        "refused",
        "no certificate",
    )
    if len(directions) == 2:
        for kept in ([directions[0]], [directions[1]]):
            changed = put(document, ("evidence", "directions"), kept)
            assert outcome(changed) in ("refused", "no certificate")
    for number, direction in enumerate(directions):
        cells = direction["cells"]
        for index in range(0, len(cells) - 1, 1 + len(cells) // 8):
            fewer = cells[:index] + cells[index + 1 :]
            changed = put(document, ("evidence", "directions", number, "cells"), fewer)
            assert outcome(changed) != "valid", index


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_moved_claim_is_refused(name: str) -> None:
    """μ.high below the truth, μ.low above it, and a head's failure probability too small."""
    document = fresh(name)
    mu = document["claim"]["mu"]
    for step in (1e-8, 1e-4, 0.1):
        for end, value in (("high", float(mu["low"]) - step), ("low", float(mu["high"]) + step)):
            changed = put(document, ("claim", "mu", end), f"{value:.12f}")
            assert outcome(changed) != "valid"
    if document["claim"]["statement"] == "head":
        p = float(document["claim"]["failure_probability"])
        changed = put(document, ("claim", "failure_probability"), f"{p * 0.999:.15g}")
        assert outcome(changed) != "valid"


def test_each_direction_has_a_failure_of_its_own() -> None:
    """One of them fails more often: by its own chance, which is not that of the other."""
    often = [(-1, 0.1), (0, 0.5), (1, 0.37), ("inf", 0.03)]
    seldom = [(-1, 0.1), (0, 0.5), (1, 0.39), ("inf", 0.01)]
    for remove, add in ((often, seldom), (seldom, often)):
        loss = profiles.PLD(remove=remove, add=add)
        both = profiles.Sequence(parts=(profiles.Gaussian(sigma=2), loss))
        certificate = gdpbridge.measure(both, failure=0.05, tol=1e-3).certificate
        assert certificate is not None
        document = json.loads(certificate.to_json())
        assert accepted(document)
        document["claim"] |= {"failure_probability": "0.02", "mu": {"low": "0", "high": "50"}}
        assert not accepted(document)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_runs_of_a_thresholded_release(noise: str) -> None:
    """Wherever a record is alone, what two runs give away is below what is certified of them."""
    runs = profiles.ThresholdedRelease(noise=noise, scale=2, threshold=9).compose(2)
    document = gdpbridge.measure(runs, failure=0.05).certificate
    assert document is not None
    assert gdpbridge.verify(document).valid
    assert document.claim.profile_is == "bound"
    mu = mpmath.mpf(document.claim.mu.high)
    with mpmath.workdps(DIGITS):
        p = mpmath.ncdf(-4) if noise == "gaussian" else mpmath.exp(-4) / 2
        for alone in range(3):
            kept = (1 - p) ** alone
            for number in range(0, 12, 3):
                eps = mpmath.mpf(number) / 8
                own = noisy(2 - alone, eps - mpmath.log(kept), noise)
                delta = 1 - kept + kept * own
                low, high = runs.delta_bounds(float(eps))
                assert low <= high
                assert delta <= high * (1 + 1e-12)
                assert delta <= 0.05 + 0.95 * gaussian(eps, mu)


def noisy(counts: int, eps: Any, noise: str) -> Any:
    """E[(1 - e^{ε - L})⁺] of noise of a scale of 2 on so many counts, at most two."""
    if counts == 0:
        return max(-mpmath.expm1(eps), mpmath.mpf(0))
    if noise == "gaussian":
        return gaussian(eps, mpmath.sqrt(counts) / 2)
    end, exp = mpmath.mpf(1) / 2, mpmath.exp

    def once(x: Any) -> Any:
        return max(-mpmath.expm1((x - end) / 2 if x > -end else x), mpmath.mpf(0))

    if counts == 1:
        return once(eps)
    # a loss of 1/2 or -1/2, or one with a density between
    places = sorted({-end, end, *(x for x in (eps - end, eps + end) if -end < x < end)})
    between = mpmath.quad(lambda loss: exp((loss - end) / 2) * once(eps - loss), places) / 4
    return (once(eps - end) + exp(-end) * once(eps + end)) / 2 + between
