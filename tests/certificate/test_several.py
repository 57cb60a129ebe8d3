"""Documents of more than one statement: calibrated parameters, and releases that are composed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
import pytest
from changes import accepted
from hypothesis import given
from hypothesis import strategies as st

import gdpbridge as gdp
from gdpbridge.calibration import Calibration
from gdpbridge.certificate.write_several import of_releases, within_target
from gdpbridge.errors import InputError, RefusedError, UndecidedError
from gdpbridge.goals import goal_of
from gdpbridge_verify import check, several
from gdpbridge_verify.document import Claim, Range
from gdpbridge_verify.refusal import Malformed
from gdpbridge_verify.several import total

P = gdp.profiles
Document = dict[str, Any]
LAPLACE = P.Laplace(scale=2.0)
RUN = {"sample_rate": 0.05, "noise_multiplier": 1.0}


# --- calibrated parameters --------------------------------------------------------------------

CALIBRATED: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "laplace, mu": (("laplace", 1), {}),
    "laplace, head": (("laplace", 1), {"eps_h": 0.5}),
    "laplace, advantage": (("laplace",), {"target_advantage": 0.1}),
    "gaussian, delta": (("gaussian",), {"target_epsilon": 1, "target_delta": 1e-6}),
    "sgd-family, mu": (("sgd-family", 1), {"A": 1, "B": 2}),
    "approx-dp, failure": (("approx-dp", 1), {"delta": 1e-6, "failure": 1e-5}),
    # at FPR = 1 - TPR the line touches f where both orders of the pair meet
    "laplace, rates": (("laplace",), {"target_tpr": 0.7, "target_fpr": 0.3}),
    # δ is smooth where a line touches f, and the float beyond misses by next to nothing
    "smooth, rate": (
        ("truncated-laplace",),
        {"target_tpr": 0.5, "target_fpr": 0.1, "delta": 1e-3},
    ),
    "discrete-gaussian, mu": (("discrete-gaussian", 1), {}),
    "dpsgd, mu": (("dpsgd", 1), {"sample_rate": 0.001, "steps": 10_000}),
    "dpsgd, head": (("dpsgd", 0.5), {"sample_rate": 0.01, "steps": 100, "eps_h": 2}),
    "dpsgd, steps": (("dpsgd",), {"target_advantage": 0.1, **RUN}),
}


@cache
def found_for(name: str) -> gdp.Calibration:
    """An example's calibration."""
    words, options = CALIBRATED[name]
    return gdp.calibrate(*words, **options)


@cache
def calibrated(name: str) -> str:
    """The JSON text of its certificate."""
    return found_for(name).certificate.to_json()


@pytest.mark.parametrize("name", CALIBRATED)
def test_both_ends_of_a_parameter(name: str) -> None:
    """The target is met at the one value and missed at the other, which differs in it alone."""
    found, document = found_for(name), json.loads(calibrated(name))
    verified = gdp.verify(document)
    assert verified.valid
    assert "the target" in verified.claims[-2]
    assert found.certified
    changes = document["beyond"]["changes"]
    assert {key: float(Fraction(value)) for key, value in changes.items()} == {
        found.parameter: found.beyond
    }
    assert float(Fraction(document["mechanism"][found.parameter])) == found.value


def test_no_mechanism_is_known_that_misses() -> None:
    """Of ρ-zCDP's class δ is known to be attained at 0 alone, which a sentence says beforehand."""
    for target in (
        {"target_epsilon": 1, "target_delta": 1e-3},
        {"target_tpr": 0.5, "target_fpr": 0.1},
    ):
        found = gdp.calibrate("zcdp", **target)
        assert "no mechanism is known that attains δ at other ε" in found.one_sided
        assert found.certificate.beyond is None
        assert gdp.verify(found.certificate).valid
        (answer,) = found.certificate.claim.answers
        assert Fraction(answer.high) <= Fraction(str(found.goal.target))
    assert gdp.verify(gdp.calibrate("zcdp", target_advantage=0.3).certificate).valid
    # one run is known by another kind than several
    runs = gdp.calibrate(
        "exponential", epsilon=1, parameter="times", target_epsilon=1, target_delta=1e-5
    )
    assert runs.value == 1
    assert "meets the target is of bounded-range, what misses it of" in runs.one_sided
    assert gdp.verify(runs.certificate).valid


