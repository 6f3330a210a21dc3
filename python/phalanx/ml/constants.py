"""The constants of `azure.ai.ml.constants` that jobs use. Contract: azure-ai-ml 1.28 to 1.35."""

from __future__ import annotations

from enum import Enum

__all__ = ["AssetTypes", "DistributionType", "InputOutputModes", "InputTypes", "JobType", "ListViewType"]


class AssetTypes:
    """What `type` of an `Input` or `Output` can be."""

    URI_FILE = "uri_file"
    URI_FOLDER = "uri_folder"
    MLTABLE = "mltable"
    MLFLOW_MODEL = "mlflow_model"
    TRITON_MODEL = "triton_model"
    CUSTOM_MODEL = "custom_model"


class InputTypes:
    """The types of literal inputs."""

    INTEGER = "integer"
    NUMBER = "number"
    STRING = "string"
    BOOLEAN = "boolean"


class InputOutputModes:
    """What `mode` of an `Input` or `Output` can be. Here data is used in place, whatever the mode."""

    MOUNT = "mount"
    DOWNLOAD = "download"
    UPLOAD = "upload"
    RO_MOUNT = "ro_mount"
    RW_MOUNT = "rw_mount"
    EVAL_MOUNT = "eval_mount"
    EVAL_DOWNLOAD = "eval_download"
    DIRECT = "direct"


class DistributionType:
    """What `type` of a distribution can be, in any case."""

    MPI = "mpi"
    TENSORFLOW = "tensorflow"
    PYTORCH = "pytorch"
    RAY = "ray"


class JobType:
    """What `type` of a job can be; Phalanx runs commands."""

    COMMAND = "command"
    SWEEP = "sweep"
    PIPELINE = "pipeline"
    AUTOML = "automl"
    COMPONENT = "component"
    BASE = "base"
    PARALLEL = "parallel"
    IMPORT = "import"
    SPARK = "spark"


class ListViewType(str, Enum):
    """Which jobs `MLClient.jobs.list` gives."""

    ACTIVE_ONLY = "ActiveOnly"
    ARCHIVED_ONLY = "ArchivedOnly"
    ALL = "All"
