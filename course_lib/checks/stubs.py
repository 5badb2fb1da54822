"""Whether a function is still the stub that the exercise began with."""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from course_lib.checks.learner import codes

_IDLE = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}


def does_nothing(function: Callable[..., Any]) -> bool:
    """True where the body is only a docstring, `...`, `pass` or `return None`.

    Read from the bytecode, which is there even where the source isn't.
    """
    parts = codes(function)
    return all(map(_does_nothing, parts)) if parts else inspect.isclass(function)


def holds_stub_line(function: Callable[..., Any]) -> bool:
    """True where a line of the source is just `...`, as in the stub; False without a source."""
    return any(map(_holds_stub_line, codes(function)))


def _does_nothing(function: Callable[..., Any]) -> bool:
    instructions = list(dis.get_instructions(function))
    loaded = [i.argval for i in instructions if i.opname in ("LOAD_CONST", "RETURN_CONST")]
    idle = all(i.opname in _IDLE for i in instructions)
    return idle and all(value is None or value is Ellipsis for value in loaded)


def _holds_stub_line(function: Callable[..., Any]) -> bool:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return False
    return any(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and node.value.value is Ellipsis
        for node in ast.walk(tree)
    )
