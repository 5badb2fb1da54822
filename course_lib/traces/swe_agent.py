"""SWE-agent and mini-SWE-agent: the trajectory of one attempt at a task, or of several."""

from __future__ import annotations

from typing import Any

from course_lib.traces import openai_chat, responses
from course_lib.traces.chat import Message, as_json, last_value, rows_in, to_text, transcript
from course_lib.traces.openai_chat import is_message_list, read_rows
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "SWE-agent"

SENT_KEYS = ("query", "messages")  # `messages` until 1.0: nearly what the next step was sent

SENT_OTHERWISE = (
    "The whole talk (`history`) is read. What was sent at each step stands under "
    "`trajectory[i].{key}`; at the last step {n} of {many} messages were sent with another content."
)
WHOLE = "The whole talk (`history`) is read; what was sent at each step (`trajectory`) is the same."
REBUILT = (
    "The file keeps no `history`: the talk is rebuilt from what was sent at the last step and what "
    "came of it."
)
STEPS_ONLY = (
    "The file keeps only the steps: the system text and the task are missing; what a command "
    "printed stands as the user's text."
)


def recognise(document: Any) -> bool:
    """True for a trajectory of SWE-agent (also of several attempts) or of mini-SWE-agent."""
    if not isinstance(document, dict):
        return False
    return bool(_attempts(document)) or _is_mini(document)


def read(document: Any) -> list[Transcript]:
    """The runs in a trajectory, one for each attempt."""
    if _is_mini(document):
        runs = [_read_mini(document)]
    else:
        attempts = _attempts(document)
        names = [f"attempt {i}" for i in range(1, len(attempts) + 1)] if attempts[1:] else [""]
        runs = [_read_attempt(at, name) for at, name in zip(attempts, names, strict=True)]
    return [run for run in runs if run.messages]


# ---- SWE-agent ------------------------------------------------------------------------------


def _attempts(document: dict[str, Any]) -> list[dict[str, Any]]:
    several = document.get("attempts")
    found = [row for _, row in rows_in(several) if _steps(row)] if several else []
    return found or ([document] if _steps(document) else [])


def _steps(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a trajectory: a response, the action in it, and what came of it."""
    steps = [row for _, row in rows_in(as_json(document.get("trajectory")))]
    return steps if any({"action", "observation"} <= step.keys() for step in steps) else []


def _read_attempt(attempt: dict[str, Any], name: str) -> Transcript:
    notes = NotesTaken()
    steps, rows = _steps(attempt), as_json(attempt.get("history"))
    if is_message_list(rows):
        _note_sent(rows, steps, notes)
    else:
        rows = _rebuilt(steps, notes)
    return transcript(
        read_rows([_with_thinking(row) for row in rows], notes),
        "SWE-agent trajectory",
        notes,
        name=name,
        model=_model(attempt),
    )


def _sent(step: dict[str, Any]) -> tuple[str, list[Any]] | None:
    return next(((key, step[key]) for key in SENT_KEYS if is_message_list(step.get(key))), None)


def _note_sent(rows: list[Any], steps: list[dict[str, Any]], notes: NotesTaken) -> None:
    """Say whether the last step was sent the messages as the history has them."""
    last = _sent(steps[-1])
    if not last:
        return
    key, sent = last
    said = {to_text(row.get("content")) for _, row in rows_in(rows)}
    other = sum(to_text(row.get("content")) not in said for _, row in rows_in(sent))
    text = SENT_OTHERWISE.replace("{key}", key).replace("{many}", str(len(sent)))
    notes.add(text.replace("{n}", str(other)) if other else WHOLE)


def _rebuilt(steps: list[dict[str, Any]], notes: NotesTaken) -> list[Any]:
    last = _sent(steps[-1])
    if not last:
        notes.add(STEPS_ONLY)
        return [message for step in steps for message in _of_step(step)]
    notes.add(REBUILT)
    key, sent = last
    return [*sent, *(_of_step(steps[-1]) if key == "query" else [])]


def _of_step(step: dict[str, Any]) -> list[Message]:
    """What a step said and what came of it. Without the calls, which only the history keeps."""
    said = step.get("response") or step.get("thought") or step.get("action")
    found = [("assistant", said), ("user", step.get("observation"))]
    return [{"role": role, "content": text} for role, text in found if text]


def _with_thinking(row: Any) -> Any:
    """A message with the blocks of its thinking in its content, where readers look for them."""
    blocks = row.get("thinking_blocks") if isinstance(row, dict) else None
    if not isinstance(blocks, list) or not blocks:
        return row
    rest = {key: value for key, value in row.items() if key != "thinking_blocks"}
    content = row.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    return {**rest, "content": [*blocks, *(content if isinstance(content, list) else [])]}


def _model(attempt: dict[str, Any]) -> str | None:
    settings = as_json(attempt.get("replay_config"))
    holder = settings if isinstance(settings, dict) else {}
    return _value(holder, "agent", "model", "name", kind=str)


def _value(document: Any, *path: str, kind: type = dict) -> Any:
    """The value at the end of a path of keys, if it is of that type; else None."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, kind) else None


# ---- mini-SWE-agent -------------------------------------------------------------------------


def _is_mini(document: dict[str, Any]) -> bool:
    named = document.get("trajectory_format")
    info = document.get("info")
    told = isinstance(named, str) and named.startswith("mini-swe-agent")
    told = told or (isinstance(info, dict) and "mini_version" in info)
    return told and isinstance(document.get("messages"), list)


def _read_mini(document: dict[str, Any]) -> Transcript:
    notes = NotesTaken()
    rows = [row for _, row in rows_in(document["messages"], notes)]
    own = [row.get("extra") for row in rows if isinstance(row.get("extra"), dict)]
    answers = [extra["response"] for extra in own if isinstance(extra.get("response"), dict)]
    bare = [{key: value for key, value in row.items() if key != "extra"} for row in rows]
    if any(row.get("object") == "response" for row in rows):
        answers = [row for row in rows if row.get("object") == "response"]
        messages = responses.read_items(_items(bare), notes)
    else:
        messages = openai_chat.read_rows([_with_thinking(row) for row in bare], notes)
    model = _value(document, "info", "config", "model", "model_name", kind=str)
    usage = last_value(answers, "usage", dict)
    return transcript(messages, "mini-SWE-agent trajectory", notes, model=model, usage=usage)


def _items(rows: list[dict[str, Any]]) -> list[Any]:
    """The rows as Responses has them: the output of an answer stands among the messages."""
    outputs = [
        row["output"]
        if row.get("object") == "response" and isinstance(row.get("output"), list)
        else [row]
        for row in rows
    ]
    return [item for group in outputs for item in group]
