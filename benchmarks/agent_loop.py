"""An agent's loop: a trim before each call, on the list that the trim before it returned.

The floor is to tokenise each message once. How the whole loop grows is told by an exponent: 1
means that a run of twice the steps costs twice the time.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.measure import forget_counts, fresh, interleaved, table, times, tokenise
from benchmarks.transcripts import steps
from course_lib import trim
from course_lib.messages import Message
from course_lib.tokens import encoding

FEW, MANY = 250, 1_000  # steps
BUDGET, LOW = 8_000, 4_000

Run = tuple[list[Message], list[list[Message]]]  # a head, and the turn groups in which a run grows

LOOPS = {
    f"trim to {BUDGET:,} on every step": None,
    f"trim to {LOW:,} when over {BUDGET:,}": LOW,
}


def main() -> int:
    """Measure and print."""
    encoding()
    runs = {count: steps(count) for count in (FEW, MANY)}
    contenders: dict[tuple[str, int], Callable[[], Callable[[], object]]] = {}
    for count, run in runs.items():
        contenders["floor", count] = partial(_ready, tokenise_once, run)
        for name, low in LOOPS.items():
            contenders[name, count] = partial(_ready, partial(loop, low), run)
    measured = interleaved(contenders, allowance=6)
    rows = []
    for name in ["floor", *LOOPS]:
        few, many = measured[name, FEW].seconds, measured[name, MANY].seconds
        ratio = many / measured["floor", MANY].seconds
        growth = math.log(many / few) / math.log(MANY / FEW)
        rows.append([name, times(ratio), f"{growth:.2f}"])
    print(table((f"{MANY:,} steps", "time", "growth exponent"), rows))
    print(f"(time 1 is to tokenise each message once; the exponent is that from {FEW} steps on)")
    return 0


def _ready(run: Callable[[Run], object], given: Run) -> Callable[[], object]:
    head, groups = given
    forget_counts()
    return partial(run, (fresh(head), [fresh(group) for group in groups]))


def tokenise_once(run: Run) -> int:
    """The floor."""
    head, groups = run
    return tokenise(head) + sum(tokenise(group) for group in groups)


def loop(low: int | None, run: Run) -> Sequence[Message]:
    """A run under a trim before each call; the list that is left at the end."""
    messages, groups = run
    for group in groups:
        messages = trim(messages, BUDGET, low=low).messages
        messages += group
    return messages


if __name__ == "__main__":
    sys.exit(main())
