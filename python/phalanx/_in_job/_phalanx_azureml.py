"""What makes `azureml.core` importable in a job whose Python has no Azure ML: this folder is in its
PYTHONPATH.

Installed packages go first. Neither this package nor PyYAML has to be installed in the job's Python.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).absolute().parent.parent


def _package() -> None:
    """Makes `phalanx` importable from where it lies, whatever folder that is in."""
    if "phalanx" in sys.modules or importlib.util.find_spec("phalanx") is not None:
        return
    module = ModuleType("phalanx")
    if importlib.util.find_spec("yaml") is not None:
        spec = importlib.util.spec_from_file_location("phalanx", PACKAGE / "__init__.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["phalanx"] = module
        spec.loader.exec_module(module)
    else:  # a job logs without it; it cannot submit
        module.__path__ = [str(PACKAGE)]
        sys.modules["phalanx"] = module


def become(name: str) -> None:
    """Puts this package's module in the place of the one that is being imported as `name`."""
    _package()
    from phalanx import _hook

    del sys.modules[name]
    _hook.install()
    importlib.import_module(name)
