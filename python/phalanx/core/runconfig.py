"""Run configurations: what is run where, and in how many processes.

Source of defaults, checks and messages: azureml-core 1.61, `core/runconfig.py`. What a configuration becomes
here is in `phalanx.core._conversion`.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from ._element import Element, Field
from .conda_dependencies import CondaDependencies
from .container_registry import ContainerRegistry
from .environment import (
    _DEFAULT_SHM_SIZE,
    DEFAULT_CPU_IMAGE,
    DEFAULT_GPU_IMAGE,
    DockerEnvironment,
    DockerSection,
    Environment,
    PythonEnvironment,
    PythonSection,
)
from .exceptions import RunConfigurationException, UserErrorException

__all__ = [
    "DEFAULT_CPU_IMAGE",
    "DEFAULT_GPU_IMAGE",
    "MPI_CPU_IMAGE",
    "MPI_GPU_IMAGE",
    "AmlComputeConfiguration",
    "ApplicationEndpointConfiguration",
    "CondaDependencies",
    "ContainerRegistry",
    "DataReferenceConfiguration",
    "DockerConfiguration",
    "DockerEnvironment",
    "DockerSection",
    "Environment",
    "EnvironmentDefinition",
    "HistoryConfiguration",
    "KubernetesComputeConfiguration",
    "MpiConfiguration",
    "ParallelTaskConfiguration",
    "PyTorchConfiguration",
    "PythonEnvironment",
    "PythonSection",
    "RunConfiguration",
    "TensorflowConfiguration",
]

_log = logging.getLogger(__name__)

MPI_CPU_IMAGE = DEFAULT_CPU_IMAGE
MPI_GPU_IMAGE = DEFAULT_GPU_IMAGE
SUPPORTED_PYTORCH_BACKENDS = ("nccl", "gloo")
_EXTENSION = ".runconfig"


class TensorflowConfiguration(Element):
    """A job of TensorFlow: as many tasks of each kind, each with its `TF_CONFIG`.

    `worker_count`: workers; it is the number of nodes too. `parameter_server_count`: servers, **1 if not
    said**; jobs of `MultiWorkerMirroredStrategy` say 0.
    """

    _fields = (Field("worker_count", int), Field("parameter_server_count", int))

    def __init__(self, worker_count: int = 1, parameter_server_count: int = 1) -> None:
        self.worker_count = worker_count
        self.parameter_server_count = parameter_server_count
        self._initialized = True


class MpiConfiguration(Element):
    """A job of MPI: `process_count_per_node` processes on each of `node_count` nodes."""

    _fields = (Field("process_count_per_node", int), Field("node_count", int))

    def __init__(self, process_count_per_node: int = 1, node_count: int = 1) -> None:
        self.process_count_per_node = process_count_per_node
        self.node_count = node_count
        self._initialized = True


class PyTorchConfiguration(Element):
    """A job of PyTorch: `process_count` processes **in all**, dealt out evenly to `node_count` nodes.

    `communication_backend`: "Nccl" or "Gloo", in any case. It is kept; the training script chooses its
    backend itself, so "Nccl" is accepted on machines without a GPU.
    `process_count`: None: the command runs once on each node, for launchers such as torch.distributed.launch.

    Raises RunConfigurationException for another backend.
    """

    _fields = (Field("communication_backend"), Field("process_count", int), Field("node_count", int))

    def __init__(
        self, communication_backend: str = "Nccl", process_count: int | None = None, node_count: int = 1
    ) -> None:
        if communication_backend.lower() not in SUPPORTED_PYTORCH_BACKENDS:
            raise RunConfigurationException(
                f"{communication_backend} is not a supported backend. 'communication_backend' must be "
                "'Nccl' or 'Gloo'."
            )
        self.communication_backend = communication_backend.lower()
        self.process_count = process_count
        self.node_count = node_count
        self._initialized = True


class ParallelTaskConfiguration(Element):
    """Jobs of parallel tasks. They are refused when they are submitted."""

    _fields = (
        Field("max_retries_per_worker", int),
        Field("worker_count_per_node", int),
        Field("terminal_exit_codes", list),
    )

    def __init__(self) -> None:
        self.max_retries_per_worker = 0
        self.worker_count_per_node = 1
        self.terminal_exit_codes: list[int] | None = None
        self._initialized = True


class DockerConfiguration(Element):
    """How a container would be started. Phalanx runs none: kept with the job, without effect.

    `shm_size`: a number and b, k, m or g.
    """

    _fields = (
        Field("use_docker", bool),
        Field("shared_volumes", bool),
        Field("arguments", list),
        Field("shm_size"),
    )

    def __init__(
        self,
        use_docker: bool = False,
        shared_volumes: bool = True,
        arguments: list[str] | None = None,
        shm_size: str | None = _DEFAULT_SHM_SIZE,
    ) -> None:
        self.use_docker = use_docker
        self.shared_volumes = shared_volumes
        self.arguments = arguments if arguments is not None else []
        self.shm_size = shm_size
        self._initialized = True


class AmlComputeConfiguration(Element):
    """A virtual machine of Azure. Kept with the job, without effect."""

    _fields = (
        Field("vm_size"),
        Field("vm_priority"),
        Field("retain_cluster", bool),
        Field("name"),
        Field("cluster_max_node_count", int),
    )

    def __init__(self) -> None:
        self.vm_size: str | None = None
        self.vm_priority: str | None = None
        self.retain_cluster = False
        self.name: str | None = None
        self.cluster_max_node_count: int | None = None
        self._initialized = True


class KubernetesComputeConfiguration(Element):
    """A kind of machine of a Kubernetes cluster. Kept with the job, without effect."""

    _fields = (Field("instance_type"),)

    def __init__(self) -> None:
        self.instance_type: str | None = None
        self._initialized = True


class HistoryConfiguration(Element):
    """What Azure ML would keep of a run. Phalanx keeps all of it."""

    _fields = (
        Field("output_collection", bool),
        Field("snapshot_project", bool),
        Field("directories_to_watch", list),
    )

    def __init__(self) -> None:
        self.output_collection = True
        self.snapshot_project = True
        self.directories_to_watch = ["logs"]
        self._initialized = True


class DataReferenceConfiguration(Element):
    """A path of a datastore that a run reads ("mount", "download") or writes ("upload").

    Raises UserErrorException for another mode, when it is read from a file or submitted.
    """

    _fields = (
        Field("data_store_name"),
        Field("path_on_data_store"),
        Field("mode"),
        Field("overwrite", bool),
        Field("path_on_compute"),
    )

    def __init__(
        self,
        datastore_name: str | None = None,
        mode: str = "mount",
        path_on_datastore: str | None = None,
        path_on_compute: str | None = None,
        overwrite: bool = False,
    ) -> None:
        self.data_store_name = datastore_name
        self.path_on_data_store = path_on_datastore
        self.path_on_compute = path_on_compute
        self.mode = mode.lower()
        self.overwrite = overwrite
        self._initialized = True

    def _validate(self) -> None:
        if not self.data_store_name:
            raise UserErrorException("Missing data store name")
        if (self.mode or "").lower() not in ("mount", "download", "upload"):
            raise UserErrorException(f"mode {self.mode} is not supported. Only mount, download allowed")


class ApplicationEndpointConfiguration(Element):
    """A service beside the job (Jupyter, SSH, ...). Kept, without effect here."""

    _fields = (Field("type"), Field("port", int), Field("properties", dict))

    def __init__(
        self,
        type: str | None = None,
        port: int | None = None,
        properties: dict[str, Any] | None = None,
    ) -> None:
        self.type = type
        self.port = port
        self.properties = properties
        self._initialized = True


class EnvironmentDefinition(Environment):
    """The old name of `Environment`."""


class RunConfiguration(Element):
    """All that there is to say of a run; `ScriptRunConfig` makes one.

    `script`, `arguments` or `command`: what runs. `target`: the compute's name, "local" if not said.
    `communicator`: "None", "ParameterServer" (`tensorflow`), "IntelMpi" or "OpenMpi" (`mpi`), "Nccl" or
    "Gloo" (`pytorch`): which of the sections counts. `node_count`: nodes. `max_run_duration_seconds`:
    seconds, None: no limit. `environment_variables`: set for every process. `docker`, `amlcompute`,
    `history` and the like: kept.
    """

    _fields = (
        Field("script"),
        Field("arguments", list),
        Field("target"),
        Field("framework"),
        Field("communicator"),
        Field("max_run_duration_seconds", int),
        Field("node_count", int),
        Field("priority", int),
        Field("environment", Environment),
        Field("history", HistoryConfiguration),
        Field("docker", DockerConfiguration),
        Field("tensorflow", TensorflowConfiguration),
        Field("mpi", MpiConfiguration),
        Field("pytorch", PyTorchConfiguration),
        Field("paralleltask", ParallelTaskConfiguration),
        Field("data_references", dict, of=DataReferenceConfiguration),
        Field("data", dict),
        Field("output_data", dict),
        Field("source_directory_data_store"),
        Field("amlcompute", AmlComputeConfiguration),
        Field("kubernetescompute", KubernetesComputeConfiguration),
        Field("credential_passthrough", bool),
        Field("command"),
        Field("environment_variables", dict),
        Field("services", dict, "application_endpoints", ApplicationEndpointConfiguration),
    )

    def __init__(
        self,
        script: str | None = None,
        arguments: list[Any] | None = None,
        framework: str | None = None,
        communicator: str | None = None,
        conda_dependencies: CondaDependencies | None = None,
        _history_enabled: bool | None = None,
        _path: str | None = None,
        _name: str | None = None,
        command: str | list[Any] | None = None,
    ) -> None:
        self._name = _name
        self._path = _path
        self.script = script
        self.command: str | list[Any] = command if command else ""
        self.arguments: str | list[Any] = arguments if arguments else []
        self._target = "local"
        self.framework = framework if framework else "Python"
        self.communicator = communicator if communicator else "None"
        self.max_run_duration_seconds: int | None = None
        self.node_count = 1
        self.priority: int | None = None
        self.environment: Environment = EnvironmentDefinition("default-environment")
        self.history = HistoryConfiguration()
        self.spark: Any = None
        self.hdi: Any = None
        self.docker = DockerConfiguration()
        self.tensorflow = TensorflowConfiguration()
        self.mpi = MpiConfiguration()
        self.pytorch = PyTorchConfiguration()
        self.paralleltask = ParallelTaskConfiguration()
        self.data_references: dict[str, Any] = {}
        self.data: dict[str, Any] = {}
        self.datacaches: list[Any] = []
        self.output_data: dict[str, Any] = {}
        self.environment_variables: dict[str, Any] = {}
        self.amlcompute = AmlComputeConfiguration()
        self.kubernetescompute = KubernetesComputeConfiguration()
        self.services: dict[str, Any] = {}
        self.source_directory_data_store: str | None = None
        self.auto_cluster_compute_specification: Any = None
        self.auto_prepare_environment = True
        self.environment.python.conda_dependencies = conda_dependencies or CondaDependencies()
        if _history_enabled:
            self.history.output_collection = _history_enabled
        self.credential_passthrough = False
        self._initialized = True

    def __repr__(self) -> str:
        return json.dumps(self._to_dict(), indent=4, default=str)

    @property
    def target(self) -> str:
        """The name of the compute. It can be set to a name, or to a `ComputeTarget`."""
        return self._target

    @target.setter
    def target(self, target: Any) -> None:
        name = target if isinstance(target, str) else getattr(target, "name", None)
        if isinstance(name, str):
            self._target = name

    def save(
        self, path: str | None = None, name: str | None = None, separate_environment_yaml: bool = False
    ) -> None:
        """Writes a .runconfig (YAML), and the conda packages beside it.

        `path`: a file; or a project's folder, then it becomes `.azureml/NAME` in it. Raises
        FileNotFoundError, and UserErrorException without a name.
        """
        import yaml

        place = Path(path or self._path or ".")
        name = name or self._name
        if not place.exists() and not place.parent.is_dir():
            raise UserErrorException(f"{path} argument is invalid")
        if place.is_dir():
            if not name:
                raise UserErrorException("Cannot save a runconfig without a name specified")
            (_config_folder(place)).mkdir(exist_ok=True)
            place = _config_folder(place) / name
            place = place if place.suffix == _EXTENSION else place.with_name(place.name + _EXTENSION)
        data = json.loads(json.dumps(self._to_dict(), default=str))
        conda = data["environment"]["python"].pop("condaDependencies")
        data["environment"]["python"]["condaDependenciesFile"] = "conda_dependencies.yml"
        (place.parent / "conda_dependencies.yml").write_text(yaml.safe_dump(conda, sort_keys=False), "utf-8")
        if separate_environment_yaml:
            (place.parent / "environment.yml").write_text(
                yaml.safe_dump(data["environment"], sort_keys=False), "utf-8"
            )
            data["environment"] = "environment.yml"
        place.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")

    @staticmethod
    def load(path: str, name: str | None = None) -> RunConfiguration:
        """Reads a .runconfig: a file, or `NAME` of a project's folder (`.azureml` or `aml_config` in it).

        Raises UserErrorException where there is none, RunConfigurationException for wrong values.
        """
        import yaml

        file = _found(Path(path or "."), name)
        if file is None:
            raise UserErrorException(f"Failed to load RunConfiguration from path={path} name={name}")
        data = yaml.safe_load(file.read_text("utf-8"))
        if not isinstance(data, dict):
            raise RunConfigurationException(f"{file} is no run configuration: a mapping of keys to values")
        if isinstance(data.get("environment"), str):
            data["environment"] = yaml.safe_load((file.parent / data["environment"]).read_text("utf-8"))
        made = RunConfiguration(_path=path, _name=name)._fill(data)
        conda = made.environment.python.conda_dependencies_file
        if conda:
            places = [file.parent / conda, Path(path) / conda]
            existing = next((place for place in places if place.is_file()), places[0])
            made.environment.python.conda_dependencies = CondaDependencies(str(existing))
        return made

    @staticmethod
    def delete(path: str, name: str) -> None:
        """Deletes `NAME` of a project's folder. Raises UserErrorException where there is none."""
        found = _found(Path(path), name) if name else None
        if found is None:
            raise UserErrorException(f"Run config {name} not found in {Path.cwd()}")
        found.unlink()


def _config_folder(project: Path) -> Path:
    old = project / "aml_config"
    return old if old.is_dir() else project / ".azureml"


def _found(path: Path, name: str | None) -> Path | None:
    if path.is_file():
        return path
    if not name:
        with_extension = path.with_name(path.name + _EXTENSION)
        return with_extension if with_extension.is_file() else None
    places = [_config_folder(path), path]
    candidates = [place / (name + extension) for place in places for extension in ("", _EXTENSION)]
    return next((file for file in candidates if file.is_file()), None)
