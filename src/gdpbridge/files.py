"""Files as a whole or not at all: written beside their place and renamed, and read within a bound.

A full disk, a kill or an interruption in the middle of writing leaves what was there before.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from gdpbridge.errors import InputError

__all__ = [
    "STANDARD_INPUT",
    "may_write",
    "partial_file",
    "read_bounded",
    "replaced",
    "write_bytes",
    "write_text",
]

STANDARD_INPUT = "-"

_PRIVATE = 0o600
# the longest name of a file that every usual file system takes, in bytes
_LONGEST_NAME = 255


@contextmanager
def partial_file(
    path: str | os.PathLike[str],
    *,
    private: bool = False,
    new: bool = False,
    settled: bool = True,
) -> Iterator[Path]:
    """Give an empty file beside ``path`` that takes its place at the end, and is gone on an error.

    Its name is its own, so that two writers of one file do not meet. What is no regular file, such
    as /dev/stdout or a pipe, is given as it is: nothing can take its place.

    Args:
        path: the file to make or to replace; where it is a link, what it points to.
        private: whether only the owner may read it; else it has the rights of the file it replaces,
            or those that the system gives to a new one.
        new: whether a file that is there is left alone.
        settled: whether it is brought to the disk first, so that a crash of the machine right after
            it leaves no empty file.

    Raises:
        FileExistsError: if ``new``, and there is one by the end.
        OSError: if it cannot be written.
    """
    target = _place(path)
    there = _there(target)
    if there is not None and not stat.S_ISREG(there.st_mode):
        yield target
        return
    if new and there is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
    ending = f".{secrets.token_hex(8)}.partial"
    # a name as long as names may be leaves no room for another one that holds it
    kept = os.fsencode(target.name)[: _LONGEST_NAME - len(ending) - 1]
    partial = target.with_name(f".{os.fsdecode(kept)}{ending}")
    try:
        rights = _make(partial)
        yield partial
        if there is not None:
            rights = stat.S_IMODE(there.st_mode)
        _settle(partial, _PRIVATE if private else rights, settled=settled)
        if new:
            _take_new_place(partial, target)
        else:
            os.replace(partial, target)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


@contextmanager
def replaced(
    path: str | os.PathLike[str], *, private: bool = False, new: bool = False
) -> Iterator[IO[bytes]]:
    """Give a file to write to that takes the place of ``path`` at the end; see partial_file."""
    with partial_file(path, private=private, new=new) as partial, partial.open("wb") as file:
        yield file


def write_bytes(path: str | os.PathLike[str], content: bytes, *, private: bool = False) -> None:
    """Write a file as a whole or not at all.

    Raises:
        OSError: if it cannot be written; what was there is there still.
    """
    with replaced(path, private=private) as file:
        file.write(content)


def write_text(
    path: str | os.PathLike[str], text: str, *, private: bool = False, settled: bool = True
) -> None:
    """Write a text in UTF-8 as a whole or not at all; line ends stay as they are.

    Raises:
        OSError: if it cannot be written; what was there is there still.
    """
    with partial_file(path, private=private, settled=settled) as partial:
        partial.write_bytes(text.encode("utf-8"))


def read_bounded(name: str | os.PathLike[str], limit: int, *, field: str = "file") -> bytes:
    """Return the content of a file, or of standard input for ``-``.

    Args:
        name: the file; a device that never ends is refused like a file that is too large.
        limit: the most bytes that are read.
        field: what the name was given as, for errors.

    Raises:
        InputError: for a file that cannot be read, or is larger.
    """
    try:
        if name == STANDARD_INPUT:
            content = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(limit + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a path"
        raise InputError(
            field, os.fspath(name), f"a readable file, or - for standard input ({why})"
        ) from None
    if len(content) > limit:
        raise InputError(field, os.fspath(name), f"a file of at most {limit / 2**20:,.0f} MiB")
    return content


def may_write(path: Path) -> bool:
    """Whether this user may write a file, or into a folder."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _place(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        # a zero byte
        raise OSError(errno.EINVAL, "not a path", os.fspath(path)) from None


def _there(target: Path) -> os.stat_result | None:
    """Return what is there; None for nothing.

    Raises:
        OSError: for a folder, or a file that its owner has made read-only.
    """
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not may_write(target):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    return found


def _make(partial: Path) -> int:
    """Make an empty file that only its owner may use; return the rights of usual new files."""
    number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        usual = stat.S_IMODE(os.fstat(number).st_mode)
        os.chmod(partial, _PRIVATE)
    finally:
        os.close(number)
    return usual


def _settle(partial: Path, rights: int, *, settled: bool) -> None:
    """Give a file its rights, and bring it to the disk before it takes its place."""
    partial.chmod(rights)
    if settled:
        with partial.open("rb+") as file:
            os.fsync(file.fileno())


def _take_new_place(partial: Path, target: Path) -> None:
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    except OSError:
        # a file system without links
        if target.exists():
            there = os.strerror(errno.EEXIST)
            raise FileExistsError(errno.EEXIST, there, str(target)) from None
        os.replace(partial, target)
    else:
        partial.unlink()
