"""Digits with Keras and Horovod, in the way of Azure ML's example with MNIST."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf

PIXELS, KINDS = 64, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--model_dir", type=Path, default=Path("outputs"))
    args = parser.parse_args()

    hvd.init()
    table = np.loadtxt(args.data, delimiter=",", dtype=np.float32)
    share = table[: len(table) // hvd.size() * hvd.size()][hvd.rank() :: hvd.size()]
    pixels, digits = share[:, :PIXELS] / 16, share[:, PIXELS].astype(np.int32)

    tf.random.set_seed(hvd.rank())  # the first weights differ, until rank 0's are given to all
    model = tf.keras.Sequential([tf.keras.layers.Dense(KINDS, input_shape=(PIXELS,))])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.01))
    model.compile(loss=loss, optimizer=optimizer, metrics=["accuracy"])
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
    history = model.fit(pixels, digits, 32, args.epochs, verbose=0, callbacks=callbacks, shuffle=False)

    facts = {
        "rank": [hvd.rank(), hvd.size()],
        "local": [hvd.local_rank(), hvd.local_size()],
        "cross": [hvd.cross_rank(), hvd.cross_size()],
        "controller": "mpi" if hvd.mpi_enabled() else "gloo",
        "weights": model.get_weights()[0].sum(1).tolist()[:8],
        "right": float(history.history["accuracy"][-1]),
    }
    print(f"facts {json.dumps(facts)}\n", end="", flush=True)
    if hvd.rank() == 0:
        args.model_dir.mkdir(parents=True, exist_ok=True)
        model.save_weights(args.model_dir / "model.weights.h5")
    hvd.shutdown()


if __name__ == "__main__":
    main()
