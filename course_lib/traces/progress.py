"""How far the reading of a long file is: a bar on a terminal or in a notebook, after a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

Told = Callable[[float], None]  # takes the share that is done, from 0 to 1

DELAY = 1.0  # seconds: what is quicker needs no bar
FORMAT = "{desc} {percentage:3.0f}%|{bar}| {elapsed}"


class Bar:
    """A bar that shows itself only if the work takes longer than `delay` seconds.

    It leaves nothing behind, and shows nothing where no one looks: in a file, in a pipe.
    """

    def __init__(
        self, what: str, delay: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what, self._clock, self._bar = what, clock, None
        self._shown_from = clock() + (DELAY if delay is None else delay)

    def at(self, share: float) -> None:
        """Take note that so much is done, from 0 to 1."""
        if self._bar is None:
            if self._clock() < self._shown_from:
                return
            self._bar = _opened(self._what)
        self._bar.update(100 * share - self._bar.n)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def silent(share: float) -> None:
    """Tell nobody."""


def part(told: Told, start: float, end: float) -> Told:
    """For a piece of the work, which is done from `start` to `end` of the whole."""
    return lambda share: told(start + share * (end - start))


def _opened(what: str) -> Any:
    # Loaded here: most files are read before a bar is due.
    if _in_notebook():
        from tqdm.notebook import tqdm

        off = False
    else:
        from tqdm import tqdm

        off = None  # on a terminal it shows itself; where the errors go to a file it doesn't
    return tqdm(total=100, desc=what, leave=False, bar_format=FORMAT, disable=off)


def _in_notebook() -> bool:
    python = sys.modules.get("IPython")
    return getattr(python and python.get_ipython(), "kernel", None) is not None
