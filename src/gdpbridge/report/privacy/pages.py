"""A privacy report as a page or as Markdown, by templates; text of users is escaped."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gdpbridge.errors import MissingExtraError
from gdpbridge.identify import Verdict
from gdpbridge.interval import Interval
from gdpbridge.numeric.exact import decimal_floor
from gdpbridge.profiles.release import Release
from gdpbridge.profiles.title import number_text
from gdpbridge.report.privacy.basis import NOT_STATED, rounded_up
from gdpbridge.report.text import certain_and_ends

if TYPE_CHECKING:
    from gdpbridge.report.privacy.report import PrivacyReport

__all__ = ["html", "markdown"]

_MOST_DIGITS = 15
# below it a number is written with its power of ten
_SMALL = 1e-4
_TONES = {Verdict.GDP: "yes", Verdict.NOT_GDP: "no", Verdict.UNKNOWN: "open"}


def html(report: PrivacyReport) -> str:
    """Return the report as one page.

    Raises:
        MissingExtraError: without the extra ``charts``.
    """
    pictures = {
        name: {"svg": picture.to_svg(prefix=f"{name}-"), "text": picture.alt_text}
        for name, picture in report.pictures().items()
    }
    return _rendered("report.html.j2", report, pictures=pictures)


def markdown(report: PrivacyReport, folder: str) -> str:
    """Return the report as Markdown, its pictures in a folder; none are shown if that is empty.

    Raises:
        MissingExtraError: without the extra ``charts``.
    """
    pictures = report.pictures() if folder else {}
    return _rendered("report.md.j2", report, pictures=pictures, folder=folder)


def _rendered(template: str, report: PrivacyReport, **more: Any) -> str:
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("charts", "a report") from None
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
        "down": _down,
        "number": number_text,
        "cell": _cell,
        "prose": _prose,
    }
    return environment.get_template(template).render(
        report=report,
        found=report.measurement,
        # no wider than the interval, so that it stands below its certain digits
        mu=certain_and_ends(report.measurement.mu, len(f"in {report.measurement.mu}")),
        tone=_TONES[report.measurement.verdict],
        groups=_groups(report.release),
        not_stated=NOT_STATED,
        **more,
    )


def _groups(release: Mapping[str, str | None]) -> dict[str, list[dict[str, str | None]]]:
    """The fields of a release under their headings."""
    return {
        heading: [
            {"label": _extra(one)["label"], "about": one.description, "text": release[name]}
            for name, one in fields.items()
        ]
        for heading, fields in Release.groups().items()
    }


def _extra(one: Any) -> Any:
    return one.json_schema_extra


def _up(value: float | Interval | None) -> str:
    """A number as an upper bound."""
    if value is None:
        return "undecided"
    if isinstance(value, Interval):
        value = value.upper
    return rounded_up(value)


def _down(value: float) -> str:
    """A number as a lower bound; one so near to 1 that four digits hide it with all its nines."""
    if not value or math.isinf(value):
        return number_text(value)
    exact, digits = Fraction(value), 4
    while digits < _MOST_DIGITS and decimal_floor(exact, digits) < 1 - 2 * (1 - exact):
        digits += 1
    shown = decimal_floor(exact, digits)
    return f"{shown:f}" if value > _SMALL else f"{shown:g}"


# what Markdown would read as its own marks, HTML included
_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$])")


def _prose(text: str) -> str:
    """A user's text inside Markdown, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _cell(text: object) -> str:
    """A text of ours inside a Markdown table."""
    return str(text).replace("|", "\\|")
