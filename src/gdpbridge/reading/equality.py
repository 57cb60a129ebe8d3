"""When two mechanisms are the same: by their parameters, and not by what was found on the way."""

from __future__ import annotations

from pydantic import BaseModel

__all__ = ["ByParameters"]


class ByParameters(BaseModel):
    """A model that is equal to another one of its class with the same parameters."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ByParameters):
            return NotImplemented
        # arrays are lists here, whose comparison is one answer
        return type(self) is type(other) and self.model_dump() == other.model_dump()

    def __hash__(self) -> int:
        """Return one number for equal mechanisms, from what in them is no list or mechanism."""
        plain = (one for one in self.model_dump().values() if isinstance(one, str | int | float))
        return hash((type(self), *plain))
