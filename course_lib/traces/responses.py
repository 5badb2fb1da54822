"""OpenAI Responses: a list of items, in which reasoning, calls and outputs stand alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from course_lib.traces.chat import (
    Message,
    as_id,
    as_json,
    kind_of,
    media_note,
    objects_in,
    other_keys,
    reasoning_text,
    simple_content,
    to_text,
    tool_call,
    transcript,
)
from course_lib.traces.openai_chat import find_tools, find_value, is_message, role_of
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "OpenAI Responses"

CALLS = {
    "apply_patch_call",
    "code_interpreter_call",
    "computer_call",
    "custom_tool_call",
    "file_search_call",
    "function_call",
    "image_generation_call",
    "local_shell_call",
    "mcp_call",
    "shell_call",
    "tool_search_call",
    "web_search_call",
}
OUTPUTS = {f"{call}_output" for call in CALLS} | {"tool_search_output"}
OTHER_ITEMS = {"reasoning", "item_reference", "compaction", "mcp_list_tools"}
ITEMS = CALLS | OUTPUTS | OTHER_ITEMS
PART_KINDS = {"input_text", "output_text", "input_image", "input_file"}
# What frames a call and isn't the call's arguments.
FRAME = {"type", "id", "call_id", "status", "name", "metadata", "result"}

LEFT_OUT = (
    "An item of a kind that no message has ({where}) is left out.",
    "{n} items of kinds that no message has ({where}) are left out.",
)
OWN_TOOL = (
    "A call of a tool that the provider runs itself ({where}) is kept as text of the answer.",
    "{n} calls of tools that the provider runs itself ({where}) are kept as text of the answers.",
)


def recognise(document: Any) -> bool:
    """True for a list of items, and for a request or response that holds one."""
    if isinstance(document, list):
        return _is_item_list(document)
    if not isinstance(document, dict):
        return False
    asked = _input(document)
    if _is_item_list(asked) or _output(document):
        return True
    # A request whose input is plain text or plain messages shows itself by what stands beside it.
    told = bool(find_value(document, "instructions", str))
    return bool(asked) and (told or document.get("object") == "response")


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows."""
    notes = NotesTaken()
    if isinstance(document, list):
        return [transcript(read_items(document, notes), "OpenAI Responses items", notes)]
    items = [*_input(document), *_output(document)]
    instructions = find_value(document, "instructions", str)
    if instructions:
        items = [{"role": "system", "content": instructions}, *items]
    kind = "request" if _input(document) else "response"
    return [
        transcript(
            read_items(items, notes),
            f"OpenAI Responses {kind}",
            notes,
            tools=find_tools(document),
            model=find_value(document, "model", str),
            usage=find_value(document, "usage", dict),
        )
    ]


# ---- finding --------------------------------------------------------------------------------


def _is_said(item: Any) -> bool:
    return kind_of(item) in ("", "message") and is_message(item)


def _is_item(item: Any) -> bool:
    """True for what only Responses has: a typed item, or a message with its kinds of parts."""
    if kind_of(item) in ITEMS:
        return True
    content = item.get("content") if _is_said(item) else None
    return isinstance(content, list) and any(kind_of(part) in PART_KINDS for part in content)


def _is_item_list(value: Any) -> bool:
    """True for a list with items in it, of which half or more are items or messages."""
    if not isinstance(value, list) or not any(map(_is_item, value)):
        return False
    return len(value) <= 2 * sum(_is_item(item) or _is_said(item) for item in value)


def _values(document: dict[str, Any], key: str) -> Iterator[Any]:
    """The values of a key in the document and in the objects in it."""
    for holder in (document, *objects_in(document)):
        yield as_json(holder.get(key))


def _input(document: dict[str, Any]) -> list[Any]:
    for value in _values(document, "input"):
        if isinstance(value, str) and value:
            return [{"role": "user", "content": value}]
        messages = isinstance(value, list) and value and all(map(_is_said, value))
        if messages or _is_item_list(value):
            return value
    return []


def _output(document: dict[str, Any]) -> list[Any]:
    return next(filter(_is_item_list, _values(document, "output")), [])


# ---- reading --------------------------------------------------------------------------------


