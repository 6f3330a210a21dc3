"""Nothing is left behind, whatever a process does to get away, in every mode and for every user."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from conftest import Phalanx, eventually

from system.helpers import Job, as_user, is_root, output_of, refused, running, shell

MODES = ["namespace", "user_namespace", "cgroup", "plain"]

# Leaves a daemon behind: forked twice, in a session of its own, deaf to SIGTERM, with or without the pipe.
DAEMON = """
trap 'exit 0' TERM
rm -f daemon-$RANK
daemon='trap "" TERM HUP INT; touch daemon-$RANK; while :; do sleep 0.05; done'
if test $1 = quiet; then
  (setsid sh -c "$daemon" </dev/null >/dev/null 2>&1 &)
else
  (setsid sh -c "$daemon" &)
fi
until test -e daemon-$RANK; do sleep 0.01; done
touch ready-$RANK
if test $2 = stay; then while :; do sleep 0.05; done; fi
"""


def daemons(phalanx: Phalanx) -> list[str]:
    return [words for words in phalanx.living().values() if words.startswith('sh -c trap ""')]


@pytest.mark.parametrize("output", ["quiet", "loud"])
@pytest.mark.parametrize("mode", MODES)
def test_a_daemon_ends_with_its_job(phalanx: Phalanx, mode: str, output: str) -> None:
    if refused(phalanx, mode):
        pytest.skip(f"{mode} is refused here")
    here = phalanx.folder
    options = ["--name", "away", "--isolation", mode, "-N", "2"]
    done = phalanx.run("launch", *options, "--", *shell(DAEMON), output, "go")
    assert done.returncode == 0, done.stderr
    assert len(list(here.glob("daemon-*"))) == 2
    eventually(lambda: not daemons(phalanx))
    assert {node["isolation"] for node in Job(phalanx, "away").show()["nodes"]} == {mode}


@pytest.mark.parametrize("mode", MODES)
def test_a_daemon_ends_with_its_cancelled_job(phalanx: Phalanx, mode: str) -> None:
    if refused(phalanx, mode):
        pytest.skip(f"{mode} is refused here")
    here = phalanx.folder
    words = ["--isolation", mode, "--", *shell(DAEMON), "quiet", "stay"]
    with running(phalanx, "launch", *words) as (process, job):
        eventually((here / "ready-0").exists)
        assert daemons(phalanx)  # or two: its next `sleep`, before it is one
        process.send_signal(signal.SIGINT)
        output_of(process)
        assert job.show()["state"] == "Canceled"
    eventually(lambda: not daemons(phalanx))


@pytest.mark.parametrize("mode", MODES)
def test_a_stopped_process_ends_with_its_job(phalanx: Phalanx, mode: str) -> None:
    if refused(phalanx, mode):
        pytest.skip(f"{mode} is refused here")
    words = (
        "if test $RANK = 0; then touch up; kill -STOP $$; fi; until test -e up; do sleep 0.02; done; exit 3"
    )
    done = phalanx.run("launch", "--isolation", mode, "-n", "2", "--stop-grace", "1", "--", "sh", "-c", words)
    assert done.returncode == 3


@pytest.mark.parametrize(
    "daemon", ["", "; (setsid sleep 600 >/dev/null 2>&1 &); sleep 0.1"], ids=["", "daemon"]
)
def test_no_cgroup_stays(phalanx: Phalanx, daemon: str) -> None:
    if refused(phalanx, "cgroup"):
        pytest.skip("cgroup is refused here")
    options = ["--name", "grouped", "--isolation", "cgroup"]
    where = "cat /proc/self/cgroup; grep cgroup2 /proc/self/mounts"
    seen = phalanx.run("launch", "-q", *options, "--", *shell(where + daemon)).stdout.split()
    group = next(word for word in seen if word.startswith("0::")).removeprefix("0::")
    assert "grouped" in group
    mount = Path(seen[seen.index("cgroup2") - 1])
    eventually(lambda: not (mount / group.lstrip("/")).exists(), 10)


@is_root
@pytest.mark.parametrize("output", ["quiet", "loud"])
def test_an_ordinary_user_leaves_nothing_either(phalanx: Phalanx, output: str) -> None:
    user = as_user(phalanx)
    done = user.run("launch", "--name", "away", "-N", "2", "--", *shell(DAEMON), output, "go")
    assert done.returncode == 0, done.stderr
    eventually(lambda: not daemons(phalanx))
    modes = {node["isolation"] for node in Job(user, "away").show()["nodes"]}
    assert modes <= {"user_namespace", "cgroup", "plain"}


@is_root
def test_an_ordinary_user_stays_who_he_is(phalanx: Phalanx) -> None:
    user = as_user(phalanx)
    done = user.run("launch", "-q", "--", "sh", "-c", "id -u; touch mine")
    assert done.stdout.split() == [str(user.folder.stat().st_uid)], done.stderr
    assert (user.folder / "mine").stat().st_uid == user.folder.stat().st_uid


@is_root
@pytest.mark.parametrize("mode", ["namespace", "user_namespace", "plain"])
def test_a_mode_is_had_or_refused_for_an_ordinary_user(phalanx: Phalanx, mode: str) -> None:
    user = as_user(phalanx)
    if mode == "namespace":
        assert refused(user, mode)
    elif not refused(user, mode):
        (job,) = (Job(user, folder.name) for folder in user.jobs())
        assert job.show()["nodes"][0]["isolation"] == mode


@pytest.mark.parametrize("mode", ["namespace", "user_namespace"])
def test_a_process_sees_its_own_proc(phalanx: Phalanx, mode: str) -> None:
    """Tools that look at /proc must find the pids that the process itself knows."""
    if refused(phalanx, mode):
        pytest.skip(f"{mode} is refused here")
    command = ["--name", "p", "--isolation", mode, "--", "sh", "-c", "tr '\\0' ' ' < /proc/$$/cmdline"]
    done = phalanx.run("launch", "-q", *command)
    if "host's" not in str(Job(phalanx, "p").show()["nodes"]):
        assert done.stdout.startswith("sh -c")
