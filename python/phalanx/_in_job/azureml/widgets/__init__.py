"""See `_phalanx_in_job`, which finds what is meant."""

from _phalanx_in_job import become  # type: ignore[import-not-found]

become(__name__)
