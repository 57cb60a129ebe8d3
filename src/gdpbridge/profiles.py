"""Privacy profiles of mechanisms, as frozen values; each class is loaded when first named."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from gdpbridge.mechanisms.registry import kinds, profile_class

if TYPE_CHECKING:
    from gdpbridge.mechanisms.approx_dp import ApproxDP
    from gdpbridge.mechanisms.banded_matrix import BandedMatrix
    from gdpbridge.mechanisms.bounded_range import BoundedRange
    from gdpbridge.mechanisms.callable import Callable
    from gdpbridge.mechanisms.densities import Densities
    from gdpbridge.mechanisms.discrete_gaussian import DiscreteGaussian
    from gdpbridge.mechanisms.discrete_laplace import DiscreteLaplace
    from gdpbridge.mechanisms.dpsgd import DPSGD
    from gdpbridge.mechanisms.exponential import Exponential
    from gdpbridge.mechanisms.formula import Formula
    from gdpbridge.mechanisms.gaussian import GDP, Gaussian
    from gdpbridge.mechanisms.icea import ICEA
    from gdpbridge.mechanisms.laplace import Laplace
    from gdpbridge.mechanisms.matrix import Matrix
    from gdpbridge.mechanisms.opacus import OpacusHistory
    from gdpbridge.mechanisms.permute_and_flip import PermuteAndFlip
    from gdpbridge.mechanisms.pld import PLD
    from gdpbridge.mechanisms.pure_dp import PureDP
    from gdpbridge.mechanisms.random_allocation import RandomAllocation
    from gdpbridge.mechanisms.randomized_response import RandomizedResponse
    from gdpbridge.mechanisms.renyi import Renyi
    from gdpbridge.mechanisms.report_noisy_max import ReportNoisyMax
    from gdpbridge.mechanisms.sgd_family import SGDFamily
    from gdpbridge.mechanisms.shuffled_epochs import ShuffledEpochs
    from gdpbridge.mechanisms.skellam import Skellam
    from gdpbridge.mechanisms.sparse_vector import SparseVector
    from gdpbridge.mechanisms.table import Table
    from gdpbridge.mechanisms.thresholded_release import ThresholdedRelease
    from gdpbridge.mechanisms.tradeoff import Tradeoff
    from gdpbridge.mechanisms.tradeoff_function import TradeoffFunction
    from gdpbridge.mechanisms.truncated_batches import TruncatedBatches
    from gdpbridge.mechanisms.truncated_laplace import TruncatedLaplace
    from gdpbridge.mechanisms.zcdp import ZCDP
    from gdpbridge.transformations.sequence import Sequence

__all__ = [
    "DPSGD",
    "GDP",
    "ICEA",
    "PLD",
    "ZCDP",
    "ApproxDP",
    "BandedMatrix",
    "BoundedRange",
    "Callable",
    "Densities",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Formula",
    "Gaussian",
    "Laplace",
    "Matrix",
    "OpacusHistory",
    "PermuteAndFlip",
    "PureDP",
    "RandomAllocation",
    "RandomizedResponse",
    "Renyi",
    "ReportNoisyMax",
    "SGDFamily",
    "Sequence",
    "ShuffledEpochs",
    "Skellam",
    "SparseVector",
    "Table",
    "ThresholdedRelease",
    "Tradeoff",
    "TradeoffFunction",
    "TruncatedBatches",
    "TruncatedLaplace",
    "kinds",
    "profile_class",
]

_HOMES = {
    "BandedMatrix": "mechanisms.banded_matrix",
    "Matrix": "mechanisms.matrix",
    "TradeoffFunction": "mechanisms.tradeoff_function",
    "Renyi": "mechanisms.renyi",
    "TruncatedBatches": "mechanisms.truncated_batches",
    "TruncatedLaplace": "mechanisms.truncated_laplace",
    "ThresholdedRelease": "mechanisms.thresholded_release",
    "ShuffledEpochs": "mechanisms.shuffled_epochs",
    "Skellam": "mechanisms.skellam",
    "SparseVector": "mechanisms.sparse_vector",
    "ReportNoisyMax": "mechanisms.report_noisy_max",
    "PermuteAndFlip": "mechanisms.permute_and_flip",
    "Exponential": "mechanisms.exponential",
    "BoundedRange": "mechanisms.bounded_range",
    "ApproxDP": "mechanisms.approx_dp",
    "Callable": "mechanisms.callable",
    "DPSGD": "mechanisms.dpsgd",
    "Densities": "mechanisms.densities",
    "DiscreteGaussian": "mechanisms.discrete_gaussian",
    "DiscreteLaplace": "mechanisms.discrete_laplace",
    "Formula": "mechanisms.formula",
    "GDP": "mechanisms.gaussian",
    "Gaussian": "mechanisms.gaussian",
    "ICEA": "mechanisms.icea",
    "Laplace": "mechanisms.laplace",
    "OpacusHistory": "mechanisms.opacus",
    "PLD": "mechanisms.pld",
    "PureDP": "mechanisms.pure_dp",
    "RandomAllocation": "mechanisms.random_allocation",
    "RandomizedResponse": "mechanisms.randomized_response",
    "SGDFamily": "mechanisms.sgd_family",
    "Sequence": "transformations.sequence",
    "Table": "mechanisms.table",
    "Tradeoff": "mechanisms.tradeoff",
    "ZCDP": "mechanisms.zcdp",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"gdpbridge.{_HOMES[name]}"), name)
    # kinds that other packages bring are found here too; the import system asks for __path__
    for cls in () if name.startswith("__") else kinds().values():
        if cls.__name__ == name:
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(cls.__name__ for cls in kinds().values())})
