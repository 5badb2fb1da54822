"""What lesson 5 summarises: sizes and facts of its runs, its notes, the desk and its model."""

from __future__ import annotations

import json

import pytest

from course_lib import audit, count_tokens, invoice_run, validate
from course_lib.conversation import inner_loop
from course_lib.endpoints import model_from_environment
from course_lib.messages import SUMMARY_MARK, Call, calls_of, system, text_of, user
from course_lib.models import prompt_text
from course_lib.samples.handoffs import (
    CARELESS_NOTE,
    DESK_ROLE,
    GEMMA_NOTE,
    GEMMA_SOURCE,
    PUMP_NOTE,
    STRUCTURED_NOTE,
    complaint_run,
    findings_alone,
    invoice_agent,
    invoice_desk,
    invoice_steps,
    pump_run,
    receipts_run,
)
from course_lib.summaries import parse_note, structured
from course_lib.values import exact_values

RUNS = (invoice_steps, complaint_run, receipts_run, pump_run)
RULE = "do not contact the supplier"


def wake(note, rule=""):
    """What an agent does with a note: its result, and what it sent."""
    desk = invoice_desk()
    prompt = [system(DESK_ROLE + rule), user(f"{SUMMARY_MARK} {note}"), user("Go on.")]
    return inner_loop(prompt, invoice_agent(), desk.tools), desk.outbox


def calls_in(result):
    return [call.name for m in result.messages for call in calls_of(m)]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
@pytest.mark.parametrize("provider", ["openai", "anthropic", "responses", "gemini"])
def test_every_provider_takes_the_runs(run, provider):
    assert validate(run(), provider) == []
    assert run() == run()


def test_the_steps_hold_what_was_found_and_no_table():
    steps, whole = invoice_steps(15), invoice_run(15).messages
    assert len(steps) == len(whole)
    assert steps[3]["content"] == json.loads(whole[3]["content"])["finding"]
    assert count_tokens(steps[2:]) < count_tokens(whole[2:]) / 10
    assert exact_values("\n".join(map(text_of, steps[1:]))) == (
        ["S1", "8841", "E12", "48,000", "2026-03-04", "06:12", "8842"]
    )


@pytest.mark.parametrize("text", ["plain", "[1, 2]", '{"amount": 3}', "[" * 5000])
def test_a_result_without_a_finding_stays_as_it_is(text):
    messages = [{"role": "tool", "tool_call_id": "c", "content": text}]
    assert findings_alone(messages) == messages


def test_a_story_has_few_exact_values_and_a_list_of_figures_many():
    story, figures = (
        (len(audit([m for m in run() if m["role"] == "tool"], "").lost), count_tokens(run()))
        for run in (complaint_run, receipts_run)
    )
    assert story[0] == 3 and story[1] > 800
    assert figures[0] > 120
    assert figures[0] / figures[1] > 10 * story[0] / story[1]


def test_receipts_differ():
    results = [text_of(m) for m in receipts_run() if m["role"] == "tool"]
    assert len(results) == 36
    assert len({line.split(":")[0] for line in results}) == 36
    assert len({line.rpartition("weighed")[2] for line in results}) == 36


# ---- the notes ------------------------------------------------------------------------------


def test_the_careless_note_has_nothing_to_act_on():
    assert exact_values(CARELESS_NOTE) == []


def test_the_structured_note_loses_only_a_time_of_day():
    said = "\n".join(map(text_of, invoice_steps(15)[1:]))
    assert audit(said, STRUCTURED_NOTE).lost == ["06:12"]
    assert audit(said, STRUCTURED_NOTE).invented == []
    note = parse_note(STRUCTURED_NOTE)
    assert all(vars(note)[name] for name in vars(note) if name != "left_out")
    assert RULE in note.constraints[0]


def test_the_structured_note_holds_the_request_word_for_word():
    task = text_of(invoice_steps()[1])
    goal = STRUCTURED_NOTE.splitlines()[0].removeprefix("Goal: ")
    assert goal.replace("Constraint: ", "") == task


