"""The sample transcripts: the document's run to the character, and the longer one."""

from __future__ import annotations

import json

import pytest

from course_lib import samples
from course_lib.messages import calls_of, size, turn_groups, validate
from course_lib.samples import incident, long_incident
from course_lib.summaries import findings_in, is_hit

ALL = [incident, long_incident]


def document_run():
    """The run as the document's demo builds it."""
    messages = [
        {"role": "system", "content": "You are an incident investigator."},
        {"role": "user", "content": "Why did the export job fail last night?"},
    ]
    for i in range(12):
        cid, hour = f"c{i}", f"{i:02d}:00"
        call = {"id": cid, "name": "search_logs", "arguments": json.dumps({"hour": hour})}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        finding = "timeout on db step" if i == 2 else "no errors"
        content = json.dumps({"hour": hour, "finding": finding, "raw": "log line " * 40})
        messages.append({"role": "tool", "tool_call_id": cid, "content": content})
    return messages


def test_the_incident_is_the_documents_run():
    assert incident() == document_run()
    assert json.dumps(incident()) == json.dumps(document_run())
    assert (len(incident()), size(incident())) == (26, 7397)


@pytest.mark.parametrize("steps", [0, 1, 12, 40])
def test_the_incident_can_go_on(steps):
    messages = incident(steps)
    assert len(messages) == 2 + 2 * steps
    assert messages[: min(steps, 12) * 2] == document_run()[: min(steps, 12) * 2]
    assert len(turn_groups(messages)[1]) == steps


def test_a_longer_incident_goes_round_the_clock_and_finds_no_more():
    found = findings_in(incident(40))
    assert [f["hour"] for f in found[22:26]] == ["22:00", "23:00", "00:00", "01:00"]
    assert [f["hour"] for f in found if is_hit(f)] == ["02:00"]


def test_the_long_incident_has_28_calls_four_tools_and_three_findings():
    messages = long_incident()
    assert sum(m["role"] == "assistant" for m in messages) == 28
    assert {call.name for m in messages for call in calls_of(m)} == {
        "search_logs",
        "list_deploys",
        "list_locks",
        "read_settings",
    }
    assert sum(map(is_hit, findings_in(messages))) == 3


def test_the_long_incident_ends_in_an_answer_that_its_results_bear_out():
    *run, answer = long_incident()
    results = " ".join(m["content"] for m in run if m["role"] == "tool")
    assert "tool_calls" not in answer
    for value in ("4417", "01:52", "02:04", "02:31", "300"):
        assert value in answer["content"]
        assert value in results


@pytest.mark.parametrize("sample", ALL)
@pytest.mark.parametrize("provider", ["openai", "responses", "anthropic", "gemini"])
def test_every_provider_accepts_the_samples(sample, provider):
    assert validate(sample(), provider) == []


@pytest.mark.parametrize("sample", ALL)
def test_a_sample_is_the_same_each_time_and_yours_to_change(sample):
    first, second = sample(), sample()
    assert first == second
    first[2]["content"] = "changed"
    first.pop()
    assert sample() == second


def test_the_samples_are_named_where_they_are_looked_for():
    assert set(samples.__all__) >= {"incident", "long_incident"}
    assert all(callable(getattr(samples, name)) for name in samples.__all__)
