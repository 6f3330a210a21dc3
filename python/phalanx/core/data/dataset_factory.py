"""The factories of datasets, by the module they have in `azureml.data`."""

from .file_dataset import FileDatasetFactory, TabularDatasetFactory

__all__ = ["FileDatasetFactory", "TabularDatasetFactory"]
