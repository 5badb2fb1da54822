"""The numbers of lesson 4's questions, against the document and the arithmetic."""

from __future__ import annotations

import pytest

from course_lib.caching import Prices, break_even
from course_lib.checks import lesson04
from course_lib.checks.exercises import find_question
from course_lib.checks.predictions import predict


@pytest.mark.parametrize(
    ("name", "answer"),
    [("step_21", 12_000), ("most_with_window", 4_500), ("twice_the_steps", 3.8)],
)
def test_a_number_that_is_asked_for_is_the_documents(name, answer):
    assert find_question(name).answer() == answer


def test_a_number_that_is_nearly_right_is_told_the_difference(monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", "memory")
    assert predict("step_21", 12_500).message.endswith("Yours is 500 too high.")
    assert predict("step_21", 11_500).message.endswith("Yours is 500 too low.")


def test_a_compaction_pays_from_the_call_on_that_the_library_names():
    calls = find_question("calls_to_pay").answer()
    prices = Prices(input=2, output=10, cache_read="0.2", cache_write=2)
    assert calls == break_even(10_000, 2_800, prices, note=800)


@pytest.mark.parametrize("cached", [0.05, 0.2, 1.0, 2.0])
@pytest.mark.parametrize("note", [100, 800])
def test_what_the_exercise_computes_turns_where_the_library_says(cached, note):
    prices = Prices(input=2, output=10, cache_read=cached, cache_write=2)
    calls = break_even(9_000, 2_500, prices, note=note)
    case = {"before": 9_000, "after": 2_500, "note": note}
    case |= {"input": 2.0, "output": 10.0, "cached": cached}
    assert lesson04._saving(**case, calls=calls) >= 0 > lesson04._saving(**case, calls=calls - 1)
