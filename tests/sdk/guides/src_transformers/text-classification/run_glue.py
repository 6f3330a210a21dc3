"""Takes the arguments of Transformers' own run_glue.py, and trains a tiny model from nothing on data that is
here.

The model and the data that the arguments name would be downloaded. `run_glue_example` is of
examples/transformers.
"""

from __future__ import annotations

import sys

from run_glue_example import main

DOWNLOADED = {"--model_name_or_path": None, "--task_name": "reviews", "--output_dir": "outputs/mnli"}

if __name__ == "__main__":
    words = sys.argv[1:]
    for option, instead in DOWNLOADED.items():
        at = words.index(option)
        words[at : at + 2] = [] if instead is None else [option, instead]
    more = ["--data_dir", "data", "--use_cpu", "--logging_steps", "1", "--save_strategy", "no"]
    sys.argv[1:] = words + more
    main()
