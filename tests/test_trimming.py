"""Trimming: the document's example, the water marks, pins, summaries, and faults met elsewhere."""

from __future__ import annotations

import logging

import pytest

from course_lib.messages import (
    SUMMARY_MARK,
    BudgetTooSmall,
    CourseError,
    assistant,
    is_summary,
    pairs_ok,
    size,
    system,
    text_of,
    tool_call,
    turn_groups,
    user,
    validate,
)
from course_lib.samples import incident
from course_lib.summaries import facts_only
from course_lib.tokens import count_tokens
from course_lib.trimming import (
    append_all,
    high_low,
    mask_results,
    rolling_summary,
    shorten,
    shrink_newest,
    sliding_window,
    take_apart,
    trim,
)
from tests.strategies import TOOLS
from tests.strategies import result as found


def tens(messages, tools=None):
    """A size that can be added up in the head: 10 for each message, 100 for tools."""
    return 10 * len(messages) + (100 if tools else 0)


def lengths(messages):
    """A size that the texts decide, and nothing else."""
    return sum(len(text_of(m)) for m in messages)


ROWS = "row " * 100
HEAD = [system("You are an investigator."), user("Which hour failed?")]


def run_of(groups):
    """A head and so many groups of one message each: 20 + 10 for each group, in tens."""
    return [*HEAD, *(assistant(f"Step {i}.") for i in range(groups))]


def asks(*ids):
    return assistant(calls=[tool_call(id, "search_logs", hour=id) for id in ids])


def pinned(message):
    return {**message, "pinned": True}


def summary(text):
    return user(f"{SUMMARY_MARK} {text}")


def same(some, others):
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def trimmed(messages, budget, summarize=None, **options):
    return trim(messages, budget, summarize, count=tens, **options).messages


# ---- the document's example -----------------------------------------------------------------


def test_the_documents_six_lines():
    messages = incident()
    plain, dropped = trim(messages, 2500, count=size)
    summ, _ = trim(messages, 2500, facts_only, count=size)
    naive = messages[:2] + messages[-5:]
    survived = any("timeout" in m["content"] for m in plain)
    lines = [
        f"original: {len(messages)} messages, {size(messages)} chars",
        f"trimmed : {len(plain)} messages, {size(plain)} chars, dropped {dropped} groups, "
        f"pairs ok: {pairs_ok(plain)}",
        f"  the 02:00 finding survived? {survived}",
        f"summary : {len(summ)} messages, {size(summ)} chars, pairs ok: {pairs_ok(summ)}",
        f"   {summ[2]['content']}",
        f"naive cut by message count, pairs ok: {pairs_ok(naive)}",
    ]
    assert lines == [
        "original: 26 messages, 7397 chars",
        "trimmed : 8 messages, 1952 chars, dropped 9 groups, pairs ok: True",
        "  the 02:00 finding survived? False",
        "summary : 9 messages, 2063 chars, pairs ok: True",
        "   [Summary of earlier steps] searched 9 hours; findings: 02:00: timeout on db step",
        "naive cut by message count, pairs ok: False",
    ]


def continued(messages, start, end):
    """A trimmed list of the incident run with its later hours put behind it."""
    return [*messages, *incident(end)[2 + 2 * start :]]


def test_a_second_trim_keeps_what_the_first_summary_said():
    once = trim(incident(), 2500, facts_only, count=size).messages
    twice = trim(continued(once, 12, 24), 2500, facts_only, count=size).messages
    (note,) = filter(is_summary, twice)
    assert note["content"].splitlines() == [
        "[Summary of earlier steps] searched 9 hours; findings: 02:00: timeout on db step",
        "searched 12 hours; findings: none",
    ]


def test_a_second_trim_without_a_summariser_keeps_the_summary_too():
    once = trim(incident(), 2500, facts_only, count=size).messages
    twice = trim(continued(once, 12, 24), 2500, count=size).messages
    assert twice[2] is once[2]


def test_the_summary_is_counted():
    before = trim(incident(), 2063, facts_only, count=size).messages
    assert (len(before), size(before)) == (9, 2063)
    after = trim(incident(), 2062, facts_only, count=size).messages
    assert len(after) == 7
    assert size(after) <= 2062


def test_a_newest_group_over_the_budget_is_an_error_and_not_an_empty_list():
    messages = [*incident(), asks("c12"), found("c12", "line " * 1000)]
    with pytest.raises(BudgetTooSmall, match="the newest group 5,"):
        trim(messages, 2500, count=size)


def test_any_first_two_messages_are_not_the_head():
    messages = [user("Why?"), *incident()[2:]]
    assert trim(messages, 2500, count=size).messages[0] is messages[0]
    assert pairs_ok(trim(messages, 2500, count=size).messages)


