"""OpenAI chat: lists of messages, requests with or without their answer, answers alone.

The dialects of servers and harnesses that write nearly this shape are read too: arguments as
objects, calls without an id, `function_call`, reasoning under other keys, pictures beside the text.
"""

from __future__ import annotations

from typing import Any

from course_lib.traces.chat import (
    NOT_A_CALL,
    Message,
    as_id,
    as_json,
    kind_of,
    media_note,
    objects_in,
    read_content,
    to_text,
    tool_call,
    tool_schemas,
    transcript,
)
from course_lib.traces.rows import taken
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "OpenAI chat"

ROLES = {role: role for role in ("system", "developer", "user", "assistant", "tool")}
ROLES |= {"function": "tool", "human": "user", "ai": "assistant", "model": "assistant"}
CARRIES = {
    "content",
    "tool_calls",
    "function_call",
    "refusal",
    "audio",
    "reasoning",
    "reasoning_content",
}

# Where a list of messages usually stands; what the model was really sent comes first.
USUAL_KEYS = (
    "fncall_messages",
    "messages",
    "traj",
    "history",
    "chat_history",
    "conversation",
    "conversations",
    "dialogue",
    "trajectory",
)
ANSWER_KEYS = (
    "fncall_response", "response", "output", "outputs", "completion", "response_body", "body",
)  # fmt: skip
RESULT_ID_KEYS = ("tool_call_id", "toolCallId", "call_id", "tool_call_ids")
REASONING_KEYS = ("reasoning", "thinking")

NOT_A_MESSAGE = (
    "Row {where} of the list isn't a message: left out.",
    "Rows {where} of the list aren't messages: left out.",
)
OTHER_ROLE = (
    "A message whose role isn't one of chat's ({where}) is left out.",
    "{n} messages whose roles aren't among chat's ({where}) are left out.",
)
OLD_SHAPE = "`function_call` and the role `function` are written as tool calls and results."
ANSWER_ADDED = "The answer that the file keeps beside the request is the last message."
OTHER_ANSWERS = (
    "A second version of the answer is left out.",
    "{n} more versions of the answer are left out.",
)
CUSTOM_CALL = "The free-text input of a custom tool stands in its arguments as `input`."
OTHER_LISTS = "More messages stand under {where}: left out."


def recognise(document: Any) -> bool:
    """True for a list of chat messages, an object that holds one, or a chat completion."""
    if isinstance(document, list):
        return is_message_list(document)
    return isinstance(document, dict) and bool(find_messages(document) or _choices(document))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows."""
    notes = NotesTaken()
    if isinstance(document, list):
        return [transcript(read_rows(document, notes), "OpenAI chat messages", notes)]
    rows = find_messages(document, notes) or []
    messages = read_rows(rows, notes)
    raw = find_answer(document, notes)
    answer = read_message(raw, notes) if raw else None
    if answer and not _same(messages[-1:], answer):
        if messages:
            notes.add(ANSWER_ADDED)
        messages.append(answer)
    known = {**_completion(document), **document}
    model, tools = find_value(known, "model", str), find_tools(document)
    kind = "response" if not rows else "request" if answer or tools or model else "messages"
    usage = find_value(known, "usage", dict)
    return [
        transcript(messages, f"OpenAI chat {kind}", notes, tools=tools, model=model, usage=usage)
    ]


# ---- finding --------------------------------------------------------------------------------


def is_message(row: Any) -> bool:
    """True for an object with one of chat's roles and something to say."""
    return isinstance(row, dict) and role_of(row) in ROLES and not CARRIES.isdisjoint(row)


def role_of(row: dict[str, Any]) -> str:
    """The role of a row in small letters; "" for none."""
    role = row.get("role")
    return role.lower() if isinstance(role, str) else ""


def is_message_list(value: Any) -> bool:
    """True for a list of which half or more are messages."""
    return isinstance(value, list) and 0 < len(value) <= 2 * sum(map(is_message, value))


def find_messages(document: dict[str, Any], notes: NotesTaken | None = None) -> list[Any] | None:
    """The list of messages in an object, or in the one object in it that has one (`body`, ...).

    None if there is no such list, or if there are several and none stands under a usual key.
    """
    held = [(holder, *at) for holder in objects_in(document) if (at := _list_in(holder))]
    here = _list_in(document)
    if not here and len(held) != 1:
        return None
    holder, key, rows = (document, *here) if here else held[0]
    others = [name for name in holder if name != key and is_message_list(holder[name])]
    if others and notes:
        notes.add(OTHER_LISTS, where=", ".join(map(repr, others)))
    return rows


def _list_in(holder: dict[str, Any]) -> tuple[str, list[Any]] | None:
    for key in USUAL_KEYS:
        rows = as_json(holder.get(key))
        if is_message_list(rows):
            return key, rows
    found = [(key, value) for key, value in holder.items() if is_message_list(value)]
    return found[0] if len(found) == 1 else None


def find_answer(document: dict[str, Any], notes: NotesTaken) -> dict[str, Any] | None:
    """The assistant message that an object keeps beside its messages, as it is written there."""
    choices = _choices(document)
    for _ in choices[1:]:
        notes.add(*OTHER_ANSWERS)
    if choices:
        return {**choices[0]["message"], "role": "assistant"}
    for key in ("message", *ANSWER_KEYS):
        value = as_json(document.get(key))
        if isinstance(value, dict) and isinstance(value.get("message"), dict):
            value = value["message"]
        if is_message(value) and role_of(value) == "assistant":
            return value
    return None


def _choices(document: dict[str, Any]) -> list[Any]:
    return _completion(document).get("choices", [])


