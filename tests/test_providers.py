"""`repair`: whatever comes in, what comes out can be sent, and each change is said."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import CourseError, incident, repair, validate
from course_lib.messages import assistant, calls_of, system, tool_call, tool_result, user
from course_lib.providers import NO_RESULT, NO_TASK, NO_TEXT, PROVIDERS
from tests.strategies import CONTENTS, call, transcripts, valid_transcripts

ASK = user("Why did the export job fail?")

providers = st.sampled_from(sorted(PROVIDERS))


def asks(*ids):
    return assistant("", [tool_call(id, "search_logs", hour="02:00") for id in ids])


def junk():
    """Messages with a field of a wrong kind, or no messages at all."""
    contents = st.sampled_from((*CONTENTS, 7, {"text": "x"}, [3]))
    calls = st.sampled_from(
        ([], "c", [7], [{}], [{"id": 7}], [{"id": "", "name": "f"}], [call("a", False, None)])
    )
    message = st.fixed_dictionaries(
        {"role": st.sampled_from(("system", "user", "assistant", "tool", "robot", None))},
        optional={
            "content": contents,
            "tool_calls": calls,
            "tool_call_id": st.sampled_from(("a", "", None, 7)),
        },
    )
    return st.one_of(message, st.sampled_from(({}, "text", None, 7)))


def anything():
    """Runs that are broken in any way, with junk anywhere between."""

    def mixed(messages, pieces):
        messages = list(messages)
        for at, piece in pieces:
            messages.insert(at % (len(messages) + 1), piece)
        return messages

    pieces = st.lists(st.tuples(st.integers(0, 40), junk()), max_size=4)
    return st.builds(mixed, transcripts(longest=40), pieces)


@given(anything(), providers)
def test_what_comes_out_can_be_sent(messages, provider):
    assert validate(repair(messages, provider).messages, provider) == []


@given(anything(), providers)
def test_a_change_is_said_and_only_a_change(messages, provider):
    mended = repair(messages, provider)
    assert (mended.messages == messages) == (not mended.notes)


@given(anything(), providers)
def test_a_second_repair_finds_nothing_to_do(messages, provider):
    once = repair(messages, provider).messages
    twice = repair(once, provider)
    assert twice.notes == []
    assert all(a is b for a, b in zip(once, twice.messages, strict=True))


@given(valid_transcripts())
def test_a_sound_list_comes_back_as_it_is(messages):
    mended = repair(messages)
    assert all(a is b for a, b in zip(messages, mended.messages, strict=True))
    assert mended.messages is not messages


@given(anything(), providers)
def test_nothing_that_was_passed_in_is_changed(messages, provider):
    before = copy.deepcopy(messages)
    repair(messages, provider)
    assert messages == before


@given(transcripts(longest=60), providers)
def test_every_call_and_every_text_of_a_speaker_stays(messages, provider):
    """Only a result that answers nothing may go: what was asked and said is kept."""
    after = repair(messages, provider).messages

    def called(some):
        return sorted((str(c.name), str(c.arguments)) for m in some for c in calls_of(m))

    def said(some):
        contents = [m["content"] for m in some if m["role"] != "tool"]
        return sorted(str(c) for c in contents if c not in (None, "", NO_TEXT, NO_TASK))

    assert called(after) == called(messages)
    assert said(after) == said(messages)


# ---- what is done about each kind of fault --------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "provider", "mended", "notes"),
    [
        pytest.param(
            [ASK, asks("a"), user("Well?")],
            "openai",
            [ASK, asks("a"), tool_result("a", NO_RESULT), user("Well?")],
            "the call 'a' had no result: a stand-in was added",
            id="a call that was never answered",
        ),
        pytest.param(
            [ASK, tool_result("a", "no errors")],
            "openai",
            [ASK],
            "a result for 'a' was left out: no earlier call is open for it",
            id="a result without its call",
        ),
        pytest.param(
            [ASK, asks("a", "b"), tool_result("b", "two")],
            "openai",
            [ASK, asks("a", "b"), tool_result("a", NO_RESULT), tool_result("b", "two")],
            "the call 'a' had no result: a stand-in was added",
            id="half of two parallel results",
        ),
        pytest.param(
            [ASK, asks("a"), asks("b"), tool_result("a", "one"), tool_result("b", "two")],
            "openai",
            [ASK, asks("a"), tool_result("a", "one"), asks("b"), tool_result("b", "two")],
            "the results for 'a' were moved behind their call; "
            "the results for 'b' were moved behind their call",
            id="interleaved results",
        ),
        pytest.param(
            [ASK, asks("a"), tool_result("a", "1"), asks("a"), tool_result("a", "2")],
            "anthropic",
            [ASK, asks("a"), tool_result("a", "1"), asks("a_1"), tool_result("a_1", "2")],
            "a call got the id 'a_1': 'a' was taken",
            id="an id used again, where that is refused",
        ),
        pytest.param(
            [asks("a"), tool_result("a", "1")],
            "gemini",
            [user(NO_TASK), asks("a"), tool_result("a", "1")],
            "the first message wasn't the user's: a stand-in was put before it",
            id="no user message",
        ),
        pytest.param(
            [ASK, system("Be brief."), user("Well?")],
            "anthropic",
            [system("Be brief."), ASK, user("Well?")],
            "a system message stood in the middle: moved to the start",
            id="a late system message",
        ),
        pytest.param(
            [system("Be brief."), ASK, assistant(" ")],
            "anthropic",
            [system("Be brief."), ASK, assistant(NO_TEXT)],
            "an empty assistant message got a stand-in text",
            id="an empty text",
        ),
        pytest.param(
            [ASK, {"role": "robot", "content": "beep"}],
            "openai",
            [ASK],
            "message 1 was left out: the `role` 'robot' isn't one of "
            "system, developer, user, assistant, tool",
            id="a role that nobody knows",
        ),
        pytest.param(
            [{"role": "user", "content": 48_000}],
            "openai",
            [user("48000")],
            "a `content` was left out: `content` must be text or a list of parts, not int",
            id="a number as content",
        ),
        pytest.param(
            [{**ASK, "tool_calls": [tool_call("a", "search_logs")]}],
            "openai",
            [ASK],
            "a `tool_calls` was left out: only an assistant message has calls",
            id="calls of the user",
        ),
        pytest.param(
            [ASK, {**assistant("At 02:00."), "tool_calls": []}],
            "openai",
            [ASK, assistant("At 02:00.")],
            "a `tool_calls` was left out: it had no calls",
            id="an empty list of calls",
        ),
    ],
)
def test_each_fault_is_mended_and_said(messages, provider, mended, notes):
    repaired = repair(messages, provider)
    assert repaired.messages == mended
    assert "; ".join(repaired.notes) == notes


def test_calls_without_what_a_provider_needs_get_it():
    bare = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"arguments": {"h": 2}}}],
    }
    repaired = repair([ASK, bare])
    (made,) = calls_of(repaired.messages[1])
    assert made == ("call_1", "unknown", '{"h": 2}')
    assert len(repaired.notes) == 3  # an id, a name with arguments, and a result


def test_an_unknown_provider_is_named():
    with pytest.raises(CourseError, match="'claude'"):
        repair(incident(), "claude")
