"""Parts of a job as values, read from the program's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


def time_of(text: str | None) -> datetime | None:
    """A time of the program's JSON, ISO 8601 in UTC, as a datetime that knows its zone."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


@dataclass(frozen=True)
class Node:
    """A machine of a job, or a simulated one.

    `node`: its number, from 0. `address`: where the other nodes reach it. `ready`: its processes can be
    started. `lost`: it no longer answers.
    """

    node: int
    name: str
    host: str
    address: str
    ready: bool
    lost: bool

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Node:
        return cls(**{key: data.get(key) for key in cls.__dataclass_fields__})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Rank:
    """A process of a job.

    `rank`: its number among all, from 0; `node`: the number of its node.
    `state`: `waiting`, `running` or `ended`.
    `exit_code`, `signal`: how it ended, one of them; both None before, or where nobody saw its end.
    `stopped`: it was told to end. `oom`: it had no memory left.
    `peak_memory`: the most it held at once, in bytes; None while that is not known.
    """

    rank: int
    node: int
    state: str
    pid: int | None
    exit_code: int | None
    signal: int | None
    started: datetime | None
    ended: datetime | None
    stopped: bool
    oom: bool
    peak_memory: int | None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Rank:
        kilobytes = data.get("max_rss_kb")
        return cls(
            rank=data["rank"],
            node=data["node"],
            state=data["state"],
            pid=data.get("pid"),
            exit_code=data.get("exit_code"),
            signal=data.get("signal"),
            started=time_of(data.get("started")),
            ended=time_of(data.get("ended")),
            stopped=bool(data.get("stopped")),
            oom=bool(data.get("oom")),
            peak_memory=kilobytes * 1024 if kilobytes else None,
        )


@dataclass(frozen=True)
class Metric:
    """What became of a metric that a job logged, over all its processes.

    `last`, `min`, `max`: its values, without units, maybe NaN or infinite. `count`: how many there are.
    `step`: of `last`; None where none was given.
    """

    last: float
    min: float
    max: float
    count: int
    step: int | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Metric:
        last, least, most = (float(data[key]) for key in ("last", "min", "max"))  # maybe "NaN"
        return cls(last, least, most, data["count"], data.get("step"))
