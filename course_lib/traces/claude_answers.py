"""The answers in rows of Claude Code: one answer lies in several rows, which share its id."""

from __future__ import annotations

from typing import Any

from course_lib.traces.chat import as_id, as_json, kind_of
from course_lib.traces.openai_chat import is_message, role_of
from course_lib.traces.wording import NotesTaken

Row = tuple[int, dict[str, Any]]  # its number in the file, and itself

TALK = {"user", "assistant"}

JOINED = (
    "A row goes on with an answer that began before it: joined by its message id.",
    "{n} rows go on with answers that began before them: joined by their message ids.",
)
SAID_AGAIN = (
    "A part of an answer stands in the file twice: read once.",
    "{n} parts of answers stand in the file twice: read once.",
)


def message_of(row: dict[str, Any]) -> dict[str, Any] | None:
    """The message in a row of talk; None if it holds none."""
    message = as_json(row.get("message"))
    if isinstance(message, dict):
        message = {"role": row["type"], **message}
    return message if is_message(message) and role_of(message) in TALK else None


def is_prompt(message: dict[str, Any]) -> bool:
    """True for a message of the user's in which no tool answers."""
    return role_of(message) == "user" and not any(map(_is_result, _blocks(message)))


def _is_result(block: Any) -> bool:
    return kind_of(block).endswith("tool_result")


def _blocks(message: dict[str, Any]) -> list[Any]:
    content = message.get("content")
    if isinstance(content, list):
        return content
    return [] if content in (None, "") else [{"type": "text", "text": content}]


def joined(rows: list[Row], notes: NotesTaken) -> list[Row]:
    """The messages of the rows, with those of one answer as one, where the first of them stood."""
    out: list[Row] = []
    answers: dict[str, tuple[dict[str, Any], Any]] = {}  # by id: the answer, its request
    newest, asked = None, False
    for number, row in rows:
        message, sent = dict(message_of(row) or {}), row.get("requestId")
        if role_of(message) != "assistant":
            asked = asked or is_prompt(message)
            out.append((number, message))
            continue
        id = as_id(message.get("id"))
        answer, request = answers.get(id or "", (None, None))
        # Some proxies give every answer the same id; then what came in between tells them apart.
        together = sent == request if sent and request else id == newest and not asked
        if answer and together:
            notes.add(*JOINED)
            _go_on(answer, message, notes)
            continue
        newest, asked = id, False
        answers[id or ""] = (message, sent) if id else (None, None)
        out.append((number, message))
    return out


def _go_on(answer: dict[str, Any], message: dict[str, Any], notes: NotesTaken) -> None:
    """Add the blocks of a further row of the same answer, and what is known only now."""
    blocks = list(_blocks(answer))
    for block in _blocks(message):
        if block in blocks:
            notes.add(*SAID_AGAIN)
        else:
            blocks.append(block)
    answer.update({key: value for key, value in message.items() if value is not None})
    answer["content"] = blocks
