"""What lesson 2 takes for right besides its own solutions."""

from __future__ import annotations

import pytest

from course_lib import check, count_tokens, turn_groups
from course_lib.checks.predictions import predict
from course_lib.messages import SUMMARY_MARK, user


@pytest.fixture(autouse=True)
def own_progress(monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", "memory")


@pytest.mark.parametrize(
    ("times", "status"), [(15, "passed"), (16.7, "passed"), (17, "passed"), (12, "failed")]
)
def test_about_fifteen_times_is_near_enough(times, status):
    assert predict("fifty_against_three", times).status == status


def test_an_answer_far_too_low_is_not_told_a_little_more():
    told = predict("fifty_against_three", 3).message
    assert "little" not in told and "5.6 times too low" in told


def test_the_note_may_be_written_twice():
    def compact_session(messages, keep, write_note):
        head, turns = turn_groups(messages)
        old = sum(turns[:-keep], [])
        if not old:
            return messages
        if count_tokens(user(f"{SUMMARY_MARK} {write_note(old)}")) >= count_tokens(old):
            return messages
        return head + [user(f"{SUMMARY_MARK} {write_note(old)}")] + sum(turns[-keep:], [])

    assert check("compact_session", compact_session).status == "passed"
