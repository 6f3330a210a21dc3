"""Submitting jobs, whatever they are written as."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import _offer, _program
from ._azure import is_azure, job_of_azure
from ._check import check_mapping, check_number, check_text
from ._job import Job
from .errors import InvalidArgument, InvalidJob, Problem, ProgramFailed

UNSUPPORTED = "cannot run here yet: "  # before what is right, and has no counterpart here
REFUSED = 125  # the exit code of `phalanx run` for a job that it does not start


@dataclass(frozen=True)
class Source:
    """A job file: a path, or a text whose relative paths mean those of `folder`; of a job that was made in
    Python its `data` too.
    """

    path: str = ""
    text: str | None = None
    folder: str | None = None
    data: Mapping[str, Any] | None = None

    @property
    def argument(self) -> str:
        if self.text is not None:
            return "-"
        return os.path.join(".", self.path) if self.path.startswith("-") else self.path  # noqa: PTH118


def _written(data: Mapping[str, Any], folder: str) -> Source:
    from . import _yaml  # not in a job, whose Python may lack PyYAML

    return Source(text=_yaml.dump(data), folder=folder, data=data)


def source_of(job: Any) -> Source:
    """What `submit` takes, as a job file. Raises InvalidArgument."""
    if isinstance(job, (str, os.PathLike)):
        path = os.fspath(job)
        if not isinstance(path, str):
            raise InvalidArgument("job is a path of bytes; write it as text")
        if not path or "\n" in path:
            raise InvalidArgument(f"job is {path[:40]!r}; a text is the path of a job file")
        return Source(path=path)
    # Before all else: a job of the Azure SDK is a dict too, and has any attribute one asks for.
    if is_azure(job):
        data, folder = job_of_azure(job)
        data.setdefault("experiment_name", Path(_program.current_folder()).name or "Default")
        return _written(data, folder)
    if isinstance(job, Mapping):
        return _written(job, _program.current_folder())
    own = getattr(job, "_phalanx_job", None)
    if callable(own):
        data, folder = own()
        return _written(data, folder or _program.current_folder())
    raise InvalidArgument(
        f"job is a {type(job).__name__}; it can be the path of a job file, a dict with its keys, or a job of "
        "phalanx.ml, azure.ai.ml"
    )


def _options(
    name: str | None,
    compute: str | None,
    nodes: int | None,
    procs_per_node: int | None,
    priority: int | None,
    oversubscribe: bool,
    set: Mapping[str, Any] | None,
) -> list[str]:
    words: list[str] = []
    for option, text in (("--name", check_text("name", name)), ("--compute", check_text("compute", compute))):
        words += [] if text is None else [f"{option}={text}"]
    for option, number in (
        ("--nodes", check_number("nodes", nodes, least=1)),
        ("--procs-per-node", check_number("procs_per_node", procs_per_node, least=1)),
        ("--priority", check_number("priority", priority, least=-1000, most=1000)),
    ):
        words += [] if number is None else [f"{option}={number}"]
    words += ["--oversubscribe"] if oversubscribe else []
    from . import _yaml

    for key, value in (check_mapping("set", set) or {}).items():
        check_text("set's key", key)
        words.append(f"--set={key}={_yaml.one_line(value, f'set[{key!r}]')}")
    return words


def find_problems(source: Source, more: Sequence[str] = ()) -> Mapping[str, Any]:
    """What `phalanx validate -o json` says of a job file; `more`: its options."""
    words = ["validate", *more, "--", source.argument]
    return _program.mapping(_program.ask(words, text=source.text, cwd=source.folder, accept=(0, 1)))


def problems_of(source: Source, found: Mapping[str, Any]) -> list[Problem]:
    """The problems of `find_problems`, with the keys of a job that was made in Python."""
    from . import _yaml

    problems = []
    for entry in found["problems"]:
        if source.text is None:
            problems.append(Problem(**entry))
            continue
        place = (entry["line"], entry["column"])  # the beginning: of the whole job
        key = _yaml.key_at(source.text, *place) if place > (1, 1) else ""
        problems.append(Problem(entry["text"], entry["error"], key=key))
    return problems


def _refused(source: Source, options: Sequence[str], error: ProgramFailed) -> ProgramFailed:
    """The program's refusal, with the places in the job where it is the job that is wrong."""
    sets = [option for option in options if option.startswith("--set=")]
    try:
        problems = problems_of(source, find_problems(source, sets))
    except ProgramFailed:
        return error
    problems = [replace(each, text=each.text.replace(UNSUPPORTED, "", 1)) for each in problems]
    wrong = [problem for problem in problems if problem.error]
    if not wrong:
        return _without_places(source, error)
    return InvalidJob("\n".join(map(str, wrong)), problems=problems, exit_code=REFUSED, command=error.command)


# Where something stands in a job that was made in Python: nobody has seen that text.
_PLACE = re.compile(r"^standard input:\d+:\d+: ", re.MULTILINE)


