"""Start here: the smallest exercise and the smallest prediction, to try the tools on."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from course_lib.checks.exercises import Exercise, Question, expect
from course_lib.messages import Message
from course_lib.samples import incident

HOW_MANY = Exercise(
    "how_many",
    title="Count the messages of a list",
    lesson=0,
    minutes=1,
    points=1,
    returns=int,
    hints=(
        "A list of messages is a Python list like any other.",
        "Python has a function that tells how long a list is. Return what it says.",
        "return len(...)",
    ),
)


@HOW_MANY.property("each message counts once")
def _counts(how_many: Callable[[list[Message]], int], rng: Random) -> None:
    for steps in (12, 0, rng.randint(1, 9)):
        messages = incident(steps)
        expect(
            how_many(messages) == len(messages), "Count every entry of the list, whatever its role."
        )


Question(
    "reads_again",
    lesson=0,
    text="At step 12 the model needs to know what it found at step 3. How does it know?",
    choices={
        "It remembers": "A model keeps nothing between two calls. All that it knows of the run is in "
        "the list that it is sent.",
        "It reads it again": "Yes: the result of step 3 is sent again, at every step, for as long as it "
        "stays in the list.",
        "It asks the tool again": "Only if the result is gone from the list. While it is there, the "
        "model just reads it.",
    },
    right="It reads it again",
)
