"""C programs with each MPI, compiled by what its environment brings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from frameworks.venvs import venv

HELLO = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d: sum %d\\n", rank, size, sum);
  return MPI_Finalize();
}
"""


def mpi_of(env: dict[str, str]) -> str:
    """openmpi4, openmpi5 or mpich."""
    return Path(env["VIRTUAL_ENV"]).name


def compiled(source: str, mpi: str, folder: Path) -> Path:
    """The program. Debian's Open MPI 4 comes without a compiler, but with the ABI of Open MPI 5."""
    file = folder / "program.c"
    file.write_text(source)
    program = folder / f"program-{mpi}"
    command = ["mpicc", str(file)]
    path = venv(mpi) / "bin"
    if mpi == "openmpi4":
        command = ["cc", f"-I{venv('openmpi5') / 'include'}", str(file), "-l:libmpi.so.40"]
    env = os.environ | {"PATH": f"{path}:{os.environ['PATH']}"}
    subprocess.run([*command, "-o", str(program)], env=env, check=True)
    return program
