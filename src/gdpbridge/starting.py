"""What the command line needs before its imports; a program that imports the package is left alone.

An interruption of the imports is one word and the exit status. And no module comes from the working
folder, where ``python -m gdpbridge`` would look first: what lies there is data.
"""

from __future__ import annotations

# what Python has loaded already: an interruption of more imports would not be guarded
import _signal  # type: ignore[import-not-found]
import os
import sys

__all__ = ["guard_start"]

INTERRUPTED = 130


def _is_program() -> bool:
    """Whether this process was started as the command line."""
    name = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""
    if name == "-m":
        # the package of a module that is run is imported first, before its name is filled in
        words = sys.orig_argv
        return "-m" in words and words[words.index("-m") + 1 :][:1] == ["gdpbridge"]
    return name.partition(".")[0].removesuffix("-script") == "gdpbridge"


def guard_start() -> None:
    """Let an interruption end the program at once, until it can be told in the usual way.

    Nothing is done where the package is imported by another program.
    """
    if not _is_program():
        return
    _leave_working_folder()
    # a program that is started in the background may not be interrupted at all
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end)


def _leave_working_folder() -> None:
    try:
        here = os.getcwd()
    except OSError:
        # a folder that is gone holds no modules
        return
    if sys.argv[0] != "-m" or sys.flags.safe_path or sys.path[:1] not in ([""], [here]):
        return
    own = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    if own != os.path.realpath(here):
        del sys.path[0]


def _end(_number: int, _frame: object) -> None:
    message = "interrupted"
    if "--json" in sys.argv:
        message = '{"error": {"field": null, "value": null, "message": "interrupted"}}'
    os.write(2, f"{message}\n".encode())
    # nothing has been begun that would have to be brought to an end
    os._exit(INTERRUPTED)
