"""Make explorer_reference.json: 200 random settings of the explorer, and the library's answers.

Each answer is an interval: μ of the default statement, ε at δ = 1e-5 and δ at ε = 1. Run it from
the root of the repository; it takes some ten minutes. Settings that take long are passed over.
Twenty of them are hard: training runs with little noise, tiny rates, few steps or very many.
"""

from __future__ import annotations

import json
import math
import random
import signal
from pathlib import Path
from typing import Any

import gdpbridge as gdp

SETTINGS = 200
PATIENCE = 15  # seconds of the processor
TARGET = Path(__file__).with_name("explorer_reference.json")


def rounded(value: float) -> float:
    return float(f"{value:.3g}")


def between(draw: random.Random, low: float, high: float) -> float:
    return rounded(math.exp(draw.uniform(math.log(low), math.log(high))))


def step(draw: random.Random, kind: str) -> dict[str, Any]:
    match kind:
        case "laplace":
            values = {"scale": between(draw, 0.3, 30), "sensitivity": between(draw, 0.5, 2)}
        case "gaussian":
            values = {"sigma": between(draw, 0.3, 20), "sensitivity": between(draw, 0.5, 2)}
        case "gdp":
            values = {"mu": between(draw, 0.05, 5)}
        case "pure-dp":
            values = {"epsilon": between(draw, 0.02, 4)}
        case "approx-dp":
            values = {"epsilon": between(draw, 0.02, 4), "delta": between(draw, 1e-9, 1e-4)}
        case "randomized-response":
            values = {"noise_parameter": between(draw, 0.1, 0.95), "buckets": draw.randint(2, 12)}
        case "discrete-laplace":
            values = {"scale": between(draw, 0.5, 20), "sensitivity": draw.randint(1, 6)}
        case "discrete-gaussian":
            values = {"sigma": between(draw, 0.4, 20), "sensitivity": draw.randint(1, 4)}
        case _:
            records = round(between(draw, 1e4, 1e6))
            values = {
                "noise_multiplier": between(draw, 0.8, 10),
                "batch_size": round(between(draw, 64, records / 20)),
                "records": records,
                "epochs": between(draw, 1, 40),
            }
    return {"kind": kind, "values": values, "count": 1}


def hard_run(draw: random.Random) -> dict[str, Any]:
    batch = round(between(draw, 10, 1e6))
    values = {
        "noise_multiplier": between(draw, 0.3, 20),
        "batch_size": batch,
        "records": 1_000_000,
        "epochs": rounded(between(draw, 1, 2e5) * batch / 1e6),
    }
    return {"kind": "dpsgd", "values": values, "count": 1}


def table(draw: random.Random) -> dict[str, Any]:
    eps = sorted(between(draw, 0.05, 6) for _ in range(draw.randint(1, 6)))
    text = "eps,delta\n" + "".join(
        f"{one},{between(draw, 1e-9, 0.1) * math.exp(-one):.3g}\n" for one in dict.fromkeys(eps)
    )
    return {"kind": "table", "values": {}, "count": 1, "text": text}


def setting(draw: random.Random, number: int) -> list[dict[str, Any]]:
    singles = ["laplace", "gaussian", "gdp", "pure-dp", "approx-dp"]
    singles += ["randomized-response", "discrete-laplace"]
    if number % 10 == 0:
        return [hard_run(draw)]
    if number % 10 in (1, 2):
        return [step(draw, "dpsgd")]
    if number % 10 in (3, 4):
        return [step(draw, draw.choice([*singles, "discrete-gaussian"]))]
    if number % 10 == 5:
        return [table(draw)]
    if number % 10 in (6, 7):
        one = step(draw, draw.choice(["gaussian", "pure-dp", "approx-dp", "laplace"]))
        return [{**one, "count": round(between(draw, 2, 60))}]
    rest = [step(draw, draw.choice(["laplace", "pure-dp", "approx-dp"])) for _ in range(2)]
    return [step(draw, draw.choice(["dpsgd", "gaussian"])), *rest[: draw.randint(1, 2)]]


def profile_of(steps: list[dict[str, Any]]) -> gdp.Profile:
    parts = []
    for one in steps:
        if one["kind"] == "table":
            rows = [line.split(",") for line in one["text"].split()[1:]]
            return gdp.profiles.Table(pairs=[(float(e), float(d)) for e, d in rows])
        part = gdp.load_profile({"kind": one["kind"], **one["values"]})
        parts.append(part if one["count"] == 1 else part.compose(one["count"]))
    return parts[0] if len(parts) == 1 else gdp.profiles.Sequence(parts=tuple(parts))


def answers(profile: gdp.Profile) -> dict[str, Any]:
    found = gdp.measure(profile)
    return {
        "statement": found.statement.value,
        "p": found.failure_probability,
        "mu": [float(found.mu.lower), found.mu.upper],
        "epsilon": [one if math.isfinite(one) else "inf" for one in profile.epsilon_bounds(1e-5)],
        "delta": list(profile.delta_bounds(1.0)),
    }


def too_long(*_: object) -> None:
    raise TimeoutError("takes long")


def main() -> None:
    draw = random.Random(20)
    found: list[dict[str, Any]] = []
    signal.signal(signal.SIGVTALRM, too_long)
    number = 0
    while len(found) < SETTINGS:
        steps = setting(draw, number)
        number += 1
        signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
        try:
            found.append({"steps": steps, **answers(profile_of(steps))})
        except (gdp.GdpBridgeError, TimeoutError) as error:
            print("passed over:", steps, error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        print(len(found), "of", SETTINGS, flush=True)
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in found)
    TARGET.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
