"""Runs of any length for the benchmarks: one task, parallel calls, about 100 tokens a message.

No text occurs twice, but for the names of tools: a count that is remembered helps nobody here.
The same length is the same run, every time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count, cycle, islice
from random import Random

from course_lib.messages import Message, assistant, system, tool_result, user

TOOLS = ("search_logs", "read_file", "query_table", "list_deploys", "fetch_ticket")
PARALLEL = (1, 1, 2, 1, 3, 1, 2, 1)  # how many calls the steps make, one step after another
WIDEST_TURN = 1 + max(PARALLEL)
LINES = (1, 2, 2, 3, 5)  # how long a result may be
TEXT = (
    "the export job waits for a lock on its table while the nightly vacuum runs so each batch of "
    "rows takes longer than before and the worker gives up after its limit which the scheduler "
    "reports as failed although no row was lost between deploy and retry"
)
WORDS = TEXT.split()


def transcript(length: int) -> list[Message]:
    """A run of exactly so many messages, 4 or more; the results of the last step have come."""
    random, numbers = Random(length), count()
    messages, turns = head(), _turns(random, numbers)
    while (room := length - len(messages)) > WIDEST_TURN + 1:
        messages += next(turns)
    # What is left is filled with single calls, or with one double one first.
    while room:
        messages += _turn(random, numbers, 1 + room % 2)
        room = length - len(messages)
    return messages


def steps(number: int) -> tuple[list[Message], list[list[Message]]]:
    """The head of a run, and so many turn groups."""
    return head(), list(islice(_turns(Random(number), count()), number))


def head() -> list[Message]:
    """The system message and the task."""
    return [
        system(
            "You are an incident investigator for the data platform. You may read logs, files, tables, "
            "deploys and tickets; you may not change anything. Name the evidence for each finding."
        ),
        user("Why did the export job fail last night, and what has to be done about it?"),
    ]


def _turns(random: Random, numbers: Iterator[int]) -> Iterator[list[Message]]:
    return (_turn(random, numbers, calls) for calls in cycle(PARALLEL))


def _turn(random: Random, numbers: Iterator[int], calls: int) -> list[Message]:
    """An assistant message with so many calls, and their results."""
    ids = [f"call_{number:04d}" for number in islice(numbers, calls)]
    thought = _sentence(random, random.randint(12, 45))
    return [
        assistant(thought, [_call(random, id) for id in ids]),
        *(tool_result(id, _result(random)) for id in ids),
    ]


def _call(random: Random, id: str) -> Message:
    arguments = {
        "query": _sentence(random, 4),
        "since": _time(random),
        "limit": random.randint(5, 500),
    }
    function = {"name": random.choice(TOOLS), "arguments": json.dumps(arguments)}
    return {"id": id, "type": "function", "function": function}


def _result(random: Random) -> str:
    lines = [
        f"{_time(random)} export-worker-{random.randint(1, 40)} {_sentence(random, 8)} "
        f"rows={random.randint(100, 99999)} took={random.randint(1, 9999)}ms"
        for _ in range(random.choice(LINES))
    ]
    return "\n".join(lines)


def _sentence(random: Random, words: int) -> str:
    return " ".join(random.choices(WORDS, k=words))


def _time(random: Random) -> str:
    day, hour, minute = random.randint(1, 28), random.randint(0, 23), random.randint(0, 59)
    return f"2025-03-{day:02d}T{hour:02d}:{minute:02d}:{random.randint(0, 59):02d}Z"
