"""One job file, on this machine, on ssh hosts and on Slurm: it runs, fails and is stopped alike."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import TOP, Phalanx, eventually, line_with

from cluster.hosts import Hosts
from cluster.places import COMPUTES, Place, interrupt, job_file
from cluster.slurm import Slurm


@pytest.fixture(params=sorted(COMPUTES))
def place(request: pytest.FixtureRequest, phalanx: Phalanx) -> Place:
    kind = request.param
    phalanx.home.mkdir()
    text, env, names = COMPUTES[kind], {}, ["local"]
    if kind == "slurm":
        slurm: Slurm = request.getfixturevalue("slurm")
        env, names = slurm.environment(), [f"n{i}" for i in range(1, 5)]
    if kind.startswith("ssh"):
        hosts: Hosts = request.getfixturevalue("hosts")
        env, names = hosts.environment(), hosts.names
        text = text.replace("SHARED", str(hosts.shared / "phalanx"))
    (phalanx.home / "computes.yml").write_text(text)
    return Place(kind, phalanx, {key: env[key] for key in ("PATH", "SLURM_CONF") if key in env}, names)


def shown(place: Place, name: str) -> dict[str, Any]:
    done = place.run("show", name, "-o", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_job_runs_and_every_rank_knows_its_place(place: Place, tmp_path: Path) -> None:
    place_of = "$RANK/$WORLD_SIZE $NODE_RANK $LOCAL_RANK $MASTER_ADDR:$MASTER_PORT"
    say = f'echo "$(hostname) {place_of} $(cat hello.txt)"'
    done = place.submit(job_file(tmp_path, say), "--name", "job")
    assert done.returncode == 0, done.stderr
    words = [line.split("] ", 1)[1].split() for line in done.stdout.splitlines()]
    assert sorted(word[1] for word in words) == ["0/4", "1/4", "2/4", "3/4"]
    assert sorted((word[2], word[3]) for word in words) == [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]
    assert len({word[4] for word in words}) == 1
    assert all(word[5] == "hello" for word in words)
    if place.kind != "local":
        assert len({word[0] for word in words}) == 2
        assert {word[0] for word in words} <= set(place.hosts)
        assert not words[0][4].startswith("127.")
    job = shown(place, "job")
    assert (job["state"], job["exit_code"]) == ("Completed", 0)
    listed = json.loads(place.run("list", "-o", "json").stdout)
    assert [(one["name"], one["state"], one["world"]) for one in listed] == [("job", "Completed", 4)]


def test_the_first_failure_ends_all_and_gives_its_code(place: Place, tmp_path: Path) -> None:
    script = "if [ $RANK = 3 ]; then echo the end; exit 7; fi; sleep 1000"
    done = place.submit(job_file(tmp_path, script), "--name", "job")
    assert done.returncode == 7, done.stderr
    assert "rank 3 (node 1" in done.stderr
    assert "the end" in done.stderr
    job = shown(place, "job")
    assert (job["state"], job["exit_code"]) == ("Failed", 7)
    assert sorted(rank["stopped"] for rank in job["ranks"]) == [False, True, True, True]


def test_cancel_reaches_the_ranks(place: Place, tmp_path: Path) -> None:
    file = job_file(tmp_path, "trap 'echo stopping; exit 0' TERM; echo ready; while :; do sleep 0.1; done")
    assert place.submit(file, "--name", "job", "--detach").returncode == 0
    eventually(lambda: place.run("logs", "job").stdout.count("ready") == 4, 60)
    done = place.run("cancel", "job")
    assert done.returncode == 0, done.stderr
    assert shown(place, "job")["state"] == "Canceled"
    assert place.run("logs", "job").stdout.count("stopping") == 4


def test_waiting_reaches_the_machine_that_has_the_job(place: Place, tmp_path: Path) -> None:
    file = job_file(tmp_path, "echo ready; exec sleep 1000")
    assert place.submit(file, "--name", "job", "--detach").returncode == 0
    eventually(lambda: place.run("logs", "job").stdout.count("ready") == 4, 60)
    late = place.run("wait", "job", "--timeout", "0.5")
    assert late.returncode == 124, late.stderr
    assert "it runs on" in late.stderr
    waits = place.phalanx.start("wait", "job", env=place.env)
    assert place.run("cancel", "job", "--no-wait").returncode == 0
    said, _ = waits.communicate(timeout=60)
    assert waits.returncode == 143, said
    assert "job canceled" in said
    again = place.run("wait", "job", "-q")
    assert (again.returncode, again.stderr) == (143, "")


def test_ctrl_c_stops_the_job(place: Place, tmp_path: Path) -> None:
    run = place.start(job_file(tmp_path, "echo ready; sleep 1000"), "--name", "job")
    line_with("ready", run.stdout)
    interrupt(run)
    run.communicate(timeout=60)
    assert run.returncode == 130
    assert shown(place, "job")["state"] == "Canceled"


def test_outputs_come_back(place: Place, tmp_path: Path) -> None:
    script = "mkdir -p outputs; echo $RANK > outputs/$RANK.txt; echo $RANK > ${{outputs.model}}/$RANK.bin"
    file = job_file(tmp_path, script, more="outputs:\n  model: {type: uri_folder}\n")
    done = place.submit(file, "--name", "job")
    assert done.returncode == 0, done.stderr
    back = tmp_path / "back"
    done = place.run("download", "job", "-p", back, "--all")
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in back.rglob("*.bin")) == ["0.bin", "1.bin", "2.bin", "3.bin"]
    assert sorted(file.name for file in back.rglob("outputs/*.txt")) == ["0.txt", "1.txt", "2.txt", "3.txt"]
    assert len(list(back.rglob("std_log_process_*.txt"))) == 4


def test_metrics_come_back(place: Place, tmp_path: Path) -> None:
    lines = "store=${MLFLOW_TRACKING_URI#file://}/0/run; mkdir -p $store/metrics; "
    lines += "echo 1000 $RANK.5 3 > $store/metrics/acc; echo lifecycle_stage: active > $store/meta.yaml; "
    lines += """printf '{"at": 1, "step": 7, "metrics": {"loss": %d}}\\n' $RANK >> $PHALANX_METRICS"""
    done = place.submit(job_file(tmp_path, lines), "--name", "job")
    assert done.returncode == 0, done.stderr
    # Once from where the job was, and once from what has come of it.
    for _ in range(2):
        metrics = shown(place, "job")["metrics"]
        assert metrics["loss"] == {
            "last": 0,
            "min": 0,
            "max": 3,
            "count": 4,
            "step": 7,
            "ranks": [0, 1, 2, 3],
        }
        assert metrics["acc"] == {
            "last": 0.5,
            "min": 0.5,
            "max": 3.5,
            "count": 4,
            "step": 3,
            "ranks": [0, 1, 2, 3],
        }
        assert "  0 at step 7  rank 0\n" in place.run("metrics", "job").stdout
        listed = json.loads(place.run("list", "--metrics", "loss", "-o", "json").stdout)
        assert listed[0]["metrics"]["loss"]["max"] == 3
        done = place.run("download", "job", "-p", tmp_path / "back", "--force")
        assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "back").rglob("metrics_rank_*.jsonl"))) == 4


def test_pytorch_trains_over_two_nodes(place: Place) -> None:
    done = place.submit(TOP / "examples/pytorch-ddp/job.yml", "--name", "job", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert shown(place, "job")["state"] == "Completed"


def test_nothing_secret_is_left_in_the_folder(place: Place, tmp_path: Path) -> None:
    place.env["MY_TOKEN"] = "the-secret-word"
    done = place.submit(job_file(tmp_path, "echo done"), "--name", "job")
    assert done.returncode == 0, done.stderr
    for file in place.phalanx.home.rglob("*"):
        if file.is_file() and "bin" not in file.parts:
            assert b"the-secret-word" not in file.read_bytes(), file


def test_ranks_on_slurm_get_the_gpus_of_their_nodes(phalanx: Phalanx, slurm: Slurm, tmp_path: Path) -> None:
    phalanx.home.mkdir()
    (phalanx.home / "computes.yml").write_text(COMPUTES["slurm"])
    place = Place("slurm", phalanx, {"SLURM_CONF": slurm.environment()["SLURM_CONF"]}, [])
    done = place.submit(job_file(tmp_path, "echo $LOCAL_RANK:$CUDA_VISIBLE_DEVICES"))
    assert done.returncode == 0, done.stderr
    assert sorted(line.split()[-1] for line in done.stdout.splitlines()) in (
        ["0:0,1", "0:0,1", "1:0,1", "1:0,1"],
        ["0:0,1", "1:0,1"],  # equal lines of several ranks are one
    )


def test_dry_run_shows_the_batch_script_and_submits_nothing(
    phalanx: Phalanx, slurm: Slurm, tmp_path: Path
) -> None:
    phalanx.home.mkdir()
    (phalanx.home / "computes.yml").write_text(COMPUTES["slurm"])
    place = Place("slurm", phalanx, {"SLURM_CONF": slurm.environment()["SLURM_CONF"]}, [])
    done = place.submit(job_file(tmp_path, "true"), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "#SBATCH --nodes=2" in done.stdout
    assert '#SBATCH --partition="debug"' in done.stdout
    assert not slurm.jobs()
    assert not list(phalanx.home.glob("jobs/*"))


def test_launch_in_an_allocation_uses_its_nodes(phalanx: Phalanx, slurm: Slurm) -> None:
    env = phalanx.environment(SLURM_CONF=slurm.environment()["SLURM_CONF"])
    say = "echo $(hostname) $RANK $WORLD_SIZE"
    inner = [str(phalanx.program), "launch", "-n", "2", "--", "sh", "-c", say]
    done = slurm.run("salloc", "--nodes=2", "--exclusive", *inner, env=env)
    assert done.returncode == 0, done.stderr
    words = [line.split("] ", 1)[1].split() for line in done.stdout.splitlines()]
    assert sorted(int(word[1]) for word in words) == [0, 1, 2, 3]
    assert len({word[0] for word in words}) == 2
    assert {word[2] for word in words} == {"4"}


def test_launch_in_an_allocation_asks_for_no_more_than_it_has(phalanx: Phalanx, slurm: Slurm) -> None:
    env = phalanx.environment(SLURM_CONF=slurm.environment()["SLURM_CONF"])
    inner = [str(phalanx.program), "launch", "-N", "3", "--", "true"]
    done = slurm.run("salloc", "--nodes=2", *inner, env=env)
    assert done.returncode == 125
    assert "3 nodes are wanted, and the allocation has 2" in done.stderr


def test_a_job_on_slurm_lies_in_the_folder_of_its_compute(
    phalanx: Phalanx, slurm: Slurm, tmp_path: Path
) -> None:
    phalanx.home.mkdir()
    lab = tmp_path / "lab"
    (phalanx.home / "computes.yml").write_text(f"computes:\n  place: {{type: slurm, folder: {lab}}}\n")
    place = Place("slurm", phalanx, {"SLURM_CONF": slurm.environment()["SLURM_CONF"]}, [])
    file = job_file(tmp_path, "mkdir -p outputs; echo $PHALANX_JOB_FOLDER > outputs/where; cat hello.txt")
    done = place.submit(file, "--name", "job")
    assert done.returncode == 0, done.stderr
    assert (lab / "jobs/job/events.jsonl").exists()
    assert (lab / "jobs/job/nodes/0/wd/outputs/where").read_text() == f"{lab}/jobs/job\n"
    assert shown(place, "job")["state"] == "Completed"
    assert place.run("logs", "job").stdout.count("hello") >= 1
    assert [one["name"] for one in json.loads(place.run("list", "-o", "json").stdout)] == ["job"]
    assert place.submit(file, "--name", "job").returncode == 125
    assert f'--output="{lab}/jobs/' in place.submit(file, "--dry-run").stdout


def test_nobody_elses_program_is_run_on_slurm(phalanx: Phalanx, slurm: Slurm, tmp_path: Path) -> None:
    phalanx.home.mkdir()
    lab = tmp_path / "lab"
    (lab / f"bin-{os.geteuid()}").mkdir(parents=True)
    (lab / f"bin-{os.geteuid()}").chmod(0o777)
    (phalanx.home / "computes.yml").write_text(f"computes:\n  place: {{type: slurm, folder: {lab}}}\n")
    place = Place("slurm", phalanx, {"SLURM_CONF": slurm.environment()["SLURM_CONF"]}, [])
    done = place.submit(job_file(tmp_path, "true"), "--name", "job")
    assert done.returncode == 125
    assert "not yours alone to write" in done.stderr
    assert not (lab / "jobs/job").exists()


def test_nodes_of_a_slurm_compute_are_those_that_a_job_may_have(
    phalanx: Phalanx, slurm: Slurm, tmp_path: Path
) -> None:
    phalanx.home.mkdir()
    (phalanx.home / "computes.yml").write_text("computes:\n  place: {type: slurm, nodes: 'n[3-4]'}\n")
    place = Place("slurm", phalanx, {"SLURM_CONF": slurm.environment()["SLURM_CONF"]}, [])
    file = job_file(tmp_path, "hostname")
    for count, expected in ((1, {"n3", "n4"}), (2, {"n3", "n4"})):
        name = f"job-{count}"
        done = place.submit(file, "--name", name, "--nodes", str(count))
        assert done.returncode == 0, done.stderr
        assert {node["host"] for node in shown(place, name)["nodes"]} <= expected
    done = place.submit(file, "--nodes", "3")
    assert done.returncode == 125
    assert "the job wants 3 nodes, and compute place has 2 (its key nodes)" in done.stderr
