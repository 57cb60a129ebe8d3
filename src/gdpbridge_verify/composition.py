"""Which mechanisms run one after the other, as a certificate names them: their parts and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from gdpbridge_verify import exponentials, finite, listed
from gdpbridge_verify.allocation import allocated
from gdpbridge_verify.arithmetic import Arithmetic, Work, exact
from gdpbridge_verify.document import Certificate
from gdpbridge_verify.fixed_size import FixedSizeGaussian
from gdpbridge_verify.grouped import ungrouped
from gdpbridge_verify.kinds import KINDS, Nature
from gdpbridge_verify.lemmas import in_place
from gdpbridge_verify.mechanisms import epsilon_of_sparse_vector, square_of_gaussian
from gdpbridge_verify.parameters import Spec, Values, apart, parameters_of, require_relation
from gdpbridge_verify.refusal import Malformed, OutOfWork
from gdpbridge_verify.sampled import losses_of, nature_of_sample, rate_of, sample_of
from gdpbridge_verify.samples import sampled
from gdpbridge_verify.transforms import Gaussian, Nothing, Runs, SampledGaussian, Transform

_MOST_RUNS = 10**15
_MOST_PARTS = 1000
# microseconds, for reading all parts: the sensitivity of a matrix, or losses that are listed
_MOST_WORK, _COST_OF_PART, _COST_OF_SLOPE = 1.5e6, 50.0, 20.0
# of all different denominators together, as sums have them all
_MOST_BITS = 1 << 17
# of the chance of a failure that is no rational number: it is rounded up, and to no less than this
_BITS, _LEAST_FAILURE = 192, Fraction(1, 1 << 2000)
# which are composed with none but themselves
_DEAR = {"random-allocation", "skellam"}
# whose losses are bounded: samples of these are composed
_KEPT = "approx-dp", "permute-and-flip", "pure-dp", "sparse-vector"
_BOUNDED = ("discrete-laplace", "laplace", *_KEPT)
_NATURES: tuple[Nature, ...] = ("own", "class", "bound")


@dataclass(frozen=True)
class Composition:
    """The parts of a mechanism.

    Attributes:
        parts: what is run, and how often.
        nature: that of δ.
        cost: what it took to read, in microseconds.
        is_made: whether δ is a bound that the checker makes, and another one makes otherwise.
    """

    parts: tuple[Runs, ...]
    nature: Nature
    cost: float = 0.0
    is_made: bool = False


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
    total = sum(part.times for part in found.parts)
    if len(found.parts) > _MOST_PARTS or total > _MOST_RUNS:
        raise Malformed("mechanism", total, f"of at most {_MOST_PARTS} parts")
    require_one_relation(spec)
    if "replace-one" in spec.values():
        _require_one_order(found.parts)
    if spec.get("kind") == "dpsgd" and total == 1:
        # what is as bad as either direction of one step is no worse than the step
        return replace(found, nature=KINDS["dpsgd"].nature)
    both = [one for part in found.parts for one in (part.transform, part.reverse) if one]
    require_short_sums(number for one in both for number in one.numbers)
    return found


def require_short_sums(numbers: Iterable[Fraction], most: int = _MOST_BITS) -> None:
    """Refuse numbers that would take too long to add up: of so many bits below the line."""
    if sum(map(int.bit_length, {number.denominator for number in numbers})) > most:
        raise OutOfWork


def require_one_relation(spec: Spec) -> None:
    """Refuse parts of unlike relations."""
    for relation in (relations := {spec[n] for n in spec if n.rpartition(".")[2] == "neighbours"}):
        require_relation(relation)
    if len(relations - {None}) > 1:
        raise Malformed("mechanism.neighbours", spec.get("neighbours"), "the same in every part")


def _require_one_order(parts: Sequence[Runs]) -> None:
    """Refuse several runs of which each may be worst in another order of both data sets.

    A record that is replaced may be so in either order, and what is worst for one run need not be
    for the next: the larger δ of both orders of all runs is then no bound.
    """
    if sum(part.times for part in parts if not part.symmetric) > 1:
        allowed = "add-remove or zero-out for several runs of losses that differ in both directions"
        raise Malformed("mechanism.neighbours", "replace-one", allowed)


def leaves_of(spec: Spec, times: int = 1) -> Iterator[tuple[Spec, int]]:
    """Yield what is run one after the other, and how often each; groups as what protects them."""
    kind = spec.get("kind")
    if kind == "composed":
        own, base = apart(spec)
        yield from leaves_of(base, times * int(parameters_of(own)["times"]))
    elif kind == "sequence":
        for part, count in _parts_of(spec):
            yield from leaves_of(part, times * count)
    elif times > _MOST_RUNS:
        raise Malformed("mechanism.times", times, f"at most {_MOST_RUNS}")
    else:
        yield (ungrouped(spec) if kind == "grouped" else spec), times


def check_of(document: Certificate) -> str:
    """Return what checks such losses: δ may be a formula, or be had from the law of all losses."""
    if document.evidence.unit is not None:
        return "lattice.LatticeCheck"
    spec = document.mechanism if document.lemmas is None else in_place(document)
    if spec.get("kind") == "subsampled" and losses_of(spec) is not spec:
        return "sampled_law.SampledLawCheck"
    parts, directions = composition_of(spec).parts, document.evidence.directions
    if directions and not any(one.pieces for one in directions):
        # neither lines nor laws are needed
        from gdpbridge_verify.closed import formula_of

        if is_near(parts) and not any(one.cells for one in directions):
            return "nearness.NearnessCheck"
        if formula_of(parts) is not None:
            return "closed.ClosedCheck"
    is_discrete = all(isinstance(part.transform, finite.Finite | Nothing) for part in parts)
    return "law.DiscreteCheck" if is_discrete else "composed.ComposedCheck"


def is_near(parts: Sequence[Runs]) -> bool:
    """Whether all noise is discrete Gaussian, but for Gaussian noise beside it."""
    kinds = {type(part.transform) for part in parts}
    return finite.DiscreteGaussian in kinds and kinds <= {finite.DiscreteGaussian, Gaussian}


def _read(spec: Spec, times: int, work: Work) -> Composition:
    work.charge(_COST_OF_PART)
    kind = spec.get("kind") or ""
    if kind in _OTHERS:
        return _OTHERS[kind](spec, times, work)
    values = parameters_of(spec)
    if not KINDS[kind].composes:
        raise Malformed("mechanism.kind", kind, "one that composes")
    if kind in _LEAVES:
        tells = kind not in _WIDTHS or values[_WIDTHS[kind]]
        transform = _LEAVES[kind](values) if tells else Nothing()
        nature = "bound" if kind in _WIDTHS else KINDS[kind].nature
        return _of(transform, times * int(values.get("runs", 1)), nature)
    square, nature = square_of_gaussian(spec, values, work)
    return _of(_gaussian(square), times, nature)


def _of(transform: Transform, times: int, nature: Nature) -> Composition:
    return Composition((Runs(transform, times),), nature)


def _gaussian(square: Fraction) -> Transform:
    return Gaussian(square) if square else Nothing()


def _composed(spec: Spec, times: int, work: Work) -> Composition:
    own, base = apart(spec)
    return _read(base, times * int(parameters_of(own)["times"]), work)


def _parts_of(spec: Spec) -> Iterator[tuple[Spec, int]]:
    """Yield the parts of a sequence, and how often each is run."""
    own, parts = apart(spec, "parts.")
    specs: dict[str, Spec] = {}
    for name, text in parts.items():
        number, _, rest = name.partition(".")
        specs.setdefault(number, {})[rest] = text
    # in order: evidence is of the parts one by one
    if set(own) != {"kind", "neighbours"} or list(specs) != list(map(str, range(len(specs)))):
        raise Malformed("mechanism", "sequence", "kind, neighbours and parts.0.…, parts.1.…")
    if not 0 < len(specs) <= _MOST_PARTS:
        raise Malformed("mechanism.parts", len(specs), f"from 1 to {_MOST_PARTS} parts")
    for place, part in specs.items():
        count = part.pop("count", "1") or ""
        if not (count.isascii() and count.isdigit() and len(count) <= 16 and int(count)):
            raise Malformed(f"mechanism.parts.{place}.count", count, "a whole number ≥ 1")
        if dear := _DEAR & set(part.values()):
            # each takes seconds, and there may be many
            raise Malformed(f"mechanism.parts.{place}", min(map(str, dear)), "alone")
        yield part, int(count)


def _sequence(spec: Spec, times: int, work: Work) -> Composition:
    found = [_read(part, times * count, work) for part, count in _parts_of(spec)]
    runs = tuple(run for one in found for run in one.parts)
    return Composition(runs, max((one.nature for one in found), key=_NATURES.index))


def _subsampled(spec: Spec, times: int, work: Work) -> Composition:
    kinds = ("gaussian", "gdp", *_BOUNDED)
    rate, base = sample_of(spec, kinds)
    kind = base["kind"] or ""
    if kind in _BOUNDED:
        rate_of(apart(spec)[0], ("poisson",))
        found = _read(base, 1, work)
        (run,) = found.parts
        nature = nature_of_sample(kind, found.nature, rate)
        return Composition((replace(sampled(run, rate), times=times),), nature)
    values = parameters_of(base)
    mu = values["mu"] if kind == "gdp" else values["sensitivity"] / values["sigma"]
    if rate == 1 or mu == 0:
        return _of(_gaussian(mu**2), times, KINDS[kind].nature)
    if spec.get("scheme") != "poisson":
        return _of(FixedSizeGaussian(mu, rate), times, "bound")
    # of all that are μ-GDP, the Gaussian mechanism attains it
    return _of(SampledGaussian(1 / mu, rate), times, KINDS[kind].nature)


def _guarantee(epsilon: Fraction, failure: Fraction = Fraction(0)) -> Transform:
    return finite.two_valued(epsilon, failure) if epsilon else Nothing(failure)


def _response(given: Values) -> Transform:
    buckets = int(given["buckets"])
    if "epsilon" in given:
        return finite.response_by_epsilon(given["epsilon"], buckets)
    return finite.randomized_response(given["noise_parameter"], buckets)


_LEAVES: dict[str, Callable[[Values], Transform]] = {
    "approx-dp": lambda given: _guarantee(given["epsilon"], given["delta"]),
    "bounded-range": lambda given: exponentials.of_bounded_range(given["range"]),
    "discrete-gaussian": lambda given: finite.DiscreteGaussian(
        given["sigma"], int(given["sensitivity"])
    ),
    "discrete-laplace": lambda given: finite.discrete_laplace(
        given["scale"], int(given["sensitivity"])
    ),
    "laplace": lambda given: exponentials.Laplace(given["sensitivity"] / given["scale"]),
    "permute-and-flip": lambda given: exponentials.Laplace(given["epsilon"]),
    "pure-dp": lambda given: _guarantee(given["epsilon"]),
    "randomized-response": _response,
    "sparse-vector": lambda given: _guarantee(epsilon_of_sparse_vector(given)),
    "truncated-laplace": lambda given: exponentials.of_truncated_laplace(
        given["sensitivity"] / given["scale"], given["delta"]
    ),
}
# the largest loss, which may be 0, of those of which none has the loss that dominates them all
_WIDTHS = {"bounded-range": "range", "permute-and-flip": "epsilon"}


def _listed(spec: Spec, times: int, work: Work) -> Composition:
    """Read losses and their probabilities: of removal, and of addition or as for removal."""
    allowed = {"kind", "neighbours", "remove", "remove_unit", "add", "add_unit", "bound"}
    if not {"remove", "remove_unit"} <= set(spec) <= allowed:
        raise Malformed("mechanism", ", ".join(sorted(spec)), "remove and remove_unit, add and so")
    if spec.get("bound", "true") != "true":
        raise Malformed("mechanism.bound", spec["bound"], "true, or left out")
    one, other, is_possible = listed.both(spec, times, work)
    is_own = "bound" not in spec and is_possible
    return Composition((Runs(one, times, other),), "own" if is_own else "bound")


def _rows(spec: Spec, times: int, work: Work) -> Composition:
    """Read a table of guarantees, whose class has a worst mechanism."""
    if not {"rows"} <= set(spec) <= {"kind", "neighbours", "rows"}:
        raise Malformed("mechanism", ", ".join(sorted(spec)), "kind, neighbours and rows")
    found = listed.of_rows("mechanism.rows", spec["rows"] or "")
    work.charge(listed.COST_OF_LOSS * len(found.places))
    return _of(found, times, KINDS["table"].nature)


def _slopes(spec: Spec, times: int, work: Work) -> Composition:
    """Read a trade-off function, which one pair of distributions attains."""
    from gdpbridge_verify.slopes import of_tradeoff

    own = dict(spec)
    rows = own.pop("rows", None) or ""
    is_bound = parameters_of(own)["bound"]
    work.charge(_COST_OF_SLOPE * rows.count(":"))
    runs = of_tradeoff("mechanism.rows", rows, times)
    return Composition((runs,), "bound" if is_bound else KINDS["tradeoff-function"].nature)


def _skellam(spec: Spec, times: int, work: Work) -> Composition:
    """Read Skellam noise, which a mechanism with some values of its δ dominates."""
    from gdpbridge_verify.points import of_skellam

    found = of_skellam(parameters_of(spec), times, work)
    return replace(_of(found, times, "bound"), is_made=True)


def _allocated(spec: Spec, times: int, work: Work) -> Composition:
    """Read epochs in each of which a record is in one step, drawn at random."""
    values = parameters_of(spec)
    found = allocated(1 / values["noise_multiplier"], int(values["steps"]))
    runs = Runs(found.forward, times * int(values["epochs"]), found.backward)
    return Composition((runs,), KINDS["random-allocation"].nature, found.cost, is_made=True)


def _thresholded(spec: Spec, times: int, work: Work) -> Composition:
    """Read noisy counts above a threshold: as if a record that is given away counted in all groups.

    With κ of j groups of k, 1 - κ + κ·δ_{k-j}(ε - log κ) ≤ p + (1 - p)·δ_k(ε), p that of all k: as
    much fails in either direction, and otherwise the noise in all groups is seen.
    """
    from gdpbridge_verify.thresholded import log_kept

    values = parameters_of(spec)
    groups, ratio = int(values["groups"]), values["contribution"] / values["scale"]
    of = Arithmetic(_BITS, work)
    chance = -(groups * log_kept(values, of)).expm1()
    failure = exact(chance.larger(of.exactly(_LEAST_FAILURE)).high)
    if not values["noise"]:
        parts = (Runs(_gaussian(groups * ratio**2), times), Runs(Nothing(failure), times))
        return Composition(parts, "bound")
    half = (1 - failure) / 2
    noise = exponentials.Exponential(ratio, half, lambda given: given.exactly(half), failure)
    rest = (Runs(exponentials.Laplace(ratio), times * (groups - 1)),) if groups > 1 else ()
    return Composition((Runs(noise, times), *rest), "bound")


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
    "skellam": _skellam,
    "subsampled": _subsampled,
    "table": _rows,
    "thresholded-release": _thresholded,
    "tradeoff-function": _slopes,
}
