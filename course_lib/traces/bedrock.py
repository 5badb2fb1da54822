"""Bedrock's Converse: parts named by their key (`text`, `toolUse`, `toolResult`)."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from course_lib.traces.building import (
    PART_LEFT_OUT,
    answer_message,
    data_part,
    objects,
    result_message,
)
from course_lib.traces.chat import (
    Message,
    simple_content,
    to_text,
    tool_call,
    tool_schemas,
    transcript,
)
from course_lib.traces.openai_chat import NOT_A_MESSAGE, ROLES, find_value, role_of
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "Bedrock Converse"

Part = dict[str, Any]

OWN_PARTS = {"toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent"}
MEDIA = ("image", "document", "video", "audio")


def recognise(document: Any) -> bool:
    """True for a list of such messages, and for a request that holds one."""
    return bool(_list(document))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows."""
    notes = NotesTaken()
    holder = document if isinstance(document, dict) else {}
    system = "\n\n".join(str(p["text"]) for p in objects(holder.get("system")) if p.get("text"))
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    messages += read_rows([*_list(document), *_answer(holder)], notes)
    usage, model = find_value(holder, "usage", dict), find_value(holder, "modelId", str)
    tools = _tools(holder.get("toolConfig"))
    return [transcript(messages, NAME, notes, tools=tools, usage=usage, model=model)]


def is_message(row: Any) -> bool:
    """True for a message with a part that only Converse has."""
    return _is_said(row) and any(
        "type" not in part and not OWN_PARTS.isdisjoint(part) for part in row["content"]
    )


def _is_said(row: Any) -> bool:
    """True for a message whose parts name no type."""
    if not isinstance(row, dict) or role_of(row) not in ROLES:
        return False
    content = row.get("content")
    return isinstance(content, list) and bool(content) and len(objects(content)) == len(content)


def _list(document: Any) -> list[Any]:
    value = document.get("messages") if isinstance(document, dict) else document
    if not isinstance(value, list) or not any(map(is_message, [*value, *_answer(document)])):
        return []
    return value if len(value) <= 2 * sum(map(_is_said, value)) else []


def _answer(holder: Any) -> list[Any]:
    """The answer that stands beside a request's messages."""
    output = holder.get("output") if isinstance(holder, dict) else None
    message = output.get("message") if isinstance(output, dict) else None
    return [message] if _is_said(message) else []


def _tools(config: Any) -> tuple[Part, ...]:
    tools = objects(config.get("tools")) if isinstance(config, dict) else []
    specs = [tool["toolSpec"] for tool in tools if isinstance(tool.get("toolSpec"), dict)]
    schemas = [spec.get("inputSchema") for spec in specs]
    bare = [schema.get("json", schema) if isinstance(schema, dict) else {} for schema in schemas]
    return tool_schemas([{**s, "parameters": b} for s, b in zip(specs, bare, strict=True)])


# ---- reading --------------------------------------------------------------------------------


def read_rows(rows: list[Any], notes: NotesTaken) -> list[Message]:
    """The messages of a list of rows; what isn't one is left out and noted."""
    messages: list[Message] = []
    for number, row in enumerate(rows, 1):
        if _is_said(row):
            messages += _read_row(row, ROLES[role_of(row)], notes)
        elif (
            isinstance(row, dict) and role_of(row) in ROLES and isinstance(row.get("content"), str)
        ):
            messages.append({"role": ROLES[role_of(row)], "content": row["content"]})
        else:
            notes.add(*NOT_A_MESSAGE, where=number)
    return messages


def _read_row(row: Part, role: str, notes: NotesTaken) -> list[Message]:
    """The messages that one row is: each result is one, what stands between them another."""
    messages: list[Message] = []
    for results, some in groupby(
        row["content"], lambda part: isinstance(part.get("toolResult"), dict)
    ):
        if results:
            messages += [_read_result(part["toolResult"], notes) for part in some]
        elif role == "assistant":
            messages.append(_read_answer(list(some), notes))
        else:
            content = _content(list(some), notes)
            messages.append({"role": "user" if role == "tool" else role, "content": content})
    return messages


def _read_answer(parts: list[Part], notes: NotesTaken) -> Message:
    used = [part["toolUse"] for part in parts if isinstance(part.get("toolUse"), dict)]
    calls = [tool_call(use.get("toolUseId"), use.get("name"), use.get("input")) for use in used]
    thoughts = [_thought(part["reasoningContent"]) for part in parts if "reasoningContent" in part]
    said = [part for part in parts if OWN_PARTS.isdisjoint(part) or "guardContent" in part]
    return answer_message(_read_parts(said, notes), notes, thoughts, calls)


def _thought(content: Any) -> str:
    inner = content.get("reasoningText") if isinstance(content, dict) else None
    return str(inner.get("text") or "") if isinstance(inner, dict) else ""


def _read_result(result: Part, notes: NotesTaken) -> Message:
    body = result.get("content")
    parts = objects(body)
    if parts:
        plain = [{"text": to_text(part["json"])} if "json" in part else part for part in parts]
        body = _content(plain, notes)
    message = result_message(body, notes, result.get("toolUseId"))
    return {**message, "is_error": True} if result.get("status") == "error" else message


def _content(parts: list[Part], notes: NotesTaken) -> Any:
    read = _read_parts(parts, notes)
    return simple_content(read, notes) if read else ""


def _read_parts(parts: list[Part], notes: NotesTaken) -> list[Part]:
    read = []
    for part in parts:
        media = next((kind for kind in MEDIA if isinstance(part.get(kind), dict)), None)
        if isinstance(part.get("text"), str):
            read.append({"type": "text", "text": part["text"]})
        elif media:
            read.append(_media(media, part[media]))
        elif "cachePoint" not in part:
            notes.add(*PART_LEFT_OUT, where=", ".join(map(repr, part)))
    return read


def _media(kind: str, held: Part) -> Part:
    source = held.get("source") if isinstance(held.get("source"), dict) else {}
    media = f"{kind}/{held['format']}" if isinstance(held.get("format"), str) else ""
    name = held.get("name")
    if not source.get("bytes"):
        return {"type": "text", "text": f"[{kind}{f', {name}' if name else ''}]"}
    named = {"name": name} if isinstance(name, str) else {}
    return {**data_part(source["bytes"], media, kind), **named}
