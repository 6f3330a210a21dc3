"""`ComputeTarget`, by an old module name of `azureml.core`."""

from .compute import ComputeTarget

AbstractComputeTarget = ComputeTarget
LocalTarget = ComputeTarget

__all__ = ["AbstractComputeTarget", "ComputeTarget", "LocalTarget"]
