"""The context manager, beside the document's own."""

from __future__ import annotations

import logging
from time import perf_counter

import pytest
from strategies import TOOLS

from course_lib.context import Context, NotesFull
from course_lib.handoff import HandOff, parse_hand_off, places, ranges
from course_lib.messages import (
    SUMMARY_MARK,
    BadMessage,
    BudgetTooSmall,
    CourseError,
    assistant,
    is_summary,
    tool_call,
    tool_result,
    user,
    validate,
)
from course_lib.notes import Note
from course_lib.store import Store
from course_lib.summaries import careless
from course_lib.tokens import count_tokens
from course_lib.working_set import NOTES_MARK, cut_result

logging.getLogger("course_lib").setLevel(logging.ERROR)

INSTRUCTIONS = "You are a careful accounts agent."
TASK = "Explain why invoice 8841 was rejected. Do not contact the supplier."
RULE = "Do not contact the supplier."
BULK = "a line of the log that nobody needs; " * 80  # 720 tokens


def turn(n: int, text: str = "") -> list[dict]:
    """A call and its result; about 60 tokens, unless there is a text."""
    asked = assistant(calls=[tool_call(f"c{n}", "look_up_item", item=n)])
    body = f"FACT: item {n} amount {1000 + n}\n" + (text or "more of the record, " * 8)
    return [asked, tool_result(f"c{n}", body)]


def grown(steps: int, **options) -> Context:
    """A context after a few steps."""
    context = Context(INSTRUCTIONS, TASK, **{"budget": 1000, **options})
    for n in range(steps):
        append_all(context, turn(n))
    return context


def append_all(context: Context, messages: list[dict]) -> None:
    for message in messages:
        context.append(message)


def text_of_prompt(context: Context) -> str:
    return "\n".join(str(message["content"]) for message in context.messages())


# ---- the document's class -------------------------------------------------------------------


class DocumentsContext:
    """The document's class as printed, the asterisks and underscores that it lost put back."""

    def __init__(self, instructions, budget=6000, keep_last=4):
        self.instructions, self.budget, self.keep_last = instructions, budget, keep_last
        self.notes, self.summary, self.recent = [], "", []
        self.compactions = 0

    @staticmethod
    def tokens(text):
        return len(text) // 4

    def note(self, text):
        self.notes.append(text)

    def add(self, text):
        self.recent.append(text)
        if self.size() > self.budget:
            self.compact()

    def summarise(self, entries):
        facts = [line for e in entries for line in e.splitlines() if line.startswith("FACT:")]
        gist = [e.splitlines()[0][:60] for e in entries]
        return "Earlier: " + "; ".join(gist) + "\n" + "\n".join(facts)

    def compact(self):
        self.compactions += 1
        old, self.recent = self.recent[: -self.keep_last], self.recent[-self.keep_last :]
        self.summary = (self.summary + "\n" + self.summarise(old)).strip()

    def render(self):
        parts = (
            self.instructions,
            "NOTES\n" + "\n".join(self.notes) if self.notes else "",
            "SUMMARY\n" + self.summary if self.summary else "",
            "RECENT\n" + "\n".join(self.recent),
        )
        return "\n\n".join(part for part in parts if part)

    def size(self):
        return self.tokens(self.render())


def documents_run(steps, note=True):
    context = DocumentsContext("You are a careful accounts agent. " * 20, budget=4000)
    if note:
        context.note(f"Goal: explain why invoice 8841 was rejected. Constraint: {RULE.lower()}")
    for step in range(1, steps + 1):
        fact = f"FACT: item {step} amount {1000 + step}"
        context.add(f"Step {step}: tool result\n{fact}\n" + "x" * 2500)
    return context


def test_the_documents_class_compacts_nearly_every_step_and_outgrows_its_budget():
    forty, four_hundred = documents_run(40), documents_run(400)
    assert (forty.compactions, forty.size()) == (18, 3209)
    assert sum(f"item {n} amount" in forty.render() for n in range(1, 41)) == 40
    assert (four_hundred.compactions, four_hundred.size()) == (372, 8387)
    bare = documents_run(400, note=False)  # the run whose figures the course tells
    assert (bare.compactions, bare.size()) == (370, 8360)


