"""Fine-tunes a BERT to classify sentences. It has the option names of Transformers' own run_glue.py.

Without --model_name_or_path it trains a tiny BERT from nothing, with the vocabulary in the data folder, and
downloads nothing. On CPUs it needs --use_cpu: without a GPU and without that, Transformers lets every process
train alone.
"""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    BertTokenizerFast,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    set_seed,
)


@dataclass
class ModelArguments:
    model_name_or_path: str | None = field(default=None, metadata={"help": "none: a tiny one, from nothing"})


@dataclass
class DataArguments:
    data_dir: str = field(metadata={"help": "has a folder for each task"})
    task_name: str = field(default="reviews", metadata={"help": "folder of train.tsv, dev.tsv, vocab.txt"})
    max_seq_length: int = field(default=128)


class Sentences(torch.utils.data.Dataset[dict[str, Any]]):
    def __init__(self, file: Path, tokenizer: Any, max_length: int) -> None:
        with file.open(newline="") as text:
            rows = list(csv.DictReader(text, delimiter="\t"))
        sentences = [row["sentence"] for row in rows]
        self.tokens = tokenizer(sentences, truncation=True, max_length=max_length, padding="max_length")
        self.labels = [int(row["label"]) for row in rows]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict[str, Any]:
        item = {name: torch.tensor(values[index]) for name, values in self.tokens.items()}
        return item | {"labels": torch.tensor(self.labels[index])}


# The last work of the processes with one another, kept until the end: a thread of Gloo that would be the last
# to let go of tensors, while Python ends, aborts the process.
LAST: list[dist.Work] = []


def tiny_bert(vocabulary: Path) -> tuple[Any, Any]:
    words = {word: number for number, word in enumerate(vocabulary.read_text().split())}
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )
    return BertForSequenceClassification(config), BertTokenizerFast(vocab=words)


def accuracy(prediction: Any) -> dict[str, float]:
    return {"accuracy": float((np.argmax(prediction.predictions, axis=1) == prediction.label_ids).mean())}


def main() -> None:
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    model_args, data_args, args = parser.parse_args_into_dataclasses()
    set_seed(args.seed)
    task = Path(data_args.data_dir) / data_args.task_name
    if model_args.model_name_or_path:
        model = AutoModelForSequenceClassification.from_pretrained(model_args.model_name_or_path)
        tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path)
    else:
        model, tokenizer = tiny_bert(task / "vocab.txt")
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=Sentences(task / "train.tsv", tokenizer, data_args.max_seq_length),
        eval_dataset=Sentences(task / "dev.tsv", tokenizer, data_args.max_seq_length),
        compute_metrics=accuracy,
    )
    facts = {
        "rank": args.process_index,
        "local_rank": args.local_process_index,
        "world_size": args.world_size,
    }
    if args.do_train:
        trainer.train()
        trainer.save_model()
        facts["losses"] = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        facts["parameters"] = sum(part.double().sum().item() for part in model.parameters())
    if args.do_eval:
        metrics = trainer.evaluate()
        trainer.save_metrics("eval", metrics)
        facts["accuracy"] = metrics["eval_accuracy"]
    os.write(1, f"facts {json.dumps(facts)}\n".encode())  # in one write: processes share the output
    if dist.is_initialized():
        LAST.append(dist.barrier(async_op=True))
        LAST[0].wait()


if __name__ == "__main__":
    main()
