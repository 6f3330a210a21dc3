"""`phalanx run`: an Azure ML command job, from its code to its outputs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import Phalanx, eventually

from system.helpers import Job, pytorch, read_environment, running, write_job


def code_folder(folder: Path, **files: str) -> Path:
    code = folder / "src"
    for name, text in files.items():
        path = code / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return code


def run_job(
    phalanx: Phalanx, command: str, *options: str, **keys: object
) -> subprocess.CompletedProcess[str]:
    name = f"job-{len(phalanx.jobs())}"
    return phalanx.run("run", write_job(phalanx.folder, command, **keys), "--name", name, *options)


def test_the_code_is_the_working_directory(phalanx: Phalanx) -> None:
    code_folder(phalanx.folder, train_dot_sh="echo trained", data__list_dot_txt="one\n")
    done = run_job(phalanx, "sh train.sh && cat data/list.txt", code="src")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "trained\none\n"


def test_a_job_file_is_relative_to_its_own_folder(phalanx: Phalanx) -> None:
    code_folder(phalanx.folder / "deep", train_dot_sh="echo trained")
    path = write_job(phalanx.folder / "deep", "sh train.sh", code="src")
    assert phalanx.run("run", path.relative_to(phalanx.folder)).stdout == "trained\n"


def test_without_code_the_directory_is_empty(phalanx: Phalanx) -> None:
    done = run_job(phalanx, "ls -A")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("ignore", "kept"),
    [
        ({}, {"a.txt", "a.bin", "b.bin", "deep/a.bin"}),
        ({".gitignore": "*.bin\n!b.bin\n"}, {".gitignore", "a.txt", "b.bin"}),
        ({".amlignore": "/a.bin\n"}, {".amlignore", "a.txt", "b.bin", "deep/a.bin"}),
        (
            {".gitignore": "*\n", ".amlignore": "deep\n"},
            {".amlignore", ".gitignore", "a.txt", "a.bin", "b.bin"},
        ),
    ],
    ids=["none", "gitignore", "amlignore", "amlignore wins"],
)
def test_the_snapshot_leaves_out_what_is_ignored(
    phalanx: Phalanx, ignore: dict[str, str], kept: set[str]
) -> None:
    code = phalanx.folder / "src"
    (code / "deep").mkdir(parents=True)
    for name in ("a.txt", "a.bin", "b.bin", "deep/a.bin"):
        (code / name).write_text(name)
    for name, text in ignore.items():
        (code / name).write_text(text)
    done = run_job(phalanx, "find . -type f", code="src")
    assert {line.removeprefix("./") for line in done.stdout.splitlines()} == kept


def test_uncommitted_work_runs_and_git_does_not(phalanx: Phalanx) -> None:
    code = code_folder(phalanx.folder, train_dot_sh="echo committed")
    git = ["git", "-C", str(code), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    (code / "train.sh").write_text("echo changed; ls -A")
    (code / "new.txt").touch()
    assert run_job(phalanx, "sh train.sh", code="src").stdout.split() == ["changed", "new.txt", "train.sh"]


def test_later_edits_do_not_reach_a_job(phalanx: Phalanx) -> None:
    code = code_folder(phalanx.folder, value_dot_txt="before")
    wait = (
        f"touch {phalanx.folder}/ready; until test -e {phalanx.folder}/go; do sleep 0.02; done; cat value.txt"
    )
    path = write_job(phalanx.folder, wait, code="src")
    with running(phalanx, "run", path) as (process, job):
        eventually((phalanx.folder / "ready").exists)
        (code / "value.txt").write_text("after")
        path.write_text("no job any more")
        (phalanx.folder / "go").touch()
        assert process.wait(60) == 0
        assert job.log() == b"before"


def test_every_node_has_a_copy_of_its_own(phalanx: Phalanx) -> None:
    code_folder(phalanx.folder, value_dot_txt="of nobody\n")
    words = (
        "test $LOCAL_RANK = 1 && exit 0; cat value.txt; echo of $NODE_RANK > value.txt; cat value.txt; pwd"
    )
    done = run_job(phalanx, words, code="src", **pytorch(2, 2))
    assert done.returncode == 0, done.stderr
    job = Job(phalanx, "job-0")
    logs = [job.log(f"std_log_process_{rank}.txt").decode().splitlines() for rank in (0, 2)]
    assert [log[:2] for log in logs] == [["of nobody", "of 0"], ["of nobody", "of 1"]]
    assert logs[0][2] != logs[1][2]
    assert (phalanx.folder / "src/value.txt").read_text() == "of nobody\n"


def test_values_of_inputs_are_put_in_as_they_are(phalanx: Phalanx) -> None:
    inputs = {"lr": 0.1, "epochs": 12, "fast": True, "words": "two words", "one": 1.0}
    words = "printf '%s\\n' ${{inputs.lr}} ${{ inputs.epochs }} ${{inputs.fast}} ${{inputs.words}} "
    words += "${{inputs.one}}"
    done = run_job(phalanx, words, inputs=inputs)
    assert done.stdout.split("\n") == ["0.1", "12", "True", "two", "words", "1.0", ""]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--set", "inputs.lr=0.5"], "0.5 red"),
        (["--set", "inputs.lr=0.5", "--set", "inputs.colour=a=b"], "0.5 a=b"),
        (["--set", "environment_variables.MORE=x"], "0.1 redx"),
    ],
)
def test_set_changes_a_value_of_the_file(phalanx: Phalanx, options: list[str], expected: str) -> None:
    words = "echo ${{inputs.lr}} ${{inputs.colour}}$MORE"
    done = run_job(phalanx, words, *options, inputs={"lr": 0.1, "colour": "red"})
    assert done.stdout == expected + "\n"


def test_nodes_and_processes_can_be_chosen_on_the_command_line(phalanx: Phalanx) -> None:
    words = f"env -0 > {phalanx.folder}/$RANK.env"
    done = run_job(phalanx, words, "--nodes", "3", "-n", "2", **pytorch(1, 1))
    assert done.returncode == 0, done.stderr
    assert read_environment(phalanx.folder / "5.env")["NODE_RANK"] == "2"


def test_inputs_and_outputs_are_paths(phalanx: Phalanx) -> None:
    data = phalanx.folder / "data"
    data.mkdir()
    (data / "part.txt").write_text("rows\n")
    inputs = {
        "folder": {"type": "uri_folder", "path": "data"},
        "file": {"type": "uri_file", "path": "./data/part.txt"},
        "absolute": {"type": "uri_file", "path": f"file://{data}/part.txt"},
    }
    words = "cat ${{inputs.folder}}/part.txt ${{inputs.file}} ${{inputs.absolute}}; "
    words += "cp ${{inputs.file}} ${{outputs.model}}/copy.txt; ls -d ${{outputs.model}}"
    done = run_job(phalanx, words, inputs=inputs, outputs={"model": {"type": "uri_folder"}})
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert rows[:3] == ["rows"] * 3
    assert rows[3] == str(Job(phalanx, "job-0").folder / "outputs/model")
    assert (Path(rows[3]) / "copy.txt").read_text() == "rows\n"


@pytest.mark.parametrize(("path", "what"), [("", "/"), ("/paths/best.txt", ""), ("/paths/deep/", "/")])
def test_an_earlier_jobs_output_is_an_input(phalanx: Phalanx, path: str, what: str) -> None:
    first = "cd ${{outputs.model}}; mkdir deep; for f in best.txt deep/best.txt; do echo good > $f; done"
    assert run_job(phalanx, first, outputs={"model": {}}).returncode == 0
    kind = "uri_folder" if what else "uri_file"
    model = {"type": kind, "path": f"azureml://jobs/job-0/outputs/model{path}"}
    done = run_job(phalanx, "cat ${{inputs.model}}" + (what and "/best.txt"), inputs={"model": model})
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stderr


def test_environment_of_a_job_file(phalanx: Phalanx) -> None:
    keys = pytorch(2, 1) | {
        "experiment_name": "trials",
        "inputs": {"lr": 0.1},
        "outputs": {"model": {}},
        "environment_variables": {"COLOUR": "blue", "YES": True, "EPOCHS": 3},
    }
    done = run_job(phalanx, f"env -0 > {phalanx.folder}/$RANK.env", **keys)
    assert done.returncode == 0, done.stderr
    folder = Job(phalanx, "job-0").folder
    for rank in (0, 1):
        env = read_environment(phalanx.folder / f"{rank}.env")
        expected = {
            "AZUREML_RUN_ID": "job-0",
            "AZUREML_ARM_PROJECT_NAME": "trials",
            "AZUREML_NODE_COUNT": "2",
            "AZUREML_CR_NODE_RANK": str(rank),
            "AZUREML_PROCESS_NAME": f"rank_{rank}",
            "AZURE_ML_OUTPUT_model": str(folder / "outputs/model"),
            "COLOUR": "blue",
            "YES": "True",
            "EPOCHS": "3",
        }
        assert {name: env.get(name) for name in expected} == expected


AZURE_SIX = {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "NODE_RANK", "RANK", "LOCAL_RANK"}


@pytest.mark.parametrize(
    ("keys", "present", "absent"),
    [
        ({}, set(), {*AZURE_SIX, "LOCAL_WORLD_SIZE"}),
        ({"distribution": {"type": "pytorch"}}, AZURE_SIX, {"LOCAL_WORLD_SIZE", "GROUP_RANK"}),
        (pytorch(1, 1), {*AZURE_SIX, "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"}, set()),
        (
            {"distribution": {"launch": "node"}, "resources": {"instance_count": 2}},
            {"MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "PHALANX_NODE_COUNT"},
            {"RANK", "LOCAL_RANK", "WORLD_SIZE"},
        ),
        (
            {"distribution": {"launch": "head"}, "resources": {"instance_count": 2}},
            {"PHALANX_HOSTFILE", "PHALANX_NODE_COUNT"},
            {"RANK", "LOCAL_RANK", "WORLD_SIZE"},
        ),
    ],
    ids=["none", "pytorch without count", "pytorch", "launch node", "launch head"],
)
def test_each_kind_of_job_sees_its_own_variables(
    phalanx: Phalanx, keys: dict[str, object], present: set[str], absent: set[str]
) -> None:
    assert run_job(phalanx, f"env -0 > {phalanx.folder}/$PHALANX_NODE_RANK.env", **keys).returncode == 0
    env = read_environment(phalanx.folder / "0.env")
    assert present <= set(env)
    assert not absent & set(env)
    if "TORCHELASTIC_RUN_ID" not in present:
        assert not [name for name in env if name.startswith("TORCHELASTIC")]


def test_job_folders_are_private(phalanx: Phalanx) -> None:
    secret = {"MY_TOKEN": "s3cret-value"}
    path = write_job(phalanx.folder, "echo done", outputs={"model": {}})
    assert phalanx.run("run", path, "--name", "private", env=secret).returncode == 0
    folder = Job(phalanx, "private").folder
    eventually(lambda: not (folder / "control").exists())  # goes a moment after the end is told
    for path in (folder, folder.parent, phalanx.home):
        assert path.stat().st_mode & 0o777 == 0o700
    for root, _, files in os.walk(folder):
        for name in files:
            assert b"s3cret-value" not in (Path(root) / name).read_bytes(), name


def test_limits_timeout_stops_a_job(phalanx: Phalanx) -> None:
    done = run_job(phalanx, "exec sleep 600", limits={"timeout": 1})
    assert done.returncode == 124
    assert Job(phalanx, "job-0").show()["state"] == "Canceled"


def test_stop_grace_of_the_file_holds(phalanx: Phalanx) -> None:
    words = "if test $RANK = 1; then sleep 0.2; exit 7; fi; trap '' TERM; while :; do sleep 0.05; done"
    assert run_job(phalanx, words, stop_grace=0.2, **pytorch(1, 2)).returncode == 7


@pytest.mark.parametrize("home", ["src/.ph", "src"])
def test_the_jobs_are_no_part_of_the_code(phalanx: Phalanx, home: str) -> None:
    """A home inside the code: each job would copy all that were before it."""
    code_folder(phalanx.folder, train_dot_sh="find . -type f")
    path = write_job(phalanx.folder, "sh train.sh", code="src")
    for _ in range(3):
        done = phalanx.run("run", path, env={"PHALANX_HOME": str(phalanx.folder / home)})
        assert done.stdout == "./train.sh\n", done.stderr


@pytest.mark.parametrize("option", ["--quiet", "--dry-run"])
def test_a_job_file_can_come_through_a_pipe(phalanx: Phalanx, option: str) -> None:
    path = write_job(phalanx.folder, "echo came through")
    fifo = phalanx.folder / "fifo"
    os.mkfifo(fifo)
    writer = subprocess.Popen(["sh", "-c", 'cat "$1" > "$2"', "sh", path, fifo])
    done = phalanx.run("run", fifo, "--name", "piped", option)
    assert done.returncode == 0, done.stderr
    assert writer.wait(60) == 0
    assert "came through" in done.stdout
    if option != "--dry-run":
        assert (Job(phalanx, "piped").folder / "job.yml").read_bytes() == path.read_bytes()
