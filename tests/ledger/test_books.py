"""Spending, budgets, partitions, reservations, keys: the same on every database."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.ledger import (
    Amount,
    BudgetExceededError,
    BudgetTooLowError,
    Kind,
    Ledger,
    UnknownDatasetError,
)
from gdpbridge.ledger.amounts import amount_text, root_ceiling
from gdpbridge.ledger.books import Books
from gdpbridge.ledger.entries import WHOLE, Entry
from gdpbridge.ledger.words import stamp


def test_a_hundred_tenths_fill_a_budget_of_one(ledger: Ledger) -> None:
    """100 spends of μ = 0.1 fit μ = 1 exactly, and the 101st is refused with all figures."""
    for _ in range(100):
        ledger.spend("census", mu=0.1, purpose="count")
    with pytest.raises(BudgetExceededError) as caught:
        ledger.spend("census", mu=0.1, purpose="count")
    error = caught.value
    assert (error.asked.square, error.spent.square, error.left.square) == (Fraction(1, 100), 1, 0)
    assert error.largest_mu == 0
    for words in ("asked μ = 0.1", "spent μ = 1 ", "left μ = 0 ", "the largest μ that fits is 0"):
        assert words in str(error)
    assert ledger.status("census").entries == 102


def test_eleven_elevenths(ledger: Ledger) -> None:
    """Eleven spends of 1/11 fill a budget of 1 exactly, of μ² and of p; the twelfth is refused."""
    ledger.set_budget("census", mu=1, failure="1/2", reason="for the test")
    for _ in range(11):
        ledger.spend("census", mu_squared="1/11", failure="1/22", purpose="count")
    balance = ledger.status("census").balance
    assert balance.spent == balance.budget == Amount(Fraction(1), Fraction(1, 2))
    with pytest.raises(BudgetExceededError):
        ledger.spend("census", mu_squared="1/11", purpose="count")
    with pytest.raises(BudgetExceededError):
        ledger.spend("census", mu="1e-30", purpose="count")


def test_the_stored_cases(file_ledger: Ledger) -> None:
    """0.6 and 0.8 fill a budget of 1, and so do 121 spends of 1/11; nothing fits after them."""
    file_ledger.spend("census", mu=0.6, purpose="a")
    file_ledger.spend("census", mu=0.8, purpose="b")
    with pytest.raises(BudgetExceededError):
        file_ledger.spend("census", mu="1e-30", purpose="c")
    file_ledger.add_dataset("other", unit="person", neighbours="add-remove")
    file_ledger.set_budget("other", mu=1)
    for _ in range(121):
        file_ledger.spend("other", mu="1/11", purpose="a")
    with pytest.raises(BudgetExceededError):
        file_ledger.spend("other", mu="1/11", purpose="a")


def test_all_that_is_left_can_be_spent(file_ledger: Ledger) -> None:
    """The largest μ that a quote names fits, and the exact rest fits as μ²."""
    file_ledger.spend("census", mu=0.5, purpose="a")
    quote = file_ledger.quote("census", mu=0.9)
    assert not quote.fits
    assert quote.left_before.square == Fraction(3, 4)
    assert file_ledger.quote("census", mu=quote.largest_mu).fits
    above = quote.largest_mu + Fraction(1, 10**20)
    assert not file_ledger.quote("census", mu=above).fits
    receipt = file_ledger.spend("census", mu_squared="3/4", purpose="b")
    assert receipt.balance.left is not None
    assert receipt.balance.left.square == 0


def test_a_quote_writes_nothing(ledger: Ledger) -> None:
    """Quotes and reads leave every byte of the books as it was."""
    before = ledger.status("census")
    quote = ledger.quote("census", mu=0.5, failure=1e-7)
    assert quote.fits
    assert quote.left_after == Amount(Fraction(3, 4), Fraction(9, 10**7))
    list(ledger.history("census"))
    ledger.verify("census")
    assert ledger.status("census") == before


def test_failures_add(ledger: Ledger) -> None:
    """Failure probabilities are summed against their own budget, without rounding."""
    for _ in range(10):
        ledger.spend("census", mu="1/100", failure="1e-7", purpose="count")
    with pytest.raises(BudgetExceededError, match="the failure probability does not fit"):
        ledger.spend("census", mu="1/100", failure="1e-300", purpose="count")
    ledger.spend("census", mu="1/100", purpose="count")


def test_a_measured_mechanism(file_ledger: Ledger) -> None:
    """A profile is charged the upper end of its proved μ, and recorded as it was given."""
    file_ledger.set_budget("census", mu=3, failure="1e-6", reason="room")
    profile = gdp.profiles.Laplace(scale=0.5)
    found = gdp.measure(profile)
    entry = file_ledger.spend("census", profile, purpose="mean").entry
    assert Fraction(entry.amount.square) == Fraction(found.mu.high) ** 2
    assert entry.certified is True
    assert gdp.load_profile(dict(entry.mechanism or {})) == profile
    assert entry.statement == "whole"


def test_a_head_is_charged_with_its_failure_probability(file_ledger: Ledger) -> None:
    """A head statement is charged as the approximate one it implies: p = δ(ε_h), rounded up."""
    found = gdp.measure(gdp.profiles.Gaussian(sigma=2), eps_h=3)
    assert found.statement is gdp.Statement.HEAD
    file_ledger.set_budget("census", mu=3, failure="0.1", reason="room")
    entry = file_ledger.spend("census", found, purpose="mean").entry
    assert entry.statement == "approximate"
    assert found.failure <= entry.amount.failure <= found.failure + Fraction(1, 10**80)


def test_a_failure_that_no_float_holds(file_ledger: Ledger) -> None:
    """δ(ε_h) of the order 1e-1000 is charged rounded up, never as 0."""
    file_ledger.set_budget("census", mu=3, failure="0.1", reason="room")
    found = gdp.measure(gdp.profiles.Gaussian(sigma=1), eps_h=70)
    assert 0 < found.failure < Fraction(1, 10**300)
    entry = file_ledger.spend("census", found, purpose="mean").entry
    assert found.failure < entry.amount.failure <= Fraction(1, 10**80)


def test_an_unacknowledged_try_is_not_a_repetition(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction that is run again after it was kept finds its entry, and says it is new."""
    write = ledger._store.write
    monkeypatch.setattr(ledger._store, "write", lambda work: (write(work), write(work))[1])
    receipt = ledger.spend("census", mu=0.5, purpose="a")
    assert not receipt.repeated
    with ledger.spending("census", mu=0.5, purpose="b") as run:
        pass
    assert run.receipt.entry.kind is Kind.COMMIT
    ledger.add_dataset("panel", unit="person", neighbours="add-remove")
    other = [one.document() for one in ledger.history("panel")]
    assert len(other) == 1
    monkeypatch.undo()
    assert ledger.status("census").entries == 5


