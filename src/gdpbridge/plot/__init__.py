"""Pictures of privacy profiles, GDP transforms, trade-off functions and staircases.

Needs the extra ``charts``. Each picture is one chart for every format: PNG, SVG, PDF, and HTML that
asks nothing of the network.
"""

from gdpbridge.plot.attacker import attack, tradeoff
from gdpbridge.plot.audit import audit
from gdpbridge.plot.lines import Point, Rule, Series, lines
from gdpbridge.plot.picture import Picture, checked_path
from gdpbridge.plot.plan import plan
from gdpbridge.plot.profiles import gdpt, profile
from gdpbridge.plot.stairs import WIDTHS, staircase

__all__ = [
    "WIDTHS",
    "Picture",
    "Point",
    "Rule",
    "Series",
    "attack",
    "audit",
    "checked_path",
    "gdpt",
    "lines",
    "plan",
    "profile",
    "staircase",
    "tradeoff",
]
