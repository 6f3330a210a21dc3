"""The command line from outside: usage, help, hand-made job folders, completion in real shells."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import HARD_TIMEOUT, eventually, line_with

TOP = Path(__file__).resolve().parents[2]
COMMANDS = [
    "run",
    "launch",
    "python",
    "exec",
    "list",
    "show",
    "logs",
    "wait",
    "metrics",
    "nodes",
    "compute",
    "cluster",
    "cancel",
    "archive",
    "download",
    "validate",
    "completion",
    "version",
]

JOB = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
command: echo hello
environment: azureml:any@latest
"""


def make_job(
    home: Path, name: str, *, state: str = "Failed", submitted: float = 1000.0, world: int = 2
) -> Path:
    """A job folder as an ended job leaves it."""
    folder = home / "jobs" / name
    (folder / "user_logs").mkdir(parents=True)
    for rank in range(world):
        (folder / f"user_logs/std_log_process_{rank}.txt").write_text(f"first of {rank}\nlast\n")
    verdict = {"text": "rank 1 (node 0, h) exited with code 3", "hint": "look there", "exit_code": 3}
    verdict |= {"rank": 1, "node": 0, "host": "h", "code": 3, "last_lines": ["last"]}
    code = 0 if state == "Completed" else 3
    events: list[dict[str, Any]] = [
        {
            "event": "submitted",
            "name": name,
            "user": "ann",
            "host": "h",
            "pid": 1,
            "nodes": 1,
            "world": world,
        },
        {"event": "node_ready", "node": 0, "name": "node-0", "host": "h", "isolation": "plain"},
        {"event": "starting", "world": world},
        {"event": "ranks_started", "node": 0, "first_rank": 0, "pids": list(range(100, 100 + world))},
        {"event": "running"},
        {"event": "rank_exited", "node": 0, "rank": 1, "code": code},
        {"event": "ended", "state": state, "exit_code": code, "verdict": verdict},
    ]
    lines = [json.dumps({"time": submitted + i, "task": 0, "attempt": 0} | e) for i, e in enumerate(events)]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\nnot JSON\n")
    return folder


# ---- usage


def test_help_names_every_command(run: Any) -> None:
    for flag in ("--help", "-h", "help"):
        shown = run(flag)
        assert shown.returncode == 0
        for command in COMMANDS:
            assert re.search(rf"^  {command} ", shown.stdout, re.M), command
        # All that are there are tried below.
        listed = shown.stdout.partition("Examples:")[0]
        assert set(re.findall(r"^  (\w+) ", listed, re.M)) == set(COMMANDS)
    assert run().returncode == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(run: Any, command: str) -> None:
    shown = run(command, "--help")
    assert shown.returncode == 0
    assert f"Usage: phalanx {command}" in shown.stdout
    assert "Examples:" in shown.stdout
    assert shown.stdout == run("help", command).stdout


