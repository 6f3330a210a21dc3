"""torch.distributed over gloo in an MPI job: the guide's function turns MPI's variables into torch's."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import torch.distributed as dist
from guide import set_environment_variables_for_mpi
from plane import WEIGHTS, meet, points, report
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel


def main() -> dist.Work:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num_nodes", type=int, required=True)
    parser.add_argument("--gpus_per_node", type=int, required=True)
    parser.add_argument("--model_dir", type=Path, default=Path("outputs"))
    args = parser.parse_args()

    set_environment_variables_for_mpi(args.num_nodes, args.gpus_per_node)  # type: ignore[no-untyped-call]
    dist.init_process_group("gloo", rank=int(os.environ["OMPI_COMM_WORLD_RANK"]))
    rank, size = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(nn.Linear(len(WEIGHTS), 1))
    inputs, wanted = points(rank, size)
    optimizer = optim.SGD(model.parameters(), lr=0.2)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), wanted).backward()
        optimizer.step()
    report(model, rank, size, args.model_dir)
    last = meet()
    dist.destroy_process_group()
    return last


if __name__ == "__main__":
    last = main()
