"""What each provider rejects in a message list, and how a broken list can be mended.

Messages stay in the OpenAI chat shape; the rules are those that their translation would meet.
Sources: OpenAI's API references for chat completions and for responses ("input"), Anthropic's
"Messages" reference and "Tool use", Google's "Function calling" for the Gemini API, and the error
texts that these services return.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from course_lib.messages import (
    SYSTEM_ROLES,
    BadMessage,
    Call,
    CourseError,
    Message,
    Problem,
    calls_of,
    check_shape,
    group_indices,
    role_of,
    tool_result,
    user,
)

NO_RESULT = "[no result: the run stopped before this call was answered]"
NO_TEXT = "[empty]"
NO_TASK = "[the conversation starts here]"
NOT_THE_MODELS = "only an assistant message has calls"


@dataclass(frozen=True)
class Rules:
    """What one provider asks for beyond a role and a content."""

    adjacent: bool = True  # results stand directly behind their call
    ids: bool = True  # calls and results carry an id
    unique_ids: bool = False  # an id is used once in the whole request
    user_first: bool = False  # the first message after the system's is the user's
    system_leads: bool = False  # system messages stand at the start only
    text: bool = False  # a text may not be empty
    no_empty_calls: bool = False  # `tool_calls` is missing, or has calls in it


PROVIDERS = {
    "openai": Rules(no_empty_calls=True),
    "responses": Rules(adjacent=False),
    "anthropic": Rules(unique_ids=True, user_first=True, system_leads=True, text=True),
    "gemini": Rules(ids=False, user_first=True, system_leads=True, text=True),
}


class Repaired(NamedTuple):
    """A list that can be sent, and a sentence for each thing that had to be changed."""

    messages: list[Message]
    notes: list[str]


def rules_of(provider: str) -> Rules:
    """The rules of a provider by its name. Raises `CourseError` if it isn't known."""
    if provider not in PROVIDERS:
        raise CourseError(
            f"provider {provider!r} isn't known; choose one of {', '.join(PROVIDERS)}"
        )
    return PROVIDERS[provider]


# ---- finding --------------------------------------------------------------------------------


def find_problems(messages: Sequence[Message], provider: str = "openai") -> list[Problem]:
    """Everything that the provider would reject, by index. See `course_lib.validate`."""
    rules = rules_of(provider)
    problems = list(_shape_problems(messages, rules))
    readable = [i for i, message in enumerate(messages) if _shape_of(message) is None]
    problems += _pair_problems(messages, readable, rules)
    return sorted(set(problems))


def _shape_of(message: Any) -> BadMessage | None:
    """Why the message can't be read at all, or None."""
    try:
        check_shape(message)
    except BadMessage as bad:
        return bad
    return None


def _shape_problems(messages: Sequence[Message], rules: Rules) -> Iterator[Problem]:
    """What is wrong with messages one by one, and with their order."""
    started, ids = False, set()
    for i, message in enumerate(messages):
        bad = _shape_of(message)
        if bad is not None:
            yield Problem(i, bad.field or "message", bad.problem)
            continue
        role = message["role"]
        yield from _content_problems(i, message, rules)
        if role not in SYSTEM_ROLES:
            if not started and rules.user_first and role != "user":
                yield Problem(i, "role", f"the first message must be the user's, not the {role}'s")
            started = True
        elif started and rules.system_leads:
            yield Problem(i, "role", "a system message may only stand at the start")
        if role == "assistant":
            yield from _call_problems(i, message, rules, ids)
        elif message.get("tool_calls"):
            yield Problem(i, "tool_calls", NOT_THE_MODELS)


def _content_problems(i: int, message: Message, rules: Rules) -> Iterator[Problem]:
    content, has_calls = message.get("content"), bool(message.get("tool_calls"))
    if content is None and not (message["role"] == "assistant" and has_calls):
        yield Problem(i, "content", f"a {message['role']} message needs `content`")
    elif rules.text and not has_calls and isinstance(content, str) and not content.strip():
        yield Problem(i, "content", "the text is empty")


