"""Train with Lightning and Opacus: μ and ε in Lightning's log, and a report at the end.

pip install gdpbridge lightning opacus
python examples/training/lightning_opacus.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.loggers import CSVLogger
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

from gdpbridge.sources.opacus import register
from gdpbridge.training import PrivacyLog, lightning_callback

RECORDS, BATCH, EPOCHS = 200, 50, 2


class Classifier(lightning.LightningModule):
    """A model that was made private, with its optimiser."""

    def __init__(self, network: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        super().__init__()
        self.network, self.optimizer = network, optimizer

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        """Return the loss of a batch; a Poisson sample may be empty, and its loss is then 0."""
        inputs, labels = batch
        return torch.nn.functional.cross_entropy(self.network(inputs), labels, reduction="sum")

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the private optimiser."""
        return self.optimizer


def main(folder: Path) -> PrivacyEngine:
    """Train, and write the log, the report and the section for the model card into the folder."""
    register()
    inputs = torch.randn(RECORDS, 4, generator=torch.Generator().manual_seed(1))
    data = TensorDataset(inputs, (inputs.sum(1) > 0).long())
    network = torch.nn.Linear(4, 2)
    engine = PrivacyEngine(accountant="gdpbridge")
    network, optimizer, loader = engine.make_private(
        module=network,
        optimizer=torch.optim.SGD(network.parameters(), lr=0.5),
        data_loader=DataLoader(data, batch_size=BATCH),
        noise_multiplier=2.0,
        max_grad_norm=1.0,
        loss_reduction="sum",
    )
    log = PrivacyLog(engine, delta=1e-5, folder=folder, release={"title": "A linear classifier"})
    trainer = lightning.Trainer(
        max_epochs=EPOCHS,
        callbacks=[lightning_callback(log)],
        logger=CSVLogger(folder, name="log"),
        accelerator="cpu",
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=1,
    )
    trainer.fit(Classifier(network, optimizer), loader)
    return engine


if __name__ == "__main__":
    print("steps:", len(main(Path(sys.argv[1])).accountant))
