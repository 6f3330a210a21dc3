"""`azureml.data`: datasets, and how runs read and write them. All of them are files and folders of this
machine.
"""

from .data_reference import DataReference
from .datapath import DataPath
from .dataset_consumption_config import DatasetConsumptionConfig
from .file_dataset import FileDataset, TabularDataset
from .output_dataset_config import OutputFileDatasetConfig

__all__ = [
    "DataPath",
    "DataReference",
    "DatasetConsumptionConfig",
    "FileDataset",
    "OutputFileDatasetConfig",
    "TabularDataset",
]
