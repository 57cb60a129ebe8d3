"""Repeated requests, and arguments that are none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError, MissingExtraError
from gdpbridge.ledger import Kind, Ledger, charges, requests


def test_a_key_stands_for_the_whole_request(ledger: Ledger) -> None:
    """Under a key, another partition, unit, relation, reason or part is other content."""
    ledger.add_partition("census", "region", ["a", "b"], key="P")
    assert ledger.add_partition("census", "region", ["a", "b"], key="P").repeated
    with pytest.raises(InputError, match="key is 'P': must be a new key"):
        ledger.add_partition("census", "sex", ["a", "b"], key="P")
    spend = {"mu": 0.1, "purpose": "t", "unit": "person", "key": "S"}
    ledger.spend("census", **spend)
    assert ledger.spend("census", **spend).repeated
    for change in (
        {"unit": "household"},
        {"unit": None},
        {"neighbours": "replace-one"},
        {"neighbours": "add-remove"},
        {"part": "region/a"},
    ):
        with pytest.raises(InputError, match="key is 'S': must be a new key"):
            ledger.spend("census", **{**spend, **change})
    with pytest.raises(InputError, match="key is 'S': must be a new key"):
        ledger.reserve("census", **spend)
    ledger.set_budget("census", mu=2, reason="approved", key="B")
    with pytest.raises(InputError, match="key is 'B': must be a new key"):
        ledger.set_budget("census", mu=2, reason="by whom", key="B")
    number = ledger.reserve("census", mu=0.1, purpose="job").entry.number
    ledger.cancel("census", number, reason="it never ran")
    assert ledger.cancel("census", number, reason="it never ran").repeated
    with pytest.raises(InputError, match="must be a new key"):
        ledger.cancel("census", number, reason="another story")
    ledger.verify("census")


class Frozen(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: object = None) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)


def test_a_clock_that_stands_still(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repetition is told from a first time without the clock: one charge, one run."""
    monkeypatch.setattr(requests, "datetime", Frozen)
    assert not ledger.spend("census", mu=0.1, purpose="a", key="K").repeated
    assert ledger.spend("census", mu=0.1, purpose="a", key="K").repeated
    runs = []
    with ledger.spending("census", mu=0.1, purpose="b", key="R"):
        runs.append(1)
    with (
        pytest.raises(InputError, match="was begun before"),
        ledger.spending("census", mu=0.1, purpose="b", key="R"),
    ):
        runs.append(2)
    assert runs == [1]


ARGUMENTS: dict[str, Callable[[Ledger], object]] = {
    "key": lambda book: book.spend("census", mu=1, purpose="a", key=5),
    "key ": lambda book: book.add_partition("census", "x", ["a"], key=b"k"),
    "actor": lambda book: book.spend("census", mu=1, purpose="a", actor=5),
    "actor ": lambda book: book.spend("census", mu=1, purpose="a", actor=""),
    "purpose": lambda book: book.spend("census", mu=1, purpose=None),
    "reason": lambda book: book.set_budget("census", mu=1, reason=None),
    "reason ": lambda book: book.cancel("census", 3, reason=5),
    "number": lambda book: book.commit("census", 2**70),
    "number ": lambda book: book.cancel("census", 2**31, reason="x"),
    "number  ": lambda book: book.commit("census", True),
    "number   ": lambda book: book.commit("census", 3.0),
    "number    ": lambda book: book.commit("census", "3"),
    "last": lambda book: book.history("census", last=2**70),
    "last ": lambda book: book.history("census", last=0),
    "after": lambda book: book.history("census", after=-1),
    "after ": lambda book: book.history("census", after=None),
    "dataset": lambda book: book.status(5),
    "dataset ": lambda book: book.status("a\x00b"),
    "dataset  ": lambda book: book.status("\udcff"),
    "dataset   ": lambda book: book.spend(None, mu=1, purpose="a"),
    "dataset    ": lambda book: book.add_dataset(5, unit="person", neighbours="add-remove"),
    "unit": lambda book: book.add_dataset("x", unit=5, neighbours="add-remove"),
    "unit ": lambda book: book.spend("census", mu=1, purpose="a", unit=5),
    "neighbours": lambda book: book.add_dataset("x", unit="u", neighbours=["add-remove"]),
    "neighbours ": lambda book: book.spend("census", mu=1, purpose="a", neighbours=5),
    "partition": lambda book: book.add_partition("census", 5, ["a"]),
    "parts": lambda book: book.add_partition("census", "x", 5),
    "parts ": lambda book: book.add_partition("census", "x", "abc"),
    "parts  ": lambda book: book.add_partition("census", "x", []),
    "part": lambda book: book.add_partition("census", "x", [5]),
    "part ": lambda book: book.spend("census", mu=1, purpose="a", part=5),
    "part  ": lambda book: book.spend("census", mu=1, purpose="a", part="\x00/\udcff"),
    "mu": lambda book: book.spend("census", mu=[1], purpose="a"),
    "mu ": lambda book: book.spend("census", mu=float("nan"), purpose="a"),
    "mu  ": lambda book: book.spend("census", mu=Decimal("NaN"), purpose="a"),
    "mu   ": lambda book: book.spend("census", mu=True, purpose="a"),
    "mu    ": lambda book: book.spend("census", mu=10**5000, purpose="a"),
    "mu     ": lambda book: book.spend("census", mu="1" * 10**5, purpose="a"),
    "failure": lambda book: book.spend("census", mu=1, failure=b"1", purpose="a"),
    "certificate": lambda book: book.spend("census", certificate=5, purpose="a"),
    "certificate ": lambda book: book.quote("census", certificate="a\x00b"),
    "certificate  ": lambda book: book.quote("census", certificate="/dev/zero"),
    "mechanism": lambda book: book.spend("census", 5, purpose="a"),
    "uncertified": lambda book: book.spend(
        "census", gdp.profiles.Laplace(scale=5), purpose="a", uncertified="no"
    ),
    "expires": lambda book: book.reserve("census", mu=1, purpose="a", expires=5),
    "expires ": lambda book: book.reserve("census", mu=1, purpose="a", expires=None),
    "expires  ": lambda book: book.reserve("census", mu=1, purpose="a", expires=timedelta(-1)),
    "head": lambda book: book.verify("census", head=5),
    "since": lambda book: book.verify("census", since=5),
    "since ": lambda book: book.verify("census", since="none"),
    "since  ": lambda book: book.verify("census", since=f"other:1:{'0' * 64}"),
    "entries": lambda book: book.load([5]),
    "ledger": lambda book: Ledger(5),
    "ledger ": lambda book: Ledger("a\x00b"),
    "ledger  ": lambda book: Ledger(b"a"),
    "timeout": lambda book: Ledger("x", timeout="soon"),
    "timeout ": lambda book: Ledger("x", timeout=float("nan")),
    "timeout  ": lambda book: Ledger("x", timeout=10**30),
}


