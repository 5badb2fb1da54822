"""Langfuse: exports of traces and observations, whose inputs and outputs are JSON in strings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from course_lib.traces import langchain
from course_lib.traces.chat import as_id, unwrapped
from course_lib.traces.exchange import read_exchange, said, whole_first
from course_lib.traces.gemini import camel_keys
from course_lib.traces.otel_requests import request_of, tools_of
from course_lib.traces.otel_spans import Span, tree
from course_lib.transcript import Transcript

NAME = "Langfuse traces"

Row = dict[str, Any]

TYPES = {
    "AGENT", "CHAIN", "EMBEDDING", "EVALUATOR", "EVENT", "GENERATION", "GUARDRAIL", "RETRIEVER",
    "SPAN", "TOOL",
}  # fmt: skip
OWN_KEYS = {"traceId", "parentObservationId", "startTime", "usageDetails", "modelParameters"}
TRACE_KEYS = {"sessionId", "userId", "projectId", "htmlPath", "release", "bookmarked"}


def recognise(document: Any) -> bool:
    """True for a trace with its observations, for a list of observations, and for one alone."""
    rows = list(_observations(document))
    return bool(rows) or (isinstance(document, dict) and _is_trace(document))


def read(document: Any) -> list[Transcript]:
    """The runs in a document that `recognise` knows, those of a trace after each other."""
    traces: dict[str, list[Row]] = defaultdict(list)
    for row in _observations(document):
        traces[as_id(row.get("traceId")) or ""].append(row)
    holder = document if isinstance(document, dict) else {}
    about = holder.get("trace") if isinstance(holder.get("trace"), dict) else holder
    about = camel_keys(about) if _is_trace(about) else {}
    if not traces:
        traces[""] = []
    return [run for rows in traces.values() for run in _read_trace(about, rows)]


# ---- finding --------------------------------------------------------------------------------


def _is_observation(row: Any) -> bool:
    if not isinstance(row, dict) or str(row.get("type")).upper() not in TYPES:
        return False
    keys = set(camel_keys(dict.fromkeys(row, 0)))
    return bool(keys & OWN_KEYS) and bool(keys & {"input", "output", "metadata"})


def _is_trace(row: Row) -> bool:
    keys = set(camel_keys(dict.fromkeys(row, 0)))
    return "input" in keys and "output" in keys and len(keys & TRACE_KEYS) > 1


def _observations(document: Any) -> Iterator[Row]:
    """The observations in a document, in the order of their time, keys in camel case."""
    rows = document if isinstance(document, list) else [document]
    if isinstance(document, dict):
        for key in ("observations", "data"):
            if isinstance(document.get(key), list):
                rows = document[key]
                break
    known = [camel_keys(row) for row in rows if _is_observation(row)]
    if known and len(rows) <= 2 * len(known):
        yield from sorted(known, key=lambda row: str(row.get("startTime") or ""))


# ---- reading --------------------------------------------------------------------------------


def _read_trace(about: Row, rows: list[Row]) -> list[Transcript]:
    """The runs of a trace: the states of its graph, and the requests that these don't hold."""
    asked = [row for row in rows if str(row["type"]).upper() == "GENERATION"]
    around = [row for row in rows if str(row["type"]).upper() != "GENERATION"]
    states = langchain.read_lists(_states([about, *around, about]))
    runs = whole_first([run for row in asked if (run := _read_row(row))])
    if states:
        runs = _beside(states, runs)
    if not runs:
        runs = [run for row in (*around, about) if (run := _read_row(row))][:1]
    return [replace(run, format=NAME) for run in runs]


def _states(rows: list[Row]) -> Iterator[list[Row]]:
    """The lists of LangChain's messages that the steps of a graph were given and gave back.

    The trace comes first and last: it knows how the run began and how it ended.
    """
    for number, row in enumerate(rows):
        sides = (row.get("input"), row.get("output"))
        sides = sides[:1] if not number else sides[1:] if number == len(rows) - 1 else sides
        for side in map(unwrapped, sides):
            if isinstance(side, dict) and "messages" in side:
                yield from langchain.found(side)


def _beside(states: list[Transcript], runs: list[Transcript]) -> list[Transcript]:
    """The states, with what the requests knew beside them, and the requests that none holds."""
    held = {said(message) for state in states for message in state.messages}
    apart = [run for run in runs if said(run.messages[-1]) not in held]
    inside = [run for run in runs if said(run.messages[-1]) in held]
    model = next((run.model for run in inside if run.model), None)
    tools = next((run.tools for run in inside if run.tools), ())
    states = [replace(s, model=s.model or model, tools=s.tools or tools) for s in states]
    return [*states, *apart]


def _read_row(row: Row) -> Transcript | None:
    """The run that an observation's input and output are; of those without, its attributes."""
    asked, answered = unwrapped(row.get("input")), unwrapped(row.get("output"))
    metadata = unwrapped(row.get("metadata"))
    attributes = unwrapped(metadata.get("attributes")) if isinstance(metadata, dict) else None
    attributes = tree(attributes) if isinstance(attributes, dict) else {}
    settings = unwrapped(row.get("modelParameters"))
    settings = settings if isinstance(settings, dict) else {}
    usage = row.get("usageDetails") or row.get("usage")
    if not asked:
        told = request_of(Span(attributes=attributes))
        return read_exchange(**told) if told else None
    return read_exchange(
        asked,
        answered,
        tools=settings.get("tools") or tools_of(attributes),
        model=row.get("model"),
        usage=unwrapped(usage),
    )
