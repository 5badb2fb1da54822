"""The OpenAI chat shape, which every reader writes: content, tool calls, tool schemas, ids."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from course_lib.traces.files import parse_text
from course_lib.traces.media import LEAST_BASE64, MEDIA_PARTS, bytes_in, decoded_size
from course_lib.traces.rows import taken
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

Message = dict[str, Any]

TEXT_PARTS = {"text", "input_text", "output_text", "summary_text", "reasoning_text"}
REASONING_PARTS = {"thinking", "reasoning", "redacted_thinking"}
KEPT_PARTS = {"refusal", "image_url", "input_audio", "file"}

BYTES_LEFT_OUT = (
    "An image or file is kept as a marker with its size; its bytes are left out.",
    "{n} images or files are kept as markers with their sizes; their bytes are left out.",
)
ODD_PART = (
    "A part of content of a kind that isn't known ({where}) is kept as its JSON text.",
    "{n} parts of content of kinds that aren't known ({where}) are kept as their JSON text.",
)
JSON_CONTENT = (
    "A message's content was JSON, not text: it is kept as JSON text.",
    "The content of {n} messages was JSON, not text: it is kept as JSON text.",
)
HIDDEN_REASONING = (
    "A piece of reasoning is encrypted: it is left out.",
    "{n} pieces of reasoning are encrypted: they are left out.",
)
ROWS_LEFT_OUT = (
    "A row that isn't part of the talk ({where}) is left out.",
    "{n} rows that aren't part of the talk ({where}) are left out.",
)
NOT_A_ROW = (
    "Row {where} isn't an object: left out.",
    "Rows {where} aren't objects: left out.",
)
COMPACTED = (
    "The session was compacted at row {where}: from there on a summary was sent in the place of "
    "what came before. What the file still has of that is kept.",
    "The session was compacted at rows {where}: from there on a summary was sent in the place of "
    "what came before. What the file still has of that is kept.",
)
NOT_A_CALL = (
    "A tool call that isn't an object is left out.",
    "{n} tool calls that aren't objects are left out.",
)
ID_MADE = (
    "A tool call had no id: it got one.",
    "{n} tool calls had no id: they got one.",
)
RESULT_JOINED = (
    "A tool result shares no id with its call: order decided which call it answers.",
    "{n} tool results share no id with their calls: order decided which calls they answer.",
)
ID_AGAIN = (
    "The call id {where} is used again: each result goes with the nearest open call.",
    "Call ids are used again, {n} times ({where}): each result goes with the nearest open call.",
)
UNANSWERED = (
    "The call {where} was never answered.",
    "{n} calls were never answered: {where}.",
)
SECOND_RESULT = (
    "The call {where} has more than one result.",
    "Calls have more than one result: {where}.",
)
ORPHAN = (
    "The tool result {where} answers no call that came before it.",
    "{n} tool results answer no call that came before them: {where}.",
)


def as_json(value: Any) -> Any:
    """The JSON in a string that holds an object or a list; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse_text(value)
        except ValueError:
            return value
    return value


def unwrapped(value: Any, deepest: int = 3) -> Any:
    """The JSON in a string, also if that is the JSON of a string with JSON in it."""
    for _ in range(deepest):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            break
        try:
            value = parse_text(value)
        except (ValueError, RecursionError):
            break
    return value


def to_text(value: Any) -> str:
    """A value as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def objects_in(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects among an object's values, those written as JSON in a string too."""
    values = map(as_json, document.values())
    return [value for value in values if isinstance(value, dict)]


