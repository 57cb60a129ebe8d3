"""A directive that draws the gallery when the pages are built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import gdpbridge as gdp
from gdpbridge import plot

LAPLACE = gdp.profiles.Laplace(scale=0.5)
APPROX = gdp.profiles.ApproxDP(epsilon=1, delta=1e-6)
ENCODER = gdp.profiles.ICEA(messages=20, users=4)
# name, the command that draws it, and how
PICTURES: tuple[tuple[str, str, Callable[[], plot.Picture]], ...] = (
    (
        "tradeoff",
        "gdpbridge plot tradeoff laplace --scale 0.5 --mu 1.81 -o tradeoff.svg",
        lambda: plot.tradeoff(LAPLACE, mu=1.81),
    ),
    (
        "attack",
        "gdpbridge plot attack laplace --scale 0.5 --mu 1.81 -o attack.svg",
        lambda: plot.attack(LAPLACE, mu=1.81),
    ),
    (
        "profile",
        "gdpbridge plot profile approx-dp --epsilon 1 --delta 1e-6 -o profile.svg",
        lambda: plot.profile(APPROX),
    ),
    (
        "gdpt",
        "gdpbridge plot gdpt laplace --scale 0.5 -o gdpt.svg",
        lambda: plot.gdpt(LAPLACE, measured=gdp.measure(LAPLACE)),
    ),
    (
        "head",
        "gdpbridge plot gdpt icea --messages 20 --users 4 --eps-h 10 -o head.svg",
        lambda: plot.gdpt(ENCODER, measured=gdp.measure(ENCODER, eps_h=10)),
    ),
    (
        "staircase",
        "gdpbridge plot staircase laplace --scale 0.5 -o staircase.svg",
        lambda: plot.staircase(LAPLACE),
    ),
)


class Gallery(SphinxDirective):
    """Each picture, with the command that draws it and what it says."""

    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.srcdir) / "_gallery"
        folder.mkdir(exist_ok=True)
        found: list[nodes.Node] = []
        for name, command, draw in PICTURES:
            picture = draw()
            picture.save(folder / f"{name}.svg")
            found += [
                nodes.rubric(text=picture.title),
                nodes.literal_block(text=command),
                nodes.image(uri=f"/_gallery/{name}.svg", alt=picture.alt_text),
                nodes.paragraph(text=picture.alt_text),
            ]
        return found


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True}
