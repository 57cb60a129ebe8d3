"""Fuzz the grammar of formulas: ``pip install atheris``, then ``python fuzz/fuzz_formula.py``.

It stops by itself after a hundred thousand texts; any libFuzzer option may follow on the command
line. Whatever the text, the outcome is a profile or an error of this library, soon and in little
memory.
"""

from __future__ import annotations

import contextlib
import sys

import atheris

with atheris.instrument_imports():
    from gdpbridge.errors import GdpBridgeError
    from gdpbridge.expressions.parse import parse_expression
    from gdpbridge.mechanisms.formula import Formula

_LIMITS = ["-runs=100000", "-timeout=5", "-rss_limit_mb=1024", "-max_len=2200"]


def one_input(data: bytes) -> None:
    """Read one text as a formula, and as the profile of a mechanism."""
    text = data.decode("utf-8", errors="replace")
    for read in (lambda: parse_expression(text, "text"), lambda: Formula(f"delta = {text}")):
        with contextlib.suppress(GdpBridgeError):
            read()


if __name__ == "__main__":
    atheris.Setup([sys.argv[0], *_LIMITS, *sys.argv[1:]], one_input)
    atheris.Fuzz()
