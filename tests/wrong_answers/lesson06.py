"""Wrong answers to the exercises of lesson 6."""

from __future__ import annotations

import json

from course_lib import Store, count_tokens, turn_groups
from course_lib.checks.lesson06 import MORE, block_tokens
from course_lib.messages import SUMMARY_MARK, user
from tests.wrong_answers import wrong

# ---- offload_and_ask ------------------------------------------------------------------------


def asked(rows, sql):
    store = Store()
    return store.offload_table("payments", rows), [json.dumps(row) for row in store.query(sql)]


@wrong("offload_and_ask", "puts the table into the context", "Which line does `offload_table` give")
def table_inside(rows, sql, cap):
    return json.dumps(rows), "\n".join(asked(rows, sql)[1])


@wrong("offload_and_ask", "a reference without columns", "the table's name and its columns")
def bare_name(rows, sql, cap):
    return "[stored: payments]", "\n".join(asked(rows, sql)[1])


@wrong(
    "offload_and_ask",
    "reads the first rows instead of the query",
    "that SQL computes over all rows",
)
def first_rows(rows, sql, cap):
    return asked(rows, sql)[0], "\n".join(json.dumps(row) for row in rows[:3])


@wrong("offload_and_ask", "one JSON list for all rows", "each on a line of its own")
def one_list(rows, sql, cap):
    reference, lines = asked(rows, sql)
    return reference, "[" + ", ".join(lines) + "]"


@wrong("offload_and_ask", "no cap", "and the cap is 60")
def no_cap(rows, sql, cap):
    reference, lines = asked(rows, sql)
    return reference, "\n".join(lines)


@wrong("offload_and_ask", "the mark isn't counted", "The mark counts as well")
def mark_on_top(rows, sql, cap):
    reference, lines = asked(rows, sql)
    if count_tokens("\n".join(lines)) <= cap:
        return reference, "\n".join(lines)
    while count_tokens("\n".join(lines)) > cap:
        lines = lines[:-1]
    return reference, "\n".join([*lines, MORE])


@wrong("offload_and_ask", "leaves rows out silently", "takes these for all")
def silent(rows, sql, cap):
    reference, lines = asked(rows, sql)
    while count_tokens("\n".join(lines)) > cap:
        lines = lines[:-1]
    return reference, "\n".join(lines)


@wrong("offload_and_ask", "cuts the text in the middle of a row", "holds half a figure")
def half_a_row(rows, sql, cap):
    reference, lines = asked(rows, sql)
    text = "\n".join(lines)
    if count_tokens(text) <= cap:
        return reference, text
    while count_tokens(f"{text}\n{MORE}") > cap:
        text = text[:-5]
    return reference, f"{text}\n{MORE}"


@wrong("offload_and_ask", "counts four characters a token", "One more row would have fitted")
def by_characters(rows, sql, cap):
    reference, lines = asked(rows, sql)
    if len("\n".join(lines)) <= 4 * cap:
        return reference, "\n".join(lines)
    while len("\n".join([*lines, MORE])) > 2 * cap:
        lines = lines[:-1]
    return reference, "\n".join([*lines, MORE])


@wrong("offload_and_ask", "always keeps room for the mark", "does the mark need room")
def always_room(rows, sql, cap):
    reference, lines = asked(rows, sql)
    shown = lines
    while shown and count_tokens("\n".join([*shown, MORE])) > cap:
        shown = shown[:-1]
    return reference, "\n".join(shown if shown == lines else [*shown, MORE])


# ---- in_order -------------------------------------------------------------------------------


@wrong("in_order", "the question first", "A model attends well to the start")
def question_first(goal, recent, instructions, question, notes, summary):
    parts = [question, instructions, goal, summary, notes, *recent]
    return [part for part in parts if part]


@wrong("in_order", "the question before the recent steps", "What should it read last")
def question_inside(goal, recent, instructions, question, notes, summary):
    parts = [instructions, goal, summary, notes, question, *recent]
    return [part for part in parts if part]


