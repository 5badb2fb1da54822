"""Reuse: the exact values that a call uses and that came from earlier text.

An agent can only go on from what it still sees. Each identifier, figure, date or path in a call
that stood earlier in the run is a *reuse*, and its *distance* says how many turn groups back it
had last been seen: a window of fewer groups would have missed it. As in paging, one list of
distances tells what every window would have missed.

What counts as a value is decided by `exact_values`, text by text of the arguments, so a word such
as "economy" doesn't count, nor does a number under 100. A whole argument of several words (a
name, a title) counts as well, if it was read somewhere. What stands in more than half of the turn
groups, or among the choices of a tool's schema, doesn't: nobody comes back for what is everywhere.

On the hand-labelled calls in `tests/labelled_reuse.py`, the precision of this rule is 0.96 and its
recall 0.89.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any, NamedTuple

from course_lib.messages import (
    HEAD,
    Grouping,
    Message,
    calls_of,
    group_indices,
    is_summary,
    text_of,
)
from course_lib.replay import Run
from course_lib.tokens import count_text
from course_lib.values import bare_number, exact_values, normal_form

EVERYWHERE = 0.5  # the share of the groups from which on a value is everywhere
FEW_GROUPS = 8  # in a shorter run nothing is everywhere
_AS_WRITTEN = json.JSONDecoder(parse_int=str, parse_float=str)  # 48.00 stays 48.00
_LINES = re.compile(r"(?<=\n)(?=[-#])")
_LINE_NUMBERS = re.compile(r"(?<=\w)(?::\d+){1,2}$")


class Use(NamedTuple):
    """A value that a call uses and that stood earlier, and where. Groups count from 0, as pins do."""

    value: str  # as it is written where it is used
    call: int  # which call of the model, counted from 1, as in a replay
    group: int  # the turn group of that call
    first: int  # the group in which it first stood, or HEAD
    last: int  # the newest group before the call in which it stood, or HEAD
    distance: int  # groups from there to the call; 0 for what stands in the head, which stays
    source: int  # the index of the message in which it first stood
    in_answer: bool  # in the answer's text only, not in a call's arguments


class Pin(NamedTuple):
    """A value worth pinning: what a window would miss, how often, and what keeping it costs."""

    value: str
    group: int  # where it first stood
    source: int  # the message
    missed: int  # uses that lie further back than the window
    distance: int  # the longest of them
    tokens: int


@dataclass(frozen=True)
class Reuse:
    """All reuses of a run, in order, and how many turn groups the run has."""

    uses: tuple[Use, ...]
    groups: int
    texts: frozenset[str] = field(default=frozenset(), repr=False, compare=False)  # of the run

    def missed(self, window: int) -> float:
        """The share of the uses, from 0 to 1, that a window of so many groups would have missed."""
        far = sum(use.distance > window for use in self.uses)
        return far / len(self.uses) if self.uses else 0.0

    def curve(self) -> list[float]:
        """`missed` for each window from 0 to all groups, in one pass over the distances."""
        if not self.uses:
            return [0.0] * (self.groups + 1)
        near = Counter(use.distance for use in self.uses)
        seen = accumulate(near[window] for window in range(self.groups + 1))
        return [1 - count / len(self.uses) for count in seen]

    def working_set(self) -> list[int]:
        """For each group, how many values stand in it or before it and will be used after it."""
        first = {key(use): use.first for use in self.uses if use.first != HEAD}
        last = {key(use): use.group for use in self.uses}
        change = [0] * (self.groups + 1)
        for value, start in first.items():
            change[start] += 1
            change[last[value]] -= 1
        return list(accumulate(change[: self.groups]))

    def pins(self, window: int, most: int = 10) -> list[Pin]:
        """The values that a window of so many groups misses most often; at most `most` of them.

        Of two that are missed equally often, the one with fewer tokens comes first. Half of another
        value (2AB of LS6 2AB) is left out.
        """
        far: dict[tuple[int, str], list[Use]] = defaultdict(list)
        for use in self.uses:
            if use.distance > window:
                far[key(use)].append(use)
        halves = {part for _, value in far if " " in value for part in value.split()}
        pins = [_pin(uses) for (_, value), uses in far.items() if value not in halves]
        return sorted(pins, key=lambda pin: (-pin.missed, pin.tokens, pin.source))[:most]

    def missed_by(self, run: Run) -> list[Use]:
        """The uses whose value didn't stand in the prompt of their call, under a replayed policy.

        Raises `ValueError` if the run isn't a replay of the same transcript.
        """
        if self.uses and self.uses[-1].call > len(run.rows):
            raise ValueError(f"the replay has {len(run.rows)} calls, and a use is in a later one")
        seen, missed = _Seen(self.texts), []
        for use in self.uses:
            seen.go_on(run.rows[use.call - 1].prompt)
            if not seen.has(use.value):
                missed.append(use)
        return missed


def key(use: Use) -> tuple[int, str]:
    """What makes two uses uses of the same value, however it is spelt."""
    return use.source, normal_form(use.value)


def _pin(uses: Sequence[Use]) -> Pin:
    use = uses[0]
    furthest = max(each.distance for each in uses)
    return Pin(use.value, use.first, use.source, len(uses), furthest, count_text(use.value))


def reuse(
    messages: Sequence[Message],
    answers: bool = False,
    tools: Sequence[dict[str, Any]] | None = None,
) -> Reuse:
    """For each call, the exact values in its arguments that stood in earlier text.

    With `answers`, those in the text of the model's messages count as well. A value counts once
    for each call. The text of a call itself is earlier text for the calls after it. What the
    schemas of `tools` offer as a choice (an enum) is no value: it is sent with every call.
    """
    grouping = group_indices(messages, strict=False)
    at = _groups_of(messages, grouping)
    forms = [forms_of(message) for message in messages]
    spread = _everywhere(forms, at, len(grouping)) | {normal_form(each) for each in enums(tools)}
    first: dict[str, tuple[int, int]] = {}  # form: group and message
    last: dict[str, int] = {}
    uses, call = [], 0
    for i, message in enumerate(messages):
        group = at[i]
        if message["role"] == "assistant":
            call += 1
            for form, value, in_answer in _used(message, answers):
                if form in first and form not in spread:
                    start, source = first[form]
                    distance = 0 if start == HEAD else group - last[form]
                    uses.append(
                        Use(value, call, group, start, last[form], distance, source, in_answer)
                    )
        for form in forms[i]:
            first.setdefault(form, (group, i))
            last[form] = group
    texts = frozenset(filter(None, map(text_of, messages)))
    return Reuse(tuple(uses), len(grouping), texts)


def _groups_of(messages: Sequence[Message], grouping: Grouping) -> list[int]:
    """For each message the turn group that it belongs to, or HEAD."""
    head = set(grouping.head)
    return [HEAD if i in head else grouping.group_of(i) for i in range(len(messages))]


# ---- which values ---------------------------------------------------------------------------


def forms_of(message: Message) -> frozenset[str]:
    """The normal forms of all exact values in a message: in its text, and in its calls.

    A whole argument of an earlier call is no value: a command that is given again wasn't read.
    """
    arguments = [text for call in calls_of(message) for text in argument_texts(call.arguments)]
    said = _note_forms(text_of(message)) if is_summary(message) else _forms(text_of(message))
    return said.union(*map(_forms, arguments)) if arguments else said


def enums(schema: Any) -> Iterator[str]:
    """The texts that a schema offers as a choice, however deep they are."""
    if isinstance(schema, dict):
        choices = schema.get("enum")
        yield from (each for each in choices or () if isinstance(each, str))
        schema = schema.values()
    if not isinstance(schema, str) and isinstance(schema, Iterable):
        for part in schema:
            yield from enums(part)


@lru_cache(maxsize=2**15)
def _forms(text: str) -> frozenset[str]:
    return frozenset(form for value in _values_in(text) for form in spellings(value))


def _note_forms(text: str) -> frozenset[str]:
    """Those of a summary, line by line: it goes on from the one before it, whose lines are known.

    No value reaches over the end of a line into one that begins with a dash or a heading's mark.
    """
    return frozenset().union(*map(_forms, _LINES.split(text)))


@lru_cache(maxsize=2**15)
def _values_in(text: str) -> tuple[str, ...]:
    return tuple(exact_values(text))


def spellings(value: str) -> Iterator[str]:
    """The normal form, and what may be used of it alone: 48,000 of "48,000 euros", a.py of a.py:88."""
    form = normal_form(value)
    yield form
    number = bare_number(form)
    if len(number) >= 3:
        yield number
    path = _LINE_NUMBERS.sub("", form)
    if path != form and exact_values(path):
        yield path


def _used(message: Message, answers: bool) -> Iterator[tuple[str, str, bool]]:
    """The form and the text of each value that a message uses, and whether only its text does."""
    used: dict[str, tuple[str, bool]] = {}
    for call in calls_of(message):
        for text in argument_texts(call.arguments):
            found = list(_values_in(text))
            if " " in text.strip() and len(text) <= 60 and "\n" not in text:
                found.append(text.strip())
            for value in found:
                used.setdefault(normal_form(value), (value, False))
    if answers:
        for value in _values_in(text_of(message)):
            used.setdefault(normal_form(value), (value, True))
    return ((form, *rest) for form, rest in used.items())


def argument_texts(arguments: Any) -> list[str]:
    """The texts and numbers in a call's arguments, JSON or not, however deep they are."""
    if isinstance(arguments, str):
        if arguments.lstrip()[:1] not in ("{", "["):
            return [arguments]
        try:
            return argument_texts(_AS_WRITTEN.decode(arguments))
        except (ValueError, RecursionError):
            return [arguments]
    if isinstance(arguments, dict | list):
        parts = arguments.values() if isinstance(arguments, dict) else arguments
        return [text for part in parts for text in argument_texts(part)]
    return [] if arguments is None or isinstance(arguments, bool) else [str(arguments)]


