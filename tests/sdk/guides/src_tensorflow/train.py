"""Trains with MultiWorkerMirroredStrategy; `multi_worker` and `digits` are of examples/tensorflow."""

from __future__ import annotations

import argparse
import sys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--model-dir", default="outputs")
    args = parser.parse_args()
    words = ["--data", "digits.csv.gz", "--steps", str(40 * args.epochs), "--model_dir", args.model_dir]
    sys.argv[1:] = words

    import multi_worker

    multi_worker.main()


if __name__ == "__main__":
    main()