# ---- budget and water marks -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "marks", "groups_left"),
    [
        pytest.param(120, {}, 10, id="exactly the budget"),
        pytest.param(119, {}, 9, id="one over the budget"),
        pytest.param(110, {}, 9, id="a group over the budget"),
        pytest.param(100, {"low": 50}, 3, id="down to low"),
        pytest.param(100, {"low": 59}, 3, id="between two groups"),
        pytest.param(100, {"low": 60}, 4, id="exactly low"),
        pytest.param(100, {"low": 0}, 1, id="as low as it goes"),
        pytest.param(200, {"high": 120, "low": 50}, 10, id="exactly high"),
        pytest.param(200, {"high": 119, "low": 50}, 3, id="over high"),
        pytest.param(200, {"high": 119}, 9, id="low is high unless it is named"),
        pytest.param(200, {"low": 50}, 10, id="high is the budget unless it is named"),
        pytest.param(30, {}, 1, id="room for what must stay"),
    ],
)
def test_groups_go_from_high_water_down_to_low_water(budget, marks, groups_left):
    messages = run_of(10)
    out, dropped = trim(messages, budget, count=tens, **marks)
    assert same(out, [*messages[:2], *messages[12 - groups_left :]])
    assert dropped == 10 - groups_left


@pytest.mark.parametrize(
    ("budget", "marks"),
    [
        (0, {}),
        (-5, {}),
        (100, {"high": 101}),
        (100, {"low": 60, "high": 50}),
        (100, {"low": 101}),
        (100, {"low": -1}),
        (100, {"high": -1}),
    ],
)
def test_marks_that_are_not_in_order_are_said(budget, marks):
    with pytest.raises(CourseError, match="0 <= low <= high <= budget"):
        trim(run_of(10), budget, count=tens, **marks)


@pytest.mark.parametrize("marks", [{"low": 0.5}, {"high": 0.8, "low": 0.5}, {"high": 1.0}])
def test_shares_in_the_place_of_sizes_are_noticed(marks):
    with pytest.raises(CourseError, match="high_low"):
        trim(run_of(10), 100, count=tens, **marks)


def test_a_negative_reserve_is_refused():
    with pytest.raises(CourseError, match="reserve"):
        trim(run_of(10), 100, count=tens, reserve=-50)


def test_the_reserve_and_the_tools_take_room():
    messages = run_of(10)
    assert len(trimmed(messages, 120, reserve=20)) == 10
    assert len(trimmed(messages, 220, tools=TOOLS)) == 12
    assert len(trimmed(messages, 210, tools=TOOLS)) == 11
    assert len(trimmed(messages, 230, tools=TOOLS, reserve=20)) == 11


def test_tokens_are_counted_unless_another_count_is_named():
    messages = run_of(10)
    budget = count_tokens(messages)
    assert same(trim(messages, budget).messages, messages)
    assert trim(messages, budget - 1).dropped == 1


def test_tools_are_counted_in_characters_too():
    out = trim(incident(), 2500, count=size, tools=TOOLS).messages
    assert size(out) + size(TOOLS) <= 2500


def test_the_list_that_comes_back_is_a_new_one():
    messages = run_of(3)
    trim(messages, 1000).messages.clear()
    assert len(messages) == 5


@pytest.mark.parametrize("messages", [[], HEAD[:1], HEAD, [assistant("Hello.")], run_of(1)])
def test_what_must_stay_comes_back_as_it_is(messages):
    assert same(trimmed(messages, 30), messages)
    assert same(trimmed(messages, 30, lambda dropped: "note", low=0), messages)


# ---- what must stay -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "options", "parts"),
    [
        pytest.param(HEAD, {}, {"the head": 20}, id="the head"),
        pytest.param(run_of(3), {}, {"the head": 20, "the newest group": 10}, id="the newest"),
        pytest.param(
            [*HEAD, asks("a"), found("a")],
            {},
            {"the head": 20, "the newest group": 20},
            id="all of the newest",
        ),
        pytest.param(
            run_of(4),
            {"pinned": (0, 2)},
            {"the head": 20, "pinned groups": 20, "the newest group": 10},
            id="pins",
        ),
        pytest.param(
            [*HEAD, asks("a"), asks("b"), *run_of(2)[2:]],
            {},
            {"the head": 20, "open calls": 20, "the newest group": 10},
            id="open calls",
        ),
        pytest.param(
            [*HEAD, summary("x"), *run_of(2)[2:]],
            {},
            {"the head": 20, "the summary": 10, "the newest group": 10},
            id="a summary",
        ),
        pytest.param(
            run_of(2),
            {"tools": TOOLS, "reserve": 7},
            {
                "framing and tools": 100,
                "the answer's reserve": 7,
                "the head": 20,
                "the newest group": 10,
            },
            id="tools and reserve",
        ),
    ],
)
def test_too_small_a_budget_names_all_that_must_stay(messages, options, parts):
    floor = sum(parts.values())
    with pytest.raises(BudgetTooSmall) as caught:
        trimmed(messages, floor - 1, **options)
    error = caught.value
    assert (error.budget, error.floor) == (floor - 1, floor)
    assert {name: n for name, n in error.parts.items() if n} == parts
    trimmed(messages, floor, **options)


