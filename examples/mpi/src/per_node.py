"""One process per node, which starts its own workers: they sum on their node, MPI sums over the nodes.

The workers are there before MPI is (importing mpi4py.MPI calls MPI_Init), so that none of them inherits it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing

PIECES = 8  # of the interval from 0 to 1
STEPS = 100_000  # in each piece


def area(piece: int) -> float:
    """Below 4 / (1 + x * x), in one piece; that of all pieces is pi."""
    width = 1 / (PIECES * STEPS)
    middles = (width * (piece * STEPS + step + 0.5) for step in range(STEPS))
    return sum(4 / (1 + x * x) for x in middles) * width


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()

    with multiprocessing.Pool(args.workers) as workers:
        from mpi4py import MPI

        world = MPI.COMM_WORLD
        own = workers.map(area, range(world.rank, PIECES, world.size))
        pi = world.allreduce(sum(own))
        print("facts " + json.dumps({"rank": world.rank, "size": world.size, "pi": pi}), flush=True)


if __name__ == "__main__":
    main()
