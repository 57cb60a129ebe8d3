"""The folder: a page for people, the numbers for programs, the table and the figures."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gdpbridge.compare import DELTAS
from gdpbridge.errors import InputError, MissingExtraError
from gdpbridge.files import write_text
from gdpbridge.paper.finding import Finding, Status
from gdpbridge.paper.record import SOURCE, paper_record, rounded, shown
from gdpbridge.paper.reproduce import Drawn, Reproduction
from gdpbridge.paper.tables import PRINTED, TABLE
from gdpbridge.plot.picture import charts
from gdpbridge.progress import Progress, silent
from gdpbridge.report.json import interval_ends, to_json

__all__ = ["prepared_folder", "write_folder"]

_FIGURES = "figures"


def prepared_folder(path: str | os.PathLike[str]) -> Path:
    """Make the folder, and see that all that the page needs is there, before long work.

    Raises:
        InputError: if it cannot be made.
        MissingExtraError: without the extra ``charts``.
    """
    charts()
    _templates()
    folder = Path(path)
    if not os.fspath(path):
        raise InputError("output", path, "the name of a folder")
    try:
        (folder / _FIGURES).mkdir(parents=True, exist_ok=True)
    except ValueError:
        raise InputError("output", str(path), "the name of a folder") from None
    except OSError as error:
        raise _refused(folder, error) from None
    return folder


def write_folder(done: Reproduction, folder: Path, *, progress: Progress = silent) -> None:
    """Write a run into a folder; other files there are left alone.

    It holds ``index.html``, which needs no network, ``numbers.json``, ``table1.csv``, and each
    figure in ``figures`` as SVG, PNG and CSV.

    Args:
        done: the run.
        folder: as made by :func:`prepared_folder`.
        progress: called with a sentence and a share in [0, 1].

    Raises:
        InputError: if a file cannot be written.
        MissingExtraError: without the extra ``charts``.
    """
    try:
        drawings = []
        for number, one in enumerate(done.figures):
            progress(f"saving {one.where}", 0.7 + 0.3 * number / len(done.figures))
            drawings.append(_save(one, folder / _FIGURES))
        document = to_json(paper_record(done)) + "\n"
        write_text(folder / "numbers.json", document)
        _write_table(done.findings, folder / "table1.csv")
        write_text(folder / "index.html", _page(done, drawings))
    except OSError as error:
        raise _refused(folder, error) from None


def _refused(folder: Path, error: OSError) -> InputError:
    allowed = f"a folder that can be written to ({error.strerror})"
    return InputError("output", str(folder), allowed)


def _save(one: Drawn, folder: Path) -> str:
    """Save a figure, and return it as SVG for the page."""
    svg = one.picture.to_svg(prefix=f"{one.name}-")
    write_text(folder / f"{one.name}.svg", svg)
    one.picture.save(folder / f"{one.name}.png")
    columns = ("name", "x", "y")
    rows = ([row[column] for column in columns] for row in one.picture.data)
    _write_csv(folder / f"{one.name}.csv", columns, rows)
    return svg


def _write_table(findings: Iterable[Finding], path: Path) -> None:
    cells = iter(_of_table(findings))
    columns = ("method", "delta", "printed", "low", "high", "status")
    rows = [
        [name, f"{delta:g}", one.printed, *interval_ends(one.ours), one.status.value]
        for name in PRINTED
        for delta in DELTAS
        for one in [next(cells)]
        if not isinstance(one.ours, bool)
    ]
    _write_csv(path, columns, rows)


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_text(path, text.getvalue())


def _of_table(findings: Iterable[Finding]) -> list[Finding]:
    return [one for one in findings if one.where == TABLE]


def _templates() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("charts", "the page") from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gdpbridge.paper"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shown": shown, "rounded": rounded, "sentence": _sentence}
    return environment


def _sentence(text: str) -> str:
    """Begin with a capital, unless with a symbol such as b or e."""
    is_word = re.match(r"(a|[a-z]{2,})\b(?![\^_])", text)
    return text[0].upper() + text[1:] if is_word else text


def _page(done: Reproduction, drawings: Sequence[str]) -> str:
    import gdpbridge

    cells = iter(_of_table(done.findings))
    table = [(name, [next(cells) for _ in DELTAS]) for name in PRINTED]
    text = [one for one in done.findings if one.where != TABLE]
    page: str = (
        _templates()
        .get_template("index.html.j2")
        .render(
            source=SOURCE,
            version=gdpbridge.__version__,
            counts={status: len(done.of_status(status)) for status in Status},
            total=len(done.findings),
            Status=Status,
            flagged=done.of_status(Status.FLAGGED),
            disagreeing=done.of_status(Status.DISAGREES),
            findings=[one for one in text if one.status is not Status.FLAGGED],
            deltas=DELTAS,
            table=table,
            figures=list(zip(done.figures, drawings, strict=True)),
        )
    )
    return page