def test_a_mechanism_that_is_not_gdp(file_ledger: Ledger) -> None:
    """(ε, δ)-DP is charged with its δ as failure probability; icea as a head."""
    entry = file_ledger.spend(
        "census", gdp.profiles.ApproxDP(epsilon=0.5, delta=1e-7), purpose="table"
    ).entry
    assert entry.failure == "0.0000001"
    file_ledger.add_dataset("panel", unit="person", neighbours="replace-one")
    file_ledger.set_budget("panel", mu=20, failure="1/2")
    entry = file_ledger.spend("panel", gdp.profiles.ICEA(messages=20, users=4), purpose="sum").entry
    assert entry.statement == "approximate"
    assert entry.amount.failure > 0


def test_what_is_not_proved(file_ledger: Ledger) -> None:
    """An uncertified μ needs to be asked for, and is recorded as such."""
    profile = gdp.profiles.Callable(
        lambda eps: 0.1 * (eps < 1), trusted=["non-increasing", "upper bound"]
    )
    measured = gdp.measure(profile, failure=1e-8)
    assert not measured.certified
    with pytest.raises(InputError, match="is proved"):
        file_ledger.spend("census", measured, purpose="count")
    entry = file_ledger.spend("census", measured, purpose="count", uncertified=True).entry
    assert entry.certified is False


