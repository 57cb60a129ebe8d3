"""Check what published deployments claim, and make a page of it: ``make deployments``."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import gdpbridge as gdp
from gdpbridge.report.privacy.numbers import plain, rounded_up

FOLDER = Path(__file__).parent
NOT_STATED = "not stated"
USUAL = 1e-10
# a δ that a mechanism just reaches is asked for in nine digits
ROUNDED = 1 + 1e-9
HEAD = """# Real deployments, recomputed

What organisations have published of their use of differential privacy, as specification files in
`examples/deployments/`, and what gdpbridge proves of it. Only the published mechanism or guarantee
is computed: **whether the deployment does what was published is not checked.** Where a guarantee is
all that was published, μ is that of the worst mechanism with it, and the claim holds by its
definition; a claim is a real test where it was derived from something else, as from ρ or from
noise. A claim in few digits holds if ours, rounded to as many, is no more. Each μ has a
certificate: `gdpbridge measure --spec examples/deployments/NAME.toml --certificate FILE` writes it.
The noise of the census files is known query by query, and says less than their ρ
([the census](census.md)). Where the figures were seen again, on 28 November 2026, stands under
Sources: "OpenDP's registry" is
[opendp/deployments-registry-data](https://github.com/opendp/deployments-registry-data).

| deployment | published | protects | claim | our ε there | our μ | holds | left out |
|---|---|---|---|---|---|---|---|
"""


class Claim(NamedTuple):
    """ε at δ, or another parameter that is the mechanism's own."""

    text: str
    epsilon: float | None
    delta: float
    digits: int = 6

    @classmethod
    def read(cls, text: str) -> Claim:
        """Read "epsilon <= 8 at delta = 1e-5"; what is not of ε is only shown."""
        words = text.split()
        if words[0] != "epsilon":
            return cls(text.replace("rho <=", "ρ ≤"), None, USUAL)
        epsilon, delta = float(words[2]), float(words[-1])
        where = "" if delta == 0 else f" at δ = {plain(delta)}"
        digits = len(words[2].partition(".")[2])
        return cls(f"ε ≤ {plain(epsilon)}{where}", epsilon, delta, digits)


class Deployment(NamedTuple):
    """A row of the page."""

    name: str
    what: dict[str, str]
    mechanism: str
    claim: Claim
    epsilon: float
    mu: gdp.Measurement
    holds: bool | None


def deployments() -> list[Deployment]:
    """Compute every file of the folder."""
    return [_computed(file) for file in sorted(FOLDER.glob("*.toml"))]


def _computed(file: Path) -> Deployment:
    said = tomllib.loads(file.read_text(encoding="utf-8"))
    release = said.pop("release")
    profile, claim = gdp.load_profile(file), Claim.read(release["description"])
    low, found = (float(one) for one in profile.epsilon_bounds(claim.delta * ROUNDED))
    low, high = (float(f"{one:.{claim.digits}f}") for one in (low, found))
    holds = None
    if claim.epsilon is None or high <= claim.epsilon:
        holds = True
    elif low > claim.epsilon:
        holds = False
    given = ", ".join(f"{name} {value}" for name, value in said.items() if name != "neighbours")
    return Deployment(
        file.stem, release, given.removeprefix("kind "), claim, found, gdp.measure(profile), holds
    )


def page(rows: list[Deployment]) -> str:
    """Return the page as Markdown."""
    return HEAD + "".join(_row(one) for one in rows) + _sources(rows)


def _row(one: Deployment) -> str:
    p = one.mu.failure_probability
    mu = rounded_up(one.mu.mu) + (f", p = {plain(p)}" if p else "")
    holds = {True: "yes", False: "**no**", None: "undecided"}[one.holds]
    cells = [
        f"{one.what['title']} ({one.what['organisation']})",
        f"{one.mechanism}; {one.what.get('trust_model', NOT_STATED)}",
        one.what.get("unit_of_privacy", NOT_STATED),
        one.claim.text,
        f"{one.epsilon:.6g}" + ("" if one.claim.epsilon else f" at δ = {plain(USUAL)}"),
        mu,
        holds,
        one.what.get("accounting", NOT_STATED),
    ]
    return f"| {' | '.join(cells)} |\n"


def _sources(rows: list[Deployment]) -> str:
    lines = [
        f"- `{one.name}.toml`: {one.what['links']}. Seen again in: {one.what['other_releases']}.\n"
        for one in rows
    ]
    return f"\n## Sources\n\n{''.join(lines)}"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(deployments()), encoding="utf-8")