def test_pins_by_number_keep_their_groups():
    messages = run_of(10)
    out, dropped = trim(messages, 60, count=tens, pinned=[1, 4])
    assert same(out, [messages[i] for i in (0, 1, 3, 6, 10, 11)])
    assert dropped == 6


@pytest.mark.parametrize("marked", [0, 1, 2])
def test_a_flag_on_any_of_its_messages_keeps_a_group(marked):
    group = [asks("a", "b"), found("a"), found("b")]
    group[marked] = pinned(group[marked])
    messages = [*HEAD, *group, *run_of(5)[2:]]
    assert same(trimmed(messages, 60), [*HEAD, *group, messages[-1]])


def test_a_flag_that_is_off_keeps_nothing():
    messages = run_of(3)
    messages[2] = {**messages[2], "pinned": False}
    assert same(trimmed(messages, 40), [*messages[:2], *messages[3:]])


def test_a_pin_on_the_head_or_on_the_newest_group_changes_nothing():
    messages = run_of(5)
    messages[1], messages[-1] = pinned(messages[1]), pinned(messages[-1])
    assert same(trimmed(messages, 40), [*messages[:2], *messages[-2:]])


@pytest.mark.parametrize("pins", [(3,), (-1,), (0, 99)])
def test_a_pin_on_a_group_that_is_not_there_is_said(pins):
    with pytest.raises(CourseError, match=f"no group {pins[-1]} to pin: the 3 groups"):
        trimmed(run_of(3), 1000, pinned=pins)


def test_the_group_of_the_last_message_is_new_though_another_began_later():
    messages = [*HEAD, asks("a"), asks("b"), found("b"), assistant("wait"), found("a")]
    out = trimmed(messages, 50)
    assert same(out, [*HEAD, messages[2], messages[5], messages[6]])


def test_interleaved_groups_leave_one_by_one():
    messages = [*HEAD, asks("a"), asks("b"), found("a"), found("b"), *run_of(1)[2:]]
    out, dropped = trim(messages, 50, count=tens)
    assert same(out, [*HEAD, messages[3], messages[5], messages[6]])
    assert dropped == 1


# ---- faults that people met in production ---------------------------------------------------


def test_fault_a_list_under_budget_is_not_touched():
    messages = [*HEAD, found("orphan"), pinned(asks("a")), asks("b"), found("b"), found("b")]
    assert same(trim(messages, 10_000).messages, messages)


def test_fault_a_result_is_not_parted_from_a_parallel_calls_other_results():
    messages = [*HEAD, asks("a", "b"), found("a"), found("b"), assistant("More rain in Visby.")]
    for budget in (30, 40, 50):
        assert same(trimmed(messages, budget), [*HEAD, messages[-1]])


def test_fault_a_system_message_hides_no_orphan_behind_it():
    messages = [*HEAD, asks("a"), found("a"), asks("b"), system("Be brief."), found("b")]
    out = trimmed(messages, 50)
    assert same(out, [*HEAD, messages[4], messages[5], messages[6]])
    assert validate([system("Be brief."), found("b")])


@pytest.mark.parametrize("budget", [40, 50, 60])
def test_fault_an_open_call_is_not_summarised_away(budget):
    messages = [*HEAD, asks("a"), user("Did it work?"), *run_of(4)[2:]]
    out = trimmed(messages, budget, lambda dropped: "asked")
    assert len(out) < len(messages)
    assert any(m is messages[2] for m in out)


def test_fault_a_run_without_a_user_message_can_be_cut():
    messages = [system("Go."), *(m for i in range(9) for m in (asks(f"{i}"), found(f"{i}")))]
    assert same(trimmed(messages, 50), [messages[0], *messages[-4:]])


def test_fault_the_error_text_of_a_summariser_is_not_a_summary():
    def summarize(dropped):
        raise RuntimeError("Error code: 429, rate limit reached")

    assert "429" not in str(trimmed(run_of(9), 60, summarize))


def test_fault_a_summary_longer_than_what_it_replaced_is_left_out_again_and_again():
    messages = run_of(9)
    for _ in range(5):
        messages = trim(messages, 60, lambda dropped: "blah " * 100, count=lengths).messages
        assert not any(map(is_summary, messages))
        messages = [*messages, assistant("one more step")]


def test_fault_the_arguments_of_calls_are_counted():
    big = assistant(calls=[tool_call("a", "write_file", text="line " * 500)])
    messages = [*HEAD, big, found("a", "written"), assistant("Done.")]
    assert same(trim(messages, 200).messages, [*HEAD, messages[-1]])


def test_fault_the_schemas_of_tools_are_counted():
    messages = run_of(10)
    budget = count_tokens(messages)
    out = trim(messages, budget, tools=TOOLS).messages
    assert len(out) < len(messages)
    assert count_tokens(out, tools=TOOLS) <= budget


@pytest.mark.parametrize("budget", [1, 10, 29])
def test_fault_a_trim_never_empties_the_list(budget):
    with pytest.raises(BudgetTooSmall):
        trimmed(run_of(10), budget)


# ---- small faults of known libraries --------------------------------------------------------


