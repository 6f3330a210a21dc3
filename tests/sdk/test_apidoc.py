"""The pages of the Python API are those that the docstrings make."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "apidoc.py"


def test_the_pages_of_the_api_are_made_from_the_docstrings() -> None:
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
