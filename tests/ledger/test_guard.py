"""Spending around code: what is released is charged, whatever becomes of the code."""

from __future__ import annotations

import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.ledger import BudgetExceededError, Kind, Ledger, charged


def _kinds(book: Ledger) -> list[Kind]:
    return [one.kind for one in book.history("census")][2:]


def test_a_body_that_ends_is_committed(file_ledger: Ledger) -> None:
    """The body runs between a reservation and its commit."""
    profile = gdp.profiles.Laplace(scale=5)
    with file_ledger.spending("census", profile, purpose="mean") as run:
        assert _kinds(file_ledger) == [Kind.RESERVE]
        (open_one,) = file_ledger.status("census").reservations
        assert open_one.entry == run.entry
    assert _kinds(file_ledger) == [Kind.RESERVE, Kind.COMMIT]
    assert run.receipt.balance.spent == run.entry.amount


def _fail_before_release(book: Ledger) -> None:
    with book.spending("census", mu=0.5, purpose="mean") as run:
        run.nothing_released("the input could not be read")
        raise OSError("gone")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_body_that_fails_has_spent(file_ledger: Ledger, error: type[BaseException]) -> None:
    """A failure does not say that nothing was released, so that the charge stays."""
    with pytest.raises(error), file_ledger.spending("census", mu=0.5, purpose="mean"):
        raise error
    assert _kinds(file_ledger) == [Kind.RESERVE, Kind.COMMIT]


def test_only_the_body_can_say_that_nothing_was_released(file_ledger: Ledger) -> None:
    """A body that says so gives its charge back, whether it ends or fails; the reason is kept."""
    with file_ledger.spending("census", mu=0.5, purpose="mean") as run:
        with pytest.raises(InputError, match="reason"):
            run.nothing_released("")
        run.nothing_released("the table was empty")
    assert run.receipt.balance.spent.square == 0
    assert run.receipt.entry.purpose == "the table was empty"
    with pytest.raises(OSError, match="gone"):
        _fail_before_release(file_ledger)
    assert _kinds(file_ledger) == [Kind.RESERVE, Kind.CANCEL] * 2


def test_a_refused_body_does_not_run(file_ledger: Ledger) -> None:
    """Where the budget does not allow it the body is not entered, nor a second time under a key."""
    ran = []
    with pytest.raises(BudgetExceededError), file_ledger.spending("census", mu=2, purpose="mean"):
        ran.append(1)
    with file_ledger.spending("census", mu=0.1, purpose="mean", key="K"):
        pass
    with (
        pytest.raises(InputError, match="was begun before"),
        file_ledger.spending("census", mu=0.1, purpose="mean", key="K"),
    ):
        ran.append(2)
    assert ran == []


def test_opendp_measurements(file_ledger: Ledger) -> None:
    """A decorated measurement charges each call what its privacy map says, and then refuses."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    pure = dp.m.make_laplace(*space, scale=1.8)
    entry_mu = gdp.measure(gdp.profiles.PureDP(epsilon=pure.map(1))).mu.upper
    noisy = charged(file_ledger, "census", purpose="count")(pure)
    assert isinstance(noisy(10), int)
    spent = file_ledger.status("census").balance.spent_mu
    assert spent == pytest.approx(entry_mu, abs=1e-9)
    noisy(10)
    with pytest.raises(BudgetExceededError):
        noisy(10)
    zcdp = dp.m.make_gaussian(*space, scale=20.0)
    file_ledger.set_budget("census", mu=3, failure="0.1", reason="room")
    charged(file_ledger, "census", purpose="count")(zcdp)(10)
    profile = gdp.profiles.Gaussian(sigma=20)
    charged(file_ledger, "census", purpose="count", profile=profile)(zcdp)(10)
    last = list(file_ledger.history("census"))[-2]
    assert last.mechanism is not None
    assert last.mechanism["kind"] == "gaussian"
    file_ledger.verify("census")
    real = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    charged(file_ledger, "census", purpose="mean")(dp.m.make_laplace(*real, scale=10.0))(1.0)
    with pytest.raises(InputError, match="an OpenDP measurement"):
        charged(file_ledger, "census", purpose="count")(len)
