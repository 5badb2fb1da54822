"""Conversations: what is promoted, the inner loop and its tools, sub-agents, repeated calls."""

from __future__ import annotations

import copy
import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from course_lib.conversation import (
    ContextWindowExceeded,
    Conversation,
    Repeat,
    SubAgent,
    arguments_of,
    as_tool,
    everything,
    finalize_turn,
    find_repeats,
    inner_loop,
    question_index,
    registry,
    run_tool,
    same_json,
    tool,
)
from course_lib.messages import (
    BadMessage,
    Call,
    CourseError,
    assistant,
    is_summary,
    system,
    text_of,
    tool_call,
    tool_result,
    user,
    validate,
)
from course_lib.models import Rule, ScriptedModel, say, use
from course_lib.tokens import count_tokens
from course_lib.trimming import sliding_window
from tests.strategies import transcripts, valid_transcripts

LOGS = {"01:00": "no errors", "02:00": "timeout on db step", "03:00": "no errors"}


def read_log(hour):
    """The finding of one hour."""
    return f"{hour} finding: {LOGS[hour]}; " + "rows written. " * 40


TOOLS = registry(tool(read_log, "Read the log of one hour.", hour="The hour, such as 02:00."))
READER = ScriptedModel(
    [
        *(
            Rule(unless=f"{hour} finding", then=use("read_log", hour=hour), asked="export")
            for hour in LOGS
        ),
        Rule(
            asked="export",
            needs=r"(?P<hour>\d\d:00) finding: (?P<what>timeout[^;]*)",
            then=say("At {hour}: {what}."),
        ),
        Rule(asked="again", needs=r"At (?P<hour>\d\d:00)", then=say("It was {hour}.")),
    ]
)
TASK = [system("You read logs."), user("Why did the export fail?")]


def turn(question, n=0, answer="Done."):
    """A question, a call with its result, and an answer."""
    return [
        user(question),
        assistant(calls=[tool_call(f"c{n}", "read_log", hour="01:00")]),
        tool_result(f"c{n}", "no errors"),
        assistant(answer),
    ]


# ---- finalize_turn --------------------------------------------------------------------------


def test_the_scratch_goes_and_the_answer_stays():
    messages = [system("Hello."), *turn("Why?")]
    done = finalize_turn(messages, "Why?", "A timeout.")
    assert done == [system("Hello."), user("Why?"), assistant("A timeout.")]


def test_asked_twice_nothing_between_is_lost():
    messages = [*turn("Why?", 1), *turn("And then?", 2), user("Why?"), *turn("x", 3)[1:3]]
    done = finalize_turn(messages, "Why?", "As I said.")
    assert done == [*turn("Why?", 1), *turn("And then?", 2), user("Why?"), assistant("As I said.")]


def test_the_index_says_which_question():
    messages = [*turn("Why?", 1), *turn("Why?", 2)]
    assert finalize_turn(messages, 0, "So.") == [user("Why?"), assistant("So.")]
    assert len(finalize_turn(messages, 4, "So.")) == 6


def test_none_is_the_newest_question_and_no_summary():
    messages = [*turn("Why?", 1)[:-1], user("[Summary of earlier steps] nothing yet")]
    assert question_index(messages, None) == 0
    assert finalize_turn(messages, None, "So.") == [user("Why?"), assistant("So.")]


def test_an_answer_at_once():
    messages = [*turn("Why?"), user("Why?")]
    assert finalize_turn(messages, "Why?", "So.") == [*messages, assistant("So.")]


def test_a_pinned_result_is_promoted_with_its_call():
    messages = turn("Why?")
    messages[2]["pinned"] = True
    done = finalize_turn(messages, "Why?", "So.")
    assert done == [*messages[:3], assistant("So.")]
    assert validate(done) == []


def test_a_rule_of_your_own_chooses_groups():
    messages = [*turn("Why?", 1)[:3], *turn("", 2)[1:3], assistant("Done.")]
    done = finalize_turn(messages, 0, "So.", promote=lambda g: "c2" in json.dumps(g))
    assert done == [messages[0], *messages[3:5], assistant("So.")]


def test_everything_is_what_the_naive_loop_keeps():
    messages = turn("Why?")
    assert finalize_turn(messages, 0, "Done.", everything) == messages