def rows_in(
    document: Any, notes: NotesTaken | None = None, *, last: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a log that are objects, numbered from 1; a single object is one row.

    With `last`, nobody reads them again: those of a file are let go of as they are read.
    """
    rows = document if isinstance(document, list) else [document]
    for number, row in enumerate(taken(rows) if last else rows, 1):
        if isinstance(row, dict):
            yield number, row
        elif notes:
            notes.add(*NOT_A_ROW, where=number)


def last_value(rows: Iterable[dict[str, Any]], key: str, kind: type) -> Any:
    """The last value of that key and type in rows; None for none."""
    values = (row[key] for row in rows if isinstance(row.get(key), kind) and row[key])
    return next(iter(deque(values, maxlen=1)), None)


def other_keys(row: dict[str, Any], *known: str) -> dict[str, Any]:
    """What a row holds beside the keys that were read and those that the chat shape gives."""
    known = (*known, "role", "content", "tool_calls", "tool_call_id", "reasoning_content")
    return {key: value for key, value in row.items() if key not in known and value is not None}


def kind_of(value: Any) -> str:
    """The `type` of an object; "" for none."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else ""


# ---- content --------------------------------------------------------------------------------


def read_content(value: Any, notes: NotesTaken) -> tuple[str | list[Any] | None, str]:
    """A message's content in the OpenAI shape, and the reasoning that stood among its parts.

    Text parts stay text parts. An image or a file whose bytes are in the message becomes a text
    part that says what it was and its size; one that is only linked stays as it is.
    """
    if value is None or isinstance(value, str):
        return value, ""
    if isinstance(value, dict) and _is_part(value):
        value = [value]
    if not isinstance(value, list) or not all(map(_is_part, value)):
        notes.add(*JSON_CONTENT)
        return to_text(value), ""
    parts, reasoning = [], []
    for part in value:
        if kind_of(part) in REASONING_PARTS:
            reasoning.append(reasoning_text(part, notes))
        else:
            parts.append(_read_part(part, notes))
    return parts, "\n\n".join(filter(None, reasoning))


def simple_content(value: Any, notes: NotesTaken) -> str | list[Any] | None:
    """Like `read_content` without the reasoning; a single plain text becomes a string."""
    content, _ = read_content(value, notes)
    if not isinstance(content, list) or len(content) != 1 or content[0]["type"] != "text":
        return content
    said = {key for key, value in content[0].items() if value}
    return content if said - {"type", "text"} else content[0]["text"]


def reasoning_text(part: dict[str, Any], notes: NotesTaken) -> str:
    """The text of a part of reasoning; what is encrypted has none, and is noted."""
    for key in ("thinking", "reasoning", "text", "summary", "content"):
        value = part.get(key)
        if isinstance(value, list):
            value = "\n\n".join(
                item if isinstance(item, str) else str(item.get("text") or "")
                for item in value
                if isinstance(item, str | dict)
            )
        if isinstance(value, str) and value:
            return value
    if part.get("data") or part.get("encrypted_content") or part.get("signature"):
        notes.add(*HIDDEN_REASONING)
    return ""


def _is_part(value: Any) -> bool:
    if isinstance(value, dict):
        return isinstance(value.get("type", value.get("text")), str)
    return isinstance(value, str)


def _read_part(part: str | dict[str, Any], notes: NotesTaken) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = part.get("type", "text")
    text = _plain_text(part, kind)
    if text is not None:
        return {**part, "type": "text", "text": text} if "text" in part else _text(text)
    found = bytes_in(part, least=1 if kind in MEDIA_PARTS else LEAST_BASE64)
    if found:
        notes.add(*BYTES_LEFT_OUT)
        return {"type": "text", "text": _marker(part, kind, *found)}
    if kind in KEPT_PARTS and isinstance(part.get(kind), str if kind == "refusal" else dict):
        return dict(part)
    link = _link(part) if kind in MEDIA_PARTS else ""
    if link and "image" in kind:
        return {"type": "image_url", "image_url": {"url": link}}
    notes.add(*ODD_PART, where=repr(kind))
    return {"type": "text", "text": to_text(part)}


def _marker(part: dict[str, Any], kind: str, media: str, size: int) -> str:
    """A text in the place of bytes: "[image, image/png, 34,567 bytes]"."""
    inner = part.get(kind)
    holders = (part, inner if isinstance(inner, dict) else {})
    names = (holder.get(key) for holder in holders for key in ("filename", "title", "name"))
    name = next((name for name in names if isinstance(name, str) and name), "")
    what = kind.removeprefix("input_").removesuffix("_url")
    return f"[{', '.join(filter(None, [what, name, media, f'{size:,} bytes']))}]"


def _plain_text(part: dict[str, Any], kind: str) -> str | None:
    """The words of a part that is text: also of a text file, and where they stand in an object."""
    held = part.get("text") if kind in TEXT_PARTS else None
    if isinstance(held, dict):
        held = held.get("value")
    source = part.get("source") if kind == "document" else None
    if isinstance(source, dict) and source.get("type") == "text":
        held = source.get("data")
    return held if isinstance(held, str) else None


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _link(part: dict[str, Any]) -> str:
    for value in (part.get("image_url"), part.get("image"), part.get("source"), part):
        url = value.get("url") if isinstance(value, dict) else value
        if isinstance(url, str) and "://" in url:
            return url
    return ""


def media_note(value: str, notes: NotesTaken, kind: str = "image") -> dict[str, Any]:
    """A part for a picture that stands alone as base64 or as a link."""
    if "://" in value:
        return {"type": "image_url", "image_url": {"url": value}}
    media, size = bytes_in(value) or ("", decoded_size(value))
    notes.add(*BYTES_LEFT_OUT)
    return {"type": "text", "text": _marker({}, kind, media, size)}


# ---- tool calls and schemas -----------------------------------------------------------------


def tool_call(id: Any, name: Any, arguments: Any, **more: Any) -> dict[str, Any]:
    """A tool call in the OpenAI shape. Arguments that aren't a string yet become JSON text."""
    text = "{}" if arguments is None else to_text(arguments)
    function = {"name": to_text(name or ""), "arguments": text}
    return {"id": as_id(id), "type": "function", "function": function, **more}


def as_id(value: Any) -> str | None:
    """An id as a string; None where there is none."""
    return None if value in (None, "") else to_text(value)


def tool_schema(tool: Any) -> dict[str, Any] | None:
    """A tool's schema in the OpenAI shape, from any of the shapes in use; None for no schema."""
    if not isinstance(tool, dict):
        return None
    if isinstance(tool.get("function"), dict):
        return tool
    if not isinstance(tool.get("name"), str):
        return tool if tool.get("type") else None
    parameters = next(
        (
            tool[key]
            for key in ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
            if tool.get(key) is not None
        ),
        {"type": "object", "properties": {}},
    )
    function = {"name": tool["name"], "description": tool.get("description") or ""}
    return {"type": "function", "function": {**function, "parameters": parameters}}


def tool_schemas(tools: Any) -> tuple[dict[str, Any], ...]:
    """The schemas of a list of tools (or of the JSON text of one) in the OpenAI shape."""
    tools = as_json(tools)
    schemas = map(tool_schema, tools) if isinstance(tools, list) else ()
    return tuple(schema for schema in schemas if schema)


# ---- ids ------------------------------------------------------------------------------------


class _Pairing:
    """Which call each result answers: the nearest earlier one with its id that is still open."""

    def __init__(self, messages: Iterable[Message], notes: NotesTaken) -> None:
        self.messages, self.notes = messages, notes
        self.made: set[str] = set()
        self.asked_for: set[str] = set()  # the ids of all calls so far
        self.by_id: dict[str, list[int]] = {}  # of the open ones
        self.open: dict[int, tuple[int, dict[str, Any]]] = {}  # number of call: its turn, itself
        self.asked = 0

    def new_id(self) -> str:
        number = len(self.made) + 1
        while f"call_{number}" in self.taken:
            number += 1
        self.taken.add(f"call_{number}")
        self.made.add(f"call_{number}")
        return f"call_{number}"

    @cached_property
    def taken(self) -> set[str | None]:
        """The ids in the messages: few logs need to know them."""
        ids = {call["id"] for m in self.messages for call in m.get("tool_calls") or ()}
        return ids | {m.get("tool_call_id") for m in self.messages if m["role"] == "tool"}

    def ask(self, turn: int, call: dict[str, Any]) -> dict[str, Any]:
        """The call with an id, which is open from now on."""
        if call["id"] is None:
            self.notes.add(*ID_MADE)
            call = {**call, "id": self.new_id()}
        elif call["id"] in self.asked_for:
            self.notes.add(*ID_AGAIN, where=repr(call["id"]))
        self.asked_for.add(call["id"])
        self.by_id.setdefault(call["id"], []).append(self.asked)
        self.open[self.asked] = (turn, call)
        self.asked += 1
        return call

    def answer(self, message: Message) -> str:
        """The id of the call that the result answers, which is closed from now on."""
        id = message.get("tool_call_id")
        if id is None and as_id(message.get("id")) in self.by_id:
            id = as_id(message["id"])
        if id in self.by_id:
            self._close(id, self.by_id[id][-1])
            return id
        number = self._by_order(message.get("name"), made=id is not None)
        if number is None:
            kind = SECOND_RESULT if id in self.asked_for else ORPHAN
            id = id or self.new_id()
            self.notes.add(*kind, where=repr(id))
            return id
        self.notes.add(*RESULT_JOINED)
        call = self.open[number][1]
        self._close(call["id"], number)
        if id is not None:
            call["id"] = id  # the call had none of its own
        return call["id"]

    def _close(self, id: str, number: int) -> None:
        del self.open[number]
        self.by_id[id].remove(number)
        if not self.by_id[id]:
            del self.by_id[id]

    def _by_order(self, name: Any, *, made: bool) -> int | None:
        """The first open call of the nearest turn that has one; of those with the name, if any.

        With `made`, only calls whose id was made here: they may answer to any id.
        """
        if made and not self.made:
            return None
        fits = {n: at for n, at in self.open.items() if not made or at[1]["id"] in self.made}
        named = {n: at for n, at in fits.items() if name and at[1]["function"]["name"] == name}
        fits = named or fits
        nearest = max((turn for turn, _ in fits.values()), default=None)
        return next((n for n, (turn, _) in fits.items() if turn == nearest), None)


def with_ids(messages: list[Message], notes: NotesTaken) -> list[Message]:
    """The messages with an id on every call and result; where ids are missing, order decides.

    Ids that are used twice stay. Notes say which ids are used again, which calls were never
    answered (those of the last message are only waiting), which results answer no call.
    """
    pairing = _Pairing(messages, notes)
    out: list[Message] = []
    for turn, message in enumerate(messages):
        # Most messages have their ids: of a long log, only the others are built anew.
        if message.get("tool_calls"):
            calls = [pairing.ask(turn, call) for call in message["tool_calls"]]
            if any(
                now is not before for now, before in zip(calls, message["tool_calls"], strict=True)
            ):
                message = {**message, "tool_calls": calls}
        if message["role"] == "tool":
            id = pairing.answer(message)
            if message.get("tool_call_id") != id:
                message = {**message, "tool_call_id": id}
        out.append(message)
    last = max((i for i, m in enumerate(out) if m["role"] != "tool"), default=-1)
    for turn, call in pairing.open.values():
        if turn != last:
            notes.add(*UNANSWERED, where=f"{call['id']!r} ({call['function']['name']})")
    return out


def transcript(
    messages: list[Message],
    format: str,
    notes: NotesTaken,
    *,
    name: str = "",
    tools: Any = (),
    model: Any = None,
    usage: Any = None,
) -> Transcript:
    """A transcript of messages in the OpenAI shape, with its ids in order and its notes."""
    return Transcript(
        with_ids(messages, notes),
        name=name,
        format=format,
        notes=notes.sentences(),
        tools=tool_schemas(tools) if not isinstance(tools, tuple) else tools,
        model=model if isinstance(model, str) else None,
        usage=usage if isinstance(usage, dict) else None,
    )


def with_notes(runs: list[Transcript], notes: NotesTaken) -> list[Transcript]:
    """The runs of a file, each with the notes that hold for the whole file before its own."""
    return [replace(run, notes=(*notes.sentences(), *run.notes)) for run in runs]
