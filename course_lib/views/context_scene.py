"""What the context explorer shows, without a widget: a state goes in, pictures come out.

A recorded run is given, step by step, to one of two managers, and each moment is kept: what the
model would read then, in the order of the layout, and how much of it a prompt cache could serve.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

from course_lib.caching import cached_tokens
from course_lib.context import Context, NotesFull
from course_lib.extraction import structured
from course_lib.first_context import FirstContext
from course_lib.messages import (
    SYSTEM_ROLES,
    BudgetTooSmall,
    CourseError,
    Message,
    calls_of,
    group_indices,
    is_summary,
    system,
    text_of,
)
from course_lib.samples.payments import keep_facts
from course_lib.store import Store
from course_lib.summaries import findings_in, is_hit
from course_lib.tokens import count_tokens
from course_lib.views import parts
from course_lib.views.parts import Block, Line, Readout
from course_lib.working_set import NOTES_MARK

REMEMBERED = 300  # walks
MANAGERS = ("the plain class", "the mended manager")
COLUMNS = "98fr 142fr 76fr 80fr 96fr 72fr"  # no caption has three lines, on a narrow page too
KINDS = {"head": "instructions", "notes": "◆ notes", "summary": "Σ summary", "recent": "recent"}


@dataclass(frozen=True)
class ContextState:
    """Where every control stands. Sizes are in tokens; a `result_cap` of 0 leaves results whole."""

    manager: str
    step: int
    budget: int = 4000
    keep_last: int = 4
    notes_cap: int = 250
    result_cap: int = 80

    @property
    def settings(self) -> ContextState:
        """The state without the step: what decides the walk."""
        return replace(self, step=0)


class Piece(NamedTuple):
    """A piece of the prompt: a kind of `KINDS`, its text, its tokens, the step that it is of."""

    kind: str
    text: str
    tokens: int
    step: int = 0


class Known(NamedTuple):
    """A message, kept alive so that its id stays its own, and the piece that it makes."""

    message: Message
    piece: Piece


class Moment(NamedTuple):
    """What the model reads after a step, and how much of that a prompt cache could serve."""

    pieces: Sequence[Piece]
    read: int
    cached: int
    compacted: bool


class Step(NamedTuple):
    """A turn group of the run: its messages, as one text, its facts, and what the agent noted."""

    messages: Sequence[Message]
    text: str
    facts: Sequence[str]
    notes: Sequence[str]


class Where(NamedTuple):
    """How many things stand in the prompt, how many only in the store, how many nowhere."""

    inside: int
    stored: int
    lost: int


@dataclass(frozen=True)
class Walk:
    """A manager's way through the run: a moment for each step, and a sentence if it had to stop."""

    moments: Sequence[Moment]
    trouble: str = ""

    @cached_property
    def read(self) -> int:
        """Tokens read over all moments."""
        return sum(moment.read for moment in self.moments)

    @cached_property
    def cached(self) -> int:
        """Tokens of those that a prompt cache could serve."""
        return sum(moment.cached for moment in self.moments)

    @cached_property
    def compactions(self) -> list[int]:
        """The steps, counted from 1, after which there was a compaction."""
        return [n for n, moment in enumerate(self.moments, 1) if moment.compacted]


class Trace(Store):
    """A store for the walk alone: it holds the messages in a list, so that a slider can move."""

    def __init__(self) -> None:
        self.held: list[Message] = []

    def messages(self, run: str = "main") -> list[Message]:
        return self.held

    def extend(self, messages: Sequence[Message], run: str = "main") -> range:
        self.held += messages
        return range(len(self.held))

    def append(self, message: Message, run: str = "main") -> int:
        self.held.append(message)
        return len(self.held) - 1

    def save_note(self, text: str, run: str = "main") -> None:
        pass


