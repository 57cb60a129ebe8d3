"""Samples of frames and files: the right law, and nothing else written."""

from __future__ import annotations

import csv
import hashlib
import itertools
import math
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gdpbridge.amplify import csv_records, randomness
from gdpbridge.amplify.files import sample_file
from gdpbridge.amplify.frames import sample
from gdpbridge.amplify.randomness import Bernoulli, FixedSize
from gdpbridge.errors import InputError, MissingExtraError, WorkLimitError

# what a correct sampler fails once in a million runs
SIGNIFICANCE = 1e-6


def _numbers(path: Path, rows: int, ending: str = "\n") -> Path:
    lines = (f"{row},{row * row}{ending}" for row in range(rows))
    path.write_text(f"id,square{ending}" + "".join(lines), newline="")
    return path


def _ids(path: Path) -> list[int]:
    with path.open(newline="") as file:
        return [int(row["id"]) for row in csv.DictReader(file)]


# --- the choices ----------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 1000), Fraction(999, 1000)])
def test_bernoulli_has_its_probability(rate: Fraction) -> None:
    """The number of choices is binomial, by an exact test."""
    rows = 200_000
    kept = int(Bernoulli(rate).choose(rows).sum())
    assert stats.binomtest(kept, rows, float(rate)).pvalue > SIGNIFICANCE


def test_bernoulli_choices_are_independent() -> None:
    """Runs of three choices have all eight patterns as often as they should."""
    mask = Bernoulli(Fraction(1, 2)).choose(300_000).reshape(-1, 3)
    counts = np.bincount(mask @ np.array([1, 2, 4]), minlength=8)
    assert stats.chisquare(counts).pvalue > SIGNIFICANCE


def test_bernoulli_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where 64 bits agree with the probability's the next 64 decide, for as long as it takes."""
    third = (1 << 64) // 3
    words = iter([[third - 1, third, third + 1, third, third], [third + 1, third - 1, third], [0]])

    def urandom(count: int) -> bytes:
        values = next(words)
        assert count == 8 * len(values)
        return np.array(values, dtype=np.uint64).tobytes()

    monkeypatch.setattr(os, "urandom", urandom)
    assert Bernoulli(Fraction(1, 3)).choose(5).tolist() == [True, False, False, True, True]
    assert next(words, None) is None


def test_bernoulli_with_a_short_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tie with a probability of at most 64 bits is decided: it is not below."""
    half = np.array([1 << 63, (1 << 63) - 1], dtype=np.uint64)
    monkeypatch.setattr(os, "urandom", lambda _: half.tobytes())
    assert Bernoulli(Fraction(1, 2)).choose(2).tolist() == [False, True]


def test_certain_choice() -> None:
    """With probability 1 every row is chosen."""
    assert Bernoulli(Fraction(1)).choose(1000).all()


def test_fixed_size_is_uniform_over_sets() -> None:
    """Each of the ten pairs out of five is as likely, however the rows come."""
    counts = dict.fromkeys(itertools.combinations(range(5), 2), 0)
    for _ in range(20_000):
        chooser = FixedSize(2, 5)
        mask = np.concatenate([chooser.choose(2), chooser.choose(3)])
        counts[tuple(np.flatnonzero(mask))] += 1
    assert stats.chisquare(list(counts.values())).pvalue > SIGNIFICANCE


def test_numbers_below_a_bound_are_unbiased(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words above the last multiple of the bound are drawn again."""
    bound = 3 * 2**61
    words = np.zeros(1 << 13, dtype=np.uint64)
    words[-3:] = [5, 2 * bound - 1, 2 * bound]
    monkeypatch.setattr(os, "urandom", lambda _: words.tobytes())
    random = randomness._Buffered()
    assert [random.below(bound), random.below(bound)] == [bound - 1, 5]


# --- CSV ------------------------------------------------------------------------------------


