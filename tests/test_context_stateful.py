"""Append, note, pin, compact, crash, resume in any order: what a context promises holds after each."""

from __future__ import annotations

import logging

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from strategies import TOOLS

from course_lib.context import Context, NotesFull
from course_lib.messages import (
    BudgetTooSmall,
    CourseError,
    assistant,
    is_summary,
    tool_call,
    tool_result,
    user,
    validate,
)
from course_lib.store import Store
from course_lib.summaries import careless, facts_only, structured
from course_lib.tokens import count_tokens
from course_lib.working_set import NOTES_MARK

logging.getLogger("course_lib").setLevel(logging.CRITICAL)

RULE = "Never contact S1."


def failing(messages):
    raise RuntimeError("Error code: 503")


def endless(messages):
    return "and so on " * 1000


SUMMARISERS = (structured, careless, facts_only, failing, endless, lambda messages: "")
WORDS = st.sampled_from(["ok", "", "E12 was refused", "a line of the log; " * 6, "row " * 60])


class Run(RuleBasedStateMachine):
    """A run, and what we know of it: all that was appended, noted and pinned."""

    @initialize(
        budget=st.sampled_from((250, 500, 1500)),
        tools=st.sampled_from((None, TOOLS)),
        result_cap=st.sampled_from((None, 60)),
        keep_last=st.sampled_from((0, 2, 4)),
    )
    def begin(self, budget, tools, result_cap, keep_last):
        self.store = Store()
        self.options = {
            "budget": budget,
            "tools": tools,
            "reserve": 10,
            "keep_last": keep_last,
            "notes_cap": budget // 5,
            "result_cap": result_cap,
        }
        self.context = Context(
            "Be brief.", f"Find the cause. {RULE}", store=self.store, **self.options
        )
        self.trace = self.store.messages()
        self.notes, self.pins = {}, set()
        self.prompt = self.context.messages()
        self.rewritten = True  # a compaction, a note or a fresh start has come since the last look

    def attempt(self, change, *errors):
        """Try a change. An error must tell the floor, and leave everything as it was."""
        context = self.context
        before = (context.messages(), context.size(), len(self.store), context.notes)
        compactions = len(context.compactions)
        try:
            result = change()
        except (BudgetTooSmall, *errors) as error:
            assert before == (context.messages(), context.size(), len(self.store), context.notes)
            if isinstance(error, BudgetTooSmall):
                assert error.floor == sum(error.parts.values()) > error.budget
            return None
        self.rewritten |= len(context.compactions) > compactions
        return result

    def append(self, message):
        if self.attempt(lambda: self.context.append(message)) is not None:
            self.trace.append(message)

    # ---- what can happen --------------------------------------------------------------------

    @precondition(lambda self: not self.context.open_calls)
    @rule(ids=st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True), text=WORDS)
    def call(self, ids, text):
        self.append(assistant(text, [tool_call(id, "read", hour="02:00") for id in ids]))

    @precondition(lambda self: self.context.open_calls)
    @rule(text=WORDS, last=st.booleans())
    def answer(self, text, last):
        self.append(tool_result(self.context.open_calls[-1 if last else 0], text))

    @precondition(lambda self: not self.context.open_calls)
    @rule(text=WORDS, asked=st.booleans())
    def talk(self, text, asked):
        self.append(user(f"{text} Why?") if asked else assistant(f"{text}."))

    @rule(steps=st.integers(1, 12), text=WORDS)
    def work(self, steps, text):
        for _ in range(steps):
            if not self.context.open_calls:
                self.call(["a", "b"], "")
            for _ in self.context.open_calls:
                self.answer(text, last=False)

    @rule(text=WORDS, key=st.sampled_from((None, "supplier", "1")))
    def note(self, text, key):
        given = self.attempt(lambda: self.context.note(text, key=key), NotesFull, CourseError)
        if given is not None:
            self.notes[given] = " ".join(text.split())
            self.rewritten = True

    @precondition(lambda self: self.notes)
    @rule(data=st.data())
    def forget(self, data):
        key = data.draw(st.sampled_from(sorted(self.notes)))
        self.context.forget(key)
        del self.notes[key]
        self.rewritten = True

    @rule(back=st.integers(1, 12))
    def pin(self, back):
        at = max(2, len(self.trace) - back)
        if self.attempt(lambda: (self.context.pin(at),), CourseError):
            self.pins.add(at)

    @precondition(lambda self: self.pins)
    @rule()
    def unpin(self):
        self.context.unpin(self.pins.pop())

    @rule()
    def compact(self):
        before = self.context.size()
        event = self.context.compact()
        assert event is None or event.after < before
        self.rewritten |= event is not None

    @rule(summarize=st.sampled_from(SUMMARISERS))
    def another_summariser(self, summarize):
        self.context.summarize = self.options["summarize"] = summarize

    @rule()
    def crash(self):
        """The process is gone; what the store holds brings the same prompt back."""
        before = self.context.messages()
        self.context = Context.resume(self.store, **self.options)
        assert self.context.messages() == before or self.context.compactions
        self.rewritten |= bool(self.context.compactions)

    @rule()
    def start_afresh(self):
        before = self.context.messages()
        self.context.hand_off()
        self.context = Context.resume(self.store, **self.options)
        assert len(self.context.messages()) <= len(before) + 1
        self.rewritten = True

    # ---- what always holds ------------------------------------------------------------------

    @invariant()
    def nothing_is_lost_from_the_store(self):
        assert self.store.messages() == self.trace

    @invariant()
    def the_budget_holds_and_counts_the_whole_request(self):
        size = count_tokens(self.context.messages(), tools=self.options["tools"]) + 10
        assert self.context.size() == size <= self.options["budget"]

    @invariant()
    def the_layout_holds(self):
        prompt = self.context.messages()
        assert prompt[:2] == self.trace[:2]
        assert RULE in prompt[1]["content"]
        blocks = [is_summary(m) or str(m["content"]).startswith(NOTES_MARK) for m in prompt]
        kinds = [is_summary(m) for m, block in zip(prompt, blocks, strict=True) if block]
        assert kinds in ([], [True], [False], [True, False])
        assert not any(blocks[2 + len(kinds) :])

    @invariant()
    def recent_messages_are_of_the_trace_in_its_order(self):
        ids = [entry.at for entry in self.context._now.recent]
        assert ids == sorted(set(ids))
        cap = self.options["result_cap"]
        for at, message, tokens in self.context._now.recent:
            assert message == self.trace[at] or (cap and tokens <= cap)

    @invariant()
    def the_prompt_is_one_that_a_provider_takes(self):
        problems = validate(self.context.messages())
        assert not problems or self.context.open_calls
        assert all("has no result" in problem.rule for problem in problems)

    @invariant()
    def notes_pins_and_the_newest_step_are_in_the_prompt(self):
        prompt = self.context.messages()
        assert self.context.notes == self.notes
        assert all(f"[{key}] {text}" in str(prompt) for key, text in self.notes.items())
        places = {entry.at for entry in self.context._now.recent}
        assert self.pins <= places

    @invariant()
    def the_prompt_only_grows_at_its_end(self):
        prompt = self.context.messages()
        if not self.rewritten:
            assert prompt[: len(self.prompt)] == self.prompt
        self.prompt, self.rewritten = prompt, False


TestRun = Run.TestCase
TestRun.settings = settings(settings(), stateful_step_count=40)
