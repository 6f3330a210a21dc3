"""PyTorch trains: the example as it stands, and torch.distributed under `launch`."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import sys
from pathlib import Path

import pytest
from conftest import TOP, Phalanx

from system.helpers import Job, python

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None and "CI" not in os.environ, reason="PyTorch is not installed"
)

# The Python of the tests first on PATH, as an activated environment has it; CPUs only.
ACTIVE = {
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
}

ALL_REDUCE = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
assert (dist.get_rank(), dist.get_world_size()) == (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
numbers = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(numbers)
print("sum", numbers.item())
dist.destroy_process_group()
"""


def test_the_example_trains_to_97_percent(phalanx: Phalanx) -> None:
    done = phalanx.run(
        "run", TOP / "examples/pytorch-ddp/job.yml", "--name", "digits", env=ACTIVE, timeout=400
    )
    assert done.returncode == 0, done.stdout + done.stderr
    job = Job(phalanx, "digits")
    assert job.show()["state"] == "Completed"
    logs = [job.log(f"std_log_process_{rank}.txt").decode() for rank in range(4)]
    assert all(logs)
    accuracies = [float(number) for number in re.findall(r"accuracy[^0-9]*([0-9.]+)", "".join(logs))]
    assert accuracies
    assert accuracies[-1] >= (97 if accuracies[-1] > 1 else 0.97)
    assert (job.folder / "outputs/model/model.pt").stat().st_size > 0
    assert phalanx.run("download", "digits", "--all", "-p", "here").returncode == 0
    assert (phalanx.folder / "here/named-outputs/model/model.pt").exists()


RECORDED = """
import os, time
from torch.distributed.elastic.multiprocessing.errors import record
@record
def main():
    if os.environ["RANK"] != "1":
        time.sleep(600)
    raise ValueError("no such\\nlayer")
main()
"""


def test_the_exception_of_a_recorded_main_is_the_reason(phalanx: Phalanx) -> None:
    command = ["-n", "2", "--", *python(RECORDED)]
    done = phalanx.run("launch", "--name", "raised", *command, env=ACTIVE, timeout=300)
    assert done.returncode == 1
    assert "exited with code 1\n  ValueError: no such\\nlayer\n" in done.stderr
    assert Job(phalanx, "raised").show()["verdict"]["reason"] == "ValueError: no such\\nlayer"


@pytest.mark.parametrize("text", ["[" * 100000, "\\377", '{"message": {"message": 7}}'])
def test_what_else_stands_in_the_error_file_is_no_reason(phalanx: Phalanx, text: str) -> None:
    words = f"printf '{text}' > $TORCHELASTIC_ERROR_FILE; exit 3"
    done = phalanx.run("launch", "--name", "odd", "--", "sh", "-c", words)
    assert done.returncode == 3
    assert "reason" not in Job(phalanx, "odd").show()["verdict"]


def test_launch_starts_torch_distributed(phalanx: Phalanx) -> None:
    options = ["-q", "--name", "sum", "-N", "2", "-n", "2"]
    done = phalanx.run("launch", *options, "--", *python(ALL_REDUCE), env=ACTIVE, timeout=300)
    assert done.returncode == 0, done.stderr
    for rank in range(4):
        assert b"sum 10.0" in Job(phalanx, "sum").log(f"std_log_process_{rank}.txt")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


@pytest.mark.parametrize("form", ["yml", "xml"])
def test_hpc_packs_training_job_trains_on_two_nodes(phalanx: Phalanx, form: str) -> None:
    """Two tasks with one command line: each starts torchrun, and these find each other."""
    folder, port = TOP / "examples/hpc-pack-ddp", free_port()
    file, options = folder / "job.yml", ["--set", f"inputs.port={port}"]
    if form == "xml":
        text = (folder / "job.xml").read_text().replace("/app/", f"{folder}/src/")
        file, options = phalanx.folder / "job.xml", []
        file.write_text(text.replace("$PHALANX_RENDEZVOUS", f"localhost:{port}"))
    done = phalanx.run("run", file, "--name", "job", *options, env=ACTIVE, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    said = [line for line in done.stdout.splitlines() if " of 4: loss " in line]
    assert len(said) == 4
    assert all(line.endswith("weights the same: True") for line in said)
    assert [task["state"] for task in Job(phalanx, "job").show()["tasks"]] == ["Completed", "Completed"]


def test_a_task_may_meet_the_others_at_a_port_that_is_held_for_them(phalanx: Phalanx) -> None:
    file = phalanx.folder / "job.yml"
    folder = TOP / "examples/hpc-pack-ddp"
    text = (folder / "job.yml").read_text().replace("code: src", f"code: {folder}/src")
    file.write_text(text.replace("${{inputs.node}}:${{inputs.port}}", "$PHALANX_RENDEZVOUS"))
    done = phalanx.run("run", file, env=ACTIVE, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("weights the same: True") == 4


def test_the_verdict_of_a_failed_torchrun_has_the_cause_that_its_report_hides(phalanx: Phalanx) -> None:
    file = phalanx.folder / "job.yml"
    command = "python3 -m torch.distributed.run --nproc_per_node=2 --master_port=0 no_such.py"
    file.write_text(f"tasks: [{{name: train, command: {command}}}]\n")
    done = phalanx.run("run", file, env=ACTIVE, timeout=400)
    assert done.returncode == 1, done.stdout + done.stderr
    before, _ = done.stderr.split("last lines of task train:")
    assert "can't open file" in before
    assert "no_such.py" in before
