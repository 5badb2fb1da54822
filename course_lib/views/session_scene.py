"""What the session explorer shows, without a widget: a state goes in, pictures come out.

The recorded session is walked through by a reader who can use only what stands in the prompt.
Where a call needs a value that has left it, the reader makes the old call again first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from course_lib.caching import ANTHROPIC, money
from course_lib.messages import (
    BudgetTooSmall,
    Message,
    assistant,
    calls_of,
    is_summary,
    text_of,
)
from course_lib.replay import Row, Run
from course_lib.sessions import session_note
from course_lib.summaries import call_log, findings_in
from course_lib.tokens import count_tokens
from course_lib.trimming import Policy, answered_call, sliding_window, trim
from course_lib.values import exact_values
from course_lib.views import parts
from course_lib.views.parts import Block, Line, Panel, Readout
from course_lib.views.trim_scene import REMEMBERED, TrimScene

Watchful = Callable[[list[Message]], tuple[list[Message], set[str]]]

SWEPT = {"threshold": "threshold", "keep": "turns kept", "window": "model's window"}


@dataclass(frozen=True)
class SessionState:
    """Where every control stands. Threshold and window are in tokens, `keep` in turns."""

    step: int
    threshold: int
    keep: int
    summary: bool
    window: int

    pins = frozenset()  # nothing is pinned here

    @property
    def settings(self) -> SessionState:
        """The state without the step: what decides the walk."""
        return replace(self, step=0)


class Need(NamedTuple):
    """An exact value that a call uses, and the index of the result that first brought it."""

    value: str
    result: int


class Again(NamedTuple):
    """A call that had to be made again: at which call, and the result that had left the prompt."""

    call: int
    result: int


@dataclass
class Walk:
    """The reader's way through the session: a row for each recorded call, and what came on top.

    `transcript` and `prompts` hold all calls, also those made again. `noted` are the groups that
    stand in a note, by call.
    """

    messages: Sequence[Message]
    rows: list[Row] = field(default_factory=list)
    again: list[Again] = field(default_factory=list)
    noted: list[frozenset[int]] = field(default_factory=list)
    transcript: list[Message] = field(default_factory=list)
    prompts: list[list[Message]] = field(default_factory=list)
    trouble: str = ""

    @cached_property
    def run(self) -> Run:
        """The recorded calls as a run."""
        return Run(tuple(self.rows))

    @cached_property
    def read(self) -> int:
        """Tokens read over all calls, those made again included."""
        return sum(map(count_tokens, self.prompts))

    def events(self, name: str) -> list[int]:
        """The calls before which this happened: a "note", a "drop" or a "cut"."""
        return [row.call for row in self.rows if name in row.event]


@dataclass
class SessionScene(TrimScene):
    """A long session under the explorer: every picture of it for any state."""

    _walks: dict[SessionState, Walk] = field(default_factory=dict)

    all_values = "The whole session, for every value of the slider"
    this_run = "Tokens read at each turn; ↻ tool calls made again before it"

    @property
    def summarize(self) -> Callable[[list[Message]], str]:
        """A summariser that has something to say of this session."""
        return session_note if findings_in(self.messages) else call_log

    # ---- the walk ---------------------------------------------------------------------------

    def solved(self, state: SessionState) -> Walk:
        """The walk under a state's settings; each is made once."""
        key = state.settings
        if key not in self._walks:
            if len(self._walks) >= REMEMBERED:
                self._walks.clear()
            self._walks[key] = self._walk(state)
        return self._walks[key]

    def _walk(self, state: SessionState) -> Walk:
        walk, prompt, start = Walk(self.messages), [], 0
        noted: set[int] = set()
        policy = self._watchful(state, walk, noted)
        for call, end in enumerate(self.call_starts, 1):
            new = list(self.messages[start:end])
            walk.transcript += new
            prompt, event = policy([*prompt, *new])
            prompt, more = self._ask_again(call, prompt, policy, walk)
            event |= more
            names = " ".join(sorted(event))
            read = count_tokens(prompt)
            walk.rows.append(
                Row(call, read, cached=0, shared=0, kept=len(prompt), event=names, prompt=prompt)
            )
            walk.prompts.append(prompt)
            walk.noted.append(frozenset(noted))
            start = end
        walk.transcript += self.messages[start:]
        return walk

    def _ask_again(
        self, call: int, prompt: list[Message], policy: Watchful, walk: Walk
    ) -> tuple[list[Message], set[str]]:
        """Fetch again what the call needs and its prompt hasn't; each result once, in turn."""
        asked: set[int] = set()
        events: set[str] = set()
        for need in self.needs[call - 1]:
            if need.result in asked or self._has(prompt, need):
                continue
            asked.add(need.result)
            walk.prompts.append(prompt)
            walk.again.append(Again(call, need.result))
            group = self._copy(need.result, call)
            walk.transcript += group
            prompt, more = policy([*prompt, *group])
            events |= more
        return prompt, events

    def _watchful(self, state: SessionState, walk: Walk, noted: set[int]) -> Watchful:
        """The monitor, and then the model's window: what is sent, and what was done for it."""

        def write(dropped: list[Message]) -> str:
            noted.update(self._group_by_id.get(id(m), -1) for m in dropped)
            return self._note_of(dropped)

        compact = sliding_window(state.keep, write if state.summary else None)

        def policy(messages: list[Message]) -> tuple[list[Message], set[str]]:
            events: set[str] = set()
            if state.threshold < self.highest and count_tokens(messages) > state.threshold:
                shorter = compact(messages)
                if shorter != messages:
                    events.add("note" if state.summary else "drop")
                messages = shorter
            if count_tokens(messages) > state.window:
                events.add("cut")
                messages = self._cut(messages, state.window, walk)
            return messages, events

        return policy

    def _cut(self, messages: list[Message], window: int, walk: Walk) -> list[Message]:
        try:
            return trim(messages, window).messages
        except BudgetTooSmall as error:
            walk.trouble = f"What must stay needs {error.floor:,} tokens: more than the window."
            return messages

    def _note_of(self, dropped: list[Message]) -> str:
        """The note of these messages, each written once: many settings drop the same ones."""
        key = tuple(map(id, dropped))
        if key not in self._notes:
            self._notes[key] = self.summarize(dropped)
        return self._notes[key]

    @cached_property
    def _notes(self) -> dict[tuple[int, ...], str]:
        return {}

    def _policy(self, state: SessionState) -> Policy:
        raise NotImplementedError("a walk has no policy of its own: see _watchful")

    # ---- what a call needs ------------------------------------------------------------------

    @cached_property
    def needs(self) -> list[list[Need]]:
        """For each call, the exact values in it that an earlier result was the first to bring."""
        texts = [_plain_text(message) for message in self.messages]
        return [list(self._needs_of(i, texts)) for i in self.call_starts]

    def _needs_of(self, i: int, texts: Sequence[str]) -> Iterable[Need]:
        for value in exact_values(texts[i]):
            holders = [n for n in range(i) if _holds(texts[n], value)]
            if holders and self.messages[holders[0]]["role"] == "tool":
                # A long table may have the same figure by chance: a marked finding is no chance.
                marked = (n for n in holders if value in self._marked.get(n, ""))
                yield Need(value, next(marked, holders[0]))

    @cached_property
    def _marked(self) -> dict[int, str]:
        """What results mark as their finding, by the index of the message."""
        found = ((n, findings_in([m])) for n, m in enumerate(self.messages))
        return {n: result[0]["finding"] for n, result in found if result}

    @cached_property
    def _holders(self) -> dict[str, frozenset[int]]:
        """For each value that is needed, the indices of the messages that have it."""
        texts = [_plain_text(message) for message in self.messages]
        values = {need.value for needs in self.needs for need in needs}
        return {v: frozenset(n for n, t in enumerate(texts) if _holds(t, v)) for v in values}

    def _has(self, prompt: Sequence[Message], need: Need) -> bool:
        holders = self._holders[need.value]
        for message in prompt:
            index = self._index_by_id.get(id(message))
            if index in holders if index is not None else _holds(text_of(message), need.value):
                return True
        return False

    def _copy(self, result: int, call: int) -> list[Message]:
        """The old call once more with its result, under an id of its own; each is made once."""
        key = (result, call)
        if key not in self._copies:
            group = [self.messages[i] for i in self.groups[self._group_by_index[result]]]
            old = answered_call(group, self.messages[result])
            id_ = f"{old.id}-again-{call}"
            asked = {"id": id_, "name": old.name, "arguments": old.arguments}
            answer = {**self.messages[result], "tool_call_id": id_}
            self._copies[key] = [assistant(calls=[asked]), answer]
            self._index_by_id[id(answer)] = result
        return self._copies[key]

    @cached_property
    def _copies(self) -> dict[tuple[int, int], list[Message]]:
        return {}

    @cached_property
    def _index_by_id(self) -> dict[int, int]:
        return {id(message): n for n, message in enumerate(self.messages)}

    @cached_property
    def _group_by_index(self) -> dict[int, int]:
        return {i: at for at, group in enumerate(self.groups) for i in group}

    @cached_property
    def _group_by_id(self) -> dict[int, int]:
        return {id(self.messages[i]): at for i, at in self._group_by_index.items()}

    # ---- one moment -------------------------------------------------------------------------

    def statuses(self, state: SessionState) -> list[str]:
        """What has become of each turn at this step."""
        now, sent = self.call_starts[state.step - 1], set(self.sent_groups(state))
        noted = self.solved(state).noted[state.step - 1]
        statuses = []
        for at, group in enumerate(self.groups):
            gone = "summarised" if at in noted else "dropped"
            statuses.append("later" if group[0] >= now else "kept" if at in sent else gone)
        return statuses

    def blocks(self, state: SessionState) -> list[Block]:
        """The prompt of this step as blocks, in the order in which it is sent."""
        blocks = [Block("head", count_tokens([], tools=self.tools), "tools")] if self.tools else []
        sizes: dict[tuple[str, str], int] = {}
        for message in self.row(state).prompt:
            key = self._kind_and_label(message)
            sizes[key] = sizes.get(key, 0) + count_tokens(message)
        return blocks + [Block(kind, tokens, label) for (kind, label), tokens in sizes.items()]

    def _kind_and_label(self, message: Message) -> tuple[str, str]:
        if is_summary(message):
            return "summary", "Σ"
        if id(message) in self._group_by_id:
            return "kept", self.labels[self._group_by_id[id(message)]]
        if id(message) in self._index_by_id and message["role"] != "tool":
            return "head", "task" if message["role"] == "user" else "system"
        index = self._index_by_id.get(id(message))
        if index is None:  # a call that was made again: it belongs to the result behind it
            index = next(r for (r, _), g in self._copies.items() if g[0] is message)
        return "again", f"↻{self.labels[self._group_by_index[index]]}"

    @cached_property
    def _texts(self) -> list[tuple[str, str, int]]:
        """Each turn's call and result in a few words, and its tokens; numbered as on the bar."""
        return [
            (f"{label} {_short_call(call)}", _short_result(result), tokens)
            for label, (call, result, tokens) in zip(self.labels, super()._texts, strict=True)
        ]

    def made_again(self, state: SessionState) -> int:
        """How many calls were made again up to this step."""
        return sum(again.call <= state.step for again in self.solved(state).again)

    def note(self, state: SessionState) -> str:
        """The note in the prompt of this step, or nothing."""
        notes = (text_of(m) for m in self.row(state).prompt if is_summary(m))
        return next(notes, "")

    # ---- pictures ---------------------------------------------------------------------------

    def readouts(self, state: SessionState, before: SessionState | None = None) -> list[Readout]:
        """The figures on top of the picture."""
        walk, row = self.solved(state), self.row(state)
        share = walk.read / self.unmanaged.read if self.unmanaged.read else 1
        change = "" if before is None else parts.change(walk.read, self.solved(before).read)
        alive, found = self.alive(state)
        notes, cuts = len(walk.events("note")), len(walk.events("cut")) + len(walk.events("drop"))
        price = walk.read * ANTHROPIC.input / ANTHROPIC.per
        return [
            Readout(f"{row.read:,}", f"tokens read at turn {state.step}"),
            Readout(
                f"{walk.read:,}", f"read in all · {share:.0%} of nothing managed", None, change
            ),
            Readout(money(price, 2), f"at ${ANTHROPIC.input} a million"),
            Readout(str(len(walk.again)), "calls made again", not walk.again),
            Readout(f"{alive} of {found}", f"findings alive at turn {state.step}", alive == found)
            if self.findings
            else Readout(str(row.kept), "messages sent"),
            Readout(f"{notes}, {cuts}", "notes, cuts"),
        ]

    def lines(self, state: SessionState) -> list[Line]:
        """The threshold, if there is one, and the window where it is in sight."""
        lines = []
        if state.threshold < self.highest:
            lines.append(Line(state.threshold, f"threshold {state.threshold:,}"))
        if state.window <= self.highest:
            lines.append(Line(state.window, f"window {state.window:,}", solid=True))
        return lines

    def bar_heading(self, state: SessionState) -> str:
        """What the bar shows, and a key to its colours."""
        kinds = [block.kind for block in self.blocks(state)]
        return parts.bar_heading(f"Read at turn {state.step}", kinds)

    def bar(self, state: SessionState) -> str:
        """The prompt of this step, on the scale of the whole session."""
        alt = f"Bar: {self.row(state).read:,} tokens at turn {state.step}"
        return parts.budget_bar(self.blocks(state), self.lines(state), alt, 1.02 * self.highest)

    def curve(self, state: SessionState, before: SessionState | None = None) -> str:
        """Tokens read at each turn, beside the session with nothing managed."""
        walk = self.solved(state)
        reads = [row.read for row in walk.rows]
        alt = f"Tokens read at each of {len(reads)} turns: {walk.read:,} in all"
        times = [again.call for again in walk.again]
        return parts.curve(
            reads,
            self.lines(state),
            alt,
            unmanaged=[row.read for row in self.unmanaged.rows],
            unmanaged_name="nothing managed",
            before=[row.read for row in self.solved(before).rows] if before else (),
            events=[row.call for row in walk.rows if row.event],
            event_names=[self._event_name(row) for row in walk.rows if row.event],
            marks=[(call, f"↻{times.count(call)}") for call in sorted(set(times))],
            at=state.step,
            at_name=f"turn {state.step}",
        )

    def _event_name(self, row: Row) -> str:
        return "note" if "note" in row.event else row.event.split()[0]

    def sweep(self, state: SessionState, along: str) -> str:
        """The whole session for many values of one setting: total, calls made again, findings."""
        now = getattr(state, along)
        values = sorted({*self.swept_values(along), now})
        states = [replace(state, **{along: value}, step=self.steps) for value in values]
        walks = [self.solved(s) for s in states]
        panels = [
            Panel("tokens read in all", values, [w.read for w in walks], now),
            Panel("calls made again", values, [len(w.again) for w in walks], now),
            Panel(
                "findings alive at the end",
                values,
                [self.alive(s)[0] for s in states],
                now,
                top=max(len(self.findings), 1),
            )
            if self.findings
            else Panel("messages sent at the end", values, [w.rows[-1].kept for w in walks], now),
        ]
        return parts.sweep(panels, SWEPT[along], f"Sweep along {SWEPT[along]}")

    def swept_values(self, along: str) -> list[int]:
        """The values of a setting that a sweep tries."""
        if along == "keep":
            return list(range(1, self.most_kept + 1))
        low, high, step = self.threshold_range if along == "threshold" else self.window_range
        return [*range(low, high, max(step, (high - low) // 9 // step * step)), high]

    @cached_property
    def biggest(self) -> int:
        """The biggest request with nothing managed."""
        return max((row.read for row in self.unmanaged.rows), default=100)

    @property
    def threshold_range(self) -> tuple[int, int, int]:
        """Smallest, largest and step of the threshold's slider; the largest means none."""
        step = max(10 ** (len(str(self.biggest)) - 2), 1)
        return -(-self.biggest // 8 // step) * step, self.highest, step

    @cached_property
    def highest(self) -> int:
        """A threshold that nothing reaches; also the end of the bar's scale."""
        step = max(10 ** (len(str(self.biggest)) - 1), 1)
        return (self.biggest // step + 1) * step

    @property
    def window_range(self) -> tuple[int, int, int]:
        """Smallest, largest and step of the window's slider, from the size of the session."""
        step = self.threshold_range[2]
        low = -(-self.floor // step) * step
        return low, max(low, -(-self.biggest * 8 // 5 // step) * step), step

    @property
    def most_kept(self) -> int:
        """The largest number of turns that the slider keeps."""
        return min(12, max(len(self.groups), 2))

    def sentence(self, state: SessionState) -> str:
        """What there is to see, in words."""
        walk, statuses = self.solved(state), self.statuses(state)
        if walk.trouble:
            return walk.trouble
        noted, gone = statuses.count("summarised"), statuses.count("dropped")
        told = [
            f"Turn {state.step}: the model reads {self.row(state).read:,} tokens",
            f"turns in the note: {noted}" if noted else "no turn is in a note",
            f"gone without one: {gone}" if gone else "none has gone without one",
        ]
        again = self.made_again(state)
        return "; ".join(told) + (f"; calls made again so far: {again}." if again else ".")


def _short_call(call: str) -> str:
    """A call without the names of its arguments, and an address by its last part."""
    name, _, rest = call.partition(" ")
    return f"{name} {re.sub(r'https?://[^/ ]+/', '', rest.partition(' ')[2])}".strip()


def _short_result(result: str) -> str:
    return result.strip("{}").replace('"', "")


def _plain_text(message: Message) -> str:
    """All that a message says, with JSON's escapes undone: its text, and what its calls ask."""
    asked = [str(call.arguments) for call in calls_of(message)]
    return "\n".join(map(_unescaped, [text_of(message), *asked]))


def _unescaped(text: str) -> str:
    if "\\u" not in text:
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text


def _holds(text: str, value: str) -> bool:
    """True if the value stands in the text by itself, not as a part of a longer one."""
    if value not in text:
        return False
    return re.search(rf"(?<![\w.,]){re.escape(value)}(?!\w)", text) is not None
