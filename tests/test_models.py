"""The scripted model: it acts on what stands in the prompt, and on nothing else."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given

from course_lib.messages import (
    CourseError,
    assistant,
    calls_of,
    system,
    text_of,
    tool_call,
    tool_result,
    user,
    validate,
)
from course_lib.models import Rule, ScriptedModel, newest_call, prompt_text, say, use
from tests.strategies import transcripts

INVOICES = ScriptedModel(
    [
        Rule(
            asked=r"invoice (?P<number>\d{4})",
            unless=r"invoice {number} was rejected with code",
            then=use("get_invoice", number="{number}"),
        ),
        Rule(
            needs=r"rejected with code (?P<code>\w+)",
            unless="rule {code} says",
            then=use("get_rule", code="{code}"),
        ),
        Rule(
            asked=r"invoice (?P<number>\d{4})",
            needs=(r"rejected with code (?P<code>\w+)", r"rule {code} says: (?P<rule>[^.]+)"),
            then=say("Invoice {number} was rejected: {rule} ({code})."),
        ),
    ]
)
TASK = [system("You are an accounts agent."), user("Why was invoice 8841 rejected?")]
FOUND = [
    assistant(calls=[tool_call("call_1", "get_invoice", number="8841")]),
    tool_result("call_1", "Invoice 8841 was rejected with code E12."),
]
RULED = [
    assistant(calls=[tool_call("call_2", "get_rule", code="E12")]),
    tool_result("call_2", "Rule E12 says: purchase order number missing."),
]


def called(message):
    """Name and arguments of the calls of a message."""
    return [(call.name, call.arguments) for call in calls_of(message)]


def test_it_asks_for_what_it_does_not_see():
    assert called(INVOICES(TASK)) == [("get_invoice", '{"number": "8841"}')]
    assert called(INVOICES(TASK + FOUND)) == [("get_rule", '{"code": "E12"}')]


def test_it_answers_from_what_it_sees():
    answer = INVOICES(TASK + FOUND + RULED)
    assert answer == assistant("Invoice 8841 was rejected: purchase order number missing (E12).")


def test_without_the_value_it_does_something_else():
    whole = TASK + FOUND + RULED
    assert called(INVOICES(whole)) == []
    without = [m for m in whole if "rejected with code" not in text_of(m)]
    assert called(INVOICES(without)) == [("get_invoice", '{"number": "8841"}')]
    masked = [{**m, "content": "[cleared]"} if m["role"] == "tool" else m for m in whole]
    assert called(INVOICES(masked)) == [("get_invoice", '{"number": "8841"}')]


def test_another_value_in_the_prompt_is_another_call():
    other = copy.deepcopy(FOUND)
    other[1]["content"] = other[1]["content"].replace("E12", "E99")
    assert called(INVOICES(TASK + other)) == [("get_rule", '{"code": "E99"}')]


def test_nothing_is_remembered_between_calls():
    before = INVOICES(TASK)
    INVOICES(TASK + FOUND + RULED)
    assert INVOICES(TASK) == before


def test_when_no_rule_applies_it_says_so():
    assert "isn't in front of me" in text_of(INVOICES([user("What is the weather like?")]))
    assert ScriptedModel([], otherwise="No idea.")([]) == assistant("No idea.")


@given(transcripts())
def test_it_reads_any_prompt_and_leaves_it_as_it_was(messages):
    before = copy.deepcopy(messages)
    reply = INVOICES(messages)
    assert reply["role"] == "assistant"
    assert INVOICES(copy.deepcopy(messages)) == reply
    assert messages == before


def test_asked_is_the_newest_question_only():
    model = ScriptedModel([Rule(asked="refund", then=say("Refunds take five days."))])
    later = [user("How do refunds work?"), assistant("Well."), user("And my order?")]
    assert model(later) == assistant(model.otherwise)
    assert model(later[:1]) == assistant("Refunds take five days.")


def test_a_summary_is_no_question():
    model = ScriptedModel([Rule(asked="order", then=say("Yes."))])
    messages = [user("My order?"), user("[Summary of earlier steps] talked about refunds")]
    assert model(messages) == assistant("Yes.")


def test_the_newest_value_counts():
    model = ScriptedModel([Rule(needs=r"status: (?P<status>\w+)", then=say("{status}"))])
    messages = [tool_result("a", "status: open"), tool_result("b", "status: closed")]
    assert model(messages) == assistant("closed")


def test_the_first_rule_that_applies_wins():
    model = ScriptedModel([Rule(then=say("one")), Rule(then=say("two"))])
    assert model([user("?")]) == assistant("one")


def test_several_calls_at_once():
    model = ScriptedModel([Rule(then=[use("look", at=h) for h in ("01:00", "02:00")])])
    reply = model([user("?")])
    assert [call.id for call in calls_of(reply)] == ["call_1", "call_2"]
    assert [call.arguments for call in calls_of(reply)] == ['{"at": "01:00"}', '{"at": "02:00"}']


def test_ids_go_on_from_the_newest_in_the_prompt():
    assert calls_of(INVOICES(TASK + FOUND))[0].id == "call_2"
    kept = [*TASK, assistant(calls=[tool_call("call_41", "x")]), tool_result("call_41", "")]
    assert calls_of(INVOICES(kept))[0].id == "call_42"
    assert newest_call([assistant(calls=[tool_call("c7", "x")])]) == 0


def test_its_calls_can_be_sent():
    reply = INVOICES(TASK)
    assert validate([*TASK, reply, tool_result("call_1", "ok")]) == []


def test_found_text_is_no_pattern():
    model = ScriptedModel(
        [Rule(asked=r"file (?P<file>\S+)", unless="{file} is gone", then=say("{file}"))]
    )
    messages = [user("Where is file a+b(1).txt"), tool_result("a", "a+b(1).txt is gone")]
    assert model(messages) == assistant(model.otherwise)
    assert model(messages[:1]) == assistant("a+b(1).txt")


def test_a_part_that_is_not_there_is_empty():
    model = ScriptedModel([Rule(needs=r"rejected( with (?P<code>E\d+))?", then=say("[{code}]"))])
    assert model([user("8841 was rejected")]) == assistant("[]")
    assert model([user("8841 was rejected with E12")]) == assistant("[E12]")


def test_a_count_in_a_pattern_is_no_place():
    model = ScriptedModel([Rule(needs=r"\b(?P<year>\d{4})\b", then=say("{year}"))])
    assert model([user("12 or 2026?")]) == assistant("2026")


def test_arguments_that_are_no_text_stay_what_they_are():
    model = ScriptedModel([Rule(then=use("page", name="x", size=20, all=True))])
    assert called(model([])) == [("page", '{"name": "x", "size": 20, "all": true}')]


def test_the_prompt_as_text_has_calls_in_it():
    assert prompt_text([*TASK, *FOUND]).splitlines()[1:] == [
        "user: Why was invoice 8841 rejected?",
        "assistant: ",
        'assistant calls get_invoice {"number": "8841"}',
        "tool: Invoice 8841 was rejected with code E12.",
    ]


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (lambda: Rule(then=say("{code}")), r"uses {code} in '{code}', but no pattern"),
        (lambda: Rule(then=use("get", id="{x}"), needs=r"(?P<y>.)"), r"(?P<x>...)"),
        (lambda: Rule(then=say("ok"), unless="{code}"), "uses {code}"),
        (lambda: Rule(then=say("ok"), needs=("{code}", r"(?P<code>.)")), "no pattern before it"),
        (lambda: Rule(then=say("ok"), asked="(open"), "the pattern '(open' can't be read"),
        (lambda: Rule(then=say("ok"), unless="(open"), "the pattern '(open' can't be read"),
    ],
)
def test_a_rule_that_cannot_work_says_why(rule, says):
    with pytest.raises(CourseError) as raised:
        rule()
    assert says in str(raised.value)
