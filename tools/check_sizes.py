#!/usr/bin/env python3
"""check_sizes - fails for a source file of more than 600 lines: split it by verb."""

import subprocess
import sys

LIMIT = 600
KINDS = ("*.cc", "*.h", "*.c", "*.py", "*.cmake", "CMakeLists.txt", "dev")


def main() -> int:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *KINDS],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\n")
    long = []
    for name in filter(None, listed):
        try:
            with open(name, "rb") as file:
                lines = sum(1 for _ in file)
        except FileNotFoundError:  # deleted, not yet committed
            continue
        if lines > LIMIT:
            long.append(f"{name}: {lines} lines, more than {LIMIT}: split it by verb")
    print("\n".join(long), file=sys.stderr, end="\n" if long else "")
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
