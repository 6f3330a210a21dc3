"""Trains a small network on two interleaved half moons with a Lightning Trainer, on CPUs.

Who starts the workers is not decided here: the Trainer looks at its environment.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import lightning
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset


def moons(count: int = 512) -> tuple[Tensor, Tensor]:
    """Points on two half circles, and which of the two each is on."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(count) % 2
    angles = torch.rand(count, generator=generator) * torch.pi
    x = torch.where(labels == 0, angles.cos(), 1 - angles.cos())
    y = torch.where(labels == 0, angles.sin(), 0.5 - angles.sin())
    return torch.stack((x, y), dim=1) + 0.1 * torch.randn(count, 2, generator=generator), labels


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        self.points, self.labels = moons()
        self.losses: list[float] = []

    def measure(self) -> None:
        with torch.no_grad():
            self.losses.append(cross_entropy(self.net(self.points), self.labels).item())

    def on_train_start(self) -> None:
        self.measure()

    def on_train_epoch_end(self) -> None:
        self.measure()

    def train_dataloader(self) -> DataLoader[tuple[Tensor, ...]]:
        return DataLoader(TensorDataset(self.points, self.labels), batch_size=32)

    def training_step(self, batch: tuple[Tensor, Tensor], _: int) -> Tensor:
        points, labels = batch
        return cross_entropy(self.net(points), labels)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.02)


def main() -> dist.Work:
    """The last work of the processes with one another, which is to be kept: see below."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num_nodes", type=int, default=1)
    parser.add_argument("--devices", type=int, default=2, help="processes on each node")
    parser.add_argument("--max_epochs", type=int, default=5)
    parser.add_argument("--model_dir", type=Path, default=Path("outputs"))
    args = parser.parse_args()

    lightning.seed_everything(1)
    trainer = lightning.Trainer(
        accelerator="cpu",
        strategy="ddp",
        num_nodes=args.num_nodes,
        devices=args.devices,
        max_epochs=args.max_epochs,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    model = Classifier()
    trainer.fit(model)
    facts = {
        "rank": trainer.global_rank,
        "world_size": trainer.world_size,
        "started_by": type(trainer.strategy.cluster_environment).__name__,
        "losses": model.losses,
        "parameters": sum(part.double().sum().item() for part in model.parameters()),
    }
    print(f"facts {json.dumps(facts)}\n", end="", flush=True)  # in one write: processes share the output
    if trainer.is_global_zero:
        args.model_dir.mkdir(parents=True, exist_ok=True)
        torch.save(model.state_dict(), args.model_dir / "model.pt")
    last = dist.barrier(async_op=True)
    last.wait()
    return last


if __name__ == "__main__":
    # A thread of Gloo that would be the last to let go of tensors, while Python ends, aborts the process
    # ("terminate called without an active exception"). Whoever keeps the last work is never too early.
    last = main()
