"""The explorer's page put together: its modules in one script, and the mechanisms as declared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from gdpbridge.mechanisms.base import Profile
from gdpbridge.profiles import kinds

__all__ = ["MODULES", "explorer_page"]

# each after those it imports from
MODULES = (
    "special",
    "gaussian",
    "laws",
    "atoms",
    "composed",
    "mechanisms",
    "measure",
    "answers",
    "state",
    "chart",
    "app",
)
# what the page asks for, and the value that it starts with
_SHOWN: dict[str, dict[str, float]] = {
    "laplace": {"scale": 2.0, "sensitivity": 1.0},
    "gaussian": {"sigma": 2.0, "sensitivity": 1.0},
    "dpsgd": {"noise_multiplier": 1.0, "batch_size": 256, "records": 60000, "epochs": 15},
    "pure-dp": {"epsilon": 1.0},
    "approx-dp": {"epsilon": 1.0, "delta": 1e-6},
    "randomized-response": {"noise_parameter": 0.5, "buckets": 2},
    "discrete-laplace": {"scale": 2.0, "sensitivity": 1},
    "discrete-gaussian": {"sigma": 2.0, "sensitivity": 1},
    "gdp": {"mu": 1.0},
    "table": {},
}
_TITLES = {
    "laplace": "Laplace noise",
    "gaussian": "Gaussian noise",
    "dpsgd": "DP-SGD training",
    "pure-dp": "any ε-DP mechanism",
    "approx-dp": "any (ε, δ)-DP mechanism",
    "randomized-response": "randomized response",
    "discrete-laplace": "discrete Laplace noise",
    "discrete-gaussian": "discrete Gaussian noise",
    "gdp": "any μ-GDP mechanism",
    "table": "a table of (ε, δ)",
}
# sliders that reach further than what is typical of a test
_SLIDERS = {
    ("dpsgd", "noise_multiplier"): (0.5, 20.0),
    ("dpsgd", "batch_size"): (16, 65536),
    ("dpsgd", "records"): (1_000, 10_000_000),
    ("dpsgd", "epochs"): (1, 300),
}
_IMPORT = re.compile(r"^import\s[^;]*?;\n", re.MULTILINE)
_EXPORT_LIST = re.compile(r"^export \{[^}]*\};\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const|let|function|class)", re.MULTILINE)


def explorer_page() -> str:
    """Return the page: HTML with all that it needs inside, which asks nothing of any network."""
    folder = files("gdpbridge.explorer") / "page"
    page = (folder / "page.html").read_text(encoding="utf-8")
    script = "\n".join(
        _joined((folder / f"{name}.js").read_text(encoding="utf-8")) for name in MODULES
    )
    inside = {
        "style": (folder / "style.css").read_text(encoding="utf-8"),
        # JSON in a script element must not end it
        "declared": json.dumps(_declared(), ensure_ascii=False).replace("<", "\\u003c"),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: inside[found[1]], page)


def _joined(module: str) -> str:
    """Return a module without its imports and exports: all share the page's one scope."""
    return _EXPORT.sub("", _EXPORT_LIST.sub("", _IMPORT.sub("", module)))


def _declared() -> dict[str, Any]:
    """Return title and parameters of each kind, as the mechanisms declare them."""
    known = kinds()
    return {
        kind: {"title": _TITLES[kind], "parameters": list(_parameters(known[kind], kind, shown))}
        for kind, shown in _SHOWN.items()
    }


def _parameters(
    cls: type[Profile], kind: str, shown: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    for name, start in shown.items():
        field = cls.parameters()[name]
        extra: Any = field.json_schema_extra
        least, most = _bound(field, Gt, Ge, 0.0), _bound(field, Lt, Le, 1e300)
        yield {
            "name": name,
            "symbol": extra["symbol"],
            "what": field.description,
            "allowed": extra["allowed"],
            "whole": "whole number" in extra["allowed"],
            "start": start,
            "slider": _SLIDERS.get((kind, name), extra["typical"]),
            "least": least[0],
            "leastIn": least[1],
            "most": most[0],
            "mostIn": most[1],
        }


def _bound(
    field: FieldInfo, strict: type[Gt | Lt], reached: type[Ge | Le], otherwise: float
) -> tuple[float, bool]:
    """Return a declared end of a parameter's range, and whether it belongs to it."""
    for one in field.metadata:
        if isinstance(one, strict | reached):
            return float(getattr(one, type(one).__name__.lower())), isinstance(one, reached)
    return otherwise, False
