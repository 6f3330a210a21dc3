"""What all of these train on, points of a plane, and what they tell of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn

WEIGHTS = (2.0, -1.0, 0.5)
HEIGHT = 3.0


def points(rank: int, size: int, count: int = 256) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(count, len(WEIGHTS), generator=generator)
    wanted = inputs @ torch.tensor([WEIGHTS]).T + HEIGHT
    return inputs[rank::size], wanted[rank::size]


def report(model: nn.Module, rank: int, size: int, model_dir: Path) -> None:
    weights = [number.item() for part in model.parameters() for number in part.detach().flatten()]
    names = ("MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "LOCAL_RANK", "WORLD_SIZE")
    seen = {name: os.environ.get(name) for name in names}
    facts = json.dumps({"rank": rank, "size": size, "weights": weights, "environment": seen})
    print(f"facts {facts}\n", end="", flush=True)  # in one write: processes may share the output
    if rank == 0:
        model_dir.mkdir(parents=True, exist_ok=True)
        (model_dir / "plane.json").write_text(json.dumps({"weights": weights}))


def meet() -> dist.Work:
    """The last work of the processes with one another; keep what this gives until the program ends.

    A thread of Gloo that would be the last to let go of tensors, while Python ends, aborts the process
    ("terminate called without an active exception"). Whoever keeps the last work is never too early.
    """
    last = dist.barrier(async_op=True)
    last.wait()
    return last
