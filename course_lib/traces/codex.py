"""Codex: the rollout of a session, in which response items stand among events and settings.

What `codex exec --json` prints, whole pieces of work that were done, is read too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from course_lib.messages import SYSTEM_ROLES
from course_lib.traces.chat import (
    COMPACTED,
    ROWS_LEFT_OUT,
    Message,
    as_json,
    kind_of,
    last_value,
    objects_in,
    rows_in,
    to_text,
    tool_schemas,
    transcript,
)
from course_lib.traces.responses import CALLS, OUTPUTS, read_items
from course_lib.traces.rows import Rows, taken
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "Codex"

ENVELOPES = {"session_meta", "response_item", "turn_context", "event_msg", "compacted"}
ITEMS = CALLS | OUTPUTS | {"message", "reasoning"}
STREAM = {"thread.started", "turn.started", "turn.completed", "item.completed"}
SPOKEN = {"user_message": "user", "agent_message": "assistant"}

ON_SCREEN = (
    "A row that says again for the screen what the talk says (`event_msg`) is left out.",
    "{n} rows that say again for the screen what the talk says (`event_msg`) are left out.",
)
OUTPUT_KEYS = ("aggregated_output", "result", "error", "status")

ONLY_SCREEN = (
    "The file holds only what was shown on the screen (`event_msg`): the tool calls and their "
    "results are missing."
)
NO_PROMPT = "What the user asked isn't in the file: `codex exec --json` doesn't print it."
INSTRUCTIONS = (
    "The session's own instructions ({where} characters) are sent beside the messages: they "
    "aren't among them."
)
TO_THE_HEAD = (
    "A message of instructions (`developer`) from the middle of the talk stands at its head.",
    "{n} messages of instructions (`developer`) from the middle of the talk stand at its head.",
)
TAKEN_BACK = (
    "Turns were taken back at row {where}: they are kept.",
    "Turns were taken back at rows {where}: they are kept.",
)


def recognise(document: Any) -> bool:
    """True for a list of rollout rows, or of items behind the older head of a session."""
    rows = [row for _, row in rows_in(document)]
    if any(kind_of(row) in ENVELOPES and _payload(row) for row in rows):
        return True
    if any(kind_of(row) == "item.completed" and _payload(row, "item") for row in rows):
        return True
    return any(map(_is_old_head, rows)) and any(kind_of(row) in ITEMS for row in rows)


def read(document: Any) -> list[Transcript]:
    """The one run in a rollout; empty if nothing was said in it."""
    notes = NotesTaken()
    rows = list(_flat(document, notes))
    items = Rows(_items(rows, notes))
    settings = [row for kind, row in rows if kind in ("session_meta", "turn_context")]
    usage = _usage(row for kind, row in rows if kind in ("event_msg", "printed"))
    rows.clear()  # from here on only the items hold what was said
    _note_instructions(settings, notes)
    messages = _instructions_first(read_items(taken(items), notes), notes)
    run = transcript(
        messages,
        "Codex rollout",
        notes,
        tools=_tools(settings),
        model=last_value(settings, "model", str),
        usage=usage,
    )
    return [run] if messages else []


def _items(rows: list[tuple[str, dict[str, Any]]], notes: NotesTaken) -> list[dict[str, Any]]:
    """The items of the talk; where the file has none, those that the events stand for."""
    items = [_item(row) for kind, row in rows if kind == "response_item"]
    events = [row for kind, row in rows if kind == "event_msg"]
    if items:
        for _ in events:
            notes.add(*ON_SCREEN)
        return items
    spoken = [item for item in map(_spoken, events) if item]
    if spoken:
        notes.add(ONLY_SCREEN)
    return spoken


def _payload(row: dict[str, Any], key: str = "payload") -> dict[str, Any]:
    payload = as_json(row.get(key))
    return payload if isinstance(payload, dict) else {}


def _is_old_head(row: dict[str, Any]) -> bool:
    """True for the first row of an older rollout, which has no type, and for a row of its state."""
    head = "type" not in row and {"id", "timestamp"} <= row.keys() and "role" not in row
    return head or isinstance(row.get("record_type"), str)


def _flat(document: Any, notes: NotesTaken) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows without their envelopes, each with the envelope's type; others are noted."""
    for number, row in rows_in(document, notes, last=True):
        kind, payload = kind_of(row), _payload(row)
        if kind in ITEMS:
            kind, payload = "response_item", row
        elif kind in STREAM:
            yield from _printed(kind, row, notes)
            continue
        elif _is_old_head(row):
            kind, payload = "session_meta", row
        if kind == "compacted":
            notes.add(*COMPACTED, where=number)
        elif kind_of(payload) == "thread_rolled_back":
            notes.add(*TAKEN_BACK, where=number)
        elif kind not in ENVELOPES:
            notes.add(*ROWS_LEFT_OUT, where=kind or "no type")
        else:
            yield kind, payload