def test_relation_and_unit_must_agree(file_ledger: Ledger) -> None:
    """What is stated for another relation or unit is refused, naming both."""
    profile = gdp.profiles.Laplace(scale=5, neighbours="replace-one")
    with pytest.raises(InputError, match="neighbours is 'replace-one': must be add-remove"):
        file_ledger.spend("census", profile, purpose="a")
    with pytest.raises(InputError, match="neighbours"):
        file_ledger.spend("census", mu=0.1, neighbours="replace-one", purpose="a")
    with pytest.raises(InputError, match="unit is 'household': must be person"):
        file_ledger.spend("census", mu=0.1, unit="household", purpose="a")
    file_ledger.spend("census", mu=0.1, unit="person", neighbours="add-remove", purpose="a")


def test_certificates_are_checked(file_ledger: Ledger, tmp_path: Path) -> None:
    """A certificate counts only if it holds, and for at least what is stated."""
    file_ledger.set_budget("census", mu=5, reason="room")
    document = gdp.measure(gdp.profiles.Laplace(scale=0.5)).certificate
    assert document is not None
    path = tmp_path / "cert.json"
    document.save(path)
    entry = file_ledger.spend("census", certificate=path, purpose="mean").entry
    assert entry.amount.square == Fraction(document.claim.mu.high) ** 2
    assert entry.certified is True
    assert len(entry.certificate or "") == 64
    with pytest.raises(InputError, match="certificate is for μ = 1"):
        file_ledger.spend("census", mu=1.8, certificate=path, purpose="mean")
    file_ledger.spend("census", mu=1.81, certificate=path, purpose="mean")
    text = path.read_text(encoding="utf-8").replace('"scale": "0.5"', '"scale": "0.4"')
    with pytest.raises(InputError, match="one that holds"):
        file_ledger.spend("census", certificate=text.encode(), purpose="mean")


def test_same_key_same_entry(ledger: Ledger) -> None:
    """A request under a key is recorded once; other content under it is an error."""
    first = ledger.spend("census", mu=0.5, purpose="table 3", key="K")
    again = ledger.spend("census", mu="1/2", purpose="table 3", key="K")
    assert again.repeated
    assert again.entry == first.entry
    assert again.balance == first.balance
    for change in ({"mu": 0.6}, {"purpose": "table 4"}, {"failure": 1e-9}):
        with pytest.raises(InputError, match="key is 'K': must be a new key: entry 3 of census"):
            ledger.spend("census", **{"mu": 0.5, "purpose": "table 3", "key": "K", **change})
    # also once the budget is used up
    ledger.spend("census", mu_squared="3/4", purpose="rest")
    assert ledger.spend("census", mu=0.5, purpose="table 3", key="K").repeated


def test_budgets_move_but_not_below_what_is_spent(ledger: Ledger) -> None:
    """A budget is raised or lowered with a reason, down to what is spent and no further."""
    ledger.spend("census", mu=0.5, purpose="a")
    with pytest.raises(InputError, match="reason"):
        ledger.set_budget("census", mu=2)
    assert ledger.set_budget("census", mu=2, reason="approved").balance.budget == Amount(
        Fraction(4), Fraction(0)
    )
    ledger.set_budget("census", mu=0.5, reason="no more")
    with pytest.raises(BudgetTooLowError, match=r"cannot be μ = 0\.49 "):
        ledger.set_budget("census", mu=0.49, reason="even less")
    entries = list(ledger.history("census"))
    assert [entry.purpose for entry in entries if entry.kind is Kind.BUDGET][1:] == [
        "approved",
        "no more",
    ]


def test_parts_of_a_partition(ledger: Ledger) -> None:
    """Of disjoint parts the most charged one counts; the whole counts on top; parts have limits."""
    ledger.add_partition("census", "region", ["north", "south"])
    ledger.spend("census", mu_squared="1/2", part="region/north", purpose="a")
    ledger.spend("census", mu_squared="1/2", part="region/south", purpose="b")
    assert ledger.status("census").balance.spent.square == Fraction(1, 2)
    ledger.spend("census", mu_squared="1/4", purpose="c")
    with pytest.raises(BudgetExceededError) as caught:
        ledger.spend("census", mu_squared="1/2", part="region/south", purpose="d")
    assert caught.value.left.square == Fraction(1, 4)
    ledger.spend("census", mu_squared="1/4", part="region/south", purpose="e")
    with pytest.raises(BudgetExceededError):
        ledger.spend("census", mu="1e-30", purpose="f")
    # the north still has what the south has used
    ledger.spend("census", mu_squared="1/4", part="region/north", purpose="g")
    with pytest.raises(InputError, match="part is 'region/east'"):
        ledger.spend("census", mu=0.1, part="region/east", purpose="h")
    ledger.verify("census")


