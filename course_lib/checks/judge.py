"""`check`: tries the properties of an exercise on the learner's function, and says what it saw."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course_lib.checks import record
from course_lib.checks.cards import Card, Line
from course_lib.checks.describe import describe, kind
from course_lib.checks.exercises import (
    UNSET,
    Broken,
    Exercise,
    Property,
    all_exercises,
    find_exercise,
    unknown,
)
from course_lib.checks.learner import Learner, line_words
from course_lib.checks.limits import TimeLimit
from course_lib.checks.stand_ins import NobodyThere, stand_ins
from course_lib.checks.stubs import does_nothing, holds_stub_line

_BEGIN = "Write your code where `...` stands, then run this cell again."
_STILL_THERE = "Your function still holds the line `...`: write your code in its place."


@dataclass(frozen=True, repr=False)
class Verdict(Card):
    """What a check found. `status` is "passed", "failed" or "not attempted"; `message` says why.

    `points` are all or nothing: those of the exercise where all its properties hold, else 0.
    """

    exercise: str
    points: int = 0


def check(name: str, fn: Callable[..., Any]) -> Verdict:
    """Try your function on the exercise's properties, in order, up to the first that doesn't hold.

    Returns a Verdict and raises nothing, whatever the function does: `print` it in a script.
    """
    exercise = find_exercise(name)
    if exercise is None:
        headline = unknown("exercise", name, all_exercises())
        return Verdict(str(name), status="not attempted", headline=headline)
    refusal = _refusal(exercise, fn)
    if refusal:
        return Verdict(exercise.name, status="failed", headline=refusal)
    verdict = _not_attempted(exercise, _BEGIN) if does_nothing(fn) else _judge(exercise, fn)
    record.checked(exercise.name, verdict.status, verdict.points)
    return verdict


def _refusal(exercise: Exercise, fn: object) -> str:
    call = f'check("{exercise.name}", {exercise.name})'
    if not callable(fn):
        return (
            f"check needs your {exercise.wants} itself, without quotes and brackets: `{call}`."
            f" What came is {kind(fn)}."
        )
    if inspect.isclass(fn) and exercise.wants == "function":
        return f"`{exercise.name}` is to be a function; yours is a class. Begin it with `def`."
    if not inspect.isclass(fn) and exercise.wants == "class":
        return f"`{exercise.name}` is to be a class; yours is {kind(fn)}. Begin it with `class`."
    return ""


def _judge(exercise: Exercise, fn: Callable[..., Any]) -> Verdict:
    if not exercise.properties:
        raise ValueError(f"{exercise.name} has no properties yet, so nothing could fail.")
    for count, prop in enumerate(exercise.properties):
        lines = _broken(exercise, prop, fn)
        if lines is None:
            continue
        if not lines or holds_stub_line(fn):
            return _not_attempted(exercise, _STILL_THERE if lines else _BEGIN)
        return _failed(exercise, count, lines)
    return _passed(exercise)


def _broken(exercise: Exercise, prop: Property, fn: Callable[..., Any]) -> list[Line] | None:
    """None where the property holds, else what to say; nothing to say means: not attempted."""
    learner = Learner(exercise, prop, fn)
    limit = TimeLimit(exercise.seconds, learner.owns)
    caught: BaseException | None = None
    with stand_ins(learner.namespace, learner.printed):
        try:
            limit.run(lambda: prop.holds(learner, *_fresh_inputs(exercise, prop)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: B036, BLE001
            caught = error
    if limit.over:
        return _report(learner, _time_words(exercise, limit))
    if caught is None:
        return None
    if isinstance(caught, NotImplementedError):
        return []
    return _explain(learner, caught)


def _fresh_inputs(exercise: Exercise, prop: Property) -> list[random.Random]:
    wants = len(inspect.signature(prop.holds).parameters) > 1
    return [random.Random(f"{exercise.name}: {prop.title}")] if wants else []


def _explain(learner: Learner, error: BaseException) -> list[Line]:
    if isinstance(error, Broken):
        return _report(learner, error.thought, error.given, error.got)
    place = line_words(learner.place_of(error))
    if isinstance(error, SystemExit):
        return _report(learner, f"Your function asks Python to end{place}. Use `return` instead.")
    if isinstance(error, NobodyThere):
        text = f"Your function waits for `input()`{place}. Nobody types during a check"
        return _report(learner, f"{text}: take what you need from the arguments.")
    if place or error is learner.error or not isinstance(error, Exception):
        return _report(learner, _error_words(error, place))
    text = "What came back isn't of the form that the exercise asks for: using it raised"
    return _report(learner, f"{text} {_name_and_text(error)}. Compare it with the docstring.")


def _error_words(error: BaseException, place: str) -> str:
    if isinstance(error, RecursionError):
        return f"Your function calls itself without an end{place}. When should it stop?"
    if isinstance(error, MemoryError):
        return f"Your function ran out of memory{place}. What grows there without an end?"
    words = f"Your function raised {_name_and_text(error)}{place}."
    if not place:
        words += " Compare the parameters in your `def` line with those of the exercise."
    return words


def _name_and_text(error: BaseException) -> str:
    text = " ".join(str(error).split())
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def _time_words(exercise: Exercise, limit: TimeLimit) -> str:
    place = line_words(limit.place)
    text = f"Your function was still running after {exercise.seconds:g} seconds{place}."
    return f"{text} What brings each loop, and each call to itself, nearer to its end?"


def _report(learner: Learner, thought: str, given: Any = UNSET, got: Any = UNSET) -> list[Line]:
    given = learner.given if given is UNSET else _own_words(given)
    if got is not UNSET:
        got = _own_words(got)
    elif learner.got is not UNSET:
        got = describe(learner.got)
    printed = learner.printed.text()
    lines = [Line("given", given, code=True)] if given else []
    lines += [Line("came back", got, code=True)] if got is not UNSET else []
    lines += [Line("printed", printed, code=True)] if printed else []
    return [*lines, Line("think", thought)]


def _own_words(value: Any) -> str:
    return value if isinstance(value, str) else describe(value)


def _not_attempted(exercise: Exercise, what: str) -> Verdict:
    headline = f"{exercise.title}: not attempted yet. {what}"
    return Verdict(exercise.name, status="not attempted", headline=headline)


def _passed(exercise: Exercise) -> Verdict:
    count = len(exercise.properties)
    hold = "the property holds" if count == 1 else f"all {count} properties hold"
    return Verdict(
        exercise.name,
        exercise.points,
        status="passed",
        headline=f"{exercise.title}: {hold}, {_plural(exercise.points, 'point')}.",
        lines=tuple(Line("✓", prop.title) for prop in exercise.properties),
    )


def _failed(exercise: Exercise, count: int, lines: list[Line]) -> Verdict:
    titles = [prop.title for prop in exercise.properties]
    return Verdict(
        exercise.name,
        status="failed",
        headline=f"{exercise.title}: {count} of {_plural(len(titles), 'property')} hold so far.",
        lines=(
            *(Line("✓", title) for title in titles[:count]),
            Line("✗", titles[count]),
            *lines,
            Line("stuck?", f'`hint("{exercise.name}")`'),
        ),
    )


def _plural(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"
