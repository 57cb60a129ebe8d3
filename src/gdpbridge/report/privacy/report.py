"""A privacy report as plain data, and how it is written: HTML, Markdown or JSON."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np

from gdpbridge.errors import InputError
from gdpbridge.files import write_bytes, write_text
from gdpbridge.fit import GOOD_FIT, regret
from gdpbridge.interval import Interval
from gdpbridge.measure import Measurement, measure
from gdpbridge.mechanisms.base import Profile
from gdpbridge.numeric.exact import ceiling_to_places
from gdpbridge.plot.picture import checked_path
from gdpbridge.progress import silent, with_bar
from gdpbridge.report.privacy.basis import (
    CERTAIN,
    assumed,
    coverage,
    headline,
    lead,
    noted,
    obtained,
    proved,
    safety,
    standing,
    verdict,
)
from gdpbridge.report.privacy.composition import (
    Component,
    InputFile,
    components,
    input_files,
    published,
    title_of,
)
from gdpbridge.report.privacy.exports import model_card, pdf
from gdpbridge.report.privacy.registry import deployment_yaml
from gdpbridge.report.privacy.tables import (
    RATES,
    AttackRow,
    DeltaRow,
    EpsilonRow,
    Stated,
    TradeoffRow,
    attack_rows,
    delta_rows,
    epsilon_rows,
    tradeoff_rows,
)
from gdpbridge.report.record import MeasurementRecord, Schema, measurement_record
from gdpbridge.risk import Risk, risk
from gdpbridge.specification.release import Release

if TYPE_CHECKING:
    from gdpbridge.plot import Picture

__all__ = ["FORMATS", "PrivacyReport", "Proof", "privacy_report"]

FORMATS = ("html", "md", "json", "pdf", "yaml")
_PACKAGES = ("gdpbridge", "numpy", "scipy", "python-flint", "gmpy2", "pydantic")


@dataclass(frozen=True)
class Proof:
    """The certificate of a report's interval.

    Attributes:
        text: the certificate, None if there is none.
        sha256: its SHA-256 in hexadecimal digits.
        absent_because: why there is none.
    """

    text: str | None
    sha256: str | None
    absent_because: str


@dataclass(frozen=True, repr=False)
class PrivacyReport:
    """What a report says, as plain data; made by :func:`privacy_report`.

    Attributes:
        schema: what the document is.
        title: of the release, or of the mechanism.
        made: when the report was made, UTC.
        release: what is said of the release, by field; None where nothing is.
        mechanism: the mechanism in one line.
        measurement: the statement and the interval for μ.
        safety: whether the mechanism is as safe as its statement, in one sentence.
        headline: the statement in one line.
        lead: the number to begin with: that line, or the mechanism's own where no μ is for every ε.
        verdict: whether some finite μ covers every ε, in words.
        standing: the interval for μ, and whether it is proved.
        covers: what μ covers.
        obtained: how the interval was obtained.
        proved: what is proved, a sentence each.
        assumed: what is assumed, a sentence each.
        notes: what else a careful reader should know, a sentence each.
        advantage: the most by which an attacker's true-positive rate exceeds the false-positive
            rate, of the mechanism itself; rounded up.
        guess: what that means for a guess, in words.
        attacks: the best true-positive rates at low false-positive rates.
        risk: what the upper end of μ, with its p, allows an attacker; None where μ is
            infinite or p is 1.
        regret: the worst-case regret of the statement; None likewise.
        fit: the regret in words.
        deltas: δ at some ε.
        epsilons: the least ε at some δ.
        tradeoff: the trade-off function at some α.
        components: the mechanism, and those that it is made of.
        inputs: the files that it was read from.
        certificate: the certificate, with its hash.
        versions: of this program and what it computes with.
    """

    schema: Schema
    title: str
    made: str
    release: dict[str, str | None]
    mechanism: str
    measurement: MeasurementRecord
    safety: str
    headline: str
    lead: str
    verdict: str
    standing: str
    covers: str
    obtained: str
    proved: tuple[str, ...]
    assumed: tuple[str, ...]
    notes: tuple[str, ...]
    advantage: float
    guess: str
    attacks: tuple[AttackRow, ...]
    risk: Risk | None
    regret: Interval | None
    fit: str
    deltas: tuple[DeltaRow, ...]
    epsilons: tuple[EpsilonRow, ...]
    tradeoff: tuple[TradeoffRow, ...]
    components: tuple[Component, ...]
    inputs: tuple[InputFile, ...]
    certificate: Proof
    versions: dict[str, str]
    # what pictures are drawn of
    found: Measurement = field(repr=False)

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        del fields["found"]
        return fields

    def pictures(self) -> dict[str, Picture]:
        """Return the pictures of the report by name.

        Raises:
            MissingExtraError: without the extra ``charts``.
        """
        return dict(self._pictures)

    @cached_property
    def _pictures(self) -> dict[str, Picture]:
        # Markdown both names and saves them
        from gdpbridge.report.privacy.pictures import pictures_of

        return pictures_of(self.found)

    def to_json(self, *, ascii_only: bool = False) -> str:
        """Return the report as a JSON document.

        Args:
            ascii_only: whether other characters are written as escapes.
        """
        from gdpbridge.report.json import to_json

        return to_json(self.document(), ascii_only=ascii_only) + "\n"

    def to_html(self) -> str:
        """Return the report as one page that needs no network.

        Without the extra ``charts`` it has no pictures.
        """
        from gdpbridge.report.privacy.pages import html

        return html(self)

    def __repr__(self) -> str:
        return f"<PrivacyReport of {self.title}: {self.lead}>"

    def _repr_html_(self) -> str:
        # a frame keeps the page's style to itself
        page = escape(self.to_html(), {'"': "&quot;"})
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0"></iframe>'

    def model_card(self) -> list[tuple[str, str]]:
        """Return what a model card should say of privacy: names and texts."""
        return model_card(self)

    def to_markdown(self, folder: str = "") -> str:
        """Return the report as Markdown.

        Args:
            folder: where its pictures are, each an SVG file by its name; none are shown if empty,
                or without the extra ``charts``.
        """
        from gdpbridge.report.privacy.pages import markdown

        return markdown(self, folder)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the report to a file, and for Markdown its pictures to a folder beside it.

        Args:
            path: the file; its ending says the format: .html, .md, .json, .pdf (printed by a
                Chromium of this machine) or .yaml (a record for a registry of deployments).

        Raises:
            InputError: for another ending, or a file that cannot be written or printed.
        """
        from gdpbridge.report.privacy.pages import drawn

        target, kind = checked_path(path, FORMATS)
        pictures: Mapping[str, Picture] = {}
        folder = target.with_name(f"{target.stem}_pictures")
        match kind:
            case "json":
                text = self.to_json()
            case "md":
                pictures, text = drawn(self), self.to_markdown(folder.name)
            case "yaml":
                text = deployment_yaml(self)
            case _:
                text = self.to_html()
        printed = pdf(text, str(path)) if kind == "pdf" else None
        try:
            if pictures:
                folder.mkdir(exist_ok=True)
            for name, picture in pictures.items():
                picture.save(folder / f"{name}.svg")
            # last, so that it shows nothing that is not there
            if printed is None:
                write_text(target, text)
            else:
                write_bytes(target, printed)
        except OSError as error:
            allowed = f"a file that can be written ({error.strerror})"
            raise InputError("output", str(path), allowed) from None
        return target


