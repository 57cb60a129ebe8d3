"""The command line: one file a command; :func:`main` is the console entry point."""

from gdpbridge.cli.main import main

__all__ = ["main"]