def test_csv_poisson(tmp_path: Path) -> None:
    """The header and the kept rows are as they were, in order; their number is binomial."""
    source = _numbers(tmp_path / "in.csv", 50_000)
    kept = sample_file(source, tmp_path / "out.csv", 0.3)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "id,square"
    assert len(lines) == kept + 1
    assert lines[1:] == [f"{row},{row * row}" for row in _ids(tmp_path / "out.csv")]
    assert _ids(tmp_path / "out.csv") == sorted(_ids(tmp_path / "out.csv"))
    assert stats.binomtest(kept, 50_000, 0.3).pvalue > SIGNIFICANCE


def test_csv_places_are_uniform(tmp_path: Path) -> None:
    """Kept rows come from all over the file, also across the blocks that it is read in."""
    source = _numbers(tmp_path / "in.csv", 400_000)
    assert source.stat().st_size > csv_records._BLOCK
    for arguments in ({"rate": 0.1}, {"size": 40_000, "scheme": "without-replacement"}):
        sample_file(source, tmp_path / "out.csv", **arguments)
        counts = np.histogram(_ids(tmp_path / "out.csv"), bins=40, range=(0, 400_000))[0]
        assert stats.chisquare(counts).pvalue > SIGNIFICANCE


def test_csv_fixed_size(tmp_path: Path) -> None:
    """Without replacement the size is exact; from a rate it is rounded down."""
    source = _numbers(tmp_path / "in.csv", 1000)
    out = tmp_path / "out.csv"
    assert sample_file(source, out, size=17, scheme="without-replacement") == 17
    assert len(set(_ids(out))) == 17
    assert sample_file(source, out, 0.0129, scheme="without-replacement") == 12
    assert sample_file(source, out, size=1000, scheme="without-replacement") == 1000
    assert out.read_bytes() == source.read_bytes()
    with pytest.raises(InputError, match="size is 1001: must be at most 1000"):
        sample_file(source, out, size=1001, scheme="without-replacement")


def test_csv_records_with_quotes(tmp_path: Path) -> None:
    """Line ends within quotes do not end a record; blank lines are none; bytes stay as they are."""
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    records = [b'%d,"a\r\n""b"", %d"\r\n' % (row, row) for row in range(2000)]
    header, last = b'\xef\xbb\xbf"i d",text\r\n', b'7,"\xe9 end"'
    source.write_bytes(header + b"\r\n".join(records) + b"\r\n" + last)
    assert sample_file(source, out, 1) == 2001
    assert out.read_bytes() == header + b"".join(records) + last
    kept = sample_file(source, out, 0.5)
    body = out.read_bytes().removeprefix(header)
    rows = list(csv.reader(body.decode("latin-1").splitlines(keepends=True)))
    assert len(rows) == kept
    assert all(len(row) == 2 for row in rows)


def test_csv_without_a_header(tmp_path: Path) -> None:
    """Without a header the first record is one like the others."""
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("1\n2\n3\n")
    assert sample_file(source, out, 1, header=False) == 3
    assert sample_file(source, out, size=1, scheme="without-replacement", header=False) == 1
    assert out.read_text() in ("1\n", "2\n", "3\n")


