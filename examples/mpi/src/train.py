"""Fits a plane through points with MPI and numpy alone: every rank has its share of the points.

A step is the gradient of the own share, summed over all ranks; so all hold the same weights all the time.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from mpi4py import MPI

POINTS, WEIGHTS = 240, 4


def points() -> tuple[np.ndarray, np.ndarray]:
    """All of them: inputs with a last column of ones, and what the plane should give there."""
    random = np.random.default_rng(1)
    inputs = np.hstack([random.normal(size=(POINTS, WEIGHTS - 1)), np.ones((POINTS, 1))])
    return inputs, inputs @ np.array([2.0, -1.0, 0.5, 3.0]) + 0.1 * random.normal(size=POINTS)


def train(world: MPI.Intracomm, steps: int) -> tuple[np.ndarray, list[float]]:
    inputs, wanted = points()
    mine, my_wanted = inputs[world.rank :: world.size], wanted[world.rank :: world.size]
    weights, losses = np.zeros(WEIGHTS), []
    for _ in range(steps):
        error = mine @ weights - my_wanted
        own: np.ndarray = np.append(mine.T @ error, error @ error)
        total = np.empty_like(own)
        world.Allreduce(own, total)
        weights -= 0.5 * total[:-1] / POINTS
        losses.append(float(total[-1]) / POINTS)
    return weights, losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--model-dir", type=Path, default=Path("outputs"))
    args = parser.parse_args()

    world = MPI.COMM_WORLD
    neighbours = world.Split_type(MPI.COMM_TYPE_SHARED)  # those with whom memory can be shared
    weights, losses = train(world, args.steps)
    facts = {
        "rank": world.rank,
        "size": world.size,
        "sum_of_ranks": world.allreduce(world.rank),
        "neighbours": neighbours.allgather(world.rank),
        "library": MPI.Get_library_version().split("\n")[0],
        "weights": weights.tolist(),
    }
    print("facts " + json.dumps(facts), flush=True)
    if world.rank == 0:
        args.model_dir.mkdir(parents=True, exist_ok=True)
        (args.model_dir / "plane.json").write_text(
            json.dumps({"weights": weights.tolist(), "losses": losses})
        )


if __name__ == "__main__":
    main()
