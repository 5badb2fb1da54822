"""Checks, hints, predictions and progress; and how to write an exercise.

An exercise stands in the module of its lesson, `course_lib/checks/lesson03.py`, and is found there
by its name. A property is a title and a few lines that call the learner's function:

    from course_lib.checks import Exercise, expect

    HOURS = Exercise(
        "hour_ranges",                  # the name of the function that the learner writes
        title="Hours as ranges",
        lesson=3, minutes=8, points=2,  # points are all or nothing
        hints=("a nudge", "an approach", "for hour in hours:\n    ..."),  # the third is code
        returns=str,                    # None, a generator or a list gets its own sentence
    )

    @HOURS.property("a gap starts a new range")
    def gaps(hour_ranges):
        got = hour_ranges(["00:00", "02:00"])
        expect("01" not in got, "Would a reader believe that 01:00 was searched, too?")

    @HOURS.property("any hours, in any order")
    def any_hours(hour_ranges, rng):    # a second argument: a random.Random, the same each time
        ...

`check("hour_ranges", hour_ranges)` tries the properties in order and reports the first that doesn't
hold: the last call, what came back, and the thought, which asks and never tells. Put the simple
properties first. `fail(thought, given=…, got=…)` shows something other than the last call,
`expect_error(kind, thought)` stands around a call that must raise, `wants="class"` asks for a
class, `seconds=` gives a property more than three.

Nothing else needs care: changed arguments, wrong types, errors, `exit()`, `input()`, endless loops
and the untouched stub are seen for each exercise alike. While a line `...` stands in the source, a
function that fails counts as not attempted yet.

A question has a sentence for each choice, or for too low and too high:

    Question("window", lesson=4, text="How much does a window of ten save?",
             choices={"half": "Yes: …", "a tenth": "That would be …"}, right="half")
    NumberQuestion("reads", lesson=4, text="How many tokens in all?", answer=lambda: sum(...),
                   tolerance=0.05, right="Yes, {answer}.", too_low="…", too_high="…")

In the solution notebook, what the learner writes stands between `### BEGIN SOLUTION` and
`### END SOLUTION`; `course_lib.workshop.build` makes the exercise from it.
"""

from course_lib.checks.cards import Card
from course_lib.checks.exercises import (
    Exercise,
    NumberQuestion,
    Question,
    expect,
    expect_error,
    fail,
)
from course_lib.checks.hints import Hint, hint
from course_lib.checks.judge import Verdict, check
from course_lib.checks.predictions import Prediction, predict
from course_lib.checks.table import Progress, progress

__all__ = [
    "Card",
    "Exercise",
    "Hint",
    "NumberQuestion",
    "Prediction",
    "Progress",
    "Question",
    "Verdict",
    "check",
    "expect",
    "expect_error",
    "fail",
    "hint",
    "predict",
    "progress",
]