def test_case_a_call_that_was_never_answered_stays_and_is_named():
    messages = [*HEAD, asks("book"), user("Hello? Did it work?"), assistant("I'll try again.")]
    assert validate(messages) == [(2, "tool_calls", "the call 'book' has no result")]
    assert same(trimmed(messages, 40), [*HEAD, messages[2], messages[4]])


def test_case_an_id_that_is_used_in_each_turn_pairs_with_the_nearest_call():
    turns = [(asks("search:0"), found("search:0", name)) for name in ("Alma", "Berta", "Cora")]
    messages = [*HEAD, *(m for turn in turns for m in turn), assistant("Found all three.")]
    assert same(trimmed(messages, 50), [*HEAD, *turns[2], messages[-1]])


def test_case_tool_messages_that_answer_two_turns_go_with_their_own():
    messages = [
        user("Update both calendars."),
        asks("team"),
        asks("private"),
        found("team"),
        found("private"),
        assistant("Both are updated."),
        user("Thanks."),
    ]
    out = trimmed(messages, 50)
    assert same(out, [messages[i] for i in (0, 2, 4, 5, 6)])


def test_case_half_an_emoji_in_a_result_stops_nothing():
    messages = [*HEAD, asks("a"), found("a", "Guests: 14 \ud83d [cut]"), *run_of(3)[2:]]
    assert len(trim(messages, count_tokens(messages) - 1).messages) == 5


# ---- summaries ------------------------------------------------------------------------------


def says(*texts):
    """A summariser that says these texts one after the other, and keeps what it was given."""
    left = list(texts)

    def summarize(dropped):
        summarize.read.append(dropped)
        return left.pop(0) if len(left) > 1 else left[0]

    summarize.read = []
    return summarize


def test_a_note_stands_behind_the_head_in_the_place_of_what_went():
    messages, summarize = run_of(10), says("ten steps")
    out, dropped = trim(messages, 60, summarize, count=tens)
    assert out == [*HEAD, summary("ten steps"), *messages[-3:]]
    assert dropped == 7
    assert same(summarize.read[-1], messages[2:9])


def test_a_note_is_stripped():
    assert trimmed(run_of(10), 60, says("  ten steps\n"))[2] == summary("ten steps")


def test_a_note_makes_room_for_itself_and_is_written_again():
    messages, summarize = run_of(10), says("five", "six")
    out = trim(messages, 70, summarize, count=tens).messages
    assert [len(dropped) for dropped in summarize.read] == [5, 6]
    assert out == [*HEAD, summary("six"), *messages[-4:]]


@pytest.mark.parametrize(("low", "times"), [(50, 1), (49, 2)])
def test_a_note_is_written_once_if_there_is_room(low, times):
    turns = [m for i in range(3) for m in (asks(f"{i}"), found(f"{i}"))]
    summarize = says("note")
    trim([*HEAD, *run_of(2)[2:], *turns], 90, summarize, low=low + 20, count=tens)
    assert len(summarize.read) == times


@pytest.mark.parametrize(
    ("note", "committed"),
    [
        pytest.param("x" * 12, True, id="smaller"),
        pytest.param("x" * 13, False, id="as big"),
        pytest.param("x" * 14, False, id="bigger"),
    ],
)
def test_a_note_must_be_smaller_than_what_it_replaces(note, committed):
    # What goes is 40 characters long; the mark and a space are 27.
    messages = [user("task"), *(assistant("1234567890") for _ in range(5))]
    out, dropped = trim(messages, 100, says(note), high=53, low=14, count=lengths)
    assert any(map(is_summary, out)) is committed
    assert dropped == 4


@pytest.mark.parametrize(("budget", "committed"), [(41, True), (40, False)])
def test_a_note_must_fit_in_the_budget_with_what_must_stay(budget, committed):
    # The task 3, the newest group 10, and the note 28: 41 in all.
    messages = [user("tsk"), *(assistant("1234567890") for _ in range(5))]
    out = trim(messages, budget, says("x"), low=13, count=lengths).messages
    assert any(map(is_summary, out)) is committed
    assert lengths(out) <= budget


def test_a_note_that_is_refused_lets_no_more_go_than_a_plain_trim():
    messages = [user("tsk"), *(assistant("1234567890" * 3) for _ in range(10))]
    summarize = says("short", "much too long " * 50)
    plain = trim(messages, 200, low=150, count=lengths)
    noted = trim(messages, 200, summarize, low=150, count=lengths)
    assert [len(dropped) for dropped in summarize.read] == [6, 7]
    assert (noted.dropped, noted.messages) == (plain.dropped, plain.messages)


@pytest.mark.parametrize("text", ["", " \n", None, 5, ["note"], b"note"])
def test_a_summariser_that_says_nothing_leaves_the_messages(text, caplog):
    messages = run_of(10)
    with caplog.at_level(logging.WARNING, logger="course_lib"):
        assert trim(messages, 60, says(text), count=tens) == (messages, 0)
    assert "no text: nothing dropped" in caplog.text