@dataclass
class _Turn:
    """An assistant message while its items come in."""

    parts: list[Any] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    spoken: bool = False

    def message(self) -> Message:
        plain = len(self.parts) == 1 and isinstance(self.parts[0], str)
        content = self.parts[0] if plain else [_as_part(part) for part in self.parts]
        message = {**self.more, "role": "assistant", "content": content or None}
        if any(self.thoughts):
            message["reasoning_content"] = "\n\n".join(filter(None, self.thoughts))
        return {**message, "tool_calls": self.calls} if self.calls else message

    def is_empty(self) -> bool:
        """True if nothing is left, as of a piece of encrypted reasoning that stands alone."""
        return not (self.parts or self.calls or any(self.thoughts))


def _as_part(part: Any) -> dict[str, Any]:
    return {"type": "text", "text": part} if isinstance(part, str) else part


def read_items(items: Iterable[Any], notes: NotesTaken) -> list[Message]:
    """The messages that the items are: what the model thinks, says and calls at once is one."""
    entries: list[_Turn | Message] = []
    for item in items:
        if _is_answer(item):
            if not entries or not isinstance(entries[-1], _Turn) or _is_next(entries[-1], item):
                entries.append(_Turn())
            _add(entries[-1], item, notes)
        else:
            entries += _read_other(item, notes)
    turns = [e for e in entries if not (isinstance(e, _Turn) and e.is_empty())]
    return [turn.message() if isinstance(turn, _Turn) else turn for turn in turns]


def _is_answer(item: Any) -> bool:
    said = _is_said(item) and role_of(item) == "assistant"
    return said or kind_of(item) == "reasoning" or kind_of(item) in CALLS


def _is_next(turn: _Turn, item: dict[str, Any]) -> bool:
    """True if the item starts a new turn: a second text, or a text after calls."""
    return _is_said(item) and (turn.spoken or bool(turn.calls))


def _add(turn: _Turn, item: dict[str, Any], notes: NotesTaken) -> None:
    kind = kind_of(item)
    if kind == "reasoning":
        turn.thoughts.append(reasoning_text(item, notes))
    elif kind in CALLS and not item.get("call_id"):
        notes.add(*OWN_TOOL, where=kind.removesuffix("_call"))
        turn.parts += _own_tool(item, notes)
    elif kind in CALLS:
        turn.calls.append(_call(item))
    else:
        content = simple_content(item.get("content"), notes)
        turn.parts += content if isinstance(content, list) else [content] if content else []
        turn.more |= other_keys(item, "type", "status")
        turn.spoken = True


def _call(item: dict[str, Any]) -> dict[str, Any]:
    name = item.get("name") or kind_of(item).removesuffix("_call")
    if "arguments" in item:
        arguments = item["arguments"]
    elif "action" in item:
        arguments = item["action"]
    else:
        arguments = {key: value for key, value in item.items() if key not in FRAME}
    return tool_call(item["call_id"], name, arguments)


def _own_tool(item: dict[str, Any], notes: NotesTaken) -> list[Any]:
    """The parts of an answer that say which tool the provider ran itself; no output follows."""
    name = item.get("name") or kind_of(item).removesuffix("_call")
    inside = {key: value for key, value in item.items() if key not in FRAME and value is not None}
    parts: list[Any] = [f"[{name}: {to_text(inside)}]"]
    picture = item.get("result")
    return [*parts, media_note(picture, notes)] if isinstance(picture, str) and picture else parts


def _read_other(item: Any, notes: NotesTaken) -> list[Message]:
    """What isn't the assistant's: a message, or the output of a call."""
    if _is_said(item):
        content = simple_content(item.get("content"), notes)
        return [{**other_keys(item, "type", "status"), "role": role_of(item), "content": content}]
    if kind_of(item) not in OUTPUTS:
        notes.add(*LEFT_OUT, where=repr(kind_of(item) or type(item).__name__))
        return []
    output = item.get("output", item.get("tools"))
    content = "" if output is None else simple_content(output, notes)
    message: Message = {"role": "tool", "content": content}
    id = as_id(item.get("call_id"))
    return [{**message, "tool_call_id": id} if id else message]
