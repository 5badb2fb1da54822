"""The hand-off note: all that a fresh context needs, as text that a person can read too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from course_lib.notes import Note, parse_note


@dataclass(frozen=True)
class HandOff:
    """The six-section note, the pinned `notes` by key, and where the run stood.

    `seen` is how many messages its trace had; `kept` are the places of those that the note does
    not stand for, so they go into the new prompt; `pins` are the pinned ones among them. A note
    from elsewhere has no `seen`.
    """

    note: Note
    notes: dict[str, str] = field(default_factory=dict)
    seen: int | None = None
    kept: tuple[int, ...] = ()
    pins: tuple[int, ...] = ()

    def render(self) -> str:
        """The hand-off as text: the note, the pinned notes, and a line about the trace."""
        notes = ["Notes:", *(f"  [{key}] {text}" for key, text in self.notes.items())]
        trace = [
            f"Trace: {self.seen} messages; kept {ranges(self.kept)}; pinned {ranges(self.pins)}"
        ]
        return "\n".join([self.note.render(), *notes * bool(self.notes), *trace])


def parse_hand_off(text: str) -> HandOff:
    """What `render` wrote. Any other text is read as a note alone."""
    rest, _, last = text.rstrip().rpartition("\n")
    trace = _TRACE.fullmatch(last)
    if trace is None:
        return HandOff(parse_note(text))
    note, _, notes = rest.partition("\nNotes:\n")
    found = (_NOTE.fullmatch(line) for line in notes.split("\n"))
    return HandOff(
        parse_note(note),
        {match[1]: match[2] for match in found if match},
        int(trace[1]),
        places(trace[2]),
        places(trace[3]),
    )


_TRACE = re.compile(r"Trace: (\d+) messages; kept ([\d -]+); pinned ([\d -]+)")
_NOTE = re.compile(r" *\[([^\]]+)\] (.*)")


def ranges(places: Iterable[int]) -> str:
    """Ascending numbers in short: 2 5-7, or - for none."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return " ".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else str(r[0]) for r in runs) or "-"


def places(text: str) -> tuple[int, ...]:
    """The numbers that `ranges` wrote."""
    found: list[int] = []
    for part in text.split():
        first, _, last = part.partition("-")
        if first:
            found += range(int(first), int(last or first) + 1)
    return tuple(found)
