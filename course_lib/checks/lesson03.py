"""Lesson 3, Trim without breaking: its exercises and its predictions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from course_lib.checks.exercises import Exercise, NumberQuestion, Question, expect
from course_lib.messages import (
    SUMMARY_MARK,
    Message,
    assistant,
    is_summary,
    size,
    system,
    text_of,
    tool_call,
    tool_result,
    turn_groups,
    user,
    validate,
)
from course_lib.replay import replay
from course_lib.samples import incident
from course_lib.tokens import count_tokens
from course_lib.trimming import trim

WORDS = [
    *("timeout", "retry", "batch", "export", "lock", "vacuum"),
    *("deploy", "queue", "worker", "row", "index", "commit"),
]


def made_run(rng: Random, steps: int, parallel: bool = False) -> list[Message]:
    """A short run with results of different sizes; with `parallel`, some answers ask twice."""
    messages = [system("You watch the export job."), user("Find out why it is slow.")]
    for i in range(steps):
        ids = [f"r{i}"] + ([f"r{i}b"] if parallel and i % 3 == 1 else [])
        messages.append(assistant(calls=[tool_call(id, "search_logs", page=i) for id in ids]))
        messages += [
            tool_result(id, " ".join(rng.choices(WORDS, k=rng.randint(10, 60)))) for id in ids
        ]
    return messages


def whole_groups(before: Sequence[Message], after: Sequence[Message]) -> bool:
    """True if `after` holds the head of `before` and whole groups of it, in their order."""
    head, groups = turn_groups(before)
    rest = list(after[len(head) :])
    if list(after[: len(head)]) != head:
        return False
    for group in groups:
        if rest[: len(group)] == group:
            rest = rest[len(group) :]
    return not rest


# ---- 1: a compact range ---------------------------------------------------------------------

HOUR_RANGES = Exercise(
    "hour_ranges",
    title="Say which hours were searched, in a few characters",
    lesson=3,
    minutes=8,
    points=2,
    returns=str,
    hints=(
        "Two hours belong to the same range when the second comes right after the first.",
        "Walk through the sorted hours and keep a list of [first, last] pairs. If an hour follows "
        "the last one of the newest pair, move that end; otherwise start a new pair.",
        "ranges = []\n"
        "for hour in sorted(set(int(h[:2]) for h in hours)):\n"
        "    if ranges and hour == ranges[-1][1] + 1: ...   # move the end\n"
        "    else: ...                                      # start a pair\n"
        "then write each pair as one hour, or as first–last, joined by ', '",
    ),
)


def _hours(numbers: Sequence[int]) -> list[str]:
    return [f"{n:02d}:00" for n in numbers]


def _read_ranges(text: str) -> list[tuple[int, int]]:
    """The ranges in a text, as pairs of hours; an empty list where it can't be read."""
    pairs = []
    for part in filter(None, re.split(r"\s*,\s*", text.strip())):
        match = re.fullmatch(r"(\d\d):00(?:\s*[–-]\s*(\d\d):00)?", part)
        if not match:
            return []
        pairs.append((int(match[1]), int(match[2] or match[1])))
    return pairs


@HOUR_RANGES.property("hours in a row are one range")
def _one_range(hour_ranges: Callable[[list[str]], str]) -> None:
    text = hour_ranges(_hours(range(9)))
    expect(
        bool(_read_ranges(text)), "Write hours as 00:00, a range as 00:00–08:00, commas between."
    )
    expect(_read_ranges(text) == [(0, 8)], "These hours follow each other: one range says it all.")


@HOUR_RANGES.property("a gap starts a new range")
def _gaps(hour_ranges: Callable[[list[str]], str]) -> None:
    pairs = _read_ranges(hour_ranges(_hours([0, 1, 2, 5, 6])))
    covered = {h for first, last in pairs for h in range(first, last + 1)}
    expect(
        covered <= {0, 1, 2, 5, 6},
        "The range covers hours that nobody searched. A reader would believe them searched.",
    )
    expect(covered == {0, 1, 2, 5, 6}, "Some searched hours are missing from the text.")


@HOUR_RANGES.property("an hour alone is written alone")
def _alone(hour_ranges: Callable[[list[str]], str]) -> None:
    text = hour_ranges(_hours([7]))
    expect(text.strip() == "07:00", "One hour is not a range: write it as it is.")


@HOUR_RANGES.property("no hours, no text")
def _none(hour_ranges: Callable[[list[str]], str]) -> None:
    expect(
        hour_ranges([]) == "", "Nothing was searched, so there is nothing to say: an empty text."
    )


