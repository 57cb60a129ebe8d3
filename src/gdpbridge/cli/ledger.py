"""``gdpbridge ledger``: privacy budgets in a database."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdpbridge.cli.commands import Group, add_command
from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, Status, has_colour, text_width
from gdpbridge.cli.progress import Progress
from gdpbridge.cli.show import as_json_text
from gdpbridge.errors import Advice, InputError
from gdpbridge.mechanisms.base import Profile

if TYPE_CHECKING:
    from gdpbridge.ledger import Ledger, Receipt

__all__ = ["add_to"]

_NUMBERS = """\
Examples:

\b
  gdpbridge ledger {name} census --mu 0.5{rest}
  gdpbridge ledger {name} census laplace --scale 0.5{rest}

--mu (or --mu-squared), --failure and --certificate stand where no mechanism does. Exit status 3: \
it does not fit the budget.
"""

Url = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="URL",
        help="a file, sqlite:///FILE or postgresql://USER@HOST/DATABASE [default: "
        "GDPBRIDGE_LEDGER, or a file in the user's folder]",
        show_default=False,
    ),
]
Dataset = Annotated[str, typer.Argument(metavar="DATASET", help="the name of a data set")]
SomeDataset = Annotated[
    str | None, typer.Argument(metavar="DATASET", help="the name of a data set [default: all]")
]
Unit = Annotated[
    str, typer.Option(metavar="WORD", help="the unit of privacy, such as person or household")
]
Relation = Annotated[
    str, typer.Option(metavar="WORD", help="the neighbouring relation: add-remove or replace-one")
]
Actor = Annotated[
    str | None, typer.Option(metavar="NAME", help="who does this [default: the system's user]")
]
Key = Annotated[
    str | None,
    typer.Option(
        "--id", "--key", metavar="K", help="a key: what is asked for under it is recorded once"
    ),
]
Budget = Annotated[
    str | None,
    typer.Option("--mu", metavar="μ", help="a number from 1e-30 to 1e6, or a fraction"),
]
Square = Annotated[
    str | None,
    typer.Option("--mu-squared", metavar="μ²", help="its square instead, of which sums are made"),
]
Failures = Annotated[
    str, typer.Option("--failure", metavar="p", help="the sum of failure probabilities allowed")
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="why, for the history")]
Purpose = Annotated[
    str, typer.Option(metavar="TEXT", help="what the release is for, such as 'table 3'")
]
Part = Annotated[
    str | None,
    typer.Option(metavar="PARTITION/PART", help="the one part that the release is computed from"),
]
Uncertified = Annotated[
    bool, typer.Option("--uncertified", help="accept a μ that is not proved, and record it as such")
]
Failure = Annotated[
    str | None,
    typer.Option("--failure", metavar="p", help="the failure probability, 0 or a number below 1"),
]
CertificateFile = Annotated[
    str | None,
    typer.Option(
        "--certificate", metavar="FILE", help="a certificate of the μ, which is checked here"
    ),
]
StatedRelation = Annotated[
    str | None,
    typer.Option("--neighbours", metavar="WORD", help="the relation that μ is stated for"),
]
StatedUnit = Annotated[
    str | None, typer.Option("--unit", metavar="WORD", help="the unit that μ is stated for")
]
Hours = Annotated[
    str,
    typer.Option(
        metavar="HOURS",
        help="after how many hours it is shown as overdue; it counts until it is cancelled",
    ),
]
Number = Annotated[
    str, typer.Argument(metavar="NUMBER", help="the number of the reservation's entry")
]
Parts = Annotated[
    list[str] | None,
    typer.Option("--part", metavar="NAME", help="the name of a part; give it once for each"),
]
Partition = Annotated[str, typer.Argument(metavar="PARTITION", help="the partition's name")]
Last = Annotated[
    str | None, typer.Option(metavar="N", help="a whole number > 0: only the newest entries")
]
Head = Annotated[
    str | None,
    typer.Option(metavar="HASH", help="a hash noted earlier, which the history must contain"),
]
Format = Annotated[str, typer.Option("--format", metavar="NAME", help="jsonl or csv")]
Target = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="a new file [default: standard output]",
        show_default=False,
    ),
]
Source = Annotated[str, typer.Argument(metavar="FILE", help="what export wrote; - for input")]


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
    for verb, measured, stated, about in (
        ("quote", quote, quote_numbers, "Say what a spend would leave; nothing is recorded."),
        ("spend", spend, spend_numbers, "Record a release, if the budget allows it."),
        ("reserve", reserve, reserve_numbers, "Spend before a release, to commit or cancel after."),
    ):
        purpose = "" if verb == "quote" else " --purpose 'table 3'"
        add_mechanism_command(
            group,
            verb,
            measured,
            summary=about,
            epilog=_NUMBERS.format(name=verb, rest=purpose),
            within="ledger",
            required=purpose.strip(),
            alone=stated,
        )
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
    book = _open(ledger)
    return _made(book, book.init(), "made", json)


def migrate(*, ledger: Url = None, json: AsJson = False) -> Output:
    """Take the steps to this version's tables."""
    book = _open(ledger)
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
    book = _open(ledger)
    return _recorded(book.add_dataset(dataset, unit=unit, neighbours=neighbours, actor=actor), json)


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
    done = _open(ledger).add_partition(dataset, partition, part, key=key, actor=actor)
    return _recorded(done, json)


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
    done = _open(ledger).set_budget(
        dataset, mu, failure, mu_squared=mu_squared, reason=reason, key=key, actor=actor
    )
    return _recorded(done, json)


