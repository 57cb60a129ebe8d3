"""``gdpbridge convert``: between a μ, a mechanism, and (ε, δ) pairs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import typer

from gdpbridge.cli.measure import EpsH
from gdpbridge.cli.mechanism import add_mechanism_command
from gdpbridge.cli.options import AsJson, listed
from gdpbridge.cli.output import Output, Status
from gdpbridge.cli.show import answered
from gdpbridge.errors import Advice, InputError, UndecidedError, WorkLimitError
from gdpbridge.interval import Interval
from gdpbridge.mechanisms.base import Profile
from gdpbridge.report.answers import conversion_record

__all__ = ["add_to", "convert_mechanism", "convert_numbers"]

_EPILOG = """\
Examples:

\b
  gdpbridge convert --mu 1 --delta 1e-5                  ε at which 1-GDP is (ε, 1e-5)-DP
  gdpbridge convert --mu 1 --epsilon 1                   δ at which it is (1, δ)-DP
  gdpbridge convert --epsilon 1                          the μ of every 1-DP mechanism
  gdpbridge convert --epsilon 1 --delta 1e-5             the μ of a Gaussian mechanism calibrated so
  gdpbridge convert --rho 0.5                            the μ of every 0.5-zCDP mechanism
  gdpbridge convert laplace --scale 0.5 --epsilon 1      δ of a mechanism
  gdpbridge convert laplace --scale 0.5 --epsilon 1 --delta 0.4   is it so? exit status 0, 3 or 4
  gdpbridge convert laplace --scale 0.5 --alpha 0.01     an attacker's least type II error
