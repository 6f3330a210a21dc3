"""MultiWorkerMirroredStrategy with a loop of one's own: Keras 3's `fit` does not know this strategy."""

from __future__ import annotations

import argparse
from pathlib import Path

import digits
import numpy as np
import tensorflow as tf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--model_dir", type=Path, default=Path("outputs"))
    args = parser.parse_args()

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    task = digits.task()
    workers = strategy.num_replicas_in_sync
    pixels, labels = digits.load(args.data)
    mine = slice(strategy.cluster_resolver.task_id, None, workers)
    with strategy.scope():
        weights = digits.variables()

    @tf.function
    def step(pixels: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        def on_replica() -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = digits.loss_of(weights, pixels, labels)
            for variable, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
                variable.assign_sub(1.0 * gradient)  # the mean over all workers is subtracted
            return loss

        return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(on_replica), axis=None)

    own = tf.constant(pixels[mine]), tf.constant(labels[mine])
    losses = [float(step(*own)) for _ in range(args.steps)]
    trained = [variable.numpy() for variable in weights]
    digits.report(
        **task,
        workers=workers,
        examples=len(own[0]),
        losses=losses,
        sum=float(np.abs(trained[0]).sum()),
        right=digits.share_of_right_ones(trained, pixels, labels),
    )
    if task["index"] == 0:
        args.model_dir.mkdir(parents=True, exist_ok=True)
        np.savez(args.model_dir / "digits.npz", *trained)


if __name__ == "__main__":
    main()
