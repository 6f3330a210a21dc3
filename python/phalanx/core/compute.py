"""Compute targets: by what name the place is known where a run goes.

Names are looked up in computes.yml (`phalanx compute list`); a name that is not there means this machine,
and the job says so. Machines are not made: `ComputeTarget.create` accepts every configuration and gives the
name back. Source: azureml-core 1.61, `core/compute/compute.py`, `core/compute/amlcompute.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .exceptions import ComputeTargetException

if TYPE_CHECKING:
    from .workspace import Workspace


class ComputeTarget:
    """A place where runs go, by its name. A name that nobody knows here is no error: it means this machine.

    Raises ComputeTargetException for a name that is no text.
    """

    _type = "Local"

    def __init__(self, workspace: Workspace | None, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise ComputeTargetException(f"name is {name!r}; it must be text")
        self.workspace = workspace
        self.name = name
        self.type = self._type
        self.location = self.cluster_location = "local"
        self.provisioning_state = "Succeeded"
        self.tags: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(workspace={self.workspace!r}, name={self.name}, type={self.type})"

    @staticmethod
    def create(
        workspace: Workspace, name: str, provisioning_configuration: ProvisioningConfiguration | None
    ) -> ComputeTarget:
        """A compute target of this name; nothing is made. Raises ComputeTargetException for `amlcompute` and
        `containerinstance`.
        """
        if name in ("amlcompute", "local", "containerinstance"):
            raise ComputeTargetException("Please specify a different target name. " + name + " is reserved.")
        kind = getattr(provisioning_configuration, "_target", ComputeTarget)
        made: ComputeTarget = kind(workspace, name)
        return made

    @staticmethod
    def attach(workspace: Workspace, name: str, attach_configuration: Any = None) -> ComputeTarget:
        """A compute target of this name; nothing is attached."""
        return ComputeTarget.create(workspace, name, attach_configuration)

    @staticmethod
    def list(workspace: Workspace) -> Any:
        """Those of computes.yml, as a list."""
        return [ComputeTarget(workspace, name) for name in known_computes()]

    def wait_for_completion(self, show_output: bool = False, *_: Any, **__: Any) -> None:
        """Returns at once: there is nothing to wait for."""
        if show_output:
            print('Provisioning operation finished, operation "Succeeded"')

    def get_status(self) -> Any:
        """What says that it is ready."""
        return AmlComputeStatus()

    def refresh_state(self) -> None:
        """Does nothing: the state does not change."""

    def delete(self) -> None:
        """Does nothing: there is nothing to delete."""

    def detach(self) -> None:
        """Does nothing."""

    def serialize(self) -> dict[str, Any]:
        """Name, type and state."""
        return {"name": self.name, "type": self.type, "provisioningState": self.provisioning_state}


class AmlComputeStatus:
    """The state of a compute target; it is always ready."""

    provisioning_state = "Succeeded"
    allocation_state = "Steady"
    errors = None

    def serialize(self) -> dict[str, Any]:
        """The same as a dict."""
        return {"provisioningState": self.provisioning_state, "allocationState": self.allocation_state}


class ProvisioningConfiguration:
    """What would be made. Kept, and not looked at."""

    def __init__(self, target: type[ComputeTarget], settings: dict[str, Any]) -> None:
        self._target = target
        self.__dict__.update(settings)


class AmlCompute(ComputeTarget):
    """A cluster of Azure by name."""

    _type = "AmlCompute"

    @staticmethod
    def provisioning_configuration(
        vm_size: str = "",
        vm_priority: str = "dedicated",
        min_nodes: int = 0,
        max_nodes: int | None = None,
        idle_seconds_before_scaledown: int = 1800,
        **more: Any,
    ) -> ProvisioningConfiguration:
        """What a cluster would be like. Accepted: nothing is made."""
        settings = {"vm_size": vm_size, "vm_priority": vm_priority, "min_nodes": min_nodes, **more}
        settings.update(max_nodes=max_nodes, idle_seconds_before_scaledown=idle_seconds_before_scaledown)
        return ProvisioningConfiguration(AmlCompute, settings)

    def list_nodes(self) -> Any:
        """No nodes: `phalanx nodes` lists those of a compute."""
        return []


class ComputeInstance(ComputeTarget):
    """A single machine of Azure by name."""

    _type = "ComputeInstance"

    @staticmethod
    def provisioning_configuration(vm_size: str = "", **more: Any) -> ProvisioningConfiguration:
        """What a machine would be like. Accepted: nothing is made."""
        return ProvisioningConfiguration(ComputeInstance, {"vm_size": vm_size, **more})


class RemoteCompute(ComputeTarget):
    """A machine that answers ssh, by name; say in computes.yml where it is."""

    _type = "VirtualMachine"

    @staticmethod
    def attach_configuration(**more: Any) -> ProvisioningConfiguration:
        """Accepted; computes.yml says where a machine is, and a password is not kept."""
        return ProvisioningConfiguration(RemoteCompute, {})


class KubernetesCompute(ComputeTarget):
    """A Kubernetes cluster by name."""

    _type = "Kubernetes"


def known_computes() -> Any:
    """The names that `phalanx compute list` has. Raises ProgramFailed, ProgramNotFound."""
    from .. import _program

    return [entry["name"] for entry in _program.ask(["compute", "list"])]


class Computes(dict[str, ComputeTarget]):
    """The compute targets of a workspace, by name.

    `in` and iterating know those of computes.yml; any other name gives a target too, which means this
    machine.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__((name, ComputeTarget(workspace, name)) for name in known_computes())
        self._workspace = workspace

    def __missing__(self, name: str) -> ComputeTarget:
        return ComputeTarget(self._workspace, name)
