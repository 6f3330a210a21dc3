"""The names of the Azure ML SDK v1 (`azureml.core`), for jobs that run here.

    from phalanx.core import Environment, Experiment, ScriptRunConfig, Workspace
    from phalanx.core.runconfig import PyTorchConfiguration

    ws = Workspace.from_config()
    config = ScriptRunConfig(
        source_directory="./src",
        script="train.py",
        arguments=["--epochs", 50],
        environment=Environment.get(ws, "AzureML-PyTorch-1.6-GPU"),
        distributed_job_config=PyTorchConfiguration(process_count=8, node_count=2),
    )
    run = Experiment(ws, "example").submit(config)
    run.wait_for_completion(show_output=True)

`phalanx python PROGRAM.py` runs a program that imports `azureml.core`, as it is. Nothing is asked over a
network. Source: azureml-core 1.61, whose names, defaults, checks and messages these are.
"""

from typing import TYPE_CHECKING

from .._absent import absent
from .compute import ComputeTarget
from .container_registry import ContainerRegistry
from .dataset import Dataset
from .datastore import Datastore
from .environment import Environment
from .experiment import Experiment
from .model import Model
from .run import Run, get_run
from .runconfig import RunConfiguration
from .script_run import ScriptRun
from .script_run_config import ScriptRunConfig
from .workspace import Workspace

__version__ = VERSION = "1.61.0"  # of the package whose names these are

__all__ = [
    "ComputeTarget",
    "ContainerRegistry",
    "Dataset",
    "Datastore",
    "Environment",
    "Experiment",
    "Model",
    "Run",
    "RunConfiguration",
    "ScriptRun",
    "ScriptRunConfig",
    "Workspace",
    "get_run",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        absent(__name__, name)