def test_an_empty_file_of_a_cluster_is_told_what_it_needs(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yml"
    file.write_text("\n")
    done = run("cluster", "up", file)
    assert done.returncode == 1
    assert "cluster.yml: is empty; it must have name:, head: and nodes:" in done.stderr
    assert "command" not in done.stderr


def test_version_is_the_projects(run: Any) -> None:
    version = re.search(r"project\(phalanx VERSION ([\d.]+)", (TOP / "CMakeLists.txt").read_text())
    assert version
    assert run("--version").stdout == run("version").stdout == f"phalanx {version[1]}\n"


def test_version_is_told_to_programs(run: Any) -> None:
    said = json.loads(run("version", "-o", "json").stdout)
    assert f"phalanx {said['version']}\n" == run("version").stdout


def test_an_unknown_command_is_guessed(run: Any) -> None:
    failed = run("lanch")
    assert failed.returncode == 2
    assert "did you mean `phalanx launch`?" in failed.stderr
    assert "did you mean `phalanx run`?" in run("rnu").stderr
    assert "\x1b" not in run("a\x1b[31m").stderr


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["run"], 125, "FILE is required"),
        (["run", "x.yml", "--detatch"], 125, "did you mean --detach?"),
        (["run", "x.yml", "--nodes", "0"], 125, "whole number"),
        (["run", "missing.yml"], 125, "missing.yml"),
        (["launch"], 125, "no command"),
        (["launch", "-n", "x", "true"], 125, "whole number"),
        (["launch", "--bogus", "true"], 125, "unknown option --bogus"),
        (["launch", "--isolation", "magic", "true"], 125, "none of"),
        (["launch", "--env", "nothing", "true"], 125, "NAME=VALUE"),
        (["launch", "-n", "2000000000", "true"], 125, "from 1 to 1073741824"),
        (["launch", "--name", "a/b", "true"], 125, "--name 'a/b' has '/' in it"),
        (["launch", "--name", "a\nb", "true"], 125, "such as a-b"),
        (["launch", "--name", "a b", "true"], 125, "such as a-b"),
        (["launch", "--name", "\u00e9", "true"], 125, "has letters, digits, '-', '_' and '.'"),
        (["launch", "--name", "", "true"], 125, "--name '' is empty; leave it out"),
        (["launch", "--name", "a" * 300, "true"], 125, "is 300 bytes long"),
        (["launch", "--name", ".a", "true"], 125, "begins with '.'"),
        (["launch", "--rank", "5", "-n", "2", "true"], 125, "the job has ranks 0 to 1"),
        (["launch", "--rank", "1", "true"], 125, "--rank 1: the job has one process"),
        (["launch", "--rank", "1", "--dry-run", "true"], 125, "--rank 1"),
        (["list", "-o", "xml"], 2, "none of table"),
        (["list", "more"], 2, "unexpected argument"),
        (["list", "--", "more"], 2, "unexpected argument more"),
        (["list", "--", "--all"], 2, "unexpected argument --all"),
        (["show", "--bogus", "--"], 2, "unknown option --bogus"),
        (["cancel"], 2, "NAME is required"),
        (["validate"], 2, "FILE is required"),
        (["completion", "tcsh"], 2, "bash or zsh"),
        (["show", "nothing"], 1, "there is no job"),
        (["show"], 1, "no jobs yet"),
        (["logs", "../.."], 1, "there is no job"),
    ],
)
def test_what_makes_no_sense_is_said(run: Any, args: list[str], code: int, says: str) -> None:
    failed = run(*args)
    assert (failed.returncode, says in failed.stderr) == (code, True), failed.stderr
    assert failed.stdout == ""


def test_two_dashes_end_the_options(phalanx: Any, run: Any) -> None:
    make_job(phalanx.home, "job")
    (phalanx.folder / "-job.yml").write_text(JOB)
    for args in (
        ["show", "--", "job"],
        ["show", "job", "--"],
        ["list", "--all", "--"],
        ["logs", "--rank", "0", "--", "job"],
        ["cancel", "--", "job", "job"],
        ["cancel", "job", "--", "job"],
        ["download", "--", "job"],
        ["validate", "--", "-job.yml"],
        ["run", "--dry-run", "--", "-job.yml"],
        ["completion", "--", "bash"],
        ["version", "--"],
    ):
        done = run(*args)
        assert done.returncode == 0, (args, done.stderr)


def test_a_job_that_was_never_started_says_no_more_than_that(phalanx: Any, run: Any) -> None:
    folder = phalanx.home / "jobs/half"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").touch()
    young = run("show", "half").stdout
    assert "NotStarted" in young
    assert "submitted" not in young
    stopped = run("cancel", "half")
    assert stopped.returncode == 1
    assert "has not been started" in stopped.stderr
    os.utime(folder, (1, 1))
    shown = run("show", "half").stdout
    assert "Failed" in shown
    assert "never started" in shown
    assert "ranks" not in shown
    assert run("cancel", "half").returncode == 0


def test_validate_says_where(phalanx: Any, run: Any) -> None:
    good, bad = phalanx.folder / "good.yml", phalanx.folder / "bad.yml"
    good.write_text(JOB)
    bad.write_text(JOB + "resources:\n  instance_count: none\n")
    assert run("validate", good).returncode == 0
    failed = run("validate", bad)
    assert failed.returncode == 1
    assert "bad.yml:5:" in failed.stdout
    assert run("validate", bad, "--set", "resources.instance_count=none").returncode == 1
    single = ["--set", "resources.instance_count=1"]
    assert run("validate", bad, *single).returncode == 0
    slip = run("validate", bad, *single, "--set", "inputs.x=1")
    assert (slip.returncode, "inputs.x is neither in the file" in slip.stdout) == (1, True)


