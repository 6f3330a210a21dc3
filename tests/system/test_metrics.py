"""Metrics: what processes log is kept with the job, and shown, plotted and drawn."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from conftest import Phalanx, eventually

from system.helpers import Job, python, running, write_job

LOG = """
import json, os
def log(step, **metrics):
    line = json.dumps({"at": 1764495787.25 + step, "step": step, "metrics": metrics}) + "\\n"
    file = os.open(os.environ["PHALANX_METRICS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, line.encode())
rank = int(os.environ.get("RANK", 0))
"""
TWO_RANKS = LOG + "\nfor step in range(5): log(step, loss=10 - step + rank, acc=step / 10)\n"


def launched(phalanx: Phalanx, code: str, *options: str, **env: str) -> Job:
    done = phalanx.run("launch", "--name", "job", *options, "--", *python(code), env=env)
    assert done.returncode == 0, done.stderr
    return Job(phalanx, "job")


def shown(phalanx: Phalanx, *args: str, **env: str) -> str:
    done = phalanx.run(*args, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def points(phalanx: Phalanx, *args: str) -> Any:
    return json.loads(shown(phalanx, "metrics", *args, "-o", "json"))["metrics"]


def test_each_rank_logs_and_show_has_it_in_short(phalanx: Phalanx) -> None:
    job = launched(phalanx, TWO_RANKS, "-n", "2")
    loss = job.show()["metrics"]["loss"]
    assert loss == {"last": 6, "min": 6, "max": 11, "count": 10, "step": 4, "ranks": [0, 1]}
    table = shown(phalanx, "show", "job")
    assert [line.split() for line in table.splitlines() if line.startswith(("METRIC", "loss", "acc"))] == [
        ["METRIC", "LAST", "MIN", "MAX", "STEP", "POINTS", "RANK"],
        ["loss", "6", "6", "11", "4", "10", "0-1"],
        ["acc", "0.4", "0", "0.4", "4", "10", "0-1"],
    ]


def test_every_point_is_there_for_programs(phalanx: Phalanx) -> None:
    launched(phalanx, TWO_RANKS, "-n", "2")
    series = points(phalanx, "job", "loss")
    assert [(one["name"], one["rank"], one["source"]) for one in series] == [
        ("loss", 0, "phalanx"),
        ("loss", 1, "phalanx"),
    ]
    assert series[1]["points"][2] == {"at": 1764495789.25, "step": 2, "value": 9}
    assert [one["rank"] for one in points(phalanx, "job", "--rank", "1")] == [1, 1]
    named = points(phalanx, "job", "acc", "loss", "--rank", "0")
    assert [one["name"] for one in named] == ["acc", "loss"]
    rows = shown(phalanx, "metrics", "job", "loss", "--rank", "1", "-o", "tsv").splitlines()
    assert rows[2].split("\t") == ["loss", "1", "phalanx", "2", "2025-11-30T09:43:09.250000Z", "9"]
    assert len(rows) == 5


def test_a_process_that_logs_nothing_leaves_nothing(phalanx: Phalanx) -> None:
    job = launched(phalanx, "import os; print(os.environ['PHALANX_METRICS'])")
    assert sorted(path.name for path in job.folder.rglob("*")) == [
        "events.jsonl",
        "job.json",
        "plan.json",
        "std_log.txt",
        "user_logs",
    ]
    assert job.show()["metrics"] == {}
    done = phalanx.run("metrics")
    assert done.returncode == 0
    assert done.stdout == ""
    assert "job has logged no metrics: phalanx.log(loss=0.5) in its program does" in done.stderr
    assert points(phalanx) == []


def test_nan_and_infinity_are_values(phalanx: Phalanx) -> None:
    job = launched(phalanx, LOG + "log(0, loss=2.0); log(1, loss=float('nan'), best=float('inf'))")
    metrics = job.show()["metrics"]
    assert metrics["loss"] == {"last": "NaN", "min": 2, "max": 2, "count": 2, "step": 1, "ranks": [0]}
    assert metrics["best"]["last"] == "Infinity"
    assert [point["value"] for point in points(phalanx, "job", "loss")[0]["points"]] == [2, "NaN"]
    assert "last nan at step 1, min 2, max 2" in shown(phalanx, "metrics", "job", "loss")


def test_what_is_no_metric_is_said_and_the_rest_is_shown(phalanx: Phalanx) -> None:
    code = LOG + "log(0, loss=1)\nfile = open(os.environ['PHALANX_METRICS'], 'ab')\n"
    code += r"file.write(b'\xff\0 rubbish\n{\"metrics\": {\"loss\": \"high\"}}\n'); file.flush()" + "\n"
    code += 'log(1, loss=2)\nfile.write(b\'{"step": 2, "metr\')'
    launched(phalanx, code)
    done = phalanx.run("metrics", "job", "-o", "json")
    assert [point["step"] for point in json.loads(done.stdout)["metrics"][0]["points"]] == [0, 1]
    assert "metrics_rank_0.jsonl: 2 lines are no metrics" in done.stderr


def test_metrics_of_a_job_are_shown_while_it_runs(phalanx: Phalanx) -> None:
    code = LOG + "log(3, loss=0.5)\nprint('logged', flush=True)\nimport signal; signal.pause()"
    with running(phalanx, "launch", "--", *python(code)) as (_, job):
        job.happened("ranks_started")
        eventually(lambda: "loss" in job.show()["metrics"])
        assert "step" in shown(phalanx, "metrics", job.name)


def test_metrics_of_tasks_go_by_their_names(phalanx: Phalanx) -> None:
    tasks = [
        {"name": name, "command": f"{sys.executable} log.py {value}"} for name, value in [("a", 1), ("b", 2)]
    ]
    (phalanx.folder / "log.py").write_text(LOG + "import sys; log(0, loss=int(sys.argv[1]))")
    file = phalanx.folder / "job.yml"
    file.write_text(json.dumps({"code": "log.py", "tasks": tasks, "environment": "azureml:plain@latest"}))
    done = phalanx.run("run", file, "--name", "job")
    assert done.returncode == 0, done.stderr
    assert [(one["rank"], one["task"]) for one in points(phalanx, "job")] == [(None, 1), (None, 2)]
    assert points(phalanx, "job", "--task", "b")[0]["points"][0]["value"] == 2
    assert "TASK" in shown(phalanx, "metrics", "job", "-o", "table")
    refused = phalanx.run("metrics", "job", "--rank", "0")
    assert refused.returncode == 1
    assert "has no rank 0, but tasks; --task NAME chooses one" in refused.stderr


def test_a_run_prints_metrics_with_its_object(phalanx: Phalanx) -> None:
    (phalanx.folder / "log.py").write_text(LOG + "log(0, loss=1)")
    file = write_job(phalanx.folder, f"{sys.executable} log.py", code="log.py")
    assert json.loads(shown(phalanx, "run", str(file), "-o", "json"))["metrics"]["loss"]["last"] == 1


def test_list_has_columns_of_metrics(phalanx: Phalanx) -> None:
    launched(phalanx, TWO_RANKS)
    shown(phalanx, "launch", "--name", "other", "--", "true")
    lines = [line.split() for line in shown(phalanx, "list", "--metrics", "acc,loss").splitlines()]
    assert lines[0][-2:] == ["acc", "loss"]
    assert lines[1][-2:] == ["-", "-"]
    assert lines[2][-2:] == ["0.4", "6"]
    assert shown(phalanx, "list", "--metrics").splitlines()[0].split()[-2:] == ["loss", "acc"]
    listed = json.loads(shown(phalanx, "list", "--metrics", "loss", "-o", "json"))
    assert [list(job["metrics"]) for job in listed] == [[], ["loss"]]
    assert shown(phalanx, "list", "--metrics", "loss", "-o", "tsv").splitlines()[1].split("\t")[-1] == "6"
    assert "metrics" not in json.loads(shown(phalanx, "list", "-o", "json"))[0]
    assert (
        "none of these jobs has logged los; did you mean loss?" in phalanx.run("list", "--metrics=los").stderr
    )


def test_a_name_that_nobody_logged_is_refused_with_what_there_is(phalanx: Phalanx) -> None:
    launched(phalanx, TWO_RANKS)
    for name, said in [("los", "did you mean loss?"), ("throughput", "there are: loss, acc")]:
        done = phalanx.run("metrics", "job", name)
        assert done.returncode == 1
        assert f"job has logged no {name}; {said}" in done.stderr
    done = phalanx.run("metrics", "job", "--rank", "1")
    assert done.returncode == 1
    assert "job has no rank 1: its ranks are 0 to 0" in done.stderr


@pytest.mark.parametrize(("locale", "drawn"), [("C.UTF-8", "┤"), ("C", "+*")])
def test_a_plot_fits_and_suits_the_locale(phalanx: Phalanx, locale: str, drawn: str) -> None:
    launched(phalanx, TWO_RANKS, "-n", "2")
    plot = shown(phalanx, "metrics", "job", LC_ALL=locale)
    assert drawn in plot
    assert locale == "C.UTF-8" or plot.isascii()
    assert max(map(len, plot.splitlines())) <= 80
    assert "loss  last 6 at step 4, min 6, max 11" in plot
    assert "rank 0" in plot
    assert "rank 1" in plot
    assert "\033" not in plot
    assert "\033[36m" in shown(phalanx, "metrics", "job", "--color=always", LC_ALL=locale)


def decoded(png: bytes) -> tuple[int, int, set[bytes]]:
    """Width, height and all colours; every chunk is checked."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        body = png[at + 4 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length]) == (zlib.crc32(body),)
        chunks[body[:4]] = body[4:]
        at += 12 + length
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, kind) == (8, 2)
    rows = zlib.decompress(chunks[b"IDAT"])
    assert len(rows) == height * (width * 3 + 1)
    colours = set()
    for y in range(height):
        row = rows[y * (width * 3 + 1) + 1 : (y + 1) * (width * 3 + 1)]
        colours |= {row[x : x + 3] for x in range(0, len(row), 3)}
    return width, height, colours


def test_a_picture_has_a_curve_for_each_rank(phalanx: Phalanx) -> None:
    launched(phalanx, TWO_RANKS, "-n", "2")
    picture = phalanx.folder / "loss.png"
    assert shown(phalanx, "metrics", "job", "loss", "--png", str(picture)) == f"{picture}\n"
    width, height, colours = decoded(picture.read_bytes())
    assert (width, height) == (1000, 600)
    assert {bytes([31, 119, 180]), bytes([255, 127, 14])} <= colours
    shown(phalanx, "metrics", "job", "--png", str(picture))  # is replaced
    assert decoded(picture.read_bytes())[0] == 1440  # two panels
    refused = phalanx.run("metrics", "job", "--png", phalanx.folder / "nowhere" / "x.png")
    assert refused.returncode == 1
    assert "the picture cannot be written" in refused.stderr
    assert "nowhere" in refused.stderr


def test_a_picture_goes_where_it_is_told_and_harms_nothing(phalanx: Phalanx) -> None:
    launched(phalanx, TWO_RANKS)
    real, link, pipe = (phalanx.folder / name for name in ("real.png", "link.png", "pipe"))
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to("real.png")
    shown(phalanx, "metrics", "job", "--png", str(link))
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert decoded(real.read_bytes())[0] == 1440
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR)  # a picture this small fits into the pipe
    shown(phalanx, "metrics", "job", "--png", str(pipe))
    assert os.read(reader, 1 << 20) == real.read_bytes()
    os.close(reader)
    assert pipe.is_fifo()
    refused = phalanx.run("metrics", "job", "--png", phalanx.folder)
    assert "is a folder; name a file" in refused.stderr


