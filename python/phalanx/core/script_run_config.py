"""`ScriptRunConfig`: a script or command, where it runs, and in how many processes.

Source of defaults, checks and warnings: azureml-core 1.61, `core/script_run_config.py`.
"""

from __future__ import annotations

import logging
from typing import Any

from .exceptions import RunConfigurationException, UserErrorException
from .runconfig import (
    DockerConfiguration,
    EnvironmentDefinition,
    MpiConfiguration,
    PyTorchConfiguration,
    RunConfiguration,
    TensorflowConfiguration,
)

_IGNORED = (
    "If 'run_config' is specified, the following parameters will be ignored: 'compute_target', "
    "'environment', "
    "'distributed_job_config', 'max_run_duration_seconds', and 'docker_runtime_config'."
)
_TWICE = (
    "If '{0}' has been provided here and {1} been specified in 'run_config', '{0}' provided in "
    "ScriptRunConfig "
    "initialization will take precedence."
)


class ScriptRunConfig:
    """What `Experiment.submit` takes.

    `source_directory`: a folder; it is copied when the run is submitted. `script`: a path in it, run by
    Python, with `arguments`; or `command` instead of both, run by bash.
    `arguments`: a list, or one text. Each item becomes one argument: 50 is '50', a dataset is its path, and
    variables such as `$LOCAL_RANK` expand inside each process. `command`: a text, or a list whose items are
    joined by blanks. `compute_target`: a `ComputeTarget` or a name; "local" if not said. `environment`: an
    `Environment`. `distributed_job_config`: an `MpiConfiguration`, `PyTorchConfiguration` or
    `TensorflowConfiguration`; None: one process. `max_run_duration_seconds`: seconds from the start; 30 days
    if not said. `docker_runtime_config`: kept, without effect here.
    `run_config`: a `RunConfiguration` that says all this instead.

    Raises RunConfigurationException for a wrong type of `distributed_job_config` or `docker_runtime_config`.
    """

    MAX_DURATION_SECONDS_DEFAULT = 2592000

    def __init__(
        self,
        source_directory: str,
        script: str | None = None,
        arguments: str | list[Any] | None = None,
        run_config: RunConfiguration | None = None,
        _telemetry_values: dict[str, Any] | None = None,
        compute_target: Any = None,
        environment: Any = None,
        distributed_job_config: Any = None,
        resume_from: Any = None,
        max_run_duration_seconds: int | None = MAX_DURATION_SECONDS_DEFAULT,
        command: str | list[Any] | None = None,
        docker_runtime_config: DockerConfiguration | None = None,
    ) -> None:
        self.source_directory = source_directory
        self.script = script
        self.command = command
        self.arguments = arguments
        if run_config:
            given = [compute_target, environment, distributed_job_config, docker_runtime_config]
            if any(given) or max_run_duration_seconds != self.MAX_DURATION_SECONDS_DEFAULT:
                logging.warning(_IGNORED)
            self._take(run_config)
            self.run_config = run_config
        else:
            self.run_config = RunConfiguration()
            self.run_config.target = compute_target if compute_target else "local"
            self.run_config.environment = environment or EnvironmentDefinition("default-environment")
            self.run_config.max_run_duration_seconds = max_run_duration_seconds
            if distributed_job_config:
                _distribute(self.run_config, distributed_job_config)
            self._docker(docker_runtime_config, environment)
        if resume_from is not None:
            self._resume(resume_from)

    def _take(self, run_config: RunConfiguration) -> None:
        for name, theirs in (
            ("script", "a script file name has"),
            ("arguments", "arguments have"),
            ("command", "command has"),
        ):
            inside, mine = getattr(run_config, name), getattr(self, name)
            if inside and mine:
                logging.warning(_TWICE.format(name, theirs))
            elif inside:
                setattr(self, name, inside)

    def _docker(self, docker: DockerConfiguration | None, environment: Any) -> None:
        if docker:
            if not isinstance(docker, DockerConfiguration):
                raise RunConfigurationException(
                    "'docker_runtime_config' must be a 'DockerConfiguration' object."
                )
            self.run_config.docker = docker
        elif environment and getattr(environment, "docker", None):
            old = environment.docker
            self.run_config.docker = DockerConfiguration(
                old.enabled, old.shared_volumes, old.arguments, old.shm_size
            )

    def _resume(self, resume_from: Any) -> None:
        from .data.datapath import DataPath, DataPathComputeBinding

        if not isinstance(resume_from, DataPath):
            raise UserErrorException(
                f"resume_from parameter should be of type DataPath. Found {type(resume_from)}."
            )
        reference = resume_from.create_data_reference("MODEL_LOCATION", DataPathComputeBinding(mode="mount"))
        more = ["--resume-from", reference]
        self.arguments = [*(self.arguments or []), *more]


def _distribute(config: RunConfiguration, distributed: Any) -> None:
    if isinstance(distributed, TensorflowConfiguration):
        config.node_count = distributed.worker_count
        config.tensorflow, config.framework, config.communicator = (
            distributed,
            "TensorFlow",
            "ParameterServer",
        )
    elif isinstance(distributed, MpiConfiguration):
        config.node_count = distributed.node_count
        config.mpi, config.framework, config.communicator = distributed, "Python", "IntelMpi"
    elif isinstance(distributed, PyTorchConfiguration):
        config.node_count = distributed.node_count
        config.pytorch, config.framework = distributed, "PyTorch"
        config.communicator = distributed.communication_backend
    else:
        raise RunConfigurationException(
            "'distributed_job_config' must be an 'azureml.core.runconfig.TensorflowConfiguration', "
            "'azureml.core.runconfig.MpiConfiguration', or 'azureml.core.runconfig.PyTorchConfiguration' "
            "object."
        )