def test_two_partitions_add(file_ledger: Ledger) -> None:
    """A unit is in one part of each partition, so that partitions add to each other."""
    file_ledger.add_partition("census", "region", ["north", "south"])
    file_ledger.add_partition("census", "age", ["young", "old"])
    file_ledger.spend("census", mu_squared="1/2", part="region/north", purpose="a")
    file_ledger.spend("census", mu_squared="1/2", part="age/old", purpose="b")
    with pytest.raises(BudgetExceededError):
        file_ledger.spend("census", mu="1e-30", part="age/old", purpose="c")
    file_ledger.spend("census", mu_squared="1/2", part="age/young", purpose="d")


def test_no_parts_where_records_are_replaced(file_ledger: Ledger) -> None:
    """A record that is replaced may change its part, so that such data sets have no partitions."""
    file_ledger.add_dataset("panel", unit="person", neighbours="replace-one")
    with pytest.raises(InputError, match="add-remove"):
        file_ledger.add_partition("panel", "region", ["north"])


def test_reservations_count_until_they_are_cancelled(ledger: Ledger) -> None:
    """A reservation counts, also overdue; a commit keeps it, a cancellation gives it back."""
    one = ledger.reserve(
        "census", mu=0.6, purpose="job", key="J", expires=timedelta(microseconds=1)
    )
    assert ledger.reserve(
        "census", mu=0.6, purpose="job", key="J", expires=timedelta(microseconds=1)
    ).repeated
    (open_one,) = ledger.status("census").reservations
    assert (open_one.entry, open_one.overdue) == (one.entry, True)
    with pytest.raises(BudgetExceededError):
        ledger.spend("census", mu=0.81, purpose="other")
    two = ledger.reserve("census", mu=0.8, purpose="job 2")
    ledger.commit("census", one.entry.number)
    assert ledger.commit("census", one.entry.number).repeated
    with pytest.raises(InputError, match="open reservation"):
        ledger.cancel("census", one.entry.number, reason="too late")
    cancelled = ledger.cancel("census", two.entry.number, reason="it never ran")
    assert cancelled.balance.spent.square == Fraction(36, 100)
    assert ledger.status("census").reservations == ()
    with pytest.raises(InputError, match="open reservation"):
        ledger.commit("census", two.entry.number)
    with pytest.raises(InputError, match="open reservation"):
        ledger.commit("census", 1)
    ledger.verify("census")


def test_unknown_and_unready_data_sets(ledger: Ledger) -> None:
    """An unknown data set is refused with those there are; one without a budget cannot spend."""
    with pytest.raises(UnknownDatasetError, match="must be one of census"):
        ledger.spend("cnsus", mu=0.1, purpose="a")
    ledger.add_dataset("panel", unit="person", neighbours="replace-one")
    with pytest.raises(InputError, match="panel has no budget yet"):
        ledger.spend("panel", mu=0.1, purpose="a")
    with pytest.raises(InputError, match="a new name"):
        ledger.add_dataset("panel", unit="person", neighbours="replace-one")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"purpose": ""}, "purpose"),
        ({"purpose": "a\nb"}, "purpose"),
        ({"purpose": "x" * 1001}, "purpose"),
        ({"actor": "\x00"}, "actor"),
        ({"key": ""}, "key"),
        ({"key": "commit:3"}, "key"),
        ({"mu": None}, "mu"),
        ({"mu_squared": 0.1}, "mu_squared"),
        ({"failure": 1}, "failure"),
        ({"part": "region"}, "part"),
        ({"what": "laplace"}, "mu"),
    ],
)
def test_bad_arguments(file_ledger: Ledger, change: dict[str, object], field: str) -> None:
    """Each argument that is not allowed is named, and nothing is recorded."""
    before = file_ledger.status("census")
    with pytest.raises(InputError) as caught:
        file_ledger.spend("census", **{"mu": 0.1, "purpose": "a", **change})
    assert caught.value.field == field
    assert file_ledger.status("census") == before


