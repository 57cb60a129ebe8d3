"""A page of a ledger to look at: budgets, what is left, and the history, with filters.

It is one file without a network. Nothing in the data becomes markup or script: each text is
escaped, and the page allows its one script by hash.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from gdpbridge.ledger.entries import Entry
from gdpbridge.ledger.refusals import amount_words
from gdpbridge.report.ledger import entries_text

if TYPE_CHECKING:
    from gdpbridge.ledger.amounts import Amount
    from gdpbridge.ledger.records import Status

__all__ = ["ledger_page"]

_SMALL = re.compile(r"\b0\.0{4,}[1-9]\d*")
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #565e68; --paper: #fff; --edge: #c9ced6;
  --spent: #0b62a8; --full: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a9b1bb; --paper: #14171b;
  --edge: #424a54; --spent: #7cc4ff; --full: #ffb4ab; } }
body { margin: 0 auto; max-width: 75rem; padding: 0 1rem 2rem; color: var(--ink);
  background: var(--paper); font: 16px/1.45 system-ui, "Liberation Sans", sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; }
.soft { color: var(--soft); } .wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--edge);
  vertical-align: top; }
th, td[data-name="Time"] { white-space: nowrap; } td:last-child { overflow-wrap: anywhere; }
@media (max-width: 46rem) {
  /* a row is a block of named lines */
  thead { display: none; }
  tr:not([hidden]) { display: block; border-bottom: 2px solid var(--edge); padding: .5rem 0; }
  td { display: flex; gap: .8rem; padding: .1rem 0; border: 0; }
  td::before { content: attr(data-name); flex: 0 0 6.5rem; color: var(--soft); }
}

.bar { width: 8rem; height: .8rem; border: 1px solid var(--edge); border-radius: 3px; }
.bar rect { fill: var(--spent); } .bar.full rect { fill: var(--full); }
.filters { display: flex; flex-wrap: wrap; gap: .6rem 1.2rem; margin: .6rem 0; }
input, select { font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--edge); border-radius: 4px; padding: .2rem .4rem; max-width: 100%; }
:focus-visible { outline: 3px solid var(--spent); outline-offset: 2px; }
"""
_SCRIPT = """
const fields = ['of', 'kind', 'words'].map((id) => document.getElementById(id));
const rows = [...document.querySelectorAll('#history tbody tr')];
function filter() {
  const [of, kind, words] = fields.map((field) => field.value);
  let shown = 0;
  for (const row of rows) {
    const cells = row.cells;
    row.hidden = (of && cells[0].textContent !== of) || (kind && cells[3].textContent !== kind)
      || !row.textContent.toLowerCase().includes(words.toLowerCase());
    shown += row.hidden ? 0 : 1;
  }
  document.getElementById('shown').textContent = `${shown} of ${rows.length} entries`;
}
for (const field of fields) field.addEventListener('input', filter);
filter();
"""


def ledger_page(where: str, found: Sequence[tuple[Status, Sequence[Entry]]], made: str) -> str:
    """Return the page.

    Args:
        where: the ledger, without what is secret in its address.
        found: each data set, where it stands, with its entries in order.
        made: when, for the reader.
    """
    names = [status.dataset.name for status, _ in found]
    kinds = sorted({str(entry.kind) for _, entries in found for entry in entries})
    allowed = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    return "".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>Privacy budgets</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n",
            f'<h1>Privacy budgets</h1>\n<p class="soft">{escape(where)}, ',
            f"as it was {escape(made)}. This page cannot change it.</p>\n",
            _budgets([status for status, _ in found]),
            '<h2>History</h2>\n<p class="filters">',
            _choice("of", "Data set", names),
            _choice("kind", "Kind", kinds),
            '<label>Words <input id="words" type="search"></label> ',
            '<output id="shown"></output></p>',
            _table("history", ("Data set", "Entry", "Time", "Kind", "What"), _history(found)),
            f"<script>{_SCRIPT}</script>\n</body>\n</html>\n",
        ]
    )


def _budgets(statuses: Iterable[Status]) -> str:
    heads = ("Data set", "Unit", "Neighbours", "Budget", "Spent", "", "Left", "Entries")
    return _table("budgets", heads, (_standing(one) for one in statuses))


def _standing(status: Status) -> Iterator[str]:
    balance = status.balance
    yield escape(status.dataset.name)
    yield escape(status.dataset.unit)
    yield escape(str(status.dataset.neighbours))
    yield "none yet" if balance.budget is None else _words(balance.budget)
    yield _words(balance.spent)
    yield "" if balance.budget is None else _bar(balance.spent, balance.budget)
    yield "" if balance.left is None else _words(balance.left, down=True)
    yield f"{status.entries:,}"


def _words(amount: Amount, *, down: bool = False) -> str:
    """An amount, a probability of 0.0000000001 in it as 1e-10."""
    words = amount_words(amount, down=down)
    return escape(_SMALL.sub(lambda found: f"{Decimal(found[0]):e}", words))


def _bar(spent: Amount, budget: Amount) -> str:
    """The larger share that is spent: of μ², or of p."""
    pairs = ((spent.square, budget.square), (spent.failure, budget.failure))
    share = max((Fraction(one) / whole if whole else Fraction(bool(one))) for one, whole in pairs)
    percent = min(float(100 * share), 100.0)
    kind = "bar full" if percent >= 90 else "bar"
    return (
        f'<svg class="{kind}" viewBox="0 0 100 1" preserveAspectRatio="none" role="img" '
        f'aria-label="{percent:.0f} % spent"><rect width="{percent:.4g}" height="1"/></svg> '
        f"{percent:.0f} %"
    )


def _history(found: Sequence[tuple[Status, Sequence[Entry]]]) -> Iterator[Iterator[str]]:
    for status, entries in found:
        for entry, text in zip(entries, entries_text(entries), strict=True):
            # after the number, the time and the kind
            words = text.split(None, 3)[3] if len(text.split(None, 3)) > 3 else ""
            cells = (
                status.dataset.name,
                entry.number,
                f"{entry.time[:19]}Z",
                entry.kind,
                words.strip(),
            )
            yield (escape(str(cell)) for cell in cells)


def _choice(name: str, label: str, values: Iterable[str]) -> str:
    options = "".join(f"<option>{escape(value)}</option>" for value in values)
    return (
        f'<label>{label} <select id="{name}"><option value="">all</option>{options}</select>'
        "</label> "
    )


def _table(name: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    body = "".join(f"<tr>{''.join(map(_cell, heads, row))}</tr>\n" for row in rows)
    return (
        f'<div class="wide"><table id="{name}">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}</tbody>\n</table></div>\n"
    )


def _cell(head: str, text: str) -> str:
    return f'<td data-name="{head}">{text}</td>'
