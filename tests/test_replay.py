"""Replay: a policy run over a transcript call by call, and what the prompt cache makes of it."""

from __future__ import annotations

import copy

import pytest

from course_lib.caching import cached_tokens, common_prefix
from course_lib.messages import (
    SUMMARY_MARK,
    BadMessage,
    BudgetTooSmall,
    CourseError,
    assistant,
    is_summary,
    system,
    tool_call,
    tool_result,
    user,
)
from course_lib.replay import replay
from course_lib.samples import incident, long_incident
from course_lib.summaries import facts_only
from course_lib.tokens import count_tokens
from course_lib.trimming import append_all, high_low, mask_results, sliding_window, trim
from tests.strategies import TOOLS


def hundreds(messages, tools=None):
    """A size that can be added up in the head: 100 a message, 3 for the answer, 50 for tools."""
    return 3 + 100 * len(messages) + (50 if tools else 0)


def played(messages, policy, **options):
    """The rows of a replay in hundreds, with a cache of blocks of 100 from 300 on."""
    options = {"block": 100, "minimum": 300, "count": hundreds} | options
    return replay(messages, policy, **options).rows


def columns(rows):
    return [(row.call, row.read, row.cached, row.kept, row.event) for row in rows]


def turns(n):
    """System, task, and so many calls with their results."""
    steps = [
        (assistant(calls=[tool_call(f"c{i}", "look", at=i)]), tool_result(f"c{i}", f"saw {i}"))
        for i in range(n)
    ]
    return [system("Look."), user("What is there?"), *(m for step in steps for m in step)]


RUN = [*turns(3), assistant("Three things.")]


# ---- a small run by hand --------------------------------------------------------------------


def test_everything_sent_reads_a_growing_list_from_a_growing_cache():
    assert columns(played(RUN, append_all())) == [
        (1, 203, 0, 2, ""),
        (2, 403, 0, 4, ""),  # two messages were the same: 200, below the minimum
        (3, 603, 400, 6, ""),
        (4, 803, 600, 8, ""),
    ]


def test_a_window_reads_less_and_loses_the_cache():
    assert columns(played(RUN, sliding_window(1))) == [
        (1, 203, 0, 2, ""),
        (2, 403, 0, 4, ""),
        (3, 403, 0, 4, "trim"),
        (4, 403, 0, 4, "trim"),
    ]


def test_water_marks_trim_once_and_let_the_cache_grow_again():
    run = [*turns(5), assistant("Five things.")]
    rows = played(run, high_low(800, 0.8, 0.5, count=hundreds))
    assert columns(rows) == [
        (1, 203, 0, 2, ""),
        (2, 403, 0, 4, ""),
        (3, 603, 400, 6, ""),
        (4, 403, 0, 4, "trim"),  # 803 is over 640
        (5, 603, 400, 6, ""),
        (6, 403, 0, 4, "trim"),
    ]


def test_a_summary_is_no_message_of_the_transcript():
    # What goes is bigger than a note of one message: two turns at once.
    policy = high_low(1000, 0.7, 0.6, lambda dropped: "two looks", count=hundreds)
    rows = played(RUN, policy)
    assert columns(rows)[-1] == (4, 503, 0, 4, "summary")
    assert rows[-1].prompt[2] == user(f"{SUMMARY_MARK} two looks")


def test_masked_results_are_an_event_of_their_own():
    log = [tool_result(m["tool_call_id"], "log " * 99) if m["role"] == "tool" else m for m in RUN]
    rows = played(log, mask_results(1))
    assert [row.event for row in rows] == ["", "", "mask", "mask"]
    assert [row.kept for row in rows] == [2, 4, 6, 8]


def test_tools_are_read_on_each_call_and_cached_in_front():
    rows = played(RUN, append_all(), tools=TOOLS)
    assert [row.read for row in rows] == [253, 453, 653, 853]
    assert [row.cached for row in rows] == [0, 0, 400, 600]
    rows = played(RUN, append_all(), tools=TOOLS, block=10)
    assert [row.cached for row in rows] == [0, 0, 450, 650]


def test_the_prefix_is_counted_to_the_token():
    rows = played(RUN, append_all(), block=1, minimum=0)
    assert [row.cached for row in rows] == [0, 200, 400, 600]
    rows = played(RUN, append_all(), block=1, minimum=0, tools=TOOLS)
    assert [row.cached for row in rows] == [0, 250, 450, 650]


def test_a_run_adds_up_its_rows():
    run = replay(RUN, sliding_window(1), block=100, minimum=300, count=hundreds)
    assert run.read == 203 + 403 + 403 + 403
    assert run.cached == 0
    assert run.trims == 2


def test_tokens_and_openais_cache_unless_others_are_named():
    rows = replay(long_incident(), append_all()).rows
    assert all(row.read == count_tokens(row.prompt) for row in rows)
    assert {row.cached % 128 for row in rows} == {0}
    assert all(row.cached == 0 for row in rows if row.read < 1024)
    assert rows[-1].cached > rows[-1].read - 128 - 300


# ---- which calls there are ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "sent"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param(RUN[:2], [], id="no call yet"),
        pytest.param(RUN[:3], [2], id="a call that waits"),
        pytest.param([*RUN, user("Sure?")], [2, 4, 6, 8], id="a user has the last word"),
        pytest.param(RUN[:-1], [2, 4, 6], id="a result has the last word"),
        pytest.param([*RUN, assistant("And more.")], [2, 4, 6, 8, 9], id="two answers in a row"),
    ],
)
def test_each_assistant_message_was_a_call(messages, sent):
    rows = played(messages, append_all())
    assert [len(row.prompt) for row in rows] == sent
    assert [row.call for row in rows] == list(range(1, len(sent) + 1))


