"""Jobs of tasks: their order, their units, their environment, and how they end."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Phalanx, eventually

from system.helpers import (
    CPUS,
    Job,
    as_user,
    output_of,
    pytorch,
    read_environment,
    running,
    two_cpus,
    write_job,
)


def tasks_file(folder: Path, tasks: Any, nodes: int = 1, **keys: Any) -> Path:
    path = folder / "job.yml"
    known = {"tasks": tasks, "resources": {"instance_count": nodes}, "oversubscribe": True} | keys
    path.write_text(yaml.safe_dump(known, sort_keys=False))
    return path


def by_name(job: Job) -> dict[str, dict[str, Any]]:
    return {task["name"]: task for task in job.show()["tasks"]}


def states(job: Job) -> dict[str, str]:
    return {name: task["state"] for name, task in by_name(job).items()}


def run_tasks(
    phalanx: Phalanx, tasks: Any, nodes: int = 1, code: int = 0, **keys: Any
) -> tuple[Job, str, str]:
    done = phalanx.run("run", tasks_file(phalanx.folder, tasks, nodes, **keys), "--name", "job")
    assert done.returncode == code, done.stdout + done.stderr
    return Job(phalanx, "job"), done.stdout, done.stderr


def test_each_task_runs_once_on_a_node_of_its_own(phalanx: Phalanx) -> None:
    here = f"{phalanx.folder}/here"
    wait = f"touch {here}-$PHALANX_TASK; until test -e {here}-%d; do sleep 0.01; done; echo done"
    job, out, _ = run_tasks(phalanx, {"a": {"command": wait % 2}, "b": {"command": wait % 1}}, nodes=2)
    tasks = by_name(job)
    assert {tasks["a"]["node"], tasks["b"]["node"]} == {0, 1}  # both at once: each has waited for the other
    assert [(task["state"], task["exit_code"]) for task in tasks.values()] == [("Completed", 0)] * 2
    assert sorted(out.splitlines()) in (["[a] done", "[b] done"], ["[a, b] done"])
    assert job.log("std_log_task_1.txt") == b"done\n"
    assert job.show()["state"] == "Completed"


def test_a_task_starts_when_what_it_depends_on_has_completed(phalanx: Phalanx) -> None:
    note = f"echo $PHALANX_TASK_NAME >> {phalanx.folder}/order"
    tasks = [
        {"name": "last", "command": note, "depends_on": ["left", "right"]},
        {"name": "left", "command": note, "depends_on": "first"},
        {"name": "right", "command": note, "depends_on": "first"},
        {"name": "first", "command": note},
    ]
    run_tasks(phalanx, tasks, nodes=2)
    order = (phalanx.folder / "order").read_text().split()
    assert (order[0], order[-1], sorted(order)) == ("first", "last", ["first", "last", "left", "right"])


def test_one_node_runs_one_task_after_the_other(phalanx: Phalanx) -> None:
    lock = f"mkdir {phalanx.folder}/busy || exit 9; sleep 0.05; rmdir {phalanx.folder}/busy"
    run_tasks(phalanx, [{"command": lock} for _ in range(5)])


def test_a_task_of_several_nodes_runs_its_command_once(phalanx: Phalanx) -> None:
    say = 'echo "$CCP_NODES" "$(wc -l < $CCP_MPI_HOSTFILE)"'
    job, out, _ = run_tasks(phalanx, {"both": {"command": say, "nodes": 2}}, nodes=2)
    assert out.split()[0] == "2"
    assert out.split()[-1] == "2"
    assert by_name(job)["both"]["nodes"] == [0, 1]


def test_tasks_run_on_the_nodes_that_they_require(phalanx: Phalanx) -> None:
    tasks = {
        "a": {"command": "true", "required_nodes": "gpu02"},
        "b": {"command": "true", "required_nodes": ["gpu02", "gpu01"]},
    }
    job, _, _ = run_tasks(phalanx, tasks, nodes=2, required_nodes=["gpu01", "gpu02"])
    assert [node["name"] for node in job.show()["nodes"]] == ["gpu01", "gpu02"]
    assert by_name(job)["a"]["nodes"] == [1]
    assert by_name(job)["b"]["nodes"] == [1, 0]  # its command runs on the first that it names
    assert by_name(job)["b"]["node"] == 1


def test_nodes_of_any_job_can_be_named(phalanx: Phalanx) -> None:
    keys = pytorch(nodes=2, per_node=1) | {"required_nodes": ["b", "a"], "oversubscribe": True}
    del keys["resources"]
    done = phalanx.run("run", write_job(phalanx.folder, "echo $NODE_RANK", **keys), "--name", "job")
    assert done.returncode == 0, done.stderr
    assert [node["name"] for node in Job(phalanx, "job").show()["nodes"]] == ["b", "a"]


def test_an_ordinary_user_has_tasks_too(phalanx: Phalanx) -> None:
    user = as_user(phalanx) if os.geteuid() == 0 else phalanx
    file = tasks_file(
        user.folder, {"a": {"command": "id -u"}, "b": {"command": "true", "depends_on": "a"}}, nodes=2
    )
    done = user.run("run", file)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"[a] {user.folder.stat().st_uid}\n"


@two_cpus
def test_a_task_has_the_cores_that_it_takes(phalanx: Phalanx) -> None:
    say = "import os; print(sorted(os.sched_getaffinity(0)), os.environ['CCP_NUMCPUS'])"
    tasks = {"one": {"command": f'python3 -c "{say}"'}, "two": {"command": f'python3 -c "{say}"', "cores": 2}}
    job, _, _ = run_tasks(phalanx, tasks, resource_unit="core")
    one, two = (job.log(f"std_log_task_{n}.txt").decode().strip() for n in (1, 2))
    assert one.endswith("] 1")
    assert len(json.loads(one[:-2])) == 1
    assert two.endswith("] 2")
    assert len(json.loads(two[:-2])) == 2


def test_more_cores_than_the_machine_has_are_refused(phalanx: Phalanx) -> None:
    file = tasks_file(phalanx.folder, {"a": {"command": "true", "cores": CPUS + 1}}, resource_unit="core")
    done = phalanx.run("run", file)
    assert done.returncode == 125
    assert f"task 'a' takes {CPUS + 1} cores, and the nodes of the job have {CPUS}" in done.stderr
    assert not phalanx.jobs()


def test_what_a_task_sees(phalanx: Phalanx) -> None:
    tasks = {
        "zero": {"command": "true"},
        "one": {
            "command": f"env -0 > {phalanx.folder}/env; pwd",
            "environment_variables": {"B": "task", "RANK": 5},
        },
    }
    _, out, _ = run_tasks(
        phalanx, tasks, environment_variables={"A": "job", "B": "job"}, display_name="My job"
    )
    env = read_environment(phalanx.folder / "env")
    assert (env["A"], env["B"], env["RANK"]) == ("job", "task", "5")
    assert (env["CCP_JOBID"], env["CCP_JOBNAME"], env["CCP_JOBTYPE"]) == ("job", "My job", "Batch")
    assert (env["CCP_TASKID"], env["CCP_TASKINSTANCEID"], env["CCP_RETRY_COUNT"]) == ("2", "0", "0")
    assert (env["PHALANX_TASK"], env["PHALANX_TASK_NAME"]) == ("2", "one")
    assert env["CCP_NODES"].startswith("1 127.0.0.1 ")
    assert env["CCP_NODES_CORES"] == env["CCP_NODES"]
    assert env["CCP_WORKDIR"] == env["PWD"] == out.strip().removeprefix("[one] ")
    assert env["PHALANX_RENDEZVOUS"].startswith("127.0.0.1:")
    for name in ("LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "PHALANX_RANK"):
        assert name not in env
    assert not [name for name in env if name.startswith("TORCHELASTIC")]


def test_code_paths_and_streams(phalanx: Phalanx) -> None:
    code = phalanx.folder / "src"
    (code / "sub").mkdir(parents=True)
    (code / "sub" / "in.txt").write_text("from a file\n")
    task = {"command": "pwd; cat; echo problem >&2", "working_directory": "sub", "stdin": "in.txt"}
    task |= {"stdout": "out.txt", "stderr": "err.txt"}
    done = phalanx.run("run", tasks_file(phalanx.folder, {"a": task}, code="src"), "--name", "job")
    assert done.returncode == 0, done.stderr
    job = Job(phalanx, "job")
    there = job.folder / "nodes/0/wd/sub"
    assert (there / "out.txt").read_text() == f"{there}\nfrom a file\n"
    assert (there / "err.txt").read_text() == "problem\n"
    assert job.log("std_log_task_1.txt") == b""


def test_folders_of_streams_are_made(phalanx: Phalanx) -> None:
    task = {"command": "echo fine; echo problem >&2", "stdout": "o/p/out.txt", "stderr": "e e/err.txt"}
    job, _, _ = run_tasks(phalanx, {"a": task})
    there = job.folder / "nodes/0/wd"
    assert (there / "o/p/out.txt").read_text() == "fine\n"
    assert (there / "e e/err.txt").read_text() == "problem\n"


def test_required_nodes_that_lack_a_tasks_node_are_one_error(phalanx: Phalanx) -> None:
    task = {"a": {"command": "true", "required_nodes": "h7"}}
    file = tasks_file(phalanx.folder, task, required_nodes=["h1", "h2"], resources={})
    done = phalanx.run("run", file)
    assert done.returncode == 125
    assert "must run on node 'h7', which is none of the job's; its required_nodes are h1, h2" in done.stderr
    assert "instance_count" not in done.stderr


def test_a_sweep_has_an_instance_for_each_value(phalanx: Phalanx) -> None:
    tasks = {
        "s": {
            "command": f"echo $CCP_TASKID $CCP_TASKINSTANCEID > {phalanx.folder}/part-***",
            "sweep": {"end": 12, "step": 5},
        },
        "sum": {"command": f"cat {phalanx.folder}/part-*", "depends_on": "s"},
    }
    job, out, _ = run_tasks(phalanx, tasks, nodes=2)
    assert list(by_name(job)) == ["s.1", "s.6", "s.11", "sum"]
    assert sorted(file.name for file in phalanx.folder.glob("part-*")) == ["part-001", "part-006", "part-011"]
    assert out.splitlines() == [f"[sum] 1 {n}" for n in (1, 6, 11)]


def test_a_failed_task_stops_what_depends_on_it_and_nothing_else(phalanx: Phalanx) -> None:
    tasks = {
        "bad": {"command": "echo oh dear; exit 7"},
        "good": {"command": "true"},
        "child": {"command": "true", "depends_on": "bad"},
        "grandchild": {"command": "true", "depends_on": ["child", "good"]},
        "other": {"command": "true", "depends_on": "good"},
    }
    job, _, err = run_tasks(phalanx, tasks, code=7)
    assert states(job) == {
        "bad": "Failed",
        "good": "Completed",
        "child": "NotRun",
        "grandchild": "NotRun",
        "other": "Completed",
    }
    assert by_name(job)["grandchild"]["reason"] == "task bad did not complete"
    shown = job.show()
    assert (shown["state"], shown["exit_code"]) == ("Failed", 7)
    assert (shown["verdict"]["task"], shown["verdict"]["task_name"]) == (1, "bad")
    assert "task bad (node 0" in err
    assert "2 tasks that depend on such were not run" in err
    assert "| oh dear" in err
    assert "std_log_task_1.txt" in err


def test_the_first_failure_gives_the_code(phalanx: Phalanx) -> None:
    tasks = {"a": {"command": "exit 3"}, "b": {"command": "kill -KILL $$"}}
    job, _, err = run_tasks(phalanx, tasks, code=3)
    assert by_name(job)["b"]["signal"] == signal.SIGKILL
    assert "1 more task failed" in err


def test_fail_on_task_failure_stops_the_rest(phalanx: Phalanx) -> None:
    ready = phalanx.folder / "ready"
    tasks = {
        "long": {"command": f"touch {ready}; sleep 600"},
        "bad": {"command": f"until test -e {ready}; do sleep 0.01; done; exit 4"},
        "queued": {"command": "true"},
    }
    job, _, err = run_tasks(phalanx, tasks, nodes=2, code=4, fail_on_task_failure=True)
    assert states(job) == {"long": "Canceled", "bad": "Failed", "queued": "Canceled"}
    assert "task bad" in err


@pytest.mark.parametrize(
    ("task", "code", "said"),
    [
        ({"command": "true", "working_directory": "no/such"}, 125, "name a folder that `code` has"),
        ({"command": "no-such-program-here"}, 127, "exited with code 127"),
        ({"command": "true", "stdin": "missing.txt"}, 1, "exited with code 1"),
    ],
)
def test_a_task_that_cannot_start_says_so(
    phalanx: Phalanx, task: dict[str, str], code: int, said: str
) -> None:
    job, _, err = run_tasks(phalanx, {"a": task, "b": {"command": "true", "depends_on": "a"}}, code=code)
    assert said in err
    assert states(job) == {"a": "Failed", "b": "NotRun"}


def test_cancel_gives_running_tasks_their_grace(phalanx: Phalanx) -> None:
    script = "trap 'echo saved; exit 0' TERM; touch {}; while :; do sleep 0.02; done".format(
        phalanx.folder / "ready"
    )
    file = tasks_file(phalanx.folder, {"a": {"command": script}, "b": {"command": "true"}})
    with running(phalanx, "run", file) as (command, job):
        eventually((phalanx.folder / "ready").exists)
        assert states(job) == {"a": "Running", "b": "Queued"}
        command.send_signal(signal.SIGINT)
        output_of(command)
    assert command.returncode == 130
    assert job.show()["state"] == "Canceled"
    assert states(job) == {"a": "Canceled", "b": "Canceled"}
    assert job.log("std_log_task_1.txt").endswith(b"saved\n")


def test_a_time_limit_ends_the_tasks(phalanx: Phalanx) -> None:
    job, _, _ = run_tasks(phalanx, {"a": {"command": "sleep 600"}}, code=124, limits={"timeout": 1})
    assert job.show()["state"] == "Canceled"


def test_what_a_task_leaves_in_the_background_ends_with_it(phalanx: Phalanx) -> None:
    pid = phalanx.folder / "pid"
    tasks = {
        "a": {"command": f"trap '' TERM HUP; sleep 600 & echo $! > {pid}"},
        "b": {"command": f"while kill -0 $(cat {pid}) 2> /dev/null; do sleep 0.01; done", "depends_on": "a"},
    }
    run_tasks(phalanx, tasks)


def test_a_waiting_task_says_for_whom(phalanx: Phalanx) -> None:
    go = phalanx.folder / "go"
    tasks = {
        "a": {"command": f"until test -e {go}; do sleep 0.02; done"},
        "b": {"command": "true", "depends_on": "a"},
    }
    tasks |= {"c": {"command": "true"}}
    with running(phalanx, "run", tasks_file(phalanx.folder, tasks)) as (command, job):
        job.happened("task_started")
        assert by_name(job)["b"]["reason"] == "after a"
        assert by_name(job)["c"]["reason"] == "waiting for room"
        listed = phalanx.run("list").stdout
        assert "1 node, 3 tasks" in listed
        go.touch()
        output_of(command)
    assert command.returncode == 0


def test_logs_of_one_task_and_of_all(phalanx: Phalanx) -> None:
    tasks = {
        "a b": {"command": "echo one; echo two"},
        "c": {"command": "echo three"},
        "d": {"command": "true"},
    }
    run_tasks(phalanx, tasks)
    assert phalanx.run("logs", "job").stdout == "[a b] one\n[a b] two\n[c] three\n"
    assert phalanx.run("logs", "job", "--task", "a b").stdout == "one\ntwo\n"
    assert phalanx.run("logs", "job", "--task", "2", "--tail", "1").stdout == "three\n"
    assert phalanx.run("logs", "job", "--task", "c", "--follow").stdout == "three\n"
    done = phalanx.run("logs", "job", "--task", "ab")
    assert (done.returncode, done.stdout) == (1, "")
    assert "job has no task ab; did you mean a b?" in done.stderr
    done = phalanx.run("logs", "job", "--rank", "0")
    assert (done.returncode, "--task NAME shows one" in done.stderr) == (1, True)


def test_logs_of_a_sweep_has_all_its_instances(phalanx: Phalanx) -> None:
    tasks = {"report": {"command": "echo part *", "sweep": {"end": 3}}, "last": {"command": "echo last"}}
    run_tasks(phalanx, tasks)
    parts = [f"[report.{n}] part {n}" for n in (1, 2, 3)]
    assert phalanx.run("logs", "job", "--task", "report").stdout.splitlines() == parts
    followed = phalanx.run("logs", "job", "--task", "report", "--follow").stdout.splitlines()
    assert sorted(followed) == parts
    assert phalanx.run("logs", "job", "--task", "report.2").stdout == "part 2\n"
    done = phalanx.run("logs", "job", "--task", "9")
    assert done.returncode == 1
    assert "job has no task 9; its tasks are 1-4: report.1, report.2, report.3, last" in done.stderr
    done = phalanx.run("logs", "job", "--task", "-1")
    assert "job has no task -1; its tasks are 1-4: report.1" in done.stderr


def test_tasks_of_a_job_that_waits_are_known_by_name(phalanx: Phalanx) -> None:
    go = phalanx.folder / "go"
    hold = f"until test -e {go}; do sleep 0.02; done"
    room: dict[str, Any] = {"oversubscribe": False, "resource_unit": "core"}
    whole = tasks_file(phalanx.folder, {"a": {"command": hold, "cores": CPUS}}, **room)
    with running(phalanx, "run", whole) as (command, first):
        first.happened("task_started")
        file = tasks_file(phalanx.folder, {"b": {"command": "echo late"}, "c": {"command": "true"}}, **room)
        assert phalanx.run("run", file, "--name", "next", "--detach").returncode == 0
        # No waiting here: they are known at once, be the job submitted, queued or starting.
        asked = phalanx.run("logs", "next", "--task", "b")
        assert (asked.returncode, asked.stdout) == (0, "")
        assert "task b of next has printed nothing yet: it is Queued, and the job is" in asked.stderr
        wrong = phalanx.run("logs", "next", "--task", "x", "--follow")
        assert "next has no task x; " in wrong.stderr
        follower = phalanx.start("logs", "next", "--task", "b", "--follow")
        go.touch()
        out = output_of(follower)
        assert (follower.returncode, "late" in out.splitlines()) == (0, True)
        output_of(command)


def test_show_lists_the_tasks_for_people(phalanx: Phalanx) -> None:
    run_tasks(
        phalanx, {"first": {"command": "exit 2"}, "then": {"command": "true", "depends_on": "first"}}, code=2
    )
    rows = [line.split() for line in phalanx.run("show", "job").stdout.splitlines()]
    first = next(row for row in rows if row[:2] == ["1", "first"])
    assert first[2:5] == ["node-0", "Failed", "2"]
    then = next(row for row in rows if row[:2] == ["2", "then"])
    assert then[2:5] == ["-", "NotRun", "-"]
    assert then[-5:] == ["task", "first", "did", "not", "complete"]


def test_hundreds_of_tasks_leave_no_descriptor_open(phalanx: Phalanx) -> None:
    """Each node gives back what it held for a task that has ended, and so does its guard."""
    script = "echo * $(ls /proc/self/fd | wc -l)"
    tasks = [
        {"name": "s", "command": script, "sweep": {"end": 300}},
        {
            "name": "count",
            "command": f"touch {phalanx.folder}/now; until test -e {phalanx.folder}/go; do sleep 0.02; done",
            "depends_on": "s",
        },
    ]
    with running(phalanx, "run", tasks_file(phalanx.folder, tasks)) as (command, job):
        eventually((phalanx.folder / "now").exists, 60)
        node = job.show()["nodes"][0]
        held = [Path(f"/proc/{node[key]}/fd") for key in ("guard_pid", "supervisor_pid")]
        eventually(lambda: all(len(list(folder.iterdir())) < 60 for folder in held))
        (phalanx.folder / "go").touch()
        output_of(command)
    assert command.returncode == 0
    assert len(job.events("task_exited")) == 301


def test_dry_run_shows_what_would_wait_for_what(phalanx: Phalanx) -> None:
    tasks = {"a": {"command": "echo one"}, "b": {"command": "echo two", "nodes": 2, "depends_on": "a"}}
    done = phalanx.run("run", tasks_file(phalanx.folder, tasks, nodes=2), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "task 2  b: 2 nodes, after a" in done.stdout
    assert "CCP_NODES=1 127.0.0.1" in done.stdout
    assert not phalanx.jobs()


def test_processes_per_node_and_ranks_are_no_matter_of_tasks(phalanx: Phalanx) -> None:
    file = tasks_file(phalanx.folder, {"a": {"command": "true"}})
    for option, said in (
        ("-n", "each of which is started once"),
        ("--rank", "this job has tasks, and no ranks"),
    ):
        done = phalanx.run("run", file, option, "1")
        assert done.returncode == 125
        assert said in done.stderr
