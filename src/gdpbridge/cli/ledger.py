"""``gdpbridge ledger``: privacy budgets in a database."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from json import loads
from typing import TYPE_CHECKING, Any, TextIO

import typer

from gdpbridge.cli.commands import Group, add_command
from gdpbridge.cli.ledger_certificate import add_certificate
from gdpbridge.cli.ledger_charges import add_charges
from gdpbridge.cli.ledger_options import (
    Actor,
    AuditedEntry,
    AuditFile,
    Budget,
    Certificates,
    Dataset,
    Failures,
    Format,
    Head,
    Key,
    Last,
    Number,
    Partition,
    Parts,
    Reason,
    Relation,
    Since,
    SomeDataset,
    Source,
    Square,
    Target,
    Unit,
    Url,
)
from gdpbridge.cli.ledger_page import add_page
from gdpbridge.cli.ledger_shared import open_ledger, recorded
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, has_colour, text_width
from gdpbridge.cli.progress import Progress
from gdpbridge.cli.show import as_json_text
from gdpbridge.errors import Advice, InputError
from gdpbridge.files import STANDARD_INPUT, partial_file, read_bounded

if TYPE_CHECKING:
    from gdpbridge.ledger import Ledger

__all__ = ["add_to"]

# an audit prints some kilobytes
_MOST_DOCUMENT = 2**22


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the commands of this group."""
    group = _group()
    add_command(group, "init", init, summary="Make the tables of a ledger.", example="ledger init")
    add_command(
        group,
        "migrate",
        migrate,
        summary="Bring the tables of a ledger to this version.",
        example="ledger migrate",
    )
    sub = _group()
    add_command(
        sub,
        "add",
        add_dataset,
        summary="Add a data set; its unit and relation are fixed for good.",
        example="ledger dataset add census --unit person --neighbours add-remove",
    )
    _add_group(group, sub, "dataset", "Add a data set.")
    sub = _group()
    add_command(
        sub,
        "add",
        add_partition,
        summary="Split a data set into parts that have no unit in common.",
        example="ledger partition add census region --part north --part south",
    )
    _add_group(group, sub, "partition", "Split a data set into disjoint parts.")
    sub = _group()
    add_command(
        sub,
        "set",
        set_budget,
        summary="Set, raise or lower a budget, never below what is spent.",
        example="ledger budget set census --mu 2 --failure 1e-6",
    )
    _add_group(group, sub, "budget", "Set a budget.")
    add_charges(group)
    add_command(
        group,
        "commit",
        commit,
        summary="Make a reservation a spend.",
        example="ledger commit census 3",
    )
    add_command(
        group,
        "cancel",
        cancel,
        summary="Give a reservation back, for a release that did not happen.",
        example="ledger cancel census 3 --reason 'the job failed before it wrote anything'",
    )
    add_command(
        group,
        "audit",
        note_audit,
        summary="Keep the result of an audit beside the release that was audited.",
        example="ledger audit census 3 audit.json",
    )
    add_command(
        group,
        "status",
        status,
        summary="Show budgets, what is spent and what is left.",
        example="ledger status census",
    )
    add_command(
        group,
        "history",
        history,
        summary="List the entries of a data set.",
        example="ledger history census --last 20",
    )
    add_page(group)
    add_certificate(group)
    add_command(
        group,
        "verify",
        verify,
        summary="Recompute every hash and sum; exit status 3 if one is wrong.",
        example="ledger verify",
    )
    add_command(
        group,
        "export",
        export,
        summary="Write a data set's history, for import or to look at.",
        example="ledger export census --output census.jsonl",
    )
    add_command(
        group,
        "import",
        import_,
        summary="Add a data set with its history, as exported.",
        example="ledger import census.jsonl",
    )
    _add_group(app, group, name, summary)


def _group() -> typer.Typer:
    return typer.Typer(cls=Group, rich_markup_mode=None, add_completion=False)


