"""What is done with the network: made for a device, and trained a few steps on numbers that repeat."""

import torch
from neural_network import ToyModel
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel

STEPS = 20


def make_model(device: torch.device) -> DistributedDataParallel:
    model = ToyModel().to(device)
    return DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None)


def train(model: nn.Module, device: torch.device, rank: int) -> list[float]:
    """The loss of each step, as this process sees it."""
    loss_of = nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    numbers = torch.Generator().manual_seed(rank)
    inputs = torch.randn(20, 10, generator=numbers).to(device)
    labels = torch.randn(20, 5, generator=numbers).to(device)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