@with_bar
def privacy_report(
    profile: Profile,
    measured: Measurement | None = None,
    *,
    release: Release | dict[str, Any] | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> PrivacyReport:
    """Report on a mechanism: μ, what it covers and rests on, and what it means for an attacker.

    Args:
        profile: the mechanism.
        measured: its measurement, if another one than the default is wanted.
        release: what is said of the release: :class:`~gdpbridge.Release`, or its fields.
        progress: called with a sentence and the share of the work done; None draws a bar in a
            terminal or a notebook once that takes over a second.

    Raises:
        InputError: for a measurement of another mechanism, or a release with unknown fields.

    The α of the trade-off table and the regret Δ are those that Gomez et al. (arXiv 2503.10945)
    ask a report for; the fields of a release those of NIST SP 800-226 and of public registries.
    """
    said = release if isinstance(release, Release) else Release.from_data(release or {})
    report = progress or silent
    found = measured or measure(profile, progress=report)
    if found.profile != profile:
        raise InputError("measured", found.profile.kind, "a measurement of the reported mechanism")
    stated = Stated(found.mu.upper, found.failure_probability)
    report("tabulating the profile", 0.2)
    deltas = delta_rows(profile, stated, () if found.eps_h is None else (found.eps_h,))
    epsilons = epsilon_rows(profile, stated)
    report("tabulating the trade-off function", 0.5)
    tradeoff = tradeoff_rows(profile, stated)
    report("comparing the statement with the profile", 0.7)
    gap = regret(profile, stated.mu, stated.failure) if stated.binds else None
    at_risk = None
    if stated.binds:
        at_risk = risk(found.mu.high, stated.failure, false_positive_rates=RATES)
    advantage = float(np.asarray(profile.delta_bounds(0.0)[1]))
    record, mechanism = measurement_record(found), title_of(profile)
    return PrivacyReport(
        schema=Schema("gdpbridge.report", 1),
        title=said.title or mechanism,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        release=said.model_dump(),
        mechanism=mechanism,
        measurement=replace(record, mechanism=published(record.mechanism)),
        safety=safety(found),
        headline=headline(found),
        lead=lead(found, epsilons, deltas),
        verdict=verdict(found),
        standing=standing(found),
        covers=coverage(found),
        obtained=obtained(found),
        proved=tuple(proved(found)),
        assumed=tuple(assumed(found, said)),
        notes=tuple(noted(found)),
        advantage=advantage,
        guess=_guess(advantage),
        attacks=tuple(attack_rows(profile, at_risk)),
        risk=at_risk,
        regret=gap,
        fit=_fit(gap),
        deltas=tuple(deltas),
        epsilons=tuple(epsilons),
        tradeoff=tuple(tradeoff),
        components=tuple(components(profile)),
        inputs=tuple(input_files(profile)),
        certificate=_proof(found),
        versions=_versions(),
        found=found,
    )


def _guess(advantage: float) -> str:
    share = ceiling_to_places(100 * (1 + Fraction(advantage)) / 2, 2)
    if share >= 100 * CERTAIN:
        return "These guarantees do not keep an attacker from being right almost always."
    return (
        "An attacker who guesses whether one record was used, at even odds beforehand, is right "
        f"at most {share} times in a hundred."
    )


def _fit(gap: Interval | None) -> str:
    if gap is None:
        return "no regret is given, as the statement says nothing: μ is infinite, or p is 1"
    words = (
        "raise both error rates that μ leaves an attacker by that much, at once, and they are no "
        "less than what the mechanism leaves"
    )
    if gap.upper <= GOOD_FIT:
        return f"{words}; at most {GOOD_FIT} counts as a good fit"
    if gap.lower > GOOD_FIT:
        return (
            f"{words}; it is more than {GOOD_FIT}, beyond which the profile itself should be "
            "reported too"
        )
    return f"{words}; whether it is at most {GOOD_FIT}, a good fit, is not decided"


def _proof(found: Measurement) -> Proof:
    document = found.certificate
    if document is None:
        return Proof(None, None, found.uncertified_because)
    text = document.to_json()
    return Proof(text, hashlib.sha256(text.encode()).hexdigest(), "")


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed as a package"
    return found
