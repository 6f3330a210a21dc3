"""What goes wrong between Python and the program: odd values, a missing or dying program, threads, Ctrl-C."""

from __future__ import annotations

import asyncio
import gc
import io
import math
import os
import signal
import stat
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import phalanx as px
import pytest
import yaml
from conftest import Phalanx, eventually, line_with
from phalanx import _program, _yaml
from phalanx.ml import load_job
from phalanx.ml.exceptions import ValidationException

from .test_jobs import job


@pytest.mark.parametrize(
    "wrong, says",
    [
        (3, "job is a int"),
        (None, "job is a NoneType"),
        ("", "path of a job file"),
        ("command: x\nenvironment: y\n", "path of a job file"),
        (b"job.yml", "job is a bytes"),
        ({"command": b"echo"}, "job.command is bytes"),
        ({"command": object()}, "job.command is a object"),
        ({"command": "a\0b"}, "job.command has a NUL"),
        ({"command": "\udcff"}, "job.command has a character that is no Unicode"),
        ({"inputs": {"lr": math.nan}}, "job.inputs.lr is nan"),
        ({"inputs": {"f": lambda: 3}}, "job.inputs.f is a function"),
        ({3: "x"}, "job has the key 3"),
        ({"tags": {"n": 10**5000}}, "job.tags.n is a whole number of more than 1024 bits"),
        ({10**5000: "x"}, "job has the key ... (int)"),
        ({"tags": [{1, 2}]}, "job.tags[0] is a set"),
    ],
)
def test_what_no_job_file_holds_is_named(here: Path, wrong: Any, says: str) -> None:
    with pytest.raises(px.InvalidArgument) as caught:
        px.submit(wrong)
    assert says in str(caught.value)
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, ValueError)


def deep(levels: int) -> Any:
    made: Any = []
    for _ in range(levels):
        made = {"a": made}
    return made


def own_item() -> Any:
    made: list[Any] = []
    made.append(made)
    return made


def wide() -> Any:
    made: Any = ["x"] * 9
    for _ in range(7):
        made = [made] * 9
    return made


class Endless:
    def item(self) -> Any:
        return self


@pytest.mark.parametrize("wrong", [deep(100), deep(5000), own_item(), Endless()])
def test_what_is_too_deep_is_refused_with_its_place(here: Path, wrong: Any) -> None:
    cases: list[tuple[Any, dict[str, Any]]] = [(px.submit, {}), (px.run, {"set": {"inputs.x": wrong}})]
    for function, options in cases:
        with pytest.raises(px.InvalidArgument, match="more than 64 levels deep") as caught:
            function(job("true", tags=wrong) if not options else job("true"), **options)
        assert "job.tags" in str(caught.value) or "set['inputs.x']" in str(caught.value)
        assert len(str(caught.value)) < 200
    own = job("true")
    own["tags"] = own
    with pytest.raises(px.InvalidArgument, match=r"^job\.tags\.tags.* levels deep"):
        px.submit(own)
    with pytest.raises(px.InvalidArgument, match="set is"):
        px.submit(job("true"), set=[wrong])  # type: ignore[arg-type]


def test_as_deep_as_a_job_file_may_be(here: Path) -> None:
    assert _yaml.load(_yaml.dump({"tags": deep(62)})) == {"tags": deep(62)}


@pytest.mark.parametrize("wrong", [wide(), ["x" * (1 << 20)] * 17, range(0)])
def test_what_is_too_large_is_refused(here: Path, wrong: Any) -> None:
    wrong = wrong or {str(number): number for number in range(100_001)}
    with pytest.raises(px.InvalidArgument, match=r"^job\.tags.*grows past 100,000 values or 16 MiB"):
        px.submit(job("true", tags=wrong))
    with pytest.raises(px.InvalidArgument, match=r"^set\['tags'\].*grows past"):
        px.submit(job("true"), set={"tags": wrong})


