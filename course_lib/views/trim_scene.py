"""What the trimming explorer shows, without a widget: a state goes in, pictures come out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from course_lib.caching import MINIMUM
from course_lib.messages import (
    BudgetTooSmall,
    Message,
    calls_of,
    group_indices,
    is_summary,
    pairs_ok,
    text_of,
)
from course_lib.replay import Row, Run, replay
from course_lib.summaries import call_log, facts_only, findings_in, is_hit
from course_lib.tokens import count_tokens
from course_lib.trimming import Policy, append_all, high_low, sliding_window
from course_lib.views import parts
from course_lib.views.parts import Block, Line, Panel, Readout, TableRow

REMEMBERED = 500  # runs; a sweep needs some 20, and a run of a sample a few kilobytes

POLICIES = ("append all", "sliding window", "high / low water")


@dataclass(frozen=True)
class TrimState:
    """Where every control stands. High and low water are per cent of the budget."""

    policy: str
    step: int
    budget: int
    high: int = 80
    low: int = 50
    window: int = 8
    summary: bool = False
    pins: frozenset[int] = frozenset()

    @property
    def settings(self) -> TrimState:
        """The state without the step: what decides the run."""
        return replace(self, step=0)


@dataclass(frozen=True)
class Finding:
    """A text that the run must not lose, and the group in which it was found."""

    group: int
    text: str


class Solved(NamedTuple):
    """A run, the messages it was run on (pins marked), and a sentence if a call didn't fit."""

    run: Run
    messages: list[Message]
    trouble: str


