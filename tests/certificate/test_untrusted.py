"""Hostile input: refused quickly, in little memory, by the errors that are documented."""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from changes import put
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gdpbridge
from gdpbridge import InputError, UndecidedError, profiles, verify
from gdpbridge.certificate.model import read
from gdpbridge_verify.document import Range
from gdpbridge_verify.reader import MAX_BYTES
from gdpbridge_verify.refusal import Malformed
from gdpbridge_verify.taylor import density_of
from gdpbridge_verify.trees import parsed

MOST_CALLS = 500_000
HEAD = b'{"schema": {"name": "gdpbridge.certificate", "version": 1}, "x": '


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    """A certificate that validates, as plain data."""
    document = gdpbridge.measure(profiles.SGDFamily(A=1.0, B=2.0, sigma=1.0)).certificate
    assert document is not None
    parsed: dict[str, Any] = json.loads(document.to_json())
    return parsed


def refused(source: object) -> None:
    """Assert that something is not a certificate."""
    with pytest.raises(InputError) as caught:
        verify(source)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 500


def filled(unit: bytes, size: int = 2**20) -> bytes:
    """A long list of one thing, under the name x."""
    return HEAD + b"[" + unit * (size // len(unit)) + b"0]}"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\0", b"{", b"}", b"null", b"true", b"3", b'"text"', b"[]", b"{}", b"NaN",
        b"\xff\xfe\x00", b"\x80abc", b"\xef\xbb\xbf{}", '{"a": 1}'.encode("utf-16"),
        b"PK\x03\x04", b"\x1f\x8b\x08", b"<xml/>", b"__import__('os').system('id')",
        b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000,
        HEAD + b"[" * 500 + b"]" * 500 + b"}", HEAD + b"[" * 9 + b"]" * 9 + b"}",
        HEAD + b"NaN}", HEAD + b"Infinity}", HEAD + b"-Infinity}", HEAD + b"1e400}",
        HEAD + b"9" * 1_000_000 + b"}", HEAD + b"0." + b"9" * 1_000_000 + b"}",
        HEAD + b'"' + b"a" * 1_000_000 + b'"}', HEAD + b'"\\ud800"}',
        HEAD + b'0, "\\u001b[2J' + b"k" * 10**6 + b'": 1}',
        HEAD + b'1, "x": 1}', HEAD + b"1} trailing", HEAD + b"1, }",
        b'{"schema": {"name": "\\ud800", "version": 1}}',
        b'{"schema": {"name": "gdpbridge.certificate", "version": 2}}',
        b'{"schema": {"name": "gdpbridge.certificate", "version": true}}',
        b'{"schema": {"name": "gdpbridge.certificate", "version": 1.0}}',
        b'{"schema": {"name": "gdpbridge.certificate", "version": "1"}}',
        b'{"schema": {"name": "gdpbridge.certificate"}}',
        b'{"schema": {"version": 1}}', b'{"schema": []}', b'{"schema": null}',
        filled(b"{},"), filled(b"[1],"), filled(b'{"":0},'), filled(b"1,"),
        filled(b"9" * 4000 + b","),
        HEAD + b"{" + b",".join(b'"%d":0' % i for i in range(10**5)) + b"}}",
        filled(b'"ab",', 17 * 10**6),
    ],
    ids=lambda content: repr(content[:40]),
)  # fmt: skip
def test_bytes_that_are_no_certificate(content: bytes) -> None:
    """Garbage, other encodings, deep nesting, constants, huge numbers and documents."""
    refused(content)


def test_files_that_are_no_certificate(tmp_path: Path) -> None:
    """Missing files, folders, unreadable names, and a file of 100 MB, of which little is read."""
    refused(tmp_path)
    refused(tmp_path / "missing.json")
    refused("")
    refused("a\0b")
    refused("x" * 100_000)
    refused('{"schema": {}}')
    refused("/dev/null")
    refused("/dev/zero")
    sparse = tmp_path / "sparse.json"
    with sparse.open("wb") as file:
        file.write(b"{")
        os.truncate(file.fileno(), 10**8)
    refused(sparse)
    garbage = tmp_path / "garbage.json"
    garbage.write_bytes(os.urandom(10_000))
    refused(garbage)


