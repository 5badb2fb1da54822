"""What the conversation explorer shows, without a widget: a state goes in, pictures come out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from course_lib.conversation import pinned
from course_lib.messages import Message, calls_of, group_indices, is_summary, text_of
from course_lib.replay import Row, Run, replay
from course_lib.tokens import count_tokens
from course_lib.trimming import Policy, append_all
from course_lib.views import parts
from course_lib.views.parts import Block, Line, Panel, Readout, TableRow

AS_RECORDED, SHORT, NO_TOOLS = "as recorded", "cut to 200 characters", "no tools at all"
RESULTS = (AS_RECORDED, SHORT, NO_TOOLS)
SHORT_CHARACTERS = 200
FACTOR = "the factor, by question"
SMALL_WINDOW = 8_000  # tokens: the smallest of the document's three windows


@dataclass(frozen=True)
class ConversationState:
    """Where every control stands. `step` is a question, counted from 1."""

    step: int
    window: int
    results: str = AS_RECORDED
    last_result: bool = False  # the last tool call of each question is promoted as well

    @property
    def settings(self) -> ConversationState:
        """The state without the question: what decides the two runs."""
        return replace(self, step=0)


class Pair(NamedTuple):
    """The same conversation twice: with everything kept, and with only the answers promoted."""

    everything: Run
    promoted: Run


# ---- questions, and what is promoted of them ------------------------------------------------


def question_starts(messages: Sequence[Message]) -> list[int]:
    """The indices of the messages with which the questions begin.

    User messages in a row are one question; the note that a trim left is none.
    """
    asked = [m["role"] == "user" and not is_summary(m) for m in messages]
    return [i for i, now in enumerate(asked) if now and not (i and asked[i - 1])]


def promoted_only(last_result: bool = False) -> Policy:
    """Before each call: of earlier questions, only the question, the answer and what is pinned.

    With `last_result`, the last tool call of each question stays too.
    """

    def policy(messages: list[Message]) -> list[Message]:
        starts = question_starts(messages)
        newest = starts[-1] if starts else 0
        grouping = group_indices(messages, strict=False)
        kept = set(grouping.head)
        for start, end in zip([0, *starts], [*starts, len(messages)], strict=True):
            groups = [g for g in grouping.groups if start <= g[0] < end]
            tools = [g for g in groups if calls_of(messages[g[0]])]
            spared = tools[-1:] if last_result else []
            for group in groups:
                stays = group not in tools or group in spared or group[-1] >= newest
                if stays or pinned([messages[i] for i in group]):
                    kept.update(group)
        return [messages[i] for i in sorted(kept)]

    return policy


def without_tools(messages: Sequence[Message]) -> list[Message]:
    """The same conversation, had every answer come without a tool."""
    return [m for m in messages if m["role"] != "tool" and not calls_of(m)]


def with_short_results(messages: Sequence[Message]) -> list[Message]:
    """The same conversation, had each tool answered in a few words."""
    return [
        m | {"content": text_of(m)[:SHORT_CHARACTERS]} if m["role"] == "tool" else m
        for m in messages
    ]


CHANGED = {AS_RECORDED: list, SHORT: with_short_results, NO_TOOLS: without_tools}


@dataclass
class ConversationScene:
    """A conversation under the explorer: every picture of it for any state."""

    messages: Sequence[Message]
    name: str = ""
    tools: Sequence[dict[str, Any]] = ()
    _pairs: dict[tuple[str, bool], Pair] = field(default_factory=dict)
    _chats: dict[str, list[Message]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name of the conversation, or the first words of its first question."""
        first = next((text_of(m) for m in self.messages if m["role"] == "user"), "The conversation")
        return self.name or re.split(r"(?<=[.?!])\s", " ".join(first.split()))[0][:80]

    # ---- the two runs -----------------------------------------------------------------------

    def chat(self, state: ConversationState) -> list[Message]:
        """The conversation, with the tool results that the state asks for."""
        if state.results not in self._chats:
            self._chats[state.results] = CHANGED[state.results](self.messages)
        return self._chats[state.results]

    def schemas(self, state: ConversationState) -> Sequence[dict[str, Any]]:
        """The tool schemas that go along; none where there are no tools."""
        return () if state.results == NO_TOOLS else self.tools

    def pair(self, state: ConversationState) -> Pair:
        """The two runs under a state's settings; each is computed once."""
        key = (state.results, state.last_result)
        if key not in self._pairs:
            chat, tools = self.chat(state), self.schemas(state)
            policies = append_all(), promoted_only(state.last_result)
            self._pairs[key] = Pair(*(replay(chat, policy, tools=tools) for policy in policies))
        return self._pairs[key]

    @property
    def steps(self) -> int:
        """How many questions there are."""
        return len(self.last_calls(NO_STATE))

    def last_calls(self, state: ConversationState) -> list[int]:
        """For each question, the number of its last call, counted from 0."""
        chat = self.chat(state)
        calls = [i for i, m in enumerate(chat) if m["role"] == "assistant"]
        starts = question_starts(chat)[1:]
        last = {sum(start <= i for start in starts): n for n, i in enumerate(calls)}
        return [last[n] for n in sorted(last)]

    def call(self, state: ConversationState) -> int:
        """The number of the last call of the state's question, counted from 0."""
        last = self.last_calls(state)
        return last[min(state.step, len(last)) - 1]

    def rows(self, state: ConversationState) -> tuple[Row, Row]:
        """The last call of the state's question, with everything kept and promoted only."""
        call, pair = self.call(state), self.pair(state)
        return pair.everything.rows[call], pair.promoted.rows[call]

    def totals(self, state: ConversationState) -> tuple[int, int]:
        """Tokens read up to the state's question, with everything kept and promoted only."""
        call, pair = self.call(state), self.pair(state)
        everything, promoted = (sum(row.read for row in run.rows[: call + 1]) for run in pair)
        return everything, promoted

    def factor(self, state: ConversationState) -> float:
        """How many times less is read in all, up to the state's question."""
        everything, promoted = self.totals(state)
        return everything / promoted

    def call_factor(self, state: ConversationState) -> float:
        """How many times less is read on the last call of the state's question."""
        everything, promoted = self.rows(state)
        return everything.read / promoted.read

    def overflow(self, run: Run, state: ConversationState) -> int | None:
        """The first question with a call that doesn't fit in the window; None if all fit."""
        over = next((n for n, row in enumerate(run.rows) if row.read > state.window), None)
        if over is None:
            return None
        return 1 + sum(last < over for last in self.last_calls(state))

    # ---- pictures ---------------------------------------------------------------------------

    def picture(
        self,
        state: ConversationState,
        before: ConversationState | None = None,
        along: str = "",
    ) -> str:
        """Both lists at one moment, and below them the whole conversation, or the factors."""
        if along:
            below = (
                f"<p>How much less is read when answers only are promoted</p>{self.sweep(state)}"
            )
        else:
            below = f"<p>Tokens read at each model call</p>{self.curve(state, before)}"
        return (
            f'<div class="stm">{parts.readouts(self.readouts(state, before))}'
            f"{self.bar_heading(state)}{self.bars(state)}{below}"
            f'<p role="status" style="min-height:38px">{self.sentence(state)}</p></div>'
        )

    def readouts(
        self, state: ConversationState, before: ConversationState | None = None
    ) -> list[Readout]:
        """The figures on top of the picture."""
        (everything, promoted), totals = self.rows(state), self.totals(state)
        over, over_too = (row.read > state.window for row in (everything, promoted))
        return [
            Readout(f"{everything.read:,}", "everything: last model call", False if over else None),
            Readout(
                f"{promoted.read:,}",
                "promoted only: the same call",
                False if over_too else None,
                self._change(state, before),
            ),
            Readout(f"{self.call_factor(state):.1f}×", "less there"),
            Readout(f"{totals[0]:,}", "everything, so far"),
            Readout(f"{totals[1]:,}", "promoted, so far"),
            Readout(f"{self.factor(state):.1f}×", "less in all"),
        ]

    def _change(self, state: ConversationState, before: ConversationState | None) -> str:
        if before is None:
            return ""
        then = self.rows(replace(before, step=state.step))[1].read
        return parts.change(self.rows(state)[1].read, then)

    def scale(self, state: ConversationState) -> float:
        """Where both bars end: one scale for the whole conversation, so that nothing jumps."""
        biggest = max(row.read for run in self.pair(state) for row in run.rows)
        return 1.02 * max(biggest, state.window)

    def bar_heading(self, state: ConversationState) -> str:
        """What the bars show, and a key to their colours."""
        kinds = [block.kind for row in self.rows(state) for block in self.blocks(row, state)]
        return parts.bar_heading(f"Question {state.step}, its last model call", kinds)

    def bars(self, state: ConversationState) -> str:
        """Both prompts of one call, on the same scale of tokens."""
        scale, line = self.scale(state), Line(state.window, f"window {state.window:,}", solid=True)
        bars = []
        for name, row in zip(NAMES, self.rows(state), strict=True):
            alt = f"Budget bar, {name}: {row.read:,} of {state.window:,} tokens"
            bar = parts.budget_bar(self.blocks(row, state), [line], alt, scale)
            bars.append(f'<p style="margin-bottom:-22px">{name}</p>{bar}')
        return "".join(bars)

    def blocks(self, row: Row, state: ConversationState) -> list[Block]:
        """A prompt as blocks, in the order in which it is sent, numbered by question."""
        blocks = []
        tools = self.schemas(state)
        if tools:
            blocks.append(Block("fixed", count_tokens([], tools=tools), "tools"))
        for kind, label, tokens in self._pieces(row.prompt):
            joins = blocks and kind == "said" and blocks[-1].kind == "said"
            if joins:
                tokens += blocks.pop().tokens
            blocks.append(Block(kind, tokens, label))
        return blocks

    def _pieces(self, prompt: Sequence[Message]) -> Iterator[tuple[str, str, int]]:
        grouping, starts = group_indices(prompt, strict=False), question_starts(prompt)
        groups = sorted([[i] for i in grouping.head] + grouping.groups)
        for group in groups:
            first = prompt[group[0]]
            question = sum(start <= group[0] for start in starts)
            tokens = sum(count_tokens(prompt[i]) for i in group)
            if first["role"] in ("system", "developer"):
                yield "fixed", "system", tokens
            elif is_summary(first):
                yield "summary", "Σ", tokens
            elif calls_of(first):
                kind = "now" if question == len(starts) else "old"
                yield kind, str(question), tokens
            else:
                yield "said", str(question), tokens

    def curve(self, state: ConversationState, before: ConversationState | None = None) -> str:
        """Tokens read at each call, with everything kept and promoted only."""
        everything, promoted = ([row.read for row in run.rows] for run in self.pair(state))
        pale = [row.read for row in self.pair(before).promoted.rows] if before else ()
        alt = (
            f"Tokens read at each of {len(promoted)} calls: {sum(everything):,} in all with "
            f"everything kept, {sum(promoted):,} with answers only"
        )
        return parts.curve(
            promoted,
            [Line(state.window, "window", solid=True)],
            alt,
            unmanaged=everything,
            before=pale,
            at=self.call(state) + 1,
            at_name=f"question {state.step}",
            unmanaged_name=NAMES[0],
        )

    def sweep(self, state: ConversationState) -> str:
        """The two factors, and what is read, after each question."""
        steps = range(1, self.steps + 1)
        states = [replace(state, step=step) for step in steps]
        factors = [self.factor(s) for s in states]
        call_factors = [self.call_factor(s) for s in states]
        read, now = [self.totals(s)[0] for s in states], state.step
        scale = {"top": 1.15 * max(*factors, *call_factors), "digits": 1, "told": True}
        panels = [
            Panel("times less, in all", steps, factors, now, **scale),
            Panel("times less, last model call", steps, call_factors, now, **scale),
            Panel("everything: read so far", steps, read, now, told=True),
        ]
        return parts.sweep(panels, "question", "The factors after each question")

    def table_rows(self, state: ConversationState) -> list[TableRow]:
        """The conversation, a row for each question, and what has become of its tool calls."""
        rows = []
        for n, (question, answer, tokens) in enumerate(self._texts(state), 1):
            status, word = "later", ""
            if n <= state.step:
                status, word = self._status(n, state, tokens)
            rows.append(TableRow(f"{n} {question}", answer, tokens, status, word=word))
        return rows

    def _status(self, question: int, state: ConversationState, tokens: int) -> tuple[str, str]:
        if not tokens:
            return "later", "none"
        if question == state.step:
            return "kept", "in both lists"
        return ("kept", "last one kept") if state.last_result else ("dropped", "left out")

    def _texts(self, state: ConversationState) -> list[tuple[str, str, int]]:
        """For each question: its text, the last reply to it, and the tokens of its tool calls."""
        chat = self.chat(state)
        starts = question_starts(chat)
        spans = zip([0, *starts[1:]], [*starts[1:], len(chat)], strict=True)
        texts = []
        for start, end in spans:
            turn = chat[start:end]
            said = [text_of(m) for m in turn if m["role"] == "assistant"]
            question = next((text_of(m) for m in turn if m["role"] == "user"), "")
            tools = [m for m in turn if m["role"] == "tool" or calls_of(m)]
            if said:
                texts.append((question, said[-1], sum(map(count_tokens, tools))))
        return texts

    def sentence(self, state: ConversationState) -> str:
        """What there is to see, in words."""
        everything, promoted = self.rows(state)
        text = (
            f"Question {state.step}, last model call: {everything.read:,} tokens with everything kept, "
            f"{promoted.read:,} promoted only, {self.call_factor(state):.1f} times less; "
            f"{self.factor(state):.1f} times less in all so far. "
        )
        return text + self._overflow_sentence(state)

    def _overflow_sentence(self, state: ConversationState) -> str:
        full, short = (self.overflow(run, state) for run in self.pair(state))
        if full is None:
            return "Both fit in the window to the end."
        if short is None:
            return f"Everything overflows the window at question {full}; promoted only never does."
        return f"Everything overflows the window at question {full}, promoted only at {short}."

    @cached_property
    def window_range(self) -> tuple[int, int, int]:
        """Smallest, largest and step of the window's slider, from the size of the chat."""
        biggest = max(row.read for row in self.pair(NO_STATE).everything.rows)
        step = 10 ** max(len(str(biggest)) - 2, 0) // 2 or 1
        low = -(-biggest // 8 // step) * step
        return max(low, step), -(-biggest * 5 // 4 // step) * step, step


NO_STATE = ConversationState(1, 0)
NAMES = ("everything", "promoted only")
