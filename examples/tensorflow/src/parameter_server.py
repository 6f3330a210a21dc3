"""ParameterServerStrategy: the chief gives out the steps, workers do them, servers keep the variables."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import digits
import numpy as np
import tensorflow as tf

BATCH = 64


def train(resolver: tf.distribute.cluster_resolver.ClusterResolver, args: argparse.Namespace) -> None:
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    pixels, labels = digits.load(args.data)
    with strategy.scope():
        weights = digits.variables()

    def batches() -> tf.data.Dataset:
        data = tf.data.Dataset.from_tensor_slices((pixels, labels))
        return data.shuffle(len(pixels), seed=1).repeat().batch(BATCH)

    @tf.function
    def step(iterator: tf.data.Iterator) -> tf.Tensor:
        some_pixels, some_labels = next(iterator)
        with tf.GradientTape() as tape:
            loss = digits.loss_of(weights, some_pixels, some_labels)
        for variable, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            variable.assign_sub(0.5 * gradient)
        return loss

    iterator = iter(coordinator.create_per_worker_dataset(batches))
    losses = [coordinator.schedule(step, args=(iterator,)) for _ in range(args.steps)]
    coordinator.join()
    trained = [variable.numpy() for variable in weights]
    digits.report(
        **digits.task(),
        devices=[variable.device for variable in weights],
        losses=[float(loss.fetch()) for loss in losses],
        right=digits.share_of_right_ones(trained, pixels, labels),
    )
    args.model_dir.mkdir(parents=True, exist_ok=True)
    np.savez(args.model_dir / "digits.npz", *trained)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--model_dir", type=Path, default=Path("outputs"))
    args = parser.parse_args()

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type == "chief":
        return train(resolver, args)
    digits.report(**digits.task())
    # A thread for each CPU is not enough where there are few: one waits for what another has to fetch.
    tasks = sum(resolver.cluster_spec().num_tasks(role) for role in resolver.cluster_spec().jobs)
    server = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
        config=tf.compat.v1.ConfigProto(inter_op_parallelism_threads=max(tasks, os.cpu_count() or 1)),
    )
    server.join()  # until Phalanx ends it, when the chief is done


if __name__ == "__main__":
    main()
