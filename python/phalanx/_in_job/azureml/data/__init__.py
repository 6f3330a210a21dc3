"""See `_phalanx_azureml`, which finds what is meant."""

from _phalanx_azureml import become  # type: ignore[import-not-found]

become(__name__)
