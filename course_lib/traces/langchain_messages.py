"""LangChain's messages one by one: content, calls in three places, results, reasoning."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from course_lib.traces.building import answer_message, objects, result_message
from course_lib.traces.chat import (
    REASONING_PARTS,
    Message,
    as_id,
    as_json,
    kind_of,
    reasoning_text,
    simple_content,
    to_text,
    tool_call,
)
from course_lib.traces.llama_index import provider_call
from course_lib.traces.openai_chat import NOT_A_MESSAGE, OLD_SHAPE
from course_lib.traces.openai_chat import ROLES as CHAT_ROLES
from course_lib.traces.wording import NotesTaken

ROLES = {"human": "user", "ai": "assistant", "function": "tool"}
ROLES |= {role: role for role in ("system", "tool", "developer")}
# Parts of an answer that are calls; they repeat the message's own list where there is one.
CALLS = {"tool_use", "tool_call", "function_call"}
OWN_CALLS = {"server_tool_call", "server_tool_use"}
SILENT = {"input_json_delta", "tool_call_chunk", "invalid_tool_call", "guard_content"}

ARTIFACT = (
    "An artifact beside a tool result, which no model is sent, is left out.",
    "{n} artifacts beside tool results, which no model is sent, are left out.",
)
REMOVED = (
    "A message was taken out of the graph's state later: it stays.",
    "{n} messages were taken out of the graph's state later: they stay.",
)
NOT_PARSED = (
    "A call whose arguments LangChain couldn't read is kept as it was written.",
    "{n} calls whose arguments LangChain couldn't read are kept as they were written.",
)


def read_messages(rows: list[dict[str, Any]], notes: NotesTaken) -> list[Message]:
    """The messages of rows that name what they are under `kind`."""
    messages: list[Message] = []
    for number, row in enumerate(rows, 1):
        beside = row.get("additional_kwargs")
        beside = beside if isinstance(beside, dict) else {}
        role = _role(row, beside)
        if "content" not in row and row["kind"] != "remove":
            notes.add(*NOT_A_MESSAGE, where=number)
        elif row["kind"] == "remove":
            notes.add(*REMOVED)
        elif role == "tool":
            messages.append(_read_result(row, notes))
        elif role == "assistant":
            messages += _read_answer(row, beside, notes)
        else:
            content = simple_content(_content(row), notes)
            messages.append({**_named(row), "role": role, "content": content or ""})
    return messages


def _role(row: dict[str, Any], beside: dict[str, Any]) -> str:
    if row["kind"] == "chat":
        return CHAT_ROLES.get(str(row.get("role") or "").lower(), "user")
    if row["kind"] == "system" and beside.get("__openai_role__") == "developer":
        return "developer"
    return ROLES.get(row["kind"], "user")


def _named(row: dict[str, Any]) -> dict[str, Any]:
    return {"name": row["name"]} if isinstance(row.get("name"), str) and row["name"] else {}


def _content(row: dict[str, Any]) -> Any:
    """The content, with what LangChain wraps as not standard out of its wrapping."""
    content = row.get("content")
    if not isinstance(content, list):
        return content
    bare = (part.get("value") if kind_of(part) == "non_standard" else part for part in content)
    return [part for part in bare if isinstance(part, str | dict)]


def _read_result(row: dict[str, Any], notes: NotesTaken) -> Message:
    if row["kind"] == "function":
        notes.add(OLD_SHAPE)
    if row.get("artifact"):
        notes.add(*ARTIFACT)
    message = result_message(_content(row), notes, row.get("tool_call_id"), row.get("name"))
    return {**message, "is_error": True} if row.get("status") == "error" else message


def _read_answer(row: dict[str, Any], beside: dict[str, Any], notes: NotesTaken) -> list[Message]:
    """One message, or several where the results of the provider's own tools stand in between."""
    content = _content(row)
    parts = content if isinstance(content, list) else [content] if content else []
    calls = _calls(row, beside, parts, notes)
    thoughts = [_beside_reasoning(beside)]
    if not any(map(_is_own_result, parts)):
        return [_answer(parts, notes, calls, thoughts, row)]
    messages: list[Message] = []
    for results, some in groupby(parts, _is_own_result):
        if results:
            messages += [_read_own_result(part, notes) for part in some]
        else:
            messages.append(_answer(list(some), notes, [], thoughts, row))
            thoughts = []
    if calls:  # what the agent runs itself is asked for last
        last = messages[-1] if messages[-1]["role"] == "assistant" else None
        asked = {**(last or {"role": "assistant", "content": None})}
        asked["tool_calls"] = [*asked.get("tool_calls", ()), *calls]
        messages = [*(messages[:-1] if last else messages), asked]
    return messages


def _answer(
    parts: list[Any],
    notes: NotesTaken,
    calls: list[dict[str, Any]],
    thoughts: list[str],
    row: dict[str, Any],
) -> Message:
    own = [_part_call(part) for part in parts if kind_of(part) in OWN_CALLS]
    inside = [reasoning_text(part, notes) for part in parts if kind_of(part) in REASONING_PARTS]
    apart = CALLS | OWN_CALLS | REASONING_PARTS | SILENT
    said = [part for part in parts if kind_of(part) not in apart]
    more = _named(row)
    return answer_message(said, notes, dict.fromkeys([*thoughts, *inside]), own + calls, **more)


def _calls(
    row: dict[str, Any], beside: dict[str, Any], parts: list[Any], notes: NotesTaken
) -> list[dict[str, Any]]:
    """The calls of an answer: LangChain's own list, or the provider's, or the parts'."""
    listed = as_json(row.get("tool_calls")) or as_json(beside.get("tool_calls"))
    listed = objects(listed)
    if not listed and isinstance(beside.get("function_call"), dict):
        notes.add(OLD_SHAPE)
        listed = [beside["function_call"]]
    calls = [provider_call(call) for call in listed]
    calls = calls or [_part_call(part) for part in parts if kind_of(part) in CALLS]
    known = {call["id"] for call in calls}
    for call in objects(row.get("invalid_tool_calls")):
        if as_id(call.get("id")) not in known:
            notes.add(*NOT_PARSED)
            calls.append(tool_call(call.get("id"), call.get("name"), call.get("args")))
    return calls or [
        tool_call(call.get("id"), call["name"], call.get("args"))
        for call in objects(row.get("tool_call_chunks"))
        if call.get("name")
    ]


def _part_call(part: dict[str, Any]) -> dict[str, Any]:
    arguments = part.get("args", part.get("arguments", part.get("input")))
    return tool_call(part.get("call_id") or part.get("id"), part.get("name"), arguments)


def _is_own_result(part: Any) -> bool:
    return kind_of(part).endswith("tool_result")


def _read_own_result(part: dict[str, Any], notes: NotesTaken) -> Message:
    id = part.get("tool_call_id") or part.get("tool_use_id")
    return result_message(part.get("output", part.get("content")), notes, id)


def _beside_reasoning(beside: dict[str, Any]) -> str:
    """Reasoning that a provider's package keeps beside the content."""
    said = beside.get("reasoning_content") or beside.get("reasoning") or ""
    return reasoning_text(said, NotesTaken()) if isinstance(said, dict) else to_text(said)
