"""What stands in a job's `code` folder beside files: links, pipes, sockets, devices, names of any bytes."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from conftest import Phalanx

JOB = "environment: azureml:plain@latest\ncode: code\ncommand: "


@pytest.fixture
def code(phalanx: Phalanx) -> Path:
    folder = phalanx.folder / "code"
    folder.mkdir()
    (folder / "main.py").write_text("print('here')\n")
    return folder


def run(phalanx: Phalanx, command: str, *args: str) -> subprocess.CompletedProcess[str]:
    file = phalanx.folder / "job.yml"
    file.write_text(JOB + command + "\n")
    return phalanx.run("run", file, *args)


def test_pipes_sockets_and_devices_are_left_out_in_one_line(phalanx: Phalanx, code: Path) -> None:
    os.mkfifo(code / "a\npipe")
    (code / "zeros").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        before = Path.cwd()
        os.chdir(code)  # the name of a socket is short
        server.bind("socket")
        os.chdir(before)
        done = run(phalanx, "ls")
    assert done.returncode == 0, done.stderr
    assert "main.py" in done.stdout.split()
    assert not {"zeros", "socket", "pipe"} & set(done.stdout.split())
    (note,) = [line for line in done.stderr.splitlines() if "left out" in line]
    assert " and 2 more: " in note


def test_links_are_kept_or_followed_so_that_they_lead_to_the_snapshot(phalanx: Phalanx, code: Path) -> None:
    outside = phalanx.folder / "outside"
    outside.mkdir()
    (outside / "words").write_text("outside\n")
    (code / "again.py").symlink_to("main.py")
    (code / "absolute.py").symlink_to(code / "main.py")
    (code / "data").symlink_to("../outside")
    (code / "nothing").symlink_to("no-such-file")
    done = run(
        phalanx,
        '"readlink again.py; cat absolute.py data/words; '
        'test -L absolute.py || test -L data || readlink nothing"',
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "main.py\nprint('here')\noutside\nno-such-file\n"
    assert "note: code: 'nothing' is a link to nothing\n" in done.stderr


@pytest.mark.parametrize("name", ["outputs", "logs"])
def test_what_a_job_writes_through_a_link_is_its_own(phalanx: Phalanx, code: Path, name: str) -> None:
    """As it is brought back from nodes: by its name, as no link is."""
    (code / "results").mkdir()
    (code / name).symlink_to("results")
    done = run(phalanx, f"mkdir -p {name} && echo made > {name}/m.bin", "--name", "linked")
    assert done.returncode == 0, done.stderr
    left = phalanx.home / "jobs/linked/nodes/0/wd" / name
    assert not left.is_symlink()
    assert (left / "m.bin").read_text() == "made\n"
    assert not list((code / "results").iterdir())


def test_a_large_folder_is_said_while_it_is_copied(phalanx: Phalanx, code: Path) -> None:
    """A gigabyte that is a hole: it takes no time, and only its size is large."""
    with (code / "weights").open("wb") as file:
        os.truncate(file.fileno(), 1_000_000_000)
    done = run(phalanx, "stat -c %s weights")
    assert done.stdout == "1000000000\n", done.stderr
    assert "code has more than 1 GB or 100,000 files; 'weights' is being copied. .amlignore " in done.stderr
    quiet = run(phalanx, "stat -c %s weights", "--quiet")
    assert quiet.stderr == ""


def test_an_unreadable_file_refuses_the_job_with_the_cure(phalanx: Phalanx, code: Path) -> None:
    (code / "kept").symlink_to("/proc/self/mem")  # a file whose content cannot be read from its start
    done = run(phalanx, "echo started")
    assert done.returncode == 125
    assert "/code/kept: " in done.stderr
    assert not phalanx.jobs()
    (code / ".amlignore").write_text("kept\n")
    assert run(phalanx, "echo started").stdout == "started\n"


def test_a_name_of_any_bytes_arrives(phalanx: Phalanx, code: Path) -> None:
    name = b"odd\n\x1b[31m\xff"
    (Path(os.fsdecode(bytes(code) + b"/" + name))).write_text("odd\n")
    done = run(phalanx, '"cat odd*"')
    assert done.stdout == "odd\n", done.stderr
