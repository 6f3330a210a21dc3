"""DeepSpeed in an MPI job. Nobody sets torch's variables: DeepSpeed finds what it needs by itself.

With a job file it goes Azure ML's way (AZUREML_EXPERIMENT_ID is there), else it asks mpi4py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import deepspeed
import torch
import torch.distributed as dist
from deepspeed import comm
from plane import WEIGHTS, meet, points, report
from torch import nn

CONFIG = {
    "train_micro_batch_size_per_gpu": 1,  # of which one step here has many
    "optimizer": {"type": "SGD", "params": {"lr": 0.2}},
    "zero_optimization": {"stage": 1},
    "zero_allow_untested_optimizer": True,
    "zero_force_ds_cpu_optimizer": False,
}


def main() -> dist.Work:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=29500, help="where mpi4py's way meets")
    parser.add_argument("--model_dir", type=Path, default=Path("outputs"))
    args = parser.parse_args()

    deepspeed.init_distributed("gloo", distributed_port=args.port)
    rank, size = comm.get_rank(), comm.get_world_size()
    torch.manual_seed(1)
    model = nn.Linear(len(WEIGHTS), 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=CONFIG)
    inputs, wanted = points(rank, size)
    for _ in range(60):
        engine.backward(nn.functional.mse_loss(engine(inputs), wanted))
        engine.step()
    report(model, rank, size, args.model_dir)
    last = meet()
    comm.destroy_process_group()
    return last


if __name__ == "__main__":
    last = main()
