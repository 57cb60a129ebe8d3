"""``gdpbridge sweep``: every mechanism of a grid, a row each."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdpbridge.cli.commands import add_command
from gdpbridge.cli.output import Output
from gdpbridge.cli.progress import Progress
from gdpbridge.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from gdpbridge.sweep import Sweep

__all__ = ["add_to", "sweep"]

_ENDINGS = (".parquet", ".csv", ".json")
_ASKED = ("delta", "eps_h", "failure", "tol", "mu")

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="a mechanism in TOML or JSON with a table grid, which gives parameters lists of "
        'values or ranges "0.1:2:0.1", and a table ask of delta, eps_h, failure, tol, mu',
    ),
]
Target = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FILE", help=f"the table to write: {', '.join(_ENDINGS)}"
    ),
]
Workers = Annotated[
    str | None, typer.Option("--workers", metavar="N", help="processes [default: as processors]")
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="a Dask scheduler (extra dask)"),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_command(app, name, sweep, summary=summary, example="sweep grid.toml -o out.parquet")


def sweep(
    file: File, *, output: Target, workers: Workers = None, scheduler: Scheduler = None
) -> Output:
    """Write the table; finished rows are kept beside it until it is whole."""
    from gdpbridge.specification.load import parsed_specification, read_specification
    from gdpbridge.sweep import grid
    from gdpbridge.sweep import sweep as swept

    target = Path(output)
    if target.suffix not in _ENDINGS:
        raise InputError("output", output, f"a file that ends in {', '.join(_ENDINGS)}")
    if not target.parent.is_dir():
        raise InputError("output", output, "a file in a folder that there is")
    try:
        document = parsed_specification(read_specification(file))
    except InputError as error:
        raise error.renamed("file") from None
    if not isinstance(document, dict):
        raise InputError("file", file, "a table with the kind of a mechanism")
    asked = document.pop("ask", {})
    unknown = sorted(set(asked) - set(_ASKED))
    if unknown:
        raise InputError(f"ask.{unknown[0]}", asked[unknown[0]], f"one of {', '.join(_ASKED)}")
    journal = target.with_name(f"{target.name}.rows.jsonl")
    with ExitStack() as stack:
        executor = None if scheduler is None else stack.enter_context(_cluster(scheduler))
        progress = stack.enter_context(Progress(silent=False))
        found = swept(
            grid(document),
            executor,
            workers=_count(workers),
            journal=journal,
            progress=progress,
            **asked,
        )
    _save(found, target)
    journal.unlink()
    failed = [row for row in found if row["error"] is not None]
    first = f"; row {failed[0]['index']}: {failed[0]['error']}" if failed else ""
    return Output(f"{output}: {len(found):,} rows, {len(failed):,} of them with an error{first}\n")


def _count(workers: str | None) -> int | None:
    if workers is None:
        return None
    if not (workers.isascii() and workers.isdecimal() and len(workers) < 5 and int(workers)):
        raise InputError("workers", workers, "a whole number from 1 to 9999")
    return int(workers)


def _cluster(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("dask", "a Dask scheduler") from None
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        allowed = f"the address of a Dask scheduler that answers ({error})"
        raise InputError("scheduler", address, allowed) from None
    executor: Executor = client.get_executor()
    return executor


def _save(found: Sweep, target: Path) -> None:
    from gdpbridge.files import write_text

    try:
        if target.suffix == ".parquet":
            frame = found.to_frame("pyarrow")
            from pyarrow import parquet

            beside = target.with_name(f".{target.name}.partial")
            parquet.write_table(frame, beside)
            beside.replace(target)
        elif target.suffix == ".csv":
            write_text(target, _csv(found))
        else:
            write_text(target, json.dumps(list(found), ensure_ascii=False, indent=1) + "\n")
    except OSError as error:
        allowed = f"a file that can be written ({error.strerror})"
        raise InputError("output", str(target), allowed) from None


def _csv(found: Sweep) -> str:
    import csv
    import io

    columns = found.to_dict()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
