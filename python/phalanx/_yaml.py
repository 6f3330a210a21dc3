"""Job files as text. YAML 1.1, as PyYAML and Azure ML read it."""

from __future__ import annotations

import enum
import math
import os
import re
from collections.abc import Mapping
from typing import Any

import yaml

from ._check import describe
from .errors import InvalidArgument


class _Dumper(yaml.SafeDumper):
    """Keeps the order of keys, and writes long lines as one and several lines as a block."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


# What other readers of YAML 1.1 take for the end of a line, unless it is escaped.
_BREAKS = re.compile("[\r\x85\u2028\u2029]")


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text and text.isprintable() is False and _fits_block(text) else None
    style = '"' if _BREAKS.search(text) else style
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _fits_block(text: str) -> bool:
    lines = text.split("\n")
    return all(line.isprintable() and line == line.rstrip() for line in lines) and not text[0].isspace()


_Dumper.add_representer(str, _text)


class _LineDumper(_Dumper):
    """Writes no text over several lines."""


def _line_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_LineDumper.add_representer(str, _line_text)

# As the program reads job files.
_MOST_VALUES, _MOST_BYTES, _MOST_LEVELS = 100_000, 16 << 20, 64
_MOST_BITS = 1024  # Python itself writes no number of some thousand digits


class _Size:
    """How large a job file becomes: what is in several places of it counts in each."""

    def __init__(self) -> None:
        self._values = self._bytes = 0

    def add(self, where: str, text: bytes = b"") -> None:
        self._values += 1
        self._bytes += len(text)
        if self._values > _MOST_VALUES or self._bytes > _MOST_BYTES:
            raise InvalidArgument(
                f"{_short(where)}: the job grows past 100,000 values or 16 MiB (what is in several places "
                "counts in each); make it smaller"
            )


def _short(where: str) -> str:
    return where if len(where) <= 60 else where[:57] + "..."


def plain(value: Any, where: str = "job") -> Any:
    """`value` as what YAML has: dicts with string keys, lists, str, int, float, bool and None.

    Paths, enumerations, and numbers of other libraries (those with `item()`, such as NumPy's) become these.
    Raises InvalidArgument, which names the place, for what a job file cannot hold.
    """
    return _plain(value, where, _Size(), 0)


def _plain(value: Any, where: str, size: _Size, level: int) -> Any:
    if level > _MOST_LEVELS:
        raise InvalidArgument(
            f"{_short(where)}: lists and mappings more than {_MOST_LEVELS} levels deep; make it flatter"
        )
    if isinstance(value, enum.Enum):
        return _plain(value.value, where, size, level + 1)
    if isinstance(value, os.PathLike):
        return _plain(os.fspath(value), where, size, level + 1)
    if isinstance(value, Mapping):
        size.add(where)
        return {
            _key(key, where, size): _plain(item, f"{where}.{key}", size, level + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        size.add(where)
        return [_plain(item, f"{where}[{number}]", size, level + 1) for number, item in enumerate(value)]
    if _is_array_of_one(value):
        return _plain(value.item(), where, size, level + 1)
    return _scalar(value, where, size)


def _is_array_of_one(value: Any) -> bool:
    known = value is None or isinstance(value, (str, int, float, bytes))
    return not known and callable(getattr(value, "item", None)) and getattr(value, "ndim", 0) == 0


def _scalar(value: Any, where: str, size: _Size) -> Any:
    if isinstance(value, str):
        return _checked_text(str.__str__(value), where, size)
    size.add(where)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise InvalidArgument(
                f"{where} is a whole number of more than {_MOST_BITS} bits; write it as text"
            )
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidArgument(
                f"{where} is {value}; a job file takes finite numbers, or the text {str(value)!r}"
            )
        return float(value)
    if isinstance(value, bytes):
        raise InvalidArgument(
            f"{where} is bytes; a job file takes text: decode them, or write them into a file"
        )
    raise InvalidArgument(
        f"{where} is a {type(value).__name__}; a job file takes text, numbers, lists and mappings"
    )


def _key(key: Any, where: str, size: _Size) -> str:
    key = key.value if isinstance(key, enum.Enum) else key
    if not isinstance(key, str):
        raise InvalidArgument(f"{where} has the key {describe(key)}; keys are text")
    return _checked_text(key, where, size)


def _checked_text(text: str, where: str, size: _Size) -> str:
    if "\0" in text:
        raise InvalidArgument(f"{where} has a NUL character, which no command or variable can hold")
    try:
        size.add(where, text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidArgument(
            f"{where} has a character that is no Unicode text ({text[error.start]!r}); a job file is UTF-8"
        ) from None
    return text


def dump(data: Mapping[str, Any]) -> str:
    """The job file's text. Raises InvalidArgument for values that it cannot hold."""
    return yaml.dump(
        plain(data),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=2**31 - 1,
        default_flow_style=False,
    )


def one_line(value: Any, where: str) -> str:
    """A value as `--set KEY=VALUE` takes it."""
    value = plain(value, where)
    text: str = yaml.dump(
        value,
        Dumper=_LineDumper,
        sort_keys=False,
        allow_unicode=True,
        width=2**31 - 1,
        default_flow_style=True,
        default_style='"' if isinstance(value, str) else None,
    )
    return text.replace("\n...\n", "").rstrip("\n")


def key_at(text: str, line: int, column: int) -> str:
    """The key of a job file's text at a place (both from 1), such as `resources.instance_count`."""
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return ""
    way: list[str] = []
    while node is not None:
        name, node = _inner(node, (line - 1, column - 1))
        way += [name] if name else []
    return ".".join(way).replace(".[", "[")


def _holds(node: yaml.Node, place: tuple[int, int]) -> bool:
    start, end = node.start_mark, node.end_mark
    return (start.line, start.column) <= place < max((end.line, end.column), (start.line, start.column + 1))


def _inner(node: yaml.Node, place: tuple[int, int]) -> tuple[str, yaml.Node | None]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if _holds(key, place):
                return str(key.value), None
            if _holds(value, place):
                return str(key.value), value
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            if _holds(item, place):
                return f"[{number}]", item
    return "", None


class _Loader(yaml.SafeLoader):
    """As Azure ML reads a job file, but that what looks like a date stays text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load(text: str) -> Any:
    """A job file's text as data. Raises yaml.YAMLError."""
    return yaml.load(text, Loader=_Loader)
