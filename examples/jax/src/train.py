"""Fits a line with JAX: each process holds a part of the points, gradients are averaged over all processes.

JAX takes the coordinator's address from JAX_COORDINATOR_ADDRESS. How many processes there are, and which one
this is, it must be told.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SLOPE, HEIGHT = 3.0, -1.0
POINTS = 256  # of all processes together


def main(model_dir: Path) -> None:
    jax.distributed.initialize(
        num_processes=int(os.environ["WORLD_SIZE"]), process_id=int(os.environ["RANK"])
    )
    rank, world = jax.process_index(), jax.process_count()
    mesh = Mesh(np.array(jax.devices()), ("processes",))
    shared = NamedSharding(mesh, PartitionSpec())  # the same everywhere
    parted = NamedSharding(mesh, PartitionSpec("processes"))  # each process has its part

    x = np.random.default_rng(rank).uniform(-1, 1, POINTS // world).astype(np.float32)
    xs = jax.make_array_from_process_local_data(parted, x)
    ys = jax.make_array_from_process_local_data(parted, SLOPE * x + HEIGHT)

    def loss_of(line: jax.Array, xs: jax.Array, ys: jax.Array) -> jax.Array:
        return ((line[0] * xs + line[1] - ys) ** 2).mean()  # over all processes

    @jax.jit
    def step(line: jax.Array, xs: jax.Array, ys: jax.Array) -> tuple[jax.Array, jax.Array]:
        loss, gradient = jax.value_and_grad(loss_of)(line, xs, ys)
        return line - 0.3 * gradient, loss

    line, losses = jax.device_put(np.zeros(2, np.float32), shared), []
    for _ in range(60):
        line, loss = step(line, xs, ys)
        losses.append(float(loss))
    fitted = [float(value) for value in np.asarray(line.addressable_data(0))]
    facts = {
        "rank": rank,
        "world_size": world,
        "devices": jax.device_count(),
        "losses": losses,
        "line": fitted,
    }
    print(f"facts {json.dumps(facts)}\n", end="", flush=True)  # in one write: processes share the output
    if rank == 0:
        model_dir.mkdir(parents=True, exist_ok=True)
        (model_dir / "line.json").write_text(json.dumps({"slope": fitted[0], "height": fitted[1]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
