"""`CondaDependencies`: the packages of an environment, as a conda specification has them.

Phalanx installs nothing: what is said here is kept with the environment, and environments.yml of this
machine says which Python an environment is. Source: azureml-core 1.61, `core/conda_dependencies.py`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .exceptions import UserErrorException

PYTHON_DEFAULT_VERSION = "3.10.18"
_KEYS = ("name", "channels", "dependencies", "prefix", "variables")
_DEFAULT: dict[str, Any] = {
    "name": "project_environment",
    "dependencies": ["python=3.8.13", {"pip": ["azureml-defaults"]}],
    "channels": ["anaconda", "conda-forge"],
}


def _package(text: str) -> str:
    """The name of a package: `torch` of `torch[cuda]==2.1` and of `https://host/torch-2.1-py3.whl`."""
    if text.endswith(".whl"):
        return text.rsplit("/", 1)[-1].split("-")[0]
    return re.split(r"[\[=|<>~!]", text)[0]


def _is_option(text: str) -> bool:
    return text.startswith("-")


class CondaDependencies:
    """Packages for conda and pip, channels and the version of Python.

    Without `conda_dependencies_file_path` it has what Azure ML begins with: Python 3.8.13 and
    azureml-defaults. Raises UserErrorException for a file that is no conda specification.
    """

    def __init__(
        self, conda_dependencies_file_path: str | None = None, _underlying_structure: Any = None
    ) -> None:
        self._data: dict[str, Any] = copy.deepcopy(_DEFAULT)
        if conda_dependencies_file_path is not None:
            import yaml

            with open(conda_dependencies_file_path, encoding="utf-8") as file:
                _underlying_structure = yaml.safe_load(file)
        if _underlying_structure is not None or conda_dependencies_file_path is not None:
            self._data = _checked(_underlying_structure)
        self._python_version = self.get_python_version()

    @staticmethod
    def create(
        pip_indexurl: str | None = None,
        pip_packages: Iterable[str] | None = None,
        conda_packages: Iterable[str] | None = None,
        python_version: str = PYTHON_DEFAULT_VERSION,
        pin_sdk_version: bool = True,
    ) -> CondaDependencies:
        """New dependencies; `pip_packages` stands instead of azureml-defaults. Versions of azureml-* are not
        pinned.
        """
        made = CondaDependencies()
        if pip_indexurl:
            made.set_pip_option(f"--find-links {pip_indexurl}")
            made.set_pip_option("--extra-index-url https://pypi.python.org/simple")
        made.set_python_version(python_version)
        if pip_packages is not None:
            for package in list(made.pip_packages):
                made.remove_pip_package(package)
            for package in pip_packages:
                made.add_pip_package(package)
        for package in conda_packages or ():
            made.remove_conda_package(package)
            made.add_conda_package(package)
        return made

    @staticmethod
    def merge_requirements(requirements: Iterable[str]) -> list[str]:
        """One requirement for each package: `a>=1` and `a<2` become `a>=1,<2`."""
        merged: dict[str, list[str]] = {}
        for requirement in requirements:
            name = _package(requirement)
            merged.setdefault(name, []).append(requirement[len(name) :].strip())
        return [name + ",".join(filter(None, limits)) for name, limits in merged.items()]

    @property
    def _packages(self) -> list[Any]:
        found: list[Any] = self._data.setdefault("dependencies", [])
        return found

    def _pip(self) -> list[str] | None:
        for item in self._packages:
            if isinstance(item, dict) and "pip" in item:
                found: list[str] = item["pip"]
                return found
        return None

    @property
    def conda_channels(self) -> Iterator[str]:
        """The channels; a copy."""
        return iter(list(self._data.get("channels") or []))

    @property
    def conda_packages(self) -> Iterator[str]:
        """The packages that conda installs; a copy."""
        return iter([item for item in self._packages if isinstance(item, str)])

    @property
    def pip_packages(self) -> Iterator[str]:
        """The packages that pip installs; a copy."""
        return iter([item for item in self._pip() or [] if not _is_option(item)])

    @property
    def pip_options(self) -> Iterator[str]:
        """The options for pip; a copy."""
        return iter([item for item in self._pip() or [] if _is_option(item)])

    def get_python_version(self) -> str | None:
        """`3.8.13` of `python=3.8.13`; None where Python is not named."""
        for item in self._packages:
            if isinstance(item, str) and _package(item) == "python":
                return re.split(r"[=<>~!]+", item, maxsplit=1)[-1] if item != "python" else None
        return None

    def set_python_version(self, version: str) -> None:
        """Names this version of Python instead of what was named."""
        self._data["dependencies"] = [
            f"python={version}",
            *(item for item in self._packages if not (isinstance(item, str) and _package(item) == "python")),
        ]
        self._python_version = version

    def add_channel(self, channel: str) -> None:
        """Adds a channel, once."""
        channels = self._data.setdefault("channels", [])
        if channel not in channels:
            channels.append(channel)

    def remove_channel(self, channel: str) -> None:
        """Takes a channel away; one that is not there is no error."""
        self._data["channels"] = [item for item in self.conda_channels if item != channel]

    def add_conda_package(self, conda_package: str) -> None:
        """Adds a package for conda, once. `python=...` sets the version."""
        if conda_package in self._packages:
            return
        if _package(conda_package) == "python":
            self.set_python_version(re.split(r"[=<>~!]+", conda_package, maxsplit=1)[-1])
        else:
            self._packages.append(conda_package)

    def remove_conda_package(self, conda_package: str) -> None:
        """Takes a package away; one that is not there is no error. Raises UserErrorException for Python."""
        if conda_package in self._packages:
            if _package(conda_package) == "python":
                raise UserErrorException("python must not be removed from conda dependencies")
            self._packages.remove(conda_package)

    def add_pip_package(self, pip_package: str) -> None:
        """Adds a package for pip, at the end, instead of the one of the same name."""
        self.remove_pip_package(pip_package)
        self._pip_list().append(pip_package)

    def remove_pip_package(self, pip_package: str) -> None:
        """Takes the package of this name away, whatever its version."""
        if _is_option(pip_package):
            raise UserErrorException(f"Invalid package name {pip_package}")
        pip = self._pip()
        if pip is not None:
            pip[:] = [item for item in pip if _is_option(item) or _package(item) != _package(pip_package)]

    def _pip_list(self) -> list[str]:
        pip = self._pip()
        if pip is None:
            pip = []
            self._packages.append({"pip": pip})
        return pip

    def set_pip_option(self, pip_option: str) -> None:
        """Adds an option for pip, instead of the same option with another value."""
        self._change_option(pip_option, [pip_option])

    def remove_pip_option(self, pip_option: str) -> None:
        """Takes an option for pip away, whatever its value."""
        self._change_option(pip_option, [])

    def _change_option(self, option: str, wanted: list[str]) -> None:
        if not _is_option(option):
            raise UserErrorException(f"Invalid pip option {option}")
        pip = self._pip_list()
        pip[:] = [item for item in pip if item.split()[0] != option.split()[0]] + wanted

    def set_pip_index_url(self, index_url: str) -> None:
        """The same as `set_pip_option`, which Azure ML's does too."""
        self.set_pip_option(index_url)

    def set_pip_requirements(self, pip_requirements: list[str]) -> None:
        """These requirements instead of all that pip was to install."""
        self._pip_list()[:] = pip_requirements

    def as_dict(self) -> Any:
        """The conda specification as dicts and lists; a copy."""
        return copy.deepcopy(self._data)

    def _to_dict(self) -> Any:
        return self.as_dict()

    @classmethod
    def _of_dict(cls, data: Any) -> CondaDependencies:
        return cls(_underlying_structure=data)

    def serialize_to_string(self) -> str:
        """The conda specification as YAML."""
        import yaml

        return str(yaml.safe_dump(self._data, sort_keys=False))

    def save(self, path: str) -> str:
        """Writes the conda specification. Raises UserErrorException for a folder, or one that is not
        there.
        """
        place = Path(path)
        if place.is_dir():
            raise UserErrorException(
                "Cannot save a conda environment specification file to a directory. Please specify a fully "
                "qualified path along with the file name to save the file."
            )
        if not place.parent.is_dir():
            raise UserErrorException(
                f"Cannot save the conda environment specification file to an invalid path. {place.parent} "
                "is no folder."
            )
        place.write_text(self.serialize_to_string(), encoding="utf-8")
        return path

    def save_to_file(self, base_directory: str, conda_file_path: str | None = None) -> str:
        """As `save`, to a path relative to `base_directory`, which it returns."""
        relative = conda_file_path or ".azureml/auto_conda_dependencies.yml"
        self.save(str(Path(base_directory) / relative))
        return relative


def _checked(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise UserErrorException("Environment error: not a valid YAML structure")
    for key in data:
        if str(key) not in _KEYS:
            raise UserErrorException(f"Environment error: unknown {key} key in environment specification")
    return copy.deepcopy(data)
