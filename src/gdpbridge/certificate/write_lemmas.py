"""Write what a certificate uses of the parts of its mechanism, which the checker proves first."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

from gdpbridge.certificate.adding import gaussian_mu
from gdpbridge.certificate.binaries import binary_text
from gdpbridge.certificate.model import SCHEMA, Certificate
from gdpbridge.certificate.proof import Proof, ProvedCell
from gdpbridge.certificate.write_zcdp import with_tangents
from gdpbridge.guarantees.boundary import zcdp_boundary
from gdpbridge.guarantees.concentrated import gaussian_cells, zcdp_mu
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import decimal_ceiling, decimal_text, exact
from gdpbridge.numeric.flint_context import precision
from gdpbridge.numeric.kinds import to_fraction
from gdpbridge_verify.composition import leaves_of
from gdpbridge_verify.document import Claim, Evidence, Lemma, Range
from gdpbridge_verify.parameters import Spec

__all__ = ["lemmas_from", "lemmas_of_rho", "with_lemmas"]

# digits of a μ beyond those of the claim
_MORE_DIGITS = 6
_BITS = 256


def lemmas_of_rho(spec: Spec, digits: int) -> tuple[Lemma, ...]:
    """Return the μ of each ρ of a composition, for so many digits of a claim."""
    texts = {
        (part["rho"] or "", part.get("neighbours"))
        for part, _ in leaves_of(spec)
        if part["kind"] == "zcdp"
    }
    return tuple(_of_rho(*one, digits + _MORE_DIGITS) for one in sorted(texts, key=str))


def lemmas_from(found: Certificate) -> tuple[Lemma, ...]:
    """Return what a certificate shows as a lemma of another, after those that it takes itself."""
    own = Lemma(
        mechanism=found.mechanism, claim=found.claim, evidence=found.evidence, table=found.table
    )
    return *(found.lemmas or ()), own


def with_lemmas(found: Certificate, named: Profile) -> Certificate:
    """Return the certificate of losses with Gaussian mechanisms as that of what is known by ρ.

    Args:
        found: the certificate, of a Gaussian mechanism in the place of each ρ.
        named: the mechanism.
    """
    spec = named.specification()
    lemmas = []
    for one in lemmas_of_rho(spec, 0):
        mu = gaussian_mu(Fraction(one.mechanism["rho"] or ""))
        above = Range(low="0", high=decimal_text(exact(mu)))
        lemmas.append(replace(one, claim=replace(one.claim, mu=above, mu_tail=above)))
    claim = replace(found.claim, profile_is="bound")
    return replace(found, mechanism=spec, claim=claim, lemmas=tuple(lemmas))


@cache
def _of_rho(text: str, neighbours: str | None, digits: int) -> Lemma:
    rho = Fraction(text)
    with precision(_BITS + 4 * digits):
        most = to_fraction(zcdp_mu(rho)().upper())
    above = Range(low="0", high=format(decimal_ceiling(most, digits), "f"))
    ends = gaussian_cells(rho)
    bare = Certificate(
        schema=SCHEMA,
        generator="",
        mechanism={"kind": "zcdp", "neighbours": neighbours, "rho": text},
        claim=Claim(
            verdict="gdp",
            statement="whole",
            mu=above,
            eps_h=None,
            failure_probability="0",
            mu_tail=above,
            profile_is="class",
        ),
        evidence=Evidence(breakpoints=(), cells=(), witness=None, tail_from=binary_text(ends[-1])),
    )
    cells = tuple(ProvedCell(low, high, None) for low, high in pairwise([Fraction(0), *ends]))
    proof = Proof(cells=cells, tail_from=ends[-1], bits=_BITS)
    found = with_tangents(bare, proof, zcdp_boundary(rho))
    return Lemma(mechanism=bare.mechanism, claim=bare.claim, evidence=found.evidence)
