"""Computes, by name. Contract: `azure.ai.ml.entities._compute`."""

from __future__ import annotations

from typing import Any

from . import _check
from ._parts import Part

_OF_AZURE = (
    "description",
    "location",
    "tags",
    "size",
    "min_instances",
    "max_instances",
    "idle_time_before_scale_down",
    "tier",
    "identity",
    "ssh_public_access_enabled",
    "ssh_settings",
    "network_settings",
    "enable_node_public_ip",
    "idle_time_before_shutdown",
    "idle_time_before_shutdown_minutes",
    "schedules",
    "setup_scripts",
    "create_on_behalf_of",
    "resource_id",
)


class Compute(Part):
    """A place where jobs run, by its name. What else Azure's has (`size`, `max_instances`, ...) is kept, and
    not looked at. `type`: as of `computes.yml`: local, ssh or slurm.
    """

    _fields = ("name", "type", *_OF_AZURE)
    _type = "local"
    provisioning_state = "Succeeded"

    def __init__(self, *, name: str, type: str | None = None, **kwargs: Any) -> None:
        _check.unknown(self.__class__.__name__, kwargs, self._fields)
        self.name = _check.text("name", name)
        self.type = type or self._type
        for key in _OF_AZURE:
            setattr(self, key, kwargs.get(key))


class AmlCompute(Compute):
    """A cluster of Azure by name."""

    _type = "amlcompute"


class ComputeInstance(Compute):
    """A single machine of Azure by name."""

    _type = "computeinstance"
