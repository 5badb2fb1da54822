"""The shape of a run: what it reads, what grows, what is big, and what nothing came back for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from course_lib.arithmetic import overflow_step
from course_lib.conversation import Repeat, find_repeats
from course_lib.messages import CourseError, Message, calls_of, group_indices, role_of
from course_lib.reuses import Reuse, forms_of, reuse
from course_lib.tokens import cost_of, count_tokens
from course_lib.trimming import answered_call
from course_lib.values import normal_form

WINDOWS = (8_000, 32_000, 128_000, 200_000, 1_000_000)  # tokens, to look for an overflow


class BigResult(NamedTuple):
    """A tool result: where it stands, which tool gave it, and its tokens."""

    index: int
    tool: str
    tokens: int
    used: bool  # whether a later call or answer used an exact value of it


@dataclass(frozen=True)
class Shape:
    """What a run looks like before anything is managed. Sizes are in tokens."""

    fixed: int  # what the first call read: instructions, task and tool schemas
    per_step: int  # what a step adds, in the middle
    reads: tuple[int, ...]  # what each call read
    results: tuple[BigResult, ...]  # the biggest first
    repeats: tuple[Repeat, ...]

    @property
    def calls(self) -> int:
        """How many times the model was called."""
        return len(self.reads)

    @property
    def total(self) -> int:
        """Tokens read over all calls."""
        return sum(self.reads)

    @property
    def dead_weight(self) -> int:
        """Tokens of the results that nothing came back for."""
        return sum(result.tokens for result in self.results if not result.used)

    @property
    def result_tokens(self) -> int:
        """Tokens of all results."""
        return sum(result.tokens for result in self.results)

    def overflow(self, window: int) -> int | None:
        """The call at which a window overflows; beyond the run's end, if it went on as it did.

        None if it never does, because the steps add nothing.
        """
        within = overflow_step(self.reads, window)
        if within is not None or self.per_step <= 0:
            return within
        left = window - self.reads[-1]
        return self.calls + left // self.per_step + 1


def shape_of(
    messages: Sequence[Message],
    tools: Sequence[dict[str, Any]] | None = None,
    found: Reuse | None = None,
) -> Shape:
    """The shape of a run. `found` is its `reuse` with answers, if you have it already.

    Raises `CourseError` if there is no assistant message, so no call of a model.
    """
    reads = unmanaged_reads(messages, tools)
    if not reads:
        raise CourseError("there is no assistant message in this run, so no call to look at")
    steps = [after - before for before, after in zip(reads, reads[1:], strict=False)]
    found = found or reuse(messages, answers=True, tools=tools)
    return Shape(
        fixed=reads[0],
        per_step=round(median(steps)) if steps else 0,
        reads=reads,
        results=tuple(_results(messages, found)),
        repeats=tuple(find_repeats(messages)),
    )


def unmanaged_reads(
    messages: Sequence[Message], tools: Sequence[dict[str, Any]] | None = None
) -> tuple[int, ...]:
    """What each call of a run reads if everything is sent. Linear, unlike a replay."""
    size, reads = count_tokens([], tools=tools), []
    cost = cost_of(messages)
    for i, message in enumerate(messages):
        if role_of(message, i) == "assistant":
            reads.append(size)
        size += cost([i])
    return tuple(reads)


def _results(messages: Sequence[Message], found: Reuse) -> list[BigResult]:
    asked = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    last_use = {normal_form(use.value): asked[use.call - 1] for use in found.uses}
    grouping, cost = group_indices(messages, strict=False), cost_of(messages)
    results = []
    for i, message in enumerate(messages):
        if message["role"] == "tool":
            group = [messages[n] for n in grouping.group(grouping.group_of(i))]
            call = answered_call(group, message) if calls_of(group[0]) else None
            used = any(last_use.get(form, -1) > i for form in forms_of(message))
            results.append(BigResult(i, (call and call.name) or "a tool", cost([i]), used))
    return sorted(results, key=lambda result: (-result.tokens, result.index))
