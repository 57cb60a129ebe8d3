"""Reports of one mechanism of each sort, made once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gdpbridge as gdp

SAID = {
    "title": "Trips <b>by</b> county & 'more'",
    "description": "Weekly counts | of trips, <script>alert(1)</script> rounded to *tens*",
    "unit_of_privacy": "a person's week",
    "trust_model": "central",
    "date": "2026-11-01",
}
KINDS: dict[str, dict[str, Any]] = {
    "laplace": {"kind": "laplace", "scale": 0.5, "neighbours": "add-remove"},
    "dpsgd": {"kind": "dpsgd", "noise_multiplier": 1.0, "sample_rate": 0.01, "steps": 1000},
    "table": {"kind": "table", "file": str(Path(__file__).parents[2] / "examples" / "pairs.csv")},
    "icea": {"kind": "icea", "messages": 20, "users": 4},
    "clip-rectify": {
        "kind": "clip-rectify",
        "base": {"kind": "icea", "messages": 20, "users": 4},
        "eps_h": 10,
    },
    "composed": {"kind": "pure-dp", "epsilon": 0.2, "compose": 50},
}


@pytest.fixture(scope="session")
def reports() -> dict[str, gdp.PrivacyReport]:
    """A report by the name of its sort; what is said of a release stands in one."""
    return {
        name: gdp.privacy_report(
            gdp.load_profile(specification), release=SAID if name == "laplace" else None
        )
        for name, specification in KINDS.items()
    }


@pytest.fixture(scope="session")
def pages(reports: dict[str, gdp.PrivacyReport]) -> dict[str, str]:
    """The pages of the reports."""
    return {name: report.to_html() for name, report in reports.items()}
