"""Options that several commands share, each declared once."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["AsJson"]

AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document instead of text")]
