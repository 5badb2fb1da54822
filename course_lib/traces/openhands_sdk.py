"""OpenHands' SDK: events that name their kind; several calls of one answer share its id."""

from __future__ import annotations

from typing import Any

from course_lib.traces.chat import (
    COMPACTED,
    ROWS_LEFT_OUT,
    Message,
    as_id,
    kind_of,
    last_value,
    rows_in,
    to_text,
    tool_schemas,
    transcript,
)
from course_lib.traces.openai_chat import is_message, read_message
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "OpenHands SDK"

RESULTS = {"ObservationEvent", "UserRejectObservation", "AgentErrorEvent"}
TALK = RESULTS | {"SystemPromptEvent", "MessageEvent", "ActionEvent", "CondensationSummaryEvent"}
# Where an observation says what the model reads, before it was a list of parts.
TEXTS = ("content", "output", "text", "message")


def recognise(document: Any) -> bool:
    """True for a list with the SDK's events in it, and for a single one."""
    return any(_kind(event) in TALK for _, event in rows_in(document))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows; empty if nothing was said in it."""
    notes = NotesTaken()
    messages: list[Message] = []
    answers: dict[str, Message] = {}
    events = list(rows_in(document, notes))
    for number, event in events:
        if event.get("kind") == "Condensation":
            notes.add(*COMPACTED, where=number)
        row = _as_chat(event)
        if not is_message(row):
            notes.add(*ROWS_LEFT_OUT, where=_kind(event))
            continue
        message = read_message(row, notes)
        answer = as_id(event.get("llm_response_id"))
        if answer in answers and message.get("tool_calls"):
            _add_calls(answers[answer], message)
            continue
        if answer and message["role"] == "assistant":
            answers[answer] = message
        messages.append(message)
    prompts = [event for _, event in events if event.get("kind") == "SystemPromptEvent"]
    tools = tool_schemas(last_value(prompts, "tools", list))
    run = transcript(messages, "OpenHands SDK events", notes, tools=tools)
    return [run] if messages else []


def _kind(event: dict[str, Any]) -> str:
    kind = event.get("kind")
    return kind if isinstance(kind, str) else "no kind"


def _add_calls(answer: Message, message: Message) -> None:
    """Add the calls of a further action that came from the same answer."""
    calls = answer.get("tool_calls", [])
    known = {call["id"] for call in calls}
    answer["tool_calls"] = [*calls, *(c for c in message["tool_calls"] if c["id"] not in known)]


def _as_chat(event: dict[str, Any]) -> Any:
    """The message of chat that an event is; None for one that isn't sent."""
    kind = _kind(event)
    if kind == "SystemPromptEvent":
        added = event.get("dynamic_context")
        parts = _parts(event.get("system_prompt")) + _parts(added)
        return {"role": "system", "content": _plain(parts)}
    if kind == "MessageEvent" and isinstance(event.get("llm_message"), dict):
        message = event["llm_message"]
        parts = _parts(message.get("content")) + _parts(event.get("extended_content"))
        return _thinking({**message, "content": _plain(parts)}, message)
    if kind == "ActionEvent":
        call = event.get("tool_call")
        given = {"name": event.get("tool_name"), "arguments": event.get("action")}
        given = call if isinstance(call, dict) else {"id": event.get("tool_call_id"), **given}
        calls = [{key: value for key, value in given.items() if key != "origin"}]
        said = _plain(_parts(event.get("thought"))) or None
        message = {"role": "assistant", "content": said, "tool_calls": calls}
        return _thinking(message, event)
    if kind == "CondensationSummaryEvent":
        return {"role": "user", "content": event.get("summary")}
    return _result(event, kind) if kind in RESULTS else None


def _thinking(message: Message, source: dict[str, Any]) -> Message:
    """The message with its reasoning where readers look for it."""
    blocks = source.get("thinking_blocks")
    item = source.get("responses_reasoning_item")
    found = source.get("reasoning_content")
    rest = {key: message[key] for key in ("role", "content", "tool_calls") if message.get(key)}
    if found:
        return {**rest, "content": message.get("content"), "reasoning_content": found}
    thoughts = list(blocks) if isinstance(blocks, list) else []
    if isinstance(item, dict):
        thoughts.append({**item, "type": "reasoning"})
    if not thoughts:
        return {**rest, "content": message.get("content")}
    return {**rest, "content": [*thoughts, *_parts(message.get("content"))]}


def _result(event: dict[str, Any], kind: str) -> Message:
    said = event.get("observation")
    if kind == "AgentErrorEvent":
        said = event.get("error")
    elif kind == "UserRejectObservation":
        said = event.get("rejection_reason")
    elif isinstance(said, dict):
        said = next((said[key] for key in TEXTS if said.get(key)), to_text(said))
    parts = _parts(said) + _parts(event.get("extended_content"))
    named = {"name": event.get("tool_name"), "tool_call_id": event.get("tool_call_id")}
    known = {key: value for key, value in named.items() if value is not None}
    return {"role": "tool", "content": _plain(parts), **known}


def _parts(value: Any) -> list[Any]:
    """Content as a list of parts: texts without the SDK's marks, each image a part of its own."""
    parts = value if isinstance(value, list) else [value]
    out: list[Any] = []
    for part in parts:
        urls = part.get("image_urls") if isinstance(part, dict) else None
        if isinstance(urls, list):
            out += [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        elif kind_of(part) == "text" and isinstance(part.get("text"), str):
            out.append({"type": "text", "text": part["text"]})
        elif isinstance(part, str) and part:
            out.append({"type": "text", "text": part})
        elif part:
            out.append(part)
    return out


def _plain(parts: list[Any]) -> Any:
    """Parts as content: a single text as a string."""
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], dict) and isinstance(parts[0].get("text"), str):
        return parts[0]["text"]
    return parts