@wrong("in_order", "the notes in front of the goal", "What changes least comes first")
def notes_early(goal, recent, instructions, question, notes, summary):
    parts = [instructions, notes, goal, summary, *recent, question]
    return [part for part in parts if part]


@wrong("in_order", "forgets the summary", "The summary isn't sent at all")
def no_summary(goal, recent, instructions, question, notes, summary):
    return [part for part in [instructions, goal, notes, *recent, question] if part]


@wrong("in_order", "the steps as one text", "in their own order, each by itself")
def one_text(goal, recent, instructions, question, notes, summary):
    parts = [instructions, goal, summary, notes, "\n".join(recent), question]
    return [part for part in parts if part]


@wrong("in_order", "sends empty parts", "no summary and no note")
def with_empties(goal, recent, instructions, question, notes, summary):
    return [instructions, goal, summary, notes, *recent, question]


@wrong("in_order", "the newest step first", "in their own order")
def newest_first(goal, recent, instructions, question, notes, summary):
    parts = [instructions, goal, summary, notes, *reversed(recent), question]
    return [part for part in parts if part]


# ---- capped_note ----------------------------------------------------------------------------


@wrong("capped_note", "changes the dict that it was given", "changed a dict that it was given")
def changes_it(notes, key, text, cap):
    notes[key] = text
    return notes


@wrong("capped_note", "the newest first", "the old one first, the new one last")
def newest_in_front(notes, key, text, cap):
    return {key: text, **notes}


@wrong("capped_note", "keeps the first text of a key", "The newer text under a key counts")
def first_text(notes, key, text, cap):
    return {**notes, key: text} if key not in notes else dict(notes)


@wrong("capped_note", "no cap", "keys included, and its cap is")
def uncapped(notes, key, text, cap):
    return {**notes, key: text}


@wrong("capped_note", "doesn't write when full", "what the agent has just learnt")
def refuses(notes, key, text, cap):
    new = {**notes, key: text}
    return new if block_tokens(new) <= cap else dict(notes)


@wrong("capped_note", "takes one note away, and no more", "is that enough here")
def only_one(notes, key, text, cap):
    new = {**notes, key: text}
    if block_tokens(new) > cap:
        may_go = [k for k in new if k != key and not k.startswith("rule")]
        if not may_go:
            raise ValueError("too big")
        del new[may_go[0]]
    return new


@wrong("capped_note", "the new note goes where it replaced the oldest", "The new note is gone")
def new_one_goes(notes, key, text, cap):
    new = {**notes, key: text}
    while block_tokens(new) > cap:
        may_go = [k for k in new if not k.startswith("rule")]
        if not may_go:
            raise ValueError("too big")
        del new[may_go[0]]
    return new


@wrong("capped_note", "counts the texts without their keys", "keys included")
def without_keys(notes, key, text, cap):
    new = {**notes, key: text}
    while count_tokens("\n".join(new.values())) > cap:
        del new[next(iter(new))]
    return new


@wrong("capped_note", "the newest old note goes", "the oldest goes first")
def newest_goes(notes, key, text, cap):
    new = {**notes, key: text}
    while block_tokens(new) > cap:
        del new[[k for k in new if k != key][-1]]
    return new


@wrong("capped_note", "clears all notes when full", "would still have fitted")
def clears(notes, key, text, cap):
    new = {**notes, key: text}
    return new if block_tokens(new) <= cap else {key: text}


@wrong("capped_note", "the rule goes, being the oldest", "What may the agent do now")
def rule_goes(notes, key, text, cap):
    new = {**notes, key: text}
    while block_tokens(new) > cap:
        old = [k for k in new if k != key]
        if not old:
            raise ValueError("too big")
        del new[old[0]]
    return new


