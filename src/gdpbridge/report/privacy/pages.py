"""A privacy report as a page or as Markdown, by templates; text of users is escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gdpbridge.errors import MissingExtraError
from gdpbridge.identify import Verdict
from gdpbridge.interval import Interval
from gdpbridge.plot.style import DARK
from gdpbridge.report.privacy.basis import CERTAIN, NOT_STATED, quoted, sentence_case
from gdpbridge.report.privacy.numbers import plain, rounded_down, rounded_up
from gdpbridge.report.privacy.scale import scale_of
from gdpbridge.specification.release import Release

if TYPE_CHECKING:
    from gdpbridge.plot import Picture
    from gdpbridge.report.privacy.report import PrivacyReport

__all__ = ["drawn", "html", "markdown"]

_TONES = {Verdict.GDP: "yes", Verdict.NOT_GDP: "no", Verdict.UNKNOWN: "open"}


def html(report: PrivacyReport) -> str:
    """Return the report as one page.

    Without the extra ``charts`` there are no pictures.
    """
    pictures = {
        name: {"svg": picture.to_svg(prefix=f"{name}-"), "text": picture.alt_text}
        for name, picture in drawn(report).items()
    }
    return _rendered("report.html.j2", report, pictures=pictures)


def markdown(report: PrivacyReport, folder: str) -> str:
    """Return the report as Markdown, its pictures in a folder; none are shown if that is empty.

    Without the extra ``charts`` there are no pictures.
    """
    pictures = drawn(report) if folder else {}
    return _rendered("report.md.j2", report, pictures=pictures, folder=folder)


def drawn(report: PrivacyReport) -> Mapping[str, Picture]:
    """The pictures; none without the charting library."""
    try:
        return report.pictures()
    except MissingExtraError:
        return {}


def _rendered(template: str, report: PrivacyReport, **more: Any) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gdpbridge.report.privacy"),
        autoescape=template.endswith(".html.j2"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "up": _up,
        "up6": _up_to_six,
        "held": _held,
        "down": rounded_down,
        "number": plain,
        "sentence": sentence_case,
        "prose": _prose,
    }
    at_risk = report.risk
    # rates of 1 say nothing, and are said once
    stated = at_risk if at_risk is not None and at_risk.accuracy < CERTAIN else None
    pair = None if report.lead.startswith("ε") else quoted(report.epsilons)
    return environment.get_template(template).render(
        report=report,
        found=report.measurement,
        tone=_TONES[report.found.verdict],
        groups=_groups(report.release),
        not_stated=NOT_STATED,
        scale=scale_of(report.found),
        dark=DARK,
        stated=stated,
        pair=pair,
        card=report.model_card(),
        **more,
    )


def _groups(release: Mapping[str, str | None]) -> dict[str, list[dict[str, str | None]]]:
    """The fields of a release under their headings."""
    return {
        heading: [
            {"label": _extra(one)["label"], "text": release[name]} for name, one in fields.items()
        ]
        for heading, fields in Release.groups().items()
    }


def _extra(one: Any) -> Any:
    return one.json_schema_extra


def _up(value: float | Interval | None) -> str:
    """A number as an upper bound."""
    return "undecided" if value is None else rounded_up(value)


def _up_to_six(value: float | Interval) -> str:
    return rounded_up(value, 6)


# numbers and formulas that a browser would break at a hyphen
_WHOLE = re.compile(r"\S*(?:\de-\d|\^\(-)\S*")
_PADDED = re.compile(r"(\de-)0(\d)")
_INDEX = re.compile(r"(δ_μ|f_μ|μ_t|ε_h)(?!\w)")


def _held(text: str) -> str:
    """Text for a page, its numbers in one form and on one line, its indices set as such."""
    import markupsafe

    escaped = _PADDED.sub(r"\1\2", str(markupsafe.escape(text)))
    set_ = _INDEX.sub(lambda found: f"{found[0][0]}<sub>{found[0][2]}</sub>", escaped)
    return markupsafe.Markup(_WHOLE.sub(r'<span class="whole">\g<0></span>', set_))


# what begins a list, a heading, a quotation or a line across, in Markdown
_FIRST = re.compile(r"^(\d*)([-=.)+#>\[])")
# what it would read as its own marks, HTML included; what is no mark where it stands is left alone
_MARKS = re.compile(r"([\\`*<|~$]|(?<!\w)_|_(?!\w)|!(?=\[)|&(?=[#\w])|\](?=\())")


def _prose(text: str) -> str:
    """A user's text inside Markdown, on one line."""
    marked = _MARKS.sub(r"\\\1", " ".join(text.split()))
    return _FIRST.sub(r"\1\\\2", marked)
