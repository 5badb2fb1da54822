"""The audit: which exact values a summary kept, which it lost, and which it invented."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from course_lib.messages import Message, calls_of, text_of
from course_lib.values import bare_number, exact_values, normal_form, plain_words


class Audit(NamedTuple):
    """Exact values as they are written: `kept` and `lost` of the source, and what is `invented`."""

    kept: list[str]
    lost: list[str]
    invented: list[str]

    def __str__(self) -> str:
        return "\n".join(
            f"{name}: {', '.join(values) or 'none'}" for name, values in self._asdict().items()
        )


def audit(source: str | Sequence[Message], summary: str) -> Audit:
    """Compare a summary with what it stands for: a text, or messages with their tool calls.

    Spelling makes no difference (48,000 is 48000, 10 percent is 10 %), and a figure may lose or
    gain its unit, but not change it. *Invented* is in the summary and nowhere in the source: it
    also catches what the summary computed, which may well be right. An audit sees values, not
    claims: "8841 was paid" passes if 8841 was in the source.
    """
    read = Known([source] if isinstance(source, str) else texts_of(source))
    written = Known([summary])
    kept, lost = [], []
    for value in read.values:
        (kept if value in written else lost).append(value)
    return Audit(kept, lost, [value for value in written.values if value not in read])


def texts_of(messages: Sequence[Message]) -> list[str]:
    """All that the model could read in the messages: their texts, and what it called tools with."""
    texts = []
    for message in messages:
        texts.append(text_of(message))
        for call in calls_of(message):
            texts += [str(call.name or ""), str(call.arguments or "")]
    return texts


class Known:
    """The exact values of some texts. `value in known` asks for it however it is spelt."""

    def __init__(self, texts: Sequence[str]) -> None:
        found: dict[str, str] = {}
        for text in texts:
            for value in exact_values(text):
                found.setdefault(normal_form(value), value)
        self.values = list(found.values())
        words = [word for text in texts for word in plain_words(text)]
        self._text = f" {' '.join(words)} "
        self._forms = {*found, *words}
        self._numbers = {number for form in found if (number := bare_number(form))}

    def __contains__(self, value: str) -> bool:
        form = normal_form(value)
        number = bare_number(form)
        return (
            form in self._forms
            or form in self._numbers
            or (len(number) >= 3 and number in self._forms)
            or (" " in form and f" {' '.join(plain_words(value))} " in self._text)
        )
