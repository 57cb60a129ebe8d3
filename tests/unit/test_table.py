"""Tables of guarantees: what they imply, where they come from, what is refused."""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge import profiles
from gdpbridge.errors import InputError, MissingExtraError

HAND = [(0.5, 1e-3), (1, 1e-5), (2, 1e-4), (4, 1e-9)]


def written(folder: Path, text: str | bytes, name: str = "pairs.csv") -> str:
    """The path of a file with this content."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_hand_case_table() -> None:
    """The joint envelope of a table that is not monotone, and its head (hand case C25)."""
    p = profiles.Table(pairs=HAND)
    assert p.delta([0.0, 0.25]) == pytest.approx([0.2456737437413054, 0.1385498291151155], rel=1e-9)
    assert p.delta([0.75, 2.0]) == pytest.approx(
        [5.665547358769401e-4, 9.099784298869366e-6], rel=1e-9
    )
    assert p.delta(10.0) == pytest.approx(1e-9, rel=1e-14)
    found = gdp.measure(p)
    assert (found.verdict, found.statement, found.eps_h) == ("unknown", "head", 4.0)
    assert (found.certified, found.method) == (True, "breakpoints")
    assert found.mu.lower == pytest.approx(0.82252, abs=1e-5)
    assert found.failure_probability == pytest.approx(1e-9, rel=1e-12)
    assert "1 row says nothing" in " ".join(found.notes)
    assert "δ ≤ 1e-09 at ε = 4" in found.reason


def test_failure_at_the_last_delta() -> None:
    """The last δ as failure probability covers every ε; a smaller one is refused."""
    p = profiles.Table(pairs=HAND)
    found = gdp.measure(p, failure=1e-9)
    assert (found.statement, found.certified) == ("approximate", True)
    assert found.mu.upper <= gdp.measure(p).mu.upper
    with pytest.raises(InputError, match="nothing is known below"):
        gdp.measure(p, failure=1e-10)


def test_head_beyond_the_last_row() -> None:
    """Past the last row δ stays where it is: G rises up to the end of the head."""
    found = gdp.measure(profiles.Table(pairs=HAND), "1e-12", eps_h=100)
    assert found.certified
    assert found.attained_at == 100
    assert found.mu.lower <= gdp.mu(100.0, delta=1e-9) <= found.mu.upper + 1e-12


def test_one_pair_is_approx_dp() -> None:
    """One (ε, δ) pair with δ = 0 is ε-DP; with δ > 0 it is the exact partial order up to there."""
    eps = np.linspace(0, 1, 50)
    pure = profiles.Table(pairs=[(1, 0)])
    assert pure.log_delta(eps[:-1]) == pytest.approx(
        profiles.PureDP(epsilon=1).log_delta(eps[:-1]), rel=1e-12
    )
    found = gdp.measure(pure)
    assert (found.verdict, found.statement) == ("gdp", "whole")
    assert abs(found.mu.lower - gdp.measure(profiles.PureDP(epsilon=1)).mu.lower) < 1e-9
    other = profiles.Table(pairs=[(1, 0.01)])
    same = profiles.ApproxDP(epsilon=1, delta=0.01)
    assert other.delta(eps) == pytest.approx(same.delta(eps), rel=1e-12)


def test_table_of_a_laplace_profile() -> None:
    """A fine table of a true profile implies it, and no less: μ from just above."""
    true = profiles.Laplace(scale=0.5)
    eps = np.linspace(0, 2, 2001)
    p = profiles.Table(pairs=np.column_stack([eps, true.delta(eps)]))
    middles = (eps[1:] + eps[:-1]) / 2
    assert (p.delta(middles) >= np.asarray(true.delta(middles)) - 1e-15).all()
    found = gdp.measure(p)
    assert found.verdict == "gdp"
    assert found.mu.lower <= 1.800905193275604 + 1e-7
    assert found.mu.upper >= 1.800905193275604


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1.0, 1e2])
def test_wide_range_of_eps(scale: float) -> None:
    """From ε = 1e-8 to 1e3 nothing over- or underflows: between rows δ lies on the chord in e^ε."""
    true = profiles.GDP(mu=scale if scale < 1 else 1.5 * scale**0.5)
    rows = scale * np.array([1, 3, 5, 6])
    first, second, *_ = deltas = np.asarray(true.delta(rows))
    assert 0 < deltas[-1] < deltas[0] < 1
    p = profiles.Table(pairs=np.column_stack([rows, deltas]))
    assert p.delta(rows) == pytest.approx(deltas, rel=1e-12)
    # (e^{3s} - e^{2s})/(e^{3s} - e^s) with s the scale
    chord = second + (first - second) * (1 - np.exp(-scale)) / (1 - np.exp(-2 * scale))
    if scale >= 1e-4:
        assert p.delta(2 * scale) == pytest.approx(chord, rel=1e-11)
    assert p.delta(10 * scale) == p.delta(7 * scale)
    points = np.linspace(0, 6 * scale, 500)
    logs = np.asarray(p.log_delta(points))
    assert np.isfinite(logs).all()
    assert (np.diff(logs) <= 0).all()
    assert (np.asarray(p.delta(points)) >= np.asarray(true.delta(points)) * (1 - 1e-12)).all()


def test_tiny_delta_is_not_zero() -> None:
    """A δ that no float holds still is not 0: no pure DP is claimed from it."""
    found = gdp.measure(profiles.Table(pairs=[("1", "1e-4"), ("30", "1e-400")]))
    assert found.verdict == "unknown"
    assert found.log_failure_probability == pytest.approx(-400 * np.log(10), rel=1e-12)
    assert gdp.measure(profiles.Table(pairs=[("1", "1e-4"), ("30", "0e-400")])).verdict == "gdp"


def test_text_is_exact() -> None:
    """Thirty digits of a text count: μ of (0, 0.1…) to 30 digits moves with the last of them."""
    one = gdp.measure(profiles.Table(pairs=[("0", "0.1"), ("1", "0")]), "1e-30")
    two = gdp.measure(
        profiles.Table(pairs=[("0", "0.1000000000000000000000000001"), ("1", "0")]), "1e-30"
    )
    assert one.mu.high < two.mu.low


def test_log_delta_column(tmp_path: Path) -> None:
    """Logarithms of δ are read as such, as deep as they go."""
    text = "epsilon,log_delta\n1,-9.210340371976182\n50,-2500.5\n"
    p = profiles.Table(written(tmp_path, text))
    assert p.log_delta(50.0) == -2500.5
    assert p.delta(1.0) == pytest.approx(1e-4, rel=1e-12)
    found = gdp.measure(p)
    assert found.log_failure_probability == pytest.approx(-2500.5, rel=1e-12)
    ended = profiles.Table(written(tmp_path, "epsilon,log_delta\n1,-9.2\n50,-inf\n"))
    assert gdp.identify(ended).verdict == "gdp"


PLAIN = "eps,delta\n0.5,1e-3\n1,1e-5\n2,1e-4\n4,1e-9\n"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "0.5,1e-3\n1,1e-5\n2,1e-4\n4,1e-9",
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", " , "),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        "\ufeff" + PLAIN,
        'Epsilon,note,DELTA\n4,a,1e-9\n2,b,1e-4\n1,,1e-5\n0.5,"c, d",1e-3\n',
        "δ,ε\n1e-9,4\n1e-4,2\n1e-5,1\n1e-3,0.5\n",
        PLAIN + "1.0,0.00001\n",
        PLAIN + "\n\n",
        '"eps","delta"\n"0.5","1e-3"\n"1","1e-5"\n"2","1e-4"\n"4","1e-9"\n',
        "[[0.5, 1e-3], [1, 1e-5], [2, 1e-4], [4, 1e-9]]",
        '[{"eps": 0.5, "delta": 1e-3}, {"eps": 1, "delta": 1e-5}, {"eps": "2", "delta": 1e-4}, '
        '{"eps": 4, "delta": 1e-9}]',
        '{"epsilon": [0.5, 1, 2, 4], "delta": [1e-3, 1e-5, 1e-4, 1e-9]}',
    ],
)
def test_ways_to_write_the_same_table(tmp_path: Path, text: str) -> None:
    """Separators, line ends, a mark of byte order, quotes, order and JSON make no difference."""
    p = profiles.Table(written(tmp_path, text))
    assert gdp.measure(p).mu == gdp.measure(profiles.Table(pairs=HAND)).mu


MESSY = {
    "comments": ("# made by hand\n" + PLAIN.replace("\n2,", "\n# 3,0\n2,"), "2 lines that began"),
    "blank lines": (PLAIN.replace("\n", "\n\n  \n"), ""),
    "names in a comment": ("# eps delta\n5e-1 1e-3\n1 1e-5\n2 1e-4\n4 1e-9\n", "names taken"),
    "decimal commas": ("eps;delta\n0,5;1e-3\n1;0,00001\n2;1,0e-4\n4;1e-9\n", "decimal commas"),
    "quoted commas": ('eps,delta\n"0,5",1e-3\n1,1e-5\n2,1e-4\n4,1e-9\n', "decimal commas"),
    "percent": ("eps,delta\n0.5,0.1 %\n1,0.001%\n2,1e-2%\n4,1e-7%\n", "hundredths"),
    "percent in the name": ("eps;delta [%]\n0.5;.1\n1;.001\n2;1e-2\n4;1e-7\n", "hundredths"),
    "names by meaning": (
        PLAIN.replace("eps,delta", "Epsilon (privacy loss),Failure probability δ"),
        "'Epsilon (privacy loss)' is read as ε",
    ),
    "δ first": ("1e-3,0.5\n1e-5,1\n1e-4,2\n1e-9,4\n".replace("1e-4,2\n", ""), "read as δ"),
    "comments beside numbers": (PLAIN.replace("1e-3", "1e-3 # first"), "a # in 1 line"),
    "a mark at the end": (PLAIN.replace("\n", ",\n").replace("delta,", "delta"), ""),
    "bars": (PLAIN.replace(",", "|"), ""),
    "a line for Excel": ("sep=;\n" + PLAIN.replace(",", ";"), ""),
    "powers of ten": ("eps,delta\n0.5,10^-3\n1,1x10^-5\n2,1 × 10⁻⁴\n4,1e−9\n", ""),
    "decimal commas and percent": ("eps;delta\n0,5;0,1 %\n1;1e-5\n2;1e-4\n4;1e-9\n", "hundredths"),
    "percent twice": (
        "eps,delta (%)\n0.5,0.1%\n1,0.001%\n2,0.01\n4,1e-7\n",
        "hundredths",
    ),
    "no names": (PLAIN.partition("\n")[2], "the first is read as ε, the second as δ"),
    "spaces": (PLAIN.replace(",", "   "), ""),
    "UTF-16": (PLAIN.encode("utf-16"), ""),
    "UTF-16, big end first": (b"\xfe\xff" + PLAIN.encode("utf-16-be"), ""),
    "UTF-32": (PLAIN.encode("utf-32"), ""),
}


@pytest.mark.parametrize(("text", "said"), MESSY.values(), ids=list(MESSY))
def test_messy(tmp_path: Path, text: str | bytes, said: str) -> None:
    """What is messy but has one reading is read so, and what was understood is said."""
    p = profiles.Table(written(tmp_path, text))
    assert gdp.measure(p).mu == gdp.measure(profiles.Table(pairs=HAND)).mu
    assert said in "; ".join(p.remarks)


def test_thousands(tmp_path: Path) -> None:
    """Marks of thousands are read where another number tells what the decimal sign is."""
    for text in (
        'eps,delta\n"1,234.5",0\n0.5,0.001\n',
        "eps;delta\n1.234,5;0\n0,5;0,001\n",
        "eps;delta\n1 234,5;0\n0,5;0,001\n",
        "eps;delta\n1'234.5;0\n0.5;0.001\n",
    ):
        p = profiles.Table(written(tmp_path, text))
        assert p.least_epsilon(0.0) == 1234.5
        assert "as marks of thousands" in "; ".join(p.remarks)


def test_a_decimal_comma_may_be_all_there_is(tmp_path: Path) -> None:
    """Lines such as 0,5 are no δ = 0 at ε = 5: they may be one number each."""
    with pytest.raises(InputError, match="row 1 is '0,5': must be of two columns with names"):
        profiles.Table(written(tmp_path, "0,5\n0,25\n"))
    assert profiles.Table(written(tmp_path, "delta,eps\n0,5\n0,25\n")).delta(5.0) == 0


def test_encoding(tmp_path: Path) -> None:
    """Another encoding is read where it is named."""
    path = written(tmp_path, "ε,δ,prüfer\n1,0.5,ä\n".encode("iso8859-7", "replace"))
    assert profiles.Table(path, encoding="iso8859-7").delta(1.0) == 0.5
    with pytest.raises(InputError, match="encoding is 'klingon'"):
        profiles.Table(path, encoding="klingon")
    latin = written(tmp_path, "eps,delta,prüfer\n1,0.5,ä\n".encode("latin-1"))
    assert profiles.Table(latin, encoding="latin-1").delta(1.0) == 0.5


@pytest.mark.parametrize(
    "data",
    [
        {"eps": [0.5, 1, 2, 4], "delta": [1e-3, 1e-5, 1e-4, 1e-9]},
        {"eps": np.array([0.5, 1, 2, 4]), "delta": (1e-3, 1e-5, 1e-4, 1e-9)},
        {"pairs": {0.5: 1e-3, 1: 1e-5, 2: 1e-4, 4: 1e-9}},
        {"pairs": {"eps": [0.5, 1, 2, 4], "delta": [1e-3, 1e-5, 1e-4, 1e-9]}},
        {"pairs": np.array([(0.5, 1e-3), (1, 1e-5), (2, 1e-4), (4, 1e-9)])},
    ],
)
def test_data(data: dict[str, Any]) -> None:
    """Two lists, arrays and dictionaries are the same as pairs."""
    p = gdp.load_profile({"kind": "table", **data})
    assert gdp.measure(p).mu == gdp.measure(profiles.Table(pairs=HAND)).mu
    assert gdp.load_profile(p.model_dump()) == p == profiles.Table(pairs=HAND)


def test_lists_of_two_lengths() -> None:
    """Lists of two lengths, and one list alone, are refused."""
    with pytest.raises(InputError, match="delta"):
        profiles.Table(eps=[1, 2], delta=[0.5])
    with pytest.raises(InputError, match="delta is missing"):
        profiles.Table(eps=[1, 2])


def test_columns_by_name(tmp_path: Path) -> None:
    """Columns with names of their own are found by option."""
    path = written(tmp_path, "budget,risk,eps,delta\n1,1e-5,9,0.5\n")
    p = profiles.Table(path, eps_column="Budget", delta_column="risk")
    assert p.delta(1.0) == pytest.approx(1e-5)
    with pytest.raises(InputError, match="budget, risk, eps, delta"):
        profiles.Table(path, eps_column="nothing")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash reads standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    assert profiles.Table("-").delta(10.0) == pytest.approx(1e-9, rel=1e-14)


BAD = {
    "empty": ("", "rows of ε and δ"),
    "names alone": ("eps,delta\n", "rows of ε and δ"),
    "δ above 1": ("eps,delta\n1,0.5\n2,1.5\n", "row 3"),
    "δ below 0": ("eps,delta\n1,-0.5\n", "row 2"),
    "δ hardly above 1": ("eps,delta\n1,1.00000000000000000000001\n", "row 2"),
    "δ hardly below 0": ("eps,delta\n1,-1e-400\n", "row 2"),
    "ε below 0": ("1,0.5\n-1,0.1\n", "row 2"),
    "ε too large": ("1,0.5\n1e6,0.1\n", "row 2"),
    "nan": ("eps,delta\n1,0.5\n2,nan\n", "row 3"),
    "infinite": ("eps,delta\ninf,0.5\n", "row 2"),
    "text": ("eps,delta\n1,0.5\n2,low\n", "row 3"),
    "underscore": ("eps,delta\n1_0,0.5\n", "row 2"),
    "empty cell": ("eps,delta\n1,0.5\n2,\n", "row 3"),
    "short row": ("eps,delta\n1,0.5\n2\n", "row 3"),
    "long row": ("eps,delta\n1,0.5\n2,0.1,3\n", "row 3"),
    "ragged evenly": ("eps,delta\n1,0.5\n2\n3,0.1,0.2\n", "row 3"),
    "ε hardly apart": ("eps,delta\n1,0.5\n2,0.1\n1.00000000000000000001,0.4\n", "row 4"),
    "no ε": ("size,delta\n1,0.5\n", "first row"),
    "no δ": ("eps,risk\n1,0.5\n", "first row"),
    "two of δ": ("eps,delta,δ\n1,0.5,0.5\n", "first row"),
    "thousands or decimals": ("eps;delta\n1,234;1e-3\n", r"row 2 is '1,234': .* 1\.234 or 1234"),
    "points or thousands": ("eps;delta\n0,5;0,1\n1.234;0\n", "row 3 .* 1,?234"),
    "two decimal signs": ("eps;delta\n0,5;0.1\n", "one decimal sign"),
    "percent of ε": ("eps,delta\n50%,0.1\n", "row 2"),
    "either order": ("1e-5,0.5\n1e-6,0.7\n", "row 1 .* ε = 1e-5, δ = 0.5 or δ = 1e-5, ε = 0.5"),
    "either order in JSON": ("[[1e-5,0.5],[1e-6,0.7]]", "row 1 .* may be"),
    "another logarithm": ("eps,log10 delta\n1,-3\n", "first row"),
    "one less δ": ("eps,1-delta\n1,0.9\n", "first row"),
    "UTF-16 without a mark": ("eps,delta\n1,0.5\n".encode("utf-16-le"), "give the encoding"),
    "three columns without names": ("1,2,3\n", "row 1"),
    "quotes": ('eps,delta\n1,"0.5\n', "row"),
    "not UTF-8": (b"eps,delta\n1,0.5\n\xff,0\n", "row 3"),
    "broken JSON": ("[[1, 0.5], [2", "JSON"),
    "JSON triples": ("[[1, 0.5], [2, 0.1, 3]]", "row 2"),
    "JSON null": ("[[1, 0.5], [2, null]]", "row 2"),
    "JSON nested": ("[" * 100_000, "JSON"),
    "JSON without δ": ('[{"eps": 1, "delta": 0.5}, {"eps": 2}]', "row 2"),
    "JSON lists of two lengths": ('{"eps": [1, 2], "delta": [0.5]}', "same length"),
    "JSON numbers": ("[1, 2]", "list of"),
    "broken Parquet": (b"PAR1 is not enough", "Parquet"),
    "huge number": ("eps,delta\n1,0.5\n2,1e999999999\n", "row 3"),
    "no guarantee": ("eps,delta\n1,1\n2,1\n", "δ < 1"),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=list(BAD))
def test_malformed(tmp_path: Path, text: str | bytes, said: str) -> None:
    """Each bad table stops with one sentence that names the row, as the user counts lines."""
    if said == "Parquet":
        pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match=said) as error:
        _ = profiles.Table(written(tmp_path, text)).curve
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "pairs", [[], [(1,)], [(1, 2, 3)], 5, [("a", "b")], [(1, None)], [(True, 0.1)]]
)
def test_malformed_pairs(pairs: Any) -> None:
    """Pairs given in Python are checked alike."""
    with pytest.raises(InputError):
        profiles.Table(pairs=pairs)


@pytest.mark.parametrize(
    "pairs",
    [
        [(1, 0.5), (2, 0.1), (1.0, 0.4)],
        [(1, 0.4), (1, 0.5), (2, 0.1)],
        [(2, 0.1), (1, 0.6), (1, 0.4), (1, 0.5)],
    ],
)
def test_an_eps_with_two_deltas(pairs: Any) -> None:
    """Both rows hold: the smaller δ is what they say together, and a note says so."""
    table = profiles.Table(pairs=pairs)
    one = profiles.Table(pairs=[(1, 0.4), (2, 0.1)])
    eps = np.array([0.3, 1.0])
    assert np.array_equal(table.log_delta(eps), one.log_delta(eps))
    overruled = len(pairs) - 2
    assert table.remarks[0].startswith(f"{overruled} row")
    assert "the smaller one is taken" in table.remarks[0]
    assert gdp.measure(table).mu == gdp.measure(one).mu
    assert not profiles.Table(pairs=[(1, 0.4), (1.0, 0.4), (2, 0.1)]).remarks


def test_log_deltas_of_one_eps() -> None:
    """It is the same with log δ, down to a δ of 0."""
    table = profiles.Table(pairs=[(1, -1.0), (1, -math.inf), (1, -2.0)], log=True)
    assert table.delta(1.0) == 0
    assert "2 rows have an ε" in table.remarks[0]


def test_neither_and_both() -> None:
    """A table is a file or pairs, one of the two."""
    with pytest.raises(InputError, match="file and pairs: give one of them"):
        profiles.Table()
    with pytest.raises(InputError, match="file and pairs: give one"):
        profiles.Table("a.csv", pairs=HAND)


def test_missing_file() -> None:
    """A file that is not there is told with the reason."""
    with pytest.raises(InputError, match="No such file"):
        profiles.Table("no/such/table.csv")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames(library: str) -> None:
    """Frames of several libraries are the same table; floats stand for their shortest decimals."""
    pytest.importorskip("narwhals")
    module = pytest.importorskip(library)
    columns = {"Eps": [0.5, 1, 2, 4], "delta": [1e-3, 1e-5, 1e-4, 1e-9]}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    p = profiles.Table.from_frame(frame)
    assert gdp.measure(p).mu == gdp.measure(profiles.Table(pairs=HAND)).mu
    bad = {"eps": [0.5, None], "delta": [1e-3, 1e-5]}
    with pytest.raises(InputError, match="row 2"):
        profiles.Table.from_frame(
            module.table(bad) if library == "pyarrow" else module.DataFrame(bad)
        )


def test_parquet(tmp_path: Path) -> None:
    """A Parquet file is known by its content."""
    pytest.importorskip("narwhals")
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "pairs.dat"
    columns = {"eps": [e for e, _ in HAND], "delta": [d for _, d in HAND]}
    parquet.write_table(
        pyarrow.table({name: np.array(v, float) for name, v in columns.items()}), path
    )
    assert gdp.measure(profiles.Table(str(path))).mu == gdp.measure(profiles.Table(pairs=HAND)).mu


def test_not_a_frame() -> None:
    """What is no data frame is refused by its type."""
    pytest.importorskip("narwhals")
    with pytest.raises(InputError, match="list"):
        profiles.Table.from_frame([1, 2])


def test_missing_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the extra, frames and Parquet files say what to install; text still works."""
    monkeypatch.setitem(sys.modules, "narwhals", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"gdpbridge\[tables\]"):
        profiles.Table.from_frame(object())
    with pytest.raises(MissingExtraError, match=r"gdpbridge\[tables\]"):
        profiles.Table(written(tmp_path, b"PAR1 and more"))
    assert profiles.Table(written(tmp_path, PLAIN)).delta(10.0) == pytest.approx(1e-9, rel=1e-14)


