"""``python -m gdpbridge_verify FILE``: what a certificate claims, and whether it is proved."""

from __future__ import annotations

import io
import sys

from gdpbridge_verify.check import verify
from gdpbridge_verify.reader import MAX_BYTES
from gdpbridge_verify.refusal import Malformed, Undecided

USAGE = """usage: python -m gdpbridge_verify FILE

Re-prove a certificate (- for standard input), and print what it proves.
Exit status: 0 proved, 2 not a certificate, 3 refused, 4 undecided within the limits."""


def main(words: list[str]) -> int:
    """Check the certificate that is named, and return the exit status."""
    if len(words) != 1 or words[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if words in (["-h"], ["--help"]) else sys.stderr)
        return 0 if words in (["-h"], ["--help"]) else 2
    try:
        found = verify(sys.stdin.buffer.read(MAX_BYTES + 1) if words[0] == "-" else words[0])
    except (Malformed, Undecided) as error:
        print(f"{error}", file=sys.stderr)
        return 2 if isinstance(error, Malformed) else 4
    print("valid" if found.valid else "refused", found.reason, sep=": ")
    for claim in found.claims:
        print(f"  {claim}")
    return 0 if found.valid else 3


def run() -> None:
    """Check the certificate that the command line names."""
    for stream in (sys.stdout, sys.stderr):
        # a terminal may know none of our letters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
