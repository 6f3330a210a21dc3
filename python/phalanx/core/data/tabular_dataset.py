"""`TabularDataset`, by the module it has in `azureml.data`."""

from .file_dataset import TabularDataset

__all__ = ["TabularDataset"]
