"""A job of HPC Pack, as its XML says it, is run as it stands."""

from __future__ import annotations

from conftest import Phalanx

from system.helpers import Job

JOB = """<?xml version="1.0" encoding="utf-8"?>
<Job Version="3.000" Id="7" State="Configuring" Name="My job" UnitType="Node" MinNodes="2" MaxNodes="2"
     Priority="AboveNormal" NodeGroups="gpu" xmlns="http://schemas.microsoft.com/HPCS2008R2/scheduler/">
  <Dependencies />
  <Tasks>
    <Task Name="prepare" CommandLine="echo $CCP_JOBNAME: $WHO &gt; {folder}/data" WorkDirectory="{folder}">
      <EnvironmentVariables>
        <Variable><Name>WHO</Name><Value>ann &amp; bob</Value></Variable>
      </EnvironmentVariables>
    </Task>
    <Task Name="work" Type="ParametricSweep" StartValue="1" EndValue="3" CommandLine="cat data; echo *"
          WorkDirectory="{folder}" StdOutFilePath="out-*.txt" DependsOn="prepare" RuntimeSeconds="60" />
  </Tasks>
</Job>
"""


def test_an_xml_job_runs_with_its_sweep_and_its_files(phalanx: Phalanx) -> None:
    path = phalanx.folder / "job.xml"
    path.write_text(JOB.format(folder=phalanx.folder))
    done = phalanx.run("run", path, "--name", "job", "--oversubscribe")
    assert done.returncode == 0, done.stderr
    for number in (1, 2, 3):
        assert (phalanx.folder / f"out-{number}.txt").read_text() == f"My job: ann & bob\n{number}\n"
    job = Job(phalanx, "job")
    assert [task["name"] for task in job.show()["tasks"]] == ["prepare", "work.1", "work.2", "work.3"]
    assert (job.folder / "job.xml").read_text() == path.read_text()
    assert not (job.folder / "job.yml").exists()


def place(text: str, value: str) -> str:
    """Line and column of a value: where it begins, behind its quote."""
    before = text[: text.index(value)]
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def test_what_has_no_meaning_here_is_named(phalanx: Phalanx) -> None:
    path = phalanx.folder / "job.xml"
    text = JOB.format(folder=phalanx.folder)
    path.write_text(text)
    done = phalanx.run("validate", path)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        f'{path}:{place(text, "gpu")}: warning: NodeGroups="gpu" of a job has no meaning here',
        f'{path}:{place(text, "60")}: warning: RuntimeSeconds="60" of a task has no meaning here',
        f"{path}: valid",
    ]


def test_a_mistake_is_told_with_its_place(phalanx: Phalanx) -> None:
    path = phalanx.folder / "job.xml"
    text = JOB.format(folder=phalanx.folder).replace('EndValue="3"', 'EndValue="three"')
    path.write_text(text)
    done = phalanx.run("run", path)
    assert done.returncode == 125
    assert f"{path}:{place(text, 'three')}: EndValue is 'three'; it must be a whole number" in done.stderr
    assert not phalanx.jobs()