@HOUR_RANGES.property("any hours, in any order")
def _any_hours(hour_ranges: Callable[[list[str]], str], rng: Random) -> None:
    for _ in range(30):
        hours = rng.sample(range(24), rng.randint(1, 14))
        pairs = _read_ranges(hour_ranges(_hours(hours)))
        covered = sorted(h for first, last in pairs for h in range(first, last + 1))
        expect(covered == sorted(hours), "The text must cover exactly the hours of the list.")
        starts = sum(h - 1 not in hours for h in hours)
        expect(len(pairs) == starts, "There is a shorter way: join ranges that touch.")


# ---- 2: high and low water ------------------------------------------------------------------

TRIM_HIGH_LOW = Exercise(
    "trim_high_low",
    title="Trim rarely: at 80 % of the budget, down to 50 %",
    lesson=3,
    minutes=12,
    points=3,
    returns=list,
    hints=(
        "Two different sizes decide: one starts the trimming, the other one ends it.",
        "Compare the size of the whole list with 0.8 × budget. Only if it is over, drop the oldest "
        "groups until the head and what is left are at or under 0.5 × budget. Keep the newest group.",
        "head, groups = turn_groups(messages)\n"
        "if count_tokens(messages) > 0.8 * budget:\n"
        "    while len(groups) > 1 and count_tokens(head + sum(groups, [])) > ...:\n"
        "        ...\n"
        "return head + sum(groups, [])",
    ),
)


