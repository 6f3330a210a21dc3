"""docs/frameworks.md shows the job files as they are run."""

from __future__ import annotations

import re
import textwrap

import pytest
import yaml
from conftest import TOP

DOCUMENT = (TOP / "docs/frameworks.md").read_text()
SHOWN = dict(re.findall(r"^`(examples/\S+\.yml)`:\n\n((?:    .*\n)+)", DOCUMENT, re.MULTILINE))
LEFT_OUT = {"$schema", "type", "display_name", "experiment_name", "description"}


@pytest.mark.parametrize("file", SHOWN)
def test_a_job_file_is_shown_as_it_is(file: str) -> None:
    job = yaml.safe_load((TOP / file).read_text())
    shown = yaml.safe_load(textwrap.dedent(SHOWN[file]))
    assert shown == {key: value for key, value in job.items() if key not in LEFT_OUT}
