"""Audits: what an attacker achieved, as lower bounds that stand beside the proved upper ones.

The numbers hold in finite samples, with a stated confidence. A method is one file; floats find
each bound, and ball arithmetic proves it.
"""

from gdpbridge.auditing.entry import METHODS, audit, audit_counts, audit_guesses
from gdpbridge.auditing.mechanism import audit_mechanism
from gdpbridge.auditing.result import Audit, Roc
from gdpbridge.auditing.task import Finding

__all__ = [
    "METHODS",
    "Audit",
    "Finding",
    "Roc",
    "audit",
    "audit_counts",
    "audit_guesses",
    "audit_mechanism",
]
