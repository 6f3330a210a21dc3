"""`phalanx compute` and `phalanx nodes` on a real Slurm and on ssh hosts."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Phalanx, eventually

from cluster.hosts import Hosts
from cluster.slurm import Slurm


def describe(phalanx: Phalanx, text: str) -> None:
    phalanx.home.mkdir(exist_ok=True)
    (phalanx.home / "computes.yml").write_text(text)


def describe_slurm(phalanx: Phalanx, slurm: Slurm, more: str = "") -> None:
    folder = slurm.folder / f"home-{phalanx.marker}"
    computes = f"{{cluster: {{type: slurm, folder: {folder}, {more}}}}}"
    describe(phalanx, f"default: cluster\ncomputes: {computes}\n")


def describe_hosts(phalanx: Phalanx, hosts: Hosts, more: str = "") -> None:
    describe(phalanx, f"computes: {{lab: {{type: ssh, hosts: [{', '.join(hosts.names)}], {more}}}}}\n")


def finds(bed: Slurm | Hosts) -> dict[str, str]:
    """The variables by which commands find the cluster."""
    return {key: value for key, value in bed.environment().items() if key in ("PATH", "SLURM_CONF")}


def checked(
    phalanx: Phalanx, name: str, bed: Slurm | Hosts
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    done = phalanx.run("compute", "check", name, "-o", "json", env=finds(bed))
    assert done.stdout, done.stderr
    return done, json.loads(done.stdout)


def fatal(report: dict[str, Any]) -> list[str]:
    return [f"{one['node']}: {one['text']}" for one in report["findings"] if one["fatal"]]


@contextmanager
def running(phalanx: Phalanx, hosts: Hosts) -> Iterator[str]:
    """The name of a job on two of the hosts."""
    file = phalanx.folder / "job.yml"
    file.write_text(
        "command: sleep 1000\nenvironment: azureml:none@latest\ncompute: azureml:lab\n"
        "distribution: {type: pytorch}\nresources: {instance_count: 2}\n"
    )
    done = phalanx.run("run", file, "--name", "sleeper", "--detach", env=finds(hosts))
    assert done.returncode == 0, done.stderr

    def state() -> str:
        shown = phalanx.run("show", "sleeper", "-o", "json", env=finds(hosts)).stdout
        return str(json.loads(shown)["state"])

    eventually(lambda: state() == "Running")
    yield "sleeper"
    phalanx.run("cancel", "--kill", "sleeper", env=finds(hosts))


# ---- Slurm ----


def test_a_job_would_start_on_each_node_of_slurm(phalanx: Phalanx, slurm: Slurm) -> None:
    describe_slurm(phalanx, slurm)
    done, report = checked(phalanx, "cluster", slurm)
    assert (done.returncode, fatal(report)) == (0, [])
    assert [node["name"] for node in report["nodes"]] == ["n1", "n2", "n3", "n4"]
    assert all(node["ok"] and node["gpus"] == 2 and node["python"] for node in report["nodes"])


def test_only_the_nodes_of_the_compute_are_asked(phalanx: Phalanx, slurm: Slurm) -> None:
    describe_slurm(phalanx, slurm, "nodes: 'n[1-3]', exclude: n2")
    _, report = checked(phalanx, "cluster", slurm)
    assert [node["name"] for node in report["nodes"]] == ["n1", "n3"]


def test_a_partition_that_is_not_there_is_named_with_those_that_are(phalanx: Phalanx, slurm: Slurm) -> None:
    describe_slurm(phalanx, slurm, "partition: gpu")
    done = phalanx.run("compute", "check", "cluster", env=finds(slurm))
    assert done.returncode == 1
    assert (
        "error: there is no partition gpu; name one in `partition` of the compute: debug, small"
        in done.stdout
    )


@pytest.mark.parametrize(
    ("option", "said"),
    [("licenses: 'nowhere:1'", "Invalid license"), ("gress: 'gpu:1'", "unrecognized option '--gress")],
)
def test_options_with_which_slurm_would_refuse_every_job(
    phalanx: Phalanx, slurm: Slurm, option: str, said: str
) -> None:
    describe_slurm(phalanx, slurm, f"sbatch: {{{option}}}")
    done, report = checked(phalanx, "cluster", slurm)
    assert done.returncode == 1
    (why,) = fatal(report)
    assert "Slurm would refuse a job: " in why
    assert said in why


def test_a_folder_that_only_this_machine_sees_is_an_error_on_each_node(
    phalanx: Phalanx, slurm: Slurm
) -> None:
    folder = "/dev/shm/" + phalanx.marker  # each node has its own
    describe(phalanx, f"computes: {{cluster: {{type: slurm, partition: small, folder: {folder}}}}}\n")
    try:
        done, report = checked(phalanx, "cluster", slurm)
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)
    assert done.returncode == 1
    assert fatal(report) == [f"{node}: does not see {folder} as the others do" for node in ("n1", "n2")]


def drain_n2(slurm: Slurm) -> None:
    """Once nothing of earlier tests completes any more: it would be draining, and have their jobs."""
    slurm.wait("all nodes to be idle", lambda: set(slurm.node_states().values()) == {"idle"})
    slurm.drain("n2", "bad | disk")


def test_a_drained_node_is_told_with_its_reason_and_not_disturbed(phalanx: Phalanx, slurm: Slurm) -> None:
    drain_n2(slurm)
    describe_slurm(phalanx, slurm, "partition: small")
    done, report = checked(phalanx, "cluster", slurm)
    assert done.returncode == 0
    assert [node["ok"] for node in report["nodes"]] == [True, False]
    assert [one["text"] for one in report["findings"] if one["node"] == "n2"] == [
        "takes no jobs (drained): bad | disk"
    ]


def test_the_nodes_of_slurm_and_what_runs_on_them(phalanx: Phalanx, slurm: Slurm) -> None:
    describe_slurm(phalanx, slurm, "partition: small")
    drain_n2(slurm)
    with job(slurm, "-w", "n1", "--exclusive", "--gres=gpu:1") as number:
        done = phalanx.run("nodes", "--compute", "cluster", "-o", "json", env=finds(slurm))
        n1, n2 = json.loads(done.stdout)
    assert (n1["name"], n1["state"], n1["used_cpus"], n1["cpus"]) == ("n1", "allocated", 8, 8)
    assert (n1["jobs"], n1["gpus"], n1["memory_mib"]) == ([number], 2, 8000)
    assert (n2["state"], n2["reason"], n2["jobs"]) == ("drained", "bad | disk", [])


def test_a_controller_that_is_away_is_said_at_once(phalanx: Phalanx, slurm: Slurm) -> None:
    describe_slurm(phalanx, slurm)
    slurm.stop_controller()
    said = [phalanx.run(*words, env=finds(slurm)) for words in (("nodes",), ("compute", "check"))]
    slurm.start_controller()
    for done in said:
        assert done.returncode == 1
        assert "Slurm's controller does not answer" in done.stderr


def test_a_configuration_that_is_not_there_is_said_at_once(phalanx: Phalanx) -> None:
    describe(phalanx, "default: cluster\ncomputes: {cluster: {type: slurm}}\n")
    done = phalanx.run("nodes", env={"SLURM_CONF": "/nowhere/slurm.conf"})
    assert done.returncode == 1
    assert "SLURM_CONF is /nowhere/slurm.conf, and there is no such file" in done.stderr


@contextmanager
def job(slurm: Slurm, *options: str) -> Iterator[str]:
    """A job that runs meanwhile; its number."""
    words = ["sbatch", "--parsable", "-o", "/dev/null", *options, "--wrap", "sleep 1000"]
    number = slurm.call(*words)
    try:
        slurm.wait("the job to run", lambda: slurm.jobs().get(number) == "RUNNING")
        yield number
    finally:
        slurm.call("scancel", "--full", number)


# ---- ssh ----


def test_a_job_would_start_on_each_host(phalanx: Phalanx, hosts: Hosts) -> None:
    describe_hosts(phalanx, hosts, f"folder: {hosts.shared}")
    done, report = checked(phalanx, "lab", hosts)
    assert (done.returncode, fatal(report)) == (0, [])
    assert [node["host"] for node in report["nodes"]] == hosts.names
    assert list(hosts.shared.iterdir()) == []


def test_each_host_that_cannot_be_used_is_named_with_its_own_cure(phalanx: Phalanx, hosts: Hosts) -> None:
    hosts.change_host_key("h2")
    hosts.require_password("h3")
    hosts.kill_sshd("h4")
    describe_hosts(phalanx, hosts)
    done, report = checked(phalanx, "lab", hosts)
    assert done.returncode == 1
    h2, h3, h4 = fatal(report)
    assert h2.startswith("h2: its host key has changed") and "ssh-keygen -R h2" in h2
    assert h3.startswith("h3: asks for a password") and "ssh-copy-id h3" in h3
    assert h4.startswith("h4: no ssh server answers there")
    assert [node["ok"] for node in report["nodes"]] == [True, False, False, False]


def test_a_folder_that_is_not_shared_is_an_error_on_the_other_hosts(phalanx: Phalanx, hosts: Hosts) -> None:
    describe_hosts(phalanx, hosts, "folder: /tmp/jobs")  # each host has its own /tmp
    done, report = checked(phalanx, "lab", hosts)
    assert done.returncode == 1
    assert fatal(report) == [
        f"{host}: does not see /tmp/jobs as the others do" for host in ("h2", "h3", "h4")
    ]


def test_an_interface_that_is_not_there_is_an_error(phalanx: Phalanx, hosts: Hosts) -> None:
    describe_hosts(phalanx, hosts, "interface: ib7")
    _, report = checked(phalanx, "lab", hosts)
    assert fatal(report) == [f"{host}: has no network interface ib7" for host in hosts.names]


def test_the_hosts_as_nodes(phalanx: Phalanx, hosts: Hosts) -> None:
    hosts.kill_sshd("h4")
    describe_hosts(phalanx, hosts)
    done = phalanx.run("nodes", "--compute", "lab", "-o", "tsv", env=finds(hosts))
    states = [line.split("\t")[1] for line in done.stdout.splitlines()]
    assert states == ["up", "up", "up", "down"]
    with running(phalanx, hosts) as name:
        nodes = json.loads(phalanx.run("nodes", "--compute", "lab", "-o", "json", env=finds(hosts)).stdout)
    assert [node["jobs"] for node in nodes] == [[name], [name], [], []]
    assert [node["memory_mib"] is not None for node in nodes] == [True, True, True, False]
    assert [node["fabric"] for node in nodes] == [[], [], [], None]


# ---- what is described ----


def test_computes_are_listed_and_shown(phalanx: Phalanx) -> None:
    hostfile = Path(phalanx.folder) / "hosts"
    hostfile.write_text("a slots=4\nb\n")
    computes = f"{{lab: {{type: ssh, hostfile: {hostfile}}}, c1: {{type: slurm, sbatch: {{mem: 0}}}}}}"
    describe(phalanx, f"default: lab\ncomputes: {computes}\n")
    listed = json.loads(phalanx.run("compute", "list", "-o", "json").stdout)
    assert [(one["name"], one["type"], one["default"]) for one in listed] == [
        ("local", "local", False),
        ("lab", "ssh", True),
        ("c1", "slurm", False),
    ]
    shown = json.loads(phalanx.run("compute", "show", "-o", "json").stdout)
    assert shown["hosts"] == [{"host": "a", "slots": 4}, {"host": "b"}]
    assert json.loads(phalanx.run("compute", "show", "c1", "-o", "json").stdout)["sbatch"] == {"mem": "0"}
    assert re.search(r"^hosts +a \(4 slots\), b$", phalanx.run("compute", "show").stdout, re.MULTILINE)
    assert re.search(r"^sbatch +mem=0$", phalanx.run("compute", "show", "c1").stdout, re.MULTILINE)


def test_a_name_that_is_not_known_is_answered_with_the_nearest(phalanx: Phalanx) -> None:
    describe(phalanx, "computes: {cluster: {type: slurm}}\n")
    done = phalanx.run("compute", "show", "clutser")
    assert done.returncode == 1
    assert "there is no compute 'clutser'; did you mean 'cluster'? known: local, cluster" in done.stderr


def test_this_machine_can_be_checked(phalanx: Phalanx) -> None:
    done = phalanx.run("compute", "check", "local")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "a job would start on local"


def test_a_host_that_nobody_knows_is_said_with_the_cure(phalanx: Phalanx, hosts: Hosts) -> None:
    describe(phalanx, "computes: {pair: {type: ssh, hosts: [h1, nowhere.invalid]}}\n")
    done, report = checked(phalanx, "pair", hosts)
    assert done.returncode == 1
    assert [(one["node"], one["text"], one["cure"]) for one in report["findings"] if one["fatal"]] == [
        (
            "nowhere.invalid",
            "there is no machine of that name",
            "correct `hosts` of pair, or name it in /etc/hosts or ~/.ssh/config",
        )
    ]
