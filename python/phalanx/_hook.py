"""Programs that import Azure ML's modules, unmodified: those names mean the modules of this package.

`install()` puts a finder before all others, so that it makes no difference whether Azure ML's packages are
installed too. Nothing is written anywhere, and other modules of the `azure` packages stay what they are.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from types import ModuleType
from typing import Any

from ._check import Keywords

# The modules that stand in for Azure ML's, with all that is below them.
ALIASES = {
    "azure.ai.ml": "phalanx.ml",
    "azure.identity": "phalanx._identity",
    "azureml.core": "phalanx.core",
    "azureml.data": "phalanx.core.data",
    "azureml.exceptions": "phalanx.core.exceptions",
    "azureml.widgets": "phalanx.core.widgets",
}
_PARENTS = ("azure", "azure.ai", "azure.core", "azureml")


def _meant(name: str) -> str | None:
    """The module of this package that `name` means; None for others."""
    for alias, real in ALIASES.items():
        if name == alias or name.startswith(alias + "."):
            return real + name[len(alias) :]
    return None


def explain(error: BaseException) -> None:
    """Adds to an import that failed that it is Phalanx which has no such module."""
    name = getattr(error, "name", None) or ""
    if isinstance(error, ModuleNotFoundError) and (_meant(name) or name.startswith("azureml.")):
        error.msg = f"{error.msg}: Phalanx has nothing that stands in for it"


class _Same(importlib.abc.Loader):
    """Gives the module of another name, as it is: there is one `Run`, by whichever name it was imported."""

    def __init__(self, real: str) -> None:
        self.real = real
        self.spec: Any = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.real)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has put the alias's there


class Aliases(importlib.abc.MetaPathFinder):
    """Finds Azure ML's modules in this package, and tells the versions of what they stand in for."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        real = _meant(fullname)
        if real is None:
            return None
        try:
            found = importlib.util.find_spec(real)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return None
        package = found.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, _Same(real), origin=found.origin, is_package=package)

    def find_distributions(
        self,
        context: metadata.DistributionFinder.Context = metadata.DistributionFinder.Context(),  # noqa: B008
    ) -> Iterable[metadata.Distribution]:
        """`importlib.metadata.version("azure-ai-ml")` is what `azure.ai.ml.__version__` is."""
        name = (getattr(context, "name", None) or "").replace("_", "-").lower()
        if name in _Distribution.MODULES:
            yield _Distribution(name)


class _Distribution(metadata.Distribution):
    MODULES: Mapping[str, str] = {
        "azure-ai-ml": "phalanx.ml",
        "azureml-core": "phalanx.core",
        "azure-identity": "phalanx._identity",
    }

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        version = importlib.import_module(self.MODULES[self._name]).__version__
        return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {version}\n"

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"{path}: {self._name} is not installed; Phalanx stands in for it")


class _Missing(importlib.abc.MetaPathFinder):
    """The packages above, empty, and what programs import of azure-core: where no installed package has
    them.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in _PARENTS:
            return importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        if fullname == "azure.core.exceptions":
            return importlib.machinery.ModuleSpec(fullname, _Same("phalanx._azure_errors"))
        return None


def _loaded() -> Iterator[str]:
    return (name for name in list(sys.modules) if _meant(name) is not None)


def active() -> bool:
    """Whether Azure ML's names mean this package here."""
    return any(isinstance(finder, Aliases) for finder in sys.meta_path)


def install() -> None:
    """From now on Azure ML's names mean this package, which swallows unknown keywords as Azure ML's do.

    A second call changes nothing.
    """
    if active():
        return
    for name in _loaded():
        del sys.modules[name]
    sys.meta_path.insert(0, Aliases())
    sys.meta_path.append(_Missing())
    Keywords.swallow = True
