"""What an exercise and a question are, and where they are found by their names."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeVar

UNSET: Any = object()


class Broken(Exception):
    """A property that doesn't hold: what to think about, and what went in and came back."""

    def __init__(self, thought: str, given: Any = UNSET, got: Any = UNSET) -> None:
        super().__init__(thought)
        self.thought, self.given, self.got = thought, given, got


def fail(thought: str, *, given: Any = UNSET, got: Any = UNSET) -> None:
    """Break the property. Without `given` and `got`, the learner's last call is reported."""
    raise Broken(thought, given, got)


def expect(holds: bool, thought: str, *, given: Any = UNSET, got: Any = UNSET) -> None:
    """Break the property unless `holds`; `thought` says what to think about, never the answer."""
    if not holds:
        fail(thought, given=given, got=got)


@contextmanager
def expect_error(kind: type[Exception], thought: str) -> Iterator[None]:
    """Break the property unless the block raises `kind`; other errors are reported as raised."""
    try:
        yield
    except kind:
        return
    fail(thought)


@dataclass(frozen=True)
class Property:
    """One thing that must hold: `holds(learner)` or `holds(learner, rng)` returns or breaks."""

    title: str
    holds: Callable[..., None]


@dataclass(frozen=True)
class Exercise:
    """A function (or class) for the learner to write, and the properties that it must have.

    `points` are all or nothing. `returns` is the type of what comes back (`list[dict]`,
    `tuple[list, int]`, `str | None`). `seconds` is the time for each property. Defining an
    exercise registers it; a name that another exercise has raises ValueError.
    """

    name: str
    _: KW_ONLY
    title: str
    lesson: int
    minutes: int
    points: int
    hints: tuple[str, str, str]
    returns: Any = Any
    wants: str = "function"
    seconds: float = 3.0
    properties: list[Property] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.hints) != 3:
            raise ValueError(f"{self.name}: three hints (nudge, approach, near-code), please.")
        if self.wants not in ("function", "class"):
            raise ValueError(f'{self.name}: `wants` is "function" or "class", not {self.wants!r}.')
        _register(_EXERCISES, self)

    def property(self, title: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """A decorator that adds a property; they are tried in the order in which they stand."""

        def add(holds: Callable[..., None]) -> Callable[..., None]:
            self.properties.append(Property(title, holds))
            return holds

        return add


@dataclass(frozen=True)
class Question:
    """A prediction with choices. `choices` maps each one to the sentence that answers it."""

    name: str
    _: KW_ONLY
    lesson: int
    text: str
    choices: dict[str, str]
    right: str

    def __post_init__(self) -> None:
        if self.right not in self.choices or len(self.choices) < 2:
            raise ValueError(f"{self.name}: `right` is one of two or more choices.")
        _register(_QUESTIONS, self)


@dataclass(frozen=True)
class NumberQuestion:
    """A prediction of a number. `answer` computes it; `tolerance` is a share of it (0.05: 5 %).

    `{answer}` in a sentence becomes the computed number.
    """

    name: str
    _: KW_ONLY
    lesson: int
    text: str
    answer: Callable[[], float]
    right: str
    too_low: str
    too_high: str
    tolerance: float = 0.05
    unit: str = ""

    def __post_init__(self) -> None:
        _register(_QUESTIONS, self)


AnyQuestion = Question | NumberQuestion
Named = TypeVar("Named", Exercise, AnyQuestion)
_EXERCISES: dict[str, Exercise] = {}
_QUESTIONS: dict[str, AnyQuestion] = {}


def find_exercise(name: object) -> Exercise | None:
    """The exercise of that name, or None; lesson modules load at the first look."""
    return _find(_EXERCISES, name)


def find_question(name: object) -> AnyQuestion | None:
    """The question of that name, or None; lesson modules load at the first look."""
    return _find(_QUESTIONS, name)


def all_exercises(lesson: int | None = None) -> list[Exercise]:
    """All exercises, or one lesson's, by lesson and then in the order of definition."""
    return _all(_EXERCISES, lesson)


def all_questions(lesson: int | None = None) -> list[AnyQuestion]:
    """All questions, or one lesson's, by lesson and then in the order of definition."""
    return _all(_QUESTIONS, lesson)


def unknown(kind: str, name: object, known: Iterable[Named]) -> str:
    """The sentence for a name that isn't there, with the nearest names that are."""
    if not isinstance(name, str):
        return f"The {kind}'s name comes first, in quotes."
    near = difflib.get_close_matches(name, [item.name for item in known], n=3, cutoff=0.5)
    there = f'There is no {kind} "{name}".'
    guesses = " or ".join(f'"{guess}"' for guess in near)
    return f"{there} Did you mean {guesses}?" if near else there


def _register(known: dict[str, Named], item: Named) -> None:
    before = known.get(item.name)
    # A module that is loaded again defines the same thing anew; two lessons may not share a name.
    if before is not None and (before.lesson, type(before)) != (item.lesson, type(item)):
        raise ValueError(f"{item.name}: lesson {before.lesson} has this name already.")
    known[item.name] = item


def _find(known: dict[str, Named], name: object) -> Named | None:
    if not isinstance(name, str):
        return None
    if name not in known:
        _load_lessons()
    return known.get(name)


def _all(known: dict[str, Named], lesson: int | None) -> list[Named]:
    _load_lessons()
    items = [item for item in known.values() if lesson in (None, item.lesson)]
    return sorted(items, key=lambda item: item.lesson)


def _load_lessons() -> None:
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("lesson"):
            importlib.import_module(f"{__package__}.{module.name}")
