"""mpi4py's own tests on two nodes, with each MPI: point to point, collective, one-sided."""

from __future__ import annotations

from conftest import Phalanx

from frameworks.helpers import MINUTES
from frameworks.mpi_programs import mpi4py_tests, mpi_of

MODULES = [
    *("test_comm", "test_comm_inter", "test_group", "test_request", "test_threads", "test_util_pool"),
    *("test_p2p_obj", "test_p2p_obj_matched", "test_p2p_buf", "test_p2p_buf_matched"),
    *("test_cco_obj", "test_cco_obj_inter", "test_cco_buf", "test_cco_vec", "test_cco_ngh_obj"),
]


def run(phalanx: Phalanx, env: dict[str, str], *options: str) -> None:
    main = str(mpi4py_tests() / "main.py")
    command = ["python", main, "--failfast", "--no-builddir", *options]
    launch = ["--name", "tests", "-N", "2", "-n", "2", "--mpi", "--", *command]
    done = phalanx.run("launch", *launch, env=env, timeout=MINUTES)
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(4):
        log = (phalanx.home / f"jobs/tests/user_logs/std_log_process_{rank}.txt").read_text()
        assert "\nOK" in log


def test_mpi4pys_own_tests(phalanx: Phalanx, mpi_env: dict[str, str]) -> None:
    # Open MPI 5 makes intercommunicators from groups by PMIx groups, which Phalanx does not serve.
    run(phalanx, mpi_env, "-x", "CreateFromGroups", *MODULES)


def test_mpi4pys_own_tests_of_one_sided_communication(phalanx: Phalanx, mpi_env: dict[str, str]) -> None:
    options, env = ["test_win", "test_rma"], mpi_env
    if mpi_of(mpi_env) == "openmpi4":  # between nodes over TCP it has that only so
        options, env = ["--no-threads", *options], env | {"OMPI_MCA_osc": "pt2pt,sm"}
    run(phalanx, env, *options)
