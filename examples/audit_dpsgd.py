"""Audit DP-SGD in one run: written right, and with each of four bugs.

A logistic regression or a small network is trained by DP-SGD, in NumPy alone. A thousand or more
canaries are each in the training set by a coin; the attacker sees every noisy gradient, looks along
the direction of each canary's own gradient, and scores it. The audit compares the scores with the
trade-off function that is proved for the claimed noise, sampling and steps.

    python examples/audit_dpsgd.py                          every bug, logistic regression
    python examples/audit_dpsgd.py --model network          the same for a network
    python examples/audit_dpsgd.py --bug half-noise --scores scores.csv
    gdpbridge audit scores.csv --against dpsgd --noise-multiplier 3 --sample-rate 0.3 --steps 100

The bugs: the noise is half of what is claimed; the batch's gradient is clipped, and not each
record's; every record is in every batch; the noise is drawn once, and reused in every step.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gdpbridge as gdp

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BUGS = ("none", "half-noise", "batch-clipping", "no-sampling", "reused-noise")
MODELS = ("logistic", "network")
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Settings:
    """What is claimed of a training run, and what is planted in it.

    Attributes:
        model: "logistic" or "network".
        bug: one of ``BUGS``.
        noise_multiplier: σ, the noise's standard deviation over the clipping norm.
        sample_rate: q, the chance that a record is in a step's batch.
        steps: T.
        records: how many records are trained on beside the canaries.
        features: how many features they have.
        canaries: how many records may be in or out.
        hidden: the width of the network's layer.
        learning_rate: the step along the noisy mean gradient.
        seed: of data, coins and noise.
    """

    model: str = "logistic"
    bug: str = "none"
    noise_multiplier: float = 3.0
    sample_rate: float = 0.3
    steps: int = 100
    records: int = 2000
    features: int = 20
    canaries: int = 20_000
    hidden: int = 8
    learning_rate: float = 2.0
    seed: int = 0

    @property
    def claim(self) -> gdp.profiles.DPSGD:
        """The mechanism that the program is said to be."""
        return gdp.profiles.DPSGD(
            noise_multiplier=self.noise_multiplier,
            sample_rate=self.sample_rate,
            steps=self.steps,
        )


# a canary is a large value of a feature that no other record has: its gradient is clipped to a
# direction of its own
_CANARY_SIZE = 30.0


@dataclass(frozen=True)
class Flows:
    """What flows back through the model from some records.

    With the inputs, it gives each record's gradient and any sum of gradients.

    Attributes:
        back: into each hidden unit, shape (n, width).
        out: into the weights of the output, shape (n, width); 0 for a logistic regression.
        norms: of each record's whole gradient, shape (n,).
    """

    back: Floats
    out: Floats
    norms: Floats


class Model:
    """A logistic regression, or a network with one hidden layer of tanh units.

    Its first inputs are features of ordinary records; then each canary has one of its own.
    """

    def __init__(self, settings: Settings, rng: np.random.Generator) -> None:
        self.is_network = settings.model == "network"
        width = settings.hidden if self.is_network else 1
        inputs = settings.features + settings.canaries
        self.features = settings.features
        self.first = rng.normal(size=(inputs, width)) * (0.01 if self.is_network else 0.0)
        self.bias = np.zeros(width)
        self.second = rng.choice([-1.0, 1.0], size=width) if self.is_network else np.ones(1)

    def outputs(self, before: Floats) -> tuple[Floats, Floats]:
        """Return hidden units and log odds."""
        hidden = np.tanh(before) if self.is_network else before
        return hidden, hidden @ self.second

    def of_records(self, x: Floats) -> Floats:
        """Return what flows into the hidden units from records' features."""
        return x @ self.first[: self.features] + self.bias

    def of_canaries(self) -> Floats:
        """Return the same for all canaries."""
        return _CANARY_SIZE * self.first[self.features :] + self.bias

    def flows(self, before: Floats, sizes: Floats, y: Floats) -> Flows:
        """Return what flows back from records whose inputs have these squared norms."""
        hidden, log_odds = self.outputs(before)
        error = 1 / (1 + np.exp(-np.clip(log_odds, -30, 30))) - y
        back = error[:, None] * self.second
        out = np.zeros_like(hidden)
        if self.is_network:
            back, out = back * (1 - hidden**2), error[:, None] * hidden
        squares = (sizes + 1) * (back**2).sum(axis=1) + (out**2).sum(axis=1)
        return Flows(back, out, np.sqrt(squares))

    def step(self, gradient: list[Floats]) -> None:
        """Move against a gradient."""
        first, bias, second = gradient
        self.first -= first
        self.bias -= bias
        if self.is_network:
            self.second -= second


@dataclass(frozen=True)
class Training:
    """What the attacker sees of a run: each canary's direction in each noisy gradient.

    Attributes:
        along: the noisy gradient along the canary's own clipped one, shape (steps, canaries).
        inside: whether each canary was in.
        accuracy: of the trained model on its ordinary records.
    """

    along: Floats
    inside: Bools
    accuracy: float

    @property
    def scores(self) -> dict[str, Floats]:
        """Two attacks: how much of the canary there is in all, and how much it comes and goes."""
        return {"sum": self.along.sum(axis=0), "spread": self.along.var(axis=0)}


