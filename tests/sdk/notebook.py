"""Run by the Python that has nbclient: `notebook.py`, with the cells as JSON on standard input.

Runs them as one notebook in the current folder, and prints for each cell what it printed and what it
displayed.
"""

from __future__ import annotations

import json
import sys

import nbformat
from nbclient import NotebookClient


def main() -> None:
    cells = [nbformat.v4.new_code_cell(source) for source in json.load(sys.stdin)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": "."}}
    ).execute()
    found = []
    for cell in notebook.cells:
        printed = "".join(output["text"] for output in cell.outputs if output.output_type == "stream")
        displayed = [
            output["data"].get("text/html", "")
            for output in cell.outputs
            if output.output_type == "display_data"
        ]
        found.append({"printed": printed, "displayed": displayed})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
