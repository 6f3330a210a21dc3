"""The package on each Python from 3.9 to 3.13 that this machine has; the tests' own in any case."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from .conftest import PACKAGE

PROGRAM = r"""
import asyncio, copy, importlib, pathlib, pickle, pkgutil, sys, warnings
warnings.simplefilter("error")
import phalanx
for module in pkgutil.walk_packages(phalanx.__path__, "phalanx."):
    if module.name != "phalanx._python" and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from phalanx.ml import Input, MLClient, Output, command, load_job
job = command(command="echo ${{inputs.lr}} $RANK", inputs={"lr": 0.1, "d": Input(path=".")},
              outputs={"m": Output()},
              environment="azureml:any@latest", instance_count=2, timeout=60,
              distribution={"type": "pytorch", "process_count_per_instance": 1})
assert pickle.loads(pickle.dumps(job))._to_dict() == copy.deepcopy(job)._to_dict() == job._to_dict()
job.dump("job.yml")
client = MLClient()
done = client.create_or_update(load_job("job.yml"))
client.jobs.stream(done.name)
assert sorted(phalanx.Job(done.name).logs(prefix=False)) == ["0.1 0", "0.1 1"]
assert phalanx.Job(done.name).ranks[0].started is not None
async def failing():
    job = await phalanx.submit_async({"command": "echo a; exit 3", "environment": "azureml:any@latest"})
    assert [line async for line in job.logs_async(follow=True)] == ["a"]
    await job.wait_async()
try:
    asyncio.run(failing())
except phalanx.JobFailed as error:
    assert error.exit_code == 3, error
print("good")
"""


def pythons() -> list[str]:
    found = {sys.version_info[:2]: sys.executable}
    for minor in range(9, 14):
        named = shutil.which(f"python3.{minor}")
        kept = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3"))
        for path in [*map(str, kept), *([named] if named else [])]:
            if (3, minor) not in found and subprocess.run([path, "-V"], capture_output=True).returncode == 0:
                found[(3, minor)] = path
    return [path for _, path in sorted(found.items())]


@pytest.mark.parametrize("python", pythons())
def test_the_package_runs_on(python: str, here: Path) -> None:
    libraries = here / "libraries"  # PyYAML's Python files serve every version
    libraries.mkdir()
    (libraries / "yaml").symlink_to(Path(yaml.__file__).parent)
    env = os.environ | {"PYTHONPATH": f"{PACKAGE}:{libraries}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [python, "-c", PROGRAM], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("good\n")
