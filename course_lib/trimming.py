"""Policies that keep a message list within a budget, and the steps that they are made of.

A policy is a function from messages to messages. It remembers nothing outside the list: a pin
is a mark on a message, a summary is a marked message. What is dropped here is dropped from the
prompt only; keep the whole transcript elsewhere.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from course_lib.messages import (
    HEAD,
    SUMMARY_MARK,
    BudgetTooSmall,
    Call,
    CourseError,
    Grouping,
    Message,
    calls_of,
    check_shapes,
    group_indices,
    is_summary,
    text_of,
    user,
)
from course_lib.tokens import cost_of, count_tokens

Policy = Callable[[list[Message]], list[Message]]
Summarize = Callable[[list[Message]], str]
Count = Callable[..., int]

NO_LIMIT = sys.maxsize

log = logging.getLogger("course_lib")


class Trimmed(NamedTuple):
    """What `trim` returns: the new list, and how many groups were dropped from it."""

    messages: list[Message]
    dropped: int


def trim(
    messages: Sequence[Message],
    budget: int,
    summarize: Summarize | None = None,
    *,
    low: int | None = None,
    high: int | None = None,
    count: Count = count_tokens,
    pinned: Iterable[int] = (),
    tools: Sequence[dict[str, Any]] | None = None,
    reserve: int = 0,
) -> Trimmed:
    """Drop the oldest turn groups, whole, when a request is over its budget.

    Up to `high` (the budget, unless you say otherwise) the list comes back as it is. Above it,
    groups go until `low` is reached, and `summarize` may leave a note in their place. The head,
    pinned groups, open calls and the newest group always stay. Sizes are in tokens, or in
    whatever `count` counts; they include the schemas of `tools` and a `reserve` for the answer.

    Raises `BudgetTooSmall` if what must stay doesn't fit, `BadMessage` for a broken message.
    """
    high, low = water_marks(budget, high, low)
    parts = take_apart(messages, count, pinned, tools, reserve)
    if parts.floor > budget:
        raise BudgetTooSmall(budget, parts.sizes)
    cut = parts.cut_for(high)
    if cut == 0:
        return Trimmed(list(messages), 0)
    if low < high:
        cut = parts.cut_for(low)
    if summarize is None:
        return parts.without(cut)
    return summarise_before(cut, parts, low, budget, summarize)


def summarise_before(
    cut: int, parts: Parts, low: int, budget: int, summarize: Summarize
) -> Trimmed:
    """Put one note in the place of the groups before `cut` and of the summary before it.

    The note takes room itself, so more groups may have to go, and then it is written again. It
    is refused if it isn't smaller than what it replaces. A summariser that fails, or says
    nothing, leaves the messages as they were.
    """
    plain = cut
    while True:
        text = written_note(summarize, parts.old_messages(cut))
        if not text:
            return Trimmed(list(parts.messages), 0)
        note = fold([parts.messages[i] for i in parts.summaries], text)
        growth = parts.growth(note)
        if growth >= parts.cost_before(cut) or parts.floor + growth > budget:
            log.info("the summary is no smaller than what it replaces, or too big: left out")
            return parts.without(plain)
        enough = parts.cut_for(low - growth)
        if enough <= cut:
            return parts.without(cut, note)
        cut = enough


def fold(summaries: Sequence[Message], text: str) -> Message:
    """One summary message: the earlier notes word for word, then the new one."""
    earlier = [text_of(m).removeprefix(SUMMARY_MARK).strip() for m in summaries]
    return user(f"{SUMMARY_MARK} " + "\n".join([*earlier, text]))


def written_note(summarize: Summarize, dropped: list[Message]) -> str:
    """What the summariser says of the dropped messages, or nothing if it fails."""
    try:
        text = summarize(dropped)
    except Exception as error:  # a summariser is often a model call, and may fail in any way
        log.warning("the summariser failed (%s: %s): nothing dropped", type(error).__name__, error)
        return ""
    if not isinstance(text, str) or not text.strip():
        log.warning("the summariser returned no text: nothing dropped")
        return ""
    return text.strip()


def water_marks(budget: int, high: int | None, low: int | None) -> tuple[int, int]:
    """The two marks in order: low <= high <= budget. Raises `CourseError` if they aren't."""
    high = budget if high is None else high
    low = high if low is None else low
    if any(isinstance(mark, float) and 0 < mark <= 1 < budget for mark in (high, low)):
        raise CourseError(
            f"high {high} and low {low} are sizes here, as the budget is: {budget:,} at most. "
            "Shares of the budget, such as 0.8, are for high_low()."
        )
    if budget <= 0 or not 0 <= low <= high <= budget:
        raise CourseError(
            f"low {low:,}, high {high:,} and budget {budget:,} must be in this order: "
            "0 <= low <= high <= budget, and the budget above 0"
        )
    return high, low


