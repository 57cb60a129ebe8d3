"""The explorer: one page without a network, on which mechanisms are chosen, seen and compared."""

from gdpbridge.explorer.build import explorer_page

__all__ = ["explorer_page"]