def test_ranks_that_have_logged_are_named(phalanx: Phalanx) -> None:
    launched(phalanx, LOG + "\nif rank == 0: log(1, loss=1)\n", "-n", "2")
    done = phalanx.run("metrics", "job", "--rank", "1")
    assert done.returncode == 1
    assert "job: rank 1 has logged nothing of that; ranks that have: 0 " in done.stderr


def test_a_job_can_be_looked_at_without_its_metrics(phalanx: Phalanx) -> None:
    launched(phalanx, TWO_RANKS)
    assert json.loads(shown(phalanx, "show", "job", "-o", "json", "--no-metrics"))["metrics"] is None
    assert "loss" not in shown(phalanx, "show", "job", "--no-metrics")


def test_of_a_job_without_metrics_there_is_no_picture(phalanx: Phalanx) -> None:
    launched(phalanx, "pass")
    done = phalanx.run("metrics", "job", "--png", "x.png")
    assert done.returncode == 1
    assert "there is nothing to draw" in done.stderr
    assert not (phalanx.folder / "x.png").exists()


def test_a_tracking_server_of_ones_own_is_kept(phalanx: Phalanx) -> None:
    say = "import os; print(os.environ['MLFLOW_TRACKING_URI'])"
    done = phalanx.run("launch", "--", *python(say), env={"MLFLOW_TRACKING_URI": "http://tracking:5000"})
    assert done.stdout == "http://tracking:5000\n"
    done = phalanx.run("launch", "--env", "MLFLOW_TRACKING_URI=databricks", "--", *python(say))
    assert done.stdout == "databricks\n"
    job = launched(phalanx, say, "-n", "2")
    logs = {job.log(f"std_log_process_{rank}.txt").decode().strip() for rank in range(2)}
    assert logs == {f"file://{job.folder}/mlflow/rank_{rank}" for rank in range(2)}


