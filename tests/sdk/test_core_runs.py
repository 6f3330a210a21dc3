"""Runs of v1: submitted, watched, asked, and seen from inside of their jobs."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Phalanx, eventually, line_with
from phalanx.core import Environment, Experiment, Run, ScriptRunConfig, Workspace, get_run
from phalanx.core.data import OutputFileDatasetConfig
from phalanx.core.dataset import Dataset
from phalanx.core.exceptions import (
    ActivityFailedException,
    ExperimentExecutionException,
    UserErrorException,
)
from phalanx.core.runconfig import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration
from phalanx.core.widgets import RunDetails

FACTS = """
import json, os, sys
names = ["RANK", "LOCAL_RANK", "NODE_RANK", "WORLD_SIZE", "TF_CONFIG"]
names += ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"]
print(json.dumps({"argv": sys.argv[1:]} | {name: os.environ.get(name) for name in names}))
"""

Submit = Callable[..., Run]


@pytest.fixture
def submit(here: Path) -> Submit:
    """`submit(SCRIPT TEXT, **CONFIG)`: submits it in the experiment `exp`."""
    (here / "src").mkdir()

    def submitted(script: str = FACTS, tags: Any = None, **config: Any) -> Run:
        (here / "src/train.py").write_text(script)
        run = ScriptRunConfig("src", "train.py", **config)
        return Experiment(Workspace.from_config(), "exp").submit(run, tags=tags)

    return submitted


def facts(run: Run) -> list[dict[str, Any]]:
    """What each process said of itself, by rank."""
    run.wait_for_completion()
    texts = run.get_details_with_logs()["logFiles"]
    return [json.loads(texts[name]) for name in sorted(texts)]


def test_arguments_become_words_and_variables_expand_in_each_process(submit: Submit) -> None:
    config = PyTorchConfiguration(process_count=4, node_count=2)
    arguments = ["--epochs", 50, "--local_rank", "$LOCAL_RANK", "--node=${NODE_RANK}", "a b"]
    found = facts(submit(arguments=arguments, distributed_job_config=config))
    assert [fact["argv"] for fact in found] == [
        ["--epochs", "50", "--local_rank", local, f"--node={node}", "a b"]
        for node in ("0", "1")
        for local in ("0", "1")
    ]
    assert [fact["RANK"] for fact in found] == ["0", "1", "2", "3"]
    assert {fact["WORLD_SIZE"] for fact in found} == {"4"}


def test_mpi_has_as_many_processes_on_each_node(submit: Submit) -> None:
    found = facts(submit(distributed_job_config=MpiConfiguration(process_count_per_node=2, node_count=2)))
    assert [fact["OMPI_COMM_WORLD_RANK"] for fact in found] == ["0", "1", "2", "3"]
    assert {fact["OMPI_COMM_WORLD_SIZE"] for fact in found} == {"4"}


def cluster(run: Run) -> dict[str, int]:
    """How many tasks of each type there are, as every worker was told. A server is ended with the workers."""
    run.wait_for_completion()
    told = [
        json.loads(text)["TF_CONFIG"] for text in run.get_details_with_logs()["logFiles"].values() if text
    ]
    (config,) = {json.dumps(json.loads(one)["cluster"]) for one in told}
    return {kind: len(tasks) for kind, tasks in json.loads(config).items()}


def test_tensorflow_has_a_parameter_server_unless_told_otherwise(submit: Submit) -> None:
    config = TensorflowConfiguration(worker_count=2)
    assert cluster(submit(distributed_job_config=config)) == {"worker": 2, "ps": 1}
    config = TensorflowConfiguration(worker_count=2, parameter_server_count=0)
    assert cluster(submit(distributed_job_config=config)) == {"worker": 2}


def test_a_command_is_read_by_bash_on_each_node(here: Path) -> None:
    (here / "src").mkdir()
    config = ScriptRunConfig(
        "src",
        command=["echo", "node", "$NODE_RANK", "of", "2", ";", "echo", "done"],
        distributed_job_config=PyTorchConfiguration(node_count=2),
    )
    run = Experiment(Workspace.from_config(), "exp").submit(config)
    run.wait_for_completion()
    logs = run.get_details_with_logs()["logFiles"]
    assert [logs[name] for name in sorted(logs)] == [f"node {node} of 2\ndone\n" for node in (0, 1)]


LOGGING = """
import os
from azureml.core import Run
from azureml.core.run import Run as SameRun

