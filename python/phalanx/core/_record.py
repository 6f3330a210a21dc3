"""What a run has beside its job: values that were logged, tags, properties and files, in folders of plain
files.

`run.jsonl` has one object in each line, appended with one write: `{"at": Unix seconds, "kind": ..., ...}`.
Files lie below `files`. A job has two such folders: `logs/azureml` in the working directory of its node 0,
where the job itself writes, and `azureml` in its own folder, for who submitted it. An interactive run has
one.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def append_line(path: Path, data: Mapping[str, Any]) -> None:
    """Appends one JSON line with one write, so that writers do not mix theirs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(handle, (json.dumps(data) + "\n").encode())
    finally:
        os.close(handle)


class Record:
    """The folder `own` is written, `own` and `others` are read."""

    def __init__(self, own: Path, others: Iterable[Path] = ()) -> None:
        self.own = own
        self.folders = [own, *others]

    def add(self, kind: str, **data: Any) -> None:
        """Appends an event."""
        append_line(self.own / "run.jsonl", {"at": time.time(), "kind": kind, **data})

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """The events of these kinds, oldest first. Lines that are not whole (yet) are passed over."""
        found = []
        for folder in self.folders:
            file = folder / "run.jsonl"
            for line in file.read_text("utf-8").splitlines() if file.is_file() else ():
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if event.get("kind") in kinds:
                    found.append(event)
        return sorted(found, key=lambda event: float(event["at"]))

    def last(self, kind: str, default: Any = None) -> Any:
        """The value of the newest event of a kind."""
        found = self.events(kind)
        return found[-1]["value"] if found else default

    def merged(self, kind: str) -> dict[str, Any]:
        """The values of all events of a kind, later ones over earlier ones; `removed` names take theirs
        away.
        """
        made: dict[str, Any] = {}
        for event in self.events(kind):
            made.update(event.get("value") or {})
            for name in event.get("removed") or ():
                made.pop(name, None)
        return made

    def metrics(self) -> dict[str, Any]:
        """What was logged: a value, a list where there are several, and of rows and tables a dict of
        columns.
        """
        made: dict[str, Any] = {}
        for event in self.events("metric"):
            name, value = event["name"], event["value"]
            if event["type"] in ("row", "table"):
                columns = made.get(name)
                columns = columns if isinstance(columns, dict) else {}
                made[name] = {
                    **columns,
                    **{key: _more(columns.get(key), item) for key, item in value.items()},
                }
            else:
                made[name] = _more(made.get(name), value)
        return made

    def keep(self, name: str, source: Any, base: Path | None = None) -> Path:
        """Copies a file (a path or an open one) to `name`: below `files`, or below `base` for ./outputs and
        ./logs.
        """
        root = base if base is not None and name.split("/")[0] in ("outputs", "logs") else self.own / "files"
        place = inside(root, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        if hasattr(source, "read"):
            content = source.read()
            place.write_bytes(content if isinstance(content, bytes) else str(content).encode())
        elif Path(source).resolve() != place.resolve():
            shutil.copyfile(source, place)
        return place

    def files(self) -> dict[str, Path]:
        """The files below `files`, by name."""
        return {name: path for folder in self.folders for name, path in files_below(folder / "files").items()}


def _more(now: Any, value: Any) -> Any:
    if now is None:
        return value
    return [*(now if isinstance(now, list) else [now]), *(value if isinstance(value, list) else [value])]


def inside(root: Path, name: str) -> Path:
    """`name` below `root`. Raises ValueError for a name that leads out."""
    if name.startswith("/") or ".." in name.split("/") or not name:
        raise ValueError(f"name {name!r}: a relative path without '..'")
    return root / name


def files_below(folder: Path) -> dict[str, Path]:
    """All files below a folder, by their relative paths."""
    if not folder.is_dir():
        return {}
    return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}


class HasRecord:
    """What logging and files of a run stand on."""

    @property
    def id(self) -> str:
        """The id of the run."""
        raise NotImplementedError

    @property
    def _record(self) -> Record:
        raise NotImplementedError

    @property
    def _work(self) -> Path:
        """The working directory whose ./outputs and ./logs are files of the run."""
        raise NotImplementedError

    @property
    def _user_logs(self) -> Path | None:
        """The folder of what its processes print."""
        raise NotImplementedError

    @property
    def _job(self) -> Any:
        raise NotImplementedError

    def _log(
        self, kind: str, name: str, value: Any, step: int | None = None, all_ranks: bool = False
    ) -> None:
        self._record.add("metric", type=kind, name=str(name), value=value, step=step)
