"""Bad input: a message with its place, exit code 125, and nothing has started."""

from __future__ import annotations

import os
import re
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from conftest import Phalanx

ENV = "environment: azureml:plain@latest\n"

# Each with the line of the mistake and a word of the message.
BAD = {
    "unknown key": (ENV + "command: touch {0}\nenviroment_variables: {{A: b}}\n", 3, "environment_variables"),
    "missing command": (ENV + "code: .\n", 1, "command"),
    "empty command": (ENV + "command: ''\n", 2, "command"),
    "missing environment": ("command: touch {0}\n", 1, "environment"),
    "undefined input": (
        ENV + "command: touch {0} ${{{{inputs.missing}}}}\ninputs: {{lr: 1}}\n",
        2,
        "missing",
    ),
    "undefined output": (ENV + "command: touch {0} ${{{{outputs.model}}}}\n", 2, "model"),
    "missing code": (ENV + "command: touch {0}\ncode: no-such-folder\n", 3, "no-such-folder"),
    "missing data": (
        ENV + "command: touch {0}\ninputs:\n  d:\n    type: uri_folder\n    path: no-such-data\n",
        6,
        "no-such-data",
    ),
    "no nodes": (ENV + "command: touch {0}\nresources:\n  instance_count: 0\n", 4, "instance_count"),
    "no processes": (
        ENV + "command: touch {0}\ndistribution:\n  type: pytorch\n  process_count_per_instance: 0\n",
        5,
        "process_count_per_instance",
    ),
    "several nodes": (ENV + "command: touch {0}\nresources:\n  instance_count: 2\n", 4, "distribution"),
    "identity": (
        ENV + "command: touch {0}\ndistribution: {{type: pytorch}}\nenvironment_variables:\n  RANK: 3\n",
        5,
        "RANK",
    ),
    "unknown distribution": (ENV + "command: touch {0}\ndistribution: {{type: horovod}}\n", 3, "horovod"),
    "no yaml": (ENV + "command: [touch, {0}\n", 3, ""),
    "twice": (ENV + "command: touch {0}\ncommand: touch {0}\n", 3, "command"),
    "tab": (ENV + "command: touch {0}\nresources:\n\tinstance_count: 1\n", 4, "tab"),
    "another kind of job": (ENV + "type: pipeline\ncommand: touch {0}\n", 2, "pipeline"),
    "timeout": (ENV + "command: touch {0}\nlimits: {{timeout: PT1H}}\n", 3, "timeout"),
}


def nothing_happened(phalanx: Phalanx) -> None:
    assert not phalanx.jobs()
    assert not (phalanx.folder / "started").exists()
    assert not phalanx.living()


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_shown_in_its_place(phalanx: Phalanx, case: str) -> None:
    text, line, word = BAD[case]
    path = phalanx.folder / "job.yml"
    path.write_text(dedent(text.format(phalanx.folder / "started")))
    done = phalanx.run("run", "job.yml")
    assert done.returncode == 125
    assert re.search(rf"job\.yml:{line}:\d+: ", done.stderr), done.stderr
    assert word in done.stderr
    assert done.stdout == ""
    nothing_happened(phalanx)


@pytest.mark.parametrize("case", ["several nodes", "no processes"])
def test_every_mistake_is_shown_at_once(phalanx: Phalanx, case: str) -> None:
    text, line, _ = BAD[case]
    path = phalanx.folder / "job.yml"
    path.write_text(text.format("started") + "colour: red\nlimits: {timeout: 0}\n")
    done = phalanx.run("run", path)
    last = text.count("\n")
    for place in (line, last + 1, last + 2):
        assert f"job.yml:{place}:" in done.stderr
    nothing_happened(phalanx)


@pytest.mark.parametrize(
    "distribution",
    [
        "{type: ray}",
    ],
)
def test_what_is_not_done_is_refused_by_name(phalanx: Phalanx, distribution: str) -> None:
    path = phalanx.folder / "job.yml"
    path.write_text(ENV + f"command: touch {phalanx.folder}/started\ndistribution: {distribution}\n")
    done = phalanx.run("run", path)
    assert done.returncode == 125
    kind = re.findall(r": (\w+)", distribution)[0]
    assert kind in done.stderr
    assert "not done yet" in done.stderr
    nothing_happened(phalanx)


@pytest.mark.parametrize(
    "arguments",
    [
        ["missing.yml"],
        ["."],
        ["job.yml", "--set", "inputs.lr"],
        ["job.yml", "--set", "colour=red"],
        ["job.yml", "--set", "inputs.lr=[1, 2]"],
        ["job.yml", "--nodes", "2"],
        ["job.yml", "--priority", "5000"],
        ["job.yml", "--name", ".hidden"],
        ["job.yml", "--name", "a b"],
        ["job.yml", "--name", ""],
        ["job.yml", "--set", "inputs.typo=1"],
        ["job.yml", "-n", "0"],
        ["job.yml", "-o", "xml"],
        ["job.yml", "other.yml"],
        [],
    ],
    ids=" ".join,
)
def test_a_command_line_without_sense_is_refused(phalanx: Phalanx, arguments: list[str]) -> None:
    (phalanx.folder / "job.yml").write_text(ENV + "command: touch started\n")
    done = phalanx.run("run", *arguments)
    assert done.returncode == 125, done.stderr
    assert done.stderr.startswith("phalanx: ")
    nothing_happened(phalanx)


