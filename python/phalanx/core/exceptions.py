"""The exceptions of `azureml.exceptions`, by their names there.

Source: azureml-core 1.61, `azureml/exceptions/_azureml_exception.py`. All are also `PhalanxError`.
"""

from __future__ import annotations

from typing import Any

from ..errors import JobFailed, PhalanxError, Verdict


class AzureMLException(PhalanxError):
    """The base of all errors of `azureml.core`.

    `message`: what is wrong. `inner_exception`: what caused it, or None.
    """

    def __init__(self, exception_message: str = "", inner_exception: Any = None, **_: Any) -> None:
        super().__init__(exception_message)
        self._exception_message = exception_message
        self._inner_exception = inner_exception

    @property
    def message(self) -> str:
        """What is wrong, in words."""
        return self._exception_message

    @message.setter
    def message(self, value: str) -> None:
        self._exception_message = value

    @property
    def inner_exception(self) -> Any:
        """The exception that caused this one, or None."""
        return self._inner_exception

    def __str__(self) -> str:
        return self._exception_message


class UserErrorException(AzureMLException):
    """Something that was given is missing, wrong or not there."""


class RunConfigurationException(AzureMLException):
    """A run configuration has a value that is not supported, or cannot be read from its file."""


class ExperimentExecutionException(AzureMLException):
    """A run cannot be submitted as it is configured, or watching it was interrupted."""


class TrainingException(AzureMLException):
    """A training run cannot be configured, run or updated."""


class ProjectSystemException(AzureMLException):
    """Files of the source directory cannot be read."""


class SnapshotException(AzureMLException):
    """The source directory cannot be copied."""


class WorkspaceException(AzureMLException):
    """A workspace cannot be made or found."""


class ComputeTargetException(AzureMLException):
    """A compute target cannot be made or found."""


class ModelNotFoundException(AzureMLException):
    """There is no registered model of this name and version."""


class ModelPathNotFoundException(AzureMLException):
    """The files of a model are not where they were said to be."""


class WebserviceException(AzureMLException):
    """Models are not served here."""


class AuthenticationException(UserErrorException):
    """Never raised here: nobody has to sign in."""


class DatasetTimestampMissingError(AzureMLException):
    """Never raised here: datasets have no timestamps."""


class RunEnvironmentException(AzureMLException):
    """`Run.get_context(allow_offline=False)` outside of a job."""

    def __init__(self, **more: Any) -> None:
        super().__init__(
            "Could not load a submitted run, if outside of an execution context, use "
            "experiment.start_logging to initialize an azureml.core.Run.",
            **more,
        )


class ActivityFailedException(AzureMLException, JobFailed):
    """A run that failed. It is also `phalanx.errors.JobFailed`, with its `verdict` and `exit_code`.

    `error_details`: JSON text of the error, as `Run.get_details()["error"]` has it.
    """

    def __init__(
        self,
        error_details: str,
        *,
        name: str = "",
        verdict: Verdict | None = None,
        exit_code: int | None = None,
        **_: Any,
    ) -> None:
        JobFailed.__init__(self, name, verdict, exit_code)
        self.error_details = error_details
        self._exception_message = f"Activity Failed:\n{error_details}"
        self._inner_exception = None

    def __reduce__(self) -> Any:
        return (_failed, (self.error_details, self.name, self.verdict, self.exit_code))

    def __str__(self) -> str:
        return self._exception_message


def _failed(
    details: str, name: str, verdict: Verdict | None, exit_code: int | None
) -> ActivityFailedException:
    return ActivityFailedException(details, name=name, verdict=verdict, exit_code=exit_code)


class ActivityCanceledException(AzureMLException):
    """A run that was stopped."""

    def __init__(self, cancellation_source: Any = None, **more: Any) -> None:
        super().__init__(f"Activity Canceled by {cancellation_source}", **more)
