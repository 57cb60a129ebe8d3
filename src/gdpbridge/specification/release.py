"""What only the people behind a release can say of it: for whom, by whom, from what, trusting whom.

The fields are those that NIST SP 800-226 asks an evaluation of differential privacy to look at, and
those that public registries of deployments record. None is checked; a report prints what is given
and says which are not stated.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from gdpbridge.errors import InputError, Words

__all__ = ["Release"]

_LONGEST = 5000
# they turn the direction of the text after them
_TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def _text(value: object) -> str:
    # a date or a finite number, as TOML reads them, stands as it is written
    plain = isinstance(value, str | int | float) or hasattr(value, "isoformat")
    if isinstance(value, bool) or not plain or value != value:  # noqa: PLR0124
        raise ValueError("not a text")
    text = "\n".join(str(value).split("\r\n")).strip().replace("\t", " ")
    if not text or len(text) > _LONGEST or any(map(_is_hidden, text)):
        raise ValueError("not a text")
    return text


def _is_hidden(character: str) -> bool:
    """Whether a character may make a page show another text than is written."""
    control = unicodedata.category(character) in ("Cc", "Cs", "Cn")
    return (control and character != "\n") or character in _TURNING


Text = Annotated[str | None, BeforeValidator(_text)]


def _field(group: str, label: str, description: str) -> Any:
    extra: Any = {"group": group, "label": label}
    return Field(default=None, description=description, json_schema_extra=extra)


class Release(BaseModel):
    """What is said of a release, each field a text or left out.

    Raises:
        InputError: (a ``ValueError``) for a field that is not known or not a text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Text = _field("The release", "Title", "what the release is called")
    description: Text = _field(
        "The release", "What is released", "what was released, in a sentence"
    )
    organisation: Text = _field("The release", "Organisation", "who holds the data and releases")
    contact: Text = _field("The release", "Contact", "whom to ask")
    date: Text = _field("The release", "Date", "when it was or will be released")
    data: Text = _field("The release", "Data", "the data set, and whom it describes")
    intended_use: Text = _field("The release", "Intended use", "what the release is for")
    release_type: Text = _field(
        "The release", "Kind of release", "once, repeated, interactive or a trained model"
    )
    product: Text = _field(
        "The release",
        "Product",
        "Summary statistics, Machine learning model, Dataset, Synthetic data or Interactive API",
    )
    region: Text = _field("The release", "Region", "where the people in the data live")
    sector: Text = _field("The release", "Sector", "such as health, census or advertising")
    unit_of_privacy: Text = _field(
        "The promise", "Unit of privacy", "what is protected: a person, an event, a person's day"
    )
    contribution_bound: Text = _field(
        "The promise",
        "Contribution bound",
        "how much of the data one unit may be, and how enforced",
    )
    trust_model: Text = _field(
        "The promise", "Trust model", "central, local, shuffled or distributed"
    )
    trusted_parties: Text = _field(
        "The promise", "Trusted parties", "who sees the data without noise"
    )
    time_span: Text = _field(
        "The promise", "Time span", "whether the promise is for all time or a period, and which"
    )
    other_releases: Text = _field(
        "The promise", "Other releases", "what else was released from the same data"
    )
    justification: Text = _field(
        "The promise", "Choice of parameters", "why these privacy parameters were chosen"
    )
    implementation: Text = _field(
        "The implementation", "Implementation", "libraries and versions that ran the mechanism"
    )
    accounting: Text = _field(
        "The implementation", "Accounting", "how privacy loss was tracked when it ran"
    )
    preprocessing: Text = _field(
        "The implementation", "Preprocessing", "what was done to the data before, without noise"
    )
    postprocessing: Text = _field(
        "The implementation", "Postprocessing", "what is done to the output afterwards"
    )
    randomness: Text = _field(
        "The implementation",
        "Randomness",
        "where random bits come from, and how attacks on floating point are met",
    )
    side_channels: Text = _field(
        "The implementation", "Side channels", "timing, errors and other ways around the noise"
    )
    access: Text = _field(
        "The implementation", "Access to the data", "how the data are collected, kept and guarded"
    )
    links: Text = _field("The implementation", "Further information", "where to read more")

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            if first["type"] == "extra_forbidden":
                known = ", ".join(type(self).model_fields)
                allowed = f"left out, as it is not a field of a release: those are {known}"
                raise InputError(f"release.{name}", first["input"], allowed) from None
            allowed = f"a text of 1 to {_LONGEST} characters, none of them a control character"
            raise InputError(f"release.{name}", first["input"], allowed) from None

    @classmethod
    def from_data(cls, data: object) -> Release:
        """Return what plain data says of a release.

        Raises:
            InputError: if it is not a table of the fields.
        """
        if not isinstance(data, Mapping):
            raise InputError(
                "release", Words("not a table"), "a table of texts such as unit_of_privacy"
            )
        return cls(**{str(name): value for name, value in data.items()})

    @classmethod
    def groups(cls) -> dict[str, dict[str, FieldInfo]]:
        """Return the fields by name, under the heading that they belong to."""
        found: dict[str, dict[str, FieldInfo]] = {}
        for name, field in cls.model_fields.items():
            extra: Any = field.json_schema_extra
            found.setdefault(extra["group"], {})[name] = field
        return found
