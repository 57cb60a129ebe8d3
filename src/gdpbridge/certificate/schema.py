"""The JSON Schema of certificates, made of what the checker declares."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from gdpbridge_verify.document import Certificate
from gdpbridge_verify.reader import Most, Text, Whole

__all__ = ["certificate_schema"]

Schema = dict[str, Any]

_TYPES = {
    str: "string",
    Fraction: "string",
    int: "integer",
    bool: "boolean",
    type(None): "null",
}


def certificate_schema() -> Schema:
    """Return the schema."""
    definitions: dict[str, Schema] = {}
    top = _object(Certificate, definitions)
    del definitions["Certificate"]
    return {"$defs": definitions, **top}


def _object(kind: Any, definitions: dict[str, Schema]) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    # an entry of its own, before those that it refers to
    found = definitions[kind.__name__] = {
        "title": kind.__name__, "description": kind.__doc__, "type": "object",
    }  # fmt: skip
    found |= {
        "additionalProperties": False,
        "properties": {one.name: _of(hints[one.name], definitions) for one in fields(kind)},
        "required": [one.name for one in fields(kind) if one.default is MISSING],
    }
    return found


def _of(hint: Any, definitions: dict[str, Schema]) -> Schema:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _marked(_of(inner[0], definitions), inner[1:])
    if origin in (Union, UnionType):
        return {"anyOf": [_of(one, definitions) for one in inner]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is tuple:
        return {"type": "array", "items": _of(inner[0], definitions)}
    if origin is dict:
        names, values = (_of(one, definitions) for one in inner)
        return {"type": "object", "propertyNames": names, "additionalProperties": values}
    name = getattr(hint, "__name__", "")
    if is_dataclass(hint):
        if name not in definitions:
            _object(hint, definitions)
        return {"$ref": f"#/$defs/{name}"}
    return {
        "type": {
            str: "string",
            Fraction: "string",
            int: "integer",
            bool: "boolean",
            type(None): "null",
        }[hint]
    }


def _marked(found: Schema, marks: tuple[object, ...]) -> Schema:
    for mark in marks:
        if isinstance(mark, Text):
            found |= {"maxLength": mark.most, "pattern": f"^({mark.pattern})$"}
            found |= {"description": mark.allowed}
        elif isinstance(mark, Whole):
            found |= {"minimum": mark.least, "maximum": mark.largest}
        elif isinstance(mark, Most):
            lists = [one for one in (found, *found.get("anyOf", [])) if "type" in one]
            for one in lists:
                if one["type"] in ("array", "object"):
                    one["maxItems" if one["type"] == "array" else "maxProperties"] = mark.count
        else:
            found = {**found, "description": mark}
    return found
