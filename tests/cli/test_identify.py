"""`gdpbridge identify`: the verdict is the exit status."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gdpbridge.identify import Identification, TailStatus, Verdict

CASES = [
    ("laplace --scale 0.5", "gdp", 0, (0.0, 0.0)),
    ("sgd-family --A 2 --B 1 --sigma 2", "gdp", 0, (0.70710678, 0.70710679)),
    ("icea --messages 20 --users 4", "not-gdp", 3, None),
    ("approx-dp --epsilon 1 --delta 1e-6", "not-gdp", 3, None),
]


@pytest.mark.parametrize(("words", "verdict", "status", "mu_t"), CASES)
def test_verdicts(
    run: Callable, words: str, verdict: str, status: int, mu_t: tuple[float, float] | None
) -> None:
    """Verdict, exit status and tail parameter of the checked mechanisms."""
    done = run(f"identify {words} --json")
    assert (done.status, done.err) == (status, "")
    document = done.document
    assert list(document) == ["schema", "mechanism", "verdict", "reason", "tail", "profile_is"]
    assert document["schema"] == {"name": "gdpbridge.identification", "version": 1}
    assert document["verdict"] == verdict
    assert document["tail"]["status"] == "proved"
    if mu_t is None:
        assert document["tail"]["mu_t"] == {"low": "inf", "high": "inf"}
    else:
        assert mu_t[0] <= document["tail"]["mu_t"]["low"] <= mu_t[1]


def test_text(run: Callable) -> None:
    """The text is the verdict, the reason and the tail."""
    done = run("identify icea --messages 20 --users 4")
    assert done.status == 3
    assert list(done.rows)[1:] == ["Verdict", "Because", "δ(ε)", "Tail"]
    assert done.rows["Verdict"] == "no finite μ follows from this bound: proved"


def test_tail_digits_are_certain(run: Callable) -> None:
    """The digits of μ_t are cut off, not rounded: √½ is 0.70710678118654…"""
    assert (
        run("identify sgd-family --A 2 --B 1 --sigma 2")
        .rows["Tail"]
        .startswith("μ_t = 0.7071067811…")
    )
    done = run("identify gaussian --sigma 1.5")
    assert done.rows["Tail"] == "μ_t = 0.6666666666…, proved"
    assert done.rows["Because"].endswith("μ = 0.6666666666…")


def test_unknown(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tail that is not known gives status 4, and null for μ_t."""
    unknown = Identification(Verdict.UNKNOWN, None, "nothing is known", TailStatus.UNKNOWN)
    monkeypatch.setattr("gdpbridge.identify", lambda _: unknown)
    done = run("identify laplace --scale 1")
    assert (done.status, done.rows["Tail"]) == (4, "μ_t is not known")
    document = run("identify laplace --scale 1 --json").document
    assert document["tail"] == {"mu_t": None, "status": "unknown"}
