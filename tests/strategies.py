"""Generated transcripts, whole and broken, and the settings that the policies are tried with.

A transcript grows from a list of small steps (`Step`), so that hypothesis is quick at making one
and shrinks a failing one to the few steps that matter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from course_lib.messages import (
    SUMMARY_MARK,
    Message,
    group_indices,
    is_summary,
    size,
    turn_groups,
)
from course_lib.tokens import count_tokens
from course_lib.trimming import append_all, high_low, rolling_summary, sliding_window, trim

_EVERYWHERE = {
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile("ci", max_examples=1000, **_EVERYWHERE)
settings.register_profile("quick", max_examples=100, **_EVERYWHERE)
settings.load_profile("ci" if os.environ.get("CI") else "quick")

LINE = "02:04 export-worker INFO batch 4100 rows written; "
TEXTS = ("ok", "", LINE, LINE * 4, "🎉 naïve Über 日本語")
CONTENTS = (*TEXTS, None, [], [{"type": "text", "text": LINE}])
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "search_logs",
            "description": "Read the log of one hour.",
            "parameters": {"type": "object", "properties": {"hour": {"type": "string"}}},
        },
    }
]


# ---- transcripts ----------------------------------------------------------------------------


class Step(NamedTuple):
    """One thing that happens in a run."""

    kind: str
    ids: tuple[str | None, ...]  # of the calls that are made, or of the result that comes
    content: Any
    nested: bool  # the shape of the calls
    pinned: bool


def call(id: str | None, nested: bool, arguments: str = '{"hour": "02:00"}') -> Message:
    """A tool call in either shape; without an `id` where that is None."""
    named: Message = {} if id is None else {"id": id}
    inside = {"name": "search_logs", "arguments": arguments}
    return {**named, "type": "function", "function": inside} if nested else {**named, **inside}


def result(id: str | None, content: Any = "no errors") -> Message:
    """A tool result; without a `tool_call_id` where the id is None."""
    answers = {} if id is None else {"tool_call_id": id}
    return {"role": "tool", **answers, "content": content}


def transcripts(longest: int = 400) -> st.SearchStrategy[list[Message]]:
    """Runs of any kind, mostly short: what is in them may be broken in every way but one.

    A result without an id comes only where a call without an id is waiting. Anything else would
    be refused with `BadMessage`, which has tests of its own.
    """
    runs = st.builds(_wild, _steps(_WILD, CONTENTS, 12), _times(longest // 12))
    return runs.map(lambda messages: messages[:longest])


def valid_transcripts(longest: int = 400) -> st.SearchStrategy[list[Message]]:
    """Runs that a provider accepts: `validate` finds nothing in them."""
    heads = st.sampled_from(((), ("system",), ("developer",), ("system", "system")))
    return st.builds(_valid, heads, _steps(_VALID, TEXTS, 8), _times(longest // 32))


_WILD = ("result", "answer", "calls", "turn", "user", "assistant", "summary", "system", "developer")
_VALID = ("turn", "same id", "user", "assistant", "summary", "system")
_RARELY = (False,) * 7 + (True,)
_IDS = (("a",), ("b",), (None,), ("a", "b"), (None, "a"), (None, None), ("c", "b", "a"))


def _steps(
    kinds: Sequence[str], contents: Sequence[Any], most: int
) -> st.SearchStrategy[list[Step]]:
    """Up to `most` steps. Tables to choose from are several times quicker than single draws."""
    what = list(product(kinds, _IDS))
    how = list(product(_RARELY, (False, True), contents))
    step = st.builds(
        lambda what, how: Step(*what, *reversed(how)), st.sampled_from(what), st.sampled_from(how)
    )
    return st.lists(step, max_size=most)


def _times(most: int) -> st.SearchStrategy[int]:
    """How often the steps are gone through: mostly once."""
    return st.sampled_from((1,) * 23 + (max(1, most),))


def _wild(steps: list[Step], times: int) -> list[Message]:
    messages: list[Message] = []
    waiting: list[str] = []  # calls without a result, oldest first
    nameless = 0  # calls without an id that the last turn still waits for
    for step in steps * times:
        new = [_plain(step)]
        if step.kind in ("calls", "turn"):
            new = _turn(step.ids, step)
            new = new[:1] if step.kind == "calls" else new
            waiting += [id for id in step.ids if id is not None and step.kind == "calls"]
            nameless = step.ids.count(None) if step.kind == "calls" else 0
        elif step.kind == "answer" and waiting:
            new = [result(waiting.pop(0 if step.nested else -1), step.content)]
        elif step.kind in ("result", "answer"):
            id = step.ids[0] if step.ids[0] is not None or nameless else "nobody"
            nameless -= id is None
            new = [result(id, step.content)]
        else:
            nameless = 0
        messages += [*new[:-1], _marked(new[-1], step)]
    return messages


def _valid(instructions: Sequence[str], steps: list[Step], times: int) -> list[Message]:
    messages = [{"role": role, "content": "Read the logs."} for role in instructions]
    for i, step in enumerate(steps * times):
        new = [_plain(step)]
        if step.kind in ("turn", "same id"):
            turn = "same" if step.kind == "same id" else str(i)
            new = _turn([f"{turn}-{n}" for n in range(len(step.ids))], step)
        messages += [*new[:-1], _marked(new[-1], step)]
    return messages


def _turn(ids: Sequence[str | None], step: Step) -> list[Message]:
    """An assistant message with calls, and all results, in either order."""
    calls = [call(id, step.nested) for id in ids]
    asked = {"role": "assistant", "content": None if step.nested else "", "tool_calls": calls}
    return [asked, *(result(id, step.content) for id in (reversed(ids) if step.nested else ids))]


def _plain(step: Step) -> Message:
    if step.kind == "summary":
        return {"role": "user", "content": f"{SUMMARY_MARK} timeout at 02:00"}
    return {"role": step.kind, "content": step.content}


def _marked(message: Message, step: Step) -> Message:
    return {**message, "pinned": True} if step.pinned else message


# ---- settings of the policies ---------------------------------------------------------------


def facts(dropped: list[Message]) -> str:
    """A summariser that says little."""
    return f"{len(dropped)} messages read"


def long_story(dropped: list[Message]) -> str:
    """A summariser that says about as much as it read."""
    return "read: " + "; ".join(str(m.get("content")) for m in dropped)


def nothing(dropped: list[Message]) -> str:
    """A summariser that says nothing."""
    return " "


def broken(dropped: list[Message]) -> str:
    """A summariser that fails."""
    raise RuntimeError("Error code: 429, rate limit reached")


@dataclass(frozen=True)
class Setting:
    """One way to manage a list: a policy, with all that it is given."""

    policy: str
    budget: int
    shares: tuple[float, float]  # high and low water, of the budget
    summarize: Callable[[list[Message]], str] | None
    count: Callable[..., int]
    tools: list[dict[str, Any]] | None
    reserve: int
    pinned: tuple[int, ...]  # group numbers; `trim` only
    window: int  # of groups: `sliding_window` and `rolling_summary` only

    @property
    def high(self) -> int:
        """High water, in what `count` counts."""
        return int(self.shares[0] * self.budget)

    @property
    def low(self) -> int:
        """Low water."""
        return int(self.shares[1] * self.budget)

    def request(self, messages: Sequence[Message]) -> int:
        """The size of a whole request, counted in one go."""
        tools = {"tools": self.tools} if self.tools else {}
        return self.count(messages, **tools) + self.reserve

    def run(self, messages: list[Message]) -> list[Message]:
        """The messages that the policy would send."""
        return self.build()(messages)

    def build(self) -> Callable[[list[Message]], list[Message]]:
        """The policy."""
        if self.policy == "append_all":
            return append_all()
        if self.policy == "sliding_window":
            return sliding_window(self.window, self.summarize)
        if self.policy == "rolling_summary":
            return rolling_summary(self.window, 2, self.summarize)
        options = {"count": self.count, "tools": self.tools, "reserve": self.reserve}
        if self.policy == "high_low":
            return high_low(self.budget, *self.shares, self.summarize, **options)
        options |= {"high": self.high, "low": self.low, "pinned": self.pinned}
        return lambda messages: trim(messages, self.budget, self.summarize, **options).messages


WITHOUT_BUDGET = ("append_all", "sliding_window", "rolling_summary")
WITH_BUDGET = ("high_low", "trim")
SUMMARISERS = (None, facts, long_story, nothing, broken)


def must_stay(messages: Sequence[Message], pinned: Sequence[int] = ()) -> list[Message]:
    """Head, pinned groups, open calls, summaries and the newest group, in order."""
    grouping = group_indices(messages)
    stays = set(grouping.head)
    for at, group in enumerate(grouping.groups):
        mine = [messages[i] for i in group]
        newest = at == len(grouping) - 1 or group[-1] == len(messages) - 1
        marked = at in pinned or any(m.get("pinned") for m in mine)
        if newest or marked or at in grouping.open or is_summary(mine[0]):
            stays |= set(group)
    return [messages[i] for i in sorted(stays)]


@st.composite
def managed(
    draw: st.DrawFn,
    policies: Sequence[str],
    runs: st.SearchStrategy[list[Message]],
    summarisers: Sequence[Callable[[list[Message]], str] | None] = SUMMARISERS,
) -> tuple[list[Message], Setting]:
    """A transcript and a policy. Most budgets lie between what must stay and all there is."""
    messages = draw(runs)
    policy = draw(st.sampled_from(policies))
    counts = (count_tokens,) if policy in WITHOUT_BUDGET else (count_tokens, size)
    count = draw(st.sampled_from(counts))
    setting = Setting(
        policy,
        budget=1,
        shares=draw(st.sampled_from(((1.0, 1.0), (0.8, 0.5), (1.0, 0.25)))),
        summarize=draw(st.sampled_from(summarisers)),
        count=count,
        tools=draw(st.sampled_from((None, TOOLS))) if count is count_tokens else None,
        reserve=draw(st.sampled_from((0, 50))),
        pinned=draw(_pins(len(turn_groups(messages)[1]))) if policy == "trim" else (),
        window=draw(st.integers(1, 6)),
    )
    floor = setting.request(must_stay(messages, setting.pinned))
    more = setting.request(messages) - floor
    budget = floor + more * draw(st.integers(0, 110)) // 100 - draw(st.sampled_from((0, 0, 0, 9)))
    return messages, replace(setting, budget=max(2, budget))


def _pins(groups: int) -> st.SearchStrategy[tuple[int, ...]]:
    if groups == 0:
        return st.just(())
    return st.lists(st.integers(0, groups - 1), max_size=2).map(tuple)
