"""Jobs from Python: submitted, watched, awaited, stopped."""

from __future__ import annotations

import asyncio
import math
import os
import pickle
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import phalanx as px
import pytest
from conftest import Phalanx, eventually
from phalanx import _program
from phalanx._lines import shown
from phalanx.ml import MLClient
from phalanx.ml.exceptions import ResourceNotFoundError

ANY = "azureml:any@latest"


def job(command: str, **more: Any) -> dict[str, Any]:
    return {"command": command, "environment": ANY} | more


def test_a_dict_is_a_job(here: Path) -> None:
    submitted = px.submit(job("echo one; echo two")).wait()
    assert (submitted.state, submitted.exit_code, submitted.ended) == ("Completed", 0, True)
    assert list(submitted.logs(rank=0)) == ["one", "two"]


def test_a_file_is_a_job_and_its_paths_are_those_of_its_folder(here: Path) -> None:
    folder = here / "away"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "hello.sh").write_text("echo hello from code\n")
    (folder / "job.yml").write_text(f"command: sh hello.sh\ncode: src\nenvironment: {ANY}\n")
    assert list(px.submit(folder / "job.yml").wait().logs(rank=0)) == ["hello from code"]
    assert list(px.submit("away/job.yml").wait().logs(rank=0)) == ["hello from code"]


def test_paths_of_a_dict_are_those_of_the_current_folder(here: Path) -> None:
    (here / "data.txt").write_text("seven")
    done = px.submit(job("cat ${{inputs.data}}", inputs={"data": {"type": "uri_file", "path": "data.txt"}}))
    assert list(done.wait().logs(rank=0)) == ["seven"]


def test_options_go_over_the_job(here: Path) -> None:
    done = px.submit(
        job("echo $WORLD_SIZE ${{inputs.lr}} ${{inputs.word}}", inputs={"lr": 1, "word": "no"}),
        name="mine",
        nodes=2,
        procs_per_node=2,
        set={"inputs.lr": 1e-05, "inputs.word": "007", "tags.x": 'a "b" c'},
    ).wait()
    assert done.name == "mine"
    assert list(done.logs(rank=3)) == ["4 1e-05 007"]
    assert done.data["job"]["tags"] == {"x": 'a "b" c'}
    assert [rank.node for rank in done.ranks] == [0, 0, 1, 1]
    assert {rank.exit_code for rank in done.ranks} == {0}
    assert len(done.nodes) == 2


def test_a_failed_job_raises_its_verdict(here: Path) -> None:
    script = 'if [ "$RANK" = 1 ]; then echo ValueError: boom; exit 3; else sleep 100; fi'
    failing = px.submit(job(script), procs_per_node=2)
    with pytest.raises(px.JobFailed) as caught:
        failing.wait()
    error = caught.value
    assert error.verdict is not None
    assert (error.exit_code, error.verdict.rank, error.verdict.code) == (3, 1, 3)
    assert "ValueError: boom" in error.verdict.last_lines
    assert failing.name in str(error) and "rank 1" in str(error)
    assert not isinstance(error, px.JobCanceled)
    again = pickle.loads(pickle.dumps(error))
    assert (again.verdict, again.exit_code, again.job) == (error.verdict, 3, failing)
    assert failing.wait(check=False).state == "Failed"


