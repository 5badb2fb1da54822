"""Gemini CLI: sessions of messages that hold their tool calls with the results, and checkpoints.

Qwen Code, which grew out of it, writes rows that each hold a content of Gemini's: read here too.
"""

from __future__ import annotations

from typing import Any

from course_lib.traces.chat import (
    ROWS_LEFT_OUT,
    Message,
    as_id,
    as_json,
    kind_of,
    last_value,
    rows_in,
    simple_content,
    to_text,
    tool_call,
    transcript,
)
from course_lib.traces.gemini import camel_keys, is_contents, read_contents, read_result, read_turn
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "Gemini CLI"

ROLES = {"user": "user", "gemini": "assistant"}
HISTORY_KEYS = ("clientHistory", "history")
CHECKPOINT = {"clientHistory", "toolCall", "commitHash", "authType"}

WRITTEN_AGAIN = (
    "A row is written again later with more in it: the later one is read.",
    "{n} rows are written again later with more in them: the later ones are read.",
)
REWOUND = (
    "Row {where} goes back to an earlier message: what came after that is left out.",
    "Rows {where} go back to earlier messages: what came after those is left out.",
)


def recognise(document: Any) -> bool:
    """True for a session, as an object or in rows, and for a checkpoint."""
    if isinstance(document, dict) and _checkpoint(document):
        return True
    rows = [row for _, row in rows_in(document)]
    if sum(_is_head(row) and bool(row.get("messages")) for row in rows) > 1:
        return False  # each row is a session of its own
    if any(map(_is_head, rows)):
        return any(map(_is_said, _messages(document, NotesTaken())))
    return any(_is_said(row) and kind_of(row) == "gemini" for row in rows) or bool(_contents(rows))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows; empty if nothing was said in it."""
    notes = NotesTaken()
    rows = [row for _, row in rows_in(document)]
    if isinstance(document, dict) and _checkpoint(document):
        messages, form = read_contents(_checkpoint(document), notes), "Gemini CLI checkpoint"
    elif _contents(rows):
        messages, form = _read_qwen(document, notes), "Qwen Code session"
    else:
        rows = _messages(document, notes)
        messages, form = _read_messages(rows, notes), "Gemini CLI session"
    usage = last_value(rows, "tokens", dict) or last_value(rows, "usageMetadata", dict)
    model = last_value(rows, "model", str)
    run = transcript(messages, form, notes, model=model, usage=usage)
    return [run] if messages else []


# ---- finding --------------------------------------------------------------------------------


def _is_head(row: dict[str, Any]) -> bool:
    """True for what a session's file begins with: the session's id and the project's."""
    return "projectHash" in row and "sessionId" in row


def _is_said(row: Any) -> bool:
    said = isinstance(row, dict) and kind_of(row) in ROLES
    return said and ("content" in row or "toolCalls" in row)


def _checkpoint(document: dict[str, Any]) -> list[Any]:
    """The contents that a checkpoint was made of; empty if the document isn't one."""
    if CHECKPOINT.isdisjoint(document):
        return []
    found = (as_json(document.get(key)) for key in HISTORY_KEYS)
    return next(filter(is_contents, found), [])


def _contents(rows: list[dict[str, Any]]) -> list[Any]:
    """The contents in rows of Qwen Code, which name their parents."""
    found = [row.get("message") for row in rows if "parentUuid" in row]
    contents = [message for message in found if isinstance(message, dict) and "parts" in message]
    return contents if is_contents(contents) else []


def _messages(document: Any, notes: NotesTaken) -> list[dict[str, Any]]:
    """The messages of a session as it stood at its end: rows may be replaced or taken back."""
    kept: dict[str, dict[str, Any]] = {}
    for number, row in _rows(document, notes):
        change = row.get("$set")
        if isinstance(change, dict) and isinstance(change.get("messages"), list):
            kept = _by_id(change["messages"])
        elif "$rewindTo" in row:
            notes.add(*REWOUND, where=number)
            before = list(kept).index(row["$rewindTo"]) if row["$rewindTo"] in list(kept) else 0
            kept = dict(list(kept.items())[:before])
        elif kind_of(row):
            id = as_id(row.get("id")) or f"row {number}"
            if id in kept:
                notes.add(*WRITTEN_AGAIN)
            kept[id] = row
        elif not _is_head(row) and not change:
            notes.add(*ROWS_LEFT_OUT, where="no type")
    return list(kept.values())