@pytest.mark.parametrize("content", ["", "id\n", "id"])
def test_csv_without_rows(tmp_path: Path, content: str) -> None:
    """A file with no rows gives one with no rows."""
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(content)
    assert sample_file(source, out, 0.5) == 0
    assert out.read_text().strip() == content.strip()


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    """Progress rises to 1, through both passes where there are two."""
    source = _numbers(tmp_path / "in.csv", 400_000)
    told: list[tuple[str, float]] = []
    sample_file(
        source,
        tmp_path / "out.csv",
        0.01,
        scheme="without-replacement",
        progress=lambda sentence, share: told.append((sentence, share)),
    )
    assert list(dict.fromkeys(sentence for sentence, _ in told)) == ["counting records", "sampling"]
    for name in ("counting records", "sampling"):
        shares = [share for sentence, share in told if sentence == name]
        assert len(shares) > 1
        assert shares == sorted(shares)
        assert shares[-1] == 1


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When sampling fails the old target stays, and there is no other file."""
    source, out = _numbers(tmp_path / "in.csv", 1000), tmp_path / "out.csv"
    out.write_text("old")

    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Bernoulli, "choose", fails)
    with pytest.raises(KeyboardInterrupt):
        sample_file(source, out, 0.5)
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.csv"]


def test_one_row_alone_is_the_only_new_file(tmp_path: Path) -> None:
    """Beside the target nothing is written, neither in the folder nor for temporary files."""
    source = _numbers(tmp_path / "in.csv", 5000)
    script = (
        "import sys, builtins, os, io\n"
        "from gdpbridge.amplify.files import sample_file\n"
        "opened = []\n"
        "def audit(event, args):\n"
        "    writes = os.O_WRONLY | os.O_RDWR\n"
        "    if event == 'open' and isinstance(args[2], int) and args[2] & writes:\n"
        "        opened.append(str(args[0]))\n"
        "sys.addaudithook(audit)\n"
        "sample_file(sys.argv[1], sys.argv[2], 0.5)\n"
        "print(*sorted({os.path.basename(name) for name in opened}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(source), str(tmp_path / "out.csv")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (written,) = done.stdout.split()
    assert written.startswith(".out.csv.")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.csv"]


@pytest.mark.parametrize("scheme", ["poisson", "without-replacement"])
def test_memory_is_constant(tmp_path: Path, scheme: str, peak_memory: str) -> None:
    """A 100 MB file is sampled in hardly more memory than one of 20 MB."""
    pytest.importorskip("resource")
    script = (
        f"{peak_memory}import sys\n"
        "from gdpbridge.amplify.files import sample_file\n"
        "for source in sys.argv[1:3]:\n"
        "    sample_file(source, sys.argv[3], 0.5, scheme=sys.argv[4])\n"
        "    print(peak())\n"
    )
    line = b"0123456789" * 11 + b"\n"
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    for path, size in ((small, 20_000_000), (large, 100_000_000)):
        path.write_bytes(b"digits\n" + line * (size // len(line)))
    done = subprocess.run(
        [sys.executable, "-c", script, small, large, tmp_path / "out.csv", scheme],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    before, after = (int(text) for text in done.stdout.split())
    assert after - before < 40_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "rate and size: give one of them"),
        ({"rate": 0.5, "size": 1}, "rate and size: give one of them"),
        ({"rate": 0}, r"rate is 0: must be a number in \(0, 1\]"),
        ({"rate": 1.5}, r"rate is 1.5: must be a number in \(0, 1\]"),
        ({"rate": math.nan}, r"rate is nan: must be a number in \(0, 1\]"),
        ({"size": 1}, "size: leave it out"),
        ({"size": 0, "scheme": "without-replacement"}, "size is 0: must be a whole number ≥ 1"),
        ({"rate": 0.5, "scheme": "with"}, "scheme is 'with': must be one of poisson, without-repl"),
        ({"rate": 0.5, "source": "none.csv"}, "source is .*: must be a file that exists"),
        ({"rate": 0.5, "target": "in.csv"}, "target is .*: must be another file than the source"),
        ({"rate": 0.5, "target": "out.parquet"}, "name two .csv files or two .parquet files"),
        ({"rate": 0.5, "target": "none/out.csv"}, "file is .*: must be usable"),
    ],
)
def test_bad_arguments(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    """What is not allowed is refused in one sentence."""
    _numbers(tmp_path / "in.csv", 3)
    source = tmp_path / arguments.pop("source", "in.csv")
    target = tmp_path / arguments.pop("target", "out.csv")
    with pytest.raises(InputError, match=message):
        sample_file(source, target, **arguments)


def test_csv_in_an_unsuitable_encoding(tmp_path: Path) -> None:
    """UTF-16 is refused, for its line ends are not those of bytes."""
    source = tmp_path / "in.csv"
    source.write_text("id\n1\n", encoding="utf-16")
    with pytest.raises(InputError, match="source is in UTF-16: must be in an encoding"):
        sample_file(source, tmp_path / "out.csv", 0.5)


def test_csv_with_an_open_quote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quote that never ends is refused before it takes all the memory."""
    monkeypatch.setattr(csv_records, "_MAX_RECORD", 1000)
    source = tmp_path / "in.csv"
    source.write_text('id\n"1\n' + "2\n" * 1000)
    with pytest.raises(InputError, match="source: the record that begins in line"):
        sample_file(source, tmp_path / "out.csv", 0.5)
    assert not (tmp_path / "out.csv").exists()


