"""Processes of our own that run our code and nothing else.

A Python that is started with -m looks for modules in the working folder first: a file sympy.py
there would be run. A child here is isolated (-I: neither the working folder, nor the script's, nor
the environment say where modules are), works in an empty folder, and is told where its parent finds
modules: in absolute folders other than the working one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["run_isolated"]

# the parent's folders come first, so that both load the same files
_START = """
import importlib, json, sys
sys.path[:0] = json.loads(sys.argv[1])
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, 2 * (int(sys.argv[2]),))
except ImportError:
    pass
module = sys.argv[3]
sys.argv = sys.argv[3:]
importlib.import_module(module).main()
"""
# a busy machine gives a child a share of its time: it may take so many times longer by the clock
_PATIENCE = 20


def run_isolated(module: str, words: Sequence[str], given: str, *, seconds: int) -> str:
    """Run the function ``main`` of a module in a process of its own; return what it prints.

    Args:
        module: the module's full name.
        words: what it finds in ``sys.argv[1:]``.
        given: what it reads from standard input.
        seconds: of computing after which it is ended, a whole number.

    Raises:
        subprocess.SubprocessError: if it takes longer, or fails.
        OSError: if no process can be started.
    """
    command = [sys.executable, "-I", "-c", _START, json.dumps(_folders())]
    with tempfile.TemporaryDirectory(prefix="gdpbridge-") as empty:
        done = subprocess.run(
            [*command, str(seconds), module, *words],
            input=given,
            capture_output=True,
            timeout=seconds * _PATIENCE,
            check=True,
            encoding="utf-8",
            cwd=empty,
        )
    return done.stdout


def _folders() -> list[str]:
    """Where modules are looked for; the working folder only if this package itself is there."""
    here = os.path.realpath(os.curdir)
    own = str(Path(__file__).resolve().parents[2])
    found = [
        path
        for path in sys.path
        if os.path.isabs(path) and os.path.realpath(path) not in (here, own)
    ]
    return [own, *found]
