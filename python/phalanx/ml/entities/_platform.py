"""Identities and services of Azure's: kept with a job, without effect here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..exceptions import ValidationException
from . import _check
from ._parts import Part


class _Identity(Part):
    _fields: tuple[str, ...] = ("type",)

    def __init__(self, kind: str) -> None:
        self.type = kind


class AmlTokenConfiguration(_Identity):
    """The job's own token."""

    def __init__(self) -> None:
        super().__init__("aml_token")


class UserIdentityConfiguration(_Identity):
    """The identity of who submits."""

    def __init__(self) -> None:
        super().__init__("user_identity")


class ManagedIdentityConfiguration(_Identity):
    """A managed identity."""

    _fields = ("type", "client_id", "object_id", "msi_resource_id")

    def __init__(
        self,
        *,
        client_id: str | None = None,
        resource_id: str | None = None,
        object_id: str | None = None,
        principal_id: str | None = None,
    ) -> None:
        super().__init__("managed")
        self.client_id, self.object_id, self.principal_id = client_id, object_id, principal_id
        self.resource_id = self.msi_resource_id = resource_id


class JobService(Part):
    """A service that Azure opens beside a job."""

    _kind: str | None = None
    _fields = ("type", "port", "nodes", "properties", "ssh_public_keys", "log_dir")
    ssh_public_keys: str | None = None
    log_dir: str | None = None

    def __init__(
        self,
        *,
        endpoint: str | None = None,
        type: str | None = None,
        nodes: str | None = None,
        status: str | None = None,
        port: int | None = None,
        properties: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        _check.unknown(self.__class__.__name__, kwargs, (*self._fields, "endpoint", "status"))
        self.endpoint, self.status, self.nodes = endpoint, status, nodes
        self.type = self._kind or type
        self.port = _check.count("port", port)
        self.properties = properties


class JupyterLabJobService(JobService):
    """JupyterLab."""

    _kind = "jupyter_lab"


class VsCodeJobService(JobService):
    """VS Code."""

    _kind = "vs_code"


class SshJobService(JobService):
    """SSH."""

    _kind = "ssh"

    def __init__(self, *, ssh_public_keys: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.ssh_public_keys = ssh_public_keys


class TensorBoardJobService(JobService):
    """TensorBoard."""

    _kind = "tensor_board"

    def __init__(self, *, log_dir: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.log_dir = log_dir


_IDENTITIES = {
    "aml_token": AmlTokenConfiguration,
    "user_identity": UserIdentityConfiguration,
    "managed": ManagedIdentityConfiguration,
    "managed_identity": ManagedIdentityConfiguration,
}


def identity_of(value: Any) -> Any:
    """An identity from what a job's `identity` can be set to. Raises ValidationException."""
    if value is None or isinstance(value, _Identity):
        return value
    _check.kind("identity", value, (Mapping,), "a dict or one of the identity configurations")
    made = _IDENTITIES.get(str(value.get("type")).lower())
    if made is None:
        raise ValidationException(
            f"identity.type is {value.get('type')!r}; it must be one of {', '.join(_IDENTITIES)}"
        )
    more = {key: item for key, item in value.items() if key != "type"}
    if "msi_resource_id" in more:
        more["resource_id"] = more.pop("msi_resource_id")
    try:
        return made(**more)
    except TypeError:
        raise ValidationException(
            f"identity has keys that {value['type']} does not: {', '.join(more)}"
        ) from None


def services_of(value: Any) -> dict[str, JobService] | None:
    """Services from what a job's `services` can be set to. Raises ValidationException."""
    if value is None:
        return None
    made = {}
    for name, service in _check.mapping("services", value).items():
        if isinstance(service, Mapping):
            service = _service(service)
        _check.kind(f"service {name}", service, (JobService,), "a dict or one of the JobService classes")
        made[name] = service
    return made


def _service(value: Mapping[str, Any]) -> JobService:
    kinds: dict[str, type[JobService]] = {
        str(kind._kind): kind
        for kind in (JupyterLabJobService, VsCodeJobService, SshJobService, TensorBoardJobService)
    }
    more = {key: item for key, item in value.items() if key != "type"}
    kind = value.get("type")
    return kinds[kind](**more) if kind in kinds else JobService(type=kind, **more)
