"""The surface of the Azure SDK v2: what users of the guides write, on the real program."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy
import phalanx as px
import pytest
import yaml
from conftest import Phalanx, eventually
from phalanx import InvalidJob, JobFailed, PhalanxError
from phalanx._check import Keywords
from phalanx._job import list_entries
from phalanx.ml import (
    Input,
    MLClient,
    MpiDistribution,
    Output,
    PyTorchDistribution,
    TensorFlowDistribution,
    __version__,
    command,
    entities,
    load_job,
)
from phalanx.ml.constants import AssetTypes, InputOutputModes, ListViewType
from phalanx.ml.entities import (
    Command,
    Environment,
    JobResourceConfiguration,
    JobService,
    ResourceConfiguration,
    SshJobService,
    UserIdentityConfiguration,
)
from phalanx.ml.exceptions import (
    JobException,
    MlException,
    ResourceNotFoundError,
    UserErrorException,
    ValidationException,
)

ANY = "azureml:any@latest"


def simple(line: str = "true", **more: Any) -> Command:
    return command(command=line, environment=ANY, **more)


def test_the_version_satisfies_the_guides() -> None:
    assert [int(part) for part in __version__.split(".")] >= [1, 5, 0]


def test_resources_and_limits_are_flattened(here: Path) -> None:
    job = simple(
        instance_count=2, instance_type="X", shm_size="4g", docker_args=["-a"], locations=["west"], timeout=60
    )
    assert isinstance(job.resources, JobResourceConfiguration)
    assert job._to_dict()["resources"] == {
        "instance_count": 2,
        "instance_type": "X",
        "locations": ["west"],
        "docker_args": ["-a"],
        "shm_size": "4g",
    }
    assert job.limits is not None and job.limits.timeout == 60
    assert simple().resources is None and simple().limits is None
    queued = simple(job_tier="spot", priority="high")
    assert queued._to_dict()["queue_settings"] == {"job_tier": "spot", "priority": "high"}


@pytest.mark.parametrize(
    "given, made",
    [
        (
            {"type": "PyTorch", "process_count_per_instance": 4, "x": {"y": 3}},
            PyTorchDistribution(process_count_per_instance=4),
        ),
        ({"type": "tensorflow", "added_property": 7}, TensorFlowDistribution()),
        (
            {"type": "TensorFlow", "worker_count": 2, "parameter_server_count": 1},
            TensorFlowDistribution(worker_count=2, parameter_server_count=1),
        ),
        ({"type": "MPI"}, MpiDistribution()),
        (
            {"type": "pytorch", "process_count_per_instance": "2"},
            PyTorchDistribution(process_count_per_instance=2),
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::phalanx.PhalanxWarning")
def test_a_dict_becomes_a_distribution(here: Path, given: dict[str, Any], made: Any) -> None:
    assert simple(distribution=given).distribution == made
    job = simple()
    job.distribution = given
    assert job.distribution == made


@pytest.mark.parametrize(
    "key, says",
    [
        (
            "process_count",
            "process_count is ignored, as Azure ML does: it is the old SDK's; write process_count_",
        ),
        ("process_count_per_instances", "did you mean process_count_per_instance?"),
        ("zebra", "distribution: zebra is ignored, as Azure ML does"),
    ],
)
def test_a_key_that_a_distribution_drops_is_said(here: Path, key: str, says: str) -> None:
    with pytest.warns(px.PhalanxWarning) as said:
        assert simple(distribution={"type": "pytorch", key: 2}).distribution == PyTorchDistribution()
    assert [warning.filename for warning in said] == [__file__]
    assert says in str(said[0].message)


@pytest.mark.filterwarnings("error::phalanx.PhalanxWarning")
@pytest.mark.parametrize("given", [{"launch": "node"}, {"type": "pytorch", "launch": "node"}])
def test_a_launch_that_is_phalanx_own_is_kept(here: Path, given: dict[str, Any]) -> None:
    client = MLClient()
    done = client.jobs.create_or_update(simple("echo one", distribution=given, instance_count=2))
    client.jobs.stream(done.name)
    assert client.jobs.get(done.name)._to_dict()["distribution"] == given
    assert len(px.Job(done.name).ranks) == 2


def test_a_tensorflow_job_has_no_parameter_server_unless_asked() -> None:
    assert TensorFlowDistribution().parameter_server_count == 0
    assert TensorFlowDistribution().worker_count is None


@pytest.mark.parametrize(
    "wrong, says",
    [
        ({"compte": "x"}, "no keyword compte; did you mean compute"),
        ({"command": 3}, "command is 3"),
        ({"code": 3}, "code is 3"),
        ({"environment": 3}, "environment is 3"),
        ({"environment_variables": ["A"]}, "environment_variables is"),
        ({"environment_variables": {"A": ["x"]}}, "environment_variables['A'] is a list"),
        ({"inputs": {"a": None}}, "input a is a NoneType"),
        ({"inputs": {"a": [1]}}, "input a is a list"),
        ({"inputs": 3}, "inputs is 3"),
        ({"outputs": {"a": 3}}, "output a is a int"),
        ({"distribution": "pytorch"}, "distribution is 'pytorch'"),
        ({"distribution": {"type": "horovod"}}, "distribution.type is 'horovod'"),
        ({"distribution": {"process_count_per_instance": 2}}, "distribution has no type"),
        (
            {"distribution": {"type": "pytorch", "process_count_per_instance": "two"}},
            "process_count_per_instance is",
        ),
        ({"instance_count": "two"}, "instance_count is 'two'"),
        ({"instance_count": True}, "instance_count is True"),
        ({"timeout": 1.5}, "timeout is 1.5"),
        ({"tags": 3}, "tags is 3"),
        ({"tags": {3: "x"}}, "tags has the key 3"),
        ({"identity": {"type": "me"}}, "identity.type is 'me'"),
        ({"services": {"s": 3}}, "service s is 3"),
        ({"name": 3}, "name is 3"),
        ({"command": "a\0b"}, "NUL"),
    ],
)
def test_a_wrong_argument_is_named(here: Path, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationException) as caught:
        command(**({"command": "x"} | wrong))
    assert says in str(caught.value)
    assert isinstance(caught.value, (MlException, TypeError, ValueError)) and isinstance(
        caught.value, PhalanxError
    )


def test_an_attribute_that_is_not_there_is_an_error(here: Path) -> None:
    job = simple()
    with pytest.raises(ValidationException, match="did you mean distribution"):
        job.distribtion = {"type": "mpi"}
    with pytest.raises(AttributeError):
        _ = job.distribtion
    with pytest.raises(ValidationException, match="distribution is 'pytorch'"):
        job.distribution = "pytorch"


@pytest.mark.filterwarnings("ignore::phalanx.PhalanxWarning")
def test_programs_that_run_unchanged_may_have_any_keyword(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Keywords, "swallow", True)
    job = command(command="x", nonsense=3, environment=ANY)
    job.more_nonsense = 4
    assert Input(foo=3).type == "uri_folder"


def test_inputs_are_literals_and_data(here: Path) -> None:
    job = simple(
        inputs={
            "d": Input(type=AssetTypes.URI_FOLDER, path="./d", mode=InputOutputModes.DOWNLOAD),
            "e": {"type": "uri_file", "path": "e"},
            "p": here / "f",
            "lr": 0.1,
            "flag": True,
            "n": numpy.int64(3),
            "typed": Input(type="integer", default="4"),
        }
    )
    assert job.inputs.d.path == "./d" and job.inputs["e"].type == "uri_file"
    assert job.inputs.p.path == str(here / "f")
    assert (job.inputs.lr, job.inputs.flag, job.inputs.n, job.inputs.typed) == (0.1, True, 3, 4)
    job.inputs.lr = 0.5
    job.inputs["more"] = "x"
    assert list(job.inputs) == ["d", "e", "p", "lr", "flag", "n", "typed", "more"]
    with pytest.raises(AttributeError, match="no input zzz; it has d, e"):
        _ = job.inputs.zzz
    with pytest.raises(UserErrorException):
        Input(type="integer", default="x")
    assert Output().type == "uri_folder"
    for bad in ({"name": "a b"}, {"version": "1"}):
        with pytest.raises(UserErrorException):
            Output(**bad)


def test_a_command_is_a_template(here: Path) -> None:
    job = simple("echo ${{inputs.lr}}", name="one", inputs={"lr": 0.1})
    other = job(lr=0.5)
    assert (other.inputs.lr, other.name, job.inputs.lr) == (0.5, None, 0.1)
    with pytest.raises(ValidationException, match="no keyword rate"):
        job(rate=3)
    assert copy.deepcopy(job)._to_dict() == pickle.loads(pickle.dumps(job))._to_dict() == job._to_dict()


def test_the_guides_job_runs_and_its_output_feeds_the_next(here: Path) -> None:
    (here / "src").mkdir()
    (here / "src/make.sh").write_text("echo made > $1/data.txt\n")
    (here / "src/train.sh").write_text("cat $1/data.txt; echo $2 $RANK of $WORLD_SIZE\n")
    client = MLClient(object(), "subscription", "group", workspace_name="ws")
    first = command(
        code="./src",
        command="sh make.sh ${{outputs.cifar}}",
        outputs={"cifar": Output(type="uri_folder")},
        environment=ANY,
    )
    returned_job = client.jobs.create_or_update(first)
    client.jobs.stream(returned_job.name)
    job = command(
        code="./src",
        command="sh train.sh ${{inputs.cifar}} ${{inputs.lr}}",
        inputs={"cifar": Input(type=AssetTypes.URI_FOLDER, path=returned_job.outputs.cifar.path), "lr": 0.01},
        environment="any@latest",
        instance_count=3,
        distribution={"type": "PyTorch", "process_count_per_instance": 1},
    )
    job.resources = ResourceConfiguration(instance_type="STANDARD_NC4AS_T4_V3", instance_count=2)
    done = client.create_or_update(job)
    client.jobs.stream(done.name)
    client.jobs.download(done.name, download_path="got", all=True)
    logs = sorted((here / "got/artifacts/user_logs").iterdir())
    assert [log.read_text() for log in logs] == ["made\n0.01 0 of 2\n", "made\n0.01 1 of 2\n"]


def test_typed_distributions_run(here: Path) -> None:
    job = simple(
        "python3 -c \"import os, json; print(json.loads(os.environ['TF_CONFIG'])['task'])\"", instance_count=2
    )
    job.distribution = TensorFlowDistribution(worker_count=2)
    client = MLClient()
    done = client.create_or_update(job)
    client.jobs.stream(done.name)
    log = Path(done.id) / "user_logs" / "std_log_process_1.txt"
    assert "'index': 1" in log.read_text()


def test_a_returned_job_has_what_was_submitted(here: Path) -> None:
    client = MLClient()
    job = simple(
        "echo ${{inputs.lr}}",
        inputs={"lr": 0.1},
        tags={"a": "b"},
        display_name="hé",
        instance_count=2,
        distribution={"type": "pytorch", "process_count_per_instance": 1},
        outputs={"m": None},
        timeout=60,
        environment_variables={"A": 1},
    )
    returned = client.jobs.create_or_update(job, tags={"c": "d"}, experiment_name="mine", description="what")
    assert job.tags == {"c": "d"}
    client.jobs.stream(returned.name)
    got = client.jobs.get(returned.name)
    assert (got.name, got.status, got.display_name) == (returned.name, "Completed", "hé")
    assert (got.tags, got.experiment_name, got.description) == ({"c": "d"}, "mine", "what")
    assert got.inputs.lr == "0.1"  # as the service gives literals back
    assert got.distribution == PyTorchDistribution(process_count_per_instance=1)
    assert (got.resources.instance_count, got.limits.timeout) == (2, 60)
    assert got.environment_variables == {"A": "1"} and got.environment == ANY
    assert got.outputs.m.path == f"azureml://jobs/{got.name}/outputs/m/paths/"
    assert got.studio_url and got.studio_url.startswith("file://")
    with pytest.raises(PhalanxError):
        client.jobs.create_or_update(got)  # there is one of this name
    got.name = None
    again = client.jobs.create_or_update(got)
    assert again.name != returned.name
    client.jobs.stream(again.name)
    unnamed = client.jobs.create_or_update(simple())
    client.jobs.stream(unnamed.name)
    assert client.jobs.get(unnamed.name).experiment_name == here.name


def test_a_job_that_waits_has_what_was_submitted_too(here: Path) -> None:
    client = MLClient()
    slots = len(os.sched_getaffinity(0))
    holding = client.create_or_update(
        simple("sleep 1000", distribution={"type": "pytorch", "process_count_per_instance": slots})
    )
    eventually(lambda: client.jobs.get(holding.name).status == "Running")
    waiting = client.create_or_update(simple("true", outputs={"m": None}, tags={"a": "b"}))
    assert waiting.outputs.m.path == f"azureml://jobs/{waiting.name}/outputs/m/paths/"
    got = client.jobs.get(waiting.name)
    assert (got.status, got.tags) == ("Queued", {"a": "b"})
    for name in (waiting.name, holding.name):
        client.jobs.begin_cancel(name).result(60)


def test_jobs_are_listed_archived_and_restored(here: Path) -> None:
    client = MLClient()
    names = [client.create_or_update(simple(name=name, parent_job_name=parent)).name
             for name, parent in (("one", None), ("two", "one"))]  # fmt: skip
    for name in names:
        client.jobs.stream(name)

    def listed(**options: Any) -> list[str]:
        return [job.name for job in client.jobs.list(**options)]

    assert listed() == ["two", "one"] and listed(max_results=1) == ["two"]
    assert listed(parent_job_name="one") == ["two"]
    client.jobs.archive("one")
    assert listed() == ["two"]
    assert [entry["name"] for entry in list_entries(all=False)] == ["two"]
    assert listed(list_view_type=ListViewType.ARCHIVED_ONLY) == ["one"]
    assert listed(list_view_type="All") == ["two", "one"]
    client.jobs.restore("one")
    client.jobs.restore("one")
    assert listed() == ["two", "one"]


def test_a_failed_job_ends_its_stream_with_the_verdict(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = MLClient()
    failing = client.create_or_update(simple("echo seen; exit 7"))
    with pytest.raises(JobException) as caught:
        client.jobs.stream(failing.name)
    assert isinstance(caught.value, JobFailed) and caught.value.exit_code == 7
    assert "exited with code 7" in str(caught.value)
    assert "seen" in capsys.readouterr().out
    assert client.jobs.get(failing.name).status == "Failed"


def test_cancelling_is_polled_and_no_error_in_the_stream(here: Path) -> None:
    client = MLClient()
    running = client.create_or_update(simple("sleep 1000"))
    with pytest.raises(JobException, match="Download is allowed only"):
        client.jobs.download(running.name)
    poller = client.jobs.begin_cancel(running.name)
    assert poller.result(60) is None
    assert poller.done() and poller.status() == "Succeeded"
    assert client.jobs.get(running.name).status == "Canceled"
    client.jobs.stream(running.name)
    assert client.jobs.show_services(running.name) is None


def test_what_is_not_there_is_said(here: Path) -> None:
    client = MLClient()
    for ask in (client.jobs.get, client.jobs.stream, client.jobs.begin_cancel, client.jobs.archive):
        with pytest.raises(ResourceNotFoundError, match="no job absent"):
            ask("absent")
    with pytest.raises(AttributeError, match=r"has MLClient\.jobs"):
        _ = client.datastores
    with pytest.raises(ValidationException, match="Phalanx has jobs, data, environments and computes"):
        client.create_or_update(Input(path="x"))
    with pytest.raises(ResourceNotFoundError, match="no data d:latest; there is none"):
        client.data.get("d")
    with pytest.raises(ValidationException, match="not run here"):
        simple().sweep(primary_metric="x", goal="maximize")


def test_a_job_is_validated_without_running(here: Path) -> None:
    client = MLClient()
    result = client.jobs.validate(command(command="echo ${{inputs.x}}", environment=ANY))
    assert not result.passed
    assert "inputs.x" in result.error_messages["command"]
    assert json.loads(repr(result))["result"] == "Failed"
    with pytest.raises(ValidationException, match=r"inputs\.x"):
        client.jobs.validate(command(command="echo ${{inputs.x}}", environment=ANY), raise_on_failure=True)
    assert client.jobs.validate(simple()).passed
    with pytest.raises(InvalidJob, match="environment"):
        client.create_or_update(command(command="true"))
    assert not list(client.jobs.list())


def test_from_config_needs_none_and_reads_one(here: Path) -> None:
    assert MLClient.from_config(None).workspace_name is None
    (here / ".azureml").mkdir()
    (here / ".azureml/config.json").write_text(
        '{"workspace_name": "w", "resource_group": "r", "subscription_id": "s"}'
    )
    client = MLClient.from_config(object())
    assert (client.workspace_name, client.resource_group_name, client.subscription_id) == ("w", "r", "s")
    with pytest.raises(ValidationException, match=r"no config\.json"):
        MLClient.from_config(object(), path=here / "nowhere")
    (here / ".azureml/config.json").write_text("[")
    with pytest.raises(ValidationException, match="no configuration"):
        MLClient.from_config(object())
    with pytest.raises(ValidationException, match="no keyword subscripton_id"):
        MLClient(None, subscripton_id="x")


def test_what_is_dumped_is_what_was_written(here: Path, phalanx: Phalanx) -> None:
    (here / "src").mkdir()
    (here / "data").mkdir()
    job = command(
        command="echo ${{inputs.d}} ${{inputs.far}}\necho second line: 'x'",
        code="src",
        environment=Environment(image="x", conda_file={"dependencies": ["python"]}),
        inputs={
            "d": Input(path="data"),
            "far": Input(path="azureml://datastores/d/paths/p"),
            "s": "007",
            "no": "no",
        },
        outputs={"m": Output(path="./m", mode="upload")},
        services={"s": SshJobService(ssh_public_keys="k"), "t": JobService(type="tensor_board", port=3)},
        identity=UserIdentityConfiguration(),
        environment_variables={"A": "yes", "É": "ü"},
        distribution={"type": "mpi", "process_count_per_instance": 1},
        instance_count=2,
        description="several\nlines\n",
        compute="cpu-cluster",
        priority="low",
        parent_job_name="p",
        tags={"x": "2024-01-01"},
    )
    below = here / "jobs"
    below.mkdir()
    job.dump(here / "job.yml")
    job.dump(below / "job.yml")
    text = io.StringIO()
    job.dump(text)
    data = yaml.safe_load((here / "job.yml").read_text("utf-8"))
    assert (data["code"], data["inputs"]["d"]["path"], data["outputs"]["m"]["path"]) == (
        "./src",
        "./data",
        "./m",
    )
    assert yaml.safe_load((below / "job.yml").read_text("utf-8"))["code"] == str(here / "src")
    assert yaml.safe_load(text.getvalue())["code"] == str(here / "src")
    assert data["inputs"]["far"]["path"] == "azureml://datastores/d/paths/p"
    for file in (here / "job.yml", below / "job.yml"):
        checked = phalanx.run("validate", "--azureml", file)
        assert checked.returncode == 0, checked.stdout
    again = load_job(here / "job.yml")
    assert isinstance(again, Command)
    wanted = job._to_dict() | {"code": "./src", "inputs": data["inputs"], "outputs": data["outputs"]}
    assert again._to_dict() == wanted


def test_a_job_file_is_loaded_with_overrides(here: Path) -> None:
    folder = here / "away"
    (folder / "src").mkdir(parents=True)
    (folder / "src/x.sh").write_text("echo from away ${1}\n")
    (folder / "job.yml").write_text(
        f"command: sh x.sh ${{{{inputs.lr}}}}\ncode: src\nenvironment: {ANY}\n"
        "inputs: {lr: 0.1}\nstop_grace: 3\n"
    )
    job = load_job(folder / "job.yml", params_override=[{"inputs.lr": 0.5}, {"resources.instance_count": 1}])
    assert (job.inputs.lr, job.stop_grace, job.resources.instance_count) == (0.5, 3, 1)
    client = MLClient()
    done = client.create_or_update(job)
    client.jobs.stream(done.name)
    assert (Path(done.id) / "user_logs/std_log.txt").read_text() == "from away 0.5\n"
    with open(folder / "job.yml") as file:
        assert load_job(file, relative_origin=str(folder / "job.yml")).inputs.lr == 0.1


@pytest.mark.parametrize(
    "text, says",
    [
        ("command: x\nenvironment: azureml:a@latest\ncompte: 3\n", "job.yml:3:1: unknown key 'compte'"),
        ("command: [\n", "job.yml:2:1"),
        ("- 1\n", "job.yml"),
        ("", "job.yml"),
    ],
)
def test_a_wrong_job_file_is_shown_with_its_line(here: Path, text: str, says: str) -> None:
    (here / "job.yml").write_text(text)
    with pytest.raises(ValidationException) as caught:
        load_job("job.yml")
    assert says in str(caught.value)


def test_a_job_file_that_cannot_be_read_is_said(here: Path) -> None:
    (here / "binary").write_bytes(b"\xff\xfe\x00")
    for path, says in (
        ("absent.yml", "cannot be read"),
        ("binary", "no text in UTF-8"),
        (".", "cannot be read"),
    ):
        with pytest.raises(ValidationException, match=says):
            load_job(path)
    with pytest.raises(ValidationException, match="source is None"):
        load_job(None)  # type: ignore[arg-type]


def test_a_job_of_tasks_can_be_loaded_and_submitted(here: Path) -> None:
    (here / "job.yml").write_text(
        "tasks:\n  - {name: a, command: echo A}\n  - {name: b, command: echo B, depends_on: [a]}\n"
    )
    client = MLClient()
    done = client.create_or_update(load_job("job.yml"))
    eventually(lambda: client.jobs.get(done.name).status == "Completed")


def test_environments_are_names_here(here: Path) -> None:
    assert simple()._to_dict()["environment"] == ANY
    for given, written in {
        "any@latest": "azureml:any@latest",
        "any:1": "azureml:any:1",
        "azureml://registries/r/environments/e/labels/latest": "azureml://registries/r/environments/e/labels/latest",
    }.items():
        assert command(command="x", environment=given)._to_dict()["environment"] == written
    named = MLClient().environments.get("e", version="3")
    assert command(command="x", environment=named)._to_dict()["environment"] == "azureml:e:3"
    (here / "conda.yml").write_text("dependencies: [python]\n")
    built = Environment(image="i", conda_file="conda.yml")
    assert command(command="x", environment=built)._to_dict()["environment"] == {
        "image": "i",
        "conda_file": {"dependencies": ["python"]},
    }
    with pytest.raises(ValidationException, match=r"nope\.yml cannot be read"):
        Environment(conda_file="nope.yml")
    with pytest.raises(ValidationException, match="neither a name nor an image"):
        command(command="x", environment=Environment())._to_dict()


def test_everything_that_is_promised_is_there() -> None:
    for name in entities.__all__:
        assert getattr(entities, name).__doc__, f"{name} has no docstring"
