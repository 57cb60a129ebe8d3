"""What profiles declare about δ(ε) as ε grows: one class for each case of the tail analysis."""

from gdpbridge.curves.tails.discrete import DiscreteGaussianTail
from gdpbridge.curves.tails.gaussian import (
    CoarseDecayTail,
    CutOffTail,
    GaussianBoundTail,
    GaussianCurveTail,
    GaussianDecayTail,
    NearGaussianTail,
    TouchingTail,
)
from gdpbridge.curves.tails.level import ConstantTail
from gdpbridge.curves.tails.settled import (
    RunsTail,
    SettledTail,
    covering_mu,
    runs_of,
    settled_runs,
)
from gdpbridge.curves.tails.slow import (
    CERTAIN,
    CertainFailureTail,
    FloorTail,
    SlowDecayTail,
    SlowerTail,
)
from gdpbridge.curves.tails.unproved import AssumedTail, EstimatedTail, PlateauTail, UnknownTail

__all__ = [
    "CERTAIN",
    "AssumedTail",
    "CertainFailureTail",
    "CoarseDecayTail",
    "ConstantTail",
    "CutOffTail",
    "DiscreteGaussianTail",
    "EstimatedTail",
    "FloorTail",
    "GaussianBoundTail",
    "GaussianCurveTail",
    "GaussianDecayTail",
    "NearGaussianTail",
    "PlateauTail",
    "RunsTail",
    "SettledTail",
    "SlowDecayTail",
    "SlowerTail",
    "TouchingTail",
    "UnknownTail",
    "covering_mu",
    "runs_of",
    "settled_runs",
]