def train(settings: Settings) -> Training:
    """Train by DP-SGD with a clipping norm of 1, and look along every canary in every step."""
    rng = np.random.default_rng(settings.seed)
    n, m = settings.records, settings.canaries
    x = rng.normal(size=(n, settings.features))
    y = (x @ rng.normal(size=settings.features) > 0).astype(np.float64)
    labels = (rng.random(m) < 0.5).astype(np.float64)
    inside = rng.random(m) < 0.5
    model = Model(settings, rng)
    noise = settings.noise_multiplier * (0.5 if settings.bug == "half-noise" else 1.0)
    # a fixed number, known without the data
    batch = settings.sample_rate * (n + m)
    along, drawn = np.empty((settings.steps, m)), list[Floats]()
    for step in range(settings.steps):
        rate = 1.0 if settings.bug == "no-sampling" else settings.sample_rate
        records, canaries = rng.random(n) < rate, inside & (rng.random(m) < rate)
        of_records = model.flows(model.of_records(x), (x**2).sum(axis=1), y)
        of_canaries = model.flows(model.of_canaries(), np.full(m, _CANARY_SIZE**2), labels)
        clips = [
            chosen * _factors(flows, settings)
            for chosen, flows in ((records, of_records), (canaries, of_canaries))
        ]
        gradient = _sum(x, (of_records, of_canaries), clips)
        if settings.bug == "batch-clipping":
            # the mean gradient is clipped to 1, as if it were one record's
            size = np.sqrt(sum(float((part**2).sum()) for part in gradient)) / batch
            gradient = [part / max(size, 1.0) for part in gradient]
        if not drawn or settings.bug != "reused-noise":
            drawn = [noise * rng.normal(size=part.shape) for part in gradient]
        noisy = [part + more for part, more in zip(gradient, drawn, strict=True)]
        along[step] = _along(noisy, of_canaries, settings.features)
        model.step([settings.learning_rate * part / batch for part in noisy])
    _, log_odds = model.outputs(model.of_records(x))
    return Training(along, inside, float(((log_odds > 0) == (y > 0.5)).mean()))


def _factors(flows: Flows, settings: Settings) -> Floats:
    """Return what each record's gradient is multiplied by, for a norm of at most 1."""
    clipped = np.maximum(flows.norms, 1.0)
    return np.ones_like(clipped) if settings.bug == "batch-clipping" else np.asarray(1 / clipped)


def _sum(x: Floats, flows: tuple[Flows, Flows], clips: list[Floats]) -> list[Floats]:
    """Return the sum of clipped gradients: of the inputs' weights, the biases, the output's."""
    records, canaries = (clip[:, None] * one.back for clip, one in zip(clips, flows, strict=True))
    first = np.concatenate([x.T @ records, _CANARY_SIZE * canaries])
    bias = records.sum(axis=0) + canaries.sum(axis=0)
    second = sum(
        (clip[:, None] * one.out).sum(axis=0) for clip, one in zip(clips, flows, strict=True)
    )
    return [first, bias, np.asarray(second)]


def _along(noisy: list[Floats], canaries: Flows, features: int) -> Floats:
    """Return the noisy gradient along each canary's own clipped gradient."""
    first, bias, second = noisy
    found = _CANARY_SIZE * (first[features:] * canaries.back).sum(axis=1)
    found += canaries.back @ bias + canaries.out @ second
    return np.asarray(found / np.maximum(canaries.norms, 1.0))


def audited(training: Training, claim: gdp.profiles.DPSGD, seed: int = 0) -> list[gdp.Audit]:
    """Audit by both attacks; each has half of what may fail, as the better one is believed."""
    share = 1 - (1 - CONFIDENCE) / len(training.scores)
    return [
        gdp.audit(scores, training.inside, confidence=share, against=claim, seed=seed)
        for scores in training.scores.values()
    ]


def main() -> None:
    """Train and audit, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--model", choices=MODELS, default="logistic")
    parser.add_argument("--bug", choices=BUGS, help="plant this one only [default: each in turn]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scores", type=Path, help="also write the scores of the sum as CSV")
    given = parser.parse_args()
    settings = Settings(model=given.model, seed=given.seed)
    print(f"claimed: {settings.model}, {settings.claim!r}")
    for bug in BUGS if given.bug is None else (given.bug,):
        started = time.perf_counter()
        training = train(replace(settings, bug=bug))
        found = audited(training, settings.claim, given.seed)
        best = min(found, key=lambda one: 1.0 if one.p_value is None else one.p_value)
        p_value = min(1.0, len(found) * (best.p_value or 0.0))
        verdict = "contradicted" if best.contradicts else "not contradicted"
        print(
            f"{bug:15} {verdict:17} p = {p_value:<8.2g} μ at least {best.mu.lower:.3f}, "
            f"accuracy {training.accuracy:.2f}, {time.perf_counter() - started:.0f} s"
        )
        if given.scores is not None:
            write(given.scores, training.scores["sum"], training.inside)


def write(path: Path, scores: Floats, inside: Bools) -> None:
    """Write scores as gdpbridge audit reads them."""
    rows = (f"{score!r},{int(one)}\n" for score, one in zip(scores.tolist(), inside, strict=True))
    path.write_text("score,member\n" + "".join(rows))


if __name__ == "__main__":
    main()