def test_the_mended_one_holds_over_400_steps_with_every_fact_in_reach():
    context = Context("You are a careful accounts agent. " * 20, TASK, budget=4000, result_cap=80)
    for n in range(1, 401):
        append_all(context, turn(n, BULK))
        assert context.size() <= 4000
        assert RULE in text_of_prompt(context)
        assert validate(context.messages()) == []
    assert len(context.compactions) <= 40
    steps = [event.at // 2 for event in context.compactions]
    assert all(later - earlier >= 10 for earlier, later in zip(steps, steps[1:], strict=False))
    prompt = text_of_prompt(context)
    for n in range(1, 401):
        fact = f"FACT: item {n} amount {1000 + n}"
        found = context.recall(f'"item {n} amount"')
        assert any(fact in hit.message["content"] for hit in found)
        assert n < 380 or fact in prompt


def test_whole_results_of_any_size_hold_the_budget_too():
    context = Context(INSTRUCTIONS, TASK, budget=4000)
    for n in range(60):
        append_all(context, turn(n, BULK))
        assert context.size() <= 4000
    assert all(event.summarised for event in context.compactions)
    assert all(event.after <= context.low for event in context.compactions)


# ---- layout and size ------------------------------------------------------------------------


def test_the_layout_is_instructions_task_summary_notes_recent_and_the_question_last():
    context = grown(20)
    context.note("S1 is the supplier", key="supplier")
    context.append(user("And invoice 8842?"))
    roles = [message["role"] for message in context.messages()[:4]]
    assert roles == ["system", "user", "user", "user"]
    instructions, task, summary, notes, *recent = context.messages()
    assert (instructions["content"], task["content"]) == (INSTRUCTIONS, TASK)
    assert is_summary(summary)
    assert notes["content"] == f"{NOTES_MARK}\n[supplier] S1 is the supplier"
    assert recent[-1]["content"] == "And invoice 8842?"


def test_the_whole_request_is_counted():
    context = grown(3, tools=TOOLS, reserve=100)
    assert context.size() == count_tokens(context.messages(), tools=TOOLS) + 100


def test_under_high_water_every_message_is_there_and_is_the_very_same_object():
    messages = [message for n in range(5) for message in turn(n)]
    context = Context(INSTRUCTIONS, TASK)
    append_all(context, messages)
    assert all(a is b for a, b in zip(context.messages()[2:], messages, strict=True))
    assert context.compactions == []


def test_the_prompt_is_a_prefix_of_the_next_one_until_a_compaction():
    context, before = Context(INSTRUCTIONS, TASK, budget=1000), []
    for n in range(40):
        for message in turn(n):
            compactions = len(context.compactions)
            context.append(message)
            if len(context.compactions) == compactions:
                assert context.messages()[: len(before)] == before
            before = context.messages()
    assert 2 < len(context.compactions) < 10


def test_a_note_changes_nothing_before_it():
    context = grown(20)
    before = context.messages()
    context.note("S1 is the supplier")
    assert context.messages()[:3] == before[:3]
    assert context.messages()[4:] == before[3:]


def test_appending_costs_what_the_new_message_costs():
    def seconds(steps: int) -> float:
        context = Context(INSTRUCTIONS, TASK, budget=10**7)
        start = perf_counter()
        for n in range(steps):
            append_all(context, turn(n))
        return perf_counter() - start

    # Eight times the steps; a recount of all on each would take 64 times as long.
    assert any(seconds(800) / seconds(100) < 20 for _ in range(5))


# ---- compaction -----------------------------------------------------------------------------


def test_a_compaction_comes_above_high_water_and_goes_down_to_low_water():
    context = grown(40)
    assert context.compactions
    assert context.summary.next_step == "", "what is next stands in the recent messages"
    for event in context.compactions:
        assert 800 < event.before <= 1000
        assert event.after <= 500
        assert event.summarised


def test_the_newest_groups_are_spared_while_enough_goes_without_them():
    def left_after_first_compaction(keep_last):
        context = Context(INSTRUCTIONS, TASK, budget=1000, keep_last=keep_last)
        for n in range(40):
            for message in turn(n):
                context.append(message)
                if context.compactions:
                    return sum(m["role"] == "assistant" for m in context.messages())
        return None

    assert left_after_first_compaction(0) < 6
    assert left_after_first_compaction(6) == 6
    assert left_after_first_compaction(100) < 6, "what can't be spared gives way"


def test_what_would_not_last_is_put_off_until_the_budget_is_full():
    context = Context(INSTRUCTIONS, TASK, budget=1000)
    context.pin(context.append(user("word " * 550)))
    append_all(context, [m for n in range(20) for m in turn(n)])
    assert context.compactions
    assert all(event.before > 1000 for event in context.compactions)
    assert all(event.after <= 1000 for event in context.compactions)


def test_a_summary_that_would_break_the_budget_is_left_out():
    context = Context(INSTRUCTIONS, TASK, budget=1000, summary_cap=200)
    context.summarize = lambda messages: "Facts: " + "word " * 110
    append_all(context, [*turn(1), *turn(2), assistant("word " * 880)])
    (event,) = context.compactions
    assert not event.summarised
    assert event.after <= 1000
    assert context.summary.facts == ()


def test_where_the_budget_is_full_to_the_token_there_is_no_mark_either():
    context = grown(2, summarize=failing)
    room = 1000 - Context(INSTRUCTIONS, TASK).size()
    words = next(n for n in range(1000) if count_tokens(assistant("word" + " word" * n)) == room)
    context.append(assistant("word" + " word" * words))
    assert context.size() == 1000
    assert len(context.messages()) == 3


def test_a_summary_that_is_longer_once_it_stands_in_the_prompt_is_refused():
    def nearly_as_long(messages):
        lines = sum(map(count_tokens, messages[2:])) // 2 - 1
        return "\n".join(map(str, range(lines)))

    context = grown(3, summary_cap=300, summarize=nearly_as_long, low=0.3)
    before = context.messages()
    assert context.compact() is None
    assert context.messages() == before


def test_facts_that_leave_the_prompt_are_in_the_summary_and_those_that_leave_it_in_the_store():
    context = grown(40)
    assert "item 0 amount" not in text_of_prompt(context)
    assert "search the trace" in text_of_prompt(context)
    assert context.recall('"item 0 amount"')[0].message == turn(0)[1]
    recent = "\n".join(str(m["content"]) for m in context.messages()[3:])
    assert any(fact not in recent for fact in context.summary.facts)
    assert count_tokens(context.messages()[2]) <= context.summary_cap


def test_an_earlier_summary_is_merged_and_not_summarised_again():
    seen = []

    def spy(messages):
        seen.append(messages)
        return f"Facts: batch {len(seen)} of F{len(seen)}"

    context = grown(40, summarize=spy)
    assert len(seen) >= 2
    assert not any(is_summary(m) for messages in seen for m in messages)
    assert context.summary.facts == tuple(f"batch {n} of F{n}" for n in range(1, len(seen) + 1))


def test_the_summariser_gets_instructions_and_task_and_then_what_goes():
    seen = []

    def spy(messages):
        seen.append(list(messages))
        return "Done: read"

    grown(12, summarize=spy)
    assert [m["content"] for m in seen[0][:2]] == [INSTRUCTIONS, TASK]
    assert seen[0][2:4] == turn(0)


def failing(messages):
    raise RuntimeError("Error code: 429")


@pytest.mark.parametrize(
    "useless",
    [failing, lambda messages: " ", lambda messages: None, lambda messages: "word " * 5000],
)
def test_without_a_summary_all_stays_until_the_budget_is_full(useless):
    context, tries = Context(INSTRUCTIONS, TASK, budget=1000), []
    context.summarize = lambda messages: (tries.append(1), useless(messages))[1]
    waited = set()
    for n in range(40):
        append_all(context, turn(n))
        assert context.size() <= 1000
        assert validate(context.messages()) == []
        if context.size() > context.high:
            waited.add(len(tries))
    assert waited, "over high water, nothing was thrown away"
    assert all(not event.summarised for event in context.compactions)
    assert all(event.before > 1000 for event in context.compactions)
    once = grown(0, budget=4000, summarize=lambda messages: (tries.append(2), useless(messages))[1])
    append_all(once, [m for n in range(50) for m in turn(n)])
    assert 3200 < once.size() <= 4000
    assert once.compactions == []
    assert 1 <= tries.count(2) <= 4, "it is asked again only when more has come"
    assert "429" not in text_of_prompt(context)
    assert "search the trace" in text_of_prompt(context)
    assert context.recall('"item 3 amount"')[0].message == turn(3)[1]


def test_a_summariser_that_comes_back_is_used_again():
    context = grown(13, summarize=failing)
    assert context.compactions == []
    context.summarize = lambda messages: "Facts: F1"
    append_all(context, [m for n in range(13, 20) for m in turn(n)])
    assert context.compactions[0].summarised
    assert context.summary.facts == ("F1",)


def test_a_rule_of_a_later_user_message_survives_a_careless_summary():
    context = Context(INSTRUCTIONS, TASK, budget=1000, summarize=careless)
    append_all(context, [user("Never mention the code E12. Then go on."), assistant("I will.")])
    append_all(context, [user(f"{RULE} What now?"), assistant("Wait."), user("Go on.")])
    append_all(context, [m for n in range(40) for m in turn(n)])
    assert "Never mention the code E12." in text_of_prompt(context)
    assert context.summary.constraints == ("Never mention the code E12.",)


def test_a_rule_in_the_summarisers_own_words_is_a_fact_and_no_rule():
    invented = "Goal: x. Constraint: call the supplier\nDone: read"
    context = grown(14, summarize=lambda messages: invented)
    assert context.summary.constraints == ()
    assert context.summary.facts == ("call the supplier",)
    assert context.summary.goal == ""


def test_open_calls_pins_and_the_newest_question_stay():
    context = Context(INSTRUCTIONS, TASK, budget=1200)
    context.append(user("And invoice 8842?"))
    pinned = context.append(turn(99)[0])
    append_all(context, turn(99)[1:])
    context.pin(pinned)
    context.append(assistant(calls=[tool_call("slow", "wait")]))
    append_all(context, [m for n in range(40) for m in turn(n)])
    assert len(context.compactions) > 2
    for message in (user("And invoice 8842?"), *turn(99)):
        assert message in context.messages()
    assert context.open_calls == ["slow"]
    context.append(tool_result("slow", "done"))
    assert context.open_calls == []
    context.unpin(pinned)
    append_all(context, [m for n in range(40, 80) for m in turn(n)])
    assert turn(99)[0] not in context.messages()


def test_compacting_by_hand_goes_down_to_low_water_or_does_nothing():
    context = grown(9)
    assert context.size() < context.high
    event = context.compact()
    assert event.after <= context.low
    assert event == context.compactions[-1]
    before = context.messages()
    assert context.compact() is None
    assert context.messages() == before


# ---- notes and pins -------------------------------------------------------------------------


def test_a_note_can_be_replaced_and_forgotten_by_its_key():
    context = Context(INSTRUCTIONS, TASK)
    assert context.note("first\n note") == "1"
    assert context.note("second") == "2"
    assert context.note("S1 [old]", key="the [key]") == "the (key)"
    context.note("S2", key="the (key)")
    context.forget("1")
    assert context.notes == {"2": "second", "the (key)": "S2"}
    assert context.note("third") == "3"
    with pytest.raises(CourseError, match=r"no note '9'; the keys are: 2, the \(key\), 3"):
        context.forget("9")
    with pytest.raises(CourseError, match="needs a text"):
        context.note("  ")


def test_notes_have_a_cap_with_the_numbers_in_the_error():
    context = Context(INSTRUCTIONS, TASK, notes_cap=60)
    context.note("S1 is the supplier", key="supplier")
    before = context.messages()
    with pytest.raises(NotesFull, match="notes hold 1") as caught:
        context.note("word " * 100)
    assert caught.value.cap == 60
    assert caught.value.held < 60 < caught.value.needed
    assert (context.messages(), list(context.notes)) == (before, ["supplier"])
    context.note("S2", key="supplier")
    assert context.notes == {"supplier": "S2"}


def test_only_what_is_among_the_recent_messages_can_be_pinned():
    context = grown(20)
    with pytest.raises(CourseError, match="message 2 isn't among the recent ones"):
        context.pin(2)


# ---- what can't be --------------------------------------------------------------------------


def unchanged(context, change, error):
    """The error, after which nothing has changed."""
    before = (context.messages(), context.size(), context.store.messages(), context.notes)
    with pytest.raises(error) as caught:
        change()
    assert before == (context.messages(), context.size(), context.store.messages(), context.notes)
    return caught.value


def test_a_message_that_cannot_fit_is_refused_with_the_floor_and_nothing_changes():
    context = grown(5)
    context.append(assistant(calls=[tool_call("big", "read")]))
    result = tool_result("big", "word " * 2000)
    error = unchanged(context, lambda: context.append(result), BudgetTooSmall)
    assert error.budget == 1000
    assert error.floor > 2000
    assert error.parts["the newest group"] > 2000
    context.append(tool_result("big", "shorter"))
    assert validate(context.messages()) == []


def test_a_note_or_a_head_that_cannot_fit_is_refused():
    context = grown(1, notes_cap=5000)
    error = unchanged(context, lambda: context.note("word " * 1500), BudgetTooSmall)
    assert error.parts["notes, pins and the question"] > 1500
    store = Store()
    with pytest.raises(BudgetTooSmall, match="the head"):
        Context("word " * 500, TASK, budget=400, store=store)
    assert store.runs() == []


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("hello", "a message is a dict"),
        ({"content": "x"}, "without `role`"),
        (tool_result("c9", "x"), "a result for 'c9', but no call"),
        ({"role": "tool", "content": "x"}, "without `tool_call_id`"),
        ({"role": "assistant", "tool_calls": "x"}, "`tool_calls` must be a list"),
        (assistant(calls=[{"name": "f", "arguments": "{}"}]), "has no `id`"),
        ({"role": "user", "content": 7}, "`content` must be text"),
        ({"role": "user", "content": "x", "extra": {1, 2}}, "JSON can't"),
    ],
)
def test_a_broken_message_is_refused_with_its_place_and_nothing_changes(message, words):
    context = grown(2)
    error = unchanged(context, lambda: context.append(message), BadMessage)
    assert words in str(error)
    assert error.index == 6


