"""The examples of training, each with its real library where that is installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import gdpbridge as gdp

# eight steps of the two that Opacus counts; ε is what the same steps have anywhere
RUN = gdp.profiles.DPSGD(noise_multiplier=2.0, sample_rate=0.25, steps=8)

MLFLOW = """\
import sys, mlflow
from gdpbridge.training import PrivacyLog
folder = sys.argv[1]
mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
experiment = mlflow.create_experiment("run", artifact_location=f"file:{folder}/artifacts")
log = PrivacyLog([[4.0, 1.0, 2]], folder=f"{folder}/files")
with mlflow.start_run(experiment_id=experiment) as run:
    log.to_mlflow(1)
    log.to_mlflow(2, last=True)
client = mlflow.MlflowClient()
logged = client.get_metric_history(run.info.run_id, "privacy/mu")
files = client.list_artifacts(run.info.run_id, "privacy")
print([one.step for one in logged], sorted(one.path for one in files))
"""


def _run(words: list[str], *needed: str) -> str:
    """Run Python on words, in a process of its own: these libraries warn, and take long to load."""
    for library in needed:
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("script", "needed"),
    [
        ("lightning_opacus", ("lightning", "opacus")),
        ("hugging_face_opacus", ("transformers", "accelerate", "opacus")),
    ],
)
def test_opacus(root: Path, tmp_path: Path, script: str, needed: tuple[str, ...]) -> None:
    """A run of Lightning or of Hugging Face's Trainer logs every epoch, and writes its papers."""
    path = root / "examples" / "training" / f"{script}.py"
    assert "steps: 8" in _run([str(path), str(tmp_path)], *needed)
    card = (tmp_path / "privacy.md").read_text(encoding="utf-8")
    assert "noise multiplier σ = 2, sample rate q = 0.25, steps T = 8" in card
    assert "A linear classifier" in (tmp_path / "privacy.html").read_text(encoding="utf-8")
    if script == "lightning_opacus":
        lines = (tmp_path / "log" / "version_0" / "metrics.csv").read_text("utf-8").splitlines()
        column = lines[0].split(",").index("privacy/epsilon")
        logged = [float(line.split(",")[column]) for line in lines[1:]]
        assert len(logged) == 2
        assert logged[0] < logged[1] == pytest.approx(RUN.epsilon_bounds(1e-5)[1], rel=1e-9)


def test_mlflow(tmp_path: Path) -> None:
    """MLflow has the numbers of each step, and the files of the last."""
    shown = _run(["-c", MLFLOW, str(tmp_path)], "mlflow", "sqlalchemy")
    assert shown.splitlines()[-1] == "[1, 2] ['privacy/privacy.html', 'privacy/privacy.md']"


def test_jax_privacy(root: Path) -> None:
    """A plan of JAX Privacy is trained by and measured, also with correlated noise."""
    path = root / "examples" / "training" / "jax_privacy_plan.py"
    shown = _run([str(path)], "jax_privacy").splitlines()
    epsilon = RUN.epsilon_bounds(1e-5)[1]
    assert (
        f"  ε in [{epsilon:.6f}, {epsilon:.6f}] at δ = 1e-05, and {epsilon:.6f} by theirs" in shown
    )
    assert sum(line.startswith("bands 2: μ ≤") for line in shown) == 1


@pytest.mark.parametrize(
    ("used_microbatching", "stated"),
    # what tensorflow-privacy 0.9.0 prints, by Rényi divergences
    [(True, (56.950, 9.127)), (False, (21.901, 1.281))],
)
def test_tensorflow_privacy(
    root: Path, used_microbatching: bool, stated: tuple[float, float]
) -> None:
    """The ε of its privacy statement are ours or more, by what Rényi divergences lose."""
    path = root / "examples" / "training" / "tensorflow_privacy_statement.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    profiles = module.profiles_of(60000, 256, 15, 1.1, used_microbatching=used_microbatching)
    for theirs, profile in zip(stated, profiles.values(), strict=True):
        assert 0.8 * theirs < profile.epsilon_bounds(1e-5)[1] < theirs
