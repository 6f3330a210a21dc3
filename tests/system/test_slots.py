"""Jobs wait for this machine's CPUs, in order of priority, fairness and age."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import HARD_TIMEOUT, Phalanx, eventually, line_with

from system.helpers import CPUS, Job, as_user, is_root, pytorch, running, slots_are_free, two_cpus, write_job

Env = dict[str, str] | None

ALL = ["-n", str(CPUS)]
HOLD = ["--", "sleep", "600"]


def submit(
    phalanx: Phalanx, name: str, order: Path, *options: str, count: int = CPUS, env: Env = None
) -> Job:
    """A job that takes `count` CPUs, writes its name and ends."""
    words = f"test $LOCAL_RANK != 0 || echo {name} >> {order}"
    path = write_job(phalanx.folder, words, **pytorch(1, count))
    done = phalanx.run("run", path, "-d", "--name", name, *options, env=env)
    assert done.returncode == 0, done.stderr
    return Job(phalanx, name)


def test_a_job_waits_while_another_has_all_cpus(phalanx: Phalanx) -> None:
    with running(phalanx, "launch", *ALL, *HOLD) as (first, holder):
        holder.happened("running")
        waiter = submit(phalanx, "waiter", phalanx.folder / "order", count=1)
        queued = waiter.happened("queued")
        assert (queued["slots"], queued["free"], queued["ahead"]) == (1, 0, [holder.name])
        shown = waiter.show()
        assert shown["state"] == "Queued"
        assert "0 of 1 free" in shown["waiting_for"]
        assert waiter.never_ran()
        first.send_signal(signal.SIGINT)
        assert waiter.ended()["state"] == "Completed"


def test_waiting_is_said(phalanx: Phalanx) -> None:
    with running(phalanx, "launch", *ALL, *HOLD) as (_, holder):
        holder.happened("running")
        with running(phalanx, "launch", "--", "true") as (second, waiter):
            line_with("waiting for slots", second.stdout)
            phalanx.run("cancel", "--kill", holder.name)
            assert second.wait(HARD_TIMEOUT) == 0
            assert waiter.show()["state"] == "Completed"


def test_who_holds_the_slots_is_named_also_in_another_home(phalanx: Phalanx) -> None:
    with running(phalanx, "launch", *ALL, *HOLD) as (_, holder):
        holder.happened("running")
        elsewhere = {"PHALANX_HOME": str(phalanx.folder / "elsewhere")}
        path = write_job(phalanx.folder, "true")
        assert phalanx.run("run", path, "-d", "--name", "waiter", env=elsewhere).returncode == 0

        def waiting() -> str:
            shown = json.loads(phalanx.run("show", "waiter", "-o", "json", env=elsewhere).stdout)
            return str(shown["waiting_for"])

        said = eventually(waiting)
        pid = holder.show()["coordinator"]["pid"]
        assert f"after {holder.name} (pid {pid}, jobs in {phalanx.home})" in said
        assert phalanx.run("cancel", "--kill", "waiter", env=elsewhere).returncode == 0


def test_more_processes_than_cpus_run_all_the_same(phalanx: Phalanx) -> None:
    assert phalanx.run("launch", "-n", str(2 * CPUS + 1), "--", "true").returncode == 0


def test_priority_goes_before_age(phalanx: Phalanx) -> None:
    order = phalanx.folder / "order"
    with running(phalanx, "launch", *ALL, *HOLD) as (holder, job):
        job.happened("running")
        names = {"low": "-5", "middle": "0", "high": "7", "also-high": "7"}
        jobs = [submit(phalanx, name, order, "--priority", number) for name, number in names.items()]
        for waiting in jobs:
            waiting.happened("queued")
        holder.send_signal(signal.SIGINT)
        for waiting in jobs:
            assert waiting.ended()["state"] == "Completed"
    assert order.read_text().split() == ["high", "also-high", "middle", "low"]


def test_a_large_job_is_not_overtaken(phalanx: Phalanx) -> None:
    order = phalanx.folder / "order"
    with running(phalanx, "launch", "-n", "1", *HOLD) as (holder, job):
        job.happened("running")
        large = submit(phalanx, "large", order)
        large.happened("queued")
        small = submit(phalanx, "small", order, count=1)
        assert small.happened("queued")["ahead"]
        holder.send_signal(signal.SIGINT)
        assert {large.ended()["state"], small.ended()["state"]} == {"Completed"}
    assert order.read_text().split() == ["large", "small"]


@pytest.mark.parametrize("options", [[], ["--kill"]])
def test_a_waiting_job_can_be_cancelled(phalanx: Phalanx, options: list[str]) -> None:
    with running(phalanx, "launch", *ALL, *HOLD) as (_, holder):
        holder.happened("running")
        waiter = submit(phalanx, "waiter", phalanx.folder / "order")
        behind = submit(phalanx, "behind", phalanx.folder / "order", count=1)
        behind.happened("queued")
        assert phalanx.run("cancel", waiter.name, *options).returncode == 0
        assert waiter.show()["state"] == "Canceled"
        assert waiter.never_ran()
        assert holder.show()["state"] == "Running"
        phalanx.run("cancel", "--kill", holder.name)
        assert behind.ended()["state"] == "Completed"
    assert (phalanx.folder / "order").read_text().split() == ["behind"]


def test_interrupting_a_waiting_job_takes_it_out_of_the_queue(phalanx: Phalanx) -> None:
    with running(phalanx, "launch", *ALL, *HOLD) as (_, holder):
        holder.happened("running")
        with running(phalanx, "launch", "--", "true") as (second, waiter):
            waiter.happened("queued")
            second.send_signal(signal.SIGINT)
            assert second.wait(HARD_TIMEOUT) == 130
            assert waiter.never_ran()


def test_oversubscribe_starts_at_once(phalanx: Phalanx) -> None:
    with running(phalanx, "launch", *ALL, *HOLD) as (_, holder):
        holder.happened("running")
        assert phalanx.run("launch", "--oversubscribe", *ALL, "--", "true").returncode == 0
        path = write_job(phalanx.folder, "true", oversubscribe=True, **pytorch(2, CPUS))
        assert phalanx.run("run", path).returncode == 0
        assert holder.show()["state"] == "Running"


def test_a_job_inside_a_job_does_not_wait_for_it(phalanx: Phalanx) -> None:
    inner = [str(phalanx.program), "launch", *ALL, "--", "true"]
    assert (
        phalanx.run("launch", *ALL, "--", "sh", "-c", 'test $RANK != 0 || "$@"', "sh", *inner).returncode == 0
    )


def test_slots_are_free_after_any_end(phalanx: Phalanx) -> None:
    for number, words in enumerate((["true"], ["false"], ["sh", "-c", "kill -9 $$"], ["./missing"])):
        phalanx.run("launch", *ALL, "--", *words)
        assert slots_are_free(phalanx, f"after-{number}")


def test_slots_are_free_after_the_death_of_everything(phalanx: Phalanx) -> None:
    with running(phalanx, "launch", *ALL, *HOLD) as (process, holder):
        holder.happened("running")
        for pid in phalanx.living():
            with suppress(ProcessLookupError):  # the end of one may be the end of the next
                os.kill(pid, signal.SIGKILL)
        process.wait(HARD_TIMEOUT)
        eventually(lambda: not phalanx.living())
        assert slots_are_free(phalanx)


def shared_locks(phalanx: Phalanx) -> dict[str, str]:
    folder = phalanx.folder / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return {"PHALANX_LOCKS": str(folder)}


@is_root
@two_cpus
def test_of_two_users_the_one_who_holds_fewer_goes_first(phalanx: Phalanx) -> None:
    """Root holds one CPU and waits longer than the other user, who holds none: he goes first."""
    user, env, order = as_user(phalanx), shared_locks(phalanx), phalanx.folder / "shared/order"
    order.touch()
    order.chmod(0o666)
    most = CPUS - 1
    with (
        running(phalanx, "launch", *HOLD, env=env) as (_, small),
        running(phalanx, "launch", "-n", str(most), *HOLD, env=env) as (holder, large),
    ):
        small.happened("running")
        large.happened("running")
        mine = submit(phalanx, "mine", order, count=most, env=env)
        mine.happened("queued")
        his = submit(user, "his", order, count=most, env=env)
        pid = small.show()["coordinator"]["pid"]
        assert f"{small.name} of root (pid {pid})" in his.happened("queued")["ahead"]
        holder.send_signal(signal.SIGINT)
        assert {mine.ended()["state"], his.ended()["state"]} == {"Completed"}
    assert order.read_text().split() == ["his", "mine"]


@is_root
@pytest.mark.parametrize("root_first", [True, False])
def test_users_share_one_queue(phalanx: Phalanx, root_first: bool) -> None:
    user, env = as_user(phalanx), shared_locks(phalanx)
    first, second = (phalanx, user) if root_first else (user, phalanx)
    with running(first, "launch", *ALL, *HOLD, env=env) as (holder, job):
        job.happened("running")
        waiter = submit(second, "waiter", second.folder / "order", env=env)
        assert len(waiter.happened("queued")["ahead"]) == 1
        holder.send_signal(signal.SIGINT)
        assert waiter.ended()["state"] == "Completed"
