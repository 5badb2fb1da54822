"""Messages, turn groups, and what providers reject."""

from __future__ import annotations

import copy
import json

import pytest

from course_lib.messages import (
    BadMessage,
    BudgetTooSmall,
    Call,
    CourseError,
    assistant,
    calls_of,
    group_indices,
    is_summary,
    pairs_ok,
    sendable,
    size,
    system,
    text_of,
    tool_call,
    tool_result,
    turn_groups,
    user,
    validate,
)
from course_lib.samples import incident
from course_lib.tokens import count_tokens
from course_lib.trimming import trim

ASK = user("Which hour failed?")
SUMMARY = user("[Summary of earlier steps] timeout at 02:00")


def asks(*ids):
    """An assistant message with a call for each id."""
    return assistant(calls=[tool_call(id, "search_logs", hour=id) for id in ids])


def found(id, text="no errors"):
    return tool_result(id, text)


def without(message, key):
    return {k: v for k, v in message.items() if k != key}


def nameless_asks(*hours):
    calls = [without(tool_call("", "search_logs", hour=hour), "id") for hour in hours]
    return assistant(calls=calls)


def nameless_found(text):
    return {"role": "tool", "content": text}


# ---- builders and readers -------------------------------------------------------------------


def test_builders_make_the_chat_shape():
    assert system("a") == {"role": "system", "content": "a"}
    assert user("b") == {"role": "user", "content": "b"}
    assert assistant("c") == {"role": "assistant", "content": "c"}
    assert tool_call("c1", "add", a=1) == {"id": "c1", "name": "add", "arguments": '{"a": 1}'}
    assert tool_result("c1", "3") == {"role": "tool", "tool_call_id": "c1", "content": "3"}


def test_a_result_that_is_not_text_becomes_json():
    assert found("c1", {"hour": "02:00"})["content"] == '{"hour": "02:00"}'


def test_calls_read_alike_in_both_shapes():
    flat = tool_call("c1", "search_logs", hour="02:00")
    nested = {"id": "c1", "type": "function", "function": without(flat, "id")}
    expected = [Call("c1", "search_logs", '{"hour": "02:00"}')]
    assert calls_of(assistant(calls=[flat])) == expected
    assert calls_of(assistant(calls=[nested])) == expected


@pytest.mark.parametrize("message", [ASK, {**ASK, "tool_calls": None}, {**ASK, "tool_calls": []}])
def test_a_message_without_calls_has_none(message):
    assert calls_of(message) == []


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}, "b"], "a\nb"),
        ([{"type": "text", "text": None}, 5], ""),
    ],
)
def test_text_of(content, text):
    assert text_of({"role": "user", "content": content}) == text


def test_a_summary_is_a_user_message_that_starts_with_the_mark():
    assert is_summary(SUMMARY)
    assert is_summary({"role": "user", "content": [{"type": "text", "text": SUMMARY["content"]}]})
    assert not is_summary({**SUMMARY, "role": "assistant"})
    assert not is_summary(user("Read this: [Summary of earlier steps]"))


def test_keys_of_ours_never_reach_a_provider():
    messages = [ASK, {**ASK, "pinned": True}]
    assert sendable(messages) == [ASK, ASK]
    assert sendable(messages)[0] is ASK
    assert messages[1]["pinned"] is True


def test_size_counts_characters_as_the_document_does():
    messages = incident()
    assert size(messages) == sum(len(json.dumps(m)) for m in messages) == 7397
    assert size([]) == 0


def test_a_pin_takes_no_room():
    assert size([{**ASK, "pinned": True}]) == size([ASK])


# ---- turn groups ----------------------------------------------------------------------------


def document_turn_groups(messages):
    """The document's grouping, as it is printed there."""
    head, rest = messages[:2], messages[2:]
    groups, current = [], []
    for m in rest:
        if m["role"] == "tool":
            current.append(m)
        else:
            if current:
                groups.append(current)
            current = [m]
    if current:
        groups.append(current)
    return head, groups


