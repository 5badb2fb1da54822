"""Counting tokens: against OpenAI's recipe written out once more, and against hard input."""

from __future__ import annotations

import os
from collections import Counter

import pytest
import tiktoken

from course_lib import tokens
from course_lib.messages import BadMessage, CourseError, assistant, tool_call, tool_result, user
from course_lib.samples import incident, long_incident
from course_lib.tokens import cost_of, count_text, count_tokens, count_tools
from tests.strategies import TOOLS


@pytest.fixture(scope="module")
def o200k():
    """tiktoken itself, with the bundled vocabulary, without the code under test."""
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(tokens.VOCABULARY)
    yield tiktoken.get_encoding("o200k_base")
    if before is None:
        del os.environ["TIKTOKEN_CACHE_DIR"]
    else:
        os.environ["TIKTOKEN_CACHE_DIR"] = before


# ---- the recipe, as the cookbook describes it ------------------------------------------------


def recipe_for_messages(o200k, messages):
    """3 for each message, each value's tokens, 1 for a name, 3 for the answer."""
    total = 3
    for message in messages:
        total += 3 + ("name" in message)
        total += sum(len(o200k.encode(value)) for value in message.values())
    return total


def recipe_for_tools(o200k, tools):
    """gpt-4o's figures: 7 for a function, 3 for parameters and for each, 3 for an enum's items."""
    total = 12
    for tool in tools:
        function = tool["function"]
        total += 7 + len(o200k.encode(f"{function['name']}:{undotted(function['description'])}"))
        properties = function["parameters"]["properties"]
        total += 3 if properties else 0
        for name, p in properties.items():
            total += 3 + len(o200k.encode(f"{name}:{p['type']}:{undotted(p['description'])}"))
            if "enum" in p:
                total += -3 + sum(3 + len(o200k.encode(item)) for item in p["enum"])
    return total


def undotted(text):
    return text[:-1] if text.endswith(".") else text


def said(role, content, **more):
    return {"role": role, **more, "content": content}


# The examples of the OpenAI cookbook, "How to count tokens with tiktoken", for gpt-4o.
JARGON = [
    said(
        "system",
        "You are a helpful, pattern-following assistant that translates corporate jargon into "
        "plain English.",
    ),
    said("system", "New synergies will help drive top-line growth.", name="example_user"),
    said(
        "system",
        "Things working well together will increase revenue.",
        name="example_assistant",
    ),
    said(
        "system",
        "Let's circle back when we have more bandwidth to touch base on opportunities for "
        "increased leverage.",
        name="example_user",
    ),
    said(
        "system",
        "Let's talk later when we're less busy about how to do better.",
        name="example_assistant",
    ),
    said(
        "user",
        "This late pivot means we don't have time to boil the ocean for the client deliverable.",
    ),
]
WEATHER = [
    said("system", "You are a helpful assistant that can answer to questions about the weather."),
    said("user", "What's the weather like in San Francisco?"),
]


def function(name, description, **properties):
    parameters = {"type": "object", "properties": properties}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


def text(description, **more):
    return {"type": "string", "description": description, **more}


GET_WEATHER = function(
    "get_current_weather",
    "Get the current weather in a given location",
    location=text("The city and state, e.g. San Francisco, CA"),
    unit=text("The unit of temperature to return", enum=["celsius", "fahrenheit"]),
)


def test_the_cookbooks_messages_come_to_its_124_tokens():
    assert count_tokens(JARGON) == 124


def test_the_cookbooks_messages_and_tool_come_to_its_101_tokens():
    assert count_tokens(WEATHER, tools=[GET_WEATHER]) == 101


@pytest.mark.parametrize("messages", [[], JARGON[:1], JARGON, WEATHER, [said("user", "")]])
def test_messages_count_as_in_the_recipe(o200k, messages):
    assert count_tokens(messages) == recipe_for_messages(o200k, messages)


@pytest.mark.parametrize(
    "tools",
    [
        [GET_WEATHER],
        [GET_WEATHER, function("stop", "Stop.")],
        [function("wait", "Wait, then go on...", seconds=text("How long, in seconds..."))],
        [function("pick", "Pick one", of=text("From these", enum=["a"]), to=text("For whom."))],
    ],
)
def test_tools_count_as_in_the_recipe(o200k, tools):
    assert count_tools(tools) == recipe_for_tools(o200k, tools)