def _without_places(source: Source, error: ProgramFailed) -> ProgramFailed:
    text = _PLACE.sub("", str(error))
    if source.text is None or text == str(error):
        return error
    return InvalidJob(text, exit_code=error.exit_code, command=error.command)


def submit(
    job: Any,
    *,
    name: str | None = None,
    compute: str | None = None,
    nodes: int | None = None,
    procs_per_node: int | None = None,
    priority: int | None = None,
    oversubscribe: bool = False,
    set: Mapping[str, Any] | None = None,
) -> Job:
    """Submits a job and returns at once.

    `job`: the path of a job file (YAML, JSON, or the XML of HPC Pack); a dict with the keys of one; a job of
    `phalanx.ml`, or of the real azure-ai-ml. Relative paths in a file are relative to its folder, all others
    to the current folder. The job gets this process's environment, as with `phalanx run`.

    `name`: the job's name, else one is made up. `compute`: where to run. `nodes`, `procs_per_node`: how many
    machines, and processes on each, from 1. `priority`: -1000 to 1000, higher goes first. `oversubscribe`:
    start now, even where there is no room. `set`: values laid over those of the job, such as `{"inputs.lr":
    0.1}`.

    Raises InvalidJob when the job cannot run, with every mistake and its place; InvalidArgument;
    ProgramNotFound; ProgramFailed. Contract: docs/job-file.md.
    """
    source = source_of(job)
    options = _options(name, compute, nodes, procs_per_node, priority, oversubscribe, set)
    return submit_source(source, options, compute)


def _take_back(printed: bytes) -> None:
    """Stops a job that was submitted while whoever wanted it pressed Ctrl-C: nobody knows its name."""
    name = json.loads(printed)["name"]
    _program.call(_program.of_job(["cancel", "--kill", "--no-wait"], name))


def submit_source(source: Source, options: Sequence[str] = (), compute: str | None = None) -> Job:
    """`phalanx run --detach`. What it says of an environment it does not know, and the like, is shown.

    The job's programs can import `phalanx` and `azureml.core`, whatever is installed in their Python.
    """
    text, environment = source.text, _offer.environment()
    if source.data is not None:
        where = _offer.elsewhere(str(compute or source.data.get("compute") or ""))
        text = _written(_offer.offered(source.data, where), "").text
        environment = dict(os.environ) if where is not None else environment
    words = ["run", "--detach", *options, "--", source.argument]
    ask = functools.partial(_program.ask, text=text, cwd=source.folder, env=environment)
    try:
        data = _program.mapping(ask(words, pass_on=True, abandoned=_take_back))
    except ProgramFailed as error:
        raise (_refused(source, options, error) if error.exit_code == REFUSED else error) from None
    return Job(data["name"], data)


def run(
    job: Any,
    *,
    name: str | None = None,
    compute: str | None = None,
    nodes: int | None = None,
    procs_per_node: int | None = None,
    priority: int | None = None,
    oversubscribe: bool = False,
    set: Mapping[str, Any] | None = None,
    check: bool = True,
) -> Job:
    """Submits a job, shows what it prints until it has ended, and returns it.

    Arguments as of `submit`. Raises JobFailed when the job failed, and JobCanceled when it was stopped,
    unless `check` is false. Ctrl-C ends the watching only: the job runs on, and the KeyboardInterrupt says
    how to stop it.
    """
    submitted = submit(
        job,
        name=name,
        compute=compute,
        nodes=nodes,
        procs_per_node=procs_per_node,
        priority=priority,
        oversubscribe=oversubscribe,
        set=set,
    )
    return submitted.stream(check=check)


async def submit_async(job: Any, **options: Any) -> Job:
    """As `submit`, for asyncio. When the task is cancelled, the job is taken back: it ends as Canceled."""
    asker, loop = _program.Asker(), asyncio.get_running_loop()
    context = contextvars.copy_context()
    work = loop.run_in_executor(None, context.run, _submit_for, asker, job, options)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        submitted = asker.leave()
        dropping = work if submitted is None else loop.run_in_executor(None, _drop, submitted)
        dropping.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody asks for it
        await asyncio.wait({dropping})
        raise


def _submit_for(asker: _program.Asker, job: Any, options: Mapping[str, Any]) -> Job:
    """`submit`, in a thread; the job is stopped where the asker has left."""
    _program.Asker.current.set(asker)
    submitted = submit(job, **options)
    if not asker.gets(submitted):
        _drop(submitted)
    return submitted


def _drop(submitted: Job) -> None:
    """Stops a job that nobody was told of."""
    submitted.cancel(kill=True, wait=False)


async def run_async(job: Any, *, check: bool = True, **options: Any) -> Job:
    """Submits a job and waits for its end without showing what it prints; arguments and errors as of `run`.

    Cancelling the task ends the waiting, not the job; while it is being submitted, it is taken back.
    """
    submitted = await submit_async(job, **options)
    return await submitted.wait_async(check=check)
