"""A whole recorded run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, repr=False)
class Transcript:
    """A whole recorded run, as messages in the OpenAI chat shape.

    `name` says which run it is, `format` in which shape it was written down. `notes` are
    sentences about what a reader mended or left out. `tools` are the tool schemas the file knew,
    `model` and `usage` what it said about the model and the tokens of the last answer, if it did.
    """

    messages: list[dict[str, Any]]
    name: str = ""
    format: str = ""
    notes: tuple[str, ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    model: str | None = None
    usage: dict[str, Any] | None = None

    def __repr__(self) -> str:
        notes = f", {len(self.notes)} notes" if self.notes else ""
        return f"<Transcript {self.name!r}: {len(self.messages)} messages, {self.format}{notes}>"