run = Run.get_context()
assert Run is SameRun and run is Run.get_context(allow_offline=False)
assert run.get_status() == "Running"
for step in range(3):
    run.log("loss", 1 / (step + 1), step=step)
run.log("who", os.environ["RANK"])
run.log_list("all", [1, 2])
run.log_row("fruit", kind="lemon", size=3)
run.log_row("fruit", kind="lime", size=7)
run.log("rank", int(os.environ["RANK"]), all_ranks=True)
if os.environ["RANK"] == "0":
    run.tag("stage", "trained")
    run.add_properties({"commit": "abc"})
    os.makedirs("outputs", exist_ok=True)
    with open("outputs/model.txt", "w") as file:
        file.write("weights")
    run.upload_file("notes/first.txt", "outputs/model.txt")
    run.upload_file("outputs/copy.txt", "outputs/model.txt")
    with run.child_run("fold") as child:
        child.log("loss", 9)
print(run.id, run.experiment.name)
run.complete()
"""


def test_what_a_job_logs_is_kept_with_the_run(submit: Submit, here: Path) -> None:
    run = submit(LOGGING, {"team": "red"}, distributed_job_config=PyTorchConfiguration(process_count=2))
    details = run.wait_for_completion()
    assert details["status"] == "Completed"
    metrics = run.get_metrics()
    assert sorted(metrics.pop("rank")) == [0, 1]
    assert metrics == {
        "loss": [1.0, 0.5, 1 / 3],
        "who": "0",  # only rank 0 logs, unless it is asked of all
        "all": [1, 2],
        "fruit": {"kind": ["lemon", "lime"], "size": [3, 7]},
    }
    assert run.get_metrics("loss") == {"loss": [1.0, 0.5, 1 / 3]}
    assert run.get_tags() == {"team": "red", "stage": "trained"}
    assert run.get_properties() == {"commit": "abc"}
    assert set(run.get_file_names()) == {
        "notes/first.txt",
        "outputs/model.txt",
        "outputs/copy.txt",
        "user_logs/std_log_process_0.txt",
        "user_logs/std_log_process_1.txt",
    }
    run.download_file("outputs/model.txt")
    run.download_files("outputs", output_directory="back", append_prefix=False)
    assert (here / "model.txt").read_text() == (here / "back/copy.txt").read_text() == "weights"
    assert run.get_all_logs("logs") == [f"logs/user_logs/std_log_process_{rank}.txt" for rank in (0, 1)]
    assert (here / "logs/user_logs/std_log_process_1.txt").read_text() == f"{run.id} exp\n"
    assert [child.get_metrics() for child in run.get_children()] == [{"loss": 9}]
    assert run.register_model("net", "outputs/model.txt").run_id == run.id
    assert run.register_model("net").version == 2


def test_the_environment_of_a_job_needs_neither_azure_ml_nor_this_package(submit: Submit, here: Path) -> None:
    """A Python with nothing installed, as the job's environment; it is asked of no package either."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", here / "bare"], check=True)
    environment = Environment("bare")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = str(here / "bare/bin/python")
    script = (
        "import importlib.util, os, sys\n"
        "assert importlib.util.find_spec('yaml') is None\n"
        "from azureml.core import Run\n"
        "from azureml.exceptions import UserErrorException\n"
        "Run.get_context().log('ok', 1)\n"
    )
    os.environ["PYTHONPATH"] = ""
    run = submit(script, environment=environment)
    run.wait_for_completion(show_output=True)
    assert run.get_metrics() == {"ok": 1}


def test_azure_ml_that_is_installed_in_the_job_goes_first(submit: Submit, here: Path) -> None:
    for folder in ("site/azureml", "site/azureml/core"):
        (here / folder).mkdir(parents=True)
        (here / folder / "__init__.py").write_text("Run = 'the real one'\n")
    config = ScriptRunConfig("src", "train.py")
    config.run_config.environment_variables["PYTHONPATH"] = str(here / "site")
    run = submit("from azureml.core import Run\nprint(Run)\n", run_config=config.run_config)
    run.wait_for_completion()
    assert list(run.get_details_with_logs()["logFiles"].values()) == ["the real one\n"]


