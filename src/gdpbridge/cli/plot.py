"""``gdpbridge plot``: pictures of mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gdpbridge.cli.commands import Group
from gdpbridge.cli.measure import EpsH, Failure
from gdpbridge.cli.mechanism import add_mechanism_command, mechanism_of
from gdpbridge.cli.options import AsJson
from gdpbridge.cli.output import Output
from gdpbridge.cli.progress import Progress
from gdpbridge.cli.show import as_json_text
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile

if TYPE_CHECKING:
    from gdpbridge.plot import Picture

__all__ = ["add_to"]

# in a picture no one sees more; curves of larger μ lie on the axes
_SEEN, _LARGEST = 1e-4, 1000.0

OutputFile = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="a file to write, whose name ends in .png, .svg, .pdf or .html",
    ),
]
Others = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="MECHANISM",
        help="another mechanism in the same picture, quoted: 'laplace --scale 1'; may be repeated",
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="TEXT", help="the mechanism's name in the legend; once for each"
    ),
]
Title = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="the picture's title")]
EpsMax = Annotated[
    str | None,
    typer.Option("--eps-max", metavar="ε", help="the largest ε shown: a number > 0, at most 1e5"),
]
Mus = Annotated[
    list[str] | None,
    typer.Option(
        "--mu",
        "--gaussian-mu",
        metavar="μ",
        help="also draw the Gaussian curve of this μ: a number > 0; may be repeated",
    ),
]
CurveFailure = Annotated[
    str,
    typer.Option(
        "--failure",
        metavar="p",
        help="of the Gaussian curves: a failure probability, a number in [0, 1)",
        show_default=False,
    ),
]
Widths = Annotated[
    list[str] | None,
    typer.Option(
        "--width",
        metavar="d",
        help="the width of a step: a number > 0; may be repeated [default: 0.5, 0.2, 0.05]",
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the pictures, each a command whose words name a mechanism."""
    pictures = typer.Typer(cls=_Pictures, rich_markup_mode=None, add_completion=False)
    for picture, action, about, more in (
        ("profile", profile, "Draw δ(ε) beside Gaussian curves δ_μ(ε).", "--mu 1 --mu 2 "),
        ("gdpt", gdpt, "Draw G(ε) = μ(ε, δ(ε)), with the least μ, head and tail.", ""),
        (
            "tradeoff",
            _of_attackers("tradeoff"),
            "Draw f(α), an attacker's least type II error.",
            "--mu 1.8 ",
        ),
        ("attack", _of_attackers("attack"), "Draw an attacker's true-positive rate.", "--mu 1.8 "),
        ("staircase", staircase, "Draw G between the staircases of the paper's methods.", ""),
    ):
        add_mechanism_command(
            pictures,
            picture,
            action,
            summary=about,
            epilog=f"Example: gdpbridge plot {picture} laplace --scale 0.5 {more}-o {picture}.png",
            within="plot",
            required=f"-o {picture}.png",
        )
    app.add_typer(
        pictures, name=name, help=summary, short_help=summary, subcommand_metavar="PICTURE"
    )


class _Pictures(Group):
    """The pictures."""

    noun = "picture"


def profile(
    profile: Profile,
    *,
    output: OutputFile,
    others: Others = None,
    label: Names = None,
    mu: Mus = None,
    failure: CurveFailure = "0",
    eps_max: EpsMax = None,
    log: Annotated[
        bool, typer.Option("--log/--linear", help="show δ on a logarithmic scale, or not")
    ] = True,
    title: Title = None,
    json: AsJson = False,
) -> Output:
    """Write a picture of privacy profiles."""
    from gdpbridge import plot

    def draw(profiles: Sequence[Profile]) -> Picture:
        return plot.profile(
            *profiles,
            **_curve(profiles, mu, failure, silent=json),
            eps_max=eps_max,
            log=log,
            names=label,
            title=title,
        )

    return _drawn(draw, profile, others, output, json)


def gdpt(
    profile: Profile,
    *,
    output: OutputFile,
    others: Others = None,
    label: Names = None,
    eps_h: EpsH = None,
    failure: Failure = None,
    eps_max: EpsMax = None,
    title: Title = None,
    json: AsJson = False,
) -> Output:
    """Write a picture of GDP transforms, each with its least μ."""
    from gdpbridge import plot
    from gdpbridge.measure import measure

    def draw(profiles: Sequence[Profile]) -> Picture:
        with Progress(silent=json) as progress:
            found = [
                measure(one, eps_h=eps_h, failure=failure, progress=progress) for one in profiles
            ]
        return plot.gdpt(*profiles, measured=found, eps_max=eps_max, names=label, title=title)

    return _drawn(draw, profile, others, output, json)


def _of_attackers(picture: str) -> Callable[..., Output]:
    """Return the action that writes a picture of an attacker's errors, by its name."""

    def action(
        profile: Profile,
        *,
        output: OutputFile,
        others: Others = None,
        label: Names = None,
        mu: Mus = None,
        failure: CurveFailure = "0",
        title: Title = None,
        json: AsJson = False,
    ) -> Output:
        from gdpbridge import plot

        def draw(profiles: Sequence[Profile]) -> Picture:
            drawn: Picture = getattr(plot, picture)(
                *profiles,
                **_curve(profiles, mu, failure, silent=json),
                names=label,
                title=title,
            )
            return drawn

        return _drawn(draw, profile, others, output, json)

    return action


def staircase(
    profile: Profile,
    *,
    output: OutputFile,
    label: Names = None,
    width: Widths = None,
    eps_max: EpsMax = None,
    title: Title = None,
    json: AsJson = False,
) -> Output:
    """Write a picture of the staircases about a GDP transform."""
    from gdpbridge import plot

    def draw(profiles: Sequence[Profile]) -> Picture:
        (one,) = profiles
        widths = plot.WIDTHS if width is None else width
        return plot.staircase(one, widths=widths, eps_max=eps_max, names=label, title=title)

    return _drawn(draw, profile, None, output, json)


def _curve(profiles: Sequence[Profile], mu: Any, failure: str, *, silent: bool) -> dict[str, Any]:
    """Return the Gaussian curve to draw: that of the μ asked for, else that of the first's μ."""
    if mu:
        return {"mu": mu, "failure": failure}
    from gdpbridge.measure import measure
    from gdpbridge.numeric.exact import decimal_ceiling, exact

    with Progress(silent=silent) as progress:
        found = measure(profiles[0], tol=_SEEN, progress=progress)
    high, p = found.mu.upper, found.failure_probability
    if not 0 < high <= _LARGEST or p >= 1:
        return {}
    return {"mu": [float(decimal_ceiling(exact(high), 4))], "failure": p}


def _drawn(
    draw: Callable[[Sequence[Profile]], Picture],
    first: Profile,
    others: list[str] | None,
    output: str,
    as_json: bool,
) -> Output:
    from gdpbridge.plot import checked_path

    # a name that cannot be is told before the work
    checked_path(output)
    profiles = [first, *(mechanism_of(words, "--with") for words in others or ())]
    try:
        picture = draw(profiles)
    except InputError as error:
        typed = {"names": "label", "widths": "width"}
        field = typed.get(error.field, error.field)
        raise error.renamed(field) from None
    path = picture.save(output)
    if as_json:
        schema = {"name": "gdpbridge.picture", "version": 1}
        document = {"schema": schema, "file": str(path), "alt_text": picture.alt_text}
        return Output(as_json_text({**document, "data": picture.data}))
    return Output(f"{path}: {picture.alt_text}\n")
