"""What errors say, and that they arrive whole from another process."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest

from gdpbridge.errors import (
    Advice,
    GdpBridgeError,
    InputError,
    MissingExtraError,
    RefusedError,
    Words,
    WorkLimitError,
    did_you_mean,
)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InputError("scale", 0, "a finite number > 0"), "scale is 0: must be a finite number > 0"),
        (InputError("scale", "a", "a number"), "scale is 'a': must be a number"),
        (InputError("table", Words("empty"), "rows"), "table is empty: must be rows"),
        (InputError("mu and rho", None, Advice("give one")), "mu and rho: give one"),
        (InputError.missing("scale", "give a number"), "scale is missing: give a number"),
    ],
)
def test_sentences(error: InputError, sentence: str) -> None:
    """A value is quoted, words about one are not; an advice stands in place of "must be"."""
    assert str(error) == sentence
    assert str(error.renamed("it")) == sentence.replace(error.field, "it", 1)


@pytest.mark.parametrize(
    "error",
    [
        InputError("scale", Fraction(1, 3), "a finite number > 1"),
        InputError.missing("scale", "give a number"),
        WorkLimitError("too much", needed=10, limit=3),
        RefusedError("no", "mu", "2", {"left": 1}),
        MissingExtraError("charts", "A chart"),
    ],
)
def test_errors_pickle(error: GdpBridgeError) -> None:
    """An error is the same after it went to another process: its class, sentence and fields."""
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back), vars(back)) == (type(error), str(error), vars(error))
    if isinstance(error, InputError):
        assert str(back.renamed("it")) == str(error.renamed("it"))


def test_did_you_mean() -> None:
    """The nearest known name is hinted at, and nothing where none is near."""
    assert did_you_mean("lapace", ["gaussian", "laplace"]) == " (did you mean laplace?)"
    assert did_you_mean("xyz", ["gaussian", "laplace"]) == ""