# ---- a request taken apart ------------------------------------------------------------------


@dataclass(frozen=True)
class Parts:
    """A request taken apart: what must stay, and the old groups that may go, oldest first."""

    messages: Sequence[Message]
    grouping: Grouping
    stays: list[int]  # indices of the messages that must stay
    old: list[int]  # the numbers of the groups that may go
    summaries: list[int]  # indices of the summaries that earlier trims left
    after_head: int  # a summary is put before this index
    cost: Callable[[Iterable[int]], int]
    sizes: dict[str, int]  # what must stay, part by part
    count: Count

    @property
    def floor(self) -> int:
        """The size of all that must stay."""
        return sum(self.sizes.values())

    def cut_for(self, size: int) -> int:
        """How many of the oldest groups must go to get to `size`. Counts from the newest back."""
        room = size - self.floor
        for cut in range(len(self.old), 0, -1):
            room -= self.cost(self.grouping.group(self.old[cut - 1]))
            if room < 0:
                return cut
        return 0

    def old_messages(self, cut: int) -> list[Message]:
        """The messages of the groups before the cut, in the order of the transcript."""
        return [self.messages[i] for i in self._indices(self.old[:cut])]

    def cost_before(self, cut: int) -> int:
        """The size of the groups before the cut."""
        return self.cost(self._indices(self.old[:cut]))

    def _indices(self, groups: Iterable[int]) -> list[int]:
        return sorted(i for at in groups for i in self.grouping.group(at))

    def growth(self, note: Message) -> int:
        """What the note adds, less the summaries that it replaces."""
        return self.count([note]) - self.count([]) - self.cost(self.summaries)

    def without(self, cut: int, note: Message | None = None) -> Trimmed:
        """The messages without the groups before the cut, with the note behind the head."""
        keep = sorted([*self.stays, *self._indices(self.old[cut:])])
        if note is not None:
            keep = [i for i in keep if i not in self.summaries]
        place = min(self.summaries, default=self.after_head)
        before = [self.messages[i] for i in keep if i < place]
        after = [self.messages[i] for i in keep if i >= place]
        return Trimmed([*before, *([note] if note else []), *after], cut)


def take_apart(
    messages: Sequence[Message],
    count: Count = count_tokens,
    pinned: Iterable[int] = (),
    tools: Sequence[dict[str, Any]] | None = None,
    reserve: int = 0,
) -> Parts:
    """Sort the turn groups into those that must stay and those that may go."""
    if reserve < 0:
        raise CourseError(f"the reserve for the answer is {reserve:,}: it can't be below 0")
    grouping = group_indices(messages)
    cost = cost_of(messages, count)
    try:
        reasons = reasons_to_stay(messages, grouping, pinned)
    except AttributeError:
        check_shapes(messages)
        raise
    sizes = {
        "framing and tools": count([], tools=tools) if tools else count([]),
        "the answer's reserve": reserve,
        "the head": cost(grouping.head),
    }
    stays, summaries = list(grouping.head), []
    for at, reason in sorted(reasons.items()):
        stays += grouping.group(at)
        summaries += grouping.group(at) if reason == "the summary" else []
        sizes[reason] = sizes.get(reason, 0) + cost(grouping.group(at))
    old = [at for at in range(len(grouping)) if at not in reasons]
    after_head = max(grouping.head, default=-1) + 1
    return Parts(messages, grouping, stays, old, summaries, after_head, cost, sizes, count)


