"""Commands that check and use a μ: verify, convert, calibrate, compare, risk."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import gdpbridge as gdp
from gdpbridge.calibrate import calibrate
from gdpbridge.cli.parameters import is_word
from gdpbridge.errors import UndecidedError
from gdpbridge.interval import Interval
from gdpbridge.profiles import kinds


def test_certificate_is_written_and_verified(run: Callable, tmp_path: Path) -> None:
    """The certificate of a measurement is a file that verify accepts."""
    path = tmp_path / "cert.json"
    assert run(f"measure laplace --scale 0.5 --certificate {path}").status == 0
    done = run(f"verify {path} --json")
    assert done.status == 0
    assert set(done.document) == {"schema", "valid", "reason", "claims"}
    assert done.document["schema"] == {"name": "gdpbridge.verification", "version": 1}
    assert done.document["valid"] is True
    assert any("assumed, not proved" in claim for claim in done.document["claims"])
    assert run(f"verify {path}").rows["Valid"] == "yes"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"high": "1.80090519327609"', '"high": "1.80090519317609"', "claim.mu"),
        ('"low": "1.80090519327558"', '"low": "1.80090519327600"', "evidence.witness"),
        ('"scale": "0.5"', '"scale": "0.6"', ""),
        ('"verdict": "gdp"', '"verdict": "not-gdp"', "claim.verdict"),
    ],
)
def test_false_claims_are_refused(
    run: Callable, tmp_path: Path, old: str, new: str, line: str
) -> None:
    """A changed certificate is refused with status 3, and the first line that fails is named."""
    path = tmp_path / "cert.json"
    assert run(f"measure laplace --scale 0.5 --tol 1e-12 --certificate {path}").status == 0
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    done = run(f"verify {path}")
    assert done.status == 3
    assert done.rows["Valid"] == "no"
    assert line in done.rows["Because"]


@pytest.mark.parametrize("text", ["", "{}", "[]", "{", '{"schema": 1}', '{"a": 1, "a": 2}'])
def test_not_a_certificate(run: Callable, tmp_path: Path, text: str) -> None:
    """What is no certificate is bad input, in one sentence."""
    path = tmp_path / "cert.json"
    path.write_text(text, encoding="utf-8")
    done = run(f"verify {path}")
    assert done.status == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1


def test_a_certificate_that_there_is_not(run: Callable, tmp_path: Path) -> None:
    """A method without proof has no certificate, and a folder that is not there no file."""
    done = run(
        f"measure laplace --scale 1 --tol 0.01 --method adaptive --certificate {tmp_path / 'c'}"
    )
    assert done.status == 2
    assert "method adaptive is not proved" in done.err
    done = run(f"measure laplace --scale 1 --certificate {tmp_path / 'no' / 'c'}")
    assert done.status == 2
    assert "No such file or directory" in done.err
    assert run(f"verify {tmp_path / 'no'}").status == 2


def test_schema_of_certificates(run: Callable) -> None:
    """The published schema is the one that the program prints."""
    published = Path(__file__).parents[2] / "docs" / "certificate.schema.json"
    document = json.loads(published.read_text(encoding="utf-8"))
    assert run("schema certificate").document == document


@pytest.mark.parametrize(
    ("words", "result", "truth"),
    [
        ("--mu 1 --delta 1e-5", "epsilon", 4.37717809568122463),
        ("--mu 1 --failure 1e-6 --delta 1e-5", "epsilon", 4.40170826201829),
        ("--mu 1 --epsilon 1", "delta", 0.12693673750664394),
        ("--epsilon 1", "mu", 1.232035385344900973),
        ("--epsilon 1 --delta 1e-5", "mu", 0.26805112321129422),
        ("--rho 0.5", "mu", 1.2839125401),
        ("laplace --scale 0.5 --epsilon 1", "delta", 0.39346934028736658),
        ("laplace --scale 2 --delta 0", "epsilon", 0.5),
        ("pure-dp --epsilon 1 --at-epsilon 0.5", "delta", 0.28764913664496792),
        ("pure-dp --epsilon 0.2 --compose 50 --delta 1e-4", "epsilon", 5.56405630804),
    ],
)
def test_convert(run: Callable, words: str, result: str, truth: float) -> None:
    """A single answer stands under its name, and holds the truth."""
    document = run(f"convert {words} --json").document
    assert document["schema"] == {"name": "gdpbridge.conversion", "version": 1}
    assert document[result]["low"] <= truth * (1 + 1e-11)
    assert document[result]["high"] >= truth * (1 - 1e-11)
    assert document[result]["high"] - document[result]["low"] < 1e-8


def test_convert_table(run: Callable) -> None:
    """Several values give a table, and infinity is a word."""
    document = run("convert --mu 1 --delta 0 --delta 1e-5 --json").document
    assert [row["delta"] for row in document["table"]] == [0, 1e-5]
    assert document["table"][0]["epsilon"] == {"low": "inf", "high": "inf"}
    text = run("convert --mu 1 --delta 0 --delta 1e-5").out
    assert "∞" in text
    assert "4.37717809568122" in text


def test_calibrate(run: Callable) -> None:
    """The value found is measured at most at the target."""
    document = run("calibrate laplace --mu 1 --json").document
    assert document["parameter"] == "scale"
    assert document["measurement"]["mu"]["high"] <= 1
    again = gdp.measure(gdp.profiles.Laplace(scale=document["value"]))
    assert again.mu.upper <= 1 <= again.mu.upper + 1e-9
    assert run("calibrate laplace --mu 1").rows["scale"] == repr(document["value"])


@pytest.mark.parametrize("kind", kinds())
def test_the_example_leaves_out_what_can_be_found(run: Callable, kind: str) -> None:
    """The help's example leaves out a parameter that can be found, or asks for the runs."""
    shown = " ".join(run(f"calibrate {kind} --help").out.split()).partition("Example: ")[2]
    fields = kinds()[kind].parameters()
    needed = {name for name, field in fields.items() if field.is_required() and not is_word(field)}
    left_out = {one for one in needed if f"--{one.replace('_', '-')} " not in shown}
    assert all(fields[one].json_schema_extra.get("effect") for one in left_out)
    assert len(left_out) == 1 - ("--parameter times" in shown)


