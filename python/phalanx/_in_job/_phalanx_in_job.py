"""What makes `phalanx` and `azureml.core` importable in a job whose Python has neither: this folder is in its
PYTHONPATH.

Installed packages go first. Neither this package nor PyYAML has to be installed in the job's Python.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).absolute().parent
PACKAGE = HERE.parent


def package() -> None:
    """Makes `phalanx` the one that is installed, else the one that this folder is part of, whatever folder
    that is in.
    """
    others = [place for place in sys.path if os.path.abspath(place) != str(HERE)]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("phalanx", others)
    if spec is None or spec.loader is None or spec.origin is None:  # a mere folder of that name
        spec = importlib.util.spec_from_file_location("phalanx", PACKAGE / "__init__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["phalanx"] = module
    spec.loader.exec_module(module)


def become(name: str) -> None:
    """Puts this package's module in the place of the one that is being imported as `name`."""
    importlib.import_module("phalanx")
    from phalanx import _hook

    del sys.modules[name]
    _hook.install()
    importlib.import_module(name)