def test_files_that_are_too_deep_are_refused(here: Path) -> None:
    (here / "deep.yml").write_text("[" * 3000)
    for source in ("deep.yml", io.StringIO("[" * 3000)):
        with pytest.raises(ValidationException, match="more than 64 levels deep"):
            load_job(source)
    (here / "own.yml").write_text("command: 'true'\nenvironment: a:1\ntags: &t\n  a: *t\n")
    with pytest.raises(ValidationException):
        load_job("own.yml", params_override=[{"description": "x"}])


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029", "\r", "\ufeff"])
def test_ends_of_lines_that_few_know_arrive(here: Path, end: str) -> None:
    odd = f"a{end}b{end}{end}c{end}"
    for value in (odd, f"{odd}\n{odd}", {odd: [odd]}):
        text = _yaml.dump({"v": value})
        assert _yaml.load(text) == yaml.safe_load(text) == {"v": value}
        assert _yaml.load(_yaml.one_line(value, "v")) == value
        assert "\n" not in _yaml.one_line(value, "v")
    made = job('printf "%s" "$ODD" | od -An -tx1 -w99; echo ${{inputs.odd}} | od -An -tx1 -w99')
    made["environment_variables"] = {"ODD": odd}
    done = px.submit(
        made | {"inputs": {"odd": ""}}, set={"inputs.odd": f"'{odd}'", "tags": {"a": odd}}
    ).wait()
    lines = [bytes.fromhex(line) for line in done.logs(rank=0)]
    assert lines == [odd.encode(), f"{odd}\n".encode()]
    assert done.data["job"]["tags"] == {"a": odd}


@pytest.mark.parametrize("wrong", ["\udcff", "\ud800"])
def test_halves_of_characters_are_refused(here: Path, wrong: str) -> None:
    cases: list[dict[str, Any]] = [{"name": wrong}, {"compute": wrong}, {"set": {wrong: 1}}]
    for options in [*cases, {"set": {"tags": {wrong: 1}}}]:
        with pytest.raises(px.InvalidArgument):
            px.submit(job("true"), **options)
    with pytest.raises(px.InvalidArgument):
        px.Job(wrong)
    with pytest.raises(px.PhalanxError):
        list(px.Job("x").logs(task=wrong))
    with pytest.raises(px.PhalanxError):
        px.submit(wrong)


@pytest.mark.parametrize("wrong", ["5", b"5", True, math.nan, [5], object(), 10**400])
def test_a_time_is_a_number(here: Path, wrong: Any) -> None:
    with pytest.raises(px.InvalidArgument, match=r"^timeout is .*a number of seconds"):
        px.Job("x").wait(wrong)
    with pytest.raises(px.InvalidArgument, match=r"^timeout is"):
        asyncio.run(px.Job("x").wait_async(timeout=wrong))


