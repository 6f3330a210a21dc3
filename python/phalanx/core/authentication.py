"""Ways of signing in to Azure: accepted, and ignored. Nobody has to sign in to Phalanx.

Source: azureml-core 1.61, `core/authentication.py`.
"""

from __future__ import annotations

from typing import Any


class AbstractAuthentication:
    """Takes whatever it is given, and does nothing with it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def get_authentication_header(self) -> dict[str, str]:
        """No header: nothing is asked over a network."""
        return {}


class InteractiveLoginAuthentication(AbstractAuthentication):
    """Accepted and ignored; opens no browser."""


class AzureCliAuthentication(AbstractAuthentication):
    """Accepted and ignored."""


class ServicePrincipalAuthentication(AbstractAuthentication):
    """Accepted and ignored; the password is not kept."""


class MsiAuthentication(AbstractAuthentication):
    """Accepted and ignored."""


class ArmTokenAuthentication(AbstractAuthentication):
    """Accepted and ignored."""


class TokenAuthentication(AbstractAuthentication):
    """Accepted and ignored."""


class AzureMLTokenAuthentication(AbstractAuthentication):
    """Accepted and ignored."""
