"""Answers of the commands that check and use a μ, as plain data and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gdpbridge.interval import Interval
from gdpbridge.measure import Statement
from gdpbridge.numeric.exact import ceiling_to_places
from gdpbridge.report.record import MeasurementRecord, Schema, measurement_record
from gdpbridge.report.text import (
    Row,
    certain_and_ends,
    laid_out,
    measured_rows,
    rounded_up,
)
from gdpbridge.specification.title import mechanism_title, number_text

if TYPE_CHECKING:
    from gdpbridge.calibration import Calibration
    from gdpbridge.certificate.verify import Verification
    from gdpbridge.check import Checked
    from gdpbridge.compare import Comparison
    from gdpbridge.compose import Composition
    from gdpbridge.mechanisms.base import Profile
    from gdpbridge.risk import Risk

__all__ = [
    "Answer",
    "CalibrationRecord",
    "CheckRecord",
    "ComparisonRecord",
    "CompositionRecord",
    "ConversionRecord",
    "RiskRecord",
    "VerificationRecord",
    "answer_to_text",
    "calibration_record",
    "check_record",
    "comparison_record",
    "composition_record",
    "conversion_record",
    "risk_record",
    "verification_record",
]

_VALUE_WIDTH = 80
_SYMBOLS = {"epsilon": "ε", "delta": "δ", "mu": "μ", "beta": "f(α)"}


@dataclass(frozen=True)
class CompositionRecord:
    """A :class:`~gdpbridge.Composition`; see there for the fields."""

    schema: Schema
    statement: Statement
    mu: Interval
    failure_probability: float
    neighbours: str | None
    parts: int
    certified: bool
    notes: tuple[str, ...]
    exact: MeasurementRecord | None


@dataclass(frozen=True)
class VerificationRecord:
    """A :class:`~gdpbridge.Verification`."""

    schema: Schema
    valid: bool
    reason: str
    claims: tuple[str, ...]


@dataclass(frozen=True)
class RiskRecord:
    """A :class:`~gdpbridge.risk.Risk`."""

    schema: Schema
    mu: float
    failure_probability: float
    prior: float
    advantage: float
    accuracy: float
    points: tuple[Any, ...]
    sentence: str


@dataclass(frozen=True)
class CalibrationRecord:
    """A :class:`~gdpbridge.calibration.Calibration`, with the measurement for a target μ."""

    schema: Schema
    mechanism: dict[str, Any]
    parameter: str
    target: dict[str, float]
    target_mu: float | None
    goal: str
    value: float
    beyond: float
    attained: Interval
    certified: bool
    remarks: tuple[str, ...]
    measurement: MeasurementRecord | None


@dataclass(frozen=True)
class ComparisonRecord:
    """A :class:`~gdpbridge.compare.Comparison`."""

    schema: Schema
    epsilon: float
    times: int
    deltas: tuple[float, ...]
    rows: tuple[Any, ...]


@dataclass(frozen=True)
class ConversionRecord:
    """What was asked, and an interval for each of its answers.

    Attributes:
        schema: what the document is.
        given: what was converted.
        result: the name of what was found: epsilon, delta, beta or mu.
        table: a row for each value asked at.
        notes: what a careful reader should know.
    """

    schema: Schema
    given: dict[str, Any]
    result: str
    table: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the JSON document: a single answer also stands on its own."""
        document: dict[str, Any] = {"schema": self.schema, "given": self.given}
        if len(self.table) == 1:
            document[self.result] = self.table[0][self.result]
        return {**document, "table": self.table, "notes": self.notes}


@dataclass(frozen=True)
class CheckRecord:
    """Some :class:`~gdpbridge.Checked` about one mechanism."""

    schema: Schema
    mechanism: dict[str, Any]
    claims: tuple[dict[str, Any], ...]


Answer = (
    VerificationRecord
    | CompositionRecord
    | RiskRecord
    | CalibrationRecord
    | CheckRecord
    | ComparisonRecord
    | ConversionRecord
)


def verification_record(found: Verification) -> VerificationRecord:
    """Make the record of a verification."""
    schema = Schema("gdpbridge.verification", 1)
    return VerificationRecord(schema, found.valid, found.reason, found.claims)


