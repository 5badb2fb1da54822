"""Which family of formats a document belongs to, and where in it the runs stand.

A family is a module with `NAME`, `recognise(document) -> bool` (by content, never by file name)
and `read(document) -> list[Transcript]`. A document is the JSON of a file, or a part of it.
"""

from __future__ import annotations

from typing import Any

from course_lib.traces import (
    adk,
    anthropic,
    bedrock,
    claude_code,
    cline,
    codex,
    gemini,
    gemini_cli,
    genai,
    hf_rows,
    inspect_log,
    langchain,
    langfuse,
    llama_index,
    openai_agents,
    openai_chat,
    openhands,
    openhands_sdk,
    otel,
    pydantic_ai,
    responses,
    semantic_kernel,
    sharegpt,
    swe_agent,
    tau_bench,
    vercel,
)
from course_lib.traces.chat import as_json
from course_lib.traces.progress import Told, part, silent
from course_lib.traces.rows import Rows, taken
from course_lib.traces.wording import NotesTaken, listed
from course_lib.transcript import Transcript

# The first that recognises a document reads it: what is more particular comes first.
FAMILIES = (
    langfuse,
    otel,
    openai_agents,
    adk,
    pydantic_ai,
    semantic_kernel,
    langchain,
    llama_index,
    genai,
    vercel,
    bedrock,
    claude_code,
    codex,
    gemini_cli,
    openhands,
    openhands_sdk,
    inspect_log,
    tau_bench,
    swe_agent,
    cline,
    sharegpt,
    gemini,
    responses,
    hf_rows,
    anthropic,
    openai_chat,
)

KNOWN = 0.5  # the share of the work that is done when it is known who reads a long log

# How far below the top of a file runs are looked for.
DEEPEST = 5

NOTHING_IN_ROW = (
    "Row {where} of the file holds no run that is understood: left out.",
    "Rows {where} of the file hold no runs that are understood: left out.",
)


def read_document(document: Any, told: Told = silent) -> tuple[list[Transcript], tuple[str, ...]]:
    """The runs in a document, and notes on the parts of it without one. Both empty for none.

    A document that no family knows is searched: each of its rows or values may be a document. A
    list in which fewer than half of the rows are understood isn't understood at all, since a
    run that is read in part looks like a whole one. `told` hears what share of the work is done.
    """
    notes = NotesTaken()
    document = as_json(document)
    if isinstance(document, Rows):
        document.told = part(told, KNOWN, 1)
    runs = _runs(document, DEEPEST, notes, part(told, 0, KNOWN))
    if not runs and isinstance(document, dict):
        runs = _runs([document], 0, notes)
    return runs, notes.sentences() if runs else ()


def understood() -> str:
    """The families by name, for the sentence that says what can be read."""
    return listed([family.NAME for family in reversed(FAMILIES)], most=len(FAMILIES))


def _runs(document: Any, depth: int, notes: NotesTaken, told: Told = silent) -> list[Transcript]:
    for number, family in enumerate(FAMILIES):
        told(number / len(FAMILIES))
        if family.recognise(document):
            return family.read(document)
    if not depth or not isinstance(document, dict | list):
        return []
    if isinstance(document, dict):
        return [run for value in document.values() for run in _runs(value, depth - 1, notes)]
    found = [_runs(row, depth - 1, notes) for row in taken(document)]
    without = [number for number, runs in enumerate(found, 1) if not runs]
    if len(without) * 2 > len(found):
        return []
    if depth == DEEPEST:
        for number in without:
            notes.add(*NOTHING_IN_ROW, where=number)
    return [run for runs in found for run in runs]
