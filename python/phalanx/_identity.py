"""Credentials of `azure.identity`: accepted, and ignored. Nobody has to sign in to Phalanx."""

from __future__ import annotations

from typing import Any, NamedTuple

__version__ = "1.0.0"


class AccessToken(NamedTuple):
    """A token that opens nothing. `expires_on`: seconds since 1970."""

    token: str
    expires_on: int


class _Credential:
    """Takes whatever it is given, and keeps none of it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def get_token(self, *_: Any, **__: Any) -> AccessToken:
        """A token that opens nothing, and is good for ever."""
        return AccessToken("not-needed", 2**31 - 1)

    def close(self) -> None:
        """Does nothing."""

    def __enter__(self) -> _Credential:
        return self

    def __exit__(self, *_: Any) -> None:
        pass


class DefaultAzureCredential(_Credential):
    """Accepted and ignored."""


class InteractiveBrowserCredential(_Credential):
    """Accepted and ignored; opens no browser."""


class AzureCliCredential(_Credential):
    """Accepted and ignored."""


class AzureDeveloperCliCredential(_Credential):
    """Accepted and ignored."""


class AzurePowerShellCredential(_Credential):
    """Accepted and ignored."""


class ManagedIdentityCredential(_Credential):
    """Accepted and ignored."""


class WorkloadIdentityCredential(_Credential):
    """Accepted and ignored."""


class EnvironmentCredential(_Credential):
    """Accepted and ignored."""


class ClientSecretCredential(_Credential):
    """Accepted and ignored; the secret is not kept."""


class CertificateCredential(_Credential):
    """Accepted and ignored."""


class UsernamePasswordCredential(_Credential):
    """Accepted and ignored; the password is not kept."""


class DeviceCodeCredential(_Credential):
    """Accepted and ignored; prints no code."""


class VisualStudioCodeCredential(_Credential):
    """Accepted and ignored."""


class SharedTokenCacheCredential(_Credential):
    """Accepted and ignored."""


class AuthorizationCodeCredential(_Credential):
    """Accepted and ignored."""


class OnBehalfOfCredential(_Credential):
    """Accepted and ignored."""


class ChainedTokenCredential(_Credential):
    """Accepted and ignored, with all that it chains."""


class CredentialUnavailableError(Exception):
    """Never raised here."""
