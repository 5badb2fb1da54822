"""The predictions of lesson 1, against the figures that people round to."""

from __future__ import annotations

import pytest

from course_lib.checks.predictions import predict


@pytest.fixture(autouse=True)
def own_progress(monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", "memory")


@pytest.mark.parametrize(("factor", "status"), [(2, "failed"), (3.7, "passed"), (4, "passed")])
def test_a_chat_twice_as_long_reads_about_four_times_as_much(factor, status):
    assert predict("twice_as_long", factor).status == status


def test_the_chat_without_gain_is_one_that_the_lesson_computes():
    assert predict("no_gain", "Twelve questions, one tool call each").status == "failed"
