"""One trim, beside those of other libraries: how long, and is the result any good?

To 8,000 tokens and to half the size, of runs of 100, 1,000 and 10,000 messages. Nothing is
remembered from before. The floor is the time to tokenise what `course_lib` keeps, no more: a trim
to a small budget needn't know the size of what it drops.
"""

from __future__ import annotations

import multiprocessing
import platform
import sys
from collections.abc import Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from benchmarks.measure import Measured, Ready, fresh, interleaved, table, timed, times, tokenise
from benchmarks.peers import CONTENDERS, OURS, PEERS, Contender, prepare_tiktoken
from benchmarks.transcripts import transcript
from course_lib import count_tokens, validate
from course_lib.messages import Message

LENGTHS = (100, 1_000, 10_000)
BUDGET = 8_000
PATIENCE = 60  # seconds for one trim
SLOWEST_GROWTH = 2  # exponent: a trim may take the square of its time when the run grows

KEPT_FLOOR = "floor: tokenise what is kept"
ALL_FLOOR = "floor: tokenise everything"


class Verdict(NamedTuple):
    """What became of a run that was trimmed."""

    valid: bool  # every call has its results, every result its call
    head: bool  # the system message and the task are still there
    share: float  # of the budget, as `course_lib` counts the whole request

    @property
    def good(self) -> bool:
        """Nothing to complain about."""
        return self.valid and self.head and self.share <= 1

    def words(self) -> list[str]:
        """As cells of a table."""
        over = "over: " if self.share > 1 else ""
        yes_no = ["yes" if fact else "no" for fact in (self.valid, self.head)]
        return [*yes_no, f"{over}{self.share:.1%}"]


def main() -> int:
    """Measure and print; 1 if our own trim is wrong."""
    prepare_tiktoken()
    contenders = installed()
    slowness: dict[str, float] = {}  # seconds for each square of a message
    for length in LENGTHS:
        messages = transcript(length)
        tokens = count_tokens(messages)
        for budget in (BUDGET, tokens // 2):
            print(f"\n{length:,} messages, {tokens:,} tokens, to {budget:,}:")
            if not compare(contenders, messages, budget, slowness):
                print(f"{OURS} went wrong here: see its row", file=sys.stderr)
                return 1
    return 0


def installed() -> dict[str, Contender]:
    """The contenders that are there. Prints the versions, and who is missing."""
    print(f"Python {platform.python_version()}, tiktoken {version('tiktoken')}")
    there = {}
    for name, make in CONTENDERS.items():
        try:
            there[name] = make()
            print(f"{name} {version(name)}" if name in PEERS else name)
        except (ImportError, PackageNotFoundError):
            print(f"{name} is left out: it isn't installed (pip install '.[peers]')")
    return there


def compare(
    contenders: Mapping[str, Contender],
    messages: list[Message],
    budget: int,
    slowness: dict[str, float],
) -> bool:
    """Print the table of one trim. False if our own result is no good. Adds to `slowness`."""
    square = len(messages) ** SLOWEST_GROWTH
    doubtful = {n for n in contenders if slowness.get(n, 0) * square > PATIENCE / 2}
    kept = {id(message) for message in contenders[OURS].trim(messages, budget)}
    places = [i for i, message in enumerate(messages) if id(message) in kept]
    ready: dict[str, Ready] = {
        KEPT_FLOOR: lambda: partial(tokenise, at_places(fresh(messages), places)),
        ALL_FLOOR: lambda: partial(tokenise, fresh(messages)),
    }
    for name, contender in contenders.items():
        if name not in doubtful:
            ready[name] = partial(_ready, contender, messages, budget)
    measured = interleaved(ready)
    for name in contenders.keys() & measured.keys():
        seconds, result = measured[name]
        measured[name] = Measured(seconds, contenders[name].back(result))
    for name in doubtful:
        if (in_time := tried_out(name, len(messages), budget)) is not None:
            measured[name] = in_time
    for name in contenders.keys() & measured.keys():
        slowness[name] = max(slowness.get(name, 0), measured[name].seconds / square)
    verdicts = {n: judge(measured[n].result, messages, budget) for n in contenders if n in measured}
    print_table(contenders, measured, verdicts)
    return verdicts[OURS].good


def print_table(
    contenders: Mapping[str, Contender],
    measured: Mapping[str, Measured],
    verdicts: Mapping[str, Verdict],
) -> None:
    """A row for each floor and each contender, as multiples of the first floor."""
    floor = measured[KEPT_FLOOR].seconds
    rows = []
    for name in [KEPT_FLOOR, ALL_FLOOR, *contenders]:
        ratio = times(measured[name].seconds / floor) if name in measured else f"over {PATIENCE} s"
        words = verdicts[name].words() if name in verdicts else ["", "", ""]
        rows.append([name, ratio, *words])
    print(table(("", "time", "valid", "head kept", "of budget"), rows))
    print(f"(time 1 is {floor * 1000:.1f} ms here)", flush=True)


def _ready(contender: Contender, messages: list[Message], budget: int) -> partial[Any]:
    return partial(contender.trim, contender.into(fresh(messages)), budget)


def at_places(messages: list[Message], places: list[int]) -> list[Message]:
    """The messages at these indices."""
    return [messages[i] for i in places]


def judge(kept: list[Message], messages: list[Message], budget: int) -> Verdict:
    """Whether the kept messages can be sent, and hold what must not be lost."""
    texts = {(message["role"], message["content"]) for message in kept}
    head = all((message["role"], message["content"]) in texts for message in messages[:2])
    return Verdict(not validate(kept), head, count_tokens(kept) / budget)


# ---- the ones that may take too long --------------------------------------------------------


def tried_out(name: str, length: int, budget: int) -> Measured | None:
    """One trim in a process that can be stopped, or None if it had to be."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_try_out, args=(name, length, budget, sender), daemon=True)
    process.start()
    sender.close()
    receiver.recv()  # all is prepared
    measured = receiver.recv() if receiver.poll(PATIENCE) else None
    process.kill()
    process.join()
    return measured


def _try_out(name: str, length: int, budget: int, sender: Connection) -> None:
    prepare_tiktoken()
    contender = CONTENDERS[name]()
    run = _ready(contender, transcript(length), budget)
    sender.send("ready")
    seconds, result = timed(run)
    sender.send(Measured(seconds, contender.back(result)))


if __name__ == "__main__":
    sys.exit(main())
