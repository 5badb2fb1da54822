"""Wrong answers to the exercises of lesson 3."""

from __future__ import annotations

from course_lib import count_tokens, trim, turn_groups
from course_lib.messages import SUMMARY_MARK, is_summary, user
from tests.wrong_answers import wrong

# ---- hour_ranges ----------------------------------------------------------------------------


@wrong("hour_ranges", "a range from first to last hides the gap", "hours that nobody searched")
def hides_the_gap(hours):
    if len(hours) < 2:
        return "".join(hours)
    return f"{hours[0]}–{hours[-1]}"


@wrong("hour_ranges", "lists every hour", "one range says it all")
def lists_all(hours):
    return ", ".join(hours)


@wrong("hour_ranges", "an hour alone becomes a range", "One hour is not a range")
def lone_range(hours):
    ranges = []
    for h in sorted({int(t[:2]) for t in hours}):
        if ranges and h == ranges[-1][1] + 1:
            ranges[-1][1] = h
        else:
            ranges.append([h, h])
    return ", ".join(f"{a:02d}:00–{b:02d}:00" for a, b in ranges)


@wrong("hour_ranges", "takes the hours for sorted", "join ranges that touch")
def trusts_the_order(hours):
    ranges = []
    for h in (int(t[:2]) for t in hours):
        if ranges and h == ranges[-1][1] + 1:
            ranges[-1][1] = h
        else:
            ranges.append([h, h])
    return ", ".join(f"{a:02d}:00" if a == b else f"{a:02d}:00–{b:02d}:00" for a, b in ranges)


@wrong("hour_ranges", "forgets the last range", "Write hours as 00:00")
def forgets_the_last(hours):
    texts, start = [], None
    for a, b in zip(hours, hours[1:], strict=False):
        start = start or a
        if int(b[:2]) != int(a[:2]) + 1:
            texts.append(f"{start}–{a}")
            start = None
    return ", ".join(texts)


# ---- trim_high_low --------------------------------------------------------------------------


