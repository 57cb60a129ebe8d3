"""A directive that draws the gallery when the pages are built."""

from __future__ import annotations

import io
import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from gdpbridge.cli.main import main

# what is shown, and the command that draws it
PICTURES = (
    ("Trade-off function", "plot tradeoff laplace --scale 0.5 --mu 1.81 -o tradeoff.svg"),
    ("An attacker's success", "plot attack laplace --scale 0.5 --mu 1.81 -o attack.svg"),
    ("Privacy profile", "plot profile approx-dp --epsilon 1 --delta 1e-6 -o profile.svg"),
    ("GDP transform", "plot gdpt laplace --scale 0.5 -o gdpt.svg"),
    ("GDP transform of a head", "plot gdpt icea --messages 20 --users 4 --eps-h 10 -o head.svg"),
    ("Staircases", "plot staircase laplace --scale 0.5 -o staircase.svg"),
)


class Gallery(SphinxDirective):
    """Each picture, with the command that draws it and what it says."""

    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.srcdir) / "_gallery"
        folder.mkdir(exist_ok=True)
        found: list[nodes.Node] = []
        for heading, command in PICTURES:
            *words, file = shlex.split(command)
            said = io.StringIO()
            with redirect_stdout(said):
                status = main([*words, str(folder / file)])
            if status:
                raise self.error(f"gdpbridge {command} ended with status {status}")
            text = said.getvalue().removeprefix(f"{folder / file}: ").strip()
            found += [
                nodes.rubric(text=heading),
                nodes.literal_block(text=f"gdpbridge {command}"),
                nodes.image(uri=f"/_gallery/{file}", alt=text),
                nodes.paragraph(text=text),
            ]
        return found


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True}