def test_work_does_not_grow_with_the_history(ledger: Ledger) -> None:
    """A spend and a status take as many statements after 300 entries; none reads all entries."""
    engine = ledger._store._engine
    statements: list[tuple[str, object]] = []

    def note(_conn: object, _cursor: object, text: str, given: object, *_: object) -> None:
        statements.append((text, given))

    def counted() -> int:
        statements.clear()
        event.listen(engine, "before_cursor_execute", note)
        ledger.spend("census", mu="1/1000", purpose="count")
        status = ledger.status("census")
        assert len(status.reservations) == 1
        event.remove(engine, "before_cursor_execute", note)
        return len(statements)

    ledger.reserve("census", mu="1/1000", purpose="job")
    counted()
    early = counted()
    for _ in range(300):
        ledger.spend("census", mu="1/1000", purpose="count")
    assert counted() == early
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            for text, given in statements:
                if text.lstrip().startswith("SELECT"):
                    plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", given)
                    looks = [row[3] for row in plan if "ledger_entry" in row[3]]
                    # each by number or by key, none at all of a data set
                    assert all("number" in look or "key=" in look for look in looks), looks


SPENDS = st.lists(
    st.tuples(
        st.sampled_from(["", "a", "b"]),
        st.fractions(min_value=Fraction(1, 10**6), max_value=1, max_denominator=10**6),
        st.fractions(min_value=0, max_value=Fraction(1, 10), max_denominator=10**6),
    ),
    max_size=30,
)


@settings(max_examples=50)
@given(SPENDS)
def test_books_never_exceed_their_budget(spends: list[tuple[str, Fraction, Fraction]]) -> None:
    """Whatever is asked, all that fits is taken, nothing else, and a replay says the same."""
    books, numbers = Books("d"), iter(range(10**6))
    common = {"time": stamp(datetime.now(UTC)), "request": "0" * 64, "actor": "a"}
    charge = {"purpose": "p", "statement": "whole", "token": "0" * 32}
    details = {"name": "d", "unit": "person", "neighbours": "add-remove"}

    def entry(kind: Kind, **content: object) -> Entry:
        given = {**common, "key": f"k{next(numbers)}", "token": "0" * 32, **content}
        return books.append(Entry(number=0, kind=kind, **{"purpose": "", **given}))

    written = [
        entry(Kind.CREATE, details=details),
        entry(Kind.PARTITION, partition="x", details={"parts": ["a", "b"]}),
        entry(
            Kind.BUDGET,
            mu_squared="2",
            failure="0.2",
            mu=amount_text(root_ceiling(Fraction(2), 40)),
        ),
    ]
    exact = dict.fromkeys(["", "a", "b"], (Fraction(0), Fraction(0)))
    for part, square, failure in spends:
        account = ("x", part) if part else WHOLE
        trial = {**exact, part: (exact[part][0] + square, exact[part][1] + failure)}
        worst = [trial[""][i] + max(trial["a"][i], trial["b"][i]) for i in (0, 1)]
        fits = worst[0] <= 2 and worst[1] <= Fraction(1, 5)
        try:
            amount = books.charged(account, Amount(square, failure))
        except BudgetExceededError:
            assert not fits
            continue
        assert fits
        exact = trial
        written.append(
            entry(
                Kind.SPEND,
                partition=account[0],
                part=account[1],
                mu=amount_text(root_ceiling(amount.square, 40)),
                mu_squared=amount_text(amount.square),
                failure=amount_text(amount.failure),
                **{**charge, "statement": "approximate" if amount.failure else "whole"},
            )
        )
    again = Books("d")
    for one in written:
        again.replay(one)
    assert (again.accounts, again.head) == (books.accounts, books.head)
    json.dumps([one.document() for one in written])