def reasons_to_stay(
    messages: Sequence[Message], grouping: Grouping, pinned: Iterable[int] = ()
) -> dict[int, str]:
    """For each group that must stay, by its number, why."""
    reasons = dict.fromkeys(grouping.open, "open calls")
    for i in [i for i, m in enumerate(messages) if m["role"] == "user" or "pinned" in m]:
        if messages[i].get("pinned"):
            reasons[grouping.group_of(i)] = "pinned groups"
        elif is_summary(messages[i]):
            reasons[grouping.group_of(i)] = "the summary"
    reasons |= dict.fromkeys(checked_pins(pinned, len(grouping)), "pinned groups")
    reasons |= dict.fromkeys(newest_groups(grouping), "the newest group")
    reasons.pop(HEAD, None)
    return reasons


def newest_groups(grouping: Grouping) -> set[int]:
    """The last group, and that of the last message, which may be an older one: both are new."""
    return {len(grouping) - 1, grouping.group_of(grouping.length - 1)} - {HEAD}


def checked_pins(pinned: Iterable[int], groups: int) -> set[int]:
    """The pinned group numbers. Raises `CourseError` for a group that isn't there."""
    pins = set(pinned)
    for at in pins:
        if not 0 <= at < groups:
            raise CourseError(f"there is no group {at} to pin: the {groups} groups count from 0")
    return pins


# ---- policies -------------------------------------------------------------------------------


def append_all() -> Policy:
    """The policy that manages nothing: everything is sent on each call."""
    return list


def sliding_window(groups: int, summarize: Summarize | None = None) -> Policy:
    """Keep the head, what is pinned, and the newest `groups` turn groups.

    Raises `CourseError` if `groups` isn't at least 1.
    """
    if groups < 1:
        raise CourseError(f"a window of {groups} groups is empty: the newest group always stays")

    def policy(messages: list[Message]) -> list[Message]:
        parts = take_apart(messages)
        cut = sum(at < len(parts.grouping) - groups for at in parts.old)
        if cut == 0:
            return list(messages)
        if summarize is None:
            return parts.without(cut).messages
        return summarise_before(cut, parts, NO_LIMIT, NO_LIMIT, summarize).messages

    return policy


def rolling_summary(every: int, ratio: float = 10, summarize: Summarize | None = None) -> Policy:
    """Every `every` groups, put a note in the place of all but the newest.

    The note has at most one token for each `ratio` tokens that it replaces. Without a
    `summarize`, it is the first words of each dropped message.

    Raises `CourseError` if `every` or `ratio` is below 1.
    """
    if every < 1 or ratio < 1:
        raise CourseError(f"every {every} groups, {ratio} to one: both must be at least 1")

    def policy(messages: list[Message]) -> list[Message]:
        parts = take_apart(messages)
        cut = len(parts.old)
        if cut < every:
            return list(messages)
        room = math.floor(parts.cost_before(cut) / ratio)

        def note(dropped: list[Message]) -> str:
            text = summarize(dropped) if summarize else first_words(dropped, ratio)
            short = shorten(user(text), room) if isinstance(text, str) else user("")
            return text_of(short) if count_tokens(short) <= room else ""

        return summarise_before(cut, parts, NO_LIMIT, NO_LIMIT, note).messages

    return policy


def first_words(dropped: Sequence[Message], ratio: float) -> str:
    """The beginning of each message: one word of it for each `ratio` words."""
    texts = [text_of(m).split() for m in dropped]
    return "\n".join(" ".join(words[: math.ceil(len(words) / ratio)]) for words in texts if words)


def mask_results(keep: int = 3) -> Policy:
    """Replace results by a line that says what they were; all but the newest `keep` of them.

    The calls stay, so the model still knows what it did. Pinned groups and the newest group keep
    their results. Costs no model call. Sources: Anthropic's tool result clearing, SWE-agent's
    history processors, arXiv 2508.21433.

    Raises `CourseError` if `keep` is below 0.
    """
    if keep < 0:
        raise CourseError(f"can't keep {keep} results: 0 or more")

    def policy(messages: list[Message]) -> list[Message]:
        grouping = group_indices(messages)
        stay = reasons_to_stay(messages, grouping)
        results = [i for i, m in enumerate(messages) if m["role"] == "tool"]
        masked = list(messages)
        for i in results[: max(0, len(results) - keep)]:
            at = grouping.group_of(i)
            if at not in stay and not text_of(messages[i]).endswith(LEFT_OUT):
                group = [messages[n] for n in grouping.group(at)]
                masked[i] = breadcrumb(messages[i], answered_call(group, messages[i]))
        return masked

    return policy