def test_data_is_found_by_arguments_and_by_the_run(submit: Submit, here: Path) -> None:
    (here / "data.txt").write_text("seven")
    data = Dataset.File.from_files("data.txt").as_named_input("train").as_mount()
    script = (
        "import sys\nfrom azureml.core import Run\nrun = Run.get_context()\n"
        "assert run.input_datasets['train'] == sys.argv[1]\n"
        "assert run.output_datasets['made'] == sys.argv[2]\n"
        "open(sys.argv[2] + '/copy.txt', 'w').write(open(sys.argv[1]).read())\n"
    )
    details = submit(script, arguments=[data, OutputFileDatasetConfig("made")]).wait_for_completion()
    (output,) = details["outputDatasets"]
    assert (Path(output["path"]) / "copy.txt").read_text() == "seven"
    assert details["inputDatasets"] == [{"name": "train", "path": str(here / "data.txt")}]


def test_a_run_that_failed_raises_its_verdict(submit: Submit, capsys: pytest.CaptureFixture[str]) -> None:
    run = submit("raise ValueError('boom')")
    with pytest.raises(ActivityFailedException, match="exited with code 1") as caught:
        run.wait_for_completion(show_output=True)
    out = capsys.readouterr().out
    assert out.startswith(f"RunId: {run.id}\nWeb View: file:///")
    assert "ValueError: boom\n\nExecution Summary\n=================\nRunId: " in out
    assert caught.value.verdict is not None
    assert (caught.value.name, caught.value.exit_code, caught.value.verdict.rank) == (run.id, 1, 0)
    error = json.loads(caught.value.error_details)["error"]
    assert (error["code"], error["exitCode"]) == ("UserError", 1)
    assert error["log"] == f"phalanx logs {run.id} --rank 0"
    assert list(error)[-1] in ("log", "hint")
    details = run.wait_for_completion(raise_on_error=False)
    assert details["status"] == "Failed"
    assert details["error"] == {"error": error}
    with pytest.raises(ActivityFailedException):
        run.wait_for_completion()


class MakesRoom(io.StringIO):
    """Takes what is printed, and ends a run when something waits."""

    def __init__(self, holding: Run) -> None:
        super().__init__()
        self.holding = holding

    def write(self, text: str) -> int:
        if "waits for" in text:
            self.holding.cancel()
        return super().write(text)


