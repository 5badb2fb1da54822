"""Google ADK: sessions of events, each with contents of Gemini's; evaluation sets of such."""

from __future__ import annotations

from typing import Any

from course_lib.traces import gemini
from course_lib.traces.chat import Message, transcript
from course_lib.traces.gemini import camel_keys
from course_lib.traces.openai_chat import NOT_A_MESSAGE
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "Google ADK sessions"

Row = dict[str, Any]

EVENT_KEYS = {"actions", "invocationId", "longRunningToolIds", "branch", "timestamp", "partial"}

PARTIAL = (
    "An event that holds a part of an answer is left out: the whole answer follows.",
    "{n} events that hold parts of answers are left out: the whole answers follow.",
)
NO_CONTENT = (
    "An event that says nothing (a change of state, an error) is left out.",
    "{n} events that say nothing (changes of state, errors) are left out.",
)


def recognise(document: Any) -> bool:
    """True for a list of events, for a session that holds one, and for a case of an evaluation."""
    return bool(_events(document))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows."""
    notes = NotesTaken()
    messages: list[Message] = []
    usage = model = None
    for number, row in enumerate(_events(document), 1):
        if not _is_event(row):
            notes.add(*NOT_A_MESSAGE, where=number)
            continue
        event = camel_keys(row)
        usage = event.get("usageMetadata") or usage
        model = event.get("modelVersion") or model
        if event.get("partial") is True:
            notes.add(*PARTIAL)
        elif not _content(event):
            notes.add(*NO_CONTENT)
        else:
            messages += gemini.read_contents([_content(event)], notes)
    return [transcript(messages, NAME, notes, usage=usage, model=model)]


def _content(event: Row) -> Row | None:
    """What an event says; its author stands in where the role is missing."""
    content = event.get("content")
    if not isinstance(content, dict) or not content.get("parts"):
        return None
    role = content.get("role") or ("user" if event.get("author") == "user" else "model")
    content = {**content, "role": role}
    return content if gemini.is_contents([content]) else None


def _is_event(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("author"), str):
        return False
    return not EVENT_KEYS.isdisjoint(camel_keys(dict.fromkeys(row, 0)))


def _events(document: Any) -> list[Any]:
    """The events of a document; an evaluation's turns are written as events."""
    rows = document
    if isinstance(document, dict):
        rows = document.get("events")
        turns = document.get("conversation")
        if not rows and isinstance(turns, list):
            rows = [event for turn in turns if isinstance(turn, dict) for event in _turn(turn)]
    if not isinstance(rows, list):
        return []
    known = [row for row in rows if isinstance(row, dict) and "author" in row and _is_event(row)]
    told = any(_content(camel_keys(row)) for row in known)
    return rows if told and len(rows) <= 2 * len(known) else []


def _turn(turn: Row) -> list[Row]:
    """The events of a turn of an evaluation: what was asked, what tools did, what was answered."""
    turn = camel_keys(turn)
    asked, answered = turn.get("userContent"), turn.get("finalResponse")
    if not isinstance(asked, dict):
        return []
    between = turn.get("intermediateData")
    between = camel_keys(between) if isinstance(between, dict) else {}
    calls = [{"functionCall": call} for call in between.get("toolUses") or ()]
    results = [{"functionResponse": result} for result in between.get("toolResponses") or ()]
    contents = [
        ("user", asked),
        ("model", {"role": "model", "parts": calls}),
        ("model", {"role": "user", "parts": results}),
        ("model", answered),
    ]
    return [
        {"author": who, "actions": {}, "content": c} for who, c in contents if c and c.get("parts")
    ]