LEFT_OUT = "left out; call again to read it]"


def breadcrumb(result: Message, call: Call | None) -> Message:
    """A copy of the result with one line for its text, or the result itself if that is smaller."""
    text = text_of(result)
    what = f"{call.name} {call.arguments}" if call else "a tool"
    masked = {**result, "content": f"[result of {what}, {len(text):,} characters, {LEFT_OUT}"}
    is_smaller = count_tokens(masked) < count_tokens(result)
    return masked if is_smaller else result


def answered_call(group: list[Message], result: Message) -> Call | None:
    """The call of the group that a result answers: by id, or by its place where ids are missing."""
    asked, *answers = group
    calls, id = calls_of(asked), result.get("tool_call_id")
    if id is not None:
        return next((call for call in calls if call.id == id), None)
    place = next((n for n, answer in enumerate(answers) if answer is result), len(calls))
    return calls[place] if place < len(calls) else None


def high_low(
    budget: int,
    high: float = 0.8,
    low: float = 0.5,
    summarize: Summarize | None = None,
    *,
    count: Count = count_tokens,
    tools: Sequence[dict[str, Any]] | None = None,
    reserve: int = 0,
) -> Policy:
    """Trim only above `high`, a share of the budget, and then down to `low`, another share.

    Raises `CourseError` unless 0 < low <= high <= 1.
    """
    if not 0 < low <= high <= 1:
        raise CourseError(
            f"low {low} and high {high} are shares of the budget: 0 < low <= high <= 1"
        )
    marks = {"high": _share(high, budget), "low": _share(low, budget)}

    def policy(messages: list[Message]) -> list[Message]:
        return trim(
            messages, budget, summarize, **marks, count=count, tools=tools, reserve=reserve
        ).messages

    return policy


def _share(part: float, budget: int) -> int:
    # 0.29 * 100 is 28.999999999999996 to a computer, and 29 to everybody else.
    return math.floor(round(part * budget, 6))


# ---- the newest result alone is too big -----------------------------------------------------


def shrink_newest(
    messages: Sequence[Message],
    budget: int,
    *,
    tools: Sequence[dict[str, Any]] | None = None,
    reserve: int = 0,
    pinned: Iterable[int] = (),
) -> list[Message]:
    """Shorten the results of the newest group until what must stay fits in the budget.

    The cut is marked in the text, with its size, so that the model knows that something is
    missing. Nothing else changes: call `trim` with the list that comes back. Tokens only.

    Raises `BudgetTooSmall` if even empty results wouldn't do.
    """
    parts = take_apart(messages, count_tokens, pinned, tools, reserve)
    over = parts.floor - budget
    newest = [i for at in newest_groups(parts.grouping) for i in parts.grouping.group(at)]
    results = [i for i in newest if messages[i]["role"] == "tool"]
    shorter = list(messages)
    for i in sorted(results, key=lambda i: -parts.cost([i])):
        if over > 0:
            shorter[i] = shorten(messages[i], max(0, parts.cost([i]) - over))
            over -= parts.cost([i]) - count_tokens(shorter[i])
    if over > 0:
        sizes = take_apart(shorter, count_tokens, pinned, tools, reserve).sizes
        raise BudgetTooSmall(budget, sizes)
    return shorter


def shorten(message: Message, tokens: int) -> Message:
    """A copy of the message, its text cut to cost at most `tokens`, or as little as it can."""
    text = text_of(message)
    if count_tokens(message) <= tokens:
        return message
    fits, too_long = 0, len(text) + 1
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if count_tokens(_cut(message, text, middle)) <= tokens:
            fits = middle
        else:
            too_long = middle
    cut = _cut(message, text, fits)
    return cut if count_tokens(cut) < count_tokens(message) else message


def _cut(message: Message, text: str, length: int) -> Message:
    gone = len(text) - length
    what = f"{gone:,} characters" if gone else "what was not text"
    return {**message, "content": f"{text[:length]}\n[{what} cut here]"}
