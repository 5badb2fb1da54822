"""The plain summarisers: what they read, what they say, and what they leave alone."""

from __future__ import annotations

import copy

import pytest

from course_lib.messages import assistant, system, tool_call, user
from course_lib.samples import incident, long_incident
from course_lib.summaries import call_log, facts_only, findings_in, is_hit
from tests.strategies import result


def found(**fields):
    """A result that is a JSON object."""
    pairs = ", ".join(f'"{name}": "{value}"' for name, value in fields.items())
    return result("c", f"{{{pairs}}}")


NO_ERRORS = found(hour="01:00", finding="no errors")
TIMEOUT = found(hour="02:00", finding="timeout on db step")


@pytest.mark.parametrize(
    ("dropped", "note"),
    [
        pytest.param([], "searched 0 hours; findings: none", id="nothing"),
        pytest.param([NO_ERRORS], "searched 1 hours; findings: none", id="no finding"),
        pytest.param(
            [NO_ERRORS, TIMEOUT],
            "searched 2 hours; findings: 02:00: timeout on db step",
            id="one finding",
        ),
        pytest.param(
            [TIMEOUT, found(hour="03:00", finding="disk full")],
            "searched 2 hours; findings: 02:00: timeout on db step; 03:00: disk full",
            id="two findings",
        ),
        pytest.param(
            [found(source="locks", finding="vacuum"), NO_ERRORS],
            "searched 1 hours; findings: locks: vacuum",
            id="a source that isn't an hour",
        ),
    ],
)
def test_facts_only_says_what_was_searched_and_found(dropped, note):
    assert facts_only(dropped) == note


def test_facts_only_on_the_documents_nine_groups():
    assert facts_only(incident()[2:20]) == "searched 9 hours; findings: 02:00: timeout on db step"


def test_a_finding_without_an_hour_or_a_source_stands_alone():
    assert facts_only([found(finding="disk full")]) == "searched 0 hours; findings: disk full"


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(user('{"finding": "typed by a user"}'), id="a user's"),
        pytest.param(assistant("I found a timeout."), id="an answer"),
        pytest.param(result("c", "plain text"), id="text"),
        pytest.param(result("c", ""), id="empty"),
        pytest.param(result("c", None), id="null"),
        pytest.param(result("c", "[1, 2]"), id="a list"),
        pytest.param(result("c", '"finding"'), id="a string"),
        pytest.param(result("c", '{"rows": 3}'), id="no finding in it"),
        pytest.param(result("c", '{"finding": "cut in the mid'), id="cut off"),
        pytest.param(result("c", "[" * 100_000), id="brackets without end"),
    ],
)
def test_what_is_no_finding_is_passed_over(message):
    assert findings_in([message, TIMEOUT]) == findings_in([TIMEOUT])


def test_a_result_in_parts_is_read():
    parts = [{"type": "text", "text": TIMEOUT["content"]}]
    assert findings_in([result("c", parts)]) == findings_in([TIMEOUT])


def test_a_hit_is_anything_but_no_errors():
    assert is_hit({"finding": "timeout on db step"})
    assert not is_hit({"finding": "no errors"})


@pytest.mark.parametrize(
    ("dropped", "note"),
    [
        pytest.param([], "0 messages; no calls", id="nothing"),
        pytest.param([user("a"), user("b")], "2 messages; 2 user messages", id="users"),
        pytest.param([assistant("a"), system("b")], "2 messages; no calls", id="others"),
        pytest.param(
            [
                assistant(calls=[tool_call("1", "add"), tool_call("2", "read")]),
                assistant(calls=[{"id": "3", "function": {"name": "add", "arguments": "{}"}}]),
                user("more"),
            ],
            "3 messages; add x2, read x1, 1 user messages",
            id="calls of both shapes",
        ),
    ],
)
def test_call_log_counts_the_calls(dropped, note):
    assert call_log(dropped) == note


@pytest.mark.parametrize("summarize", [facts_only, call_log])
def test_a_summariser_changes_nothing(summarize):
    messages = long_incident()
    before = copy.deepcopy(messages)
    assert summarize(messages) == summarize(messages)
    assert messages == before