@pytest.mark.parametrize(
    "path",
    ["azureml://jobs/no_such_job/outputs/model", "azureml://jobs/job-0/outputs/other", "azureml:cifar:1"],
)
def test_data_that_cannot_be_had_is_refused(phalanx: Phalanx, path: str) -> None:
    text = "command: ls {}\ninputs:\n  model:\n    type: uri_folder\n    path: {}\n"
    job = phalanx.folder / "job.yml"
    job.write_text(ENV + "command: echo > ${{outputs.model}}/x\noutputs: {model: {}}\n")
    assert phalanx.run("run", job, "--name", "job-0").returncode == 0
    job.write_text(ENV + text.format("${{inputs.model}}", path))
    done = phalanx.run("run", job)
    assert done.returncode == 125
    assert path.rsplit("/", 1)[-1] in done.stderr
    assert [folder.name for folder in phalanx.jobs()] == ["job-0"]


def test_an_unwritable_home_is_said(phalanx: Phalanx, tmp_path: Path) -> None:
    (phalanx.folder / "home").write_text("a file, no folder")
    done = phalanx.run("launch", "--", "touch", "started")
    assert done.returncode == 125
    assert "home" in done.stderr
    assert not (phalanx.folder / "started").exists()


def test_code_of_thousands_of_folders_in_one_another_is_refused(phalanx: Phalanx) -> None:
    """Deeper than a path can say, so each is made from within the one above."""
    (phalanx.folder / "src").mkdir()
    folder = os.open(phalanx.folder / "src", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deep", dir_fd=folder)
        inner = os.open("deep", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    path = phalanx.folder / "job.yml"
    path.write_text(ENV + "command: touch started\ncode: src\n")
    done = phalanx.run(
        "run", path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
    )
    assert done.returncode == 125, done.stderr
    assert "folders in one another" in done.stderr
    nothing_happened(phalanx)
    subprocess.run(["rm", "-rf", phalanx.folder / "src"], check=True)


def sized_job(phalanx: Phalanx, variables: int, more: str = "", last: int = 0) -> Path:
    """A job with so many variables of 100,000 bytes each, and one of `last`."""
    lines = "".join(f"  V{i:02}: {'x' * 100_000}\n" for i in range(variables)) + f"  LAST: '{'x' * last}'\n"
    file = phalanx.folder / "sized.yml"
    file.write_text(ENV + "command: echo started\n" + more + "environment_variables:\n" + lines)
    return file


def with_stack(kilobytes: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(
        resource.RLIMIT_STACK, (kilobytes << 10, resource.getrlimit(resource.RLIMIT_STACK)[1])
    )


def test_variables_that_are_too_large_together_are_refused(phalanx: Phalanx) -> None:
    file = sized_job(phalanx, 25)
    done = phalanx.run("run", file, preexec_fn=with_stack(8192))
    assert done.returncode == 125
    assert re.search(
        r"the command and its \d+ variables take 2,[\d,]+ bytes together, and Linux takes 2,097,152, "
        r"a quarter of `ulimit -s` \(V00 with 100,013, V01 with 100,013 and V02 with 100,013\); put what is "
        r"long in files, or say `ulimit -s \d+` first\n$",
        done.stderr,
    ), done.stderr
    nothing_happened(phalanx)
    says = re.search(r"`ulimit -s (\d+)`", done.stderr)
    assert says
    cured = phalanx.run("run", file, preexec_fn=with_stack(int(says[1])))
    assert cured.stdout == "started\n", cured.stderr


def test_what_only_the_node_can_know_is_said_in_the_same_words(phalanx: Phalanx) -> None:
    """MPI's variables come last: the job is so near to the limit that they are too many."""
    mpi = "distribution: {type: mpi, process_count_per_instance: 1}\n"

    def run(last: int) -> subprocess.CompletedProcess[str]:
        file = sized_job(phalanx, 20, mpi, last)
        return phalanx.run("run", file, "--name", "near", preexec_fn=with_stack(8192))

    refused = run(99_999)
    found = re.search(r"take ([\d,]+) bytes together", refused.stderr)
    assert found, refused.stderr
    nothing_happened(phalanx)
    over = int(found[1].replace(",", "")) - 2_097_152
    done = run(99_999 - over - 8)
    assert done.returncode == 126, done.stderr
    assert "variables take 2,09" in done.stderr
    assert "a quarter of `ulimit -s`" in done.stderr
    assert "started" not in done.stdout
    assert not phalanx.living()


def test_a_command_that_grows_too_long_is_refused(phalanx: Phalanx) -> None:
    file = phalanx.folder / "long.yml"
    file.write_text(ENV + "command: echo ${{inputs.a}} ${{inputs.a}}\ninputs:\n  a: " + "z" * 80_000 + "\n")
    done = phalanx.run("run", file)
    assert done.returncode == 125
    assert "an argument of 160,006 bytes, and Linux takes 131,071; put it in a script" in done.stderr
    nothing_happened(phalanx)
