"""Pictures of privacy profiles, GDP transforms, trade-off functions and staircases.

Needs the extra ``charts``. Each picture is one chart for every format: PNG, SVG, PDF, and HTML that
asks nothing of the network.
"""

from gdpbridge.plot.attacker import attack, tradeoff
from gdpbridge.plot.lines import Point, Rule, Series, lines
from gdpbridge.plot.picture import Picture
from gdpbridge.plot.profiles import gdpt, profile
from gdpbridge.plot.stairs import staircase

__all__ = [
    "Picture",
    "Point",
    "Rule",
    "Series",
    "attack",
    "gdpt",
    "lines",
    "profile",
    "staircase",
    "tradeoff",
]