def test_a_request_is_its_messages_and_its_tools():
    assert count_tokens(JARGON, tools=TOOLS) == count_tokens(JARGON) + count_tools(TOOLS)


@pytest.mark.parametrize("none", [None, []])
def test_no_tools_cost_nothing(none):
    assert count_tools(none) == 0


def test_a_flat_schema_costs_what_the_nested_one_costs():
    assert count_tools([{"type": "function", **GET_WEATHER["function"]}]) == count_tools(
        [GET_WEATHER]
    )


@pytest.mark.parametrize(
    "parameters", [None, {}, {"type": "object"}, {"type": "object", "properties": {"x": {}}}]
)
def test_a_schema_may_leave_things_out(parameters):
    assert count_tools([{"function": {"name": "f", "parameters": parameters}}]) > 12 + 7


@pytest.mark.parametrize("tool", ["search_logs", {}, {"type": "function", "function": {}}, None])
def test_a_schema_that_cannot_be_read_is_said_in_words(tool):
    with pytest.raises(CourseError, match="tool"):
        count_tools([tool])


# ---- texts, messages, lists -----------------------------------------------------------------


def test_a_text_counts_its_tokens(o200k):
    line = "Deploy 4417 at 01:52 raised batch_size."
    assert count_tokens(line) == count_text(line) == len(o200k.encode(line))
    assert count_tokens("") == 0


def test_a_list_costs_its_messages_and_the_start_of_the_answer():
    run = long_incident()
    assert count_tokens(run) == sum(count_tokens(m) for m in run) + 3
    assert count_tokens([]) == 3


def test_a_tuple_counts_like_a_list():
    assert count_tokens(tuple(JARGON)) == count_tokens(JARGON)


@pytest.mark.parametrize("thing", [None, 5, object(), {1, 2}])
def test_other_things_cannot_be_counted(thing):
    with pytest.raises(CourseError, match="count a text, a message or a list of messages"):
        count_tokens(thing)


CALL = tool_call("c1", "search_logs", hour="02:00")
NESTED = {
    "id": "c1",
    "type": "function",
    "function": {"name": "search_logs", "arguments": CALL["arguments"]},
}


def test_a_call_costs_its_id_its_name_and_its_arguments():
    calling, silent = assistant(calls=[CALL]), assistant()
    parts = (CALL["id"], CALL["name"], CALL["arguments"])
    assert count_tokens(calling) - count_tokens(silent) == sum(map(count_text, parts))
    assert count_tokens(assistant(calls=[NESTED])) == count_tokens(calling)


def test_arguments_that_are_not_text_are_counted_as_json():
    as_dict = {**CALL, "arguments": {"by": "Malmö"}}
    as_text = {**CALL, "arguments": '{"by": "Malmö"}'}
    assert count_tokens(assistant(calls=[as_dict])) == count_tokens(assistant(calls=[as_text]))


def test_what_a_call_does_not_say_costs_nothing():
    silent = count_tokens(assistant())
    assert count_tokens(assistant(calls=[{"name": "stop"}])) == silent + count_text("stop")


def test_a_result_costs_its_id_too():
    assert count_tokens(tool_result("call_8", "4")) - count_tokens(tool_result("", "4")) == (
        count_text("call_8")
    )


def test_null_content_costs_nothing():
    assert count_tokens(said("assistant", None)) == count_tokens(said("assistant", ""))


@pytest.mark.parametrize("pin", [True, False, 1, "yes", None])
def test_a_pin_costs_nothing(pin):
    assert count_tokens({**user("hi"), "pinned": pin}) == count_tokens(user("hi"))


def test_parts_cost_their_text_and_a_flat_price_for_a_picture():
    line = {"type": "text", "text": "Read this."}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9000}}
    empty = count_tokens(user(""))
    assert count_tokens(user([line])) - empty == count_text("Read this.")
    assert count_tokens(user(["Read this."])) - empty == count_text("Read this.")
    assert count_tokens(user([picture])) - empty == 85
    assert count_tokens(user([line, picture])) - empty == count_text("Read this.") + 85


def test_a_part_of_an_unknown_kind_is_counted_as_json():
    part = {"type": "input_audio", "input_audio": {"data": "UklGRg", "format": "wav"}}
    assert count_tokens(user([part])) > count_tokens(user("UklGRg"))


