"""v1 run configurations as jobs: pure, no program is started."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from phalanx.core import Dataset, Environment, RunConfiguration, ScriptRunConfig
from phalanx.core._conversion import to_job
from phalanx.core.data import DataPath, DataReference, OutputFileDatasetConfig
from phalanx.core.datastore import Datastore
from phalanx.core.exceptions import RunConfigurationException, UserErrorException
from phalanx.core.experiment import _whole
from phalanx.core.runconfig import (
    DockerConfiguration,
    MpiConfiguration,
    PyTorchConfiguration,
    TensorflowConfiguration,
)

THIRTY_DAYS = 2592000


def job(**config: Any) -> dict[str, Any]:
    given: dict[str, Any] = {} if "script" in config or "command" in config else {"script": "train.py"}
    return to_job(_whole(ScriptRunConfig("src", **given, **config)), "/src", "exp", "exp_1")


def command(**config: Any) -> str:
    return str(job(**config)["command"])


def test_the_least_configuration_is_one_process_of_at_most_thirty_days() -> None:
    assert job() == {
        "name": "exp_1",
        "experiment_name": "exp",
        "command": "python train.py",
        "code": "/src",
        "environment": "azureml:default-environment@latest",
        "compute": "local",
        "limits": {"timeout": THIRTY_DAYS},
    }


DISTRIBUTED = [
    (MpiConfiguration(), 1, {"type": "mpi", "process_count_per_instance": 1}),
    (
        MpiConfiguration(process_count_per_node=4, node_count=2),
        2,
        {"type": "mpi", "process_count_per_instance": 4},
    ),
    (PyTorchConfiguration(), 1, {"type": "pytorch"}),
    (PyTorchConfiguration(node_count=2), 2, {"type": "pytorch"}),
    (
        PyTorchConfiguration(process_count=8, node_count=2),
        2,
        {"type": "pytorch", "process_count_per_instance": 4},
    ),
    (
        PyTorchConfiguration(communication_backend="Nccl", process_count=3),
        1,
        {"type": "pytorch", "process_count_per_instance": 3},
    ),
    (TensorflowConfiguration(), 1, {"type": "tensorflow", "worker_count": 1, "parameter_server_count": 1}),
    (
        TensorflowConfiguration(worker_count=2, parameter_server_count=0),
        2,
        {"type": "tensorflow", "worker_count": 2, "parameter_server_count": 0},
    ),
]


@pytest.mark.parametrize(("given", "nodes", "distribution"), DISTRIBUTED, ids=lambda value: str(value)[:40])
def test_a_distributed_configuration(given: Any, nodes: int, distribution: dict[str, Any]) -> None:
    made = job(distributed_job_config=given)
    assert made["distribution"] == distribution
    assert made.get("resources", {"instance_count": 1}) == {"instance_count": nodes}


def test_a_total_that_nodes_cannot_share_evenly_is_refused() -> None:
    with pytest.raises(
        RunConfigurationException, match=r"process_count is 5 with node_count 2.*in all.*multiple of 2"
    ):
        job(distributed_job_config=PyTorchConfiguration(process_count=5, node_count=2))
    with pytest.raises(RunConfigurationException, match="process_count is 1 with node_count 2"):
        job(distributed_job_config=PyTorchConfiguration(process_count=1, node_count=2))


def test_a_configuration_put_together_by_hand() -> None:
    config = RunConfiguration(script="train.py", communicator="OpenMpi")
    config.mpi = MpiConfiguration(process_count_per_node=2, node_count=3)
    assert to_job(config, None, "e", "r")["resources"] == {"instance_count": 3}
    config.node_count = 2
    assert to_job(config, None, "e", "r")["resources"] == {"instance_count": 2}
    config.communicator = "ParallelTask"
    with pytest.raises(RunConfigurationException, match=r"communicator is 'ParallelTask'.*IntelMpi"):
        to_job(config, None, "e", "r")
    with pytest.raises(RunConfigurationException, match="framework is 'PySpark'"):
        to_job(RunConfiguration(script="a.py", framework="PySpark"), None, "e", "r")


ARGUMENTS = [
    (["--epochs", 50], "--epochs 50"),
    (["--lr", 1e-05, "--flag", True], "--lr 1e-05 --flag True"),
    (["--local_rank", "$LOCAL_RANK"], '--local_rank "$LOCAL_RANK"'),
    (["--dir=${HOME}/a b"], '"--dir=${HOME}/a b"'),
    (["a b", "it's", ""], "'a b' 'it'\"'\"'s' ''"),
    (["$(rm -rf /)", "`id`", "5$"], "'$(rm -rf /)' '`id`' '5$'"),
    (['$RANK "quoted" $(id) `id` \\'], '"$RANK \\"quoted\\" \\$(id) \\`id\\` \\\\"'),
    ("--epochs 50 --name 'a b'", "--epochs 50 --name 'a b'"),
]


@pytest.mark.parametrize(("given", "line"), ARGUMENTS)
def test_each_argument_is_one_word_in_which_variables_expand(given: Any, line: str) -> None:
    assert command(arguments=given) == f"python train.py {line}"


@pytest.mark.parametrize("wrong", [None, {"a": 1}, ["nested"], b"x"])
def test_what_is_no_argument_is_named(wrong: Any) -> None:
    with pytest.raises(UserErrorException, match=r"arguments\[1\] is"):
        command(arguments=["--x", wrong])


def test_a_command_is_a_line_or_words_joined_by_blanks() -> None:
    assert command(command="a && b $X") == "a && b $X"
    assert (
        command(command=["python", "t.py", "--n", 50, "&&", "echo", "$RANK"])
        == "python t.py --n 50 && echo $RANK"
    )


def test_a_run_has_a_script_or_a_command() -> None:
    with pytest.raises(UserErrorException, match="Both script"):
        command(script="a.py", command="b")
    with pytest.raises(UserErrorException, match="Neither script"):
        command(script=None)


def test_a_python_that_the_user_manages_runs_the_script() -> None:
    environment = Environment("mine")
    environment.python.interpreter_path = "/opt/my python/bin/python"
    assert command(environment=environment) == "python train.py"
    environment.python.user_managed_dependencies = True
    assert command(environment=environment) == "'/opt/my python/bin/python' train.py"


def test_names_variables_and_limits() -> None:
    environment = Environment("mine")
    assert environment.environment_variables == {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"}  # as Azure ML's has it
    environment.environment_variables["A"] = 1
    environment.version = "3"
    config = ScriptRunConfig(
        "src", "train.py", environment=environment, compute_target="gpu", max_run_duration_seconds=60
    )
    config.run_config.environment_variables = {"B": "2"}
    config.run_config.priority = 7
    config.run_config.amlcompute.vm_size = "STANDARD_NC6"
    made = to_job(_whole(config), None, "e", "r", {"t": None, "u": 1})
    assert made["environment"] == "azureml:mine:3"
    assert made["environment_variables"] == {"A": "1", "B": "2"}
    assert made["compute"] == "gpu"
    assert made["limits"] == {"timeout": 60}
    assert made["priority"] == 7
    assert made["resources"] == {"instance_type": "STANDARD_NC6"}
    assert made["tags"] == {"t": "", "u": "1"}


def test_docker_settings_are_kept_where_docker_is_used() -> None:
    docker = DockerConfiguration(use_docker=True, shm_size="16g", arguments=["--ipc=host"])
    assert job(docker_runtime_config=docker)["resources"] == {
        "shm_size": "16g",
        "docker_args": ["--ipc=host"],
    }
    assert "resources" not in job(docker_runtime_config=DockerConfiguration(use_docker=True))


def test_data_is_given_by_inputs_and_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHALANX_HOME", str(tmp_path / "home"))
    file = tmp_path / "data.csv"
    file.write_text("1")
    store = Datastore()
    made = job(
        arguments=[
            "--data",
            Dataset.File.from_files(str(tmp_path)).as_named_input("train").as_mount(),
            Dataset.File.from_files(str(file)).as_named_input("one").as_download(),
            OutputFileDatasetConfig("model"),
            OutputFileDatasetConfig("kept", destination=(store, "models/{run-id}/{output-name}")).as_upload(),
            store.path("sub/dir", data_reference_name="ref"),
            DataReference(store, "up", "written").as_upload(),
        ]
    )
    base = tmp_path / "home" / "datastores" / "workspaceblobstore"
    words = [f'"${{{{{name}}}}}"' for name in ("inputs.train", "inputs.one", "outputs.model", "outputs.kept")]
    words += ['"${{inputs.ref}}"', '"${{outputs.up}}"']
    assert made["command"] == "python train.py --data " + " ".join(words)
    assert made["inputs"] == {
        "train": {"type": "uri_folder", "path": str(tmp_path), "mode": "ro_mount"},
        "one": {"type": "uri_file", "path": str(file), "mode": "download"},
        "ref": {"type": "uri_folder", "path": str(base / "sub/dir"), "mode": "ro_mount"},
    }
    assert made["outputs"] == {
        "model": {"type": "uri_folder", "mode": "rw_mount"},
        "kept": {"type": "uri_folder", "mode": "upload", "path": str(base / "models/exp_1/kept")},
        "up": {"type": "uri_folder", "path": str(base / "written")},
    }


def test_a_dataset_itself_is_no_argument(tmp_path: Path) -> None:
    with pytest.raises(UserErrorException, match=r"arguments\[0\]: Dataset cannot be used directly in a run"):
        job(arguments=[Dataset.File.from_files(str(tmp_path))])


def test_a_checkpoint_to_resume_from_is_the_last_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHALANX_HOME", str(tmp_path))
    made = job(arguments=["--x"], resume_from=DataPath(Datastore(), "ckpt"))
    assert made["command"] == 'python train.py --x --resume-from "${{inputs.MODEL_LOCATION}}"'
    with pytest.raises(UserErrorException, match="resume_from parameter should be of type DataPath"):
        job(resume_from="ckpt")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"distributed_job_config": MpiConfiguration(node_count=0)}, "node_count is 0; .*1 or more"),
        ({"distributed_job_config": MpiConfiguration("4")}, "process_count_per_node is '4'"),  # type: ignore[arg-type]
        ({"distributed_job_config": PyTorchConfiguration(process_count=True)}, "process_count is True"),
        ({"distributed_job_config": {"type": "mpi"}}, "'distributed_job_config' must be an"),
        ({"docker_runtime_config": {"use_docker": True}}, "'docker_runtime_config' must be a"),
        ({"max_run_duration_seconds": "1h"}, "max_run_duration_seconds is '1h'"),
    ],
)
def test_wrong_types_are_named_by_argument(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(RunConfigurationException, match=message):
        job(**wrong)


def test_another_backend_is_refused_when_it_is_named() -> None:
    with pytest.raises(
        RunConfigurationException, match=r"mpi is not a supported backend\. 'communication_backend'"
    ):
        PyTorchConfiguration(communication_backend="mpi")
    assert PyTorchConfiguration("GLOO").communication_backend == "gloo"


def test_a_run_config_goes_before_what_is_said_beside_it(caplog: pytest.LogCaptureFixture) -> None:
    config = RunConfiguration(script="theirs.py", arguments=["a"])
    with caplog.at_level(logging.WARNING):
        made = ScriptRunConfig("src", run_config=config, compute_target="gpu")
    assert "will be ignored: 'compute_target'" in caplog.text
    assert command_of(made) == "python theirs.py a"
    with caplog.at_level(logging.WARNING):
        assert command_of(ScriptRunConfig("src", "mine.py", run_config=config)) == "python mine.py a"
    assert "'script' provided in ScriptRunConfig initialization will take precedence" in caplog.text


def command_of(config: ScriptRunConfig) -> str:
    return str(to_job(_whole(config), None, "e", "r")["command"])


def test_a_tag_that_is_no_text_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    for wrong in (deep, 10**5000):
        with pytest.raises(UserErrorException, match=r"tags\['t'\] cannot be written as text"):
            to_job(_whole(ScriptRunConfig("src", script="train.py")), "/src", "exp", "exp_1", {"t": wrong})
