"""Spans and log records, out of the several ways in which OpenTelemetry's JSON holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from course_lib.traces.chat import as_id, as_json

# What holds spans, from the outside in.
HOLDERS = {
    "batches", "data", "instrumentationlibraryspans", "logrecords", "logs", "resourcelogs",
    "resourcespans", "scopelogs", "scopespans", "spans", "trace", "traces",
}  # fmt: skip
STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "startTimeUnix")
TIMES = ("timeUnixNano", "time_unix_nano", "timestamp", "observedTimeUnixNano")
DEEPEST = 8
COLUMN = "attributes."  # before the names of attributes that are columns of a table


@dataclass
class Span:
    """A span: its trace, when it began, its attributes as a tree, its events by name."""

    trace: str = ""
    start: tuple[float, str] = (0, "")
    attributes: dict[str, Any] = field(default_factory=dict)
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


def spans_in(document: Any) -> Iterator[Span]:
    """The spans in a document; log records that share a span are one."""
    records: dict[tuple[str, str], Span] = {}
    for raw in _raw_spans(document, DEEPEST):
        if _is_record(raw):
            key = (_trace(raw), str(raw.get("spanId") or raw.get("span_id") or ""))
            span = records.setdefault(key, Span(key[0], _time(raw, TIMES)))
            span.events.append(_event(raw))
        else:
            events = raw.get("events") or raw.get("logs")
            events = [e for e in events if isinstance(e, dict)] if isinstance(events, list) else []
            yield Span(_trace(raw), _time(raw, STARTS), _attributes(raw), list(map(_event, events)))
    yield from records.values()


def _raw_spans(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if isinstance(value, list) and depth:
        for item in value:
            if isinstance(item, dict):
                yield from _raw_spans(item, depth - 1)
    elif isinstance(value, dict) and depth:
        if _is_span(value) or _is_record(value):
            yield value
            return
        for key, item in value.items():
            if isinstance(item, list | dict) and key.replace("_", "").lower() in HOLDERS:
                yield from _raw_spans(item, depth - 1)


def _is_span(row: dict[str, Any]) -> bool:
    """True for an object with a span's attributes and its place in a trace or its time."""
    if "attributes" not in row and "tags" not in row and not any(map(_is_column, row)):
        return False
    return any(_trace_of(row)) or any(key in row for key in STARTS)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a row of a table, in which each is a column."""
    return {key.removeprefix(COLUMN): row[key] for key in row if _is_column(key)}


def _is_column(key: str) -> bool:
    return key.startswith(COLUMN)


def _is_record(row: dict[str, Any]) -> bool:
    named = "eventName" in row or "event_name" in row
    if not named and not ("body" in row and "attributes" in row):
        return False
    return any(key in row for key in TIMES)


# ---- one span -------------------------------------------------------------------------------


def _trace_of(row: dict[str, Any]) -> tuple[Any, ...]:
    context = row.get("context") or row.get("spanContext")
    context = context if isinstance(context, dict) else {}
    keys = ("traceId", "trace_id", "traceID")
    return (
        row.get("context.trace_id"),
        *(holder.get(key) for holder in (row, context) for key in keys),
    )


def _trace(row: dict[str, Any]) -> str:
    return next((as_id(id) or "" for id in _trace_of(row) if id), "")


def _time(row: dict[str, Any], keys: tuple[str, ...]) -> tuple[float, str]:
    """A time to sort by: a number, or a text that sorts as it stands; JavaScript's are pairs."""
    time = next((row[key] for key in keys if row.get(key) is not None), "")
    if isinstance(time, list) and all(isinstance(part, int | float) for part in time):
        time = sum(part * scale for part, scale in zip(time, (1, 1e-9), strict=False))
    if isinstance(time, str) and time.isdigit():
        time = int(time)
    return (time, "") if isinstance(time, int | float) else (0, str(time))


def _attributes(row: dict[str, Any]) -> dict[str, Any]:
    return tree({**_pairs(row.get("attributes") or row.get("tags")), **_flat(row)})


def _pairs(raw: Any) -> dict[str, Any]:
    """Attributes as an object, also where they are a list of keys and values."""
    raw = as_json(raw)
    if isinstance(raw, dict):
        return {str(key): _plain(value) for key, value in raw.items()}
    rows = [row for row in raw if isinstance(row, dict)] if isinstance(raw, list) else []
    return {str(row["key"]): _plain(row.get("value")) for row in rows if "key" in row}


def _plain(value: Any) -> Any:
    """A value out of OTLP's wrapping, which names its type."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    kind, inner = next(iter(value.items()))
    kind = str(kind).replace("_", "").lower()
    if kind in ("stringvalue", "boolvalue", "doublevalue", "bytesvalue"):
        return inner
    if kind == "intvalue":
        return int(inner) if str(inner).lstrip("-").isdigit() else inner
    if kind == "arrayvalue":
        values = inner.get("values") if isinstance(inner, dict) else inner
        return [_plain(item) for item in values or ()]
    if kind == "kvlistvalue":
        return _pairs(inner.get("values") if isinstance(inner, dict) else inner)
    return value


def _event(row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """An event's name, and what it says: its attributes and its body."""
    said = _pairs(row.get("attributes") or row.get("fields"))
    body = as_json(_plain(row.get("body")))
    if isinstance(body, dict):
        said |= {key: _plain(value) for key, value in body.items()}
    elif body is not None:
        said.setdefault("content", body)
    name = row.get("eventName") or row.get("event_name") or said.get("event.name")
    return str(name or row.get("name") or said.get("event") or ""), said


def tree(flat: dict[str, Any]) -> dict[str, Any]:
    """Attributes with dots in their keys as a tree; numbers as keys make lists."""
    out: dict[str, Any] = {}
    for key, value in flat.items():
        *path, last = str(key).split(".")
        at = out
        for step in path:
            inner = at.get(step)
            if not isinstance(inner, dict):
                inner = at[step] = {} if inner is None else {"": inner}
            at = inner
        value = _branches(value)
        held = at.get(last)
        if isinstance(held, dict):
            at[last] = {**held, **value} if isinstance(value, dict) else {**held, "": value}
        else:
            at[last] = value
    return {key: _listed(value) for key, value in out.items()}


def _branches(value: Any) -> Any:
    if isinstance(value, dict):
        return tree(value)
    return [_branches(item) for item in value] if isinstance(value, list) else value


def _listed(value: Any) -> Any:
    """A branch whose keys are all numbers as a list in their order."""
    if not isinstance(value, dict):
        return value
    inner = {key: _listed(item) for key, item in value.items()}
    if inner and all(key.isdecimal() for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    return inner


def at(branch: Any, path: str) -> Any:
    """The value at a path of a tree; None for none."""
    for step in path.split("."):
        branch = branch.get(step) if isinstance(branch, dict) else None
    return branch.get("", branch) if isinstance(branch, dict) else branch
