"""`python -m phalanx._python SCRIPT [ARGS]`: runs a program that was written for Azure ML, as it is.

The names `azure.ai.ml`, `azureml.core` and `azure.identity` mean this package while it runs. Everything else
is as with `python SCRIPT ARGS`: `sys.argv`, `__main__`, `__file__`, the folder that modules come from first,
tracebacks and exit codes. `-m MODULE`, `-c COMMAND` and `-` (standard input, also without a SCRIPT) are as
with python too.
"""

from __future__ import annotations

import linecache
import marshal
import os
import pkgutil
import runpy
import sys
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import NoReturn

from . import _hook, _spawn

USAGE = "usage: phalanx python [SCRIPT | -m MODULE | -c COMMAND | -] [ARGS]"


def _own_main() -> ModuleType:
    """A new `__main__`, so that nothing of this module is seen by the program."""
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    return module


def _without_own(error: BaseException) -> None:
    """Takes the frames of this module off its traceback: the script comes first, as with python."""
    own, trace = (__file__, runpy.__file__), error.__traceback__
    while trace is not None and (
        trace.tb_frame.f_code.co_filename in own or "runpy" in trace.tb_frame.f_code.co_filename
    ):
        trace = trace.tb_next
    error.__traceback__ = trace


def _die_of(error: BaseException) -> NoReturn:
    """Prints the traceback as python does and ends with code 1."""
    _without_own(error)
    _hook.explain(error)
    sys.excepthook(type(error), error, error.__traceback__)
    sys.exit(1)


def _show_as_python() -> None:
    """What is raised through this module until python itself prints it (a Ctrl-C, whose end is python's
    to make) is printed without its frames.
    """
    show = sys.excepthook

    def shown(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        _without_own(error)
        show(kind, error, error.__traceback__)

    sys.excepthook = shown


def _compiled(source: bytes | str, name: str) -> CodeType:
    if isinstance(source, str) and name == "<string>" and sys.version_info >= (3, 13):  # tracebacks show it
        linecache.cache[name] = (len(source), None, [f"{line}\n" for line in source.splitlines()], name)
    return compile(source, name, "exec", dont_inherit=True)


def _script(path: str) -> None:
    """As `python PATH`: a file, or a folder or archive with `__main__.py` in it."""
    whole = os.path.abspath(path)  # noqa: PTH100 - a link stays a link
    if pkgutil.get_importer(whole) is not None:
        sys.path[0] = whole
        _own_main()
        runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]  # as python does
        return
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        said = f"can't open file {whole!r}: [Errno {error.errno}] {error.strerror}"
        print(f"{sys.executable}: {said}", file=sys.stderr)
        sys.exit(2)
    sys.path[0] = os.path.dirname(os.path.realpath(path))  # noqa: PTH120
    module = _own_main()
    module.__file__ = whole
    module.__dict__["__cached__"] = None
    bytecode = path.endswith(".pyc") or source[:2] == MAGIC_NUMBER[:2]
    exec(_loaded(source) if bytecode else _compiled(source, whole), module.__dict__)


def _loaded(bytecode: bytes) -> CodeType:
    """The code of a `.pyc` file, whatever its name: after 16 bytes, which name its Python."""
    if bytecode[: len(MAGIC_NUMBER)] != MAGIC_NUMBER:
        raise RuntimeError("Bad magic number in .pyc file")
    code = marshal.loads(bytecode[16:])
    if not isinstance(code, CodeType):
        raise RuntimeError("Bad code object in .pyc file")
    return code


def _standard_input() -> None:
    if sys.stdin.isatty():
        import code

        code.interact(local=_own_main().__dict__, exitmsg="")
    else:
        exec(_compiled(sys.stdin.buffer.read(), "<stdin>"), _own_main().__dict__)


def run(words: list[str]) -> None:
    """Runs what `words` name, with all after it as its arguments."""
    kind = words[0] if words else "-"
    if kind in ("-m", "-c") and len(words) < 2:
        print(f"Argument expected for the {kind} option\n{USAGE}", file=sys.stderr)
        sys.exit(2)
    if kind == "-m":
        sys.argv = words[1:]
        sys.path[0] = str(Path.cwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *words[2:]]
        sys.path[0] = ""
        exec(_compiled(words[1], "<string>"), _own_main().__dict__)
    elif kind == "-":
        sys.argv = ["-" if words else "", *words[1:]]
        sys.path[0] = ""
        _standard_input()
    elif kind.startswith("-"):
        print(f"unknown option {kind}\n{USAGE}", file=sys.stderr)
        sys.exit(2)
    else:
        sys.argv = list(words)
        _script(kind)


def main() -> None:
    """The command."""
    _spawn.install()
    try:
        run(sys.argv[1:])
    except SystemExit:
        raise
    except KeyboardInterrupt:
        _show_as_python()
        raise
    except BaseException as error:
        _die_of(error)


if __name__ == "__main__":
    main()
