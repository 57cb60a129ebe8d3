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
    "mechanism_pages",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
autodoc_typehints = "description"
html_theme = "furo"
html_title = f"gdpbridge {version}"
