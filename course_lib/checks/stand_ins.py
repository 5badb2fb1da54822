"""What stands in for `input`, `exit`, `sleep` and the screen while a function is checked."""

from __future__ import annotations

import builtins
import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SHOWN = 2000
_really_sleep = time.sleep


class NobodyThere(EOFError):
    """`input()` was called where nobody can type."""


class Printed(io.TextIOBase):
    """Keeps the first 2,000 characters that are written to it, and counts the rest."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._kept, self._more = "", 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        room = SHOWN - len(self._kept)
        self._kept += text[:room]
        self._more += max(len(text) - room, 0)
        return len(text)

    def text(self) -> str:
        """What was printed, and how much of it isn't shown."""
        shown = self._kept.rstrip("\n")
        return shown + f"\n... and {self._more:,} more characters" if self._more else shown


@contextmanager
def stand_ins(namespace: dict[str, Any], printed: Printed) -> Iterator[None]:
    """Put them in place in `builtins`, `time`, `sys` and the learner's own namespace, then undo."""
    screen = sys.stdout, sys.stderr
    undo = [
        (place, name, original)
        for place in (vars(builtins), vars(time), namespace)
        for name, original in list(place.items())
        if _stand_in(name, original) is not None
    ]
    try:
        sys.stdout = sys.stderr = printed
        for place, name, original in undo:
            place[name] = _stand_in(name, original)
        yield
    finally:
        for place, name, original in undo:
            place[name] = original
        sys.stdout, sys.stderr = screen


def _stand_in(name: str, original: Any) -> Callable[..., Any] | None:
    if original is _really_sleep:
        return _nap
    if name == "input" and original is builtins.input:
        return _nobody_types
    # A notebook's `exit` doesn't raise SystemExit: it tells the kernel to end.
    maker = type(original).__module__.partition(".")[0]
    if name in ("exit", "quit") and maker in ("_sitebuiltins", "IPython", "ipykernel"):
        return _leave
    return None


def _nap(seconds: float) -> None:
    # In slices, because a time limit that strikes from another thread can't break a sleep.
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        _really_sleep(min(left, 0.05))


def _nobody_types(prompt: object = "") -> str:
    raise NobodyThere("nobody can type here")


def _leave(code: object = None) -> None:
    raise SystemExit(code)