def test_groups_are_the_documents_on_its_own_run():
    messages = incident()
    head, groups = turn_groups(messages)
    assert (head, groups) == document_turn_groups(messages)
    assert len(groups) == 12


def test_groups_hold_the_same_message_objects():
    messages = incident()
    head, groups = turn_groups(messages)
    flat = [*head, *(m for group in groups for m in group)]
    assert [id(m) for m in flat] == [id(m) for m in messages]


DEVELOPER = {"role": "developer", "content": "Be brief."}
HI = assistant("Hello, what can I do?")


@pytest.mark.parametrize(
    ("messages", "head"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([system("a"), ASK, HI], [0, 1], id="the usual"),
        pytest.param([system("a"), DEVELOPER, ASK, HI], [0, 1, 2], id="two instructions"),
        pytest.param([ASK, HI, user("And?")], [0], id="no system message"),
        pytest.param([system("a"), HI], [0], id="no task"),
        pytest.param([HI, ASK], [1], id="a greeting before the task"),
        pytest.param([ASK, system("b"), HI], [0], id="a system message in the middle"),
        pytest.param([HI, system("b"), ASK], [2], id="a system message behind a greeting"),
        pytest.param([system("a"), SUMMARY, ASK], [0, 2], id="a summary isn't the task"),
        pytest.param([system("a"), SUMMARY, HI], [0], id="a summary and no task"),
    ],
)
def test_the_head_is_the_leading_system_messages_and_the_task(messages, head):
    assert group_indices(messages).head == head
    rest = [i for i in range(len(messages)) if i not in head]
    assert group_indices(messages).groups == [[i] for i in rest]


@pytest.mark.parametrize(
    ("messages", "groups"),
    [
        pytest.param([asks("a", "b"), found("a"), found("b")], [[0, 1, 2]], id="parallel calls"),
        pytest.param([asks("a", "b"), found("b"), found("a")], [[0, 1, 2]], id="in any order"),
        pytest.param(
            [asks("a"), asks("b"), found("a"), found("b")], [[0, 2], [1, 3]], id="interleaved"
        ),
        pytest.param([asks("a"), asks("b"), found("b"), found("a")], [[0, 3], [1, 2]], id="nested"),
        pytest.param(
            [asks("a"), found("a"), asks("a"), found("a")], [[0, 1], [2, 3]], id="an id used again"
        ),
        pytest.param(
            [asks("a"), asks("a"), found("a"), found("a")], [[0, 3], [1, 2]], id="nearest first"
        ),
        pytest.param([asks("a", "a"), found("a"), found("a")], [[0, 1, 2]], id="an id used twice"),
        pytest.param([asks("a"), system("!"), found("a")], [[0, 2], [1]], id="a system between"),
        pytest.param([found("a"), HI], [[0], [1]], id="a result without a call"),
        pytest.param([asks("a"), found("a"), found("a")], [[0, 1], [2]], id="answered twice"),
        pytest.param([asks("a"), HI], [[0], [1]], id="a call without a result"),
    ],
)
def test_a_group_is_a_call_with_the_results_that_answer_it(messages, groups):
    assert group_indices(messages).groups == groups


def test_a_result_behind_the_task_still_joins_its_call():
    grouping = group_indices([asks("a", "b"), found("a"), ASK, found("b")])
    assert grouping.head == [2]
    assert grouping.groups == [[0, 1, 3]]


def test_calls_without_an_id_are_answered_in_order():
    messages = [ASK, nameless_asks("01", "02"), nameless_found("1"), nameless_found("2")]
    assert group_indices(messages).groups == [[1, 2, 3]]


def test_two_turns_of_calls_without_an_id_are_answered_oldest_first():
    turns = [nameless_asks("01"), nameless_asks("02"), nameless_found("1"), nameless_found("2")]
    assert group_indices(turns).groups == [[0, 2], [1, 3]]


def test_a_call_without_an_id_that_was_never_answered_takes_no_later_result():
    messages = [nameless_asks("01"), user("?"), nameless_asks("02"), nameless_found("2")]
    grouping = group_indices(messages)
    assert grouping.head == [1]
    assert grouping.groups == [[0], [2, 3]]
    assert grouping.open == {0}


