"""Wrong answers to the exercises of lesson 2."""

from __future__ import annotations

import json

from course_lib import count_tokens, turn_groups
from course_lib.messages import SUMMARY_MARK, calls_of, text_of, user
from tests.wrong_answers import wrong

# ---- context_alarm --------------------------------------------------------------------------


@wrong("context_alarm", "forgets the schemas", "schemas of the tools are sent")
def no_schemas(messages, tools, warn, limit):
    tokens = count_tokens(messages)
    return "compact" if tokens > limit else "warn" if tokens > warn else "ok"


@wrong("context_alarm", "counts messages and schemas as two requests", "as one request")
def two_sums(messages, tools, warn, limit):
    tokens = count_tokens(messages) + count_tokens([], tools=tools)
    return "compact" if tokens > limit else "warn" if tokens > warn else "ok"


@wrong("context_alarm", "counts the schemas as JSON text", "as one request")
def json_sizes(messages, tools, warn, limit):
    tokens = count_tokens(messages) + count_tokens(json.dumps(tools))
    return "compact" if tokens > limit else "warn" if tokens > warn else "ok"


@wrong("context_alarm", "counts the texts only", "stands in the arguments of a call")
def texts_only(messages, tools, warn, limit):
    tokens = sum(count_tokens(text_of(m)) for m in messages)
    return "compact" if tokens > limit else "warn" if tokens > warn else "ok"


@wrong("context_alarm", "warns on the mark", "only a request above the mark")
def on_the_mark(messages, tools, warn, limit):
    tokens = count_tokens(messages, tools=tools)
    return "compact" if tokens >= limit else "warn" if tokens >= warn else "ok"


@wrong("context_alarm", "asks for the warning first", "Which one counts then?")
def warning_first(messages, tools, warn, limit):
    tokens = count_tokens(messages, tools=tools)
    return "warn" if tokens > warn else "compact" if tokens > limit else "ok"


# ---- turns_to_keep --------------------------------------------------------------------------


def keeper(messages, used, *, last=3, versions="newest", searches=False, ignore_used=False):
    """The right answer, but for what the arguments say."""
    turns = turn_groups(messages)[1]
    names = [next((c.name for c in calls_of(turn[0])), "") for turn in turns]
    keep = set(range(len(turns))[-last:])
    writers = [n for n, name in enumerate(names) if name.startswith("write_")]
    if versions == "newest":
        keep |= {n for n in writers if names[n] not in names[n + 1 :]}
    else:
        keep |= set(writers if versions == "all" else writers[-1:])
    for n, turn in enumerate(turns):
        text = text_of(turn[-1])
        result = json.loads(text) if text.startswith("{") else {}
        if "source" in result and (ignore_used or result["source"] not in used):
            keep.add(n)
        if searches and "results" in result:
            keep.add(n)
    return sorted(keep)


@wrong("turns_to_keep", "keeps the last two turns", "the last three turns")
def last_two(messages, used):
    return keeper(messages, used, last=2)


@wrong("turns_to_keep", "keeps each version of the plan", "there is a newer one")
def every_version(messages, used):
    return keeper(messages, used, versions="all")


@wrong("turns_to_keep", "keeps one written thing, not one of each", "it is no new plan")
def one_writer(messages, used):
    return keeper(messages, used, versions="one")


@wrong("turns_to_keep", "keeps used results", "S1 has been used")
def keeps_used(messages, used):
    return keeper(messages, used, ignore_used=True)


@wrong("turns_to_keep", "keeps searches", "was skimmed")
def keeps_searches(messages, used):
    return keeper(messages, used, searches=True)


@wrong("turns_to_keep", "gives the numbers as they come", "in their order")
def out_of_order(messages, used):
    return sorted(keeper(messages, used), reverse=True)


# ---- repeated_calls ----------------------------------------------------------------------------


@wrong("repeated_calls", "compares names only", "asks for another day")
def names_only(messages):
    seen, again = set(), []
    for message in messages:
        for call in calls_of(message):
            again += [call.id] if call.name in seen else []
            seen.add(call.name)
    return again


@wrong("repeated_calls", "compares the arguments as texts", "what the arguments mean")
def as_texts(messages):
    seen, again = set(), []
    for message in messages:
        for call in calls_of(message):
            again += [call.id] if (call.name, call.arguments) in seen else []
            seen.add((call.name, call.arguments))
    return again


