"""Change certificates of answers and of compositions, a field at a time, and judge them.

``python fuzz/fuzz_certificates.py`` tries every change of tests/certificate/changes.py to documents
of answers, of a regret, and to compositions and the files that they name, whose hashes are made
right again. What the checker still accepts must be true by tests/certificate/answer_truth.py, in
mpmath and fractions; none may end in a fault, or take more than five seconds. ``--one-in 10`` takes
a tenth.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "certificate"))

from answer_truth import answers_are_true, composition_is_true
from changes import changes

import gdpbridge as gdp
from gdpbridge.certificate.write_answers import Asked, write_answers
from gdpbridge.errors import InputError, UndecidedError

P = gdp.profiles
Document = dict[str, Any]
SLOW = 5.0
ASKED = (
    Asked("delta", Fraction(1, 2)),
    Asked("epsilon", Fraction(1, 10)),
    Asked("advantage"),
    Asked("tpr", Fraction(1, 100)),
    Asked("beta", Fraction(1, 20)),
    Asked("beta", Fraction(9, 10)),
)
PROFILES = {
    "laplace": P.Laplace(scale=1.5),
    "gaussian": P.Gaussian(sigma=2),
    "pure-dp": P.PureDP(epsilon=1),
    "approx-dp": P.ApproxDP(epsilon=1, delta=0.01),
    "randomized-response": P.RandomizedResponse(noise_parameter=0.5, buckets=4),
    "truncated-laplace": P.TruncatedLaplace(scale=1, delta=0.01),
    "bounded-range": P.BoundedRange(range=1, runs=2),
    "sparse-vector": P.SparseVector(threshold_scale=2, answer_scale=3, monotonic=True),
    "sgd-family": P.SGDFamily(A=1, B=2, sigma=1),
    "thresholded-release": P.ThresholdedRelease(noise="laplace", scale=1.5, threshold=9),
}


def documents() -> Iterator[tuple[str, Document]]:
    """Yield certificates of answers, and of regrets."""
    for name, profile in PROFILES.items():
        yield f"{name}, answers", json.loads(write_answers(profile, ASKED).to_json())
        if name in ("laplace", "pure-dp", "gaussian"):
            found = gdp.regret_certificate(gdp.measure(profile, failure=0.01))
            yield f"{name}, regret", json.loads(found.to_json())


def composed(folder: Path) -> Document:
    """Return a composition of three, whose files are in a folder."""
    names = []
    parts = (
        gdp.measure(P.Laplace(scale=1)),
        gdp.measure(P.ApproxDP(epsilon=0.5, delta=1e-3), failure=0.01),
        gdp.measure(P.RandomizedResponse(noise_parameter=0.5, buckets=4), eps_h=1),
    )
    for number, one in enumerate(parts):
        names.append(folder / f"{number}.json")
        assert one.certificate is not None
        one.certificate.save(names[-1])
    found: Document = json.loads(gdp.compose_certificates([*names, names[0]]).to_json())
    return found


def of_compositions(folder: Path) -> Iterator[tuple[str, Document]]:
    """Yield changes of a composition, and of the files that it names, with their right hashes."""
    document = composed(folder)
    yield from ((f"composition: {what}", changed) for what, changed in changes(document))
    for number, one in enumerate(document["releases"]):
        path = folder / one["file"]
        part = json.loads(path.read_bytes())
        for what, changed in changes(part):
            content = json.dumps(changed).encode()
            other = folder / f"changed-{number}.json"
            other.write_bytes(content)
            named = [dict(release) for release in document["releases"]]
            named[number] |= {"file": other.name, "sha256": hashlib.sha256(content).hexdigest()}
            yield f"composition, {one['file']}: {what}", {**document, "releases": named}


class Judge:
    """What came of all changes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.slowest = 0.0

    def judge(
        self, what: str, document: Document, folder: Path, is_true: Callable[[], bool]
    ) -> None:
        """Check a document, and what is accepted by what is true."""
        started = time.process_time()
        try:
            result = "valid" if gdp.verify(document, folder=folder).valid else "refused"
        except InputError:
            result = "no certificate"
        except UndecidedError:
            result = "undecided"
        except Exception as error:
            result = "fault"
            self.faults.append(f"{what}: {type(error).__name__}: {error}")
        taken = time.process_time() - started
        self.slowest = max(self.slowest, taken)
        if taken > SLOW:
            self.faults.append(f"{what}: {taken:.1f} s")
        if result == "valid":
            try:
                true = is_true()
            except Exception as error:
                self.faults.append(f"{what}: accepted, and no truth of it: {error!r}")
            else:
                if not true:
                    self.faults.append(f"{what}: accepted, and false")
        self.counts[result] += 1


def main() -> int:
    """Try all, and tell what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one-in", type=int, default=1)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    judge = Judge()
    with TemporaryDirectory() as name:
        folder = Path(name)
        tried = (
            (f"{kind}: {what}", changed, lambda changed=changed: answers_are_true(changed))
            for kind, document in documents()
            if given.only in kind
            for what, changed in changes(document)
        )
        for number, (what, changed, is_true) in enumerate(tried):
            if number % given.one_in == 0:
                judge.judge(what, changed, folder, is_true)
        if given.only in "composition":
            for number, (what, changed) in enumerate(of_compositions(folder)):
                if number % given.one_in == 0:
                    judge.judge(what, changed, folder, lambda: composition_is_true(changed, folder))  # noqa: B023
    print(dict(judge.counts), f"slowest {judge.slowest:.2f} s of work")
    print("\n".join(judge.faults))
    return bool(judge.faults)


if __name__ == "__main__":
    sys.exit(main())
