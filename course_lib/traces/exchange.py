"""A request and its answer out of a trace, and the runs that such requests are together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from course_lib.messages import calls_of, text_of
from course_lib.traces import (
    anthropic,
    bedrock,
    gemini,
    genai,
    langchain,
    llama_index,
    responses,
    vercel,
)
from course_lib.traces.chat import (
    Message,
    as_json,
    kind_of,
    to_text,
    tool_schemas,
    transcript,
    unwrapped,
)
from course_lib.traces.langchain_messages import read_messages
from course_lib.traces.openai_chat import (
    NOT_A_MESSAGE,
    find_answer,
    find_messages,
    find_tools,
    find_value,
    is_message,
    read_rows,
)
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

# These put a request and its answer together themselves.
WHOLE = (gemini, responses)
SAID_KEYS = ("content", "tool_calls", "function_call", "refusal")

HOLDS = (
    "An earlier request of this run is its beginning: it follows as a run of its own.",
    "{n} earlier requests of this run are its beginning: they follow as runs of their own.",
)


def read_exchange(
    asked: Any, answered: Any, *, system: Any = None, tools: Any = (), model: Any = None,
    usage: Any = None,
) -> Transcript | None:  # fmt: skip
    """A request and its answer as one run, whatever their shapes; None if neither is understood.

    `system`, `tools`, `model` and `usage` are what the trace knows beside them.
    """
    asked, answered = unwrapped(asked), unwrapped(answered)
    notes = NotesTaken()
    both = {"input": asked, "output": answered, "instructions": system}
    whole = next((family for family in WHOLE if family.recognise(both)), None)
    asked_rows, schemas = _without_schemas(rows_of(asked))
    if whole:
        run = whole.read(both)[0]
    else:
        answer = answer_rows(answered)
        rows = [] if answer[: len(asked_rows)] == asked_rows else asked_rows
        messages = _read_all([*genai.system_rows(system), *rows, *answer], notes)
        run = transcript(messages, "", notes)
    if not run.messages or not (asked_rows or whole):
        return None
    sides = {key: side for key, side in both.items() if isinstance(side, dict)}
    return replace(
        run,
        tools=run.tools or tool_schemas(tools) or tool_schemas(schemas) or find_tools(sides),
        model=run.model or model or find_value(sides, "model", str),
        usage=run.usage or usage or find_value(sides, "usage", dict),
    )


# ---- what was asked and what was answered ---------------------------------------------------


def rows_of(asked: Any) -> list[Any]:
    """The rows of messages of a request."""
    if isinstance(asked, str):
        return [{"role": "user", "content": asked}] if asked else []
    if isinstance(asked, dict):
        inner = as_json(asked.get("messages"))
        listed = inner if isinstance(inner, list) else find_messages(asked)
        beside = genai.system_rows(asked.get("system") or asked.get("instructions"))
        asked = [*beside, *listed] if listed else [asked]
    if not isinstance(asked, list):
        return []
    flat = [row for item in asked for row in (item if isinstance(item, list) else [item])]
    rows = [{"role": "user", "content": row} if isinstance(row, str) else row for row in flat]
    return rows if any(map(_is_row, rows)) else next(langchain.found(asked), [])


def _is_row(row: Any) -> bool:
    known = is_message(row) or genai.is_message(row) or vercel.is_message(row)
    return known or bool(langchain.row_of(row))


def answer_rows(answered: Any) -> list[Any]:
    """The rows of messages of an answer; what isn't a message is one, as JSON text."""
    if not answered:
        return []
    if isinstance(answered, str):
        return [{"role": "assistant", "content": answered}]
    if isinstance(answered, list):
        if any(map(_is_row, answered)):
            return answered
        if all(isinstance(row, dict) and "function" in row for row in answered):
            return [{"role": "assistant", "content": None, "tool_calls": answered}]
        inner = [row.get("message") for row in answered if isinstance(row, dict)]
        if any(map(_is_row, inner)):
            return inner[:1]
    if isinstance(answered, dict):
        if _is_row(answered):
            return [answered]
        listed = as_json(answered.get("messages"))
        if isinstance(listed, list) and any(map(_is_row, listed)):
            return listed
        said = find_answer({"output": answered}, NotesTaken())
        if not said and any(answered.get(key) for key in SAID_KEYS):
            said = {**answered, "role": "assistant"}
        if said:
            return [said]
    found = next(langchain.found(answered), None)
    return found or [{"role": "assistant", "content": to_text(answered)}]


def _without_schemas(rows: list[Any]) -> tuple[list[Any], list[Any]]:
    """The rows, and the tool schemas that some tracers list among them as tool messages."""
    schemas, rest = [], []
    for row in rows:
        content = as_json(row.get("content")) if isinstance(row, dict) else None
        listed = isinstance(content, dict) and isinstance(content.get("function"), dict)
        if listed and kind_of(content) == "function" and not row.get("tool_call_id"):
            schemas.append(content)
        else:
            rest.append(row)
    return rest, schemas


def _read_all(rows: list[Any], notes: NotesTaken) -> list[Message]:
    """The messages of rows that may each be of another family."""
    messages: list[Message] = []
    for number, row in enumerate(rows, 1):
        plain = row if isinstance(row, dict) and "kind" in row else langchain.row_of(row)
        if plain and not is_message(row):
            messages += read_messages([plain], notes)
        elif genai.is_message(row):
            messages += genai.read_rows([row], notes)
        elif vercel.is_message(row):
            messages += vercel.read_rows([row], notes)
        elif bedrock.is_message(row):
            messages += bedrock.read_rows([row], notes)
        elif llama_index.recognise([row]):
            messages += llama_index.read_rows([row], notes)
        elif anthropic.recognise([row]):
            messages += anthropic.read_rows([row], notes)
        elif is_message(row):
            messages += read_rows([row], notes)
        else:
            notes.add(*NOT_A_MESSAGE, where=number)
    return messages


# ---- runs -----------------------------------------------------------------------------------


def whole_first(runs: Sequence[Transcript]) -> list[Transcript]:
    """The runs that are the beginning of no other, then the requests that they grew from.

    Only what was said and called counts: the same messages may be written down differently.
    """
    steps: dict[tuple[int, str], int] = {}
    paths = []
    for run in runs:
        at, path = 0, []
        for message in run.messages:
            at = steps.setdefault((at, said(message)), len(steps) + 1)
            path.append(at)
        paths.append(path)
    ends = {path[-1]: number for number, path in enumerate(paths) if path}  # the latest of equals
    inner = {at for path in paths for at in path[:-1]}
    whole = [n for n, path in enumerate(paths) if path[-1] not in inner and ends[path[-1]] == n]
    out = []
    for number in whole:
        notes, held = NotesTaken(), set(paths[number])
        for other, path in enumerate(paths):
            if other != number and path[-1] in held:
                notes.add(*HOLDS)
        run = runs[number]
        out.append(replace(run, notes=(*run.notes, *notes.sentences())))
    return out + [run for number, run in enumerate(runs) if number not in whole]


def said(message: Message) -> str:
    """What a message says and calls, as text to compare."""
    calls = [(call.name, _canonical(call.arguments)) for call in calls_of(message)]
    return to_text([message["role"], text_of(message).strip(), calls])


def _canonical(arguments: Any) -> str:
    return to_text(as_json(arguments))
