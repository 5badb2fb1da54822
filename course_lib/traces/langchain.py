"""LangChain messages in their three spellings, and what holds them: states, steps, traces.

A message is `{"type": "ai", "data": …}`, `{"type": "ai", "content": …}` or a constructor with
`lc`. LangGraph writes its list of messages again at each step: it is read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from course_lib.traces.chat import as_id, as_json, to_text, tool_schemas, transcript
from course_lib.traces.langchain_messages import read_messages
from course_lib.traces.openai_chat import find_tools, is_message_list
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "LangChain"

Row = dict[str, Any]

KINDS = {"human", "ai", "system", "tool", "function", "chat", "developer", "remove"}
# What stands among messages and is none.
UNKNOWN = "?"
# Lists that begin with one of these go on from what came before.
GO_ON = {"ai", "tool", "function"}
# Under which keys JSON may stand as a string.
PACKED = {
    "message", "messages", "history", "values", "checkpoint", "data", "input", "inputs", "output",
    "outputs", "channel_values",
}  # fmt: skip
DEEPEST = 7
LOOKED_AT = 50

READ_ONCE = (
    "A step of the graph repeats the messages before it: read once.",
    "{n} steps of the graph repeat the messages before them: read once.",
)


def recognise(document: Any) -> bool:
    """True for a list of LangChain messages, and for what holds one: a state, steps, a trace."""
    if is_message_list(document):
        return False
    if isinstance(document, dict) and is_message_list(document.get("messages")):
        return False
    shown = document[:LOOKED_AT] if isinstance(document, list) else document
    return any(any(row["kind"] in ("human", "ai") for row in rows) for rows in found(shown))


def read(document: Any) -> list[Transcript]:
    """The runs in a document that `recognise` knows."""
    return read_lists(found(document), tools_of(document))


def read_lists(lists: Iterator[list[Row]], tools: Any = ()) -> list[Transcript]:
    """The runs in lists of rows that came one after the other."""
    runs = []
    for run in _grouped(lists):
        notes = NotesTaken()
        for _ in range(run.repeats):
            notes.add(*READ_ONCE)
        messages = read_messages(run.rows, notes)
        usage, model = _usage(run.rows), _model(run.rows)
        runs.append(transcript(messages, NAME, notes, tools=tools, model=model, usage=usage))
    return runs


# ---- finding --------------------------------------------------------------------------------


def row_of(value: Any) -> Row | None:
    """A message's fields and, as `kind`, what it is, from any of the spellings; None for none."""
    if not isinstance(value, dict):
        return None
    kind, fields = value.get("type"), value
    if value.get("lc") and isinstance(value.get("id"), list) and value["id"]:
        kind, fields = value["id"][-1], value.get("kwargs")
    elif isinstance(value.get("data"), dict) and "content" not in value:
        fields = value["data"]
    kind = _kind(kind)
    if kind not in KINDS or not isinstance(fields, dict):
        return None
    return {**fields, "kind": kind} if kind == "remove" or "content" in fields else None


def _kind(name: Any) -> str:
    """The kind of a message by its type or class: human, HumanMessage, HumanMessageChunk."""
    name = name if isinstance(name, str) else ""
    return name.removesuffix("Chunk").removesuffix("Message").lower()


def found(value: Any, depth: int = DEEPEST) -> Iterator[list[Row]]:
    """The lists of messages in a value, in its order; a message that stands alone is a list."""
    alone = row_of(value)
    if alone:
        yield [alone]
    elif isinstance(value, list) and depth:
        rows = [row_of(_held(item)) for item in value]
        known = [row for row in rows if row]
        if known and len(value) <= 2 * len(known):
            yield [row or {"kind": UNKNOWN} for row in rows]
        else:
            for item in value:
                yield from found(item, depth - 1)
    elif isinstance(value, dict) and depth:
        for key, item in value.items():
            packed = str(key).lower() in PACKED
            yield from found(as_json(item) if packed else item, depth - 1)


