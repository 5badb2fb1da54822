"""Summarisers: functions from the dropped messages to a short note.

In production this is a cheap model call: `summarize_with` makes one. The others are plain
functions, so that a lesson runs without a model and gives the same note each time. The best of
them, `structured`, has a module of its own, `extraction`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from course_lib.audits import Audit, audit
from course_lib.extraction import structured
from course_lib.messages import Message, calls_of, system, text_of, user
from course_lib.models import Model, prompt_text
from course_lib.notes import Note, fit, merge, parse_note
from course_lib.values import exact_values

# All that belongs to summaries can be had from here.
__all__ = [
    "Audit",
    "SUMMARY_PROMPT",
    "Note",
    "audit",
    "call_log",
    "careless",
    "exact_values",
    "facts_only",
    "findings_in",
    "fit",
    "is_hit",
    "merge",
    "parse_note",
    "structured",
    "summarize_with",
]


# The sections are the document's. A small model copies an example's values into its own note
# (lesson 5 shows one that did), so the prompt gives the form and no example.
SUMMARY_PROMPT = """\
Write the hand-off note for an agent that will go on with this work and sees nothing but your note.
Use these six sections, in this order, each starting with its name and a colon:
Goal: the original request and every constraint, in the user's own words.
Done: the steps completed, each with its result in one line.
Facts: exact identifiers, names, figures and dates with their sources. Copy them; never paraphrase.
Decisions: choices made, with the reason.
Open items: what is still unknown or in progress.
Next step: the very next action.
Write "none" under a section that has nothing. Use only what stands in the transcript: if a value
isn't in it, it isn't in your note. Give early steps the same room as late ones."""


def summarize_with(model: Model, prompt: str = SUMMARY_PROMPT) -> Callable[[list[Message]], str]:
    """A summariser that asks a model: the prompt as system message, the transcript as one text.

    What the model raises passes through; `trim` and `Context` then leave the history as it was.
    """

    def summarize(messages: list[Message]) -> str:
        transcript = f"The transcript:\n\n{prompt_text(messages)}"
        return text_of(model([system(prompt), user(transcript)], []))

    return summarize


def facts_only(dropped: Sequence[Message]) -> str:
    """The document's summariser: how many hours were searched, and what was found.

    Reads results that are JSON objects with a `finding`; other messages say nothing to it.
    """
    found = findings_in(dropped)
    hours = [f for f in found if "hour" in f]
    hits = [": ".join(filter(None, [place_of(f), f["finding"]])) for f in found if is_hit(f)]
    return f"searched {len(hours)} hours; findings: {'; '.join(hits) or 'none'}"


def findings_in(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The results that are JSON objects with a `finding`, parsed, in order."""
    found = []
    for message in messages:
        if message["role"] != "tool":
            continue
        try:
            result = json.loads(text_of(message))
        except (ValueError, RecursionError):
            continue
        if isinstance(result, dict) and "finding" in result:
            found.append(result)
    return found


def place_of(result: dict[str, Any]) -> str:
    """Where a result was found: its hour, or its source, or nothing."""
    return result.get("hour") or result.get("source") or ""


def is_hit(result: dict[str, Any]) -> bool:
    """True for a result that found something."""
    return result["finding"] != "no errors"


def call_log(dropped: Sequence[Message]) -> str:
    """A summariser for any transcript: which tools were called, how often. It keeps no facts."""
    names = Counter(call.name for m in dropped for call in calls_of(m))
    asked = sum(m["role"] == "user" for m in dropped)
    parts = [f"{name} x{n}" for name, n in names.items()]
    if asked:
        parts.append(f"{asked} user messages")
    return f"{len(dropped)} messages; " + (", ".join(parts) or "no calls")


def careless(messages: Sequence[Message]) -> str:
    """What "summarise the conversation so far" brings: a pleasant text, and nothing to act on."""
    used = "used its tools" if any(map(calls_of, messages)) else "talked it over"
    return (
        f"The agent looked into the request, {used}, found a few things that may explain it and "
        "is close to an answer."
    )