@pytest.mark.parametrize("error", [RuntimeError("429"), KeyError("choices"), TimeoutError()])
def test_a_summariser_that_fails_leaves_the_messages_and_a_word_in_the_log(error, caplog):
    def summarize(dropped):
        raise error

    messages = run_of(10)
    with caplog.at_level(logging.WARNING, logger="course_lib"):
        assert same(trimmed(messages, 60, summarize), messages)
    assert type(error).__name__ in caplog.text
    assert "nothing dropped" in caplog.text


def test_a_summariser_that_fails_the_second_time_leaves_the_messages_too():
    messages = run_of(10)
    assert same(trimmed(messages, 70, says("five", "")), messages)


def test_stopping_a_summariser_stops_the_trim():
    def summarize(dropped):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trimmed(run_of(10), 60, summarize)


def test_an_earlier_note_is_folded_in_and_not_summarised_again():
    messages = [*HEAD, summary("02:00: timeout"), *run_of(10)[2:]]
    summarize = says("no errors")
    out = trim(messages, 70, summarize, count=tens).messages
    assert out[2] == summary("02:00: timeout\nno errors")
    assert sum(map(is_summary, out)) == 1
    assert not any(map(is_summary, sum(summarize.read, [])))


def test_several_notes_are_folded_in_order():
    messages = [*HEAD, summary("one"), assistant("x"), summary("two"), *run_of(9)[2:]]
    assert trimmed(messages, 70, says("three"))[2] == summary("one\ntwo\nthree")


def test_a_fold_that_saves_nothing_leaves_the_earlier_note_alone():
    messages = [*HEAD, summary("one"), *run_of(10)[2:]]
    out = trim(messages, 150, says("x" * 500), count=lengths).messages
    assert out[2] is messages[2]
    assert sum(map(is_summary, out)) == 1


@pytest.mark.parametrize("at", [2, 5, -1])
def test_a_pinned_summary_stays_as_it_is(at):
    messages = run_of(10)
    messages[at] = pinned(summary("never contact the supplier"))
    assert any(m is messages[at] for m in trimmed(messages, 70, says("note")))


def test_a_summary_that_is_the_newest_message_stays_as_it_is():
    messages = [*run_of(10), summary("told by the user")]
    assert trimmed(messages, 70, says("note"))[-1] is messages[-1]


def test_a_note_stands_before_the_answers_when_the_task_came_late():
    messages = [assistant("Hello."), *HEAD[1:], *run_of(8)[2:]]
    assert trimmed(messages, 50, says("note")) == [HEAD[1], summary("note"), *messages[-3:]]


def test_a_note_stands_first_where_there_is_no_head():
    messages = [assistant(f"{i}") for i in range(9)]
    assert trimmed(messages, 40, says("note")) == [summary("note"), *messages[-3:]]


def test_a_user_comes_first_also_when_a_summary_came_before_the_task():
    earlier = [summary("a whole session"), *run_of(4)[2:]]
    messages = [*earlier, user("And what now?"), assistant("I'll look."), assistant("Done.")]
    assert validate(messages, "anthropic") == []
    out = trimmed([*messages[:2], pinned(messages[2]), *messages[3:]], 50, says("note"))
    assert validate(out, "anthropic") == []


def test_a_summariser_reads_the_messages_in_their_order():
    messages = [*HEAD, asks("a"), asks("b"), found("a"), found("b"), *run_of(3)[2:]]
    summarize = says("note")
    trim(messages, 50, summarize, low=40, count=tens)
    assert same(summarize.read[0], messages[2:7])


# ---- policies -------------------------------------------------------------------------------


def test_append_all_sends_everything_in_a_new_list():
    messages = run_of(3)
    out = append_all()(messages)
    assert same(out, messages)
    assert out is not messages


@pytest.mark.parametrize("groups", [0, -1])
def test_a_window_of_nothing_is_refused(groups):
    with pytest.raises(CourseError, match=f"window of {groups} groups"):
        sliding_window(groups)


@pytest.mark.parametrize(("groups", "left"), [(1, 1), (4, 4), (9, 9), (10, 10), (11, 10)])
def test_a_window_keeps_the_newest_groups(groups, left):
    messages = run_of(10)
    assert same(sliding_window(groups)(messages), [*messages[:2], *messages[12 - left :]])


def test_a_window_on_little_or_nothing():
    assert sliding_window(1)([]) == []
    assert same(sliding_window(1)(HEAD), HEAD)


def test_a_window_keeps_pins_open_calls_and_summaries_beyond_it():
    kept = [pinned(assistant("pin")), asks("open"), summary("note")]
    messages = [*HEAD, *kept, *run_of(5)[2:]]
    assert same(sliding_window(2)(messages), [*HEAD, *kept, *messages[-2:]])


def test_a_window_can_leave_a_note():
    messages = [*HEAD, *(assistant("line " * 20) for _ in range(9))]
    out = sliding_window(2, says("seven lines"))(messages)
    assert out == [*HEAD, summary("seven lines"), *messages[-2:]]


