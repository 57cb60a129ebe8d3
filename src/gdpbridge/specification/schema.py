"""The JSON Schema of specifications, made from the registry's models."""

from __future__ import annotations

from typing import Any, get_args

from gdpbridge.mechanisms.base import Neighbours
from gdpbridge.mechanisms.registry import kinds, transformations
from gdpbridge.specification.release import Release

__all__ = ["DIALECT", "mechanism_schema"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SUBSAMPLE = {
    "type": "object",
    "description": "run on a random sample of the records",
    "properties": {
        "rate": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "scheme": {"enum": ["poisson", "without-replacement", "with-replacement"]},
        "sample": {"type": "integer", "minimum": 1},
        "population": {"type": "integer", "minimum": 1},
    },
    "additionalProperties": False,
}
_COUNT = {"type": "integer", "minimum": 1, "description": "of a part: how often it is run"}
_GROUP = {"type": "integer", "minimum": 1, "description": "the number of records in a group"}
_RELATION = {
    "enum": list(get_args(Neighbours)),
    "description": "the neighbours that it is converted to, where a theorem leads there",
}
_COMPOSE = {"type": "integer", "minimum": 1, "description": "the number of runs"}


def mechanism_schema() -> dict[str, Any]:
    """Return the JSON Schema of a mechanism's specification."""
    classes = {**kinds(), **transformations()}
    definitions: dict[str, Any] = {}
    for kind, cls in classes.items():
        own = cls.model_json_schema()
        definitions.update(own.pop("$defs", {}))
        properties = own["properties"]
        properties |= {"subsample": _SUBSAMPLE, "compose": _COMPOSE, "count": _COUNT}
        properties |= {"group": _GROUP, "to_neighbours": _RELATION}
        properties["release"] = {"$ref": "#/$defs/release"}
        for declared in properties.values():
            if declared.get("fraction"):
                declared["type"] = [declared["type"], "string"]
        for name in ("base", "parts"):
            if name in properties:
                properties[name] = _nested(properties[name])
        if kind != "sequence":
            needed = [name for name in own.get("required", []) if "instead" not in properties[name]]
            own["required"] = ["kind", *needed]
        definitions[kind] = own
    definitions.pop("Profile", None)
    definitions["release"] = _release()
    kinds_of = [{"$ref": f"#/$defs/{kind}"} for kind in classes]
    definitions["part"] = {"oneOf": kinds_of}
    return {
        "$schema": DIALECT,
        "title": "gdpbridge.mechanism",
        "description": "a mechanism for gdpbridge, version 1",
        "oneOf": kinds_of,
        # a mechanism alone has "compose"
        "not": {"required": ["count"]},
        "$defs": definitions,
    }


def _release() -> dict[str, Any]:
    """What is said of a release: texts, dates and numbers."""
    own = Release.model_json_schema()
    for described in own["properties"].values():
        described.pop("anyOf", None)
        described |= {"type": ["string", "number"]}
    return own


def _nested(declared: dict[str, Any]) -> dict[str, Any]:
    """Let a mechanism inside another one be any mechanism."""
    described = {"description": declared.get("description", "")}
    if declared.get("type") != "array":
        return {"$ref": "#", **described}
    limits: dict[str, Any] = {
        key: declared[key] for key in ("minItems", "maxItems") if key in declared
    }
    return {"type": "array", "items": {"$ref": "#/$defs/part"}, **limits, **described}
