"""ShareGPT: turns of `from` and `value`; calls and results are turns of their own."""

from __future__ import annotations

import re
from typing import Any

from course_lib.traces.chat import Message, as_json, other_keys, to_text, tool_call, transcript
from course_lib.traces.openai_chat import NOT_A_MESSAGE, find_tools
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "ShareGPT"

ROLES = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "bard": "assistant",
    "bing": "assistant",
    "function_call": "assistant",
    "tool_call": "assistant",
    "observation": "tool",
    "tool": "tool",
    "tool_response": "tool",
    "function_response": "tool",
    "function": "tool",
}
CALLS = {"function_call", "tool_call"}
TURN_KEYS = ("value", "content", "text")
HOLDER_KEYS = ("conversations", "conversation", "messages", "items")
TAGGED_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
TAGGED_RESULT = re.compile(r"<tool_response>\s*(.*?)\s*</tool_response>", re.DOTALL)

NOT_CALLS = (
    "A turn named as a call holds no call that can be read: kept as text.",
    "{n} turns named as calls hold no calls that can be read: kept as text.",
)


def recognise(document: Any) -> bool:
    """True for a list of turns, and for an object that holds one."""
    if isinstance(document, list):
        return _is_turns(document)
    return isinstance(document, dict) and bool(_turns(document))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows."""
    notes = NotesTaken()
    if isinstance(document, list):
        return [transcript(_read_turns(document, notes), "ShareGPT", notes)]
    messages = _read_turns(_turns(document), notes)
    system = document.get("system")
    if isinstance(system, str) and system and messages[0]["role"] != "system":
        messages = [{"role": "system", "content": system}, *messages]
    return [transcript(messages, "ShareGPT", notes, tools=find_tools(document))]


def _is_turn(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("from"), str):
        return False
    return row["from"].lower() in ROLES and _value_key(row) is not None


def _value_key(row: dict[str, Any]) -> str | None:
    return next((key for key in TURN_KEYS if key in row), None)


def _is_turns(value: Any) -> bool:
    """True for a list of which half or more are turns."""
    return isinstance(value, list) and 0 < len(value) <= 2 * sum(map(_is_turn, value))


def _turns(document: dict[str, Any]) -> list[Any]:
    values = (as_json(document.get(key)) for key in HOLDER_KEYS)
    return next((value for value in values if _is_turns(value)), [])


# ---- reading --------------------------------------------------------------------------------


def _read_turns(turns: list[Any], notes: NotesTaken) -> list[Message]:
    messages: list[Message] = []
    for number, turn in enumerate(turns, 1):
        if _is_turn(turn):
            messages += _read_turn(turn, notes)
        else:
            notes.add(*NOT_A_MESSAGE, where=number)
    return messages


def _read_turn(turn: dict[str, Any], notes: NotesTaken) -> list[Message]:
    who, key = turn["from"].lower(), _value_key(turn)
    text = to_text("" if turn[key] is None else turn[key])
    role = ROLES[who]
    if role == "tool":
        results = TAGGED_RESULT.findall(text) or [text]
        pieces: list[Message] = [{"role": "tool", "content": result} for result in results]
    else:
        calls, rest = _calls_in(text, who in CALLS) if role == "assistant" else ([], text)
        pieces = [{"role": role, "content": rest}]
        if calls:
            pieces = [{"role": role, "content": rest or None, "tool_calls": calls}]
        elif who in CALLS:
            notes.add(*NOT_CALLS)
    return [{**pieces[0], **other_keys(turn, "from", key)}, *pieces[1:]]


def _calls_in(text: str, alone: bool) -> tuple[list[dict[str, Any]], str]:
    """The calls in a turn and the text around them. A turn that is a call holds JSON alone."""
    tagged = TAGGED_CALL.findall(text)
    found = [as_json(call) for call in tagged] if tagged else [as_json(text)] if alone else []
    flat = [call for item in found for call in (item if isinstance(item, list) else [item])]
    if not flat or not all(isinstance(c, dict) and isinstance(c.get("name"), str) for c in flat):
        return [], text
    calls = [
        tool_call(c.get("id"), c["name"], c.get("arguments", c.get("parameters"))) for c in flat
    ]
    return calls, TAGGED_CALL.sub("", text).strip() if tagged else ""
