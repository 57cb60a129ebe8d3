"""Settings of the documentation."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "gdpbridge"
author = "The gdpbridge contributors"
copyright = author
version = release = installed_version("gdpbridge")

extensions = [
    "gallery_pages",
    "mechanism_pages",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "_extra"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 2
autodoc_typehints = "description"
# made when the pages are: write_explorer, below
html_extra_path = ["_extra"]
html_theme = "furo"
html_title = f"gdpbridge {version}"


def write_explorer() -> None:
    """Put the explorer beside the pages, which link to it."""
    from gdpbridge.explorer import explorer_page

    folder = Path(__file__).parent / "_extra"
    folder.mkdir(exist_ok=True)
    (folder / "explorer.html").write_text(explorer_page(), encoding="utf-8")


write_explorer()
