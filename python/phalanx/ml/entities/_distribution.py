"""How a job is distributed. Contract: `azure.ai.ml.entities._job.distribution`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..constants import DistributionType
from ..exceptions import ValidationException
from . import _check
from ._parts import Part


class DistributionConfiguration(Part):
    """The base of all distributions; use one of the others."""

    _known: tuple[str, ...] = ()

    def __init__(self, **kwargs: Any) -> None:
        self.type: Any = None
        known = [key for key in self._fields if key != "type"]
        _check.unknown(type(self).__name__, kwargs, known)


class MpiDistribution(DistributionConfiguration):
    """An MPI job: `process_count_per_instance` processes on each node (None: 1), started as `mpirun`
    would.
    """

    _fields = ("type", "process_count_per_instance")

    def __init__(self, *, process_count_per_instance: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.type = DistributionType.MPI
        self.process_count_per_instance = _check.count(
            "process_count_per_instance", process_count_per_instance
        )


class PyTorchDistribution(DistributionConfiguration):
    """A PyTorch job: `process_count_per_instance` processes on each node, with RANK, WORLD_SIZE, LOCAL_RANK,
    MASTER_ADDR and so on set. None: the command runs once on each node."""

    _fields = ("type", "process_count_per_instance")

    def __init__(self, *, process_count_per_instance: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.type = DistributionType.PYTORCH
        self.process_count_per_instance = _check.count(
            "process_count_per_instance", process_count_per_instance
        )


class TensorFlowDistribution(DistributionConfiguration):
    """A TensorFlow job: `worker_count` workers (None: one for each node) and `parameter_server_count`
    parameter servers (0), each of which sees its TF_CONFIG."""

    _fields = ("type", "parameter_server_count", "worker_count")

    def __init__(
        self, *, parameter_server_count: int | None = 0, worker_count: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.type = DistributionType.TENSORFLOW
        self.parameter_server_count = _check.count("parameter_server_count", parameter_server_count)
        self.worker_count = _check.count("worker_count", worker_count)


class RayDistribution(DistributionConfiguration):
    """A Ray job. Phalanx does not run these yet; the job is refused with a message."""

    _fields = (
        "type",
        "port",
        "address",
        "include_dashboard",
        "dashboard_port",
        "head_node_additional_args",
        "worker_node_additional_args",
    )

    def __init__(
        self,
        *,
        port: int | None = None,
        address: str | None = None,
        include_dashboard: bool | None = None,
        dashboard_port: int | None = None,
        head_node_additional_args: str | None = None,
        worker_node_additional_args: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.type = DistributionType.RAY
        self.port = _check.count("port", port)
        self.address = _check.text("address", address)
        self.include_dashboard = include_dashboard
        self.dashboard_port = _check.count("dashboard_port", dashboard_port)
        self.head_node_additional_args = _check.text("head_node_additional_args", head_node_additional_args)
        self.worker_node_additional_args = _check.text(
            "worker_node_additional_args", worker_node_additional_args
        )


# Keys of the SDK v1, and what to write instead.
_OF_V1 = {
    "process_count": "process_count_per_instance",
    "process_count_per_node": "process_count_per_instance",
    "node_count": "resources.instance_count",
}

_KINDS: Mapping[str, type[DistributionConfiguration]] = {
    "pytorch": PyTorchDistribution,
    "tensorflow": TensorFlowDistribution,
    "mpi": MpiDistribution,
    "ray": RayDistribution,
}


def distribution_of(value: Any) -> DistributionConfiguration | None:
    """A distribution from what a job's `distribution` can be set to.

    Of a dict, keys that the distribution does not have are dropped, as the Azure SDK does, with a
    PhalanxWarning; `launch`, which is Phalanx's own and needs no type, is kept. Raises ValidationException.
    """
    if value is None or isinstance(value, DistributionConfiguration):
        return value
    _check.kind("distribution", value, (Mapping,), "a dict or one of the Distribution classes")
    name = value.get("type")
    kinds = ", ".join(_KINDS)
    if name is None and value.get("launch") is not None:
        return _launched(DistributionConfiguration(), value)
    if name is None:
        raise ValidationException(f"distribution has no type; it must have one of {kinds}")
    made = _KINDS.get(str(name).lower())
    if made is None:
        raise ValidationException(f"distribution.type is {name!r}; it must be one of {kinds}")
    known = {key: value[key] for key in made._fields if key in value and key != "type"}
    return _launched(made(**known), value)


def _launched(made: DistributionConfiguration, value: Mapping[str, Any]) -> DistributionConfiguration:
    """`made`, with `launch` of the dict it was made of; says what else of that it does not have."""
    for key in value:
        if key in made._fields or key in ("type", "launch"):
            continue
        cure = _check.near(key, made._fields)
        if key in _OF_V1:
            cure = f": it is the old SDK's; write {_OF_V1[key]}"
        _check.warn(f"distribution: {key} is ignored, as Azure ML does{cure}")
    if value.get("launch") is not None:
        made._fields = (*made._fields, "launch")
        made.launch = value["launch"]  # type: ignore[attr-defined]
    return made
