"""No change to a certificate of answers, or of a composition, makes it accepted and false.

``python fuzz/fuzz_certificates.py`` tries all changes of more kinds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from answer_truth import answers_are_true, composition_is_true
from changes import accepted, changes, decimal, outcome, put

import gdpbridge as gdp
from gdpbridge.certificate.write_answers import Asked, write_answers
from gdpbridge.ledger import Ledger

P = gdp.profiles
Document = dict[str, Any]
ASKED = (
    Asked("delta", Fraction(1, 2)),
    Asked("epsilon", Fraction(1, 10)),
    Asked("advantage"),
    Asked("tpr", Fraction(1, 100)),
    Asked("beta", Fraction(9, 10)),
)
PROFILES: dict[str, gdp.Profile] = {
    "laplace": P.Laplace(scale=1.5),
    "approx-dp": P.ApproxDP(epsilon=1, delta=0.01),
    "gaussian": P.Gaussian(sigma=2),
}


@cache
def text_of(name: str) -> str:
    """The JSON text of an example's certificate."""
    if name == "regret":
        found = gdp.regret_certificate(gdp.measure(P.Laplace(scale=1.5), failure=0.01))
        return found.to_json()
    return write_answers(PROFILES[name], ASKED).to_json()


@pytest.mark.parametrize("name", [*PROFILES, "regret"])
def test_answers(name: str, thinned: Callable) -> None:
    """What is still accepted is true, by mpmath; and what was written is."""
    document: Document = json.loads(text_of(name))
    assert outcome(document) == "valid"
    assert answers_are_true(document)
    wrong = [
        what
        for what, changed in thinned(changes(document), 12, len(name))
        if outcome(changed) == "valid" and not answers_are_true(changed)
    ]
    assert not wrong


@pytest.mark.parametrize("name", [*PROFILES, "regret"])
def test_the_oracle_tells_what_is_false(name: str) -> None:
    """An end of an answer that is short of the truth is false to it, and refused."""
    document: Document = json.loads(text_of(name))
    for number, one in enumerate(document["claim"]["answers"]):
        for end, step in (("low", 1), ("high", -1)):
            if one[end] in ("0", "inf", "1"):
                continue
            moved = Fraction(one[end]) + step * Fraction(1, 10**4)
            changed = put(document, ("claim", "answers", number, end), decimal(moved))
            other = "low" if end == "high" else "high"
            wide = {"low": "0", "high": "1"}[other]
            changed = put(changed, ("claim", "answers", number, other), wide)
            assert not answers_are_true(changed)
            assert outcome(changed) != "valid"


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Document, Path]:
    """The certificate of a ledger's four releases, two of which are alike, and its folder."""
    folder = tmp_path_factory.mktemp("releases")
    book = Ledger(str(tmp_path_factory.mktemp("ledger") / "ledger.sqlite"))
    book.init()
    book.add_dataset("census", unit="person", neighbours="replace-one")
    book.set_budget("census", mu=10, failure=0.5)
    found = (
        gdp.measure(P.Laplace(scale=1)),
        gdp.measure(P.ApproxDP(epsilon=0.5, delta=1e-3), failure=0.01),
        gdp.measure(P.RandomizedResponse(noise_parameter=0.5, buckets=4), eps_h=1),
    )
    for number in (0, 1, 2, 0):
        document = found[number].certificate
        assert document is not None
        path = folder / f"{number}.json"
        document.save(path)
        book.spend("census", certificate=path, neighbours="replace-one", purpose="counts")
    return json.loads(book.certificate("census", folder).to_json()), folder


def test_compositions(composed: tuple[Document, Path], thinned: Callable) -> None:
    """Of a composition, and of the files that it names with their hashes made right again."""
    document, folder = composed
    assert accepted(document, folder)
    assert composition_is_true(document, folder)
    wrong = [
        what
        for what, changed in thinned(changes(document), 6)
        if accepted(changed, folder) and not composition_is_true(changed, folder)
    ]
    for number, one in enumerate(document["releases"]):
        part = json.loads((folder / one["file"]).read_bytes())
        for what, changed in thinned(changes(part), 20, number):
            content = json.dumps(changed).encode()
            (folder / "changed.json").write_bytes(content)
            named = {**one, "file": "changed.json", "sha256": hashlib.sha256(content).hexdigest()}
            whole = put(document, ("releases", number), named)
            if accepted(whole, folder) and not composition_is_true(whole, folder):
                wrong.append(f"{one['file']}: {what}")
    assert not wrong
