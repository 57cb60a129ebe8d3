"""The notebook runs from top to bottom, and what is last in a cell shows itself."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first_steps.ipynb"


def shown(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does, and return the value of its last line."""
    *before, last = ast.parse(source).body
    exec(compile(ast.Module(before, []), "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        exec(compile(ast.Module([last], []), "cell", "exec"), names)
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell runs; results have HTML of their own; nothing that was printed is stored."""
    pytest.importorskip("altair")
    pytest.importorskip("sqlalchemy")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in code)
    names: dict[str, Any] = {"__name__": "notebook"}
    values = [shown("".join(cell["source"]), names) for cell in code]
    html = [one._repr_html_() for one in values if hasattr(one, "_repr_html_")]
    assert len(html) == 5
    assert "μ            1.800905193…" in html[0]
    assert "trips: unit person" in html[3]
    assert values[3] == sorted(values[3], reverse=True)


def test_in_jupyter(tmp_path: Path) -> None:
    """A kernel of Jupyter runs it too, where one is installed."""
    client = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    book = nbformat.read(NOTEBOOK, as_version=4)
    client.NotebookClient(book, timeout=300).execute(cwd=str(tmp_path))
    outputs = [one for cell in book.cells if cell.cell_type == "code" for one in cell.outputs]
    assert sum("text/html" in one.get("data", {}) for one in outputs) == 5