@dataclass
class TrimScene:
    """A transcript under the explorer: every picture of it for any state."""

    messages: Sequence[Message]
    name: str = ""
    tools: Sequence[dict[str, Any]] = ()
    findings: Sequence[Finding] = ()
    _solved: dict[TrimState, Solved] = field(default_factory=dict)

    # What stands above the lower picture.
    all_values: ClassVar[str] = "The whole run, for every value of the slider"
    this_run: ClassVar[str] = "Tokens read at each step"

    @property
    def title(self) -> str:
        """The name of the run, or the first words of its task."""
        task = next((text_of(m) for m in self.messages if m["role"] == "user"), "The run")
        return self.name or re.split(r"(?<=[.?!])\s", " ".join(task.split()))[0][:80]

    # ---- the run ----------------------------------------------------------------------------

    @cached_property
    def groups(self) -> list[list[int]]:
        """The turn groups, as indices of messages."""
        return group_indices(self.messages).groups

    @cached_property
    def head(self) -> list[Message]:
        """The system messages and the task."""
        return [self.messages[i] for i in group_indices(self.messages).head]

    @cached_property
    def call_starts(self) -> list[int]:
        """For each call, the index of the assistant message that answered it."""
        return [i for i, m in enumerate(self.messages) if m["role"] == "assistant"]

    @cached_property
    def unmanaged(self) -> Run:
        """The run with nothing managed."""
        return replay(self.messages, append_all(), tools=self.tools)

    @property
    def steps(self) -> int:
        """How many calls the run has."""
        return len(self.call_starts)

    @property
    def summarize(self) -> Callable[[list[Message]], str]:
        """A summariser that has something to say of this run."""
        return facts_only if findings_in(self.messages) else call_log

    def run(self, state: TrimState) -> Run:
        """The run under a state's settings; each is computed once."""
        return self.solved(state).run

    def trouble(self, state: TrimState) -> str:
        """A sentence about the first call that couldn't be brought within the budget, or ''."""
        return self.solved(state).trouble

    def solved(self, state: TrimState) -> Solved:
        """The run under a state's settings, and the messages that it was run on."""
        key = state.settings
        if key not in self._solved:
            if len(self._solved) >= REMEMBERED:
                self._solved.clear()
            troubles: list[str] = []
            messages = self.pinned_messages(state.pins)
            run = replay(messages, _forgiving(self._policy(state), troubles), tools=self.tools)
            self._solved[key] = Solved(run, messages, troubles[0] if troubles else "")
        return self._solved[key]

    def _policy(self, state: TrimState) -> Policy:
        summarize = self.summarize if state.summary else None
        if state.policy == "append all":
            return append_all()
        if state.policy == "sliding window":
            return sliding_window(state.window, summarize)
        high, low = state.high / 100, min(state.low, state.high) / 100
        return high_low(state.budget, high, low, summarize, tools=self.tools)

    def pinned_messages(self, pins: frozenset[int]) -> list[Message]:
        """The transcript with the pinned groups marked."""
        first = {self.groups[at][0] for at in pins}
        return [{**m, "pinned": True} if i in first else m for i, m in enumerate(self.messages)]

    # ---- one moment -------------------------------------------------------------------------

    def row(self, state: TrimState) -> Row:
        """What happened at the state's step."""
        return self.run(state).rows[state.step - 1]

    def sent_groups(self, state: TrimState) -> list[int]:
        """The groups in the prompt of this step."""
        sent, messages = {id(m) for m in self.row(state).prompt}, self.solved(state).messages
        return [at for at, group in enumerate(self.groups) if id(messages[group[0]]) in sent]

    def statuses(self, state: TrimState) -> list[str]:
        """What has become of each group at this step."""
        now, sent = self.call_starts[state.step - 1], set(self.sent_groups(state))
        gone = "summarised" if any(map(is_summary, self.row(state).prompt)) else "dropped"
        statuses = []
        for at, group in enumerate(self.groups):
            if group[0] >= now:
                statuses.append("later")
            elif at not in sent:
                statuses.append(gone)
            else:
                statuses.append("pinned" if at in state.pins else "kept")
        return statuses

    def blocks(self, state: TrimState) -> list[Block]:
        """The prompt of this step as blocks, in the order in which it is sent."""
        head = self.head
        framing = count_tokens([], tools=self.tools)
        blocks = [Block("head", framing, "tools")] if self.tools else []
        for m in head:
            label = "task" if m["role"] == "user" else "system"
            blocks.append(Block("head", count_tokens(m), label))
        for m in filter(is_summary, self.row(state).prompt):
            blocks.append(Block("summary", count_tokens(m), "Σ"))
        for at in self.sent_groups(state):
            tokens = sum(count_tokens(self.messages[i]) for i in self.groups[at])
            if at in state.pins:
                blocks.append(Block("pinned", tokens, f"◆{self.labels[at]}"))
            else:
                blocks.append(Block("kept", tokens, self.labels[at]))
        return blocks

    @cached_property
    def labels(self) -> list[str]:
        """A short name for each group: the number of its call, or u for a user message."""
        calls = {start: str(n) for n, start in enumerate(self.call_starts, 1)}
        return [calls.get(group[0], self.messages[group[0]]["role"][0]) for group in self.groups]

    def alive(self, state: TrimState) -> tuple[int, int]:
        """How many of the findings so far are still in the prompt, and how many there were."""
        now = self.call_starts[state.step - 1]
        so_far = [f for f in self.findings if self.groups[f.group][0] < now]
        prompt = "\n".join(map(text_of, self.row(state).prompt))
        return sum(f.text in prompt for f in so_far), len(so_far)

    # ---- pictures ---------------------------------------------------------------------------

    def picture(self, state: TrimState, before: TrimState | None = None, along: str = "") -> str:
        """One moment, and below it the whole run, or all values of the setting `along`."""
        if along:
            below = f"<p>{self.all_values}</p>{self.sweep(state, along)}"
        else:
            below = f"<p>{self.this_run}</p>{self.curve(state, before)}"
        return (
            f'<div class="stm">{parts.readouts(self.readouts(state, before))}'
            f"{self.bar_heading(state)}{self.bar(state)}{below}"
            f'<p role="status" style="min-height:38px">{self.sentence(state)}</p></div>'
        )

    def readouts(self, state: TrimState, before: TrimState | None = None) -> list[Readout]:
        """The figures on top of the picture."""
        run, row = self.run(state), self.row(state)
        share = run.read / self.unmanaged.read if self.unmanaged.read else 1
        change = "" if before is None else parts.change(run.read, self.run(before).read)
        alive, found = self.alive(state)
        over = row.read > state.budget
        return [
            Readout(
                f"{row.read:,}",
                f"tokens read at step {state.step}" + (", over the budget" if over else ""),
                False if over else None,
            ),
            Readout(f"{run.read:,}", f"read in all · {share:.0%} of append all", change=change),
            Readout(str(run.trims), "trims"),
            Readout(f"{run.cached / run.read if run.read else 0:.0%}", self._cache_caption(run)),
            Readout(f"{alive} of {found}", "findings alive", alive == found)
            if self.findings
            else Readout(str(row.kept), "messages sent"),
            Readout("yes" if pairs_ok(row.prompt) else "no", "pairs hold", pairs_ok(row.prompt)),
        ]

    def _cache_caption(self, run: Run) -> str:
        long_enough = any(row.read >= MINIMUM for row in run.rows)
        return "served from cache" if long_enough else f"from cache, which needs {MINIMUM:,}"

    def lines(self, state: TrimState) -> list[Line]:
        """The budget, and the water marks where the policy has them."""
        lines = [Line(state.budget, f"budget {state.budget:,}", solid=True)]
        if state.policy == "high / low water":
            lines.append(Line(state.budget * state.high / 100, f"high {state.high} %"))
            if state.low < state.high:
                lines.append(Line(state.budget * state.low / 100, f"low {state.low} %"))
        return lines

    def bar_heading(self, state: TrimState) -> str:
        """What the bar shows, and a key to its colours."""
        kinds = [block.kind for block in self.blocks(state)]
        return parts.bar_heading(f"What the model reads at step {state.step}", kinds)

    def bar(self, state: TrimState) -> str:
        """The prompt of this step on a scale of tokens."""
        row = self.row(state)
        alt = f"Budget bar: {row.read:,} of {state.budget:,} tokens at step {state.step}"
        return parts.budget_bar(
            self.blocks(state), self.lines(state), alt, 1.02 * max(state.budget, row.read)
        )

    def curve(self, state: TrimState, before: TrimState | None = None) -> str:
        """Tokens read at each call, beside the run with nothing managed."""
        run = self.run(state)
        reads = [row.read for row in run.rows]
        alt = f"Tokens read at each of {len(reads)} steps: {run.read:,} in all, {run.trims} trims"
        return parts.curve(
            reads,
            self.lines(state),
            alt,
            unmanaged=[row.read for row in self.unmanaged.rows],
            before=[row.read for row in self.run(before).rows] if before else (),
            events=[row.call for row in run.rows if row.event],
            at=state.step,
        )

    def sweep(self, state: TrimState, along: str) -> str:
        """The whole run for many values of one setting: total, cached share, what is alive."""
        now = getattr(state, along)
        tried = sorted({*self.swept_values(state, along), now})
        states = [replace(state, **{along: v}, step=self.steps) for v in tried]
        # Where a call doesn't fit its budget, the policy can't run: no point on the line.
        states = [s for s in states if not self.trouble(s)] or [state]
        values = [getattr(s, along) for s in states]
        runs = [self.run(s) for s in states]
        panels = [
            Panel("tokens read in all", values, [r.read for r in runs], now),
            Panel(
                "served from cache", values, [r.cached / (r.read or 1) for r in runs], now, True, 1
            ),
            Panel(
                "findings alive at the end",
                values,
                [self.alive(s)[0] for s in states],
                now,
                top=max(len(self.findings), 1),
            )
            if self.findings
            else Panel("messages sent at the end", values, [r.rows[-1].kept for r in runs], now),
        ]
        return parts.sweep(panels, SWEPT[along], f"Sweep along {SWEPT[along]}")

    def swept_values(self, state: TrimState, along: str) -> list[int]:
        """The values of a setting that a sweep tries."""
        if along == "budget":
            low, high, step = self.budget_range
            values = range(low, high + 1, max(step, (high - low) // 16 // step * step))
            return [*values, high]
        if along == "window":
            return list(range(1, min(24, len(self.groups)) + 1))
        return list(range(10, state.high + 1, 5) if along == "low" else range(state.low, 101, 5))

    @cached_property
    def budget_range(self) -> tuple[int, int, int]:
        """Smallest, largest and step of the budget's slider, from the size of the run."""
        biggest = max((row.read for row in self.unmanaged.rows), default=100)
        step = 10 ** max(len(str(biggest)) - 2, 0)
        low = -(-max(self.floor, biggest // 8) // step) * step
        return low, max(low, -(-biggest * 5 // 4 // step) * step), step

    @cached_property
    def floor(self) -> int:
        """The smallest budget that every call can be brought within."""
        fixed = count_tokens(self.head, tools=self.tools)
        newest = [sum(count_tokens(self.messages[i]) for i in group) for group in self.groups]
        return fixed + max(newest, default=0)

    def rows(self, state: TrimState) -> list[TableRow]:
        """The transcript as rows of a table."""
        found = {f.group: f.text for f in self.findings}
        statuses = self.statuses(state)
        return [
            TableRow(call, found.get(at, result), tokens, statuses[at], at in found)
            for at, (call, result, tokens) in enumerate(self._texts)
        ]

    @cached_property
    def _texts(self) -> list[tuple[str, str, int]]:
        texts = []
        for group in self.groups:
            members = [self.messages[i] for i in group]
            tokens = sum(map(count_tokens, members))
            texts.append((_call_text(members[0]), _result_text(members), tokens))
        return texts

    def sentence(self, state: TrimState) -> str:
        """What there is to see, in words."""
        if self.trouble(state):
            return self.trouble(state)
        row, statuses = self.row(state), self.statuses(state)
        gone = statuses.count("dropped") + statuses.count("summarised")
        word = "summarised" if "summarised" in statuses else "dropped"
        over = row.read - state.budget
        end = f", {over:,} over the budget" if over > 0 else f" of {state.budget:,}"
        groups = f"{gone} groups {word}" if gone else "no group has been dropped"
        if not self.findings:
            return f"Step {state.step}: the model reads {row.read:,} tokens{end}; {groups}."
        alive, found = self.alive(state)
        lost = f"{found - alive} of {found} findings lost" if alive < found else "no finding lost"
        return f"Step {state.step}: the model reads {row.read:,} tokens{end}; {groups}, {lost}."


SWEPT = {"budget": "budget", "high": "high water (%)", "low": "low water (%)", "window": "window"}


def find_findings(messages: Sequence[Message], texts: Sequence[str] | None = None) -> list[Finding]:
    """The findings of a run: the `texts`, or what its results mark as a `finding`."""
    if texts is None:
        texts = [f["finding"] for f in findings_in(messages) if is_hit(f)]
    groups = group_indices(messages).groups
    findings = []
    for text in texts:
        holders = (
            at for at, g in enumerate(groups) if any(text in text_of(messages[i]) for i in g)
        )
        at = next(holders, None)
        if at is not None:
            findings.append(Finding(at, text))
    return findings


def _forgiving(policy: Policy, troubles: list[str]) -> Policy:
    """The policy, sending everything where the budget can't hold, and saying so."""

    def forgiving(messages: list[Message]) -> list[Message]:
        try:
            return policy(messages)
        except BudgetTooSmall as error:
            what = f"what must stay needs {error.floor:,} tokens"
            troubles.append(f"The budget is too small: {what}, so everything is sent.")
            return list(messages)

    return forgiving


def _call_text(message: Message) -> str:
    calls = calls_of(message)
    if not calls:
        return "answer" if message["role"] == "assistant" else message["role"]
    return ", ".join(f"{call.name} {_short_arguments(call.arguments)}".strip() for call in calls)


def _short_arguments(arguments: Any) -> str:
    try:
        values = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return str(arguments)
    if not isinstance(values, dict):
        return str(values or "")
    return " ".join(f"{key} {value}" for key, value in values.items())[:80]


def _result_text(members: Sequence[Message]) -> str:
    found = findings_in(members)
    if found:
        return "; ".join(f["finding"] for f in found)
    return " ".join(text_of(members[-1]).split())[:120]
