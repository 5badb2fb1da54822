"""OpenTelemetry's GenAI messages: a role and parts that name their type and hold `content`."""

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
from course_lib.traces.chat import (
    Message,
    as_json,
    kind_of,
    simple_content,
    to_text,
    tool_call,
    transcript,
)
from course_lib.traces.openai_chat import NOT_A_MESSAGE, ROLES, role_of
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "OpenTelemetry GenAI messages"

HOLDER_KEYS = ("messages", "input", "input_messages", "all_messages")
CALLS = {"tool_call", "server_tool_call"}
RESULTS = {"tool_call_response", "server_tool_call_response"}
REASONING = {"reasoning", "thinking"}
BYTES = {"blob", "binary"}
LINKS = {"uri", "file", "image-url", "audio-url", "video-url", "document-url"}
KINDS = CALLS | RESULTS | REASONING | BYTES | LINKS | {"text"}


def recognise(document: Any) -> bool:
    """True for a list of messages with such parts, and for an object that holds one."""
    if isinstance(document, list):
        return _is_list(document)
    return isinstance(document, dict) and bool(_list(document))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows."""
    notes = NotesTaken()
    rows = document if isinstance(document, list) else _list(document)
    return [transcript(read_rows(rows, notes), NAME, notes)]


def is_message(row: Any) -> bool:
    """True for a message whose parts name their type and hold their text as `content`."""
    if not isinstance(row, dict) or role_of(row) not in ROLES:
        return False
    parts = row.get("parts")
    return isinstance(parts, list) and bool(parts) and any(map(_is_part, parts))


def _is_part(part: Any) -> bool:
    kind = kind_of(part)
    return kind in KINDS and ("content" in part or kind not in ("text", "reasoning"))


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and 0 < len(value) <= 2 * sum(map(is_message, value))


def _list(document: dict[str, Any]) -> list[Any]:
    return next(filter(_is_list, (as_json(document.get(key)) for key in HOLDER_KEYS)), [])


# ---- reading --------------------------------------------------------------------------------


def read_rows(rows: list[Any], notes: NotesTaken) -> list[Message]:
    """The messages of a list of rows; what isn't one is left out and noted."""
    messages: list[Message] = []
    for number, row in enumerate(rows, 1):
        if is_message(row):
            messages += _read_row(row, notes)
        elif not isinstance(row, dict) or row.get("parts") != []:
            notes.add(*NOT_A_MESSAGE, where=number)
    return messages


def _read_row(row: dict[str, Any], notes: NotesTaken) -> list[Message]:
    """The messages that one row is: each result is one, what stands between them another."""
    role = ROLES[role_of(row)]
    messages: list[Message] = []
    parts = [part for part in row["parts"] if isinstance(part, str | dict)]
    for results, some in groupby(parts, lambda part: kind_of(part) in RESULTS):
        if results:
            messages += [_read_result(part, notes) for part in some]
        elif role == "assistant":
            messages.append(_read_answer(list(some), notes))
        elif role == "tool":
            messages.append(result_message(_content(list(some), notes), notes))
        else:
            messages.append({"role": role, "content": _content(list(some), notes)})
    return messages


def _read_answer(parts: list[Any], notes: NotesTaken) -> Message:
    thoughts = [to_text(part.get("content") or "") for part in parts if kind_of(part) in REASONING]
    calls = [_read_call(part) for part in parts if kind_of(part) in CALLS]
    apart = CALLS | REASONING
    said = [_read_part(part, notes) for part in parts if kind_of(part) not in apart]
    return answer_message([part for part in said if part], notes, thoughts, calls)


def _read_call(part: dict[str, Any]) -> dict[str, Any]:
    return tool_call(
        part.get("id"), part.get("name"), part.get("arguments", part.get(kind_of(part)))
    )


def _read_result(part: dict[str, Any], notes: NotesTaken) -> Message:
    keys = ("response", "result", "content", kind_of(part))
    body = next((part[key] for key in keys if part.get(key) is not None), None)
    return result_message(body, notes, part.get("id"), part.get("name"))


def _content(parts: list[Any], notes: NotesTaken) -> Any:
    read = [part for item in parts if (part := _read_part(item, notes))]
    return simple_content(read, notes) if read else ""


def _read_part(part: Any, notes: NotesTaken) -> dict[str, Any] | None:
    """A part as `simple_content` understands it; None for one that is left out."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = kind_of(part)
    text = part.get("content", part.get("text"))
    if kind == "text":
        return {"type": "text", "text": to_text("" if text is None else text)}
    media = part.get("mime_type") or part.get("media_type")
    if kind in BYTES:
        modality = part.get("modality") if isinstance(part.get("modality"), str) else ""
        return data_part(part.get("data") or part.get("content") or "", media, modality)
    if kind in LINKS:
        what = part.get("modality") or kind.removesuffix("-url").replace("uri", "file")
        address = part.get("uri") or part.get("url") or part.get("file_id")
        return linked_part(what, address) if address else {"type": "text", "text": f"[{what}]"}
    notes.add(*PART_LEFT_OUT, where=repr(kind))
    return None


def system_rows(instructions: Any) -> list[dict[str, Any]]:
    """The system text that stands beside the messages, as a row; none if there is none."""
    instructions = as_json(instructions)
    if isinstance(instructions, str) and instructions:
        return [{"role": "system", "content": instructions}]
    listed = instructions if isinstance(instructions, list) else [instructions]
    parts = [part for part in listed if isinstance(part, str | dict)]
    texts = [
        part if isinstance(part, str) else part.get("content", part.get("text")) for part in parts
    ]
    text = "\n\n".join(text for text in texts if isinstance(text, str) and text)
    return [{"role": "system", "content": text}] if text else []