def test_run_prints_and_raises(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(px.JobFailed):
        px.run(job("echo seen; exit 9"))
    assert "seen" in capsys.readouterr().out
    assert px.run(job("exit 9"), check=False).exit_code == 9


def test_a_cancelled_job_says_so(here: Path) -> None:
    running = px.submit(job("echo up; sleep 1000"))
    assert next(iter(running.logs(follow=True))) == "up"
    running.cancel()
    with pytest.raises(px.JobCanceled):
        running.wait()
    running.cancel()  # no error


def test_waiting_ends_with_its_time_and_the_job_runs_on(here: Path) -> None:
    running = px.submit(job("sleep 1000"))
    with pytest.raises(px.WaitTimeout) as caught:
        running.wait(timeout=0.1)
    assert isinstance(caught.value, TimeoutError)
    assert not running.ended
    running.cancel(kill=True)


def test_who_waits_asks_the_program_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = here / "gate"
    os.mkfifo(gate)
    running = px.submit(job(f"read line < {gate}"))
    asked: list[str] = []
    start = _program.start

    def noted(words: list[str], **more: Any) -> Any:
        asked.append(words[0])
        return start(words, **more)

    monkeypatch.setattr(_program, "start", noted)
    waiting = threading.Thread(target=running.wait)
    waiting.start()
    gate.write_text("go\n")
    waiting.join(60)
    assert asked == ["wait", "show"]
    assert running.state == "Completed"


def test_waiting_again_and_for_other_lengths(here: Path) -> None:
    failed = px.submit(job("exit 124"))  # the code of a waiting that took too long
    assert failed.wait(60, check=False).exit_code == 124
    assert px.Job(failed.name).wait(math.inf, check=False).exit_code == 124
    assert px.Job(failed.name).wait(0, check=False).exit_code == 124
    running = px.submit(job("exec sleep 1000"))
    for seconds in (0, -1):
        with pytest.raises(px.WaitTimeout):
            running.wait(seconds)
    running.cancel(kill=True)


def test_an_interrupted_waiting_leaves_nobody_behind(here: Path, phalanx: Phalanx) -> None:
    running = px.submit(job("exec sleep 1000"))

    def waits() -> list[int]:
        return [pid for pid, line in phalanx.living().items() if " wait " in line]

    def interrupt() -> None:
        eventually(waits)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        running.wait()
    eventually(lambda: not waits())

    async def cancelled() -> None:
        waiting = asyncio.create_task(running.wait_async())
        await asyncio.to_thread(eventually, waits)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(px.WaitTimeout):
            await running.wait_async(0.1)

    asyncio.run(cancelled())
    eventually(lambda: not waits())
    assert not running.ended
    running.cancel(kill=True)


def test_more_jobs_are_awaited_than_there_are_threads(here: Path) -> None:
    gate = here / "gate"
    os.mkfifo(gate)
    running = px.submit(job(f"read line < {gate}"))

    async def all_of_them() -> None:
        waiting = [asyncio.create_task(running.wait_async()) for _ in range(40)]
        await asyncio.sleep(0)
        await asyncio.to_thread(gate.write_text, "go\n")
        await asyncio.gather(*waiting)

    asyncio.run(all_of_them())


def test_a_job_is_archived_and_taken_back(here: Path) -> None:
    done = px.submit(job("true")).wait()
    assert (done.archive().folder / "archived").exists()
    assert not (done.restore().folder / "archived").exists()


def test_logs_follow_rank_and_tail(here: Path) -> None:
    running = px.submit(job('echo "first $RANK"; echo "last $RANK"; cat'), procs_per_node=2)
    running.wait()
    assert list(running.logs(rank=1)) == ["first 1", "last 1"]
    assert list(running.logs(rank=1, tail=1)) == ["last 1"]
    assert list(running.logs(prefix=False)) == ["first 0", "last 0", "first 1", "last 1"]
    assert set(running.logs(tail=1, follow=True)) == {"[0/0] last 0", "[0/1] last 1"}


def test_of_a_progress_bar_the_last_is_a_line(here: Path) -> None:
    done = px.submit(
        job(r"printf ' 10%%\r 20%%\rdone %s\nplain %s\r\n' $RANK $RANK"), procs_per_node=2
    ).wait()
    assert list(done.logs(rank=1)) == ["done 1", "plain 1"]
    assert sorted(done.logs()) == ["[0/0] done 0", "[0/0] plain 0", "[0/1] done 1", "[0/1] plain 1"]
    assert shown("[1/9] a\r[2/9] b", True) == "[2/9] b"
    assert shown("[0/1] [1/9] a\r[2/9] b", True) == "[0/1] [2/9] b"
    assert shown("[0/1] a\rb", False) == "b"


def test_lines_that_are_no_text_do_not_hurt(here: Path) -> None:
    done = px.submit(job(r"printf 'a\377b\nlast without newline'")).wait()
    assert list(done.logs(rank=0)) == ["a�b", "last without newline"]


def test_leaving_the_lines_early_leaves_no_process(here: Path, phalanx: Any) -> None:
    running = px.submit(job("echo up; sleep 1000"))
    with running.logs(follow=True) as lines:
        assert next(lines) == "up"
        assert any("logs" in line for line in phalanx.living().values())
    assert not any("logs" in line for line in phalanx.living().values())
    assert not running.ended
    running.cancel(kill=True)


async def drain(followed: px.Job) -> None:
    async for _ in followed.logs_async(follow=True):
        pass


def test_asyncio(here: Path) -> None:
    async def both() -> list[str]:
        one, two = await asyncio.gather(
            px.submit_async(job("echo one; echo 1")), px.submit_async(job("sleep 1000"))
        )
        lines = [line async for line in one.logs_async(follow=True)]
        await one.wait_async()
        waiting = asyncio.create_task(two.wait_async())
        following = asyncio.create_task(drain(two))
        await asyncio.sleep(0)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await two.cancel_async()
        with pytest.raises(px.JobCanceled):
            await waiting
        with pytest.raises(px.JobFailed):
            await px.run_async(job("exit 4"))
        return lines

    assert asyncio.run(both()) == ["one", "1"]


def test_a_job_is_found_by_its_name(here: Path) -> None:
    done = px.submit(job("true"), name="known").wait()
    assert px.Job("known").state == "Completed"
    assert px.Job("known") == done and pickle.loads(pickle.dumps(done)) == done
    with pytest.raises(px.JobNotFound, match="no job absent"):
        _ = px.Job("absent").state


def test_the_beginning_of_a_name_is_no_name(here: Path) -> None:
    running = px.submit(job("echo up; sleep 1000"), name="train_10")
    other = px.Job("train_1")
    looks = (
        lambda: other.state,
        other.wait,
        other.cancel,
        other.metric_points,
        other.download,
        lambda: list(other.logs()),
    )
    for look in looks:
        with pytest.raises(px.JobNotFound, match="no job train_1"):
            look()
    for ask in (MLClient().jobs.get, MLClient().jobs.begin_cancel, MLClient().jobs.stream):
        with pytest.raises(ResourceNotFoundError, match="no job train_1"):
            ask("train_1")
    assert running.state not in ("CancelRequested", "Canceled")
    running.cancel(kill=True)


def test_only_who_wants_metrics_reads_them(here: Path) -> None:
    line = f"{sys.executable} -c 'import phalanx; phalanx.log(loss=0.5)'"
    done = px.submit(job(line)).wait()
    assert done._last is not None and done._last["metrics"] is None
    assert done.exit_code == 0 and done._last["metrics"] is None
    assert done.metrics["loss"].last == 0.5
    assert done.data["metrics"]["loss"]["last"] == 0.5


def test_a_job_whose_conductor_is_killed_fails(here: Path) -> None:
    running = px.submit(job("sleep 1000"))
    eventually(lambda: running.state == "Running")
    os.kill(running.data["coordinator"]["pid"], signal.SIGKILL)
    with pytest.raises(px.JobFailed) as caught:
        running.wait(60)
    assert running.name in str(caught.value)


def test_outputs_and_download(here: Path) -> None:
    done = px.submit(
        job("echo m > ${{outputs.model}}/m; mkdir outputs; echo o > outputs/o", outputs={"model": None})
    )
    done.wait()
    assert (done.outputs["model"] / "m").read_text() == "m\n"
    assert done.download("got", all=True) == Path("got")
    assert (here / "got/named-outputs/model/m").read_text() == "m\n"
    assert (here / "got/artifacts/outputs/o").read_text() == "o\n"
    with pytest.raises(px.ProgramFailed, match=r"force=True overwrites, path= chooses another folder"):
        done.download("got", all=True)


def test_a_running_job_has_ranks_and_no_verdict(here: Path) -> None:
    running = px.submit(job("sleep 1000"))
    eventually(lambda: running.state == "Running" and running.ranks[0].pid)
    assert running.verdict is None and running.exit_code is None
    assert running.submitted is not None and running.submitted.tzinfo is not None
    running.cancel(kill=True)
