"""What Azure ML keeps in a workspace: registered environments, datasets and models, and the files of
datastores.

They lie in `registry` and `datastores` of the folder that also holds the jobs (`$PHALANX_HOME`, else
`~/.phalanx`). There is one such folder for each user, whatever workspaces are called.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from .._program import home as home
from .exceptions import UserErrorException

_NAME = re.compile(r"[A-Za-z0-9][\w.\- ]{0,254}", re.ASCII)


def checked_name(name: str, what: str) -> str:
    """`name`, which becomes a file's. Raises UserErrorException."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UserErrorException(
            f"{what} name {name!r}: letters, digits, '-', '_', '.' and blanks, beginning with a letter or "
            "digit"
        )
    return name


def folder(kind: str, name: str, version: str | None = None) -> Path:
    """Where a registered thing lies: of one version, or of all."""
    path = home() / "registry" / kind / checked_name(name, kind)
    return path / checked_name(str(version), "version") if version is not None else path


def versions(kind: str, name: str) -> list[str]:
    """The versions that are registered, oldest first."""
    path = folder(kind, name)
    found = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    return sorted(found, key=lambda text: (len(text), text) if text.isdigit() else (1 << 30, text))


def names(kind: str) -> list[str]:
    """All registered names."""
    path = home() / "registry" / kind
    return sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []


def add(kind: str, name: str, data: dict[str, Any], version: str | None = None) -> tuple[str, Path]:
    """Registers a thing under its version, or else under the next number: that version, and the folder made
    for it.
    """
    number = len(versions(kind, name))
    while True:
        number += 1
        wanted = version if version is not None else str(number)
        path = folder(kind, name, wanted)
        try:
            path.mkdir(parents=True, exist_ok=version is not None)
        except FileExistsError:
            continue  # another program was quicker
        (path / "definition.json").write_text(json.dumps(data, indent=2), encoding="utf-8")
        return wanted, path


def get(kind: str, name: str, version: str | None = None) -> tuple[str, dict[str, Any]] | None:
    """The version and definition of what is registered; without `version` the newest. None where there is
    none.
    """
    known = versions(kind, name)
    wanted = version if version is not None else (known[-1] if known else None)
    if wanted is None or wanted not in known:
        return None
    data: dict[str, Any] = json.loads((folder(kind, name, wanted) / "definition.json").read_text("utf-8"))
    return wanted, data
