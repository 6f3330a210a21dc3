"""Inputs and outputs of a job. Contract: `azure.ai.ml.entities._inputs_outputs`."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from ..exceptions import UserErrorException, ValidationException
from . import _check
from ._parts import Part

_LITERALS = {"integer": int, "number": float, "string": str, "boolean": bool}


def _literal(kind: str, value: Any) -> Any:
    try:
        if kind == "boolean" and isinstance(value, str):
            return {"true": True, "false": False}[value.lower()]
        return value if value is None else _LITERALS[kind](value)
    except (ValueError, KeyError, TypeError):
        raise UserErrorException(f"default of Input is {value!r}, which is no {kind}") from None


class Input(Part):
    """Data that a job reads, or a literal with its type.

    `type`: `uri_folder`, `uri_file`, `mltable`, `custom_model`, `mlflow_model`, `triton_model`; or `integer`,
    `number`, `string`, `boolean`, whose value is `default`. `path`: a local file or folder (relative: of the
    current folder), or `azureml://jobs/NAME/outputs/OUTPUT/paths/...` of an earlier job. `mode`: as of
    `InputOutputModes`; here data is used in place. `optional`, `min`, `max`, `enum` and `description` are of
    components and have no effect here.
    """

    _fields = ("type", "path", "mode", "path_on_compute", "datastore")
    _others = ("default", "optional", "min", "max", "enum", "description", "intellectual_property")

    def __init__(
        self,
        *,
        type: str = "uri_folder",
        path: str | None = None,
        mode: str | None = None,
        path_on_compute: str | None = None,
        default: str | int | float | bool | None = None,
        optional: bool | None = None,
        min: int | float | None = None,
        max: int | float | None = None,
        enum: Any = None,
        description: str | None = None,
        datastore: str | None = None,
        **kwargs: Any,
    ) -> None:
        _check.unknown("Input", kwargs, self._fields + self._others)
        self.type = _check.text("type", type)
        self.path = None if path is None else str(path)
        literal = self._is_literal()
        self.mode = None if literal else _check.text("mode", mode)
        self.path_on_compute = path_on_compute
        self.default = _literal(self.type, default) if literal else default
        self.optional = optional
        self.min, self.max, self.enum = min, max, enum
        self.description = description
        self.datastore = datastore

    def _is_literal(self) -> bool:
        return self.type in _LITERALS


class Output(Part):
    """What a job writes: a folder of the job, or `path`. `name` and `version` register it on Azure.

    `type`: as of `Input`; `mode`: `rw_mount`, `upload` or `direct`.
    """

    _fields: tuple[str, ...] = ("type", "path", "mode", "name", "version")

    def __init__(
        self,
        *,
        type: str = "uri_folder",
        path: str | None = None,
        mode: str | None = None,
        description: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.name = kwargs.pop("name", None)
        self.version = kwargs.pop("version", None)
        more = ("path_on_compute", "early_available", "intellectual_property")
        self.path_on_compute = kwargs.pop("path_on_compute", None)
        self.early_available = kwargs.pop("early_available", None)
        _check.unknown("Output", kwargs, (*self._fields, "description", *more))
        self.type = _check.text("type", type)
        self.path = None if path is None else str(path)
        self.mode = _check.text("mode", mode)
        self.description = description
        if self.name and not (re.fullmatch("[A-Za-z0-9_-]*", str(self.name)) and len(self.name) <= 255):
            raise UserErrorException(
                f"The output name {self.name} can only contain alphanumeric characters, dashes and "
                "underscores, with a limit of 255 characters."
            )
        if self.version and not self.name:
            raise UserErrorException("Output name is required when output version is specified.")


class JobOutput(Output):
    """Where a submitted job writes an output. Its path is an input of the next job, and no part of the
    job.
    """

    _fields = tuple(key for key in Output._fields if key != "path")

    @classmethod
    def of(cls, output: Output, path: str) -> JobOutput:
        made = cls(**output._to_dict())
        made.path = path
        return made


class _Slots(MutableMapping[str, Any]):
    """Inputs or outputs by name: `slots.name` is `slots["name"]`."""

    _what = "input"

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        object.__setattr__(self, "_values", {})
        for name, value in (_check.mapping(f"{self._what}s", values) or {}).items():
            self[name] = value

    def _made(self, name: str, value: Any) -> Any:
        raise NotImplementedError

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[name] = self._made(name, value)

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            have = ", ".join(self._values) or "none"
            raise AttributeError(f"the job has no {self._what} {name}; it has {have}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        del self[name]

    def __deepcopy__(self, memo: Any) -> _Slots:
        return type(self)(copy.deepcopy(self._values, memo))

    def __reduce__(self) -> Any:
        return (type(self), (self._values,))

    def __repr__(self) -> str:
        return repr(self._values)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]


class Inputs(_Slots):
    """The inputs of a job: literals, and `Input` for data."""

    def _made(self, name: str, value: Any) -> Any:
        if isinstance(value, Input):
            return value.default if value._is_literal() and value.path is None else value
        if isinstance(value, Mapping):
            return self._made(name, Input(**value))
        if isinstance(value, (str, bool, int, float)):
            return value
        if isinstance(value, os.PathLike):
            return Input(path=os.fspath(value))
        if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
            return value.item()  # a number of NumPy or PyTorch
        raise ValidationException(
            f"input {name} is a {type(value).__name__}; it can be an Input, a dict with the keys of one, "
            "text, a number or a bool"
        )


class Outputs(_Slots):
    """The outputs of a job, each an `Output`."""

    _what = "output"

    def _made(self, name: str, value: Any) -> Any:
        if isinstance(value, Output):
            return value
        if value is None or isinstance(value, Mapping):
            return Output(**(value or {}))
        if isinstance(value, (str, os.PathLike)):
            return Output(path=os.fspath(value))
        raise ValidationException(
            f"output {name} is a {type(value).__name__}; it can be an Output, a dict with the keys of one, a "
            "path, or None"
        )
