"""Distributed training jobs from Python, on your own machines.

    import phalanx

    job = phalanx.run("job.yml", nodes=2, procs_per_node=4)       # shows what it prints, until it ends
    job = phalanx.submit({"command": "python train.py", "code": "src", "environment": "azureml:any@latest"})
    job.wait().metrics

`phalanx.ml` has the names of the Azure ML SDK v2 (`azure.ai.ml`), `phalanx.core` those of v1
(`azureml.core`).
"""

from ._context import Context, context, log, log_metrics
from ._job import Job
from ._submit import run, run_async, submit, submit_async
from ._version import __version__
from ._view import Metric, Node, Rank
from .errors import (
    InvalidArgument,
    InvalidJob,
    JobCanceled,
    JobFailed,
    JobNotFound,
    PhalanxError,
    PhalanxWarning,
    Problem,
    ProgramFailed,
    ProgramNotFound,
    Verdict,
    WaitTimeout,
)

__all__ = [
    "Context",
    "InvalidArgument",
    "InvalidJob",
    "Job",
    "JobCanceled",
    "JobFailed",
    "JobNotFound",
    "Metric",
    "Node",
    "PhalanxError",
    "PhalanxWarning",
    "Problem",
    "ProgramFailed",
    "ProgramNotFound",
    "Rank",
    "Verdict",
    "WaitTimeout",
    "__version__",
    "context",
    "log",
    "log_metrics",
    "run",
    "run_async",
    "submit",
    "submit_async",
]
