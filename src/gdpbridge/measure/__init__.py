"""Measure: the least μ of a privacy profile, as a proved interval."""

from gdpbridge.measure.entry import default_tol, is_provable, measure
from gdpbridge.measure.method import (
    COMPOSED_TOL,
    DEFAULT_METHOD,
    DEFAULT_TOL,
    Method,
    method_named,
    method_names,
    register_method,
)
from gdpbridge.measure.result import Measurement, Standing, Statement
from gdpbridge.measure.statements import DEFAULT_HEAD

__all__ = [
    "COMPOSED_TOL",
    "DEFAULT_HEAD",
    "DEFAULT_METHOD",
    "DEFAULT_TOL",
    "Measurement",
    "Method",
    "Standing",
    "Statement",
    "default_tol",
    "is_provable",
    "measure",
    "method_named",
    "method_names",
    "register_method",
]
