"""Files that are written are written whole or not at all, and reading has a bound."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import gdpbridge as gdp
from gdpbridge import files
from gdpbridge.errors import InputError
from gdpbridge.files import partial_file, read_bounded, replaced, write_bytes, write_text


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_place_at_the_end(tmp_path: Path) -> None:
    """Until the end what was there is there; then all of the new, with the rights it had."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with replaced(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
        (partial,) = (one for one in tmp_path.iterdir() if one != path)
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert _names(tmp_path) == ["a.txt"]


def test_rights_of_new_files(tmp_path: Path) -> None:
    """A new file has the rights that the system gives, or is its owner's alone."""
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "usual", "μ")
        write_bytes(tmp_path / "private", b"1", private=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "usual").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600
    assert (tmp_path / "usual").read_bytes() == "μ".encode()


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt(), SystemExit()])
def test_an_error_leaves_what_was_there(tmp_path: Path, error: BaseException) -> None:
    """Whatever comes in between, the old file stays and there is no other."""
    path = tmp_path / "a.txt"
    for content in (None, b"old"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(type(error)):
            _fail(path, error)
        assert _names(tmp_path) == ([] if content is None else ["a.txt"])
    assert path.read_bytes() == b"old"


def _fail(path: Path, error: BaseException) -> None:
    with replaced(path) as file:
        file.write(b"half")
        raise error


def _be_late(path: Path) -> None:
    with partial_file(path, new=True) as partial:
        partial.write_bytes(b"3")
        path.write_bytes(b"between")


def test_links_devices_and_long_names(tmp_path: Path) -> None:
    """A link stays a link, a pipe is written into, and a name may be as long as names are."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    write_text("/dev/null", "gone")
    assert not Path("/dev/null").is_file()
    long = tmp_path / ("μ" * 127)
    write_text(long, "long")
    assert long.read_text() == "long"


def test_what_cannot_be_written(tmp_path: Path) -> None:
    """A folder, a file in no folder, what is no path: an OSError, as when a file is opened."""
    for path in (tmp_path, tmp_path / "none" / "a", tmp_path / "a\0b"):
        with pytest.raises(OSError, match=r"."):
            write_text(path, "x")
    assert _names(tmp_path) == []


def test_a_new_file_is_never_over_another(tmp_path: Path) -> None:
    """Where a file must be new, one that comes in between stays as it is."""
    path = tmp_path / "a"
    with replaced(path, new=True) as file:
        file.write(b"1")
    with pytest.raises(FileExistsError), replaced(path, new=True) as file:
        file.write(b"2")
    assert path.read_bytes() == b"1"
    path.unlink()
    with pytest.raises(FileExistsError):
        _be_late(path)
    assert path.read_bytes() == b"between"
    assert _names(tmp_path) == ["a"]


FULL = """
import json, resource, signal, sys
from pathlib import Path
import gdpbridge.plot.picture, gdpbridge.report.privacy.report
from gdpbridge.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
for words in json.loads(sys.argv[1]):
    status = main(words)
    print(status)
"""
MECHANISM = ["laplace", "--scale", "0.5"]
OUTPUTS = {
    "out.json": ["report", *MECHANISM, "-o", "out.json"],
    "cert.json": ["measure", *MECHANISM, "--certificate", "cert.json"],
    "out.svg": ["plot", "profile", *MECHANISM, "-o", "out.svg"],
    "out.csv": ["amplify", "subsample", *MECHANISM, "--mu", "1", "--input", "in.csv",
                "--output", "out.csv"],
}  # fmt: skip


@pytest.mark.slow
def test_no_output_is_cut(tmp_path: Path) -> None:
    """Where nothing more can be written, each command says so and leaves the old file or none."""
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    rows = "".join(f"{row},{row}\n" for row in range(1000))
    (tmp_path / "in.csv").write_text(f"id,v\n{rows}")
    there = ["cert.json", "out.csv"]
    for name in there:
        (tmp_path / name).write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", FULL, json.dumps(list(OUTPUTS.values()))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    statuses = [line for line in done.stdout.splitlines() if line.isdigit()]
    assert statuses == ["2"] * len(OUTPUTS)
    assert "fault" not in done.stderr
    assert len(done.stderr.splitlines()) == len(OUTPUTS)
    assert _names(tmp_path) == sorted(["in.csv", *there])
    assert all((tmp_path / name).read_text() == "old" for name in there)


def test_reading_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file as long as allowed is read, a longer one and a device without end are refused."""
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)
    assert read_bounded(str(path), 100) == b"x" * 100
    for name in (str(path), "/dev/zero"):
        with pytest.raises(InputError, match="must be a file of at most 0 MiB"):
            read_bounded(name, 99)
    with pytest.raises(InputError, match=r"spec is .*: must be a readable file"):
        read_bounded("none", 100, field="spec")
    with pytest.raises(InputError, match="not a path"):
        read_bounded("a\0b", 100)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"y" * 100)))
    assert read_bounded("-", 100) == b"y" * 100


@pytest.mark.parametrize(
    "read",
    [
        lambda: gdp.profiles.Table("/dev/zero"),
        lambda: gdp.profiles.PLD("/dev/zero"),
        lambda: gdp.load_profile("/dev/zero"),
        lambda: gdp.verify(Path("/dev/zero")),
        lambda: gdp.profiles.OpacusHistory("/dev/zero"),
    ],
    ids=["table", "pld", "spec", "certificate", "opacus"],
)
def test_everything_that_is_read_has_a_bound(read: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file that a user names is read up to a bound, and then refused."""
    from gdpbridge.mechanisms import opacus
    from gdpbridge.reading import named, tables

    for module, name in (
        (tables, "MAX_BYTES"),
        (named, "MAX_BYTES"),
        (opacus, "_MAX_BYTES"),
    ):
        assert getattr(module, name) <= 2**30
        monkeypatch.setattr(module, name, 2**20)
    with pytest.raises(InputError, match="at most"):
        read()  # type: ignore[operator]


def test_nothing_writes_or_reads_by_itself(root: Path) -> None:
    """Files are written by the one module that does it whole, and read by it or within a bound."""
    allowed = {
        # its own module, a database, the files that a sample is drawn of, an export's part, and
        # what the program brings along, and a folder of its own
        "files.py", "store.py", "csv_records.py", "ledger.py", "build.py", "exports.py",
    }  # fmt: skip
    words = (
        ".write_text(",
        ".write_bytes(",
        ".read_bytes(",
        ".read_text(",
        'open("w',
        "stdin.buffer.read()",
    )
    for path in (root / "src").rglob("*.py"):
        if path.name not in allowed:
            text = path.read_text(encoding="utf-8")
            assert not [word for word in words if word in text], path
    assert files.STANDARD_INPUT == "-"
