"""Results as notebooks show them: one line, a table in HTML, plain data, a row of a data frame."""

from __future__ import annotations

import html as markup
import json
from collections.abc import Iterator, Mapping
from typing import Any

from gdpbridge.amplify.clip_rectify import ClipRectifyPlan
from gdpbridge.amplify.subsample import SubsamplePlan
from gdpbridge.auditing import Audit
from gdpbridge.calibration import Calibration
from gdpbridge.check import Checked
from gdpbridge.compose import Composition
from gdpbridge.identify import Identification
from gdpbridge.measure import Measurement
from gdpbridge.mechanisms.base import Profile
from gdpbridge.report.amplify import clip_rectify_record, plan_to_text, subsample_record
from gdpbridge.report.answers import (
    answer_to_text,
    calibration_record,
    check_record,
    composition_record,
    risk_record,
)
from gdpbridge.report.audit import audit_document, audit_to_text
from gdpbridge.report.json import to_json
from gdpbridge.report.record import (
    identification_record,
    measurement_record,
)
from gdpbridge.report.text import identification_to_text, tail_text, to_text
from gdpbridge.risk import Risk
from gdpbridge.specification.title import mechanism_title

__all__ = ["document", "flat", "html", "line"]

_WIDTH = 100
_LONGEST = 120


def line(shown: Any) -> str:
    """Return a result in one line of at most some 200 characters."""
    match shown:
        case Measurement():
            how = "proved" if shown.certified else "not proved"
            what = f"μ in {shown.mu}, {shown.statement}, {shown.verdict}, {how}"
            return f"<Measurement of {_title(shown.profile)}: {what}>"
        case Identification():
            return f"<Identification: {shown.verdict}, {tail_text(shown)}>"
        case Calibration():
            what = f"{shown.parameter} = {shown.value!r} for {shown.goal.words}"
            return f"<Calibration of {shown.profile.kind}: {what}>"
        case Audit():
            sure = f"{100 * shown.confidence:g} % confidence"
            return f"<Audit: μ ≥ {shown.mu.lower:.4g}, ε ≥ {shown.epsilon.lower:.4g}, {sure}>"
        case Checked():
            return f"<Checked {shown.claim.text!r} of {_title(shown.profile)}: {shown.reason}>"
        case Composition():
            return f"<Composition of {shown.parts}: μ in {shown.mu}, {shown.statement}>"
        case ClipRectifyPlan():
            return f"<ClipRectifyPlan of {_title(shown.profile.base)}: μ in {shown.mu}>"
        case SubsamplePlan():
            what = f"rate {shown.rate!r}, {shown.scheme}, for μ ≤ {shown.target_mu:g}"
            return f"<SubsamplePlan of {_title(shown.base)}: {what}>"
        case Risk():
            return f"<Risk at μ = {shown.mu:g}: advantage at most {shown.advantage:.6g}>"
    return f"<{type(shown).__name__}>"


def _title(profile: Profile) -> str:
    title = mechanism_title(profile.model_dump())
    return title if len(title) <= _LONGEST else f"{title[: _LONGEST - 1]}…"


def html(shown: Any) -> str:
    """Return a result as the text of the command line, for a notebook."""
    if isinstance(shown, Profile):
        text = f"{_title(shown)}\n{type(shown).__doc__ or ''}".partition("\n\n")[0]
    elif isinstance(shown, Measurement):
        text = to_text(measurement_record(shown), _WIDTH)
    elif isinstance(shown, ClipRectifyPlan | SubsamplePlan):
        text = plan_to_text(_record(shown), _WIDTH)
    elif isinstance(shown, Audit):
        text = audit_to_text(shown, _WIDTH)
    elif isinstance(shown, Identification):
        text = identification_to_text(shown, _WIDTH)
    else:
        text = answer_to_text(_record(shown), _WIDTH)
    return f"<pre>{markup.escape(text)}</pre>"


def document(shown: Any) -> dict[str, Any]:
    """Return a result as plain data: numbers, texts, lists and dictionaries."""
    found: dict[str, Any] = json.loads(to_json(_record(shown)))
    return found


def _record(shown: Any) -> Any:
    match shown:
        case Measurement():
            return measurement_record(shown)
        case Calibration():
            return calibration_record(shown)
        case Composition():
            return composition_record(shown)
        case ClipRectifyPlan():
            return clip_rectify_record(shown)
        case SubsamplePlan():
            return subsample_record(shown)
        case Risk():
            return risk_record(shown)
        case Audit():
            return audit_document(shown)
        case Checked():
            return check_record(shown.profile, [shown])
    # an identification does not know its mechanism
    whole = identification_record(_NO_PROFILE, shown).document()
    return {name: value for name, value in whole.items() if name != "mechanism"}


class _Unknown:
    def model_dump(self) -> dict[str, Any]:
        return {}


_NO_PROFILE: Any = _Unknown()


def flat(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested plain data as one row: mu_low for {"mu": {"low": …}}; lists as JSON text."""
    return dict(_flat("", data))


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _flat(f"{name}_{key}".strip("_"), part)
    elif isinstance(value, list):
        yield name, json.dumps(value, ensure_ascii=False)
    else:
        # infinities are texts in JSON and numbers in a column
        yield name, float(value) if value in ("inf", "-inf") else value