def test_validate_tells_programs_the_same(phalanx: Any, run: Any) -> None:
    (phalanx.folder / "job.yml").write_text("command: echo\nenvironment: azureml:e@latest\ncompte: x\n")
    done = run("validate", "-o", "json", "job.yml")
    said = json.loads(done.stdout)
    assert (done.returncode, said["valid"], said["runs_here"]) == (1, False, False)
    (problem,) = said["problems"]
    assert (problem["error"], problem["file"]) == (True, "job.yml")
    assert (problem["line"], problem["column"]) == (3, 1) and "compute" in problem["text"]
    (phalanx.folder / "job.yml").write_text("command: echo\nenvironment: e:1\ndistribution: {type: ray}\n")
    done = run("validate", "-o", "json", "job.yml")
    said = json.loads(done.stdout)
    assert (done.returncode, said["valid"], said["runs_here"]) == (0, True, False)
    assert [problem["error"] for problem in said["problems"]] == [False, True] and said["notes"]


def test_a_job_file_can_come_from_standard_input(phalanx: Any, run: Any) -> None:
    (phalanx.folder / "data").write_text("seven\n")
    text = (
        "command: cat ${{inputs.d}} -\nenvironment: azureml:e@latest\n"
        "inputs: {d: {path: data, type: uri_file}}\n"
    )
    done = run("run", "-", input=text, stdin=None)
    assert (done.returncode, done.stdout) == (0, "seven\n")
    shown = json.loads(run("show", "-o", "json").stdout)
    assert shown["job"]["command"] == "cat ${{inputs.d}} -"
    assert run("validate", "-", input=text, stdin=None).returncode == 0
    done = run("run", "-", input="command: [", stdin=None)
    assert done.returncode == 125 and "standard input:2:" in done.stderr


def test_validate_knows_environments_as_run_does(phalanx: Any, run: Any) -> None:
    (phalanx.folder / "job.yml").write_text(JOB)
    assert "environment any is not known here" in run("validate", "job.yml").stdout
    known = phalanx.folder / "environments.yml"
    known.write_text("any: {venv: nowhere}\n")
    wrong = run("validate", "job.yml")
    assert (wrong.returncode, "there is no bin/python in it" in wrong.stdout) == (1, True)
    known.write_text("any: {venv: }\n")
    assert f"{known}:1:" in run("validate", "job.yml").stdout
    python = shutil.which("python3")
    known.write_text(f"any: {{python: {python}}}\n")
    right = run("validate", "job.yml")
    assert (right.returncode, right.stdout) == (0, "job.yml: valid\n")


def test_what_cannot_run_here_is_said_with_its_place_and_whole(phalanx: Any, run: Any) -> None:
    far = "azureml://subscriptions/0/resourcegroups/r/workspaces/w/datastores/d/paths/" + "deep/" * 20
    inputs = f"inputs:\n  data:\n    type: uri_folder\n    path: {far}\n"
    (phalanx.folder / "job.yml").write_text(JOB + inputs)
    refused = run("run", "job.yml")
    assert refused.returncode == 125
    assert f"job.yml:7:11: Phalanx does not fetch data assets, datastores or URLs: '{far}'" in refused.stderr
    checked = run("validate", "job.yml")
    assert (
        f"job.yml:7:11: cannot run here yet: Phalanx does not fetch data assets, datastores or URLs: '{far}'"
        in checked.stdout
    )


def test_list_is_newest_first(phalanx: Any, run: Any) -> None:
    assert run("list").returncode == 0
    make_job(phalanx.home, "old", submitted=1000)
    make_job(phalanx.home, "new", submitted=2000, state="Completed")
    table = run("list").stdout.splitlines()
    assert [line.split()[0] for line in table] == ["NAME", "new", "old"]
    assert "2 processes" in table[1]
    listed = json.loads(run("list", "-o", "json").stdout)
    assert [(job["name"], job["state"], job["exit_code"]) for job in listed] == [
        ("new", "Completed", 0),
        ("old", "Failed", 3),
    ]
    assert len(json.loads(run("list", "-o", "json", "-n", "1").stdout)) == 1
    assert run("list", "-o", "tsv").stdout.startswith("new\tCompleted\t1\t2\t1970-01-01T00:33:20.000000Z\t")


