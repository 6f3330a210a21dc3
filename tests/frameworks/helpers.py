"""What the framework tests share: an example that is run to its end, and free ports."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
from pathlib import Path
from typing import Any

from conftest import TOP, Phalanx
from system.helpers import Job

EXAMPLES = TOP / "examples"
MINUTES = 600.0  # seconds, for imports and training on a busy machine; only a hang gets there

_numbers = itertools.count()


def run_job(
    phalanx: Phalanx, file: Path, env: dict[str, str], *options: str
) -> tuple[subprocess.CompletedProcess[str], Job]:
    """`phalanx run FILE OPTIONS` to its end, whatever that is."""
    name = f"job-{next(_numbers)}"
    done = phalanx.run("run", file, "--name", name, *options, env=env, timeout=MINUTES)
    return done, Job(phalanx, name)


def completed(phalanx: Phalanx, file: Path, env: dict[str, str], *options: str) -> Job:
    """The job, once it has run and succeeded."""
    done, job = run_job(phalanx, file, env, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert job.show()["state"] == "Completed"
    return job


def all_logs(job: Job) -> str:
    """What all ranks wrote."""
    files = sorted((job.folder / "user_logs").glob("std_log*.txt"))
    return "".join(file.read_text(errors="replace") for file in files)


def output(job: Job, path: str) -> Any:
    """A JSON file among the outputs of the job."""
    return json.loads((job.folder / "outputs" / path).read_text())


def facts_in(text: str) -> list[dict[str, Any]]:
    """What processes said about themselves: the JSON that follows `facts ` in their lines."""
    lines = [line for line in text.splitlines() if "facts {" in line]
    return [json.loads(line[line.index("facts {") + 6 :]) for line in lines]


def facts(job: Job) -> list[dict[str, Any]]:
    return facts_in(all_logs(job))


def free_port() -> int:
    """A port that nobody has right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number
