"""Every byte of every process is kept, in order, in a file of its own."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest
from conftest import Phalanx

from system.helpers import Job, python, shell

EVERY_BYTE = bytes(range(256)) * 300


def launched(phalanx: Phalanx, words: list[str], per_node: int = 1) -> Job:
    done = phalanx.run("launch", "--name", "said", "-n", str(per_node), "--", *words, errors="replace")
    assert done.returncode == 0, done.stderr
    return Job(phalanx, "said")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no newline",
        b"\n\n\n",
        EVERY_BYTE,
        b"10%\r20%\r100%\r\ndone\r",
        b"\x1b[31mred\x1b[0m\n",
        b"\xff\xfe\n",
    ],
    ids=["nothing", "no newline", "newlines", "binary", "progress", "colours", "no text"],
)
def test_a_log_has_the_bytes_that_were_written(phalanx: Phalanx, data: bytes) -> None:
    (phalanx.folder / "data").write_bytes(data)
    job = launched(phalanx, ["cat", "data"])
    assert job.log() == data


def test_in_a_file_bytes_pass_as_they_are(phalanx: Phalanx) -> None:
    data = EVERY_BYTE + b"x" * 200_000  # a long line, and no newline at its end
    (phalanx.folder / "data").write_bytes(data)
    with (phalanx.folder / "shown").open("wb") as shown:
        phalanx.run("launch", "-q", "--", "cat", "data", stdout=shown, capture_output=False)
    assert (phalanx.folder / "shown").read_bytes() == data


def test_both_streams_are_one_in_order(phalanx: Phalanx) -> None:
    words = "for i in $(seq 500); do echo out $i; echo err $i >&2; done"
    lines = launched(phalanx, shell(words)).log().decode().splitlines()
    assert lines == [f"{stream} {i}" for i in range(1, 501) for stream in ("out", "err")]


def test_the_streams_can_be_opened_again(phalanx: Phalanx) -> None:
    words = "echo a > /dev/stdout; echo b > /dev/stderr; echo c >> /proc/self/fd/2; echo d"
    assert launched(phalanx, shell(words)).log() == b"a\nb\nc\nd\n"


@pytest.mark.parametrize(
    ("count", "names"),
    [
        (1, ["std_log.txt"]),
        (2, ["std_log_process_0.txt", "std_log_process_1.txt"]),
        (12, [f"std_log_process_{rank:02}.txt" for rank in range(12)]),
    ],
)
def test_logs_are_named_as_azure_ml_names_them(phalanx: Phalanx, count: int, names: list[str]) -> None:
    job = launched(phalanx, shell("echo $RANK"), count)
    files = sorted((job.folder / "user_logs").iterdir())
    assert [path.name for path in files] == names
    assert [path.read_text() for path in files] == [f"{rank}\n" for rank in range(count)]


# Lines of random hexadecimal digits, and the sum of all that was written.
FLOOD = """
import hashlib, os, random, sys
rank, left, total = os.environ["RANK"], 13_000_000, hashlib.sha256()
source = random.Random(rank)
while left > 0:
    block = source.randbytes(source.randint(1, 60_000)).hex().encode() + b"\\n" * source.randint(0, 2)
    total.update(block)
    left -= len(block)
    sys.stdout.buffer.write(block)
sys.stdout.buffer.flush()
open("sum-" + rank, "w").write(total.hexdigest())
"""


def sums(folder: Path) -> dict[int, str]:
    return {int(path.name[4:]): path.read_text() for path in folder.glob("sum-*")}


def kept(job: Job, count: int) -> dict[int, str]:
    logs = {rank: job.log(f"std_log_process_{rank}.txt") for rank in range(count)}
    return {rank: hashlib.sha256(log).hexdigest() for rank, log in logs.items()}


def test_a_flood_from_several_ranks_is_kept_whole(phalanx: Phalanx) -> None:
    options = ["--name", "flood", "-N", "2", "-n", "2"]
    done = phalanx.run(
        "launch", *options, "--", *python(FLOOD), stdout=subprocess.DEVNULL, capture_output=False
    )
    assert done.returncode == 0
    assert len(sums(phalanx.folder)) == 4
    assert kept(Job(phalanx, "flood"), 4) == sums(phalanx.folder)


def test_a_reader_that_reads_nothing_blocks_no_rank(phalanx: Phalanx) -> None:
    """The command line's own output goes into a pipe that nobody reads until the job has ended."""
    process = phalanx.start("launch", "--name", "flood", "-n", "2", "--", *python(FLOOD))
    try:
        job = Job(phalanx, "flood")
        assert job.ended(90)["state"] == "Completed"
        assert kept(job, 2) == sums(phalanx.folder)
    finally:
        process.kill()
        process.communicate()


def test_output_of_children_after_the_ranks_end_is_kept_until_it_is_killed(phalanx: Phalanx) -> None:
    words = "echo first; (sleep 0.1; echo late) & wait; echo last"
    assert launched(phalanx, shell(words)).log() == b"first\nlate\nlast\n"


def test_the_verdict_has_the_last_lines(phalanx: Phalanx) -> None:
    words = "seq 100; printf 'no newline at the end'; exit 1"
    phalanx.run("launch", "--name", "said", "--", *shell(words))
    lines = Job(phalanx, "said").show()["verdict"]["last_lines"]
    assert lines[-3:] == ["99", "100", "no newline at the end"]
    assert len(lines) <= 20


def test_lines_of_several_ranks_name_their_rank(phalanx: Phalanx) -> None:
    done = phalanx.run(
        "launch", "-q", "-N", "2", "-n", "2", "--", *shell("echo mine $RANK; echo same for all")
    )
    lines = done.stdout.splitlines()
    assert {f"[{rank // 2}/{rank}] mine {rank}" for rank in range(4)} <= set(lines)
    alone = phalanx.run("launch", "-q", "-n", "2", "--rank", "1", "--", *shell("echo mine $RANK"))
    assert alone.stdout == "mine 1\n"
