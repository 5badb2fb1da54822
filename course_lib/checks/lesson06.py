"""Lesson 6, The working set: its exercises and its predictions."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from course_lib.checks.exercises import Exercise, NumberQuestion, Question, expect, expect_error
from course_lib.messages import (
    Message,
    assistant,
    is_summary,
    system,
    text_of,
    tool_call,
    tool_result,
    user,
    validate,
)
from course_lib.tokens import count_tokens

SUPPLIERS = ("Halden", "Solberg", "Nordlys", "Vinge", "Tarn", "Aker", "Birka", "Lund")

# ---- offload and compute --------------------------------------------------------------------

OFFLOAD_AND_ASK = Exercise(
    "offload_and_ask",
    title="Offload a table, and answer by SQL under a cap",
    lesson=6,
    minutes=12,
    points=3,
    returns=tuple[str, str],
    hints=(
        "Where do the rows belong, and what does the model need so that it can ask about them?",
        "`Store()`, `.offload_table('payments', rows)` and `.query(sql)` do most of it. Then add row "
        "after row to the answer, as long as the rows and the last line fit.",
        "lines = [json.dumps(row) for row in store.query(sql)]\n"
        "if count_tokens('\\n'.join(lines)) <= cap: return reference, ...\n"
        "while lines and count_tokens('\\n'.join([*lines, MORE])) > cap: ...",
    ),
)

Ask = Callable[[list[dict], str, int], tuple[str, str]]
MORE = "[more rows: narrow the query]"


def _rows(rng: Random, count: int) -> list[dict]:
    return [
        {
            "reference": f"R{n:03d}",
            "supplier": rng.choice(SUPPLIERS),
            "amount": rng.randint(10, 9999),
        }
        for n in range(count)
    ]


def _answer_rows(answer: str) -> list:
    """The rows of an answer, without its last line if that is the mark."""
    lines = [line for line in answer.split("\n") if line and line != MORE]
    try:
        return [json.loads(line) for line in lines]
    except ValueError:
        return []


@OFFLOAD_AND_ASK.property("one line stands for the table")
def _reference(offload_and_ask: Ask, rng: Random) -> None:
    rows = _rows(rng, 60)
    reference, _ = offload_and_ask(rows, "SELECT count(*) AS n FROM payments", 100)
    expect(
        count_tokens(reference) < 100,
        f"What stands in the context has {count_tokens(reference):,} tokens. Which line does "
        "`offload_table` give back?",
    )
    expect(
        "payments" in reference and "amount" in reference,
        "From this line alone the model must know the table's name and its columns.",
    )


@OFFLOAD_AND_ASK.property("SQL computes, and the answer is read off")
def _computes(offload_and_ask: Ask, rng: Random) -> None:
    rows = _rows(rng, 80)
    sql = "SELECT sum(amount) AS euros FROM payments WHERE supplier = 'Lund'"
    _, answer = offload_and_ask(rows, sql, 100)
    total = sum(row["amount"] for row in rows if row["supplier"] == "Lund")
    expect(str(total) in answer, "The sum that SQL computes over all rows isn't in the answer.")
    expect(
        count_tokens(answer) < 40,
        "The query has one row for an answer. Does more than that come back?",
    )


@OFFLOAD_AND_ASK.property("an answer that fits is whole: a row a line, as JSON")
def _whole(offload_and_ask: Ask, rng: Random) -> None:
    rows = _rows(rng, 12)
    sql = "SELECT reference, amount FROM payments ORDER BY amount DESC LIMIT 5"
    _, answer = offload_and_ask(rows, sql, 400)
    wanted = sorted(({k: r[k] for k in ("reference", "amount")} for r in rows), key=_amount)[:5]
    expect(MORE not in answer, "All rows fit under the cap, so nothing is left out.")
    got = _answer_rows(answer)
    expect(
        len(got) == 5, "The query finds 5 rows. Write each on a line of its own, with json.dumps."
    )
    expect([r.get("amount") for r in got] == [r["amount"] for r in wanted], "Keep SQL's order.")
    exact = count_tokens("\n".join(map(json.dumps, wanted)))
    _, answer = offload_and_ask(rows, sql, exact)
    expect(
        _answer_rows(answer) == wanted and MORE not in answer,
        f"The rows have {exact} tokens, and the cap is {exact}: all fit. Only where rows are missing "
        "does the mark need room.",
    )


def _amount(row: dict) -> int:
    return -row["amount"]


@OFFLOAD_AND_ASK.property("the answer stays under the cap, in tokens")
def _capped(offload_and_ask: Ask, rng: Random) -> None:
    for cap in (60, 150):
        _, answer = offload_and_ask(_rows(rng, 50), "SELECT * FROM payments", cap)
        tokens = count_tokens(answer)
        expect(
            tokens <= cap,
            f"The answer has {tokens} tokens, and the cap is {cap}. The mark counts as well.",
        )


@OFFLOAD_AND_ASK.property("what is left out is said, and only whole rows are shown")
def _says_so(offload_and_ask: Ask, rng: Random) -> None:
    rows = _rows(rng, 50)
    _, answer = offload_and_ask(rows, "SELECT * FROM payments", 150)
    lines = answer.split("\n")
    expect(
        lines[-1] == MORE,
        "Rows are missing. A model that isn't told takes these for all: end with the line `MORE`.",
    )
    expect(
        _answer_rows(answer) == rows[: len(lines) - 1],
        "A row that is cut in two holds half a figure. Show the first rows whole, or not at all.",
    )
    longer = "\n".join([*lines[:-1], json.dumps(rows[len(lines) - 1]), MORE])
    expect(count_tokens(longer) > 150, "One more row would have fitted under the cap.")


# ---- where to put things --------------------------------------------------------------------

IN_ORDER = Exercise(
    "in_order",
    title="Put the parts in order",
    lesson=6,
    minutes=4,
    points=2,
    returns=list[str],
    hints=(
        "Which part never changes, which one changes least after it, and what is asked now?",
        "What changes more often stands further back: what changes at a compaction, with a note, at "
        "each step? `recent` is a list already, and a part that is empty isn't sent.",
        "parts = [instructions, ..., *recent, ...]\nreturn [part for part in parts if ...]",
    ),
)

Order = Callable[..., list[str]]  # the parts by their names
PARTS = {
    "goal": "Find the cause.",
    "recent": ["s8", "s9"],
    "instructions": "Be careful.",
    "question": "And 8842?",
    "notes": "Rule: B.",
    "summary": "So far: A.",
}


@IN_ORDER.property("instructions first, the question last")
def _ends(in_order: Order) -> None:
    got = in_order(**PARTS)
    expect(got[:1] == ["Be careful."], "A model attends well to the start. What belongs there?")
    expect(got[-1:] == ["And 8842?"], "A model attends well to the end. What should it read last?")


@IN_ORDER.property("goal, summary, notes and recent steps stand between them, in this order")
def _between(in_order: Order) -> None:
    got = in_order(**PARTS)
    for name, text in (
        ("goal", "Find the cause."),
        ("summary", "So far: A."),
        ("notes", "Rule: B."),
    ):
        expect(text in got, f"The {name} isn't sent at all.")
    places = [got.index(text) for text in ("Find the cause.", "So far: A.", "Rule: B.")]
    expect(places == [1, 2, 3], "What changes least comes first: goal, then summary, then notes.")
    expect(got[4:6] == ["s8", "s9"], "The recent steps follow in their own order, each by itself.")


@IN_ORDER.property("a part that is empty isn't sent")
def _no_empties(in_order: Order) -> None:
    got = in_order(**PARTS | {"summary": "", "notes": "", "recent": []})
    expect("" not in got, "At the start of a run there is no summary and no note. Leave them out.")
    expect(len(got) == 3, "Three of the parts say something here.")


@IN_ORDER.property("a new step changes nothing before it")
def _append_only(in_order: Order, rng: Random) -> None:
    steps = [f"step {n}: {rng.choice(SUPPLIERS)}" for n in range(6)]
    before = in_order(**PARTS | {"recent": steps[:5], "question": ""})
    after = in_order(**PARTS | {"recent": steps, "question": ""})
    expect(
        after[: len(before)] == before,
        "With one step more, the prompt should only grow at its end: a cache reuses what is the same.",
    )


# ---- capped notes ---------------------------------------------------------------------------

CAPPED_NOTE = Exercise(
    "capped_note",
    title="Notes under a cap",
    lesson=6,
    minutes=9,
    points=3,
    returns=dict[str, str],
    hints=(
        "What must never go, whatever else does? And which of the others goes first?",
        "Copy the notes, put the new one in, then take away the oldest that may go until the block "
        "fits. If none may go, raise ValueError.",
        "notes = {**notes, key: text}\n"
        "while block_tokens(notes) > cap:\n"
        "    may_go = [k for k in notes if k != key and not k.startswith(...)]\n"
        "    if not may_go: raise ValueError(...)\n"
        "    del notes[...]",
    ),
)

PinNote = Callable[[dict[str, str], str, str, int], dict[str, str]]


def block_tokens(notes: dict[str, str]) -> int:
    """The tokens of a notes block, as the exercise counts them."""
    return count_tokens("\n".join(f"[{key}] {text}" for key, text in notes.items()))


def _notes(rng: Random, count: int) -> dict[str, str]:
    return {
        f"n{i}": f"invoice {rng.randint(8000, 8999)} of {rng.choice(SUPPLIERS)} is open"
        for i in range(count)
    }


RULE = {"rule 1": "do not contact the supplier"}
SHORT = "invoice 8842 has no order number either"
LONG = f"{SHORT}, and Halden asks for its money until Friday, before the office closes for the year"


@CAPPED_NOTE.property("a new note comes last")
def _new_note(capped_note: PinNote) -> None:
    got = capped_note({"a": "invoice 8841 is rejected"}, "b", "code E12", 100)
    expect(list(got) == ["a", "b"], "There is room for both: the old one first, the new one last.")
    expect(got["b"] == "code E12", "The note's text is to be kept word for word.")


@CAPPED_NOTE.property("a note with the same key is replaced where it stands")
def _replaced(capped_note: PinNote) -> None:
    notes = {"a": "8841 is open", "b": "code E12"}
    got = capped_note(notes, "a", "8841 is rejected", 100)
    expect(list(got) == ["a", "b"], "A key stands for one note, and it keeps its place.")
    expect(got["a"] == "8841 is rejected", "The newer text under a key counts.")


@CAPPED_NOTE.property("the block stays under its cap, in tokens")
def _under_cap(capped_note: PinNote, rng: Random) -> None:
    notes = _notes(rng, 8)
    cap = block_tokens(notes) + 3
    for key, text in (("new", SHORT), ("new", LONG), ("n0", LONG)):
        got = capped_note(notes, key, text, cap)
        tokens = block_tokens(got)
        one_went = len(got) == len({**notes, key: text}) - 1
        more = " One note has gone; is that enough here?" if one_went else ""
        expect(
            got.get(key) == text,
            "The new note is gone. It is what the agent has just learnt: it must be there, wherever "
            "it stands.",
        )
        expect(
            tokens <= cap,
            f"The block has {tokens} tokens, keys included, and its cap is {cap}.{more}",
        )


@CAPPED_NOTE.property("the oldest go, and no more than need be")
def _oldest(capped_note: PinNote, rng: Random) -> None:
    notes = _notes(rng, 8)
    cap = block_tokens(notes) + 3
    got = capped_note(notes, "new", SHORT, cap)
    kept = [key for key in notes if key in got]
    expect(
        kept == list(notes)[len(notes) - len(kept) :],
        "Of the notes that may go, the oldest goes first.",
    )
    gone = list(notes)[: len(notes) - len(kept)]
    expect(
        not gone or block_tokens({gone[-1]: notes[gone[-1]], **got}) > cap,
        "One of the notes that went would still have fitted.",
    )


@CAPPED_NOTE.property("a rule never goes")
def _rules_stay(capped_note: PinNote, rng: Random) -> None:
    notes = {**RULE, **_notes(rng, 6)}
    cap = block_tokens(notes) + 3
    got = capped_note(notes, "new", SHORT, cap)
    expect(
        "rule 1" in got, "The rule is the oldest note, and it is gone. What may the agent do now?"
    )
    expect(block_tokens(got) <= cap, "With a rule to spare, another note has to go.")


@CAPPED_NOTE.property("if nothing may go, it says so")
def _says_full(capped_note: PinNote) -> None:
    with expect_error(ValueError, "Only a rule is left, and the two don't fit. Raise ValueError."):
        capped_note(RULE, "new", SHORT, block_tokens(RULE) + 2)
    with expect_error(ValueError, "This note alone is over the cap. Raise ValueError."):
        capped_note({}, "new", SHORT, 4)


# ---- a fresh start --------------------------------------------------------------------------

FRESH_START = Exercise(
    "fresh_start",
    title="Start afresh from a hand-off note",
    lesson=6,
    minutes=14,
    points=4,
    returns=list[dict],
    hints=(
        "The note stands for the first `seen` messages, the head among them. What came since must go "
        "along, in whole turn groups: is a group half in?",
        "Walk over the groups and keep count of the messages; the head counts. A group that ends behind "
        "`seen` goes along, unless one of its tool calls has no result: how many messages has it then?",
        "head, groups = turn_groups(trace)\n"
        "end, since = ..., []\n"
        "for group in groups:\n"
        "    end += ...\n"
        "    calls = group[0].get('tool_calls') or []\n"
        "    if ... and ...: since += group\n"
        "return [*head, ..., *since]",
    ),
)

Fresh = Callable[[list[Message], str, int], list[Message]]
NOTE = "Goal: check the payments.\nFacts: PAY-1 came back.\nNext step: look at PAY-4."


def _trace(rng: Random, steps: int, twins: int = 0) -> list[Message]:
    """A run of some steps; those whose number is divisible by `twins` ask for two things at once."""
    messages = [system("Be careful."), user("Check the payments. Do not contact the supplier.")]
    for n in range(1, steps + 1):
        ids = [f"c{n}", f"c{n}b"] if twins and n % twins == 0 else [f"c{n}"]
        messages.append(
            assistant(calls=[tool_call(id, "look_up", payment=f"PAY-{n}") for id in ids])
        )
        messages += [tool_result(id, f"PAY-{n}: {rng.randint(10, 9999)} euros") for id in ids]
    return messages


@FRESH_START.property("the head, the note with its mark, and what came since")
def _three_parts(fresh_start: Fresh, rng: Random) -> None:
    trace = _trace(rng, 5)
    got = fresh_start(trace, NOTE, 8)
    expect(got[:2] == trace[:2], "A fresh run needs its instructions and its task, as they were.")
    notes = [m for m in got if is_summary(m)]
    expect(
        len(notes) == 1, "The note is a user message that begins with SUMMARY_MARK; one of them."
    )
    expect(NOTE in text_of(notes[0]), "The note's own words are to stand there, all of them.")
    expect(got[2] is notes[0], "The note comes right behind the head.")
    expect(
        got[3:] == trace[8:],
        "Behind the note: what the trace holds from message 8 on. `seen` counts "
        "from the start of the trace, the head's two messages included.",
    )


@FRESH_START.property("what the note stands for doesn't go along")
def _clean(fresh_start: Fresh, rng: Random) -> None:
    trace = _trace(rng, 6)
    got = fresh_start(trace, NOTE, len(trace))
    expect(
        len(got) == 3, "The note stands for all of the trace here: a clean start is three messages."
    )


@FRESH_START.property("a tool call whose result never came is left out")
def _killed(fresh_start: Fresh, rng: Random) -> None:
    trace = _trace(rng, 5)[:-1]
    got = fresh_start(trace, NOTE, 8)
    expect(
        trace[-1] not in got,
        "The run was killed before this tool call had its result. A provider rejects it like this, and the "
        "model will ask again.",
    )
    expect(
        trace[8] in got and trace[9] in got,
        "Only the open tool call goes. What was answered stays.",
    )


@FRESH_START.property("a turn group goes along whole")
def _half_in(fresh_start: Fresh, rng: Random) -> None:
    trace = _trace(rng, 5, twins=4)
    for seen in (9, 10):  # inside of the fourth group, which has two results
        got = fresh_start(trace, NOTE, seen)
        expect(
            not validate(got),
            f"Message {seen} is a result whose call came before it. Alone it would be rejected.",
        )
        expect(trace[8:11] == got[3:6], "Its call and both results are one group: keep it whole.")


@FRESH_START.property("any run, killed anywhere, can go on")
def _anywhere(fresh_start: Fresh, rng: Random) -> None:
    for _ in range(25):
        trace = _trace(rng, rng.randint(1, 7), twins=rng.randint(0, 3))
        trace = trace[: rng.randint(2, len(trace))]
        got = fresh_start(trace, NOTE, rng.randint(2, len(trace)))
        expect(
            not validate(got), "A provider would reject this: look for an orphan or an open call."
        )


# ---- break it -------------------------------------------------------------------------------

WHAT_IS_LOST = Exercise(
    "what_is_lost",
    title="Take the pin away, and say what is lost",
    lesson=6,
    minutes=4,
    points=2,
    returns=list[str],
    hints=(
        "You have one run in two versions. Which texts are in the one and not in the other?",
        "Call `run(True)` and `run(False)`, and go through the texts in order.",
        "with_pin, without = run(True), run(False)\n"
        "return [text for text in texts if text in ... and text not in ...]",
    ),
)

Lost = Callable[[Callable[[bool], str], list[str]], list[str]]
LEFT = ("FACT: item 1 amount 1001", "FACT: item 39 amount 1039")


def _pin_run(pinned: bool) -> str:
    note = "NOTES\nConstraint: do not contact the supplier.\n\n" if pinned else ""
    return f"You are an agent.\n\n{note}SUMMARY\n" + "\n".join(LEFT)


def _of_these(texts: list[str], got: list[str]) -> list[str]:
    """The result, once each of it is one of the texts that were given."""
    others = [text for text in got if text not in texts]
    expect(
        not others,
        f"These aren't among `texts`: {', '.join(map(repr, others))}. Work out the answer from "
        "`run` and `texts`, whatever they are.",
    )
    return got


@WHAT_IS_LOST.property("what only the pin kept is lost")
def _lost(what_is_lost: Lost) -> None:
    texts = ["do not contact the supplier", LEFT[0]]
    got = _of_these(texts, what_is_lost(_pin_run, texts))
    expect(
        "do not contact the supplier" in got,
        "With the pin this text stands in the prompt, and without it it doesn't.",
    )
    expect(
        LEFT[0] not in got, "This fact is in the prompt without the pin too: the summary keeps it."
    )


@WHAT_IS_LOST.property("what was never there isn't lost")
def _never(what_is_lost: Lost) -> None:
    texts = ["do not pay twice", "do not contact the supplier"]
    got = _of_these(texts, what_is_lost(_pin_run, texts))
    expect("do not pay twice" not in got, "This text stands in neither of the two prompts.")


@WHAT_IS_LOST.property("what is new isn't lost either; the order is that of the texts")
def _order(what_is_lost: Lost, rng: Random) -> None:
    names = rng.sample(SUPPLIERS, 5)

    def run(pinned: bool) -> str:
        return " ".join(names[:4]) if pinned else " ".join(names[3:])

    got = _of_these(names, what_is_lost(run, names))
    expect(names[4] not in got, "This one stands only in the prompt without the pin: it was won.")
    expect(got == names[:3], "Keep the order of `texts`.")


# ---- recall ---------------------------------------------------------------------------------

Question(
    "before_06_repeat",
    lesson=6,
    text="An agent makes the same tool call a second time. What is that a sign of?",
    choices={
        "The window is too small for its answer": "Then the request would fail. Here it goes on, and "
        "asks for something that it once had.",
        "Its result was trimmed while it was still needed": "Yes: too much went (lesson 2). Today what "
        "goes can be fetched back.",
        "The tool is slow": "A slow tool is waited for. Why would the model want to know it again?",
    },
    right="Its result was trimmed while it was still needed",
)

Question(
    "before_06_exact",
    lesson=6,
    text="A summary has to become shorter. What do you shorten?",
    choices={
        "The figures: about forty thousand will do": "A lookup or a letter with that number is wrong.",
        "The rules of the user": "A rule that isn't in front of the model doesn't bind it.",
        "The story of what was done": "Yes. Copy exact values, shorten narrative (lesson 5).",
    },
    right="The story of what was done",
)

# ---- predictions ----------------------------------------------------------------------------


def _reference_tokens() -> int:
    from course_lib.samples.payments import payments
    from course_lib.store import Store

    return count_tokens(Store().offload_table("payments", payments(), "October, in euros"))


NumberQuestion(
    "reference_tokens",
    lesson=6,
    text="The list goes into a store, and one line stands for it in the context: its name, its "
    "columns, and how to read it. How many tokens does that line have?",
    answer=_reference_tokens,
    tolerance=0.5,
    unit="tokens",
    right="About that: {answer}.",
    too_low="A little more, {answer}: the columns and the two ways to read it stand in it as well.",
    too_high="Fewer, {answer}. Not one of the 400 rows is in it.",
)

Question(
    "layout_cache",
    lesson=6,
    text="The agent writes a note at every step. Where do the notes stand, if the cache should serve "
    "as much as it can?",
    choices={
        "In front of everything: they matter most": "Then the very first tokens change at every step, "
        "and a cache serves nothing behind a change.",
        "Behind instructions and task": "Those two then come from the cache. But what stands behind the "
        "notes, all the recent steps, is read afresh each time.",
        "It makes no difference": "A cache reads from the start up to the first change. Where is that?",
        "At the end, behind the recent steps": "Yes: all before them stays the same, and only the notes "
        "themselves are read afresh.",
    },
    right="At the end, behind the recent steps",
)

Question(
    "class_at_400",
    lesson=6,
    text="After 40 steps all is well. The same class goes on to step 400. How often has it compacted?",
    choices={
        "About 40 times": "That would be at every tenth step. It was 18 times in the first 40 already.",
        "About 180 times": "Ten times as many steps, ten times as often: if nothing grew on the way.",
        "At nearly every step": "Yes. What it keeps for good grows until it fills the budget.",
    },
    right="At nearly every step",
)

Question(
    "killed_in_between",
    lesson=6,
    text="The run was killed while it waited for the result of step 45. What has to be done again?",
    choices={
        "Everything": "Each message was on the disk before the run went on.",
        "Everything since the last summary": "The summary is a way to send less. The trace has every "
        "message, also those since then.",
        "The one tool call that has no result": "Yes: that of step 45. All before it is in the store.",
    },
    right="The one tool call that has no result",
)

Question(
    "sub_agent_reads",
    lesson=6,
    text="A sub-agent reads all 400 rows in a context of its own and answers in a sentence. What does the "
    "main agent's next model call read of that?",
    choices={
        "All that the sub-agent read": "That would be so if both shared one list. They don't.",
        "The sentence": "Yes, and the tool call that asked for it. The rest stays in the other context.",
        "Nothing": "The answer comes back as a tool result, so that much is read.",
    },
    right="The sentence",
)

# ---- check yourself -------------------------------------------------------------------------

Question(
    "four_hundred_rows",
    lesson=6,
    text="A task needs a 400-row table. How should it be handled in the context?",
    choices={
        "Put it in once, at the start, where the cache serves it": "Cheaper, but it is read on every "
        "model call, fills the window, and buries what matters.",
        "Summarise it": "A summary can't answer a question about row 317.",
        "Keep it in a file or store; in the context a short reference, with tools to read or compute": "Yes: "
        "the pointer is inside, the data outside, and the tools bring the part that is asked for.",
    },
    right="Keep it in a file or store; in the context a short reference, with tools to read or compute",
)

Question(
    "pin_lost",
    lesson=6,
    text="The facts are all still there, and the constraint is gone. What may happen next?",
    choices={
        "The agent asks what it may do": "Nothing in front of it says that there is a limit to ask about.",
        "The agent contacts the supplier": "Yes. To explain it to the supplier is the goal, and the rule "
        "that forbade it isn't read any more.",
        "The provider rejects the request": "The request is sound. That is what makes it dangerous.",
    },
    right="The agent contacts the supplier",
)