def test_a_late_result_of_an_earlier_turn_stays():
    messages = [
        *turn("Why?")[:2],
        user("Are you there?"),
        tool_result("c0", "no errors"),
        assistant("Yes."),
    ]
    done = finalize_turn(messages, None, "Yes.")
    assert done == messages


@pytest.mark.parametrize(
    ("question", "error", "says"),
    [
        ("Where?", CourseError, "no user message says 'Where?' in the list of 4"),
        (1, BadMessage, "index 1: the question must be a `user` message"),
        (4, BadMessage, "index 4: there are only 4 messages"),
        (-1, BadMessage, "index -1: there are only 4 messages"),
    ],
)
def test_a_question_that_is_not_there(question, error, says):
    with pytest.raises(error, match=re.escape(says)):
        finalize_turn(turn("Why?"), question, "So.")


def test_no_question_at_all():
    with pytest.raises(CourseError, match="there is no user message in the list of 1"):
        finalize_turn([system("Hello.")], None, "So.")


@given(valid_transcripts(), st.integers(0, 400))
def test_a_finalised_turn_can_be_sent(messages, at):
    questions = [i for i, m in enumerate(messages) if m["role"] == "user" and not is_summary(m)]
    assume(questions)
    question = questions[at % len(questions)]
    before = copy.deepcopy(messages)
    done = finalize_turn(messages, question, "So.")
    assert messages == before
    assert validate(done) == []
    assert all(one is other for one, other in zip(done, messages[: question + 1], strict=False))
    assert done[-1] == assistant("So.")
    pins = [m for m in messages[question:-1] if m.get("pinned")]
    assert all(any(m is kept for kept in done) for m in pins)


# ---- tools ----------------------------------------------------------------------------------


def ask(name, arguments):
    return run_tool(Call("c0", name, arguments), TOOLS)


def test_a_tool_is_called_with_its_arguments():
    assert ask("read_log", '{"hour": "02:00"}').startswith("02:00 finding: timeout")
    assert ask("read_log", {"hour": "02:00"}).startswith("02:00 finding: timeout")


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("read_logs", "{}", "There is no tool 'read_logs'. The tools are: read_log."),
        ("read_log", '{"hour": ', "read_log was not called: its arguments aren't JSON"),
        ("read_log", '["02:00"]', 'must be a JSON object, not ["02:00"]'),
        ("read_log", "null", "must be a JSON object, not null"),
        ("read_log", "", "read_log was not called: missing a required argument: 'hour'"),
        ("read_log", '{"day": "Monday"}', "read_log was not called: missing a required"),
        ("read_log", '{"hour": "02:00", "x": 1}', "got an unexpected keyword argument 'x'"),
        ("read_log", '{"hour": "25:00"}', "read_log failed: KeyError: '25:00'"),
    ],
)
def test_what_goes_wrong_is_told_in_words(name, arguments, says):
    assert says in ask(name, arguments)


def test_without_tools_the_words_say_so():
    assert run_tool(Call("c0", "x", "{}"), {}).endswith("The tools are: none.")


def test_a_type_error_inside_a_tool_is_a_failure_of_the_tool():
    tools = registry(tool(lambda: len(5), "Fails.", "broken"))
    assert run_tool(Call("c0", "broken", "{}"), tools).startswith("broken failed: TypeError")


def test_no_arguments_at_all():
    assert arguments_of(Call("c0", "now", "")) == {}


def test_the_schema_says_what_the_arguments_mean():
    function = TOOLS["read_log"].schema["function"]
    assert function["description"] == "Read the log of one hour."
    assert function["parameters"]["properties"]["hour"]["description"].startswith("The hour")
    assert function["parameters"]["required"] == ["hour"]
    assert count_tokens([], tools=[TOOLS["read_log"].schema]) > count_tokens([])


def test_a_tool_may_have_an_argument_called_name():
    one = tool(lambda name: name.upper(), "Shout.", "shout", name="What to shout.")
    assert run_tool(Call("c0", "shout", '{"name": "eric"}'), registry(one)) == "ERIC"


# ---- the inner loop -------------------------------------------------------------------------


