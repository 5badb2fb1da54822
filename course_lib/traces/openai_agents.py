"""OpenAI Agents SDK: exported spans, run results and states, rows of a stored session.

What these hold is items of the Responses interface, each in a wrapping of the SDK's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from course_lib.traces.building import answer_message, result_message
from course_lib.traces.chat import Message, as_id, as_json, kind_of, to_text, tool_call, transcript
from course_lib.traces.exchange import read_exchange, whole_first
from course_lib.traces.responses import read_items
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "OpenAI Agents SDK"

Row = dict[str, Any]

ITEM_KEYS = ("new_items", "newItems", "generated_items", "generatedItems", "items")
INPUT_KEYS = ("input", "original_input", "originalInput")
HOLDER_KEYS = ("data", "spans", "agent_messages", "messages", "items")

ONLY_TOOLS = (
    "The trace names the model's answers by their ids only: what is here are the calls of tools "
    "and their results."
)


def recognise(document: Any) -> bool:
    """True for spans with `span_data`, for a run's result or state, for rows of a session."""
    return bool(_spans(document) or _items(document))


def read(document: Any) -> list[Transcript]:
    """The runs in a document that `recognise` knows, those of a trace after each other."""
    if not _spans(document):
        sessions = _sessions(document)
        several = len(sessions) > 1
        return [
            _read_items(document, items, name if several else "")
            for name, items in sessions.items()
        ]
    traces: dict[str, list[Row]] = defaultdict(list)
    for span in sorted(_spans(document), key=lambda span: str(span.get("started_at") or "")):
        traces[as_id(span.get("trace_id")) or ""].append(span)
    return [run for spans in traces.values() for run in _read_trace(spans)]


def _read_items(document: Any, items: list[Any], name: str) -> Transcript:
    notes = NotesTaken()
    messages = read_items([*_input(document), *items], notes)
    return transcript(messages, NAME, notes, name=name, usage=_usage(document))


# ---- finding --------------------------------------------------------------------------------


def _rows(document: Any) -> Iterator[Row]:
    """The rows of a document: the list that it is or holds."""
    if isinstance(document, dict):
        held = (document.get(key) for key in HOLDER_KEYS)
        document = next((value for value in held if isinstance(value, list)), [document])
    yield from (
        (row for row in document if isinstance(row, dict)) if isinstance(document, list) else ()
    )


def _spans(document: Any) -> list[Row]:
    spans = [row for row in _rows(document) if isinstance(row.get("span_data"), dict)]
    return spans if any(_is_told(span["span_data"]) for span in spans) else []


def _is_told(data: Row) -> bool:
    """True for a span that says what was asked or what a tool did."""
    return kind_of(data) == "function" or bool(_asked(data))


def _asked(data: Row) -> Any:
    named = kind_of(data) in ("response", "generation")
    return next((data[key] for key in ("input", "_input") if named and data.get(key)), None)


def _held_items(document: Any) -> list[Any]:
    """The rows that may hold items: those under the keys of a run, or those of a session."""
    held = (document.get(key) for key in ITEM_KEYS) if isinstance(document, dict) else ()
    rows = next((value for value in held if isinstance(value, list)), None)
    return rows or (document if isinstance(document, list) else list(_rows(document)))


def _items(document: Any) -> list[Row]:
    """The rows with an item in its wrapping; none if they are fewer than half."""
    rows = _held_items(document)
    known = [row for row in rows if _item(row)]
    return known if len(rows) <= 2 * len(known) else []


def _sessions(document: Any) -> dict[str, list[Row]]:
    """The items out of their wrapping, those of each session together."""
    sessions: dict[str, list[Row]] = defaultdict(list)
    for row in _items(document):
        sessions[as_id(row.get("session_id")) or ""].append(_item(row) or {})
    return sessions


def _item(row: Any) -> Row | None:
    """The item in a row: `raw_item` of a run's items, `message_data` of a session's."""
    if not isinstance(row, dict):
        return None
    raw = row.get("raw_item") or row.get("rawItem") or as_json(row.get("message_data"))
    if not isinstance(raw, dict):
        return None
    item = {("call_id" if key == "callId" else key): value for key, value in raw.items()}
    if kind_of(item) == "function_call_result":  # the name that the SDK for JavaScript has for it
        item["type"] = "function_call_output"
    if kind_of(item) == "function_call_output" and isinstance(item.get("output"), dict):
        item["output"] = item["output"].get("text", item["output"])
    return item


def _input(document: Any) -> list[Any]:
    held = (document.get(key) for key in INPUT_KEYS) if isinstance(document, dict) else ()
    value = next(filter(None, held), None)
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    return value if isinstance(value, list) else []


def _usage(document: Any) -> Any:
    keys = ("raw_responses", "rawResponses", "model_responses", "modelResponses")
    held = (document.get(key) for key in keys) if isinstance(document, dict) else ()
    answers = next((value for value in held if isinstance(value, list)), [])
    return next(
        (a["usage"] for a in reversed(answers) if isinstance(a, dict) and a.get("usage")), None
    )


# ---- spans ----------------------------------------------------------------------------------


def _read_trace(spans: list[Row]) -> list[Transcript]:
    told = [span["span_data"] for span in spans]
    runs = [run for data in told if (run := _read_span(data))]
    if runs:
        return whole_first([replace(run, format=NAME) for run in runs])
    notes = NotesTaken()
    messages = [m for data in told if kind_of(data) == "function" for m in _tool(data, notes)]
    if messages:
        notes.add(ONLY_TOOLS)
    return [transcript(messages, NAME, notes)] if messages else []


def _read_span(data: Row) -> Transcript | None:
    if not _asked(data):
        return None
    keys = ("response", "_response", "output")
    answered = next((data[key] for key in keys if data.get(key)), None)
    model, usage = data.get("model"), data.get("usage")
    return read_exchange(_asked(data), answered, model=model, usage=usage)


def _tool(data: Row, notes: NotesTaken) -> list[Message]:
    call = tool_call(None, data.get("name"), data.get("input"))
    result = data.get("output")
    asked = answer_message([], notes, calls=[call])
    return [asked, result_message(None if result is None else to_text(result), notes)]
