"""Paths in jobs: which of them are of this machine, and what they are relative to."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

# As the program has it: a URI, an azureml: name or an ARM id is no local path.
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|azureml:|runs:/|git\+|/subscriptions/|.*\$\{\{")

_REGISTERED = re.compile(r"azureml:([^:@/]+)(?::([^:@/]+)|@latest)")


def registered(path: Any) -> Any:
    """The path of data that was registered here (by `MLClient.data`, or `Dataset.register` of the SDK v1);
    others as they are.
    """
    asset = _REGISTERED.fullmatch(path) if isinstance(path, str) else None
    if asset is None:
        return path
    from ...core import _store

    found = _store.get("datasets", *asset.groups())
    return path if found is None else found[1]["path"]


def is_local(path: str | None) -> bool:
    """Whether `path` means a file or folder of this machine."""
    return bool(path) and not _ELSEWHERE.match(str(path))


def absolute(path: str, base: str) -> str:
    """A local path that means the same from everywhere; others as they are."""
    if not is_local(path):
        return path
    plain = path[len("file:") :] if path.startswith("file:") else path
    return os.path.normpath(os.path.join(base, os.path.expanduser(plain)))  # noqa: PTH111, PTH118


def relative(path: str, base: str, to: str) -> str:
    """A local path of `base` as it is written in a file in the folder `to`: relative where it lies below
    that.
    """
    if not is_local(path):
        return path
    whole = absolute(path, base)
    try:
        return "./" + Path(whole).relative_to(to).as_posix()
    except ValueError:
        return whole
