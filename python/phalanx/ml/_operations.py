"""`MLClient.jobs`. Contract: `azure.ai.ml.operations.JobOperations`."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from typing import Any, Callable

from .. import _job, _program, _submit
from .._offer import without
from .._progress import show_lines
from .._states import FINAL
from ..errors import InvalidJob, JobCanceled, JobFailed, JobNotFound, Problem
from ._load import job_from_spec
from .constants import ListViewType
from .entities import Command, Job, ValidationResult
from .entities import _check as check
from .entities._io import JobOutput
from .exceptions import JobException, JobFailedException, ResourceNotFoundError, ValidationException


class Poller:
    """What `begin_...` gives: work that goes on. `result(timeout)` waits for it and raises what it raised."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._value: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            self._value = work()
        except BaseException as error:
            self._error = error

    def wait(self, timeout: float | None = None) -> None:
        """Waits until it is done, at most `timeout` seconds."""
        self._thread.join(timeout)

    def done(self) -> bool:
        """Whether it is done."""
        return not self._thread.is_alive()

    def status(self) -> str:
        """`InProgress`, `Succeeded` or `Failed`."""
        if not self.done():
            return "InProgress"
        return "Failed" if self._error else "Succeeded"

    def result(self, timeout: float | None = None) -> Any:
        """What the work gave (None while it is not done after `timeout` seconds)."""
        self.wait(timeout)
        if self._error is not None:
            raise self._error
        return self._value


class JobOperations:
    """Jobs: submitted, looked at, streamed, cancelled."""

    def create_or_update(
        self,
        job: Any,
        *,
        description: str | None = None,
        compute: str | None = None,
        tags: dict[str, Any] | None = None,
        experiment_name: str | None = None,
        skip_validation: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Submits a job, and returns it with its name, status and outputs.

        `job`: of `phalanx.ml`, or of the real azure-ai-ml. The keywords are set on `job` first. Raises
        `phalanx.InvalidJob` (a `ValueError`) when it cannot run, or when there is a job of its name already.
        """
        check.unknown("create_or_update", kwargs, ["description", "compute", "tags", "experiment_name"])
        given = {
            "description": description,
            "compute": compute,
            "tags": tags,
            "experiment_name": experiment_name,
        }
        for key, value in given.items():
            if value is not None:
                setattr(job, key, value)
        if isinstance(job, Job) and job._folder is not None and not job.name:
            job._folder = job._status = None
        return self._entity(_submit.submit(job))

    def get(self, name: str) -> Any:
        """A job as it is now. Raises ResourceNotFoundError."""
        return self._entity(self._known(name))

    def list(
        self,
        *,
        parent_job_name: str | None = None,
        list_view_type: str | ListViewType = ListViewType.ACTIVE_ONLY,
        **kwargs: Any,
    ) -> Iterator[Any]:
        """The jobs, newest first: those that are not archived, or as `list_view_type` says."""
        check.unknown("list", kwargs, ["parent_job_name", "list_view_type", "max_results"])
        view = ListViewType(list_view_type)
        most = check.count("max_results", kwargs.get("max_results"))
        return self._listed(parent_job_name, view, most)

    def _listed(self, parent: str | None, view: ListViewType, most: int | None) -> Iterator[Any]:
        given = 0
        for entry in _job.list_entries():
            if most is not None and given >= most:
                return
            if entry["state"] is None or (
                view is not ListViewType.ALL and entry["archived"] != (view is ListViewType.ARCHIVED_ONLY)
            ):
                continue
            job = self._entity(_job.Job(entry["name"]))
            if parent is not None and getattr(job, "parent_job_name", None) != parent:
                continue
            given += 1
            yield job

    def stream(self, name: str) -> None:
        """Prints what all processes of a job print, until it has ended.

        Raises JobException when it failed; one that was cancelled is no error, as on Azure. Ctrl-C ends the
        streaming only: the job runs on, and the JobException says how to cancel it.
        """
        job = self._known(name)
        print(f"RunId: {job.name}\nWeb View: {job.folder.as_uri()}\n", flush=True)
        try:
            show_lines(job, None)
            job.wait()
        except KeyboardInterrupt:
            raise JobException(
                "The output streaming for the run interrupted.\nBut the run is still executing: "
                + job.how_to_stop()
            ) from None
        except JobCanceled:
            pass
        except JobFailed as error:
            raise JobFailedException(error.name, error.verdict, error.exit_code, error.job) from None
        self._print_summary(job)

    def _print_summary(self, job: _job.Job) -> None:
        print(
            f"\nExecution Summary\n=================\nRunId: {job.name}\nStatus: {job.state}",
            file=sys.stdout,
            flush=True,
        )

    def begin_cancel(self, name: str, **kwargs: Any) -> Poller:
        """Stops a job, in the background: `.result()` waits until its processes are gone."""
        check.unknown("begin_cancel", kwargs, ["name"])
        job = self._known(name)
        job.cancel(wait=False)
        return Poller(lambda: job.wait(check=False) and None)

    def download(
        self,
        name: str,
        *,
        download_path: str | os.PathLike[str] = ".",
        output_name: str | None = None,
        all: bool = False,
    ) -> None:
        """Copies what a job left to `download_path`/artifacts and /named-outputs/NAME. Files there are
        overwritten.

        `output_name`: only this output. `all`: all named outputs too. Raises JobException for a job that
        runs.
        """
        job = self._known(name)
        state = job.state
        if state not in FINAL:
            raise JobException(
                f"This job is in state {state}. Download is allowed only in states {sorted(FINAL)}"
            )
        job.download(download_path, output=output_name, all=all, force=True)

    def archive(self, name: str) -> None:
        """Leaves a job out of `list`, and of `phalanx list`."""
        _program.call(_program.of_job(["archive"], self._known(name).name))

    def restore(self, name: str) -> None:
        """Takes back `archive`."""
        _program.call(_program.of_job(["archive", "--restore"], self._known(name).name))

    def validate(self, job: Any, *, raise_on_failure: bool = False, **kwargs: Any) -> ValidationResult:
        """What is wrong in a job, which is not submitted. `raise_on_failure`: as a ValidationException."""
        check.unknown("validate", kwargs, ["job", "raise_on_failure"])
        source = _submit.source_of(job)
        problems: list[Problem] = _submit.problems_of(source, _submit.find_problems(source))
        result = ValidationResult(problems)
        if raise_on_failure and not result.passed:
            raise ValidationException("\n".join(str(problem) for problem in problems if problem.error))
        return result

    def show_services(self, name: str, node_index: int = 0) -> dict[str, Any] | None:
        """None: Phalanx opens no services beside a job."""
        self._known(name)
        return None

    def _known(self, name: str) -> _job.Job:
        if not isinstance(name, str) or not name:
            raise ValidationException(f"name is {name!r}; it must be the name of a job")
        job = _job.Job(name)
        try:
            data = job._look()
        except JobNotFound as error:
            raise ResourceNotFoundError(str(error)) from None
        return _job.Job(data["name"], data)

    def _entity(self, job: _job.Job) -> Any:
        data = job._look()
        entity: Any = job_from_spec(without(data["job"])) if data.get("job") else Command()
        entity.name = data["name"]
        entity._status = data["state"]
        entity._folder = data["folder"]
        if entity.display_name is None:
            entity.display_name = entity.name
        for name, output in list(getattr(entity, "outputs", {}).items()):
            if not output.path:
                entity.outputs[name] = JobOutput.of(
                    output, f"azureml://jobs/{entity.name}/outputs/{name}/paths/"
                )
        return entity


__all__ = ["InvalidJob", "JobOperations", "Poller"]
