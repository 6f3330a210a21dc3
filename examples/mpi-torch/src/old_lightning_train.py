"""The guide's script in the words of its time, PyTorch Lightning 1.5: `gpus=` and `--accelerator ddp`."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytorch_lightning as pl
import torch
import torch.distributed as dist
from guide import set_environment_variables_for_mpi
from plane import WEIGHTS, meet, points, report
from torch import Tensor, nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Plane(pl.LightningModule):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(len(WEIGHTS), 1)

    def train_dataloader(self) -> DataLoader[tuple[Tensor, ...]]:
        return DataLoader(TensorDataset(*points(0, 1)), batch_size=32)  # Lightning shares it out

    def training_step(self, batch: tuple[Tensor, Tensor], _: int) -> Tensor:
        inputs, wanted = batch
        return nn.functional.mse_loss(self.net(inputs), wanted)

    def configure_optimizers(self) -> optim.Optimizer:
        return optim.SGD(self.parameters(), lr=0.1)


def main() -> dist.Work:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num_nodes", type=int, required=True)
    parser.add_argument("--gpus_per_node", type=int, required=True)
    parser.add_argument("--accelerator", default="ddp")
    parser.add_argument("--max_epochs", type=int, default=30)
    parser.add_argument("--model_dir", type=Path, default=Path("outputs"))
    args = parser.parse_args()
    set_environment_variables_for_mpi(args.num_nodes, args.gpus_per_node)  # type: ignore[no-untyped-call]

    pl.seed_everything(1)
    trainer = pl.Trainer(
        num_nodes=args.num_nodes,
        gpus=args.gpus_per_node if torch.cuda.is_available() else None,
        num_processes=args.gpus_per_node,  # where there are no GPUs
        accelerator=args.accelerator,
        max_epochs=args.max_epochs,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    model = Plane()
    trainer.fit(model)
    report(model, trainer.global_rank, trainer.world_size, args.model_dir)
    return meet()


if __name__ == "__main__":
    last = main()