def test_a_result_can_come_once_only():
    context = grown(1)
    error = unchanged(context, lambda: context.append(turn(0)[1]), BadMessage)
    assert error.field == "tool_call_id"


def test_marks_must_be_in_order():
    with pytest.raises(CourseError, match="in this order"):
        Context(INSTRUCTIONS, TASK, high=0.4, low=0.5)


# ---- results that are shown cut -------------------------------------------------------------


def test_a_long_result_is_shown_cut_between_words_and_kept_whole():
    context = Context(INSTRUCTIONS, TASK, result_cap=60)
    append_all(context, turn(1, BULK))
    shown = context.messages()[-1]
    assert count_tokens(shown) <= 60
    assert shown["content"].startswith("FACT: item 1 amount 1001\na line of the log")
    text, mark = shown["content"].rsplit("\n", 1)
    left = len(turn(1, BULK)[1]["content"]) - len(text)
    assert mark == f"[{left:,} more characters are in the trace]"
    assert text.split()[-1] in BULK.split()
    assert context.recall("nobody")[0].message == turn(1, BULK)[1]


@pytest.mark.parametrize("text", ["x" * 5000, " " * 5000, "7" * 5000, "日本" * 900])
def test_any_long_text_can_be_cut(text):
    short = cut_result(tool_result("c", text), 40)
    assert count_tokens(short) <= 40
    assert short["tool_call_id"] == "c"


