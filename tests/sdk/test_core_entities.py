"""What v1 programs use beside jobs: environments, run configurations, workspaces, datasets, models."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path

import pytest
from phalanx.core import (
    ComputeTarget,
    Dataset,
    Environment,
    Experiment,
    Model,
    Run,
    RunConfiguration,
    ScriptRunConfig,
    Workspace,
)
from phalanx.core.compute import AmlCompute
from phalanx.core.conda_dependencies import CondaDependencies
from phalanx.core.environment import DEFAULT_CPU_IMAGE
from phalanx.core.exceptions import (
    ActivityFailedException,
    ComputeTargetException,
    ModelNotFoundException,
    ModelPathNotFoundException,
    RunConfigurationException,
    RunEnvironmentException,
    UserErrorException,
)
from phalanx.core.runconfig import DockerConfiguration, MpiConfiguration, PyTorchConfiguration
from phalanx.errors import JobFailed, Verdict

SCOPE = "/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/w"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PHALANX_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def ws() -> Workspace:
    return Workspace("s", "g", "w")


def test_a_workspace_is_found_in_the_folders_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Workspace("s", "g", "w").write_config()
    assert json.loads((tmp_path / ".azureml/config.json").read_text()) == {"Id": None, "Scope": SCOPE}
    (tmp_path / "a/b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a/b")
    found = Workspace.from_config()
    assert (found.name, found.resource_group, found.subscription_id) == ("w", "g", "s")
    other = tmp_path / "a/config.json"
    other.write_text('{"subscription_id": "1", "resource_group": "2", "workspace_name": "3"}')
    assert Workspace.from_config(str(other)).name == "3"
    assert Workspace.from_config(path="..", _file_name="config.json").name == "w"  # .azureml goes first


def test_no_workspace_is_needed(tmp_path: Path) -> None:
    assert Workspace.from_config().name == "local"
    assert Workspace.get(name="x", subscription_id="s").name == "x"
    with pytest.raises(UserErrorException, match=r"config\.json, could not be found in .*/nowhere"):
        Workspace.from_config("nowhere")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserErrorException, match="does not seem to contain the required parameters"):
        Workspace.from_config()


def test_attributes_that_are_not_there_cannot_be_set() -> None:
    for thing in (Environment("x"), RunConfiguration(), MpiConfiguration(), Environment("x").docker):
        with pytest.raises(AttributeError, match="has no attribute node_cuont"):
            thing.node_cuont = 2


def test_unknown_keywords_are_errors() -> None:
    for call in (
        lambda: Environment("x", nmae=1),
        lambda: Experiment(Workspace(), "e", workspce=1),
        lambda: Run.get_context(alow_offline=True),
        lambda: Workspace(subscription="s"),
    ):
        with pytest.raises(
            TypeError, match=r"has no keyword (nmae|workspce|alow_offline|subscription); did you mean"
        ):
            call()
    with pytest.raises(TypeError, match="unexpected keyword"):
        MpiConfiguration(process_count=2)  # type: ignore[call-arg]


def test_an_environment_as_it_is_made() -> None:
    made = Environment("x")
    assert made.python.interpreter_path == "python"
    assert not made.python.user_managed_dependencies
    assert made.docker.base_image == DEFAULT_CPU_IMAGE
    assert made.docker.shm_size == "2g"
    assert made.version is None
    assert str(made) == "Environment(Name: x,\nVersion: None)"
    with pytest.raises(TypeError, match="Environment name expected str, <class 'int'> found"):
        Environment(3)  # type: ignore[arg-type]


def test_an_image_a_dockerfile_and_a_build_context_exclude_each_other(tmp_path: Path) -> None:
    made = Environment("x")
    (tmp_path / "Dockerfile").write_text("FROM a\n")
    made.docker.base_dockerfile = str(tmp_path / "Dockerfile")
    assert (made.docker.base_dockerfile, made.docker.base_image) == ("FROM a\n", None)
    made.docker.base_image = "b"
    assert (made.docker.base_dockerfile, made.docker.base_image) == (None, "b")
    assert Environment.from_docker_image("x", "img").python.user_managed_dependencies
    assert Environment.from_dockerfile("x", "FROM c").docker.base_dockerfile == "FROM c"
    with pytest.raises(UserErrorException, match="Only one of conda_specification or pip_requirements"):
        Environment.from_docker_image("x", "img", conda_specification="a", pip_requirements="b")


def test_environments_of_conda_and_pip(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    conda = tmp_path / "conda.yml"
    conda.write_text("name: n\ndependencies: [numpy, {pip: [torch==2.0]}]\n")
    with caplog.at_level(logging.WARNING):
        made = Environment.from_conda_specification(name="n", file_path=str(conda))
    assert "No Python version provided" in caplog.text
    assert made.python.conda_dependencies is not None
    assert list(made.python.conda_dependencies.pip_packages) == ["torch==2.0"]
    assert made.python.conda_dependencies.get_python_version() == "3.10.18"
    (tmp_path / "requirements.txt").write_text("a\nb>1\n")
    pip = Environment.from_pip_requirements("p", str(tmp_path / "requirements.txt"), pip_version="23").python
    assert pip.conda_dependencies is not None
    assert list(pip.conda_dependencies.pip_packages) == ["a", "b>1"]
    assert "pip=23" in list(pip.conda_dependencies.conda_packages)
    conda.write_text("dependencis: []\n")
    with pytest.raises(UserErrorException, match="unknown dependencis key in environment specification"):
        Environment.from_conda_specification("n", str(conda))


def test_conda_dependencies() -> None:
    made = CondaDependencies.create(pip_packages=["torch==1"], conda_packages=["numpy"], python_version="3.9")
    made.add_pip_package("torch==2")
    made.add_pip_package("pandas[excel]>1")
    made.add_pip_package("pandas")
    made.set_pip_option("--index-url a")
    made.set_pip_option("--index-url b")
    made.add_channel("x")
    assert list(made.pip_packages) == ["torch==2", "pandas"]
    assert list(made.pip_options) == ["--index-url b"]
    assert list(made.conda_packages) == ["python=3.9", "numpy"]
    assert list(made.conda_channels) == ["anaconda", "conda-forge", "x"]
    assert CondaDependencies(_underlying_structure=made.as_dict()).as_dict() == made.as_dict()
    made.remove_conda_package("numpy")
    assert made.get_python_version() == "3.9"
    with pytest.raises(UserErrorException, match="python must not be removed"):
        made.remove_conda_package("python=3.9")
    with pytest.raises(UserErrorException, match="Invalid package name --x"):
        made.add_pip_package("--x")
    assert list(CondaDependencies().pip_packages) == ["azureml-defaults"]
    assert CondaDependencies.merge_requirements(["a>=1", "b", "a<2"]) == ["a>=1,<2", "b"]


def test_registered_environments_have_versions(ws: Workspace, tmp_path: Path) -> None:
    made = Environment("mine")
    made.environment_variables = {"A": "1"}
    assert made.register(ws).version == "1"
    made.environment_variables = {"A": "2"}
    assert made.register(ws).version == "2"
    assert Environment.get(ws, "mine").environment_variables == {"A": "2"}
    assert Environment.get(ws, "mine", version="1").environment_variables == {"A": "1"}
    assert list(Environment.list(ws)) == list(ws.environments) == ["mine"]
    curated = Environment.get(workspace=ws, name="AzureML-PyTorch-1.6-GPU")
    assert (curated.name, curated.version, curated.environment_variables) == (
        "AzureML-PyTorch-1.6-GPU",
        None,
        {},
    )
    with pytest.raises(UserErrorException, match="Only one of version or label"):
        Environment.get(ws, "x", version="1", label="l")
    copy = made.clone("other")
    assert (copy.name, copy.version, copy.environment_variables) == ("other", None, {"A": "2"})
    made.save_to_directory(str(tmp_path / "saved"))
    assert repr(Environment.load_from_directory(str(tmp_path / "saved"))) == repr(made)


def test_a_run_configuration_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    made = RunConfiguration(script="t.py", arguments=["--x", 1], communicator="Nccl")
    made.target = "gpu"
    made.node_count = 2
    made.pytorch = PyTorchConfiguration(process_count=4, node_count=2)
    made.docker = DockerConfiguration(use_docker=True)
    made.environment = Environment("mine")
    made.environment_variables = {"A": "b"}
    made.max_run_duration_seconds = 60
    made.save(str(tmp_path), name="go")
    assert (tmp_path / ".azureml/go.runconfig").is_file()
    back = RunConfiguration.load(str(tmp_path), "go")
    mine, theirs = json.loads(repr(made)), json.loads(repr(back))
    for data in (mine, theirs):
        del data["environment"]["python"]["condaDependenciesFile"]
    assert theirs == mine
    RunConfiguration.delete(str(tmp_path), "go")
    with pytest.raises(UserErrorException, match="Failed to load RunConfiguration"):
        RunConfiguration.load(str(tmp_path), "go")
    with pytest.raises(UserErrorException, match="Cannot save a runconfig without a name"):
        made.save(str(tmp_path))


def test_a_run_configuration_of_azure_ml_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.runconfig"
    file.write_text(
        "script: train.py\narguments: [--epochs, '50']\ntarget: cpu-cluster\nframework: Python\n"
        "communicator: IntelMpi\nnodeCount: 2\nmpi: {processCountPerNode: 4, nodeCount: 2}\n"
        "environment:\n  name: e\n  python: {userManagedDependencies: true, interpreterPath: python3}\n"
        "history: {outputCollection: true}\nhdi: {yarnDeployMode: cluster}\n"
    )
    made = RunConfiguration.load(str(file))
    assert (made.script, made.target, made.node_count) == ("train.py", "cpu-cluster", 2)
    assert made.mpi.process_count_per_node == 4
    assert made.environment.python.interpreter_path == "python3"
    file.write_text("nodeCount: many\n")
    with pytest.raises(RunConfigurationException, match="nodeCount: 'many' cannot be read"):
        RunConfiguration.load(str(file))


def test_compute_targets_are_names(ws: Workspace) -> None:
    made = ComputeTarget.create(ws, "gpu", AmlCompute.provisioning_configuration(vm_size="NC6", max_nodes=4))
    made.wait_for_completion(show_output=True)
    assert isinstance(made, AmlCompute)
    assert (made.name, made.type, made.provisioning_state) == ("gpu", "AmlCompute", "Succeeded")
    assert ScriptRunConfig("src", "a.py", compute_target=made).run_config.target == "gpu"
    with pytest.raises(ComputeTargetException, match="specify a different target name"):
        ComputeTarget.create(ws, "amlcompute", None)
    with pytest.raises(ComputeTargetException, match="it must be text"):
        ComputeTarget(ws, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "-a", "a b", "a.b", "x" * 256])
def test_names_of_experiments_are_checked(ws: Workspace, name: str) -> None:
    with pytest.raises(UserErrorException, match="Experiment name must be between 1 and 255 characters long"):
        Experiment(ws, name)


def test_datasets_and_datastores(ws: Workspace, tmp_path: Path, home: Path) -> None:
    (tmp_path / "in/sub").mkdir(parents=True)
    (tmp_path / "in/sub/a.csv").write_text("x,y\n1,2\n")
    store = ws.get_default_datastore()
    store.upload(src_dir="in", target_path="data", show_progress=False)
    assert (home / "datastores/workspaceblobstore/data/sub/a.csv").is_file()
    data = Dataset.File.from_files((store, "data"))
    assert data.to_path() == ["/sub/a.csv"]
    data.register(ws, "mine")
    with pytest.raises(UserErrorException, match="already a dataset registered under name 'mine'"):
        Dataset.File.from_files("in").register(ws, "mine")
    assert Dataset.File.from_files("in").register(ws, "mine", create_new_version=True).version == 2
    assert Dataset.get_by_name(ws, "mine", version=1).version == 1
    assert list(ws.datasets) == ["mine"]
    with pytest.raises(
        UserErrorException, match=r"Cannot find dataset registered with name 'no'.*Registered: mine"
    ):
        Dataset.get_by_name(ws, "no")
    with pytest.raises(UserErrorException, match=r"path: .*/nothing is not there"):
        Dataset.File.from_files("nothing")
    with pytest.raises(UserErrorException, match="leads out of datastore"):
        store.upload(src_dir="in", target_path="../../x")
    assert store.download(str(tmp_path / "out"), prefix="data") == 1
    assert (tmp_path / "out/data/sub/a.csv").is_file()
    assert data.download(str(tmp_path / "again")) == [str(tmp_path / "again/sub/a.csv")]


def test_models_have_versions(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m/w.bin").write_text("1")
    assert Model.register(ws, "m", "net", tags={"a": "b"}).version == 1
    (tmp_path / "m/w.bin").write_text("2")
    assert Model.register(workspace=ws, model_path="m", model_name="net").version == 2
    assert (Path(Model(ws, "net").download("out")) / "w.bin").read_text() == "2"
    assert (Path(Model.get_model_path("net", version=1)) / "w.bin").read_text() == "1"
    assert [model.version for model in Model.list(ws)] == [2, 1]
    with pytest.raises(UserErrorException, match="File already exists"):
        Model(ws, "net").download("out")
    with pytest.raises(ModelNotFoundException, match=r"name none, version None not found\. Registered: net"):
        Model(ws, "none")
    with pytest.raises(ModelPathNotFoundException, match="provided model path nope cannot be found"):
        Model.register(ws, "nope", "net")


def test_outside_of_a_job_a_run_prints_what_it_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PHALANX_JOB", raising=False)
    run = Run.get_context()
    assert run.id.startswith("OfflineRun_")
    run.log("loss", 0.5, step=3)
    run.log_row("r", a=1)
    run.tag("x")
    run.complete()
    assert capsys.readouterr().out == (
        "Attempted to log scalar metric loss:\n0.5\nAttempted to log row metric r:\n{'a': 1}\n"
        "Attempted to add tag x with value None\n"
    )
    with pytest.raises(RunEnvironmentException, match="Could not load a submitted run"):
        Run.get_context(allow_offline=False)


def test_a_run_without_a_job_keeps_what_it_is_told(ws: Workspace, tmp_path: Path) -> None:
    experiment = Experiment(ws, "notebook")
    with experiment.start_logging(snapshot_directory=None) as run:
        run.log("loss", 2)
        run.log("loss", 1)
        run.log("note", "good")
        run.log_list("all", [1, 2])
        run.log_table("t", {"x": [1, 2], "y": [3, 4]})
        run.log_row("r", a=1)
        run.log_row("r", a=2)
        with pytest.raises(UserErrorException, match=r"Use run\.log_list instead"):
            run.log("l", [1])
        run.set_tags({"a": 1, "b": None})
        run.remove_tags("b")
        (tmp_path / "f.txt").write_text("f")
        run.upload_file("some/f.txt", "f.txt")
        with pytest.raises(UserErrorException, match=r"cannot be uploaded as \.\./f"):
            run.upload_file("../f", "f.txt")
        with run.child_run() as child:
            child.log("loss", 7)
    assert run.get_status() == "Completed"
    assert run.get_metrics() == {
        "loss": [2, 1],
        "note": "good",
        "all": [1, 2],
        "t": {"x": [1, 2], "y": [3, 4]},
        "r": {"a": [1, 2]},
    }
    assert run.get_metrics("loss", recursive=True) == {run.id: {"loss": [2, 1]}, child.id: {"loss": 7}}
    assert run.get_tags() == {"a": "1"}
    assert run.get_file_names() == ["some/f.txt"]
    run.download_file("some/f.txt", "back/f")
    assert (tmp_path / "back/f").read_text() == "f"
    with pytest.raises(
        UserErrorException, match="File with path g was not found, available files include: some/f"
    ):
        run.download_file("g")
    failing = experiment.start_logging()
    failing.fail("no data")
    with pytest.raises(ActivityFailedException, match="no data"):
        failing.wait_for_completion()


def test_a_failed_run_is_a_failed_job() -> None:
    verdict = Verdict("rank 1 exited with code 3")
    error = ActivityFailedException("{}", name="n", verdict=verdict, exit_code=3)
    back = pickle.loads(pickle.dumps(error))
    assert isinstance(back, JobFailed) and isinstance(back, ActivityFailedException)
    assert (back.name, back.verdict, back.exit_code, back.message) == (
        "n",
        verdict,
        3,
        "Activity Failed:\n{}",
    )
