"""Names that the Azure SDKs have and this package has not: what an import of one says."""

from __future__ import annotations

import importlib.util
import sys
from typing import NoReturn

from ._check import Keywords

_AZURE = {"phalanx.ml": "azure.ai.ml", "phalanx.core": "azureml.core"}


def absent(module: str, name: str) -> NoReturn:
    """Called by a package's `__getattr__`: raises what `from MODULE import NAME` and `MODULE.NAME` say of a
    name that is not there.
    """
    # Python itself asks before it looks for a module of that name, and would say less.
    asked_by_import = sys._getframe(2).f_code.co_name == "_handle_fromlist"
    if asked_by_import and importlib.util.find_spec(f"{module}.{name}") is not None:
        raise AttributeError(name)  # a module, which is imported next
    for own, azure in _AZURE.items():
        if Keywords.swallow and f"{module}.".startswith(f"{own}."):
            module = azure + module[len(own) :]
    nothing = "Phalanx has nothing that stands in for it"
    if asked_by_import:
        raise ImportError(f"cannot import name {name!r} from {module!r}: {nothing}", name=module)
    raise AttributeError(f"module {module!r} has no attribute {name!r}: {nothing}")