@pytest.mark.parametrize(("every", "ratio"), [(0, 10), (-1, 10), (10, 0.5), (10, 0)])
def test_a_rolling_summary_of_nothing_is_refused(every, ratio):
    with pytest.raises(CourseError, match="at least 1"):
        rolling_summary(every, ratio)


def long_run_of(groups):
    return [*HEAD, *(assistant(f"{i}: {ROWS}") for i in range(groups))]


@pytest.mark.parametrize(("groups", "left"), [(3, 3), (4, 1), (7, 1)])
def test_a_rolling_summary_waits_for_enough_groups_and_leaves_the_newest(groups, left):
    messages = long_run_of(groups)
    out = rolling_summary(3, 10, says("rows"))(messages)
    assert same(out[-left:], messages[-left:])
    assert out[2:-left] == ([] if left == groups else [summary("rows")])


@pytest.mark.parametrize("ratio", [2, 10])
@pytest.mark.parametrize("summarize", [None, says("row " * 5000), says("02:04 batch " * 20)])
def test_a_rolling_summary_is_no_bigger_than_its_ratio_allows(ratio, summarize):
    messages = long_run_of(11)
    out = rolling_summary(10, ratio, summarize)(messages)
    replaced = count_tokens(messages[2:-1]) - count_tokens([])
    assert is_summary(out[2])
    assert count_tokens(text_of(out[2]).removeprefix(SUMMARY_MARK)) * ratio <= replaced


def test_a_rolling_summary_begins_each_message_if_no_summariser_is_named():
    note = text_of(rolling_summary(2, 3)(long_run_of(3))[2])
    assert note.splitlines()[0].startswith(f"{SUMMARY_MARK} 0: row row")
    assert note.splitlines()[1].startswith("1: row")


def test_a_rolling_summary_with_no_room_for_words_is_not_committed():
    out = rolling_summary(2, 50)(long_run_of(3))
    assert not any(map(is_summary, out))


def test_a_rolling_summary_folds_the_one_before_in():
    once = rolling_summary(2, 10, says("one"))(long_run_of(3))
    twice = rolling_summary(2, 10, says("two"))([*once, *long_run_of(4)[2:]])
    assert twice[2] == summary("one\ntwo")


@pytest.mark.parametrize("text", ["", None])
def test_a_rolling_summary_that_fails_leaves_the_messages(text):
    messages = long_run_of(5)
    assert same(rolling_summary(2, 10, says(text))(messages), messages)


@pytest.mark.parametrize(
    "shares", [(0.5, 0.8), (1.1, 0.5), (0.8, 0), (0.8, -0.1), (80, 50), (-0.8, -0.9)]
)
def test_shares_that_are_not_in_order_are_refused(shares):
    with pytest.raises(CourseError, match="0 < low <= high <= 1"):
        high_low(1000, *shares)


def test_high_low_trims_above_80_per_cent_down_to_50():
    policy = high_low(100, count=tens)
    at_high, above = run_of(6), run_of(7)
    assert same(policy(at_high), at_high)
    assert same(policy(above), [*above[:2], *above[-3:]])


def test_high_low_hands_everything_on():
    policy = high_low(300, 1, 1, says("note"), count=tens, tools=TOOLS, reserve=100)
    out = policy(run_of(10))
    assert tens(out, tools=TOOLS) + 100 <= 300
    assert out[2] == summary("note")


@pytest.mark.parametrize("share", [0.29, 0.57, 0.8])
def test_high_water_is_the_share_to_the_token(share):
    messages = run_of(round(share * 100) - 2)
    assert same(high_low(100, share, share, count=len)(messages), messages)


def trims(policy):
    """For each of 40 steps of the incident run, whether the policy trimmed."""
    messages, kept, trimmed = incident(40), incident(0), []
    for i in range(2, len(messages), 2):
        given = [*kept, *messages[i : i + 2]]
        kept = policy(given)
        trimmed.append(len(kept) < len(given))
    return trimmed


def test_trimming_to_the_mark_trims_on_every_step():
    every_step = trims(high_low(6000, 0.8, 0.8, count=size))
    first = every_step.index(True)
    assert first < 10
    assert all(every_step[first:])


def test_low_water_makes_trims_rare():
    rare = sum(trims(high_low(6000, 0.8, 0.5, count=size)))
    assert 1 < rare < sum(trims(high_low(6000, 0.8, 0.8, count=size))) / 3


# ---- masking --------------------------------------------------------------------------------


def looked(n):
    """A head and so many looks at 400 characters."""
    return [*HEAD, *(m for i in range(n) for m in (asks(f"{i}"), found(f"{i}", ROWS)))]


def masks(messages):
    return [i for i, m in enumerate(messages) if "left out" in str(m["content"])]


@pytest.mark.parametrize(("keep", "masked"), [(0, [3, 5]), (1, [3, 5]), (2, [3]), (3, []), (9, [])])
def test_old_results_are_masked_and_the_newest_are_kept(keep, masked):
    messages = looked(3)
    out = mask_results(keep)(messages)
    assert masks(out) == masked
    assert all(out[i] is m for i, m in enumerate(messages) if i not in masked)


