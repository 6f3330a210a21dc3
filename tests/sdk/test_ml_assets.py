"""What `phalanx.ml` has beside jobs: computes, environments and data, by name."""

from __future__ import annotations

from pathlib import Path

import phalanx as px
import pytest
from conftest import Phalanx
from phalanx.core import Dataset, Workspace
from phalanx.ml import Input, MLClient, command, entities
from phalanx.ml.entities import Data, Environment
from phalanx.ml.exceptions import ValidationException

from .test_ml import simple


def test_a_program_that_makes_its_compute_and_environment_goes_on(here: Path, phalanx: Phalanx) -> None:
    phalanx.home.mkdir()
    (phalanx.home / "computes.yml").write_text("computes:\n  pair: {type: ssh, hosts: [a, b]}\n")
    client = MLClient()
    assert (client.compute.get("cpu-cluster").type, client.compute.get("pair").type) == ("local", "ssh")
    assert {compute.name for compute in client.compute.list()} == {"local", "pair"}
    cluster = entities.AmlCompute(
        name="cpu-cluster", type="amlcompute", size="STANDARD_DS3_V2", max_instances=4
    )
    for begin in (client.compute.begin_create_or_update, client.begin_create_or_update):
        made = begin(cluster).result()
        assert (made.name, made.size, made.provisioning_state) == (
            "cpu-cluster",
            "STANDARD_DS3_V2",
            "Succeeded",
        )
    environment = client.environments.create_or_update(Environment(name="mine", image="i"))
    done = client.create_or_update(
        command(command="true", compute=made.name, environment=f"{environment.name}:{environment.version}")
    )
    client.jobs.stream(done.name)
    with pytest.raises(ValidationException, match="environment has no name"):
        client.create_or_update(Environment(image="i"))
    with pytest.raises(ValidationException, match="did you mean max_instances"):
        entities.AmlCompute(name="x", max_instance=3)


def test_data_is_found_by_its_name(here: Path) -> None:
    (here / "one.txt").write_text("one\n")
    (here / "two.txt").write_text("two\n")
    client = MLClient()
    first = client.data.create_or_update(Data(name="words", path="one.txt", type="uri_file", tags={"a": "b"}))
    second = client.create_or_update(Data(name="words", path="two.txt", type="uri_file", version="final"))
    assert (first.id, second.id) == ("azureml:words:1", "azureml:words:final")
    got = client.data.get("words", version="1")
    assert (got.path, got.type, got.tags) == (str(here / "one.txt"), "uri_file", {"a": "b"})
    assert client.data.get("words", label="latest").version == "final"
    assert [data.version for data in client.data.list("words")] == ["final", "1"]
    for path, word in ((first.id, "one"), (got.path, "one"), ("azureml:words@latest", "two")):
        job = simple("cat ${{inputs.w}}", inputs={"w": Input(type="uri_file", path=path)})
        assert job._to_dict()["inputs"]["w"]["path"] == path  # a job file for Azure ML names it so too
        done = client.create_or_update(job)
        assert list(px.Job(done.name).wait().logs(rank=0)) == [word]
    with pytest.raises(ValidationException, match="has a version 1 already, which is"):
        client.data.create_or_update(Data(name="words", path="two.txt", version="1"))
    with pytest.raises(ValidationException, match="no file or folder of this machine"):
        client.data.create_or_update(Data(name="words", path="https://example.com/x"))
    assert Dataset.get_by_name(Workspace.from_config(), "words", "1").name == "words"
    assert Dataset.get_by_name(Workspace.from_config(), "words").version == "final"
