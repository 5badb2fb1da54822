"""Reuse: which values a call came back for, how far, and what a window would have missed."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import (
    append_all,
    incident,
    long_incident,
    replay,
    reuses,
    rolling_summary,
    sliding_window,
)
from course_lib.messages import HEAD, assistant, system, tool_call, tool_result, turn_groups, user
from course_lib.reuses import Use, reuse
from tests.labelled_reuse import LABELLED
from tests.strategies import transcripts, valid_transcripts

HEAD_OF_RUN = [system("You are an accounts agent."), user("Why was invoice 8841 rejected?")]


def step(number, result, name="look_up", **arguments):
    call = tool_call(f"c{number}", name, **arguments)
    return [assistant("", [call]), tool_result(f"c{number}", result)]


RUN = [
    *HEAD_OF_RUN,
    *step(0, {"code": "E12", "supplier": "S1"}, invoice="8841"),
    *step(1, "nothing"),
    *step(2, "Rule E12: purchase order missing.", rule="E12"),
    *step(3, "400 rows", supplier="S1"),
    *step(4, "again", rule="E12", supplier="S1"),
    assistant("Because of E12."),
]


def test_each_use_says_where_the_value_first_and_last_stood():
    assert list(reuse(RUN).uses) == [
        Use("8841", 1, 0, HEAD, HEAD, 0, 1, False),
        Use("E12", 3, 2, 0, 0, 2, 3, False),
        Use("S1", 4, 3, 0, 0, 3, 3, False),
        Use("E12", 5, 4, 0, 2, 2, 3, False),
        Use("S1", 5, 4, 0, 3, 1, 3, False),
    ]


def test_an_answer_counts_where_asked_for():
    assert reuse(RUN, answers=True).uses[-1] == Use("E12", 6, 5, 0, 4, 1, 3, True)
    assert len(reuse(RUN, answers=True).uses) == 6


def test_what_a_window_misses():
    found = reuse(RUN)
    assert found.groups == len(turn_groups(RUN)[1]) == 6
    assert [found.missed(w) for w in (0, 1, 2, 3)] == [0.8, 0.6, 0.2, 0.0]
    assert found.curve() == pytest.approx([found.missed(w) for w in range(7)])


def test_the_working_set_is_what_later_calls_will_use():
    # E12 and S1 stand in group 0, and the last call that uses them is that of group 4.
    assert reuse(RUN).working_set() == [2, 2, 2, 2, 0, 0]


def test_values_worth_pinning_are_those_that_are_missed_most():
    pins = reuse(RUN).pins(window=1)
    assert [(pin.value, pin.missed, pin.distance, pin.group) for pin in pins] == [
        ("E12", 2, 2, 0),
        ("S1", 1, 3, 0),
    ]
    assert [pin.tokens for pin in pins] == [2, 2]
    assert reuse(RUN).pins(window=1, most=1) == pins[:1]
    assert reuse(RUN).pins(window=3) == []


def test_two_spellings_are_one_value():
    run = [
        *HEAD_OF_RUN,
        *step(0, "The amount is 48,000."),
        *step(1, "?", amount=48000),
        *step(2, "?", amount="48,000"),
    ]
    assert [(use.value, use.distance) for use in reuse(run).uses] == [("48000", 1), ("48,000", 1)]
    assert [pin.missed for pin in reuse(run).pins(0)] == [2]


def test_a_value_that_is_everywhere_is_nothing_to_come_back_for():
    def run(groups):
        steps = [s for i in range(groups) for s in step(i, "next", cursor=f"tok_{i}", run="R100")]
        return [*HEAD_OF_RUN, *steps]

    assert {use.value for use in reuse(run(7)).uses} == {"R100"}
    assert reuse(run(8)).uses == ()


def test_a_choice_that_a_schema_offers_is_no_value():
    run = [*HEAD_OF_RUN, *step(0, "risk LOW, code E12"), *step(1, "x", risk="LOW", code="E12")]
    choice = {"type": "string", "enum": ["LOW", "HIGH", 3]}
    schema = {"name": "look_up", "parameters": {"type": "object", "properties": {"risk": choice}}}
    tools = [{"type": "function", "function": schema}]
    assert [use.value for use in reuse(run).uses] == ["LOW", "E12"]
    assert [use.value for use in reuse(run, tools=tools).uses] == ["E12"]


def test_a_command_that_is_given_again_was_not_read_anywhere():
    again = [*HEAD_OF_RUN, *step(0, "ok", command="ls -F"), *step(1, "ok", command="ls -F")]
    assert reuse(again).uses == ()
    read = [*HEAD_OF_RUN, *step(0, 'run "ls -F" next'), *step(1, "ok", command="ls -F")]
    assert [use.value for use in reuse(read).uses] == ["ls -F"]


def test_a_value_within_one_call_is_no_reuse():
    run = [*HEAD_OF_RUN, *step(0, "E12", a="E12", b="E12"), *step(1, "x", a="E12", b="E12")]
    assert [(use.value, use.call) for use in reuse(run).uses] == [("E12", 2)]


def test_a_result_counts_for_its_own_group_wherever_it_stands():
    run = [
        *HEAD_OF_RUN,
        assistant("", [tool_call("a", "f")]),
        assistant("", [tool_call("b", "f")]),
        tool_result("b", "nothing"),
        tool_result("a", "code E12"),
        *step(3, "x", code="E12"),
    ]
    (use,) = reuse(run).uses
    assert (use.first, use.last, use.distance, use.source) == (0, 0, 2, 5)


# ---- under a policy -------------------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 2, 3])
def test_a_replayed_window_misses_what_the_distances_say(window):
    found = reuse(RUN)
    missed = found.missed_by(replay(RUN, sliding_window(window)))
    assert missed == [use for use in found.uses if use.distance > window]


def test_a_pin_and_a_summary_bring_a_value_back():
    pinned = [*RUN[:3], {**RUN[3], "pinned": True}, *RUN[4:]]
    window_of_one = replay(pinned, sliding_window(1))
    assert reuse(pinned).missed_by(window_of_one) == []
    noted = replay(RUN, rolling_summary(1, 1, lambda dropped: "rejected with E12; supplier S1"))
    assert reuse(RUN).missed_by(noted) == []


@pytest.mark.parametrize(
    ("note", "there"),
    [
        ("", False),
        ("Parcel to BT48 7JL, by Friday", True),
        ("Parcel to bt48 7jl.", True),
        ("Parcel to BT48 7JLA", False),
    ],
)
def test_a_value_is_found_in_a_note_as_it_stands(note, there):
    run = [
        *HEAD_OF_RUN,
        *step(0, 'The postcode is "BT48 7JL".'),
        *step(1, "done"),
        *step(2, "sent", to="BT48 7JL"),
    ]

    def one_line(messages):
        notes = [user(note)] if note else []
        return [*messages[:2], *notes, *messages[2:][-2:]]

    found = reuse(run)
    assert [use.value for use in found.uses if " " in use.value] == ["BT48 7JL"]
    missed = [use.value for use in found.missed_by(replay(run, one_line)) if " " in use.value]
    assert missed == ([] if there else ["BT48 7JL"])


def test_half_of_a_value_is_no_pin():
    first = step(0, 'Postcode "LS6 2AB", that is `2AB`.')
    run = [*HEAD_OF_RUN, *first, *step(1, "done"), *step(2, "sent", to="LS6 2AB", half="2AB")]
    found = reuse(run)
    assert {use.value for use in found.uses} == {"LS6 2AB", "LS6", "2AB"}
    assert [pin.value for pin in found.pins(1)] == ["LS6 2AB"]


def test_a_replay_of_another_run_is_refused():
    with pytest.raises(ValueError, match="1 calls"):
        reuse(RUN).missed_by(replay(RUN[:4], append_all()))


# ---- for any run ----------------------------------------------------------------------------


@given(transcripts(longest=60))
def test_the_curve_falls_and_agrees_with_the_share(messages):
    found = reuse(messages)
    curve = found.curve()
    assert curve == pytest.approx([found.missed(w) for w in range(found.groups + 1)])
    assert all(a >= b for a, b in zip(curve, curve[1:], strict=False))
    assert curve[-1] == pytest.approx(0)


@given(valid_transcripts(longest=60))
def test_nothing_is_missed_by_a_policy_that_keeps_everything(messages):
    assert reuse(messages).missed_by(replay(messages, append_all())) == []


@given(transcripts(longest=60), st.integers(0, 60))
def test_what_comes_later_changes_no_use_before_it(messages, cut):
    uses = reuse(messages[:cut]).uses
    later = reuse(messages).uses
    assert all(
        use in uses for use in later if use.source < cut and _calls(messages[:cut]) >= use.call
    )


def _calls(messages):
    return sum(m["role"] == "assistant" for m in messages)


def test_bare_and_broken_arguments_are_read_as_they_are():
    run = [
        *HEAD_OF_RUN,
        *step(0, "code E12"),
        {"role": "assistant", "content": "", "tool_calls": [{"id": "x", "name": "f", "arguments": None}]},
        tool_result("x", "?"),
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "y", "name": "f", "arguments": '{"code": "E12", '}]},
        tool_result("y", "?"),
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "z", "name": "f", "arguments": {"deep": [{"code": "E12"}, True, None]}}]},
        tool_result("z", "?"),
    ]  # fmt: skip
    assert [(use.value, use.call) for use in reuse(run).uses] == [("E12", 3), ("E12", 4)]


def test_the_samples_come_back_for_nothing_or_for_little():
    assert reuse(incident()).uses == ()
    assert reuse(long_incident()).missed(1) <= 1


# ---- the rule, on calls labelled by hand ----------------------------------------------------


def test_the_rule_has_the_precision_and_recall_that_it_states():
    hits = found = wanted = 0
    for earlier, arguments, values in LABELLED:
        texts = [tool_result("c0", earlier[0])]
        call = assistant("", [{"id": "c1", "name": "f", "arguments": json.dumps(arguments)}])
        run = [*HEAD_OF_RUN[:1], user("Go."), assistant("", [tool_call("c0", "g")]), *texts, call]
        got = {use.value for use in reuse(run).uses}
        hits += len(got & set(values))
        found += len(got)
        wanted += len(values)
    assert len(LABELLED) >= 30
    stated = re.search(
        r"precision of this rule is (\d\.\d\d) and its\s+recall (\d\.\d\d)", reuses.__doc__
    )
    assert [f"{hits / found:.2f}", f"{hits / wanted:.2f}"] == list(stated.groups())