def test_it_calls_tools_until_it_answers():
    result = inner_loop(TASK, READER, TOOLS)
    assert result.answer == "At 02:00: timeout on db step."
    assert result.finished
    assert result.calls == 4
    assert len(result.messages) == 2 + 3 * 2 + 1
    assert validate(result.messages) == []
    assert (
        result.messages[:2] == TASK == [system("You read logs."), user("Why did the export fail?")]
    )


def test_it_counts_what_it_sent():
    result = inner_loop(TASK, READER, TOOLS)
    schemas = [each.schema for each in TOOLS.values()]
    assert result.reads == [count_tokens(prompt, tools=schemas) for prompt in result.prompts]
    assert result.read == result.total_read == sum(result.reads)
    assert result.prompts[-1] == result.messages[:-1]


def test_an_endless_run_is_stopped_with_a_sentence():
    endless = ScriptedModel([Rule(then=use("read_log", hour="01:00"))])
    result = inner_loop(TASK, endless, TOOLS, max_steps=5)
    assert result.answer == "I stopped after 5 steps without an answer."
    assert not result.finished
    assert result.calls == 5
    assert validate(result.messages) == []


def test_at_least_one_step():
    with pytest.raises(CourseError, match="`max_steps` is 0"):
        inner_loop(TASK, READER, TOOLS, 0)


def test_it_stops_before_a_request_that_does_not_fit():
    sizes = inner_loop(TASK, READER, TOOLS).reads
    called = []

    def model(messages, tools):
        called.append(messages)
        return READER(messages, tools)

    with pytest.raises(ContextWindowExceeded) as raised:
        inner_loop(TASK, model, TOOLS, window=sizes[2] - 1)
    assert (raised.value.window, raised.value.size) == (sizes[2] - 1, sizes[2])
    assert f"{sizes[2]:,} tokens" in str(raised.value)
    assert len(called) == 2
    assert inner_loop(TASK, READER, TOOLS, window=sizes[3]).finished


def test_a_mistake_with_a_tool_is_read_and_mended():
    clumsy = ScriptedModel(
        [
            Rule(unless="There is no tool", then=use("read_logs", hour="02:00")),
            Rule(unless="finding", then=use("read_log", hour="02:00")),
            Rule(then=say("Got it.")),
        ]
    )
    result = inner_loop(TASK, clumsy, TOOLS)
    assert result.answer == "Got it."
    assert text_of(result.messages[3]).startswith("There is no tool 'read_logs'")


def test_calls_at_once_are_all_answered():
    both = ScriptedModel(
        [
            Rule(unless="finding", then=[use("read_log", hour=h) for h in ("01:00", "09:00")]),
            Rule(then=say("Done.")),
        ]
    )
    result = inner_loop(TASK, both, TOOLS)
    assert [m.get("tool_call_id") for m in result.messages[3:5]] == ["call_1", "call_2"]
    assert "KeyError" in text_of(result.messages[4])
    assert validate(result.messages) == []


def test_what_is_no_text_becomes_json():
    tools = registry(tool(lambda: {"rows": 3, "when": {1}}, "Count.", "rows"))
    model = ScriptedModel([Rule(unless="tool:", then=use("rows")), Rule(then=say("ok"))])
    assert text_of(inner_loop(TASK, model, tools).messages[3]) == '{"rows": 3, "when": "{1}"}'


@pytest.mark.parametrize("reply", ["Hello.", None, {"role": "user", "content": "Hello."}])
def test_a_model_answers_with_an_assistant_message(reply):
    with pytest.raises(CourseError, match="a model returns an assistant message"):
        inner_loop(TASK, lambda messages, tools: reply, TOOLS)


def test_marks_of_ours_are_not_sent():
    seen = []

    def model(messages, tools):
        seen.extend(messages)
        return assistant("Hello.")

    result = inner_loop([{**TASK[1], "pinned": True}], model, {})
    assert seen == [TASK[1]]
    assert result.messages[0]["pinned"]


def test_a_policy_decides_what_is_sent_and_the_trace_stays_whole():
    result = inner_loop(TASK, READER, TOOLS, max_steps=6, policy=sliding_window(1))
    assert max(len(prompt) for prompt in result.prompts) == 4
    assert len(result.messages) == 2 + 6 * 2


# ---- a conversation -------------------------------------------------------------------------


