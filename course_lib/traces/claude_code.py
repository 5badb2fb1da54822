"""Claude Code: a session in rows that name the row before them; an answer lies in several rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from course_lib.traces.anthropic import read_row
from course_lib.traces.chat import (
    COMPACTED,
    ROWS_LEFT_OUT,
    Message,
    as_id,
    kind_of,
    last_value,
    rows_in,
    transcript,
    with_notes,
)
from course_lib.traces.claude_answers import TALK, Row, is_prompt, joined, message_of
from course_lib.traces.openai_chat import role_of
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "Claude Code"

Chain = tuple[str, str]  # "session" or "agent", and an id

NOT_THE_MODEL = "<synthetic>"

ROW_AGAIN = (
    "Row {where} repeats a row that came before it: left out.",
    "Rows {where} repeat rows that came before them: left out.",
)
BRANCH = (
    "Row {where} goes back to an earlier point and starts anew: both branches are kept, one "
    "after the other.",
    "Rows {where} go back to an earlier point and start anew: all branches are kept, one after "
    "the other.",
)
INSERTED = (
    "Row {where} was put in by the program, not typed by the user (`isMeta`): kept.",
    "Rows {where} were put in by the program, not typed by the user (`isMeta`): kept.",
)
QUEUED = (
    "What was typed while the model worked (`queued_command`, row {where}) is left out.",
    "What was typed while the model worked (`queued_command`, rows {where}) is left out.",
)
SYNTHETIC = (
    "The answer in row {where} is the program's own, not the model's: kept.",
    "The answers in rows {where} are the program's own, not the model's: kept.",
)
EMPTY = (
    "The message in row {where} is empty: left out.",
    "The messages in rows {where} are empty: left out.",
)


def recognise(document: Any) -> bool:
    """True for rows of the user's and the assistant's that each hold a message."""
    return any(_is_talk(row) for _, row in rows_in(document))


def read(document: Any) -> list[Transcript]:
    """The runs in a log: the session, and each side chain of a sub-agent as one of its own."""
    notes = NotesTaken()
    chains = _chains(document, notes)
    read = {chain: _read_chain(chain, rows) for chain, rows in chains.items()}
    runs = [(chain, run) for chain, run in read.items() if run.messages]
    named = [replace(run, name=_name(chain)) for chain, run in runs] if runs[1:] else []
    whole = named or [run for _, run in runs]
    return with_notes(whole[:1], notes) + whole[1:]


def _is_talk(row: dict[str, Any]) -> bool:
    return kind_of(row) in TALK and message_of(row) is not None


def _name(chain: Chain) -> str:
    what = "sub-agent" if chain[0] == "agent" else "session"
    return f"{what} {chain[1]}".strip()


# ---- chains ---------------------------------------------------------------------------------


def _chains(document: Any, notes: NotesTaken) -> dict[Chain, list[Row]]:
    """The rows of talk by the chain that they are in, sessions first, in the file's order."""
    chains: dict[Chain, list[Row]] = {}
    of_row: dict[str, Chain] = {}
    of_session: dict[str, Chain] = {}
    for number, written in rows_in(document, notes, last=True):
        row = _of_agent(written)
        uuid = as_id(row.get("uuid"))
        again = uuid in of_row
        chain = _chain_of(row, of_row, of_session)
        if uuid:
            of_row.setdefault(uuid, chain)
        if _is_queued(row):
            notes.add(*QUEUED, where=number)
        elif not _is_talk(row):
            notes.add(*ROWS_LEFT_OUT, where=_kind(row))
        elif again:
            notes.add(*ROW_AGAIN, where=number)
        else:
            chains.setdefault(chain, []).append((number, row))
    return dict(sorted(chains.items(), key=lambda item: item[0][0] == "agent"))


def _of_agent(row: dict[str, Any]) -> dict[str, Any]:
    """The row of a sub-agent that a row of its progress holds; any other row as it is."""
    data = row.get("data")
    inner = data.get("message") if kind_of(data) == "agent_progress" else None
    if not isinstance(inner, dict):
        return row
    return {**inner, "isSidechain": True, "agentId": data.get("agentId")}


def _is_queued(row: dict[str, Any]) -> bool:
    """True for a prompt that was typed while the model worked and sent beside a tool's result."""
    return kind_of(row) == "attachment" and kind_of(row.get("attachment")) == "queued_command"


def _kind(row: dict[str, Any]) -> str:
    subtype = row.get("subtype")
    return f"{kind_of(row)} {subtype}" if isinstance(subtype, str) else kind_of(row) or "no type"


def _chain_of(row: dict[str, Any], of_row: dict[str, Chain], of_session: dict[str, Chain]) -> Chain:
    """The chain that a row goes on with, or a new one.

    Sessions that share a row's parent are one: a session that is taken up again gets a new id.
    """
    before = as_id(row.get("parentUuid")) or as_id(row.get("logicalParentUuid"))
    parent = of_row.get(before or "")
    caller = as_id(row.get("parent_tool_use_id"))
    if row.get("isSidechain") or caller:
        agent = as_id(row.get("agentId")) or caller
        if not agent and parent and parent[0] == "agent":
            return parent
        return "agent", agent or as_id(row.get("uuid")) or ""
    session = as_id(row.get("sessionId")) or as_id(row.get("session_id"))
    if not parent or parent[0] == "agent":
        known = of_session.get(session) if session else next(iter(of_session.values()), None)
        parent = known or ("session", session or "")
    if session:
        of_session.setdefault(session, parent)
    return parent


# ---- messages -------------------------------------------------------------------------------


def _read_chain(chain: Chain, rows: list[Row]) -> Transcript:
    notes = NotesTaken()
    _note_rows(rows, notes)
    messages: list[Message] = []
    answers = []
    for number, message in joined(rows, notes):
        pieces = read_row(message, notes)
        if role_of(message) == "assistant":
            answers.append(message)
        if any(map(_says_something, pieces)):
            messages += pieces
        else:
            notes.add(*EMPTY, where=number)
    own = [answer for answer in answers if answer.get("model") != NOT_THE_MODEL]
    return transcript(
        messages,
        "Claude Code sub-agent" if chain[0] == "agent" else "Claude Code session",
        notes,
        model=last_value(own, "model", str),
        usage=last_value(own, "usage", dict),
    )


def _says_something(message: Message) -> bool:
    said = any(message.get(key) for key in ("content", "tool_calls", "reasoning_content"))
    return said or message["role"] == "tool"


def _note_rows(rows: list[Row], notes: NotesTaken) -> None:
    """Notes on rows that are kept and aren't what they look like."""
    prompted: set[str] = set()
    for number, row in rows:
        if row.get("isCompactSummary"):
            notes.add(*COMPACTED, where=number)
        if row.get("isMeta"):
            notes.add(*INSERTED, where=number)
        message = message_of(row) or {}
        if message.get("model") == NOT_THE_MODEL:
            notes.add(*SYNTHETIC, where=number)
        parent = as_id(row.get("parentUuid"))
        if parent and is_prompt(message) and not row.get("isMeta"):
            if parent in prompted:
                notes.add(*BRANCH, where=number)
            prompted.add(parent)