def _call_problems(i: int, message: Message, rules: Rules, ids: set[Any]) -> Iterator[Problem]:
    """What is wrong with the calls of a message. `ids` are those used so far; adds to them."""
    if rules.no_empty_calls and message.get("tool_calls") == []:
        yield Problem(i, "tool_calls", "an empty list of calls: leave the field out")
    here: set[Any] = set()
    for call in calls_of(message):
        if call.id is None or call.id == "":
            if rules.ids:
                yield Problem(i, "tool_calls", f"the call of {call.name!r} has no `id`")
        elif call.id in here:
            yield Problem(i, "tool_calls", f"two calls share the id {call.id!r}")
        elif rules.unique_ids and call.id in ids:
            yield Problem(i, "tool_calls", f"the id {call.id!r} was used by an earlier call")
        if not call.name:
            yield Problem(i, "tool_calls", f"the call {call.id!r} has no `name`")
        if not isinstance(call.arguments, str):
            rule = f"the `arguments` of call {call.id!r} must be a JSON string"
            yield Problem(i, "tool_calls", rule)
        here.add(call.id)
    ids |= here


def _pair_problems(
    messages: Sequence[Message], readable: Sequence[int], rules: Rules
) -> Iterator[Problem]:
    """Results without a call before them, and calls without a result behind them."""
    waiting: list[tuple[Any, int]] = []  # the calls that may be answered now, and where they stand
    ever: set[Any] = set()
    for i in readable:
        message = messages[i]
        if message["role"] == "tool":
            id = message.get("tool_call_id")
            at = next((n for n in range(len(waiting) - 1, -1, -1) if waiting[n][0] == id), None)
            if at is None and id is None and not rules.ids and waiting:
                at = 0
            if at is None:
                yield Problem(i, "tool_call_id", _orphan_rule(id, ever))
            else:
                del waiting[at]
            continue
        if rules.adjacent:
            yield from _unanswered(waiting)
            waiting = []
        if message["role"] == "assistant":
            waiting += [(call.id, i) for call in calls_of(message)]
            ever |= {call.id for call in calls_of(message)}
    yield from _unanswered(waiting)


def _orphan_rule(id: Any, ever: set[Any]) -> str:
    if id is None:
        return "a tool result without `tool_call_id`"
    if id not in ever:
        return f"a result for {id!r}, but no earlier call has that id"
    return f"a result for {id!r} must follow the message with that call directly, and only once"


def _unanswered(waiting: Sequence[tuple[Any, int]]) -> Iterator[Problem]:
    for id, i in waiting:
        yield Problem(i, "tool_calls", f"the call {id!r} has no result")


# ---- mending --------------------------------------------------------------------------------


def repair(messages: Sequence[Message], provider: str = "openai") -> Repaired:
    """A list that the provider accepts, with a note for each change.

    A result without its call goes, and so does what isn't a message. A call without a result
    gets a stand-in. Results move behind their call. A list that is sound comes back as it is.
    """
    rules = rules_of(provider)
    if not find_problems(messages, provider):
        return Repaired(list(messages), [])
    notes: list[str] = []
    readable = [m for i, m in enumerate(messages) if _is_readable(i, m, notes)]
    readable = _with_leading_system([_readable(m, notes) for m in readable], rules, notes)
    mended: list[Message] = []
    ids: set[str] = set()
    for group in _whole_groups(readable, notes):
        mended += _mended_group(group, rules, ids, notes)
    first = next((m["role"] for m in mended if m["role"] not in SYSTEM_ROLES), "user")
    if rules.user_first and first != "user":
        at = sum(m["role"] in SYSTEM_ROLES for m in mended)
        mended.insert(at, user(NO_TASK))
        notes.append("the first message wasn't the user's: a stand-in was put before it")
    return Repaired(mended, notes)


def _is_readable(i: int, message: Any, notes: list[str]) -> bool:
    try:
        role_of(message)
    except BadMessage as bad:
        notes.append(f"message {i} was left out: {bad.problem}")
        return False
    return True


def _readable(message: Message, notes: list[str]) -> Message:
    """The message, or a copy without the fields that can't be read."""
    while (bad := _shape_of(message)) is not None:
        notes.append(f"a `{bad.field}` was left out: {bad.problem}")
        if bad.field == "content":
            message = {**message, "content": json.dumps(message["content"], default=str)}
        else:
            message = _without(bad.field, message)
    if message.get("tool_calls") == []:
        notes.append("a `tool_calls` was left out: it had no calls")
        message = _without("tool_calls", message)
    elif message.get("tool_calls") and message["role"] != "assistant":
        notes.append(f"a `tool_calls` was left out: {NOT_THE_MODELS}")
        message = _without("tool_calls", message)
    return message


