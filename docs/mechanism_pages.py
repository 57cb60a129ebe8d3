"""A directive that describes every mechanism by what its class declares."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from gdpbridge.cli.kinds import described
from gdpbridge.mechanisms.base import Profile
from gdpbridge.profiles import kinds


class Mechanisms(SphinxDirective):
    """All kinds, one section each: formula, source, class and parameters."""

    def run(self) -> list[nodes.Node]:
        sections = [self._section(kind, cls) for kind, cls in kinds().items()]
        return [*self.parse_text_to_nodes("\n".join(_table())), *sections]

    def _section(self, kind: str, cls: type[Profile]) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(kind)])
        section += nodes.title(text=kind)
        text = "\n".join(_lines(cls))
        section += self.parse_text_to_nodes(text)
        return section


def _table() -> Iterator[str]:
    """All kinds with what each can do, as ``gdpbridge kinds`` tells it."""
    yield "| kind | δ(ε) is | composes | groups | samples | certificate |"
    yield "|---|---|---|---|---|---|"
    for kind, cls in kinds().items():
        about = described(kind, cls)
        cells = [
            f"`{kind}`",
            about["profile_is"],
            "yes" if about["composes"] else "no",
            "yes" if about["groups"] else "by δ(ε)",
            ", ".join(about["sampling"]) or "no",
            "yes" if about["certificate"] else "no",
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""


def _lines(cls: type[Profile]) -> Iterator[str]:
    """The description in MyST Markdown, the language of the page."""
    module = inspect.getmodule(cls)
    assert module is not None
    yield "```{eval-rst}"
    # in formulas, bars are absolute values
    yield from inspect.cleandoc(module.__doc__ or "").replace("|", "\\|").splitlines()
    yield ""
    yield f".. py:class:: gdpbridge.profiles.{cls.__name__}({', '.join(_signature(cls))})"
    yield ""
    yield f"   {inspect.cleandoc(cls.__doc__ or '').partition(chr(10))[0]}"
    yield "```"
    yield ""
    yield f"δ(ε) is {cls.nature.sentence}." if hasattr(cls, "nature") else ""
    yield ""
    yield "| parameter | symbol | what it is | must be | default |"
    yield "|---|---|---|---|---|"
    for name, field in cls.parameters().items():
        extra: Any = field.json_schema_extra or {}
        default = "required" if field.is_required() else _shown(field.default)
        cells = [f"`{name}`", extra.get("symbol", ""), field.description or ""]
        yield f"| {' | '.join(map(_cell, [*cells, extra.get('allowed', ''), default]))} |"
    yield ""


def _signature(cls: type[Profile]) -> Iterator[str]:
    yield "*"
    # required ones first, as the declarations have them
    for name, field in cls.parameters().items():
        yield name if field.is_required() else f"{name}={field.default!r}"
    yield f"neighbours={cls.model_fields['neighbours'].default!r}"


def _shown(default: object) -> str:
    return "none" if default is None or default == {} else f"{default}"


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("<", "&lt;")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("mechanisms", Mechanisms)
    return {"parallel_read_safe": True}
