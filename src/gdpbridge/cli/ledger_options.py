"""The options of ``gdpbridge ledger``, each declared once."""

from __future__ import annotations

from typing import Annotated

import typer

Url = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="URL",
        help="a file, sqlite:///FILE or postgresql://USER@HOST/DATABASE [default: "
        "GDPBRIDGE_LEDGER, or a file in the user's folder]",
        show_default=False,
    ),
]
Dataset = Annotated[str, typer.Argument(metavar="DATASET", help="the name of a data set")]
SomeDataset = Annotated[
    str | None, typer.Argument(metavar="DATASET", help="the name of a data set [default: all]")
]
Unit = Annotated[
    str, typer.Option(metavar="WORD", help="the unit of privacy, such as person or household")
]
Relation = Annotated[
    str,
    typer.Option(
        metavar="WORD",
        help="the neighbouring relation: add-remove, replace-one or zero-out",
    ),
]
Actor = Annotated[
    str | None, typer.Option(metavar="NAME", help="who does this [default: the system's user]")
]
Key = Annotated[
    str | None,
    typer.Option(
        "--id", "--key", metavar="K", help="a key: what is asked for under it is recorded once"
    ),
]
Budget = Annotated[
    str | None,
    typer.Option("--mu", metavar="μ", help="a number from 1e-30 to 1e6, or a fraction"),
]
Square = Annotated[
    str | None,
    typer.Option("--mu-squared", metavar="μ²", help="its square instead, of which sums are made"),
]
Failures = Annotated[
    str, typer.Option("--failure", metavar="p", help="the sum of failure probabilities allowed")
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="why, for the history")]
Purpose = Annotated[
    str, typer.Option(metavar="TEXT", help="what the release is for, such as 'table 3'")
]
Part = Annotated[
    str | None,
    typer.Option(metavar="PARTITION/PART", help="the one part that the release is computed from"),
]
Uncertified = Annotated[
    bool, typer.Option("--uncertified", help="accept a μ that is not proved, and record it as such")
]
Failure = Annotated[
    str | None,
    typer.Option("--failure", metavar="p", help="the failure probability, 0 or a number below 1"),
]
CertificateFile = Annotated[
    str | None,
    typer.Option(
        "--certificate", metavar="FILE", help="a certificate of the μ, which is checked here"
    ),
]
StatedRelation = Annotated[
    str | None,
    typer.Option("--neighbours", metavar="WORD", help="the relation that μ is stated for"),
]
StatedUnit = Annotated[
    str | None, typer.Option("--unit", metavar="WORD", help="the unit that μ is stated for")
]
Hours = Annotated[
    str,
    typer.Option(
        metavar="HOURS",
        help="after how many hours it is shown as overdue; it counts until it is cancelled",
    ),
]
Number = Annotated[
    str, typer.Argument(metavar="NUMBER", help="the number of the reservation's entry")
]
AuditedEntry = Annotated[
    str, typer.Argument(metavar="NUMBER", help="the number of the audited release's entry")
]
AuditFile = Annotated[
    str,
    typer.Argument(metavar="FILE", help="what gdpbridge audit --json printed; - for input"),
]
Parts = Annotated[
    list[str] | None,
    typer.Option("--part", metavar="NAME", help="the name of a part; give it once for each"),
]
Partition = Annotated[str, typer.Argument(metavar="PARTITION", help="the partition's name")]
Last = Annotated[
    str | None, typer.Option(metavar="N", help="a whole number > 0: only the newest entries")
]
Certificates = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="where the certificates are that entries name: each is proved anew, and must be for "
        "what was charged",
    ),
]
Head = Annotated[
    str | None,
    typer.Option(metavar="HASH", help="a hash noted earlier, which the history must contain"),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="jsonl or csv [default: by the file's name, or jsonl]",
        show_default=False,
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="RECEIPT",
        help="a receipt that was given for an entry, which the history must contain as it was: "
        "DATASET:NUMBER:HASH, or a file with that or with the JSON of a receipt",
    ),
]
Target = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="a new file [default: standard output]",
        show_default=False,
    ),
]
Source = Annotated[str, typer.Argument(metavar="FILE", help="what export wrote; - for input")]
