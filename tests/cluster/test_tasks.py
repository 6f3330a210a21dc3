"""Jobs of tasks on ssh hosts and on Slurm, and HPC Pack's training job with the real names of nodes."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import HARD_TIMEOUT, TOP, Phalanx, eventually

from cluster.faults import READY, kill, nothing_runs, place_on
from cluster.hosts import Hosts
from cluster.places import COMPUTES, Place, job_file
from cluster.slurm import Slurm

EXAMPLE = TOP / "examples" / "hpc-pack-ddp"


@pytest.fixture(params=["slurm", "ssh-shared", "ssh-private"])
def place(request: pytest.FixtureRequest, phalanx: Phalanx) -> Place:
    kind, bed = request.param, request.getfixturevalue("slurm" if request.param == "slurm" else "hosts")
    text = COMPUTES[kind]
    if kind == "ssh-shared":
        text = text.replace("SHARED", str(bed.shared / "phalanx"))
    return place_on(phalanx, kind, text, bed.environment(), bed.names)


def tasks_file(folder: Path, tasks: Any, nodes: int = 2, **keys: Any) -> Path:
    file = folder / "job.yml"
    file.write_text(
        yaml.safe_dump({"tasks": tasks, "resources": {"instance_count": nodes}} | keys, sort_keys=False)
    )
    return file


def shown(place: Place) -> dict[str, Any]:
    done = place.run("show", "job", "-o", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_tasks_run_on_nodes_with_their_own_names(place: Place, tmp_path: Path) -> None:
    say = "echo $PHALANX_TASK $(hostname) $CCP_NODES $(tr '\\n' ' ' < $CCP_MPI_HOSTFILE)"
    tasks = {
        "one": {"command": say},
        "two": {"command": say, "depends_on": "one"},
        "both": {"command": say, "nodes": 2, "depends_on": "two"},
    }
    done = place.submit(tasks_file(tmp_path, tasks), "--name", "job")
    assert done.returncode == 0, done.stderr
    said = {line.split("] ")[0][1:]: line.split("] ")[1].split()[1:] for line in done.stdout.splitlines()}
    host, count, name, cores, written = said["one"]
    assert (host, count, written) == (name, "1", name)
    assert host in place.hosts
    assert int(cores) > 0
    assert said["both"][1] == "2"
    assert said["both"][0] == said["both"][2] == said["both"][6]
    assert len({said["both"][2], said["both"][4]}) == 2
    job = shown(place)
    assert [(task["name"], task["state"]) for task in job["tasks"]] == [
        ("one", "Completed"),
        ("two", "Completed"),
        ("both", "Completed"),
    ]


def test_tasks_run_on_the_nodes_that_they_require(place: Place, tmp_path: Path) -> None:
    first, _, third, _ = place.hosts
    tasks = {
        "a": {"command": "echo a $(hostname)", "required_nodes": third},
        "b": {"command": "echo b $(hostname)", "required_nodes": [third, first], "depends_on": "a"},
    }
    done = place.submit(tasks_file(tmp_path, tasks, required_nodes=[first, third]), "--name", "job")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"[a] a {third}", f"[b] b {third}"]
    assert [node["name"] for node in shown(place)["nodes"]] == [first, third]


def test_any_job_runs_on_the_nodes_that_it_requires(place: Place, tmp_path: Path) -> None:
    _, second, _, fourth = place.hosts
    more = f"required_nodes: [{fourth}, {second}]\n"
    done = place.submit(job_file(tmp_path, "echo $RANK $(hostname)", processes=1, more=more), "--name", "job")
    assert done.returncode == 0, done.stderr
    assert sorted(line.split("] ")[1] for line in done.stdout.splitlines()) == [f"0 {second}", f"1 {fourth}"]


def test_a_node_that_is_not_there_is_named(phalanx: Phalanx, hosts: Hosts, tmp_path: Path) -> None:
    place = place_on(phalanx, "ssh-private", COMPUTES["ssh-private"], hosts.environment(), hosts.names)
    done = place.submit(tasks_file(tmp_path, [{"command": "true"}], nodes=1, required_nodes=["h9"]))
    assert done.returncode == 125
    assert "the job requires node h9, and compute place has no host of that name" in done.stderr


def test_tasks_on_slurm_have_gpus_of_their_own(phalanx: Phalanx, slurm: Slurm, tmp_path: Path) -> None:
    """Three GPUs of two nodes, all at once: each task waits for the others."""
    place = place_on(phalanx, "slurm", COMPUTES["slurm"], slurm.environment(), slurm.names)
    meet = "touch $PHALANX_TASK; until test -e 1 -a -e 2 -a -e 3; do sleep 0.02; done"
    tasks = [
        {"name": str(n), "command": f"cd {tmp_path}; {meet}; echo $CUDA_VISIBLE_DEVICES"} for n in (1, 2, 3)
    ]
    done = place.submit(tasks_file(tmp_path, tasks, resource_unit="gpu"), "--name", "job")
    assert done.returncode == 0, done.stderr
    job = shown(place)
    assert [task["node"] for task in job["tasks"]] == [0, 0, 1]
    logs = [place.run("logs", "job", "--task", str(n)).stdout.strip() for n in (1, 2, 3)]
    assert logs == ["0", "1", "0"]


@pytest.mark.parametrize("unit", ["core", "gpu"])
def test_more_than_the_nodes_have_is_said_when_they_are_known(
    phalanx: Phalanx, slurm: Slurm, tmp_path: Path, unit: str
) -> None:
    place = place_on(phalanx, "slurm", COMPUTES["slurm"], slurm.environment(), slurm.names)
    file = tasks_file(tmp_path, [{"command": "true", f"{unit}s": 100}], nodes=1, resource_unit=unit)
    done = place.submit(file, "--name", "job")
    assert done.returncode == 125
    assert "task 'task-1' takes 100" in done.stderr
    assert shown(place)["state"] == "Failed"


def test_failures_logs_and_cancel(place: Place, tmp_path: Path) -> None:
    tasks = {
        "bad": {"command": "echo problem; exit 6"},
        "never": {"command": "true", "depends_on": "bad"},
        "long": {"command": "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done"},
    }
    assert place.submit(tasks_file(tmp_path, tasks), "--name", "job", "--detach").returncode == 0
    eventually(lambda: "ready" in place.run("logs", "job", "--task", "long").stdout, 60)
    eventually(lambda: shown(place)["tasks"][1]["state"] == "NotRun", 60)
    assert place.run("logs", "job", "--task", "bad").stdout == "problem\n"
    assert place.run("cancel", "job").returncode == 0
    job = shown(place)
    assert [task["state"] for task in job["tasks"]] == ["Failed", "NotRun", "Canceled"]
    assert job["state"] == "Canceled"
    assert place.run("logs", "job", "--task", "long").stdout.split()[-1] == "saved"


def test_a_dead_host_ends_the_job_and_no_task_lives(phalanx: Phalanx, hosts: Hosts, tmp_path: Path) -> None:
    place = place_on(phalanx, "ssh-private", COMPUTES["ssh-private"], hosts.environment(), hosts.names)
    file = tasks_file(tmp_path, {"a": {"command": READY}, "b": {"command": READY}, "c": {"command": "true"}})
    assert place.submit(file, "--name", "job", "--detach").returncode == 0
    eventually(lambda: place.run("logs", "job").stdout.count("ready") == 2, 60)
    kill(hosts, "h2", "phalanx-super")
    eventually(lambda: shown(place)["state"] == "Failed", 60)
    assert "node 1" in shown(place)["verdict"]["text"]
    nothing_runs(hosts, "h1", "h2")


def test_tasks_are_known_by_name_from_the_start(place: Place, tmp_path: Path) -> None:
    tasks = {"a": {"command": "echo here"}, "b": {"command": "echo *", "sweep": {"end": 2}}}
    assert place.submit(tasks_file(tmp_path, tasks), "--name", "job", "--detach").returncode == 0
    done = place.run("logs", "job", "--task", "a", "--follow")
    assert (done.returncode, done.stdout) == (0, "here\n"), done.stderr
    done = place.run("logs", "job", "--task", "b")
    assert sorted(done.stdout.splitlines()) == ["[b.1] 1", "[b.2] 2"]


def test_paths_of_another_machine_say_so(phalanx: Phalanx, hosts: Hosts, tmp_path: Path) -> None:
    place = place_on(phalanx, "ssh-private", COMPUTES["ssh-private"], hosts.environment(), hosts.names)
    done = place.submit(tasks_file(tmp_path, {"a": {"command": "exit 3"}}), "--name", "job")
    assert done.returncode == 3
    log = done.stderr[done.stderr.index("  log: ") :]
    assert log.startswith("  log: h1:/"), done.stderr
    assert "(`phalanx logs job --task 1` shows it)" in log
    shown_to_people = place.run("show", "job").stdout
    assert "logs        h1:/" in shown_to_people
    assert "/user_logs (`phalanx logs job` shows them)" in shown_to_people


def test_a_reader_that_goes_is_no_trouble_of_the_host(phalanx: Phalanx, hosts: Hosts, tmp_path: Path) -> None:
    place = place_on(phalanx, "ssh-private", COMPUTES["ssh-private"], hosts.environment(), hosts.names)
    say = "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); sleep 0.002; done"
    file = job_file(tmp_path, say, nodes=1, processes=1)
    with place.phalanx.start(
        "run", file, *place.options, "--name", "job", env=place.env, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout
        assert running.stderr
        assert running.stdout.readline() == "line 0\n"
        running.stdout.close()
        said = running.stderr.read()
        running.wait(timeout=HARD_TIMEOUT)
    assert "cannot be reached" not in said
    assert running.returncode in (1, 128 + signal.SIGPIPE, -signal.SIGPIPE)
    done = place.run("logs", "job", "--follow")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "line 1999")


def test_launch_says_which_host_lacks_the_folder(phalanx: Phalanx, hosts: Hosts) -> None:
    only_here = Path("/dev/shm") / phalanx.marker  # each host has its own /dev/shm
    only_here.mkdir()
    try:
        done = phalanx.run(
            "launch", "--hosts", "h1:1,h2:1", "--", "true", env=hosts.environment(), cwd=only_here
        )
    finally:
        only_here.rmdir()
    assert done.returncode == 125, done.stderr
    said = (
        f"has no folder {only_here}: launch runs in the folder of the same name on each node; make it there"
    )
    assert said in done.stderr


@pytest.mark.parametrize("form", ["yml", "xml", "xml, any node"])
def test_hpc_packs_training_job(place: Place, tmp_path: Path, form: str) -> None:
    """With the name of a node as the rendezvous, as the tutorial has it, or with the job's own."""
    nodes = place.hosts[:2]
    if form == "yml":
        options = ["--set", f"required_nodes=[{','.join(nodes)}]", "--set", f"inputs.node={nodes[0]}"]
        file = EXAMPLE / "job.yml"
    else:
        text = (EXAMPLE / "job.xml").read_text().replace("/app/", f"{EXAMPLE}/src/")
        if form == "xml":
            text = text.replace("$PHALANX_RENDEZVOUS", f"{nodes[1]}:29400")
        text = text.replace("JobType", f'RequestedNodes="{",".join(nodes)}" JobType')
        file, options = tmp_path / "job.xml", []
        file.write_text(text)
    done = place.submit(file, "--name", "job", *options, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split("] ", 1)[1] for line in done.stdout.splitlines() if " of 4: loss " in line]
    assert sorted(line[:11] for line in lines) == [f"rank {n} of 4" for n in range(4)]
    assert all(line.endswith("weights the same: True") for line in lines)
    assert [task["state"] for task in shown(place)["tasks"]] == ["Completed", "Completed"]
