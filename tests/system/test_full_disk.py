"""A full disk stops no training: what could not be kept is told, what was kept is right."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import HARD_TIMEOUT, Phalanx, eventually

from system.helpers import Job, is_root, output_of, python

# Writes many numbered lines, says so, waits until there is room again, and writes once more.
WRITE = """
import os, pathlib, sys, time
here, wait, lines = pathlib.Path(sys.argv[1]), sys.argv[2] == "wait", int(sys.argv[3])
sys.stdout.write("".join(f"line {i:07}\\n" for i in range(lines)))
sys.stdout.flush()
(here / "written").touch()
while wait and not (here / "room").exists():
    time.sleep(0.01)
print("after", flush=True)
(here / ("finished-" + os.environ["RANK"])).touch()
"""
LINES = 700_000  # of 13 bytes: more than the disk takes


def written(lines: int) -> bytes:
    return b"".join(b"line %07d\n" % i for i in range(lines)) + b"after\n"


BALLAST = 2 << 20


@pytest.fixture
def small_disk(phalanx: Phalanx) -> Iterator[Path]:
    """The home on a file system of 6 MB, of which a file takes 2."""
    home = phalanx.home
    home.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m,mode=0700", "tmpfs", str(home)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr}")
    try:
        yield home
    finally:
        eventually(lambda: not phalanx.living(), 30)
        subprocess.run(["umount", str(home)], check=True)


def without(data: bytes, gaps: list[dict[str, int]]) -> bytes:
    """What is left of the data: each gap names its offset in the file as it stands, and its size."""
    kept, at, offset = b"", 0, 0
    for gap in gaps:
        kept += data[at : at + gap["offset"] - offset]
        at += gap["offset"] - offset + gap["bytes"]
        offset = gap["offset"]
    return kept + data[at:]


@is_root
def test_a_gap_is_told_and_the_rest_is_right(phalanx: Phalanx, small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(BALLAST))
    arguments = [str(phalanx.folder), "wait", str(LINES)]
    process = phalanx.start("launch", "--name", "full", "--", *python(WRITE), *arguments)
    job = Job(phalanx, "full")
    try:
        eventually((phalanx.folder / "written").exists, HARD_TIMEOUT)
        assert process.poll() is None
        (small_disk / "ballast").unlink()
        (phalanx.folder / "room").touch()
        output_of(process)
    finally:
        (phalanx.folder / "room").touch()
    assert process.returncode == 0
    gaps = job.events("log_gap")
    assert gaps
    assert all(gap["rank"] == 0 and "space" in gap["reason"] for gap in gaps)
    log = job.log()
    assert len(log) + sum(gap["bytes"] for gap in gaps) == len(written(LINES))
    assert log == without(written(LINES), gaps)
    assert any("bytes of its log were lost" in warning for warning in job.show()["warnings"])


@is_root
@pytest.mark.parametrize("count", [1, 40])
def test_a_disk_that_stays_full_stops_no_rank(phalanx: Phalanx, small_disk: Path, count: int) -> None:
    """Nor does it hide how the job ended, though there is no room for many events."""
    lines = LINES // count
    arguments = [str(phalanx.folder), "go", str(lines)]
    options = ["--name", "full", "-n", str(count)]
    done = phalanx.run("launch", *options, "--", *python(WRITE), *arguments)
    assert len(list(phalanx.folder.glob("finished-*"))) == count
    assert done.returncode == 0, done.stderr
    job = Job(phalanx, "full")
    shown = job.show()
    assert (shown["state"], {rank["exit_code"] for rank in shown["ranks"]}) == ("Completed", {0})
    for rank, path in enumerate(sorted((job.folder / "user_logs").iterdir())):
        gaps = [gap for gap in job.events("log_gap") if gap["rank"] == rank]
        assert path.read_bytes() == without(written(lines), gaps)


@is_root
def test_a_full_home_is_refused_with_its_reason(phalanx: Phalanx, small_disk: Path) -> None:
    filler = (small_disk / "ballast").open("wb", buffering=0)
    with pytest.raises(OSError, match="space"):
        while filler.write(bytes(4096)):
            pass
    filler.close()
    done = phalanx.run("launch", "--name", "full", "--", "touch", "started")
    assert done.returncode == 125
    assert "space" in done.stderr
    assert not (phalanx.folder / "started").exists()


@is_root
def test_code_that_does_not_fit_is_refused_and_leaves_nothing(phalanx: Phalanx, small_disk: Path) -> None:
    code = phalanx.folder / "code"
    code.mkdir()
    (code / "weights").write_bytes(b"w" * (8 << 20))
    file = phalanx.folder / "job.yml"
    file.write_text("environment: azureml:plain@latest\ncode: code\ncommand: touch started\n")
    done = phalanx.run("run", file)
    assert done.returncode == 125
    assert f"code: cannot be copied into {phalanx.home}/jobs ({code}/weights: " in done.stderr
    assert "No space left on device): `df -h` shows the disk, .amlignore " in done.stderr
    assert not phalanx.jobs()
    assert not [path for path in (phalanx.home / "jobs").iterdir() if path.name.startswith(".new")]