def _item(item: dict[str, Any]) -> dict[str, Any]:
    """An item as Responses has it: the id and the output of a call where they are looked for."""
    if kind_of(item) == "local_shell_call" and not item.get("call_id"):
        return {**item, "call_id": item.get("id")}
    output = item.get("output")
    if isinstance(output, dict) and "success" in output and "content" in output:
        return {**item, "output": output["content"]}
    return item


def _printed(
    kind: str, row: dict[str, Any], notes: NotesTaken
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The items that a piece of work in the printed stream stands for: a call and its output."""
    work = _payload(row, "item")
    did, id = kind_of(work), work.get("id")
    said = {"agent_message": "message", "reasoning": "reasoning"}.get(did)
    tool = {"command_execution": "shell", "file_change": "apply_patch"}.get(did, work.get("tool"))
    if kind == "thread.started":
        notes.add(NO_PROMPT)
    elif kind == "turn.completed" and isinstance(row.get("usage"), dict):
        counted = {"info": {"last_token_usage": row["usage"]}}
        yield "printed", {"type": "token_count", **counted}
    elif said:
        text = to_text(work.get("text") or "")
        yield "response_item", {"type": said, "role": "assistant", "content": text}
    elif tool:
        given = {key: work[key] for key in ("command", "changes", "arguments") if key in work}
        output = next((work[key] for key in OUTPUT_KEYS if work.get(key)), "")
        named = {"call_id": id, "name": tool, "arguments": given.get("arguments", given)}
        yield "response_item", {"type": "function_call", **named}
        yield "response_item", {"type": "function_call_output", "call_id": id, "output": output}
    elif kind == "item.completed":
        notes.add(*ROWS_LEFT_OUT, where=did or "no type")


def _spoken(event: dict[str, Any]) -> dict[str, Any] | None:
    """The item that an event stands for, if it says something."""
    kind = kind_of(event)
    if kind == "agent_reasoning" and isinstance(event.get("text"), str):
        return {"type": "reasoning", "summary": [event["text"]]}
    if kind in SPOKEN and isinstance(event.get("message"), str):
        return {"type": "message", "role": SPOKEN[kind], "content": event["message"]}
    return None


def _note_instructions(settings: list[dict[str, Any]], notes: NotesTaken) -> None:
    for row in settings:
        told = row.get("base_instructions") or row.get("instructions")
        text = told.get("text") if isinstance(told, dict) else told
        if isinstance(text, str) and text:
            notes.add(INSTRUCTIONS, where=f"{len(text):,}")
            return


def _instructions_first(messages: list[Message], notes: NotesTaken) -> list[Message]:
    """The messages with Codex's settings for the model, which belong to no turn, at the head."""
    first = [m for m in messages if m["role"] in SYSTEM_ROLES]
    rest = [m for m in messages if m["role"] not in SYSTEM_ROLES]
    led = next((i for i, m in enumerate(messages) if m["role"] not in SYSTEM_ROLES), len(messages))
    for _ in first[led:]:
        notes.add(*TO_THE_HEAD)
    return first + rest


def _tools(settings: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """The tools of the last settings that name some; those in namespaces too."""
    for row in reversed(settings):
        tools = row.get("dynamic_tools")
        tools = tools if isinstance(tools, list) else [tools]
        found = [tool for tool in tools if isinstance(tool, dict)]
        inner = [
            tool.get("tools") if isinstance(tool.get("tools"), list) else [tool] for tool in found
        ]
        if found:
            return tool_schemas([tool for group in inner for tool in group])
    return ()


def _usage(events: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """The tokens of the last answer that the events count."""
    counts = [event for event in events if kind_of(event) == "token_count"]
    found = [holder for event in counts for holder in objects_in(event)]
    return last_value(found, "last_token_usage", dict)