@TRIM_HIGH_LOW.property("up to 80 % nothing changes")
def _untouched(trim_high_low: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    messages = made_run(rng, 8)
    budget = int(count_tokens(messages) / 0.75)
    got = trim_high_low(messages, budget)
    thought = (
        "The list is at 75 % of the budget, under the high water: it should come back as it is."
    )
    expect(got == messages, thought)


@TRIM_HIGH_LOW.property("the head stays, and so do whole groups")
def _whole(trim_high_low: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    # Several lengths: a cut by message count falls between two groups now and then.
    for steps in range(9, 15):
        messages = made_run(rng, steps, parallel=True)
        got = trim_high_low(messages, count_tokens(messages))
        expect(got[:2] == messages[:2], "The system message or the task is gone. They always stay.")
        broken = validate(got)
        expect(not broken, f"A provider would reject this: {broken[0] if broken else ''}.")
        expect(whole_groups(messages, got), "Drop whole turn groups, and keep the rest in order.")


@TRIM_HIGH_LOW.property("above 80 % it goes down to 50 %")
def _down(trim_high_low: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    for steps in (12, 20, 31):
        messages = made_run(rng, steps)
        budget = int(count_tokens(messages) / 0.9)
        got = trim_high_low(messages, budget)
        share = count_tokens(got) / budget
        expect(
            share <= 0.5,
            f"At 90 % of the budget it was trimmed to {share:.0%}. The low water is at 50 %.",
        )
        expect(got[-2:] == messages[-2:], "The newest group is gone: the model needs it next.")
        longer = messages[:2] + messages[len(messages) - len(got) :]
        expect(
            count_tokens(longer) > 0.5 * budget,
            "More was dropped than needed: one group more would still fit under the low water. "
            "Count the whole list at once: each count adds 3 tokens for the request.",
        )


@TRIM_HIGH_LOW.property("the newest group stays, however small the budget")
def _newest(trim_high_low: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    messages = made_run(rng, 4)
    got = trim_high_low(messages, 50)
    expect(
        got == messages[:2] + messages[-2:], "What is left should be the head and the newest group."
    )


@TRIM_HIGH_LOW.property("over 40 steps it trims only a few times")
def _few(trim_high_low: Callable[[list[Message], int], list[Message]]) -> None:
    run = replay(incident(40), lambda messages: trim_high_low(messages, 2000))
    expect(
        0 < run.trims <= 8,
        f"It trimmed {run.trims} times in 40 steps. The two marks should leave room between trims.",
        given="40 steps of the incident run, budget 2,000",
        got=f"{run.trims} trims",
    )


# ---- 3: pins --------------------------------------------------------------------------------

TRIM_PINNED = Exercise(
    "trim_pinned",
    title="Never drop what is pinned",
    lesson=3,
    minutes=12,
    points=3,
    returns=list,
    hints=(
        "A pin on one message protects its whole group.",
        "In each round, look for the oldest group that isn't the newest one and has no message "
        "with a true `pinned`. Drop that one. Stop when the list fits, or nothing may go.",
        "while count_tokens(head + sum(groups, [])) > budget:\n"
        "    old = [g for g in groups[:-1] if not any(m.get('pinned') for m in g)]\n"
        "    if not old: ...\n"
        "    groups = [g for g in groups if g is not ...]",
    ),
)


def _pinned_run(rng: Random, steps: int, at: int, on_result: bool) -> list[Message]:
    messages = made_run(rng, steps)
    i = 2 + 2 * at + on_result
    messages[i] = {**messages[i], "pinned": True}
    return messages


@TRIM_PINNED.property("a list that fits comes back as it is")
def _fits(trim_pinned: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    messages = _pinned_run(rng, 6, 1, on_result=True)
    got = trim_pinned(messages, count_tokens(messages))
    expect(got == messages, "The list fits exactly: nothing should change.")


@TRIM_PINNED.property("a pinned group stays, both halves")
def _pin_stays(trim_pinned: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    for on_result in (True, False):
        messages = _pinned_run(rng, 10, 1, on_result)
        pinned = messages[4:6]
        got = trim_pinned(messages, count_tokens(messages) // 2)
        where = "result" if on_result else "call"
        expect(
            any(m.get("pinned") for m in got),
            f"The pin was on the {where}, and that message is gone.",
        )
        expect(all(m in got for m in pinned), "Only half of the pinned group is left.")
        expect(not validate(got), "The call and its result must stay together.")


@TRIM_PINNED.property("the oldest groups without a pin go first, and the order stays")
def _oldest(trim_pinned: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    messages = _pinned_run(rng, 10, 3, on_result=True)
    budget = count_tokens(messages) * 3 // 5
    got = trim_pinned(messages, budget)
    expect(whole_groups(messages, got), "The head, then whole groups in their old order, please.")
    expect(got[-2:] == messages[-2:], "The newest group should stay.")
    gone = [g for g in turn_groups(messages)[1] if g[0] not in got]
    kept = [g for g in turn_groups(messages)[1] if g[0] in got and not g[1].get("pinned")]
    newest_gone = max((messages.index(g[0]) for g in gone), default=0)
    expect(
        all(messages.index(g[0]) > newest_gone for g in kept),
        "A newer group went before an older one that had no pin.",
    )


@TRIM_PINNED.property("the budget holds wherever it can")
def _holds(trim_pinned: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    for at in range(4):
        messages = _pinned_run(rng, 9, at, on_result=at % 2 == 0)
        budget = count_tokens(messages) * 2 // 3
        got = trim_pinned(messages, budget)
        expect(count_tokens(got) <= budget, "It is still over the budget, though more could go.")
        left = [m for m in messages if m in got]
        expect(len(left) > 6, "More was dropped than needed.")


@TRIM_PINNED.property("the newest group stays, however small the budget")
def _newest_unpinned(trim_pinned: Callable[..., list[Message]], rng: Random) -> None:
    messages = made_run(rng, 4)
    got = trim_pinned(messages, 50)
    expect(
        got == messages[:2] + messages[-2:], "What is left should be the head and the newest group."
    )


@TRIM_PINNED.property("when nothing more may go, it stops")
def _stops(trim_pinned: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    messages = [*made_run(rng, 1), *made_run(rng, 4)[2:]]
    messages = [{**m, "pinned": True} if m["role"] == "tool" else m for m in messages]
    got = trim_pinned(messages, 10)
    expect(got == messages, "Everything is pinned or newest: nothing may go, even over the budget.")


# ---- 4: both directions ---------------------------------------------------------------------

FIND_BROKEN = Exercise(
    "find_broken",
    title="Find what a provider would reject, in both directions",
    lesson=3,
    minutes=10,
    points=3,
    returns=list[int],
    hints=(
        "`pairs_ok` asks whether each result has a call. Ask the other way round as well.",
        "Remember for each call id the index of its message, and which ids have been answered. "
        "A result whose id hasn't been asked yet is broken; so is a message with an unanswered call.",
        "asked, answered, broken = {}, set(), set()\n"
        "for i, m in enumerate(messages):\n"
        "    for call in m.get('tool_calls') or []: asked[call['id']] = i\n"
        "    if m['role'] == 'tool': ...\n"
        "broken |= {i for id, i in asked.items() if ...}",
    ),
)


@FIND_BROKEN.property("a sound list has nothing broken")
def _sound(find_broken: Callable[[list[Message]], list[int]], rng: Random) -> None:
    messages = made_run(rng, 5, parallel=True)
    expect(find_broken(messages) == [], "Every call here has its result: nothing is broken.")


@FIND_BROKEN.property("a result without its call is found")
def _orphan(find_broken: Callable[[list[Message]], list[int]], rng: Random) -> None:
    messages = made_run(rng, 4)
    messages = messages[:4] + messages[5:]
    got = find_broken(messages)
    expect(4 in got, "A result answers a call that isn't in the list: its index is missing here.")
    expect(got == [4], "Only the index of the lone result should be reported.")


@FIND_BROKEN.property("a call without its result is found")
def _open_call(find_broken: Callable[[list[Message]], list[int]], rng: Random) -> None:
    messages = made_run(rng, 4)
    messages = messages[:5] + messages[6:]
    got = find_broken(messages)
    expect(4 in got, "A call was never answered. `pairs_ok` can't see that; your function should.")
    expect(got == [4], "Only the index of the message with the open call should be reported.")


@FIND_BROKEN.property("one of two parallel results is missing")
def _half(find_broken: Callable[[list[Message]], list[int]], rng: Random) -> None:
    messages = made_run(rng, 3, parallel=True)
    messages = messages[:6] + messages[7:]
    got = find_broken(messages)
    expect(got == [4], "The message asks twice and was answered once. That message is broken.")


@FIND_BROKEN.property("a result that stands before its call doesn't count")
def _too_early(find_broken: Callable[[list[Message]], list[int]], rng: Random) -> None:
    messages = made_run(rng, 2)
    messages[4], messages[5] = messages[5], messages[4]
    got = find_broken(messages)
    expect(got == [4, 5], "The result comes first, so it answers nothing, and its call stays open.")


# ---- 5: the newest group alone is too big ---------------------------------------------------

SHORTEN_NEWEST = Exercise(
    "shorten_newest",
    title="The newest result alone is over the budget",
    lesson=3,
    minutes=12,
    points=3,
    returns=list,
    hints=(
        "Only the last message changes, and it changes in a copy.",
        "Cut the text bit by bit, and each time count the whole list with the mark added, until it "
        "fits. A tenth at a time is good enough; a search by halves is quicker.",
        "if count_tokens(messages) <= budget: return messages\n"
        "last = messages[-1]\n"
        "text = last['content']\n"
        "while ...:\n"
        "    text = text[: len(text) * 9 // 10]\n"
        "return messages[:-1] + [{**last, 'content': text + ' [cut]'}]",
    ),
)


def _big_newest(rng: Random, words: int) -> list[Message]:
    messages = made_run(rng, 1)
    return [*messages[:-1], {**messages[-1], "content": " ".join(rng.choices(WORDS, k=words))}]


@SHORTEN_NEWEST.property("a list that fits comes back as it is")
def _already(shorten_newest: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    messages = _big_newest(rng, 40)
    got = shorten_newest(messages, count_tokens(messages))
    expect(got == messages, "It fits exactly, so there is nothing to cut and nothing to mark.")


@SHORTEN_NEWEST.property("afterwards it fits")
def _now_fits(shorten_newest: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    for words in (300, 900):
        messages = _big_newest(rng, words)
        got = shorten_newest(messages, 200)
        tokens = count_tokens(got)
        expect(
            tokens <= 200,
            f"The list has {tokens} tokens, and the budget is 200. Count the whole list again after "
            "each cut; the mark counts too.",
        )


@SHORTEN_NEWEST.property("only the newest result changes")
def _only_newest(
    shorten_newest: Callable[[list[Message], int], list[Message]], rng: Random
) -> None:
    messages = _big_newest(rng, 400)
    got = shorten_newest(messages, 200)
    expect(got[:-1] == messages[:-1], "Every message but the last should be as it was.")
    expect(not validate(got), "The result lost its role or its `tool_call_id` on the way.")


@SHORTEN_NEWEST.property("the cut is marked, and what stands before it is the original")
def _marked(shorten_newest: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    messages = _big_newest(rng, 400)
    text = text_of(shorten_newest(messages, 200)[-1])
    expect(
        "[cut]" in text, "Nothing tells the model that text is missing. End the result with [cut]."
    )
    kept = text.split("[cut]")[0].strip()
    expect(text_of(messages[-1]).startswith(kept), "Keep the start of the result word for word.")


@SHORTEN_NEWEST.property("as much as possible is kept")
def _enough(shorten_newest: Callable[[list[Message], int], list[Message]], rng: Random) -> None:
    messages = _big_newest(rng, 400)
    tokens = count_tokens(shorten_newest(messages, 200))
    expect(
        tokens >= 160,
        f"The list now has {tokens} of the 200 tokens it may have: more was cut than needed.",
    )


# ---- 6: the second trim ---------------------------------------------------------------------

TRIM_AND_FOLD = Exercise(
    "trim_and_fold",
    title="The second trim must not eat the first summary",
    lesson=3,
    minutes=15,
    points=4,
    returns=list,
    hints=(
        "Before you drop anything, take the earlier summary out of the groups and keep its words.",
        "Groups whose first message `is_summary` go into a list of notes, without the mark. The "
        "other groups are dropped as before. One new message holds all notes, the new one last.",
        "notes = [g[0]['content'].removeprefix(SUMMARY_MARK).strip()\n"
        "         for g in groups if is_summary(g[0])]\n"
        "groups = [g for g in groups if not is_summary(g[0])]\n"
        "... drop ...\n"
        "if dropped: notes.append(summarize(dropped))   # one flat list of messages\n"
        "then one user message: the mark, a space, and the notes joined by '\\n'",
    ),
)


def _count_results(dropped: list[Message]) -> str:
    ids = [m["tool_call_id"] for m in dropped if m["role"] == "tool"]
    return f"read {', '.join(ids)}" if ids else "read nothing"


@TRIM_AND_FOLD.property("the first trim leaves one marked summary")
def _first_summary(trim_and_fold: Callable[..., list[Message]], rng: Random) -> None:
    messages = made_run(rng, 10)
    got = trim_and_fold(messages, count_tokens(messages) // 2, _count_results)
    marked = [i for i, m in enumerate(got) if m["role"] == "user" and is_summary(m)]
    expect(bool(marked), f"Groups were dropped, but no user message starts with {SUMMARY_MARK}.")
    expect(marked == [2], "The summary belongs right behind the head, once.")
    expect(got[:2] == messages[:2], "The head changed. It always stays as it is.")
    expect("r0" in text_of(got[2]), "What `summarize` said of the dropped messages isn't in it.")


@TRIM_AND_FOLD.property("the second trim keeps the words of the first summary")
def _second_summary(trim_and_fold: Callable[..., list[Message]], rng: Random) -> None:
    messages = made_run(rng, 16)
    budget = count_tokens(messages) // 2
    once = trim_and_fold(messages[:24], budget // 2, _count_results)
    first = text_of(once[2]).removeprefix(SUMMARY_MARK).strip() if len(once) > 2 else ""
    twice = trim_and_fold([*once, *messages[24:]], budget // 2, _count_results)
    summaries = [m for m in twice if m["role"] == "user" and is_summary(m)]
    expect(
        len(summaries) == 1, f"There are {len(summaries)} summaries; fold them into one message."
    )
    expect(
        first in text_of(summaries[0]),
        "The words of the first summary are gone, and with them what was dropped the first time.",
        got=text_of(summaries[0]),
    )
    expect(
        text_of(summaries[0]).count(SUMMARY_MARK) == 1,
        "The mark stands in the text more than once: take it off the earlier note first.",
        got=text_of(summaries[0]),
    )
    ids = {m["tool_call_id"] for m in messages if m["role"] == "tool"}
    there = {m.get("tool_call_id") for m in twice} | {
        id for id in ids if id in text_of(summaries[0])
    }
    expect(ids <= there, "Some results are neither in the list nor in the summary.")


@TRIM_AND_FOLD.property("an earlier summary is not summarised again")
def _not_again(trim_and_fold: Callable[..., list[Message]], rng: Random) -> None:
    seen: list[Message] = []

    def summarize(dropped: list[Message]) -> str:
        seen.extend(dropped)
        return "a note"

    messages = made_run(rng, 8)
    with_note = [*messages[:2], user(f"{SUMMARY_MARK} the pump was off"), *messages[2:]]
    trim_and_fold(with_note, count_tokens(messages) // 2, summarize)
    expect(bool(seen), "`summarize` was never called, though groups had to go.")
    expect(
        not any(m["role"] == "user" for m in seen),
        "`summarize` was given the earlier summary. A summary of a summary loses a little each time.",
    )


@TRIM_AND_FOLD.property("the newest group stays, however small the budget")
def _newest_kept(trim_and_fold: Callable[..., list[Message]], rng: Random) -> None:
    messages = made_run(rng, 4)
    got = trim_and_fold(messages, 50, _count_results)
    expect(got[-2:] == messages[-2:], "The newest group is gone: the model needs it next.")


@TRIM_AND_FOLD.property("without need, nothing is summarised")
def _no_need(trim_and_fold: Callable[..., list[Message]], rng: Random) -> None:
    messages = made_run(rng, 5)
    got = trim_and_fold(messages, count_tokens(messages), _count_results)
    expect(got == messages, "The list fits: nothing should be dropped, and no summary written.")


# ---- predictions ----------------------------------------------------------------------------

Question(
    "cut_by_count",
    lesson=3,
    text="You keep the system message, the task and the last five messages. What does a provider say?",
    choices={
        "It answers as usual": "Count five back from the end: that message is a result, "
        "and its call was cut off.",
        "It rejects the request": "Yes. The first of the five is a result, and the call that it "
        "answers is gone. Next you see it happen.",
        "It answers, but forgets the task": "The task is kept here. Look at what the first of the "
        "five messages is, and what it needs.",
    },
    right="It rejects the request",
)

NumberQuestion(
    "groups_to_drop",
    lesson=3,
    text="The run has 7,397 characters in twelve groups of about the same size. How many groups "
    "must go until 2,500 are enough?",
    answer=lambda: trim(incident(), 2500, count=size).dropped,
    tolerance=0,
    unit="groups",
    right="Yes, {answer}: three groups are left, and there is no room for a fourth.",
    too_low="More must go: a group is about 600 characters, and the head needs its share too.",
    too_high="Fewer are enough: a group is about 600 characters, and 2,500 hold several.",
)

Question(
    "second_trim",
    lesson=3,
    text="The note about 02:00 stands in the list. More hours are searched, and the list is trimmed "
    "a second time with the same code. What does the new note say about 02:00?",
    choices={
        "It still has the timeout": "It should, but look at how the code sees the first note: as a "
        "lone user message, the oldest group of all.",
        "It has it twice": "The new note is written from the dropped messages. Is the old note "
        "something that the summariser reads?",
        "Nothing": "Right. To this code the first note is just the oldest group. It goes first, and the "
        "summariser reads only tool results.",
    },
    right="Nothing",
)

Question(
    "cache_share",
    lesson=3,
    text="A prompt cache serves the start of a request that is the same as last time. Which way of "
    "trimming gets more from it?",
    choices={
        "A little on every step": "Each small trim moves everything behind it, so the start of the "
        "request is new each time.",
        "Rarely, and more at once": "Yes. Between two trims the list only grows at its end, and its "
        "whole start is served from the cache.",
        "Both the same": "What they read is not far apart. What changes, and how often, is: watch "
        "the start of the list.",
    },
    right="Rarely, and more at once",
)

Question(
    "what_to_pin",
    lesson=3,
    text="Which of these would you pin in a real agent?",
    choices={
        "The latest search result": "It is in the newest group, which stays anyway. A pin is for what "
        "must outlive that.",
        "Every result with a number in it": "Soon everything is pinned, and nothing can go. Pins need "
        "a cap.",
        "The rule not to contact the supplier": "Yes: a constraint is short, needed to the end, and "
        "its loss does harm. Exact ids that come back late are the next candidates.",
        "The model's own reasoning": "Conclusions are worth a line in a note. The way to them rarely "
        "matters again.",
    },
    right="The rule not to contact the supplier",
)

Question(
    "before_03_quadratic",
    lesson=3,
    text="From lesson 1: an agent keeps everything, and its run gets twice as long. What happens to the "
    "tokens that it reads in all?",
    choices={
        "They double": "The last model call doubles. But there are also twice as many of them.",
        "They grow about fourfold": "Yes: twice as many model calls, and each of them about twice as long.",
        "They stay the same": "Everything is sent again at each step, so a longer run reads more.",
    },
    right="They grow about fourfold",
)

Question(
    "before_03_again",
    lesson=3,
    text="From lesson 2: an agent's log shows the same tool call twice, with the same arguments. The first "
    "result wasn't in the prompt any more. What does that tell you?",
    choices={
        "Too little was trimmed": "Then the result would still have been there.",
        "Too much was trimmed": "Yes: what was still needed had gone, so it was fetched again.",
        "The tool is broken": "It may be, but this is the usual sign of something else.",
    },
    right="Too much was trimmed",
)