@wrong("capped_note", "goes over the cap when only rules are left", "Raise ValueError")
def gives_up(notes, key, text, cap):
    new = {**notes, key: text}
    while block_tokens(new) > cap:
        old = [k for k in new if k != key and not k.startswith("rule")]
        if not old:
            break
        del new[old[0]]
    return new


# ---- fresh_start ----------------------------------------------------------------------------


@wrong("fresh_start", "forgets the task", "its instructions and its task")
def no_head(trace, note, seen):
    return [user(f"{SUMMARY_MARK}\n{note}"), *trace[seen:]]


@wrong("fresh_start", "the note has no mark", "begins with SUMMARY_MARK")
def no_mark(trace, note, seen):
    return [*trace[:2], user(note), *trace[seen:]]


@wrong("fresh_start", "the note comes last", "right behind the head")
def note_last(trace, note, seen):
    return [*trace[:2], *trace[seen:], user(f"{SUMMARY_MARK}\n{note}")]


@wrong("fresh_start", "takes the whole trace along", "from message 8 on")
def all_of_it(trace, note, seen):
    return [*trace[:2], user(f"{SUMMARY_MARK}\n{note}"), *trace[2:]]


@wrong("fresh_start", "the note alone", "from message 8 on")
def note_alone(trace, note, seen):
    return [*trace[:2], user(f"{SUMMARY_MARK}\n{note}")]


@wrong("fresh_start", "leaves the open call in", "was killed before this tool call")
def open_call(trace, note, seen):
    return [*trace[:2], user(f"{SUMMARY_MARK}\n{note}"), *trace[seen:]]


@wrong("fresh_start", "drops the last message always", "from message 8 on")
def drops_last(trace, note, seen):
    return [*trace[:2], user(f"{SUMMARY_MARK}\n{note}"), *trace[seen:-1]]


@wrong("fresh_start", "cuts between call and result", "a result whose call came before it")
def half_a_group(trace, note, seen):
    since = trace[seen:]
    if since and since[-1].get("tool_calls"):
        since = since[:-1]
    return [*trace[:2], user(f"{SUMMARY_MARK}\n{note}"), *since]


@wrong("fresh_start", "drops a group that is half in", "keep it whole")
def drops_half(trace, note, seen):
    head, groups = turn_groups(trace)
    start, since = len(head), []
    for group in groups:
        if start >= seen and len(group) == 1 + len(group[0].get("tool_calls") or []):
            since += group
        start += len(group)
    return [*head, user(f"{SUMMARY_MARK}\n{note}"), *since]


@wrong("fresh_start", "doesn't count the head", "the head's two messages included")
def head_uncounted(trace, note, seen):
    head, groups = turn_groups(trace)
    end, since = 0, []
    for group in groups:
        end += len(group)
        if end > seen and len(group) == 1 + len(group[0].get("tool_calls") or []):
            since += group
    return [*head, user(f"{SUMMARY_MARK}\n{note}"), *since]


# ---- what_is_lost ---------------------------------------------------------------------------


@wrong("what_is_lost", "all that isn't in the bare prompt", "in neither of the two prompts")
def absent(run, texts):
    return [text for text in texts if text not in run(False)]


@wrong("what_is_lost", "all that the pinned prompt has", "the summary keeps it")
def present(run, texts):
    return [text for text in texts if text in run(True)]


@wrong("what_is_lost", "the wrong way round", "With the pin this text stands in the prompt")
def reversed_runs(run, texts):
    return [text for text in texts if text in run(False) and text not in run(True)]


@wrong("what_is_lost", "what differs, in either direction", "it was won")
def differs(run, texts):
    return [text for text in texts if (text in run(True)) != (text in run(False))]


@wrong("what_is_lost", "sorted anew", "Keep the order of")
def resorted(run, texts):
    lost = [text for text in texts if text in run(True) and text not in run(False)]
    return lost[::-1]


@wrong("what_is_lost", "the answer of the cell above, typed in", "These aren't among `texts`")
def typed_in(run, texts):
    return ["invoice 8841", "do not contact the supplier"]
