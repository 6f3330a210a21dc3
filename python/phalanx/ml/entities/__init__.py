"""The entities of `azure.ai.ml.entities` that jobs are made of, with the same names, keywords and defaults.

Contract: azure-ai-ml 1.28 to 1.35. Unlike there, a keyword or attribute that does not exist is an error.
"""

from typing import TYPE_CHECKING

from ..._absent import absent
from ._assets import BuildContext, Data, Environment
from ._command import Command, CommandJob
from ._compute import AmlCompute, Compute, ComputeInstance
from ._distribution import (
    DistributionConfiguration,
    MpiDistribution,
    PyTorchDistribution,
    RayDistribution,
    TensorFlowDistribution,
)
from ._io import Input, Output
from ._job import Job
from ._platform import (
    AmlTokenConfiguration,
    JobService,
    JupyterLabJobService,
    ManagedIdentityConfiguration,
    SshJobService,
    TensorBoardJobService,
    UserIdentityConfiguration,
    VsCodeJobService,
)
from ._resources import CommandJobLimits, JobResourceConfiguration, QueueSettings, ResourceConfiguration
from ._validation import ValidationResult

__all__ = [
    "AmlCompute",
    "AmlTokenConfiguration",
    "BuildContext",
    "Command",
    "CommandJob",
    "CommandJobLimits",
    "Compute",
    "ComputeInstance",
    "Data",
    "DistributionConfiguration",
    "Environment",
    "Input",
    "Job",
    "JobResourceConfiguration",
    "JobService",
    "JupyterLabJobService",
    "ManagedIdentityConfiguration",
    "MpiDistribution",
    "Output",
    "PyTorchDistribution",
    "QueueSettings",
    "RayDistribution",
    "ResourceConfiguration",
    "SshJobService",
    "TensorBoardJobService",
    "TensorFlowDistribution",
    "UserIdentityConfiguration",
    "ValidationResult",
    "VsCodeJobService",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        absent(__name__, name)