def composition_record(found: Composition) -> CompositionRecord:
    """Make the record of a composition."""
    return CompositionRecord(
        Schema("gdpbridge.composition", 1),
        found.statement,
        found.mu,
        found.failure_probability,
        found.neighbours,
        found.parts,
        found.certified,
        found.notes,
        None if found.exact is None else measurement_record(found.exact),
    )


def risk_record(found: Risk) -> RiskRecord:
    """Make the record of a risk."""
    return RiskRecord(
        Schema("gdpbridge.risk", 1),
        found.mu,
        found.failure_probability,
        found.prior,
        found.advantage,
        found.accuracy,
        found.points,
        found.sentence,
    )


def calibration_record(found: Calibration) -> CalibrationRecord:
    """Make the record of a calibration."""
    return CalibrationRecord(
        Schema("gdpbridge.calibration", 1),
        found.profile.model_dump(),
        found.parameter,
        found.goal.given,
        found.target_mu,
        found.goal.words,
        found.value,
        found.beyond,
        found.attained,
        found.certified,
        found.profile.remarks,
        None if found.measured is None else measurement_record(found.measured),
    )


def check_record(profile: Profile, found: Sequence[Checked]) -> CheckRecord:
    """Make the record of checked claims."""
    rows = tuple(
        {
            "claim": one.claim.text,
            "holds": one.holds,
            "margin": one.margin,
            "witness": None if one.witness is None else dict(one.witness),
            "value": one.value,
            "neighbours": one.profile.neighbours,
            "profile_is": one.profile.profile_is,
            "certified": one.certified,
            "reason": one.reason,
            "notes": one.notes,
        }
        for one in found
    )
    return CheckRecord(Schema("gdpbridge.check", 1), profile.model_dump(), rows)


def comparison_record(found: Comparison) -> ComparisonRecord:
    """Make the record of a comparison."""
    return ComparisonRecord(
        Schema("gdpbridge.comparison", 1), found.epsilon, found.times, found.deltas, found.rows
    )


def conversion_record(
    given: dict[str, Any],
    result: str,
    table: Sequence[dict[str, Any]],
    notes: Sequence[str] = (),
) -> ConversionRecord:
    """Make the record of a conversion."""
    schema = Schema("gdpbridge.conversion", 1)
    vague = tuple(_vague(result, row) for row in table if row[result].is_vague)
    return ConversionRecord(schema, given, result, tuple(table), (*notes, *vague))


def _vague(result: str, row: dict[str, Any]) -> str:
    """Say that an interval says little."""
    at = ", ".join(f"{name} {_shown(value)}" for name, value in row.items() if name != result)
    where = f" at {at}" if at else ""
    return f"the bounds of {_SYMBOLS[result]}{where} are so far apart that they say little"


def answer_to_text(answer: Answer, width: int, *, colour: bool = False) -> str:
    """Return an answer as lines of text; arguments as for :func:`gdpbridge.report.text.to_text`."""
    match answer:
        case VerificationRecord():
            title, rows = "certificate", _verified(answer)
        case CompositionRecord():
            title, rows = f"{answer.parts} releases of the same data", _composed(answer)
        case RiskRecord():
            title, rows = f"risk at μ = {number_text(answer.mu)}", _at_risk(answer)
        case CalibrationRecord():
            title = mechanism_title(answer.mechanism)
            rows = _calibrated(answer)
        case CheckRecord():
            title, rows = mechanism_title(answer.mechanism), _claimed(answer)
        case ComparisonRecord():
            title = f"{answer.times} mechanisms, each {number_text(answer.epsilon)}-DP"
            rows = _compared(answer)
        case ConversionRecord():
            title = ", ".join(f"{name} {_shown(value)}" for name, value in answer.given.items())
            if "kind" in answer.given:
                title = mechanism_title(answer.given)
            rows = _converted(answer)
    return laid_out(title, rows, width, colour=colour)


def _verified(record: VerificationRecord) -> Iterator[Row]:
    yield Row("Valid", "yes" if record.valid else "no", "1;32" if record.valid else "1;31")
    yield Row("Because", record.reason)
    for number, claim in enumerate(record.claims):
        yield Row("Proved" if number == 0 else "", claim)


