"""Published deployments: the page is what the files give."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import gdpbridge as gdp

ROOT = Path(__file__).parents[2]


def test_page_is_up_to_date() -> None:
    """Every file has a source and a claim, and the page is made of them."""
    found = importlib.util.spec_from_file_location(
        "make_page", ROOT / "examples" / "deployments" / "make_page.py"
    )
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    rows = module.deployments()
    assert len(rows) >= 28
    assert all("https://" in one.what["links"] for one in rows)
    # ours is derived from the published rho, and not a repetition of the claim
    by_name = {one.name: one for one in rows}
    assert by_name["census_2020_housing"].holds is True
    # to all digits given: the code's rho, and not the one that was rounded to 2.56
    assert by_name["census_2020_persons"].epsilon == pytest.approx(17.1436, abs=1e-4)
    assert all(one.holds for one in rows)
    assert module.page(rows) == (ROOT / "docs" / "deployments.md").read_text(encoding="utf-8")


def test_every_mu_has_a_certificate() -> None:
    """As the page says: each is proved again by the checker."""
    files = sorted((ROOT / "examples" / "deployments").glob("*.toml"))
    assert len(files) >= 28
    for file in files:
        certificate = gdp.measure(gdp.load_profile(file)).certificate
        assert certificate is not None, file.name
        assert gdp.verify(certificate).valid, file.name
