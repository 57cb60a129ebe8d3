"""The picture of an audit: measured errors, their band, and what was proved or claimed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.checked import Real
from gdpbridge.plot.lines import Series, lines
from gdpbridge.plot.mechanisms import Stated, names_of, rounded_down
from gdpbridge.plot.picture import Picture

if TYPE_CHECKING:
    from gdpbridge.auditing import Audit

__all__ = ["audit"]

_CHANCE = "chance alone"


def audit(
    found: Audit,
    *,
    profile: Profile | None = None,
    mu: Real | None = None,
    title: str | None = None,
) -> Picture:
    """Draw the measured errors of an attack with their band, beside proved and claimed ones.

    A measured line below a proved or claimed one speaks against it; whether it contradicts it, is
    for the audit's p-value to say.

    Args:
        found: an audit made of scores.
        profile: the mechanism, whose proved trade-off function is drawn.
        mu: a claimed μ in (0, 1000], whose Gaussian curve is drawn.
        title: the title, if another one is wanted.

    Raises:
        InputError: for an audit made of counts, or an argument outside its range.
        MissingExtraError: without the extra ``charts``.
    """
    if found.roc is None:
        raise InputError("found", "an audit of counts", "an audit of scores, which has an ROC")
    roc = found.roc
    alpha = np.array(roc.alpha)
    series = [
        Series("measured, with its band", alpha, roc.beta, low=roc.low, high=roc.high, group="roc")
    ]
    if profile is not None:
        (name,) = names_of([profile], None)
        series.append(Series(f"proved: {name}", alpha, profile.tradeoff(alpha)))
    if mu is not None:
        stated = Stated.checked(mu, 0)
        at = stated.mus[0]
        series.append(Series(f"claimed: G_μ, {stated.name(at)}", alpha, stated.beta(alpha, at)))
    low = found.mu.lower
    if low > 0:
        stated = Stated.checked(low, 0)
        name = f"the audit's bound: G_μ, μ = {rounded_down(low)}"
        series.append(Series(name, alpha, stated.beta(alpha, low), style="dotted"))
    series.append(Series(_CHANCE, alpha, 1 - alpha, neutral=True))
    return lines(
        series,
        title=title or _finding(found),
        rates=True,
        x_title="false alarms: type I error α",
        y_title="missed: type II error β",
        x_domain=(0.0, 1.0),
        y_domain=(0.0, 1.0),
        alt_text=f"The measured errors of an attack, and what was proved or claimed. "
        f"{found.sentence}",
    )


def _finding(found: Audit) -> str:
    sure = f"with {100 * found.confidence:g} % confidence"
    if not found.mu.lower:
        return f"The attack shows no leak {sure}"
    return f"The attack shows μ ≥ {rounded_down(found.mu.lower)}, {sure}"
