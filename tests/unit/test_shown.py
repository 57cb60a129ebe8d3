"""Results in notebooks: one line, HTML, plain data, data frames; lists in and out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import gdpbridge as gdp
from gdpbridge.errors import InputError

P = gdp.profiles
LAPLACE, GAUSSIAN = P.Laplace(scale=0.5), P.Gaussian(sigma=2)
GRID = [at / 99 for at in range(100)]
RESULTS = [
    gdp.measure(LAPLACE),
    gdp.measure(P.ICEA(messages=20, users=4)),
    gdp.measure(P.Table(pairs=[(at / 10, 0.5 / (at + 1)) for at in range(99)])),
    gdp.identify(LAPLACE),
    gdp.calibrate("gaussian", 1),
    gdp.compose([gdp.Part(P.Gaussian(sigma=2), 3)]),
    gdp.compose([(1, 1e-6), 0.5]),
    gdp.clip_and_rectify(P.PureDP(epsilon=1), eps_h=1, lower=0, upper=1),
    gdp.subsampling_plan(LAPLACE, 1),
    gdp.risk(1),
    gdp.audit(
        [0.1, 0.4, 0.2, 0.3, 2.5, 1.5, 2.0, 3.0], [0, 0, 0, 0, 1, 1, 1, 1], method="simultaneous"
    ),
]


@pytest.mark.parametrize("found", RESULTS, ids=lambda one: type(one).__name__)
def test_results(found: object) -> None:
    """A repr of a line, HTML without markup of its own, a document that is JSON, and a row."""
    line = repr(found)
    assert len(line) <= 240
    assert "\n" not in line
    html = found._repr_html_()
    assert html.startswith("<pre>")
    assert html.count("<") == 2
    document = found.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    pytest.importorskip("pyarrow")
    assert found.to_frame().num_rows == 1


def test_a_verdict() -> None:
    """A verdict shows why, and how μ_t is known."""
    found = gdp.identify(LAPLACE)
    assert repr(found) == "<Identification: gdp, μ_t = 0, proved>"
    html = found._repr_html_()
    assert "Because      the privacy loss is bounded" in html
    assert html.rstrip().endswith("Tail         μ_t = 0, proved\n</pre>")


def test_profiles() -> None:
    """A profile is written as the call that makes it, without what goes without saying."""
    assert repr(LAPLACE) == "Laplace(scale=0.5)"
    run = P.DPSGD(noise_multiplier=1, sample_rate=0.01, steps=10, neighbours="replace-one")
    made = "DPSGD(neighbours='replace-one', noise_multiplier=1.0, sample_rate=0.01, steps=10)"
    assert repr(run) == made
    assert repr(LAPLACE.compose(3)) == "Composed(base=Laplace(scale=0.5), times=3)"
    for many in (
        P.Table(pairs=[(at / 10, 0.5 / (at + 1)) for at in range(99)]),
        P.Sequence(parts=[LAPLACE] * 50),
        P.TradeoffFunction(alpha=GRID, beta=[(1 - at) ** 2 for at in GRID]),
    ):
        assert len(repr(many)) <= 240


def test_certificates() -> None:
    """A certificate and its verification are a line, however long they are."""
    document = gdp.measure(LAPLACE).certificate
    assert repr(document) == f"<Certificate of laplace: {len(document.to_json())} characters>"
    assert repr(gdp.verify(document)) == "<Verification: valid, all 6 claims hold>"


def test_document() -> None:
    """The plain data are those of the command line, an interval being two columns of a frame."""
    found = gdp.measure(P.ICEA(messages=20, users=4))
    assert found.to_dict()["whole_range_mu"]["high"] == "inf"
    pytest.importorskip("pyarrow")
    row = found.to_frame().to_pylist()[0]
    assert row["whole_range_mu_high"] == math.inf
    assert row["mu_low"] == found.mu.lower
    assert row["mechanism_kind"] == "icea"


def test_html_is_escaped() -> None:
    """What a mechanism is called cannot become markup."""
    p = P.Formula("delta = piecewise(exp(-eps), eps < 5, 0)")
    assert "&lt;" in gdp.measure(p, eps_h=1)._repr_html_()
    assert "&lt;" in p._repr_html_()


@pytest.mark.slow
def test_ledgers_and_reports(tmp_path: Path) -> None:
    """A ledger shows where its data sets stand, a report its page in a frame of its own."""
    book = gdp.ledger.Ledger(tmp_path / "book.sqlite")
    book.init()
    assert "There is no data set yet" in book._repr_html_()
    book.add_dataset("a_b", unit="people <18", neighbours="add-remove")
    assert "a_b: unit people &lt;18" in book._repr_html_()
    assert repr(book).endswith("book.sqlite>")
    report = gdp.privacy_report(P.PureDP(epsilon=1.0))
    assert repr(report) == "<PrivacyReport of pure-dp: epsilon ε₀ = 1: μ ≤ 1.23204 for every ε>"
    frame = report._repr_html_()
    assert frame.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert frame.count('"') == 4


def test_lists() -> None:
    """Measure, identify and calibrate take lists, and return lists in their order."""
    assert [one.mu for one in gdp.measure([LAPLACE, GAUSSIAN])] == [
        gdp.measure(LAPLACE).mu,
        gdp.measure(GAUSSIAN).mu,
    ]
    assert [one.mu for one in gdp.measure(profile=(LAPLACE,), eps_h=1)] == [
        gdp.measure(LAPLACE, eps_h=1).mu
    ]
    assert gdp.identify([LAPLACE, GAUSSIAN]) == [gdp.identify(LAPLACE), gdp.identify(GAUSSIAN)]
    found = gdp.calibrate("gaussian", target_epsilon=[1, 2], target_delta=1e-5)
    assert [one.value for one in found] == [
        gdp.calibrate("gaussian", target_epsilon=at, target_delta=1e-5).value for at in (1, 2)
    ]
    (one,) = gdp.calibrate(["laplace"], target_mu=[1], sensitivity=2.0)
    assert one.value == gdp.calibrate("laplace", 1, sensitivity=2.0).value
    with pytest.raises(InputError, match="list of 2"):
        gdp.calibrate("gaussian", target_epsilon=[1, 2], target_delta=[1e-5])
    with pytest.raises(InputError, match="profile"):
        gdp.measure(["laplace"])