def test_a_run_without_calls_reads_nothing():
    run = replay([], append_all())
    assert (run.read, run.cached, run.trims, run.rows) == (0, 0, 0, ())


def test_a_policy_gets_what_it_returned_last_and_what_is_new():
    given = []

    def last_two(messages):
        given.append(list(messages))
        return messages[-2:]

    replay(RUN, last_two)
    assert given == [RUN[:2], RUN[:4], RUN[2:6], RUN[4:8]]


def test_too_small_a_budget_comes_through():
    with pytest.raises(BudgetTooSmall):
        replay(RUN, high_low(10))


@pytest.mark.parametrize("broken", ["hello", {"content": "hi"}, None])
def test_what_is_not_a_message_is_named_by_its_place(broken):
    with pytest.raises(BadMessage) as caught:
        replay([*RUN[:4], broken, *RUN[4:]], append_all())
    assert caught.value.index == 4


# ---- policies that misbehave ----------------------------------------------------------------


def test_a_policy_that_cuts_the_list_it_was_given_has_trimmed():
    def cut_in_place(messages):
        del messages[2:-2]
        return messages

    assert columns(played(RUN, cut_in_place)) == columns(played(RUN, sliding_window(1)))


def test_a_row_keeps_what_was_sent_when_a_policy_reuses_its_list():
    memory = []

    def remembering(messages):
        memory[:] = messages
        return memory

    assert [len(row.prompt) for row in played(RUN, remembering)] == [2, 4, 6, 8]


def test_a_policy_may_return_a_tuple():
    assert columns(played(RUN, tuple)) == columns(played(RUN, append_all()))


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        pytest.param(lambda messages: None, "NoneType", id="no return"),
        pytest.param(lambda messages: "hello", "str", id="text"),
        pytest.param(lambda messages: trim(messages, 1000), "messages", id="all of a trim"),
    ],
)
def test_a_policy_that_returns_no_list_is_said_in_words(policy, words):
    with pytest.raises(CourseError, match=f"a policy returns a list of messages.*{words}"):
        replay(RUN, policy)


def test_the_transcript_is_not_changed():
    messages = long_incident()
    before = copy.deepcopy(messages)
    replay(messages, high_low(2000, summarize=facts_only))
    assert messages == before


# ---- the cache ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "block", "minimum", "cached"),
    [
        (0, 128, 1024, 0),
        (1023, 128, 1024, 0),
        (1024, 128, 1024, 1024),
        (1151, 128, 1024, 1024),
        (1152, 128, 1024, 1152),
        (1152, 1, 1152, 1152),
        (99, 100, 0, 0),
    ],
)
def test_a_cache_serves_whole_blocks_from_a_minimum_on(prefix, block, minimum, cached):
    assert cached_tokens(prefix, block, minimum) == cached


def test_the_usual_cache_is_openais():
    assert [cached_tokens(n) for n in (1023, 1024, 1279)] == [0, 1024, 1152]


A, B, C = user("a"), user("b"), user("c")


@pytest.mark.parametrize(
    ("before", "now", "shared"),
    [
        pytest.param([], [], 0, id="nothing"),
        pytest.param([], [A], 0, id="the first call"),
        pytest.param([A, B], [A, B, C], 2, id="appended"),
        pytest.param([A, B, C], [A, B], 2, id="cut at the end"),
        pytest.param([A, B, C], [A, C], 1, id="cut in the middle"),
        pytest.param([A, B], [B], 0, id="cut at the start"),
        pytest.param([A, B], [copy.copy(A), B], 2, id="equal messages"),
        pytest.param((A, B), [A, B, C], 2, id="a tuple and a list"),
        pytest.param([A, B], [{**A, "pinned": True}, B], 2, id="a pin that came later"),
    ],
)
def test_a_prefix_is_what_both_requests_start_with(before, now, shared):
    assert common_prefix(before, now) == shared


def test_trimming_on_every_step_defeats_the_cache():
    def share(run):
        return run.cached / run.read

    every_step = replay(incident(40), high_low(3000, 0.8, 0.8))
    water_marks = replay(incident(40), high_low(3000, 0.8, 0.4))
    everything = replay(incident(40), append_all())
    assert every_step.trims > 3 * water_marks.trims
    assert share(every_step) < share(water_marks) < share(everything)


def test_each_message_is_counted_once():
    counted = []

    def count(messages, tools=None):
        counted.extend(messages)
        return hundreds(messages, tools)

    replay(RUN, append_all(), count=count)
    assert [id(m) for m in counted] == [id(m) for m in RUN[:-1]]


# ---- summaries in a run ---------------------------------------------------------------------


def test_a_finding_outlives_all_trims_of_a_long_run():
    rows = replay(incident(60), high_low(1500, summarize=facts_only)).rows
    assert sum(row.event == "summary" for row in rows) > 3
    assert all("timeout on db step" in str(row.prompt) for row in rows[3:])
    assert all(sum(map(is_summary, row.prompt)) <= 1 for row in rows)


def test_a_finding_is_gone_without_a_summary():
    rows = replay(incident(60), high_low(1500)).rows
    assert "timeout" not in str(rows[-1].prompt)


def test_a_summary_that_stays_is_written_once():
    rows = replay(incident(20), high_low(1500, summarize=facts_only)).rows
    for before, now in zip(rows, rows[1:], strict=False):
        if now.event == "":
            assert [m for m in now.prompt if is_summary(m)] == [
                m for m in before.prompt if is_summary(m)
            ]


def test_the_same_run_replays_the_same():
    policy = high_low(1500, summarize=facts_only)
    assert replay(incident(30), policy) == replay(incident(30), policy)
