"""`predict`: a question before the answer. Each choice has its own sentence that answers it."""

from __future__ import annotations

import html
from typing import Any

from course_lib.checks import record
from course_lib.checks.cards import Card, prose_html, styled
from course_lib.checks.exercises import (
    AnyQuestion,
    NumberQuestion,
    Question,
    all_questions,
    find_question,
    unknown,
)


def predict(name: str, choice: str | float | None = None) -> Card | Prediction:
    """Ask the question; or answer it at once, where `choice` is one of its choices or a number."""
    question = find_question(name)
    if question is None:
        return Card(status="unknown", headline=unknown("question", name, all_questions()))
    return Prediction(question) if choice is None else answer(question, choice)


def answer(question: AnyQuestion, choice: str | float) -> Card:
    """The sentence for this choice; notes it in the progress file where it is a valid one."""
    judge = _judge_choice if isinstance(question, Question) else _judge_number
    card = judge(question, choice)
    if card.status in ("passed", "failed"):
        noted = choice if isinstance(question, Question) else parse_number(choice)
        record.answered(question.name, noted, card.status == "passed")
    return card


def _judge_choice(question: Question, choice: str | float) -> Card:
    if choice not in question.choices:
        choices = "; ".join(f'"{text}"' for text in question.choices)
        return Card(status="invalid", headline=f"Choose one of: {choices}.")
    status = "passed" if choice == question.right else "failed"
    return Card(status=status, headline=question.choices[choice])


def _judge_number(question: NumberQuestion, choice: str | float) -> Card:
    number = parse_number(choice)
    if number is None:
        return Card(status="invalid", headline="Type a number, such as 1200.")
    exact = question.answer()
    off = number - exact
    if abs(off) <= question.tolerance * abs(exact):
        status, text, distance = "passed", question.right, ""
    else:
        status, text = "failed", question.too_low if off < 0 else question.too_high
        distance = _distance(number, exact)
    return Card(status=status, headline=text.replace("{answer}", f"{exact:,g}") + distance)


def _distance(number: float, exact: float) -> str:
    if exact <= 0 or number <= 0:
        return ""
    if exact < 50 and exact == int(exact) and number == int(number):
        return f" Yours is {abs(number - exact):g} too {'many' if number > exact else 'few'}."
    times = max(number, exact) / min(number, exact)
    if f"{times:.2g}" == "1":
        return f" Yours is {abs(number - exact):,g} too {'high' if number > exact else 'low'}."
    return f" Yours is {times:.2g} times too {'high' if number > exact else 'low'}."


def parse_number(text: str | float) -> float | None:
    """A number as people type it (356,000; 356 000; 51 %), or None."""
    try:
        return float(str(text).replace(",", "").replace(" ", "").rstrip("%"))
    except ValueError:
        return None


class Prediction:
    """The question, shown with its choices; in a live notebook, with a button for the answer."""

    def __init__(self, question: AnyQuestion) -> None:
        self.question = question

    def __str__(self) -> str:
        question = self.question
        how = f'predict("{question.name}", {_example(question)})'
        lines = ["Predict first: " + question.text, *(f"  ( ) {c}" for c in _choices(question))]
        return "\n".join([*lines, f"Run this cell to choose, or answer by {how}."])

    __repr__ = __str__

    def html(self) -> str:
        """The question and its choices where nothing can be chosen, such as on GitHub."""
        items = "".join(f"<li>{html.escape(choice)}</li>" for choice in _choices(self.question))
        text = prose_html("Predict first: " + self.question.text)
        return styled(f"{text}<ul>{items}</ul><div><i>Run this cell to answer.</i></div>")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        static = {"text/plain": str(self), "text/html": self.html()}
        try:
            from course_lib.checks.live import prediction_widget
        except ImportError:
            return static
        return prediction_widget(self.question)._repr_mimebundle_() | static


def _choices(question: AnyQuestion) -> list[str]:
    return list(question.choices) if isinstance(question, Question) else []


def _example(question: AnyQuestion) -> str:
    return "choice" if isinstance(question, Question) else "number"