def test_yaml_is_what_json_is(phalanx: Any, run: Any) -> None:
    make_job(phalanx.home, "job")
    for args in (["list"], ["show", "job"]):
        assert yaml.safe_load(run(*args, "-o", "yaml").stdout) == json.loads(run(*args, "-o", "json").stdout)


def test_show_tells_all(phalanx: Any, run: Any) -> None:
    folder = make_job(phalanx.home, "neat_gas_1")
    text = run("show", "neat").stdout
    for words in (
        "Failed, exit code 3",
        "node-0",
        "rank 1 (node 0, h) exited with code 3",
        "look there",
        str(folder),
    ):
        assert words in text
    shown = json.loads(run("show", "-o", "json").stdout)
    assert {
        "name",
        "state",
        "coordinator",
        "nodes",
        "ranks",
        "verdict",
        "exit_code",
        "folder",
    } <= shown.keys()
    assert shown["ranks"][1]["exit_code"] == 3
    assert shown["nodes"][0]["isolation"] == "plain"


def test_a_beginning_of_a_name_must_be_the_only_one(phalanx: Any, run: Any) -> None:
    for name in ("neat_a", "neat_b", "neat"):
        make_job(phalanx.home, name)
    assert "name        neat\n" in run("show", "neat").stdout
    failed = run("show", "neat_")
    assert failed.returncode == 1
    assert "neat_a, neat_b" in failed.stderr
    assert "name        neat_a\n" in run("show", "neat_a").stdout


@pytest.mark.parametrize("command", ["show", "logs", "metrics", "download", "cancel"])
def test_a_whole_name_can_be_asked_for(phalanx: Any, run: Any, command: str) -> None:
    make_job(phalanx.home, "neat_a")
    assert "there is no job" not in run(command, "neat").stderr
    failed = run(command, "--exact", "neat")
    assert failed.returncode == 1
    assert "there is no job neat;" in failed.stderr


def test_an_empty_value_takes_no_other_word(run: Any) -> None:
    assert "--name '' is empty; leave it out" in run("launch", "--name=", "true").stderr
    assert run("launch", "-n", "1", "echo", "--name=", "x").stdout == "--name= x\n"
    assert run("launch", "--isolation=plain", "-n1", "--", "echo", "--name=").stdout == "--name=\n"


def test_a_job_whose_coordinator_died_is_failed(phalanx: Any, run: Any) -> None:
    folder = make_job(phalanx.home, "job")
    lines = (folder / "events.jsonl").read_text().splitlines()
    (folder / "events.jsonl").write_text("\n".join(lines[:5]) + "\n")
    assert "without a word" in run("show", "job").stdout
    assert run("cancel", "job").returncode == 0
    assert "without a word" in run("logs", "job", "--follow").stderr


def test_logs_of_all_and_of_one(phalanx: Any, run: Any) -> None:
    make_job(phalanx.home, "job")
    assert run("logs").stdout == "[0/0] first of 0\n[0/0] last\n[0/1] first of 1\n[0/1] last\n"
    assert run("logs", "--rank", "1").stdout == "first of 1\nlast\n"
    assert run("logs", "--tail", "1", "--no-prefix").stdout == "last\nlast\n"
    assert run("logs", "--rank", "2").returncode == 1
    followed = run("logs", "job", "--follow")
    assert followed.returncode == 0
    assert followed.stdout == "[0/0] first of 0\n[0/1] first of 1\n[ranks 0,1] last\n"


def test_cancel_of_an_ended_job_says_so(phalanx: Any, run: Any) -> None:
    make_job(phalanx.home, "job")
    done = run("cancel", "job")
    assert done.returncode == 0
    assert "has ended already: Failed" in done.stderr


