"""Wrong answers to the exercise of the start page."""

from __future__ import annotations

from tests.wrong_answers import wrong


@wrong("how_many", "counts only what the tools said", "whatever its role")
def tools_only(messages):
    return sum(m["role"] == "tool" for m in messages)


@wrong("how_many", "counts one too few", "Count every entry")
def one_short(messages):
    return len(messages) - 1


@wrong("how_many", "gives the messages back", "whole number")
def messages_themselves(messages):
    return messages