def test_a_bound_of_the_checkers_own_has_no_other_end() -> None:
    """It takes seconds to find, and would take them twice."""
    document = json.loads(calibrated("laplace, advantage"))
    steps = {"kind": "random-allocation", "noise_multiplier": "0.5", "steps": "5000", "epochs": "1"}
    document["mechanism"] = {"neighbours": "add-remove", **steps}
    document["beyond"]["changes"] = {"noise_multiplier": "0.6"}
    with pytest.raises(Malformed, match="beyond is given: must be null for random allocation"):
        several.the_other_end(check.read(document))


@pytest.mark.parametrize("name", CALIBRATED)
def test_what_is_changed_of_a_parameter_is_refused(name: str) -> None:
    """Neither end stands without its proof, nor for another target, number or mechanism."""
    good = json.loads(calibrated(name))
    target = good["beyond"]["target"]
    if name.startswith("dpsgd, ") and name != "dpsgd, mu":
        # the same lines as of others, which take long
        assert not accepted({**good, "beyond": {**good["beyond"], "target": "0.09"}})
        return
    [(parameter, other)] = good["beyond"]["changes"].items()
    own = good["mechanism"][parameter]
    changes: list[tuple[str, Any]] = [
        ("target", f"{float(target) * 1.001:.17g}"),
        ("target", f"{float(target) * 0.999:.17g}"),
        ("target", "0"),
        ("target", "-1"),
        ("changes", {}),
        ("changes", {parameter: own}),
        ("changes", {"kind": "gdp"}),
        ("changes", {"neighbours": "replace-one"}),
        ("changes", {"x": other}),
        ("changes", {parameter: other, "base.kind": "gdp"}),
        ("claim", good["claim"]),
        ("claim", None),
        ("evidence", None),
    ]
    for key, value in changes:
        assert not accepted({**good, "beyond": {**good["beyond"], key: value}}), (key, value)
    unsaid = deepcopy(good)
    unsaid["claim"]["profile_is"] = unsaid["beyond"]["claim"]["profile_is"] = None
    assert not accepted(unsaid)
    swapped = deepcopy(good)
    swapped["mechanism"][parameter], swapped["beyond"]["changes"] = other, {parameter: own}
    assert not accepted(swapped)
    for key, value in {
        "statement": "head", "eps_h": "3", "failure_probability": "0.3", "profile_is": None,
        "verdict": "unknown", "answers": [],
    }.items():  # fmt: skip
        changed = deepcopy(good)
        if changed["beyond"]["claim"].get(key) == value or value == []:
            continue
        if key == "failure_probability" and name.endswith("head"):
            # a larger one is true of a head, and not what the target is about
            continue
        changed["beyond"]["claim"][key] = value
        assert not accepted(changed), key
    if good["claim"]["statement"] == "answers":
        for quantity in ("delta", "epsilon", "advantage", "tpr", "beta"):
            for where in ((good, "claim"), (good["beyond"], "claim")):
                one = where[0][where[1]]["answers"][0]
                if quantity != one["quantity"]:
                    changed = deepcopy(good)
                    place = changed if where[0] is good else changed["beyond"]
                    place["claim"]["answers"][0]["quantity"] = quantity
                    assert not accepted(changed), quantity


def _advantage(scale: mpmath.mpf) -> mpmath.mpf:
    return -mpmath.expm1(-1 / (2 * scale))


def test_no_false_calibration_is_accepted() -> None:
    """Whatever numbers stand in its fields, what is accepted is true by arithmetic of its own."""
    good = json.loads(calibrated("laplace, advantage"))
    [(parameter, other)] = good["beyond"]["changes"].items()
    own = good["mechanism"][parameter]
    scales = (own, other, "4.7", "4.8", "1", "0")
    targets = ("0", "0.09", "0.1", "0.100000000001", "0.11", "1")
    kept = 0
    for here in scales:
        for there in scales:
            for target in targets:
                changed = deepcopy(good)
                changed["mechanism"][parameter] = here
                changed["beyond"] |= {"changes": {parameter: there}, "target": target}
                # what is proved of each end, as far as it is true
                for place, value, end, off in (
                    (changed, here, "high", 1), (changed["beyond"], there, "low", -1),
                ):  # fmt: skip
                    if value != "0":
                        bound = float(_advantage(mpmath.mpf(value))) * (1 + off * 1e-14)
                        place["claim"]["answers"][0][end] = f"{bound:.17g}"
                if accepted(changed):
                    kept += 1
                    met, missed = (_advantage(mpmath.mpf(one)) for one in (here, there))
                    assert met <= mpmath.mpf(target) < missed
    assert kept > 3


