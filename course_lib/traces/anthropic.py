"""Anthropic Messages: content in blocks, the system text on top, results in user messages."""

from __future__ import annotations

from typing import Any

from course_lib.traces.chat import (
    REASONING_PARTS,
    Message,
    as_id,
    kind_of,
    objects_in,
    other_keys,
    reasoning_text,
    simple_content,
    tool_call,
    transcript,
)
from course_lib.traces.openai_chat import (
    ANSWER_ADDED,
    NOT_A_MESSAGE,
    find_answer,
    find_messages,
    find_tools,
    find_value,
    is_message,
    is_message_list,
    role_of,
)
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "Anthropic Messages"

CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
ENCRYPTED = {"thinking", "redacted_thinking"}
SYSTEM_KEYS = ("system", "system_prompt", "systemPrompt")


def recognise(document: Any) -> bool:
    """True for messages with Anthropic's blocks, or with the system text beside the messages."""
    if isinstance(document, list):
        return is_message_list(document) and _has_blocks(document)
    if not isinstance(document, dict):
        return False
    if _is_answer(document) and "stop_reason" in document:
        return True
    rows = find_messages(document) or []
    if _has_blocks([*rows, *_answers(document)]):
        return True
    roles = {role_of(row) for row in rows if isinstance(row, dict)}
    return bool(rows) and roles <= {"user", "assistant"} and bool(find_system(document))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows."""
    notes = NotesTaken()
    if isinstance(document, list):
        return [transcript(read_rows(document, notes), "Anthropic messages", notes)]
    system = find_system(document)
    messages: list[Message] = []
    if system:
        messages = [{"role": "system", "content": simple_content(system, notes)}]
    rows = find_messages(document, notes) or []
    messages += read_rows(rows, notes)
    for answer in _answers(document):
        if rows and rows[-1].get("content") != answer["content"]:
            notes.add(ANSWER_ADDED)
        if not rows or rows[-1].get("content") != answer["content"]:
            messages += read_row(answer, notes)
    model, tools = find_value(document, "model", str), find_tools(document)
    kind = "request" if rows and (model or tools) else "messages" if rows else "answer"
    usage = find_value(document, "usage", dict)
    return [transcript(messages, f"Anthropic {kind}", notes, tools=tools, model=model, usage=usage)]


def _is_block(block: Any) -> bool:
    kind = kind_of(block)
    sourced = kind in ("image", "document") and isinstance(block.get("source"), dict)
    return kind in CALLS | ENCRYPTED or _is_result(block) or sourced


def _has_blocks(rows: list[Any]) -> bool:
    """True if the rows hold blocks that chat doesn't know, and no call in chat's shape."""
    rows = [row for row in rows if is_message(row)]
    if any(role_of(row) in ("tool", "function") or row.get("tool_calls") for row in rows):
        return False
    contents = [row.get("content") for row in rows]
    return any(_is_block(b) for content in contents if isinstance(content, list) for b in content)


def _is_answer(document: dict[str, Any]) -> bool:
    """True for an answer that stands alone."""
    return document.get("type") == "message" and is_message(document)


def _answers(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer in a document, or the document itself if it is one, as a list of one or none."""
    if _is_answer(document):
        return [document]
    answer = find_answer(document, NotesTaken())
    return [answer] if answer and isinstance(answer.get("content"), list) else []


def find_system(document: dict[str, Any]) -> Any:
    """The system text that stands beside the messages, or in an object beside them."""
    holders = (document, *objects_in(document))
    values = (holder.get(key) for holder in holders for key in SYSTEM_KEYS)
    return next((value for value in values if value and isinstance(value, str | list)), None)


# ---- reading --------------------------------------------------------------------------------


def read_rows(rows: list[Any], notes: NotesTaken) -> list[Message]:
    """The messages that rows in Anthropic's shape are."""
    messages = []
    for number, row in enumerate(rows, 1):
        if is_message(row):
            messages += read_row(row, notes)
        else:
            notes.add(*NOT_A_MESSAGE, where=number)
    return messages


def read_row(row: dict[str, Any], notes: NotesTaken) -> list[Message]:
    """The messages that one row is. Results leave a user message and stand before its text."""
    content = row.get("content")
    if not isinstance(content, list):
        pieces = [{"role": role_of(row), "content": simple_content(content, notes)}]
    elif role_of(row) == "assistant":
        pieces = _read_assistant(content, notes)
    else:
        results = [block for block in content if _is_result(block)]
        rest = [block for block in content if not _is_result(block)]
        pieces = [_read_result(block, notes) for block in results]
        if rest or not results:
            pieces.append({"role": role_of(row), "content": simple_content(rest, notes)})
    return [{**pieces[0], **other_keys(row, "type")}, *pieces[1:]]


def _is_result(block: Any) -> bool:
    return kind_of(block).endswith("tool_result")


def _read_assistant(content: list[Any], notes: NotesTaken) -> list[Message]:
    """One message, or several where the results of the provider's own tools stand in between."""
    pieces: list[Message] = []
    blocks: list[Any] = []
    for block in content:
        if not _is_result(block):
            blocks.append(block)
            continue
        if blocks:
            pieces.append(_answer_of(blocks, notes))
            blocks = []
        pieces.append(_read_result(block, notes))
    if blocks or not pieces:
        pieces.append(_answer_of(blocks, notes))
    return pieces


def _answer_of(blocks: list[Any], notes: NotesTaken) -> Message:
    typed = [(kind_of(block), block) for block in blocks]
    text = [block for kind, block in typed if kind not in CALLS | REASONING_PARTS]
    message: Message = {
        "role": "assistant",
        "content": simple_content(text, notes) if text else None,
    }
    thoughts = [reasoning_text(block, notes) for kind, block in typed if kind in REASONING_PARTS]
    if any(thoughts):
        message["reasoning_content"] = "\n\n".join(filter(None, thoughts))
    calls = [
        tool_call(block.get("id"), block.get("name"), block.get("input"))
        for kind, block in typed
        if kind in CALLS
    ]
    return {**message, "tool_calls": calls} if calls else message


def _read_result(block: dict[str, Any], notes: NotesTaken) -> Message:
    message: Message = {"role": "tool", "content": simple_content(block.get("content"), notes)}
    if message["content"] is None:
        message["content"] = ""
    if as_id(block.get("tool_use_id")):
        message["tool_call_id"] = as_id(block["tool_use_id"])
    if isinstance(block.get("name"), str):
        message["name"] = block["name"]
    return {**message, "is_error": True} if block.get("is_error") else message
