"""Handwritten digits, 8 x 8 pixels each, and the smallest network that tells them apart."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import tensorflow as tf

PIXELS, KINDS = 64, 10


def load(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pixels from 0 to 1, and which digit it is."""
    table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    return table[:, :PIXELS] / 16, table[:, PIXELS].astype(np.int32)


def variables() -> list[tf.Variable]:
    mean = tf.VariableAggregation.MEAN  # of what the replicas assign
    return [
        tf.Variable(tf.zeros([PIXELS, KINDS]), aggregation=mean),
        tf.Variable(tf.zeros([KINDS]), aggregation=mean),
    ]


def loss_of(weights: list[tf.Variable], pixels: tf.Tensor, digits: tf.Tensor) -> tf.Tensor:
    logits = pixels @ weights[0] + weights[1]
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(digits, logits))


def share_of_right_ones(weights: list[np.ndarray], pixels: np.ndarray, digits: np.ndarray) -> float:
    return float(np.mean(np.argmax(pixels @ weights[0] + weights[1], axis=1) == digits))


def report(**facts: object) -> None:
    print(f"facts {json.dumps(facts)}\n", end="", flush=True)


def task() -> dict[str, object]:
    """Who this process is, as TensorFlow reads TF_CONFIG."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    return {
        "type": resolver.task_type,
        "index": resolver.task_id,
        "environment": resolver.environment,
        "cluster": resolver.cluster_spec().as_dict(),
        "master": resolver.master(),
    }