def test_plain_data_round_trip() -> None:
    """A dump of pairs is JSON, and makes the same profile again."""
    p = profiles.Table(pairs=[("0.5", "0.001"), ("4", "0.10000000000000000000001")])
    data = json.loads(json.dumps(p.model_dump()))
    again = profiles.profile_class("table")(**data)
    assert again.delta([0.0, 1.0]) == pytest.approx(p.delta([0.0, 1.0]), rel=1e-15)


def test_every_kind_of_pairs_can_be_shown() -> None:
    """Tuples, arrays and frames are dumped as numbers, also in a record of the result."""
    from gdpbridge.report.json import to_json
    from gdpbridge.report.record import measurement_record
    from gdpbridge.report.text import to_text

    shown = [[0.5, 0.001], [4.0, 1e-09]]
    given: list[Any] = [[(0.5, 1e-3), (4, 1e-9)], np.array(shown), [["0.5", "1e-3"], ["4", "1e-9"]]]
    for pairs in given:
        p = profiles.Table(pairs=pairs)
        assert p.model_dump()["pairs"] == shown
        record = measurement_record(gdp.measure(p))
        assert json.loads(to_json(record))["mechanism"]["pairs"] == shown
        assert to_text(record, 80).startswith("table: 2 pairs")


@pytest.mark.slow
def test_large_table() -> None:
    """Two hundred thousand rows of a smooth curve: few blocks of lines prove μ."""
    true = profiles.Laplace(scale=0.5)
    eps = np.linspace(0, 2, 200_001)
    found = gdp.measure(profiles.Table(pairs=np.column_stack([eps, true.delta(eps)])))
    assert found.certified
    assert found.cells < 1000
    assert found.mu.lower == pytest.approx(1.800905193275604, abs=1e-8)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_numbers_of_a_million_digits(tmp_path: Path, form: str) -> None:
    """A number that is too long for a fraction is rounded up, which takes time as its length."""
    long = "1" * 10**6
    text = {
        "json": f"[[0.{long}, 0.1], [1, 0.0{long}]]",
        "csv": f"eps,delta\n0.{long},0.1\n1,0.0{long}\n",
    }[form]
    path = tmp_path / "table"
    path.write_text(text, encoding="utf-8")
    found = gdp.profiles.Table(str(path))
    short = gdp.profiles.Table(pairs=[("0." + "1" * 3000, 0.1), (1, "0.0" + "1" * 3000)])
    assert found.delta([0.2, 1]) == pytest.approx(short.delta([0.2, 1]), rel=1e-15)
    assert gdp.measure(found).mu.upper >= gdp.measure(short).mu.lower


