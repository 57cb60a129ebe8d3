"""Which mechanisms run one after the other, as a certificate names them: their parts and counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from gdpbridge_verify.allocation import allocated
from gdpbridge_verify.arithmetic import Arithmetic, Work
from gdpbridge_verify.finite import (
    DiscreteGaussian,
    discrete_laplace,
    is_possible,
    listed,
    randomized_response,
    response_by_epsilon,
    two_valued,
)
from gdpbridge_verify.fixed_size import FixedSizeGaussian
from gdpbridge_verify.kinds import (
    KINDS,
    Nature,
    epsilon_of_sparse_vector,
    parameters_of,
    require_relation,
    ungrouped,
)
from gdpbridge_verify.lines import Runs
from gdpbridge_verify.participation import square_of
from gdpbridge_verify.refusal import Malformed
from gdpbridge_verify.transforms import Gaussian, Laplace, SampledGaussian, Transform

Spec = dict[str, str | None]

_MOST_RUNS = 10**15
_MOST_PARTS = 1000
# microseconds, for the sensitivity of a matrix, or losses that are listed
_MOST_WORK = 1e6
# of the probabilities of listed losses
_BITS = 128
_NATURES: tuple[Nature, ...] = ("own", "class", "bound")


@dataclass(frozen=True)
class Composition:
    """The parts of a mechanism, the nature of δ, and the relations that they name."""

    parts: tuple[Runs, ...]
    nature: Nature
    relations: frozenset[str | None] = frozenset()

    def named(self, *specs: Spec) -> Composition:
        """Return it with what is named around it."""
        return replace(self, relations=self.relations | {one.get("neighbours") for one in specs})


def composition_of(spec: Spec) -> Composition:
    """Read parts and counts from a certificate's mechanism."""
    spec = ungrouped(spec)
    found = _read(spec, 1).named(spec)
    for relation in found.relations:
        require_relation(relation)
    total = sum(part.times for part in found.parts)
    if len(found.parts) > _MOST_PARTS or total > _MOST_RUNS:
        raise Malformed("mechanism", total, f"of at most {_MOST_PARTS} parts")
    if len(found.relations - {None}) > 1:
        raise Malformed("mechanism.neighbours", spec.get("neighbours"), "the same in every part")
    if spec.get("kind") == "dpsgd" and total == 1:
        # what is as bad as either direction of one step is no worse than the step
        return replace(found, nature=KINDS["dpsgd"].nature)
    return found


def _read(spec: Spec, times: int) -> Composition:
    kind = spec.get("kind") or ""
    if kind in _OTHERS:
        return _OTHERS[kind](spec, times)
    values = parameters_of(spec)
    if not KINDS[kind].composes:
        raise Malformed("mechanism.kind", kind, "one that composes")
    if kind == "matrix":
        square, attained = square_of(values, spec["entries"] or "", Work(_MOST_WORK))
        one = _of_square(square / values["sigma"] ** 2)
        return _leaf(one, times, "own" if attained else "bound", spec)
    return _leaf(_LEAVES[kind](values), times, KINDS[kind].nature, spec)


def _leaf(transform: Transform, times: int, nature: Nature, *specs: Spec) -> Composition:
    return Composition((Runs(transform, times),), nature).named(*specs)


def _composed(spec: Spec, times: int) -> Composition:
    values = parameters_of({name: text for name, text in spec.items() if "." not in name})
    return _read(_inner(spec, "base."), times * int(values["times"]))


def _sequence(spec: Spec, times: int) -> Composition:
    found: list[Composition] = []
    for number in range(_MOST_PARTS):
        part = _inner(spec, f"parts.{number}.")
        if not part:
            break
        count = part.pop("count", "1") or ""
        if not (count.isascii() and count.isdigit() and 0 < len(count) <= 16 and int(count)):
            raise Malformed(f"mechanism.parts.{number}.count", count, "a whole number ≥ 1")
        if "random-allocation" in part.values():
            # each takes seconds, and there may be many
            raise Malformed(f"mechanism.parts.{number}", "random-allocation", "alone")
        found.append(_read(part, times * int(count)))
    named = {name.split(".")[1] for name in spec if name.startswith("parts.")}
    own_names = {name for name in spec if not name.startswith("parts.")}
    if own_names != {"kind", "neighbours"} or named != {str(n) for n in range(len(named))}:
        raise Malformed("mechanism", "sequence", "kind, neighbours and parts.0.…, parts.1.…")
    if not found:
        raise Malformed("mechanism.parts", 0, "at least one part")
    runs = tuple(run for one in found for run in one.parts)
    relations = frozenset().union(*(one.relations for one in found))
    nature = max((one.nature for one in found), key=_NATURES.index)
    return Composition(runs, nature, relations).named(spec)