@pytest.mark.parametrize("base", [LAPLACE, P.PureDP(epsilon=2)], ids=lambda one: one.kind)
def test_a_sampling_rate(base: gdp.Profile) -> None:
    """The rate of a plan is certified at both ends; a rate of 1 as a μ below the target."""
    found = gdp.subsampling_plan(base, 0.2)
    document = json.loads(found.certificate.to_json())
    assert accepted(document)
    assert {name: float(rate) for name, rate in document["beyond"]["changes"].items()} == {
        "rate": found.beyond
    }
    document["beyond"]["changes"]["rate"] = document["mechanism"]["rate"]
    assert not accepted(document)
    whole = gdp.subsampling_plan(base, 5.0).certificate
    assert whole.beyond is None
    assert gdp.verify(whole).valid


def test_a_sampling_rate_without_a_certificate() -> None:
    """Where samples have none, that of a plan is refused."""
    rows = P.TradeoffFunction(alpha=[0, 0.2, 1], beta=[1, 0.4, 0])
    with pytest.raises(InputError, match="no certificate"):
        _ = gdp.subsampling_plan(rows, 0.2).certificate


def test_a_bound_above_the_target_is_told_with_a_target_for_which_it_is_not() -> None:
    """The checker's own bound may be above a target that the measured one just meets."""
    met = gdp.measure(P.Gaussian(sigma=2)).certificate
    assert met is not None
    assert within_target(met, Decimal("0.5")) is met
    with pytest.raises(UndecidedError, match=r"0\.5, is above the target: calibrate to 0\.4797 in"):
        within_target(met, Decimal("0.49"))


def test_what_a_calibrated_allocation_is_bounded_by() -> None:
    """δ that the checker bounds in a way of its own: by a little more than was measured."""
    goal = goal_of(None, 1, 1e-5, None, None, None, tol=None, eps_h=None, failure=None)
    profile = P.RandomAllocation(noise_multiplier=2.724177443331919, steps=2)
    value = goal.tried(profile).value
    found = Calibration("noise_multiplier", goal, 2.7, 2.7, value, profile, profile, True, None)
    with pytest.raises(UndecidedError, match=r"1\.\d+e-05, is above the target: calibrate to"):
        _ = found.certificate


# --- compositions -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of several mechanisms, and one that composes them."""
    found = tmp_path_factory.mktemp("releases")
    for name, document in {
        "a": gdp.measure(LAPLACE).certificate,
        "b": gdp.measure(P.ApproxDP(epsilon=1, delta=1e-6), failure=1e-6).certificate,
        "head": gdp.measure(P.Laplace(scale=3), eps_h=0.2).certificate,
        "replace": gdp.measure(P.RandomizedResponse(noise_parameter=0.5, buckets=3)).certificate,
        "named": gdp.measure(P.Gaussian(sigma=2, neighbours="add-remove")).certificate,
        "two": gdp.measure(LAPLACE.group(2)).certificate,
        "answers": gdp.check(LAPLACE, "epsilon <= 1").certificate,
        "calibrated": gdp.calibrate("gaussian", 1).certificate,
    }.items():
        assert document is not None
        document.save(found / f"{name}.json")
    of_releases([found / "a.json", found / "b.json", found / "a.json"]).save(found / "all.json")
    return found


