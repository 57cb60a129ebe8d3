"""What every measuring method promises of every kind, at the ends of its parameters' ranges."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gdpbridge as gdp
from gdpbridge.curves.base import Form
from gdpbridge.errors import WorkLimitError
from gdpbridge.measure import (
    DEFAULT_METHOD,
    Measurement,
    Statement,
    method_named,
    method_names,
)
from gdpbridge.measure.method import PROVED, default_method
from gdpbridge.mechanisms.base import Profile

Draw = Callable[[type[Profile]], st.SearchStrategy[dict[str, Any]]]
METHODS = [method_named(name) for name in method_names()]
# what fits formulas and lines alike; the default stands for whatever proves
GENERAL = [
    method.name
    for method in METHODS
    if method.name == DEFAULT_METHOD or {Form.SMOOTH, Form.LINEAR} <= method.handles
]

scopes = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"eps_h": st.sampled_from([1e-9, 0.2, 1.0, 7.0])}),
    st.fixed_dictionaries({"failure": st.sampled_from([1e-9, 1e-3, 0.2])}),
)


def attempt(profile: Profile, method: str, scope: dict[str, Any]) -> Measurement | WorkLimitError:
    try:
        return gdp.measure(profile, tol=1e-2, method=method, **scope)
    except WorkLimitError as error:
        return error


class TestInterval:
    """Every method's interval is as narrow as asked for and agrees with a far narrower one."""

    @settings(
        max_examples=settings().max_examples // 8,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(st.data())
    def test_width_and_agreement(
        self, kind: type[Profile], parameters: Draw, data: st.DataObject
    ) -> None:
        """Width at most the tolerance, ends around the certified answer, fields that fit."""
        profile = kind(**data.draw(parameters(kind)))
        scope = data.draw(scopes)
        if kind.__name__ in ("Gaussian", "GDP") and "failure" in scope:
            scope = {"failure": 0.2}
        finer = gdp.measure(profile, tol="1e-8", **scope)
        assert finer.certified
        for method in GENERAL:
            found = attempt(profile, method, scope)
            if isinstance(found, WorkLimitError):
                assert found.needed > found.limit
                assert f"{found.needed:,}" in str(found)
                continue
            assert found.mu.low <= finer.mu.low
            assert finer.mu.high <= found.mu.high
            if not found.mu.high.is_infinite():
                assert Fraction(found.mu.high) - Fraction(found.mu.low) <= Fraction("0.01")
            self.check_fields(found, scope, method)

    def check_fields(self, found: Measurement, scope: dict[str, Any], method: str) -> None:
        if method == DEFAULT_METHOD:
            assert found.how == default_method(found.profile.curve.form)
            assert found.how.assurance is PROVED
        else:
            assert found.method == method
        if "eps_h" in scope:
            assert found.statement is Statement.HEAD
            assert found.eps_h == scope["eps_h"]
        elif "failure" in scope:
            assert found.statement is Statement.APPROXIMATE
            assert found.failure_probability >= scope["failure"]
        elif found.verdict is gdp.Verdict.GDP:
            assert found.statement is Statement.WHOLE
            assert found.failure_probability == 0
        assert found.statement.sentence
        if found.whole_range_mu is not None and found.statement is not Statement.WHOLE:
            assert found.whole_range_mu.high >= found.mu.low
