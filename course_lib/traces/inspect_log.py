"""Inspect: the log of an evaluation as JSON, with a talk for each sample and epoch.

The `.eval` files that it writes too are zip archives: out of reach until they are unpacked; then
each file in their folder `samples` is read here, being one sample.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from course_lib.traces.chat import (
    Message,
    as_id,
    as_json,
    kind_of,
    rows_in,
    to_text,
    tool_schemas,
    transcript,
    with_notes,
)
from course_lib.traces.openai_chat import is_message_list, read_rows, role_of
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "Inspect"

ATTACHED = "attachment://"
LOG_KEYS = {"eval", "samples"}
SAMPLE_KEYS = {"epoch", "target", "scores", "attachments", "model_usage"}

NOTHING_SAID = (
    "Nothing was said in {where}: left out.",
    "Nothing was said in {n} samples: {where}: left out.",
)
NOT_ATTACHED = (
    "A text or file that stands elsewhere in the log ({where}) isn't in this file.",
    "{n} texts or files that stand elsewhere in the log aren't in this file.",
)
OWN_TOOL = (
    "A call of a tool that the provider runs itself ({where}) is kept as text of the answer.",
    "{n} calls of tools that the provider runs itself ({where}) are kept as text of the answers.",
)
ERROR = "The sample stopped with an error: {where}"
ERROR_LENGTH = 200


def recognise(document: Any) -> bool:
    """True for a log with samples, and for one of its samples."""
    if not isinstance(document, dict):
        return False
    log = document.keys() >= LOG_KEYS and isinstance(document["eval"], dict)
    return (log and any(map(_said, _samples(document)))) or _is_sample(document)


def read(document: Any) -> list[Transcript]:
    """The runs in a log, each named by its sample and epoch."""
    notes = NotesTaken()
    holder = document.get("eval")
    model = holder.get("model") if isinstance(holder, dict) else None
    runs = []
    for sample in [document] if _is_sample(document) else _samples(document):
        run = _read_sample(sample)
        if run.messages:
            runs.append(run if run.model else replace(run, model=to_text(model) if model else None))
        else:
            notes.add(*NOTHING_SAID, where=run.name)
    return with_notes(runs, notes)


def _samples(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [sample for _, sample in rows_in(as_json(document.get("samples")) or [])]


def _said(sample: dict[str, Any]) -> list[Any]:
    messages = as_json(sample.get("messages"))
    return messages if is_message_list(messages) else []


def _is_sample(document: dict[str, Any]) -> bool:
    return len(SAMPLE_KEYS & document.keys()) > 1 and "id" in document and bool(_said(document))


# ---- reading --------------------------------------------------------------------------------


def _read_sample(sample: dict[str, Any]) -> Transcript:
    notes = NotesTaken()
    attached = sample.get("attachments")
    rows = _with_attachments(_said(sample), attached if isinstance(attached, dict) else {}, notes)
    messages = read_rows([_as_chat(row, notes) for row in rows], notes)
    error = sample.get("error")
    if error:
        text = error.get("message") if isinstance(error, dict) else error
        notes.add(ERROR, where=to_text(text)[:ERROR_LENGTH])
    call = _last_call(sample)
    output = next(
        (o for o in (call.get("output"), sample.get("output")) if isinstance(o, dict)), {}
    )
    return transcript(
        messages,
        "Inspect sample",
        notes,
        name=_name(sample),
        tools=tool_schemas(call.get("tools")),
        model=output.get("model") or call.get("model"),
        usage=output.get("usage"),
    )


def _name(sample: dict[str, Any]) -> str:
    parts = (("sample", as_id(sample.get("id"))), ("epoch", as_id(sample.get("epoch"))))
    return " ".join(f"{key} {value}" for key, value in parts if value is not None)


def _last_call(sample: dict[str, Any]) -> dict[str, Any]:
    """The last event in which the model was called: it knows the tools."""
    events = [event for _, event in rows_in(sample.get("events") or [])]
    calls = [event for event in events if event.get("event") == "model"]
    return calls[-1] if calls else {}


def _with_attachments(value: Any, attached: dict[str, Any], notes: NotesTaken) -> Any:
    """A value with the texts that the log keeps apart, because they are long, in their places."""
    if isinstance(value, str) and value.startswith(ATTACHED):
        found = attached.get(value.removeprefix(ATTACHED))
        if found is None:
            notes.add(*NOT_ATTACHED, where=value[:40])
        return value if found is None else found
    if isinstance(value, list):
        return [_with_attachments(item, attached, notes) for item in value]
    if isinstance(value, dict):
        return {key: _with_attachments(item, attached, notes) for key, item in value.items()}
    return value


def _as_chat(row: Any, notes: NotesTaken) -> Any:
    """A message of the log with what Inspect names otherwise under chat's names."""
    if not isinstance(row, dict):
        return row
    message: Message = {key: value for key, value in row.items() if key != "function"}
    if isinstance(row.get("content"), list):
        message["content"] = [_as_part(part, notes) for part in row["content"]]
    if role_of(row) != "tool":
        message.pop("tool_call_id", None)
        return message
    if isinstance(row.get("function"), str):
        message["name"] = row["function"]
    error = row.get("error") or row.get("tool_error")
    if error:
        text = error.get("message") if isinstance(error, dict) else error
        content = message.get("content")
        parts = content if isinstance(content, list) else [content] if content else []
        told = f"Error: {to_text(text)}"
        message.update(content=[told, *parts] if parts else told, is_error=True)
    return {key: value for key, value in message.items() if key not in ("error", "tool_error")}


def _as_part(part: Any, notes: NotesTaken) -> Any:
    """A part of content: hidden reasoning by its summary, a tool of the provider's as text."""
    kind = kind_of(part)
    if kind == "reasoning" and part.get("redacted"):
        return {"type": "reasoning", "summary": part.get("summary"), "data": part.get("reasoning")}
    if kind == "tool_use":
        notes.add(*OWN_TOOL, where=to_text(part.get("name") or part.get("tool_type") or "no name"))
        told = {key: part[key] for key in ("arguments", "result", "error") if part.get(key)}
        return {"type": "text", "text": f"[{part.get('name')}: {to_text(told)}]"}
    return part
