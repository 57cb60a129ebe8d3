"""The page of a ledger: what is in it, and what its data cannot do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gdpbridge.cli.main import main
from gdpbridge.ledger import Ledger

EVIL = "table </script><script>alert(1)</script> \"'<img src=x onerror=alert(1)>"


def test_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Budgets, what is left and every entry are there; purposes are text; nothing is fetched."""
    url = str(tmp_path / "ledger.sqlite")
    book = Ledger(url)
    book.init()
    book.add_dataset("census", unit="person", neighbours="add-remove")
    book.set_budget("census", mu=2, failure="1e-6")
    book.spend("census", mu=1, purpose=EVIL)
    head = book.status("census").head
    target = tmp_path / "budget.html"
    assert main(["ledger", "page", "-o", str(target), "--ledger", url]) == 0
    assert "1 data set;" in capsys.readouterr().out
    page = target.read_text(encoding="utf-8")
    assert "25 % spent" in page
    assert "μ = 2 (μ² = 4) with failure probability 1e-6<" in page
    assert page.count("<script") == 1
    assert "<img" not in page
    assert "table &lt;/script&gt;" in page
    assert len(re.findall(r"<tr><td [^>]+>census</td>", page)) == 1 + 3
    assert not re.search(r"https?://|@import|url\(", page)
    assert "default-src 'none'" in page
    # it is only read
    assert Ledger(url).status("census").head == head
    assert target.stat().st_mode & 0o077 == 0


def test_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another ending is refused before the ledger is opened."""
    assert main(["ledger", "page", "-o", str(tmp_path / "budget.txt"), "--ledger", "no.db"]) == 2
    assert "must be a file that ends in one of .html" in capsys.readouterr().err