def test_the_pump_note_is_a_note_of_the_pump_run():
    messages = pump_run()
    report = audit(messages[1:], PUMP_NOTE)
    assert report.invented == []
    found = exact_values("\n".join(text_of(m) for m in messages if m["role"] == "tool"))
    assert not set(found) & set(report.lost)
    assert "Do not switch anything off" in text_of(messages[1])
    assert "P-18" in parse_note(PUMP_NOTE).next_step


def test_what_the_small_model_invented():
    assert tuple(audit(GEMMA_SOURCE, GEMMA_NOTE)) == (
        ["8841", "E12"],
        ["48,000", "S1"],
        ["DPX", "2024-03-02", "10 percent", "5 days"],
    )


# ---- the desk -------------------------------------------------------------------------------


def test_with_the_careless_note_the_agent_can_do_nothing():
    result, outbox = wake(CARELESS_NOTE)
    assert calls_in(result) == [] and outbox == []
    assert "can't go on" in result.answer


@pytest.mark.parametrize("note", [STRUCTURED_NOTE, structured(invoice_steps(15)[1:])])
def test_with_a_structured_note_it_drafts_and_sends_nothing(note):
    result, outbox = wake(note)
    assert calls_in(result) == ["get_invoice"] and outbox == []
    assert result.answer.startswith("Draft to sign")
    for value in ("8841", "48,000", "E12", "Purchase order number missing or invalid.", "8842"):
        assert value in result.answer
    assert "Please add the purchase order number" in result.answer


def test_what_has_to_be_changed_stands_in_the_note_or_the_letter_is_not_written():
    result, outbox = wake(STRUCTURED_NOTE.replace(", no purchase order field", ""))
    assert "can't go on" in result.answer and outbox == []


def test_of_a_note_with_two_swapped_numbers_it_writes_a_wrong_letter():
    note = STRUCTURED_NOTE.replace("8841", "#").replace("8842", "8841").replace("#", "8842")
    result, _ = wake(note)
    assert result.answer.startswith("Draft to sign: Invoice 8842 (48,000) was rejected")


def test_without_the_rule_it_sends_and_a_pinned_rule_stops_it():
    forgetful = STRUCTURED_NOTE.replace(RULE, "")
    result, outbox = wake(forgetful)
    assert calls_in(result) == ["get_invoice", "send_message"]
    assert [(m["to"], "8841" in m["text"]) for m in outbox] == [("S1", True)]
    assert wake(forgetful, rule=f" {RULE}")[1] == []


def test_it_repeats_what_a_wrong_note_says():
    assert "E21" in wake(STRUCTURED_NOTE.replace("E12", "E21"))[0].answer


def test_a_rule_that_is_not_in_the_note_is_read():
    short = "\n".join(line for line in STRUCTURED_NOTE.splitlines() if "Rule E12:" not in line)
    result, outbox = wake(short)
    assert calls_in(result) == ["get_invoice", "get_rule"] and outbox == []
    assert "Purchase order number missing or invalid." in result.answer


def test_the_tools_look_up_and_a_desk_has_an_outbox_of_its_own():
    first, second = invoice_desk(), invoice_desk()
    assert first.tools["get_rule"].function("E12")["text"].startswith("Purchase order")
    assert first.tools["get_rule"].function("E21") == "there is no rule E21"
    assert first.tools["get_invoice"].function("8842")["amount"] == "12,650"
    first.tools["send_message"].function("S1", "Hello")
    assert first.outbox == [{"to": "S1", "text": "Hello"}] and second.outbox == []


def test_without_a_model_in_the_environment_the_scripted_one_is_used():
    scripted = invoice_agent()
    assert model_from_environment(otherwise=scripted, environment={}) is scripted


def test_a_prompt_shows_the_calls():
    shown = prompt_text(pump_run())
    assert 'assistant calls get_filter {"pump": "P-17"}' in shown
    assert calls_of(pump_run()[2]) == [Call("call_01", "list_alarms", '{"pump": "P-17"}')]