def test_archived_jobs_are_left_out(phalanx: Any, run: Any) -> None:
    for number in range(3):
        make_job(phalanx.home, f"job{number}", submitted=1000.0 + number)

    def listed(*options: str) -> list[str]:
        return [job["name"] for job in json.loads(run("list", "-o", "json", *options).stdout)]

    assert run("archive", "job0", "job2").returncode == 0
    assert listed() == ["job1"]
    assert listed("--archived") == ["job2", "job0"]
    assert listed("--all") == ["job2", "job1", "job0"]
    assert "2 archived: `phalanx list --archived`" in run("list").stderr
    assert [job["archived"] for job in json.loads(run("list", "--all", "-o", "json").stdout)] == [
        True,
        False,
        True,
    ]
    assert run("show", "job0").returncode == 0
    assert run("archive", "job1").returncode == 0
    all_archived = run("list")
    assert all_archived.stdout == ""
    assert "3 archived" in all_archived.stderr
    assert "no jobs yet" not in all_archived.stderr
    assert run("archive", "--restore", "job0", "job1", "job1", "job2").returncode == 0
    assert listed() == ["job2", "job1", "job0"]
    assert "no job is archived" in run("list", "--archived").stderr
    failed = run("archive", "job0", "nope")
    assert failed.returncode == 1
    assert len(listed()) == 3


def test_waiting_for_jobs_that_have_ended(phalanx: Any, run: Any) -> None:
    make_job(phalanx.home, "good", state="Completed")
    make_job(phalanx.home, "bad", submitted=2000.0)
    done = run("wait", "good")
    assert (done.returncode, done.stdout) == (0, "")
    assert "good completed" in done.stderr
    assert run("wait", "good", "--quiet").stderr == ""
    both = run("wait", "good", "bad", "--quiet")
    assert both.returncode == 3
    assert "bad failed" in both.stderr
    assert run("wait").returncode == 3  # the latest
    assert run("wait", "--timeout", "0", "good").returncode == 0
    for wrong in (["nope"], ["good", "nope"], ["--exact", "goo"], ["--timeout", "soon", "good"]):
        assert run("wait", *wrong).returncode == 125