def _add_group(app: typer.Typer, group: typer.Typer, name: str, summary: str) -> None:
    app.add_typer(group, name=name, help=summary, short_help=summary)


def init(*, ledger: Url = None, json: AsJson = False) -> Output:
    """Make the tables; a ledger that is there stays as it is."""
    book = open_ledger(ledger)
    return _made(book, book.init(), "made", json)


def migrate(*, ledger: Url = None, json: AsJson = False) -> Output:
    """Take the steps to this version's tables."""
    book = open_ledger(ledger)
    return _made(book, book.migrate(), "migrated", json)


def _made(book: Ledger, changed: bool, word: str, json: bool) -> Output:
    if json:
        schema = _schema("ledger-database")
        return Output(as_json_text({"schema": schema, "ledger": book.where, "changed": changed}))
    where = book.where
    done = f"{word} {where}" if changed else f"nothing to do: {where} is a ledger already"
    return Output(f"{done}\n")


def add_dataset(
    dataset: Dataset,
    *,
    unit: Unit,
    neighbours: Relation,
    actor: Actor = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Add a data set."""
    book = open_ledger(ledger)
    return recorded(book.add_dataset(dataset, unit=unit, neighbours=neighbours, actor=actor), json)


def add_partition(
    dataset: Dataset,
    partition: Partition,
    *,
    part: Parts = None,
    key: Key = None,
    actor: Actor = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Add a partition."""
    if not part:
        raise InputError.missing("part", "give it once for each part")
    done = open_ledger(ledger).add_partition(dataset, partition, part, key=key, actor=actor)
    return recorded(done, json)


def set_budget(
    dataset: Dataset,
    *,
    mu: Budget = None,
    mu_squared: Square = None,
    failure: Failures = "0",
    reason: Reason = "",
    key: Key = None,
    actor: Actor = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Set a budget."""
    done = open_ledger(ledger).set_budget(
        dataset, mu, failure, mu_squared=mu_squared, reason=reason, key=key, actor=actor
    )
    return recorded(done, json)


def commit(
    dataset: Dataset,
    number: Number,
    *,
    actor: Actor = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Make a reservation a spend."""
    return recorded(
        open_ledger(ledger).commit(dataset, _whole("number", number), actor=actor), json
    )


def cancel(
    dataset: Dataset,
    number: Number,
    *,
    reason: Reason,
    actor: Actor = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Give a reservation back."""
    done = open_ledger(ledger).cancel(dataset, _whole("number", number), reason=reason, actor=actor)
    return recorded(done, json)


def note_audit(
    dataset: Dataset,
    number: AuditedEntry,
    audit: AuditFile,
    *,
    key: Key = None,
    actor: Actor = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Note an audit."""
    done = open_ledger(ledger).note_audit(
        dataset, _whole("number", number), _document(audit), key=key, actor=actor
    )
    return recorded(done, json)


def _document(name: str) -> dict[str, Any]:
    """Read a JSON document from a file."""
    try:
        found = loads(read_bounded(name, _MOST_DOCUMENT))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError("file", name, "what gdpbridge audit --json printed")
    return found


def status(dataset: SomeDataset = None, *, ledger: Url = None, json: AsJson = False) -> Output:
    """Answer with where data sets stand."""
    from gdpbridge.report.ledger import statuses_document, statuses_text

    book = open_ledger(ledger)
    found = [book.status(name) for name in _names(book, dataset)]
    if json:
        return Output(as_json_text(statuses_document(book.where, found)))
    return Output(statuses_text(found, text_width(), colour=has_colour(sys.stdout)))


def verify(
    dataset: SomeDataset = None,
    *,
    head: Head = None,
    since: Since = None,
    certificates: Certificates = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Answer with where data sets stand, once all of it is recomputed."""
    from gdpbridge.ledger.records import receipt_parts
    from gdpbridge.report.ledger import statuses_document, statuses_text

    book = open_ledger(ledger)
    if dataset is None and since is not None and (parts := receipt_parts(since)):
        dataset = parts[0]
    names = _names(book, dataset)
    if dataset is None:
        # those that should be there are looked for too
        names += book.lost()
    for field, value in (("head", head), ("since", since)):
        if value is not None and len(names) != 1:
            raise InputError(field, value, Advice("give it with one data set"))
    with Progress(silent=json) as progress:
        also = partial(book.verify, head=head, since=since, certificates=certificates)
        found = [also(name, progress=progress) for name in names]
    if json:
        return Output(as_json_text(statuses_document(book.where, found, verified=True)))
    return Output(statuses_text(found, text_width(), verified=True, colour=has_colour(sys.stdout)))


def history(
    dataset: SomeDataset = None,
    *,
    last: Last = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Answer with the entries, in order."""
    from gdpbridge.report.ledger import entries_document, entries_text

    book = open_ledger(ledger)
    names = _names(book, dataset)
    if len(names) != 1:
        raise InputError.missing("dataset", f"name one: the ledger has {len(names)} data sets")
    entries = book.history(names[0], last=None if last is None else _whole("last", last))
    if json:
        return Output(as_json_text(entries_document(names[0], entries)))
    return Output("".join(entries_text(entries)))


def export(
    dataset: Dataset,
    *,
    format: Format = None,
    output: Target = "-",
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Write a history to a file or to standard output."""
    from gdpbridge.ledger import write_entries
    from gdpbridge.ledger.exchange import format_of

    form = format_of(output, format)
    if json and output == STANDARD_INPUT:
        raise InputError("output", output, "a file where --json is given")
    entries = open_ledger(ledger).history(dataset)
    if output == STANDARD_INPUT:
        write_entries(entries, sys.stdout, form)
        return Output("")
    try:
        with (
            partial_file(output, private=True, new=True) as partial,
            partial.open("w", encoding="utf-8", newline="") as file,
        ):
            count = write_entries(entries, file, form)
    except OSError as error:
        allowed = f"a new file that can be written ({error.strerror})"
        raise InputError("output", output, allowed) from None
    if json:
        document = {"schema": _schema("ledger-export"), "dataset": dataset, "entries": count}
        return Output(as_json_text(document))
    return Output(f"wrote {count:,} entries of {dataset} to {output}\n")


@contextmanager
def _opened(file: str) -> Iterator[TextIO]:
    """Open a file, or standard input, which stays open, as text in UTF-8."""
    if file != STANDARD_INPUT:
        with open(file, encoding="utf-8", newline="") as lines:
            yield lines
        return
    given = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", newline="")
    try:
        yield given
    finally:
        given.detach()


def import_(
    file: Source,
    *,
    format: Format = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Add a data set from a file."""
    from gdpbridge.ledger import read_entries
    from gdpbridge.ledger.exchange import format_of
    from gdpbridge.report.ledger import imported_text, statuses_document

    form = format_of(file, format)
    book = open_ledger(ledger)
    try:
        with _opened(file) as lines:
            entries = read_entries(lines, form)
            found = book.load(entries)
    except UnicodeDecodeError:
        raise InputError("file", file, "text in UTF-8") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        why = getattr(error, "strerror", None) or "not a path"
        raise InputError("file", file, f"a readable file ({why})") from None
    if json:
        return Output(as_json_text(statuses_document(book.where, [found], sealed=entries.sealed)))
    colour = has_colour(sys.stdout)
    return Output(imported_text(found, text_width(), sealed=entries.sealed, colour=colour))


def _names(book: Ledger, dataset: str | None) -> list[str]:
    return [one.name for one in book.datasets()] if dataset is None else [dataset]


def _schema(name: str) -> Any:
    from gdpbridge.report.record import Schema

    return Schema(f"gdpbridge.{name}", 1)


def _whole(field: str, text: str) -> int:
    if text.isascii() and text.isdigit() and int(text[:18]) > 0:
        return int(text[:18])
    raise InputError(field, text, "a whole number > 0")
