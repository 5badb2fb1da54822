"""Semantic Kernel: a chat history of roles and items, as .NET and as Python write it."""

from __future__ import annotations

from typing import Any

from course_lib.traces.building import (
    PART_LEFT_OUT,
    answer_message,
    data_part,
    linked_part,
    result_message,
)
from course_lib.traces.chat import Message, as_json, simple_content, to_text, tool_call, transcript
from course_lib.traces.openai_chat import NOT_A_MESSAGE
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "Semantic Kernel"

ROLES = {role: role for role in ("system", "developer", "user", "assistant", "tool")}
HOLDER_KEYS = ("messages", "chathistory", "history", "thread")
MEDIA = {"image": "image", "audio": "audio", "binary": "file", "file": "file"}
# Where the first versions kept calls, and which call a result answers.
OLD_CALLS = ("chatresponsemessage.functiontoolcalls", "chatresponsemessage.toolcalls")
OLD_ID = "chatcompletionstoolcall.id"


def recognise(document: Any) -> bool:
    """True for a list of messages with items, and for an object that holds one."""
    if isinstance(document, list):
        return _is_history(document)
    return isinstance(document, dict) and bool(_history(document))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows."""
    notes = NotesTaken()
    rows = document if isinstance(document, list) else _history(document)
    messages: list[Message] = []
    known = []
    for number, row in enumerate(rows, 1):
        if _role(row):
            known.append(_plain(row))
            messages += _read_message(known[-1], _role(row), notes)
        else:
            notes.add(*NOT_A_MESSAGE, where=number)
    system = _plain(document).get("systemmessage") if isinstance(document, dict) else None
    if isinstance(system, str) and system and messages[0]["role"] not in ("system", "developer"):
        messages = [{"role": "system", "content": system}, *messages]
    model = next((m for row in reversed(known) if (m := _model(row))), None)
    usage = next((u for row in reversed(known) if (u := _metadata(row).get("usage"))), None)
    return [transcript(messages, NAME, notes, model=model, usage=usage)]


# ---- finding --------------------------------------------------------------------------------


def _plain(row: Any) -> dict[str, Any]:
    """The row with its keys in one spelling: CallId, callId and call_id are callid."""
    if not isinstance(row, dict):
        return {}
    return {str(key).replace("_", "").lstrip("$").lower(): value for key, value in row.items()}


def _held(row: Any, key: str) -> Any:
    """A row's value under a key in small letters, or with a capital as .NET has it."""
    return row.get(key, row.get(key.capitalize())) if isinstance(row, dict) else None


def _role(row: Any) -> str:
    """The role of a message, which .NET writes as an object with a label; "" for none."""
    role = _held(row, "role")
    role = _plain(role).get("label") if isinstance(role, dict) else role
    return ROLES.get(role.lower(), "") if isinstance(role, str) else ""


def _kind(item: dict[str, Any]) -> str:
    """The kind of a plain item in one spelling: FunctionCallContent, function_call."""
    kind = str(item.get("contenttype") or item.get("type") or "").replace("_", "").lower()
    return kind.removeprefix("streaming").removesuffix("content") if kind != "content" else ""


def _is_message(row: Any) -> bool:
    marks = row.keys() & {"items", "Items", "content_type"} if isinstance(row, dict) else set()
    if not marks and not isinstance(_held(row, "role"), dict):  # most lists are another family's
        return False
    plain = _plain(row)
    if not _role(row) or not {"items", "content"} & set(plain):
        return False
    items = plain.get("items") if isinstance(plain.get("items"), list) else []
    typed = any(isinstance(i, dict) and {"$type", "content_type"} & set(i) for i in items)
    return typed or isinstance(plain.get("role"), dict) or plain.get("contenttype") == "message"


def _is_history(value: Any) -> bool:
    return isinstance(value, list) and 0 < len(value) <= 2 * sum(map(_is_message, value))


def _history(document: dict[str, Any]) -> list[Any]:
    plain = _plain(document)
    values = (as_json(plain.get(key)) for key in HOLDER_KEYS)
    return next(filter(_is_history, values), [])


def _metadata(row: dict[str, Any]) -> dict[str, Any]:
    return _plain(row.get("metadata"))


def _model(row: dict[str, Any]) -> Any:
    return row.get("modelid") or row.get("aimodelid")


# ---- reading --------------------------------------------------------------------------------


def _read_message(row: dict[str, Any], role: str, notes: NotesTaken) -> list[Message]:
    listed = row.get("items") if isinstance(row.get("items"), list) else []
    items = [plain for item in listed if (plain := _plain(item))]
    if not items and isinstance(row.get("content"), str):
        items = [{"type": "text", "text": row["content"]}]
    results = [item for item in items if _kind(item) == "functionresult"]
    parts = [part for item in items if (part := _read_part(item, notes))]
    if results:
        return _read_results(results, parts, role, notes)
    if role == "tool":
        content = simple_content(parts, notes) if parts else ""
        return [result_message(content, notes, _old_id(row, items))]
    name = row.get("authorname") or row.get("name")
    more = {"name": name} if isinstance(name, str) and name else {}
    if role == "assistant":
        thoughts = [to_text(i.get("text") or "") for i in items if _kind(i) == "reasoning"]
        return [answer_message(parts, notes, thoughts, _calls(row, items), **more)]
    return [{**more, "role": role, "content": simple_content(parts, notes) if parts else ""}]


def _read_part(item: dict[str, Any], notes: NotesTaken) -> dict[str, Any] | None:
    """An item as a part of content; None for those that have a place elsewhere, or none."""
    kind = _kind(item)
    if kind == "text":
        return {"type": "text", "text": to_text(item.get("text") or "")}
    if kind in MEDIA:
        address = item.get("datauri") or item.get("uri")
        data = item.get("data")
        return data_part(data, item.get("mimetype")) if data else linked_part(MEDIA[kind], address)
    if kind not in ("functioncall", "functionresult", "reasoning"):
        notes.add(*PART_LEFT_OUT, where=repr(kind))
    return None


def _name(item: dict[str, Any]) -> Any:
    plugin, function = item.get("pluginname"), item.get("functionname")
    return f"{plugin}-{function}" if plugin and function else item.get("name") or function


def _calls(row: dict[str, Any], items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    calls = [item for item in items if _kind(item) == "functioncall"]
    held = (_metadata(row).get(key) for key in OLD_CALLS)
    older = next((value for value in held if isinstance(value, list)), [])
    calls = calls or [plain for call in older if (plain := _plain(call)).get("name")]
    return [tool_call(call.get("id"), _name(call), call.get("arguments")) for call in calls]


def _old_id(row: dict[str, Any], items: list[dict[str, Any]]) -> Any:
    """The id of the call that a result answers, as the first versions kept it."""
    ids = (_metadata(holder).get(OLD_ID) for holder in (row, *items))
    return next(filter(None, ids), None)


def _read_results(
    results: list[dict[str, Any]], parts: list[dict[str, Any]], role: str, notes: NotesTaken
) -> list[Message]:
    """A message a result. Text that repeats a result goes; other text beside results stays."""
    messages = [
        result_message(item.get("result"), notes, item.get("id") or item.get("callid"), _name(item))
        for item in results
    ]
    said = {message["content"] for message in messages if isinstance(message["content"], str)}
    rest = [part for part in parts if part.get("text") not in said]
    if rest and role == "tool":
        text = [{"type": "text", "text": messages[0]["content"]}] if messages[0]["content"] else []
        messages[0] = {**messages[0], "content": simple_content([*text, *rest], notes)}
    elif rest:
        messages.append({"role": role, "content": simple_content(rest, notes)})
    return messages