@pytest.mark.parametrize(
    "source",
    [None, 3, 3.5, [], (), pytest.param(object(), id="object"), {}, {1: 2},
     {"schema": {"name": 10**5000, "version": 1}},
     {"schema": {"name": "gdpbridge.certificate", "version": 1}, ("a",): 1},
     {"schema": {"name": "gdpbridge.certificate", "version": 1}, "x": object()},
     {"schema": {"name": "gdpbridge.certificate", "version": 1}, "x": {1, 2}},
     {"schema": {"name": "gdpbridge.certificate", "version": 1}, "x": b"1"},
     {"schema": {"name": "gdpbridge.certificate", "version": 1}, "x": float("nan")}],
    ids=lambda source: repr(source)[:40] if not isinstance(source, dict) else f"{len(source)}",
)  # fmt: skip
def test_objects_that_are_no_certificate(source: object) -> None:
    """Other Python values are refused alike."""
    refused(source)


def test_a_document_that_holds_itself() -> None:
    """A cycle is as deep as it gets."""
    loop: dict[str, Any] = {"schema": {"name": "gdpbridge.certificate", "version": 1}}
    loop["x"] = [loop]
    refused(loop)


def test_duplicate_keys(good: dict[str, Any]) -> None:
    """A name that stands twice in one object could be read in two ways."""
    text = json.dumps(good)
    assert verify(text.encode()).valid
    for name in ("schema", "claim", "mu", "kind", "high"):
        place = text.index(f'"{name}"')
        refused(f'{text[:place]}"{name}": 0, {text[place:]}'.encode())


def test_numbers_instead_of_strings(good: dict[str, Any]) -> None:
    """A float would have been rounded on the way."""
    for path, value in [
        (("claim", "mu", "low"), 2.125),
        (("claim", "mu", "high"), 3),
        (("mechanism", "A"), 1),
        (("mechanism", "A"), 1.0),
        (("claim", "failure_probability"), 0),
        (("schema", "version"), 1.5),
        (("schema", "version"), 1.0),
        (("evidence", "tail_from"), 4.0),
    ]:
        refused(put(good, path, value))


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('touch /tmp/owned')", "exp(-x)", "lambda: 0", "${HOME}", "$(id)",
     "{0.__class__}", "%s%n", "1; import os", "1**9**9", "9" * 5000, "1e99999", "\x00", "１"],
)  # fmt: skip
@pytest.mark.parametrize("field", ["kind", "A", "neighbours", "formula"])
def test_specifications_are_data(good: dict[str, Any], field: str, text: str) -> None:
    """What looks like code or a formula is a wrong name or a wrong number."""
    refused(put(good, ("mechanism", field), text))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("evidence", "cells", 0, "low"), "0x1p+9999"),
        (("evidence", "cells", 0, "high"), "0x1p+9999"),
        (("evidence", "cells", 1, "low"), "0x1p+9999"),
        (("evidence", "cells", 0, "centre"), "0x1p+9999"),
        (("evidence", "breakpoints", 0, "low"), "0x1p+9999"),
        (("evidence", "breakpoints", 0, "high"), "0x1p+9999"),
        (("evidence", "breakpoints", 0, "low"), "0x1p-9999"),
        (("evidence", "witness"), "0x1p+9999"),
        (("evidence", "witness"), "0x" + "f" * 8000 + "p+9999"),
        (("evidence", "tail_from"), "0x1p+9999"),
        (("claim", "mu_tail", "low"), "1e9999"),
        (("claim", "mu", "low"), "1e9999"),
        (("claim", "mu", "high"), "1e-9999"),
        (("mechanism", "A"), "1e400"),
        (("mechanism", "A"), "1e-400"),
        (("mechanism", "B"), "1e400"),
        (("mechanism", "sigma"), "1e400"),
    ],
)
def test_extreme_numbers(good: dict[str, Any], path: tuple[str | int, ...], value: str) -> None:
    """Numbers beyond every float are compared exactly, and refused."""
    assert outcome(put(good, path, value)) != "valid"


