#!/usr/bin/env python3
"""apidoc - writes the pages of the Python API from the docstrings. `--check` only says which pages are stale.

It reads the sources and imports nothing of them. What is public: the names in a module's `__all__`, else the
classes and functions that it defines; of a class its public methods, also those of bases that have no entry
of their own.
"""

from __future__ import annotations

import argparse
import ast
import functools
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
DOCS = TOP / "docs"
MADE = "<!-- Made by tools/apidoc.py from the docstrings in python/phalanx: change it there. -->"

CORE = ("runconfig", "conda_dependencies", "compute", "data", "exceptions", "authentication", "widgets")
ML = ("entities", "constants", "exceptions")
# Of modules that are not imported by their name.
TITLES = {
    "phalanx.ml._operations": "`MLClient.jobs`",
    "phalanx.ml._assets_operations": "`MLClient.compute`, `.environments`, `.data`",
}
PAGES = {
    "python-api.md": ("The Python API", ["phalanx"]),
    "python-api-v2.md": (
        "The Python API: names of the Azure ML SDK v2",
        ["phalanx.ml", *(f"phalanx.ml.{name}" for name in ("_operations", "_assets_operations", *ML))],
    ),
    "python-api-v1.md": (
        "The Python API: names of the Azure ML SDK v1",
        ["phalanx.core", *(f"phalanx.core.{name}" for name in CORE)],
    ),
}

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Entry:
    """A definition, and the module it stands in."""

    module: str
    node: Definition


def file_of(module: str) -> Path | None:
    path = TOP / "python" / Path(*module.split("."))
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


@functools.cache
def tree_of(module: str) -> ast.Module:
    file = file_of(module)
    if file is None:
        raise SystemExit(f"apidoc: there is no module {module}")
    return ast.parse(file.read_text("utf-8"), str(file))


def absolute(module: str, node: ast.ImportFrom) -> str:
    """The module that `from X import ...` in `module` means."""
    if not node.level:
        return node.module or ""
    file = file_of(module)
    parts = module.split(".") if file is not None and file.name == "__init__.py" else module.split(".")[:-1]
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, *([node.module] if node.module else [])])


def find(module: str, name: str) -> Entry | None:
    """The class or function that `name` is in `module`, wherever it is defined in the package."""
    for node in tree_of(module).body:
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)) and node.name == name:
            return Entry(module, node)
        if isinstance(node, ast.ImportFrom):
            for imported in node.names:
                source = absolute(module, node)
                is_it = (imported.asname or imported.name) == name and source != module
                if is_it and file_of(source) is not None:
                    return find(source, imported.name)
    return None


def public_names(module: str) -> list[str]:
    body = tree_of(module).body
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return [str(name) for name in ast.literal_eval(node.value)]  # type: ignore[attr-defined]
    kinds = (ast.ClassDef, *FUNCTIONS)
    return [node.name for node in body if isinstance(node, kinds) and not node.name.startswith("_")]


def docstring(node: ast.AST, where: str) -> str:
    found = ast.get_docstring(node)  # type: ignore[arg-type]
    if not found:
        raise SystemExit(f"apidoc: {where} has no docstring")
    return found


def is_property(node: ast.AST) -> bool:
    names = [ast.unparse(item) for item in getattr(node, "decorator_list", [])]
    return any(name in ("property", "functools.cached_property") for name in names)


def is_setter(node: ast.AST) -> bool:
    return any(ast.unparse(item).endswith(".setter") for item in getattr(node, "decorator_list", []))


