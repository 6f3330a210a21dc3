"""Code, inputs and outputs of jobs on hosts that share no folder: what is sent, and what goes wrong."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import eventually

from cluster.faults import READY, ended, kill, nothing_runs, shown
from cluster.hosts import Hosts
from cluster.places import Place, interrupt, job_file

MEGA = 1_000_000
CHECK = "sha256sum -c --quiet sums && echo good $RANK"


def events(hosts: Hosts, name: str = "job") -> list[dict[str, Any]]:
    log = hosts.home("h1") / ".phalanx" / "jobs" / name / "events.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def sent(place: Place, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """To the first host, and from there to the others."""
    to_first, to_nodes = shown(place, name)["sent"]
    return to_first, to_nodes


def run(place: Place, file: Path, name: str = "job") -> str:
    done = place.submit(file, "--name", name)
    assert done.returncode == 0, done.stderr
    return done.stdout


def good(said: str) -> int:
    return len(set(re.findall(r"good (\d)", said)))


def store(hosts: Hosts, name: str) -> Path:
    return hosts.home(name) / ".phalanx" / "store"


def big_code(folder: Path, megabytes: int = 20) -> Path:
    """Files that nothing makes smaller."""
    code = folder / "src"
    code.mkdir(exist_ok=True)
    for number in range(megabytes):
        (code / f"big{number}").write_bytes(os.urandom(MEGA))
    write_sums(code)
    return code


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_sums(code: Path) -> None:
    (code / "sums").write_text("".join(f"{sha256(file)}  {file.name}\n" for file in code.glob("big*")))


def test_the_same_is_not_sent_again(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    code = big_code(tmp_path)
    file = job_file(tmp_path, CHECK, nodes=4, processes=1)
    assert good(run(private, file, "first")) == 4
    to_first, to_nodes = sent(private, "first")
    assert to_first["bytes"] > 20 * MEGA
    assert to_nodes["nodes"] == 3
    assert to_nodes["bytes"] > 3 * 20 * MEGA
    assert to_nodes["kept"] == 0

    assert good(run(private, file, "second")) == 4
    to_first, to_nodes = sent(private, "second")
    assert (to_first["bytes"], to_nodes["bytes"]) == (0, 0)
    assert to_first["kept"] > 20 * MEGA
    assert to_nodes["kept"] > 3 * 20 * MEGA

    (code / "small.py").write_text("print('edited')")
    assert good(run(private, file, "third")) == 4
    to_first, to_nodes = sent(private, "third")
    assert 0 < to_first["bytes"] < MEGA
    assert 0 < to_nodes["bytes"] < MEGA

    (code / "big7").write_bytes(os.urandom(MEGA))
    write_sums(code)
    assert good(run(private, file, "fourth")) == 4
    to_first, to_nodes = sent(private, "fourth")
    assert MEGA < to_first["bytes"] < 2 * MEGA, "the file that was edited, and no other"
    assert 3 * MEGA < to_nodes["bytes"] < 6 * MEGA
    assert "were there already" in private.run("show", "fourth").stdout
    nothing_runs(hosts)


def test_what_compresses_is_sent_compressed(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    code = tmp_path / "src"
    code.mkdir()
    (code / "text").write_text("the same words again and again\n" * 300_000)
    run(private, job_file(tmp_path, "test $(wc -c < text) = 9300000"))
    to_first, to_nodes = sent(private, "job")
    assert to_first["bytes"] < MEGA
    assert to_nodes["bytes"] < MEGA


def test_inputs_of_this_machine_come_to_every_node(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "empty").mkdir(parents=True)
    (data / "part").mkdir()
    (data / "part" / "a b").write_text("folder\n")
    (data / "part" / "new\nline").write_text("odd\n")
    os.close(os.open(os.fsencode(data) + b"/part/\xff", os.O_CREAT | os.O_WRONLY))
    (data / "link").symlink_to("part/a b")
    (data / "dangling").symlink_to("nothing")
    (data / "outside").symlink_to(tmp_path / "one.txt")
    os.mkfifo(data / "pipe")
    (tmp_path / "one.txt").write_text("file\n")
    script = (
        "(cat '${{inputs.all}}/part/a b' '${{inputs.all}}/link' ${{inputs.one}} ${{inputs.own}}/part/new*; "
        "test -d ${{inputs.all}}/empty && test -L ${{inputs.all}}/dangling && "
        "test -L ${{inputs.all}}/link && "
        "test ! -L ${{inputs.all}}/outside && test ! -e ${{inputs.all}}/pipe && "
        "ls ${{inputs.all}}/part | wc -l; "
        "basename ${{inputs.one}}; stat -c %a '${{inputs.all}}/part/a b'; "
        "echo changed > '${{inputs.own}}/part/a b' && cat '${{inputs.own}}/part/a b') | sed s/^/$RANK:/"
    )
    more = (
        "inputs:\n  all: {type: uri_folder, path: data}\n"
        "  one: {type: uri_file, path: ./one.txt, mode: ro_mount}\n"
        f"  own: {{type: uri_folder, path: {data}, mode: download}}\n"
    )
    file = job_file(tmp_path, script, nodes=3, processes=1, more=more)
    done = private.submit(file, "--name", "job")
    assert done.returncode == 0, done.stderr
    assert "note: input all: left out 'pipe': " in done.stderr
    said = done.stdout
    found = ["folder", "folder", "file", "odd", "4", "one.txt", "444", "changed"]
    assert sorted(re.findall(r"\d:.*", said)) == sorted(
        f"{rank}:{line}" for rank in range(3) for line in found
    )
    assert (data / "part" / "a b").read_text() == "folder\n"
    assert sent(private, "job")[1]["bytes"] > 0
    again = run(private, file, "again")  # in place: what is there is given again
    assert sorted(re.findall(r"\d:.*", again)) == sorted(re.findall(r"\d:.*", said))
    assert sent(private, "again")[1]["bytes"] == 0
    nothing_runs(hosts)


def test_a_path_that_is_not_here_is_one_of_the_hosts(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    for name in ("h1", "h2"):
        (hosts.home(name) / "theirs").write_text("of the hosts\n")
    assert not Path("/root/theirs").exists()
    more = "inputs:\n  x: {type: uri_file, path: /root/theirs}\n"
    done = private.submit(
        job_file(tmp_path, "echo $RANK $(cat ${{inputs.x}})", processes=1, more=more), "--name", "job"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("of the hosts") == 2
    assert (
        "input x: /root/theirs is not on this machine, so it is taken as a path on the hosts" in done.stderr
    )
    more = "inputs:\n  x: {type: uri_file, path: ./theirs}\n"
    done = private.submit(job_file(tmp_path, "true", more=more), "--name", "other")
    assert done.returncode == 125
    assert "names './theirs', which is not there" in done.stderr


def test_an_input_that_cannot_be_read_is_named(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    deep = data
    for _ in range(260):
        deep = deep / "d"
        deep.mkdir()
    more = "inputs:\n  x: {type: uri_folder, path: data}\n"
    done = private.submit(job_file(tmp_path, "true", more=more), "--name", "job")
    assert done.returncode == 125
    assert "input x: " in done.stderr
    assert "too many folders in one another" in done.stderr
    assert not private.phalanx.jobs()
    nothing_runs(hosts)


def test_many_small_files(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for folder in range(100):
        (data / str(folder)).mkdir(parents=True)
        for number in range(100):
            (data / str(folder) / f"{number}.txt").write_text(f"{folder} {number}\n")
    more = "inputs:\n  x: {type: uri_folder, path: data}\n"
    script = "echo $RANK: $(find ${{inputs.x}} -type f | wc -l), $(cat ${{inputs.x}}/99/99.txt)"
    said = run(private, job_file(tmp_path, script, processes=1, more=more))
    assert said.count(": 10000") == 2
    assert said.count("99 99") == 2
    assert len(list((store(hosts, "h2") / "chunks").iterdir())) < 2000, "small files travel together"


@pytest.mark.parametrize("where", ["h1", "h3"])
def test_damage_in_a_store_is_healed(private: Place, hosts: Hosts, tmp_path: Path, where: str) -> None:
    big_code(tmp_path, 4)
    file = job_file(tmp_path, CHECK, nodes=4, processes=1)
    run(private, file, "first")
    for chunk in (store(hosts, where) / "chunks").iterdir():
        content = bytearray(chunk.read_bytes())
        content[len(content) // 2] ^= 1
        chunk.write_bytes(content)
    assert good(run(private, file, "second")) == 4
    to_first, to_nodes = sent(private, "second")
    assert (to_first["bytes"] > 4 * MEGA) == (where == "h1")
    assert (to_nodes["bytes"] > 4 * MEGA) == (where == "h3")
    assert good(run(private, file, "third")) == 4
    assert [one["bytes"] for one in sent(private, "third")] == [0, 0]


def test_a_job_that_writes_to_its_code_does_not_change_the_next(
    private: Place, hosts: Hosts, tmp_path: Path
) -> None:
    file = job_file(tmp_path, "echo $RANK $(cat hello.txt); echo spoiled > hello.txt", processes=1)
    for name in ("one", "two"):
        assert run(private, file, name).count("hello") == 2


def test_an_input_that_a_job_has_spoiled_is_made_anew(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x").write_text("as it was\n")
    more = "inputs:\n  x: {type: uri_folder, path: data}\n"
    script = "echo $RANK $(cat ${{inputs.x}}/x); chmod u+w ${{inputs.x}}/x; echo spoiled > ${{inputs.x}}/x"
    file = job_file(tmp_path, script, processes=1, more=more)
    for name in ("one", "two"):
        assert run(private, file, name).count("as it was") == 2


def outputs_script() -> str:
    return (
        "mkdir -p outputs/deep; head -c 3000000 /dev/urandom > outputs/deep/noise$RANK; "
        "cp outputs/deep/noise$RANK ${{outputs.model}}/; yes words | head -c 5000000 > outputs/text$RANK; "
        "ln -s /etc/passwd outputs/link$RANK; sha256sum outputs/deep/noise$RANK"
    )


def test_outputs_come_back_as_they_were(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    more = "outputs:\n  model: {type: uri_folder}\n"
    said = run(private, job_file(tmp_path, outputs_script(), nodes=3, processes=1, more=more))
    sums = {line.split()[2]: line.split()[1] for line in said.splitlines()}
    done = private.run("download", "job", "--all", "-p", tmp_path / "got")
    assert done.returncode == 0, done.stderr
    for rank in range(3):
        found = [f for f in (tmp_path / "got").rglob(f"noise{rank}") if f.is_file()]
        assert len(found) == 2, "in ./outputs and in the named output"
        for file in found:
            assert sha256(file) == sums[f"outputs/deep/noise{rank}"]
        text = next((tmp_path / "got").rglob(f"text{rank}"))
        assert text.stat().st_size == 5_000_000
    nothing_runs(hosts)


def test_outputs_come_back_where_the_code_has_a_link_of_that_name(private: Place, tmp_path: Path) -> None:
    file = job_file(
        tmp_path, "mkdir -p outputs logs; echo $RANK | tee outputs/m.bin > logs/l.txt", processes=1
    )
    (tmp_path / "src/results").mkdir()
    (tmp_path / "src/outputs").symlink_to("results")
    (tmp_path / "src/logs").symlink_to("results")
    run(private, file)
    done = private.run("download", "job", "--all", "-p", tmp_path / "got")
    assert done.returncode == 0, done.stderr
    for name in ("outputs/m.bin", "logs/l.txt"):
        assert sorted(f.read_text() for f in (tmp_path / "got").rglob(name)) == ["0\n", "1\n"], name


# ---- what goes wrong meanwhile ----


def small(private: Place, tmp_path: Path) -> None:
    """A job of little code: the program is on the hosts from now on."""
    folder = tmp_path / "small"
    folder.mkdir()
    run(private, job_file(folder, "true", nodes=4, processes=1), "small")


def while_sending(private: Place, hosts: Hosts, tmp_path: Path) -> Any:
    """A job whose nodes are getting 60 MB over slow links, in a row."""
    big_code(tmp_path, 60)
    file = job_file(tmp_path, READY, nodes=4, processes=1)
    small(private, tmp_path)
    hosts.limit(60)
    process = private.start(file, "--name", "job")
    eventually(lambda: any(event["event"] == "sending" for event in events(hosts)), 90)
    return process


def is_under_way(hosts: Hosts, name: str) -> bool:
    chunks = store(hosts, name) / "chunks"
    return chunks.exists() and 5 < len(list(chunks.iterdir())) < 50


def test_a_link_that_breaks_is_gone_round(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    process = while_sending(private, hosts, tmp_path)
    eventually(lambda: is_under_way(hosts, "h3"), 60)
    hosts.cut_between("h2", "h3")  # from whom h3 takes
    hosts.limit(0)
    eventually(lambda: private.run("logs", "job").stdout.count("ready") == 4, 90)
    assert (store(hosts, "h4") / "chunks").exists()
    interrupt(process)
    process.communicate(timeout=60)
    assert ended(private, "Canceled")
    nothing_runs(hosts)


def test_a_host_that_dies_while_it_gets_its_files_is_named(
    private: Place, hosts: Hosts, tmp_path: Path
) -> None:
    process = while_sending(private, hosts, tmp_path)
    eventually(lambda: is_under_way(hosts, "h3"), 60)
    hosts.kill_host("h3")
    said, _ = process.communicate(timeout=100)
    assert process.returncode == 125, said
    assert "node 2 (h3) was lost while it received what the job needs" in said
    nothing_runs(hosts, "h1", "h2", "h4")


def test_a_link_process_that_dies_meanwhile_ends_the_job(
    private: Place, hosts: Hosts, tmp_path: Path
) -> None:
    process = while_sending(private, hosts, tmp_path)
    eventually(lambda: is_under_way(hosts, "h2"), 60)
    kill(hosts, "h2", "phalanx-link")
    said, _ = process.communicate(timeout=100)
    assert process.returncode == 125, said
    assert "node 1 (h2) was lost" in said
    nothing_runs(hosts)


def test_ctrl_c_while_files_are_sent(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    process = while_sending(private, hosts, tmp_path)
    eventually(lambda: is_under_way(hosts, "h2"), 60)
    interrupt(process)
    process.communicate(timeout=60)
    assert ended(private, "Canceled")
    nothing_runs(hosts)
    hosts.limit(0)
    links = partial(hosts.machines["h2"].call, "ps", "-e", "-o", "comm=")
    eventually(lambda: "phalanx-link" not in links())


def test_ctrl_c_before_the_first_host_has_all(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    big_code(tmp_path, 60)
    file = job_file(tmp_path, READY, nodes=2, processes=1)
    small(private, tmp_path)
    hosts.limit(50)
    process = private.start(file, "--name", "job")
    eventually(lambda: is_under_way(hosts, "h1"), 60)
    interrupt(process)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "sending 6" in said
    assert "nothing was started" in said
    assert not events(hosts)
    assert not (private.phalanx.home / "jobs" / "job").exists()
    nothing_runs(hosts)


@pytest.mark.parametrize("where", ["h1", "h2"])
def test_a_full_disk_is_named_with_the_cure(private: Place, hosts: Hosts, tmp_path: Path, where: str) -> None:
    small(private, tmp_path)
    folder = store(hosts, where)
    shutil.rmtree(folder)
    folder.mkdir()
    machine = hosts.machines[where]
    machine.call("mount", "-t", "tmpfs", "-o", "size=8m", "none", "/root/.phalanx/store")
    big_code(tmp_path, 20)
    done = private.submit(job_file(tmp_path, "true", nodes=3, processes=1), "--name", "job")
    assert done.returncode == 125
    assert f"{where}" in done.stderr
    assert "No space left on device" in done.stderr
    assert "make room there" in done.stderr
    nothing_runs(hosts)
    machine.call("umount", "-l", "/root/.phalanx/store")
    run(private, job_file(tmp_path, "true", nodes=3, processes=1), "after")
