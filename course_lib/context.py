"""The context manager: what an agent sends on each call, within a budget, however long it runs.

The whole run is in a store; the context holds a projection of it. Above high water the oldest
turn groups are condensed into a summary, down to low water. Then all stays as it is until high
water comes again, so that a provider's cache can reuse the start of the prompt in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from course_lib.extraction import constraints_in, goal_in, structured
from course_lib.handoff import HandOff, parse_hand_off
from course_lib.messages import (
    SUMMARY_MARK,
    BadMessage,
    BudgetTooSmall,
    CourseError,
    Message,
    calls_of,
    group_indices,
    system,
    text_of,
    user,
)
from course_lib.notes import CapTooSmall, Note, fit, merge, parse_note
from course_lib.store import Hit, Store
from course_lib.tokens import count_tokens
from course_lib.trimming import Parts, Summarize, water_marks, written_note
from course_lib.working_set import Entry, WorkingSet, block_size, cut_result


class NotesFull(CourseError):
    """The notes would be over their cap. `.cap`, `.held` and `.needed` are in tokens."""

    def __init__(self, cap: int, held: int, needed: int) -> None:
        self.cap, self.held, self.needed = cap, held, needed
        super().__init__(
            f"The notes hold {held:,} of {cap:,} tokens, and with this one they would need "
            f"{needed:,}. Replace one with key=..., forget() one, or raise notes_cap."
        )


class Compaction(NamedTuple):
    """One compaction: when (messages in the trace), how many groups went, sizes before and after.

    `summarised` is False where the budget was full and no summary could be had.
    """

    at: int
    groups: int
    before: int
    after: int
    summarised: bool


class Context:
    """Instructions, task, summary, notes and recent steps of one run, within a token budget.

    Sizes are tokens of the whole request: `tools`, framing and a `reserve` for the answer count.
    `high` and `low` are shares of the budget. The last `keep_last` turn groups are spared as long
    as enough goes without them. `notes_cap` and `summary_cap` (a tenth of the budget, unless you
    say otherwise) limit those blocks; with a `result_cap`, a longer tool result is shown cut, with
    a mark. `summarize` gets instructions and task, then the messages that go.

    Everything goes to the `store` first, whole. After a crash `Context.resume(store)` goes on.

    Raises `BudgetTooSmall` with the floor when what must stay doesn't fit (instructions, task,
    summary, notes, pins, open calls, the newest group and the newest question), and `BadMessage`
    for what can't be sent; nothing is changed then.
    """

    def __init__(
        self,
        instructions: str,
        task: str,
        *,
        budget: int = 6000,
        high: float = 0.8,
        low: float = 0.5,
        keep_last: int = 4,
        notes_cap: int = 600,
        summary_cap: int | None = None,
        result_cap: int | None = None,
        summarize: Summarize = structured,
        store: Store | None = None,
        tools: Sequence[dict[str, Any]] | None = None,
        reserve: int = 0,
        run: str = "main",
        _trace: Sequence[Message] | None = None,
    ) -> None:
        self.budget, self.keep_last = budget, keep_last
        self.high, self.low = water_marks(budget, int(high * budget), int(low * budget))
        self.notes_cap, self.result_cap = notes_cap, result_cap
        self.summary_cap = budget // 10 if summary_cap is None else summary_cap
        self.summarize, self.tools, self.reserve = summarize, tools, reserve
        self.store, self.run = Store() if store is None else store, run
        self.compactions: list[Compaction] = []
        self._wait_until = 0
        head = [system(instructions), user(task)]
        self._said = Note(goal=goal_in(head[1]), constraints=constraints_in(head))
        self._now = WorkingSet(head, count_tokens(head, tools=tools) + reserve)
        self._check_fits(self._now)
        self._seen = self._begin(head) if _trace is None else self._take_up(_trace)

    # ---- what is sent -----------------------------------------------------------------------

    def messages(self) -> list[Message]:
        """The prompt. Until the next compaction or note, it only grows at its end."""
        return self._now.messages()

    def size(self) -> int:
        """Tokens of the whole request, with tools, framing and the answer's reserve."""
        return self._now.size

    @property
    def summary(self) -> Note:
        """What stands for the groups that went, besides what instructions and task say."""
        return self._now.summary

    @property
    def notes(self) -> dict[str, str]:
        """The pinned notes by key."""
        return dict(self._now.notes)

    @property
    def open_calls(self) -> list[str]:
        """The ids of the calls whose results haven't come. After a crash, run these again."""
        return sorted(str(id) for id in self._now.open.elements())

    # ---- what comes in ----------------------------------------------------------------------

    def append(self, message: Message) -> int:
        """Add a message to the run; its place in the trace. Compacts above high water."""
        self._check(message)
        entry = self._entry(self._seen, message)
        if self._now.size + entry.tokens > self.budget:
            self._check_fits(self._now.changed(recent=[*self._now.recent, entry]))
        self.store.append(message, self.run)
        self._now.add(entry)
        self._seen += 1
        self._keep_within()
        return entry.at

    def note(self, text: str, *, key: str | None = None) -> str:
        """Pin a short note, or replace the one with this key; its key.

        Raises `NotesFull` if the notes would be over their cap, and changes nothing.
        """
        numbers = [int(key) for key in self._now.notes if key.isdecimal()]
        key = str(max(numbers, default=0) + 1) if key is None else key
        text, key = (" ".join(given.split()) for given in (text, key.translate(NO_BRACKETS)))
        if not text or not key:
            raise CourseError("a note needs a text, and a key that isn't empty")
        self._set_notes({**self._now.notes, key: text})
        return key

    def forget(self, key: str) -> None:
        """Take the note with this key away. Raises `CourseError` if there is none."""
        if key not in self._now.notes:
            there = ", ".join(self._now.notes) or "none yet"
            raise CourseError(f"there is no note {key!r}; the keys are: {there}")
        self._set_notes({k: text for k, text in self._now.notes.items() if k != key})

    def pin(self, at: int) -> None:
        """Keep the turn group of the message at this place of the trace in the prompt.

        Raises `CourseError` if it isn't among the recent messages any more.
        """
        if all(entry.at != at for entry in self._now.recent):
            raise CourseError(f"message {at} isn't among the recent ones; recall() finds it")
        self._switch(self._now.changed(pins=self._now.pins | {at}))

    def unpin(self, at: int) -> None:
        """Let the group go when its time comes."""
        self._switch(self._now.changed(pins=self._now.pins - {at}))

    def recall(self, query: str, limit: int = 5) -> list[Hit]:
        """Messages of this run that hold the words of the query, also those that have gone."""
        return self.store.search(query, self.run, limit)

    # ---- compaction -------------------------------------------------------------------------

    def compact(self) -> Compaction | None:
        """Condense the oldest groups into the summary, down to low water.

        None if too little would go, or if there is no summary: it failed, said nothing, or is no
        shorter than what it stands for. Then all stays as it was, unless the budget is full.
        """
        parts = self._now.taken_apart(self.tools, self.reserve)
        cut = self._cut(parts)
        summary = self._condensed(parts.old_messages(cut), parts.cost_before(cut)) if cut else None
        then = self._then(parts, cut, summary)
        if then.size >= self.size() or then.size > self.budget:
            summary, then = None, self._then(parts, cut, None)
        if cut == 0 or (summary is None and self.size() <= self.budget):
            self._wait_until = self.size() + max(1, (self.budget - self.high) // 4)
            return None
        event = Compaction(self._seen, cut, self.size(), then.size, summary is not None)
        self._switch(then)
        self._wait_until = 0
        self.compactions.append(event)
        return event

    def _keep_within(self) -> None:
        """Compact above high water; where that failed, only once more has come."""
        if self.size() > min(max(self.high, self._wait_until), self.budget):
            self.compact()

    def _cut(self, parts: Parts) -> int:
        """How many of the oldest groups to condense; 0 if that wouldn't last, so better wait."""
        # The summary may grow by this, so that it needn't be written twice.
        room = max(0, self.summary_cap - block_size(self._now.summary_block))
        cut = parts.cut_for(self.low - room)
        spared = sum(at < len(parts.grouping) - self.keep_last for at in parts.old[:cut])
        for tried in (spared, cut):
            left = self.size() - parts.cost_before(tried) + room
            if tried and left <= (self.high + self.low) // 2:
                return tried
        return cut if self.size() > self.budget else 0

    def _condensed(self, old: list[Message], freed: int | None = None) -> Note | None:
        """The summary with what is new in `old`, or None if there is none shorter than `freed`."""
        text = written_note(self.summarize, [*self._now.head, *old])
        if not text or (freed is not None and count_tokens(text) >= freed):
            return None
        new = self._in_their_words(parse_note(text), old)
        try:
            cap = self.summary_cap - count_tokens(user(f"{SUMMARY_MARK}\n"))
            return fit(merge(self._now.summary, new), cap, empty="")
        except CapTooSmall:
            return None

    def _in_their_words(self, note: Note, old: Sequence[Message]) -> Note:
        """The note with the rules that users laid down in `old`, word for word.

        A rule that is only in the summariser's words is kept as a fact. What the instructions and
        the task say isn't repeated.
        """
        laid_down = Note(constraints=constraints_in(old)).constraints
        rules = [rule for rule in laid_down if rule not in self._said.constraints]
        known = {*rules, *self._said.constraints}
        others = [rule for rule in note.constraints if rule not in known]
        return replace(note, goal="", constraints=rules, facts=(*note.facts, *others))

    def _then(self, parts: Parts, cut: int, summary: Note | None) -> WorkingSet:
        """The working set without the groups before the cut, with a summary if there is one."""
        recent = self._now.without(parts, parts.old[:cut])
        if summary is not None:
            # What the agent does next stands in the recent messages, which the summary hasn't seen.
            return self._now.changed(summary=replace(summary, next_step=""), recent=recent)
        marked = self._now.changed(summary=replace(self._now.summary, left_out=True), recent=recent)
        return marked if marked.size <= self.budget else self._now.changed(recent=recent)

    # ---- hand-off and resume ----------------------------------------------------------------

    def hand_off(self) -> str:
        """A note of everything so far, saved in the store: `Context.resume` starts afresh from it.

        Pinned groups, open calls and a question without an answer go along whole; so does
        everything recent if there is no summary that fits. This context stays as it is.
        """
        parts = self._now.taken_apart(self.tools, self.reserve)
        groups = self._now.replaceable(parts)
        going = [parts.messages[i] for at in groups for i in parts.grouping.group(at)]
        summary = self._condensed(going) if going else None
        if summary is None:
            return self._saved(self._now)
        recent = self._now.without(parts, groups)
        fresh = self._now.changed(summary=summary, recent=recent)
        return self._saved(fresh if fresh.size <= self.budget else self._now)

    @classmethod
    def resume(cls, store: Store, run: str = "main", **options: Any) -> Context:
        """Go on with a run in the store, from its last note; options as for `Context`.

        The prompt is what that note describes, and what was appended since. A note that no
        `Context` wrote stands for the whole trace.

        Raises `CourseError` if the store has no such run.
        """
        trace = store.messages(run)
        if [m["role"] for m in trace[:2]] != ["system", "user"]:
            raise CourseError(f"the store holds no run {run!r} that a Context began")
        instructions, task = map(text_of, trace[:2])
        return cls(instructions, task, store=store, run=run, _trace=trace, **options)

    def _begin(self, head: Sequence[Message]) -> int:
        if self.store.messages(self.run):
            raise CourseError(
                f"the store holds a run {self.run!r} already: go on with it by "
                "Context.resume(store, run), or give this one another name with run=..."
            )
        self.store.extend(head, self.run)
        return len(head)

    def _take_up(self, trace: Sequence[Message]) -> int:
        """Bring back the prompt that the last note describes, and what has come since."""
        text = self.store.last_note(self.run)
        state = parse_hand_off(text) if text else HandOff(Note(), seen=len(self._now.head))
        since = range(len(trace) if state.seen is None else state.seen, len(trace))
        rules = [rule for rule in state.note.constraints if rule not in self._said.constraints]
        goal = "" if state.note.goal == self._said.goal else state.note.goal
        self._now = self._now.changed(
            summary=replace(state.note, goal=goal, constraints=rules),
            notes=state.notes,
            recent=[self._entry(at, trace[at]) for at in (*state.kept, *since)],
            pins=state.pins,
        )
        self._seen = len(trace)
        self._check_fits(self._now)
        self._keep_within()
        return self._seen

    def _saved(self, state: WorkingSet) -> str:
        """The hand-off note of a working set, kept in the store."""
        kept = tuple(entry.at for entry in state.recent)
        pins = tuple(sorted(state.pins.intersection(kept)))
        note = HandOff(merge(self._said, state.summary), state.notes, self._seen, kept, pins)
        self.store.save_note(note.render(), self.run)
        return note.render()

    # ---- what goes and what doesn't ---------------------------------------------------------

    def _switch(self, state: WorkingSet) -> None:
        """Go over to another working set, once it is saved."""
        self._check_fits(state)
        self._saved(state)
        self._now = state

    def _set_notes(self, notes: dict[str, str]) -> None:
        state = self._now.changed(notes=notes)
        needed, held = block_size(state.notes_block), block_size(self._now.notes_block)
        if needed > max(self.notes_cap, held):
            raise NotesFull(self.notes_cap, held, needed)
        self._switch(state)
        self._keep_within()

    def _check_fits(self, state: WorkingSet) -> None:
        """Raise `BudgetTooSmall` if what must stay is over the budget."""
        if state.size <= self.budget:
            return
        parts = state.taken_apart(self.tools, self.reserve)
        if parts.floor > self.budget:
            sizes = dict(parts.sizes)
            sizes["notes, pins and the question"] = sizes.pop("pinned groups", 0)
            raise BudgetTooSmall(self.budget, sizes)

    def _check(self, message: Message) -> None:
        """Raise `BadMessage` for a message that no provider would take at this place."""
        try:
            group_indices([message])
        except BadMessage as bad:
            raise BadMessage(self._seen, bad.field, bad.problem) from None
        for call in calls_of(message):
            if not call.id:
                problem = f"the call of {call.name!r} has no `id`, so no result could answer it"
                raise BadMessage(self._seen, "tool_calls", problem)
        id = message.get("tool_call_id")
        if message["role"] == "tool" and not self._now.open[id]:
            problem = f"a result for {id!r}, but no call with that id waits for one"
            raise BadMessage(self._seen, "tool_call_id", problem)

    def _entry(self, at: int, message: Message) -> Entry:
        try:
            tokens = count_tokens(message)
        except BadMessage as bad:
            raise BadMessage(at, bad.field, bad.problem) from None
        if message["role"] == "tool" and self.result_cap and tokens > self.result_cap:
            message = cut_result(message, self.result_cap)
        return Entry(at, message, count_tokens(message))


NO_BRACKETS = str.maketrans("[]", "()")  # a key stands in brackets
