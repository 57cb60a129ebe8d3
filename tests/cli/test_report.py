"""``gdpbridge report``."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples, which is the current one."""
    shutil.copy(EXAMPLES / "release.toml", tmp_path)
    shutil.copy(EXAMPLES / "pairs.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_page(run: Callable, folder: Path) -> None:
    """A page is written, and its statement printed."""
    done = run("report laplace --scale 0.5 -o report.html")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(
        "report.html: laplace: scale b = 0.5, sensitivity Δ = 1: μ in [1.8009"
    )
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    "words", ["--spec release.toml", "laplace --scale 0.5 --release told.toml"]
)
def test_what_is_said_of_a_release(run: Callable, folder: Path, words: str) -> None:
    """It stands in the mechanism's file, or in one of its own, alone or as a table."""
    text = (folder / "release.toml").read_text(encoding="utf-8")
    (folder / "told.toml").write_text(text[text.index("[release]") :], encoding="utf-8")
    said = run(f"report {words} --json").document["release"]
    assert said["unit_of_privacy"] == "a person's travel in one week"
    assert said["date"] == "2026-11-01"
    assert said["contact"] is None
    (folder / "told.toml").write_text('title = "alone"\n', encoding="utf-8")
    found = run("report laplace --scale 0.5 --release told.toml --json").document
    assert found["title"] == "alone"


def test_head_and_failure(run: Callable, folder: Path) -> None:
    """--eps-h and --failure choose the statement, as they do for measure."""
    head = run("report icea --messages 20 --users 4 --eps-h 10 --json").document
    assert head["measurement"]["eps_h"] == 10
    rare = run("report icea --messages 20 --users 4 --failure 0.1 --json").document
    assert rare["measurement"]["statement"] == "approximate"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("report laplace --scale 0.5", "--output is missing"),
        ("report laplace --scale 0.5 -o x.txt", "-o is x.txt: must be a file that ends in"),
        ("report laplace --scale 0.5 -o no/x.html", "must be a file in a folder that exists"),
        ("report laplace --scale 0.5 --release none.toml -o x.html", "--release is none.toml"),
        ("report laplace --scale 0.5 --release pairs.csv -o x.html", "--release is pairs.csv"),
        (
            "report laplace --scale 0.5 --eps-h 1 --failure 0.1 -o x.html",
            "--eps-h and --failure: give one",
        ),
        ("report table said.json -o said.json", "must be another file than those that are read"),
        ("report --spec said.json -o said.json", "must be another file than that of --spec"),
        (
            "report laplace --scale 0.5 --release said.json -o said.json",
            "must be another file than those that are read",
        ),
    ],
)
def test_refusals(run: Callable, folder: Path, words: str, message: str) -> None:
    """Bad input is one sentence, exit status 2, and leaves every file as it was."""
    content = '{"kind": "laplace", "scale": 2}'
    if "table" in words:
        content = '[{"eps": 1, "delta": 1e-5}]'
    if "release said" in words:
        content = '{"title": "kept"}'
    (folder / "said.json").write_text(content, encoding="utf-8")
    done = run(words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert (folder / "said.json").read_text(encoding="utf-8") == content
    assert not list(folder.glob("x.*"))


def test_unknown_field(run: Callable, folder: Path) -> None:
    """A field that is not known is named, with its value and the known ones."""
    (folder / "bad.toml").write_text('unit = "person"\n', encoding="utf-8")
    error = run("report laplace --scale 0.5 --release bad.toml --json").error
    assert (error["field"], error["value"]) == ("unit", "person")
    assert "unit_of_privacy" in error["message"]


def test_without_the_extra(run: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra a page has no pictures, and says all the rest."""
    monkeypatch.setitem(sys.modules, "altair", None)
    assert run("report laplace --scale 0.5 -o x.html").status == 0
    page = (folder / "x.html").read_text(encoding="utf-8")
    assert "<svg" not in page
    assert "μ ≤ 1.80091 for every ε" in page
    assert run("report laplace --scale 0.5 -o x.json").status == 0


# of the registry's schema, below deployment
REGISTRY = """
basic dp_variant privacy_loss deployment_model accounting implementation administrative
name data_curators intended_use data_product_type data_product_region description
publication_date data_product_sector variant_name data_domain unprotected_quantities
privacy_unit privacy_unit_details privacy_parameters privacy_parameters_details model_name
model_name_details actors release_type release_type_details data_source_type
data_source_type_details access_type access_type_details post_processing composition
preprocessing_and_hyperparameter_tuning mechanisms justification sources notes
registry_authors
"""


def test_deployment_record(run: Callable, folder: Path) -> None:
    """A registry's record has its fields, with ε, δ and μ, what is stated, and nothing else."""
    (folder / "r.toml").write_text('organisation = "Office: of #1"\n', encoding="utf-8")
    done = run("report laplace --scale 0.5 --release r.toml -o deployment.yaml")
    assert done.status == 0
    text = (folder / "deployment.yaml").read_text(encoding="utf-8")
    for line in (
        'data_curators: ["Office: of #1"]',
        'description: "not stated"',
        'variant_name: "Pure DP"',
        "mu: 1.80091  # proposed",
        'registry_authors: ["Office: of #1"]',
    ):
        assert f"    {line}" in text
    assert "(proved)" in text
    assert "privacy_unit:" not in text
    assert set(re.findall(r"^  (?:  )?(\w+):", text, re.MULTILINE)) <= set(REGISTRY.split())
