"""``gdpbridge kinds``: the mechanisms that are known, and what each of them declares."""

from __future__ import annotations

import inspect
import textwrap
from typing import Annotated, Any

import typer

from gdpbridge.cli.commands import add_command
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output, text_width
from gdpbridge.cli.show import as_json_text
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import kinds, profile_class

__all__ = ["add_to", "described"]

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        help="a kind of mechanism [default: a line on each]",
        autocompletion=lambda: list(kinds()),
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_command(app, name, show_kinds, summary=summary, example="kinds laplace")


def show_kinds(name: Name = None, *, json: AsJson = False) -> Output:
    """Answer with a line on each kind, or all that one declares."""
    wanted = kinds() if name is None else {name: profile_class(name)}
    found = [described(kind, cls) for kind, cls in wanted.items()]
    if json:
        schema = {"name": "gdpbridge.kinds", "version": 1}
        return Output(as_json_text({"schema": schema, "kinds": found}))
    if name is not None:
        return Output(_page(found[0]))
    widest = max(len(one["kind"]) for one in found)
    lines = [f"{one['kind']:<{widest}}  {one['summary']}" for one in found]
    return Output("".join(f"{line}\n" for line in lines))


def described(kind: str, cls: type[Profile]) -> dict[str, Any]:
    """Return what a kind declares, as plain data."""
    from gdpbridge_verify.kinds import KINDS

    module = inspect.getmodule(cls)
    parameters = []
    for name, field in cls.parameters().items():
        extra: Any = field.json_schema_extra or {}
        required = field.is_required()
        default = None if required else field.get_default(call_default_factory=True)
        parameters.append(
            {
                "name": name,
                "symbol": extra.get("symbol"),
                "description": field.description,
                "allowed": extra.get("allowed"),
                "required": required,
                "default": default,
            }
        )
    return {
        "kind": kind,
        "summary": inspect.cleandoc(cls.__doc__ or "").partition("\n")[0],
        "about": inspect.cleandoc((module and module.__doc__) or ""),
        "profile_is": str(cls.nature),
        "nature": cls.nature.sentence,
        "parameters": parameters,
        "composes": cls.overrides("privacy_losses") or cls.overrides("composed_curve"),
        "groups": any(cls.overrides(one) for one in ("group_curve", "grouped_curve", "of_group")),
        "sampling": _schemes(cls),
        # or those of what it is a run of
        "certificate": kind in KINDS or cls.overrides("certified_as"),
    }


def _schemes(cls: type[Profile]) -> list[str]:
    """Return how samples may be drawn before it is run."""
    from gdpbridge.transformations.subsample import SCHEMES

    own = cls.model_fields["neighbours"].default
    schemes = [scheme for scheme, relation in SCHEMES.items() if own in (None, relation)]
    if not cls.overrides("group_curve"):
        schemes = [scheme for scheme in schemes if scheme != "with-replacement"]
    return schemes if cls.samples else []


def _page(one: dict[str, Any]) -> str:
    width = text_width()
    rows = [
        ("δ(ε) is", one["nature"]),
        ("Composition", "known" if one["composes"] else "not known"),
        ("Groups", "known" if one["groups"] else "by δ(ε) alone, where it is proved"),
        ("Samples", ", ".join(one["sampling"]) or "not known"),
        ("Certificate", "yes" if one["certificate"] else "no"),
        *(
            (
                f"--{each['name'].replace('_', '-')}",
                f"{each['description']}: {each['allowed']}"
                + (f" [default: {each['default']}]" if each["default"] else ""),
            )
            for each in one["parameters"]
        ),
    ]
    label = 2 + max(len(name) for name, _ in rows)
    lines = [f"{one['kind']}: {one['summary']}", "", *one["about"].splitlines(), ""]
    for name, text in rows:
        folded = textwrap.wrap(text, max(width - label, 20))
        lines.append(f"{name:<{label}}{folded[0]}")
        lines += [" " * label + line for line in folded[1:]]
    return "".join(f"{line}\n" for line in lines)
