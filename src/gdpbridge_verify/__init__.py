"""Re-prove a certificate of gdpbridge with arithmetic of its own; gmpy2 is all that it needs.

Nothing here is shared with the search or with ball arithmetic: intervals are MPFR numbers rounded
both ways, and the mechanisms' formulas are written again. ``python -m gdpbridge_verify FILE`` is
the program.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gdpbridge_verify.check import Verification, read, verify

__all__ = ["Verification", "read", "verify"]


def __getattr__(name: str) -> object:
    # who wants to know the kinds of mechanisms has no need of arithmetic
    if name in __all__:
        return getattr(importlib.import_module(f"{__name__}.check"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
