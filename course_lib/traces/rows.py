"""The rows of a long log, held only as long as a reader needs them, and without what none needs.

A row is let go of once its message is read, so that a log and its messages don't stand in memory
side by side. What no reader uses and takes room goes before that: the bytes of pictures, of which
the size is kept, and what Claude Code and Codex write down a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from course_lib.traces.media import HELD, without_bytes
from course_lib.traces.progress import Told, silent

LONG = 4096  # characters: a shorter row holds no picture that is worth looking for

# What the rows of Claude Code say beside the message, and no reader asks for.
BESIDE = {"toolUseResult", "snapshot", "cwd", "gitBranch", "userType", "version", "slug"}
# What Codex shows on the screen of a call whose output stands in a row of its own.
SHOWN = {"exec_command_output_delta", "exec_command_end", "patch_apply_end", "mcp_tool_call_end"}


EVERY = 1024  # rows, between two times that it is told how many are read


class Rows(list[Any]):
    """The rows of a file, which nobody else holds. `told` hears what share of them is read."""

    told: Told = staticmethod(silent)


def taken(rows: Iterable[Any]) -> Iterator[Any]:
    """The rows, one after the other; those of a file are let go of as they are taken."""
    if not isinstance(rows, Rows):
        yield from rows
        return
    for at in range(len(rows)):
        row, rows[at] = rows[at], None
        yield row
        del row
        if at % EVERY == 0:
            rows.told(at / len(rows))


def slim(row: Any, length: int) -> Any:
    """The row of a log, which had so many characters, without what no reader uses."""
    if not isinstance(row, dict):
        return row
    if "sessionId" in row and "uuid" in row:
        row = {key: value for key, value in row.items() if key not in BESIDE}
        if isinstance(row.get("attachment"), dict):
            row["attachment"] = {"type": row["attachment"].get("type")}
    elif isinstance(row.get("payload"), dict):
        row = {**row, "payload": _slim_payload(row["payload"], row.get("type"))}
    return without_bytes(row) if length >= LONG else row


def _slim_payload(payload: dict[str, Any], envelope: Any) -> dict[str, Any]:
    """What Codex wrote in an envelope, without a second copy of an output, or encrypted text."""
    kind, hidden = payload.get("type"), payload.get("encrypted_content")
    if envelope == "event_msg" and isinstance(kind, str) and kind in SHOWN:
        return {"type": kind}
    if kind == "reasoning" and isinstance(hidden, str):
        return {**payload, "encrypted_content": hidden[:HELD]}
    return payload
