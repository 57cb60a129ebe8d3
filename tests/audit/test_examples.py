"""Training runs audited in one run: the planted bugs are found, and the right program is not."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import gdpbridge as gdp


@pytest.fixture(scope="module")
def example(root: Path) -> ModuleType:
    """The example of audited training."""
    spec = importlib.util.spec_from_file_location(
        "audit_dpsgd", root / "examples" / "audit_dpsgd.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("model", ["logistic", "network"])
def test_bugs_in_training_are_found_and_the_right_program_is_not_accused(
    example: ModuleType, model: str
) -> None:
    """Of programs with one claim, those that are another mechanism are contradicted."""
    settings = example.Settings(model=model)
    # a network takes longer, and its gradients are treated alike
    for bug in example.BUGS if model == "logistic" else ("none", "batch-clipping"):
        training = example.train(replace(settings, bug=bug))
        found = example.audited(training, settings.claim)
        assert any(one.contradicts for one in found) == (bug != "none"), bug
        assert training.accuracy > 0.85


def test_scores_that_an_example_writes_are_read(example: ModuleType, tmp_path: Path) -> None:
    """The file has the columns that the command line reads, with all digits."""
    settings = example.Settings(canaries=200, records=50, steps=5)
    training = example.train(settings)
    path = tmp_path / "scores.csv"
    example.write(path, training.scores["sum"], training.inside)
    from gdpbridge.auditing.reading import read_columns

    columns = read_columns(str(path))
    assert (columns["score"] == training.scores["sum"]).all()
    assert gdp.audit(columns["score"], columns["member"]).canaries == 200


def test_a_measurement_without_clamping_is_found_out(root: Path) -> None:
    """The program around an OpenDP measurement that clamps is not accused, the other one is."""
    pytest.importorskip("opendp")
    spec = importlib.util.spec_from_file_location(
        "audit_opendp", root / "examples" / "audit_opendp.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    programs = module.programs()
    for name, contradicted in (("clamped", False), ("unclamped", True)):
        found = gdp.audit_mechanism(
            programs[name], worlds=module.WORLDS, runs=1000, against=module.CLAIM, delta=0
        )
        assert found.contradicts == contradicted, name
