"""Show the library's own code in a lesson, so that the lesson can't drift from it."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any


class Source:
    """The source of a function or class, coloured where the front end can."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __repr__(self) -> str:
        return self.code

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.code}\n```"


def show(thing: Callable[..., Any]) -> Source:
    """The source of a function or a class, as it stands in the library."""
    return Source(textwrap.dedent(inspect.getsource(thing)).rstrip())
