"""Specifications: plain data for every mechanism, and errors that name the place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError
from gdpbridge.specification.load import parse_specification
from gdpbridge.specification.schema import mechanism_schema

TWO = '[[parts]]\nkind = "gdp"\nmu = 1\n[[parts]]\n'
MALFORMED = {
    "": "kind is missing",
    "kind = 1": "kind is a number",
    'kind = "laplac"\nscale = 1': r"did you mean laplace\?",
    'kind = "laplace"\nscale = -1': "scale is -1",
    'kind = "laplace"\nscale = nan': "scale is nan",
    'kind = "laplace"\nscale = "1"': "scale is '1'",
    'kind = "laplace"\nscale = 1\nfoo = 2': "foo is not a parameter",
    'kind = "laplace"\nscale = 1\nscale = 2': "not TOML or JSON",
    '{"kind": "laplace", "scale": NaN}': "NaN is not a number of JSON",
    '{"kind": "laplace", "scale": 1, "scale": 2}': "a key is given twice",
    "[1, 2]": "spec is a list",
    "parts = 3": "parts is a number",
    "parts = []": r"parts is \[\]",
    "parts = [1]": r"parts\[0\] is a number",
    TWO + 'kind = "laplace"\nscale = -1': r"parts\[1\].scale is -1",
    TWO + 'kind = "icea"\nmessages = 20\nusers = 4': r"parts\[1\].kind is 'icea'",
    'kind = "pure-dp"\nepsilon = 1\ncompose = 0': "compose is 0",
    'kind = "icea"\nmessages = 20\nusers = 4\ncompose = 3': "compose.* is 'icea'",
    'kind = "laplace"\nscale = 1\nsubsample = 3': "subsample is a number",
    'kind = "laplace"\nscale = 1\nsubsample = {rate = 2}': "subsample.rate is 2",
    'kind = "laplace"\nscale = 1\nsubsample = {foo = 2}': "subsample.foo",
    'kind = "composed"\ntimes = 2\nbase = {kind = "pure-dp", epsilon = -1}': "base.epsilon is -1",
    'kind = "formula"\ntext = "delta = exp("': "at column 13",
    'kind = "formula"\ntext = "delta = exp(-A*eps)"\nset = {A = "x"}': "set.A is 'x'",
    '{"a":' * 50_000: "spec is nested too deeply",
    "a = " + "[" * 50_000: "spec is nested too deeply",
    "x" * 2_000_000: "spec is too large",
}


@pytest.mark.parametrize(("content", "message"), MALFORMED.items(), ids=range(len(MALFORMED)))
def test_malformed(content: str, message: str) -> None:
    """One sentence that names the place inside the data."""
    with pytest.raises(InputError, match=message) as caught:
        parse_specification(content.encode())
    assert "\n" not in str(caught.value)


def test_too_deep() -> None:
    """Mechanisms inside mechanisms end at a stated depth."""
    data: dict[str, object] = {"kind": "gdp", "mu": 1}
    for _ in range(30):
        data = {"kind": "composed", "times": 1, "base": data}
    with pytest.raises(InputError, match="at most 20 levels deep"):
        gdp.load_profile(data)


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "laplace", "scale": 0.5, "subsample": {"rate": 0.1}},
        {"kind": "pure-dp", "epsilon": 0.2, "compose": 50},
        {"parts": [{"kind": "gaussian", "sigma": 1}, {"kind": "gdp", "mu": 2}]},
        {"kind": "tradeoff", "text": "s = 1/(eps*delta)", "set": {"s": 3}},
        {"kind": "formula", "text": "delta = exp(-eps)", "neighbours": "add-remove"},
    ],
)
def test_round_trip(data: dict[str, object], tmp_path: Path) -> None:
    """Data → profile → data → file → profile: the same."""
    profile = gdp.load_profile(data)
    path = tmp_path / "mechanism.json"
    path.write_text(json.dumps(profile.model_dump()), encoding="utf-8")
    assert gdp.load_profile(path) == profile
    assert gdp.load_profile(profile.model_dump()) == profile


def test_known_values() -> None:
    """Composition and parts give the μ that they should."""
    composed = gdp.measure(gdp.load_profile({"kind": "pure-dp", "epsilon": 0.2, "compose": 50}))
    assert composed.mu.lower <= 1.42007917667459628 <= composed.mu.upper
    parts = gdp.load_profile({"parts": [{"kind": "gdp", "mu": 3}, {"kind": "gdp", "mu": 4}]})
    found = gdp.measure(parts)
    assert found.mu.lower <= 5 <= found.mu.upper


def test_schema_names_every_kind() -> None:
    """The JSON Schema has every kind and what may be done to it."""
    schema = mechanism_schema()
    kinds = {entry["$ref"].rpartition("/")[2] for entry in schema["oneOf"]}
    assert set(gdp.profiles.kinds()) <= kinds
    assert "subsample" in schema["$defs"]["laplace"]["properties"]
    assert schema["$defs"]["subsampled"]["properties"]["base"]["$ref"] == "#"
    json.dumps(schema)
