"""Calibration lands on the target from the safe side."""

from __future__ import annotations

from decimal import Decimal
from math import atanh, log, log1p
from typing import Any, Literal, get_args, get_origin

import pytest

import gdpbridge as gdp
from gdpbridge import measure, profiles
from gdpbridge.calibrate import calibrate
from gdpbridge.errors import InputError
from gdpbridge.goals import Goal, goal_of
from gdpbridge.profiles import kinds

CASES: list[tuple[str, float, dict[str, Any]]] = [
    ("laplace", 1, {}),
    ("laplace", 1, {"scale": 2, "parameter": "sensitivity"}),
    ("laplace", 30, {}),
    ("gaussian", 1, {}),
    ("pure-dp", 1, {}),
    ("approx-dp", 1, {"delta": 1e-6}),
    ("randomized-response", 0.5, {}),
    ("randomized-response", 0.5, {"buckets": 20}),
    ("sgd-family", 1, {"A": 2, "B": 1}),
    ("sgd-family", 1, {"A": 2, "sigma": 4}),
]


@pytest.mark.parametrize(("kind", "target", "given"), CASES)
def test_lands_on_the_target(kind: str, target: float, given: dict[str, Any]) -> None:
    """Measured again, μ is at most the target and within 1e-9 of it; just beyond, it is above."""
    found = calibrate(kind, target, **given)
    again = measure(found.profile)
    assert again.mu.upper <= target
    assert target - again.mu.lower <= 1e-9
    others = {k: v for k, v in given.items() if k != "parameter"}
    beyond = kinds()[kind](**others, **{found.parameter: found.beyond})
    assert measure(beyond).mu.lower > target
    assert abs(found.value - found.beyond) <= 1e-7 * found.value


RUN = {"sample_rate": 0.01, "steps": 10_000}


@pytest.mark.parametrize(
    ("kind", "given", "parameter", "value"),
    [
        # δ(ε) = 1 - e^{(ε - Δ/b)/2}
        (
            "laplace",
            {"target_epsilon": 1, "target_delta": 1e-6},
            "scale",
            1 / (1 - 2 * log1p(-1e-6)),
        ),
        ("laplace", {"target_advantage": 0.1}, "scale", -0.5 / log1p(-0.1)),
        ("pure-dp", {"target_advantage": 0.1}, "epsilon", 2 * atanh(0.1)),
        ("gaussian", {"target_tpr": 0.01, "target_fpr": 0.001}, "sigma", 1.3090985487),
        ("gaussian", {"target_advantage": 0.38292492254802624}, "sigma", 1.0),
        (
            "dpsgd",
            {"target_epsilon": 6.1877123, "target_delta": 1.0000002744330295e-5, **RUN},
            "noise_multiplier",
            1.0,
        ),
        ("dpsgd", {"target_advantage": 0.48007235890197017, **RUN}, "noise_multiplier", 1.0),
        (
            "dpsgd",
            {
                "target_epsilon": 6.1877123,
                "target_delta": 1.0000002744330295e-5,
                "noise_multiplier": 1,
                "steps": 10_000,
            },
            "sample_rate",
            0.01,
        ),
    ],
)
def test_other_targets(kind: str, given: dict[str, Any], parameter: str, value: float) -> None:
    """The parameter is the one of the closed form, or of a stored value, and each end is proved."""
    found = calibrate(kind, **given)
    assert found.parameter == parameter
    assert found.certified
    assert found.value == pytest.approx(value, rel=1e-8)
    assert abs(found.value - found.beyond) <= 1e-7 * found.value
    assert found.attained.high <= found.goal.target
    assert found.target_mu is None


@pytest.mark.parametrize("steps", [100, 9_999])
def test_steps_of_a_run(steps: int) -> None:
    """The steps that a (ε, δ) allows are a whole number, and one more would exceed it."""
    given = {"noise_multiplier": 1, "sample_rate": 0.01}
    delta = profiles.DPSGD(**given, steps=steps).delta_bounds(2.0)[1]
    found = calibrate("dpsgd", target_epsilon=2, target_delta=delta * (1 + 1e-9), **given)
    assert (found.value, found.beyond) == (steps, steps + 1)
    assert isinstance(found.value, int)


def test_runs_of_a_mechanism() -> None:
    """The number of runs that a μ allows: μ of k Gaussian ones is √k·Δ/σ."""
    found = calibrate("gaussian", 1, sigma=7, parameter="times")
    assert (found.parameter, found.value, found.beyond) == ("times", 49, 50)


