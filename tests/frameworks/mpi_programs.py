"""C programs with each MPI, compiled by what its environment brings; and mpi4py's own tests."""

from __future__ import annotations

import fcntl
import functools
import os
import subprocess
import tempfile
from pathlib import Path

from frameworks.venvs import root, venv

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

PRINT_ENVIRONMENT = """
#include <mpi.h>
#include <stdio.h>
extern char** environ;
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (char** line = environ; *line; ++line) puts(*line);
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


@functools.cache
def mpi4py_tests() -> Path:
    """The folder of mpi4py's own tests, which only its sources have; kept beside the environments."""
    python = venv("mpich") / "bin" / "python"
    ask = "import importlib.metadata; print(importlib.metadata.version('mpi4py'))"
    version = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()
    folder = root() / f"mpi4py-{version}"
    with open(root() / "mpi4py.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=root()) as scratch:
                options = ["--quiet", "--no-deps", "--no-binary", "mpi4py", f"mpi4py=={version}"]
                subprocess.run([python, "-m", "pip", "download", *options], cwd=scratch, check=True)
                archive = Path(scratch) / f"mpi4py-{version}.tar.gz"
                subprocess.run(["tar", "-xf", archive, "-C", scratch], check=True)
                (Path(scratch) / folder.name).rename(folder)
    return folder / "test"