def test_three_results_are_kept_unless_you_say_otherwise():
    assert masks(mask_results()(looked(5))) == [3, 5]


def test_a_mask_says_what_was_there_and_how_to_get_it_back():
    out = mask_results(1)(looked(2))
    assert out[3] == {
        "role": "tool",
        "tool_call_id": "0",
        "content": '[result of search_logs {"hour": "0"}, 400 characters, '
        "left out; call again to read it]",
    }


def test_each_of_parallel_results_names_its_own_call():
    messages = [*HEAD, asks("a", "b"), found("b", ROWS), found("a", ROWS), *looked(1)[2:]]
    out = mask_results(0)(messages)
    assert '{"hour": "b"}' in out[3]["content"]
    assert '{"hour": "a"}' in out[4]["content"]


def test_calls_without_an_id_are_named_in_order():
    calls = [{k: v for k, v in c.items() if k != "id"} for c in asks("a", "b")["tool_calls"]]
    messages = [*HEAD, assistant(calls=calls), found(None, ROWS), found(None, ROWS), *looked(1)[2:]]
    out = mask_results(0)(messages)
    assert '{"hour": "a"}' in out[3]["content"]
    assert '{"hour": "b"}' in out[4]["content"]


def test_pins_and_open_calls_keep_their_results():
    messages = looked(4)
    messages[3] = pinned(messages[3])
    messages[4] = asks("1", "open")
    assert masks(mask_results(0)(messages)) == [7]


def test_what_is_shorter_than_a_mask_is_not_masked():
    messages = [*HEAD, asks("a"), found("a"), asks("b"), found("b", None), *looked(1)[2:]]
    assert same(mask_results(0)(messages), messages)


def test_a_masked_result_is_not_masked_again():
    once = mask_results(1)(looked(4))
    assert same(mask_results(1)(once), once)


def test_a_result_without_its_call_is_masked_too():
    assert "[result of a tool, 400 characters" in str(
        mask_results(0)([*HEAD, found("a", ROWS), *looked(1)[2:]])[2]
    )


def test_a_result_of_pictures_is_masked():
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    messages = [*HEAD, asks("a"), found("a", [picture] * 9), *looked(1)[2:]]
    assert count_tokens(mask_results(0)(messages)) < count_tokens(messages)


def test_keeping_fewer_than_none_is_refused():
    with pytest.raises(CourseError, match="-1 results"):
        mask_results(-1)


# ---- the newest result alone is too big -----------------------------------------------------


LOG = "02:04 export-worker INFO batch 4100 rows written\n" * 60


def with_newest(*results, calls=None):
    ids = [f"r{i}" for i in range(len(results))]
    answers = [found(id, content) for id, content in zip(ids, results, strict=True)]
    return [*run_of(4), calls or asks(*ids), *answers]


def test_a_newest_result_that_is_too_big_is_shortened_to_fit():
    messages = with_newest(LOG)
    out = shrink_newest(messages, 300)
    assert same(out[:-1], messages[:-1])
    kept = trim(out, 300).messages
    assert 290 <= count_tokens(kept) <= 300
    assert same(kept, [*messages[:2], *out[-2:]])


def request_with(messages, length):
    """The request that stays if the last result keeps so many characters of the log."""
    cut = f"{LOG[:length]}\n[{len(LOG) - length:,} characters cut here]"
    return [*messages[:2], *messages[-2:-1], {**messages[-1], "content": cut}]


def test_as_much_is_kept_as_fits():
    messages = with_newest(LOG)
    for budget in range(280, 300):
        text = shrink_newest(messages, budget)[-1]["content"]
        length = len(text.rpartition("\n")[0])
        assert count_tokens(request_with(messages, length)) <= budget
        assert count_tokens(request_with(messages, length + 1)) > budget


def test_nothing_but_the_mark_is_left_before_it_is_hopeless():
    messages = with_newest(LOG)
    least = request_with(messages, 0)
    assert shrink_newest(messages, count_tokens(least))[-1] == least[-1]
    with pytest.raises(BudgetTooSmall):
        shrink_newest(messages, count_tokens(least) - 1)


def test_what_the_model_said_is_not_shortened():
    said = {**asks("r0"), "content": LOG}
    with pytest.raises(BudgetTooSmall):
        shrink_newest(with_newest("no errors", calls=said), 300)


def test_a_message_that_is_small_enough_is_not_shortened():
    message = found("r0", LOG)
    assert shorten(message, count_tokens(message)) is message
    assert count_tokens(shorten(message, count_tokens(message) - 1)) < count_tokens(message)


def test_the_cut_is_marked_with_its_size():
    text = shrink_newest(with_newest(LOG), 300)[-1]["content"]
    start, _, mark = text.rpartition("\n")
    assert LOG.startswith(start)
    assert mark == f"[{len(LOG) - len(start):,} characters cut here]"


def test_a_shortened_result_keeps_its_other_keys():
    messages = with_newest(LOG)
    messages[-1] |= {"name": "search_logs", "pinned": True}
    out = shrink_newest(messages, 300)[-1]
    assert {**out, "content": LOG} == messages[-1]


