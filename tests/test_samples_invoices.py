"""The invoice run: the document's sizes, its facts, and an answer that follows from the results."""

from __future__ import annotations

import json
import re

import pytest

from course_lib import CourseError, append_all, count_tokens, invoice_run, replay
from course_lib.arithmetic import unmanaged_reads
from course_lib.messages import calls_of, text_of, turn_groups, validate
from course_lib.summaries import findings_in, is_hit


@pytest.fixture(scope="module")
def run():
    return invoice_run()


def results_of(run):
    return [json.loads(m["content"]) for m in run.messages if m["role"] == "tool"]


def test_it_reads_what_the_document_says_within_three_per_cent(run):
    replayed = replay(run.messages, append_all(), tools=run.tools)
    reads = [row.read for row in replayed.rows]
    expected = unmanaged_reads(2_000, 800, 40)
    for step in (1, 10, 20, 40):
        assert reads[step - 1] == pytest.approx(expected[step - 1], rel=0.03), step
    assert sum(reads) == pytest.approx(704_000, rel=0.03)
    assert len(reads) == 40


def test_its_fixed_part_is_system_task_and_schemas(run):
    parts = [count_tokens([], tools=run.tools), *map(count_tokens, run.messages[:2])]
    assert sum(parts) == pytest.approx(2_000, rel=0.03)
    assert all(part > 50 for part in parts)


def test_its_steps_differ_in_size(run):
    groups = turn_groups(run.messages)[1][:-1]
    sizes = [sum(map(count_tokens, group)) for group in groups]
    assert sum(sizes) / len(sizes) == pytest.approx(800, rel=0.03)
    assert max(sizes) > 1.6 * min(sizes)
    assert len({name for group in groups for name in [calls_of(group[0])[0].name]}) >= 10


@pytest.mark.parametrize(
    ("step", "facts"),
    [
        (1, ["8841", "rejected", "E12", "48,000", "S1"]),
        (2, ["Halden Pump Works"]),
        (3, ["Purchase order number missing or invalid."]),
        (12, ["8842", "open"]),
        (16, ["8842", "open", "12,650"]),
    ],
)
def test_the_documents_facts_stand_in_the_results(run, step, facts):
    text = json.dumps(results_of(run)[step - 1])
    assert [fact for fact in facts if fact not in text] == []


def test_the_rejected_invoice_has_no_purchase_order_field(run):
    first, *others = [
        r for r in results_of(run) if r["source"] == "invoice archive" and "lines" in r
    ]
    assert first["invoice"] == "8841" and "purchase_order" not in first
    assert sum("purchase_order" in r for r in others) == 4


def test_the_lines_of_an_invoice_add_up_to_its_amount(run):
    with_lines = [r for r in results_of(run) if "lines" in r]
    for result in with_lines:
        amount = float(result["amount"].replace(",", ""))
        assert sum(line["net"] for line in result["lines"]) == pytest.approx(amount)
        assert all(line["net"] > 0 for line in result["lines"])
    assert len(with_lines) == 8


def test_goal_and_constraint_are_the_documents(run):
    task = run.messages[1]["content"]
    assert "Explain to supplier S1 why invoice 8841 was rejected" in task
    assert "do not contact the supplier" in task


def test_no_call_breaks_the_constraint_though_a_tool_would_let_it(run):
    tools = {tool["function"]["name"] for tool in run.tools}
    called = {call.name for m in run.messages for call in calls_of(m)}
    assert "send_message" in tools - called
    assert called <= tools


def test_each_call_names_parameters_of_its_schema(run):
    schemas = {t["function"]["name"]: t["function"]["parameters"] for t in run.tools}
    kinds = {"string": str, "integer": int}
    for message in run.messages:
        for call in calls_of(message):
            given, schema = json.loads(call.arguments), schemas[call.name]
            assert set(schema["required"]) <= set(given) <= set(schema["properties"])
            for key, value in given.items():
                assert isinstance(value, kinds[schema["properties"][key]["type"]])


def test_no_call_is_made_twice(run):
    calls = [(c.name, c.arguments) for m in run.messages for c in calls_of(m)]
    assert len(set(calls)) == len(calls) == 39


def test_some_results_hold_a_finding_and_most_do_not(run):
    found = findings_in(run.messages)
    assert len(found) == 39
    assert [n for n, f in enumerate(found, 1) if is_hit(f)] == [
        1,
        2,
        3,
        4,
        12,
        14,
        16,
        18,
        22,
        29,
        35,
    ]


def test_the_answer_follows_from_the_results(run):
    *rest, answer = run.messages
    results = " ".join(m["content"] for m in rest if m["role"] == "tool")
    assert answer["role"] == "assistant" and "tool_calls" not in answer
    for value in re.findall(r"\b\d[\d,.-]*\d\b|\b[A-Z]\d+\b", answer["content"]):
        assert value in results, value
    for value in ("8841", "48,000", "E12", "70316", "8842", "12,650", "70342", "30 days"):
        assert value in answer["content"] and value in results
    assert "Purchase\norder number missing or invalid." in answer["content"]


def test_orders_that_the_answer_names_come_up_only_where_they_are_found(run):
    texts = [text_of(m) for m in run.messages if m["role"] == "tool"]
    assert next(n for n, text in enumerate(texts, 1) if "70316" in text) == 18
    assert next(n for n, text in enumerate(texts, 1) if "Halden Pump Works" in text) == 2
    assert sum("Halden Pump Works" in text for text in texts) == 1


def test_tables_are_long_varied_and_in_the_order_of_their_first_column(run):
    for result in results_of(run):
        rows = next(value for value in result.values() if isinstance(value, list))
        assert len(rows) >= 9
        first = next(iter(rows[0]))
        assert [row[first] for row in rows] == sorted(row[first] for row in rows)
        assert len({json.dumps(row) for row in rows}) == len(rows)
    texts = [m["content"] for m in run.messages if m["role"] == "tool"]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("steps", [0, 1, 15, 39])
def test_a_shorter_run_is_the_beginning_of_the_whole(run, steps):
    short = invoice_run(steps)
    assert short.messages == run.messages[: 2 + 2 * steps]
    assert short.tools == run.tools


@pytest.mark.parametrize("steps", [-1, 41])
def test_a_run_that_is_not_there_is_refused(steps):
    with pytest.raises(CourseError, match=f"can't have {steps}"):
        invoice_run(steps)


@pytest.mark.parametrize("provider", ["openai", "responses", "anthropic", "gemini"])
def test_every_provider_accepts_it(run, provider):
    assert validate(run.messages, provider) == []


def test_it_is_the_same_each_time_and_yours_to_change():
    first, second = invoice_run(), invoice_run()
    assert first == second
    first.messages[2]["content"] = "changed"
    first.messages.pop()
    first.tools[0]["function"]["parameters"]["properties"]["invoice"]["type"] = "changed"
    assert invoice_run() == second
