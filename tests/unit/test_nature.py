"""What a profile is: every kind says it, and transformations pass on the weakest."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

import gdpbridge as gdp
from gdpbridge.certificate.verify import verify
from gdpbridge.curves.nature import Nature, weakest
from gdpbridge.errors import InputError
from gdpbridge.mechanisms.base import Profile
from gdpbridge.mechanisms.registry import kinds, transformations
from gdpbridge.report.record import measurement_record

P = gdp.profiles
LAPLACE, GAUSSIAN, PURE = P.Laplace(scale=1), P.Gaussian(sigma=1), P.PureDP(epsilon=1)
ENCODER, GDP = P.ICEA(messages=20, users=4), P.GDP(mu=1)
RUN = P.DPSGD(noise_multiplier=1, sample_rate=0.1, steps=2)
DRAWN = {"scheme": "with-replacement", "sample": 2, "population": 10}

PROFILES = [
    (LAPLACE, "own"),
    (GAUSSIAN, "own"),
    (P.DiscreteLaplace(scale=1), "own"),
    (P.DiscreteGaussian(sigma=1), "own"),
    (P.RandomizedResponse(noise_parameter=0.5, buckets=2), "own"),
    (RUN, "own"),
    (P.PLD(remove=[(-1, 0.2689414213699951), (1, 0.7310585786300049)]), "own"),
    (P.OpacusHistory(history=[[1.0, 0.01, 10]]), "own"),
    (PURE, "class"),
    (P.ApproxDP(epsilon=1, delta=1e-6), "class"),
    (P.ZCDP(rho=0.5), "class"),
    (GDP, "class"),
    (P.PLD(remove=[(1.0, 0.75), (-1.0, 0.25)], bound=True), "bound"),
    (P.TruncatedLaplace(scale=1, delta=1e-6), "own"),
    (P.SparseVector(threshold_scale=1, answer_scale=1), "bound"),
    (P.ThresholdedRelease(noise="gaussian", scale=1, threshold=6), "own"),
    (P.ThresholdedRelease(noise="laplace", scale=1, threshold=6, groups=2), "bound"),
    (P.Renyi(orders=[2], epsilons=[1]), "class"),
    (P.Renyi(orders=[2], epsilons=[1]).compose(2), "bound"),
    (GAUSSIAN.tune(10), "bound"),
    (P.Matrix(entries=[1, 0.5], sigma=1), "own"),
    (LAPLACE.group(3), "own"),
    (P.ZCDP(rho=0.1).group(3), "bound"),
    (P.TradeoffFunction(alpha=[0.1], beta=[0.6]), "class"),
    (P.Exponential(epsilon=1), "class"),
    (P.BoundedRange(range=1), "class"),
    (P.PermuteAndFlip(epsilon=1), "class"),
    (P.ReportNoisyMax(noise="gumbel", scale=1), "class"),
    (P.ReportNoisyMax(noise="laplace", scale=1), "bound"),
    (P.Exponential(epsilon=0.1).compose(2), "bound"),
    (P.Table(pairs=[(1, 1e-5)]), "class"),
    (ENCODER, "bound"),
    (P.SGDFamily(A=2, B=1, sigma=2), "bound"),
    (P.Tradeoff("sigma = -2*log(delta)/eps", set={"sigma": 1}), "bound"),
    (P.Formula("delta = exp(-eps**2)"), "bound"),
    (P.Callable(lambda eps: 0.1, trusted=["non-increasing", "upper bound"]), "bound"),
    # what is composed says what the composition is
    (GAUSSIAN.compose(3), "own"),
    (PURE.compose(3), "class"),
    (GDP.compose(2), "class"),
    (P.Sequence(parts=(RUN, LAPLACE)), "own"),
    (P.Sequence(parts=(LAPLACE, PURE)), "class"),
    # the bounds for Poisson samples and those without replacement are attained
    (LAPLACE.subsample(0.1), "own"),
    (GAUSSIAN.subsample(0.1).compose(3), "own"),
    (LAPLACE.subsample(0.1, "without-replacement"), "own"),
    (PURE.subsample(0.1), "class"),
    (P.RandomizedResponse(noise_parameter=0.5).subsample(0.1, "without-replacement"), "class"),
    (ENCODER.subsample(0.1, "without-replacement"), "bound"),
    (LAPLACE.subsample(**DRAWN), "bound"),
    (gdp.clip_and_rectify(LAPLACE, eps_h=10, lower=0, upper=1).profile, "bound"),
]


@pytest.mark.parametrize(("profile", "nature"), PROFILES, ids=lambda one: getattr(one, "kind", one))
def test_every_kind(profile: Profile, nature: str) -> None:
    """Each profile says what its δ(ε) is; so do what identifies it and its verdict's words."""
    assert profile.profile_is == nature
    found = gdp.identify(profile)
    assert found.profile_is == nature
    if found.verdict is gdp.Verdict.NOT_GDP:
        none = {
            "own": "not Gaussian differentially private for any finite μ",
            "class": "no finite μ follows from this guarantee",
            "bound": "no finite μ follows from this bound",
        }[nature]
        assert found.verdict_sentence == f"{none}: proved"


# what the page calls a kind otherwise
CALLED = {
    "callable": "functions",
    "discrete-gaussian": "discrete noise",
    "discrete-laplace": "discrete noise",
    "formula": "formulas",
    "table": "the rows of a table",
    "tradeoff": "trade-offs",
}


