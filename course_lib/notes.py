"""The six-section note: goal, done, facts, decisions, open items, next step.

An agent that wakes up with such a note can go on at once. It is text for the model, and six
lists for us: two notes are merged section by section, so nothing is summarised twice.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from course_lib.messages import CourseError
from course_lib.tokens import count_tokens

NONE = "none"
LEFT_OUT = "Left out: earlier lines; search the trace for them."


class CapTooSmall(CourseError):
    """What a note can't leave out is over its cap. `.cap` and `.floor` are in tokens."""

    def __init__(self, cap: int, floor: int) -> None:
        self.cap, self.floor = cap, floor
        super().__init__(
            f"The note's goal, constraints and next step need {floor:,} tokens, and its cap is "
            f"{cap:,}. Raise the cap, or give the task in fewer words."
        )


@dataclass(frozen=True)
class Note:
    """What an agent needs to go on. The sections are texts or tuples of one-line items.

    Constraints are rules in the user's own words; they stand in the goal's line. `left_out` says
    that the note was shortened. Line breaks become spaces; "none" and empty items are dropped.
    """

    goal: str = ""
    done: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    open_items: tuple[str, ...] = ()
    next_step: str = ""
    constraints: tuple[str, ...] = ()
    left_out: bool = False

    def __post_init__(self) -> None:
        goal, *rules = _CONSTRAINT.split(one_line(self.goal))
        given = (self.constraints,) if isinstance(self.constraints, str) else self.constraints
        rules += [rule for text in given for rule in _CONSTRAINT.split(one_line(text))]
        cleaned = {"goal": goal, "constraints": rules, "next_step": self.next_step}
        for name, value in {**vars(self), **cleaned}.items():
            if name in ("goal", "next_step"):
                object.__setattr__(self, name, one_line(value))
            elif name != "left_out":
                object.__setattr__(self, name, items(value))

    def render(self, empty: str = NONE) -> str:
        """The note as text, a section a line; sections of several items as a list.

        A section with nothing in it says `empty`; with `empty=""` it is left out.
        """
        rules = [f"Constraint: {rule}" for rule in self.constraints]
        sections = {
            "Goal": " ".join(filter(None, [self.goal, *rules])),
            "Done": self.done,
            "Facts": self.facts,
            "Decisions": self.decisions,
            "Open items": self.open_items,
            "Next step": self.next_step,
        }
        texts = {name: content or empty for name, content in sections.items()}
        lines = [f"{name}:{_listed(text)}" for name, text in texts.items() if text]
        return "\n".join(lines + [LEFT_OUT] * self.left_out)


def parse_note(text: str) -> Note:
    """The note in a text, also one that a model wrote: in any order, with headings or bullets.

    A line that belongs to no section goes to `done`, and what is missing stays empty: nothing is
    lost. A section that comes twice is joined; of two next steps the last one counts.
    """
    found = sections(text)
    goals = [_CONSTRAINT.split(line) for line in found.pop("goal")]
    found["constraints"] += [rule for _, *rules in goals for rule in rules]
    return Note(
        goal=" ".join(goal for goal, *_ in goals),
        next_step=" ".join(found.pop("next_step")),
        left_out=bool(found.pop("left_out")),
        **found,
    )


def sections(text: str) -> dict[str, list[str]]:
    """The lines of a note by section, without headings and bullets."""
    found: dict[str, list[str]] = {name: [] for name in _NAMES.values()}
    section = "done"
    for line in textwrap.dedent(text).strip().split("\n"):
        heading = _HEADING.match(line)
        if heading:
            section = _NAMES[heading["name"].casefold().replace("_", " ").rstrip("s")]
            if section == "next_step":
                found[section] = []
        if line.strip(" `"):
            found[section].append(heading["rest"] if heading else BULLET.sub("", line))
    return found


