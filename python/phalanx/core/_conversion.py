"""A v1 run configuration as a job of Phalanx. Pure: no files, no clock.

The rules that differ from v2 (source: azureml-core 1.61; Azure ML's guide to distributed GPU training, SDK
v1):

- PyTorch's `process_count` is the total: 8 on 2 nodes are 4 on each. None means once per node.
- Items of `arguments` become one argument each, `$NAME` and `${NAME}` in them expanded inside each process;
  items of `command` are joined by blanks, as Azure ML joins them, and read by bash.
- TensorFlow's `worker_count` is the number of nodes too.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

from .data.data_reference import DataReference
from .data.dataset_consumption_config import DatasetConsumptionConfig
from .data.file_dataset import AbstractDataset
from .data.output_dataset_config import OutputFileDatasetConfig
from .exceptions import ExperimentExecutionException, RunConfigurationException, UserErrorException
from .runconfig import DataReferenceConfiguration, RunConfiguration

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)
_MPI = ("intelmpi", "openmpi", "mpi")
_PYTORCH = ("nccl", "gloo", "pytorch")
_DEFAULT_SHM = "2g"


class _Data:
    """The inputs and outputs that arguments name, gathered on the way."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.inputs: dict[str, Any] = {}
        self.outputs: dict[str, Any] = {}

    def add(self, item: Any, where: str) -> str | None:
        """What stands for `item` in a command line; None for what is no data."""
        if isinstance(item, DatasetConsumptionConfig):
            self.inputs.setdefault(item.name, item._input())
            return f"${{{{inputs.{item.name}}}}}"
        if isinstance(item, OutputFileDatasetConfig):
            self.outputs.setdefault(item.name, item._output(self.run_id))
            return f"${{{{outputs.{item.name}}}}}"
        if isinstance(item, DataReference):
            return self.reference(item)
        if isinstance(item, AbstractDataset):
            raise UserErrorException(
                f"{where}: Dataset cannot be used directly in a run. Use its as_mount or as_download "
                "method, or "
                "as_named_input for the direct mode."
            )
        return None

    def reference(self, item: DataReference) -> str:
        path = str(item.datastore._place(item.path_on_datastore))
        name = item.data_reference_name
        if item.mode == "upload":
            self.outputs.setdefault(name, {"type": "uri_folder", "path": path})
            return f"${{{{outputs.{name}}}}}"
        mode = "download" if item.mode == "download" else "ro_mount"
        self.inputs.setdefault(name, {"type": "uri_folder", "path": path, "mode": mode})
        return f"${{{{inputs.{name}}}}}"


def word(text: str) -> str:
    """`text` as one word of bash, in which variables expand."""
    if _PLAIN.fullmatch(text):
        return text
    if not _VARIABLE.search(text):
        return shlex.quote(text)
    pieces, at = [], 0
    for found in _VARIABLE.finditer(text):
        pieces += [re.sub(r'([\\"`$])', r"\\\1", text[at : found.start()]), found.group()]
        at = found.end()
    return '"' + "".join(pieces) + re.sub(r'([\\"`$])', r"\\\1", text[at:]) + '"'


def _tag(key: Any, value: Any) -> str:
    try:
        return str(value or "")
    except (RecursionError, ValueError):
        raise UserErrorException(f"tags[{key!r}] cannot be written as text; give it as text") from None


def _text(item: Any, where: str) -> str:
    if item is None or isinstance(item, (dict, list, tuple, set, bytes)):
        raise UserErrorException(
            f"{where} is {item!r} ({type(item).__name__}); it can be text, a number, or a dataset's "
            "as_mount()"
        )
    return str(item)


def arguments_line(arguments: Any, data: _Data) -> str:
    """The arguments of a script as they stand in a command line."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    if not isinstance(arguments, (list, tuple)):
        raise UserErrorException(f"arguments is {arguments!r}; it must be a list or text")
    words = []
    for number, item in enumerate(arguments):
        where = f"arguments[{number}]"
        stands = data.add(item, where)
        words.append(f'"{stands}"' if stands else word(_text(item, where)))
    return " ".join(words)


def command_line(config: RunConfiguration, data: _Data) -> str:
    """What bash runs. Raises UserErrorException without a script and a command, or with both."""
    if config.command and config.script:
        raise UserErrorException(
            f"Both script ({config.script!r}) and command are given; a run has one of them"
        )
    if config.command:
        if isinstance(config.command, str):
            return config.command
        if not isinstance(config.command, (list, tuple)):
            raise UserErrorException(f"command is {config.command!r}; it must be a list or text")
        return " ".join(
            data.add(item, f"command[{number}]") or _text(item, f"command[{number}]")
            for number, item in enumerate(config.command)
        )
    if not config.script:
        raise UserErrorException("Neither script nor command is given; a run has one of them")
    python = config.environment.python
    interpreter = python.interpreter_path if python and python.user_managed_dependencies else "python"
    line = f"{word(interpreter or 'python')} {word(str(config.script))}"
    return f"{line} {arguments_line(config.arguments, data)}".rstrip()


def _count(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < least:
        raise RunConfigurationException(f"{name} is {value!r}; it must be a whole number, {least} or more")
    return int(value.__index__())


def _nodes(config: RunConfiguration, of_section: Any, section: str) -> int:
    """The run's nodes; a configuration that was put together by hand may say them in the section only."""
    nodes = _count("node_count", config.node_count)
    return nodes if nodes > 1 else _count(f"{section}.node_count", of_section)


