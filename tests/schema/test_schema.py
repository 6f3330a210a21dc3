"""The examples in schema/ against its schemas: they agree with the checker, where a schema can."""

import datetime
import json
import pathlib
from typing import Any

import jsonschema
import pytest
import yaml

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "schema"
OF_FOLDER = {
    folder: json.loads((SCHEMA / name).read_text(encoding="utf-8"))
    for folder, name in (
        (SCHEMA, "job.schema.json"),
        (SCHEMA / "computes", "computes.schema.json"),
        (SCHEMA / "clusters", "cluster.schema.json"),
    )
}
VALID = sorted(path for folder in OF_FOLDER for path in (folder / "valid").glob("*.yml"))
INVALID = sorted(path for folder in OF_FOLDER for path in (folder / "invalid").glob("*.yml"))


def plain(value: Any) -> Any:
    """YAML's dates are text in JSON."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, (datetime.date, datetime.datetime)) else value


def errors(path: pathlib.Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    data = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    validator = jsonschema.Draft7Validator(OF_FOLDER[path.parent.parent])
    return [error.message for error in validator.iter_errors(plain(data))]


def header(path: pathlib.Path) -> tuple[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# expect: ") and lines[1].startswith("# schema: "), path
    return lines[0][len("# expect: ") :], lines[1][len("# schema: ") :]


def name(path: pathlib.Path) -> str:
    return str(path.relative_to(SCHEMA).with_suffix(""))


def test_the_schemas_are_schemas() -> None:
    for schema in OF_FOLDER.values():
        jsonschema.Draft7Validator.check_schema(schema)


@pytest.mark.parametrize("path", VALID, ids=name)
def test_valid(path: pathlib.Path) -> None:
    assert errors(path) == []


@pytest.mark.parametrize("path", INVALID, ids=name)
def test_invalid(path: pathlib.Path) -> None:
    expect, schema = header(path)
    assert expect and schema in ("agrees", "beyond")
    if schema == "agrees":
        assert errors(path), "the schema accepts what the checker refuses"
