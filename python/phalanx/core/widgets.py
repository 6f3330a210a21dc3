"""`azureml.widgets`: `RunDetails`, as lines of text."""

from __future__ import annotations

from typing import Any

from .run import Run


class RunDetails:
    """Shows a run: in a notebook too, as text."""

    def __init__(self, run_instance: Run) -> None:
        self.run = run_instance

    def show(self, render_lib: Any = None, widget_settings: Any = None) -> None:
        """Prints how the run is, and how to look again."""
        print(f"{self.run.id}: {self.run.get_status()} ({self.run.get_portal_url()})")
        print(
            f"  `phalanx show {self.run.id}` shows its processes, `phalanx logs {self.run.id}` their output"
        )

    def get_widget_data(self, widget_settings: Any = None) -> dict[str, Any]:
        """Details and metrics."""
        return {"run_properties": self.run.get_details(), "run_metrics": self.run.get_metrics()}