def test_a_display_that_is_killed_does_not_end_the_waiting(
    here: Path, phalanx: Phalanx, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(
        "PHALANX", str(fake(here, f'[ "$1" = logs ] && kill -9 $$; exec {phalanx.program} "$@"'))
    )
    assert px.run(job("true"), name="mine").state == "Completed"
    said = capsys.readouterr().err
    assert "killed by signal 9" in said and "job mine runs on: `phalanx logs mine --follow`" in said
    with pytest.raises(px.JobFailed):
        px.run(job("exit 3"))


@pytest.mark.parametrize(
    "options, says",
    [
        ({"nodes": 0}, "nodes is 0; it must be a whole number, at least 1"),
        ({"nodes": "2"}, "nodes is '2' (str)"),
        ({"nodes": 1.5}, "nodes is 1.5"),
        ({"procs_per_node": True}, "procs_per_node is True"),
        ({"priority": 2000}, "priority is 2000; it must be a whole number, at least -1000, at most 1000"),
        ({"name": 3}, "name is 3 (int); it must be text"),
        ({"compute": b"x"}, "compute is b'x'"),
        ({"set": ["a"]}, "set is ['a'] (list); it must be a dict"),
        ({"set": {"inputs.lr": object}}, "set['inputs.lr']"),
    ],
)
def test_a_wrong_option_is_named(here: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(px.InvalidArgument) as caught:
        px.submit(job("true"), **options)
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["", None, 3, "a\0b"])
def test_a_job_has_a_name(here: Path, name: Any) -> None:
    with pytest.raises(px.InvalidArgument, match="must be the name of a job"):
        px.Job(name)


def test_a_typing_error_in_a_keyword_is_an_error(here: Path) -> None:
    with pytest.raises(TypeError, match="nods"):
        px.submit(job("true"), nods=2)  # type: ignore[call-arg]


def test_every_mistake_of_a_job_is_told_with_its_key(here: Path) -> None:
    with pytest.raises(px.InvalidJob) as caught:
        px.submit({"command": "echo", "resources": {"instance_count": "two"}, "comput": "x"})
    problems = caught.value.problems
    assert [problem.key for problem in problems] == ["", "resources.instance_count", "comput"]
    assert "'environment' is missing" in str(caught.value)
    assert "did you mean 'compute'" in str(caught.value)
    assert "standard input" not in str(caught.value)
    with pytest.raises(px.InvalidJob, match=r"^inputs\.d\.path names 'absent'"):
        px.submit(job("cat ${{inputs.d}}", inputs={"d": {"path": "absent"}}))


def test_a_path_that_is_not_there_is_told_with_the_folder_it_is_of(here: Path) -> None:
    with pytest.raises(px.InvalidJob) as caught:
        px.submit(job("true", code="nowhere"))
    assert f"paths are relative to {here}" in str(caught.value)


def test_data_that_is_elsewhere_is_refused(here: Path) -> None:
    with pytest.raises(px.InvalidJob) as caught:
        px.submit(job("cat ${{inputs.a}}", inputs={"a": {"path": "azureml:mydata:1"}}))
    assert str(caught.value) == (
        "inputs.a.path: Phalanx does not fetch data assets, datastores or URLs: 'azureml:mydata:1'; download "
        "it and write its local path"
    )


def test_every_mistake_of_a_file_is_told_with_its_line(here: Path) -> None:
    (here / "job.yml").write_text(
        "command: echo\nenvironment: azureml:a@latest\nresources: {instance_count: two}\n"
    )
    with pytest.raises(px.InvalidJob, match=r"job\.yml:3:") as caught:
        px.submit("job.yml")
    assert [(problem.line, problem.error) for problem in caught.value.problems] == [(3, True)]
    with pytest.raises(px.InvalidJob, match=r"set|inputs\.x"):
        px.submit(job("echo"), set={"inputs.x": 3})
    for path in ("absent.yml", "-x.yml", "."):
        with pytest.raises(px.ProgramFailed):
            px.submit(path)


def test_text_arrives_as_it_was_written(here: Path) -> None:
    odd = "ünï 'q' \"d\" $HOME `x` \\n #c: - [a] {b} 100% é\u2028 \t tab 日本 🚀"
    done = px.submit(
        job('printf "%s" "$ODD"', environment_variables={"ODD": odd, "EMPTY": "", "NO": "no", "N": None})
    ).wait()
    assert "\n".join(done.logs(rank=0)) == odd
    for value in (
        "no",
        "1e-5",
        "0x10",
        "12:30:45",
        "~",
        "null",
        "- x",
        "a: b",
        "",
        " x ",
        "x\n",
        "\n",
        "2024-01-01",
        "=",
        "|",
    ):
        assert _yaml.load(_yaml.dump({"v": value})) == {"v": value}
        assert _yaml.load(_yaml.one_line(value, "v")) == value
    script = "cat <<'X'\nline one\n  indented: 'é'\n\ttab\n\nX\necho end"
    assert list(px.submit(job(script)).wait().logs(rank=0)) == [
        "line one",
        "  indented: 'é'",
        "\ttab",
        "",
        "end",
    ]


def test_large_texts_arrive_or_are_refused(here: Path) -> None:
    large = "x" * 100_000
    done = px.submit(job("echo ${#LARGE}", environment_variables={"LARGE": large})).wait()
    assert list(done.logs(rank=0)) == ["100000"]
    with pytest.raises(px.InvalidJob, match="command"):
        px.submit(job("echo " + "y" * 200_000))
    with pytest.raises(px.ProgramFailed):
        px.submit(job("echo", description="z" * (5 << 20)))


def test_a_deleted_current_folder_is_said(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = here / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(px.ProgramFailed, match="current folder has been deleted"):
        px.submit(job("true"))
    monkeypatch.chdir(here)
    assert px.submit(job("true")).wait().exit_code == 0


def test_threads_submit_at_the_same_time(here: Path) -> None:
    done: list[px.Job] = []

    def work(number: int) -> None:
        done.append(px.submit(job(f"echo {number}")).wait())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(line for one in done for line in one.logs(rank=0)) == ["0", "1", "2", "3"]


def fake(here: Path, script: str, name: str = "phalanx") -> Path:
    program = here / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_a_program_that_is_not_there_says_how_to_install(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for named in (here / "absent", here):
        monkeypatch.setenv("PHALANX", str(named))
        with pytest.raises(px.ProgramNotFound, match=r"PHALANX names .*pip install"):
            px.submit(job("true"))


def test_a_program_that_is_killed_midway_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHALANX", str(fake(here, '[ "$1" = version ] && exit 0; kill -9 $$')))
    with (
        pytest.warns(px.PhalanxWarning),
        pytest.raises(px.ProgramFailed, match="killed by signal 9") as caught,
    ):
        px.submit(job("true"))
    assert caught.value.exit_code == -9
    with pytest.raises(px.ProgramFailed, match="killed by signal 9"):
        list(px.Job("x").logs())


@pytest.mark.parametrize("printed", ["", "no json", "[1]", '{"cut": ', "3"])
def test_a_program_that_prints_no_json_is_not_believed(
    here: Path, printed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHALANX", str(fake(here, f"echo '{printed}'", name=f"other{len(printed)}")))
    with pytest.warns(px.PhalanxWarning), pytest.raises(px.ProgramFailed):
        px.submit(job("true"))


def test_a_program_that_cannot_be_started_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = here / "broken"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    monkeypatch.setenv("PHALANX", str(broken))
    with pytest.raises(px.ProgramFailed, match="cannot be started"):
        px.submit(job("true"))
    with pytest.raises(px.ProgramFailed, match="cannot be started"):
        asyncio.run(px.Job("x").wait_async())


def test_another_version_is_said_once(here: Path, phalanx: Phalanx, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake(
        here, f'[ "$1" = version ] && echo \'{{"version": "0.0.1"}}\' && exit; exec {phalanx.program} "$@"'
    )
    monkeypatch.setenv("PHALANX", str(old))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        px.submit(job("true")).wait()
        px.submit(job("true")).wait()
    assert [str(warning.message).count("0.0.1") for warning in said] == [1]
    assert px.__version__ in str(said[0].message)
    _program._check_version.cache_clear()


def test_the_versions_of_program_and_package_are_one(here: Path) -> None:
    assert _program.ask(["version"]) == {"version": px.__version__}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_submission_that_is_interrupted_leaves_no_job(
    here: Path, phalanx: Phalanx, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the program submits: it takes the job back, or the package does."""
    run = f'{phalanx.program} "$@"'
    interrupt = "kill -INT $PPID"
    script = (
        f"{interrupt}; exec {run}"
        if when == "before"
        else f"{run}; trap 'exit 130' INT; {interrupt}; read x <&3"
    )
    os.mkfifo(here / "fifo")
    program = fake(here, f'[ "$1" = run ] || exec {run}\nexec 3<>{here}/fifo\n{script}')
    monkeypatch.setenv("PHALANX", str(program))
    script = (
        "import phalanx\n"
        "try:\n"
        "    phalanx.submit({'command': 'sleep 1000', 'environment': 'azureml:a@latest'})\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted\n", done.stderr
    assert when == "before" or len(px._job.list_entries()) == 1
    eventually(lambda: all(entry["state"] == "Canceled" for entry in px._job.list_entries()))


@pytest.mark.parametrize("when", ["before", "printed", "done"])
@pytest.mark.parametrize("what", [px.submit_async, px.run_async])
def test_a_submission_whose_task_is_cancelled_leaves_no_job(
    here: Path,
    phalanx: Phalanx,
    when: str,
    what: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """While the program submits, after it has told the job, and between that and the task's own turn."""
    os.mkfifo(here / "fifo")
    run = f'{phalanx.program} "$@"'
    there = f"echo there >{here}/fifo"
    scripts = {
        "before": f"{there}; exec {run}",
        "printed": f"trap 'exit 130' INT; {run}; {there}; read x <&3",
        "done": f"exec {run}",
    }
    script = f'[ "$1" = run ] || exec {run}\nexec 3<>{here}/other\n{scripts[when]}'
    os.mkfifo(here / "other")
    monkeypatch.setenv("PHALANX", str(fake(here, script)))

    async def leave() -> None:
        task = asyncio.create_task(what(job("sleep 1000")))
        if when == "done":
            await asyncio.sleep(0)
            eventually(lambda: any(entry["state"] == "Running" for entry in px._job.list_entries()))
        else:
            await asyncio.to_thread((here / "fifo").read_text)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave())
    gc.collect()
    assert caplog.text == ""
    assert when == "before" or len(px._job.list_entries()) == 1
    eventually(lambda: all(entry["state"] == "Canceled" for entry in px._job.list_entries()))


@pytest.mark.parametrize("how", ["job.stream()", "MLClient().jobs.stream(job.name)"])
def test_ctrl_c_in_a_stream_leaves_the_job_running(here: Path, phalanx: Phalanx, how: str) -> None:
    script = (
        "import phalanx\nfrom phalanx.ml import MLClient\nfrom phalanx.ml.exceptions import JobException\n"
        "job = {'command': 'echo up; sleep 1000', 'environment': 'azureml:a@latest'}\n"
        "job = phalanx.submit(job, name='mine')\n"
        "try:\n"
        f"    {how}\n"
        "except KeyboardInterrupt as error:\n    print('KeyboardInterrupt', error, flush=True)\n"
        "except JobException as error:\n    print('JobException', error, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        line_with("up\n", process.stdout)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of the foreground
        said = process.communicate()[0]
    assert "phalanx cancel mine" in said
    assert ("JobException" if "MLClient" in how else "KeyboardInterrupt") in said
    assert px.Job("mine").state == "Running"
    px.Job("mine").cancel(kill=True)
    eventually(lambda: px.Job("mine").ended)
