"""What readers of frameworks build messages from: answers, results, parts with data or links."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from course_lib.traces.chat import Message, as_id, kind_of, simple_content, to_text
from course_lib.traces.wording import NotesTaken

PART_LEFT_OUT = (
    "A part of a kind that isn't known ({where}) is left out.",
    "{n} parts of kinds that aren't known ({where}) are left out.",
)


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; none for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def data_part(data: Any, media: Any, kind: str = "") -> dict[str, Any]:
    """A part that holds base64 data, as `read_content` understands it."""
    media = media if isinstance(media, str) else ""
    told = media.partition("/")[0]
    told = told if told in ("image", "audio", "video") else "document" if media else "media"
    return {"type": kind or told, "data": to_text(data), "media_type": media}


def linked_part(kind: str, url: Any) -> dict[str, Any]:
    """A part for a picture or a file that is only linked; its link isn't followed."""
    if isinstance(url, str) and url.startswith("data:"):
        return {"type": kind, kind: url}
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": to_text(url)}}
    return {"type": "text", "text": f"[{kind}, {to_text(url)}]"}


def answer_message(
    parts: list[Any],
    notes: NotesTaken,
    thoughts: Iterable[str] = (),
    calls: Iterable[dict[str, Any]] = (),
    **more: Any,
) -> Message:
    """An assistant message of parts of content, pieces of reasoning and tool calls."""
    calls, reasoning = list(calls), "\n\n".join(filter(None, thoughts))
    content = simple_content(parts, notes) if parts else None
    message = {**more, "role": "assistant", "content": content or (None if calls else "")}
    if reasoning:
        message["reasoning_content"] = reasoning
    return {**message, "tool_calls": calls} if calls else message


def result_message(content: Any, notes: NotesTaken, id: Any = None, name: Any = None) -> Message:
    """A tool's result. A value that is neither text nor a list of parts becomes JSON text."""
    if isinstance(content, list) and content and all(map(kind_of, content)):
        content = simple_content(content, notes)
    elif not isinstance(content, str):
        content = "" if content is None else to_text(content)
    message: Message = {"role": "tool", "content": content}
    if isinstance(name, str) and name:
        message["name"] = name
    return {**message, "tool_call_id": as_id(id)} if as_id(id) else message
