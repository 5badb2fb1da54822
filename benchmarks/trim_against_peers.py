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
from typing import Any, NamedTuple

from benchmarks.measure import fresh, interleaved, table, times, tokenise
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


def main() -> int:
    """Measure and print; 1 if our own trim is wrong."""
    prepare_tiktoken()
    contenders = installed()
    last: dict[str, float] = {}
    for length in LENGTHS:
        messages = transcript(length)
        tokens = count_tokens(messages)
        for budget in (BUDGET, tokens // 2):
            print(f"\n{length:,} messages, {tokens:,} tokens, to {budget:,}:")
            if not compare(contenders, messages, budget, last):
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
    last: dict[str, float],
) -> bool:
    """Print the table of one trim. False if our own result is no good. Updates `last`, the times."""
    quick = {n: c for n, c in contenders.items() if is_quick(n, len(messages), budget, last)}
    kept = CONTENDERS[OURS]().trim(messages, budget)
    measured = interleaved(
        {
            KEPT_FLOOR: lambda: partial(tokenise, kept),
            ALL_FLOOR: lambda: partial(tokenise, messages),
        }
        | {name: partial(_ready, contender, messages, budget) for name, contender in quick.items()}
    )
    floor = measured[KEPT_FLOOR].seconds
    verdicts, rows = {}, []
    for name in [KEPT_FLOOR, ALL_FLOOR, *contenders]:
        if name not in measured:
            rows.append([name, f"over {PATIENCE} s", "", "", ""])
            continue
        words = ["", "", ""]
        if name in contenders:
            back = contenders[name].back(measured[name].result)
            verdicts[name] = judge(back, messages, budget)
            words = _in_words(verdicts[name])
        rows.append([name, times(measured[name].seconds / floor), *words])
    print(table(("", "time", "valid", "head kept", "of budget"), rows))
    print(f"(time 1 is {floor * 1000:.1f} ms here)")
    last.update({name: measured[name].seconds / len(messages) ** SLOWEST_GROWTH for name in quick})
    if not verdicts[OURS].good:
        print(f"{OURS} is wrong: {verdicts[OURS]}", file=sys.stderr)
    return verdicts[OURS].good


def _ready(contender: Contender, messages: list[Message], budget: int) -> partial[Any]:
    return partial(contender.trim, contender.into(fresh(messages)), budget)


def _in_words(verdict: Verdict) -> list[str]:
    yes_no = ["yes" if fact else "no" for fact in (verdict.valid, verdict.head)]
    return [*yes_no, f"{'over: ' if verdict.share > 1 else ''}{verdict.share:.1%}"]


# ---- what came back -------------------------------------------------------------------------


def judge(kept: list[Message], messages: list[Message], budget: int) -> Verdict:
    """Whether the kept messages can be sent, and hold what must not be lost."""
    texts = {(message["role"], message["content"]) for message in kept}
    head = all((message["role"], message["content"]) in texts for message in messages[:2])
    return Verdict(not validate(kept), head, count_tokens(kept) / budget)


# ---- the ones that take too long ------------------------------------------------------------


def is_quick(name: str, length: int, budget: int, last: Mapping[str, float]) -> bool:
    """Whether one trim ends in time. Tried out, in a process that can be stopped, if in doubt."""
    if last.get(name, 0) * length**SLOWEST_GROWTH < PATIENCE / 2:
        return True
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_try_out, args=(name, length, budget, ready))
    process.start()
    ready.wait()
    process.join(PATIENCE)
    if process.is_alive():
        process.kill()
        process.join()
        return False
    return process.exitcode == 0


def _try_out(name: str, length: int, budget: int, ready: Any) -> None:
    prepare_tiktoken()
    run = _ready(CONTENDERS[name](), transcript(length), budget)
    ready.set()
    run()


if __name__ == "__main__":
    sys.exit(main())
