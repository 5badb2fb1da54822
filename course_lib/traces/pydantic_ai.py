"""pydantic-ai: a history of requests and responses, each a list of parts; older ones by role."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from course_lib.traces.building import (
    PART_LEFT_OUT,
    answer_message,
    data_part,
    linked_part,
    result_message,
)
from course_lib.traces.chat import Message, as_json, simple_content, to_text, tool_call, transcript
from course_lib.traces.openai_chat import NOT_A_MESSAGE, find_tools, role_of
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "pydantic-ai"

HOLDER_KEYS = ("messages", "message_history", "all_messages", "new_messages", "history")
OLD_ROLES = {
    "system": "system-prompt",
    "user": "user-prompt",
    "tool-return": "tool-return",
    "retry-prompt": "retry-prompt",
    "model-text-response": "text",
    "model-structured-response": "tool-call",
}
ONLY_OLD = {role for role in OLD_ROLES if "-" in role}
RESULTS = {"tool-return", "builtin-tool-return"}
CALLS = {"tool-call", "builtin-tool-call"}

OTHER_INSTRUCTIONS = (
    "The instructions changed during the run: the last ones stand at the head.",
    "The instructions changed {n} times during the run: the last ones stand at the head.",
)


def recognise(document: Any) -> bool:
    """True for a history, and for an object that holds one."""
    if isinstance(document, list):
        return _is_history(document)
    return isinstance(document, dict) and bool(_history(document))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows."""
    notes = NotesTaken()
    rows = document if isinstance(document, list) else _history(document)
    records = []
    for number, row in enumerate(rows, 1):
        if _is_record(row):
            records.append(_newer(row))
        else:
            notes.add(*NOT_A_MESSAGE, where=number)
    messages = _instructions(records, notes)
    for record in records:
        reader = _read_request if record["kind"] == "request" else _read_response
        messages += reader(record["parts"], notes)
    tools = find_tools(document) if isinstance(document, dict) else ()
    usage, model = _last(records, "usage"), _last(records, "model_name")
    return [transcript(messages, NAME, notes, tools=tools, model=model, usage=usage)]


def _is_record(row: Any) -> bool:
    if not isinstance(row, dict):
        return False
    if row.get("kind") in ("request", "response"):
        return isinstance(row.get("parts"), list)
    return role_of(row) in OLD_ROLES and ("content" in row or "calls" in row)


def _is_history(value: Any) -> bool:
    """True for a list of which half or more are records, not all of them in words of chat's."""
    if not isinstance(value, list):
        return False
    records = [row for row in value if _is_record(row)]
    named = any("kind" in row or role_of(row) in ONLY_OLD for row in records)
    plain = any(row.get("role") in ("assistant", "tool") for row in value if isinstance(row, dict))
    return named and not plain and len(value) <= 2 * len(records)


def _history(document: dict[str, Any]) -> list[Any]:
    values = (as_json(document.get(key)) for key in HOLDER_KEYS)
    return next(filter(_is_history, values), [])


def _newer(row: dict[str, Any]) -> dict[str, Any]:
    """A record as it is written today; the first versions wrote a part as a record by its role."""
    if row.get("kind") in ("request", "response"):
        return {**row, "parts": [part for part in row["parts"] if isinstance(part, dict)]}
    kind = OLD_ROLES[role_of(row)]
    calls = row.get("calls") if isinstance(row.get("calls"), list) else []
    parts = [call for call in calls if isinstance(call, dict)] if kind == "tool-call" else [row]
    side = "response" if kind in ("text", "tool-call") else "request"
    return {"kind": side, "parts": [{**part, "part_kind": kind} for part in parts]}


def _last(records: list[dict[str, Any]], key: str) -> Any:
    return next((record[key] for record in reversed(records) if record.get(key)), None)


# ---- reading --------------------------------------------------------------------------------


def _instructions(records: list[dict[str, Any]], notes: NotesTaken) -> list[Message]:
    """The system text that stands beside the parts, as the first message, if there is one."""
    said = [record["instructions"] for record in records if record.get("instructions")]
    said = [text for text in said if isinstance(text, str)]
    for before, after in zip(said, said[1:], strict=False):
        if before != after:
            notes.add(*OTHER_INSTRUCTIONS)
    return [{"role": "system", "content": said[-1]}] if said else []


