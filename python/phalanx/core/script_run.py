"""`ScriptRun`: what `Experiment.submit` returns. Source: azureml-core 1.61, `core/script_run.py`."""

from __future__ import annotations

from .run import Run


class ScriptRun(Run):
    """A run that was submitted."""

    RUN_TYPE = "azureml.scriptrun"
