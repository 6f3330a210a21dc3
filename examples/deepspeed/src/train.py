"""Trains a small convolutional network with DeepSpeed on images of CIFAR's shape: 10 classes, 3 x 32 x 32.

The images are made here: each class is a pattern of stripes in a colour, under noise.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import deepspeed
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset


def images(count: int) -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(count) % 10
    angles = labels * torch.pi / 10
    x, y = torch.meshgrid(torch.linspace(-8, 8, 32), torch.linspace(-8, 8, 32), indexing="ij")
    stripes = (angles.cos().view(-1, 1, 1) * x + angles.sin().view(-1, 1, 1) * y).sin()
    colours = torch.stack((angles.sin(), angles.cos(), 1 - angles.sin()), dim=1)
    clean = stripes.unsqueeze(1) * colours.view(-1, 3, 1, 1)
    return TensorDataset(clean + 0.3 * torch.randn(clean.shape, generator=generator), labels)


class Classifier(nn.Module):
    """Gives the loss of a batch, as DeepSpeed's tuner wants it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 5, stride=2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 5 * 5, 10),
        )

    def forward(self, pictures: Tensor, labels: Tensor) -> Tensor:
        return cross_entropy(self.net(pictures), labels)


def main() -> dist.Work:
    """The last work of the processes with one another, which is to be kept: see below."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--images", type=int, default=640)
    parser.add_argument("--model_dir", type=Path, default=Path("outputs"))
    parser.add_argument("--local_rank", type=int, default=-1, help="DeepSpeed's launcher gives it")
    args = deepspeed.add_config_arguments(parser).parse_args()

    deepspeed.init_distributed()
    torch.manual_seed(1)
    model = Classifier()
    engine, _, batches, _ = deepspeed.initialize(
        args=args, model=model, model_parameters=model.parameters(), training_data=images(args.images)
    )
    losses = []
    for _ in range(args.epochs):
        total = 0.0
        for pictures, labels in batches:
            loss = engine(pictures.to(engine.device), labels.to(engine.device))
            engine.backward(loss)
            engine.step()
            total += loss.item()
        losses.append(total / len(batches))
    facts = {
        "rank": engine.global_rank,
        "world_size": engine.world_size,
        "zero_stage": engine.zero_optimization_stage(),
        "losses": losses,
        "parameters": sum(part.double().sum().item() for part in model.parameters()),
    }
    os.write(1, f"facts {json.dumps(facts)}\n".encode())  # in one write: processes share the output
    engine.save_checkpoint(args.model_dir)  # every process has a part of the optimizer
    last = dist.barrier(async_op=True)
    last.wait()
    return last


if __name__ == "__main__":
    # A thread of Gloo that would be the last to let go of tensors, while Python ends, aborts the process
    # ("terminate called without an active exception"). Whoever keeps the last work is never too early.
    last = main()
