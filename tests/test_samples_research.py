"""The research session and the published positions: their sizes, their shape and their facts."""

from __future__ import annotations

import json
import re

import pytest

from course_lib import count_tokens, exact_values, sliding_window, turn_groups, validate
from course_lib.messages import calls_of
from course_lib.samples import positions
from course_lib.samples.research import research_session
from course_lib.samples.research_pages import PAGES
from course_lib.sessions import session_note
from course_lib.summaries import findings_in


@pytest.fixture(scope="module")
def session():
    return research_session()


@pytest.fixture(scope="module")
def turns(session):
    return turn_groups(session)[1]


def results(session):
    return [json.loads(m["content"]) for m in session if m["role"] == "tool"]


def test_it_measures_eighty_thousand_tokens_and_twenty_after_the_intervention(session):
    before = session[:-1]
    after = sliding_window(8, session_note)(before)
    assert count_tokens(before) == pytest.approx(80_000, rel=0.03)
    assert count_tokens(after) == pytest.approx(20_000, rel=0.03)
    assert validate(after) == []


def test_it_has_twenty_turns_with_calls_and_then_an_answer(turns):
    assert len(turns) == 21
    assert all(calls_of(turn[0]) and len(turn) == 1 + len(calls_of(turn[0])) for turn in turns[:20])
    assert [len(turn) for turn in turns].count(3) == 4  # two searches at once
    assert not calls_of(turns[20][0])


def test_fifteen_turns_are_more_than_thirty_blocks(session, turns):
    assert 2 + sum(map(len, turns[:15])) > 30


@pytest.mark.parametrize("provider", ["openai", "responses", "anthropic", "gemini"])
def test_every_provider_accepts_it(session, provider):
    assert validate(session, provider) == []


def test_it_is_the_same_each_time_and_yours_to_change(session):
    other = research_session()
    assert other == session
    other[2]["content"] = "changed"
    assert research_session() == session


def test_each_page_was_among_the_hits_of_an_earlier_search(session, turns):
    known = set()
    for turn in turns[:20]:
        for call in calls_of(turn[0]):
            if call.name == "fetch_page":
                assert json.loads(call.arguments)["url"] in known
        for message in turn[1:]:
            known |= {hit["url"] for hit in json.loads(message["content"]).get("results", [])}


def test_most_hits_were_not_picked(session):
    hits = [hit for result in results(session) for hit in result.get("results", [])]
    picked = {page.url for page in PAGES}
    assert sum(hit["url"] in picked for hit in hits) == len(PAGES)
    assert len(hits) > 10 * len(PAGES)
    assert len({hit["url"] for hit in hits}) == len(hits)


def test_each_finding_is_borne_out_by_its_pages_text(session):
    found = findings_in(session)
    assert [f["source"] for f in found] == [f"S{n}" for n in range(1, 12)]
    for page in found:
        for value in exact_values(page["finding"]):
            if value not in ("1928", "COP"):
                assert value in page["text"], (page["source"], value)


def test_the_tables_bear_out_the_findings(session):
    text = {page["source"]: page["text"] for page in findings_in(session)}
    cops = [
        (float(flow), float(cop))
        for flow, cop in re.findall(r"\| (\d\d\.\d) °C \|.* (\d\.\d\d)$", text["S1"], re.M)
    ]
    for setting, cop in ((45, 3.4), (55, 2.9)):
        near = [c for flow, c in cops if abs(flow - setting) < 1]
        assert sum(near) / len(near) == pytest.approx(cop, abs=0.05)
    wood = re.findall(r"\| (\d+) mm \|.*\| ([\d.]+) %", text["S4"])
    assert all((float(humid) > 20) == (int(depth) > 60) for depth, humid in wood)
    assert max(float(x) for x in re.findall(r"\| ([\d.]+) dB", text["S6"])) < 42
    quotes = sorted(sum(int(x.replace(",", "")) for x in re.findall(r"£([\d,]+)", line))
                    for line in text["S8"].splitlines() if line.startswith("Q"))  # fmt: skip
    assert quotes[len(quotes) // 2] == pytest.approx(11_900, rel=0.02)
    assert min(float(x) for x in re.findall(r"\| ([\d.]+) p \|", text["S9"])) >= 24.7


def test_the_answer_cites_sources_that_were_read_and_figures_that_they_hold(session):
    read = "\n".join(m["content"] for m in session if m["role"] == "tool")
    answer = session[-1]["content"]
    assert set(re.findall(r"\[(S\d+)\]", answer)) <= {f"S{n}" for n in range(1, 12)}
    for value in exact_values(answer):
        assert value in read, value


def test_the_running_cost_is_what_the_expression_gives(session):
    [call] = [c for m in session for c in calls_of(m) if c.name == "calculate"]
    assert "14,200 kWh * 0.82 / 3.4 * 24.7 p + £196.40" in json.loads(call.arguments)["expression"]
    assert round(14_200 * 0.82 / 3.4 * 0.247 + 196.40) == 1_042


def test_no_two_lines_of_all_pages_are_the_same(session):
    lines = [
        line
        for page in findings_in(session)
        for line in page["text"].splitlines()
        if len(line) > 25 and "|" in line
    ]
    assert len(lines) > 1_800
    assert len(set(lines)) == len(lines)


def test_the_published_positions_are_those_of_the_paper():
    assert dict(positions.ACCURACY[10]) == {0: 76.8, 4: 61.2, 9: 62.4}
    assert list(positions.ACCURACY[20].values()) == [75.8, 57.2, 53.8, 55.4, 63.2]
    assert list(positions.ACCURACY[30]) == [0, 4, 9, 14, 19, 24, 29]
    assert positions.CLOSED_BOOK == 56.1
    assert "2307.03172" in positions.SOURCE
    middle = [positions.ACCURACY[20][9], *(positions.ACCURACY[30][n] for n in (9, 14, 19))]
    assert max(middle) < positions.CLOSED_BOOK
