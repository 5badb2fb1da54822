"""Messages, turn groups and the rules that a provider checks before it reads a request.

A message is a dict in the OpenAI chat shape. A tool call may be nested
(`{"id", "type", "function": {"name", "arguments"}}`) or flat (`{"id", "name", "arguments"}`).
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Message = dict[str, Any]

SYSTEM_ROLES = ("system", "developer")
ROLES = (*SYSTEM_ROLES, "user", "assistant", "tool")

# Keys of ours on a message. A provider never sees them: `sendable` takes them off.
OWN_KEYS = frozenset({"pinned"})

# A user message that starts with this text is a summary. The mark is text, so that it outlives
# a file, a provider and any library in between.
SUMMARY_MARK = "[Summary of earlier steps]"


class CourseError(ValueError):
    """Something in the input can't be right; the text says what and where."""


class BadMessage(CourseError):
    """A message that can't be read: `.index` says where it stands, `.field` the key at fault."""

    def __init__(self, index: int | None, field: str | None, problem: str) -> None:
        where = "" if index is None else f"index {index}: "
        super().__init__(f"{where}{problem}")
        self.index, self.field, self.problem = index, field, problem


class BudgetTooSmall(CourseError):
    """What must stay is bigger than the budget. `.budget` and `.floor` are the two sizes.

    `.parts` maps each thing that must stay (tool schemas, head, pinned groups, ...) to its size.
    """

    def __init__(self, budget: int, parts: dict[str, int]) -> None:
        self.budget, self.parts, self.floor = budget, parts, sum(parts.values())
        needs = ", ".join(f"{name} {size:,}" for name, size in parts.items() if size)
        super().__init__(
            f"The budget is {budget:,}, but what must stay needs {self.floor:,} ({needs}). "
            "Raise the budget, unpin a group, or shorten the newest result with shrink_newest()."
        )


class Problem(NamedTuple):
    """One thing that a provider would reject: where (`index`, `field`), and the `rule` in words."""

    index: int
    field: str
    rule: str

    def __str__(self) -> str:
        return f"message {self.index}, {self.field}: {self.rule}"


class Call(NamedTuple):
    """A tool call, whichever shape it was written in."""

    id: str | None
    name: str | None
    arguments: Any


@dataclass(frozen=True)
class Grouping:
    """Where everything stands, as indices into a message list: its head and its turn groups.

    A group reaches from its start to the next one's, but for the messages in `strays`, which
    names the group that each of them belongs to (or HEAD). Most lists have none.
    """

    head: list[int]
    starts: list[int]  # for each group, the index of its first message
    strays: dict[int, int]
    open: set[int]  # the groups with a call that has no result yet
    length: int  # of the message list

    def __len__(self) -> int:
        return len(self.starts)

    def group(self, at: int) -> list[int]:
        """The indices of one group's messages."""
        end = self.starts[at + 1] if at + 1 < len(self.starts) else self.length
        indices = range(self.starts[at], end)
        if not self.strays:
            return list(indices)
        own = [i for i in indices if i not in self.strays]
        return own + [i for i, group in self.strays.items() if group == at]

    def group_of(self, i: int) -> int:
        """The group that the message at index `i` belongs to, or HEAD."""
        return self.strays.get(i, bisect_right(self.starts, i) - 1)

    @property
    def groups(self) -> list[list[int]]:
        """All groups. For a long list, ask for the ones that you need instead."""
        return [self.group(at) for at in range(len(self))]


HEAD = -1


# ---- builders -------------------------------------------------------------------------------


def system(text: str) -> Message:
    """A system message."""
    return {"role": "system", "content": text}


def user(text: str) -> Message:
    """A user message."""
    return {"role": "user", "content": text}


def assistant(text: str = "", calls: Sequence[Message] = ()) -> Message:
    """An assistant message: an answer, or the tool `calls` that the model asks for."""
    message: Message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = list(calls)
    return message


