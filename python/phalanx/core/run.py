"""`Run`: a job that was submitted, the job that this process belongs to, or a run that only logs.

Source of names, defaults and messages: azureml-core 1.61, `core/run.py`.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from .._check import refuse_unknown
from ._files import RunFiles
from ._logging import RunLogging
from ._record import Record
from .exceptions import (
    ActivityFailedException,
    ExperimentExecutionException,
    RunEnvironmentException,
    UserErrorException,
)

if TYPE_CHECKING:
    from .._job import Job
    from .environment import Environment
    from .experiment import Experiment
    from .model import Model
    from .workspace import Workspace

_INTERRUPTED = (
    "The output streaming for the run interrupted.\n"
    "But the run is still executing on the compute target. \n"
    "`phalanx cancel {0}` stops it, `phalanx logs {0} --follow` shows its output again."
)


class Run(RunLogging, RunFiles):
    """A run: by its id, which is the name of its job.

    `experiment`: the one it belongs to. `run_id`: its id. Raises UserErrorException when something is asked
    of a run that is not there.
    """

    def __init__(
        self, experiment: Experiment, run_id: str, outputs: str | None = None, **unknown: Any
    ) -> None:
        given = {key: unknown[key] for key in unknown if not key.startswith("_")}
        refuse_unknown("Run", given, ["experiment", "run_id", "outputs"])
        self._experiment = experiment
        self._run_id = run_id

    def __repr__(self) -> str:
        return f"Run(Experiment: {self.experiment.name},\nId: {self.id},\nStatus: {self.get_status()})"

    @functools.cached_property
    def _job(self) -> Job:
        from .._job import Job

        return Job(self._run_id)

    @property
    def _data(self) -> Mapping[str, Any]:
        from ..errors import JobNotFound

        try:
            return self._job._look()
        except JobNotFound as error:
            raise UserErrorException(f"RunId {self._run_id} not found: {error}") from error

    @property
    def _record(self) -> Record:
        return Record(Path(self._data["folder"]) / "azureml", [self._work / "logs" / "azureml"])

    @property
    def _work(self) -> Path:
        """The working directory of the job's node 0; of a job elsewhere what it has left, once it has
        ended.
        """
        return self._brought or Path(self._data["folder"]) / "nodes" / "0" / "wd"

    @property
    def _user_logs(self) -> Path | None:
        brought = self._brought
        return brought / "user_logs" if brought is not None else Path(self._data["logs"])

    @property
    def _brought(self) -> Path | None:
        """What a job on other machines has left: downloaded when it is first asked for. None of one on
        this.
        """
        folder = Path(self._data["folder"])
        if (folder / "nodes").is_dir() or not (folder / "elsewhere.json").is_file():
            return None
        target = folder / "azureml" / "download"
        if not target.is_dir() and self._job.ended:
            part = target.with_name(f"download.{uuid.uuid4().hex}")
            self._job.download(part)
            (part / "artifacts").mkdir(exist_ok=True)
            try:
                part.rename(target)
            except OSError:  # another program was quicker
                shutil.rmtree(part)
        return target / "artifacts"

    @property
    def id(self) -> str:
        """Its id: the name of its job."""
        return self._run_id

    @property
    def name(self) -> str:
        """Its display name, else its id."""
        return self.display_name

    @property
    def display_name(self) -> str:
        """What people call it; its id if nobody said. It can be set."""
        of_job = self._data.get("job") or {}
        return str(self._record.last("display_name") or of_job.get("display_name") or self._run_id)

    @display_name.setter
    def display_name(self, display_name: str) -> None:
        self._record.add("display_name", value=display_name)

    @property
    def description(self) -> str | None:
        """What people say of it, or None. It can be set."""
        found: str | None = self._record.last("description") or (self._data.get("job") or {}).get(
            "description"
        )
        return found

    @description.setter
    def description(self, description: str) -> None:
        self._record.add("description", value=description)

    @property
    def experiment(self) -> Experiment:
        """The experiment it belongs to."""
        return self._experiment

    @property
    def type(self) -> str:
        """`azureml.scriptrun`."""
        return "azureml.scriptrun"

    @property
    def number(self) -> int:
        """Its place among the runs of its experiment, from 1."""
        runs = [run.id for run in Run.list(self.experiment, include_children=True)]
        return len(runs) - runs.index(self.id) if self.id in runs else 1

    @property
    def parent(self) -> Run | None:
        """The run it was submitted from, or None."""
        name = (self._data.get("job") or {}).get("parent_job_name")
        return Run(self.experiment, name) if name else None

    @property
    def status(self) -> str:
        """As `get_status`."""
        return self.get_status()

    def get_status(self) -> str:
        """`Queued`, `Preparing`, `Starting`, `Running`, `Finalizing`, `CancelRequested`, and at the end
        `Completed`, `Failed` or `Canceled`. Raises UserErrorException where there is no such run."""
        return str(self._data["state"])

    def get_detailed_status(self) -> dict[str, str | None]:
        """`status`, and as `details` what it waits for."""
        data = self._data
        return {"status": str(data["state"]), "details": data.get("waiting_for") or None}

    def get_details(self) -> dict[str, Any]:
        """`runId`, `target`, `status`, `startTimeUtc` and `endTimeUtc` (ISO 8601, when they are known),
        `properties`, `inputDatasets`, `outputDatasets` (name and folder of each output), `runDefinition`,
        `logFiles` (names and paths), `submittedBy`; of a run that failed also `error`."""
        data = self._data
        job = data.get("job") or {}
        details: dict[str, Any] = {"runId": self.id, "target": job.get("compute") or "local"}
        details["status"] = data["state"]
        details.update({"startTimeUtc": data["started"]} if data.get("started") else {})
        details.update({"endTimeUtc": data["ended"]} if data.get("ended") else {})
        details["properties"] = self.get_properties()
        details["inputDatasets"] = [
            {"name": name, "path": item["path"]}
            for name, item in (job.get("inputs") or {}).items()
            if isinstance(item, dict) and "path" in item
        ]
        details["outputDatasets"] = [{"name": n, "path": p} for n, p in (data.get("outputs") or {}).items()]
        details["runDefinition"] = self._record.last("definition", {})
        details["logFiles"] = {name: str(path) for name, path in self._logs().items()}
        details["submittedBy"] = data.get("user")
        error = self._error(data)
        return {**details, **({"error": error} if error else {})}

    def _error(self, data: Mapping[str, Any]) -> dict[str, Any] | None:
        if data["state"] != "Failed":
            return None
        verdict = data.get("verdict") or {}
        message = (
            verdict.get("text") or "Detailed error not set on the Run. Please check the logs for details."
        )
        error = {"code": "UserError", "message": message, "exitCode": data.get("exit_code")}
        for key in ("reason", "rank", "host", "last_lines"):
            if verdict.get(key) not in (None, "", []):
                error[key] = verdict[key]
        if data.get("name"):  # else it is no job
            rank = verdict.get("rank")
            error["log"] = f"phalanx logs {data['name']}" + (f" --rank {rank}" if rank is not None else "")
        error.update({"hint": verdict["hint"]} if verdict.get("hint") else {})
        return {"error": error}

    def get_details_with_logs(self) -> dict[str, Any]:
        """As `get_details`, with the text of each log instead of its path."""
        details = self.get_details()
        details["logFiles"] = {
            name: path.read_text("utf-8", "replace") for name, path in self._logs().items()
        }
        return details

    def get_environment(self) -> Environment:
        """The environment it was submitted with. Raises UserErrorException where none is known."""
        from .environment import Environment

        data = (self._record.last("definition") or {}).get("environment")
        if not data:
            raise UserErrorException("There is no run definition or environment specified for the run.")
        return Environment(data["name"], _skip_defaults=True)._fill(data)

    def get_portal_url(self) -> str:
        """The folder in which all of it is kept, as a URL."""
        return Path(self._data["folder"]).as_uri()

    def wait_for_completion(
        self, show_output: bool = False, wait_post_processing: bool = False, raise_on_error: bool = True
    ) -> dict[str, Any]:
        """Waits until it has ended: its details.

        `show_output`: prints what its processes print, on sys.stdout. Raises ActivityFailedException when it
        failed, unless `raise_on_error` is False; a run that was canceled is no error. Ctrl-C ends the
        watching and not the run: ExperimentExecutionException with `show_output`, which says how to stop it.
        """
        if show_output:
            try:
                self._stream(sys.stdout, raise_on_error)
            except KeyboardInterrupt:
                raise ExperimentExecutionException(_INTERRUPTED.format(self.id)) from None
            return self.get_details()
        self._wait()
        self._raise_if_failed(raise_on_error)
        return self.get_details()

    def _wait(self) -> None:
        _ = self._data  # a run that is not there is said by its id
        self._job.wait(check=False)

    def _stream(self, out: TextIO, raise_on_error: bool) -> None:
        from .._progress import show_waiting

        place = self.get_portal_url()
        out.write(f"RunId: {self.id}\nWeb View: {place}\n")
        title = "Streaming user_logs"
        out.write(f"\n{title}\n{'=' * len(title)}\n\n")
        show_waiting(self._job, out)
        with self._job.logs(follow=True) as lines:
            for line in lines:
                print(line, file=out, flush=True)
        self._wait()
        out.write(f"\nExecution Summary\n=================\nRunId: {self.id}\nWeb View: {place}\n")
        error = self._error(self._data)
        if error and not raise_on_error:
            out.write(f"\nError:\n{json.dumps(error, indent=4)}\n")
        self._raise_if_failed(raise_on_error)
        out.write("\n")
        out.flush()

    def _raise_if_failed(self, wanted: bool) -> None:
        data = self._data
        error = self._error(data)
        if error and wanted:
            raise ActivityFailedException(
                json.dumps(error, indent=4),
                name=self.id,
                verdict=self._job.verdict,
                exit_code=self._job.exit_code,
            )

    def cancel(self) -> None:
        """Stops it: its processes get SIGTERM, and SIGKILL ten seconds later. No error where it has ended."""
        _ = self._data
        self._job.cancel(wait=False)

    def complete(self, _set_status: bool = True) -> None:
        """Nothing to do: a job completes when its processes end with 0."""

    def start(self) -> None:
        """Nothing to do: a job starts by itself."""

    def fail(
        self, error_details: Any = None, error_code: str | None = None, _set_status: bool = True
    ) -> None:
        """Keeps what is said. A job fails when one of its processes ends with another code than 0."""
        self._record.add("fail", value=str(error_details), code=error_code)

    def flush(self, timeout_seconds: int = 300) -> None:
        """Nothing to wait for: everything is written at once."""

    def clean(self) -> list[str]:
        """Nothing to remove: no files outside of the job's folder."""
        return []

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if value is not None:
            self.fail(value)
        else:
            self.complete()

    def get_children(self, recursive: bool = False, **_: Any) -> Iterator[Run]:
        """The runs that were made with `child_run` or `submit_child`, newest first."""
        from ._runs import LoggingRun

        for child in LoggingRun.below(self.experiment, self._record):
            yield child
            if recursive:
                yield from child.get_children(True)
        for run in Run.list(self.experiment, include_children=True):
            if (run._data.get("job") or {}).get("parent_job_name") == self.id:
                yield run

    def _children(self) -> Iterator[Run]:
        return self.get_children()

    def child_run(
        self, name: str | None = None, run_id: str | None = None, outputs: str | None = None
    ) -> Run:
        """A run that only logs, below this one."""
        from ._runs import LoggingRun

        return LoggingRun.begin(self.experiment, self._record.own / "children", run_id, name, self)

    def submit_child(self, config: Any, tags: dict[str, str] | None = None, **kwargs: Any) -> Run:
        """Submits another run, whose parent is this one."""
        return self.experiment.submit(config, tags, _parent_run_id=self.id, **kwargs)

    def get_snapshot_id(self) -> str:
        """Its id: the snapshot of the source directory is in its folder."""
        return self.id

    def register_model(
        self,
        model_name: str,
        model_path: str | None = None,
        tags: dict[str, str] | None = None,
        properties: dict[str, str] | None = None,
        description: str | None = None,
        **more: Any,
    ) -> Model:
        """Keeps a file or folder of the run (`outputs/model.pt`; all of ./outputs if not said) as the next
        version.

        Raises ModelPathNotFoundException where the run has no such file.
        """
        from .model import Model

        with self._local_copy(model_path or "outputs") as place:
            return Model.register(
                self.experiment.workspace,
                str(place),
                model_name,
                tags,
                properties,
                description,
                run_id=self.id,
            )

    @staticmethod
    def get(workspace: Workspace, run_id: str) -> Run:
        """The run of this id. Raises UserErrorException."""
        from .experiment import Experiment

        run = Run(Experiment(workspace, "unknown"), run_id)
        name = (run._data.get("job") or {}).get("experiment_name") or "Default"
        return get_run(Experiment(workspace, name, _skip_name_validation=True), run_id)

    @staticmethod
    def list(
        experiment: Experiment,
        type: str | None = None,
        tags: Any = None,
        properties: Any = None,
        status: str | None = None,
        include_children: bool = False,
        **_: Any,
    ) -> Iterator[Run]:
        """The runs of an experiment, newest first; of them those with these tags, properties and this
        status.
        """
        from .._job import list_entries
        from .script_run import ScriptRun

        for entry in list_entries():
            if entry["state"] is None or (status is not None and entry["state"] != status):
                continue
            run = ScriptRun(experiment, entry["name"])
            job = run._data.get("job") or {}
            if (job.get("experiment_name") or "Default") != experiment.name:
                continue
            if job.get("parent_job_name") and not include_children:
                continue
            if _has(run.get_tags(), tags) and _has(run.get_properties(), properties):
                yield run

    @classmethod
    def get_context(
        cls, allow_offline: bool = True, used_for_context_manager: bool = False, **kwargs: Any
    ) -> Any:
        """The run that this process belongs to; outside of a job one that prints what it is told.

        Raises RunEnvironmentException outside of a job, when `allow_offline` is False.
        """
        refuse_unknown("get_context", kwargs, ["allow_offline"])
        run_id = os.environ.get("PHALANX_JOB")
        if run_id:
            from ._runs import submitted

            return submitted(run_id)
        if allow_offline:
            from ._offline import OfflineRun

            return OfflineRun()
        raise RunEnvironmentException()

    @classmethod
    def get_submitted_run(cls, **kwargs: Any) -> Any:
        """The old name of `get_context(allow_offline=False)`."""
        return cls.get_context(allow_offline=False, **kwargs)


def _has(having: Mapping[str, Any], wanted: Any) -> bool:
    if not wanted:
        return True
    if isinstance(wanted, str):
        return wanted in having
    return all(having.get(key) == value for key, value in dict(wanted).items())


def get_run(experiment: Experiment, run_id: str, rehydrate: bool = True, clean_up: bool = True) -> Run:
    """The run of this id in an experiment. Raises UserErrorException."""
    from .script_run import ScriptRun

    run = ScriptRun(experiment, run_id)
    _ = run._data
    return run