def _completion(value: Any, depth: int = 2) -> dict[str, Any]:
    """The chat completion in an object, which may stand under the keys that name an answer."""
    value = as_json(value)
    if not isinstance(value, dict):
        return {}
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(first, dict) and isinstance(first.get("message"), dict):
        return value
    inner = (_completion(value.get(key), depth - 1) for key in ANSWER_KEYS if depth)
    return next(filter(None, inner), {})


def _same(last: list[Message], answer: Message) -> bool:
    keys = ("role", "content", "tool_calls")
    return bool(last) and all((last[0].get(k) or None) == (answer.get(k) or None) for k in keys)


def find_value(document: dict[str, Any], key: str, kind: type) -> Any:
    """The first value of that key and type in the document, then in the objects in it."""
    for holder in (document, *objects_in(document)):
        value = as_json(holder.get(key)) if kind is not str else holder.get(key)
        if isinstance(value, kind) and value:
            return value
    return None


def find_tools(document: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """The tool schemas in a document, or in the objects in it."""
    return tool_schemas(
        find_value(document, "tools", list) or find_value(document, "functions", list)
    )


# ---- reading --------------------------------------------------------------------------------


def read_rows(rows: list[Any], notes: NotesTaken) -> list[Message]:
    """The messages that rows of chat are; what isn't one is noted."""
    messages = []
    for number, row in enumerate(taken(rows), 1):
        if is_message(row):
            messages.append(read_message(row, notes))
        elif isinstance(row, dict) and role_of(row):
            notes.add(*OTHER_ROLE, where=repr(row["role"]))
        else:
            notes.add(*NOT_A_MESSAGE, where=number)
    return messages


def read_message(row: dict[str, Any], notes: NotesTaken) -> Message:
    """A message in the OpenAI shape; keys that the shape doesn't know are kept."""
    message = {key: value for key, value in row.items() if value is not None}
    message["role"] = ROLES[role_of(row)]
    content, reasoning = read_content(_said_once(row), notes)
    message["content"] = content
    _move_reasoning(message, reasoning)
    _move_speech(message, notes)
    _move_pictures(message, notes)
    calls = _read_calls(message, notes)
    message.pop("tool_calls", None)
    if calls:
        message["tool_calls"] = calls
    if message["role"] == "tool":
        _move_result_id(message)
        if role_of(row) == "function":
            notes.add(OLD_SHAPE)
    return message


def _said_once(row: dict[str, Any]) -> Any:
    """The content without the parts that repeat a tool call, as some libraries write it."""
    content = row.get("content")
    if not isinstance(content, list) or not row.get("tool_calls"):
        return content
    repeats = ("tool_use", "tool_call", "function_call")
    return [part for part in content if kind_of(part) not in repeats]


def _move_reasoning(message: Message, reasoning: str) -> None:
    """Reasoning stands under `reasoning_content`, once, wherever and however often it was kept."""
    elsewhere = [key for key in REASONING_KEYS if isinstance(message.get(key), str)]
    found = [message.get("reasoning_content"), reasoning, *map(message.pop, elsewhere)]
    texts = dict.fromkeys(to_text(text) for text in found if text)
    if texts:
        message["reasoning_content"] = "\n\n".join(texts)


def _move_speech(message: Message, notes: NotesTaken) -> None:
    """What the model said aloud: its words become the content, its sound a size."""
    spoken = message.get("audio")
    if not isinstance(spoken, dict) or not isinstance(spoken.get("data"), str):
        return
    del message["audio"]
    words, sound = spoken.get("transcript"), media_note(spoken["data"], notes, "audio")
    said = [{"type": "text", "text": words}] if isinstance(words, str) and words else []
    content = message["content"] or []
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    message["content"] = [*parts, *said, sound]


def _move_pictures(message: Message, notes: NotesTaken) -> None:
    """Pictures that stand beside the text, as Ollama has them, become parts of the content."""
    images = message.get("images")
    if not isinstance(images, list) or not all(isinstance(image, str) for image in images):
        return
    del message["images"]
    text = message["content"] or []
    parts = [{"type": "text", "text": text}] if isinstance(text, str) else list(text)
    message["content"] = parts + [media_note(image, notes) for image in images] or None


def _read_calls(message: Message, notes: NotesTaken) -> list[dict[str, Any]]:
    calls = as_json(message.get("tool_calls")) or []
    old = message.pop("function_call", None)
    if isinstance(old, dict) and not calls:
        notes.add(OLD_SHAPE)
        calls = [{"function": old}]
    good = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    for _ in range((len(calls) if isinstance(calls, list) else 1) - len(good)):
        notes.add(*NOT_A_CALL)
    return [_read_call(call, notes) for call in good]


def _read_call(call: dict[str, Any], notes: NotesTaken) -> dict[str, Any]:
    inner = call.get("function") or call.get("custom")
    if not isinstance(inner, dict):
        inner = {**call, "name": inner} if isinstance(inner, str) else call
    arguments = next(
        (inner[key] for key in ("arguments", "args", "input") if inner.get(key) is not None), None
    )
    if isinstance(call.get("custom"), dict):
        notes.add(CUSTOM_CALL)
        arguments = {"input": arguments}
    taken = {"id", "type", "function", "custom", "name", "arguments", "args", "input"}
    more = {key: value for key, value in call.items() if key not in taken and value is not None}
    return tool_call(call.get("id"), inner.get("name"), arguments, **more)


def _move_result_id(message: Message) -> None:
    """The id of the call that a result answers stands under `tool_call_id`, as a string."""
    ids = [(key, message.get(key)) for key in RESULT_ID_KEYS]
    for key, value in ids:
        if isinstance(value, list):
            value = value[0] if len(value) == 1 else None
        if as_id(value):
            del message[key]
            message["tool_call_id"] = as_id(value)
            return
    message.pop("tool_call_id", None)
