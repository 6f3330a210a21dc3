"""Digits with PyTorch and Horovod, which does not care whether its processes meet over MPI or over Gloo."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import horovod.torch as hvd
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

PIXELS, KINDS = 64, 10


def load(file: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Pixels from 0 to 1, and which digit it is."""
    table = torch.from_numpy(np.loadtxt(file, delimiter=",", dtype=np.float32))
    return table[:, :PIXELS] / 16, table[:, PIXELS].long()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--model_dir", type=Path, default=Path("outputs"))
    args = parser.parse_args()

    hvd.init()
    torch.manual_seed(hvd.rank())  # the first weights differ, until rank 0's are given to all
    pixels, digits = (part[hvd.rank() :: hvd.size()] for part in load(args.data))
    model = nn.Linear(PIXELS, KINDS)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    sgd = torch.optim.SGD(model.parameters(), lr=0.5)
    optimizer = hvd.DistributedOptimizer(sgd, named_parameters=model.named_parameters())
    for _ in range(args.epochs):
        for batch in torch.arange(len(digits)).split(64)[
            : 1797 // hvd.size() // 64
        ]:  # as many in each process
            optimizer.zero_grad()
            cross_entropy(model(pixels[batch]), digits[batch]).backward()
            optimizer.step()

    right = (model(pixels).argmax(1) == digits).float().mean()
    facts = {
        "rank": [hvd.rank(), hvd.size()],
        "local": [hvd.local_rank(), hvd.local_size()],
        "cross": [hvd.cross_rank(), hvd.cross_size()],
        "controller": "mpi" if hvd.mpi_enabled() else "gloo",
        "weights": model.weight.sum(0).tolist()[:8],
        "right": float(hvd.allreduce(right, name="right")),
    }
    print(f"facts {json.dumps(facts)}\n", end="", flush=True)
    if hvd.rank() == 0:
        args.model_dir.mkdir(parents=True, exist_ok=True)
        torch.save(model.state_dict(), args.model_dir / "model.pt")
    hvd.shutdown()


if __name__ == "__main__":
    main()
