"""Parameter servers as in TensorFlow 1: every worker trains by itself on variables that the servers keep."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import digits
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()
BATCH = 64


def train(cluster: tf.train.ClusterSpec, server: Any, index: int, args: argparse.Namespace) -> None:
    pixels, labels = digits.load(args.data)
    some_pixels = v1.placeholder(tf.float32, [None, digits.PIXELS])
    some_labels = v1.placeholder(tf.int32, [None])
    with v1.device(
        v1.train.replica_device_setter(cluster=cluster, worker_device=f"/job:worker/task:{index}")
    ):
        step = v1.train.get_or_create_global_step()
        weights = [
            v1.get_variable("weights", [digits.PIXELS, digits.KINDS]),
            v1.get_variable("bias", [digits.KINDS]),
        ]
        loss = digits.loss_of(weights, some_pixels, some_labels)
        train_one = v1.train.GradientDescentOptimizer(0.5).minimize(loss, global_step=step)
    random = np.random.default_rng(index)
    # Without the filter a worker waits for all the others, also for those that are done and gone.
    config = v1.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    with v1.train.MonitoredTrainingSession(server.target, is_chief=index == 0, config=config) as session:
        for _ in range(args.steps):
            choice = random.choice(len(pixels), BATCH)
            session.run(train_one, {some_pixels: pixels[choice], some_labels: labels[choice]})
        trained, done = session.run([weights, step])
    right = digits.share_of_right_ones(trained, pixels, labels)
    digits.report(
        **digits.task(), steps=int(done), right=right, devices=[weight.device for weight in weights]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=150, help="of each worker")
    args = parser.parse_args()

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = tf.train.ClusterSpec(resolver.cluster_spec().as_dict())
    server = v1.train.Server(cluster, job_name=resolver.task_type, task_index=resolver.task_id)
    if resolver.task_type == "ps":
        digits.report(**digits.task())
        server.join()  # for ever: Phalanx ends it when the workers are done
    train(cluster, server, resolver.task_id, args)


if __name__ == "__main__":
    main()