def _pytorch(config: RunConfiguration) -> tuple[int, dict[str, Any]]:
    nodes = _nodes(config, config.pytorch.node_count, "pytorch")
    if config.pytorch.process_count is None:
        return nodes, {"type": "pytorch"}
    total = _count("process_count", config.pytorch.process_count)
    if total % nodes:
        raise RunConfigurationException(
            f"process_count is {total} with node_count {nodes}: it is the number of processes in all (not "
            "of each node), "
            f"and must be a multiple of {nodes}"
        )
    return nodes, {"type": "pytorch", "process_count_per_instance": total // nodes}


def distribution(config: RunConfiguration) -> tuple[int, dict[str, Any] | None]:
    """Nodes, and the `distribution` of the job; None: one process. Raises RunConfigurationException."""
    communicator = str(config.communicator or "None").lower()
    if config.framework not in ("Python", "PyTorch", "TensorFlow", "CNTK"):
        raise RunConfigurationException(
            f"framework is {config.framework!r}; Phalanx runs Python, PyTorch and TensorFlow"
        )
    if communicator == "none":
        return _count("node_count", config.node_count), None
    if communicator in _PYTORCH:
        return _pytorch(config)
    if communicator in _MPI:
        nodes = _nodes(config, config.mpi.node_count, "mpi")
        each = _count("process_count_per_node", config.mpi.process_count_per_node)
        return nodes, {"type": "mpi", "process_count_per_instance": each}
    if communicator == "parameterserver":
        workers = _count("worker_count", config.tensorflow.worker_count)
        servers = _count("parameter_server_count", config.tensorflow.parameter_server_count, least=0)
        nodes = _nodes(config, config.tensorflow.worker_count, "tensorflow")
        return nodes, {"type": "tensorflow", "worker_count": workers, "parameter_server_count": servers}
    raise RunConfigurationException(
        f"communicator is {config.communicator!r}; it can be None, ParameterServer, IntelMpi, OpenMpi, Nccl "
        "or Gloo"
    )


def _environment(config: RunConfiguration) -> str:
    environment = config.environment
    name = environment.name or "default-environment"
    return f"azureml:{name}:{environment.version}" if environment.version else f"azureml:{name}@latest"


def _variables(config: RunConfiguration) -> dict[str, str]:
    given = {**config.environment._own_variables, **(config.environment_variables or {})}
    return {str(key): str(value) for key, value in given.items() if value is not None}


def _resources(config: RunConfiguration, nodes: int) -> dict[str, Any]:
    made: dict[str, Any] = {"instance_count": nodes} if nodes > 1 else {}
    size = config.amlcompute.vm_size or config.kubernetescompute.instance_type
    made.update({"instance_type": size} if size else {})
    docker = config.docker
    if docker is not None and docker.use_docker:
        made.update({"shm_size": docker.shm_size} if docker.shm_size not in (None, _DEFAULT_SHM) else {})
        made.update({"docker_args": [str(item) for item in docker.arguments]} if docker.arguments else {})
    return made


def _named_data(config: RunConfiguration, data: _Data) -> None:
    """The data that the configuration names itself, beside what its arguments do."""
    from .datastore import Datastore

    for name, item in (config.data or {}).items():
        if data.add(item, f"data[{name!r}]") is None:
            raise UserErrorException(f"{type(item).__name__} cannot be used as input.")
    for item in (config.output_data or {}).values():
        if data.add(item, "output_data") is None:
            raise UserErrorException(f"{type(item).__name__} cannot be used as output.")
    for name, item in (config.data_references or {}).items():
        if isinstance(item, DataReferenceConfiguration):
            item._validate()
            store = Datastore(name=item.data_store_name)
            item = DataReference(store, name, item.path_on_data_store, item.mode)
        data.reference(item)


def to_job(
    config: RunConfiguration,
    code: str | None,
    experiment_name: str,
    run_id: str,
    tags: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The job file of a run, as a dict.

    `code`: the source directory. `run_id`: the job's name. Raises UserErrorException,
    RunConfigurationException and ExperimentExecutionException, with the argument that is wrong and what
    would be right.
    """
    if not config.target:
        raise ExperimentExecutionException(
            "Must specify a target either through run configuration or arguments."
        )
    data = _Data(run_id)
    nodes, distributed = distribution(config)
    command = command_line(config, data)
    _named_data(config, data)
    limit = config.max_run_duration_seconds
    parts = {
        "name": run_id,
        "experiment_name": experiment_name,
        "command": command,
        "code": code,
        "environment": _environment(config),
        "environment_variables": _variables(config),
        "compute": config.target,
        "distribution": distributed,
        "resources": _resources(config, nodes),
        "limits": {"timeout": _count("max_run_duration_seconds", limit)} if limit else None,
        "inputs": data.inputs,
        "outputs": data.outputs,
        "priority": config.priority,
        "tags": {str(key): _tag(key, value) for key, value in (tags or {}).items()},
    }
    return {key: value for key, value in parts.items() if value not in (None, {}, "")}
