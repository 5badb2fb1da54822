"""The policy challenge, and how a check finds the learner's own run."""

from __future__ import annotations

import pytest

from course_lib import append_all, check, coding_run, count_tokens, replay, reuse, sliding_window
from course_lib.challenge import TECHNIQUES, YOURS, challenge, score, three_runs
from course_lib.messages import assistant, system, tool_call, tool_result, user
from course_lib.transcript import Transcript


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


def test_a_score_is_the_sum_over_the_three_runs():
    mine = score(sliding_window(5))
    runs = [
        (replay(run.messages, sliding_window(5), tools=run.tools), found)
        for run, found in three_runs()
    ]
    assert mine == (
        YOURS,
        sum(run.read for run, _ in runs),
        sum(len(found.missed_by(run)) for run, found in runs),
        0,
    )
    assert len(runs) == 3 and mine.missed > 0


def test_prompts_that_a_provider_refuses_are_counted():
    def orphans(messages):
        return [*messages[:2], *[m for m in messages[2:] if m["role"] != "assistant"]]

    assert score(orphans).problems > 100


def test_the_table_holds_the_learners_score_beside_the_courses_by_tokens():
    table = challenge(append_all())
    names = [row[0] for row in table.rows()]
    assert sorted(names) == sorted([YOURS, *TECHNIQUES])
    reads = [each.read for each in table.scores]
    assert reads == sorted(reads)
    assert {r[0]: r[2] for r in table.rows()}[YOURS] == "100%"
    assert f"**{YOURS}**" in table._repr_markdown_() and YOURS in repr(table)


def test_of_the_courses_techniques_only_keeping_everything_misses_nothing():
    scores = challenge(append_all()).scores
    assert {s.name for s in scores if not s.missed} == {YOURS, "everything kept"}
    assert not any(s.problems for s in scores)


# ---- the learner's own run ------------------------------------------------------------------

SOURCE = """
def smallest_window(messages, share):
    seen.append(len(messages))
    found, window = reuse(messages), 1
    while found.missed(window) > share:
        window += 1
    return window
"""

OWN = Transcript(
    [
        system("You are a clerk."),
        user("Go on."),
        assistant("", [tool_call("a", "f", key="K-900")]),
        tool_result("a", "K-901 " * 7),
        assistant("K-901"),
    ]
)


@pytest.mark.parametrize(("run", "used"), [(OWN, OWN), (None, coding_run()), ([1], coding_run())])
def test_a_check_looks_at_the_run_beside_the_function(run, used):
    namespace = {"reuse": reuse, "seen": [], "__name__": "notebook", "run": run}
    exec(SOURCE, namespace)
    assert check("smallest_window", namespace["smallest_window"]).status == "passed"
    assert len(used.messages) in namespace["seen"]


def test_an_own_run_that_breaks_the_answer_is_seen():
    namespace = {"count_tokens": count_tokens, "__name__": "notebook", "run": OWN, "reuse": reuse}
    exec(
        "def smallest_window(messages, share):\n"
        "    if messages == run.messages:\n"
        "        return 5\n"
        "    found, window = reuse(messages), 1\n"
        "    while found.missed(window) > share:\n"
        "        window += 1\n"
        "    return window\n",
        namespace,
    )
    verdict = check("smallest_window", namespace["smallest_window"])
    assert verdict.status == "failed" and "On your run" in verdict.message
