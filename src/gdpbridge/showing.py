"""What a notebook asks of a result: one line, a table, plain data, a data frame.

The words are those of the report, which is found by name when something is shown: it lies above
what it shows, and is slow to load.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Framed", "Shown"]


def _report() -> Any:
    return importlib.import_module("gdpbridge.report.shown")


class Framed:
    """A result with columns, which may be had as a data frame."""

    __slots__ = ()

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns by name."""
        raise NotImplementedError

    def to_frame(self, library: str = "pyarrow") -> Any:
        """Return the rows as a data frame (extra ``tables``); one result is one row.

        Args:
            library: whose data frame it is to be: "pyarrow", "pandas", "polars", …

        Raises:
            InputError: for a library that is not known, or not installed.
            MissingExtraError: without the extra.
        """
        return importlib.import_module("gdpbridge.reading.tables").frame_of(
            self._columns(), library
        )


class Shown(Framed):
    """A result that shows itself; dataclasses that inherit from it are made with ``repr=False``."""

    def __repr__(self) -> str:
        return str(_report().line(self))

    def _repr_html_(self) -> str:
        return str(_report().html(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data: the document that the command line prints as JSON."""
        return dict(_report().document(self))

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [value] for name, value in _report().flat(self.to_dict()).items()}