@dataclass
class ContextScene:
    """A run under the explorer: every picture of it for any state."""

    messages: Sequence[Message]
    name: str = ""
    tools: Sequence[dict[str, Any]] = ()
    facts: Sequence[str] | None = None
    _walks: dict[ContextState, Walk] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        head = [self.messages[i] for i in group_indices(self.messages).head]
        texts = [text_of(m) for m in head if m["role"] in SYSTEM_ROLES]
        tasks = [text_of(m) for m in head if m["role"] == "user"]
        if not tasks:
            raise CourseError("There is no user message in this run, so no task to work on.")
        self.instructions, self.task = "\n".join(texts) or "You are an agent.", tasks[0]

    # ---- the run ----------------------------------------------------------------------------

    @cached_property
    def steps(self) -> list[Step]:
        """The turn groups of the run."""
        return [
            self._step([self.messages[i] for i in g]) for g in group_indices(self.messages).groups
        ]

    def _step(self, group: Sequence[Message]) -> Step:
        lines = [f"{c.name} {_values(c.arguments)}".strip() for m in group for c in calls_of(m)]
        text = "\n".join([*lines, *filter(None, map(text_of, group))]) or "an empty message"
        said = [line for m in group if m["role"] == "assistant" for line in text_of(m).split("\n")]
        notes = [line.removeprefix("Note: ") for line in said if line.startswith("Note: ")]
        return Step(group, text, self._facts_in(group, text), notes)

    def _facts_in(self, group: Sequence[Message], text: str) -> list[str]:
        if self.facts is not None:
            return [fact for fact in self.facts if fact in text]
        marked = [line for line in text.split("\n") if line.startswith("FACT: ")]
        found = [f["finding"] for f in findings_in(group) if is_hit(f)]
        return [line.removeprefix("FACT: ") for line in marked] + found

    @property
    def summarize(self) -> Callable[[list[Message]], str]:
        """The plain summariser where the run marks its facts; else the structured one."""
        marked = any("\nFACT: " in f"\n{step.text}" for step in self.steps)
        return keep_facts if marked else structured

    @property
    def whole(self) -> int:
        """Tokens of the last call if nothing is managed."""
        return count_tokens(self.messages, tools=self.tools)

    @cached_property
    def budget_range(self) -> tuple[int, int, int]:
        """Smallest, largest and step of the budget's slider, from the sizes of the run."""
        head = count_tokens(
            [system(self.instructions), {"role": "user", "content": self.task}], tools=self.tools
        )
        biggest = max(sum(map(count_tokens, step.messages)) for step in self.steps)
        unit = 250 if head + biggest > 400 else 50
        low = -(-(head + 2 * biggest) // unit) * unit
        return low, max(low + 8 * unit, min(low + 26 * unit, -(-self.whole // unit) * unit)), unit

    # ---- the walk ---------------------------------------------------------------------------

    def walk(self, state: ContextState) -> Walk:
        """The walk under a state's settings; each is made once."""
        key = state.settings
        if key.manager == MANAGERS[0]:
            key = replace(key, notes_cap=0, result_cap=0)  # which this one doesn't know
        if key not in self._walks:
            if len(self._walks) >= REMEMBERED:
                self._walks.clear()
            plain = key.manager == MANAGERS[0]
            self._walks[key] = self._first(key) if plain else self._mended(key)
        return self._walks[key]

    def _first(self, state: ContextState) -> Walk:
        """The plain class, given the run."""
        context = FirstContext(self.instructions, state.budget, state.keep_last, self._size)
        context.note(self.task)
        moments: list[Moment] = []
        for step in self.steps:
            before = context.compactions
            for note in step.notes:
                context.note(note)
            context.add(step.text)
            pieces = [Piece(kind, text, self._size(text)) for kind, text in context.pieces()]
            compacted = context.compactions > before
            moments.append(_moment(pieces, sum(p.tokens for p in pieces), moments, compacted))
        return Walk(moments)

    def _mended(self, state: ContextState) -> Walk:
        """The library's manager, given the run and the notes that were written in it."""
        moments: list[Moment] = []
        known: dict[int, Known] = {}
        try:
            context = self.manager(state, Trace())
            for step in self.steps:
                before = len(context.compactions)
                give(context, step)
                prompt = enumerate(context.messages())
                pieces = [self._piece(message, at, known) for at, message in prompt]
                compacted = len(context.compactions) > before
                moments.append(_moment(pieces, context.size(), moments, compacted))
        except BudgetTooSmall as error:
            trouble = f"what must stay needs {error.floor:,} tokens of {state.budget:,}."
            return Walk(
                _held(moments, len(self.steps)), f"Stopped at step {len(moments) + 1}: {trouble}"
            )
        return Walk(moments)

    def manager(self, state: ContextState, store: Store) -> Context:
        """The library's manager at its beginning."""
        return Context(
            self.instructions,
            self.task,
            budget=state.budget,
            keep_last=state.keep_last,
            notes_cap=state.notes_cap,
            result_cap=state.result_cap or None,
            summarize=self.summarize,
            store=store,
            tools=self.tools,
        )

    def _piece(self, message: Message, place: int, known: dict[int, Known]) -> Piece:
        """The message as a piece; most stand in many prompts, and are looked at once."""
        if id(message) not in known:
            text = _text(message)
            piece = Piece(_kind(message, place), text, self._size(text, message))
            known[id(message)] = Known(message, piece)
        return known[id(message)].piece

    def _size(self, text: str, message: Message | None = None) -> int:
        key = text if message is None else f"{message['role']}\n{text}"
        if key not in self._sizes:
            self._sizes[key] = count_tokens(text if message is None else message)
        return self._sizes[key]

    # ---- one moment -------------------------------------------------------------------------

    def moment(self, state: ContextState) -> Moment:
        """What the model reads after the state's step."""
        return self.walk(state).moments[state.step - 1]

    def blocks(self, state: ContextState) -> list[Block]:
        """The prompt of this moment as blocks, in the order of the layout."""
        moment = self.moment(state)
        known = sum(piece.tokens for piece in moment.pieces)
        blocks = [Block("head", moment.read - known, "tools")] if self.tools else []
        for kind, tokens in _runs(moment.pieces):
            blocks.append(Block(kind, tokens, KINDS[kind]))
        return blocks

    def where(self, state: ContextState) -> dict[str, Where]:
        """Where facts, what notes say, and whole results of the run are at this moment."""
        prompt = "\n".join(piece.text for piece in self.moment(state).pieces)
        so_far = self.steps[: state.step]
        things = {
            "facts": [fact for step in so_far for fact in step.facts],
            "what notes say": [note for step in so_far for note in step.notes],
            "results, whole": [
                text_of(m) for s in so_far for m in s.messages if m["role"] == "tool"
            ],
        }
        keeps = state.manager == MANAGERS[1]  # everything went to its store first
        found = {}
        for name, texts in things.items():
            inside = sum(text in prompt for text in texts)
            gone = len(texts) - inside
            found[name] = Where(inside, gone if keeps else 0, 0 if keeps else gone)
        return found

    # ---- pictures ---------------------------------------------------------------------------

    def picture(self, state: ContextState, before: ContextState | None = None) -> str:
        """One moment, and below it the whole run."""
        kinds = [block.kind for block in self.blocks(state)]
        heading = f"What the model reads after step {state.step}"
        return (
            f'<div class="stm">{parts.readouts(self.readouts(state, before), COLUMNS)}'
            f"{parts.bar_heading(heading, kinds)}{self.bar(state)}"
            f"<p>Tokens read after each step</p>{self.curve(state, before)}"
            f'<p role="status" style="min-height:38px">{escape(self.sentence(state))}</p></div>'
        )

    def readouts(self, state: ContextState, before: ContextState | None = None) -> list[Readout]:
        """The figures on top of the picture."""
        walk, moment = self.walk(state), self.moment(state)
        change = ""
        if before is not None and self.walk(before).read:
            part = walk.read / self.walk(before).read - 1
            change = f"{part:+.0%}".replace("-", "−") if abs(part) >= 0.005 else "as before"
        so_far = sum(n <= state.step for n in walk.compactions)
        over = moment.read > state.budget
        facts = self.where(state)["facts"]
        return [
            Readout(
                f"{moment.read:,}",
                f"tokens at step {state.step}" + (", over budget" if over else ""),
                not over,
            ),
            Readout(f"{walk.read:,}", f"read in all {len(walk.moments)} steps", change=change),
            Readout(str(so_far), "compaction" if so_far == 1 else "compactions"),
            Readout(f"{moment.cached / moment.read:.0%}", "cached at this step"),
            Readout(f"{facts.inside} + {facts.stored}", "facts in prompt + in store"),
            Readout(f"{walk.cached / walk.read:.0%}", "cached in all"),
        ]

    def lines(self, state: ContextState) -> list[Line]:
        """The budget, and the water marks of the manager that has them."""
        lines = [Line(state.budget, f"budget {state.budget:,}", solid=True)]
        if state.manager == MANAGERS[1]:
            lines += [Line(0.8 * state.budget, "high 80 %"), Line(0.5 * state.budget, "low 50 %")]
        return lines

    def bar(self, state: ContextState) -> str:
        """The prompt of this moment on a scale of tokens, with what the cache serves of it."""
        moment = self.moment(state)
        alt = (
            f"Budget bar: {moment.read:,} of {state.budget:,} tokens after step {state.step}, "
            f"{moment.cached:,} of them from the cache"
        )
        scale = 1.02 * max(state.budget, moment.read)
        return parts.budget_bar(
            self.blocks(state), self.lines(state), alt, scale, cached=moment.cached
        )

    def curve(self, state: ContextState, before: ContextState | None = None) -> str:
        """Tokens read after each step, beside the other manager at the same settings."""
        walk = self.walk(state)
        other = MANAGERS[state.manager == MANAGERS[0]]
        reads = [moment.read for moment in walk.moments]
        alt = (
            f"Tokens read after each of {len(reads)} steps by {state.manager}: {walk.read:,} in all, "
            f"compactions: {len(walk.compactions)}"
        )
        return parts.curve(
            reads,
            self.lines(state)[:1],
            alt,
            unmanaged=[m.read for m in self.walk(replace(state, manager=other)).moments],
            unmanaged_name=other,
            before=[m.read for m in self.walk(before).moments] if before else (),
            events=walk.compactions,
            event_names=["compacts"] * len(walk.compactions),
            at=state.step,
        )

    def places(self, state: ContextState) -> str:
        """A table: where facts, notes and whole results are at this moment."""
        marks = ("in the prompt", "⌕ in the store", "✕ lost")
        heads = "".join(f'<th scope="col">{head}</th>' for head in ("so far", *marks))
        rows = "".join(
            f"<tr><td>{name}</td>" + "".join(f"<td>{count:,}</td>" for count in places) + "</tr>"
            for name, places in self.where(state).items()
        )
        return (
            f'<table class="stm-rows stm-totals"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{rows}</tbody></table>"
        )

    def texts(self, state: ContextState) -> str:
        """What notes and summary say at this moment."""
        pieces = self.moment(state).pieces
        texts = {kind: [p.text.strip() for p in pieces if p.kind == kind] for kind in KINDS}
        shown = [(KINDS[kind], "\n".join(texts[kind])) for kind in ("summary", "notes")]
        body = "".join(
            f"<p><b>{name}</b></p><pre>{escape(text) or 'none yet'}</pre>" for name, text in shown
        )
        return f'<div class="stm stm-texts">{body}</div>'

    def sentence(self, state: ContextState) -> str:
        """What there is to see, in words."""
        walk, moment = self.walk(state), self.moment(state)
        if walk.trouble:
            return walk.trouble
        so_far = sum(n <= state.step for n in walk.compactions)
        over = sum(m.read > state.budget for m in walk.moments[: state.step])
        times = "1 time" if so_far == 1 else f"{so_far} times"
        return (
            f"Step {state.step}, {state.manager}: {moment.read:,} tokens of {state.budget:,}. It has "
            f"compacted {times}, was over the budget at {over} of {state.step} steps, and "
            f"{self._left_out(state)}."
        )

    def _left_out(self, state: ContextState) -> str:
        """What has gone from the prompt at this moment, and whether it can be found."""
        where = self.where(state)
        results, facts = where["results, whole"].lost, where["facts"].stored
        if results:
            are = "whole result is" if results == 1 else "whole results are"
            return f"{results} {are} nowhere any more"
        if facts:
            are = "fact is" if facts == 1 else "facts are"
            return f"{facts} {are} found by search only"
        return "no fact has left the prompt"


def give(context: Context, step: Step) -> None:
    """Append a step to the run, and pin what the agent noted in it."""
    for message in step.messages:
        context.append(message)
    for note in step.notes:
        pin_note(context, note)


def pin_note(context: Context, note: str) -> None:
    """Pin a note. Where the notes are full, the oldest ones go: the trace has them.

    The manager itself refuses such a note, and its agent decides; here no agent is at hand.
    """
    while True:
        try:
            context.note(note)
            return
        except NotesFull:
            if not context.notes:
                return  # a cap that no note fits under
            context.forget(next(iter(context.notes)))


def _moment(
    pieces: Sequence[Piece], read: int, before: Sequence[Moment], compacted: bool
) -> Moment:
    """A moment; the cache serves what its prompt and the one before have in common at the start."""
    shared, extra = 0, read - sum(piece.tokens for piece in pieces)
    for old, new in zip(before[-1].pieces if before else (), pieces, strict=False):
        if old is not new and (old.kind, old.text) != (new.kind, new.text):
            break
        shared += new.tokens
    return Moment(pieces, read, cached_tokens(shared + extra if shared else 0), compacted)


def _held(moments: list[Moment], count: int) -> list[Moment]:
    """The moments, the last of them again until there are so many."""
    last = moments[-1] if moments else Moment([], 1, 0, False)
    return [*moments, *[last._replace(compacted=False)] * (count - len(moments))]


def _kind(message: Message, place: int) -> str:
    if place < 2:
        return "head"
    if is_summary(message):
        return "summary"
    return "notes" if text_of(message).startswith(NOTES_MARK) else "recent"


def _runs(pieces: Sequence[Piece]) -> Iterator[tuple[str, int]]:
    """The pieces joined where neighbours are of one kind; recent steps stay apart."""
    kind, tokens = "", 0
    for piece in pieces:
        if kind and piece.kind != kind:
            yield kind, tokens
            tokens = 0
        kind, tokens = piece.kind, tokens + piece.tokens
    if kind:
        yield kind, tokens


def _text(message: Message) -> str:
    calls = [f"{call.name} {call.id} {_values(call.arguments)}" for call in calls_of(message)]
    return "\n".join(filter(None, [text_of(message), *calls]))


def _values(arguments: Any) -> str:
    try:
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return str(arguments)
    return " ".join(map(str, given.values())) if isinstance(given, dict) else str(given or "")