def test_the_scopes_are_kept_apart():
    chat = Conversation("You read logs.", READER, TOOLS)
    assert chat.turn("Why did the export fail?") == "At 02:00: timeout on db step."
    assert chat.history == [
        user("Why did the export fail?"),
        assistant("At 02:00: timeout on db step."),
    ]
    assert len(chat.scratch) == 8
    assert chat.scratch[0] == user("Why did the export fail?")
    assert chat.facts == []


def test_the_history_carries_the_next_question():
    chat = Conversation("You read logs.", READER, TOOLS)
    chat.turn("Why did the export fail?")
    assert chat.turn("Say the hour again, please.") == "It was 02:00."
    assert len(chat.history) == 4
    assert len(chat.scratch) == 2
    fresh = Conversation("You read logs.", READER, TOOLS)
    assert "It was" not in fresh.turn("Say the hour again, please.")


def test_promoting_less_reads_less():
    chats = [Conversation("x", READER, TOOLS, promote=p) for p in (everything, lambda g: False)]
    for chat in chats:
        for question in ("Why did the export fail?", "The hour again?", "And again?"):
            chat.turn(question)
    naive, scoped = chats
    assert naive.read > scoped.read
    assert len(naive.history) == 8 + 2 + 2
    assert validate([system("x"), *naive.history]) == []


def test_the_naive_list_overflows_and_nothing_is_half_done():
    chat = Conversation("x", READER, TOOLS, promote=everything, window=700)
    chat.turn("Why did the export fail?")
    before = (chat.history, chat.scratch, chat.results)
    with pytest.raises(ContextWindowExceeded):
        for _ in range(20):
            before = (chat.history, chat.scratch, chat.results)
            chat.turn("The hour again, in full sentences, and with all that was read for it?")
    assert (chat.history, chat.scratch, chat.results) == before


def test_what_a_caller_holds_does_not_change():
    chat = Conversation("x", READER, TOOLS)
    held = chat.history
    chat.turn("Why did the export fail?")
    assert held == []


def test_facts_outlive_the_conversation():
    def answers(scratch):
        return [text_of(scratch[-1])]

    chat = Conversation("x", READER, TOOLS, remember=answers)
    chat.turn("Why did the export fail?")
    assert chat.facts == ["At 02:00: timeout on db step."]
    later = Conversation("x", READER, TOOLS, facts=chat.facts)
    assert later.turn("The hour again?") == "It was 02:00."
    assert later.history[0] == user("The hour again?")


def test_a_fact_is_kept_once():
    chat = Conversation("x", READER, TOOLS, remember=lambda scratch: ["Likes tea."])
    chat.turn("again")
    chat.turn("again")
    assert chat.facts == ["Likes tea."]


def test_each_turn_has_a_result():
    chat = Conversation("x", READER, TOOLS)
    chat.turn("Why did the export fail?")
    chat.turn("again")
    assert [result.calls for result in chat.results] == [4, 1]
    assert chat.read == sum(result.read for result in chat.results)


# ---- sub-agents -----------------------------------------------------------------------------

SUB = SubAgent("You read logs.", READER, TOOLS)
MAIN = ScriptedModel(
    [
        Rule(unless="tool: At", then=use("investigate", task="Why did the export fail?")),
        Rule(needs=r"tool: (?P<found>At .*)", then=say("The sub-agent says: {found}")),
    ]
)


def test_a_sub_agent_returns_one_short_answer():
    tools = registry(as_tool(SUB, "investigate", "Find out why something failed."))
    result = inner_loop([user("What happened?")], MAIN, tools)
    assert result.answer == "The sub-agent says: At 02:00: timeout on db step."
    assert len(result.messages) == 4
    assert not any("finding" in text_of(message) for message in result.messages)


def test_both_contexts_are_counted():
    tools = registry(as_tool(SUB, "investigate", "Find out why something failed."))
    result = inner_loop([user("What happened?")], MAIN, tools)
    alone = SUB("Why did the export fail?")
    (sub,) = result.subs
    assert sub == alone
    assert sub.read == inner_loop(TASK, READER, TOOLS).read > 0
    assert result.total_read == result.read + sub.read
    chat = Conversation("x", MAIN, tools)
    chat.turn("What happened?")
    assert chat.read == chat.results[0].total_read > chat.results[0].read


