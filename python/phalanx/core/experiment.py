"""`Experiment`: a name for runs that belong together. Source: azureml-core 1.61, `core/experiment.py`."""

from __future__ import annotations

import copy
import os
import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._check import refuse_unknown
from . import _store
from ._conversion import to_job
from ._runs import LoggingRun
from .exceptions import ExperimentExecutionException, UserErrorException
from .run import Run
from .runconfig import RunConfiguration
from .script_run import ScriptRun
from .script_run_config import ScriptRunConfig

if TYPE_CHECKING:
    from .workspace import Workspace

_NAME = re.compile(r"[a-zA-Z0-9][\w\-]{0,254}")


class ViewType:
    """Which experiments `Experiment.list` gives; here all are active."""

    ActiveOnly = "ActiveOnly"
    All = "All"
    ArchivedOnly = "ArchivedOnly"


class Experiment:
    """Runs by a common name.

    `name`: up to 255 letters, digits, '-' and '_', beginning with a letter or digit. Raises
    UserErrorException for another.
    """

    def __init__(
        self, workspace: Workspace, name: str, _skip_name_validation: bool = False, **unknown: Any
    ) -> None:
        given = {key: unknown[key] for key in unknown if not key.startswith("_")}
        refuse_unknown("Experiment", given, ["workspace", "name"])
        if not _skip_name_validation and not (isinstance(name, str) and _NAME.fullmatch(name)):
            raise UserErrorException(
                "Experiment name must be between 1 and 255 characters long. Its first character has to be "
                "alphanumeric, and the rest may contain hyphens and underscores. No whitespace is allowed."
            )
        self.workspace = workspace
        self.name = name
        self.id = name
        self.tags: dict[str, Any] = {}
        self.archived_time = None

    def __repr__(self) -> str:
        return f"Experiment(Name: {self.name},\nWorkspace: {self.workspace.name})"

    def submit(self, config: ScriptRunConfig, tags: dict[str, Any] | None = None, **kwargs: Any) -> ScriptRun:
        """Submits a run, and returns at once.

        `config`: a `ScriptRunConfig`. `tags`: kept with the run. `run_id`: its id, and the name of its job;
        one is made up of the experiment's name and the time if not said.
        Raises UserErrorException, RunConfigurationException and ExperimentExecutionException for what cannot
        run; the run's source directory is copied when this returns.
        """
        run_id = kwargs.pop("run_id", None) or f"{self.name}_{int(time.time())}_{uuid.uuid4().hex[:8]}"
        parent = kwargs.pop("_parent_run_id", None)
        kwargs.pop("credential_passthrough", None)
        refuse_unknown("submit", kwargs, ["config", "tags", "run_id"])
        if not isinstance(config, ScriptRunConfig):
            raise UserErrorException(
                f"config is a {type(config).__name__}; Experiment.submit takes a ScriptRunConfig"
            )
        whole = _whole(config)
        code = _source(config.source_directory)
        _check_script(whole, code)
        job = to_job(whole, str(code), self.name, run_id, tags)
        if parent:
            job["parent_job_name"] = parent
        return self._submitted(job, whole, tags)

    def _submitted(self, job: dict[str, Any], config: RunConfiguration, tags: Any) -> ScriptRun:
        from .._submit import source_of, submit_source
        from ..errors import InvalidArgument, ProgramFailed

        try:
            submitted = submit_source(source_of(job))
        except (ProgramFailed, InvalidArgument) as error:
            raise ExperimentExecutionException(str(error), inner_exception=error) from error
        run = ScriptRun(self, submitted.name)
        run._record.add("definition", value=_as_kept(config))
        if tags:
            run.set_tags(tags)
        return run

    def start_logging(
        self,
        outputs: Any = None,
        snapshot_directory: str | None = ".",
        name: str | None = None,
        run_id: str | None = None,
        display_name: str | None = None,
        **_: Any,
    ) -> Run:
        """A run of this process, without a job: it keeps what is logged. End it with `complete()`."""
        place = _store.home() / "registry" / "runs" / _store.checked_name(self.name, "Experiment")
        return LoggingRun.begin(self, place, run_id, display_name or name, None)

    def get_runs(
        self,
        type: str | None = None,
        tags: Any = None,
        properties: Any = None,
        include_children: bool = False,
    ) -> Iterator[Run]:
        """Its runs, newest first; those of `start_logging` come after the jobs."""
        yield from Run.list(self, type, tags, properties, include_children=include_children)
        place = _store.home() / "registry" / "runs" / self.name
        found = list(place.iterdir()) if place.is_dir() else []
        for folder in sorted(found, key=lambda entry: entry.stat().st_mtime, reverse=True):
            yield LoggingRun(self, folder)

    @staticmethod
    def list(
        workspace: Workspace,
        experiment_name: str | None = None,
        view_type: str = ViewType.ActiveOnly,
        tags: Any = None,
    ) -> Any:
        """The experiments that have runs, as a list, newest first."""
        from .._job import Job, list_entries

        names: dict[str, None] = {}
        for entry in list_entries():
            if entry["state"] is not None:
                names[(Job(entry["name"])._look().get("job") or {}).get("experiment_name") or "Default"] = (
                    None
                )
        return [
            Experiment(workspace, name, _skip_name_validation=True)
            for name in names
            if experiment_name in (None, name)
        ]

    def get_portal_url(self) -> str:
        """The folder of all jobs, as a URL."""
        return (_store.home() / "jobs").absolute().as_uri()


def _whole(config: ScriptRunConfig) -> RunConfiguration:
    """The run configuration with what the ScriptRunConfig says itself; a copy."""
    given = config.run_config
    whole = (
        RunConfiguration.load(config.source_directory, given) if isinstance(given, str) else copy.copy(given)
    )
    object.__setattr__(whole, "environment", copy.copy(whole.environment))
    for name in ("arguments", "script", "command"):
        value = getattr(config, name)
        if value:
            setattr(whole, name, list(value) if isinstance(value, (list, tuple)) else value)
    return whole


def _source(source_directory: Any) -> Path:
    folder = Path(source_directory if source_directory is not None else ".").absolute()
    if not folder.is_dir():
        raise UserErrorException(f"source_directory: {folder} is no folder")
    return folder


def _check_script(config: RunConfiguration, code: Path) -> None:
    if not config.script:
        return
    place = Path(os.path.normpath(code / config.script))
    if not place.is_file() or not place.is_relative_to(code):
        raise ExperimentExecutionException(
            f"{place} script path doesn't exist. The script should be inside the project folder"
        )
    config.script = str(place.relative_to(code))


def _as_kept(config: RunConfiguration) -> dict[str, Any]:
    import json

    kept: dict[str, Any] = json.loads(json.dumps(config._to_dict(), default=str))
    return kept