def _read_request(parts: list[dict[str, Any]], notes: NotesTaken) -> list[Message]:
    messages: list[Message] = []
    for part in parts:
        kind = _kind(part)
        if kind == "system-prompt":
            messages.append({"role": "system", "content": to_text(part.get("content") or "")})
        elif kind == "user-prompt":
            messages.append({"role": "user", "content": _content(part.get("content"), notes)})
        elif kind in RESULTS or (kind == "retry-prompt" and part.get("tool_name")):
            messages.append(_read_result(part, notes))
        elif kind == "retry-prompt":
            messages.append({"role": "user", "content": _retry(part)})
        else:
            notes.add(*PART_LEFT_OUT, where=repr(kind))
    return messages


def _read_response(parts: list[dict[str, Any]], notes: NotesTaken) -> list[Message]:
    """One message, or several where the results of the provider's own tools stand in between."""
    messages: list[Message] = []
    for results, some in groupby(parts, lambda part: _kind(part) in RESULTS):
        if results:
            messages += [_read_result(part, notes) for part in some]
        else:
            messages.append(_read_answer(list(some), notes))
    return messages


def _read_answer(parts: list[dict[str, Any]], notes: NotesTaken) -> Message:
    content: list[Any] = []
    thoughts, calls = [], []
    for part in parts:
        kind = _kind(part)
        if kind == "text":
            content.append({"type": "text", "text": to_text(part.get("content") or "")})
        elif kind == "thinking":
            thoughts.append(to_text(part.get("content") or ""))
        elif kind in CALLS:
            calls.append(tool_call(_id(part), part.get("tool_name"), _arguments(part)))
        elif kind == "file":
            content.append(_content_part(part.get("content")))
        else:
            notes.add(*PART_LEFT_OUT, where=repr(kind))
    return answer_message([part for part in content if part], notes, thoughts, calls)


def _kind(part: dict[str, Any]) -> str:
    return str(part.get("part_kind") or "")


def _id(part: dict[str, Any]) -> Any:
    return part.get("tool_call_id") or part.get("tool_id")


def _arguments(part: dict[str, Any]) -> Any:
    args = part.get("args")
    if (
        isinstance(args, dict)
        and len(args) == 1
        and not {"args_json", "args_dict"}.isdisjoint(args)
    ):
        args = next(iter(args.values()))
    return args


def _read_result(part: dict[str, Any], notes: NotesTaken) -> Message:
    body = _retry(part) if _kind(part) == "retry-prompt" else part.get("content")
    held = body if isinstance(body, list) else [body]
    if any(isinstance(item, dict) and _content_part(item) for item in held):
        body = _content(body, notes)
    return result_message(body, notes, _id(part), part.get("tool_name"))


def _retry(part: dict[str, Any]) -> str:
    return to_text(part.get("content") or "")


def _content(value: Any, notes: NotesTaken) -> Any:
    """Content as a string or as parts; a mark for a cache says nothing and goes."""
    if value is None or isinstance(value, str):
        return value or ""
    items = value if isinstance(value, list) else [value]
    parts = []
    for item in items:
        part = _content_part(item)
        if part:
            parts.append(part)
        elif not isinstance(item, dict) or item.get("kind") != "cache-point":
            kind = item.get("kind") if isinstance(item, dict) else type(item).__name__
            notes.add(*PART_LEFT_OUT, where=repr(kind))
    return simple_content(parts, notes) if parts else ""


def _content_part(item: Any) -> dict[str, Any] | None:
    if isinstance(item, str):
        return {"type": "text", "text": item}
    kind = str(item.get("kind") or "") if isinstance(item, dict) else ""
    if kind.endswith("-url") and item.get("url"):
        return linked_part(kind.removesuffix("-url"), item["url"])
    if kind == "uploaded-file" and item.get("file_id"):
        return linked_part("file", item["file_id"])
    if kind == "binary" and item.get("data"):
        return data_part(item["data"], item.get("media_type"))
    if kind.startswith("text") and isinstance(item.get("content"), str):
        return {"type": "text", "text": item["content"]}
    return None
