"""DP-SGD beside other accountants: one that proves bounds, and Opacus in a training loop."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from gdpbridge.losses.line_integral import ComposedLoss
from gdpbridge.losses.moments import Part
from gdpbridge.losses.transforms.sampled_gaussian import SampledGaussianTransform
from gdpbridge.sources.opacus import BoundsAccountant

KNOWN = json.loads((Path(__file__).parents[1] / "data" / "dpsgd_prv_bounds.json").read_text())
ANSWERED = [one for one in KNOWN["settings"] if "eps_low" in one and one["steps"] > 1]


@pytest.mark.parametrize("setting", ANSWERED, ids=lambda one: f"{one['sigma']}-{one['steps']}")
def test_proved_bounds(setting: dict[str, Any]) -> None:
    """Two proofs cannot contradict: δ at the other one's ends is not on the wrong side."""
    if setting["eps_up"] > 500:
        pytest.skip("no privacy at all")
    step = SampledGaussianTransform(Fraction(str(setting["sigma"])), Fraction(str(setting["q"])))
    loss = ComposedLoss([Part(step, setting["steps"])], 3)
    low, high = (Fraction(max(setting[end], 0.0)) for end in ("eps_low", "eps_up"))
    assert loss.delta(high)[0] <= KNOWN["delta"] * (1 + 1e-9)
    if low > 0:
        assert loss.delta(low)[1] >= KNOWN["delta"] * (1 - 1e-9)


@pytest.mark.filterwarnings("ignore")  # of the libraries themselves
def test_training_loop() -> None:
    """The accountant counts what Opacus's optimiser does, where Opacus is installed."""
    opacus = pytest.importorskip("opacus", exc_type=ImportError)
    torch = pytest.importorskip("torch", exc_type=ImportError)
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
    loader = torch.utils.data.DataLoader(data, batch_size=16)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    engine = opacus.PrivacyEngine()
    engine.accountant = accountant = BoundsAccountant()
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=1.5,
        max_grad_norm=1.0,
    )
    for _ in range(3):
        for inputs, labels in loader:
            if len(inputs):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(inputs), labels).backward()
                optimizer.step()
    assert len(accountant) >= 10
    assert {entry[:2] for entry in accountant.history} == {(1.5, 0.25)}
    peer = opacus.accountants.PRVAccountant()
    peer.history = list(accountant.history)
    ours, theirs = accountant.get_epsilon(1e-5), peer.get_epsilon(1e-5)
    assert ours == pytest.approx(theirs, rel=0.02)
    assert ours <= theirs + 1e-6