def test_compare(run: Callable) -> None:
    """The source paper's table."""
    document = run("compare --compose 50 pure-dp --epsilon 0.2 --json").document
    assert [row["name"] for row in document["rows"]] == [
        "Basic",
        "Advanced",
        "RDP",
        "GDP",
        "GDP Laplace",
        "Optimal",
        "GDP summary",
    ]
    assert document["rows"][5]["epsilons"][3]["high"] == pytest.approx(5.56405630804, abs=1e-10)
    assert "5.564057" in run("compare --compose 50 pure-dp --epsilon 0.2").out


def test_risk(run: Callable) -> None:
    """Figures are rounded up, in text too."""
    document = run("risk --mu 1 --json").document
    assert document["advantage"] == pytest.approx(0.382924922548026207, rel=1e-14)
    assert document["points"][-1]["true_positive_rate"] == pytest.approx(4.130322884e-8, rel=1e-9)
    rows = run("risk --mu 1").rows
    assert rows["Accuracy"].startswith("at most 0.691463")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("convert", "mechanism"),
        ("convert --mu 1", "--delta"),
        ("convert --mu 1 --delta 2", "--delta"),
        ("convert --mu -1 --delta 0.1", "--mu"),
        ("convert --mu abc --delta 0.1", "--mu"),
        ("convert --mu 1 --failure 1 --delta 0.1", "--failure"),
        ("convert --delta 0.1", "--mu"),
        ("convert --epsilon 1,2,3 --delta 0.1,0.2", "--delta"),
        ("convert --epsilon x", "--epsilon"),
        ("convert --failure 0.1 --epsilon 1", "--failure"),
        ("convert --rho 0", "--rho"),
        ("convert --rho x", "--rho"),
        ("convert --eps-h 3 --epsilon 1", "--eps-h"),
        ("convert laplace --scale 1", "--delta"),
        ("convert lapace --scale 1 --delta 0.1", "mechanism"),
        ("calibrate laplace", "--mu"),
        ("calibrate laplace --mu 0", "--mu"),
        ("calibrate laplace --mu 1 --scale 2", "--parameter"),
        ("calibrate sgd-family --mu 1 --A 2", "--parameter"),
        ("calibrate formula 'delta = exp(-eps**2)' --mu 1", "kind is formula"),
        ("compare pure-dp --epsilon 0.2", "--compose"),
        ("compare --compose 0 pure-dp --epsilon 0.2", "--compose"),
        ("compare --compose x pure-dp --epsilon 0.2", "--compose"),
        ("compare --compose 5 laplace --scale 1", "mechanism"),
        ("compare --compose 5 pure-dp --epsilon 0.2 --delta 1", "--delta"),
        ("risk", "--mu"),
        ("risk --mu nan", "--mu"),
        ("risk --mu 1 --prior 1", "--prior"),
        ("risk --mu 1 --failure 2", "--failure"),
        ("verify", "FILE"),
    ],
)
def test_bad_input(run: Callable, words: str, option: str) -> None:
    """Bad input is one sentence that begins with what was typed, and status 2."""
    done = run(words)
    assert done.status == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith(option)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "amplify",
        "calibrate",
        "compare",
        "convert",
        "identify",
        "measure",
        "risk",
        "schema",
        "verify",
    ],
)
def test_help_of_every_command(run: Callable, command: str) -> None:
    """Every command describes itself."""
    done = run(f"{command} --help")
    assert done.status == 0
    assert "Usage: gdpbridge" in done.out


