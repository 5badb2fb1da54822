"""What grading passes on: a learner's notebook, and what it earned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Status = Literal["passed", "failed", "not attempted", "not graded"]


@dataclass(frozen=True)
class Submission:
    """A learner's exercise notebook, as it was handed in; `lesson` is the lesson's number."""

    learner: str
    path: Path
    lesson: int


@dataclass(frozen=True)
class Mark:
    """What one exercise earned, out of how many points, and why.

    `message` is what the check said, or why it could not be graded; `broken` is the title of the
    first property that does not hold, or "".
    """

    exercise: str
    status: Status
    points: int
    of: int
    message: str
    broken: str = ""


@dataclass(frozen=True)
class Graded:
    """A submission with a mark for each exercise of its lesson.

    `notes` say in words what else happened ("Cell 7 was still running after 10 seconds: what stands
    in it was left out."); `seconds` is how long it took.
    """

    submission: Submission
    marks: tuple[Mark, ...]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def points(self) -> int:
        """The points of all exercises together."""
        return sum(mark.points for mark in self.marks)

    @property
    def of(self) -> int:
        """The points that could be had."""
        return sum(mark.of for mark in self.marks)
