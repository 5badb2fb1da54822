"""Replay a policy over a transcript, call by call, as the agent's own loop would have run it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from course_lib.caching import BLOCK, MINIMUM, cached_tokens, common_prefix
from course_lib.messages import CourseError, Message, is_summary, role_of
from course_lib.tokens import count_tokens
from course_lib.trimming import Policy, Trimmed


@dataclass(frozen=True)
class Row:
    """One call of the model: what it read, and what the policy did before it."""

    call: int  # counts from 1
    read: int  # tokens of the whole request
    cached: int  # tokens of it that a prompt cache could serve
    shared: int  # tokens at its start that the call before has read too, cached or not
    kept: int  # messages of the transcript that were sent
    event: str  # "", "trim", "summary" or "mask"
    prompt: list[Message]  # what was sent


@dataclass(frozen=True)
class Run:
    """A policy's way through a transcript: a row for each call."""

    rows: tuple[Row, ...]

    @property
    def read(self) -> int:
        """Tokens read over all calls."""
        return sum(row.read for row in self.rows)

    @property
    def cached(self) -> int:
        """Tokens of those that a prompt cache could serve."""
        return sum(row.cached for row in self.rows)

    @property
    def trims(self) -> int:
        """How many times the policy changed the list."""
        return sum(bool(row.event) for row in self.rows)


def replay(
    messages: Sequence[Message],
    policy: Policy,
    *,
    tools: Sequence[dict[str, Any]] | None = None,
    block: int = BLOCK,
    minimum: int = MINIMUM,
    count: Callable[..., int] = count_tokens,
) -> Run:
    """Run a policy over a transcript. Each assistant message was the answer to one call.

    Before each call the policy gets what it returned last and what is new since then, as an
    agent's own list would hold it. A prompt cache serves the common prefix with the call before,
    in whole blocks of `block` tokens, from `minimum` tokens on.
    """
    rows: list[Row] = []
    before: list[Message] = []
    sizes = _Sizes(count, count([], tools=tools) if tools else count([]))
    for new in _new_before_each_call(messages):
        given = before + new
        prompt = _prompt_of(policy, given)
        same = common_prefix(before, prompt)
        sizes.go_on(prompt, same)
        shared = sizes.upto(same) - count([]) if same else 0
        row = Row(
            call=len(rows) + 1,
            read=sizes.upto(len(prompt)),
            cached=cached_tokens(shared, block, minimum),
            shared=shared,
            kept=len(prompt) - sizes.summaries[-1],
            event=_event(given, prompt),
            prompt=prompt,
        )
        rows.append(row)
        before = prompt
    return Run(tuple(rows))


class _Sizes:
    """The size of a prompt up to each of its messages: what is as before isn't added up again."""

    def __init__(self, count: Callable[..., int], fixed: int) -> None:
        self._count, self._framing = count, count([])
        self._known: dict[int, int] = {}  # by identity: transcript and rows keep messages alive
        self._sums, self.summaries = [fixed], [0]

    def go_on(self, prompt: Sequence[Message], same: int) -> None:
        """Take the next prompt, whose first `same` messages are those of the one before."""
        del self._sums[same + 1 :], self.summaries[same + 1 :]
        for message in islice(prompt, same, None):
            self._sums.append(self._sums[-1] + self._size(message))
            noted = message["role"] == "user" and is_summary(message)
            self.summaries.append(self.summaries[-1] + noted)

    def upto(self, length: int) -> int:
        """The tokens of a request with the first so many messages of the prompt."""
        return self._sums[length]

    def _size(self, message: Message) -> int:
        size = self._known.get(id(message))
        if size is None:
            size = self._known[id(message)] = self._count([message]) - self._framing
        return size


def _prompt_of(policy: Policy, given: list[Message]) -> list[Message]:
    """What the policy makes of a copy of the list, in a list that it can't change any more."""
    prompt = policy(list(given))
    if not isinstance(prompt, list | tuple):
        raise CourseError(f"a policy returns a list of messages, not {type(prompt).__name__}")
    if isinstance(prompt, Trimmed):
        raise CourseError("a policy returns a list of messages: end it with trim(...).messages")
    return list(prompt)


def _new_before_each_call(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """For each call, the messages that came since the call before it."""
    start = 0
    for i, message in enumerate(messages):
        if role_of(message, i) == "assistant":
            yield list(messages[start:i])
            start = i


def _event(given: list[Message], prompt: list[Message]) -> str:
    if prompt == given:
        return ""
    if any(is_summary(m) and m not in given for m in prompt):
        return "summary"
    return "mask" if len(prompt) == len(given) else "trim"
