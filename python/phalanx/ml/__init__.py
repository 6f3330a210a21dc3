"""The Azure ML SDK v2 (`azure.ai.ml`), for jobs on your own machines.

    from phalanx.ml import Input, MLClient, command

    job = command(
        command="python train.py --lr ${{inputs.lr}}",
        code="./src",
        inputs={"lr": 0.1},
        environment="azureml:any@latest",
        instance_count=2,
        distribution={"type": "PyTorch", "process_count_per_instance": 2},
    )
    returned_job = MLClient().jobs.create_or_update(job)
    MLClient().jobs.stream(returned_job.name)

Contract: azure-ai-ml 1.28 to 1.35; names, keywords, defaults and flattening are its own. Differences: a
keyword that does not exist is an error, there is no login, and jobs are commands (no pipelines, sweeps,
components).
"""

from typing import TYPE_CHECKING

from .._absent import absent
from . import constants, entities, exceptions
from ._client import MLClient
from ._command_func import command
from ._load import load_job
from .entities import (
    Input,
    MpiDistribution,
    Output,
    PyTorchDistribution,
    RayDistribution,
    TensorFlowDistribution,
)

# Of azure-ai-ml: what programs look at to know whether it is new enough.
__version__ = VERSION = "1.28.0"

__all__ = [
    "VERSION",
    "Input",
    "MLClient",
    "MpiDistribution",
    "Output",
    "PyTorchDistribution",
    "RayDistribution",
    "TensorFlowDistribution",
    "__version__",
    "command",
    "constants",
    "entities",
    "exceptions",
    "load_job",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        absent(__name__, name)