def _without(field: str, message: Message) -> Message:
    return {key: value for key, value in message.items() if key != field}


def _with_leading_system(messages: list[Message], rules: Rules, notes: list[str]) -> list[Message]:
    if not rules.system_leads:
        return messages
    leading = [m for m in messages if m["role"] in SYSTEM_ROLES]
    rest = [m for m in messages if m["role"] not in SYSTEM_ROLES]
    if leading + rest != messages:
        notes.append("a system message stood in the middle: moved to the start")
    return leading + rest


def _whole_groups(messages: list[Message], notes: list[str]) -> Iterator[list[Message]]:
    """The messages group by group, each where its first message stands. Orphans are left out."""
    grouping = group_indices(messages, strict=False)
    for group in sorted([*([i] for i in grouping.head), *grouping.groups]):
        first = messages[group[0]]
        if first["role"] == "tool":
            id = first.get("tool_call_id")
            notes.append(f"a result for {id!r} was left out: no earlier call is open for it")
            continue
        if group[-1] != group[0] + len(group) - 1:
            ids = ", ".join(repr(call.id) for call in calls_of(first))
            notes.append(f"the results for {ids} were moved behind their call")
        yield [messages[i] for i in group]


def _mended_group(
    group: list[Message], rules: Rules, ids: set[str], notes: list[str]
) -> list[Message]:
    """One group with ids, names and texts that can be sent, and one result for each call."""
    first, *left = group
    raw_calls = first.get("tool_calls") or []
    here: set[str] = set()
    calls, results = [], []
    for raw, call in zip(raw_calls, calls_of(first), strict=True):
        id = _free_id(call.id, here | ids if rules.unique_ids else here, rules, notes)
        here.add(id)
        calls.append(_usable_call(raw, call, id, notes))
        at = next((n for n, m in enumerate(left) if m.get("tool_call_id") == call.id), None)
        if at is None:
            notes.append(f"the call {id!r} had no result: a stand-in was added")
            results.append(tool_result(id, NO_RESULT))
        else:
            result = left.pop(at)
            same = result.get("tool_call_id") == id
            results.append(result if same else {**result, "tool_call_id": id})
    ids |= here
    if calls != raw_calls:
        first = {**first, "tool_calls": calls}
    return [_with_text(m, rules, notes) for m in (first, *results)]


def _free_id(id: str | None, taken: set[str], rules: Rules, notes: list[str]) -> str | None:
    """The id, or a new one where it is missing or taken."""
    if not rules.ids and not id:
        return id
    if id and id not in taken:
        return id
    new = next(n for n in (f"{id or 'call'}_{k}" for k in count(1)) if n not in taken)
    notes.append(f"a call got the id {new!r}: " + (f"{id!r} was taken" if id else "it had none"))
    return new


def _usable_call(raw: Message, call: Call, id: str | None, notes: list[str]) -> Message:
    """The call as it was if it can be sent, or a copy with an id, a name and JSON arguments."""
    if call.id == id and call.name and isinstance(call.arguments, str):
        return raw
    if not call.name or not isinstance(call.arguments, str):
        notes.append(f"the call {id!r} had no name, or arguments that weren't a JSON string")
    text = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments or {})
    inner = {"name": call.name or "unknown", "arguments": text}
    if "function" in raw:
        return {**raw, "id": id, "function": {**raw["function"], **inner}}
    return {**raw, "id": id, **inner}


def _with_text(message: Message, rules: Rules, notes: list[str]) -> Message:
    """The message, or a copy with a stand-in where the provider wants a text and there is none."""
    content, calls = message.get("content"), message.get("tool_calls")
    empty = isinstance(content, str) and rules.text and not content.strip()
    if (content is None or empty) and not (message["role"] == "assistant" and calls):
        notes.append(f"an empty {message['role']} message got a stand-in text")
        return {**message, "content": NO_TEXT if rules.text else ""}
    return message
