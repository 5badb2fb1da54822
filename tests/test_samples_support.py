"""The support chat: its shape, its size, and that its answers follow from its results."""

from __future__ import annotations

import json
import re

import pytest

from course_lib import count_tokens, five_texts, support_chat, support_tools
from course_lib.messages import calls_of, group_indices, validate
from course_lib.summaries import findings_in, is_hit
from course_lib.views.conversation_scene import question_starts

CHAT = support_chat()
STARTS = question_starts(CHAT)
TURNS = [CHAT[start:end] for start, end in zip(STARTS, [*STARTS[1:], len(CHAT)], strict=True)]
QUESTIONS = [turn[0]["content"] for turn in TURNS]
ANSWERS = [turn[-1]["content"] for turn in TURNS]


def results(turn):
    return " ".join(m["content"] for m in turn if m["role"] == "tool")


def calls(turn):
    return [call for m in turn for call in calls_of(m)]


def exact(text):
    """Order, return, parcel, product and payment numbers, days, times and sums of a text."""
    pattern = (
        r"[A-Z]{1,3}-[A-Z0-9-]*\d[A-Z0-9-]*|FH\d+GB|\d+[.:]\d\d|\d,\d{3}|\d{5}"
        r"|\d+ (?:May|June|in the warehouse|points|km)"
    )
    return set(re.findall(pattern, text))


def test_twelve_questions_32_calls_one_without_tools_and_one_asked_twice():
    assert len(QUESTIONS) == 12
    assert sum(map(len, map(calls, TURNS))) == 32
    assert [len(calls(turn)) for turn in TURNS].count(0) == 1
    assert max(len(calls(turn)) for turn in TURNS) <= 6
    assert QUESTIONS[0] == QUESTIONS[6]
    assert len(set(QUESTIONS)) == 11
    assert ANSWERS[0] != ANSWERS[6]


def test_it_overflows_a_window_of_8k_but_not_of_16k():
    size = count_tokens(CHAT, tools=support_tools())
    assert 14_000 < size < 16_000


def test_one_message_asks_for_two_tools_at_once():
    assert sorted(len(group) for group in group_indices(CHAT).groups)[-1] == 3


@pytest.mark.parametrize("provider", ["openai", "responses", "anthropic", "gemini"])
def test_every_provider_accepts_it(provider):
    assert validate(CHAT, provider) == []


def test_it_is_the_same_each_time_and_yours_to_change():
    first = support_chat()
    first[3]["content"] = "changed"
    first.pop()
    assert support_chat() == CHAT


def test_results_are_json_with_many_more_fields_than_their_finding():
    parsed = [json.loads(m["content"]) for m in CHAT if m["role"] == "tool"]
    assert all(isinstance(result, dict) and len(result) >= 4 for result in parsed)
    assert sum(len(m["content"]) > 600 for m in CHAT if m["role"] == "tool") == 32
    assert sum(map(is_hit, findings_in(CHAT))) >= 20


@pytest.mark.parametrize("n", range(12))
def test_an_answer_says_only_what_stands_before_it(n):
    known = " ".join([CHAT[0]["content"], *QUESTIONS[: n + 1], *ANSWERS[:n], results(TURNS[n])])
    assert exact(ANSWERS[n])
    assert [value for value in exact(ANSWERS[n]) if value not in known] == []


@pytest.mark.parametrize("n", range(12))
def test_a_call_uses_nothing_that_only_an_earlier_scratch_knew(n):
    """The lesson says that no later question needs what was left out."""
    known = [CHAT[0]["content"], *QUESTIONS[: n + 1], *ANSWERS[:n]]
    for message in TURNS[n]:
        for call in calls_of(message):
            assert [value for value in exact(call.arguments) if value not in " ".join(known)] == []
        known.append(message["content"])


def test_the_answer_without_tools_comes_from_the_one_before():
    assert not calls(TURNS[4])
    assert exact(ANSWERS[4]) <= exact(ANSWERS[3])


def test_orders_and_points_add_up():
    for message in CHAT:
        if message["role"] != "tool":
            continue
        result = json.loads(message["content"])
        if "items" in result and "total" in result:
            lines = sum(float(item["line_total"]) for item in result["items"])
            assert float(result["total"]) == pytest.approx(lines)
        if "entries" in result:
            credited = sum(e["points"] for e in result["entries"] if e["state"] == "credited")
            assert result["before_may"] + credited == result["balance"]
            assert result["before_may"] > 0


def test_the_reviews_bear_out_what_is_said_of_them():
    [reviews] = [m for m in TURNS[7] if '"reviews": [' in m["content"]]
    texts = [review["text"] for review in json.loads(reviews["content"])["reviews"]]
    assert (len(texts), sum("pole" in text and "bent" in text for text in texts)) == (8, 2)


def test_every_tool_that_is_called_has_a_schema_and_its_arguments():
    schemas = {s["function"]["name"]: s["function"]["parameters"] for s in support_tools()}
    for call in calls(CHAT):
        assert set(json.loads(call.arguments)) == set(schemas[call.name]["required"])
    assert set(schemas) == {call.name for call in calls(CHAT)}
    assert count_tokens([], tools=support_tools()) > 500


def test_the_message_in_five_forms_says_the_same_and_shows_the_rule_failing():
    texts = five_texts()
    errors = {form: len(text) / 4 / count_tokens(text) - 1 for form, text in texts.items()}
    assert abs(errors["English"]) < 0.1 and abs(errors["code"]) < 0.1
    assert errors["JSON"] < -0.3 and errors["Hindi"] < -0.3 and errors["Japanese"] < -0.5
    assert all("58213" in text for form, text in texts.items() if form != "code")
    assert re.search(r"[\u3040-\u30ff]", texts["Japanese"])
    assert re.search(r"[\u0900-\u097f]", texts["Hindi"])
