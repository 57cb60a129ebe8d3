"""μ and ε in the logs of a training run, and its report at the end.

Nothing of a training library is imported before it is used: a callback is made from the class
that the library gives. Numbers are upper ends of proved intervals, of the steps so far, and take
seconds each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gdpbridge.errors import InputError
from gdpbridge.files import write_text
from gdpbridge.measure import measure
from gdpbridge.mechanisms.opacus import profile_of_history
from gdpbridge.numeric.checked import Real, exact_between
from gdpbridge.report.privacy import PrivacyReport, privacy_report
from gdpbridge.specification.release import Release

__all__ = ["PrivacyLog", "follow", "lightning_callback"]

_REPORT, _CARD = "privacy.html", "privacy.md"
_ALLOWED = (
    "an accountant or engine of Opacus, a list of [noise multiplier, sample rate, steps], or a "
    "function that returns one"
)


class PrivacyLog:
    """What a run has spent so far, for any logger.

    Args:
        steps: where the steps are counted: an accountant with a ``history``, a privacy engine with
            an ``accountant``, a list of [noise multiplier, sample rate, steps], or a function
            that returns one.
        delta: the δ in (0, 1) of the ε that is logged.
        failure: p of the statement whose μ is logged, in (0, 1); that of
            :func:`gdpbridge.measure` if None.
        folder: where the report and the model card's section are written; nowhere if None.
        release: what is said of the release, for the report.

    Raises:
        InputError: for steps that are counted nowhere, or an argument outside its range.
    """

    def __init__(
        self,
        steps: Any,
        *,
        delta: Real = 1e-5,
        failure: Real | None = None,
        folder: str | os.PathLike[str] | None = None,
        release: Release | Mapping[str, Any] | None = None,
    ) -> None:
        self._history = _history_of(steps)
        self.delta = float(exact_between("delta", delta, 0, 1, "a number in (0, 1)"))
        self._failure, self._folder = failure, None if folder is None else Path(folder)
        self._release = release

    def values(self) -> dict[str, float]:
        """Return what to log: nothing before the first step."""
        history = self._history()
        if not history:
            return {}
        profile = profile_of_history(history)
        found = measure(profile, failure=self._failure)
        return {
            "privacy/mu": found.mu.upper,
            "privacy/failure_probability": found.failure_probability,
            "privacy/epsilon": float(profile.epsilon_bounds(self.delta)[1]),
            "privacy/delta": self.delta,
        }

    def report(self) -> PrivacyReport:
        """Return the report on the steps so far.

        Raises:
            InputError: before the first step.
        """
        profile = profile_of_history(self._history())
        found = measure(profile, failure=self._failure)
        release = self._release
        said = release if isinstance(release, Release) else dict(release or {})
        return privacy_report(profile, found, release=said)

    def write(self) -> list[Path]:
        """Write the report and the model card's section into the folder; return the files."""
        if self._folder is None or not self._history():
            return []
        self._folder.mkdir(parents=True, exist_ok=True)
        report, card = self.report(), self._folder / _CARD
        rows = "".join(f"| {name} | {text} |\n" for name, text in report.model_card())
        write_text(card, f"## Privacy\n\n| | |\n|---|---|\n{rows}")
        return [report.save(self._folder / _REPORT), card]

    def to_mlflow(self, step: int | None = None, *, last: bool = False) -> None:
        """Log to the active run of MLflow; the files too where it is the last time.

        Raises:
            ImportError: without MLflow.
        """
        mlflow = _library("mlflow", "logging to MLflow")
        mlflow.log_metrics(self.values(), step=step)
        for file in self.write() if last else ():
            mlflow.log_artifact(str(file), "privacy")


def lightning_callback(log: PrivacyLog, *, every: int = 1) -> Any:
    """Return a callback for Lightning's ``Trainer``.

    After every so many epochs μ and ε go to each logger of the trainer; at the end the files are
    written.

    Raises:
        InputError: for ``every`` that is no whole number ≥ 1.
        ImportError: without Lightning.
    """
    often = _often(every)
    base: Any
    try:
        base = _library("lightning.pytorch", "its callback").Callback
    except ImportError:
        base = _library("pytorch_lightning", "a callback for Lightning").Callback

    class PrivacyCallback(base):  # type: ignore[misc]
        def on_train_epoch_end(self, trainer: Any, _module: Any) -> None:
            if (trainer.current_epoch + 1) % often == 0 and trainer.is_global_zero:
                values = log.values()
                for logger in trainer.loggers if values else ():
                    logger.log_metrics(values, step=trainer.global_step)

        def on_train_end(self, trainer: Any, _module: Any) -> None:
            if trainer.is_global_zero:
                log.write()

    return PrivacyCallback()


def follow(trainer: Any, log: PrivacyLog, *, every: int = 1) -> Any:
    """Let a ``Trainer`` of Hugging Face log μ and ε, by its own ``log``, wherever that reports to.

    Args:
        trainer: the trainer.
        log: what is logged.
        every: after how many epochs.

    Returns:
        The callback that was added.

    Raises:
        InputError: for ``every`` that is no whole number ≥ 1.
        ImportError: without transformers.
    """
    often = _often(every)
    base: Any = _library("transformers", "a callback for its Trainer").TrainerCallback

    class PrivacyCallback(base):  # type: ignore[misc]
        def on_epoch_end(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
            values = log.values() if round(state.epoch) % often == 0 else {}
            if values and state.is_world_process_zero:
                trainer.log(values)

        def on_train_end(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                log.write()

    callback = PrivacyCallback()
    trainer.add_callback(callback)
    return callback


def _library(name: str, what: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ImportError(f"{what} needs {package}: pip install {package}") from None


def _often(every: int) -> int:
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise InputError("every", every, "a whole number ≥ 1")
    return every


def _history_of(steps: Any) -> Callable[[], Sequence[Any]]:
    counted = getattr(steps, "accountant", steps)
    if hasattr(counted, "history"):
        return lambda: list(counted.history)
    if callable(counted):
        return lambda: list(counted())
    if isinstance(counted, Sequence) and not isinstance(counted, str):
        return lambda: list(counted)
    raise InputError("steps", type(steps).__name__, _ALLOWED)