def _everywhere(forms: Sequence[frozenset[str]], at: Sequence[int], groups: int) -> set[str]:
    """The forms that stand in more than half of the turn groups."""
    if groups < FEW_GROUPS:
        return set()
    held: dict[int, set[str]] = defaultdict(set)
    for group, found in zip(at, forms, strict=True):
        if group != HEAD:
            held[group] |= found
    spread = Counter(chain.from_iterable(held.values()))
    return {form for form, where in spread.items() if where > EVERYWHERE * groups}


class _Seen:
    """Whether a value stands in the prompt of the moment; from call to call only changes count.

    `texts` are those of the run itself; what a policy wrote is searched for the value as it is.
    """

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = texts
        self._prompt: list[Message] = []
        # By identity: messages are kept, so that an id stays that message's own.
        self._kept: dict[int, tuple[Message, frozenset[str]]] = {}
        self._counts: Counter[str] = Counter()
        self._written: Counter[str] = Counter()

    def go_on(self, prompt: list[Message]) -> None:
        """Take the prompt of a later call."""
        if prompt is self._prompt:
            return
        before, self._prompt = self._prompt, prompt
        if prompt[: len(before)] == before:  # it has only grown, as most do
            gone, come = [], prompt[len(before) :]
        else:
            old, now = ({id(m): m for m in each} for each in (before, prompt))
            gone = [m for at, m in old.items() if at not in now]
            come = [m for at, m in now.items() if at not in old]
        for message in gone:
            self._counts.subtract(self._forms(message))
            self._note(text_of(message), -1)
        for message in come:
            self._counts.update(self._forms(message))
            self._note(text_of(message), 1)

    def _note(self, text: str, more: int) -> None:
        if text not in self._texts:
            self._written[text] += more
            if not self._written[text]:
                del self._written[text]

    def has(self, value: str) -> bool:
        """Whether it stands there: as a value, or as it is in what a policy wrote."""
        if self._counts[normal_form(value)] > 0:
            return True
        # A note may hold a value without what marks it elsewhere: a name, a title, a postcode.
        return any(_stands_in(value, text) for text in self._written)

    def _forms(self, message: Message) -> frozenset[str]:
        known = self._kept.get(id(message))
        if known is None:
            known = self._kept[id(message)] = (message, forms_of(message))
        return known[1]


def _stands_in(value: str, text: str) -> bool:
    """Whether the words of the value stand in the text, whatever the case of their letters."""
    if value.casefold() not in _small(text):  # most don't, and this is quicker
        return False
    return bool(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE))


@lru_cache(maxsize=8)
def _small(text: str) -> str:
    return text.casefold()