def test_what_fits_is_not_shortened():
    messages = with_newest(LOG)
    stays = [*messages[:2], *messages[-2:]]
    assert same(shrink_newest(messages, count_tokens(stays)), messages)
    assert not same(shrink_newest(messages, count_tokens(stays) - 1), messages)


def test_the_biggest_of_several_results_is_shortened_first():
    messages = with_newest("no errors", LOG, LOG[:500])
    out = shrink_newest(messages, 500)
    assert [a is b for a, b in zip(out, messages, strict=True)].index(False) == len(messages) - 2
    assert same([out[-3], out[-1]], [messages[-3], messages[-1]])


def test_as_many_results_as_needed_are_shortened():
    messages = with_newest(LOG, LOG, "no errors")
    out = shrink_newest(messages, 200)
    assert "cut here" in out[-3]["content"]
    assert "cut here" in out[-2]["content"]
    assert out[-1] is messages[-1]
    assert validate(trim(out, 200).messages) == []


def test_tools_reserve_and_pins_take_their_room():
    messages = with_newest(LOG)
    out = shrink_newest(messages, 400, tools=TOOLS, reserve=100, pinned=[0])
    kept = trim(out, 400, tools=TOOLS, reserve=100, pinned=[0]).messages
    assert count_tokens(kept, tools=TOOLS) + 100 <= 400
    assert kept[2] is messages[2]


def test_emoji_are_not_split():
    text = shrink_newest(with_newest("🎉" * 900), 200)[-1]["content"]
    assert set(text.rpartition("\n")[0]) == {"🎉"}
    text.encode("utf-8")


def test_half_an_emoji_can_be_shortened():
    out = shrink_newest(with_newest("\ud83d" * 900), 200)
    assert count_tokens(trim(out, 200).messages) <= 200


def test_a_result_in_parts_is_shortened_as_text():
    parts = [{"type": "text", "text": LOG}, {"type": "text", "text": LOG}]
    text = shrink_newest(with_newest(parts), 300)[-1]["content"]
    assert text.startswith(LOG[:200])
    assert "cut here]" in text


def test_a_result_of_pictures_can_be_shortened():
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    out = shrink_newest(with_newest([picture] * 9), 300)
    assert count_tokens(trim(out, 300).messages) <= 300


def test_the_newest_result_is_the_last_message_also_when_groups_interleave():
    messages = [*HEAD, asks("a"), asks("b"), found("b"), found("a", LOG)]
    out = shrink_newest(messages, 300)
    assert count_tokens(trim(out, 300).messages) <= 300


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(with_newest("no errors"), id="little to cut"),
        pytest.param([*HEAD, assistant(LOG)], id="not a result"),
        pytest.param([system(LOG), user("Why?")], id="a head that is too big"),
        pytest.param(with_newest("", "ok", None), id="results that are shorter than the mark"),
    ],
)
def test_a_hopeless_case_is_said_with_its_numbers(messages):
    stays = [*turn_groups(messages)[0], *sum(turn_groups(messages)[1][-1:], [])]
    with pytest.raises(BudgetTooSmall) as caught:
        shrink_newest(messages, 20)
    error = caught.value
    assert error.budget == 20 < error.floor == sum(error.parts.values())
    assert error.floor <= count_tokens(stays)


@pytest.mark.parametrize("messages", [[], HEAD, run_of(2)])
def test_a_list_without_a_newest_result_comes_back(messages):
    assert same(shrink_newest(messages, 1000), messages)


# ---- what a mutation of the code once got past ----------------------------------------------


def test_the_smallest_interval_and_ratio_are_allowed_and_ten_to_one_is_the_default():
    assert len(rolling_summary(1, 1)(incident())) == 2 + 1 + 2  # head, note, newest group
    assert rolling_summary(4)(incident()) == rolling_summary(4, 10)(incident())
    assert rolling_summary(4)(incident()) != rolling_summary(4, 9)(incident())


@pytest.mark.parametrize("marks", [{"high": 1.0}, {"low": 1.0}, {"high": 1500, "low": 0.5}])
def test_a_share_is_not_taken_for_a_size(marks):
    with pytest.raises(CourseError, match="high_low"):
        trim(incident(), 2000, **marks)


def test_the_growth_of_a_request_by_a_note_is_what_the_counter_says():
    messages = [*incident()[:2], user(f"{SUMMARY_MARK} nothing until 02:00"), *incident()[2:]]
    parts = take_apart(messages)
    note = user(f"{SUMMARY_MARK} nothing until 02:00\na timeout at 02:00")
    with_note = [*messages[:2], note, *messages[3:]]
    assert parts.growth(note) == count_tokens(with_note) - count_tokens(messages)


def test_a_refused_note_is_noted_in_the_log(caplog):
    caplog.set_level("INFO", logger="course_lib")
    trim(incident(), 1000, lambda dropped: "a long story " * 2000)
    assert "no smaller than what it replaces" in caplog.text
