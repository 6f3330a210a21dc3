"""Lightning in an MPI job, as the guide has it: num_nodes and devices are those of the job."""

from __future__ import annotations

import argparse
from pathlib import Path

import lightning
import torch.distributed as dist
from guide import set_environment_variables_for_mpi
from plane import WEIGHTS, meet, points, report
from torch import Tensor, nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Plane(lightning.LightningModule):  # type: ignore[misc]
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
    parser.add_argument("--model_dir", type=Path, default=Path("outputs"))
    args = parser.parse_args()
    set_environment_variables_for_mpi(args.num_nodes, args.gpus_per_node)  # type: ignore[no-untyped-call]

    lightning.seed_everything(1)
    trainer = lightning.Trainer(
        accelerator="cpu",
        strategy="ddp",
        num_nodes=args.num_nodes,
        devices=args.gpus_per_node,
        max_epochs=30,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    model = Plane()
    trainer.fit(model)
    report(model, trainer.global_rank, trainer.world_size, args.model_dir)
    print(f"rank {trainer.global_rank} by {type(trainer.strategy.cluster_environment).__name__}\n", end="")
    return meet()


if __name__ == "__main__":
    last = main()
