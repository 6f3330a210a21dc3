"""`python -m phalanx._python`: programs for Azure ML run as they are, and otherwise as with python."""

from __future__ import annotations

import py_compile
import signal
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

WORDS = [sys.executable, "-m", "phalanx._python"]
SEEN = "import sys\nprint(__name__, __file__, sys.argv, sys.path[0])\n"


def plain(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload, no-any-return]


def ours(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*WORDS, *words], capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload, no-any-return]


def same(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """What the program did, which must be what it does with python."""
    wanted, done = plain(*words, **more), ours(*words, **more)
    assert (done.returncode, done.stdout) == (wanted.returncode, wanted.stdout)
    assert done.stderr == wanted.stderr
    return done


def test_a_script_sees_what_it_sees_with_python(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub/neighbour.py").write_text("x = 1\n")
    (here / "sub/a.py").write_text(
        SEEN + "import neighbour\nimport __main__\nprint(__main__.SEEN)\nSEEN = 1\n"
    )
    (here / "sub/a.py").write_text("SEEN = 1\n" + SEEN + "import neighbour, __main__\nprint(__main__.SEEN)\n")
    assert "['sub/a.py', '-x', '--', 'y z']" in same("sub/a.py", "-x", "--", "y z").stdout
    (here / "link.py").symlink_to("sub/a.py")
    assert str(here / "link.py") in same("link.py").stdout


@pytest.mark.parametrize("end", ["sys.exit(3)", "sys.exit('why')", "raise SystemExit", "sys.exit(None)"])
def test_exit_codes(here: Path, end: str) -> None:
    (here / "a.py").write_text(f"import sys\n{end}\n")
    same("a.py")


def test_tracebacks_are_those_of_the_program(here: Path) -> None:
    (here / "a.py").write_text(
        "def f():\n    raise ValueError('boom')\n\n\ntry:\n    f()\nexcept ValueError:\n    1 / 0\n"
    )
    done = same("a.py")
    assert done.returncode == 1
    assert "phalanx" not in done.stderr
    (here / "b.py").write_text("def f(:\n")
    assert "SyntaxError" in same("b.py").stderr


@pytest.mark.parametrize("words", [("a.py",), ("-m", "a")])
def test_ctrl_c_shows_where_the_program_was(here: Path, words: tuple[str, ...]) -> None:
    line = "import os, signal, time\ndef f():\n    os.kill(os.getpid(), signal.SIGINT); time.sleep(60)\nf()\n"
    (here / "a.py").write_text(line)
    done = ours(*words)
    assert done.returncode == plain(*words).returncode == -signal.SIGINT
    assert done.stderr.splitlines()[0] == "Traceback (most recent call last):"
    assert f'File "{here}/a.py", line 4, in <module>' in done.stderr.splitlines()[1]
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert "phalanx" not in done.stderr


def test_a_hook_for_exceptions_is_called(here: Path) -> None:
    (here / "a.py").write_text("import sys\nsys.excepthook = lambda *_: print('hooked')\n1 / 0\n")
    assert same("a.py").stdout == "hooked\n"


def test_a_script_that_is_not_there(here: Path) -> None:
    assert same("nope.py").returncode == 2


def test_modules_commands_and_standard_input(here: Path) -> None:
    (here / "mod.py").write_text(SEEN)
    same("-m", "mod", "a", "-b")
    same("-c", "import sys; print(__name__, sys.argv, repr(sys.path[0])); 1 / 0", "a")
    same("-", "a", input="import sys; print(__name__, sys.argv, repr(sys.path[0]))")
    assert same(input="print(1 + 1)").stdout == "2\n"
    same("-", input="1 / 0")
    (here / "folder").mkdir()
    (here / "folder/__main__.py").write_text(SEEN)
    same("folder", "a")
    assert "No module named nope" in ours("-m", "nope").stderr
    assert "Argument expected for the -c option" in ours("-c").stderr
    assert ours("--nope").returncode == 2


def test_archives_and_bytecode_are_known_by_their_content(here: Path) -> None:
    (here / "folder").mkdir()
    (here / "folder/__main__.py").write_text(SEEN + "import neighbour\n")
    (here / "folder/neighbour.py").write_text("print('neighbour')\n")
    zipapp.create_archive(here / "folder", here / "app", interpreter="/usr/bin/env python3")
    assert "neighbour" in same("app", "a").stdout
    (here / "neighbour.py").write_text("print('neighbour')\n")
    (here / "a.py").write_text(SEEN + "import neighbour\n1 / 0\n")
    for name in ("a.pyc", "bytecode"):
        py_compile.compile(str(here / "a.py"), str(here / name), doraise=True)
        assert "neighbour" in same(name, "a").stdout
    (here / "old.pyc").write_bytes(b"\x17\r\r\n" + bytes(20))
    assert "Bad magic number" in same("old.pyc").stderr
    (here / "empty").write_text("")
    same("empty")


def test_standard_input_is_decoded_as_its_first_lines_say(here: Path) -> None:
    source = "# coding: latin-1\nprint(ascii('caf\xe9'))\n".encode("latin-1")
    done = subprocess.run([*WORDS, "-"], input=source, capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"'caf\\xe9'\n", b"")


SPAWNING = """
import multiprocessing, os, subprocess, sys
from concurrent.futures import ProcessPoolExecutor
from azure.ai.ml import command
from azureml.core import Run

def where(_):
    import azure.identity
    return command.__module__ + azure.identity.__name__

def grandchild(method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        return pool.map(where, range(1))

if __name__ == "__main__":
    before = dict(os.environ)
    method = sys.argv[1]
    with multiprocessing.get_context(method).Pool(2) as pool:
        print(pool.map(where, range(2)))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        print(pool.submit(grandchild, method).result())
    words = [sys.executable, "-c", "import azureml.core"]
    print(subprocess.run(words, capture_output=True, text=True).returncode, os.environ == before)
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_children_that_are_started_anew_have_azures_names_too(here: Path, method: str) -> None:
    (here / "a.py").write_text(SPAWNING)
    one = "phalanx.ml._command_funcphalanx._identity"
    for words in (["a.py", method], ["-m", "a", method]):
        done = ours(*words)
        assert done.stdout == f"{[one] * 2}\n{[one]}\n1 True\n", done.stderr
        assert done.stderr == ""


def test_what_is_not_there_is_not_found(here: Path) -> None:
    code = (
        "import importlib.util as u, azureml.core\n"
        "names = 'azureml.pipeline', 'azureml.core.webservice', 'azure.ai.ml.nothing', 'azure.storage'\n"
        "print([u.find_spec(name) for name in names], u.find_spec('azureml.core.run') is not None)\n"
        "try:\n    import azureml.pipeline\nexcept ImportError as error:\n    print(error.name)\n"
    )
    assert ours("-c", code).stdout == "[None, None, None, None] True\nazureml.pipeline\n"


def test_azure_names_mean_this_package(here: Path) -> None:
    (here / "a.py").write_text(
        "import azureml.core, azureml.core.runconfig as rc, phalanx.core.runconfig\n"
        "from azureml.core import Run, VERSION\n"
        "from azureml.core.run import Run as Same\n"
        "from azureml.data import OutputFileDatasetConfig\n"
        "from azureml.data.datapath import DataPath\n"
        "from azureml.exceptions import UserErrorException\n"
        "from azureml.core.authentication import InteractiveLoginAuthentication\n"
        "from azureml.widgets import RunDetails\n"
        "from azure.identity import DefaultAzureCredential, InteractiveBrowserCredential\n"
        "from importlib.metadata import version\n"
        "assert Run is Same and rc is phalanx.core.runconfig\n"
        "assert Run.__module__ == 'phalanx.core.run' and phalanx.core.__spec__.name == 'phalanx.core'\n"
        "assert tuple(map(int, VERSION.split('.'))) >= (1, 22, 0)\n"
        "assert version('azureml-core') == azureml.core.__version__ == VERSION\n"
        "DefaultAzureCredential(exclude_cli_credential=True).get_token('https://management.azure.com/.default')\n"
        "InteractiveBrowserCredential(tenant_id='x')\n"
        "azureml.core.Workspace(None, None, 'w', auth=InteractiveLoginAuthentication(tenant_id='t'))\n"
        "print('fine')\n"
    )
    done = ours("a.py")
    assert (done.stdout, done.stderr) == ("fine\n", "")


def test_what_nothing_stands_in_for_is_said(here: Path) -> None:
    said = ours("-c", "import azureml.core.webservice").stderr
    assert "No module named 'azureml.core.webservice': Phalanx has nothing that stands in for it" in said
    said = ours("-c", "from azureml.pipeline.core import Pipeline").stderr
    assert "No module named 'azureml.pipeline': Phalanx has nothing that stands in for it" in said
    for name, module in (
        ("dsl", "azure.ai.ml"),
        ("PipelineJob", "azure.ai.ml.entities"),
        ("x", "azureml.core"),
    ):
        said = ours("-c", f"from {module} import {name}").stderr
        assert (
            f"cannot import name {name!r} from {module!r}: Phalanx has nothing that stands in for it" in said
        )
    code = "import azure.ai.ml as m; print(hasattr(m, 'dsl')); from azureml.core import runconfig; m.dsl"
    done = ours("-c", code)
    assert done.stdout == "False\n"
    assert "module 'azure.ai.ml' has no attribute 'dsl': Phalanx has nothing" in done.stderr
    assert "No module named 'azure.storage'" in ours("-c", "import azure.storage").stderr


def test_it_makes_no_difference_whether_azure_ml_is_installed(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("azureml", "azureml/core", "azureml/other", "azure/storage"):
        (here / "site" / name).mkdir(parents=True)
        (here / "site" / name / "__init__.py").write_text(f"HERE = {name!r}\n")
    monkeypatch.setenv("PYTHONPATH", f"{here / 'site'}:{Path(__file__).parents[2] / 'python'}")
    code = (
        "import azureml.core, azureml.other, azure.storage, azure.identity\n"
        "print(azureml.core.__name__, azureml.HERE, azureml.other.HERE, azure.storage.HERE)"
    )
    assert ours("-c", code).stdout == "phalanx.core azureml azureml/other azure/storage\n"
    assert "AttributeError" in plain("-c", code).stderr or "ModuleNotFoundError" in plain("-c", code).stderr


def test_unknown_keywords_are_swallowed_as_azure_ml_does(here: Path) -> None:
    (here / "train.py").write_text("")
    code = (
        "from azureml.core import Environment, Experiment, Run, Workspace\n"
        "Environment('x', nmae=1), Experiment(Workspace.from_config(), 'e', tgas=1)\n"
        "print(Run.get_context(nothing=True).id)"
    )
    done = ours("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("OfflineRun_")
    for said in (
        "Environment: nmae is ignored, as Azure ML does; did you mean name?",
        "Experiment: tgas is ",
    ):
        assert done.stderr.count(said) == 1


def test_typing_errors_are_said_with_their_line(here: Path) -> None:
    (here / "submit.py").write_text(
        "from azure.ai.ml import command\n"
        "for _ in range(3):\n"
        "    job = command(command='true', instnce_count=2)\n"
        "job.distribtion = {'type': 'mpi'}\n"
        "job.mine = 1\n"
    )
    done = ours("submit.py")
    assert done.returncode == 0
    said = [line for line in done.stderr.splitlines() if "PhalanxWarning" in line]
    start = f"{here / 'submit.py'}"
    assert said == [
        f"{start}:3: PhalanxWarning: command: instnce_count is ignored, as Azure ML does; did you mean "
        "instance_count?",
        f"{start}:4: PhalanxWarning: Command: distribtion is ignored, as Azure ML does; did you mean "
        "distribution?",
    ]


def test_nothing_is_left_of_it_in_other_processes(here: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "words = [sys.executable, '-c', 'import azureml.core']\n"
        "print(subprocess.run(words, capture_output=True, text=True).stderr)"
    )
    assert "ModuleNotFoundError: No module named 'azureml'" in ours("-c", code).stdout
