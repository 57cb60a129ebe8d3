"""Re-prove a certificate with arithmetic of its own.

Nothing here is shared with the search or with ball arithmetic: intervals are MPFR numbers rounded
both ways, and the mechanisms' formulas are written again.
"""

from gdpbridge.certificate.checker.check import Verification, verify

__all__ = ["Verification", "verify"]
