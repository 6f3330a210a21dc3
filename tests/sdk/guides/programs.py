"""The guides' blocks as programs: what stands before and after each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent

# What every program for v1 has done before the guide's code begins.
WORKSPACE = """\
from azureml.core import Environment, Experiment, Workspace

ws = Workspace.from_config()
compute_target = ws.compute_targets["gpu-cluster"]
pytorch_env = Environment.get(workspace=ws, name="AzureML-PyTorch-1.6-GPU")
"""

# The job before, whose output `cifar` the guide's job reads.
RETURNED_JOB = """\
from azure.ai.ml import Input, MLClient, Output, command
from azure.identity import DefaultAzureCredential

ml_client = MLClient(DefaultAzureCredential(), "subscription", "group", "workspace")
returned_job = ml_client.create_or_update(
    command(
        command="cp -r ${{inputs.made}}/. ${{outputs.cifar}}",
        inputs={"made": Input(type="uri_folder", path="./data")},
        outputs={"cifar": Output(type="uri_folder")},
        environment="azureml:AzureML-acpt-pytorch-2.8-cuda12.6@latest",
    )
)
ml_client.jobs.stream(returned_job.name)
"""

CLIENT = """\
from azure.ai.ml import MLClient, TensorFlowDistribution, command
from azure.identity import InteractiveBrowserCredential

ml_client = MLClient(InteractiveBrowserCredential(), "subscription", "group", "workspace")
"""

SUBMIT_V1 = """\
run = Experiment(ws, "experiment_name").submit(run_config)
"""

SUBMIT_ARGUMENTS = """\
from azureml.core import ScriptRunConfig
from azureml.core.runconfig import PyTorchConfiguration

run_config = ScriptRunConfig(
    source_directory="./src",
    script="train.py",
    arguments=arguments,
    environment=pytorch_env,
    distributed_job_config=PyTorchConfiguration(process_count=4, node_count=2),
)
run = Experiment(ws, "experiment_name").submit(run_config)
"""

WAIT_V1 = """\
details = run.wait_for_completion(show_output=True)
print("ended", details["status"], run.id)
"""

WAIT_V2 = """\
made = ml_client.jobs.create_or_update(job)
ml_client.jobs.stream(made.name)
print("ended", ml_client.jobs.get(made.name).status, made.name)
"""


@dataclass(frozen=True)
class Block:
    """A block: what stands before and after it, its nodes and processes, and how these are told who they
    are.
    """

    before: str
    after: str
    nodes: int
    world: int
    kind: str = "torch"

    def program(self, name: str) -> str:
        """The whole program."""
        text = (HERE / f"{name}.txt").read_text()
        if name == "v1_arguments":
            text = text.replace("$LOCAL_RANK", "'$LOCAL_RANK'")
        return f"{self.before}\n{text}\n{self.after}"


BLOCKS = {
    "v1_mpi": Block(WORKSPACE, WAIT_V1, 2, 8, "mpi"),
    "v1_pytorch": Block(WORKSPACE, WAIT_V1, 2, 8),
    "v1_arguments": Block(WORKSPACE, SUBMIT_ARGUMENTS + WAIT_V1, 2, 4),
    "v1_launch": Block(WORKSPACE, WAIT_V1, 2, 8),
    "v1_launch_one_node": Block(
        WORKSPACE + "from azureml.core import ScriptRunConfig\n", SUBMIT_V1 + WAIT_V1, 1, 4
    ),
    "v1_lightning": Block(WORKSPACE, WAIT_V1, 2, 8, "mpi"),
    "v1_transformers": Block(WORKSPACE, SUBMIT_V1 + WAIT_V1, 1, 8),
    "v1_tensorflow": Block(WORKSPACE, WAIT_V1, 2, 2, "tensorflow"),
    "v2_pytorch": Block(RETURNED_JOB, WAIT_V2, 2, 2),
    "v2_tensorflow": Block(CLIENT, WAIT_V2, 2, 2, "tensorflow"),
}

# Blocks that start torch.distributed.launch: they need PyTorch in any case.
WITH_TORCH = {"v1_launch", "v1_launch_one_node", "v1_transformers"}

ENVIRONMENTS = (
    "AzureML-PyTorch-1.6-GPU",
    "AzureML-acpt-pytorch-2.8-cuda12.6",
    "AzureML-TensorFlow-2.3-GPU",
    "AzureML-tensorflow-2.16-cuda12",
)


def environments(folder: Path, *, torch: Path, tensorflow: Path) -> None:
    """Writes environments.yml: which virtual environment each of the guides' environments is here."""
    lines = [f"{name}:\n  venv: {tensorflow if 'ensor' in name else torch}\n" for name in ENVIRONMENTS]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "environments.yml").write_text("".join(lines))


def facts_of(text: str) -> list[str]:
    """What processes said of themselves: the JSON that follows `facts ` in their lines."""
    return [line[line.index("facts {") + 6 :] for line in text.splitlines() if "facts {" in line]
