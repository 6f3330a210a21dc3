"""launch: head - a launcher on the first node reaches the others by an ssh, rsh and pdsh of Phalanx's own."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from conftest import HARD_TIMEOUT, Phalanx, eventually

from system.helpers import Job, write_job

HEAD = {"distribution": {"launch": "head"}, "resources": {"instance_count": 2}}


def run_head(phalanx: Phalanx, command: str, **keys: Any) -> Job:
    path = write_job(phalanx.folder, command, name="head", **(HEAD | keys))
    phalanx.run("run", path)
    return Job(phalanx, "head")


def test_a_command_runs_on_the_node_that_is_named(phalanx: Phalanx) -> None:
    job = run_head(phalanx, "ssh -o BatchMode=yes node-1 'echo node $NODE_RANK; pwd; exit 3'; echo status $?")
    assert job.log().decode().splitlines() == ["node 1", str(job.folder / "nodes/1/wd"), "status 3"]
    assert job.show()["exit_code"] == 0


def test_standard_output_and_error_stay_apart(phalanx: Phalanx) -> None:
    job = run_head(phalanx, "rsh node-1 'echo out; echo err >&2' 2>/dev/null")
    assert job.log() == b"out\n"


def test_pdsh_asks_all_nodes_and_gives_the_worst_status(phalanx: Phalanx) -> None:
    job = run_head(
        phalanx,
        "pdsh -S -f 8 -w node-0,node-1 'echo %n is %h; test %n = 0' | sort; echo status ${PIPESTATUS[0]}",
    )
    assert job.log().decode().splitlines() == ["node-0: 0 is node-0", "node-1: 1 is node-1", "status 1"]


def test_any_bytes_and_any_number_of_them_come_through(phalanx: Phalanx) -> None:
    count = 3_000_000  # more than may be on its way at once
    job = run_head(phalanx, f'ssh node-1 \'head -c {count} /dev/zero | tr "\\0" "\\377"\' | sha256sum')
    assert job.log().split()[0].decode() == hashlib.sha256(b"\xff" * count).hexdigest()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("ssh node-7 true", "node-7 is no node of this job; its nodes are node-0, node-1"),
        ("ssh node-1", "there are no terminals on other nodes"),
        ("ssh", "no host is named"),
        ("env -u PHALANX_JOB_FOLDER ssh node-1 true", "this is no job of Phalanx"),
    ],
)
def test_what_cannot_be_is_said_with_sshs_status(phalanx: Phalanx, command: str, said: str) -> None:
    job = run_head(phalanx, f"{command} 2>&1; echo status $?")
    lines = job.log().decode().splitlines()
    assert said in lines[0]
    assert lines[-1] == "status 255"


def test_a_command_whose_caller_is_killed_ends(phalanx: Phalanx) -> None:
    job = run_head(
        phalanx,
        "ssh node-1 'echo $$ > started; exec sleep 1000' & "
        "until test -s ../../1/wd/started; do sleep 0.05; done; kill -KILL $!; "
        "while ssh node-1 'kill -0 $(cat started)' 2>/dev/null; do sleep 0.05; done; echo gone",
    )
    assert job.log().decode().splitlines()[-1] == "gone"  # before it the shell says who was killed


def test_what_was_started_elsewhere_ends_with_the_job(phalanx: Phalanx) -> None:
    job = run_head(phalanx, "ssh node-1 'setsid sleep 1000 >/dev/null 2>&1 & echo started'")
    assert job.log() == b"started\n"
    eventually(lambda: not phalanx.living(), HARD_TIMEOUT)


def test_the_host_files_name_each_node_once(phalanx: Phalanx) -> None:
    job = run_head(phalanx, "cat $PHALANX_HOSTFILE $HYDRA_HOST_FILE")
    lines = job.log().decode().splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["node-0", "node-1"]
    assert all(" slots=" in line for line in lines[:2])
    assert [line.split(":")[0] for line in lines[2:]] == ["node-0", "node-1"]


@pytest.mark.parametrize("launcher", ["mpirun", "deepspeed", "horovodrun"])
def test_a_launcher_in_each_process_of_an_mpi_job_is_refused_with_the_cure(
    phalanx: Phalanx, launcher: str
) -> None:
    path = write_job(
        phalanx.folder,
        f"cd . && /opt/bin/{launcher} -np 4 true",
        distribution={"type": "mpi", "process_count_per_instance": 2},
        resources={"instance_count": 2},
    )
    done = phalanx.run("run", path)
    assert done.returncode == 125
    assert launcher in done.stderr
    assert "launch: head" in done.stderr
    assert not phalanx.jobs()
