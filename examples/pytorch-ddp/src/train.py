"""Trains a small convolutional network on 8x8 handwritten digits with DistributedDataParallel.

Runs under anything that sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT (Azure ML, Phalanx,
torchrun); without them it trains in one process.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

try:
    from tqdm import tqdm
except ImportError:

    def tqdm(batches: Iterable[Any], desc: str = "", **_: object) -> Iterator[Any]:
        """The little of tqdm that is used here."""
        items = list(batches)
        for done, item in enumerate(items, start=1):
            yield item
            print(f"\r{desc}: {100 * done // len(items):3d}%", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)


RANK = int(os.environ.get("RANK", 0))
WORLD = int(os.environ.get("WORLD_SIZE", 1))
LOCAL_RANK = int(os.environ.get("LOCAL_RANK", 0))
LOCAL_WORLD = int(os.environ.get("LOCAL_WORLD_SIZE", 1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="digits.csv.gz, or the folder that holds it")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=64, help="of all processes together")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--model-dir", type=Path, default=Path("outputs"))
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def load(path: Path, seed: int) -> tuple[TensorDataset, TensorDataset]:
    """Four fifths to train with, one fifth to test with; the same split in every process."""
    if path.is_dir():
        path = path / "digits.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = torch.from_numpy(np.loadtxt(file, delimiter=",", dtype=np.float32))
    rows = rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))]
    images, labels = rows[:, :64].reshape(-1, 1, 8, 8) / 16, rows[:, 64].long()
    cut = len(rows) * 4 // 5
    return TensorDataset(images[:cut], labels[:cut]), TensorDataset(images[cut:], labels[cut:])


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def total(device: torch.device, *values: float) -> list[float]:
    """Sums of the values over all processes."""
    sums = torch.tensor(values, dtype=torch.float64, device=device)
    if dist.is_initialized():
        dist.all_reduce(sums)
    return [float(value) for value in sums]


def accuracy(model: nn.Module, test: TensorDataset, device: torch.device) -> float:
    """Each process tests every WORLD-th image, so that no image counts twice."""
    images, labels = (part[RANK::WORLD].to(device) for part in test.tensors)
    with torch.no_grad():
        right = (model(images).argmax(dim=1) == labels).sum().item()
    all_right, count = total(device, right, len(labels))
    return all_right / count


def train_epoch(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    optimizer: torch.optim.Optimizer,
    device: torch.device,
) -> float:
    loss_sum, count = 0.0, 0
    for images, labels in batches:
        loss = cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum, count = loss_sum + loss.item(), count + 1
    all_losses, all_batches = total(device, loss_sum, count)
    return all_losses / all_batches


def main() -> dist.Work | None:
    """The last work of the processes with one another, which is to be kept: see below."""
    args = arguments()
    if "OMP_NUM_THREADS" not in os.environ:  # else PyTorch has read it
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // LOCAL_WORLD))
    use_cuda = torch.cuda.device_count() >= LOCAL_WORLD  # a GPU for each process of this node
    device = torch.device("cuda", LOCAL_RANK) if use_cuda else torch.device("cpu")
    if use_cuda:
        torch.cuda.set_device(device)
    distributed = "RANK" in os.environ
    if distributed:
        dist.init_process_group("nccl" if use_cuda else "gloo", init_method="env://")
    print(
        f"rank {RANK} of {WORLD} on {socket.gethostname()}, local rank {LOCAL_RANK}, device {device}",
        flush=True,
    )

    torch.manual_seed(args.seed)  # the same first weights everywhere
    train, test = load(args.data, args.seed)
    net = network().to(device)
    model = (
        DistributedDataParallel(net, device_ids=[LOCAL_RANK] if use_cuda else None) if distributed else net
    )
    sampler = DistributedSampler(train, num_replicas=WORLD, rank=RANK, seed=args.seed)
    batches = DataLoader(train, batch_size=max(1, args.batch_size // WORLD), sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)

    start = time.monotonic()
    history = []
    right = accuracy(net, test, device)
    for epoch in range(1, args.epochs + 1):
        sampler.set_epoch(epoch)  # another order each time
        shown = tqdm(batches, desc=f"epoch {epoch}", leave=False, mininterval=0.5) if RANK == 0 else batches
        loss = train_epoch(model, shown, optimizer, device)
        schedule.step()
        right = accuracy(net, test, device)
        history.append({"epoch": epoch, "loss": loss, "test_accuracy": right})
        if RANK == 0:
            print(
                f"epoch {epoch:2d}/{args.epochs}  loss {loss:.4f}  test accuracy {100 * right:.2f} %",
                flush=True,
            )

    if RANK == 0:
        args.model_dir.mkdir(parents=True, exist_ok=True)
        torch.save(net.state_dict(), args.model_dir / "model.pt")
        metrics = {
            "world_size": WORLD,
            "seconds": time.monotonic() - start,
            "test_accuracy": right,
            "epochs": history,
        }
        (args.model_dir / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
        print(f"saved model.pt and metrics.json in {args.model_dir}", flush=True)
    if not distributed:
        return None
    last = dist.barrier(async_op=True)
    last.wait()
    dist.destroy_process_group()
    return last


if __name__ == "__main__":
    # A thread of Gloo that would be the last to let go of tensors, while Python ends, aborts the process
    # ("terminate called without an active exception"). Whoever keeps the last work is never too early.
    last = main()