@pytest.mark.parametrize("field", ARGUMENTS)
def test_arguments_that_are_none(unchanged_ledger: Ledger, field: str) -> None:
    """Each is an InputError that names it, on every database, and nothing is recorded."""
    before = unchanged_ledger.status("census")
    with pytest.raises(InputError) as caught:
        ARGUMENTS[field](unchanged_ledger)
    assert caught.value.field == field.strip()
    assert unchanged_ledger.status("census") == before


def test_unknown_options(file_ledger: Ledger) -> None:
    """An option that there is not, or a purpose that is missing, is told as by any function."""
    with pytest.raises(TypeError, match="porpoise"):
        file_ledger.spend("census", mu=1, porpoise="a")  # type: ignore[call-arg]
    with pytest.raises(InputError, match="purpose"):
        file_ledger.spend("census", mu=1)  # type: ignore[call-arg]


def test_what_cannot_be_proved_is_told_before_the_work(
    file_ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mechanism whose μ cannot be proved is refused before it is measured."""

    def measured(*_: object, **__: object) -> Any:
        raise AssertionError("measured")

    monkeypatch.setattr(charges, "measure", measured)
    profile = gdp.profiles.Callable(
        lambda eps: 0.1 * (eps < 1), trusted=["non-increasing", "upper bound"]
    )
    for act in (file_ledger.quote, file_ledger.spend, file_ledger.reserve):
        options = {} if act == file_ledger.quote else {"purpose": "a"}
        with pytest.raises(InputError, match="--uncertified"):
            act("census", profile, **options)
        with pytest.raises(AssertionError, match="measured"):
            act("census", profile, uncertified=True, **options)
    assert [one.kind for one in file_ledger.history("census")] == [Kind.CREATE, Kind.BUDGET]


def test_what_can_be_proved_is(file_ledger: Ledger) -> None:
    """What is said to be provable before the work is proved by it, and the reverse."""
    from gdpbridge.measure import is_provable

    for profile in (
        gdp.profiles.Laplace(scale=5),
        gdp.profiles.PureDP(epsilon=0.1),
        gdp.profiles.DPSGD(noise_multiplier=5, sample_rate=0.01, steps=10),
        gdp.profiles.Callable(
            lambda eps: 0.1 * (eps < 1), trusted=["non-increasing", "upper bound"]
        ),
    ):
        assert gdp.measure(profile).certified == is_provable(profile)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without alembic there is no ledger that could be brought to its version."""
    from gdpbridge.ledger import store

    monkeypatch.setattr(store.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gdpbridge\[ledger\]'"):
        Ledger(tmp_path / "x.sqlite")
