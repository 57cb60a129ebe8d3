"""The parameters of a mechanism, as a certificate names them: read exactly, each in its range."""

from __future__ import annotations

import re
from fractions import Fraction

from gdpbridge_verify.kinds import KINDS, NON_NEGATIVE, Domain
from gdpbridge_verify.numbers import DECIMAL_PATTERN
from gdpbridge_verify.refusal import Malformed

Spec = dict[str, str | None]
Values = dict[str, Fraction]

# what neighbours may be
RELATIONS = (None, "add-remove", "replace-one", "zero-out")

_RATIOS = ("sample_rate", "scale")
_QUOTIENT = "^[0-9]+/[1-9][0-9]*$"
# beyond it a parameter is refused before any arithmetic: a proof of it would be of no use
_MOST = Fraction(10) ** 400
MAX_DIGITS = 400


def apart(spec: Spec, prefix: str = "base.") -> tuple[Spec, Spec]:
    """Return what is said of a mechanism, and of what it is made of, by names without a prefix."""
    own = {name: text for name, text in spec.items() if not name.startswith(prefix)}
    return own, {name.removeprefix(prefix): spec[name] for name in spec if name not in own}


def parameters_of(spec: Spec) -> Values:
    """Return the parameters of a kind, each in its range."""
    given = dict(spec)
    kind, neighbours = given.pop("kind", None), given.pop("neighbours", None)
    if kind is None or kind not in KINDS:
        raise Malformed("mechanism.kind", kind, f"one of {', '.join(KINDS)}")
    names, relations = dict(KINDS[kind].parameters), KINDS[kind].relations
    for one, other in KINDS[kind].instead.items():
        if other in given and one not in given:
            del names[one]
            names[other] = NON_NEGATIVE
    values = {}
    for name, words in KINDS[kind].words.items():
        if (word := given.pop(name, None)) not in words:
            raise Malformed(f"mechanism.{name}", word, " or ".join(filter(None, words)))
        values[name] = Fraction(words.index(word))
    require_relation(neighbours, relations or RELATIONS)
    if set(given) != {*names, *KINDS[kind].texts}:
        raise Malformed("mechanism", ", ".join(sorted(given)), f"the parameters {', '.join(names)}")
    return values | {name: parameter(name, given[name], names[name]) for name in names}


def require_relation(neighbours: str | None, relations: tuple[str | None, ...] = RELATIONS) -> None:
    """Refuse a relation that is none of these."""
    if neighbours not in relations:
        allowed = " or ".join(one or "null" for one in relations)
        raise Malformed("mechanism.neighbours", neighbours, allowed)


def parameter(name: str, text: str | None, domain: Domain) -> Fraction:
    """Return a number that is in its range."""
    holds, allowed = domain
    # a rate is often a batch size over a number of records, and a scale 1/ε
    written = f"{DECIMAL_PATTERN}|{_QUOTIENT}" if name in _RATIOS else DECIMAL_PATTERN
    if not re.fullmatch(written, text or "") or len(text or "") > MAX_DIGITS:
        raise Malformed(f"mechanism.{name}", text, f"{allowed}, as a decimal")
    value = Fraction(str(text))
    if not holds(value) or value > _MOST or (value and 1 / value > _MOST):
        raise Malformed(f"mechanism.{name}", text, allowed)
    return value
