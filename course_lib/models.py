"""Models: a model is any function from messages and tool schemas to the next message.

The scripted model of the lessons is a small rule-based reader. It acts only on what stands in
the prompt that it is given, so what it can't do any more is a consequence of the context, not of
a script. It keeps nothing between two calls: the same prompt gets the same answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.messages import (
    CourseError,
    Message,
    assistant,
    calls_of,
    is_summary,
    text_of,
)

Schema = dict[str, Any]
Model = Callable[[list[Message], Sequence[Schema]], Message]

PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")  # {name}: a value that a pattern of the rule found


@dataclass(frozen=True)
class Say:
    """What to do next: answer with this text."""

    text: str


@dataclass(frozen=True)
class Use:
    """What to do next: call this tool with these arguments."""

    name: str
    arguments: dict[str, Any]


def say(text: str) -> Say:
    """Answer with this text; `{name}` stands for what a pattern of the rule found."""
    return Say(text)


def use(name: str, /, **arguments: Any) -> Use:
    """Call a tool; in the arguments, `{name}` stands for what a pattern of the rule found."""
    return Use(name, arguments)


@dataclass(frozen=True)
class Rule:
    """What must stand in the prompt, and what to do then.

    `asked` must match the newest user message, each of `needs` must match somewhere in the
    prompt, and none of `unless` may. They are regular expressions, upper and lower case alike.
    `(?P<name>...)` finds a value, the newest one if there are several, and `{name}` uses it.

    Raises `CourseError` for a pattern that can't be read, or a `{name}` that nothing finds.
    """

    then: Say | Use | Sequence[Use]
    asked: str = ""
    needs: str | Sequence[str] = ()
    unless: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        found: set[str] = set()
        for pattern in (self.asked, *_several(self.needs)):
            _check_places(pattern, found)
            found |= _names_in(pattern)
        for text in (*_several(self.unless), *_texts(self.then)):
            _check_places(text, found)
        for pattern in _several(self.unless):
            _names_in(pattern)

    def find(self, prompt: str, question: str) -> dict[str, str] | None:
        """The values that the rule's patterns find, or None if the rule doesn't apply."""
        values: dict[str, str] = {}
        for pattern, text in [(self.asked, question), *((p, prompt) for p in _several(self.needs))]:
            matches = _matches(pattern, values, text)
            if not matches:
                return None
            values |= matches[-1].groupdict(default="")
        if any(_matches(pattern, values, prompt) for pattern in _several(self.unless)):
            return None
        return values


@dataclass(frozen=True)
class ScriptedModel:
    """A model that follows the first of its rules that applies to the prompt.

    `otherwise` is what it says if none does.
    """

    rules: Sequence[Rule]
    otherwise: str = "I can't tell: what I would need for that isn't in front of me."

    def __call__(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> Message:
        """The next message: an answer, or tool calls."""
        prompt, question = prompt_text(messages), newest_question(messages)
        for rule in self.rules:
            values = rule.find(prompt, question)
            if values is not None:
                return _reply(rule.then, values, newest_call(messages) + 1)
        return assistant(self.otherwise)


def prompt_text(messages: Sequence[Message]) -> str:
    """All that a prompt says, as text: a line for each message and for each tool call."""
    lines = []
    for message in messages:
        lines.append(f"{message['role']}: {text_of(message)}")
        for call in calls_of(message):
            lines.append(f"{message['role']} calls {call.name} {_as_text(call.arguments)}")
    return "\n".join(lines)


def newest_question(messages: Sequence[Message]) -> str:
    """The text of the newest user message that isn't a summary; empty if there is none."""
    asked = (m for m in reversed(messages) if m["role"] == "user" and not is_summary(m))
    return next(map(text_of, asked), "")


def newest_call(messages: Sequence[Message]) -> int:
    """The highest number of a call that stands in the prompt; 0 if there is none."""
    ids = (call.id or "" for message in messages for call in calls_of(message))
    found = (re.fullmatch(r"call_(\d+)", id) for id in ids)
    return max((int(match[1]) for match in found if match), default=0)


def _reply(then: Say | Use | Sequence[Use], values: dict[str, str], number: int) -> Message:
    if isinstance(then, Say):
        return assistant(_fill(then.text, values))
    uses = [then] if isinstance(then, Use) else then
    calls = []
    for i, one in enumerate(uses, number):
        arguments = {
            key: _fill(value, values) if isinstance(value, str) else value
            for key, value in one.arguments.items()
        }
        calls.append({"id": f"call_{i}", "name": one.name, "arguments": json.dumps(arguments)})
    return assistant(calls=calls)


def _matches(pattern: str, values: dict[str, str], text: str) -> list[re.Match[str]]:
    escaped = {name: re.escape(value) for name, value in values.items()}
    return list(re.finditer(_fill(pattern, escaped), text, re.IGNORECASE))


def _fill(text: str, values: dict[str, str]) -> str:
    return PLACE.sub(lambda place: values[place[1]], text)


def _several(patterns: str | Sequence[str]) -> Sequence[str]:
    return [patterns] if isinstance(patterns, str) else patterns


def _texts(then: Say | Use | Sequence[Use]) -> list[str]:
    if isinstance(then, Say):
        return [then.text]
    uses = [then] if isinstance(then, Use) else then
    return [value for one in uses for value in one.arguments.values() if isinstance(value, str)]


def _check_places(text: str, found: set[str]) -> None:
    for name in PLACE.findall(text):
        if name not in found:
            raise CourseError(
                f"the rule uses {{{name}}} in {text!r}, but no pattern before it finds it: "
                f"write (?P<{name}>...) in `asked` or `needs`"
            )


def _names_in(pattern: str) -> set[str]:
    try:
        return set(re.compile(PLACE.sub("x", pattern)).groupindex)
    except re.error as error:
        raise CourseError(f"the pattern {pattern!r} can't be read: {error}") from None


def _as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
