"""``gdpbridge plan``: settings of training runs that meet a target, side by side."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gdpbridge.cli.calibrate import Advantage, Delta, Epsilon, Fpr, Mu, Tpr
from gdpbridge.cli.commands import add_command
from gdpbridge.cli.options import AsJson, listed
from gdpbridge.cli.output import Output
from gdpbridge.cli.progress import Progress
from gdpbridge.cli.show import as_json_text
from gdpbridge.errors import Advice, InputError
from gdpbridge.numeric.exact import exact

__all__ = ["add_to", "plan"]

Kind = Annotated[str, typer.Argument(metavar="KIND", help="dpsgd")]


def _listed(name: str, about: str) -> Any:
    about = f"{about}: a number, a list 128,256 or a range 64:512:64"
    return typer.Option(name, metavar="NUMBERS", help=about)


Records = Annotated[str | None, _listed("--records", "the number of records")]
Epochs = Annotated[str | None, _listed("--epochs", "how often each record is seen")]
Batches = Annotated[str | None, _listed("--batch-size", "the expected batch size")]
Noise = Annotated[str | None, _listed("--noise-multiplier", "σ")]
Rates = Annotated[str | None, _listed("--sample-rate", "q")]
Steps = Annotated[str | None, _listed("--steps", "the number of steps")]
Solve = Annotated[
    str | None,
    typer.Option(
        "--solve",
        metavar="NAME",
        help="the parameter to find, such as noise-multiplier, steps, epochs or batch-size "
        "[default: the missing one]",
    ),
]


PictureFile = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="a picture too: .png, .svg, .pdf or .html"),
]
Show = Annotated[
    str | None,
    typer.Option(
        "--show",
        metavar="NAME",
        help="what the picture shows: noise_per_sample, noise_multiplier, steps, mu, epsilon or "
        "advantage [default: the first that there is]",
    ),
]


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    example = (
        "plan dpsgd --records 60000 --epochs 15 --epsilon 8 --delta 1e-5 --batch-size 128,256,512"
    )
    add_command(app, name, plan, summary=summary, example=example)


def plan(
    kind: Kind,
    *,
    records: Records = None,
    epochs: Epochs = None,
    batch_size: Batches = None,
    noise_multiplier: Noise = None,
    sample_rate: Rates = None,
    steps: Steps = None,
    mu: Mu = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    advantage: Advantage = None,
    tpr: Tpr = None,
    fpr: Fpr = None,
    solve: Solve = None,
    output: PictureFile = None,
    show: Show = None,
    json: AsJson = False,
) -> Output:
    """Answer with a table of settings, each of which is proved to meet the target."""
    from gdpbridge.planning import plan as planned
    from gdpbridge.report.record import Schema
    from gdpbridge.report.text import table_text

    typed = {
        "records": records,
        "epochs": epochs,
        "batch_size": batch_size,
        "noise_multiplier": noise_multiplier,
        "sample_rate": sample_rate,
        "steps": steps,
    }
    given = {name: _numbers(name, text) for name, text in typed.items() if text is not None}
    if output is not None:
        from gdpbridge.plot import checked_path

        checked_path(output)
        if not any(isinstance(value, list) for value in given.values()):
            raise InputError("output", output, Advice("a picture needs a parameter that varies"))
    with Progress(silent=json) as progress:
        found = planned(
            kind,
            target_mu=mu,
            target_epsilon=epsilon,
            target_delta=delta,
            target_advantage=advantage,
            target_tpr=tpr,
            target_fpr=fpr,
            solve=None if solve is None else solve.replace("-", "_"),
            progress=progress,
            **given,
        )
    if output is not None:
        from gdpbridge.plot import plan as drawn

        drawn(found, show).save(output)
    if json:
        document = {"schema": Schema("gdpbridge.plan", 1), "rows": found.to_dict()}
        return Output(as_json_text(document))
    proof = next(row.proof for row in found if row.proof)
    told = f"\nEach row is proved. The first one again, by itself:\n{proof}\n"
    return Output(table_text(found.table()) + told)


def _numbers(name: str, text: str) -> Any:
    values = [_number(name, part) for part in listed(name, [text]) or []]
    return values if len(values) > 1 else values[0]


def _number(name: str, text: str) -> float | int:
    try:
        number = exact(text.strip())
    except ValueError:
        raise InputError(name, text, "a number, a list or a range") from None
    return int(number) if number.denominator == 1 else float(text)
