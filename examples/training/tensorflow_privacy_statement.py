"""What TensorFlow Privacy's privacy statement says, from the same words, exactly.

``compute_dp_sgd_privacy_statement`` gives two ε: one as if batches were Poisson samples, and one
for each example once per epoch in any order. With microbatches the noise counts as half. TensorFlow
Privacy 0.9 needs NumPy 1 and this library NumPy 2, so that they are installed apart; nothing of
TensorFlow is needed here.

    pip install gdpbridge
    python examples/training/tensorflow_privacy_statement.py
"""

from __future__ import annotations

import math

import gdpbridge as gdp


def profiles_of(
    number_of_examples: int,
    batch_size: int,
    num_epochs: float,
    noise_multiplier: float,
    *,
    used_microbatching: bool = True,
) -> dict[str, gdp.Profile]:
    """Return the mechanism behind each of the two ε of the statement."""
    noise = noise_multiplier / 2 if used_microbatching else noise_multiplier
    epoch = gdp.profiles.Gaussian(sigma=noise)
    return {
        "Epsilon with each example occurring once per epoch": epoch.compose(math.ceil(num_epochs)),
        "Epsilon assuming Poisson sampling": gdp.profiles.DPSGD(
            noise_multiplier=noise,
            batch_size=batch_size,
            records=number_of_examples,
            epochs=num_epochs,
        ),
    }


def main() -> None:
    """Print both ε, and the μ that each is a part of."""
    for words, profile in profiles_of(60000, 256, 15, 1.1).items():
        epsilon = profile.epsilon_bounds(1e-5)[1]
        found = gdp.measure(profile)
        said = f"μ ≤ {found.mu.upper:.4f}, p = {found.failure_probability:g}"
        print(f"{words}: {epsilon:.3f}; {said}")


if __name__ == "__main__":
    main()
