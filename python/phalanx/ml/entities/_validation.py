"""What is wrong in a job. Contract: `azure.ai.ml.entities.ValidationResult`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...errors import Problem


class ValidationResult:
    """`passed`: nothing is wrong. `error_messages`: the key in the job -> what is wrong there (`*`: the
    whole).
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)

    @property
    def passed(self) -> bool:
        return not self.error_messages

    @property
    def error_messages(self) -> dict[str, str]:
        messages: dict[str, str] = {}
        for problem in self.problems:
            if problem.error:
                key = problem.key or "*"
                messages[key] = f"{messages[key]}; {problem.text}" if key in messages else problem.text
        return messages

    def __repr__(self) -> str:
        result = "Succeeded" if self.passed else "Failed"
        return json.dumps({"result": result, "errors": self.error_messages}, indent=2, ensure_ascii=False)