def test_download_lays_out_as_azure_ml(phalanx: Any, run: Any) -> None:
    folder = make_job(phalanx.home, "job")
    for path in (
        "nodes/0/wd/outputs/model",
        "nodes/1/wd/logs/log",
        "outputs/weights/w",
        "nodes/0/wd/main.py",
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    target = phalanx.folder / "got"
    assert run("download", "job", "-p", target, "--all").returncode == 0
    got = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert got == {
        "artifacts/outputs/model",
        "artifacts/node_1/logs/log",
        "artifacts/user_logs/std_log_process_0.txt",
        "artifacts/user_logs/std_log_process_1.txt",
        "named-outputs/weights/w",
    }
    (target / "artifacts/outputs/model").write_text("mine")
    again = run("download", "job", "-p", target)
    assert again.returncode == 1
    assert "--force" in again.stderr
    assert (target / "artifacts/outputs/model").read_text() == "mine"
    assert run("download", "job", "-p", target, "--force").returncode == 0
    assert (target / "artifacts/outputs/model").read_text() == "nodes/0/wd/outputs/model"
    assert "there are: weights" in run("download", "job", "--output-name", "none").stderr


# ---- jobs that run


def test_launch_takes_the_rest_as_the_command(run: Any) -> None:
    done = run("launch", "-q", "-n", "2", "--", "sh", "-c", "echo $RANK $0", "--help", "-n")
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == ["[0/0] 0 --help", "[0/1] 1 --help"]
    assert done.stderr == ""
    assert run("launch", "-q", "echo", "--", "-n", "3").stdout == "-- -n 3\n"


def test_exit_codes_are_the_jobs(run: Any) -> None:
    failed = run("launch", "-n", "2", "sh", "-c", "[ $RANK = 0 ] || { echo oh no; exit 7; }; sleep 60")
    assert failed.returncode == 7
    assert "rank 1" in failed.stderr
    assert "| oh no" in failed.stderr
    assert run("launch", "-q", "nosuchcommand").returncode == 127


def test_the_same_line_is_shown_once(run: Any) -> None:
    assert run("launch", "-q", "-n", "4", "sh", "-c", "echo same").stdout.count("same") <= 4
    assert run("launch", "-q", "-n", "2", "--rank", "1", "sh", "-c", "echo $RANK").stdout == "1\n"


def test_colours_are_the_users_choice(run: Any) -> None:
    words = ["--name", "coloured", "-n", "2", "sh", "-c", "echo $RANK"]
    assert "\x1b" not in run("launch", *words).stdout
    for command in (["launch", "--color=always", *words[2:]], ["logs", "coloured", "--color=always"]):
        assert "\x1b[36m[0/0]\x1b[0m 0\n" in run(*command).stdout
    assert "none of auto, always, never" in run("logs", "--color", "red").stderr


def test_ctrl_c_stops_and_again_kills(phalanx: Any) -> None:
    running = phalanx.start(
        "launch", "-n", "2", "sh", "-c", "trap '' TERM INT; echo up; while :; do sleep 1; done"
    )
    line_with("up", running.stdout)
    running.send_signal(signal.SIGINT)
    assert "Ctrl-C" not in line_with("stopping...", running.stdout)  # there is no terminal
    running.send_signal(signal.SIGINT)
    line_with("killing", running.stdout)
    running.communicate(timeout=HARD_TIMEOUT)
    assert running.returncode == 130


def test_sigterm_ends_a_launch(phalanx: Any) -> None:
    running = phalanx.start("launch", "sh", "-c", "echo up; exec sleep 60")
    line_with("up", running.stdout)
    running.terminate()
    running.communicate(timeout=HARD_TIMEOUT)
    assert running.returncode == 143


def test_detach_cancel_and_logs(phalanx: Any, run: Any) -> None:
    job = phalanx.folder / "job.yml"
    job.write_text(JOB.replace("echo hello", "echo hello; sleep 60"))
    started = run("run", job, "--detach")
    assert started.returncode == 0, started.stderr
    name = started.stdout.strip()
    eventually(lambda: "hello" in run("logs", name).stdout)
    assert run("download", name).returncode == 1
    assert run("cancel", name).returncode == 0
    assert json.loads(run("show", name, "-o", "json").stdout)["state"] == "Canceled"


# ---- completion


def test_bash_completes(phalanx: Any, run: Any) -> None:
    make_job(phalanx.home, "neat_gas")
    script = phalanx.folder / "completion.bash"
    script.write_text(run("completion", "bash").stdout)

    def complete(*words: str) -> set[str]:
        quoted = " ".join(f"'{word}'" for word in words)
        code = f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _phalanx; "
        code += "printf '%s\\n' \"${COMPREPLY[@]}\""
        environment = os.environ | {"PHALANX_HOME": str(phalanx.home)}
        done = subprocess.run(
            ["bash", "-c", code], capture_output=True, text=True, env=environment, check=True
        )
        assert done.stderr == ""
        return set(done.stdout.split())

    assert complete("phalanx", "la") == {"launch"}
    assert set(COMMANDS) <= complete("phalanx", "")
    assert complete("phalanx", "show", "ne") == {"neat_gas"}
    assert complete("phalanx", "list", "-o", "") == {"table", "json", "yaml", "tsv"}
    assert complete("phalanx", "run", "--det") == {"--detach"}


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not there")
def test_zsh_takes_the_script(phalanx: Any, run: Any) -> None:
    script = phalanx.folder / "_phalanx"
    script.write_text(run("completion", "zsh").stdout)
    code = f"autoload -Uz compinit && compinit -u -D && source {script} && print -r -- $_comps[phalanx]"
    done = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("_phalanx\n", "")


@pytest.mark.parametrize("at", [1e12, 1e19, -1e12, 1e300, "1e999", -0.5])
def test_times_beyond_any_calendar_are_shown_somehow(phalanx: Any, run: Any, at: Any) -> None:
    folder = make_job(phalanx.home, "strange")
    lines = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()[:-1]]
    for line in lines:
        line |= {"time": "AT", "at": "AT"}
    text = "\n".join(json.dumps(line) for line in lines) + "\n"
    (folder / "events.jsonl").write_text(text.replace('"AT"', str(at)))
    for command in (["show"], ["list"], ["logs"], ["logs", "--follow"], ["cancel", "strange"]):
        shown = run(*command)
        assert shown.returncode == 0, (command, shown.stderr)
    for output in ("json", "yaml", "tsv", "table"):
        assert run("show", "-o", output).returncode == 0
        assert run("list", "-o", output).returncode == 0