# ---- hand-off and resume --------------------------------------------------------------------


def test_after_a_crash_the_prompt_is_the_same_again(tmp_path):
    with Store(tmp_path / "trace.db") as store:
        context = grown(30, store=store)
        context.note("S1 is the supplier", key="supplier")
        context.pin(context.append(turn(77)[0]))
        before, size = context.messages(), context.size()
    with Store(tmp_path / "trace.db") as store:
        again = Context.resume(store, budget=1000)
        assert again.messages() == before
        assert (again.size(), again.notes) == (size, {"supplier": "S1 is the supplier"})
        assert again.open_calls == ["c77"]
        assert again.append(turn(77)[1]) == len(store.messages()) - 1
        append_all(again, [m for n in range(30, 60) for m in turn(n)])
        assert turn(77)[0] in again.messages(), "the pin came along"


def test_what_came_after_the_last_note_is_there_too():
    context = Context(INSTRUCTIONS, TASK)
    context.note("a note")
    append_all(context, turn(1))
    again = Context.resume(context.store)
    assert again.messages() == context.messages()
    assert Context.resume(Context(INSTRUCTIONS, TASK).store).messages()[1]["content"] == TASK


def test_a_hand_off_is_a_fresh_start_from_the_note_alone():
    context = grown(6)
    context.note("S1 is the supplier", key="supplier")
    before = context.messages()
    text = context.hand_off()
    assert context.messages() == before, "the context itself goes on as it was"
    assert text == context.store.last_note()
    assert "Goal: Explain why invoice 8841 was rejected. Constraint: Do not contact" in text
    fresh = Context.resume(context.store, budget=1000)
    assert [m["content"].split("\n")[0] for m in fresh.messages()] == [
        INSTRUCTIONS,
        TASK,
        SUMMARY_MARK,
        NOTES_MARK,
    ]
    assert "item 5 amount 1005" in text_of_prompt(fresh)
    assert "Next step: Go on after look_up_item 5." in text_of_prompt(fresh)
    assert RULE not in fresh.messages()[2]["content"], "the task says it"
    assert len(fresh.store.messages()) == 14


