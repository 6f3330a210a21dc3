"""The virtual environments that hold the frameworks, outside the source tree and kept between runs.

`venv("torch")` is a folder made from requirements/torch.txt when it is first asked for, and again when that
file has changed. It is locked while this process lives: shared to use it, alone to make it, so that a run
neither meets a half-made one nor has one taken away.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

REQUIREMENTS = Path(__file__).parent / "requirements"
PIP = ["install", "--quiet", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]

_locks: list[IO[str]] = []


def root() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("PHALANX_VENVS") or Path(cache) / "phalanx-dev" / "venvs")


def pip_calls(text: str) -> list[list[str]]:
    """The arguments of each call of pip: its options, then its requirements. `#: OPTIONS` begins a call."""
    calls: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("#:"):
            calls.append(line[2:].split())
        elif words := line.split("#")[0].split():
            calls[-1] += words
    return calls


def scripts(text: str) -> list[Path]:
    """`#! SCRIPT`: run in the environment when all requirements are there."""
    return [REQUIREMENTS / line[2:].strip() for line in text.splitlines() if line.startswith("#!")]


def make(folder: Path, text: str) -> None:
    print(f"making {folder}: minutes, the first time", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    for arguments in pip_calls(text):
        done = subprocess.run(
            [folder / "bin" / "pip", *PIP, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"pip install {' '.join(arguments)}\n{done.stdout}{done.stderr}"
    env = os.environ | {"VIRTUAL_ENV": str(folder), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    for script in scripts(text):
        done = subprocess.run(
            ["sh", script], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"


@functools.cache
def venv(name: str) -> Path:
    text = (REQUIREMENTS / f"{name}.txt").read_text()
    sources = [text, *(script.read_text() for script in scripts(text))]
    wanted = hashlib.sha256("".join(sources).encode()).hexdigest()
    folder = root() / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    stamp = folder / ".stamp"

    def ready() -> bool:
        return stamp.exists() and stamp.read_text() == wanted

    lock = open(folder.parent / f"{name}.lock", "w")  # noqa: SIM115 - open while we live
    _locks.append(lock)
    fcntl.flock(lock, fcntl.LOCK_SH)
    while not ready():  # between the two locks another run may come first, with other requirements
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready():
            make(folder, text)  # --clear takes the stamp away first
            stamp.write_text(wanted)
        fcntl.flock(lock, fcntl.LOCK_SH)
    return folder