def _held(item: Any) -> Any:
    """A message, or the one that a row of a data base holds."""
    inner = as_json(item.get("message")) if isinstance(item, dict) else None
    return inner if isinstance(inner, dict) and row_of(inner) else item


# ---- joining --------------------------------------------------------------------------------


class _Run:
    """The rows of a run while its steps come in."""

    def __init__(self, rows: list[Row]) -> None:
        self.repeats = 0
        self._set(rows)

    def _set(self, rows: list[Row]) -> None:
        self.rows: list[Row] = []
        self.keys: list[str] = []
        self.seen: set[tuple[str, Any]] = set()
        self._add(rows)

    def _add(self, rows: list[Row]) -> None:
        self.rows = [*self.rows, *rows]
        self.keys += [_key(row) for row in rows]
        self.seen |= {(_key(row), as_id(row.get("id"))) for row in rows}
        self.seen |= {(_key(row), "any") for row in rows} | {
            ("", as_id(row.get("id"))) for row in rows
        }

    def take(self, rows: list[Row]) -> bool:
        """Take a list that repeats this run, or of which this run is the beginning."""
        keys = [_key(row) for row in rows]
        shared = min(len(keys), len(self.keys))
        if keys[:shared] != self.keys[:shared]:
            return False
        if len(keys) > len(self.keys):
            self._set(rows)
        self.repeats += 1
        return True

    def go_on(self, rows: list[Row]) -> None:
        """Add the rows that aren't there yet."""
        new = [row for row in rows if not self._has(row)]
        self.repeats += not new
        self._add(new)

    def _has(self, row: Row) -> bool:
        """True for a message that is there; the same one may have got its id only later."""
        key, id = _key(row), as_id(row.get("id"))
        if id is None:
            return (key, "any") in self.seen
        return ("", id) in self.seen or (key, None) in self.seen


def _key(row: Row) -> str:
    calls = row.get("tool_calls") or []
    return to_text([row["kind"], row.get("content"), calls, row.get("tool_call_id")])


def _grouped(lists: Iterator[list[Row]]) -> list[_Run]:
    """The runs: a list repeats one, goes on from the one before, or begins a new one."""
    runs: list[_Run] = []
    latest: dict[str, _Run] = {}  # by its first message
    for rows in lists:
        run = latest.get(_key(rows[0]))
        if run and run.take(rows):
            continue
        if runs and rows[0]["kind"] in GO_ON:
            runs[-1].go_on(rows)
            continue
        runs.append(_Run(rows))
        latest[_key(rows[0])] = runs[-1]
    return runs


# ---- what stands beside the messages --------------------------------------------------------


def tools_of(document: Any) -> tuple[dict[str, Any], ...]:
    """The tool schemas that a trace keeps beside the messages."""
    if not isinstance(document, dict):
        return ()
    extra = document.get("extra")
    asked = extra.get("invocation_params") if isinstance(extra, dict) else None
    tools = asked.get("tools") if isinstance(asked, dict) else None
    return tool_schemas(tools) or find_tools(document)


def _about(rows: list[Row]) -> Iterator[dict[str, Any]]:
    """What the answers say of themselves, the last one first."""
    for row in reversed(rows):
        about = row.get("response_metadata")
        yield {
            **(about if isinstance(about, dict) else {}),
            "usage_metadata": row.get("usage_metadata"),
        }


def _usage(rows: list[Row]) -> Any:
    keys = ("usage_metadata", "token_usage", "tokenUsage", "usage")
    found = (about.get(key) for about in _about(rows) for key in keys)
    return next((usage for usage in found if isinstance(usage, dict) and usage), None)


def _model(rows: list[Row]) -> Any:
    keys = ("model_name", "model", "model_id")
    found = (about.get(key) for about in _about(rows) for key in keys)
    return next((model for model in found if isinstance(model, str) and model), None)
