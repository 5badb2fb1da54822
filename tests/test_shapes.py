"""The shape of a run, on one that can be added up in the head."""

from __future__ import annotations

import pytest
from hypothesis import given

from course_lib import CourseError, append_all, incident, invoice_run, replay
from course_lib.messages import assistant, system, tool_call, tool_result, user
from course_lib.shapes import shape_of, unmanaged_reads
from course_lib.tokens import count_tokens
from tests.strategies import TOOLS, valid_transcripts

HEAD = [system("You are an accounts agent."), user("Why was it rejected?")]


def step(number, result, **arguments):
    return [
        assistant("", [tool_call(f"c{number}", "look_up", **arguments)]),
        tool_result(f"c{number}", result),
    ]


RUN = [
    *HEAD,
    *step(0, "code E12 " + "and more text " * 50),
    *step(1, "nothing here " * 20),
    *step(2, "purchase order missing", rule="E12"),
    *step(2, "purchase order missing", rule="E12"),
    assistant("A purchase order is missing."),
]


def test_the_reads_are_those_of_a_replay():
    shape = shape_of(RUN, TOOLS)
    assert list(shape.reads) == [row.read for row in replay(RUN, append_all(), tools=TOOLS).rows]
    assert shape.fixed == count_tokens(HEAD, tools=TOOLS)
    assert (shape.calls, shape.total) == (5, sum(shape.reads))


@given(valid_transcripts(longest=60))
def test_the_reads_of_any_run_are_those_of_a_replay(messages):
    rows = replay(messages, append_all(), tools=TOOLS).rows
    assert list(unmanaged_reads(messages, TOOLS)) == [row.read for row in rows]


def test_results_come_by_size_and_say_whether_they_were_used():
    results = shape_of(RUN).results
    assert [result.index for result in results] == [3, 5, 7, 9]
    assert [result.used for result in results] == [True, False, False, False]
    assert {result.tool for result in results} == {"look_up"}
    assert results[0].tokens == count_tokens(RUN[3])


def test_dead_weight_is_what_nothing_came_back_for():
    shape = shape_of(RUN)
    assert shape.dead_weight == sum(count_tokens(RUN[i]) for i in (5, 7, 9))
    assert shape.result_tokens == shape.dead_weight + count_tokens(RUN[3])


def test_a_value_that_only_an_answer_uses_is_used():
    run = [*HEAD, *step(0, "code E12"), assistant("It was E12.")]
    assert shape_of(run).dead_weight == 0


def test_calls_made_again_are_counted():
    assert [(repeat.earlier, repeat.again) for repeat in shape_of(RUN).repeats] == [
        (2, 4),
        (6, 8),
    ]


def test_a_window_overflows_within_the_run_or_beyond_it_or_never():
    shape = shape_of(invoice_run().messages, invoice_run().tools)
    assert shape.overflow(8_000) == next(n for n, read in enumerate(shape.reads, 1) if read > 8_000)
    beyond = shape.overflow(100_000)
    grown = [shape.reads[-1] + shape.per_step * (n - shape.calls) for n in (beyond - 1, beyond)]
    assert grown[0] <= 100_000 < grown[1]
    assert shape_of(HEAD + [assistant("No.")]).overflow(8_000) is None


def test_a_run_without_a_call_has_no_shape():
    with pytest.raises(CourseError, match="no assistant message"):
        shape_of(HEAD)


def test_a_step_is_the_one_in_the_middle():
    shape = shape_of(incident())
    assert shape.per_step == shape.reads[6] - shape.reads[5]
    assert shape_of(incident(1)[:3]).per_step == 0
