"""Measure: the least μ of a privacy profile, as a proved interval."""

from gdpbridge.measure.entry import DEFAULT_HEAD, DEFAULT_TOL, measure, method_names
from gdpbridge.measure.result import Measurement, Statement

__all__ = ["DEFAULT_HEAD", "DEFAULT_TOL", "Measurement", "Statement", "measure", "method_names"]
