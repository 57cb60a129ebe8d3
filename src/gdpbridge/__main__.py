"""``python -m gdpbridge``: the command line."""

from __future__ import annotations

import sys

from gdpbridge.cli import main

sys.exit(main())
