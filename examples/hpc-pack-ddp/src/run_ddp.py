"""Distributed data parallel training of a toy model: one process of those that torchrun starts."""

import os

import torch
import torch.distributed as dist
from operations import make_model, train


def main() -> None:
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
    dist.barrier()  # nobody leaves while another still needs him
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