def _composed(record: CompositionRecord) -> Iterator[Row]:
    yield Row("μ", certain_and_ends(record.mu, _VALUE_WIDTH), "1")
    yield Row("Covers", record.statement.sentence)
    if record.failure_probability:
        yield Row("p", f"{rounded_up(record.failure_probability)}, the failure probability")
    if record.exact is not None:
        yield Row("Exact μ", certain_and_ends(record.exact.found.mu, _VALUE_WIDTH))
    if record.neighbours is not None:
        yield Row("Neighbours", record.neighbours)
    yield Row(
        "Proof", "every part is proved, or was given as a number" if record.certified else "no"
    )
    for note in record.notes:
        yield Row("Note", note)


def _at_risk(record: RiskRecord) -> Iterator[Row]:
    yield Row("In words", record.sentence)
    if record.failure_probability:
        yield Row("p", number_text(record.failure_probability))
    yield Row("Advantage", f"at most {rounded_up(record.advantage)}")
    yield Row("Accuracy", f"at most {rounded_up(record.accuracy)}, on a fair coin")
    yield Row("Prior", f"{number_text(record.prior)}, before the release")
    lines = [f"{'FPR':<9}{'TPR at most':<15}posterior at most"]
    lines += [
        f"{point.false_positive_rate:<9g}{rounded_up(point.true_positive_rate):<15}"
        f"{rounded_up(point.posterior)}"
        for point in record.points
    ]
    yield Row("Attacks", tuple(lines))


def _calibrated(record: CalibrationRecord) -> Iterator[Row]:
    name = record.parameter.replace("_", " ")
    yield Row(name, f"{record.value!r}", "1")
    held, above = ("proved", "is proved to be") if record.certified else ("reached", "is")
    symbol = record.goal.partition(" ")[0]
    yield Row("Target", f"{record.goal}, {held} at this value")
    yield Row("Beyond", f"at {record.beyond!r} {symbol} {above} above the target")
    if record.measurement is None:
        yield Row(symbol, certain_and_ends(record.attained, _VALUE_WIDTH))
        for number, remark in enumerate(record.remarks):
            yield Row("Note" if number == 0 else "", remark)
        return
    found = record.measurement.found
    yield from measured_rows(found, _VALUE_WIDTH)
    yield Row("δ(ε)", found.profile_is.sentence)
    yield Row("Proof", found.proof.why)


_ANSWERS = {True: ("true", "1;32"), False: ("false", "1;31"), None: ("undecided", "1;33")}


def _claimed(record: CheckRecord) -> Iterator[Row]:
    for row in record.claims:
        word, colour = _ANSWERS[row["holds"]]
        yield Row("Claim", row["claim"])
        yield Row("Answer", word if row["certified"] else f"{word}, not proved", colour)
        yield Row("Because", row["reason"].partition(": ")[2])
        if row["margin"] is not None:
            yield Row("Margin", f"{row['margin']:.6g}")
        if row["witness"] is not None:
            numbers = ", ".join(
                f"{_SYMBOLS.get(name, name)} = {value:.12g}"
                for name, value in row["witness"].items()
            )
            yield Row("Witness", numbers)
        for number, note in enumerate(row["notes"]):
            yield Row("" if number else "Note", note)


def _compared(record: ComparisonRecord) -> Iterator[Row]:
    heads = "".join(f"{f'δ = {delta:g}':>12}" for delta in record.deltas)
    yield Row("least ε", (heads,))
    for row in record.rows:
        # an upper end, so rounded up
        yield Row(row.name, ("".join(f"{_up(epsilon):>12}" for epsilon in row.epsilons),))
    for row in record.rows:
        through = "" if row.mu is None else f", μ = {row.mu.certain or row.mu}"
        yield Row(row.name, row.how + through)


def _converted(record: ConversionRecord) -> Iterator[Row]:
    symbol = _SYMBOLS[record.result]
    for row in record.table:
        at = ", ".join(
            f"{name} {_shown(value)}" for name, value in row.items() if name != record.result
        )
        value = row[record.result]
        ends = ("∞",) if value.low.is_infinite() else certain_and_ends(value, _VALUE_WIDTH)
        yield Row(symbol, (*((f"at {at}",) if at else ()), *ends) if at else ends)
    for note in record.notes:
        yield Row("Note", note)


def _shown(value: Any) -> str:
    return number_text(value) if isinstance(value, float | int) else str(value)


def _up(epsilon: Interval) -> str:
    if epsilon.high.is_infinite():
        return "∞"
    return f"{ceiling_to_places(Fraction(epsilon.high), 6):f}"
