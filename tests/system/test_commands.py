"""Looking at jobs and acting on them, from another command line than the one that started them."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import yaml
from conftest import HARD_TIMEOUT, Phalanx, eventually, line_with

from system.helpers import Job, output_of, pytorch, running, write_job


def detached(phalanx: Phalanx, command: str, name: str = "far", **keys: object) -> Job:
    path = write_job(phalanx.folder, command, **keys)
    done = phalanx.run("run", path, "--detach", "--name", name)
    assert (done.returncode, done.stdout) == (0, name + "\n"), done.stderr
    return Job(phalanx, name)


def wait_for(path: Path) -> str:
    """Words that wait until the file is there."""
    return f"until test -e {path}; do sleep 0.02; done"


def test_a_detached_job_runs_and_can_be_followed(phalanx: Phalanx) -> None:
    go = phalanx.folder / "go"
    job = detached(phalanx, f"echo first; {wait_for(go)}; echo last")
    watcher = phalanx.start("logs", job.name, "--follow")
    line_with("first", watcher.stdout)
    assert watcher.poll() is None
    go.touch()
    assert "last" in output_of(watcher)
    assert watcher.returncode == 0
    assert job.ended()["state"] == "Completed"


def test_the_end_of_watching_is_not_the_end_of_the_job(phalanx: Phalanx) -> None:
    go = phalanx.folder / "go"
    job = detached(phalanx, f"echo first; {wait_for(go)}")
    watcher = phalanx.start("logs", job.name, "--follow")
    line_with("first", watcher.stdout)
    watcher.send_signal(signal.SIGINT)
    output_of(watcher)
    assert watcher.returncode == 130
    assert job.show()["state"] == "Running"
    go.touch()
    assert job.ended()["state"] == "Completed"


def test_watching_ends_with_its_reader(phalanx: Phalanx) -> None:
    go = phalanx.folder / "go"
    job = detached(phalanx, f"echo first; {wait_for(go)}")
    watcher = phalanx.start("logs", job.name, "--follow")
    line_with("first", watcher.stdout)
    assert watcher.stdout
    watcher.stdout.close()
    assert watcher.wait(HARD_TIMEOUT) != 0
    assert job.show()["state"] == "Running"
    go.touch()
    assert job.ended()["state"] == "Completed"


def test_watching_can_begin_with_the_last_lines(phalanx: Phalanx) -> None:
    go = phalanx.folder / "go"
    job = detached(phalanx, f"seq 100; {wait_for(go)}; echo last")
    job.happened("running")
    eventually(lambda: job.log().endswith(b"100\n"))
    watcher = phalanx.start("logs", job.name, "--follow", "--tail", "2", "--no-prefix")
    assert watcher.stdout
    lines = [watcher.stdout.readline()]
    while "100" not in lines[-1]:
        assert lines[-1], lines
        lines.append(watcher.stdout.readline())
    assert [line for line in lines if line.strip().isdigit()] == ["99\n", "100\n"]
    go.touch()
    assert "last" in output_of(watcher)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_watching_of_run_and_is_told(phalanx: Phalanx, ending: signal.Signals) -> None:
    go = phalanx.folder / "go"
    path = write_job(phalanx.folder, f"echo first; {wait_for(go)}")
    watcher = phalanx.start("run", path, "--name", "left")
    line_with("first", watcher.stdout)
    watcher.send_signal(ending)
    said = output_of(watcher)
    assert watcher.returncode == 128 + ending
    assert "job left goes on: `phalanx logs left --follow` shows it, `phalanx cancel left` stops it" in said
    job = Job(phalanx, "left")
    assert job.show()["state"] == "Running"
    go.touch()
    assert job.ended()["state"] == "Completed"


def test_under_nohup_a_closed_terminal_is_nothing(phalanx: Phalanx) -> None:
    go = phalanx.folder / "go"
    path = write_job(phalanx.folder, f"echo first; {wait_for(go)}")
    watcher = phalanx.start(
        "run", path, "--name", "kept", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    line_with("first", watcher.stdout)
    watcher.send_signal(signal.SIGHUP)
    go.touch()
    assert "kept completed" in output_of(watcher)
    assert watcher.returncode == 0


def test_logs_of_one_rank_are_its_own_bytes(phalanx: Phalanx) -> None:
    job = detached(phalanx, "echo from $RANK; echo more", **pytorch(1, 3))
    job.ended()
    assert phalanx.run("logs", job.name, "--rank", "1").stdout == "from 1\nmore\n"
    assert phalanx.run("logs", job.name, "--rank", "2", "--tail", "1").stdout == "more\n"
    every = phalanx.run("logs", job.name).stdout
    for rank in range(3):
        assert f"from {rank}" in every
    assert phalanx.run("logs", job.name, "--rank", "3").returncode == 1


def test_list_has_every_job_newest_first(phalanx: Phalanx) -> None:
    assert json.loads(phalanx.run("list", "-o", "json").stdout) == []
    phalanx.run("launch", "--name", "older", "--", "true")
    phalanx.run("launch", "--name", "newer", "--", "false")
    listed = json.loads(phalanx.run("list", "-o", "json").stdout)
    assert [(job["name"], job["state"]) for job in listed] == [("newer", "Failed"), ("older", "Completed")]
    table = phalanx.run("list").stdout.splitlines()
    assert [line.split()[0] for line in table] == ["NAME", "newer", "older"]


def test_show_tells_a_jobs_life(phalanx: Phalanx) -> None:
    go = phalanx.folder / "go"
    job = detached(phalanx, f"touch {phalanx.folder}/at-$RANK; {wait_for(go)}; exit $RANK", **pytorch(2, 1))
    eventually(lambda: job.show()["state"] == "Running")
    shown = job.show()
    assert [node["ready"] for node in shown["nodes"]] == [True, True]
    pids = [rank["pid"] for rank in shown["ranks"]]
    pids += [node[key] for node in shown["nodes"] for key in ("guard_pid", "supervisor_pid")]
    assert set(pids) | {shown["coordinator"]["pid"]} <= set(phalanx.living())
    go.touch()
    shown = job.ended()
    assert (shown["state"], shown["exit_code"]) == ("Failed", 1)
    assert shown["verdict"]["rank"] == 1
    assert shown["submitted"] <= shown["started"] <= shown["ended"]
    assert "Failed" in phalanx.run("show").stdout
    assert yaml.safe_load(phalanx.run("show", "fa", "-o", "yaml").stdout)["name"] == job.name


@pytest.mark.parametrize("command", ["show", "logs", "cancel", "download"])
def test_a_job_that_is_not_there_is_said(phalanx: Phalanx, command: str) -> None:
    done = phalanx.run(command, "no_such_job")
    assert done.returncode == 1
    assert "no_such_job" in done.stderr


def test_states_come_in_order(phalanx: Phalanx) -> None:
    job = detached(phalanx, "true")
    job.ended()
    kinds = [event["event"] for event in job.events()]
    steps = ["submitted", "preparing", "starting", "ranks_started", "running", "finalizing", "ended"]
    assert [kind for kind in kinds if kind in steps] == steps
    times = [event["time"] for event in job.events()]
    assert times == sorted(times)


@pytest.mark.parametrize("options", [[], ["--kill"]])
def test_cancel_stops_a_job_and_waits_for_its_end(phalanx: Phalanx, options: list[str]) -> None:
    words = f"trap 'touch {phalanx.folder}/saved; exit 0' TERM; touch {phalanx.folder}/ready; "
    job = detached(phalanx, words + "while :; do sleep 0.02; done")
    eventually((phalanx.folder / "ready").exists)
    done = phalanx.run("cancel", job.name, *options)
    assert done.returncode == 0, done.stderr
    assert job.show()["state"] == "Canceled"
    assert (phalanx.folder / "saved").exists() == (not options)
    again = phalanx.run("cancel", job.name)
    assert again.returncode == 0
    assert "already" in again.stderr


def test_cancelling_from_elsewhere_ends_the_command_that_started_it(phalanx: Phalanx) -> None:
    with running(phalanx, "launch", "--", "sleep", "600") as (process, job):
        job.happened("running")
        assert phalanx.run("cancel", job.name).returncode == 0
        assert process.wait(HARD_TIMEOUT) == 143


def test_outputs_and_logs_of_the_working_directory_can_be_downloaded(phalanx: Phalanx) -> None:
    words = "mkdir -p outputs/deep logs; echo $RANK > outputs/deep/rank.txt; echo $RANK > logs/rank.txt; "
    words += "echo scratch > scratch.txt; echo said; echo model > ${{outputs.model}}/model.pt"
    job = detached(phalanx, words, outputs={"model": {}}, **pytorch(2, 1))
    job.ended()
    target = phalanx.folder / "here"
    done = phalanx.run("download", job.name, "--all", "-p", target)
    assert done.returncode == 0, done.stderr
    files = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert files >= {
        "artifacts/outputs/deep/rank.txt",
        "artifacts/logs/rank.txt",
        "artifacts/node_1/outputs/deep/rank.txt",
        "artifacts/node_1/logs/rank.txt",
        "artifacts/user_logs/std_log_process_0.txt",
        "artifacts/user_logs/std_log_process_1.txt",
        "named-outputs/model/model.pt",
    }
    assert not [name for name in files if "scratch" in name]
    assert (target / "artifacts/node_1/outputs/deep/rank.txt").read_text() == "1\n"


def test_download_overwrites_nothing_unasked(phalanx: Phalanx) -> None:
    job = detached(phalanx, "mkdir outputs; echo new > outputs/a.txt")
    job.ended()
    mine = phalanx.folder / "artifacts/outputs/a.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert phalanx.run("download", job.name).returncode == 1
    assert mine.read_text() == "mine"
    assert phalanx.run("download", job.name, "--force").returncode == 0
    assert mine.read_text() == "new\n"


def test_a_job_that_runs_is_not_downloaded(phalanx: Phalanx) -> None:
    with running(phalanx, "launch", "--", "sleep", "600") as (_, job):
        job.happened("running")
        assert phalanx.run("download", job.name).returncode == 1


@pytest.mark.parametrize("options", [[], ["-o", "json"]])
def test_a_dry_run_starts_nothing_and_leaves_nothing(phalanx: Phalanx, options: list[str]) -> None:
    path = write_job(
        phalanx.folder, f"touch {phalanx.folder}/started; echo ${{{{inputs.lr}}}}", inputs={"lr": 3}
    )
    done = phalanx.run("run", path, "--dry-run", "-N", "2", "-n", "2", *options)
    assert done.returncode == 0, done.stderr
    if options:
        plan = json.loads(done.stdout)
        assert plan["world"] == 4
        assert len(plan["nodes"]) == 2
    else:
        assert "RANK=0" in done.stdout
        assert "WORLD_SIZE=4" in done.stdout
    assert "echo 3" in done.stdout
    assert not phalanx.living()
    assert not (phalanx.folder / "started").exists()
    assert not phalanx.home.exists()


def test_a_dry_run_of_launch_starts_nothing(phalanx: Phalanx) -> None:
    done = phalanx.run("launch", "--dry-run", "-n", "2", "--", "touch", "started")
    assert done.returncode == 0
    assert "touch started" in done.stdout
    assert not phalanx.home.exists()


def test_the_job_file_is_kept_as_it_was(phalanx: Phalanx) -> None:
    job = detached(phalanx, "true", description="of mine")
    job.ended()
    assert (job.folder / "job.yml").read_bytes() == (phalanx.folder / "job.yml").read_bytes()
    for name in ("job.json", "plan.json"):
        json.loads((job.folder / name).read_text())


def test_a_job_can_be_stopped_from_its_first_moment(phalanx: Phalanx) -> None:
    """When its coordinator does not listen yet."""
    for number in range(10):
        job = detached(phalanx, "exec sleep 600", f"young-{number}")
        done = phalanx.run("cancel", job.name)
        assert done.returncode == 0, done.stderr
        assert job.show()["state"] == "Canceled"