def test_a_hand_off_takes_open_calls_pins_and_a_waiting_question_along():
    context = grown(3)
    context.pin(5)
    marked = {**assistant("It was E12."), "pinned": True}
    slow = assistant(calls=[tool_call("slow", "wait")])
    append_all(context, [marked, slow, user("And invoice 8842?")])
    context.hand_off()
    fresh = Context.resume(context.store)
    assert fresh.messages()[3:] == [*turn(1), marked, slow, user("And invoice 8842?")]
    fresh.append(tool_result("slow", "done"))


def test_a_hand_off_without_a_summary_takes_everything_recent_along():
    context = grown(3, summarize=failing)
    context.hand_off()
    assert Context.resume(context.store).messages() == context.messages()


def test_a_note_from_elsewhere_starts_afresh_too():
    context = grown(3)
    context.store.save_note("Facts: E12 means no order number\nNext step: reply", "main")
    fresh = Context.resume(context.store)
    assert fresh.summary == Note(facts="E12 means no order number", next_step="reply")
    assert len(fresh.messages()) == 3


def test_runs_are_kept_apart_and_none_is_begun_twice():
    store = Store()
    append_all(Context(INSTRUCTIONS, TASK, store=store), turn(1))
    other = Context("Other.", "Find it.", store=store, run="other")
    assert other.recall("amount") == []
    with pytest.raises(CourseError, match="holds a run 'main' already"):
        Context(INSTRUCTIONS, TASK, store=store)
    with pytest.raises(CourseError, match="no run 'nobody'"):
        Context.resume(store, "nobody")
    assert len(Context.resume(store).messages()) == 4


def test_resuming_with_a_smaller_budget_compacts_or_says_that_it_cannot():
    context = grown(10)
    assert Context.resume(context.store, budget=600).size() <= 600
    with pytest.raises(BudgetTooSmall):
        Context.resume(context.store, budget=60)


def test_a_hand_off_survives_its_text():
    note = Note(goal="Find it.", facts=["a: b", "[1] x"], constraints=["never"], left_out=True)
    hand_off = HandOff(note, {"1": "E12", "who": "[S1] it is"}, 57, (2, 5, 6, 7), (6,))
    assert parse_hand_off(hand_off.render()) == hand_off
    assert hand_off.render().endswith("Trace: 57 messages; kept 2 5-7; pinned 6")
    assert parse_hand_off(HandOff(Note(), seen=0).render()) == HandOff(Note(), seen=0)
    assert places(ranges([])) == ()
