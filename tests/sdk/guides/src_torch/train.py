"""Fits a plane with DistributedDataParallel; takes the arguments of all the guides' jobs.

`init_process_group` is the guides' call; `plane` and `guide` are of examples/mpi-torch.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
from guide import set_environment_variables_for_mpi
from plane import WEIGHTS, meet, points, report
from torch import nn
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel


def main() -> dist.Work:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--model-dir", type=Path, default=Path("outputs"))
    parser.add_argument("--local_rank")
    parser.add_argument("--data-dir", type=Path)
    args, _ = parser.parse_known_args()
    if args.local_rank is not None:
        assert args.local_rank == os.environ["LOCAL_RANK"]
    if args.data_dir is not None:
        assert (args.data_dir / "batch_1").read_text() == "pictures"
    if "RANK" not in os.environ:  # a job of MPI
        local_size = int(os.environ["OMPI_COMM_WORLD_LOCAL_SIZE"])
        set_environment_variables_for_mpi(2, local_size)  # type: ignore[no-untyped-call]
        os.environ["RANK"] = os.environ["OMPI_COMM_WORLD_RANK"]

    import init_process_group  # noqa: F401 - the guides' call

    rank, size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if dist.get_backend() == "nccl" else None
    model = DistributedDataParallel(nn.Linear(len(WEIGHTS), 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, wanted = (part.to(device) for part in points(rank, size))
    for _ in range(max(args.epochs, 50)):
        optimizer.zero_grad()
        mse_loss(model(inputs), wanted).backward()
        optimizer.step()
    report(model, rank, size, args.model_dir)
    last = meet()
    dist.destroy_process_group()
    return last


if __name__ == "__main__":
    last = main()
