"""Other tools' objects as profiles: what was run elsewhere, measured here."""

from gdpbridge.sources.entry import profile_of

__all__ = ["profile_of"]