def test_what_a_run_waits_for_is_shown(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    slots = len(os.sched_getaffinity(0))
    config = MpiConfiguration(process_count_per_node=slots)
    holding = submit("import time\ntime.sleep(1000)", distributed_job_config=config)
    eventually(lambda: holding.get_status() == "Running")
    waiting = submit("print('had room')")
    eventually(lambda: waiting.get_detailed_status()["details"])
    printed = MakesRoom(holding)
    monkeypatch.setattr(sys, "stdout", printed)
    waiting.wait_for_completion(show_output=True)
    out = printed.getvalue()
    assert out.count(f"{waiting.id} Queued: waits for ") == 1
    assert out.index("Queued: waits for") < out.index("had room")


def test_a_run_is_canceled(submit: Submit) -> None:
    run = submit("import time\ntime.sleep(1000)")
    eventually(lambda: run.get_status() == "Running")
    run.cancel()
    details = run.wait_for_completion()
    assert details["status"] == "Canceled"
    assert "error" not in details
    run.cancel()  # no error


WATCHING = """
from azureml.core import ScriptRunConfig, Experiment, Workspace
run = Experiment(Workspace.from_config(), "exp").submit(ScriptRunConfig("src", "train.py"))
try:
    run.wait_for_completion(show_output=True)
except Exception as error:
    print(type(error).__name__, error, flush=True)
"""


def test_ctrl_c_ends_the_watching_and_not_the_run(here: Path, phalanx: Phalanx) -> None:
    (here / "src").mkdir()
    (here / "src/train.py").write_text("import time\nprint('at work', flush=True)\ntime.sleep(1000)")
    words = [sys.executable, "-m", "phalanx._python", "-c", WATCHING]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as watching:
        line_with("at work", watching.stdout)
        watching.send_signal(signal.SIGINT)
        said = watching.communicate()[0]
    assert "ExperimentExecutionException The output streaming for the run interrupted." in said
    (folder,) = phalanx.jobs()
    assert f"`phalanx cancel {folder.name}` stops it" in said
    run = get_run(Experiment(Workspace.from_config(), "exp"), folder.name)
    assert run.get_status() == "Running"
    run.cancel()
    run.wait_for_completion()


def test_runs_are_found_by_experiment_and_by_id(submit: Submit) -> None:
    first, second = submit(tags={"n": "1"}), submit(tags={"n": "2"})
    ws = Workspace.from_config()
    experiment = Experiment(ws, "exp")
    assert [run.id for run in experiment.get_runs()] == [second.id, first.id]
    assert [run.id for run in experiment.get_runs(tags={"n": "1"})] == [first.id]
    assert [run.id for run in Experiment(ws, "other").get_runs()] == []
    assert Run.get(ws, first.id).experiment.name == "exp"
    assert ws.get_run(first.id).wait_for_completion()["status"] == "Completed"
    assert second.wait_for_completion()["status"] == "Completed"
    assert (first.number, second.number) == (1, 2)
    assert list(ws.experiments) == ["exp"]
    child = first.submit_child(ScriptRunConfig("src", "train.py"))
    child.wait_for_completion()
    assert child.parent is not None
    assert child.parent.id == first.id
    assert [run.id for run in first.get_children()] == [child.id]
    assert [run.id for run in experiment.get_runs()] == [second.id, first.id]
    with pytest.raises(UserErrorException, match="RunId nobody not found"):
        get_run(experiment, "nobody")


def test_what_is_known_of_a_run(submit: Submit, capfd: pytest.CaptureFixture[str]) -> None:
    environment = Environment("mine")
    run = submit(environment=environment, arguments=["--x", 1], compute_target="gpu")
    said = capfd.readouterr().err
    assert "note: environment mine is not known here" in said
    assert "note: compute gpu is not known here: running on this machine" in said
    details = run.wait_for_completion()
    assert (details["runId"], details["target"], details["status"]) == (run.id, "gpu", "Completed")
    assert details["startTimeUtc"] < details["endTimeUtc"]
    assert details["runDefinition"]["arguments"] == ["--x", 1]
    assert run.get_environment().name == "mine"
    assert (run.type, run.display_name) == ("azureml.scriptrun", run.id)
    run.display_name = "shown"
    assert Run.get(Workspace(), run.id).display_name == "shown"
    RunDetails(run).show()
    assert f"{run.id}: Completed" in capfd.readouterr().out


def test_the_source_directory_is_copied_when_it_is_submitted(submit: Submit, here: Path) -> None:
    run = submit("print('as submitted')")
    (here / "src/train.py").write_text("print('changed since')")
    run.wait_for_completion()
    assert list(run.get_details_with_logs()["logFiles"].values()) == ["as submitted\n"]


def test_what_cannot_run_is_refused(submit: Submit, here: Path) -> None:
    experiment = Experiment(Workspace.from_config(), "exp")
    with pytest.raises(ExperimentExecutionException, match=r"/src/nope\.py script path doesn't exist"):
        experiment.submit(ScriptRunConfig("src", "nope.py"))
    (here / "outside.py").write_text("")
    with pytest.raises(ExperimentExecutionException, match="should be inside the project folder"):
        experiment.submit(ScriptRunConfig("src", "../outside.py"))
    with pytest.raises(UserErrorException, match=r"source_directory: .*/nowhere is no folder"):
        experiment.submit(ScriptRunConfig("nowhere", "a.py"))
    with pytest.raises(
        UserErrorException, match=r"config is a dict; Experiment\.submit takes a ScriptRunConfig"
    ):
        experiment.submit({"script": "a.py"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"submit\(\) has no keyword tgas; did you mean tags"):
        experiment.submit(ScriptRunConfig("src", "a.py"), tgas={})
    config = ScriptRunConfig(
        "src", command="true", distributed_job_config=PyTorchConfiguration(process_count=1)
    )
    config.run_config.environment_variables["RANK"] = "0"
    with pytest.raises(ExperimentExecutionException, match="RANK"):
        experiment.submit(config)


def test_computes_are_known_by_name(here: Path) -> None:
    ws = Workspace.from_config()
    assert "local" in ws.compute_targets
    assert "gpu-cluster" not in ws.compute_targets
    assert ws.compute_targets["gpu-cluster"].name == "gpu-cluster"
