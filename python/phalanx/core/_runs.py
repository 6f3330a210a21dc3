"""Runs that are no submitted job of this process: the job that it belongs to, and runs that only log."""

from __future__ import annotations

import functools
import json
import logging
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from .._context import log_metrics
from .._states import looks
from ._record import Record
from .exceptions import ActivityFailedException
from .run import Run

if TYPE_CHECKING:
    from .experiment import Experiment

_logger = logging.getLogger(__name__)
_FINAL = ("Completed", "Failed", "Canceled")


@functools.cache
def submitted(run_id: str) -> SubmittedRun:
    from .experiment import Experiment
    from .workspace import Workspace

    get = os.environ.get
    workspace = Workspace(
        get("AZUREML_ARM_SUBSCRIPTION"), get("AZUREML_ARM_RESOURCEGROUP"), get("AZUREML_ARM_WORKSPACE_NAME")
    )
    name = get("AZUREML_ARM_PROJECT_NAME") or "Default"
    return SubmittedRun(Experiment(workspace, name, _skip_name_validation=True), run_id)


def _job_rank() -> int:
    """This process's number in its job: what its launcher says goes before what the job does."""
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PHALANX_RANK"):
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return 0


class SubmittedRun(Run):
    """The run that this process belongs to. It asks nothing of the program, which may not be there."""

    @functools.cached_property
    def _record(self) -> Record:
        return Record(self._work / "logs" / "azureml", [Path(os.environ["PHALANX_JOB_FOLDER"]) / "azureml"])

    @functools.cached_property
    def _work(self) -> Path:
        node = os.environ.get("PHALANX_NODE_RANK", "0")
        place = Path(os.environ["PHALANX_JOB_FOLDER"]) / "nodes" / node / "wd"
        return place if place.is_dir() else Path.cwd()

    @property
    def _user_logs(self) -> Path | None:
        return None

    @property
    def _data(self) -> Mapping[str, Any]:
        job = {"experiment_name": self.experiment.name, "compute": os.environ.get("PHALANX_COMPUTE")}
        state: dict[str, Any] = {"state": "Running", "started": None, "ended": None, "job": job}
        return {**state, "folder": os.environ["PHALANX_JOB_FOLDER"], "outputs": self.output_datasets}

    def get_status(self) -> str:
        """`Running`."""
        return "Running"

    def cancel(self) -> None:
        """Not from inside a job: says so."""
        _logger.warning("cancel is not supported for submitted runs.")

    @property
    def input_datasets(self) -> dict[str, str]:
        """The path of each input, by name."""
        return _of_variables("AZURE_ML_INPUT_")

    @property
    def output_datasets(self) -> dict[str, str]:
        """The folder of each output, by name."""
        return _of_variables("AZURE_ML_OUTPUT_")

    def _log(
        self, kind: str, name: str, value: Any, step: int | None = None, all_ranks: bool = False
    ) -> None:
        rank = _job_rank()
        if rank != 0 and not all_ranks:
            return
        if os.environ.get("PHALANX_METRICS"):
            for numbers in self._numbers(kind, name, value):
                log_metrics(numbers, step, all_ranks=True)
        super()._log(kind, name, value, step)


def _of_variables(prefix: str) -> dict[str, str]:
    return {name[len(prefix) :]: value for name, value in os.environ.items() if name.startswith(prefix)}


class LoggingRun(Run):
    """A run that is no job: it keeps what it is told in a folder."""

    def __init__(self, experiment: Experiment, folder: Path) -> None:
        super().__init__(experiment, folder.name)
        self._folder = folder

    @staticmethod
    def begin(
        experiment: Experiment, parent: Path, run_id: str | None, name: str | None, of: Run | None
    ) -> LoggingRun:
        run = LoggingRun(experiment, parent / (run_id or str(uuid.uuid4())))
        of_id = of.id if of is not None else None
        run._record.add("begin", value=experiment.name, display_name=name, parent=of_id)
        return run

    @staticmethod
    def below(experiment: Experiment, record: Record) -> Iterator[LoggingRun]:
        for folder in record.folders:
            children = folder / "children"
            for child in sorted(children.iterdir(), reverse=True) if children.is_dir() else ():
                yield LoggingRun(experiment, child)

    @functools.cached_property
    def _record(self) -> Record:
        return Record(self._folder)

    @property
    def _work(self) -> Path:
        return self._folder / "work"

    @property
    def _user_logs(self) -> Path | None:
        return None

    @property
    def _data(self) -> Mapping[str, Any]:
        events = self._record.events("begin", "end")
        times = [datetime.fromtimestamp(event["at"], timezone.utc).isoformat() for event in events]
        begin = next((event for event in events if event["kind"] == "begin"), {})
        state = next((event["value"] for event in reversed(events) if event["kind"] == "end"), "Running")
        job = {
            "experiment_name": begin.get("value"),
            "display_name": begin.get("display_name"),
            "parent_job_name": begin.get("parent"),
        }
        ended = times[-1] if state in _FINAL else None
        return {
            "state": state,
            "job": job,
            "folder": str(self._folder),
            "started": times[0] if times else None,
            "ended": ended,
            "outputs": {},
            "verdict": {"text": self._record.last("fail", "")},
        }

    def _points(self) -> dict[str, Any]:
        return {}

    def _children(self) -> Iterator[Run]:
        return LoggingRun.below(self.experiment, self._record)

    def _end(self, state: str) -> None:
        if self.get_status() not in _FINAL:
            self._record.add("end", value=state)

    def complete(self, _set_status: bool = True) -> None:
        """Ends it as Completed."""
        self._end("Completed")

    def fail(
        self, error_details: Any = None, error_code: str | None = None, _set_status: bool = True
    ) -> None:
        """Ends it as Failed, with what is said."""
        super().fail(error_details, error_code)
        self._end("Failed")

    def cancel(self) -> None:
        """Ends it as Canceled."""
        self._end("Canceled")

    def _wait(self) -> None:
        for seconds in looks():
            if self.get_status() in _FINAL:
                return
            time.sleep(seconds)

    def _stream(self, out: TextIO, raise_on_error: bool) -> None:
        out.write(f"RunId: {self.id}\n")
        self._wait()
        self._raise_if_failed(raise_on_error)

    def _raise_if_failed(self, wanted: bool) -> None:
        error = self._error(self._data)
        if error and wanted:
            raise ActivityFailedException(json.dumps(error, indent=4), name=self.id)
