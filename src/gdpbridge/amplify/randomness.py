"""Random choices of rows: exact, unbiased, and from the operating system's generator.

A predictable generator would let whoever sees the sample tell which rows were left out, and the
amplification by subsampling would be gone.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np

from gdpbridge.numeric.arrays import Mask

__all__ = ["Bernoulli", "Chooser", "FixedSize"]


_WORD = 64
_BLOCK = 1 << 12


class Chooser(ABC):
    """Says of each row in turn whether it is in the sample."""

    @abstractmethod
    def choose(self, rows: int) -> Mask:
        """Return the choices for the next rows."""


class Bernoulli(Chooser):
    """Each row is in the sample with the same probability, independently of the others.

    A uniform number in [0, 1) is compared with the probability 64 bits at a time, for as long as
    they agree: the choice is exact for every rational.
    """

    def __init__(self, probability: Fraction) -> None:
        self.probability = probability

    def choose(self, rows: int) -> Mask:
        """Return the choices for the next rows."""
        if self.probability == 1:
            return np.ones(rows, dtype=np.bool_)
        threshold, rest = divmod(self.probability.numerator << _WORD, self.probability.denominator)
        words = np.frombuffer(os.urandom(rows * _WORD // 8), dtype=np.uint64)
        mask = words < np.uint64(threshold)
        (ties,) = np.nonzero(words == np.uint64(threshold))
        if ties.size and rest:
            following = Bernoulli(Fraction(rest, self.probability.denominator))
            mask[ties] = following.choose(int(ties.size))
        return mask


class FixedSize(Chooser):
    """A fixed number of rows out of a known total, every such set with the same probability.

    One after the other, a row is taken with probability (still wanted)/(still to come): Knuth's
    selection sampling, TAOCP vol. 2, algorithm 3.4.2S.
    """

    def __init__(self, size: int, total: int) -> None:
        self.wanted, self.coming = size, total
        self._random = _Buffered()

    def choose(self, rows: int) -> Mask:
        """Return the choices for the next rows."""
        mask = np.zeros(rows, dtype=np.bool_)
        below = self._random.below
        for row in range(rows):
            if not self.wanted:
                break
            if below(self.coming) < self.wanted:
                mask[row] = True
                self.wanted -= 1
            self.coming -= 1
        return mask


class _Buffered:
    """Uniform whole numbers from the operating system, which is asked for many bytes at a time."""

    def __init__(self) -> None:
        self._words: list[int] = []

    def below(self, bound: int) -> int:
        """Return a uniform whole number in [0, bound), bound at most 2^63."""
        # the multiples of the bound that fit; what lies above would favour small results
        limit = (1 << _WORD) // bound * bound
        while True:
            if not self._words:
                self._words = np.frombuffer(os.urandom(_BLOCK), dtype=np.uint64).tolist()
            word = self._words.pop()
            if word < limit:
                return word % bound
