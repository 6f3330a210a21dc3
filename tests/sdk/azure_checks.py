"""Run by the Python that has the real azure-ai-ml: `azure_checks.py WHAT` in a folder of the test's own.

What it finds is printed as JSON on the last line; the rest is the SDK's own talk.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import azure.ai.ml
import azure.ai.ml.constants
import azure.ai.ml.entities
import phalanx
import phalanx.ml
from azure.ai.ml.operations import JobOperations
from phalanx.ml._operations import JobOperations as OurOperations

REAL, OURS = azure.ai.ml, phalanx.ml


def made(package: Any) -> Any:
    """The job of the guide, by either package."""
    job = package.command(
        code="./src",
        command="sh t.sh ${{inputs.d}} ${{inputs.lr}} ${{inputs.flag}} ${{outputs.m}}",
        inputs={
            "d": package.Input(type="uri_folder", path="./d"),
            "lr": 0.01,
            "flag": True,
            "s": "x",
        },
        outputs={"m": package.Output(), "k": None},
        environment="any@latest",
        instance_count=3,
        distribution={"type": "PyTorch", "process_count_per_instance": 1, "added": 5},
        timeout=60,
        shm_size="4g",
        environment_variables={"A": 1},
        display_name="hé",
        tags={"a": "b"},
        job_tier="spot",
        priority="low",
        identity=package.entities.UserIdentityConfiguration(),
    )
    job.resources = package.entities.ResourceConfiguration(instance_type="X", instance_count=2)
    return job


def submit() -> Any:
    """Both packages' jobs, run: their logs and what the program was given."""
    found = []
    for package in (REAL, OURS):
        done = phalanx.submit(made(package)).wait()
        job = dict(done.data["job"])
        job.pop("name")
        job["code"] = str(Path(job["base_folder"], job["code"]).resolve())
        found.append({"logs": sorted(done.logs()), "job": job})
    return found


def objects() -> Any:
    """Other objects of the real SDK: built environments, loaded files, CommandJob; and what is refused."""
    Path("job.yml").write_text(
        "command: echo ${{inputs.a}} ${{inputs.b}}\nenvironment: azureml:x@latest\ncode: src\n"
        "inputs: {a: true, b: {type: uri_file, path: d/x}}\n"
    )
    lines: list[Any] = [list(phalanx.submit(REAL.load_job("job.yml")).wait().logs())]
    real = REAL.entities
    environment = real.Environment(image="x", conda_file={"dependencies": ["python"]})
    job = real.CommandJob(command="echo ${{inputs.n}}", environment=environment, inputs={"n": 3})
    lines.append(list(phalanx.submit(job).wait().logs()))
    named = REAL.command(command="echo named", environment=real.Environment(name="e", version="2", image="i"))
    lines.append(list(phalanx.submit(named).wait().logs()))
    client = OURS.MLClient()
    returned = client.create_or_update(named)
    client.jobs.stream(returned.name)
    lines.append(client.jobs.get(returned.name).status)
    sweep = REAL.command(command="echo", environment="x@latest", inputs={"lr": 0.1}).sweep(
        primary_metric="loss", goal="minimize"
    )
    try:
        phalanx.submit(sweep)
    except phalanx.InvalidArgument as error:
        lines.append(str(error))
    return lines


def dumped() -> Any:
    """What our jobs dump, as the real `load_job` reads it."""
    job = made(OURS)
    job.dump("dumped.yml")
    again = REAL.load_job("dumped.yml")
    plain = again._to_job()
    return {
        "command": plain.command,
        "code": str(Path(plain.code).resolve()),
        "environment": plain.environment,
        "inputs": {
            name: value if isinstance(value, (str, int, float)) else [value.type, value.path]
            for name, value in plain.inputs.items()
        },
        "outputs": sorted(plain.outputs),
        "nodes": plain.resources.instance_count,
        "processes": plain.distribution.process_count_per_instance,
        "timeout": plain.limits.timeout,
        "priority": plain.queue_settings.priority,
        "variables": plain.environment_variables,
        "display_name": plain.display_name,
        "tags": plain.tags,
    }


