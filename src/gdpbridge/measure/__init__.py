"""Measure: the least μ of a privacy profile, as a proved interval."""

from gdpbridge.measure.entry import (
    COMPOSED_TOL,
    DEFAULT_HEAD,
    DEFAULT_TOL,
    default_tol,
    is_provable,
    measure,
    method_names,
)
from gdpbridge.measure.result import Measurement, Standing, Statement

__all__ = [
    "COMPOSED_TOL",
    "DEFAULT_HEAD",
    "DEFAULT_TOL",
    "Measurement",
    "Standing",
    "Statement",
    "default_tol",
    "is_provable",
    "measure",
    "method_names",
]
