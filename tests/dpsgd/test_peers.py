"""DP-SGD beside other accountants: one that proves bounds, and Opacus in a training loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gdpbridge.profiles import DPSGD
from gdpbridge.sources.opacus import BoundsAccountant

KNOWN = json.loads((Path(__file__).parents[1] / "data" / "dpsgd_prv_bounds.json").read_text())
ANSWERED = [one for one in KNOWN["settings"] if "eps_low" in one and one["steps"] > 1]


@pytest.mark.parametrize("setting", ANSWERED, ids=lambda one: f"{one['sigma']}-{one['steps']}")
def test_proved_bounds(setting: dict[str, Any]) -> None:
    """Two proofs cannot contradict: both intervals for ε have something in common."""
    if setting["eps_up"] > 500:
        pytest.skip("no privacy at all")
    run = DPSGD(noise_multiplier=setting["sigma"], sample_rate=setting["q"], steps=setting["steps"])
    low, high = run.epsilon_bounds(KNOWN["delta"])
    assert low <= setting["eps_up"]
    assert high >= setting["eps_low"]


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
