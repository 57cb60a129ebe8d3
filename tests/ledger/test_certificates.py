"""Certificates that entries name: proved anew by verify, and composed into one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.ledger import BrokenChainError, Ledger

P = gdp.profiles
OF = {"neighbours": "add-remove", "purpose": "mean"}


@pytest.fixture
def charged(file_ledger: Ledger, tmp_path: Path) -> tuple[Ledger, Path]:
    """A ledger with two releases that have certificates, and the folder of these."""
    folder = tmp_path / "proofs"
    folder.mkdir()
    for name, profile in (("a", P.Laplace(scale=4)), ("b", P.Gaussian(sigma=5))):
        document = gdp.measure(profile).certificate
        assert document is not None
        document.save(folder / f"{name}.json")
        file_ledger.spend("census", certificate=folder / f"{name}.json", **OF)
    return file_ledger, folder


def test_certificates_are_proved_anew(charged: tuple[Ledger, Path], tmp_path: Path) -> None:
    """By any name in the folder; a missing one is named, with its hash."""
    ledger, folder = charged
    assert ledger.verify("census", certificates=folder).entries == 4
    (folder / "a.json").rename(folder / "another name")
    ledger.verify("census", certificates=folder)
    (folder / "b.json").unlink()
    with pytest.raises(InputError, match="entry 4, of SHA-256"):
        ledger.verify("census", certificates=folder)
    with pytest.raises(InputError, match="must be a folder"):
        ledger.verify("census", certificates=tmp_path / "no")


def test_a_certificate_that_no_longer_holds(
    charged: tuple[Ledger, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that a later checker refuses, or that is for more than was charged, breaks the books."""
    ledger, folder = charged
    module = gdp.ledger.certificates
    real = module.proved_by

    def more(path: Path) -> object:
        from dataclasses import replace

        return replace(real(path), mu=Fraction(9))

    def refused(path: Path) -> object:
        raise InputError("certificate", "false", "one that holds")

    for other, words in ((more, "for more than was charged"), (refused, "does not hold")):
        monkeypatch.setattr(module, "proved_by", other)
        with pytest.raises(BrokenChainError, match=words):
            ledger.verify("census", certificates=folder)


def test_all_releases_as_one(charged: tuple[Ledger, Path]) -> None:
    """The composition is of what counts: spends, and reservations that were not cancelled."""
    ledger, folder = charged
    kept = ledger.reserve("census", certificate=folder / "a.json", **OF)
    given_back = ledger.reserve("census", certificate=folder / "b.json", **OF)
    ledger.commit("census", kept.entry.number)
    ledger.cancel("census", given_back.entry.number, reason="it failed")
    document = ledger.certificate("census", folder)
    assert gdp.verify(document, folder=folder).valid
    assert [(one.file, one.count) for one in document.releases or ()] == [
        ("a.json", 2), ("b.json", 1),
    ]  # fmt: skip
    spent = ledger.status("census").balance.spent
    assert Fraction(document.claim.mu.high) ** 2 >= spent.square
    assert float(document.claim.mu.high) ** 2 == pytest.approx(float(spent.square))


def test_where_there_is_none(charged: tuple[Ledger, Path]) -> None:
    """A release without a certificate, or from a part, and a data set without releases."""
    ledger, folder = charged
    ledger.spend("census", mu=0.1, **OF)
    with pytest.raises(InputError, match="entry 5 has none"):
        ledger.certificate("census", folder)
    ledger.add_dataset("other", unit="person", neighbours="add-remove")
    with pytest.raises(InputError, match="something was released"):
        ledger.certificate("other", folder)
    ledger.set_budget("other", 2)
    ledger.add_partition("other", "region", ["north", "south"])
    ledger.spend("other", certificate=folder / "a.json", part="region/north", **OF)
    with pytest.raises(InputError, match="parts are charged"):
        ledger.certificate("other", folder)
