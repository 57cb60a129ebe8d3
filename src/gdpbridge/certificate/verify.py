"""Re-prove a certificate: the checker, with the errors of this library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gdpbridge_verify
from gdpbridge.certificate.model import Certificate, read, told
from gdpbridge.errors import UndecidedError
from gdpbridge_verify.check import Verification
from gdpbridge_verify.refusal import Undecided

__all__ = ["Verification", "verify"]


def verify(
    certificate: Certificate | dict[str, Any] | str | bytes | Path,
    *,
    folder: str | Path | None = None,
) -> Verification:
    """Re-prove a certificate with interval arithmetic of its own, independent of the search.

    Args:
        certificate: a path, JSON text as bytes, a parsed document or a certificate.
        folder: where the file of rows is that a certificate of a table may name; if None, where
            the certificate is.

    Returns:
        Whether every line holds; if not, the first that fails and by how much.

    Raises:
        InputError: if it is not a certificate of a known version.
        UndecidedError: if a line is undecided at the precision cap of 8192 bits, or the whole
            would take more work than is allowed, about five seconds.
    """
    if folder is None and isinstance(certificate, str | Path):
        folder = Path(certificate).parent
    try:
        return told(gdpbridge_verify.verify, read(certificate), folder)
    except Undecided as error:
        raise UndecidedError(str(error)) from None
