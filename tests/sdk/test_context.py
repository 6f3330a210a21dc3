"""Inside a job: context(), log(), and what is shown while it runs."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy
import phalanx as px
import pytest
from phalanx import _progress
from phalanx.ml import MLClient, command

from .test_jobs import job


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_rank_knows_itself(here: Path) -> None:
    (here / "who.py").write_text(
        "import json, phalanx\n"
        "c = phalanx.context()\n"
        "(c.output_folder / 'o').write_text('x')\n"
        "(c.checkpoint_folder / str(c.rank)).write_text('x')\n"
        "(c.outputs['model'] / str(c.rank)).write_text('x')\n"
        "print(json.dumps([c.job, c.rank, c.world, c.local_rank, c.local_world, c.node, c.nodes, c.attempt,\n"
        "                  c.is_main, c.inputs['lr']]))\n"
    )
    done = px.submit(
        job(f"{sys.executable} who.py", code=".", inputs={"lr": 0.5}, outputs={"model": None}),
        nodes=2,
        procs_per_node=2,
        name="me",
    ).wait()
    seen = [json.loads(line) for line in done.logs(prefix=False)]
    assert seen == [["me", rank, 4, rank % 2, 2, rank // 2, 2, 0, rank == 0, "0.5"] for rank in range(4)]
    assert {path.name for path in done.outputs["model"].iterdir()} == set("0123")
    assert {path.name for path in (done.folder / "checkpoints").iterdir()} == set("0123")
    done.download("got")
    assert (here / "got/artifacts/outputs/o").read_text() == "x"


def test_alone_it_is_rank_0_of_1(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("PHALANX_J", "PHALANX_R", "RANK", "WORLD"))]:
        monkeypatch.delenv(name)
    alone = px.context()
    assert (alone.job, alone.rank, alone.world, alone.node, alone.nodes) == (None, 0, 1, 0, 1)
    assert alone.output_folder == here / "outputs" and alone.checkpoint_folder == here / "checkpoints"
    monkeypatch.setenv("RANK", "nonsense")
    assert px.context().rank == 0


def test_metrics_are_appended_as_lines(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = here / "metrics" / "rank_0.jsonl"
    monkeypatch.setenv("PHALANX_METRICS", str(kept))
    px.log()
    assert not kept.exists()
    before = time.time()
    px.log(step=1, loss=0.5, accuracy=numpy.float32(0.25))
    px.log(loss=float("nan"), count=3, flag=True, one=numpy.array([7]))
    px.log_metrics({"a b/c": 1}, step=2, at=5.0)
    first, second, third = lines_of(kept)
    assert before <= first.pop("at") <= time.time()
    assert first == {"step": 1, "metrics": {"loss": 0.5, "accuracy": 0.25}}
    assert second["metrics"]["loss"] != second["metrics"]["loss"] and "step" not in second
    assert (second["metrics"]["flag"], second["metrics"]["one"]) == (1, 7)
    assert third == {"at": 5.0, "step": 2, "metrics": {"a b/c": 1}}


def test_only_rank_0_logs_unless_asked(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = here / "rank_1.jsonl"
    monkeypatch.setenv("PHALANX_METRICS", str(kept))
    monkeypatch.setenv("PHALANX_RANK", "1")
    px.log(loss=1)
    assert not kept.exists()
    px.log(loss=1, all_ranks=True)
    assert lines_of(kept)[0]["metrics"] == {"loss": 1}


@pytest.mark.parametrize("wrong", ["text", None, [1, 2], numpy.zeros(3), object(), 1j])
def test_a_metric_is_one_number(here: Path, wrong: Any) -> None:
    with pytest.raises(px.InvalidArgument, match="metric loss is"):
        px.log(loss=wrong)
    with pytest.raises(px.InvalidArgument, match="step is"):
        px.log(step=0.5, loss=1)  # type: ignore[arg-type]


def test_outside_of_a_job_metrics_are_not_kept_and_that_is_said(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PHALANX_METRICS", raising=False)
    monkeypatch.delenv("PHALANX_RANK", raising=False)
    monkeypatch.delenv("RANK", raising=False)
    with pytest.warns(px.PhalanxWarning, match="not kept"):
        px.log(loss=1)


def test_threads_log_whole_lines(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = here / "m.jsonl"
    monkeypatch.setenv("PHALANX_METRICS", str(kept))

    def work(number: int) -> None:
        for step in range(50):
            px.log_metrics({f"m{number}": step}, step)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(lines_of(kept)) == 200


def test_a_terminal_gets_the_programs_own_display(here: Path) -> None:
    script = (
        "import phalanx\n"
        "j = {'command': 'echo line $RANK', 'environment': 'azureml:a@latest'}\n"
        "j = phalanx.run(j, procs_per_node=2)\n"
        "print('ended', j.state)\n"
    )
    main, other = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", script], stdin=other, stdout=other, stderr=other)
    os.close(other)
    seen = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while block := os.read(main, 4096):
            seen += block
    os.close(main)
    assert process.wait(60) == 0, seen
    assert b"line 0" in seen and b"line 1" in seen and b"ended Completed" in seen
    assert b"\x1b[" in seen  # colours: it knows that it has a terminal


def test_ctrl_c_in_a_terminal_says_last_how_to_stop(here: Path) -> None:
    script = (
        "import phalanx\n"
        "j = {'command': 'echo is up; sleep 1000', 'environment': 'azureml:a@latest'}\n"
        "phalanx.run(j, name='mine')\n"
    )
    process, main = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-c", script])
    seen = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while block := os.read(main, 4096):
            seen += block
            if b"ranks alive" in seen and b"^C" not in seen and b"is up" in seen:
                os.write(main, b"\x03")
    os.close(main)
    os.waitpid(process, 0)
    said = seen.decode().strip().split("\r\n")
    assert said[-1].startswith("KeyboardInterrupt: job mine runs on: `phalanx logs mine --follow` shows it")
    assert said[-1].endswith("`phalanx cancel mine` stops it")
    (first,) = [line for line in said if line.endswith("Traceback (most recent call last):")]
    assert first.split("\r")[-1] == "\x1b[JTraceback (most recent call last):"  # no status line before it
    assert b"subprocess.py" not in seen
    assert px.Job("mine").state == "Running"
    px.Job("mine").cancel(kill=True)


def test_a_job_in_one_line() -> None:
    data = {
        "name": "n", "state": "Running", "waiting_for": "", "nodes_wanted": 2, "verdict": None,
        "ranks": [{"state": "running"}, {"state": "ended"}], "metrics": {"loss": {"last": 0.31}},
    }  # fmt: skip
    assert _progress.summary(data) == "n Running, 2 nodes, 1 of 2 processes run, loss 0.31"
    failed = data | {"state": "Failed", "ranks": [], "verdict": {"text": "rank 0 exited with code 1"}}
    assert _progress.summary(failed) == "n Failed, 2 nodes, rank 0 exited with code 1, loss 0.31"
    waiting = data | {"state": "Queued", "waiting_for": "2 slots", "ranks": [], "metrics": None}
    assert _progress.summary(waiting) == "n Queued, waits for 2 slots, 2 nodes"


BARE = """
import importlib.util, sys
assert importlib.util.find_spec("yaml") is None
import phalanx
from azureml.core import Run
phalanx.log(step=1, loss=0.5)
Run.get_context().log("seen", phalanx.context().world)
print(phalanx.__name__, phalanx.__version__, phalanx.Context.__module__)
"""


@pytest.mark.parametrize("how", ["dict", "file", "own way", "azure"])
def test_a_job_needs_no_package_of_its_python(here: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """A Python with nothing installed logs through `phalanx` and `azureml.core`."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", here / "bare"], check=True)
    monkeypatch.setenv("PYTHONPATH", "")
    (here / "bare.py").write_text(BARE)
    made: Any = job(f"{here}/bare/bin/python bare.py", code=".")
    if how == "own way":
        made["environment_variables"] = {"PYTHONPATH": "/nowhere"}
    if how == "azure":
        made = command(**made)
    if how == "file":
        (here / "job.json").write_text(json.dumps(made))
        made = "job.json"
    done = px.submit(made).wait()
    assert list(done.logs(rank=0)) == [f"phalanx {px.__version__} phalanx._context"]
    assert {name: metric.last for name, metric in done.metrics.items()} == {"loss": 0.5, "seen": 1}
    if how == "own way":
        assert MLClient().jobs.get(done.name).environment_variables == {"PYTHONPATH": "/nowhere"}


def test_a_package_that_is_installed_in_the_job_goes_first(here: Path) -> None:
    (here / "site/phalanx").mkdir(parents=True)
    (here / "site/phalanx/__init__.py").write_text("log = 'the installed one'\n")

    line = f"{sys.executable} -c \"import sys; sys.path.append('site'); import phalanx; print(phalanx.log)\""
    made = job(line, code=".", environment_variables={"PYTHONPATH": "/nowhere"})
    assert list(px.submit(made).wait().logs(rank=0)) == ["the installed one"]


def test_what_is_not_known_here_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    px.submit(job("true", compute="gpu-cluster")).wait()
    said = capsys.readouterr().err
    assert "compute gpu-cluster is not known here: running on this machine" in said
    assert "environment any is not known here" in said
    MLClient().jobs.create_or_update(command(**job("true", compute="gpu-cluster")))
    assert "compute gpu-cluster is not known here" in capsys.readouterr().err