def outcome(source: object) -> str:
    """What the checker says; anything but its documented answers is an error."""
    try:
        return "valid" if verify(source).valid else "refused"  # type: ignore[arg-type]
    except (InputError, UndecidedError) as error:
        return type(error).__name__


@pytest.mark.parametrize("mu", ["1e400", "1e-400"])
@pytest.mark.parametrize("kind", ["gdp", "gaussian"])
def test_a_gaussian_beyond_every_float(kind: str, mu: str) -> None:
    """A mechanism's μ that no float holds is shown all the same."""
    spec = {"kind": kind, "neighbours": None}
    spec |= {"mu": mu} if kind == "gdp" else {"sigma": "1", "sensitivity": mu}
    document = gdpbridge.measure(profiles.GDP(mu=1.0)).certificate
    assert document is not None
    changed = put(json.loads(document.to_json()), ("mechanism",), spec)
    assert outcome(changed) == "refused"
    changed["claim"]["mu_tail"] = {"low": "0", "high": "1000000"}
    assert outcome(changed) == "refused"


def test_copies_that_were_never_validated(good: dict[str, Any]) -> None:
    """A certificate object that holds nonsense is refused as a file would be."""
    document = read(good)
    assert verify(document).valid
    for low in ("nan", "-1", "1/2", 0.5, None, "__import__('os')"):
        claim = replace(document.claim, mu=Range(low=low, high="3"))  # type: ignore[arg-type]
        refused(replace(document, claim=claim))
    refused(replace(document, schema=None))
    refused(replace(document, evidence=object()))


def many_cells(count: int, digits: int, **claim: str) -> dict[str, Any]:
    """Cells on which the comparison is undecided unless the precision is very high."""
    document = gdpbridge.measure(profiles.GDP(mu=1.0), failure=0.1).certificate
    assert document is not None
    changed: dict[str, Any] = json.loads(document.to_json())
    # equal to the profile's own curve where p is as good as 0
    changed["claim"] |= {"failure_probability": "1e-9000", **claim}
    changed["claim"]["mu"] = {"low": "0", "high": f"1.{'0' * (digits + 1)}"}
    changed["evidence"]["cells"] = [
        {"low": f"0x{i:x}p-14", "high": f"0x{i + 1:x}p-14", "centre": f"0x{i:x}p-14"}
        for i in range(count)
    ]
    return changed


