"""Cline and Roo Code: Anthropic's messages with marks; older ones have calls as tags in the text.

The newest ones of Roo Code are in the shape of the AI SDK: they are that family's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from course_lib.traces.anthropic import find_system, read_row
from course_lib.traces.chat import (
    COMPACTED,
    Message,
    kind_of,
    last_value,
    reasoning_text,
    rows_in,
    simple_content,
    transcript,
)
from course_lib.traces.openai_chat import (
    NOT_A_MESSAGE,
    find_messages,
    find_tools,
    is_message,
    is_message_list,
    role_of,
)
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "Cline"

ROLES = {"user", "assistant"}
MARKS = {
    "condenseId",
    "condenseParent",
    "conversationHistoryIndex",
    "isSummary",
    "isTruncationMarker",
    "modelInfo",
    "truncationId",
    "truncationParent",
}
HIDDEN = {"condenseParent", "truncationParent"}
RESULT_IN_TEXT = re.compile(r"\[(\w+)(?: for [^\n]*)?\] Result:")
TAG = re.compile(r"<([a-z]+(?:_[a-z]+)+)>")

CALLS_AS_TEXT = (
    "A call stands as tags in the answer's text and its result as the user's text, as older "
    "versions wrote them: both stay text.",
    "{n} calls stand as tags in the answers' text and their results as the user's text, as older "
    "versions wrote them: they stay text.",
)
NOT_SENT = (
    "Message {where} was no longer sent after a summary or a cut: kept.",
    "Messages {where} were no longer sent after a summary or a cut: kept.",
)


def recognise(document: Any) -> bool:
    """True for messages with Cline's or Roo's marks, or with calls as tags in the text."""
    rows = _rows(document)
    said = [row for row in rows if is_message(row)]
    if not is_message_list(rows) or any(role_of(row) not in ROLES for row in said):
        return False
    return any(map(_is_marked, rows)) or _results_in_text(rows) > 0


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows; empty if no message is left."""
    notes = NotesTaken()
    rows = _rows(document)
    holder = document if isinstance(document, dict) else {}
    system = find_system(holder)
    messages = [{"role": "system", "content": simple_content(system, notes)}] if system else []
    messages += _read_rows(rows, notes)
    known = [row["modelInfo"] for row in rows if isinstance(row.get("modelInfo"), dict)]
    run = transcript(
        messages,
        "Cline history",
        notes,
        tools=find_tools(holder),
        model=last_value(known, "modelId", str) or last_value(known, "id", str),
        usage=last_value(rows, "metrics", dict),
    )
    return [run] if messages else []


def _rows(document: Any) -> list[dict[str, Any]]:
    rows = find_messages(document) if isinstance(document, dict) else document
    return [row for _, row in rows_in(rows)]


def _parts(row: dict[str, Any]) -> list[Any]:
    content = row.get("content")
    return content if isinstance(content, list) else []


def _is_marked(row: dict[str, Any]) -> bool:
    """True for a message with a mark. A time stamp is one only beside content in blocks."""
    timed = isinstance(row.get("ts"), int) and bool(_parts(row))
    return is_message(row) and (timed or not MARKS.isdisjoint(row))


def _texts(row: dict[str, Any]) -> Iterator[str]:
    content = row.get("content")
    for part in content if isinstance(content, list) else [{"text": content}]:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            yield text


def _results_in_text(rows: list[dict[str, Any]]) -> int:
    """How many results of tools stand as the user's text, behind a call in tags of that name."""
    found, called = 0, set()
    for row in rows:
        for text in _texts(row):
            if role_of(row) == "assistant":
                called = set(TAG.findall(text))
            elif (result := RESULT_IN_TEXT.match(text)) and result[1] in called:
                found += 1
    return found


# ---- reading --------------------------------------------------------------------------------


def _read_rows(rows: list[dict[str, Any]], notes: NotesTaken) -> list[Message]:
    messages: list[Message] = []
    thoughts: list[str] = []
    _note_rows(rows, notes)
    for number, row in enumerate(rows, 1):
        if kind_of(row) == "reasoning":
            thoughts.append(reasoning_text(row, notes))
        elif not is_message(row):
            notes.add(*NOT_A_MESSAGE, where=number)
        else:
            pieces = read_row(_as_anthropic(row), notes)
            if role_of(row) == "assistant" and any(thoughts):
                said = [*filter(None, thoughts), pieces[0].get("reasoning_content")]
                pieces[0]["reasoning_content"] = "\n\n".join(filter(None, said))
            messages += pieces
            thoughts = []
    return messages


def _note_rows(rows: list[dict[str, Any]], notes: NotesTaken) -> None:
    """Notes on what is kept and wasn't always sent, and on calls that stay text."""
    for number, row in enumerate(rows, 1):
        metadata = row.get("metadata")
        kind = metadata.get("kind") if isinstance(metadata, dict) else None
        if row.get("isSummary") or kind == "compaction_summary":
            notes.add(*COMPACTED, where=number)
        if any(row.get(key) for key in HIDDEN):
            notes.add(*NOT_SENT, where=number)
    for _ in range(_results_in_text(rows)):
        notes.add(*CALLS_AS_TEXT)


def _as_anthropic(row: dict[str, Any]) -> dict[str, Any]:
    """A message with the reasoning that stands beside its content as a block of it."""
    thought = row.get("reasoning_content")
    if not isinstance(thought, str):
        return row
    parts = _parts(row) or [{"type": "text", "text": text} for text in _texts(row)]
    return {**row, "content": [{"type": "thinking", "thinking": thought}, *parts]}
