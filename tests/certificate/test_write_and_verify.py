"""Whatever the writer writes, the checker accepts, and the document survives every format."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gdpbridge
from gdpbridge import UndecidedError, profiles, verify
from gdpbridge.certificate.model import read
from gdpbridge.certificate.reach import ONLY_COMPOSED
from gdpbridge.profiles import kinds
from gdpbridge_verify.kinds import KINDS

# of rows and texts there are no typical ones; discrete Gaussian losses may lie too close together,
# and the bound that is proved of random allocation be looser than the one that is measured
GIVEN = {"densities", "discrete-gaussian", "formula", "pld", "random-allocation", "tradeoff"}
GIVEN |= {kind for kind, known in KINDS.items() if known.has_rows}
KNOWN = sorted((set(kinds()) & set(KINDS)) - ONLY_COMPOSED - GIVEN)
TOLERANCES = [1e-2, 1e-9, 1e-12, "1e-30"]
STATEMENTS = ["default", "head", "approximate"]
MOST_BYTES = 100_000


@st.composite
def requests(draw: st.DrawFn, kind: str, statement: str) -> tuple[Any, dict[str, Any]]:
    """A profile of a kind, and how to measure it."""
    cls = kinds()[kind]
    values = {}
    for name, field in cls.parameters().items():
        extra = field.json_schema_extra
        if "typical" not in extra or {"usual", "alternative"} & set(extra):
            continue
        low, high = field.json_schema_extra["typical"]
        whole = isinstance(low, int) and isinstance(high, int)
        values[name] = draw(st.integers(low, high) if whole else st.floats(low, high))
    if kind == "thresholded-release":
        # the search for a head of Gaussian noise on several counts takes its time
        values["noise"] = "laplace"
    if kind == "matrix":
        coefficients = draw(st.lists(st.floats(0.1, 1), min_size=1, max_size=5))
        values["entries"] = sorted(coefficients, reverse=True)
    how: dict[str, Any] = {"tol": draw(st.sampled_from(TOLERANCES))}
    if statement == "head":
        how["eps_h"] = draw(st.sampled_from([1e-3, 1]) | st.floats(0.01, 12))
    elif statement == "approximate":
        # a Gaussian curve past a tiny failure needs thousands of cells
        how["failure"] = draw(st.sampled_from([0.02, 0.3]) | st.floats(0.01, 0.9))
    return cls(**values), how


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("kind", KNOWN)
@settings(max_examples=settings().max_examples // 8)
@given(data=st.data())
def test_what_is_written_is_accepted(kind: str, statement: str, data: st.DataObject) -> None:
    """Each kind, statement and tolerance gives a certificate that validates."""
    profile, how = data.draw(requests(kind, statement))
    try:
        measured = gdpbridge.measure(profile, **how)
    except UndecidedError:
        return
    document = measured.certificate
    assert document is not None
    outcome = verify(document)
    assert outcome.valid, outcome.reason
    assert outcome.claims[-1].startswith("assumed, not proved")
    low, high = document.claim.mu.low, document.claim.mu.high
    if measured.mu.low.is_finite():
        assert Fraction(low) <= Fraction(measured.mu.low)
        assert Fraction(high) >= Fraction(measured.mu.high)
    assert document.claim.statement == measured.statement.value


def test_certificates_of_the_first_version(data: Path) -> None:
    """What version 0.1.0 wrote validates still, and not with its upper end lowered."""
    stored = json.loads((data / "certificates_0_1_0.json").read_text(encoding="utf-8"))
    assert len({one["mechanism"]["kind"] for one in stored}) == len(stored) - 1
    for document in stored:
        outcome = verify(document)
        assert outcome.valid, outcome.reason
        claimed = document["claim"]["mu"]
        document["claim"]["mu"] = claimed | {"low": "0", "high": str(float(claimed["low"]) * 0.99)}
        assert not verify(document).valid


EXAMPLES = {
    "laplace": profiles.Laplace(scale=2.0),
    "laplace, far": profiles.Laplace(scale=0.01),
    "pure-dp": profiles.PureDP(epsilon=1.0),
    "pure-dp of 0": profiles.PureDP(epsilon=0.0),
    "approx-dp": profiles.ApproxDP(epsilon=1.0, delta=1e-6),
    "approx-dp whose ε is no binary number": profiles.ApproxDP(epsilon=0.1, delta=1e-6),
    "approx-dp of 0": profiles.ApproxDP(epsilon=0.0, delta=0.25),
    "approx-dp that is pure": profiles.ApproxDP(epsilon=0.3, delta=0.0),
    "randomized-response": profiles.RandomizedResponse(noise_parameter=0.3, buckets=4),
    "randomized-response of noise": profiles.RandomizedResponse(noise_parameter=1.0, buckets=4),
    "gaussian": profiles.Gaussian(sigma=2.0),
    "gdp": profiles.GDP(mu=1.0),
    "gdp of 0": profiles.GDP(mu=0.0),
    "sgd-family, one bracket": profiles.SGDFamily(A=1.0, B=2.0, sigma=1.0),
    "sgd-family, tail from the touching point": profiles.SGDFamily(A=1.0, B=5.0, sigma=2.0),
    "sgd-family, B = 1": profiles.SGDFamily(A=1.0, B=1.0, sigma=1.0),
    "sgd-family, one bracket and B < 1": profiles.SGDFamily(A=1.0, B=0.9, sigma=1.0),
    "sgd-family, two brackets": profiles.SGDFamily(A=1.0, B=0.5, sigma=1.0),
    "sgd-family, no bracket": profiles.SGDFamily(A=1.0, B=0.3, sigma=1.0),
    "sgd-family, tail": profiles.SGDFamily(A=1.0, B=0.05, sigma=1.0),
    "icea": profiles.ICEA(messages=50, users=10),
}


@pytest.mark.parametrize("how", [{}, {"eps_h": 1.5}, {"failure": 0.27}, {"tol": "1e-30"}], ids=str)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str, how: dict[str, Any]) -> None:
    """Borderline parameters, each statement, and thirty digits: accepted and small."""
    document = gdpbridge.measure(EXAMPLES[name], **how).certificate
    assert document is not None
    outcome = verify(document)
    assert outcome.valid, outcome.reason
    assert len(document.to_json().encode()) <= MOST_BYTES


@pytest.mark.parametrize(
    ("profile", "eps_h"),
    [
        (profiles.Laplace(scale=2.0), 0.5),
        (profiles.PureDP(epsilon=0.5), 0.5),
        (profiles.ApproxDP(epsilon=0.5, delta=0.01), 0.5),
        (profiles.Laplace(scale=2.0), 7),
    ],
)
def test_heads_that_end_where_the_profile_does(profile: Any, eps_h: float) -> None:
    """A head may end at ε₀, or beyond it, exactly."""
    document = gdpbridge.measure(profile, eps_h=eps_h).certificate
    assert document is not None
    outcome = verify(document)
    assert outcome.valid, outcome.reason


def test_a_head_that_ends_at_a_decimal_epsilon() -> None:
    """δ(0.1) = 0 is exact for Laplace noise of scale 10, though 0.1 is no binary number."""
    document = gdpbridge.measure(profiles.Laplace(scale=10.0), eps_h=0.2).certificate
    assert document is not None
    changed = json.loads(document.to_json())
    changed["claim"]["eps_h"] = "0.1"
    outcome = verify(changed)
    assert outcome.valid, outcome.reason
    changed["claim"]["eps_h"] = "0.0999999999999999999999999999999999999999999999"
    assert not verify(changed).valid


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_format_is_read_alike(name: str, tmp_path: Path) -> None:
    """A certificate, its JSON text, a file and a parsed document are the same to the checker."""
    document = gdpbridge.measure(EXAMPLES[name], tol=1e-6).certificate
    assert document is not None
    path = tmp_path / "cert.json"
    document.save(path)
    text = document.to_json()
    parsed = json.loads(text)
    assert path.read_text(encoding="utf-8") == text
    assert read(text.encode()) == document
    outcomes = [verify(form) for form in (document, text.encode(), path, str(path), parsed)]
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert outcomes[0].valid


@pytest.mark.parametrize("method", ["adaptive", "shuffled", "staircase"])
def test_only_proved_measurements_have_certificates(method: str) -> None:
    """Methods that rest on floating point prove nothing."""
    measured = gdpbridge.measure(profiles.Laplace(scale=2.0), tol=1e-2, method=method)
    assert not measured.certified
    assert measured.certificate is None


def test_a_certificate_that_would_be_too_long_is_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the checker would give up on is refused by the writer."""
    from gdpbridge_verify import check

    measured = gdpbridge.measure(profiles.GDP(mu=1.0), failure=1e-3)
    monkeypatch.setattr(check, "MAX_WORK", 1e4)
    with pytest.raises(UndecidedError, match="too long to check"):
        _ = measured.certificate
    monkeypatch.setattr(check, "MAX_WORK", 1e9)
    document = measured.certificate
    assert document is not None
    monkeypatch.setattr(check, "MAX_WORK", 1e4)
    with pytest.raises(UndecidedError, match="more work"):
        verify(document)