IN_DOUBT = {
    "bare CR": (b"id,v\r1,secret1\r2,secret2\r", "line 1: a carriage return without a line feed"),
    "bare CR later": (b"id,v\n1,a\n2,b\r3,c\n", "line 3: a carriage return without a line feed"),
    "bare CR last": (b"id,v\n1,a\n2,b\r", "line 3: a carriage return without a line feed"),
    "open quote in the header": (b'id,height "\n1,2\n3,4\n', "line 1: a quote that is not closed"),
    "header over lines": (b'id,"height\n1,2\n3",4\n', "line 1: a quote that is not closed"),
    "header that never ends": (b'id,"height\n1,2\n3,4\n', "line 1: a quote that is not closed"),
    "a quote inside a cell": (b'id,v\n1,a\n2,5" pipe\n3,b\n4,6" pipe\n5,c\n', "line 3: a quote"),
    "text after a quote": (b'id,v\n1,"a" b\n2,c\n', "line 2: a quote inside a cell"),
    "the file ends in a quote": (b'id,v\n1,a\n2,"b\n3,c\n', "line 3: a quote that is never closed"),
    "joined rows": (b'id,v,w\n1,"a,b\n2,a,b"\n3,a,b\n', "line 2: a record of 2 cells"),
    "a row too long": (b"id,v\n1,a\n2,b,c\n", "line 3: a record of 3 cells"),
    "no header": (b"1,secret\n2,secret\n", "line 1: 1"),
}


@pytest.mark.parametrize("case", IN_DOUBT)
@pytest.mark.parametrize(
    "how", [{"rate": 1e-6}, {"rate": 1}, {"size": 1, "scheme": "without-replacement"}]
)
def test_csv_whose_records_cannot_be_told_apart(
    tmp_path: Path, case: str, how: dict[str, Any]
) -> None:
    """Where a record may end is in doubt, so that nothing is written, and the line is named."""
    content, message = IN_DOUBT[case]
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(content)
    with pytest.raises(InputError) as caught:
        sample_file(source, out, **how)
    assert caught.value.field == "source"
    assert str(caught.value.value).startswith(message)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


CELLS = st.one_of(
    st.text(alphabet="ab 1.-é\t;|", max_size=4),
    st.text(alphabet='ab",\r\n', max_size=5).map(
        lambda text: f'"{text.replace(chr(34), chr(34) * 2)}"'
    ),
)


@settings(max_examples=100)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=20),
    ending=st.sampled_from(["\n", "\r\n"]),
    block=st.integers(3, 40),
)
def test_records_are_those_of_the_standard(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str, str]],
    ending: str,
    block: int,
) -> None:
    """What RFC 4180 writes is read record by record, whatever the blocks, and copied as it was."""
    folder = tmp_path_factory.mktemp("csv")
    source, out = folder / "in.csv", folder / "out.csv"
    header = f"a,b,c{ending}"
    records = [",".join(row) + ending for row in rows]
    source.write_bytes((header + "".join(records)).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "_BLOCK", block)
        assert sample_file(source, out, 1) == len(rows)
        assert out.read_bytes() == source.read_bytes()
        sample_file(source, out, size=1, scheme="without-replacement")
    kept = out.read_bytes().decode().removeprefix(header)
    assert kept in records


