"""What each message of a long session is by now, and the note for its old turns."""

from __future__ import annotations

import pytest

from course_lib import incident, research_session
from course_lib.messages import assistant, system, tool_call, tool_result, user
from course_lib.sessions import KEEP, TRIM, message_classes, session_note


def step(id, name, result, **arguments):
    return [assistant("thinking", [tool_call(id, name, **arguments)]), tool_result(id, result)]


HEAD = [system("rules"), user("task")]


def classes(*turns, recent=0):
    return message_classes([*HEAD, *sum(turns, [])], recent)[2:]


def test_the_sample_has_every_class():
    assert set(message_classes(research_session()[:-1])) == {*KEEP, *TRIM}


def test_the_head_is_named_by_its_roles():
    assert message_classes(HEAD) == ["system prompt", "original request"]


def test_the_last_turns_stay_whatever_they_are():
    turns = [step(f"s{n}", "web_search", {"results": []}) for n in range(4)]
    found = classes(*turns, recent=3)
    assert found == ["old reasoning", "search results"] + ["last turns"] * 6


def test_a_page_has_been_used_when_the_newest_version_cites_it():
    page = step("p", "fetch_page", {"source": "S1"})
    old, new = (step(id, "write_draft", {}, text=t) for id, t in (("a", "see [S1]"), ("b", "none")))
    assert classes(page)[1] == "results in use"
    assert classes(page, old)[1] == "used results"
    assert classes(page, old, new)[1] == "results in use"
    longer = step("q", "fetch_page", {"source": "S11"})
    assert classes(longer, old)[1] == "results in use"


@pytest.mark.parametrize("tool", ["write_plan", "decide"])
def test_of_what_is_written_the_newest_version_counts(tool):
    found = classes(step("a", tool, {}), step("b", tool, {}), step("c", "write_draft", {}))
    assert found == ["finished planning"] * 2 + ["plan and draft"] * 4


def test_results_that_say_nothing_of_themselves_are_in_use():
    assert classes(step("a", "read_file", "plain text"), step("b", "ls", [1, 2]))[1::2] == [
        "results in use",
        "results in use",
    ]


def test_a_note_has_searches_findings_and_decisions_once_each():
    again = step("s", "web_search", {"results": []}, query="tides")
    page = step("p", "fetch_page", {"source": "S1", "finding": "the tide turns at 04:10"})
    nothing = step("n", "fetch_page", {"source": "S2", "finding": "no errors"})
    decided = step("d", "decide", {}, decision="sail early")
    assert session_note([*again, *again, *page, *nothing, *decided]) == (
        "Earlier in this session. Searched for: tides. Key facts: S1: the tide turns at 04:10. "
        "Decided: sail early."
    )


def test_a_note_of_the_incident_names_the_hour():
    assert "02:00: timeout on db step" in session_note(incident())


def test_a_note_of_nothing_says_so():
    assert session_note(step("a", "ls", "x")) == "Earlier in this session. 1 calls, nothing found."


def test_arguments_that_are_no_json_object_are_passed_over():
    calls = [{"id": "a", "name": "ls", "arguments": "{broken"}, {"id": "b", "name": "ls"}]
    assert session_note([assistant(calls=calls)]).endswith("2 calls, nothing found.")
