"""Train with the Trainer of Hugging Face and Opacus: μ and ε go wherever the trainer reports to.

pip install gdpbridge transformers accelerate opacus
python examples/training/hugging_face_opacus.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

from gdpbridge.sources.opacus import register
from gdpbridge.training import PrivacyLog, follow

RECORDS, BATCH, EPOCHS = 200, 50, 2


class Records(Dataset[dict[str, torch.Tensor]]):
    """Points, and on which side of a plane they lie."""

    def __init__(self) -> None:
        self.inputs = torch.randn(RECORDS, 4, generator=torch.Generator().manual_seed(1))

    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, at: int) -> dict[str, torch.Tensor]:
        point = self.inputs[at]
        return {"inputs": point, "labels": (point.sum() > 0).long()}


class Classifier(torch.nn.Module):
    """A model as the trainer wants it: it returns its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)

    def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return loss and logits of a batch."""
        logits = self.linear(inputs)
        loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
        return {"loss": loss, "logits": logits}


class Cleared(TrainerCallback):
    """Clears what Opacus summed: the trainer clears the model's gradients, which is not enough."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Forget the last step's sum of clipped gradients."""
        self.optimizer.zero_grad()


class PrivateTrainer(Trainer):
    """A trainer on Opacus's Poisson samples, whose last stays as it is."""

    loader: DataLoader[Any]

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return Opacus's loader."""
        return self.loader


def main(folder: Path) -> PrivacyEngine:
    """Train, and write the report and the section for the model card into the folder."""
    register()
    model, records = Classifier(), Records()
    engine = PrivacyEngine(accountant="gdpbridge")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        data_loader=DataLoader(records, batch_size=BATCH),
        noise_multiplier=2.0,
        max_grad_norm=1.0,
        loss_reduction="sum",
    )
    trainer = PrivateTrainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(folder / "trainer"),
            num_train_epochs=EPOCHS,
            per_device_train_batch_size=BATCH,
            # Opacus has clipped already, each record's gradient
            max_grad_norm=0.0,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
            remove_unused_columns=False,
        ),
        train_dataset=records,
        optimizers=(optimizer, torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)),
        callbacks=[Cleared(optimizer)],
    )
    trainer.loader = loader
    # Opacus's wrapper takes any keywords, which the model itself does not
    trainer.model_accepts_loss_kwargs = False
    log = PrivacyLog(engine, delta=1e-5, folder=folder, release={"title": "A linear classifier"})
    follow(trainer, log)
    trainer.train()
    return engine


if __name__ == "__main__":
    print("steps:", len(main(Path(sys.argv[1])).accountant))
