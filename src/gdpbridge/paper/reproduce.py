"""The run: every statement checked, every figure drawn."""

from __future__ import annotations

import time
from dataclasses import dataclass

from gdpbridge.paper.claims import CLAIMS
from gdpbridge.paper.finding import Finding, Status, check
from gdpbridge.paper.flags import FLAGS
from gdpbridge.paper.tables import TABLE_CLAIMS
from gdpbridge.plot import Picture
from gdpbridge.progress import Progress, silent

__all__ = ["ALL_CLAIMS", "Drawn", "Reproduction", "reproduce"]

ALL_CLAIMS = (*CLAIMS, *FLAGS, *TABLE_CLAIMS)


@dataclass(frozen=True)
class Drawn:
    """A figure that was drawn.

    Attributes:
        name: the name of its files.
        where: which figure of the paper it is.
        caption: what it shows.
        picture: the picture.
    """

    name: str
    where: str
    caption: str
    picture: Picture


@dataclass(frozen=True)
class Reproduction:
    """The paper, reproduced.

    Attributes:
        findings: each statement beside ours, in the order of the page.
        figures: the figures.
        seconds: the time that checking and drawing took.
    """

    findings: tuple[Finding, ...]
    figures: tuple[Drawn, ...]
    seconds: float

    def of_status(self, status: Status) -> list[Finding]:
        """Return the findings of one status."""
        return [one for one in self.findings if one.status is status]


def reproduce(*, progress: Progress = silent) -> Reproduction:
    """Check every statement of the paper and draw every figure.

    Args:
        progress: called with a sentence and a share in [0, 1].

    Raises:
        MissingExtraError: without the extra ``charts``.
    """
    from gdpbridge.paper.figures import FIGURES

    started = time.perf_counter()
    findings, figures = [], []
    for number, claim in enumerate(ALL_CLAIMS):
        progress(f"checking {claim.where}", 0.5 * number / len(ALL_CLAIMS))
        findings.append(check(claim))
    for number, one in enumerate(FIGURES):
        progress(f"drawing {one.where}", 0.5 + 0.2 * number / len(FIGURES))
        figures.append(Drawn(one.name, one.where, one.caption, one.draw()))
    return Reproduction(tuple(findings), tuple(figures), time.perf_counter() - started)
