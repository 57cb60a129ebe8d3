"""Callbacks: what reaches the loggers of training libraries, by stand-ins for these."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.sources.opacus import BoundsAccountant
from gdpbridge.training import PrivacyLog, follow, lightning_callback

# every record in every step: Gaussian noise, which is quick
STEPS = [[4.0, 1.0, 2]]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """Puts a stand-in where a library would be."""

    def put(name: str, **names: Any) -> ModuleType:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            module = ModuleType(".".join(parts[:end]))
            monkeypatch.setitem(sys.modules, module.__name__, module)
        module.__dict__.update(names)
        return module

    return put


def test_values(tmp_path: Path) -> None:
    """μ and ε are upper bounds of the steps so far; nothing before the first."""
    counted: list[Any] = []
    log = PrivacyLog(lambda: counted, folder=tmp_path / "none")
    assert log.values() == {}
    assert log.write() == []
    counted += STEPS
    values = log.values()
    profile = gdp.profiles.OpacusHistory(history=STEPS)
    assert values["privacy/mu"] == gdp.measure(profile).mu.upper
    assert values["privacy/epsilon"] >= float(profile.epsilon_bounds(1e-5)[0])
    accountant = BoundsAccountant()
    for _ in range(2):
        accountant.step(noise_multiplier=4.0, sample_rate=1.0)
    for steps in (STEPS, accountant, SimpleNamespace(accountant=accountant)):
        assert PrivacyLog(steps).values() == values
    for bad in ("text", 3):
        with pytest.raises(InputError, match="steps is"):
            PrivacyLog(bad)


def test_lightning(
    library: Callable[..., ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second epoch each logger gets the numbers; at the end the files are there."""
    library("lightning.pytorch", Callback=object)
    # pictures take their time, and are no part of it
    monkeypatch.setitem(sys.modules, "altair", None)
    log = PrivacyLog(STEPS, folder=tmp_path / "run", release={"title": "My model"})
    callback = lightning_callback(log, every=2)
    logged: list[tuple[str, int]] = []
    logger = SimpleNamespace(log_metrics=lambda values, step: logged.append((*values, step)))
    for epoch in range(3):
        trainer = SimpleNamespace(
            current_epoch=epoch, global_step=10 * epoch, is_global_zero=True, loggers=[logger] * 2
        )
        callback.on_train_epoch_end(trainer, None)
    assert [(one[0], one[-1]) for one in logged] == [("privacy/mu", 10)] * 2
    callback.on_train_end(trainer, None)
    card = (tmp_path / "run" / "privacy.md").read_text(encoding="utf-8")
    assert card.startswith("## Privacy\n")
    assert "| Guarantee | μ ≤" in card
    assert "<h1>My model</h1>" in (tmp_path / "run" / "privacy.html").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="every is"):
        lightning_callback(log, every=0)


def test_hugging_face(library: Callable[..., ModuleType]) -> None:
    """The trainer's own log gets the numbers, in its first process only."""
    library("transformers", TrainerCallback=object)
    logged: list[dict[str, float]] = []
    added: list[Any] = []
    trainer = SimpleNamespace(log=logged.append, add_callback=added.append)
    callback = follow(trainer, PrivacyLog(STEPS))
    assert added == [callback]
    for first in (True, False):
        state = SimpleNamespace(epoch=1.0, is_world_process_zero=first)
        callback.on_epoch_end(None, state, None, model=None)
        callback.on_train_end(None, state, None)
    assert [set(one) for one in logged] == [
        {"privacy/mu", "privacy/failure_probability", "privacy/epsilon", "privacy/delta"}
    ]


def test_mlflow(
    library: Callable[..., ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The active run gets the numbers, and the files at the end."""
    metrics: list[tuple[float, int | None]] = []
    files: list[str] = []
    library(
        "mlflow",
        log_metrics=lambda values, step=None: metrics.append((values["privacy/mu"], step)),
        log_artifact=lambda file, folder: files.append(f"{folder}/{Path(file).name}"),
    )
    log = PrivacyLog(STEPS, folder=tmp_path)
    monkeypatch.setattr(log, "write", lambda: [tmp_path / "privacy.html", tmp_path / "privacy.md"])
    log.to_mlflow(3)
    log.to_mlflow(4, last=True)
    assert [step for _, step in metrics] == [3, 4]
    assert files == ["privacy/privacy.html", "privacy/privacy.md"]


def test_without_the_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not installed is named."""
    for name in ("lightning", "lightning.pytorch", "pytorch_lightning", "transformers", "mlflow"):
        monkeypatch.setitem(sys.modules, name, None)
    log = PrivacyLog(STEPS)
    for use, name in (
        (lambda: lightning_callback(log), "pytorch_lightning"),
        (lambda: follow(None, log), "transformers"),
        (log.to_mlflow, "mlflow"),
    ):
        with pytest.raises(ImportError, match=f"pip install {name}"):
            use()