def tool_call(id: str, name: str, **arguments: Any) -> Message:
    """One flat tool call, for the `calls` of `assistant()`. The arguments become a JSON string."""
    return {"id": id, "name": name, "arguments": json.dumps(arguments)}


def tool_result(id: str, content: Any) -> Message:
    """The result that answers the call with this `id`. Anything but a string becomes JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    return {"role": "tool", "tool_call_id": id, "content": text}


# ---- reading a message ----------------------------------------------------------------------


def calls_of(message: Message) -> list[Call]:
    """The tool calls of a message, nested or flat, as `Call(id, name, arguments)`."""
    calls = []
    for raw in message.get("tool_calls") or ():
        inner = raw.get("function") or raw
        calls.append(Call(raw.get("id"), inner.get("name"), inner.get("arguments")))
    return calls


def is_call_list(raw_calls: Any) -> bool:
    """True for a list of dicts, as `tool_calls` must be."""
    return isinstance(raw_calls, list) and all(isinstance(raw, dict) for raw in raw_calls)


def text_of(message: Message) -> str:
    """The text of a message: its content, or the text parts of a content that is a list."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    return content or ""


def is_summary(message: Message) -> bool:
    """True for the note that a trim left in the place of the groups that it dropped."""
    return message["role"] == "user" and text_of(message).startswith(SUMMARY_MARK)


def sendable(messages: Sequence[Message]) -> list[Message]:
    """The messages as a provider may see them: without the keys that policies use as marks."""
    return [
        m if OWN_KEYS.isdisjoint(m) else {k: v for k, v in m.items() if k not in OWN_KEYS}
        for m in messages
    ]


def size(messages: Sequence[Message], tools: Sequence[dict[str, Any]] | None = None) -> int:
    """Characters of messages (and tool schemas) as JSON text, as the document counts them."""
    return sum(len(json.dumps(m)) for m in [*sendable(messages), *(tools or ())])


# ---- turn groups ----------------------------------------------------------------------------


def turn_groups(messages: Sequence[Message]) -> tuple[list[Message], list[list[Message]]]:
    """Split messages into the head and the turn groups.

    The head is the leading system messages and the task, which is the first user message. A
    turn group is an assistant message with the results that answer it, wherever they stand;
    any other message is a group of its own. The lists hold the same message objects.

    Raises `BadMessage` for something that isn't a message.
    """
    grouping = group_indices(messages)
    groups = [[messages[i] for i in group] for group in grouping.groups]
    return [messages[i] for i in grouping.head], groups


def group_indices(messages: Sequence[Message], *, strict: bool = True) -> Grouping:
    """Like `turn_groups`, as indices into the list, with the groups that hold an open call.

    A result belongs to the nearest earlier call with its id that is still open, because
    real runs use an id more than once. Where a call has no id, the order decides. A result
    without an id that answers nothing is an error, or, unless `strict`, a group of its own.
    """
    try:
        return _group(messages, strict)
    except (KeyError, TypeError, AttributeError):
        check_shapes(messages)
        raise


def _group(messages: Sequence[Message], strict: bool) -> Grouping:
    # One pass over what may be ten thousand messages: nothing is built for the usual ones.
    head: list[int] = []
    starts: list[int] = []
    strays: dict[int, int] = {}
    waiting: dict[str, int] = {}  # open calls by id: the newest group that has one
    again: dict[str, list[int]] = {}  # the groups before it, where an id is used again
    nameless: list[int] = []  # the groups of open calls without an id, in order
    given_up: set[int] = set()
    leading, has_task, previous, at = True, False, None, HEAD
    for i, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            # The nearest call with that id; where ids are missing, the first in order.
            id = message.get("tool_call_id")
            owner = nameless.pop(0) if id is None and nameless else waiting.pop(id, None)
            if owner is None:
                _check_orphan(id, i, strict)
                starts.append(i)
                at += 1
            elif owner != at:
                strays[i] = owner
            if id in again:
                waiting[id] = again[id].pop()
                if not again[id]:
                    del again[id]
        elif role == "assistant":
            if nameless and previous != "assistant":
                # Calls without an id are answered in order; these never were.
                given_up.update(nameless)
                nameless = []
            starts.append(i)
            at += 1
            for call in message.get("tool_calls") or ():
                id = call.get("id")
                if id is None:
                    nameless.append(at)
                    continue
                if id in waiting:
                    again.setdefault(id, []).append(waiting[id])
                waiting[id] = at
        elif leading and role in SYSTEM_ROLES:
            head.append(i)
            continue
        elif role == "user" and not has_task and not is_summary(message):
            head.append(i)
            has_task = True
            if starts:
                strays[i] = HEAD
        else:
            role_of(message, i)
            starts.append(i)
            at += 1
        leading, previous = False, role
    still_open = {*waiting.values(), *nameless, *given_up}.union(*again.values())
    return Grouping(head, starts, strays, still_open, len(messages))