def merge(earlier: Note, later: Note) -> Note:
    """One note out of two, without loss. The goal is the earlier one's, the next step the later's.

    Items are united, those of the earlier note first, each once. An open item is closed when a
    line of the later `done` begins with its words. A later goal that differs is noted as done.
    """
    other_goal = [later.goal] if earlier.goal and later.goal != earlier.goal else []
    asked = [f"Also asked: {goal}" for goal in other_goal if goal]
    still_open = [item for item in earlier.open_items if not reported(item, later.done)]
    return Note(
        goal=earlier.goal or later.goal,
        done=united(earlier.done, asked, later.done),
        facts=united(earlier.facts, later.facts),
        decisions=united(earlier.decisions, later.decisions),
        open_items=united(later.open_items, still_open),
        next_step=later.next_step or earlier.next_step,
        constraints=united(earlier.constraints, later.constraints),
        left_out=earlier.left_out or later.left_out,
    )


def fit(note: Note, tokens: int, empty: str = NONE) -> Note:
    """The note in at most so many tokens: the oldest lines go, of `done` first, then of `facts`.

    Narrative goes before exact values. Goal, constraints and next step always stay. What goes
    is in the trace, and a last line of the note says so. `empty` is as in `render`.

    Raises `CapTooSmall` if what stays is bigger.
    """

    def size(lines: int) -> int:
        return count_tokens(without_oldest(note, lines).render(empty))

    if size(0) <= tokens:
        return note
    lines = sum(len(getattr(note, name)) for name in SHORTENED)
    fewest = bisect_left(range(lines), True, key=lambda n: size(n) <= tokens)
    if size(fewest) > tokens:
        raise CapTooSmall(tokens, size(fewest))
    return without_oldest(note, fewest)


SHORTENED = ("done", "facts", "open_items", "decisions")


def without_oldest(note: Note, lines: int) -> Note:
    """The note without its oldest lines, section by section in the order of `SHORTENED`."""
    for name in SHORTENED:
        section = getattr(note, name)
        gone = min(lines, len(section))
        if gone:
            note = replace(note, **{name: section[gone:]}, left_out=True)
        lines -= gone
    return note


# ---- the texts of a note --------------------------------------------------------------------

_CONSTRAINT = re.compile(r"\bconstraints?:", re.IGNORECASE)
BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_NAMES = {
    "goal": "goal",
    "task": "goal",
    "done": "done",
    "completed": "done",
    "fact": "facts",
    "key fact": "facts",
    "decision": "decisions",
    "open item": "open_items",
    "open question": "open_items",
    "next step": "next_step",
    "next action": "next_step",
    "constraint": "constraints",
    "left out": "left_out",
}
# A heading is a name with a colon, alone on its line, or marked: "Goal:", "## Goal", "**Goal**".
# Items are indented when a note is rendered, so that an item may begin with such a name.
_HEADING = re.compile(
    r" ?(?:#{1,6} *|[-*•] +|\d{1,2}[.)] +)?(?P<mark>[*_]{1,3})?"
    rf"(?P<name>(?:{'|'.join(_NAMES).replace(' ', '[ _]')})s?)"
    r"(?(mark)(?: *: *(?P=mark)|(?P=mark) *:?)| *(?::|$)) *(?P<rest>.*)",
    re.IGNORECASE,
)


@lru_cache(maxsize=2**13)  # a note is cleaned again with each change of it
def one_line(text: str) -> str:
    """The text on one line; empty if it only says "none"."""
    line = " ".join(text.split())
    return "" if line.casefold().rstrip(".") in (NONE, "n/a", "-", "") else line


def items(texts: str | Iterable[str]) -> tuple[str, ...]:
    """The texts, each on one line and each once, without the empty ones. One text is one item."""
    texts = (texts,) if isinstance(texts, str) else texts
    return united(filter(None, map(one_line, texts)))


def united(*lists: Iterable[str]) -> tuple[str, ...]:
    """All items in order, each once."""
    return tuple(dict.fromkeys(item for items in lists for item in items))


def reported(item: str, done: Iterable[str]) -> bool:
    """True if a line begins with the words of the item, whatever their punctuation."""
    words = plain(item)
    return bool(words) and any(f"{plain(line)} ".startswith(f"{words} ") for line in done)


def plain(line: str) -> str:
    """The words of a line in small letters, without the punctuation around them."""
    words = (word.strip(".,;:!?()\"'") for word in line.casefold().split())
    return " ".join(filter(None, words))


def _listed(content: str | tuple[str, ...]) -> str:
    if isinstance(content, str):
        return f" {content}"
    if len(content) == 1:
        return f" {content[0]}"
    return "".join(f"\n  - {item}" for item in content)