def _rows(document: Any, notes: NotesTaken) -> list[tuple[int, dict[str, Any]]]:
    """The rows of a file in rows, and the messages inside an object."""
    rows = list(rows_in(document, notes))
    inside = [row["messages"] for _, row in rows if isinstance(row.get("messages"), list)]
    return [*rows, *(pair for messages in inside for pair in rows_in(messages, notes))]


def _by_id(messages: list[Any]) -> dict[str, dict[str, Any]]:
    return {as_id(row.get("id")) or f"row {number}": row for number, row in rows_in(messages)}


# ---- reading --------------------------------------------------------------------------------


def _read_messages(rows: list[dict[str, Any]], notes: NotesTaken) -> list[Message]:
    messages: list[Message] = []
    for row in rows:
        if not _is_said(row):
            notes.add(*ROWS_LEFT_OUT, where=kind_of(row) or "no type")
            continue
        calls = [call for _, call in rows_in(row.get("toolCalls") or [])]
        message = _said(row, calls, notes)
        thoughts = [_thought(thought) for _, thought in rows_in(row.get("thoughts") or [])]
        if any(thoughts):
            own = message.get("reasoning_content")
            message["reasoning_content"] = "\n\n".join(filter(None, [*thoughts, own]))
        if calls:
            message["tool_calls"] = [
                tool_call(call.get("id"), call.get("name"), call.get("args")) for call in calls
            ]
        messages.append(message)
        messages += [result for call in calls for result in _results(call, notes)]
    return messages


def _said(row: dict[str, Any], calls: list[dict[str, Any]], notes: NotesTaken) -> Message:
    """The message without its calls. Its content may be a text, or parts of Gemini's."""
    role, content = ROLES[kind_of(row)], row.get("content")
    parts = content if isinstance(content, list) else [content] if isinstance(content, dict) else []
    if parts:
        spoken = [camel_keys(p) if isinstance(p, dict) else {"text": to_text(p)} for p in parts]
        return read_turn(role, spoken, notes)
    text = "" if content is None else to_text(content)
    return {"role": role, "content": (text or None) if calls else text}


def _thought(thought: dict[str, Any]) -> str:
    told = (thought.get(key) for key in ("subject", "description"))
    return ": ".join(text for text in told if isinstance(text, str) and text)


def _results(call: dict[str, Any], notes: NotesTaken) -> list[Message]:
    """The result that stands in a call: what the function gave back and the parts beside that."""
    result = call.get("result")
    if result is None:
        return []
    parts = result if isinstance(result, list) else [result]
    spoken = [camel_keys(p) if isinstance(p, dict) else {"text": to_text(p)} for p in parts]
    given = [p["functionResponse"] for p in spoken if isinstance(p.get("functionResponse"), dict)]
    texts = [read_result(camel_keys(response))["content"] for response in given]
    beside = [part for part in spoken if "functionResponse" not in part]
    more = read_turn("tool", beside, notes)["content"] if beside else None
    content: Any = "\n".join(texts)
    if more:
        after = more if isinstance(more, list) else [{"type": "text", "text": more}]
        content = [*([{"type": "text", "text": content}] if content else []), *after]
    message: Message = {"role": "tool", "content": simple_content(content, notes)}
    named = {"name": call.get("name"), "tool_call_id": as_id(call.get("id"))}
    return [message | {key: value for key, value in named.items() if isinstance(value, str)}]


def _read_qwen(document: Any, notes: NotesTaken) -> list[Message]:
    """Rows of Qwen Code, each with a content; the thoughts are parts of it."""
    contents = []
    for _, row in rows_in(document, notes):
        message = row.get("message")
        if isinstance(message, dict) and "parts" in message:
            contents.append(message)
        else:
            notes.add(*ROWS_LEFT_OUT, where=kind_of(row) or "no type")
    return read_contents(contents, notes)
