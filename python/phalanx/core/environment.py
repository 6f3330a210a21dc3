"""`Environment`: by what name a job's Python is known, and which variables it adds.

Phalanx neither builds images nor installs packages. An environment's name is looked up in environments.yml
of this machine; a name that is not there means the Python at hand, and the job says so. What else an
environment holds (conda and pip packages, images) is kept, so that programs which set it run unchanged.
Source: azureml-core 1.61, `core/environment.py`.
"""

from __future__ import annotations

import json
import logging
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._check import refuse_unknown
from . import _store
from ._element import Element, Field
from .conda_dependencies import PYTHON_DEFAULT_VERSION, CondaDependencies
from .container_registry import ContainerRegistry
from .exceptions import UserErrorException

if TYPE_CHECKING:
    from .workspace import Workspace

_log = logging.getLogger(__name__)

DEFAULT_CPU_IMAGE = "mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu22.04"
DEFAULT_GPU_IMAGE = "mcr.microsoft.com/azureml/openmpi4.1.0-cuda11.8-cudnn8-ubuntu22.04"
_DEFAULT_SHM_SIZE = "2g"
_EXAMPLE = {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"}


class PythonSection(Element):
    """The Python of an environment.

    `user_managed_dependencies`: True: `interpreter_path` is a Python that is there already, and scripts are
    run by it. `interpreter_path`: a program, looked up in PATH of the job; `python` if not said.
    `conda_dependencies`: kept, and not installed.
    """

    _fields = (
        Field("interpreter_path"),
        Field("user_managed_dependencies", bool),
        Field("conda_dependencies", CondaDependencies),
        Field("conda_dependencies_file"),
        Field("_base_conda_environment"),
    )

    def __init__(self, _skip_defaults: bool = False) -> None:
        self.interpreter_path: str | None = "python"
        self.user_managed_dependencies = False
        self.conda_dependencies: CondaDependencies | None = None if _skip_defaults else CondaDependencies()
        self.conda_dependencies_file: str | None = None
        self._base_conda_environment: str | None = None
        self._initialized = True


class DockerImagePlatform(Element):
    """The system and CPU of an image. Kept, without effect here."""

    _fields = (Field("os"), Field("architecture"))

    def __init__(self) -> None:
        self.os = "Linux"
        self.architecture = "amd64"
        self._initialized = True


class DockerBuildContext(Element):
    """A folder from which an image would be built. Kept, without effect here."""

    _fields = (Field("location_type"), Field("location"), Field("dockerfile_path"))

    def __init__(self) -> None:
        self.location_type = "Local"
        self.location: str | None = None
        self.dockerfile_path: str | None = None
        self._initialized = True

    @staticmethod
    def from_local_directory(
        workspace: Workspace, path: str, dockerfile_path: str = "Dockerfile"
    ) -> DockerBuildContext:
        """The folder `path` with its Dockerfile. Raises UserErrorException where that is not there."""
        if not (Path(path) / dockerfile_path).is_file():
            raise UserErrorException(f"Dockerfile {dockerfile_path} is not in {path}")
        made = DockerBuildContext()
        made.location, made.dockerfile_path = str(Path(path).absolute()), dockerfile_path
        return made


class DockerSection(Element):
    """The image of an environment. Phalanx runs no containers: all of it is kept, without effect.

    Of `base_image`, `base_dockerfile` and `build_context` the one that is set last counts; the others become
    None.
    """

    _fields = (
        Field("enabled", bool),
        Field("base_image"),
        Field("base_dockerfile"),
        Field("build_context", DockerBuildContext),
        Field("shared_volumes", bool),
        Field("shm_size"),
        Field("arguments", list),
        Field("base_image_registry", ContainerRegistry),
        Field("platform", DockerImagePlatform),
    )

    def __init__(self, _skip_defaults: bool = False) -> None:
        self.enabled = False
        self.shared_volumes = True
        self.gpu_support = True
        self.arguments: list[str] = []
        self.shm_size: str | None = None if _skip_defaults else _DEFAULT_SHM_SIZE
        self._base_image: str | None = None if _skip_defaults else DEFAULT_CPU_IMAGE
        self._base_dockerfile: str | None = None
        self._build_context: DockerBuildContext | None = None
        self.base_image_registry = ContainerRegistry()
        self.platform = DockerImagePlatform()
        self._initialized = True

    def _only(self, name: str, value: Any) -> None:
        for other in ("base_image", "base_dockerfile", "build_context"):
            if value and other != name and getattr(self, f"_{other}"):
                setattr(self, f"_{other}", None)
                _log.warning(
                    "Property %s is mutually exclusive with %s. Reset %s to None", other, name, other
                )
        setattr(self, f"_{name}", value or None)

    @property
    def base_image(self) -> str | None:
        """The name of an image."""
        return self._base_image

    @base_image.setter
    def base_image(self, value: str | None) -> None:
        self._only("base_image", value)

    @property
    def base_dockerfile(self) -> str | None:
        """The text of a Dockerfile. It can be set to a text, a path, or an open file."""
        return self._base_dockerfile

    @base_dockerfile.setter
    def base_dockerfile(self, value: Any) -> None:
        if hasattr(value, "read"):
            value = value.read()
        elif value and "\n" not in str(value) and Path(value).is_file():
            value = Path(value).read_text("utf-8")
        self._only("base_dockerfile", value)

    @property
    def build_context(self) -> DockerBuildContext | None:
        """A folder from which an image would be built."""
        return self._build_context

    @build_context.setter
    def build_context(self, value: DockerBuildContext | None) -> None:
        self._only("build_context", value)


class Environment(Element):
    """An environment: a name, and what Azure ML would build for it.

    `name`: as environments.yml has it. Raises TypeError for anything but a str (or None).
    `version`: None until it is registered; a name there stands for all its versions.
    `environment_variables`: added to those of the job.
    """

    _fields = (
        Field("name"),
        Field("version"),
        Field("environment_variables", dict),
        Field("python", PythonSection),
        Field("docker", DockerSection),
        Field("inferencing_stack_version"),
        Field("asset_id"),
    )

    def __init__(self, name: str | None = None, _skip_defaults: bool = False, **unknown: Any) -> None:
        refuse_unknown("Environment", unknown, ["name"])
        if name is not None and not isinstance(name, str):
            raise TypeError(f"Environment name expected str, {type(name)} found")
        self.name = name
        self.version: str | None = None
        self.python = PythonSection(_skip_defaults)
        self.docker = DockerSection(_skip_defaults)
        self.spark: Any = None
        self.databricks: Any = None
        self.r: Any = None
        self.environment_variables: dict[str, Any] = {} if _skip_defaults else dict(_EXAMPLE)
        self.inferencing_stack_version: str | None = None
        self.asset_id: str | None = None
        self._initialized = True

    def __str__(self) -> str:
        return f"Environment(Name: {self.name},\nVersion: {self.version})"

    def __repr__(self) -> str:
        return json.dumps(self._to_dict(), indent=4, sort_keys=True)

    @property
    def _own_variables(self) -> dict[str, Any]:
        """Without the example that every new environment of Azure ML has."""
        return {
            key: value
            for key, value in (self.environment_variables or {}).items()
            if _EXAMPLE.get(key) != value
        }

    @staticmethod
    def get(
        workspace: Workspace, name: str, version: str | None = None, label: str | None = None
    ) -> Environment:
        """The environment of this name: as it was registered, else (Azure ML's curated ones) only the name.

        Raises UserErrorException where `version` and `label` are both given. A name that nobody knows is no
        error: the job then runs with the Python at hand, and says so.
        """
        if label and version:
            raise UserErrorException("Only one of version or label can be specified")
        found = _store.get("environments", name, None if version is None else str(version))
        made = Environment(name, _skip_defaults=True)
        if found is not None:
            made._fill(found[1])
            made.version = found[0]
        else:
            made.version = None if version is None else str(version)
        return made

    @staticmethod
    def list(workspace: Workspace) -> dict[str, Environment]:
        """The registered environments, by name."""
        return {name: Environment.get(workspace, name) for name in _store.names("environments")}

    def register(self, workspace: Workspace) -> Environment:
        """Keeps this environment under its name, for `get`, as its version or else the next one. The
        registered one.
        """
        if self.name is None:
            raise UserErrorException("an environment needs a name to be registered")
        version, _ = _store.add("environments", self.name, self._to_dict(), self.version)
        return Environment.get(workspace, self.name, version)

    @staticmethod
    def label(workspace: Workspace, name: str, version: str, labels: Iterable[str]) -> None:
        """Accepted: labels are not kept, and `get` with a label gives the newest version."""

    def clone(self, new_name: str) -> Environment:
        """A copy by another name, of no version. Raises UserErrorException without a name."""
        if not new_name:
            raise UserErrorException("Name is required to instantiate an Environment object")
        made = Environment(new_name, _skip_defaults=True)._fill(json.loads(json.dumps(self._to_dict())))
        made.name, made.version, made.asset_id = new_name, None, None
        return made

    def build(self, workspace: Workspace, image_build_compute: str | None = None) -> ImageBuildDetails:
        """Nothing is built: returns what says so."""
        return ImageBuildDetails()

    def build_local(self, workspace: Workspace, platform: Any = None, **_: Any) -> ImageBuildDetails:
        """Nothing is built: returns what says so."""
        return ImageBuildDetails()

    @staticmethod
    def from_conda_specification(name: str, file_path: str) -> Environment:
        """An environment with the packages of a conda specification (YAML). Raises UserErrorException,
        OSError.
        """
        dependencies = CondaDependencies(file_path)
        if not dependencies.get_python_version():
            _log.warning('No Python version provided, defaulting to "%s"', PYTHON_DEFAULT_VERSION)
            dependencies.set_python_version(PYTHON_DEFAULT_VERSION)
        made = Environment(name)
        made.python.conda_dependencies = dependencies
        return made

    @staticmethod
    def from_pip_requirements(name: str, file_path: str, pip_version: str | None = None) -> Environment:
        """An environment with the packages of a requirements file. Raises OSError."""
        made = Environment(name)
        dependencies = made.python.conda_dependencies = CondaDependencies()
        dependencies.set_pip_requirements(Path(file_path).read_text("utf-8").splitlines())
        dependencies.add_conda_package(f"pip={pip_version}" if pip_version else "pip")
        return made

    @staticmethod
    def from_existing_conda_environment(name: str, conda_environment_name: str) -> Environment | None:
        """An environment as `conda env export` describes one of this machine; None where there is no such
        one.
        """
        command = ["conda", "env", "export", "--no-builds", "--name", conda_environment_name]
        try:
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"Exporting conda specifications failed: {error}")
            return None
        import yaml

        made = Environment(name)
        made.python.conda_dependencies = CondaDependencies(_underlying_structure=yaml.safe_load(text))
        return made

    @staticmethod
    def _from_dependencies(name: str, conda: str | None, pip: str | None) -> Environment:
        if conda and pip:
            raise UserErrorException(
                "Only one of conda_specification or pip_requirements can be specified as python dependencies"
            )
        if conda:
            return Environment.from_conda_specification(name, conda)
        if pip:
            return Environment.from_pip_requirements(name, pip)
        made = Environment(name)
        made.python.user_managed_dependencies = True
        return made

    @staticmethod
    def from_docker_image(
        name: str,
        image: str,
        container_registry: ContainerRegistry | None = None,
        conda_specification: str | None = None,
        pip_requirements: str | None = None,
    ) -> Environment:
        """An environment of an image. The image is not run: environments.yml says what `name` is here."""
        made = Environment._from_dependencies(name, conda_specification, pip_requirements)
        made.docker.base_image = image
        if container_registry:
            made.docker.base_image_registry = container_registry
        return made

    @staticmethod
    def from_dockerfile(
        name: str,
        dockerfile: str | Path,
        conda_specification: str | None = None,
        pip_requirements: str | None = None,
    ) -> Environment:
        """An environment of a Dockerfile (its text or path). It is not built."""
        made = Environment._from_dependencies(name, conda_specification, pip_requirements)
        made.docker.base_image = None
        made.docker.base_dockerfile = dockerfile
        return made

    @staticmethod
    def from_docker_build_context(name: str, docker_build_context: DockerBuildContext) -> Environment:
        """An environment of a folder with a Dockerfile. It is not built."""
        made = Environment(name, _skip_defaults=True)
        made.docker.build_context = docker_build_context
        return made

    def save_to_directory(self, path: str, overwrite: bool = False) -> None:
        """Writes azureml_environment.json, conda_dependencies.yml and BaseDockerfile into a folder.

        Raises FileExistsError where the folder is there and `overwrite` is False.
        """
        folder, data = Path(path), self._to_dict()
        folder.mkdir(parents=True, exist_ok=overwrite)
        if self.python.conda_dependencies:
            self.python.conda_dependencies.save(str(folder / "conda_dependencies.yml"))
            del data["python"]["condaDependencies"]
        if self.docker.base_dockerfile:
            (folder / "BaseDockerfile").write_text(self.docker.base_dockerfile, encoding="utf-8")
            del data["docker"]["baseDockerfile"]
        (folder / "azureml_environment.json").write_text(json.dumps(data, indent=4), encoding="utf-8")

    @staticmethod
    def load_from_directory(path: str) -> Environment:
        """What `save_to_directory` wrote. Raises FileNotFoundError."""
        folder = Path(path)
        data = json.loads((folder / "azureml_environment.json").read_text("utf-8"))
        made = Environment(data.get("name"), _skip_defaults=True)._fill(data)
        if (folder / "conda_dependencies.yml").is_file():
            made.python.conda_dependencies = CondaDependencies(str(folder / "conda_dependencies.yml"))
        if (folder / "BaseDockerfile").is_file():
            made.docker.base_dockerfile = (folder / "BaseDockerfile").read_text("utf-8")
        return made


class ImageBuildDetails:
    """The end of a build that was not needed."""

    status = "Succeeded"

    def wait_for_completion(self, show_output: bool = True) -> None:
        """Returns at once."""
        if show_output:
            print("Nothing to build: environments.yml says which Python an environment is on this machine.")


PythonEnvironment = PythonSection
DockerEnvironment = DockerSection
