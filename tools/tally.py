#!/usr/bin/env python3
"""tally - sums the JUnit results of all test runners into one line: `N passed, N failed`.

tally.py FOLDER                          print the sum; exit 1 if anything failed or nothing ran
tally.py --record FILE passed|failed ID  write one result, for a runner that knows no JUnit

FOLDER has a folder per stage. A file `failed` in it says that the stage failed; that counts as one failure
where no test says so (a broken build, say). Standard library only: it must work when setup did not.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def record(file: str, outcome: str, name: str) -> int:
    suite = ET.Element("testsuite")
    case = ET.SubElement(suite, "testcase", name=name)
    if outcome == "failed":
        ET.SubElement(case, "failure")
    ET.ElementTree(suite).write(file)
    return 0


def count(file: Path) -> tuple[int, int]:
    """(passed, failed) of one file; skipped tests are neither."""
    passed = failed = 0
    for case in ET.parse(file).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is None and case.get("status") not in ("notrun", "disabled"):
            passed += 1
    return passed, failed


def count_stage(folder: Path) -> tuple[int, int]:
    passed = failed = 0
    for file in folder.glob("*.xml"):
        try:
            more_passed, more_failed = count(file)
        except ET.ParseError:  # the runner died while writing
            more_passed, more_failed = 0, 1
        passed += more_passed
        failed += more_failed
    return passed, max(failed, int((folder / "failed").exists()))


def tally(folder: str) -> int:
    stages = [count_stage(stage) for stage in Path(folder).iterdir()]
    passed, failed = sum(p for p, _ in stages), sum(f for _, f in stages)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    if sys.argv[1] == "--record":
        sys.exit(record(*sys.argv[2:5]))
    sys.exit(tally(sys.argv[1]))