@settings(max_examples=100)
@given(body=st.text(alphabet='a,"\r\n', max_size=60), header=st.booleans())
def test_nothing_is_written_that_was_not_drawn(
    tmp_path_factory: pytest.TempPathFactory, body: str, header: bool
) -> None:
    """At a rate that draws nothing, nothing but a header of one line is ever written."""
    folder = tmp_path_factory.mktemp("csv")
    source, out = folder / "in.csv", folder / "out.csv"
    source.write_bytes(body.encode())
    try:
        assert sample_file(source, out, 1e-300, header=header) == 0
    except InputError:
        assert not out.exists()
        return
    written = out.read_bytes()
    assert written.strip(b"\r\n").count(b"\n") == 0
    assert b"\r" not in written.strip(b"\r\n")
    assert header or not written


def test_two_samples_to_one_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that write the same file at once both succeed, and a stranger's file stays."""
    source, out = _numbers(tmp_path / "in.csv", 1000), tmp_path / "out.csv"
    stranger = tmp_path / f".out.csv.{os.getpid()}.partial"
    stranger.write_text("mine")
    both = threading.Barrier(2, timeout=30)
    choose = Bernoulli.choose

    def together(self: Bernoulli, rows: int) -> Any:
        both.wait()
        return choose(self, rows)

    monkeypatch.setattr(Bernoulli, "choose", together)
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(lambda _: sample_file(source, out, 0.5), range(2)))
    assert len(_ids(out)) in counts
    assert sorted(path.name for path in tmp_path.iterdir()) == [stranger.name, "in.csv", "out.csv"]
    assert stranger.read_text() == "mine"


# --- Parquet and frames ---------------------------------------------------------------------


@pytest.fixture
def arrow() -> Any:
    """PyArrow, which the extra ``tables`` brings, as Narwhals is."""
    pytest.importorskip("narwhals")
    pytest.importorskip("pyarrow.parquet")
    return pytest.importorskip("pyarrow")


def _table(arrow: Any, rows: int = 20_000) -> Any:
    return arrow.table({"id": range(rows), "text": [f"row {row}" for row in range(rows)]})


def test_parquet(tmp_path: Path, arrow: Any) -> None:
    """The schema and the kept rows are as they were; both schemes have their law."""
    from pyarrow import parquet

    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = _table(arrow, 100_000)
    parquet.write_table(table, source, row_group_size=7000)
    kept = sample_file(source, out, 0.2)
    read = parquet.read_table(out)
    assert read.schema == table.schema
    assert read.num_rows == kept
    assert read.equals(table.take(read["id"]))
    assert stats.binomtest(kept, 100_000, 0.2).pvalue > SIGNIFICANCE
    assert sample_file(source, out, size=501, scheme="without-replacement") == 501
    assert len(set(parquet.read_table(out)["id"].to_pylist())) == 501


