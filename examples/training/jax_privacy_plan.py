"""Train by a plan of JAX Privacy, and say what μ its own event amounts to.

The plan holds the clipping, the sampling, the noise and a DpEvent that says what these are
together; the event is all that is needed. With more than one band the noise is correlated between
steps (DP-BandMF), and the event says so.

    pip install 'gdpbridge[pld]' jax-privacy
    python examples/training/jax_privacy_plan.py
"""

from __future__ import annotations

import dp_accounting
import jax
import numpy as np
from dp_accounting import NeighboringRelation
from jax_privacy.batch_selection import PartitionType
from jax_privacy.experimental.execution_plan import BandMFExecutionPlanConfig, DPExecutionPlan

import gdpbridge as gdp

RECORDS, DELTA = 200, 1e-5


def planned(bands: int = 1) -> DPExecutionPlan:
    """Return a plan of 8 steps on Poisson samples."""
    return BandMFExecutionPlanConfig.default(
        num_bands=bands,
        iterations=8,
        epsilon=None,
        delta=None,
        noise_multiplier=2.0,
        sampling_prob=0.25,
        partition_type=PartitionType.INDEPENDENT,
        accountant=dp_accounting.pld.PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE),
        noise_seed=1,
    ).plan


def train(plan: DPExecutionPlan) -> jax.Array:
    """Fit the mean of points; an empty sample is noise alone."""
    points = np.random.default_rng(1).normal(1.0, 1.0, (RECORDS, 3)).astype(np.float32)
    gradient = plan.clipped_grad(lambda mean, point: 0.5 * ((point - mean) ** 2).sum())
    mean = jax.numpy.zeros(3)
    state = plan.noise_addition_transform.init(mean)
    for chosen in plan.batch_selection_strategy.batch_iterator(RECORDS, rng=1):
        total = gradient(mean, points[chosen])
        noisy, state = plan.noise_addition_transform.update(total, state)
        mean = mean - 0.02 * noisy
    return mean


def main() -> None:
    """Train with and without correlated noise; print μ, and ε beside that of JAX Privacy."""
    for bands in (1, 2):
        plan = planned(bands)
        print("trained:", train(plan))
        profile = gdp.profile_of(plan.dp_event)
        accountant = dp_accounting.pld.PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
        theirs = accountant.compose(plan.dp_event).get_epsilon(DELTA)
        ours = profile.epsilon_bounds(DELTA)
        found = gdp.measure(profile)
        print(f"bands {bands}: μ ≤ {found.mu.upper:.6f}, p = {found.failure_probability:g};")
        print(f"  ε in [{ours[0]:.6f}, {ours[1]:.6f}] at δ = {DELTA}, and {theirs:.6f} by theirs")


if __name__ == "__main__":
    main()
