"""See `_phalanx_in_job`, which finds what is meant."""

from _phalanx_in_job import package  # type: ignore[import-not-found]

package()
