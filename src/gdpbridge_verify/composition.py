"""Which mechanisms run one after the other, as a certificate names them: their parts and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from gdpbridge_verify.allocation import allocated
from gdpbridge_verify.arithmetic import Arithmetic, Work
from gdpbridge_verify.document import Certificate
from gdpbridge_verify.exponentials import Exponential, of_bounded_range, of_truncated_laplace
from gdpbridge_verify.finite import (
    DiscreteGaussian,
    Finite,
    discrete_laplace,
    is_possible,
    listed,
    of_rows,
    randomized_response,
    response_by_epsilon,
    two_valued,
)
from gdpbridge_verify.fixed_size import FixedSizeGaussian
from gdpbridge_verify.grouped import ungrouped
from gdpbridge_verify.kinds import KINDS, Nature
from gdpbridge_verify.mechanisms import epsilon_of_sparse_vector, square_of_gaussian
from gdpbridge_verify.parameters import Spec, Values, apart, parameters_of, require_relation
from gdpbridge_verify.refusal import Malformed, OutOfWork
from gdpbridge_verify.sampled import rate_of_poisson
from gdpbridge_verify.samples import sampled
from gdpbridge_verify.transforms import Gaussian, Laplace, Runs, SampledGaussian, Transform

_MOST_RUNS = 10**15
_MOST_PARTS = 1000
# microseconds, for reading all parts: the sensitivity of a matrix, or losses that are listed
_MOST_WORK, _COST_OF_PART, _COST_OF_LOSS = 1.5e6, 50.0, 6.0
# of all different denominators together, as sums have them all
_MOST_BITS = 1 << 17
# of the probabilities of listed losses
_BITS = 128
# what listed losses of all runs may miss of 1, of which nothing is known
_MOST_MISSED = Fraction(1, 10**9)
# whose losses are bounded, and the noise among them: samples of these are composed
_NOISE = ("laplace", "discrete-laplace")
_BOUNDED = ("pure-dp", "approx-dp", *_NOISE)
_NATURES: tuple[Nature, ...] = ("own", "class", "bound")


@dataclass(frozen=True)
class Composition:
    """The parts of a mechanism, the nature of δ, and what it took to read, in microseconds."""

    parts: tuple[Runs, ...]
    nature: Nature
    cost: float = 0.0


def composition_of(spec: Spec) -> Composition:
    """Read parts and counts from a certificate's mechanism."""
    return _composition(tuple(spec.items()))


# of a document that is checked and of its other end, at every precision
@lru_cache(maxsize=2)
def _composition(items: tuple[tuple[str, str | None], ...]) -> Composition:
    spec, work = dict(items), Work(_MOST_WORK)
    if spec.get("kind") == "grouped":
        spec = ungrouped(spec)
    found = _read(spec, 1, work)
    found = replace(found, cost=found.cost + work.spent)
    relations = {spec[name] for name in spec if name.rpartition(".")[2] == "neighbours"}
    for relation in relations:
        require_relation(relation)
    total = sum(part.times for part in found.parts)
    if len(found.parts) > _MOST_PARTS or total > _MOST_RUNS:
        raise Malformed("mechanism", total, f"of at most {_MOST_PARTS} parts")
    if len(relations - {None}) > 1:
        raise Malformed("mechanism.neighbours", spec.get("neighbours"), "the same in every part")
    if spec.get("kind") == "dpsgd" and total == 1:
        # what is as bad as either direction of one step is no worse than the step
        return replace(found, nature=KINDS["dpsgd"].nature)
    denominators = {value.denominator for part in found.parts for value in _numbers(part)}
    if sum(map(int.bit_length, denominators)) > _MOST_BITS:
        raise OutOfWork
    return found


def _numbers(part: Runs) -> Iterator[Fraction]:
    """Yield what is added up over parts."""
    yield part.transform.tail_variance
    for one in (part.transform, part.reverse):
        if isinstance(one, Laplace):
            yield one.epsilon
        elif isinstance(one, Exponential):
            yield from (one.width, one.atom, one.failure)
        elif isinstance(one, Finite):
            yield one.unit.value


