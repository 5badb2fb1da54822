"""`hint`: help in three stages, a nudge, an approach, and nearly the code."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from course_lib.checks import record
from course_lib.checks.cards import prose_html, styled
from course_lib.checks.exercises import all_exercises, find_exercise, unknown

# Per kernel, not from the progress file: a notebook that runs again begins with the nudge again.
_shown: dict[str, int] = {}


@dataclass(frozen=True, repr=False)
class Hint:
    """One hint. `stage` is 1 to 3, or 0 where there is none of that name or number."""

    exercise: str
    stage: int
    message: str

    def __str__(self) -> str:
        return self.message

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.message, "text/html": styled(prose_html(self.message))}


def hint(name: str, stage: int | None = None) -> Hint:
    """The next hint for the exercise, or the one of that stage: 1 nudge, 2 approach, 3 near-code.

    After the third, the third again.
    """
    exercise = find_exercise(name)
    if exercise is None:
        return Hint(str(name), 0, unknown("exercise", name, all_exercises()))
    if stage is None:
        stage = min(_shown.get(name, 0) + 1, 3)
    if stage not in (1, 2, 3):
        return Hint(name, 0, f"There are three hints: 1, 2 and 3. {stage!r} is none of them.")
    _shown[name] = stage
    record.hinted(name, stage)
    text = exercise.hints[stage - 1]
    # Nearly the code is shown as code.
    text = "\n\n" + textwrap.indent(text, "    ") if stage == 3 else " " + text
    return Hint(name, stage, f"Hint {stage} of 3.{text}")
