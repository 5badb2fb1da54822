"""The working set: the blocks of a context's prompt, their order, and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from course_lib.messages import SUMMARY_MARK, Message, calls_of, text_of, user
from course_lib.notes import Note
from course_lib.tokens import count_tokens
from course_lib.trimming import Parts, take_apart

NOTES_MARK = "[Notes]"


class Entry(NamedTuple):
    """A message in the prompt: its place in the trace, and its tokens."""

    at: int
    message: Message
    tokens: int


def layout(
    head: Sequence[Message],
    summary: Message | None,
    notes: Message | None,
    recent: Sequence[Message],
) -> list[Message]:
    """The prompt: instructions and task, summary, notes, recent steps, the newest question last.

    A provider's cache reuses the prompt up to the first change, so what changes least comes
    first: instructions and task never do, the summary at a compaction, the notes when one is
    written, and the recent steps only grow. A new note spoils the cache of the recent steps, and
    of nothing before them.
    """
    return [*head, *([summary] if summary else []), *([notes] if notes else []), *recent]


class WorkingSet:
    """What stands in the prompt at one moment: head, summary, notes, recent messages, pins.

    `fixed` are the tokens of all that never changes. `size` is kept up: adding a message costs
    what that message costs. `open` counts the calls by id whose results haven't come.
    """

    def __init__(
        self,
        head: Sequence[Message],
        fixed: int,
        summary: Note | None = None,
        notes: Mapping[str, str] | None = None,
        recent: Iterable[Entry] = (),
        pins: Iterable[int] = (),
    ) -> None:
        self.head, self.fixed = head, fixed
        self.summary, self.notes, self.pins = summary or Note(), dict(notes or {}), frozenset(pins)
        self.summary_block, self.notes_block = summary_block(self.summary), notes_block(self.notes)
        self.size = fixed + block_size(self.summary_block) + block_size(self.notes_block)
        self.recent: list[Entry] = []
        self.open: Counter[str | None] = Counter()
        for entry in recent:
            self.add(entry)

    def changed(self, **parts: Any) -> WorkingSet:
        """A new working set with other parts; this one stays as it is."""
        same = {name: getattr(self, name) for name in ("summary", "notes", "recent", "pins")}
        return WorkingSet(self.head, self.fixed, **{**same, **parts})

    def add(self, entry: Entry) -> None:
        """Add a message at the end."""
        self.recent.append(entry)
        self.size += entry.tokens
        self.open.update(call.id for call in calls_of(entry.message))
        if entry.message["role"] == "tool":
            self.open[entry.message.get("tool_call_id")] -= 1

    def messages(self) -> list[Message]:
        """The prompt."""
        recent = [entry.message for entry in self.recent]
        return layout(self.head, self.summary_block, self.notes_block, recent)

    def taken_apart(self, tools: Sequence[dict[str, Any]] | None, reserve: int) -> Parts:
        """What must stay and what may go. Notes, pins and the newest question are to stay."""
        asked = [entry.at for entry in self.recent if entry.message["role"] == "user"]
        stay = {*self.pins, *asked[-1:]}
        recent = [pinned(e.message) if e.at in stay else e.message for e in self.recent]
        notes = pinned(self.notes_block) if self.notes_block else None
        return take_apart(
            layout(self.head, self.summary_block, notes, recent), tools=tools, reserve=reserve
        )

    def without(self, parts: Parts, groups: Iterable[int]) -> list[Entry]:
        """The recent messages without those of some groups, which `parts` numbers."""
        first = len(parts.messages) - len(self.recent)
        gone = {i for at in groups for i in parts.grouping.group(at)}
        return [entry for i, entry in enumerate(self.recent, first) if i not in gone]

    def replaceable(self, parts: Parts) -> list[int]:
        """The groups that a note can stand for, when a run starts afresh.

        Not the pinned ones, open calls, or a question that nobody has answered yet.
        """
        first = len(parts.messages) - len(self.recent)
        whole = set(parts.grouping.open)
        for i, (at, message, _) in enumerate(self.recent, first):
            waiting = message["role"] == "user" and i == len(parts.messages) - 1
            if waiting or at in self.pins or message.get("pinned"):
                whole.add(parts.grouping.group_of(i))
        groups = {parts.grouping.group_of(i) for i in range(first, len(parts.messages))}
        return sorted(groups - whole)


# ---- the blocks -----------------------------------------------------------------------------


def summary_block(note: Note) -> Message | None:
    """The message for a summary, or None if it says nothing."""
    text = note.render(empty="")
    return user(f"{SUMMARY_MARK}\n{text}") if text else None


def notes_block(notes: Mapping[str, str]) -> Message | None:
    """The message for the pinned notes, each with its key, or None if there are none."""
    lines = [f"[{key}] {text}" for key, text in notes.items()]
    return user("\n".join([NOTES_MARK, *lines])) if lines else None


def block_size(block: Message | None) -> int:
    """The tokens of a block that may be missing."""
    return count_tokens(block) if block else 0


def pinned(message: Message) -> Message:
    """A copy of the message that a trim keeps."""
    return {**message, "pinned": True}


def cut_result(message: Message, cap: int) -> Message:
    """The beginning of a long result, in about `cap` tokens, with a mark that says what is missing.

    It ends between two words: half a figure would be a wrong one.
    """
    text, length = text_of(message), 4 * cap
    while True:
        shown = (text[:length].rsplit(None, 1) or [""])[0]
        rest = f"[{len(text) - len(shown):,} more characters are in the trace]"
        short = {**message, "content": f"{shown}\n{rest}"}
        if length == 0 or count_tokens(short) <= cap:
            return short
        length = length * 3 // 4