def _parameters(function: Any) -> dict[str, Any]:
    return {
        name: repr(parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }


def signatures() -> Any:
    """Keywords and defaults of theirs that ours lack, or have otherwise."""
    pairs: list[tuple[str, Any, Any]] = [
        ("command", REAL.command, OURS.command),
        ("load_job", REAL.load_job, OURS.load_job),
    ]
    for name in OURS.entities.__all__:
        real = getattr(REAL.entities, name, None) or getattr(REAL, name, None)
        ours = getattr(OURS.entities, name)
        if real is not None and name not in ("Command", "Job", "ValidationResult"):
            pairs.append((name, real.__init__, ours.__init__))
    for name, method in inspect.getmembers(OurOperations, inspect.isfunction):
        if not name.startswith("_"):
            pairs.append((f"jobs.{name}", getattr(JobOperations, name), method))
    differ = []
    for name, real, ours in pairs:
        theirs, own = _parameters(real), _parameters(ours)
        takes_any = any(
            parameter.kind is inspect.Parameter.VAR_KEYWORD
            for parameter in inspect.signature(ours).parameters.values()
        )
        for key, default in theirs.items():
            if key not in own and not takes_any:
                differ.append(f"{name} lacks {key}")
            elif key in own and own[key] != default and "ListViewType" not in default:
                differ.append(f"{name} has {key}={own[key]}, theirs {default}")
    for module in ("constants",):
        for name in getattr(OURS, module).__all__:
            real_values = {k: v for k, v in vars(getattr(REAL.constants, name)).items() if k.isupper()}
            own_values = {k: v for k, v in vars(getattr(OURS.constants, name)).items() if k.isupper()}
            differ += [f"{name}.{key}" for key, value in own_values.items() if real_values.get(key) != value]
    missing = [
        name for name in OURS.entities.__all__ if not hasattr(REAL.entities, name) and not hasattr(REAL, name)
    ]
    return {"differ": differ, "not theirs": missing}


JOB = [
    "name",
    "status",
    "compute",
    "experiment_name",
    "display_name",
    "tags",
    "properties",
    "services",
    "identity",
    "queue_settings",
    "limits",
    "resources",
    "distribution",
    "environment_variables",
    "type",
    "id",
    "command",
    "code",
]


def defaults() -> Any:
    """What the parts of a job are when nothing is said, by both."""
    found = []
    for package in (REAL, OURS):
        job = package.command(command="x", environment="a@latest", inputs={"a": 1})
        e = package.entities
        tensorflow, torch = package.TensorFlowDistribution(), package.PyTorchDistribution()
        mpi = package.MpiDistribution()
        found.append(
            {
                "job": [repr(getattr(job, name)) for name in JOB] + [list(job.inputs), list(job.outputs)],
                "tensorflow": [tensorflow.type, tensorflow.parameter_server_count, tensorflow.worker_count],
                "others": [mpi.type, torch.type, torch.process_count_per_instance],
                "io": [
                    package.Input().type,
                    package.Input().mode,
                    package.Output().type,
                    package.Output().mode,
                ],
                "resources": [
                    e.JobResourceConfiguration().instance_count,
                    e.ResourceConfiguration().instance_type,
                ],
                "equal": package.PyTorchDistribution(process_count_per_instance=2)
                == package.PyTorchDistribution(process_count_per_instance=2),
            }
        )
    return found


def refused() -> Any:
    """Values that the real SDK refuses where they are written: which of the two packages does."""
    cases: list[dict[str, Any]] = [
        {"inputs": {"a": None}},
        {"inputs": {"a": [1]}},
        {"outputs": {"a": 3}},
        {"distribution": {"type": "horovod"}},
        {"distribution": {"process_count_per_instance": 2}},
        {"distribution": {"type": "pytorch", "process_count_per_instance": "two"}},
        {"environment": 3},
        {"environment_variables": ["a"]},
        {"code": 3},
        {},
    ]
    found = []
    for case in cases:
        outcome = []
        for package in (REAL, OURS):
            try:
                package.command(command="x", **case)
                outcome.append("taken")
            except Exception:
                outcome.append("refused")
        found.append(outcome)
    return found


if __name__ == "__main__":
    print("\n" + json.dumps(globals()[sys.argv[1]]()))