"""

_EPS, _DELTA = "a number in [0, 1e5]", "a number in [0, 1]"

Epsilons = Annotated[
    list[str] | None,
    typer.Option(
        "--epsilon",
        "--at-epsilon",
        metavar="ε",
        help=f"{_EPS}: find the least δ there; may be repeated, or a list 0.5,1 or a range "
        "0.1:2:0.1",
    ),
]
Deltas = Annotated[
    list[str] | None,
    typer.Option(
        "--delta",
        "--at-delta",
        metavar="δ",
        help=f"{_DELTA}: find the least ε there; may be repeated, or a list 1e-5,1e-6",
    ),
]
Alphas = Annotated[
    list[str] | None,
    typer.Option(
        "--alpha",
        "--at-alpha",
        metavar="α",
        help="a type I error in [0, 1]: find f(α), an attacker's least type II error; may be "
        "repeated, or a list or range",
    ),
]
Mu = Annotated[str | None, typer.Option("--mu", metavar="μ", help="a number in [0, 1000]")]
Failure = Annotated[
    str | None,
    typer.Option(metavar="p", help="with --mu: a failure probability, a number in [0, 1)"),
]

Rho = Annotated[
    str | None,
    typer.Option(
        "--rho",
        metavar="ρ",
        help="a number in [1e-6, 1e4]: ρ-zCDP, alone or with --epsilon, --delta",
    ),
]

_PAIR_NOTE = (
    "this is the μ of a Gaussian mechanism calibrated to the pair; a mechanism known only to be "
    "(ε, δ)-DP need not be GDP"
)


def add_to(app: typer.Typer, name: str, summary: str) -> None:
    """Add the command."""
    add_mechanism_command(
        app,
        name,
        convert_mechanism,
        summary=summary,
        epilog=_EPILOG,
        required="--at-delta 1e-5",
        alone=convert_numbers,
    )


def convert_mechanism(
    profile: Profile,
    *,
    epsilon: Epsilons = None,
    delta: Deltas = None,
    alpha: Alphas = None,
    json: AsJson = False,
) -> Output:
    """Answer with δ at each ε, ε at each δ, or f(α) at each α, of a mechanism."""
    epsilon, delta = listed("epsilon", epsilon), listed("delta", delta)
    alpha = listed("alpha", alpha)
    if epsilon is not None and delta is not None and alpha is None:
        return _is_it_so(profile, profile.model_dump(), epsilon, delta, json)
    return _converted(profile, profile.model_dump(), (epsilon, delta, alpha), json)


def convert_numbers(
    *,
    mu: Mu = None,
    rho: Rho = None,
    eps_h: EpsH = None,
    failure: Failure = None,
    epsilon: Epsilons = None,
    delta: Deltas = None,
    alpha: Alphas = None,
    json: AsJson = False,
) -> Output:
    """Answer with what two of μ, ε and δ say of the third; ε alone stands for ε-DP."""
    epsilon, delta = listed("epsilon", epsilon), listed("delta", delta)
    alpha = listed("alpha", alpha)
    if mu is not None:
        source = mu if failure is None else (mu, failure)
        given = {"mu": mu} if failure is None else {"mu": mu, "failure": failure}
        if epsilon is not None and delta is not None and alpha is None:
            return _is_it_so(source, given, epsilon, delta, json)
        return _converted(source, given, (epsilon, delta, alpha), json)
    if alpha is not None:
        raise InputError(
            "alpha", ", ".join(alpha), Advice("give it together with --mu or a mechanism")
        )
    if failure is not None:
        raise InputError("failure", failure, Advice("give it together with --mu"))
    if rho is not None:
        return _of_zcdp(rho, eps_h, epsilon, delta, json)
    if eps_h is not None:
        raise InputError("eps_h", eps_h, Advice("give it together with --rho"))
    if epsilon is None:
        raise InputError.missing("mu", "give it, or --epsilon, or a mechanism")
    return _mu(epsilon, delta, json)


def _converted(
    source: Any,
    given: dict[str, Any],
    asked: tuple[list[str] | None, list[str] | None, list[str] | None],
    json: bool,
) -> Output:
    """Answer at what is asked: some ε, some δ, or some α."""
    from gdpbridge.convert import beta_at, delta_at, epsilon_at

    names = ("epsilon", "delta", "alpha")
    places = {name: words for name, words in zip(names, asked, strict=True) if words is not None}
    if not places:
        raise InputError.missing("delta", "give it, or --epsilon, or --alpha")
    first, *others = places
    if others:
        words = ", ".join(places[others[0]])
        raise InputError(others[0], words, Advice(f"leave it out where --{first} is given"))
    result, find = {
        "epsilon": ("delta", delta_at),
        "delta": ("epsilon", epsilon_at),
        "alpha": ("beta", beta_at),
    }[first]
    return _table(given, result, first, places[first], lambda place: find(source, place), json)


def _is_it_so(
    source: Any, given: dict[str, Any], epsilon: list[str], delta: list[str], json: bool
) -> Output:
    """Answer whether δ(ε) is at most δ, for each pair, or for each ε of one δ or the reverse."""
    from gdpbridge.convert import delta_at
    from gdpbridge.numeric.checked import exact_between

    table: list[dict[str, Any]] = []
    for at, claimed in _pairs(epsilon, delta):
        target = exact_between("delta", claimed, 0, Fraction(1), _DELTA)
        found = delta_at(source, at)
        holds = True if found.high <= target else False if found.low > target else None
        row = {"epsilon": float(at), "claimed": float(claimed), "delta": found}
        table.append({**row, "holds": holds})
    answers = [row["holds"] for row in table]
    status = (
        Status.NO if False in answers else Status.UNDECIDED if None in answers else Status.ANSWERED
    )
    record = conversion_record(given, "delta", table, [])
    if json:
        return Output(answered(record, as_json=True), status)
    words = {True: "yes", False: "no", None: "undecided"}
    lines = [
        f"δ({row['epsilon']:g}) ≤ {row['claimed']:g}: {words[row['holds']]}; "
        f"δ({row['epsilon']:g}) is in {row['delta']}"
        for row in table
    ]
    return Output("\n".join(lines) + "\n", status)


def _table(
    given: dict[str, Any],
    result: str,
    at: str,
    places: list[str],
    find: Callable[[str], Interval],
    json: bool,
) -> Output:
    """Answer at each place; one that is undecided does not close the others."""
    table: list[dict[str, Any]] = []
    undecided: list[UndecidedError | WorkLimitError] = []
    notes = []
    for place in places:
        try:
            found = find(place)
        except (UndecidedError, WorkLimitError) as error:
            undecided.append(error)
            found = Interval(0, "Infinity" if result == "epsilon" else 1)
            notes.append(f"undecided at {at} {place}, so that nothing is said there: {error}")
        table.append({at: float(place), result: found})
    if len(undecided) == len(places):
        raise undecided[0]
    record = conversion_record(given, result, table, notes)
    status = Status.UNDECIDED if undecided else Status.ANSWERED
    return Output(answered(record, as_json=json), status)


def _of_zcdp(
    rho: str, eps_h: str | None, epsilon: list[str] | None, delta: list[str] | None, json: bool
) -> Output:
    from gdpbridge.measure import measure
    from gdpbridge.mechanisms.zcdp import ZCDP

    try:
        profile = ZCDP(rho=float(rho))
    except ValueError:
        raise InputError("rho", rho, "a number in [1e-06, 10000]") from None
    if epsilon is not None or delta is not None:
        return _converted(profile, {"rho": rho}, (epsilon, delta, None), json)
    found = measure(profile, eps_h=eps_h)
    given = {"rho": rho} if eps_h is None else {"rho": rho, "eps_h": eps_h}
    note = f"{found.statement.sentence}; a mechanism known to be Gaussian has μ = √(2ρ)"
    record = conversion_record(given, "mu", [{"mu": found.mu}], [note])
    return Output(answered(record, as_json=json))


def _mu(epsilon: list[str], delta: list[str] | None, json: bool) -> Output:
    from gdpbridge.convert import mu_of_pair
    from gdpbridge.measure import measure
    from gdpbridge.mechanisms.pure_dp import PureDP

    table: list[dict[str, Any]] = []
    if delta is None:
        given, note = {"epsilon": ", ".join(epsilon)}, "this holds for every ε-DP mechanism"
        for eps in epsilon:
            try:
                profile = PureDP(epsilon=float(eps))
            except ValueError:
                raise InputError("epsilon", eps, _EPS) from None
            table.append({"epsilon": float(eps), "mu": measure(profile).mu})
    else:
        given, note = {"epsilon": ", ".join(epsilon), "delta": ", ".join(delta)}, _PAIR_NOTE
        for eps, claimed in _pairs(epsilon, delta):
            mu = mu_of_pair(eps, claimed)
            table.append({"epsilon": float(eps), "delta": float(claimed), "mu": mu})
    if len(table) == 1:
        # what it is at stands in the title
        table = [{"mu": table[0]["mu"]}]
    record = conversion_record(given, "mu", table, [note])
    return Output(answered(record, as_json=json))


def _pairs(epsilon: list[str], delta: list[str]) -> list[tuple[str, str]]:
    """Return each ε with its δ, or each ε with the one δ, or the one ε with each δ."""
    size = max(len(epsilon), len(delta))
    if {len(epsilon), len(delta)} - {1, size}:
        raise InputError("delta", ", ".join(delta), f"one number, or {len(epsilon)} as for ε")
    return list(zip(epsilon * (size // len(epsilon)), delta * (size // len(delta)), strict=True))
