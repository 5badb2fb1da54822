"""`progress`: exercises and predictions by lesson, as a table that follows what is checked."""

from __future__ import annotations

import html
from typing import Any

from course_lib.checks import record
from course_lib.checks.cards import mark, mark_html, styled
from course_lib.checks.exercises import Exercise, all_exercises, all_questions

_HEADS = ("", "exercise", "status", "points", "hints")
_CELL = "text-align: left; padding: 3px 12px 3px 0; background: transparent; color: inherit;"


class Progress:
    """Where the learner stands, in one lesson or in all; text, HTML, and live in a notebook."""

    def __init__(self, lesson: int | None = None) -> None:
        self.lesson = lesson

    def __str__(self) -> str:
        state = record.load()
        rows = [_row(exercise, state) for exercise in all_exercises(self.lesson)]
        wide = [max(map(len, column)) for column in zip(_HEADS, *rows, strict=True)]
        lines = [_aligned(_HEADS, wide)] if rows else []
        for lesson, exercises in _by_lesson(self.lesson).items():
            lines.append(lesson_name(lesson))
            lines += [_aligned(_row(exercise, state), wide) for exercise in exercises]
        return "\n".join([*lines, *self._sums(state)])

    __repr__ = __str__

    def html(self) -> str:
        """The table as HTML."""
        state = record.load()
        rows = _html_row("th", [html.escape(head) for head in _HEADS])
        for lesson, exercises in _by_lesson(self.lesson).items():
            rows += f'<tr><th colspan="5" style="{_CELL}">{lesson_name(lesson)}</th></tr>'
            rows += "".join(_html_row("td", _html_cells(e, state)) for e in exercises)
        table = f'<table style="border-collapse: collapse">{rows}</table>'
        sums = "".join(f"<div>{html.escape(line)}</div>" for line in self._sums(state))
        return styled(table + sums)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        static = {"text/plain": str(self), "text/html": self.html()}
        try:
            from course_lib.checks.live import progress_widget
        except ImportError:
            return static
        return progress_widget(self)._repr_mimebundle_() | static

    def _sums(self, state: record.State) -> list[str]:
        exercises = all_exercises(self.lesson)
        entries = [_entry(exercise, state) for exercise in exercises]
        passed = sum(entry["status"] == "passed" for entry in entries)
        points = sum(entry["points"] for entry in entries)
        most = sum(exercise.points for exercise in exercises)
        asked = [question.name for question in all_questions(self.lesson)]
        given = [state["questions"][name] for name in asked if name in state["questions"]]
        first = sum(entry["right"] and entry["tries"] == 1 for entry in given)
        return [
            f"In all: {passed} of {len(exercises)} exercises passed, {points} of {most} points.",
            f"Predictions: {len(given)} of {len(asked)} made, {first} right at the first try.",
        ]


def progress(lesson: int | None = None) -> Progress:
    """A table of what you have passed and asked for, in one lesson or in all."""
    return Progress(lesson)


def _by_lesson(lesson: int | None) -> dict[int, list[Exercise]]:
    found: dict[int, list[Exercise]] = {}
    for exercise in all_exercises(lesson):
        found.setdefault(exercise.lesson, []).append(exercise)
    return found


def _entry(exercise: Exercise, state: record.State) -> record.State:
    return record.EXERCISE | state["exercises"].get(exercise.name, {})


def _row(exercise: Exercise, state: record.State) -> tuple[str, ...]:
    entry = _entry(exercise, state)
    points = f"{entry['points']} of {exercise.points}"
    hints = f"{entry['hints']} of 3"
    return mark(entry["status"]), exercise.title, entry["status"], points, hints


def _aligned(cells: tuple[str, ...], wide: list[int]) -> str:
    return "  ".join(f"{cell:{width}}" for cell, width in zip(cells, wide, strict=True)).rstrip()


def _html_cells(exercise: Exercise, state: record.State) -> list[str]:
    cells = [html.escape(cell) for cell in _row(exercise, state)]
    return [mark_html(_entry(exercise, state)["status"]), *cells[1:]]


def _html_row(tag: str, cells: list[str]) -> str:
    return "<tr>" + "".join(f'<{tag} style="{_CELL}">{c}</{tag}>' for c in cells) + "</tr>"


def lesson_name(lesson: int) -> str:
    """What a lesson is called in the table."""
    return f"Lesson {lesson}" if lesson else "Start here"