def _subsampled(spec: Spec, times: int) -> Composition:
    own = {name: text for name, text in spec.items() if "." not in name}
    if own.get("scheme") != "poisson":
        raise Malformed("mechanism.scheme", own.get("scheme"), "poisson")
    for name in ("scheme", "sample", "population"):
        if own.pop(name, None) is not None and name != "scheme":
            raise Malformed(f"mechanism.{name}", spec.get(name), "null: the rate says it")
    rate, base = parameters_of(own)["rate"], _inner(spec, "base.")
    values = parameters_of(base)
    if base["kind"] not in ("gaussian", "gdp"):
        raise Malformed("mechanism.base.kind", base["kind"], "gaussian, or gdp")
    mu = values["mu"] if base["kind"] == "gdp" else values["sensitivity"] / values["sigma"]
    sampled = rate < 1 and mu > 0
    transform = SampledGaussian(1 / mu, rate) if sampled else _of_square(mu**2)
    # of all that are μ-GDP, the Gaussian mechanism attains it
    return _leaf(transform, times, KINDS[base["kind"] or ""].nature, spec, base)


def _gaussian(values: dict[str, Fraction]) -> Transform:
    mu = values["mu"] if "mu" in values else values["sensitivity"] / values["sigma"]
    return _of_square(mu**2)


def _response(values: dict[str, Fraction]) -> Transform:
    if "epsilon" not in values:
        return randomized_response(values["noise_parameter"], int(values["buckets"]))
    return response_by_epsilon(values["epsilon"], int(values["buckets"]))


def _of_square(square: Fraction) -> Transform:
    return Gaussian(square) if square else two_valued(Fraction(0))


_LEAVES: dict[str, Callable[[dict[str, Fraction]], Transform]] = {
    "approx-dp": lambda values: two_valued(values["epsilon"], values["delta"]),
    "discrete-gaussian": lambda values: DiscreteGaussian(
        values["sigma"], int(values["sensitivity"])
    ),
    "discrete-laplace": lambda values: discrete_laplace(
        values["scale"], int(values["sensitivity"])
    ),
    "gaussian": _gaussian,
    "gdp": _gaussian,
    "laplace": lambda values: Laplace(values["sensitivity"] / values["scale"]),
    "pure-dp": lambda values: two_valued(values["epsilon"]),
    "shuffled-epochs": lambda values: Gaussian(values["epochs"] / values["noise_multiplier"] ** 2),
    "sparse-vector": lambda values: two_valued(epsilon_of_sparse_vector(values)),
    "randomized-response": _response,
}


def _listed(spec: Spec, times: int) -> Composition:
    """Read losses and their probabilities: of removal, and of addition or as for removal."""
    allowed = {"kind", "neighbours", "remove", "remove_unit", "add", "add_unit", "bound"}
    if not {"remove", "remove_unit"} <= set(spec) <= allowed:
        raise Malformed("mechanism", ", ".join(sorted(spec)), "remove and remove_unit, add and so")
    one = listed("mechanism.remove", spec["remove"] or "", spec["remove_unit"] or "")
    other = one
    if "add" in spec:
        other = listed("mechanism.add", spec["add"] or "", spec.get("add_unit") or "")
    if spec.get("bound", "true") != "true":
        raise Malformed("mechanism.bound", spec["bound"], "true, or left out")
    of = Arithmetic(_BITS, Work(_MOST_WORK))
    # no mechanism has other losses
    is_own = "bound" not in spec and is_possible(one, of) and is_possible(other, of)
    nature: Nature = "own" if is_own else "bound"
    return Composition((Runs(one, times, other),), nature).named(spec)


def _allocated(spec: Spec, times: int) -> Composition:
    """Read epochs in each of which a record is in one step, drawn at random."""
    values = parameters_of(spec)
    found = allocated(1 / values["noise_multiplier"], int(values["steps"]))
    runs = Runs(found.forward, times * int(values["epochs"]), found.backward)
    return Composition((runs,), KINDS["random-allocation"].nature).named(spec)


def _steps(spec: Spec, times: int) -> Composition:
    """Read DP-SGD; batches of a fixed size have a name for how they are drawn."""
    own = dict(spec)
    sampling = own.pop("sampling", "poisson")
    values = parameters_of(own)
    replaced = spec["neighbours"] == "replace-one"
    if sampling not in (("poisson", "fixed-size") if replaced else ("poisson",)):
        raise Malformed("mechanism.sampling", sampling, "poisson, or fixed-size with replace-one")
    sigma, rate = values["noise_multiplier"], values["sample_rate"]
    nature = KINDS["dpsgd"].nature
    if rate == 1:
        transform: Transform = Gaussian(((2 if replaced else 1) / sigma) ** 2)
    elif sampling == "fixed-size":
        transform, nature = FixedSizeGaussian(2 / sigma, rate), "bound"
    else:
        transform = SampledGaussian(sigma, rate, replaced=replaced)
    return _leaf(transform, times * int(values["steps"]), nature, spec)


def _inner(spec: Spec, prefix: str) -> Spec:
    return {
        name.removeprefix(prefix): text for name, text in spec.items() if name.startswith(prefix)
    }


_OTHERS: dict[str, Callable[[Spec, int], Composition]] = {
    "composed": _composed,
    "dpsgd": _steps,
    "pld": _listed,
    "random-allocation": _allocated,
    "sequence": _sequence,
    "subsampled": _subsampled,
}