@wrong("trim_high_low", "cuts by message count", "A provider would reject this")
def by_message_count(messages, budget):
    if count_tokens(messages) <= 0.8 * budget:
        return messages
    return messages[:2] + messages[-len(messages) // 2 + 1 :]


@wrong("trim_high_low", "trims at 80 % down to 80 %", "The low water is at 50 %")
def down_to_high(messages, budget):
    return trim(messages, int(0.8 * budget)).messages


@wrong("trim_high_low", "trims whenever the list is over 50 %", "under the high water")
def always_low(messages, budget):
    return trim(messages, int(0.5 * budget)).messages


@wrong("trim_high_low", "drops the task", "the task is gone")
def drops_the_task(messages, budget):
    if count_tokens(messages) <= 0.8 * budget:
        return messages
    groups = turn_groups(messages)[1]
    while count_tokens(sum(groups, [])) > 0.5 * budget:
        groups.pop(0)
    return sum(groups, [])


@wrong("trim_high_low", "keeps only the newest group", "More was dropped than needed")
def newest_only(messages, budget):
    head, groups = turn_groups(messages)
    return head + groups[-1] if count_tokens(messages) > 0.8 * budget else messages


@wrong("trim_high_low", "drops the newest first", "The newest group is gone")
def newest_first(messages, budget):
    head, groups = turn_groups(messages)
    if count_tokens(messages) > 0.8 * budget:
        while count_tokens(head + sum(groups, [])) > 0.5 * budget:
            groups.pop()
    return head + sum(groups, [])


# ---- trim_pinned ----------------------------------------------------------------------------


@wrong("trim_pinned", "ignores pins", "that message is gone")
def ignores_pins(messages, budget):
    head, groups = turn_groups(messages)
    while len(groups) > 1 and count_tokens(head + sum(groups, [])) > budget:
        groups.pop(0)
    return head + sum(groups, [])


@wrong("trim_pinned", "keeps the pinned message, not its group", "Only half of the pinned group")
def half_a_group(messages, budget):
    head, groups = turn_groups(messages)
    pinned = []
    while len(groups) > 1 and count_tokens(head + pinned + sum(groups, [])) > budget:
        pinned += [m for m in groups.pop(0) if m.get("pinned")]
    return head + pinned + sum(groups, [])


@wrong("trim_pinned", "looks for the pin on the first message only", "The pin was on the result")
def first_message_only(messages, budget):
    head, groups = turn_groups(messages)
    while count_tokens(head + sum(groups, [])) > budget:
        old = [g for g in groups[:-1] if not g[0].get("pinned")]
        if not old:
            break
        groups = [g for g in groups if g is not old[0]]
    return head + sum(groups, [])


@wrong("trim_pinned", "stops at the first pinned group", "still over the budget")
def stops_at_a_pin(messages, budget):
    head, groups = turn_groups(messages)
    while count_tokens(head + sum(groups, [])) > budget and len(groups) > 1:
        if any(m.get("pinned") for m in groups[0]):
            break
        groups.pop(0)
    return head + sum(groups, [])


@wrong("trim_pinned", "moves pinned groups to the front", "in their old order")
def pins_to_the_front(messages, budget):
    head, groups = turn_groups(messages)
    if count_tokens(messages) <= budget:
        return messages
    pinned = [g for g in groups if any(m.get("pinned") for m in g)]
    rest = [g for g in groups if g not in pinned]
    while len(rest) > 1 and count_tokens(head + sum(rest + pinned, [])) > budget:
        rest.pop(0)
    return head + sum(rest + pinned, [])


@wrong("trim_pinned", "goes on when nothing may go", "still running")
def never_stops(messages, budget):
    head, groups = turn_groups(messages)
    while count_tokens(head + sum(groups, [])) > budget:
        old = [g for g in groups[:-1] if not any(m.get("pinned") for m in g)]
        groups = [g for g in groups if not old or g is not old[0]]
    return head + sum(groups, [])


# ---- find_broken ----------------------------------------------------------------------------


@wrong("find_broken", "looks in one direction, as pairs_ok does", "A call was never answered")
def results_only(messages):
    asked, broken = set(), []
    for i, m in enumerate(messages):
        asked |= {c["id"] for c in m.get("tool_calls") or []}
        if m["role"] == "tool" and m["tool_call_id"] not in asked:
            broken.append(i)
    return broken


@wrong("find_broken", "looks only for open calls", "A result answers a call that isn't")
def calls_only(messages):
    answered = {m["tool_call_id"] for m in messages if m["role"] == "tool"}
    return [
        i
        for i, m in enumerate(messages)
        if any(c["id"] not in answered for c in m.get("tool_calls") or [])
    ]


@wrong("find_broken", "looks at the first of parallel calls only", "asks twice")
def first_call_only(messages):
    answered = {m["tool_call_id"] for m in messages if m["role"] == "tool"}
    asked, broken = set(), []
    for i, m in enumerate(messages):
        calls = m.get("tool_calls") or []
        asked |= {c["id"] for c in calls}
        if calls and calls[0]["id"] not in answered:
            broken.append(i)
        if m["role"] == "tool" and m["tool_call_id"] not in asked:
            broken.append(i)
    return broken


@wrong("find_broken", "compares the ids without their order", "The result comes first")
def sets_of_ids(messages):
    asked = {c["id"] for m in messages for c in m.get("tool_calls") or []}
    answered = {m["tool_call_id"] for m in messages if m["role"] == "tool"}
    return [
        i
        for i, m in enumerate(messages)
        if any(c["id"] not in answered for c in m.get("tool_calls") or [])
        or (m["role"] == "tool" and m["tool_call_id"] not in asked)
    ]


@wrong("find_broken", "answers yes or no", "a list")
def yes_or_no(messages):
    return bool(calls_only(messages) or results_only(messages))


# ---- shorten_newest -------------------------------------------------------------------------


@wrong("shorten_newest", "drops the result", "Every message but the last")
def drops_it(messages, budget):
    return messages if count_tokens(messages) <= budget else messages[:-2]


@wrong("shorten_newest", "cuts without a mark", "Nothing tells the model")
def no_mark(messages, budget):
    text = messages[-1]["content"]
    while count_tokens([*messages[:-1], {**messages[-1], "content": text}]) > budget:
        text = text[: len(text) * 19 // 20]
    return [*messages[:-1], {**messages[-1], "content": text}]


@wrong("shorten_newest", "forgets that the mark counts", "the mark counts too")
def mark_not_counted(messages, budget):
    text = messages[-1]["content"]
    if count_tokens(messages) <= budget:
        return messages
    while count_tokens([*messages[:-1], {**messages[-1], "content": text}]) > budget:
        text = text[:-1]
    return [*messages[:-1], {**messages[-1], "content": text + " [cut]"}]


@wrong("shorten_newest", "throws the text away", "more was cut than needed")
def empties_it(messages, budget):
    if count_tokens(messages) <= budget:
        return messages
    return [*messages[:-1], {**messages[-1], "content": "[cut]"}]


@wrong("shorten_newest", "changes the caller's message", "changed")
def changes_in_place(messages, budget):
    while count_tokens(messages) > budget:
        text = messages[-1]["content"].removesuffix(" [cut]")
        messages[-1]["content"] = text[: len(text) * 19 // 20] + " [cut]"
    return messages


# ---- trim_and_fold --------------------------------------------------------------------------


def _drop(head, groups, budget):
    dropped = []
    while len(groups) > 1 and count_tokens(head + sum(groups, [])) > budget:
        dropped += groups[0]
        groups = groups[1:]
    return groups, dropped


@wrong(
    "trim_and_fold",
    "the document's loop: the first note is dropped",
    "The words of the first summary",
)
def eats_the_first(messages, budget, summarize):
    head, groups = turn_groups(messages)
    groups, dropped = _drop(head, groups, budget)
    note = [user(f"{SUMMARY_MARK} {summarize(dropped)}")] if dropped else []
    return head + note + sum(groups, [])


@wrong("trim_and_fold", "keeps the old note beside the new one", "fold them into one message")
def two_notes(messages, budget, summarize):
    head, groups = turn_groups(messages)
    old = [g for g in groups if is_summary(g[0])]
    groups, dropped = _drop(head, [g for g in groups if not is_summary(g[0])], budget)
    note = [user(f"{SUMMARY_MARK} {summarize(dropped)}")] if dropped else []
    return head + note + sum(old, []) + sum(groups, [])


@wrong("trim_and_fold", "folds the old note in with its mark", "more than once")
def two_marks(messages, budget, summarize):
    head, groups = turn_groups(messages)
    notes = [g[0]["content"] for g in groups if is_summary(g[0])]
    groups, dropped = _drop(head, [g for g in groups if not is_summary(g[0])], budget)
    notes += [summarize(dropped)] if dropped else []
    return head + ([user(f"{SUMMARY_MARK} " + "\n".join(notes))] if notes else []) + sum(groups, [])


@wrong(
    "trim_and_fold", "lets the summariser read the old note as well", "given the earlier summary"
)
def summarises_again(messages, budget, summarize):
    head, groups = turn_groups(messages)
    old = [g[0] for g in groups if is_summary(g[0])]
    notes = [m["content"].removeprefix(SUMMARY_MARK).strip() for m in old]
    groups, dropped = _drop(head, [g for g in groups if not is_summary(g[0])], budget)
    notes += [summarize(old + dropped)] if dropped else []
    return head + ([user(f"{SUMMARY_MARK} " + "\n".join(notes))] if notes else []) + sum(groups, [])


@wrong("trim_and_fold", "the summary has no mark", "no user message starts with")
def no_summary_mark(messages, budget, summarize):
    head, groups = turn_groups(messages)
    groups, dropped = _drop(head, groups, budget)
    return head + ([user(summarize(dropped))] if dropped else []) + sum(groups, [])


@wrong("trim_and_fold", "writes a summary though nothing was dropped", "no summary written")
def always_a_note(messages, budget, summarize):
    head, groups = turn_groups(messages)
    notes = [g[0]["content"].removeprefix(SUMMARY_MARK).strip() for g in groups if is_summary(g[0])]
    groups, dropped = _drop(head, [g for g in groups if not is_summary(g[0])], budget)
    notes.append(summarize(dropped))
    return [*head, user(f"{SUMMARY_MARK} " + "\n".join(notes)), *sum(groups, [])]