def test_a_sub_agent_that_overflows_is_a_failed_tool():
    tools = registry(as_tool(SubAgent("x", READER, TOOLS, window=50), "investigate", "Find out."))
    result = inner_loop([user("What happened?")], MAIN, tools, max_steps=1)
    assert "investigate failed: ContextWindowExceeded" in text_of(result.messages[-1])


# ---- repeated calls -------------------------------------------------------------------------


def call_and_result(n, result="no errors", **arguments):
    return [assistant(calls=[tool_call(f"c{n}", "get", **arguments)]), tool_result(f"c{n}", result)]


def test_the_same_call_again():
    messages = [user("?"), *call_and_result(1, a=1, b=2), *call_and_result(2, b=2, a=1)]
    (repeat,) = find_repeats(messages)
    assert repeat == Repeat(1, 3, "get", '{"b": 2, "a": 1}', still_there=True)


def test_other_arguments_or_another_tool_is_no_repeat():
    other = assistant(calls=[tool_call("c3", "set", a=1)])
    messages = [user("?"), *call_and_result(1, a=1), *call_and_result(2, a=True), other]
    assert find_repeats(messages) == []


def test_each_repeat_names_the_call_just_before_it():
    messages = [*call_and_result(1), *call_and_result(2), *call_and_result(3)]
    assert [(r.earlier, r.again) for r in find_repeats(messages)] == [(0, 2), (2, 4)]


def test_a_call_without_a_result_left_nothing_to_see():
    messages = [*call_and_result(1)[:1], *call_and_result(2)]
    assert [r.still_there for r in find_repeats(messages)] == [False]


def test_twice_in_one_message():
    twice = assistant(calls=[tool_call("a", "get", x=1), tool_call("b", "get", x=1)])
    messages = [twice, tool_result("a", "1"), tool_result("b", "1")]
    assert [(r.earlier, r.again, r.still_there) for r in find_repeats(messages)] == [(0, 0, False)]


def test_ids_that_are_used_again():
    messages = [
        *call_and_result(1, "first"),
        *call_and_result(1, "second"),
        *call_and_result(1, "x"),
    ]
    assert [r.still_there for r in find_repeats(messages)] == [True, True]


def test_over_trimming_shows_as_repeats_whose_result_had_gone():
    trimmed = inner_loop(TASK, READER, TOOLS, max_steps=6, policy=sliding_window(1))
    repeats = find_repeats(trimmed.messages, trimmed.prompts)
    assert repeats
    assert not any(repeat.still_there for repeat in repeats)
    assert all(repeat.still_there for repeat in find_repeats(trimmed.messages))
    whole = inner_loop(TASK, READER, TOOLS)
    assert find_repeats(whole.messages, whole.prompts) == []


def test_a_masked_result_is_not_there_any_more():
    messages = [user("?"), *call_and_result(1), *call_and_result(2)]
    masked = [*messages[:2], {**messages[2], "content": "[cleared]"}]
    assert [r.still_there for r in find_repeats(messages, [[], masked])] == [False]
    assert [r.still_there for r in find_repeats(messages, [[], messages[:3]])] == [True]


def test_prompts_belong_to_the_last_calls():
    messages = [*call_and_result(1), *call_and_result(2)]
    assert [r.still_there for r in find_repeats(messages, [[]])] == [False]
    with pytest.raises(CourseError, match="3 prompts for 2 assistant messages"):
        find_repeats(messages, [[], [], []])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": [1, 2]}', '{ "b":[1,2], "a":1.0 }', True),
        ({"a": 1}, '{"a": 1}', True),
        ('{"a": [1, 2]}', '{"a": [2, 1]}', False),
        ('{"a": 1}', '{"a": "1"}', False),
        ('{"a": 1}', '{"a": true}', False),
        ('{"a": ', '{"a": ', True),
        ("", "{}", False),
        (None, None, True),
    ],
)
def test_same_json(one, other, same):
    assert (same_json(one) == same_json(other)) is same


@given(transcripts())
def test_any_transcript_can_be_searched(messages):
    before = copy.deepcopy(messages)
    for repeat in find_repeats(messages):
        assert repeat.earlier <= repeat.again
    assert messages == before