def test_the_page_says_it(root: Path) -> None:
    """Each kind stands in the row of docs/using.md for what it is, and none is left out."""
    page = (root / "docs" / "using.md").read_text(encoding="utf-8")
    rows = {
        nature: next(line for line in page.splitlines() if line.startswith(f"| {nature} | "))
        for nature in Nature
    }

    def stands(kind: str, row: str) -> bool:
        return bool(re.search(rf"(?<![\w-]){CALLED.get(kind, kind)}(?![\w-])", row))

    assert all(any(stands(kind, row) for row in rows.values()) for kind in kinds())
    # of more than one of a kind the first is the usual one
    usual = {profile.kind: nature for profile, nature in reversed(PROFILES)}
    for kind in kinds() & usual.keys():
        assert stands(kind, rows[Nature(usual[kind])]), kind


def test_every_kind_declares_it() -> None:
    """No kind of the registry is left to the default, which is that of a kind that says nothing."""
    for cls in (*kinds().values(), *transformations().values(), P.Callable):
        assert "nature" in vars(cls), cls
    assert Profile.nature is Nature.BOUND


def test_weakest() -> None:
    """A bound is weaker than a class, and a class than a mechanism's own profile."""
    own, of_class, bound = Nature.OWN, Nature.CLASS, Nature.BOUND
    assert weakest([own, bound, of_class]) is bound
    assert weakest([own, of_class, own]) is of_class
    assert weakest([]) is own


def test_a_formula_said_to_be_exact() -> None:
    """`exact` makes a formula the mechanism's own, and stands in its notes and plain data."""
    text = "delta = max(0, 1 - exp((eps - 2)/2))"
    formula = P.Formula(text, exact=True)
    found = gdp.measure(formula)
    assert found.profile_is is Nature.OWN
    assert Decimal("1.80090519327558068") in found.mu
    assert any("the user's word" in note for note in found.notes)
    assert gdp.load_profile(formula.model_dump()) == formula != P.Formula(text)


def test_a_formula_that_cannot_be_exact() -> None:
    """exp(-ε²) is no mechanism's profile: what it says of larger ε implies less near 0."""
    with pytest.raises(InputError, match=r"no mechanism's own δ\(ε\)") as caught:
        _ = P.Formula("delta = exp(-eps**2)", exact=True).curve
    assert caught.value.field == "exact"


def test_a_function_said_to_be_exact() -> None:
    """`exact` is one more thing taken on trust, and named so in the result."""
    trusted = ["non-increasing", "upper bound"]
    function = P.Callable(LAPLACE.delta, trusted=trusted, exact=True)
    assert function.profile_is is Nature.OWN
    assert any(text.endswith("(exact)") for text in function.assumptions)
    assert not any("upper bound" in text for text in function.assumptions)


def test_an_assumed_tail_is_not_called_proved() -> None:
    """A verdict that rests on a declared tail says so, and not that it is proved."""
    trusted = ["non-increasing", "upper bound"]
    function = P.Callable(LAPLACE.delta, trusted=trusted, tail="gaussian:3")
    assert gdp.identify(function).verdict_sentence.endswith(": assumed, not proved")
    assert gdp.measure(function, tol=1e-3).proof.why.startswith("none")


def test_certificates_say_it() -> None:
    """A certificate says what δ(ε) is, and the checker holds it to that; an old one need not."""
    for profile in (LAPLACE, PURE, P.SGDFamily(A=2, B=1, sigma=2)):
        certificate = gdp.measure(profile, eps_h=1).certificate
        assert certificate is not None
        assert certificate.claim.profile_is == profile.profile_is
        document = json.loads(certificate.to_json())
        for claimed in ("own", "class", "bound"):
            document["claim"]["profile_is"] = claimed
            assert verify(document).valid == (claimed == profile.profile_is)
        del document["claim"]["profile_is"]
        assert verify(document).valid


def test_the_lower_end_of_a_bound() -> None:
    """A certificate's lower end says what it says of the bound, and nothing of the mechanism."""
    found = gdp.measure(P.SGDFamily(A=2, B=1, sigma=2))
    assert found.certificate is not None
    assert any("covers this bound" in claim for claim in verify(found.certificate).claims)


@pytest.mark.parametrize(
    ("profile", "proved", "certificate", "why"),
    [
        (LAPLACE, True, True, "both ends proved in ball arithmetic"),
        (
            P.TradeoffFunction(alpha=[0, "0." + 450 * "2"], beta=[1, 0.5]),
            True,
            False,
            "both ends proved in ball arithmetic; there is no certificate for numbers of over 400 "
            "characters",
        ),
    ],
)
def test_proved_and_certificate_are_two_facts(
    profile: Profile, proved: bool, certificate: bool, why: str
) -> None:
    """What is proved and what has a certificate are told apart, in Python and in JSON."""
    found = gdp.measure(profile)
    assert found.proof == gdp.Standing(proved, certificate, why)
    assert found.certified is proved
    assert (found.certificate is not None) is certificate
    assert measurement_record(found).document()["proof"] == found.proof


def test_a_bound_that_is_not_convex_is_said_to_be_covered() -> None:
    """From such a bound a smaller μ may follow, by its convex hull: only covering is claimed."""
    found = gdp.measure(P.Formula(text="delta = 0.3*exp(-(eps/0.7)**2)"))
    assert found.mu.low > 0.889
    assert "no smaller μ covers this bound" in found.profile_is.sentence
