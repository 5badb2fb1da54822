"""tau-bench: many runs in one file, each of a task and a trial, with the reward it earned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from course_lib.traces.chat import (
    as_id,
    as_json,
    last_value,
    rows_in,
    to_text,
    transcript,
    with_notes,
)
from course_lib.traces.openai_chat import is_message_list, read_rows
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "tau-bench"

NOTHING_SAID = (
    "Nothing was said in the run {where}: left out.",
    "Nothing was said in {n} runs: {where}: left out.",
)
FAILED = "The run stopped with an error: {where}"
REWARD = "The run's reward was {where}."
USERS_CALL = (
    "A message in which the simulated user works with a tool of its own is left out: the agent "
    "never reads it.",
    "{n} messages in which the simulated user works with tools of its own are left out: the agent "
    "never reads them.",
)
ERROR_LENGTH = 200


def recognise(document: Any) -> bool:
    """True for the results of runs, or for one of them: a `traj` or `messages` with a task."""
    return any(_is_result(row) for row in _results(document))


def read(document: Any) -> list[Transcript]:
    """The runs in the file, each named by its task and trial."""
    notes = NotesTaken()
    model = _model(document)
    runs = []
    for row in _results(document, notes):
        said = _said(row) if _is_result(row) else None
        run = _read_run(row, said) if is_message_list(said) else None
        if run and run.messages:
            runs.append(replace(run, model=model))
        else:
            notes.add(*NOTHING_SAID, where=_name(row) or "without a task")
    return with_notes(runs, notes)


def _results(document: Any, notes: NotesTaken | None = None) -> list[dict[str, Any]]:
    """The rows that may be results; those of the second version stand under `simulations`."""
    if isinstance(document, dict) and isinstance(document.get("simulations"), list):
        document = document["simulations"]
    return [row for _, row in rows_in(document, notes)]


def _said(row: dict[str, Any]) -> Any:
    return as_json(row["traj"] if "traj" in row else row.get("messages"))


def _is_result(row: dict[str, Any]) -> bool:
    """True for a result of either version: they share the task, and differ in what is beside it."""
    if "task_id" not in row or not isinstance(_said(row), list):
        return False
    return "traj" in row or {"trial", "reward_info"} <= row.keys()


def _name(row: dict[str, Any]) -> str:
    parts = ((key, as_id(row.get(f"{key}_id", row.get(key)))) for key in ("task", "trial"))
    return " ".join(f"{key} {value}" for key, value in parts if value is not None)


def _model(document: Any) -> str | None:
    """The model that a file of the second version names for the agent."""
    info = document.get("info") if isinstance(document, dict) else None
    agent = info.get("agent_info") if isinstance(info, dict) else None
    model = agent.get("llm") if isinstance(agent, dict) else None
    return model if isinstance(model, str) else None


def _read_run(row: dict[str, Any], said: list[Any]) -> Transcript:
    notes = NotesTaken()
    flat = _flat(said)
    agents = [message for message in flat if not _is_users_own(message)]
    for _ in range(len(flat) - len(agents)):
        notes.add(*USERS_CALL)
    info = row.get("info") if isinstance(row.get("info"), dict) else {}
    scored = row.get("reward_info") if isinstance(row.get("reward_info"), dict) else {}
    reward = row.get("reward", scored.get("reward"))
    if reward is not None:
        notes.add(REWARD, where=to_text(reward))
    if info.get("error"):
        notes.add(FAILED, where=to_text(info["error"])[:ERROR_LENGTH])
    usage = last_value([message for _, message in rows_in(agents)], "usage", dict)
    messages = read_rows(agents, notes)
    return transcript(messages, "tau-bench run", notes, name=_name(row), usage=usage)


def _flat(messages: list[Any]) -> list[Any]:
    """The messages, with the results that the second version packs into one message apart."""
    packed = [
        m["tool_messages"]
        if isinstance(m, dict) and isinstance(m.get("tool_messages"), list)
        else [m]
        for m in messages
    ]
    return [message for group in packed for message in group]


def _is_users_own(message: Any) -> bool:
    """True for a call of the simulated user, and for the result that it gets."""
    if not isinstance(message, dict):
        return False
    calls = message.get("tool_calls")
    called = message.get("role") == "user" and bool(calls) and not message.get("content")
    return called or (message.get("role") == "tool" and message.get("requestor") == "user")