def signature(name: str, function: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool) -> str:
    """`name(parameters) -> result`, without `self`, and without parameters that begin with an underscore."""
    args = function.args
    static = any(ast.unparse(item) == "staticmethod" for item in function.decorator_list)
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    pairs = list(zip(positional, defaults, strict=True))[1 if method and not static else 0 :]
    words = [written(arg, default) for arg, default in pairs if not arg.arg.startswith("_")]
    if args.vararg and not args.vararg.arg.startswith("_"):
        words.append(f"*{args.vararg.arg}")
    elif args.kwonlyargs:
        words.append("*")
    words += [written(arg, default) for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg and args.kwarg.arg not in ("_", "__", "unknown", "kwargs", "more"):
        words.append(f"**{args.kwarg.arg}")
    result = f" -> {ast.unparse(function.returns)}" if function.returns is not None else ""
    result = "" if result == " -> None" else result
    kind = "async " if isinstance(function, ast.AsyncFunctionDef) else ""
    return f"{kind}{name}({', '.join(words)}){result}"


def written(arg: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(arg.annotation)}" if arg.annotation is not None else ""
    if default is None:
        return f"{arg.arg}{kind}"
    return f"{arg.arg}{kind} = {ast.unparse(default)}" if kind else f"{arg.arg}={ast.unparse(default)}"


def members(entry: Entry, known: set[str]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The public methods and properties of a class, its own first; each name once."""
    seen: set[str] = set()
    line = [entry]
    while line:
        now = line.pop(0)
        assert isinstance(now.node, ast.ClassDef)
        for node in now.node.body:
            if isinstance(node, FUNCTIONS) and not is_setter(node) and node.name not in seen:
                seen.add(node.name)
                if not node.name.startswith("_"):
                    yield node
        for base in now.node.bases:
            found = find(now.module, ast.unparse(base)) if isinstance(base, ast.Name) else None
            if found is not None and isinstance(found.node, ast.ClassDef) and found.node.name not in known:
                line.append(found)


def constructor(entry: Entry) -> str:
    """How it is made: by its `__init__`, that of its bases, or of its fields where it is a dataclass."""
    assert isinstance(entry.node, ast.ClassDef)
    name, body = entry.node.name, entry.node.body
    for node in body:
        if isinstance(node, FUNCTIONS) and node.name == "__init__":
            return signature(name, node, method=True).replace(" -> None", "")
    if any("dataclass" in ast.unparse(item) for item in entry.node.decorator_list):
        fields = [
            node for node in body if isinstance(node, ast.AnnAssign) and "ClassVar" not in ast.unparse(node)
        ]
        return f"{name}({', '.join(ast.unparse(field) for field in fields)})"
    for base in entry.node.bases:
        found = find(entry.module, ast.unparse(base)) if isinstance(base, ast.Name) else None
        if found is not None and isinstance(found.node, ast.ClassDef):
            return constructor(found).replace(found.node.name, name, 1)
    return name


def constants(node: ast.ClassDef) -> list[str]:
    """`NAME = value` of a class that only has these."""
    return [
        ast.unparse(item)
        for item in node.body
        if isinstance(item, ast.Assign)
        and all(isinstance(name, ast.Name) for name in item.targets)
        and ast.unparse(item.targets[0]).isupper()
    ]


def described(entry: Entry, known: set[str]) -> Iterator[str]:
    node = entry.node
    where = f"{entry.module}.{node.name}"
    yield f"### {node.name}\n"
    if isinstance(node, FUNCTIONS):
        yield f"    {signature(node.name, node, method=False)}\n"
        yield docstring(node, where) + "\n"
        return
    assert isinstance(node, ast.ClassDef)
    yield f"    {constructor(entry)}\n"
    yield docstring(node, where) + "\n"
    values = constants(node)
    if values:
        yield "".join(f"    {value}\n" for value in values)
    for member in members(entry, known):
        text = ast.get_docstring(member) or ""  # None: the class's own text says what it is
        shown = member.name if is_property(member) else signature(member.name, member, method=True)
        returns = (
            f": {ast.unparse(member.returns)}" if is_property(member) and member.returns is not None else ""
        )
        said = inspect.cleandoc(text).replace("\n", "\n  ")
        yield f"- `{shown}{returns}`\n" + (f"\n  {said}\n" if said else "")


def page(title: str, modules: list[str]) -> str:
    """The text of a page."""
    known = {name for module in modules for name in public_names(module)}
    parts, done = [f"# {title}\n", MADE + "\n"], set[tuple[str, str]]()
    for module in modules:
        parts.append(f"## {TITLES.get(module, f'`{module}`')}\n")
        parts.append(docstring(tree_of(module), module) + "\n")
        for name in public_names(module):
            entry = find(module, name)
            if entry is None or (entry.module, entry.node.name) in done:
                continue  # a constant, a module, or described above
            done.add((entry.module, entry.node.name))
            parts += described(entry, known)
    text = "\n".join(parts)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where a page is stale")
    check = parser.parse_args().check
    stale = 0
    for name, (title, modules) in PAGES.items():
        text, file = page(title, modules), DOCS / name
        if file.is_file() and file.read_text("utf-8") == text:
            continue
        stale = 1
        if check:
            print(f"docs/{name} is stale: python3 tools/apidoc.py writes it", file=sys.stderr)
        else:
            file.write_text(text, "utf-8")
            print(f"wrote docs/{name}")
    return stale if check else 0


if __name__ == "__main__":
    sys.exit(main())