@pytest.mark.parametrize("calibrates", [False, True])
def test_progress_never_falls(calibrates: bool) -> None:
    """What is reported of a run composed in two directions grows, and stays in [0, 1]."""
    shares: list[float] = []

    def progress(_: str, share: float) -> None:
        shares.append(share)

    if calibrates:
        calibrate("dpsgd", target_epsilon=1, target_delta=1e-5, progress=progress, **RUN)
    else:
        run = profiles.DPSGD(noise_multiplier=1, **RUN)
        measure(run, tol=1e-6, failure=1e-6, progress=progress)
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1


@pytest.mark.parametrize("kind", ["laplace", "pure-dp", "exponential"])
@pytest.mark.parametrize(
    "target", [{"target_mu": 1, "tol": 0.1}, {"target_mu": 1}, {"target_advantage": 0.1}]
)
def test_a_mechanism_is_made_once(
    kind: str, target: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search makes few mechanisms, as some take seconds each: a coarse width asks for no more."""
    cls, made = kinds()[kind], list[Any]()
    make = cls.build_curve
    monkeypatch.setattr(cls, "build_curve", lambda self: (made.append(self), make(self))[1])
    found = calibrate(kind, **target)
    assert found.attained.upper <= found.goal.target
    assert len(made) <= 14


def test_whole_numbers_are_neighbours() -> None:
    """For a whole-number parameter the two ends are neighbours."""
    found = calibrate("icea", 5, users=4, eps_h=100)
    assert found.parameter == "messages"
    assert found.value == found.beyond + 1
    assert measure(found.profile, eps_h=100).mu.upper <= 5


def test_a_jump_is_bracketed() -> None:
    """Where μ jumps to infinity the bracket closes on the jump."""
    found = calibrate("approx-dp", 1, epsilon=0.5, failure=1e-6)
    assert found.parameter == "delta"
    assert found.value <= 1e-6 <= found.beyond


def test_the_mu_of_a_pair() -> None:
    """The largest μ whose mechanisms are (ε, δ)-DP is that of the pair."""
    found = calibrate("gdp", target_epsilon=1, target_delta=1e-5)
    assert found.value <= gdp.mu(1, delta=1e-5) <= found.beyond
    assert found.value == pytest.approx(found.beyond, rel=1e-6)


@pytest.mark.parametrize("kind", ["laplace", "sgd-family", "sparse-vector"])
def test_rates_at_a_corner_are_as_close(kind: str) -> None:
    """Where the best attack is at a corner of δ, the bracket is no wider than elsewhere."""
    given = {"sgd-family": {"A": 2, "sigma": 2}, "sparse-vector": {"threshold_scale": 1}}
    free = {"sgd-family": "B", "sparse-vector": "sensitivity"}
    rest = {"answer_scale": 2} if kind == "sparse-vector" else {}
    found = calibrate(
        kind,
        target_tpr=0.05,
        target_fpr=0.02,
        parameter=free.get(kind),
        **given.get(kind, {}),
        **rest,
    )
    assert found.value == pytest.approx(found.beyond, rel=1e-7)
    assert found.attained.high <= Decimal("0.05")


def test_a_certificate_is_about_the_rate_that_was_asked_for() -> None:
    """0.3 is 3/10, though the float that stands for it is less."""
    found = calibrate("gaussian", target_tpr=0.5, target_fpr=0.3).certificate
    assert found.claim.answers is not None
    (answer,) = found.claim.answers
    assert answer.at == "0.3"
    # at a small FPR laplace has a TPR of e^{1/scale} times that
    scale = 1 / log(4 / 3)
    small = calibrate("laplace", target_tpr=0.4, target_fpr=0.3).value
    assert scale * (1 - 1e-15) <= small <= scale * (1 + 1e-8)


@pytest.mark.parametrize(
    ("kind", "target", "given", "field"),
    [
        ("lapace", 1, {}, "mechanism"),
        ("laplace", 0, {}, "target_mu"),
        ("laplace", float("nan"), {}, "target_mu"),
        ("laplace", 5000, {}, "target_mu"),
        ("laplace", 900, {}, "target_mu"),
        ("laplace", 1, {"scale": 2}, "parameter"),
        ("laplace", 1, {"scale": 2, "parameter": "scale"}, "parameter"),
        ("laplace", 1, {"parameter": "colour"}, "parameter"),
        ("sgd-family", 1, {"A": 2}, "parameter"),
        ("table", 1, {"pairs": [[1, 1e-5]]}, "kind"),
        ("table", 1, {"parameter": "pairs"}, "kind"),
        ("laplace", 1, {"sensitivity": -1}, "sensitivity"),
        ("laplace", 1, {"tol": 0}, "tol"),
        ("laplace", None, {}, "target_mu"),
        ("laplace", 1, {"target_advantage": 0.1}, "target_mu and target_advantage"),
        ("laplace", None, {"target_epsilon": 1}, "target_delta"),
        ("laplace", None, {"target_tpr": 0.1}, "target_fpr"),
        ("laplace", None, {"target_tpr": 0.1, "target_fpr": 0.1}, "target_tpr"),
        ("laplace", None, {"target_advantage": 1}, "target_advantage"),
        ("laplace", None, {"target_advantage": 0.5, "tol": 1e-3}, "tol"),
        ("laplace", None, {"target_epsilon": -1, "target_delta": 0.1}, "target_epsilon"),
        ("approx-dp", None, {"target_advantage": 0.1, "delta": 0.2}, "target_advantage"),
    ],
)
def test_bad_input(kind: str, target: float | None, given: dict[str, Any], field: str) -> None:
    """Bad arguments, and targets out of reach, are named."""
    with pytest.raises(InputError) as caught:
        calibrate(kind, target, **given)
    assert caught.value.field == field


@pytest.mark.slow
def test_declared_effects_are_true() -> None:
    """Every parameter that declares an effect has it: μ moves that way across its range."""
    checked = 0
    for kind, cls in kinds().items():
        extras = {name: info.json_schema_extra for name, info in cls.parameters().items()}
        effects = {name: extra.get("effect") for name, extra in extras.items()}
        if not any(effects.values()):
            continue
        base: dict[str, Any] = {"entries": [[1, 0], [0.5, 1]]} if "matrix" in kind else {}
        for name, info in cls.parameters().items():
            if info.is_required() and get_origin(info.annotation) is Literal:
                base[name] = get_args(info.annotation)[0]
            if "typical" not in extras[name] or (not info.is_required() and info.default is None):
                continue
            low, high = extras[name]["typical"]
            middle = (low * high) ** 0.5
            base[name] = round(middle) if info.annotation is int else middle
        if kind == "random-allocation":
            # the law of many numbers takes a second
            base["steps"] = 2
        options = {"eps_h": 20.0} if kind == "icea" else {}
        if cls(**base).default_failure is not None:
            # nothing is measured at other failure probabilities
            options = {"failure": 1e-10, "tol": 1e-5}
        less = measure(cls(**base), **options)
        for name, effect in effects.items():
            # of a run in other words, the tests of plans look at both sides
            if effect is None or name not in base:
                continue
            step = 1 if isinstance(base[name], int) else 0.1 * base[name]
            more = measure(cls(**{**base, name: base[name] + step}), **options)
            checked += 1
            if effect == "raises":
                assert more.mu.lower >= less.mu.lower - 1e-9, (kind, name)
            else:
                assert more.mu.upper <= less.mu.upper + 1e-9, (kind, name)
    assert checked >= 12


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("laplace", {"target_mu": 900}, "target_mu is 900.0: must be below 632"),
        ("approx-dp", {"target_advantage": 0.1, "delta": 0.2}, "must be at least 0.2"),
        ("sgd-family", {"target_mu": 1, "A": 2}, "of B and sigma give all but the one to find"),
        ("dpsgd", {"target_mu": 1}, "of noise_multiplier, sample_rate and steps give all but"),
        ("gaussian", {"target_mu": 1, "sigma": 1}, "find, sigma or sensitivity, and leave its"),
    ],
)
def test_what_would_do_is_told(kind: str, given: dict[str, Any], words: str) -> None:
    """Which targets are within reach, and which parameters are wanted."""
    with pytest.raises(InputError, match=words):
        calibrate(kind, **given)


def test_how_close_to_a_mu() -> None:
    """From 10⁻¹⁰⁰ to 1."""

    def goal(tol: Any) -> Goal:
        given = dict.fromkeys(("epsilon", "delta", "advantage", "tpr", "fpr", "eps_h", "failure"))
        return goal_of(mu=1, tol=tol, **given)

    assert goal("1e-100").target == goal(1).target == 1
    for tol in ("9e-101", 1.5):
        with pytest.raises(InputError, match="a number in") as caught:
            goal(tol)
        assert caught.value.field == "tol"


def test_the_measurement_at_the_safe_end() -> None:
    """The one by which the target is met; of another target it is made when it is asked for."""
    found = calibrate("laplace", 1, eps_h=0.5)
    assert found.measurement is found.measured
    assert found.measurement.statement == "head"
    other = calibrate("laplace", target_advantage=0.1)
    assert other.measured is None
    assert other.measurement.mu == measure(other.profile).mu


def test_a_target_in_words() -> None:
    """An advantage is δ at 0, which is not told."""
    given = {"target_epsilon": 1, "target_delta": 0.01}
    assert calibrate("gaussian", **given).goal.words.endswith(" at ε = 1")
    assert "ε" not in calibrate("gaussian", target_advantage=0.1).goal.words
