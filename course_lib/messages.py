"""Messages, turn groups and the rules that a provider checks before it reads a request.

A message is a dict in the OpenAI chat shape. A tool call may be nested
(`{"id", "type", "function": {"name", "arguments"}}`) or flat (`{"id", "name", "arguments"}`).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
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
    """A message that can't be read. `.index` is its place in the list, `.field` the key at fault."""

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
            f"the budget is {budget:,}, but what must stay needs {self.floor:,} ({needs}). "
            "Raise the budget, unpin a group, or shorten the newest result with shrink_newest()."
        )


class Problem(NamedTuple):
    """One thing a provider would reject: the message's `index`, its `field`, the `rule` in words."""

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


class Grouping(NamedTuple):
    """Where everything stands, as indices: the head, the turn groups, and which groups are open."""

    head: list[int]
    groups: list[list[int]]
    open: set[int]


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


def size(messages: Sequence[Message]) -> int:
    """Characters of the messages as JSON text, the way the document's `size` counts them."""
    return sum(len(json.dumps(m)) for m in sendable(messages))


# ---- turn groups ----------------------------------------------------------------------------


def turn_groups(messages: Sequence[Message]) -> tuple[list[Message], list[list[Message]]]:
    """Split messages into the head and the turn groups.

    The head is the leading system messages and the task, which is the first user message. A
    turn group is an assistant message with the results that answer it, wherever they stand;
    any other message is a group of its own. The lists hold the same message objects.

    Raises `BadMessage` for something that isn't a message.
    """
    head, groups, _ = group_indices(messages)
    return [messages[i] for i in head], [[messages[i] for i in group] for group in groups]


def group_indices(messages: Sequence[Message]) -> Grouping:
    """Like `turn_groups`, as indices into the list, with the groups that hold an open call.

    A result belongs to the nearest earlier call with its id that is still open, because
    real runs use an id more than once. Where a call has no id, the order decides.
    """
    head: list[int] = []
    groups: list[list[int]] = []
    waiting: dict[str | None, deque[int]] = {}
    leading, has_task, previous = True, False, None
    for i, message in enumerate(messages):
        role = role_of(message, i)
        if role == "tool":
            at = _answered(message, i, waiting)
            if at is None:
                groups.append([i])
            else:
                groups[at].append(i)
        elif leading and role in SYSTEM_ROLES:
            head.append(i)
        elif role == "user" and not has_task and not is_summary(message):
            head.append(i)
            has_task = True
        else:
            _ask(message, i, len(groups), waiting, follows=previous == "assistant")
            groups.append([i])
        leading = leading and role in SYSTEM_ROLES
        previous = role
    return Grouping(head, groups, {at for queue in waiting.values() for at in queue})


def role_of(message: Message, index: int | None = None) -> str:
    """The message's role. Raises `BadMessage` for what isn't a message with a known role."""
    try:
        role = message["role"]
    except (KeyError, TypeError, IndexError):
        if isinstance(message, dict):
            raise BadMessage(index, "role", "a message without `role`") from None
        kind = type(message).__name__
        raise BadMessage(index, None, f"a message is a dict, this is a {kind}") from None
    if role not in ROLES:
        known = ", ".join(ROLES)
        raise BadMessage(index, "role", f"the `role` {role!r} isn't one of {known}")
    return role


def _ask(
    message: Message, index: int, at: int, waiting: dict[str | None, deque[int]], *, follows: bool
) -> None:
    """Note the calls of the message at `index`, which starts group `at`, as open."""
    raw_calls = message.get("tool_calls")
    if not raw_calls:
        return
    if not isinstance(raw_calls, list) or not all(isinstance(raw, dict) for raw in raw_calls):
        raise BadMessage(index, "tool_calls", "`tool_calls` must be a list of calls")
    for raw in raw_calls:
        id = raw.get("id")
        if id is None and not follows:
            # Calls without an id are answered in order; an older one was never answered.
            waiting.pop(None, None)
            follows = True
        waiting.setdefault(id, deque()).append(at)


def _answered(message: Message, index: int, waiting: dict[str | None, deque[int]]) -> int | None:
    """The group whose open call the result at `index` answers, or None for an orphan."""
    id = message.get("tool_call_id")
    queue = waiting.get(id)
    if queue:
        return queue.pop() if id is not None else queue.popleft()
    if id is None:
        raise BadMessage(index, "tool_call_id", "a tool result without `tool_call_id`")
    return None


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

    Looks in both directions: each result needs its call, and each call needs all its results,
    directly behind it. Source: OpenAI's API reference for chat completions, "messages".

    Raises `CourseError` for a provider that isn't known.
    """
    if provider not in PROVIDERS:
        raise CourseError(f"provider {provider!r} isn't known; choose one of {', '.join(PROVIDERS)}")
    return sorted(PROVIDERS[provider](messages))


def _openai_problems(messages: Sequence[Message]) -> list[Problem]:
    problems: list[Problem] = []
    asked: dict[str | None, int] = {}  # the calls of the turn that is being answered
    for i, message in enumerate(messages):
        try:
            role = role_of(message)
        except BadMessage as bad:
            problems.append(Problem(i, bad.field or "message", bad.problem))
            continue
        problems += _content_problems(i, message)
        if role == "tool":
            problems += _result_problems(i, message, asked, messages)
            asked.pop(message.get("tool_call_id"), None)
            continue
        problems += _unanswered(asked)
        asked = {}
        if role == "assistant":
            problems += _call_problems(i, message)
            asked = {call.id: i for call in calls_of(message)}
    return problems + _unanswered(asked)


def _content_problems(i: int, message: Message) -> list[Problem]:
    content = message.get("content")
    if content is None:
        if message["role"] == "assistant" and message.get("tool_calls"):
            return []
        return [Problem(i, "content", f"a {message['role']} message needs `content`")]
    if not isinstance(content, str | list):
        kind = type(content).__name__
        return [Problem(i, "content", f"`content` must be text or a list of parts, not {kind}")]
    return []


def _call_problems(i: int, message: Message) -> list[Problem]:
    problems, seen = [], set()
    for call in calls_of(message):
        if not call.id:
            problems.append(Problem(i, "tool_calls", f"the call of {call.name!r} has no `id`"))
        elif call.id in seen:
            problems.append(Problem(i, "tool_calls", f"two calls share the id {call.id!r}"))
        if not call.name:
            problems.append(Problem(i, "tool_calls", f"the call {call.id!r} has no `name`"))
        if not isinstance(call.arguments, str):
            problems.append(
                Problem(i, "tool_calls", f"the `arguments` of call {call.id!r} must be a JSON string")
            )
        seen.add(call.id)
    return problems


def _result_problems(
    i: int, message: Message, asked: dict[str | None, int], messages: Sequence[Message]
) -> list[Problem]:
    id = message.get("tool_call_id")
    if id is None:
        return [Problem(i, "tool_call_id", "a tool result without `tool_call_id`")]
    if id in asked:
        return []
    earlier = any(call.id == id for m in messages[:i] for call in calls_of(m))
    if not earlier:
        return [Problem(i, "tool_call_id", f"a result for {id!r}, but no earlier call has that id")]
    rule = f"a result for {id!r} must follow the message with that call directly, and only once"
    return [Problem(i, "tool_call_id", rule)]


def _unanswered(asked: dict[str | None, int]) -> list[Problem]:
    return [Problem(i, "tool_calls", f"the call {id!r} has no result") for id, i in asked.items()]


PROVIDERS = {"openai": _openai_problems}
