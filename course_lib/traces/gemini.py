"""Gemini: `contents` of parts, the system text beside them, calls and responses without ids."""

from __future__ import annotations

from types import UnionType
from typing import Any

from course_lib.traces.chat import (
    Message,
    as_id,
    objects_in,
    simple_content,
    to_text,
    tool_call,
    tool_schemas,
    transcript,
)
from course_lib.traces.openai_chat import ANSWER_ADDED, NOT_A_MESSAGE, OTHER_ANSWERS, find_value
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "Gemini contents"

ROLES = {"user": "user", "function": "user", "tool": "user", "model": "assistant"}
PART_KEYS = {
    "text",
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "thought",
}


def recognise(document: Any) -> bool:
    """True for a list of contents, and for a request or response that holds contents."""
    if isinstance(document, list):
        return is_contents(document)
    return isinstance(document, dict) and bool(_contents(document) or _candidates(document))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows."""
    notes = NotesTaken()
    if isinstance(document, list):
        return [transcript(read_contents(document, notes), "Gemini contents", notes)]
    messages: list[Message] = []
    system = _system(document)
    if system:
        messages = [{"role": "system", "content": system}]
    contents, answers = _contents(document), _answers(document)
    messages += read_contents(contents, notes)
    for _ in answers[1:]:
        notes.add(*OTHER_ANSWERS)
    answer = answers[0] if answers else None
    if answer and answer != (contents or [None])[-1]:
        if contents:
            notes.add(ANSWER_ADDED)
        messages += read_contents([{"role": "model", **answer}], notes)
    return [
        transcript(
            messages,
            "Gemini request" if contents else "Gemini response",
            notes,
            tools=_tools(document),
            model=find_value(document, "model", str) or find_value(document, "modelVersion", str),
            usage=_value(document, "usageMetadata", dict),
        )
    ]


# ---- finding --------------------------------------------------------------------------------


def _camel(key: str) -> str:
    """The key as the REST interface writes it; Python's library writes function_call."""
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)


def camel_keys(part: Any) -> dict[str, Any]:
    """An object's values that aren't null, under the names that the REST interface uses."""
    return {_camel(key): value for key, value in part.items() if value is not None}


def _is_content(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("parts"), list):
        return False
    if _role(row) not in ROLES or "type" in row:
        return False
    return all(map(_is_part, row["parts"]))


def _role(row: dict[str, Any]) -> str:
    role = row.get("role") or "user"
    return role if isinstance(role, str) else ""


def _is_part(part: Any) -> bool:
    """True for a part of Gemini's: named by its key, where others name theirs by a `type`."""
    if not isinstance(part, dict) or "type" in part:
        return False
    return not PART_KEYS.isdisjoint(camel_keys(part))


def is_contents(value: Any) -> bool:
    """True for a list of contents with something in them; a row without parts is no harm."""
    rows = value if isinstance(value, list) else []
    contents = [row for row in rows if isinstance(row, dict) and "parts" in row]
    if not all(map(_is_content, contents)) or len(rows) > 2 * len(contents):
        return False
    return any(row["parts"] for row in contents)


def _value(document: dict[str, Any], key: str, kind: type | UnionType) -> Any:
    """The first value of that key, in either spelling, down to the objects in an object."""
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in key)
    inner = objects_in(document)
    deeper = [value for holder in inner for value in objects_in(holder)]
    for holder in (document, *inner, *deeper):
        for name in (key, snake):
            if isinstance(holder.get(name), kind) and holder[name]:
                return holder[name]
    return None


def _contents(document: dict[str, Any]) -> list[Any]:
    for key in ("contents", "history", "messages"):
        value = find_value(document, key, list)
        if is_contents(value):
            return value
    text = document.get("contents")
    beside = any(key in document for key in ("generationConfig", "config", "model"))
    return [{"role": "user", "parts": [{"text": text}]}] if isinstance(text, str) and beside else []


def _candidates(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The contents of the answers, the first one first."""
    rows = find_value(document, "candidates", list) or []
    contents = [row.get("content") for row in rows if isinstance(row, dict)]
    return [content for content in contents if _is_content(content)]


def _answers(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to the contents of a document: candidates, or one `content` that stands alone."""
    alone = find_value(document, "content", dict)
    return _candidates(document) or ([alone] if _is_content(alone) else [])


def _system(document: dict[str, Any]) -> str:
    value = _value(document, "systemInstruction", str | dict | list)
    if isinstance(value, dict):
        value = value.get("parts", value)
    parts = value if isinstance(value, list) else [value]
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def _tools(document: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    tools = [tool for tool in _value(document, "tools", list) or [] if isinstance(tool, dict)]
    declared = [camel_keys(tool).get("functionDeclarations") or [tool] for tool in tools]
    return tool_schemas([function for functions in declared for function in functions])


# ---- reading --------------------------------------------------------------------------------


def read_contents(contents: list[Any], notes: NotesTaken) -> list[Message]:
    """The messages that contents are; results leave a content and stand before its text."""
    messages: list[Message] = []
    for number, row in enumerate(contents, 1):
        if not _is_content(row):
            notes.add(*NOT_A_MESSAGE, where=number)
            continue
        parts = [camel_keys(part) for part in row["parts"]]
        results = [read_result(part["functionResponse"]) for part in parts if _is_result(part)]
        messages += results
        rest = [part for part in parts if not _is_result(part)]
        if rest or not results:
            role = ROLES[_role(row)]
            messages.append(read_turn(role, rest, notes))
    return messages


def _is_result(part: dict[str, Any]) -> bool:
    return isinstance(part.get("functionResponse"), dict)


def read_turn(role: str, parts: list[dict[str, Any]], notes: NotesTaken) -> Message:
    """The message that parts without a result are."""
    thoughts = [part["text"] for part in parts if part.get("thought") is True and part.get("text")]
    calls = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
    said = [p for p in parts if p.get("thought") is not True and "functionCall" not in p]
    content = simple_content([_read_part(part) for part in said], notes) if said else None
    message: Message = {"role": role, "content": content if calls or content else ""}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        message["tool_calls"] = [
            tool_call(call.get("id"), call.get("name"), call.get("args")) for call in calls
        ]
    return message


def _read_part(part: dict[str, Any]) -> dict[str, Any]:
    """A part as `read_content` understands it."""
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    data = part.get("inlineData")
    if isinstance(data, dict):
        media = camel_keys(data).get("mimeType") or ""
        return {"type": media.partition("/")[0] or "media", "media": camel_keys(data)}
    return {"type": "text", "text": to_text(part)}


def read_result(response: dict[str, Any]) -> Message:
    """The result that a `functionResponse` is."""
    body = response.get("response")
    if isinstance(body, dict) and len(body) == 1 and set(body) <= {"result", "output"}:
        body = next(iter(body.values()))
    message: Message = {"role": "tool", "content": to_text("" if body is None else body)}
    if isinstance(response.get("name"), str):
        message["name"] = response["name"]
    id = as_id(response.get("id"))
    return {**message, "tool_call_id": id} if id else message
