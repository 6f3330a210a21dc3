"""What a process sees: its environment, its folder, its arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Phalanx

from system.helpers import python, read_environment

ENV = ["--", "sh", "-c", "env -0 > $PHALANX_RANK.env"]


def environments(folder: Path) -> list[dict[str, str]]:
    files = sorted(folder.glob("*.env"), key=lambda path: int(path.stem))
    return [read_environment(path) for path in files]


@pytest.mark.parametrize(("nodes", "per_node"), [(1, 1), (1, 3), (2, 1), (2, 2), (3, 4)])
def test_every_process_knows_its_place(phalanx: Phalanx, nodes: int, per_node: int) -> None:
    done = phalanx.run("launch", "--name", "place", "-N", str(nodes), "-n", str(per_node), *ENV)
    assert done.returncode == 0, done.stderr
    found = environments(phalanx.folder)
    world = nodes * per_node
    assert len(found) == world
    for rank, env in enumerate(found):
        node, local_rank = divmod(rank, per_node)
        expected = {
            "RANK": rank,
            "LOCAL_RANK": local_rank,
            "WORLD_SIZE": world,
            "LOCAL_WORLD_SIZE": per_node,
            "NODE_RANK": node,
            "GROUP_RANK": node,
            "GROUP_WORLD_SIZE": nodes,
            "ROLE_RANK": rank,
            "ROLE_WORLD_SIZE": world,
            "PHALANX_RANK": rank,
            "PHALANX_LOCAL_RANK": local_rank,
            "PHALANX_WORLD_SIZE": world,
            "PHALANX_NODE_RANK": node,
            "PHALANX_NODE_COUNT": nodes,
            "PHALANX_JOB": "place",
            "TORCHELASTIC_RUN_ID": "place",
            "MASTER_ADDR": "127.0.0.1",
            "PYTHONUNBUFFERED": 1,
        }
        assert {name: env.get(name) for name in expected} == {k: str(v) for k, v in expected.items()}
    assert len({env["MASTER_PORT"] for env in found}) == 1
    assert int(found[0]["MASTER_PORT"]) > 1024


def test_azure_ml_names_are_for_job_files_only(phalanx: Phalanx) -> None:
    phalanx.run("launch", *ENV)
    (env,) = environments(phalanx.folder)
    assert not [name for name in env if name.startswith(("AZUREML_", "AZURE_ML_"))]


FOREIGN = {
    "RANK": "17",
    "WORLD_SIZE": "99",
    "LOCAL_RANK": "5",
    "MASTER_ADDR": "192.0.2.1",
    "MASTER_PORT": "1",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "3",
    "SLURM_NTASKS": "8",
    "SLURM_STEP_ID": "0",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "8",
    "PMI_RANK": "3",
    "PMIX_RANK": "3",
    "TF_CONFIG": "{}",
    "HOROVOD_RANK": "3",
    "PET_NPROC_PER_NODE": "9",
    "PHALANX_RANK": "12",
    "PHALANX_NODE_RANK": "12",
}


def test_another_launchers_identity_does_not_reach_a_process(phalanx: Phalanx) -> None:
    kept = {"SLURM_JOB_ID": "4711", "MY_SETTING": "ä b\n=c", "OMP_NUM_THREADS": "7"}
    phalanx.run("launch", "-n", "2", *ENV, env=FOREIGN | kept)
    for rank, env in enumerate(environments(phalanx.folder)):
        ours = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
        ours |= {"PHALANX_RANK", "PHALANX_NODE_RANK"}
        assert set(FOREIGN) & set(env) == ours
        assert (env["RANK"], env["WORLD_SIZE"], env["PHALANX_RANK"]) == (str(rank), "2", str(rank))
        assert {name: env[name] for name in kept} == kept


def test_a_users_own_variable_wins(phalanx: Phalanx) -> None:
    env = {"COLOUR": "red"}
    options = ["--env", "COLOUR=blue=green", "--env", "OMP_NUM_THREADS=3", "--env", "EMPTY="]
    phalanx.run("launch", *options, *ENV, env=env)
    (seen,) = environments(phalanx.folder)
    assert (seen["COLOUR"], seen["OMP_NUM_THREADS"], seen["EMPTY"]) == ("blue=green", "3", "")


@pytest.mark.parametrize("name", ["RANK", "WORLD_SIZE", "MASTER_PORT", "OMPI_COMM_WORLD_RANK"])
def test_an_identity_of_ones_own_is_refused(phalanx: Phalanx, name: str) -> None:
    done = phalanx.run("launch", "--env", f"{name}=3", "--", "true")
    assert done.returncode == 125
    assert name in done.stderr
    assert not phalanx.jobs()


def test_processes_run_where_the_caller_is(phalanx: Phalanx) -> None:
    folder = phalanx.folder / "with space"
    folder.mkdir()
    (folder / "here").touch()
    command = ["--", "sh", "-c", "test -e here && pwd -P > where-$RANK"]
    assert phalanx.run("launch", "-N", "2", *command, cwd=folder).returncode == 0
    for rank in (0, 1):
        assert (folder / f"where-{rank}").read_text() == f"{folder.resolve()}\n"


ARGUMENTS = [
    "",
    " ",
    "a b",
    "'",
    '"',
    "$HOME",
    "${{inputs.x}}",
    "`id`",
    "*",
    "\\",
    "\n",
    "--",
    "-n",
    "8",
    "ü",
    "a=b",
]


@pytest.mark.parametrize("separator", [["--"], []])
def test_arguments_arrive_untouched(phalanx: Phalanx, separator: list[str]) -> None:
    code = "import json, sys; json.dump(sys.argv[1:], open('arguments', 'w'))"
    done = phalanx.run("launch", *separator, *python(code), *ARGUMENTS)
    assert done.returncode == 0, done.stderr
    assert json.loads((phalanx.folder / "arguments").read_text()) == ARGUMENTS


def test_standard_input_is_empty(phalanx: Phalanx) -> None:
    (phalanx.folder / "words").write_text("not for a rank\n")
    with (phalanx.folder / "words").open() as words:
        done = phalanx.run("launch", "-q", "--", "sh", "-c", "wc -c", stdin=words)
    assert done.stdout.strip() == "0"


def test_a_process_has_no_descriptors_but_the_first_three(phalanx: Phalanx) -> None:
    done = phalanx.run("launch", "-q", "--", "sh", "-c", "ls /proc/$$/fd; :", close_fds=True)
    assert done.stdout.split() == ["0", "1", "2"]


def test_signals_have_their_defaults(phalanx: Phalanx) -> None:
    """Whatever the caller ignores: a shell's `nohup`, or Python's SIGPIPE and SIGXFSZ."""
    ignore = (
        "import os, signal, sys; [signal.signal(number, signal.SIG_IGN) for number in (1, 2, 10, 13, 25)]; "
    )
    caller = Phalanx(Path(python("")[0]), phalanx.folder, phalanx.marker)
    words = [*python(ignore + "os.execv(sys.argv[1], sys.argv[1:])")[1:], str(phalanx.program)]
    masks = "grep -E '^Sig(Ign|Blk)' /proc/self/status"
    done = caller.run(*words, "launch", "-q", "--", "sh", "-c", masks)
    assert {int(line.split()[1], 16) for line in done.stdout.splitlines()} == {0}, done.stdout
