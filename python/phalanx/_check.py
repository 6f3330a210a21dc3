"""Checks of arguments. Messages name the argument, what it is, and what would be right."""

from __future__ import annotations

import difflib
import math
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from .errors import InvalidArgument, PhalanxWarning

_PACKAGE = str(Path(__file__).parent) + os.sep


def describe(value: Any) -> str:
    """`value` in a message: short, and with its type."""
    try:
        text = repr(value)
    except Exception:  # too deep, a number of too many digits, or its own
        text = "..."
    text = text if len(text) <= 60 else text[:57] + "..."
    return f"{text} ({type(value).__name__})"


def check_type(name: str, value: Any, kinds: tuple[type[Any], ...], wanted: str) -> Any:
    """`value`, when it is None or one of `kinds`."""
    if value is None or isinstance(value, kinds):
        return value
    raise InvalidArgument(f"{name} is {describe(value)}; it must be {wanted}")


def check_text(name: str, value: Any) -> str | None:
    text = _without_nul(name, check_type(name, value, (str,), "text"))
    if text is not None and not is_unicode(text):
        raise InvalidArgument(f"{name} is {text!r}, which has characters that are no Unicode text")
    return text


def is_unicode(text: str) -> bool:
    """Whether `text` has no half of a surrogate pair, as Python makes of bytes that are no text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _without_nul(name: str, text: str | None) -> str | None:
    if text is not None and "\0" in text:
        raise InvalidArgument(f"{name} has a NUL character, which no command or variable can hold")
    return text


def check_path(name: str, value: Any) -> str | None:
    path = check_type(name, value, (str, os.PathLike), "a path")
    if path is None:
        return None
    return _without_nul(name, check_type(name, os.fspath(path), (str,), "text"))


def check_seconds(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = math.nan if isinstance(value, (bool, str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise InvalidArgument(f"{name} is {describe(value)}; it must be a number of seconds")
    return number


def check_mapping(name: str, value: Any) -> Mapping[str, Any] | None:
    mapping: Mapping[str, Any] | None = check_type(name, value, (Mapping,), "a dict")
    for key in mapping or ():
        if not isinstance(key, str):
            raise InvalidArgument(f"{name} has the key {describe(key)}; its keys are text")
    return mapping


def check_number(name: str, value: Any, *, least: int | None = None, most: int | None = None) -> int | None:
    """A whole number, or what says it is one (NumPy's)."""
    if value is None:
        return None
    wanted = "a whole number" + (f", at least {least}" if least is not None else "")
    wanted += f", at most {most}" if most is not None else ""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidArgument(f"{name} is {describe(value)}; it must be {wanted}")
    number = int(value.__index__())
    if (least is not None and number < least) or (most is not None and number > most):
        raise InvalidArgument(f"{name} is {number}; it must be {wanted}")
    return number


def warn(text: str) -> None:
    """A PhalanxWarning at the line of the program that called this package; once for each line."""
    level, frame = 1, sys._getframe()
    back: FrameType | None = frame
    while back is not None and back.f_code.co_filename.startswith(_PACKAGE):
        level, back = level + 1, back.f_back
    warnings.warn(text, PhalanxWarning, stacklevel=level)


def near(name: str, names: Iterable[str]) -> str:
    """`; did you mean NAME?`, with the nearest of `names`; empty where none is near."""
    found = difflib.get_close_matches(name, sorted(names), 1)
    return f"; did you mean {found[0]}?" if found else ""


class Keywords:
    """What becomes of keywords that nobody knows.

    The Azure SDKs swallow them, so that a typing error is found on the cluster. Here they are errors, but for
    programs that were written for those SDKs and run unchanged (`phalanx python`), which set `swallow`:
    there they are warnings.
    """

    swallow = False


def refuse_unknown(function: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    """An InvalidArgument for the first keyword that the function does not have, with the nearest that it
    has; a warning for each where they are swallowed.
    """
    names = sorted(known)
    for name in given:
        if name in names:
            continue
        cure = near(name, names)
        if not Keywords.swallow:
            raise InvalidArgument(
                f"{function}() has no keyword {name}" + (cure or f"; it has {', '.join(names)}")
            )
        warn(f"{function}: {name} is ignored, as Azure ML does{cure}")
