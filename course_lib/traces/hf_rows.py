"""Rows of Hugging Face data sets: columns beside the messages, every field filled in.

A column's struct has all the keys that any row has, null where a row has none. Pictures stand in a
column of their own, and a part of the content says only where.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from course_lib.traces import openai_chat
from course_lib.traces.chat import as_json, kind_of
from course_lib.traces.media import bytes_in
from course_lib.traces.openai_chat import is_message, is_message_list
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "Hugging Face rows"

Row = dict[str, Any]

CHAT_KEYS = ("messages", "conversations", "conversation", "prompt", "chosen")
ANSWER_KEYS = ("completion", "chosen", "response")
PICTURES = ("images", "image", "videos", "video", "audios", "audio")

NULLS = "Fields that are null because another row of the data set has them are left out."
OTHERS = "The row holds another answer under {where}: left out."
PICTURE = (
    "A picture stands in a column of its own: its place and size are kept.",
    "{n} pictures stand in a column of their own: their places and sizes are kept.",
)


def recognise(document: Any) -> bool:
    """True for a row with messages that has a data set's marks: null fields, columns of pictures."""
    document = _row(document)
    if not _rows(document):
        return False
    answer = any(is_message_list(as_json(document.get(key))) for key in ANSWER_KEYS)
    pictures = any(isinstance(document.get(key), list) for key in PICTURES)
    return answer or pictures or any(map(_is_filled, _rows(document)))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows."""
    notes, document = NotesTaken(), _row(document)
    rows = _rows(document)
    if any(map(_is_filled, rows)):
        notes.add(NULLS)
    pictures = _pictures(document)
    rows = [_with_pictures(_bare(row), pictures, notes) for row in rows]
    for key in ("rejected",):
        if document.get(key):
            notes.add(OTHERS, where=repr(key))
    held = {key: document[key] for key in ("tools", "functions", "model") if document.get(key)}
    (run,) = openai_chat.read({"messages": rows, **held})
    return [replace(run, format=NAME, notes=(*notes.sentences(), *run.notes))]


def _row(document: Any) -> Row:
    """The row itself, out of the page that a data set's viewer gives; empty for none."""
    inner = document.get("row") if isinstance(document, dict) else None
    return inner if isinstance(inner, dict) else document if isinstance(document, dict) else {}


def _rows(document: Row) -> list[Any]:
    """The messages: what was asked and, where it has a column of its own, what was answered."""
    found = [as_json(document.get(key)) for key in CHAT_KEYS]
    rows = next((value for value in found if is_message_list(value)), [])
    for key in ANSWER_KEYS:
        answer = as_json(document.get(key))
        if is_message_list(answer) and answer is not rows and rows:
            return answer if answer[: len(rows)] == rows else [*rows, *answer]
    return rows


def _is_filled(row: Any) -> bool:
    """True for a message with a part or a call that has null fields."""
    if not is_message(row):
        return False
    parts = row.get("content") if isinstance(row.get("content"), list) else []
    calls = row.get("tool_calls") if isinstance(row.get("tool_calls"), list) else []
    return any(isinstance(p, dict) and None in p.values() for p in [*parts, *calls]) or any(
        isinstance(call.get("function"), dict) and _has_null(call["function"].get("arguments"))
        for call in calls
        if isinstance(call, dict)
    )


def _has_null(value: Any) -> bool:
    return isinstance(value, dict) and None in value.values()


def _bare(value: Any) -> Any:
    """The value without its null fields."""
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_bare(item) for item in value if item is not None]
    return value


def _pictures(document: Row) -> dict[str, list[Any]]:
    """The pictures of each kind, in their order."""
    held: dict[str, list[Any]] = {}
    for key in PICTURES:
        value = document.get(key)
        if value:
            kind = key.removesuffix("s")
            held.setdefault(kind, []).extend(value if isinstance(value, list) else [value])
    return held


def _with_pictures(row: Any, pictures: dict[str, list[Any]], notes: NotesTaken) -> Any:
    """The row with a text that says what was there in the place of each empty picture part."""
    if not isinstance(row, dict) or not isinstance(row.get("content"), list):
        return row
    return {**row, "content": [_with_picture(part, pictures, notes) for part in row["content"]]}


def _with_picture(part: Any, pictures: dict[str, list[Any]], notes: NotesTaken) -> Any:
    kind = kind_of(part)
    if kind not in ("image", "video", "audio") or not set(part) <= {"type", "index"}:
        return part
    notes.add(*PICTURE)
    waiting = pictures.get(kind) or [None]
    held = waiting.pop(0)
    media, size = bytes_in(held, "data") or ("", 0)
    sides = [held.get(key) for key in ("width", "height")] if isinstance(held, dict) else []
    shape = " × ".join(str(side) for side in sides if side)
    told = [kind, media, shape, f"{size:,} bytes" if size else ""]
    return {"type": "text", "text": f"[{', '.join(filter(None, told))}]"}
