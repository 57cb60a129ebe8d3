"""What lemmas of a document show of the parts of its mechanism; each is proved before it is used.

What is ρ-zCDP is μ-GDP by a lemma, and composes with others as the Gaussian mechanism of that μ
does: a bound, as no one mechanism attains all that ρ allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from gdpbridge_verify.arithmetic import Work
from gdpbridge_verify.document import Certificate
from gdpbridge_verify.parameters import Spec
from gdpbridge_verify.refusal import Malformed, Refused


def lemmas_of(
    document: Certificate, prove: Callable[[Certificate], list[str]], work: Work
) -> Iterator[str]:
    """Prove what is used of something that the mechanism is made of, and say it."""
    lemmas = document.lemmas or ()
    for number, one in enumerate(lemmas):
        # by those before it alone
        stated = replace(
            document, mechanism=one.mechanism, claim=one.claim, evidence=one.evidence,
            table=one.table, beyond=None, lemmas=lemmas[:number],
        )  # fmt: skip
        try:
            _, *said, assumed = prove(stated)
        except Refused as refused:
            raise Refused(f"lemmas[{number}]: {refused.line}", refused.reason) from None
        what = assumed.removeprefix("assumed, not proved: the mechanism is ").partition(", for ")[0]
        # lines have names that the document's own have, too
        work.margins.clear()
        yield f"used of {what}: {'; '.join(said)}"


def mu_of(document: Certificate, part: Spec) -> str:
    """Return a μ for which a part is μ-GDP."""
    for one in document.lemmas or ():
        claim = one.claim
        if one.mechanism == part and claim.statement == "whole" and claim.mu.high != "inf":
            return claim.mu.high
    raise Refused("lemmas", f"none is of a μ of {part['kind']}, {part.get('rho')}")


def in_place(document: Certificate) -> Spec:
    """Return the mechanism, of composed losses with a Gaussian one in the place of each ρ."""
    given, spec = document.mechanism, dict(document.mechanism)
    for name in given if document.evidence.directions is not None else ():
        prefix = name.removesuffix("kind")
        if prefix.endswith(".") and given[name] == "zcdp":
            own = {one: given.get(prefix + one) for one in ("kind", "neighbours", "rho")}
            if f"{prefix}mu" in given or not own["rho"]:
                raise Malformed(name, own["rho"], "zcdp with its rho alone")
            del spec[f"{prefix}rho"]
            spec |= {name: "gdp", f"{prefix}mu": mu_of(document, own)}
    return spec
