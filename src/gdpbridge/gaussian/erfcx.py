"""The scaled complementary error function in float64, with no more than NumPy.

erfcx(x) = e^{x²}·erfc(x). For x ≥ 0, (1 + 2x)·erfcx(x) is smooth in t = (x − K)/(x + K), and a
polynomial in t is right to the last digits on the whole half-line (Shepherd and Laframboise 1981,
"Chebyshev approximation of (1 + 2x)exp(x²)erfc x in 0 ≤ x < ∞"; here K is 2.5 and the degree is
25). SciPy's would take longer to load than most commands take to run.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["erfcx", "erfcx_at"]

_K = 2.5
# from the constant term up: the Chebyshev series to degree 25, in powers of t
_COEFFICIENTS = (
    1.2648381843668615,
    -0.12235676308240419,
    -0.09902453957360054,
    0.15762991902320475,
    -0.10296705603863399,
    0.03276089326912973,
    0.0009318928184352962,
    -0.004382078347539035,
    0.0004918658041021489,
    0.0006321243999471835,
    -8.847920687669829e-05,
    -0.00011352263330159166,
    6.266010784972976e-06,
    2.2700321802206237e-05,
    2.6086713496937893e-06,
    -4.218714353172795e-06,
    -1.5844422539027936e-06,
    5.270042406441144e-07,
    5.323857055177547e-07,
    3.4821591847815385e-08,
    -1.250612981958526e-07,
    -4.304925430265938e-08,
    1.928916211860086e-08,
    1.1903099290545922e-08,
    -1.4759816086462547e-09,
    -1.3684070995217539e-09,
)
# up to here calls of NumPy take longer than sums of Python's floats, which round alike
_FEW = 16

T = TypeVar("T", float, NDArray[np.float64])


def erfcx(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """e^{x²}·erfc(x) of a one-dimensional array of x ≥ 0; relative error below 1e-15."""
    if x.size <= _FEW:
        return np.array([_horner(one) for one in x.tolist()], dtype=np.float64)
    return _horner(x)


def erfcx_at(x: float) -> float:
    """The same of one x ≥ 0."""
    return _horner(x)


def _horner(x: T) -> T:
    # no difference of large numbers, and 1 at x = ∞
    t = 1.0 - 2.0 * _K / (x + _K)
    total = t * _COEFFICIENTS[-1]
    for coefficient in _COEFFICIENTS[-2:0:-1]:
        total += coefficient
        total *= t
    total += _COEFFICIENTS[0]
    total /= 1.0 + 2.0 * x
    return total