def test_a_vast_text_that_is_no_number(tmp_path: Path) -> None:
    """What is longer than any number that is meant, and is none, is refused at once."""
    path = tmp_path / "table"
    path.write_text(f"eps,delta\n{'1' * 10**5}x,0.1\n1,0.05\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"ε in row [12] is .*: must be a number of at most 4,000"):
        gdp.profiles.Table(str(path)).curve  # noqa: B018


class TestRuns:
    """Runs of what obeys a table are as those of the pair that has the whole implied curve."""

    def test_known_pairs(self) -> None:
        """Of one row it is (ε, δ)-DP, of all corners of a noise that noise."""
        eps = np.array([0.0, 1.0, 2.5, 6.0])
        found = profiles.Table(pairs=[[1, 1e-3]]).compose(5)
        same = profiles.ApproxDP(epsilon=1, delta=1e-3).compose(5)
        assert np.allclose(found.delta(eps), same.delta(eps), rtol=1e-12)
        assert found.profile_is == "class"
        noise = profiles.DiscreteLaplace(scale=2, sensitivity=3)
        table = profiles.Table(pairs=[[0.5, float(noise.delta(0.5))], [1.5, 0]])
        assert np.allclose(table.compose(4).delta(eps), noise.compose(4).delta(eps), rtol=1e-12)
        # a row at 0 bends the curve there
        bent = profiles.Table(pairs=[[0, 0.1], [1, 0]])
        worst = profiles.PLD(losses=[-1, 0, 1], probabilities=bent_masses(0.1))
        assert np.allclose(bent.compose(3).delta(eps), worst.compose(3).delta(eps), rtol=1e-9)

    def test_beyond_the_last_row(self) -> None:
        """What is not known of one run is not known of several; a failure is all they have."""
        found = gdp.measure(profiles.Table(pairs=[[0.5, 1e-2], [1, 1e-5], [4, 1e-9]]).compose(10))
        assert found.verdict == "unknown"
        assert found.failure_probability > 1e-8
        assert gdp.measure(profiles.Table(pairs=[[0, 0.1]]).compose(3)).failure_probability == 0.271

    def test_beside_others(self) -> None:
        """As a part it is composed with other losses; some beside Gaussian noise alone."""
        noise = profiles.Gaussian(sigma=2)
        row = profiles.Table(pairs=[[1, 0]])
        parts = [profiles.Sequence(parts=(one, noise)) for one in (row, profiles.PureDP(epsilon=1))]
        assert parts[0].delta(0.7) == pytest.approx(float(parts[1].delta(0.7)), rel=1e-9)
        fine = profiles.Table(pairs=[[0.123456789, 0.1], [1, 0]])
        assert profiles.Sequence(parts=(fine, noise)).delta(0.7) > 0


def bent_masses(delta: float) -> list[float]:
    """Of losses -1, 0 and 1, with a total variation of δ."""
    top = delta / (1 - math.exp(-1))
    return [top / math.e, 1 - top - top / math.e, top]
