"""Distributed data parallel training of a toy model: one process of those that torchrun starts."""

import os

import torch
import torch.distributed as dist
from operations import make_model, train


def main() -> dist.Work:
    """The last work of the processes with one another, which is to be kept: see below."""
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    torch.manual_seed(0)
    model = make_model(device)
    losses = train(model, device, rank)
    # What all have learnt is the same: that is what DDP is for.
    weights = torch.cat([weight.detach().flatten() for weight in model.parameters()]).sum()
    sums = [torch.zeros_like(weights) for _ in range(world)]
    dist.all_gather(sums, weights)
    same = all(torch.equal(other, weights) for other in sums)
    # In one piece: the processes of a node share its log.
    line = f"rank {rank} of {world}: loss {losses[0]:.3f} -> {losses[-1]:.3f}, weights the same: {same}"
    os.write(1, f"{line}\n".encode())
    last = dist.barrier(async_op=True)
    last.wait()  # nobody leaves while another still needs him
    dist.destroy_process_group()
    return last


if __name__ == "__main__":
    # A thread of Gloo that would be the last to let go of tensors, while Python ends, aborts the process
    # ("terminate called without an active exception"). Whoever keeps the last work is never too early.
    last = main()