@pytest.mark.parametrize(
    ("messages", "open_groups"),
    [
        ([asks("a"), found("a")], set()),
        ([asks("a")], {0}),
        ([asks("a", "b"), found("b"), HI], {0}),
        ([asks("a"), HI, asks("b"), found("b")], {0}),
        ([asks("a"), asks("a"), found("a")], {0}),
        ([HI, found("a"), asks("a")], {2}),
    ],
)
def test_a_group_is_open_while_a_call_waits(messages, open_groups):
    assert group_indices(messages).open == open_groups


def test_grouping_changes_nothing_that_was_passed_in():
    messages = [system("a"), ASK, asks("a", "b"), found("b"), {**HI, "pinned": True}]
    before = copy.deepcopy(messages)
    turn_groups(messages)
    assert messages == before


def test_a_group_is_found_from_any_of_its_messages():
    messages = [HI, ASK, asks("a"), asks("b"), found("a"), found("b"), HI]
    grouping = group_indices(messages)
    for at in range(len(grouping)):
        assert all(grouping.group_of(i) == at for i in grouping.group(at))
    assert [grouping.group_of(i) for i in grouping.head] == [-1]


# ---- what isn't a message -------------------------------------------------------------------


def calling(*calls):
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


BROKEN = [
    pytest.param("hello", None, "a message is a dict, this is a str", id="text"),
    pytest.param(None, None, "this is a NoneType", id="None"),
    pytest.param(["user", "hi"], None, "this is a list", id="a list"),
    pytest.param({"content": "hi"}, "role", "without `role`", id="no role"),
    pytest.param({"role": "human", "content": "hi"}, "role", "'human'", id="an unknown role"),
    pytest.param({"role": None, "content": "hi"}, "role", "None", id="a role that is None"),
    pytest.param({"role": ["user"], "content": "hi"}, "role", "user", id="a role that is a list"),
    pytest.param(
        {"role": "tool", "content": "4"},
        "tool_call_id",
        "a tool result without `tool_call_id`",
        id="a result without an id",
    ),
    pytest.param(
        {"role": "tool", "tool_call_id": ["a"], "content": "4"},
        "tool_call_id",
        "`tool_call_id`",
        id="a result whose id is a list",
    ),
    pytest.param({"role": "user", "content": 5}, "content", "int", id="content is a number"),
    pytest.param({"role": "user", "content": {"a": 1}}, "content", "dict", id="content is a dict"),
    pytest.param({"role": "assistant", "content": 5}, "content", "int", id="an answer of 5"),
    pytest.param({"role": "user", "content": [5]}, "content", "part", id="a part is a number"),
    pytest.param(
        {"role": "assistant", "content": "", "tool_calls": "abc"},
        "tool_calls",
        "`tool_calls` must be a list",
        id="calls are text",
    ),
    pytest.param(
        {"role": "assistant", "content": "", "tool_calls": {"id": "a"}},
        "tool_calls",
        "`tool_calls` must be a list",
        id="calls are a dict",
    ),
    pytest.param(calling("search_logs"), "tool_calls", "list of calls", id="a call is text"),
    pytest.param(
        calling({"id": "a", "function": "search_logs"}),
        "tool_calls",
        "function",
        id="a function is text",
    ),
    pytest.param(
        calling({"id": ["a"], "name": "f", "arguments": "{}"}),
        "tool_calls",
        "id",
        id="an id is a list",
    ),
]


