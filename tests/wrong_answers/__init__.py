"""Typical wrong answers, each with the words that its check must say; a module a lesson."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WrongAnswer:
    """A wrong answer to an exercise, what is wrong with it, and words that the check must say."""

    exercise: str
    mistake: str
    answer: Callable[..., Any]
    says: str


BANK: list[WrongAnswer] = []


def wrong(
    exercise: str, mistake: str, says: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that puts a function into the bank."""

    def add(answer: Callable[..., Any]) -> Callable[..., Any]:
        BANK.append(WrongAnswer(exercise, mistake, answer, says))
        return answer

    return add