@pytest.mark.parametrize(
    "attack",
    [
        lambda: many_cells(15_000, 0),
        lambda: many_cells(8_000, 390),
        lambda: many_cells(1, 0),
        lambda: moved_right(8_000, 40),
        lambda: many_rows(20_000),
        lambda: two_rows(4000),
        lambda: many_places(2),
    ],
    ids=[
        "many cells",
        "many digits",
        "one cell",
        "slow erfc",
        "many rows",
        "a wide matrix",
        "places",
    ],
)
def test_work_is_bounded(
    attack: Callable[[], dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    at_most_calls: Callable[[int], AbstractContextManager[None]],
) -> None:
    """Documents made to take long end as undecided or refused, for want of work as charged."""
    from gdpbridge_verify import check

    # in microseconds
    assert check.MAX_WORK <= 5e6
    monkeypatch.setattr(check, "MAX_WORK", 1e5)
    document = attack()
    with at_most_calls(MOST_CALLS), contextlib.suppress(UndecidedError):
        assert not verify(document).valid


MATRIX = {"kind": "matrix", "sigma": "1", "steps": "60", "participations": "3"} | {
    "separation": "7", "fixed": "true", "entries": " ".join(["0x1p+0", "0x2p+0"] * 30)
}  # fmt: skip
LISTED = {"kind": "pld", "remove_unit": "1"} | {
    "remove": " ".join(["inf:0", *(f"{place}:0x1p-12" for place in range(4096))])
}


# on a parabola
SLOPES = {"kind": "tradeoff-function"} | {
    "rows": " ".join(f"{i}/900:{(900 - i) ** 2}/810000" for i in range(901))
}


@pytest.mark.parametrize(
    "part",
    [
        lambda number: MATRIX,
        lambda number: LISTED,
        lambda number: SLOPES,
        lambda number: {"kind": "gaussian", "sigma": f"1.{3**800 + number}", "sensitivity": "1"},
        lambda number: (
            {"kind": "discrete-laplace", "scale": f"1.{3**800 + number}"} | {"sensitivity": "1"}
        ),
    ],
    ids=["matrices", "losses", "slopes", "variances", "units"],
)
def test_many_parts_are_read_within_one_limit(
    part: Callable[[int], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No part is dear on its own, but all together are."""
    from gdpbridge_verify import composition
    from gdpbridge_verify.refusal import OutOfWork

    monkeypatch.setattr(composition, "_MOST_WORK", 6e5)

    def spec(count: int) -> dict[str, str | None]:
        rows = {f"parts.{n}.{name}": text for n in range(count) for name, text in part(n).items()}
        return {"kind": "sequence", "neighbours": None, **rows}

    assert len(composition.composition_of(spec(3)).parts) == 3
    with pytest.raises(OutOfWork):
        composition.composition_of(spec(400))


def test_a_tilt_without_bounds_leaves_no_step() -> None:
    """A moment at a place that is astronomically far is refused for want of work."""
    from fractions import Fraction

    from gdpbridge_verify.arithmetic import Arithmetic
    from gdpbridge_verify.refusal import OutOfWork
    from gdpbridge_verify.transforms import SampledGaussian

    for replaced in (False, True):
        step = SampledGaussian(Fraction(1), Fraction(3, 4), replaced=replaced)
        for place in (-(2**200), 2**200, -(2**9000)):
            with pytest.raises(OutOfWork):
                step.at(Arithmetic(96), Fraction(place))


def many_rows(count: int) -> dict[str, Any]:
    """A table whose every row has to be looked at, of long numbers."""
    table = profiles.Table(pairs=[(0, 0.3), (1, 0.0)])
    document = gdpbridge.measure(table).certificate
    assert document is not None
    changed: dict[str, Any] = json.loads(document.to_json())
    changed["table"]["rows"] = [[f"{i}e-4", f"0.{'9' * 300}"] for i in range(count)] + [["9", "0"]]
    changed["evidence"]["corners"] = list(range(count))
    return changed


def two_rows(count: int) -> dict[str, Any]:
    """A matrix of few rows and many columns, each pair of which has a product."""
    rows = ";".join(" ".join([entry] * count) for entry in ("0x1p+0", "0x3p+0"))
    mechanism = {"kind": "matrix", "sigma": "1", "steps": str(count), "participations": "9"}
    return _claiming_delta(mechanism | {"separation": "9", "fixed": "true", "entries": rows})


def many_places(count: int) -> dict[str, Any]:
    """Answers for which δ is proved at a thousand places each."""
    changed = _claiming_delta({"kind": "laplace", "scale": "1", "sensitivity": "1"})
    ends = [Fraction(number, 1024) for number in range(999)]
    values = [-math.expm1((float(eps) - 1) / 2) for eps in ends]
    places = [
        {"at": f"0x{at.numerator * 1024 // at.denominator:x}p-10"}
        | {"low": f"{max(value - 1e-6, 0):.9f}", "high": f"{value + 1e-6:.9f}"}
        for at, value in zip(ends, values, strict=True)
    ] + [{"at": "0x1p+1", "low": "0", "high": "1e-9"}]
    one = {"quantity": "beta", "at": "0.5", "low": "0", "high": "0.99"}
    changed["claim"]["answers"] = [one] * count
    changed["evidence"]["points"] = [{"places": places}] * count
    return changed


def moved_right(count: int, eps: int) -> dict[str, Any]:
    """Cells about an ε at which MPFR's complementary error function is slowest."""
    document = many_cells(count, 390)
    cells = document["evidence"]["cells"]
    first = {"low": "0x0p+0", "high": f"0x{eps:x}p+0", "centre": None}
    document["claim"]["mu"]["high"] = f"40.{'0' * 390}"
    document["evidence"]["cells"] = [first, *({**cell, "centre": None} for cell in cells)]
    for i, cell in enumerate(document["evidence"]["cells"][1:]):
        cell["low"], cell["high"] = (f"0x{(eps << 14) + i + j:x}p-14" for j in (0, 1))
    return document


LIMITED = """
import sys
import gdpbridge
from gdpbridge_verify.reader import MAX_BYTES
kind = sys.argv[1]
head = b'{"schema": {"name": "gdpbridge.certificate", "version": 1}, "x": ['
unit = {"objects": b'{"":0},', "lists": b"[1],", "texts": b'"ab",'}[kind]
size = MAX_BYTES - len(head) - 3
try:
    gdpbridge.verify(head + unit * (size // len(unit)) + b"0]}")
except gdpbridge.InputError:
    print(peak() // 1024)
"""


@pytest.mark.parametrize("kind", ["objects"])
def test_memory_is_bounded(kind: str, peak_memory: str) -> None:
    """The largest document that is read at all takes less than a gigabyte."""
    result = subprocess.run(
        [sys.executable, "-c", peak_memory + LIMITED, kind],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(result.stdout) < 1000
    assert MAX_BYTES <= 2**24


def _claiming_delta(mechanism: dict[str, str], tail_from: str | None = None) -> dict[str, Any]:
    """A document that claims δ(0) ≤ 0.9 alone."""
    everything = {"low": "0", "high": "inf"}
    return {
        "schema": {"name": "gdpbridge.certificate", "version": 1},
        "generator": "",
        "mechanism": {"neighbours": None, **mechanism},
        "claim": {
            "verdict": "unknown", "statement": "answers", "mu": everything, "eps_h": None,
            "failure_probability": "0", "mu_tail": everything,
            "answers": [{"quantity": "delta", "at": "0", "low": "0", "high": "0.9"}],
        },
        "evidence": {
            "breakpoints": [], "cells": [], "witness": None, "tail_from": tail_from, "points": [{}]
        },
    }  # fmt: skip


def test_numbers_beyond_every_float_are_not_written_out() -> None:
    """e^{±7·10^8} is some number of a thousand million bits: nothing needs all of them."""
    tiny = _claiming_delta({"kind": "table"})
    tiny["table"] = {"columns": ["eps", "log_delta"], "rows": [["0", "-0.5"], ["1", "-7e8"]]}
    tiny["evidence"]["corners"] = [0, 1]
    tiny["claim"] |= {"verdict": "not-gdp", "mu_tail": {"low": "inf", "high": "inf"}}
    text = "log_delta = -eps**2 + eps*exp(7e8 - eps)"
    huge = _claiming_delta({"kind": "formula", "text": text}, "0x1p+0")
    tracemalloc.start()
    try:
        assert verify(tiny).valid
        assert outcome(huge) == "UndecidedError"
        assert tracemalloc.get_traced_memory()[1] < 2e7
    finally:
        tracemalloc.stop()


FIXED = {"kind": "dpsgd", "neighbours": "replace-one", "sampling": "fixed-size", "steps": "3"}
CLIPPED = {"kind": "clip-rectify", "eps_h": "1", "base.kind": "laplace"} | {
    "base.scale": "1", "base.sensitivity": "1"
}  # fmt: skip


@pytest.mark.parametrize(
    ("mechanism", "evidence", "expected"),
    [
        ({"noise_multiplier": "1", "sample_rate": "1e-350"}, "0x1p+0", "UndecidedError"),
        ({"noise_multiplier": "1", "sample_rate": f"0.{'9' * 300}"}, "0x1p+0", "refused"),
        ({"noise_multiplier": "1e-399", "sample_rate": "0.5"}, "0x1p+0", "UndecidedError"),
        ({"noise_multiplier": "1", "sample_rate": "0.5"}, "0x1p+900", "UndecidedError"),
        (CLIPPED | {"runs": "base line", "knots": "0x0p+0 0x1p+999".replace("1p", "f" * 63 + "p")},
         {}, "InputError"),
        ({"kind": "tradeoff", "text": "delta = exp(-eps) - 1/100"},
         {"touching": ["0x1p+5000"]}, "refused"),
    ],
    ids=["tiny rate", "rate next to 1", "no noise", "steep", "far knot", "far tangent"],
)  # fmt: skip
def test_numbers_that_no_float_holds(
    mechanism: dict[str, str],
    evidence: str | dict[str, Any],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Floats say what takes long and where to look: one that overflows is no fault."""
    from gdpbridge_verify import check

    monkeypatch.setattr(check, "MAX_WORK", 5e5)
    document = _claiming_delta(FIXED | mechanism if isinstance(evidence, str) else mechanism)
    if isinstance(evidence, str):
        piece = {"start": "0x0p+0", "tilt": evidence}
        evidence = {"directions": [{"pieces": [piece], "cells": []}]}
    document["evidence"] |= evidence
    assert outcome(document) == expected


def test_many_bits_are_charged_as_what_they_take() -> None:
    """With thousands of bits an operation takes tens of times as long as with some hundred."""
    from gdpbridge_verify.arithmetic import Arithmetic, Work
    from gdpbridge_verify.check import MAX_WORK
    from gdpbridge_verify.refusal import OutOfWork
    from gdpbridge_verify.values import Skellam

    values = {"variance": Fraction(10_000), "sensitivity": Fraction(1)}
    work = Work(MAX_WORK)
    Skellam(values, Arithmetic(128, work))
    assert work.spent < MAX_WORK / 20
    with pytest.raises(OutOfWork):
        Skellam(values, Arithmetic(8192, Work(MAX_WORK)))


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["0x1p+0", "1", "inf", "nan", "whole", "gdp", "tail", "laplace"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.text(max_size=5) | st.sampled_from(["schema", "claim", "cells", "low", "high"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(json_like, st.data())
def test_arbitrary_trees(good: dict[str, Any], tree: object, data: st.DataObject) -> None:
    """Any tree, alone or put in the place of any part of a certificate, is refused."""
    assert outcome(tree if not isinstance(tree, str) else [tree]) == "InputError"
    node: Any = good
    path: list[str | int] = []
    for _ in range(data.draw(st.integers(1, 4))):
        if not isinstance(node, dict | list) or not node:
            break
        path.append(data.draw(st.sampled_from(list(node) if isinstance(node, dict) else [0, -1])))
        node = node[path[-1]]
    changed = put(good, tuple(path), tree)
    if tree != node and path[0] != "generator":
        assert outcome(changed) in ("InputError", "refused", "UndecidedError", "valid")
        # what is text stays text: only another spelling or a narrower claim can still hold
        if tree not in (None, []) and not isinstance(tree, str):
            assert outcome(changed) == "InputError"


@pytest.mark.parametrize("name", ["2", "eps", "delta", "exp", "1e3", "a b", "", "-", "σ", "γ"])
def test_parameters_are_no_words_of_a_formula(name: str) -> None:
    """A number or a word of the grammar that is given another value would change what is read."""
    known = {name: Fraction(1, 3)}
    with pytest.raises(Malformed):
        parsed("delta = exp(-2*eps)", known)
    with pytest.raises(Malformed):
        density_of("mechanism.p", "exp(-2*x)", known)


@pytest.mark.parametrize("name", ["x", "pi"])
def test_the_variable_of_a_density_is_no_parameter(name: str) -> None:
    """With a value given to x a density would be a constant."""
    with pytest.raises(Malformed):
        density_of("mechanism.p", "x/pi", {name: Fraction(1)})
    assert density_of("mechanism.p", "a*x/pi", {"a": Fraction(1)}).parts