def _check_orphan(id: str | None, index: int, strict: bool) -> None:
    if strict and id is None:
        raise BadMessage(index, "tool_call_id", "a tool result without `tool_call_id`")


def role_of(message: Message, index: int | None = None) -> str:
    """The message's role. Raises `BadMessage` for what isn't a message with a known role."""
    try:
        role = message["role"]
        if role in ROLES:
            return role
    except (KeyError, TypeError, IndexError):
        pass
    raise BadMessage(index, *_role_problem(message))


def _role_problem(message: Any) -> tuple[str | None, str]:
    if not isinstance(message, dict):
        return None, f"a message is a dict, this is a {type(message).__name__}"
    if "role" not in message:
        return "role", "a message without `role`"
    return "role", f"the `role` {message['role']!r} isn't one of {', '.join(ROLES)}"


def check_shape(message: Message, index: int | None = None) -> None:
    """Raise `BadMessage` for a field of a kind that nothing can be done with."""
    role_of(message, index)
    content, raw_calls = message.get("content"), message.get("tool_calls")
    if not isinstance(content, str | list | None):
        kind = type(content).__name__
        problem = f"`content` must be text or a list of parts, not {kind}"
        raise BadMessage(index, "content", problem)
    if isinstance(content, list) and not all(isinstance(part, str | dict) for part in content):
        raise BadMessage(index, "content", "each part of `content` must be text or a dict")
    if not isinstance(message.get("tool_call_id"), str | None):
        raise BadMessage(index, "tool_call_id", "`tool_call_id` must be text")
    if raw_calls and not is_call_list(raw_calls):
        raise BadMessage(index, "tool_calls", "`tool_calls` must be a list of calls")
    for raw in raw_calls or ():
        if not isinstance(raw.get("function"), dict | None):
            raise BadMessage(index, "tool_calls", "the `function` of a call must be a dict")
        if not isinstance(raw.get("id"), str | None):
            raise BadMessage(index, "tool_calls", "the `id` of a call must be text")


def check_shapes(messages: Sequence[Message]) -> None:
    """Raise `BadMessage` for the first message that nothing can be done with, if there is one."""
    for i, message in enumerate(messages):
        check_shape(message, i)


# ---- what providers reject ------------------------------------------------------------------


def pairs_ok(messages: Sequence[Message]) -> bool:
    """True if every tool result answers a call that appears earlier, as the document has it.

    It does not see the other direction, a call whose results are missing: `validate` does.
    """
    asked: set[str | None] = set()
    for message in messages:
        asked.update(call.id for call in calls_of(message))
        if message["role"] == "tool" and message.get("tool_call_id") not in asked:
            return False
    return True


def validate(messages: Sequence[Message], provider: str = "openai") -> list[Problem]:
    """Everything for which the provider would reject the request; an empty list if nothing.

    Looks in both directions: each result needs its call, and each call needs all its results.
    The `provider` is "openai" (chat completions), "responses" (OpenAI too), "anthropic" or
    "gemini": they differ in what must stand where.

    Raises `CourseError` for a provider that isn't known.
    """
    from course_lib.providers import find_problems  # the rules build on this module

    return find_problems(messages, provider)
