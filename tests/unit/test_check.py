"""Claims, and whether they are true."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gdpbridge as gdp
from gdpbridge.claims import Claim, claims_in_file
from gdpbridge.errors import InputError

P = gdp.profiles
LAPLACE = P.Laplace(scale=0.5)
RUN = P.DPSGD(noise_multiplier=1, sample_rate=0.1, steps=4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("epsilon <= 8 at delta = 1e-5", "ε ≤ 8 at δ = 1e-05"),
        ("ε≤8 at δ=1e-5", "ε ≤ 8 at δ = 1e-05"),
        ("(8, 1e-5)-DP", "ε ≤ 8 at δ = 1e-05"),
        ("(8,1e-5)-DP for replace-one", "ε ≤ 8 at δ = 1e-05, for replace-one neighbours"),
        ("8-DP", "ε ≤ 8 at δ = 0"),
        ("eps = 8 for delta = 1e-5", "ε ≤ 8 at δ = 1e-05"),
        ("Delta <= .5 at epsilon 2", "δ ≤ 0.5 at ε = 2"),
        ("1.5-GDP", "μ ≤ 1.5"),
        ("mu <= 1 up to epsilon = 10", "μ ≤ 1 for ε up to 10"),
        ("mu >= 1 with p = 1e-6", "μ ≥ 1 with p = 1e-06"),
        ("true-positive rate <= 0.1 at FPR = 0.01", "TPR ≤ 0.1 at FPR = 0.01"),
        ("beta = 0.9 at alpha = 0.05", "f ≥ 0.9 at α = 0.05"),
        ("advantage <= 0.1 under add-remove", "advantage ≤ 0.1, for add-remove neighbours"),
        # as training libraries print it, and model cards
        ("(ε = 5.03, δ = 1e-05)", "ε ≤ 5.03 at δ = 1e-05"),
        ("eps = 2.92 and delta = 1e-05", "ε ≤ 2.92 at δ = 1e-05"),
        ("ε ≤ 2.0, δ ≤ 1.1×10⁻¹⁰", "ε ≤ 2 at δ = 1.1e-10"),
        ("(5, 10^{-5})-differential privacy", "ε ≤ 5 at δ = 1e-05"),
        (
            "ε = 1.2 (δ = 2*10^-5) for replace-one",
            "ε ≤ 1.2 at δ = 2e-05, for replace-one neighbours",
        ),
        ("epsilon < 8 at delta = 1e-5", "ε < 8 at δ = 1e-05"),
        ("mu > 0.5", "μ > 0.5"),
    ],
)
def test_claims_are_read(text: str, words: str) -> None:
    """However it is written, a claim is the same."""
    assert Claim.read(text).words == words


@pytest.mark.parametrize(
    "text",
    [
        "", "safe", "epsilon << 8", "epsilon <= -1", "(8; delta", "epsilon <= nan",
        "epsilon <= 8 at mu = 1",
        "delta <= 0.1", "delta <= 2 at epsilon = 1", "tpr <= 0.1", "advantage <= 0.1 at delta = 0",
        "mu <= 1 with p = 1", "mu <= 1 up to epsilon = 0", "mu <= 1 at delta = 0", "rho <= 1",
        "epsilon <= 1e999999", "epsilon <= 8 at delta = 1e-5 for both",
    ],
)  # fmt: skip
def test_what_is_no_claim_is_refused(text: str) -> None:
    """In one sentence that shows what was given."""
    with pytest.raises(InputError, match=r"^claim is "):
        Claim.read(text)


@pytest.mark.parametrize("digits", [4_001, 10**6])
def test_digits_of_a_claim(digits: int) -> None:
    """As of every exact number 4,000 are read, and more are refused in no time."""
    assert Claim.read(f"epsilon <= 1.{'1' * 3_998}").bound > 1
    with pytest.raises(InputError, match=r"of at most .*4,000") as caught:
        Claim.read(f"epsilon <= 1.{'1' * digits} at delta = 1e-5")
    assert len(str(caught.value)) < 400


def test_answers_by_hand() -> None:
    """Laplace noise, ε₀ = 2: δ(ε) = 1 - e^{(ε - 2)/2}, and f(α) = 1 - e²α for small α."""
    delta = 1 - math.exp(-0.5)
    cases = {
        "epsilon <= 2": (True, 0.0, None),
        "epsilon <= 1 at delta = 0.4": (True, 1 - (2 + 2 * math.log(0.6)), None),
        "delta <= 0.39 at epsilon = 1": (False, 0.39 - delta, {"epsilon": 1.0, "delta": delta}),
        "epsilon <= 1 at delta = 0.39": (
            False, 1 - (2 + 2 * math.log(0.61)), {"epsilon": 1.0, "delta": delta},
        ),
        "advantage <= 0.6": (False, None, {"epsilon": 0.0, "delta": 1 - math.exp(-1)}),
        "beta >= 0.92 at alpha = 0.01": (True, 1 - math.e**2 / 100 - 0.92, None),
        "tpr <= 0.07 at fpr = 0.01": (False, None, {"fpr": 0.01, "tpr": math.e**2 / 100}),
        "mu <= 1.8009051": (False, None, None),
        "mu <= 1.8009052": (True, None, None),
        "mu >= 1.80": (True, None, None),
        "delta >= 0.4 at epsilon = 1": (False, delta - 0.4, {"epsilon": 1.0, "delta": delta}),
    }  # fmt: skip
    for one, (holds, margin, witness) in zip(
        gdp.check(LAPLACE, list(cases)), cases.values(), strict=True
    ):
        assert one.holds is holds, one
        assert one.certified
        assert margin is None or one.margin == pytest.approx(margin, abs=1e-8)
        assert (one.margin or 0) >= 0 if holds else (one.margin or 0) < 0
        assert witness is None or one.witness == pytest.approx(witness, abs=1e-7)


def test_on_the_line_a_strict_claim_is_false() -> None:
    """ε of pure DP is its own: "<" is false there, where "<=" is true; so is ">" from above."""
    own = P.PureDP(epsilon=1)
    found = [gdp.check(own, f"epsilon {sign} 1").holds for sign in ("<", "<=", ">", ">=")]
    assert found == [False, True, False, True]
    assert gdp.check(own, "epsilon < 1.001").holds
    assert gdp.check(own, "epsilon > 0.999").holds


@pytest.mark.parametrize("sigma", [1, 0.05])
def test_a_power_is_one_minus_an_error_rounded_outward(sigma: float) -> None:
    """However many digits f(α) has, or however small it is: 1 - f is 1 only where f is 0."""
    profile = P.Gaussian(sigma=sigma)
    one = gdp.check(profile, "tpr <= 1 at fpr = 0.0123456789")
    missed = gdp.convert.beta_at(profile, "0.0123456789")
    low, high = Fraction(one.value.low), Fraction(one.value.high)
    assert one.holds
    assert low <= 1 - Fraction(missed.high) <= 1 - Fraction(missed.low) <= high
    assert high - low <= Fraction(missed.high) - Fraction(missed.low) + Fraction(1, 10**58)
    # f(1/2) = 2.75e-89 at σ = 0.05, which no such interval tells from 0
    strict = gdp.check(profile, ["tpr < 1 at fpr = 0.5", "tpr >= 1 at fpr = 0.5"])
    assert [found.holds for found in strict] == ([True, False] if sigma == 1 else [None, None])


@settings(max_examples=25, deadline=None)
@given(st.floats(0.01, 4), st.floats(0, 4), st.floats(1e-6, 0.9), st.booleans())
def test_answers_agree_with_the_bounds(
    scale: float, eps: float, delta: float, gaussian: bool
) -> None:
    """ε at δ and δ at ε are the same claim, and the witness of a false one is above it."""
    profile = P.Gaussian(sigma=scale) if gaussian else P.Laplace(scale=scale)
    low, high = profile.delta_bounds(eps)
    texts = f"epsilon <= {eps!r} at delta = {delta!r}", f"delta <= {delta!r} at epsilon = {eps!r}"
    for one in gdp.check(profile, texts):
        assert one.holds is (high <= delta)
        if not one.holds:
            assert one.witness is not None
            assert delta < one.witness["delta"] <= low


@pytest.mark.parametrize("text", ["mu <= 0.999999999999999999999", "mu <= 1", "mu <= 0.9"])
def test_a_close_mu_is_measured_again(text: str) -> None:
    """A difference of 1e-21 is told; the witness is an ε."""
    one = gdp.check(P.Gaussian(sigma=1), text)
    assert one.holds is (text == "mu <= 1")
    assert one.holds or (one.witness is not None and "epsilon" in one.witness)


def test_a_bound_refutes_nothing() -> None:
    """What is known of icea is an upper bound: below it a claim is open, above it true."""
    icea = P.ICEA(messages=20, users=4)
    answers = gdp.check(
        icea,
        ["delta <= 0.05 at epsilon = 10", "delta <= 0.06 at epsilon = 10", "mu <= 9",
         "delta >= 0.05 at epsilon = 10", "delta >= 0.06 at epsilon = 10"],
    )  # fmt: skip
    assert [one.holds for one in answers] == [None, True, None, None, False]
    assert all(one.margin is None for one in answers if one.holds is None)
    # of a class some mechanism shows it
    one = gdp.check(P.PureDP(epsilon=1), "advantage <= 0.4")
    assert one.holds is False
    assert "some mechanism" in one.reason


def test_other_neighbours_and_samples() -> None:
    """A claim that is true of one relation, and of no other, says so."""
    own, other = (
        float(P.DPSGD(noise_multiplier=1, sample_rate=0.1, steps=4, neighbours=one).delta(1))
        for one in ("add-remove", "replace-one")
    )
    assert own < other
    text = f"delta <= {(own + other) / 2:.9g} at epsilon = 1"
    plain, named, swapped = gdp.check(
        RUN, [text, f"{text} for add-remove", f"{text} for replace-one neighbours"]
    )
    assert plain.holds
    assert plain.notes[0] == "for add-remove neighbours; the claim names none"
    assert "not shown for replace-one neighbours and Poisson samples" in " ".join(plain.notes)
    assert named.notes == ("for add-remove neighbours, as claimed",)
    assert swapped.holds is False
    assert swapped.profile.neighbours == "replace-one"
    # the other way round: true for what was not asked
    one = gdp.check(P.DPSGD(noise_multiplier=1, sample_rate=0.1, steps=4, neighbours="replace-one"),
                    text)  # fmt: skip
    assert one.holds is False
    assert "true for add-remove neighbours and Poisson samples" in one.notes
    # one step is quick: true of all, and without samples
    one = gdp.check(P.DPSGD(noise_multiplier=9, sample_rate=0.1, steps=1), "advantage <= 0.2")
    assert one.notes[-1].endswith("batches of a fixed size and for no sampling")


def test_neighbours_that_are_not_named() -> None:
    """A mechanism that is stated for none, or for others than the claim."""
    assert "neither it nor the claim" in gdp.check(LAPLACE, "2-DP").notes[0]
    assert "if the mechanism" in gdp.check(LAPLACE, "2-DP for replace-one").notes[0]
    removed = P.Laplace(scale=0.5, neighbours="add-remove")
    answers = gdp.check(removed, ["4-DP for replace-one", "3-DP for replace-one"])
    # at most 4 by a removal and an addition, and perhaps less
    assert [one.holds for one in answers] == [True, None]
    replaced = P.Laplace(scale=0.5, neighbours="replace-one")
    assert gdp.check(replaced, "2-DP for add-remove").holds is None


def test_samples_of_any_mechanism() -> None:
    """Poisson samples and samples without replacement differ in their neighbours alone."""
    one = gdp.check(LAPLACE.subsample(0.1), "epsilon <= 0.5")
    assert one.holds
    assert "also true for replace-one neighbours and without-replacement samples" in one.notes


def test_what_rests_on_trust_is_not_certified() -> None:
    """A function is taken on trust, which the answer says."""
    callable_ = P.Callable(
        lambda eps: 0.1 * math.exp(-eps), trusted=["non-increasing", "upper bound"]
    )
    one = gdp.check(callable_, "delta <= 0.2 at epsilon = 0")
    assert one.holds
    assert not one.certified


def test_other_tools_objects() -> None:
    """What Opacus's accountant keeps is a mechanism too."""
    state = {"history": [(1.0, 0.1, 4)], "mechanism": "rdp"}
    one = gdp.check(state, "advantage <= 0.1")
    own = RUN.curve.delta_at(Fraction(0))
    assert max(one.value.low, own.low) <= min(one.value.high, own.high)
    assert one.value.high - one.value.low < 1e-12
    with pytest.raises(InputError, match="source"):
        gdp.check(object(), "mu <= 1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('claim\n"epsilon <= 2 at delta = 0"\n', ["ε ≤ 2 at δ = 0"]),
        ("epsilon;delta\n2;0\n1,5;1e-5\n", ["ε ≤ 2 at δ = 0", "ε ≤ 1.5 at δ = 1e-05"]),
        ("fpr\ttpr\n0.01\t0.1\n", ["TPR ≤ 0.1 at FPR = 0.01"]),
        ("mu,advantage\n1,\n,0.5\n", ["μ ≤ 1", "advantage ≤ 0.5"]),
    ],
)
def test_tables_of_claims(text: str, words: list[str], tmp_path: Path) -> None:
    """A row is a claim, as text or as numbers."""
    file = tmp_path / "claims.csv"
    file.write_text(text)
    assert [one.words for one in claims_in_file(str(file))] == words


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", "claim\n", "claim\nsafe\n", "epsilon\nx\n", 'claim\n"open\n']
)
def test_tables_that_are_none(text: str, tmp_path: Path) -> None:
    """The row, or what is missing, is named."""
    file = tmp_path / "claims.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=r"^(claims|row 2|file) is |^claims: "):
        claims_in_file(str(file))


def test_results_show_themselves() -> None:
    """As a line, a table, plain data."""
    one = gdp.check(LAPLACE, "2-DP")
    assert "true: ε is 2" in repr(one)
    assert "Answer       true" in one._repr_html_()
    row = one.to_dict()["claims"][0]
    assert (row["claim"], row["holds"], row["margin"], row["witness"]) == ("2-DP", True, 0, None)
