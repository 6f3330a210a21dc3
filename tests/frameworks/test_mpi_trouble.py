"""MPI jobs that go wrong: each ends, with a message that says what happened and to which rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Phalanx, eventually
from system.helpers import Job

from frameworks.mpi_programs import HELLO, compiled

FINALIZED = "ended with 0, but without MPI_Finalize"
MPI4PY = "from mpi4py import MPI; world = MPI.COMM_WORLD"


def launch(phalanx: Phalanx, env: dict[str, str], *command: str | Path) -> tuple[int, str, dict[str, Any]]:
    """2 nodes x 2 ranks: exit code, what Phalanx said, and the verdict."""
    options = ["--name", "trouble", "-N", "2", "-n", "2", "--mpi", "--", *map(str, command)]
    done = phalanx.run("launch", *options, env=env)
    return done.returncode, done.stderr, Job(phalanx, "trouble").show()["verdict"]


def python(code: str) -> list[str]:
    return ["python", "-c", code]


def test_mpi_abort_gives_its_code_and_names_the_rank(phalanx: Phalanx, mpi_env: dict[str, str]) -> None:
    code = f"{MPI4PY}; world.Barrier(); world.rank == 2 and world.Abort(3); world.Barrier()"
    exit_code, said, verdict = launch(phalanx, mpi_env, *python(code))
    assert exit_code == 3
    assert verdict["rank"] == 2
    assert "rank 2 (node 1" in said


def test_a_rank_that_ends_without_mpi_finalize_fails_the_job(
    phalanx: Phalanx, mpi_env: dict[str, str]
) -> None:
    code = f"import os; {MPI4PY}; world.Barrier(); world.rank == 1 and os._exit(0); world.Barrier()"
    exit_code, said, verdict = launch(phalanx, mpi_env, *python(code))
    assert exit_code == 1
    assert verdict["rank"] == 1
    assert FINALIZED in said


def test_a_rank_killed_amid_others_is_named_and_not_those_that_abort_by_it(
    phalanx: Phalanx, mpi_env: dict[str, str]
) -> None:
    code = (
        f"import os; {MPI4PY}; world.Barrier(); world.rank == 2 and os.kill(os.getpid(), 9); world.Barrier()"
    )
    exit_code, said, verdict = launch(phalanx, mpi_env, *python(code))
    assert exit_code == 128 + 9
    assert verdict["rank"] == 2
    assert "SIGKILL" in said


@pytest.mark.parametrize("rank", [0, 3])
def test_a_rank_that_ends_before_mpi_init_fails_the_job(
    phalanx: Phalanx, mpi_env: dict[str, str], rank: int
) -> None:
    code = f"import os; os.environ['OMPI_COMM_WORLD_RANK'] == '{rank}' and os._exit(0); {MPI4PY}"
    exit_code, said, verdict = launch(phalanx, mpi_env, *python(code))
    assert exit_code == 1
    assert verdict["rank"] == rank
    assert "without MPI_Init, in which others wait for it" in said


def test_a_whole_node_that_ends_before_mpi_init_fails_the_job(
    phalanx: Phalanx, mpi_env: dict[str, str]
) -> None:
    code = f"import os; os.environ['PHALANX_NODE_RANK'] == '1' and os._exit(0); {MPI4PY}"
    exit_code, said, verdict = launch(phalanx, mpi_env, *python(code))
    assert exit_code == 1
    assert verdict["rank"] == 2
    assert "MPI_Init" in said


def test_a_rank_killed_in_mpi_init_fails_the_job(phalanx: Phalanx, mpi_env: dict[str, str]) -> None:
    """Rank 3 does not come, so that the others are in MPI_Init when it kills rank 2, its neighbour."""
    code = f"""
import os, pathlib, signal, time
rank = os.environ["OMPI_COMM_WORLD_RANK"]
if rank == "2":
    pathlib.Path("pid").write_text(str(os.getpid()))
    pathlib.Path("pid").rename("pid-of-2")
if rank == "3":
    def in_mpi(pid):
        return "libmpi" in pathlib.Path(f"/proc/{{pid}}/maps").read_text()
    while not pathlib.Path("pid-of-2").exists():
        time.sleep(0.01)
    pid = int(pathlib.Path("pid-of-2").read_text())
    while not in_mpi(pid):
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    time.sleep(1000)
{MPI4PY}
"""
    exit_code, said, verdict = launch(phalanx, mpi_env, *python(code))
    assert exit_code == 128 + 9
    assert verdict["rank"] == 2
    assert "SIGKILL" in said


@pytest.mark.parametrize("mpi_env", ["openmpi4", "openmpi5"], indirect=True)
def test_open_mpi_without_libpmix_says_what_to_install(phalanx: Phalanx, mpi_env: dict[str, str]) -> None:
    code = f"{MPI4PY}; print('I am', world.rank, 'of', world.size)"
    env = mpi_env | {"PHALANX_LIBPMIX": "/nowhere/libpmix.so.2"}
    done = phalanx.run("launch", "-N", "2", "-n", "2", "--mpi", "--", *python(code), env=env)
    assert done.returncode != 0
    assert done.stdout.count("I am") <= 1  # not four worlds: only rank 0 of Open MPI 5 may begin alone
    assert "Open MPI found no PMIx server" in done.stderr
    assert "PHALANX_LIBPMIX" in done.stderr


def test_mpich_needs_no_libpmix(phalanx: Phalanx, mpich_env: dict[str, str]) -> None:
    program = compiled(HELLO, "mpich", phalanx.folder)
    env = mpich_env | {"PHALANX_LIBPMIX": "/nowhere/libpmix.so.2"}
    assert launch(phalanx, env, program)[0] == 0


@pytest.mark.parametrize("whose", ["OMPI_COMM_WORLD_RANK", "PHALANX_NODE_RANK"])
@pytest.mark.parametrize("first", ["openmpi5", "mpich"])
def test_two_kinds_of_mpi_in_one_job_end_with_a_message(
    phalanx: Phalanx, openmpi5_env: dict[str, str], first: str, whose: str
) -> None:
    other = "mpich" if first == "openmpi5" else "openmpi5"
    one, two = (compiled(HELLO, mpi, phalanx.folder) for mpi in (first, other))
    script = f'if [ "${whose}" = 0 ]; then exec {one}; else exec {two}; fi'
    exit_code, said, _ = launch(phalanx, openmpi5_env, "sh", "-c", script)
    assert exit_code == 1
    assert "two kinds of MPI" in said


def segments() -> set[str]:
    """What the jobs of this test, and Open MPI outside the folders of jobs, have in shared memory."""
    names = {path.name for path in Path("/dev/shm").iterdir()}
    return {name for name in names if "stays" in name or name.startswith(("vader_segment", "sm_segment"))}


@pytest.mark.parametrize("mpi_env", ["openmpi4", "openmpi5"], indirect=True)
@pytest.mark.parametrize("how", [["cancel", "--kill", "stays"], ["cancel", "stays"]])
def test_nothing_stays_in_shared_memory(phalanx: Phalanx, mpi_env: dict[str, str], how: list[str]) -> None:
    before = segments()
    code = f"{MPI4PY}; import time; world.Barrier(); open(f'in-{{world.rank}}', 'w'); time.sleep(1000)"
    command = ["--name", "stays", "-N", "2", "-n", "2", "--mpi", "--", *python(code)]
    process = phalanx.start("launch", *command, env=mpi_env)
    eventually(lambda: all((phalanx.folder / f"in-{rank}").exists() for rank in range(4)))
    assert segments() > before
    phalanx.run(*how)
    process.communicate(timeout=60)
    eventually(lambda: segments() <= before)