# ---- phalanx python


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package phalanx whose `_python` says how it was called, and ends as it was told to."""
    (tmp_path / "phalanx").mkdir()
    (tmp_path / "phalanx" / "__init__.py").write_text("")
    (tmp_path / "phalanx" / "_python.py").write_text(
        "import os, sys\nprint(sys.argv[1:], __name__, os.environ['PHALANX'], input())\nsys.exit(7)\n"
    )
    return tmp_path


def test_python_becomes_the_script(phalanx: Phalanx, package: Path) -> None:
    done = subprocess.run(
        [phalanx.program, "python", "a script.py", "--epochs", "3", "-o", "json", "--", "x"],
        env=phalanx.environment(PHALANX_PYTHON=sys.executable, PYTHONPATH=str(package)),
        input="typed\n",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 7, done.stderr
    expected = ["a script.py", "--epochs", "3", "-o", "json", "--", "x"]
    assert done.stdout == f"{expected} __main__ {phalanx.program} typed\n"


def test_python_says_what_is_missing(phalanx: Phalanx, tmp_path: Path) -> None:
    bare = subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")],
        capture_output=True,
        text=True,
    )
    assert bare.returncode == 0, bare.stderr
    python3 = tmp_path / "bare" / "bin" / "python3"
    done = phalanx.run("python", "x.py", env={"PHALANX_PYTHON": str(python3), "PYTHONPATH": ""})
    assert done.returncode == 125
    assert f"`{python3} -m pip install .` in Phalanx's source tree installs it" in done.stderr
    done = phalanx.run("python", "x.py", env={"PHALANX_PYTHON": "/nowhere/python3"})
    assert done.returncode == 125
    assert "PHALANX_PYTHON" in done.stderr
    done = phalanx.run("python", "x.py", env={"PATH": str(tmp_path), "PHALANX_PYTHON": ""})
    assert done.returncode == 125
    assert "there is no python3 in PATH" in done.stderr
    done = phalanx.run("python")
    assert done.returncode == 125
    assert "which script?" in done.stderr