def check_of(document: Certificate) -> str:
    """Return what checks such losses: δ may be a formula, or be had from the law of all losses."""
    if document.evidence.unit is not None:
        return "lattice.LatticeCheck"
    parts, directions = composition_of(document.mechanism).parts, document.evidence.directions
    if is_near(parts) and directions and not any(one.pieces or one.cells for one in directions):
        # nothing is needed, as it is nearly one Gaussian mechanism
        return "nearness.NearnessCheck"
    if directions and not any(one.pieces for one in directions):
        # lines or laws are not in its place
        from gdpbridge_verify.closed import formula_of

        if formula_of(parts) is not None:
            return "closed.ClosedCheck"
    is_discrete = all(isinstance(part.transform, Finite) for part in parts)
    return "law.DiscreteCheck" if is_discrete else "composed.ComposedCheck"


def is_near(parts: Sequence[Runs]) -> bool:
    """Whether all noise is discrete Gaussian, but for Gaussian noise beside it."""
    kinds = {type(part.transform) for part in parts}
    return DiscreteGaussian in kinds and kinds <= {DiscreteGaussian, Gaussian}


def _read(spec: Spec, times: int, work: Work) -> Composition:
    work.charge(_COST_OF_PART)
    kind = spec.get("kind") or ""
    if kind in _OTHERS:
        return _OTHERS[kind](spec, times, work)
    values = parameters_of(spec)
    if not KINDS[kind].composes:
        raise Malformed("mechanism.kind", kind, "one that composes")
    if kind in _LEAVES:
        # none of these attains the loss that dominates all of them, but at one ε
        selects = kind in ("bounded-range", "permute-and-flip")
        runs = times * int(values["runs"]) if "runs" in values else times
        return _of(_LEAVES[kind](values), runs, "bound" if selects else KINDS[kind].nature)
    square, nature = square_of_gaussian(spec, values, work)
    return _of(_gaussian(square), times, nature)


def _of(transform: Transform, times: int, nature: Nature) -> Composition:
    return Composition((Runs(transform, times),), nature)


def _gaussian(square: Fraction) -> Transform:
    return Gaussian(square) if square else two_valued(Fraction(0))


def _composed(spec: Spec, times: int, work: Work) -> Composition:
    own, base = apart(spec)
    return _read(base, times * int(parameters_of(own)["times"]), work)


def _sequence(spec: Spec, times: int, work: Work) -> Composition:
    own, parts = apart(spec, "parts.")
    numbers = {name.partition(".")[0] for name in parts}
    if set(own) != {"kind", "neighbours"} or numbers != set(map(str, range(len(numbers)))):
        raise Malformed("mechanism", "sequence", "kind, neighbours and parts.0.…, parts.1.…")
    if not 0 < len(numbers) <= _MOST_PARTS:
        raise Malformed("mechanism.parts", len(numbers), f"from 1 to {_MOST_PARTS} parts")
    specs: list[Spec] = [{} for _ in numbers]
    for name, text in parts.items():
        number, _, rest = name.partition(".")
        specs[int(number)][rest] = text
    found = []
    for place, part in enumerate(specs):
        count = part.pop("count", "1") or ""
        if not (count.isascii() and count.isdigit() and len(count) <= 16 and int(count)):
            raise Malformed(f"mechanism.parts.{place}.count", count, "a whole number ≥ 1")
        if "random-allocation" in part.values():
            # each takes seconds, and there may be many
            raise Malformed(f"mechanism.parts.{place}", "random-allocation", "alone")
        found.append(_read(part, times * int(count), work))
    runs = tuple(run for one in found for run in one.parts)
    return Composition(runs, max((one.nature for one in found), key=_NATURES.index))


def _subsampled(spec: Spec, times: int, work: Work) -> Composition:
    own, base = apart(spec)
    rate = rate_of_poisson(own)
    if base.get("kind") in _BOUNDED:
        found = _read(base, 1, work)
        (run,) = found.parts
        # another mechanism of a class has more than its δ says
        nature: Nature = (
            found.nature if found.nature != "own" or base["kind"] in _NOISE else "class"
        )
        return Composition((replace(sampled(run, rate), times=times),), nature)
    values = parameters_of(base)
    if base["kind"] not in ("gaussian", "gdp"):
        allowed = ", ".join(("gaussian", "gdp", *_BOUNDED))
        raise Malformed("mechanism.base.kind", base["kind"], f"one of {allowed}")
    mu = values["mu"] if base["kind"] == "gdp" else values["sensitivity"] / values["sigma"]
    transform = SampledGaussian(1 / mu, rate) if rate < 1 and mu > 0 else _gaussian(mu**2)
    # of all that are μ-GDP, the Gaussian mechanism attains it
    return _of(transform, times, KINDS[base["kind"] or ""].nature)


