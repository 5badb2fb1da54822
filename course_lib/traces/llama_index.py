"""LlamaIndex: chat stores of several conversations, messages made of blocks, calls beside them."""

from __future__ import annotations

from typing import Any

from course_lib.traces.building import (
    PART_LEFT_OUT,
    answer_message,
    data_part,
    linked_part,
    result_message,
)
from course_lib.traces.chat import (
    Message,
    as_json,
    kind_of,
    read_content,
    simple_content,
    to_text,
    tool_call,
    transcript,
)
from course_lib.traces.openai_chat import NOT_A_MESSAGE, role_of
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "LlamaIndex"

ROLES = {role: role for role in ("system", "developer", "user", "assistant", "tool")}
ROLES |= {"function": "tool", "chatbot": "assistant", "model": "assistant"}
# Under which key a block of a kind holds its bytes.
DATA = {"image": "image", "audio": "audio", "video": "video", "document": "data"}
SIGNS = ("tool_calls", "tool_call_id", "function_call")


def recognise(document: Any) -> bool:
    """True for a chat store, a memory that holds one, and a list of messages with blocks."""
    if isinstance(document, list):
        return _is_chat(document)
    return isinstance(document, dict) and bool(_store(document) or _list(document))


def read(document: Any) -> list[Transcript]:
    """The runs in a document that `recognise` knows: one for each key of a chat store."""
    if isinstance(document, list):
        return [_read_run(document, NotesTaken())]
    store = _store(document)
    if not store:
        return [_read_run(_list(document), NotesTaken())]
    several = len(store) > 1
    return [
        _read_run(rows, NotesTaken(), str(key) if several else "") for key, rows in store.items()
    ]


# ---- finding --------------------------------------------------------------------------------


def _is_message(row: Any) -> bool:
    return isinstance(row, dict) and role_of(row) in ROLES and ("blocks" in row or "content" in row)


def _is_own(row: Any) -> bool:
    """True for a message with what only LlamaIndex has: blocks, or calls beside the content."""
    if not isinstance(row, dict) or not {"blocks", "additional_kwargs"} & row.keys():
        return False
    if not _is_message(row):
        return False
    blocks = row.get("blocks") if isinstance(row.get("blocks"), list) else []
    beside = row.get("additional_kwargs")
    calling = isinstance(beside, dict) and any(beside.get(key) for key in SIGNS)
    typed = any(isinstance(block, dict) and "block_type" in block for block in blocks)
    return typed or (calling and not row.get("tool_calls"))


def _is_messages(value: Any) -> bool:
    return isinstance(value, list) and 0 < len(value) <= 2 * sum(map(_is_message, value))


def _is_chat(value: Any) -> bool:
    return isinstance(value, list) and any(map(_is_own, value)) and _is_messages(value)


def _store(document: dict[str, Any]) -> dict[str, Any]:
    """The conversations of a chat store by key; also of one inside a memory."""
    for value in (document, *map(as_json, document.values())):
        store = as_json(value.get("store")) if isinstance(value, dict) else None
        if isinstance(store, dict):
            found = {key: as_json(rows) for key, rows in store.items()}
            found = {key: rows for key, rows in found.items() if _is_messages(rows)}
            if found:
                return found
    return {}


def _list(document: dict[str, Any]) -> list[Any]:
    return next(filter(_is_chat, map(as_json, document.values())), [])


# ---- reading --------------------------------------------------------------------------------


def _read_run(rows: list[Any], notes: NotesTaken, name: str = "") -> Transcript:
    return transcript(read_rows(rows, notes), NAME, notes, name=name)


def read_rows(rows: list[Any], notes: NotesTaken) -> list[Message]:
    """The messages of a list of rows; what isn't one is left out and noted."""
    messages = []
    for number, row in enumerate(rows, 1):
        if _is_message(row):
            messages.append(_read_message(row, notes))
        else:
            notes.add(*NOT_A_MESSAGE, where=number)
    return messages


def _read_message(row: dict[str, Any], notes: NotesTaken) -> Message:
    role, beside = ROLES[role_of(row)], row.get("additional_kwargs")
    beside = beside if isinstance(beside, dict) else {}
    blocks = row.get("blocks") if isinstance(row.get("blocks"), list) else []
    blocks = [block for block in blocks if isinstance(block, dict)]
    parts = [part for block in blocks for part in _parts_of(block, notes)]
    thoughts = [to_text(b.get("content") or "") for b in blocks if _kind(b) == "thinking"]
    if not parts and row.get("content"):
        content, reasoning = read_content(row["content"], notes)
        parts = [content] if isinstance(content, str) else list(content or ())
        thoughts.append(reasoning)
    if role == "tool":
        id = beside.get("tool_call_id") or row.get("tool_call_id")
        content = simple_content(parts, notes) if parts else ""
        return result_message(content, notes, id, beside.get("name") or row.get("name"))
    if role == "assistant":
        thoughts.append(to_text(beside.get("reasoning_content") or ""))
        return answer_message(parts, notes, thoughts, _calls(blocks, beside, row))
    return {"role": role, "content": simple_content(parts, notes) if parts else ""}


def _kind(block: dict[str, Any]) -> str:
    return str(block.get("block_type") or "")


def _parts_of(block: dict[str, Any], notes: NotesTaken) -> list[dict[str, Any]]:
    """A block as parts of content; a mark for a cache says nothing and goes."""
    kind = _kind(block)
    if kind == "text":
        return [{"type": "text", "text": to_text(block.get("text") or "")}]
    if kind in DATA:
        data, media = block.get(DATA[kind]), block.get(f"{kind}_mimetype") or block.get("format")
        if data:
            return [data_part(data, media, kind)]
        return [linked_part(kind, block.get("url") or block.get("path") or "?")]
    held = block.get("content") if kind == "citable" else block.get("cited_content")
    if kind in ("citable", "citation") and held:
        held = held if isinstance(held, list) else [held]
        held = [{"block_type": "text", "text": h} if isinstance(h, str) else h for h in held]
        return [part for h in held if isinstance(h, dict) for part in _parts_of(h, notes)]
    if kind not in ("cache", "thinking", "tool_call"):
        notes.add(*PART_LEFT_OUT, where=repr(kind))
    return []


def _calls(
    blocks: list[dict[str, Any]], beside: dict[str, Any], row: dict[str, Any]
) -> list[dict[str, Any]]:
    """The calls of a message: blocks, or in the provider's own shape beside the content."""
    own = [
        tool_call(block.get("tool_call_id"), block.get("tool_name"), block.get("tool_kwargs"))
        for block in blocks
        if _kind(block) == "tool_call"
    ]
    listed = as_json(beside.get("tool_calls") or row.get("tool_calls"))
    if own or not isinstance(listed, list):
        old = beside.get("function_call")
        listed = [old] if isinstance(old, dict) and not own else []
    return own + [provider_call(call) for call in listed if isinstance(call, dict)]


def provider_call(call: dict[str, Any]) -> dict[str, Any]:
    """A tool call in the shape of one of the providers: nested, flat, or as Anthropic's block."""
    inner = call.get("function") if isinstance(call.get("function"), dict) else call
    keys = ("arguments", "args", "input", "tool_kwargs")
    arguments = next((inner[key] for key in keys if inner.get(key) is not None), None)
    id = call.get("call_id") if kind_of(call) == "function_call" else None
    return tool_call(id or call.get("id"), inner.get("name"), arguments)