def test_no_parquet_file(tmp_path: Path, arrow: Any) -> None:
    """A file that is not Parquet is refused in a sentence."""
    (tmp_path / "in.parquet").write_text("no")
    with pytest.raises(InputError, match=r"source is .*: must be a Parquet file"):
        sample_file(tmp_path / "in.parquet", tmp_path / "out.parquet", 0.5)


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, Parquet files and frames name the pip command."""
    for module in ("pyarrow", "narwhals"):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "in.parquet").write_text("no")
    with pytest.raises(MissingExtraError, match=r"pip install 'gdpbridge\[tables\]'"):
        sample_file(tmp_path / "in.parquet", tmp_path / "out.parquet", 0.5)
    with pytest.raises(MissingExtraError, match=r"pip install 'gdpbridge\[tables\]'"):
        sample(object(), 0.5)


def test_arrow_table(arrow: Any) -> None:
    """A table gives a table, of rows as they were."""
    table = _table(arrow)
    kept = sample(table, 0.25)
    assert isinstance(kept, arrow.Table)
    assert kept.equals(table.take(kept["id"]))
    assert stats.binomtest(kept.num_rows, table.num_rows, 0.25).pvalue > SIGNIFICANCE
    assert sample(table, size=12, scheme="without-replacement").num_rows == 12


def test_arrow_stream(arrow: Any) -> None:
    """Batches are sampled as they are asked for."""
    table, read = _table(arrow), []

    def batches() -> Any:
        for batch in table.to_batches(max_chunksize=1000):
            read.append(batch.num_rows)
            yield batch

    stream = sample(arrow.RecordBatchReader.from_batches(table.schema, batches()), 0.25)
    assert not read
    assert stream.read_next_batch().num_rows < 1000
    assert len(read) == 1
    rest = stream.read_all()
    assert rest.schema == table.schema
    with pytest.raises(InputError, match=r"scheme is .*: must be poisson for a stream"):
        sample(table.to_reader(), size=5, scheme="without-replacement")


@pytest.mark.parametrize("module", ["pandas", "polars"])
def test_frames(arrow: Any, module: str) -> None:
    """A frame gives a frame of its kind, of rows as they were."""
    pytest.importorskip(module)
    table = _table(arrow)
    frame = table.to_pandas() if module == "pandas" else __import__("polars").from_arrow(table)
    kept = sample(frame, 0.25)
    assert type(kept) is type(frame)
    assert list(kept["text"]) == [f"row {row}" for row in kept["id"]]
    assert stats.binomtest(len(kept), len(frame), 0.25).pvalue > SIGNIFICANCE
    assert len(sample(frame, size=12, scheme="without-replacement")) == 12


def test_lazy_polars(arrow: Any) -> None:
    """A lazy frame stays lazy, and its sample is drawn once, however often it is evaluated."""
    polars = pytest.importorskip("polars")
    lazy = polars.from_arrow(_table(arrow)).lazy()
    kept = sample(lazy, 0.25)
    assert isinstance(kept, polars.LazyFrame)
    assert kept.collect().equals(kept.collect())
    assert kept.collect().columns == ["id", "text"]
    assert stats.binomtest(kept.collect().height, 20_000, 0.25).pvalue > SIGNIFICANCE


def test_lazy_duckdb(arrow: Any) -> None:
    """DuckDB needs an order to number rows by; its own random function must be accepted by name."""
    duckdb = pytest.importorskip("duckdb")
    table = _table(arrow)
    with duckdb.connect() as connection:
        relation = connection.from_arrow(table)
        with pytest.raises(InputError, match="order_by is None: must be given for duckdb"):
            sample(relation, 0.25)
        kept = sample(relation, 0.25, order_by="id")
        assert isinstance(kept, duckdb.DuckDBPyRelation)
        first = kept.order("id").fetchall()
        assert first == kept.order("id").fetchall()
        assert stats.binomtest(len(first), 20_000, 0.25).pvalue > SIGNIFICANCE
        fixed = sample(relation, size=9, scheme="without-replacement", order_by="id")
        assert len(fixed.fetchall()) == 9
        drawn = len(sample(relation, 0.25, engine_random="duckdb").fetchall())
        assert stats.binomtest(drawn, 20_000, 0.25).pvalue > SIGNIFICANCE
        with pytest.raises(InputError, match="engine_random is 'spark': must be left out"):
            sample(relation, 0.25, engine_random="spark")
        with pytest.raises(InputError, match="scheme is 'without-replacement': must be poisson"):
            sample(relation, 0.2, scheme="without-replacement", engine_random="duckdb")


@pytest.mark.filterwarnings("ignore:Dask support is moving")
def test_lazy_dask(arrow: Any) -> None:
    """A Dask frame stays lazy, and its sample is drawn once."""
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(_table(arrow).to_pandas(), npartitions=3)
    kept = sample(frame, 0.25)
    assert type(kept) is type(frame)
    assert kept.compute().equals(kept.compute())
    assert stats.binomtest(len(kept), 20_000, 0.25).pvalue > SIGNIFICANCE


KEY = bytes(range(32))
LAZY = ("pandas", "polars", "lazy polars", "duckdb", "dask", "spark")


def _as(engine: str, table: Any) -> Any:
    """A table as a frame of an engine, in parts where it has parts."""
    match engine:
        case "pandas":
            pytest.importorskip("pandas")
            return table.to_pandas()
        case "polars" | "lazy polars":
            frame = pytest.importorskip("polars").from_arrow(table)
            return frame if engine == "polars" else frame.lazy()
        case "duckdb":
            return pytest.importorskip("duckdb").from_arrow(table)
        case "dask":
            return pytest.importorskip("dask.dataframe").from_pandas(
                table.to_pandas(), npartitions=3
            )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = pytest.importorskip("pyspark.sql").SparkSession
    spark = session.builder.master("local[2]").config("spark.ui.enabled", False).getOrCreate()
    return spark.createDataFrame(table.to_pandas()).repartition(3)


def _kept_ids(kept: Any) -> list[int]:
    """The ids of what may have to be computed first."""
    for method in ("compute", "collect", "to_arrow_table", "to_pandas", "toPandas"):
        if hasattr(kept, method) and method != "to_pandas":
            kept = getattr(kept, method)()
    if isinstance(kept, list):
        return sorted(row["id"] for row in kept)
    column = kept["id"]
    return sorted(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())


def test_keyed(arrow: Any) -> None:
    """A keyed sample has the rate, is the same for a key, and another one for another key."""
    table = _table(arrow)
    kept = _kept_ids(sample(table, 0.25, by="id", key=KEY))
    assert stats.binomtest(len(kept), 20_000, 0.25).pvalue > SIGNIFICANCE
    assert kept == _kept_ids(sample(table, 0.25, by=["id"], key=KEY))
    # by hand: SHA-256 of the outer key and the hex of that of the inner key and "1:0"
    inner, outer = (hashlib.sha256(word + KEY).hexdigest() for word in (b"inner:", b"outer:"))
    inside = hashlib.sha256(f"{inner}1:0".encode()).hexdigest()
    assert (0 in kept) == (
        int(hashlib.sha256(f"{outer}{inside}".encode()).hexdigest(), 16) < 2**254
    )
    both = set(kept) & set(_kept_ids(sample(table, 0.25, by="id")))
    assert stats.binomtest(len(both), len(kept), 0.25).pvalue > SIGNIFICANCE
    assert len(_kept_ids(sample(table, 1, by="id", key=KEY))) == 20_000
    for words, message in (
        ({"by": "text", "key": b"short"}, "key is"),
        ({"key": KEY}, "by is missing"),
        ({"by": "none", "key": KEY}, "by is 'none': must be one of the columns"),
        ({"by": "id", "scheme": "without-replacement"}, "scheme is"),
    ):
        with pytest.raises(InputError, match=message):
            sample(table, 0.25, **words)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", LAZY)
def test_keyed_on_every_engine(arrow: Any, engine: str) -> None:
    """The same rows are in a keyed sample on every engine, however often it is computed."""
    table = _table(arrow).slice(0, 2000)
    frame = _as(engine, table)
    kept = sample(frame, 0.3, by=["text", "id"], key=KEY)
    assert type(kept) is type(frame)
    expected = _kept_ids(sample(table, 0.3, by=["text", "id"], key=KEY))
    assert _kept_ids(kept) == expected
    assert _kept_ids(kept) == expected


def test_engine_of_another_frame_is_refused(arrow: Any) -> None:
    """An engine's name is refused for a frame of another one, which has its rows at hand."""
    with pytest.raises(InputError, match="engine_random is 'duckdb': must be left out"):
        sample(_table(arrow), 0.5, engine_random="duckdb")


def test_too_many_rows_to_look_up(arrow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lazy sample beyond the limit is refused with the limit, and another way."""
    from gdpbridge.amplify import frames

    polars = pytest.importorskip("polars")
    monkeypatch.setattr(frames, "MAX_LAZY_ROWS", 100)
    with pytest.raises(WorkLimitError, match="more than 100 rows to look up") as caught:
        sample(polars.LazyFrame({"id": range(1000)}), 0.5)
    assert caught.value.limit == 100


def test_no_frame(arrow: Any) -> None:
    """What is no frame is refused in a sentence."""
    with pytest.raises(InputError, match="data is 'int': must be a frame or table"):
        sample(3, 0.5)
