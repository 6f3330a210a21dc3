"""`ContainerRegistry`: where a Docker image would come from. Kept, without effect here."""

from __future__ import annotations

from ._element import Element, Field


class ContainerRegistry(Element):
    """A registry of images. Phalanx runs no containers, so it is kept with the environment and not asked.

    Source: azureml-core 1.61, `core/container_registry.py`.
    """

    _fields = (Field("address"), Field("username"), Field("password"))

    def __init__(self) -> None:
        self.address: str | None = None
        self.username: str | None = None
        self.password: str | None = None
        self._initialized = True
