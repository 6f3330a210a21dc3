"""Processes that `multiprocessing` starts anew (`spawn`, `forkserver`) from a program for Azure ML: they
import its main module again, whose imports mean this package there too.

Only the command line of such a child is changed; its environment, and that of other programs, is not.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from . import _hook

_MODULE = "multiprocessing.util"
_FOLDER = str(Path(__file__).absolute().parent.parent)
_FIRST = (
    f"import sys; sys.path.append({_FOLDER!r}); from phalanx import _spawn; "
    "sys.path.pop(); _spawn.install(); "
)
_CHILDREN = ("from multiprocessing.spawn import", "from multiprocessing.forkserver import")


def _taught(args: Sequence[Any]) -> list[Any]:
    """The command line of a child, which installs the hook before it does anything else."""
    return [_FIRST + word if isinstance(word, str) and word.startswith(_CHILDREN) else word for word in args]


def _teach(module: ModuleType) -> None:
    start = module.spawnv_passfds

    def spawnv_passfds(path: Any, args: Sequence[Any], passfds: Any) -> Any:
        return start(path, _taught(args), passfds)

    module.__dict__["spawnv_passfds"] = spawnv_passfds


class _Teacher(importlib.abc.MetaPathFinder):
    """Waits for the import of `multiprocessing`, which most programs never do."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        loader: Any = spec.loader if spec is not None else None
        if loader is None:
            return spec
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _teach(module)

        loader.exec_module = exec_module
        return spec


def install() -> None:
    """`_hook.install()`, here and in the children of this process. A second call changes nothing."""
    if _hook.active():
        return
    _hook.install()
    if _MODULE in sys.modules:
        _teach(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, _Teacher())
