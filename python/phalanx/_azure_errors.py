"""What programs catch of `azure.core.exceptions`."""

from __future__ import annotations

from .errors import PhalanxError
from .ml.exceptions import ResourceNotFoundError

__all__ = [
    "AzureError",
    "ClientAuthenticationError",
    "HttpResponseError",
    "ResourceExistsError",
    "ResourceNotFoundError",
]

AzureError = PhalanxError


class HttpResponseError(PhalanxError):
    """Never raised here: nothing is asked over a network."""


class ClientAuthenticationError(HttpResponseError):
    """Never raised here: nobody has to sign in."""


class ResourceExistsError(HttpResponseError):
    """Never raised here."""