def quote(
    profile: Profile,
    *,
    dataset: Dataset,
    failure: Failure = None,
    part: Part = None,
    uncertified: Uncertified = False,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Answer with what would be left."""
    with Progress(silent=json) as progress:
        return _quoted(
            ledger,
            json,
            dataset,
            profile,
            failure=failure,
            part=part,
            uncertified=uncertified,
            progress=progress,
        )


def quote_numbers(
    *,
    dataset: Dataset,
    mu: Budget = None,
    mu_squared: Square = None,
    failure: Failure = None,
    certificate: CertificateFile = None,
    neighbours: StatedRelation = None,
    unit: StatedUnit = None,
    part: Part = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Answer with what would be left, for numbers."""
    return _quoted(
        ledger,
        json,
        dataset,
        mu=mu,
        mu_squared=mu_squared,
        failure=failure,
        certificate=certificate,
        neighbours=neighbours,
        unit=unit,
        part=part,
    )


def spend(
    profile: Profile,
    *,
    dataset: Dataset,
    purpose: Purpose,
    failure: Failure = None,
    part: Part = None,
    uncertified: Uncertified = False,
    key: Key = None,
    actor: Actor = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Measure a mechanism and record it."""
    with Progress(silent=json) as progress:
        done = _open(ledger).spend(
            dataset,
            profile,
            failure=failure,
            part=part,
            uncertified=uncertified,
            purpose=purpose,
            key=key,
            actor=actor,
            progress=progress,
        )
    return _recorded(done, json)


def spend_numbers(
    *,
    dataset: Dataset,
    purpose: Purpose,
    mu: Budget = None,
    mu_squared: Square = None,
    failure: Failure = None,
    certificate: CertificateFile = None,
    neighbours: StatedRelation = None,
    unit: StatedUnit = None,
    part: Part = None,
    key: Key = None,
    actor: Actor = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Record a release that numbers or a certificate describe."""
    done = _open(ledger).spend(
        dataset,
        mu=mu,
        mu_squared=mu_squared,
        failure=failure,
        certificate=certificate,
        neighbours=neighbours,
        unit=unit,
        part=part,
        purpose=purpose,
        key=key,
        actor=actor,
    )
    return _recorded(done, json)


def reserve(
    profile: Profile,
    *,
    dataset: Dataset,
    purpose: Purpose,
    failure: Failure = None,
    part: Part = None,
    uncertified: Uncertified = False,
    expires: Hours = "24",
    key: Key = None,
    actor: Actor = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Measure a mechanism and reserve for it."""
    with Progress(silent=json) as progress:
        done = _open(ledger).reserve(
            dataset,
            profile,
            failure=failure,
            part=part,
            uncertified=uncertified,
            purpose=purpose,
            key=key,
            actor=actor,
            progress=progress,
            expires=_hours(expires),
        )
    return _recorded(done, json)


def reserve_numbers(
    *,
    dataset: Dataset,
    purpose: Purpose,
    mu: Budget = None,
    mu_squared: Square = None,
    failure: Failure = None,
    certificate: CertificateFile = None,
    neighbours: StatedRelation = None,
    unit: StatedUnit = None,
    part: Part = None,
    expires: Hours = "24",
    key: Key = None,
    actor: Actor = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Reserve for a release that numbers or a certificate describe."""
    done = _open(ledger).reserve(
        dataset,
        mu=mu,
        mu_squared=mu_squared,
        failure=failure,
        certificate=certificate,
        neighbours=neighbours,
        unit=unit,
        part=part,
        purpose=purpose,
        key=key,
        actor=actor,
        expires=_hours(expires),
    )
    return _recorded(done, json)


def commit(
    dataset: Dataset,
    number: Number,
    *,
    actor: Actor = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Make a reservation a spend."""
    return _recorded(_open(ledger).commit(dataset, _whole("number", number), actor=actor), json)


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
    done = _open(ledger).cancel(dataset, _whole("number", number), reason=reason, actor=actor)
    return _recorded(done, json)


def status(dataset: SomeDataset = None, *, ledger: Url = None, json: AsJson = False) -> Output:
    """Answer with where data sets stand."""
    from gdpbridge.report.ledger import statuses_document, statuses_text

    book = _open(ledger)
    found = [book.status(name) for name in _names(book, dataset)]
    if json:
        return Output(as_json_text(statuses_document(book.where, found)))
    return Output(statuses_text(found, text_width(), colour=has_colour(sys.stdout)))


def verify(
    dataset: SomeDataset = None,
    *,
    head: Head = None,
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Answer with where data sets stand, once all of it is recomputed."""
    from gdpbridge.report.ledger import statuses_document, statuses_text

    book = _open(ledger)
    names = _names(book, dataset)
    if head is not None and len(names) != 1:
        raise InputError("head", head, Advice("give it with one data set"))
    with Progress(silent=json) as progress:
        found = [book.verify(name, head=head, progress=progress) for name in names]
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

    book = _open(ledger)
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
    format: Format = "jsonl",
    output: Target = "-",
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Write a history to a file or to standard output."""
    from gdpbridge.ledger import write_entries
    from gdpbridge.ledger.exchange import FORMATS

    if format not in FORMATS:
        raise InputError("format", format, " or ".join(FORMATS))
    if json and output == "-":
        raise InputError("output", output, "a file where --json is given")
    entries = _open(ledger).history(dataset)
    if output == "-":
        write_entries(entries, sys.stdout, format)
        return Output("")
    try:
        with open(output, "x", encoding="utf-8", newline="") as file:
            count = write_entries(entries, file, format)
    except OSError as error:
        allowed = f"a new file that can be written ({error.strerror})"
        raise InputError("output", output, allowed) from None
    if json:
        document = {"schema": _schema("ledger-export"), "dataset": dataset, "entries": count}
        return Output(as_json_text(document))
    return Output(f"wrote {count:,} entries of {dataset} to {output}\n")


def import_(
    file: Source,
    *,
    format: Format = "jsonl",
    ledger: Url = None,
    json: AsJson = False,
) -> Output:
    """Add a data set from a file."""
    from gdpbridge.ledger import read_entries
    from gdpbridge.report.ledger import statuses_document, statuses_text

    book = _open(ledger)
    # standard input by its number, which stays open
    source: int | str = sys.stdin.fileno() if file == "-" else file
    try:
        with open(source, encoding="utf-8", newline="", closefd=file != "-") as lines:
            found = book.load(read_entries(lines, format))
    except UnicodeDecodeError:
        raise InputError("file", file, "text in UTF-8") from None
    except OSError as error:
        raise InputError("file", file, f"a readable file ({error.strerror})") from None
    if json:
        return Output(as_json_text(statuses_document(book.where, [found])))
    return Output(statuses_text([found], text_width(), colour=has_colour(sys.stdout)))


def _open(url: str | None) -> Ledger:
    # the database library is slow to load
    from gdpbridge.ledger import Ledger

    return Ledger(url)


def _names(book: Ledger, dataset: str | None) -> list[str]:
    return [one.name for one in book.datasets()] if dataset is None else [dataset]


def _recorded(receipt: Receipt, json: bool) -> Output:
    from gdpbridge.report.ledger import receipt_document, receipt_text

    if json:
        return Output(as_json_text(receipt_document(receipt)))
    return Output(receipt_text(receipt, text_width(), colour=has_colour(sys.stdout)))


def _quoted(url: str | None, json: bool, *what: Any, **options: Any) -> Output:
    from gdpbridge.report.ledger import quote_document, quote_text

    found = _open(url).quote(*what, **options)
    answer = Status.ANSWERED if found.fits else Status.NO
    if json:
        return Output(as_json_text(quote_document(found)), answer)
    return Output(quote_text(found, text_width(), colour=has_colour(sys.stdout)), answer)


def _schema(name: str) -> Any:
    from gdpbridge.report.record import Schema

    return Schema(f"gdpbridge.{name}", 1)


def _whole(field: str, text: str) -> int:
    if text.isascii() and text.isdigit() and int(text[:18]) > 0:
        return int(text[:18])
    raise InputError(field, text, "a whole number > 0")


def _hours(text: str) -> timedelta:
    allowed = "a number > 0 and at most 87600"
    try:
        hours = float(text)
    except ValueError:
        raise InputError("expires", text, allowed) from None
    if not 0 < hours <= 87600:
        raise InputError("expires", text, allowed)
    return timedelta(hours=hours)