def test_copies_are_proved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of one hash are proved once, whatever they are called, and counted each."""
    text = gdp.measure(LAPLACE).certificate.to_json()
    files = [tmp_path / f"{name}.json" for name in "abcd"]
    for file in files:
        file.write_text(text)
    written = of_releases([*files, files[0]])
    proved = []

    def counted(document: Any, folder: Path) -> Any:
        proved.append(document)
        return gdp.verify(document, folder=folder)

    claims = several.composition(written, tmp_path, counted)
    assert len(proved) == 1
    assert len(claims) == 6
    (square,) = {Fraction(one.claim.mu.high) ** 2 for one in proved}
    assert 5 * square <= Fraction(written.claim.mu.high) ** 2 < 5 * square + Fraction(1, 10**20)


def test_a_composition(folder: Path) -> None:
    """It names its parts, and agrees with what composing the numbers gives."""
    document = json.loads((folder / "all.json").read_bytes())
    assert accepted(document, folder)
    assert gdp.verify(folder / "all.json").valid
    assert [(one["file"], one.get("count", 1)) for one in document["releases"]] == [
        ("a.json", 2), ("b.json", 1),
    ]  # fmt: skip
    numbers = [
        (claim["mu"]["high"], claim["failure_probability"])
        for name in ("a", "a", "b")
        for claim in [json.loads((folder / f"{name}.json").read_bytes())["claim"]]
    ]
    expected = gdp.compose(numbers)  # type: ignore[arg-type]
    claim = document["claim"]
    assert float(claim["mu"]["high"]) == pytest.approx(expected.mu.upper, rel=1e-15)
    assert float(claim["failure_probability"]) == pytest.approx(expected.failure_probability)
    # a composition is taken apart
    again = of_releases([folder / "all.json", folder / "a.json"])
    assert again.releases is not None
    assert [one.count for one in again.releases] == [3, 1]


def test_what_composes(folder: Path) -> None:
    """Heads, groups of one size and calibrated ones do; other neighbours and answers do not."""
    of_releases([folder / "head.json", folder / "calibrated.json", folder / "replace.json"])
    of_releases([folder / "two.json", folder / "two.json"])
    for others in (("replace", "named"), ("a", "two"), ("a", "answers")):
        with pytest.raises(InputError, match=r"neighbours|finite"):
            of_releases([folder / f"{name}.json" for name in others])
    with pytest.raises(InputError, match="readable"):
        of_releases([folder / "nothing.json"])
    with pytest.raises(InputError, match="name at least one"):
        of_releases([])
    with pytest.raises(InputError, match="folder of"):
        of_releases([folder / "a.json", folder.parent / "b.json"])


def test_a_false_part(folder: Path, tmp_path: Path) -> None:
    """A part that does not hold is named, and a changed one is seen."""
    document = json.loads((folder / "a.json").read_bytes())
    document["claim"]["mu"]["high"] = document["claim"]["mu"]["low"]
    (tmp_path / "a.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(RefusedError, match=r"a\.json"):
        of_releases([tmp_path / "a.json"])
    (tmp_path / "b.json").write_bytes((folder / "b.json").read_bytes())
    found = gdp.verify((folder / "all.json").read_bytes(), folder=tmp_path)
    assert not found.valid
    assert "another file" in found.reason
    with pytest.raises(InputError, match="readable"):
        gdp.verify((folder / "all.json").read_bytes(), folder=tmp_path / "no")


def test_files_are_no_more_than_some_together(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many they are, no more than a few of the largest are read."""
    size = (folder / "a.json").stat().st_size + (folder / "b.json").stat().st_size
    monkeypatch.setattr(several, "MAX_BYTES", size // several.MOST_TIMES + 1)
    assert gdp.verify(folder / "all.json").valid
    monkeypatch.setattr(several, "MAX_BYTES", size // several.MOST_TIMES - 1)
    with pytest.raises(InputError, match="bytes together"):
        gdp.verify(folder / "all.json")


def _changed(good: Document) -> Iterator[Document]:
    """Change each field of a composition."""

    def at(*path: Any) -> Callable[[Any], Document]:
        def put(value: Any) -> Document:
            changed = deepcopy(good)
            place = changed
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            return changed

        return put

    releases = good["releases"]
    yield from map(at("releases", 0, "count"), (0, 1, 3, 10**9, 2.0, True, "2", None))
    yield from map(at("releases", 1, "count"), (2, 10**9))
    yield from map(at("releases", 0, "file"), ("b.json", "../a.json", "..", "", "all.json"))
    yield from map(at("releases", 0, "sha256"), (releases[1]["sha256"], "0" * 64, None))
    yield from map(at("releases"), ([], releases[:1], releases[1:], releases * 60, None))
    yield from map(at("claim", "mu", "high"), ("0", "0.5", "1", "10", "inf", "1e7"))
    yield from map(at("claim", "mu", "low"), ("0.1", "inf"))
    yield from map(at("claim", "failure_probability"), ("0", "1e-7", "0.5", "1", "2"))
    yield from map(at("claim", "statement"), ("whole", "head", "answers"))
    yield from map(at("claim", "verdict"), ("gdp", "not-gdp"))
    yield from map(at("claim", "profile_is"), ("own", "class", None))
    yield from map(at("claim", "eps_h"), ("1",))
    yield from map(at("claim", "answers"), ([],))
    yield from map(at("mechanism", "neighbours"), ("replace-one", "add-remove", "all", ""))
    yield from map(at("mechanism", "size"), ("2", "1.0", None))
    yield from map(at("mechanism", "kind"), ("gdp", "releases ", None))
    yield from map(at("mechanism", "x"), ("1", None))
    yield from map(at("evidence", "witness"), ("tail", "0x1p+0"))
    yield from map(
        at("evidence", "cells"), ([{"low": "0x0p+0", "high": "0x1p+0", "centre": None}],)
    )


def test_no_false_composition_is_accepted(folder: Path) -> None:
    """Whatever is changed, what is accepted is true by arithmetic of its own."""
    good, kept, tried = json.loads((folder / "all.json").read_bytes()), 0, 0
    parts = {
        name: json.loads((folder / name).read_bytes())["claim"] for name in ("a.json", "b.json")
    }
    with mpmath.workdps(60):
        for changed in _changed(good):
            tried += 1
            if not accepted(changed, folder):
                continue
            kept += 1
            square, left = mpmath.mpf(0), mpmath.mpf(1)
            for one in changed["releases"]:
                claim = parts[one["file"]]
                square += one.get("count", 1) * mpmath.mpf(claim["mu"]["high"]) ** 2
                left *= (1 - mpmath.mpf(claim["failure_probability"])) ** one.get("count", 1)
            claim = changed["claim"]
            assert mpmath.mpf(claim["mu"]["high"]) ** 2 >= square
            assert mpmath.mpf(claim["failure_probability"]) >= 1 - left
            # a certificate may be for one relation where its parts name none
            assert changed["mechanism"]["size"] == "1"
            assert changed["mechanism"]["neighbours"] in (None, "replace-one", "add-remove")
    assert tried > 50
    assert kept > 5


@given(
    parts=st.lists(
        st.tuples(
            st.decimals(0, 10, places=3), st.decimals(0, "0.5", places=6), st.integers(1, 30)
        ),
        max_size=4,
    )
)
def test_sums_are_rounded_outward(parts: list[tuple[Any, Any, int]]) -> None:
    """Squares add up exactly; 1 - Π(1 - p) is rounded up by a hair, and is at most Σp."""
    claims = [(_claim(str(mu), str(p)), count) for mu, p, count in parts]
    square, failure = total(claims)
    assert square == sum(count * Fraction(mu) ** 2 for mu, _, count in parts)
    exact = 1 - math.prod((1 - Fraction(p)) ** count for _, p, count in parts)
    assert exact <= failure <= exact + Fraction(1, 2**1000)


def test_sums_of_many() -> None:
    """A thousand million releases are no more work, and tiny probabilities are not lost."""
    square, failure = total([(_claim("0.001", "1e-12"), 10**9)])
    assert square == 1000
    assert failure == pytest.approx(-math.expm1(-1e-3), rel=1e-9)
    assert total([(_claim("1", "1e-400"), 2)])[1] == Fraction(2, 10**400)


def _claim(mu: str, failure: str) -> Claim:
    return Claim(
        verdict="unknown",
        statement="approximate",
        mu=Range(low="0", high=mu),
        eps_h=None,
        failure_probability=failure,
        mu_tail=Range(low="0", high="inf"),
    )
