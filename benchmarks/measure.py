"""Timing that can be compared on a busy machine, and tables of the ratios."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from course_lib import tokens
from course_lib.messages import Message

Ready = Callable[[], Callable[[], Any]]  # prepares untimed, and returns what is timed

ROUNDS = 60
ALLOWANCE = 2.0  # seconds for each contender: one that has used them up sits out the later rounds


class Measured(NamedTuple):
    """The quickest of a contender's runs, in seconds, and what the last one returned."""

    seconds: float
    result: Any


def interleaved(
    contenders: Mapping[str, Ready], rounds: int = ROUNDS, allowance: float = ALLOWANCE
) -> dict[str, Measured]:
    """Time all contenders. In each round everyone runs once, so a busy machine falls on all.

    What else the machine does can only add to a run, so the quickest one tells what it costs.
    """
    measured: dict[str, Measured] = {}
    spent = dict.fromkeys(contenders, 0.0)
    gc.freeze()  # what is there already needn't be looked at again before each run
    for _ in range(rounds):
        for name, ready in contenders.items():
            if spent[name] < allowance:
                start = time.perf_counter()
                run = timed(ready())
                spent[name] += time.perf_counter() - start
                quickest = min(run.seconds, measured.get(name, run).seconds)
                measured[name] = Measured(quickest, run.result)
    gc.unfreeze()
    return measured


def timed(run: Callable[[], Any]) -> Measured:
    """One run, with the garbage of the one before it out of the way."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        result = run()
        return Measured(time.perf_counter() - start, result)
    finally:
        gc.enable()


# ---- the floor ------------------------------------------------------------------------------


def fresh(messages: Sequence[Message]) -> list[Message]:
    """The messages anew, and nothing remembered of their tokens, as in a process just started."""
    forget_counts()
    return json.loads(json.dumps(messages))


def forget_counts() -> None:
    """Clear whatever `course_lib` remembers of texts it has counted. The vocabulary stays."""
    for thing in vars(tokens).values():
        if hasattr(thing, "cache_clear") and thing is not tokens.encoding:
            thing.cache_clear()


def tokens_of(text: str) -> int:
    """Tokens of a text, counted anew."""
    return len(tokens.encoding().encode_ordinary(text))


def tokenise(messages: Sequence[Message]) -> int:
    """Tokenise every text of the messages once: the least that any exact count must do."""
    encode, total = tokens.encoding().encode_ordinary, 0
    for message in messages:
        total += len(encode(message["content"]))
        if "tool_call_id" in message:
            total += len(encode(message["tool_call_id"]))
        for call in message.get("tool_calls", ()):
            function = call["function"]
            for text in (call["id"], function["name"], function["arguments"]):
                total += len(encode(text))
    return total


# ---- tables ---------------------------------------------------------------------------------


def times(ratio: float) -> str:
    """A ratio to be read at a glance: 1.08, 21.3, 5,600."""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of text under their headings: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for first, *others in [head, ["-" * width for width in widths], *rows]:
        cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    return "\n".join(lines)
