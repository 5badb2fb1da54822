"""The plain class, a first manager, as lesson 6 writes it out, in pieces that are counted once.

It keeps no trace: what a compaction takes out of the text is gone. `course_lib.context` has the
manager that stays within its budget.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from course_lib.tokens import count_tokens


class Piece(NamedTuple):
    """A piece of a prompt: its kind (head, notes, summary or recent) and its text."""

    kind: str
    text: str


class FirstContext:
    """Instructions, pinned notes, a rolling summary and the most recent steps, as one text.

    The lesson takes four characters for a token; `count` says what a piece costs here.
    """

    def __init__(
        self,
        instructions: str,
        budget: int = 6000,
        keep_last: int = 4,
        count: Callable[[str], int] = count_tokens,
    ) -> None:
        self.instructions, self.budget, self.keep_last = instructions, budget, keep_last
        self.count = count
        self.notes: list[str] = []
        self.summary: list[str] = []
        self.recent: list[str] = []
        self.compactions = 0

    def note(self, text: str) -> None:
        """Pin a note for good."""
        self.notes.append(text)

    def add(self, text: str) -> None:
        """Add a step; compact if the whole is over the budget then."""
        self.recent.append(text)
        if self.size() > self.budget:
            self.compact()

    def compact(self) -> None:
        """Summarise all but the last steps, and add that to the summary."""
        self.compactions += 1
        old, self.recent = self.recent[: -self.keep_last], self.recent[-self.keep_last :]
        self.summary.append(summarise(old).strip())

    def pieces(self) -> list[Piece]:
        """The text in the order in which it is sent; joined, it is what `render` gives."""
        found = [Piece("head", self.instructions)]
        blocks = {"notes": self.notes, "summary": self.summary, "recent": self.recent}
        for kind, texts in blocks.items():
            if texts:
                found.append(Piece(kind, f"\n\n{kind.upper()}\n{texts[0]}"))
                found += [Piece(kind, f"\n{text}") for text in texts[1:]]
        return found

    def render(self) -> str:
        """The text that is sent."""
        return "".join(piece.text for piece in self.pieces())

    def size(self) -> int:
        """What the text costs, piece by piece."""
        return sum(self.count(piece.text) for piece in self.pieces())


def summarise(entries: list[str]) -> str:
    """A stand-in for a model: exact `FACT:` lines, and the beginning of the rest."""
    facts = [line for e in entries for line in e.splitlines() if line.startswith("FACT:")]
    gist = [e.splitlines()[0][:60] for e in entries]
    return "Earlier: " + "; ".join(gist) + "\n" + "\n".join(facts)