def _response(values: Values) -> Transform:
    if "epsilon" not in values:
        return randomized_response(values["noise_parameter"], int(values["buckets"]))
    return response_by_epsilon(values["epsilon"], int(values["buckets"]))


_LEAVES: dict[str, Callable[[Values], Transform]] = {
    "approx-dp": lambda given: two_valued(given["epsilon"], given["delta"]),
    "bounded-range": lambda given: (
        of_bounded_range(given["range"]) if given["range"] else two_valued(Fraction(0))
    ),
    "discrete-gaussian": lambda given: DiscreteGaussian(given["sigma"], int(given["sensitivity"])),
    "discrete-laplace": lambda given: discrete_laplace(given["scale"], int(given["sensitivity"])),
    "laplace": lambda given: Laplace(given["sensitivity"] / given["scale"]),
    "permute-and-flip": lambda given: (
        Laplace(given["epsilon"]) if given["epsilon"] else two_valued(Fraction(0))
    ),
    "pure-dp": lambda given: two_valued(given["epsilon"]),
    "randomized-response": _response,
    "sparse-vector": lambda given: two_valued(epsilon_of_sparse_vector(given)),
    "truncated-laplace": lambda given: of_truncated_laplace(
        given["sensitivity"] / given["scale"], given["delta"]
    ),
}


def _listed(spec: Spec, times: int, work: Work) -> Composition:
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
    of = Arithmetic(_BITS, work)
    work.charge(_COST_OF_LOSS * (len(one.places) + len(other.places)))
    for law in (one, other):
        missing = 1 - sum(law.masses(of), of.exactly(law.failure))
        if not times * missing <= _MOST_MISSED:
            fewer = "fewer, of losses whose probabilities are short of 1 together"
            raise Malformed("mechanism.times", times, fewer)
    # no mechanism has other losses
    is_own = "bound" not in spec and is_possible(one, of) and is_possible(other, of)
    return Composition((Runs(one, times, other),), "own" if is_own else "bound")


def _rows(spec: Spec, times: int, work: Work) -> Composition:
    """Read a table of guarantees, whose class has a worst mechanism."""
    if not {"rows"} <= set(spec) <= {"kind", "neighbours", "rows"}:
        raise Malformed("mechanism", ", ".join(sorted(spec)), "kind, neighbours and rows")
    found = of_rows("mechanism.rows", spec["rows"] or "")
    work.charge(_COST_OF_LOSS * len(found.places))
    return _of(found, times, KINDS["table"].nature)


def _allocated(spec: Spec, times: int, work: Work) -> Composition:
    """Read epochs in each of which a record is in one step, drawn at random."""
    values = parameters_of(spec)
    found = allocated(1 / values["noise_multiplier"], int(values["steps"]))
    runs = Runs(found.forward, times * int(values["epochs"]), found.backward)
    return Composition((runs,), KINDS["random-allocation"].nature, found.cost)


def _steps(spec: Spec, times: int, work: Work) -> Composition:
    """Read DP-SGD; batches of a fixed size have a name for how they are drawn."""
    own = dict(spec)
    sampling = own.pop("sampling", "poisson")
    values = parameters_of(own)
    replaced = spec["neighbours"] == "replace-one"
    if sampling not in (("poisson", "fixed-size") if replaced else ("poisson",)):
        raise Malformed("mechanism.sampling", sampling, "poisson, or fixed-size with replace-one")
    sigma, rate = values["noise_multiplier"], values["sample_rate"]
    nature: Nature = "own"
    if rate == 1:
        transform: Transform = Gaussian(((2 if replaced else 1) / sigma) ** 2)
    elif sampling == "fixed-size":
        transform, nature = FixedSizeGaussian(2 / sigma, rate), "bound"
    else:
        transform = SampledGaussian(sigma, rate, replaced=replaced)
    return _of(transform, times * int(values["steps"]), nature)


_OTHERS: dict[str, Callable[[Spec, int, Work], Composition]] = {
    "composed": _composed,
    "dpsgd": _steps,
    "pld": _listed,
    "random-allocation": _allocated,
    "sequence": _sequence,
    "subsampled": _subsampled,
    "table": _rows,
}
