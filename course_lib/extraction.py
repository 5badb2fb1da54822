"""The structured summariser: a six-section note made from messages by rules, without a model.

It follows the rule that a good summary prompt states: copy exact values, shorten narrative. It
reads forms (JSON, sentences, words such as "do not"), not meaning; a model would choose better.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

from course_lib.messages import (
    SUMMARY_MARK,
    SYSTEM_ROLES,
    Call,
    Message,
    calls_of,
    group_indices,
    is_summary,
    text_of,
)
from course_lib.notes import BULLET, Note, fit, merge, parse_note
from course_lib.values import exact_values

SUMMARY_TOKENS = 600  # what a structured note may take
GOAL_LENGTH = 400  # characters of the task that make the goal
GIST_LENGTH = 60  # characters of a result that say how a call came out
SENTENCE_LENGTH = 160  # characters; of a longer sentence only the clauses with values are copied
MOST_LINES = 3  # of a longer text, a log say, only the lines that stand out are copied
MOST_ENTRIES = 5  # of a list in a result; a longer one is a table, and tables are offloaded


def structured(messages: Sequence[Message], cap: int = SUMMARY_TOKENS) -> str:
    """A six-section note of the messages, in at most `cap` tokens, made by rules alone.

    Rules in the words of system and user are copied; each call becomes a line with its outcome;
    exact values keep the few words around them. An earlier note among the messages is merged,
    not summarised again.

    Raises `CapTooSmall` if goal, constraints and next step alone are over the cap.
    """
    earlier = [m for m in messages if is_summary(m)]
    notes = [parse_note(text_of(m).removeprefix(SUMMARY_MARK)) for m in earlier]
    new = note_of([m for m in messages if not is_summary(m)])
    return fit(reduce(merge, [*notes, new], Note()), cap).render()


def note_of(messages: Sequence[Message]) -> Note:
    """The note of some messages, whole. The task is a user message before the first answer."""
    steps = list(steps_of(messages))
    task = next((m for m in messages if m["role"] not in SYSTEM_ROLES), None)
    task = task if task is not None and task["role"] == "user" else None
    asked = [m for m in messages if m["role"] == "user" and m is not task]
    said = [sentence for m in messages if m["role"] == "assistant" for sentence in sentences(m)]
    waiting = [f"{step.call}: no result yet" for step in steps if step.result is None]
    note = Note(
        goal=goal_in(task) if task else "",
        done=[*outcomes(steps), *(f"Asked: {shortened(text_of(m))}" for m in asked)],
        decisions=[sentence for sentence in said if DECISION.search(sentence)],
        open_items=[*waiting, *(sentence for sentence in said if OPEN.search(sentence))],
        next_step=next_step(messages, said),
        constraints=constraints_in(messages),
    )
    told = {*note.decisions, *note.open_items, note.next_step}
    heard = [line for line in facts_said(messages) if line not in told and line not in note.goal]
    return replace(note, facts=[*facts_in_results(steps), *heard])


class Step(NamedTuple):
    """A call in a few words, and its result as text (None if it hasn't come)."""

    name: str
    arguments: str
    result: str | None

    @property
    def call(self) -> str:
        """The call as one text."""
        return f"{self.name} {self.arguments}".strip()


# Rules of the user: a sentence too many costs a few tokens, one too few costs the rule.
RULE = re.compile(
    r"\b(do not|don't|never|must not|mustn't|may not|cannot|can't|without asking|always)\b"
    r"|(^|[,;] |\band )only\b|\bonly (use|read|look|write|answer|if|when|after|with|from)\b"
    r"|\b(use|read|look|write|answer|report|change|search)\b[^.;]*\bonly\b",
    re.IGNORECASE,
)
DECISION = re.compile(
    r"\b(decided?|instead of|rather than|won't|will not|chose|skip|no need to)\b|^not \w+ing\b",
    re.IGNORECASE,
)
OPEN = re.compile(
    r"\b(whether|not yet|still (open|unknown|unclear|missing)|unclear|unknown|pending|to do)\b",
    re.IGNORECASE,
)
NEXT = re.compile(r"(next|now|then|i will|i'll|let me)\b", re.IGNORECASE)
STANDS_OUT = re.compile(r"fact|error|fail|warn|timeout|denied|reject|exception", re.IGNORECASE)
OUTCOMES = ("finding", "status", "outcome", "result", "error", "message", "answer")


def goal_in(task: Message) -> str:
    """The task in the user's words, without its rules; its beginning, if it is long."""
    goal = ""
    for sentence in sentences(task):
        if not RULE.search(sentence) and len(goal) + len(sentence) < GOAL_LENGTH:
            goal = f"{goal} {sentence}".strip()
    return goal or shortened(text_of(task), GOAL_LENGTH)


def constraints_in(messages: Sequence[Message]) -> list[str]:
    """The rules in what system and user said, word for word, each once. Results have no say in it."""
    ruling = [m for m in messages if m["role"] in (*SYSTEM_ROLES, "user")]
    said = (BULLET.sub("", sentence) for m in ruling for sentence in sentences(m))
    return list(dict.fromkeys(sentence for sentence in said if RULE.search(sentence)))


def steps_of(messages: Sequence[Message]) -> Iterator[Step]:
    """The calls with their results, in the order in which they were made."""
    grouping = group_indices(messages, strict=False)
    for group in grouping.groups:
        first, results = messages[group[0]], [messages[i] for i in group[1:]]
        if first["role"] == "tool":
            yield Step("a tool", "", text_of(first))
        for call in calls_of(first):
            answer = next((m for m in results if m.get("tool_call_id") == call.id), None)
            yield Step(str(call.name), argument_text(call), answer and text_of(answer))


def argument_text(call: Call) -> str:
    """The values of a call's arguments, on one line."""
    arguments = parsed(call.arguments) if isinstance(call.arguments, str) else call.arguments
    if not isinstance(arguments, dict):
        return shortened(str(call.arguments or ""))
    return shortened(" ".join(text for _, text in fields(arguments)))


def outcomes(steps: Sequence[Step]) -> list[str]:
    """A line for each call with its outcome; calls of a tool that came out alike share one."""
    alike: dict[tuple[str, str], list[str]] = {}
    for step in steps:
        if step.result is not None:
            alike.setdefault((step.name, gist(step.result)), []).append(step.arguments)
    return [
        f"{name} {', '.join(filter(None, arguments))}".strip() + f": {outcome}"
        for (name, outcome), arguments in alike.items()
    ]


def gist(result: str) -> str:
    """How a call came out, in a few words."""
    value = parsed(result)
    if isinstance(value, dict):
        named = (value[key] for key in OUTCOMES if isinstance(value.get(key), str | int | float))
        return shortened(str(next(named, "ok")))
    return "a list" if isinstance(value, list) else shortened(result) or "nothing"


def facts_in_results(steps: Sequence[Step]) -> Iterator[str]:
    """The exact values in the results. An outcome that came often stands in `done` only."""
    times = Counter(gist(step.result) for step in steps if step.result)
    often = {outcome for outcome, n in times.items() if n > 1}
    for step in steps:
        value = parsed(step.result or "")
        facts = text_facts(step.result or "") if value is None else named_facts(step, value, often)
        yield from (fact for fact in facts if fact not in often)


def named_facts(step: Step, value: Any, often: set[str]) -> Iterator[str]:
    """The short values of a JSON result with their names, in one line, and what its texts tell."""
    known = {step.arguments, *often}
    new = [(name, text) for name, text in fields(value) if text not in known]
    short = [f"{name} {quoted(text)}".strip() for name, text in new if is_short(text)]
    if short:
        yield f"{step.call}: {', '.join(short)}"
    for _, text in new:
        yield from () if is_short(text) else telling(text)


def text_facts(result: str) -> list[str]:
    """What a result tells, but for the first line of several: a title, which stands in `done`."""
    lines = list(telling(result))
    return lines[1:] if len(lines) > 1 and lines[0] == gist(result) else lines


def facts_said(messages: Sequence[Message]) -> Iterator[str]:
    """What user and model said with an exact value in it; no rules, no questions of the model."""
    for message in messages:
        if message["role"] in ("user", "assistant"):
            lines = [line for line in telling(text_of(message)) if not RULE.search(line)]
            # A question of the user's may be the only place of a value; the model's own tell nothing.
            asking = message["role"] == "assistant"
            yield from (line for line in lines if not (asking and line.endswith("?")))


def telling(text: str) -> Iterator[str]:
    """The sentences or clauses with an exact value; of a long text those that stand out."""
    parts = split(text)
    for sentence in parts:
        if len(parts) > MOST_LINES and not STANDS_OUT.search(sentence[:SENTENCE_LENGTH]):
            continue
        clauses = re.split(r"(?<=[,;]) ", sentence)
        for part in [sentence] if is_short(sentence) else clauses:
            if is_short(part) and exact_values(part):
                yield part


def next_step(messages: Sequence[Message], said: Sequence[str]) -> str:
    """The very next action: the question that waits, what the model announced, or where it was."""
    if messages and messages[-1]["role"] == "user":
        return f"Answer: {shortened(text_of(messages[-1]), SENTENCE_LENGTH)}"
    announced = [sentence for sentence in said if NEXT.match(sentence)]
    if announced:
        return announced[-1]
    last = next((step for step in reversed(list(steps_of(messages)))), None)
    return f"Go on after {last.call}." if last else ""


# ---- texts ----------------------------------------------------------------------------------


def fields(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The named values of a parsed JSON text, as texts; nothing of a list that is a table."""
    if isinstance(value, dict):
        for inner_name, inner in value.items():
            yield from fields(inner, inner_name)
    elif isinstance(value, list):
        for inner in value if len(value) <= MOST_ENTRIES else ():
            yield from fields(inner, name)
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value)


def is_short(text: str) -> bool:
    """True for one line of a sentence's length."""
    return len(text) <= SENTENCE_LENGTH and "\n" not in text


def quoted(text: str) -> str:
    """The text, in quotation marks if it has several words."""
    return f'"{text}"' if " " in text else text


def parsed(text: str) -> Any:
    """The value of a JSON object or list, or None."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def sentences(message: Message) -> list[str]:
    """The sentences of a message, word for word."""
    return split(text_of(message))


def split(text: str) -> list[str]:
    """The sentences or lines of a text."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", text) if part.strip()]


def shortened(text: str, length: int = GIST_LENGTH) -> str:
    """The first line of a text, cut between two words if it is longer."""
    line = next(iter(text.strip().splitlines()), "").strip()
    if len(line) <= length:
        return line
    return f"{line[: length + 1].rsplit(None, 1)[0]} …" if " " in line[: length + 1] else "…"
