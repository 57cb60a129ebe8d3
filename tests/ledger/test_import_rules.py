"""What no command writes is not imported, nor verified where it is in the database already."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gdpbridge.errors import InputError
from gdpbridge.ledger import (
    BrokenChainError,
    Kind,
    Ledger,
    LedgerUnavailableError,
    books,
    tables,
)
from gdpbridge.ledger.amounts import ZERO, amount_text, from_text, root_ceiling
from gdpbridge.ledger.books import Books
from gdpbridge.ledger.entries import Entry, entry_from
from gdpbridge.ledger.rows import row_of, save_dataset
from gdpbridge.ledger.store import Store
from gdpbridge.ledger.words import stamp

NOW = datetime(2026, 1, 2, tzinfo=UTC)


class Forger:
    """Writes histories whose hashes and sums are right, whatever they hold."""

    def __init__(self, neighbours: str = "add-remove", *, old: bool = False) -> None:
        self.books, self.entries, self.old = Books("census"), list[Entry](), old
        self.add(Kind.CREATE, details={
            "name": "census", "unit": "person", "neighbours": neighbours,
        })  # fmt: skip
        self.add(Kind.BUDGET, mu="2", mu_squared="4", failure="0.1")

    def add(self, kind: Kind | str, **content: Any) -> Entry:
        """Write an entry that is right but for what is given."""
        common = {
            "time": stamp(NOW), "key": f"k{len(self.entries)}", "request": "0" * 64,
            "actor": "ada", "purpose": "", "token": "0" * 32, "format": 2,
        }  # fmt: skip
        if kind in (Kind.SPEND, Kind.RESERVE):
            common |= {"purpose": "table 3", "mu": "0.1", "mu_squared": "0.01", "failure": "0"}
            common |= {"statement": "whole"}
        if kind == Kind.RESERVE:
            common |= {"expires": stamp(NOW + timedelta(hours=1))}
        if kind in (Kind.COMMIT, Kind.CANCEL):
            common |= {"key": f"{kind}:{content.get('refers')}"}
        if self.old:
            common |= {"token": None, "format": None}
        given = {**common, **content}
        form = given.pop("format")
        draft = Entry(number=0, kind=Kind(kind), **given)
        with _no_rules(form):
            self.entries.append(self.books.append(draft))
        return self.entries[-1]


@contextmanager
def _no_rules(form: int | None) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(books, "check_entry", lambda *_: None)
        patch.setattr(books, "FORMAT", form)
        yield


def _commit_elsewhere(forger: Forger) -> None:
    forger.add("partition", partition="region", details={"parts": ["north"]})
    forger.add("reserve")
    forger.add("commit", refers=4, partition="region", part="north")


def _spend_elsewhere(forger: Forger) -> None:
    forger.books.accounts["region", "north"] = ZERO
    forger.add("spend", partition="region", part="north")


def _after_a_reservation(**content: Any) -> Callable[[Forger], object]:
    def forge(forger: Forger) -> None:
        forger.add("reserve")
        forger.add(**{"kind": "commit", "refers": 3, **content})

    return forge


def _adds(kind: str, **content: Any) -> Callable[[Forger], object]:
    return lambda forger: forger.add(kind, **content)


LONG = f"1/{10**60 + 7}"
FORGERIES: dict[str, Callable[[Forger], object]] = {
    "a partition without a name": _adds("partition", partition="", details={"parts": ["x"]}),
    "a part without a name": _adds("partition", partition="region", details={"parts": [""]}),
    "a part that is no text": _adds("partition", partition="region", details={"parts": [1]}),
    "a part twice": _adds("partition", partition="region", details={"parts": ["a", "a"]}),
    "no parts": _adds("partition", partition="region", details={"parts": []}),
    "parts as one text": _adds("partition", partition="region", details={"parts": "ab"}),
    "more than parts": _adds("partition", partition="r", details={"parts": ["a"], "x": 1}),
    "a name for a terminal": _adds("partition", partition="\x1b[2J", details={"parts": ["a"]}),
    "a deadline without a zone": _adds("reserve", expires="2026-01-03T00:00:00"),
    "a deadline of another zone": _adds("reserve", expires="2026-01-03T00:00:00.000000+01:00"),
    "a deadline in short": _adds("reserve", expires="2026-01-03T00:00:00+00:00"),
    "a deadline before it": _adds("reserve", expires=stamp(NOW)),
    "a deadline in a thousand years": _adds("reserve", expires=stamp(NOW.replace(year=3026))),
    "no deadline": _adds("reserve", expires=None),
    "a deadline of a spend": _adds("spend", expires=stamp(NOW + timedelta(hours=1))),
    "a time without a zone": _adds("spend", time="2026-01-02T00:00:00.000000"),
    "no time": _adds("spend", time="yesterday"),
    "a purpose for a terminal": _adds("spend", purpose="\x1b]0;title\x07"),
    "a purpose of two lines": _adds("spend", purpose="a\nb"),
    "a purpose that turns": _adds("spend", purpose="a\u202eb"),
    "no purpose": _adds("spend", purpose=""),
    "a long purpose": _adds("spend", purpose="x" * 1001),
    "an actor for a terminal": _adds("spend", actor="\x1b[8m"),
    "no actor": _adds("spend", actor=""),
    "a small μ of a large μ²": _adds("spend", mu="0.001", mu_squared="1"),
    "a large μ of a small μ²": _adds("spend", mu="1", mu_squared="0.01"),
    "no μ": _adds("spend", mu=None),
    "no μ²": _adds("spend", mu_squared=None),
    "μ² = 0": _adds("spend", mu="0", mu_squared="0"),
    "μ² with a zero too many": _adds("spend", mu_squared="0.010"),
    "μ² as a fraction that ends": _adds("spend", mu_squared="1/100"),
    "a fraction that is not kept": _adds("spend", mu_squared=LONG, mu=amount_text(
        root_ceiling(from_text(LONG), 40))),
    "a failure of one": _adds("spend", failure="1", statement="approximate"),
    "a failure that is not stated": _adds("spend", failure="0.01"),
    "a statement of none": _adds("spend", statement=None),
    "a proof of no mechanism": _adds("spend", certified=True),
    "a mechanism that is not judged": _adds("spend", mechanism={"kind": "laplace"}),
    "a mechanism without a kind": _adds("spend", mechanism={}, certified=True),
    "a certificate of no proof": _adds(
        "spend", mechanism={"kind": "x"}, certified=False, certificate="0" * 64
    ),
    "a certificate that is no hash": _adds(
        "spend", mechanism={"kind": "x"}, certified=True, certificate="x"
    ),
    "a part that is not there": _spend_elsewhere,
    "details of a spend": _adds("spend", details={"x": 1}),
    "a request that is no hash": _adds("spend", request="x"),
    "no key": _adds("spend", key=""),
    "a key for the end of another": _adds("spend", key="commit:3"),
    "a key of two lines": _adds("spend", key="a\nb"),
    "a key twice": _adds("spend", key="k1"),
    "no token": _adds("spend", token=None),
    "a token that is none": _adds("spend", token="x"),
    "a later format": _adds("spend", format=3),
    "an earlier format": _adds("spend", format=None, token=None),
    "a budget of another root": _adds("budget", mu="1", mu_squared="9", failure="0", purpose="x"),
    "a budget without a reason": _adds("budget", mu="3", mu_squared="9", failure="0"),
    "a budget of nothing": _adds("budget", mu="0", mu_squared="0", failure="0", purpose="x"),
    "a budget below what is spent": lambda forger: (
        forger.add("spend", mu="1", mu_squared="1"),
        forger.add("budget", mu="0.5", mu_squared="0.25", failure="0", purpose="x"),
    ),
    "more than the budget": _adds("spend", mu="3", mu_squared="9"),
    "a second beginning": _adds("create", details={
        "name": "census", "unit": "person", "neighbours": "add-remove"}),
    "the end of another part": _commit_elsewhere,
    "an end under another key": _after_a_reservation(key="x"),
    "an end with a μ": _after_a_reservation(mu="0.1"),
    "an end for no reason": _after_a_reservation(kind="cancel"),
}  # fmt: skip


@pytest.fixture
def other(tmp_path: Path) -> Ledger:
    """An empty ledger that notes no heads."""
    book = Ledger(tmp_path / "other.sqlite", heads="none")
    book.init()
    return book


@pytest.mark.parametrize("name", FORGERIES)
def test_what_no_command_writes(other: Ledger, name: str) -> None:
    """It is refused in a file and, where it is in the database already, by verify."""
    forger = Forger()
    FORGERIES[name](forger)
    with pytest.raises(BrokenChainError, match="cannot be trusted"):
        other.load(forger.entries)
    assert other.datasets() == ()
    if name == "a key twice":
        # the database itself sees to that
        with pytest.raises(LedgerUnavailableError, match="never changed"):
            _insert(other, forger)
        return
    _insert(other, forger)
    with pytest.raises(BrokenChainError, match="cannot be trusted"):
        other.verify("census")


def test_partitions_where_records_are_replaced(other: Ledger) -> None:
    """A data set for replace-one neighbours has no parts, whoever says so."""
    forger = Forger("replace-one")
    forger.add("partition", partition="region", details={"parts": ["north", "south"]})
    with pytest.raises(BrokenChainError, match="entry 3 of census"):
        other.load(forger.entries)


def test_nothing_is_charged_without_a_budget(other: Ledger) -> None:
    """A spend before the first budget is refused, of nothing too."""
    forger = Forger()
    budget = forger.entries.pop()
    forger.books = Books("census", "add-remove", count=1, head=budget.previous, format=2)
    forger.add("spend")
    with pytest.raises(BrokenChainError, match="there is no budget yet"):
        other.load(forger.entries)


def _insert(book: Ledger, forger: Forger) -> None:
    """Write a history into the tables as it is."""

    def work(connection: sa.Connection) -> None:
        done = connection.execute(
            sa.insert(tables.dataset).values(
                name="census", unit="person", neighbours="add-remove", count=0, head=""
            )
        )
        (key,) = done.inserted_primary_key
        names = {column.name for column in tables.entry.columns}
        rows = [row_of(key, entry) for entry in forger.entries]
        connection.execute(
            sa.insert(tables.entry), [{name: row.get(name) for name in names} for row in rows]
        )
        accounts = [
            {"dataset_id": key, "partition": a, "part": b,
             "mu_squared": amount_text(one.square), "failure": amount_text(one.failure)}
            for (a, b), one in forger.books.accounts.items()
        ]  # fmt: skip
        connection.execute(sa.insert(tables.account), accounts)
        for number in forger.books.open:
            connection.execute(sa.insert(tables.reservation).values(dataset_id=key, number=number))
        save_dataset(connection, key, forger.books, 0)

    book._store.write(work)


def test_a_right_history_of_each_format_passes(other: Ledger) -> None:
    """What the forger writes without a fault is accepted, and verified in the tables."""
    for old in (False, True):
        forger = Forger(old=old)
        forger.add("partition", partition="region", details={"parts": ["north", "south"]})
        forger.add("spend", partition="region", part="north")
        forger.add("reserve")
        forger.add("cancel", refers=5, purpose="it never ran")
        book = Ledger(f"{other.where}-{old}", heads="none")
        book.init()
        _insert(book, forger)
        assert book.verify("census").entries == 6
        book = Ledger(f"{other.where}-{old}-2", heads="none")
        book.init()
        assert book.load(forger.entries).entries == 6


# --- every history that is imported could have been written --------------------------------------

SQUARES = st.one_of(
    st.fractions(min_value=Fraction(1, 100), max_value=Fraction(1, 2), max_denominator=200),
    st.integers(2, 10**50).map(lambda one: Fraction(1, one)),
)
TEXTS = st.sampled_from(["", " ", "table 3", "\x1b", "a\nb", "=1+1", "x" * 1001])
PARTS = st.sampled_from([("", ""), ("x", "a"), ("x", "b"), ("y", "a"), ("", "a")])


@st.composite
def _steps(draw: st.DrawFn) -> list[tuple[str, dict[str, Any]]]:
    """Entries that are right as a rule, and changed at random in some of them."""
    found: list[tuple[str, dict[str, Any]]] = []
    for _ in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(["spend", "spend", "reserve", "partition", "budget", "end"]))
        content: dict[str, Any] = {}
        if kind in ("spend", "reserve"):
            square, failure = draw(SQUARES), draw(st.sampled_from(["0", "0", "0.01", "1/30"]))
            content = {
                "mu": amount_text(root_ceiling(square, 40)), "mu_squared": amount_text(square),
                "failure": failure, "statement": "whole" if failure == "0" else "approximate",
            }  # fmt: skip
            if draw(st.integers(0, 2)) == 0:
                content["partition"], content["part"] = draw(PARTS)
        elif kind == "partition":
            names = draw(st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=3))
            content = {"partition": draw(st.sampled_from(["x", "y", ""])),
                       "details": {"parts": names}}  # fmt: skip
        elif kind == "budget":
            square = draw(st.sampled_from(["1", "2", "4", "1/3"]))
            root = amount_text(root_ceiling(from_text(square), 40))
            content = {"mu": root, "mu_squared": square, "failure": "0.1", "purpose": "more"}
        else:
            kind = draw(st.sampled_from(["commit", "cancel"]))
            content = {"refers": draw(st.integers(1, 9)),
                       "purpose": "never ran" if kind == "cancel" else ""}  # fmt: skip
        if draw(st.integers(0, 5)) == 0:
            name, values = draw(
                st.sampled_from([
                    ("purpose", TEXTS), ("actor", TEXTS), ("mu", st.just("0.001")),
                    ("expires", st.just("2026-01-03T00:00:00")), ("failure", st.just("0.2")),
                    ("key", st.sampled_from(["", "k2", "commit:1"])),
                    ("partition", st.sampled_from(["", "x", "\n"])),
                    ("statement", st.just("head")), ("refers", st.just(3)),
                ])
            )  # fmt: skip
            content[name] = draw(values)
        found.append((kind, content))
    return found


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(_steps())
def test_what_is_imported_could_have_been_written(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, dict[str, Any]]]
) -> None:
    """Whatever is accepted, the commands write again, entry by entry, with the same sums."""
    forger = Forger()
    for kind, content in steps:
        try:
            forger.add(kind, **content)
        except (KeyError, ValueError, TypeError):
            break
    folder = tmp_path_factory.mktemp("books")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "_sqlite", _unsafe(Store._sqlite))
        imported, own = (Ledger(folder / name, heads="none") for name in ("a", "b"))
        for one in (imported, own):
            one.init()
        try:
            imported.load(forger.entries)
        except (BrokenChainError, InputError):
            return
        for entry in imported.history("census"):
            again = _written(own, entry)
            assert again == replace(
                entry,
                **{name: getattr(again, name) for name in _OWN},
            )
        assert own.status("census").balance == imported.status("census").balance
        imported.verify("census")


# these are of the moment of writing
_OWN = ("time", "key", "request", "token", "previous", "hash", "expires")


def _unsafe(usual: Callable[..., Any]) -> Callable[..., Any]:
    def connect(store: Store, *words: str) -> Any:
        connection = usual(store, *words)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    return connect


def _written(book: Ledger, entry: Entry) -> Entry:
    common = {"key": entry.key, "actor": entry.actor}
    amounts: dict[str, Any] = {}
    if entry.mu_squared is not None:
        amounts = {"mu_squared": entry.amount.square, "failure": entry.amount.failure}
    match entry.kind:
        case Kind.CREATE:
            return book.add_dataset(**entry.details, actor=entry.actor).entry
        case Kind.PARTITION:
            parts = entry.details["parts"]
            return book.add_partition("census", entry.partition, parts, **common).entry
        case Kind.BUDGET:
            return book.set_budget("census", **amounts, reason=entry.purpose, **common).entry
        case Kind.SPEND | Kind.RESERVE:
            part = "/".join(entry.account) if entry.partition else None
            act = book.spend if entry.kind is Kind.SPEND else book.reserve
            return act("census", **amounts, part=part, purpose=entry.purpose, **common).entry
        case Kind.COMMIT:
            return book.commit("census", int(entry.refers or 0), actor=entry.actor).entry
    number = int(entry.refers or 0)
    return book.cancel("census", number, reason=entry.purpose, actor=entry.actor).entry


# --- the history of an earlier version -----------------------------------------------------------


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_exports_of_the_first_version(other: Ledger, data: Path, format: str) -> None:
    """What version 0.1.0 exported is imported with the same hashes, goes on, and is exported."""
    from gdpbridge.ledger import read_entries

    path = data / f"ledger_0_1_0.{format}"
    with path.open(encoding="utf-8", newline="") as file:
        lines = read_entries(file, format)
        status = other.load(lines)
    assert not lines.sealed
    before = [
        json.loads(line)
        for line in (data / "ledger_0_1_0.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [one.document() for one in other.history("census")] == before
    assert status.head == before[-1]["hash"]
    (open_one,) = status.reservations
    other.cancel("census", open_one.entry.number, reason="it never ran")
    assert other.spend("census", mu="0.5", purpose="table 3", key="S1").repeated
    with pytest.raises(InputError, match="a new key"):
        other.spend("census", mu="0.6", purpose="table 3", key="S1")
    with pytest.raises(InputError, match="a new key"):
        other.add_partition("census", "sex", ["north", "south"], key="P1")
    assert other.add_partition("census", "region", ["north", "south"], key="P1").repeated
    other.spend("census", mu="0.1", purpose="next", part="region/south")
    other.verify("census")


def test_a_new_field_changes_no_hash(data: Path) -> None:
    """A field that is added later, and is empty, leaves the hashes of all entries as they are."""
    from dataclasses import make_dataclass

    later = make_dataclass("Later", [("note", str | None, None)], bases=(Entry,), frozen=True)
    forger = Forger()
    lines = (data / "ledger_0_1_0.jsonl").read_text(encoding="utf-8").splitlines()
    for entry in [*forger.entries, *(entry_from(json.loads(line)) for line in lines)]:
        assert later(**entry.document()).computed_hash() == entry.hash
        assert later(**entry.document(), note="x").computed_hash() != entry.hash


def test_a_new_column_leaves_a_ledger_valid(file_ledger: Ledger) -> None:
    """A database that has a column more is read, spent from and verified as before."""
    file_ledger.spend("census", mu=0.1, purpose="a")
    with file_ledger._store._engine.connect() as connection:
        connection.exec_driver_sql("ALTER TABLE ledger_entry ADD COLUMN note TEXT")
    file_ledger.spend("census", mu=0.1, purpose="b")
    assert file_ledger.verify("census").entries == 4
