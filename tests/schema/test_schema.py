"""The examples in schema/ against schema/job.schema.json: it agrees with the checker, where a schema can."""

import datetime
import json
import pathlib
from typing import Any

import jsonschema
import pytest
import yaml

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "schema"
JOB = json.loads((SCHEMA / "job.schema.json").read_text(encoding="utf-8"))
VALID = sorted((SCHEMA / "valid").glob("*.yml"))
INVALID = sorted((SCHEMA / "invalid").glob("*.yml"))


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
    return [error.message for error in jsonschema.Draft7Validator(JOB).iter_errors(plain(data))]


def header(path: pathlib.Path) -> tuple[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# expect: ") and lines[1].startswith("# schema: "), path
    return lines[0][len("# expect: ") :], lines[1][len("# schema: ") :]


def test_the_schema_is_one() -> None:
    jsonschema.Draft7Validator.check_schema(JOB)


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_valid(path: pathlib.Path) -> None:
    assert errors(path) == []


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_invalid(path: pathlib.Path) -> None:
    expect, schema = header(path)
    assert expect and schema in ("agrees", "beyond")
    if schema == "agrees":
        assert errors(path), "the schema accepts what the checker refuses"