@wrong("repeated_calls", "looks at the call before only", "side by side")
def neighbours_only(messages):
    before, again = None, []
    for message in messages:
        for call in calls_of(message):
            again += [call.id] if (call.name, call.arguments) == before else []
            before = (call.name, call.arguments)
    return again


@wrong("repeated_calls", "looks at the first call of a message only", "within one message")
def first_call_only(messages):
    seen, again = set(), []
    for message in messages:
        for call in calls_of(message)[:1]:
            key = (call.name, json.dumps(json.loads(call.arguments), sort_keys=True))
            again += [call.id] if key in seen else []
            seen.add(key)
    return again


@wrong("repeated_calls", "compares the arguments without the tool", "asks another tool")
def without_the_tool(messages):
    seen, again = set(), []
    for message in messages:
        for call in calls_of(message):
            key = json.dumps(json.loads(call.arguments), sort_keys=True)
            again += [call.id] if key in seen else []
            seen.add(key)
    return again


# ---- compact_session ------------------------------------------------------------------------


@wrong("compact_session", "counts messages, not turns", "A provider would reject this")
def by_messages(messages, keep, write_note):
    if len(messages) <= 2 + 2 * keep:
        return messages
    note = user(f"{SUMMARY_MARK} {write_note(messages[2 : -2 * keep])}")
    return [*messages[:2], note, *messages[-2 * keep :]]


@wrong("compact_session", "drops the head", "The head (system message and task)")
def no_head(messages, keep, write_note):
    turns = turn_groups(messages)[1]
    note = user(f"{SUMMARY_MARK} {write_note(sum(turns[:-keep], []))}")
    return [note, *sum(turns[-keep:], [])]


@wrong("compact_session", "leaves the mark off", "begins with")
def unmarked(messages, keep, write_note):
    head, turns = turn_groups(messages)
    return [*head, user(write_note(sum(turns[:-keep], []))), *sum(turns[-keep:], [])]


@wrong("compact_session", "writes a note for nothing", "there is nothing to replace")
def note_for_nothing(messages, keep, write_note):
    head, turns = turn_groups(messages)
    note = user(f"{SUMMARY_MARK} {write_note(sum(turns[:-keep], []))}")
    return [*head, note, *sum(turns[-keep:], [])]


@wrong("compact_session", "gives the summariser everything", "all, and no others")
def from_everything(messages, keep, write_note):
    head, turns = turn_groups(messages)
    if len(turns) <= keep:
        return messages
    return [*head, user(f"{SUMMARY_MARK} {write_note(messages)}"), *sum(turns[-keep:], [])]


@wrong("compact_session", "takes any note", "bigger than the turn")
def any_note(messages, keep, write_note):
    head, turns = turn_groups(messages)
    if len(turns) <= keep:
        return messages
    note = user(f"{SUMMARY_MARK} {write_note(sum(turns[:-keep], []))}")
    return [*head, note, *sum(turns[-keep:], [])]


# ---- last_chance ----------------------------------------------------------------------------


def calls_with(prompts, fact):
    return [n for n, p in enumerate(prompts, 1) if any(fact in text_of(m) for m in p)]


@wrong("last_chance", "counts from 0", "Count calls from 1")
def from_zero(prompts, fact):
    there = calls_with(prompts, fact)
    return there[-1] - 1 if there and there[-1] < len(prompts) else None


@wrong("last_chance", "gives the first call without it", "can't have it any more")
def first_without(prompts, fact):
    there = calls_with(prompts, fact)
    return there[-1] + 1 if there and there[-1] < len(prompts) else None


@wrong("last_chance", "never says that it is still there", "it isn't too late")
def always_a_number(prompts, fact):
    there = calls_with(prompts, fact)
    return there[-1] if there else None


@wrong("last_chance", "stops at the first gap", "It went and came back")
def first_gap(prompts, fact):
    there = calls_with(prompts, fact)
    gone = [n for n in there if n + 1 not in there and n < len(prompts)]
    return gone[0] if gone else None


@wrong("last_chance", "looks at the last message of a prompt only", "had the fact")
def last_message_only(prompts, fact):
    there = [n for n, p in enumerate(prompts, 1) if fact in text_of(p[-1])]
    return there[-1] if there and there[-1] < len(prompts) else None
