"""Lists and ranges of numbers, as ``convert`` takes them."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def test_lists_and_ranges(run: Callable) -> None:
    """A list, a range and a repeated option are the same places, exactly as decimals."""
    plain = run("convert --mu 1 --epsilon 0.1 --epsilon 0.2 --epsilon 0.3")
    assert plain.status == 0
    for words in ("0.1,0.2,0.3", "0.1:0.3:0.1", "0.1,0.2:0.35:0.1"):
        assert run(f"convert --mu 1 --epsilon {words}").out == plain.out
    assert run("convert laplace --scale 1 --delta 1e-5,1e-6").status == 0


@pytest.mark.parametrize("words", ["1:2", "1:2:0", "2:1:1", "0:1:1e-9", "a:b:c", "1:nan:1", "1,,2"])
def test_bad_lists(run: Callable, words: str) -> None:
    """What is no list is one sentence."""
    done = run(f"convert --mu 1 --epsilon {words}")
    assert done.status == 2
    assert done.err.startswith("--epsilon is ")
