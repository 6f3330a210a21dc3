"""Asks PyTorch, Lightning, Accelerate and DeepSpeed what they take this process for. One line of facts.

Arguments: devices and num_nodes of a Lightning Trainer.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import accelerate
import deepspeed
import lightning
import torch.distributed as dist


def lightnings_view(devices: int, nodes: int) -> dict[str, Any]:
    trainer = lightning.Trainer(
        accelerator="cpu", strategy="ddp", devices=devices, num_nodes=nodes, logger=False
    )
    seen = trainer.strategy.cluster_environment
    return {
        "environment": type(seen).__name__,
        "started_by_others": seen.creates_processes_externally,
        "node": seen.node_rank(),
        "rank": trainer.global_rank,
        "world": trainer.world_size,
    }


def main() -> None:
    facts: dict[str, Any] = {
        "rank": int(os.environ["PHALANX_RANK"]),
        "torchelastic": dist.is_torchelastic_launched(),
        "lightning": lightnings_view(int(sys.argv[1]), int(sys.argv[2])),
    }
    distributed = "RANK" in os.environ
    if distributed:
        deepspeed.init_distributed(dist_backend="gloo")  # looks for an MPI, unless all is in its place
        facts["deepspeed"] = {"rank": deepspeed.comm.get_rank(), "world": deepspeed.comm.get_world_size()}
        facts["torch"] = {"rank": dist.get_rank(), "world": dist.get_world_size()}
    state = accelerate.PartialState(cpu=True)
    facts["accelerate"] = {"rank": state.process_index, "world": state.num_processes}
    os.write(1, f"facts {json.dumps(facts)}\n".encode())
    if distributed:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