@pytest.mark.parametrize("eps", ["1000", "10000", "100000"])
def test_tiny_answers_are_short(run: Callable, eps: str) -> None:
    """A δ far below every float is bounded, in a short line, at once."""
    done = run(f"convert --mu 1 --epsilon {eps}")
    assert done.status == 0
    assert len(done.out) < 200
    document = json.loads(run(f"convert --mu 1 --epsilon {eps} --json").out, parse_float=str)
    assert document["delta"]["high"] == "1e-4000"


def test_calibrate_says_proved_only_where_it_is(
    run: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words follow the measurement: what rests on floating point is not called proved."""
    module = sys.modules[calibrate.__module__]
    monkeypatch.setattr(module, "calibrate", cache(calibrate))
    words = "calibrate dpsgd --mu 0.1 --sample-rate 0.1 --steps 10 --tol 0.05"
    document = run(f"{words} --json").document["measurement"]
    shown = " ".join(run(words).out.split())
    assert ("proved at this value" in shown) is document["certified"] is document["proof"]["proved"]
    assert "p 1e-10, the failure probability" in shown
    assert " ".join(document["proof"]["why"].split()) in shown
    assert "proved at this value" in run("calibrate laplace --mu 1").out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("random-allocation --noise-multiplier 50 --steps 1000", "so long to check yet"),
        ("laplace --scale 1 --method adaptive", "method adaptive is not proved"),
    ],
)
def test_a_certificate_that_cannot_be_is_refused_before_the_work(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, why: str
) -> None:
    """Nothing is measured, nothing is written, and one sentence says why."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("measured")

    monkeypatch.setattr(gdp, "measure", never)
    file = tmp_path / "c.json"
    done = run(f"measure {words} --certificate {file}")
    assert done.status == 2
    assert why in done.err
    assert not file.exists()


def test_an_undecided_question_does_not_close_the_others(
    run: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is open is named in a note; alone it is undecided, with exit status 4."""
    from gdpbridge import convert

    real = convert.epsilon_at

    def sometimes(source: Any, delta: Any) -> Interval:
        if delta == "1e-9":
            raise UndecidedError("no more bits")
        return real(source, delta)

    monkeypatch.setattr(convert, "epsilon_at", sometimes)
    document = run("convert --mu 1 --delta 1e-5 --delta 1e-9 --json").document
    assert document["table"][0]["epsilon"]["high"] == pytest.approx(4.37717809568, rel=1e-9)
    assert document["table"][1]["epsilon"] == {"low": 0, "high": "inf"}
    assert document["notes"][0].startswith("undecided at delta 1e-9")
    assert run("convert --mu 1 --delta 1e-9").status == 4


def test_groups_of_records(run: Callable) -> None:
    """--group says who is protected, in the title and in a note."""
    shown = run("measure laplace --scale 3 --group 3").out
    assert "grouped: size k = 3" in shown
    assert "neighbours differ in 3 records" in " ".join(shown.split())
    assert "in [1.03006399" in shown
    assert "--group is x: must be a whole" in run("measure laplace --scale 3 --group x").err


def test_quotients(run: Callable) -> None:
    """A scale may be typed as 1/2; one that no decimal is, is refused in a sentence."""
    half, same = (run(f"measure laplace --scale {one} --json").document for one in ("1/2", "0.5"))
    assert half["mu"] == same["mu"]
    for text in ("1/3", "1/0", "a/2", "1/2/3"):
        failed = run(f"measure laplace --scale {text}")
        assert failed.status == 2
        assert f"--scale is {text}: must be a finite number > 0" in failed.err


def test_compose(run: Callable, tmp_path: Path) -> None:
    """Certificates of two releases become one, which verify accepts; a false one is refused."""
    one, other, both = (tmp_path / f"{name}.json" for name in ("one", "other", "both"))
    assert run(f"measure laplace --scale 0.5 --certificate {one}").status == 0
    assert run(f"calibrate gaussian --mu 1 --certificate {other}").status == 0
    done = run(f"compose {one} {other} {one} -o {both} --json")
    assert done.status == 0
    assert done.document["claims"][0].startswith("2 times one.json")
    assert run(f"verify {both}").status == 0
    assert run(f"verify {both} -o {tmp_path / 'check.html'}").status == 0
    page = (tmp_path / "check.html").read_text(encoding="utf-8")
    assert "3 releases of the same data" in page
    assert "other.json" in page
    assert run(f"verify {other} -o {tmp_path / 'check.html'}").status == 0
    page = (tmp_path / "check.html").read_text(encoding="utf-8")
    assert "calibrated to the target 1" in page
    # what is wrong is named
    done = run(f"measure laplace --scale 1 --regret --certificate {tmp_path / 'regret.json'}")
    assert done.status == 0
    assert run(f"verify {tmp_path / 'regret.json'} -o {tmp_path / 'check.html'}").status == 0
    assert "error rate" in (tmp_path / "check.html").read_text(encoding="utf-8")
    assert run("measure laplace --scale 1 --regret").status == 2
    assert "folder" in run(f"compose {one} -o {tmp_path.parent / 'both.json'}").err
    assert "no.json" in run(f"compose {one} {tmp_path / 'no.json'}").err
    text = one.read_text(encoding="utf-8")
    one.write_text(text.replace('"scale": "0.5"', '"scale": "0.4"'), encoding="utf-8")
    assert run(f"compose {one} {other}").status == 3
    assert run(f"verify {both}").status == 3


def test_what_is_shown_on_one_side_says_so(run: Callable, tmp_path: Path) -> None:
    """The certificate is that of the safe value, and holds."""
    done = run(f"calibrate zcdp --epsilon 1 --delta 1e-5 --certificate {tmp_path / 'c.json'}")
    assert done.status == 0
    assert "The certificate is one-sided: of zcdp no mechanism is known" in done.out
    assert run(f"verify {tmp_path / 'c.json'}").status == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("amplify subsample zcdp --rho 1 --target-mu 0.5", "of zcdp"),
    ],
)
def test_what_has_no_certificate_is_told_first(
    run: Callable, tmp_path: Path, words: str, why: str
) -> None:
    """Before a parameter is looked for, and nothing is written."""
    done = run(f"{words} --certificate {tmp_path / 'c.json'}")
    assert done.status == 2
    assert done.err.startswith("--certificate: leave it out: there is no certificate")
    assert why in done.err
    assert not (tmp_path / "c.json").exists()
