"""The learner's function as a property sees it: it can be called, and remembers its last call."""

from __future__ import annotations

import copy
import functools
import inspect
import linecache
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from course_lib.checks.describe import argument_names, clip, describe_call, kind, misfit
from course_lib.checks.exercises import UNSET, Broken, Exercise, Property
from course_lib.checks.stand_ins import Printed


class Learner:
    """Calls the function. Breaks the property where the call changes its arguments or returns
    another type than the exercise asks for. `given` and `got` describe the last call."""

    def __init__(self, exercise: Exercise, prop: Property, function: Callable[..., Any]) -> None:
        self.function = function
        self.printed = Printed()
        self.namespace = namespace(function)
        self.got: Any = UNSET
        self.error: Exception | None = None
        self._returns = exercise.returns
        self._property = prop.holds
        self._call: tuple[tuple, dict[str, Any]] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # The function gets the very objects that the property made, so that "the same message
        # objects" can be tested; the copy is what they are compared with, and what is shown.
        before = self._call = copy.deepcopy((args, kwargs))
        self.got = UNSET
        self.printed.clear()
        try:
            result = self.function(*args, **kwargs)
        except Exception as error:
            self.error = error
            raise
        self.got = result
        self._refuse_changes(before, (args, kwargs))
        self._refuse_type(result)
        return result

    @property
    def given(self) -> str | None:
        """The last call as text, its arguments as they were before it; None before any call."""
        return None if self._call is None else describe_call(self.function, *self._call)

    def owns(self, frame: FrameType) -> bool:
        """Whether the frame runs the learner's own code: something of the same cells or file."""
        # An exercise may be defined in the same notebook as the function that it tries.
        of_the_property = frame.f_code is getattr(self._property, "__code__", None)
        return frame.f_globals is self.namespace and not of_the_property

    def place_of(self, error: BaseException) -> tuple[str, int] | None:
        """File and line of the learner's code that the error passed last, or None."""
        frames = traceback.walk_tb(error.__traceback__)
        places = [(f.f_code.co_filename, line) for f, line in frames if self.owns(f)]
        return places[-1] if places else None

    def _refuse_changes(self, before: tuple[tuple, dict], after: tuple[tuple, dict]) -> None:
        names = [*argument_names(self.function, len(before[0])), *before[1]]
        old = [*before[0], *before[1].values()]
        new = [*after[0], *after[1].values()]
        for name, was, now in zip(names, old, new, strict=True):
            if not _same(was, now):
                raise Broken(
                    f"Your function changed {kind(was)} that it was given, `{name}`. Whoever called"
                    " it still needs that as it was: build a new one and return it."
                )

    def _refuse_type(self, result: Any) -> None:
        if inspect.iscoroutine(result):
            result.close()
        wrong = misfit(result, self._returns)
        if not wrong:
            return
        if result is None:
            wrong += " Is a `return` missing?"
        elif inspect.isgenerator(result):
            wrong += " Its items come one by one: collect them first, with `list(...)` or a loop."
        elif inspect.iscoroutine(result):
            wrong += " Take the word `async` away from your function."
        raise Broken(wrong)


def unwrapped(function: Callable[..., Any]) -> Any:
    """The plain function or class inside wrappers, partials and methods."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if not inspect.isclass(function) and not hasattr(function, "__code__"):
        function = type(function).__call__
    return getattr(function, "__func__", function)


def codes(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """The plain functions that the learner wrote: one, or a class's methods."""
    plain = unwrapped(function)
    parts = vars(plain).values() if inspect.isclass(plain) else [plain]
    return [part for part in parts if inspect.isfunction(part)]


def namespace(function: Callable[..., Any]) -> dict[str, Any]:
    """The globals of the learner's code: the notebook's, in a notebook."""
    return next((part.__globals__ for part in codes(function)), {})


def line_words(place: tuple[str, int] | None) -> str:
    """ "in line 4 of your cell: `total = …`", for the end of a sentence; empty where unknown."""
    if place is None:
        return ""
    path, number = place
    text = clip(linecache.getline(path, number).strip())
    where = Path(path).name if Path(path).is_file() else "your cell"
    return f" in line {number} of {where}" + (f": `{text}`" if text else "")


def _same(was: Any, now: Any) -> bool:
    if was is now:
        return True
    if isinstance(was, dict) and isinstance(now, dict):
        return list(was) == list(now) and all(_same(was[key], now[key]) for key in was)
    if isinstance(was, (list, tuple)) and type(was) is type(now):
        return len(was) == len(now) and all(map(_same, was, now))
    # Without an __eq__ of its own, a copy is never equal to its original.
    return type(was).__eq__ is object.__eq__ or bool(was == now)