@pytest.mark.parametrize(("broken", "field", "words"), BROKEN)
def test_a_broken_message_is_named_by_its_index_and_field(broken, field, words):
    with pytest.raises(BadMessage) as caught:
        trim([system("a"), ASK, HI, broken, HI], 1000)
    assert (caught.value.index, caught.value.field) == (3, field)
    assert str(caught.value).startswith("index 3: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(("broken", "field", "words"), BROKEN)
def test_a_broken_message_is_among_the_problems(broken, field, words):
    problems = validate([system("a"), ASK, HI, broken, HI])
    assert (3, field or "message") in [(p.index, p.field) for p in problems]


@pytest.mark.parametrize(("broken", "field", "words"), BROKEN[:7])
def test_grouping_names_what_is_not_a_message(broken, field, words):
    with pytest.raises(BadMessage) as caught:
        turn_groups([ASK, broken])
    assert (caught.value.index, caught.value.field) == (1, field)


def test_errors_are_value_errors():
    assert issubclass(CourseError, ValueError)
    assert issubclass(BadMessage, CourseError)
    assert issubclass(BudgetTooSmall, CourseError)


def test_too_small_a_budget_shows_its_sum():
    error = BudgetTooSmall(1000, {"the head": 1200, "pinned groups": 0, "open calls": 34})
    assert (error.budget, error.floor) == (1000, 1234)
    assert "1,000" in str(error)
    assert "1,234 (the head 1,200, open calls 34)" in str(error)


# ---- what providers reject ------------------------------------------------------------------


def test_the_documents_check_sees_a_result_without_its_call():
    messages = incident()
    assert pairs_ok(messages)
    assert not pairs_ok(messages[:2] + messages[-5:])


def test_the_documents_check_does_not_see_a_call_without_its_results_but_validate_does():
    messages = [ASK, asks("a", "b"), found("a"), HI]
    assert pairs_ok(messages)
    assert validate(messages) == [(1, "tool_calls", "the call 'b' has no result")]


def call(**changes):
    return assistant(calls=[{**tool_call("a", "search_logs"), **changes}])


@pytest.mark.parametrize(
    ("messages", "problems"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param(incident(), [], id="the document's run"),
        pytest.param([HI, ASK], [], id="a greeting"),
        pytest.param([ASK, {**asks("a"), "content": None}, found("a")], [], id="calls, no text"),
        pytest.param([ASK, asks("a", "b"), found("b"), found("a")], [], id="results in any order"),
        pytest.param([ASK, asks("a"), found("a"), asks("a"), found("a")], [], id="an id again"),
        pytest.param([ASK, found("a")], [(1, "tool_call_id")], id="no call"),
        pytest.param(
            [system("a"), found("a"), ASK], [(1, "tool_call_id")], id="behind a system message"
        ),
        pytest.param([ASK, asks("a")], [(1, "tool_calls")], id="no result"),
        pytest.param([ASK, asks("a"), ASK, HI], [(1, "tool_calls")], id="no result, then a user"),
        pytest.param(
            [ASK, asks("a", "b", "c"), found("b")],
            [(1, "tool_calls"), (1, "tool_calls")],
            id="two of three results missing",
        ),
        pytest.param(
            [ASK, asks("a"), system("!"), found("a")],
            [(1, "tool_calls"), (3, "tool_call_id")],
            id="a system message between",
        ),
        pytest.param(
            [ASK, asks("a"), asks("b"), found("a"), found("b")],
            [(1, "tool_calls"), (3, "tool_call_id")],
            id="interleaved",
        ),
        pytest.param(
            [ASK, asks("a"), found("a"), found("a")], [(3, "tool_call_id")], id="answered twice"
        ),
        pytest.param(
            [ASK, asks("a"), found("a"), HI, found("a")], [(4, "tool_call_id")], id="and later"
        ),
        pytest.param([ASK, {"role": "assistant", "content": None}], [(1, "content")], id="no text"),
        pytest.param([{"role": "user", "content": None}], [(0, "content")], id="a user's None"),
        pytest.param([{"role": "user"}], [(0, "content")], id="a user without content"),
        pytest.param(
            [ASK, asks("a"), {**found("a"), "content": None}], [(2, "content")], id="no result text"
        ),
        pytest.param([ASK, call(name=None), found("a")], [(1, "tool_calls")], id="no name"),
        pytest.param([ASK, call(name=""), found("a")], [(1, "tool_calls")], id="an empty name"),
        pytest.param(
            [ASK, call(arguments={"hour": "02:00"}), found("a")],
            [(1, "tool_calls")],
            id="arguments that aren't text",
        ),
        pytest.param(
            [ASK, asks("a", "a"), found("a"), found("a")], [(1, "tool_calls")], id="one id twice"
        ),
        pytest.param(
            [ASK, {**HI, "tool_calls": []}], [(1, "tool_calls")], id="an empty list of calls"
        ),
        pytest.param(
            [{**system("Be brief."), "tool_calls": [{"id": "a"}]}, ASK],
            [(0, "tool_calls")],
            id="calls of the system",
        ),
        pytest.param(
            [found("a"), {"role": "robot", "content": ""}, asks("b")],
            [(0, "tool_call_id"), (1, "role"), (2, "tool_calls")],
            id="in order of the messages",
        ),
    ],
)
def test_what_openai_rejects(messages, problems):
    assert [(p.index, p.field) for p in validate(messages)] == problems


def test_calls_and_results_without_an_id_are_rejected():
    problems = validate([ASK, nameless_asks("01"), nameless_found("1")])
    assert {(p.index, p.field) for p in problems} == {(1, "tool_calls")}
    assert "the call of 'search_logs' has no `id`" in [p.rule for p in problems]


GREETED = [HI, ASK, assistant("At 02:00.")]
USED_AGAIN = [ASK, asks("a"), found("a"), asks("a"), found("a")]
INTERLEAVED = [ASK, asks("a"), asks("b"), found("a"), found("b")]
NAMELESS = [ASK, nameless_asks("01"), nameless_found("1")]
LATE_SYSTEM = [ASK, HI, system("Be brief."), ASK]
EMPTY_TEXT = [ASK, assistant(" ")]


@pytest.mark.parametrize(
    ("messages", "rejecting"),
    [
        pytest.param(incident(), {}, id="the document's run"),
        pytest.param(GREETED, {"anthropic": [0], "gemini": [0]}, id="a greeting"),
        pytest.param(USED_AGAIN, {"anthropic": [3]}, id="an id used again"),
        pytest.param(
            INTERLEAVED,
            {"openai": [1, 3], "anthropic": [1, 3], "gemini": [1, 3]},
            id="interleaved",
        ),
        pytest.param(
            NAMELESS, {"openai": [1], "responses": [1], "anthropic": [1]}, id="no ids at all"
        ),
        pytest.param(LATE_SYSTEM, {"anthropic": [2], "gemini": [2]}, id="a late system message"),
        pytest.param(EMPTY_TEXT, {"anthropic": [1], "gemini": [1]}, id="an empty text"),
        pytest.param(
            [ASK, asks("a"), HI],
            {"openai": [1], "responses": [1], "anthropic": [1], "gemini": [1]},
            id="a call without a result",
        ),
        pytest.param(
            [ASK, HI, found("a")],
            {"openai": [2], "responses": [2], "anthropic": [2], "gemini": [2]},
            id="a result without a call",
        ),
        pytest.param([asks("a"), found("a")], {"anthropic": [0], "gemini": [0]}, id="no user"),
    ],
)
def test_providers_differ_in_what_they_reject(messages, rejecting):
    providers = ("openai", "responses", "anthropic", "gemini")
    places = {p: sorted({x.index for x in validate(messages, p)}) for p in providers}
    assert {p: at for p, at in places.items() if at} == rejecting


def test_a_provider_that_is_not_known_is_named():
    with pytest.raises(CourseError, match="'claude'.*anthropic"):
        validate([ASK], provider="claude")


def test_a_problem_reads_as_a_sentence():
    (problem,) = validate([ASK, found("a")])
    assert str(problem) == (
        "message 1, tool_call_id: a result for 'a', but no earlier call has that id"
    )


def test_checking_says_each_problem_once():
    problems = validate([ASK, asks("a"), found("a"), found("a"), found("a")])
    assert [p.index for p in problems] == [3, 4]


@pytest.mark.parametrize("read", [turn_groups, validate, pairs_ok, size, count_tokens])
def test_half_an_emoji_and_odd_text_do_not_raise(read):
    odd = [user("Guests: 14 \ud83d [cut]"), user("<|endoftext|>"), user("\x00\u202e\ufeff")]
    read(odd)
