"""Vercel's AI SDK: model messages with `tool-call` parts, and the messages of its chat windows."""

from __future__ import annotations

from typing import Any

from course_lib.traces.building import (
    PART_LEFT_OUT,
    answer_message,
    data_part,
    linked_part,
    objects,
    result_message,
)
from course_lib.traces.chat import Message, as_json, kind_of, simple_content, tool_call, transcript
from course_lib.traces.openai_chat import NOT_A_MESSAGE, ROLES, find_tools, role_of
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "Vercel AI SDK"

Part = dict[str, Any]

HOLDER_KEYS = ("messages", "prompt", "input", "uiMessages", "responseMessages")
OWN_PARTS = {"tool-call", "tool-result", "tool-invocation", "dynamic-tool", "step-start"}
# Parts that say something to the window and nothing to the model.
SILENT = ("step-start", "source", "source-url", "source-document", "data-")
DONE = ("result", "output-available", "output-error")


def recognise(document: Any) -> bool:
    """True for a list of such messages, and for an object that holds one."""
    if isinstance(document, list):
        return _is_list(document)
    return isinstance(document, dict) and bool(_list(document))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows."""
    notes = NotesTaken()
    if isinstance(document, list):
        return [transcript(read_rows(document, notes), NAME, notes)]
    system = document.get("system")
    messages = [{"role": "system", "content": system}] if isinstance(system, str) and system else []
    messages += read_rows(_list(document), notes)
    return [transcript(messages, NAME, notes, tools=find_tools(document))]


def is_message(row: Any) -> bool:
    """True for a message with a part that only this library has."""
    if not isinstance(row, dict) or role_of(row) not in ROLES:
        return False
    own = any(_is_own(part) for part in _parts(row))
    return own or bool(objects(row.get("toolInvocations")))


def _parts(row: Part) -> list[Part]:
    """The parts of a message, which a window's message has beside a text of its own."""
    return objects(row.get("parts")) or objects(row.get("content"))


def _is_own(part: Part) -> bool:
    kind = kind_of(part)
    return kind in OWN_PARTS or (kind.startswith("tool-") and "toolCallId" in part)


def _is_list(value: Any) -> bool:
    """True for a list with such a message in it, of which half or more are messages."""
    if not isinstance(value, list) or not any(map(is_message, value)):
        return False
    said = [row for row in value if isinstance(row, dict) and role_of(row) in ROLES]
    return len(value) <= 2 * len(said)


def _list(document: dict[str, Any]) -> list[Any]:
    return next(filter(_is_list, (as_json(document.get(key)) for key in HOLDER_KEYS)), [])


# ---- reading --------------------------------------------------------------------------------


def read_rows(rows: list[Any], notes: NotesTaken) -> list[Message]:
    """The messages of a list of rows; what isn't one is left out and noted."""
    messages: list[Message] = []
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict) and role_of(row) in ROLES:
            messages += _read_row(row, ROLES[role_of(row)], notes)
        else:
            notes.add(*NOT_A_MESSAGE, where=number)
    return messages


def _read_row(row: Part, role: str, notes: NotesTaken) -> list[Message]:
    parts = _parts(row)
    if not parts and isinstance(row.get("content"), str):
        parts = [{"type": "text", "text": row["content"]}]
    older = [
        {"type": "tool-invocation", "toolInvocation": i}
        for i in objects(row.get("toolInvocations"))
    ]
    if older and not any(kind_of(part) == "tool-invocation" for part in parts):
        parts = [*older, *parts]
    if role == "assistant":
        return [message for step in _steps(parts) for message in _read_step(step, notes)]
    if role == "tool":
        return [_read_result(part, notes) for part in parts if kind_of(part) == "tool-result"]
    content = [read for part in parts if (read := _read_part(part, notes))]
    return [{"role": role, "content": simple_content(content, notes) if content else ""}]


def _steps(parts: list[Part]) -> list[list[Part]]:
    """The parts of each answer: a window keeps the answers of several steps in one message."""
    steps: list[list[Part]] = [[]]
    for part in parts:
        before = steps[-1]
        if kind_of(part) == "step-start" or (before and _called(before[-1]) and not _called(part)):
            steps.append([])
        steps[-1].append(part)
    said = [step for step in steps if any(kind_of(part) != "step-start" for part in step)]
    return said or [[]]


def _called(part: Part) -> Part | None:
    """The call in a part, with its result where the window got one; None for no call."""
    if kind_of(part) == "tool-invocation":
        inner = part.get("toolInvocation")
        return inner if isinstance(inner, dict) else None
    return (
        part if kind_of(part) != "tool-result" and _is_own(part) and "toolCallId" in part else None
    )


def _read_step(parts: list[Part], notes: NotesTaken) -> list[Message]:
    """An answer, and the results that stand inside it."""
    called = [call for part in parts if (call := _called(part))]
    calls = [tool_call(call.get("toolCallId"), _name(call), _arguments(call)) for call in called]
    thoughts = [
        str(part.get("text") or part.get("reasoning") or "")
        for part in parts
        if kind_of(part) == "reasoning"
    ]
    apart = [p for p in parts if not _called(p) and kind_of(p) not in ("reasoning", "tool-result")]
    said = [read for part in apart if (read := _read_part(part, notes))]
    results = [call for call in called if call.get("state") in DONE]
    results += [part for part in parts if kind_of(part) == "tool-result"]
    return [
        answer_message(said, notes, thoughts, calls),
        *(_read_result(r, notes) for r in results),
    ]


def _name(call: Part) -> Any:
    return call.get("toolName") or kind_of(call).removeprefix("tool-")


def _arguments(call: Part) -> Any:
    return call.get("args") if call.get("args") is not None else call.get("input")


def _read_result(part: Part, notes: NotesTaken) -> Message:
    """A result, out of the wrapping that names its type in the newer versions."""
    keys = ("result", "output", "errorText")
    body = next((part[key] for key in keys if part.get(key) is not None), None)
    wrapped = isinstance(body, dict) and set(body) <= {"type", "value", "providerOptions"}
    failed = part.get("isError") or part.get("errorText")
    if wrapped and isinstance(body.get("type"), str) and "value" in body:
        failed = failed or body["type"].startswith("error")
        body = body["value"]
    message = result_message(body, notes, part.get("toolCallId"), _name(part))
    return {**message, "is_error": True} if failed else message


def _read_part(part: Part, notes: NotesTaken) -> Part | None:
    kind = kind_of(part)
    if kind == "text":
        return {"type": "text", "text": str(part.get("text") or "")}
    media = part.get("mediaType") or part.get("mimeType")
    held = next((part[key] for key in ("image", "data", "url") if part.get(key)), None)
    if kind in ("image", "file") and held:
        what = "image" if kind == "image" or str(media).startswith("image/") else "file"
        linked = isinstance(held, str) and (":" in held)
        return linked_part(what, held) if linked else data_part(held, media, what)
    if not kind.startswith(SILENT):
        notes.add(*PART_LEFT_OUT, where=repr(kind))
    return None