def test_an_unknown_key_is_counted():
    assert count_tokens({**user("hi"), "refusal": "I can't"}) > count_tokens(user("hi"))
    assert count_tokens({**user("hi"), "annotations": [{"a": 1}]}) > count_tokens(user("hi"))


def test_the_broken_message_of_a_list_is_named():
    with pytest.raises(BadMessage, match="^index 1: ") as caught:
        count_tokens([user("hi"), said("user", 5)])
    assert (caught.value.index, caught.value.field) == (1, "content")


def test_a_single_broken_message_has_no_index():
    with pytest.raises(BadMessage) as caught:
        count_tokens({"content": "hi"})
    assert (caught.value.index, caught.value.field) == (None, "role")


# ---- hard input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hard",
    [
        pytest.param("half an emoji: \ud83d", id="a lone surrogate"),
        pytest.param("<|endoftext|><|im_start|>", id="the text of special tokens"),
        pytest.param("a" * 300_000, id="one endless word"),
        pytest.param("^" * 300_000, id="one endless sign"),
        pytest.param("log line " * 100_000, id="a million characters"),
        pytest.param(" " * 1_100_000, id="a million spaces"),
        pytest.param("\x00\u202e\ufeff\u200d", id="signs that aren't seen"),
    ],
)
def test_hard_texts_are_counted(hard):
    assert count_text(hard) > 0
    assert count_tokens(user([hard])) == count_tokens(user("")) + count_text(hard)


@pytest.mark.parametrize("text", ["02:04 batch written\n" * 30_000, "a\n\n\n" * 90_000])
def test_a_long_text_is_counted_to_the_token(o200k, text):
    assert count_text(text) == len(o200k.encode_ordinary(text))


def test_a_long_text_on_one_line_is_counted_almost_to_the_token(o200k):
    line = "log line " * 100_000
    assert count_text(line) == pytest.approx(len(o200k.encode_ordinary(line)), rel=1e-4)


def test_the_text_of_a_special_token_is_text():
    assert count_text("<|endoftext|>") > 1


# ---- the vocabulary and what is remembered --------------------------------------------------


def test_the_vocabulary_is_read_from_the_package(monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "elsewhere")
    tokens.encoding.cache_clear()
    assert tokens.encoding().name == "o200k_base"
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "elsewhere"


def test_reading_the_vocabulary_leaves_no_variable_behind(monkeypatch):
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    tokens.encoding.cache_clear()
    tokens.encoding()
    assert "TIKTOKEN_CACHE_DIR" not in os.environ


@pytest.fixture
def encoded(monkeypatch):
    """How often each text reaches the tokeniser."""
    seen = Counter()

    class Words:
        def encode_ordinary(self, text):
            seen[text] += 1
            return text.split()

    count_text.cache_clear()
    monkeypatch.setattr(tokens, "encoding", Words)
    yield seen
    count_text.cache_clear()


def test_each_text_is_tokenised_once(encoded):
    run = incident()
    for end in range(len(run)):
        count_tokens(run[:end], tools=TOOLS)
    assert set(encoded.values()) == {1}


def test_a_longer_run_costs_only_its_new_texts(encoded):
    run = incident()
    count_tokens(run[:-2])
    before = set(encoded)
    count_tokens(run)
    assert set(encoded) - before == {"c11", '{"hour": "11:00"}', run[-1]["content"]}


# ---- the cost of messages by index ----------------------------------------------------------


def test_costs_add_up_to_the_request():
    run = incident()
    cost = cost_of(run)
    assert cost([]) == 0
    assert cost([2]) == count_tokens(run[2])
    assert cost(range(len(run))) + count_tokens([]) == count_tokens(run)


def test_costs_are_counted_once_and_only_when_asked_for():
    asked = []

    def count(messages):
        asked.extend(messages)
        return 10 + 7 * len(messages)

    cost = cost_of(["a", "b", "c"], count)
    assert cost([0, 2]) == cost([2, 0]) == 14
    assert asked == ["a", "c"]


@pytest.mark.parametrize("count", [count_tokens, lambda messages: count_tokens(messages)])
def test_a_message_that_costs_cannot_be_told_of_is_named_by_its_place(count):
    cost = cost_of([user("hi"), user("ho"), said("user", 5)], count)
    with pytest.raises(BadMessage) as caught:
        cost([0, 2])
    assert (caught.value.index, caught.value.field) == (2, "content")
