"""The exceptions of `azure.ai.ml.exceptions` that programs catch. All are `phalanx.PhalanxError` too."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidArgument, JobFailed, PhalanxError

__all__ = [
    "JobException",
    "JobFailedException",
    "MlException",
    "ResourceNotFoundError",
    "UserErrorException",
    "ValidationException",
]


class MlException(PhalanxError):
    """The base of the exceptions of this module. `message`: the text."""

    def __init__(
        self, message: str = "", no_personal_data_message: str = "", *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(message, *args)
        self.message = message
        self.no_personal_data_message = no_personal_data_message or message


class ValidationException(MlException, InvalidArgument):
    """A job or a part of one that cannot be right. The message names the argument and what would be right."""


class UserErrorException(MlException, InvalidArgument):
    """A value that the Azure SDK refuses where it is written."""


class JobException(MlException):
    """Something that cannot be done with this job now."""


class JobFailedException(JobFailed, JobException):
    """A job that failed while it was streamed: `phalanx.JobFailed`, and a `JobException` as Azure's `stream`
    raises.

    `verdict`, `exit_code`, `name`, `job`: as of `phalanx.JobFailed`.
    """

    def __init__(self, name: str, verdict: Any = None, exit_code: Any = None, job: Any = None) -> None:
        JobFailed.__init__(self, name, verdict, exit_code, job)
        self.message = self.no_personal_data_message = JobFailed.__str__(self)

    def __str__(self) -> str:
        return JobFailed.__str__(self)


class ResourceNotFoundError(MlException, LookupError):
    """What is asked for by its name is not there."""
