"""OpenTelemetry: the requests to models among the spans and events of a trace.

Spans are read from OTLP's JSON, from lists of spans and from what consoles print, in any order.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

from course_lib.traces.exchange import read_exchange, whole_first
from course_lib.traces.otel_requests import is_request, request_of
from course_lib.traces.otel_spans import Span, spans_in
from course_lib.transcript import Transcript

NAME = "OpenTelemetry traces"


def recognise(document: Any) -> bool:
    """True for spans or log records of which one says what a model was sent."""
    return any(request_of(span) for span in spans_in(document))


def read(document: Any) -> list[Transcript]:
    """The runs in a document that `recognise` knows, those of a trace after each other."""
    traces: dict[str, list[Span]] = defaultdict(list)
    for span in spans_in(document):
        traces[span.trace].append(span)
    return [run for spans in traces.values() for run in _read_trace(spans)]


def _read_trace(spans: list[Span]) -> list[Transcript]:
    told = [span for span in spans if request_of(span)]
    asked = [span for span in told if is_request(span)] or told
    found = (read_exchange(**request_of(s)) for s in sorted(asked, key=lambda s: s.start))
    runs = [replace(run, format=NAME) for run in found if run]
    return whole_first(runs)
