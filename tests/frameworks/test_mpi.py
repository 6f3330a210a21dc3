"""MPI over two nodes, with each MPI: mpi4py trains, C programs run, and every process has its variables."""

from __future__ import annotations

import pytest
from conftest import Phalanx
from system.helpers import read_environment, shell

from frameworks.helpers import EXAMPLES, completed, facts, output
from frameworks.mpi_programs import HELLO, PRINT_ENVIRONMENT, compiled, mpi_of

JOBS = EXAMPLES / "mpi"
LIBRARIES = {"openmpi4": "Open MPI v4.", "openmpi5": "Open MPI v5.", "mpich": "MPICH"}


def library_of(env: dict[str, str]) -> str:
    return LIBRARIES[mpi_of(env)]


def test_mpi4py_trains_on_two_nodes(phalanx: Phalanx, mpi_env: dict[str, str]) -> None:
    job = completed(phalanx, JOBS / "job.yml", mpi_env)
    ranks = sorted(facts(job), key=lambda rank: rank["rank"])
    assert [rank["rank"] for rank in ranks] == [0, 1, 2, 3]
    assert all(rank["size"] == 4 and rank["sum_of_ranks"] == 6 for rank in ranks)
    assert [rank["neighbours"] for rank in ranks] == [[0, 1], [0, 1], [2, 3], [2, 3]]  # one node is not two
    assert all(rank["library"].startswith(library_of(mpi_env)) for rank in ranks)
    assert all(rank["weights"] == ranks[0]["weights"] for rank in ranks)
    plane = output(job, "model/plane.json")
    assert plane["weights"] == pytest.approx([2, -1, 0.5, 3], abs=0.03)
    assert plane["losses"][-1] == pytest.approx(0.01, rel=0.2)  # what the noise leaves


def test_a_process_per_node_starts_its_own_workers(phalanx: Phalanx, mpi_env: dict[str, str]) -> None:
    ranks = facts(completed(phalanx, JOBS / "per-node.yml", mpi_env))
    assert sorted(rank["rank"] for rank in ranks) == [0, 1]
    assert all(rank["size"] == 2 and rank["pi"] == pytest.approx(3.14159265358979) for rank in ranks)


def test_every_process_has_the_variables_of_mpirun_without_mpi(phalanx: Phalanx) -> None:
    command = ["-N", "2", "-n", "2", "--mpi", "--", *shell("env -0 > env.$OMPI_COMM_WORLD_RANK")]
    assert phalanx.run("launch", *command).returncode == 0
    for rank in range(4):
        env = read_environment(phalanx.folder / f"env.{rank}")
        assert env["OMPI_COMM_WORLD_SIZE"] == "4"
        assert env["OMPI_COMM_WORLD_LOCAL_RANK"] == str(rank % 2)
        assert env["OMPI_COMM_WORLD_LOCAL_SIZE"] == "2"
        address, port = env["AZ_BATCH_MASTER_NODE"].split(":")
        assert (address, env["AZ_BATCHAI_MPI_MASTER_NODE"]) == ("127.0.0.1", "127.0.0.1")
        assert int(port) > 0
        assert (
            not {"RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"} & env.keys()
        )


def test_a_c_program(phalanx: Phalanx, mpi_env: dict[str, str]) -> None:
    program = compiled(HELLO, mpi_of(mpi_env), phalanx.folder)
    done = phalanx.run("launch", "-N", "2", "-n", "2", "--mpi", "--", program, env=mpi_env)
    assert done.returncode == 0, done.stderr
    assert all(f"rank {rank} of 4: sum 6" in done.stdout for rank in range(4))


def test_the_shape_of_the_machine_is_found_once_for_all_ranks(phalanx: Phalanx) -> None:
    look = 'head -c 40 "$OMPI_MCA_btl_sm_backing_directory/topology.xml"'
    done = phalanx.run("launch", "-n", "2", "--mpi", "--", *shell(look))
    assert "[ranks 0,1] <?xml" in done.stdout, done.stdout + done.stderr


def test_a_program_gets_the_protocol_of_the_mpi_it_was_linked_with(
    phalanx: Phalanx, mpi_env: dict[str, str]
) -> None:
    # The program prints its environment: of an Open MPI, nothing of PMI-1; of MPICH, nothing of PMIx.
    program = compiled(PRINT_ENVIRONMENT, mpi_of(mpi_env), phalanx.folder)
    done = phalanx.run("launch", "-n", "2", "--mpi", "--", program, env=mpi_env)
    assert done.returncode == 0, done.stderr
    mpich = mpi_of(mpi_env) == "mpich"
    assert ("PMI_FD=" in done.stdout) == mpich
    assert ("PMIX_SERVER_URI2=" in done.stdout) == (not mpich)
