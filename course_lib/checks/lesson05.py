"""Lesson 5, Summaries that keep what matters: its exercises and its predictions."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

from course_lib.audits import Audit, audit
from course_lib.checks.describe import describe
from course_lib.checks.exercises import Exercise, Question, expect
from course_lib.checks.judge import check
from course_lib.messages import calls_of, text_of
from course_lib.samples.handoffs import PUMP_NOTE, pump_run
from course_lib.tokens import count_tokens
from course_lib.values import exact_values

# ---- 1: fill the six sections ---------------------------------------------------------------

SECTIONS = ("Goal", "Done", "Facts", "Decisions", "Open items", "Next step")
CAP = 260  # tokens; what one needs for all of it, and a little air
RULE = "Do not switch anything off"

HAND_OFF = Exercise(
    "hand_off",
    title="Fill the six sections",
    lesson=5,
    minutes=12,
    points=3,
    returns=str,
    hints=(
        "Go through the run from the top: what would you need if you had to go on tomorrow?",
        "Copy each code, date, temperature and part number as it stands, with the tool that it came "
        "from. The task becomes the goal, with its rule word for word.",
        'return """Goal: Find out … Constraint: …\n'
        "Done: …\n"
        "Facts:\n"
        "  - … (list_alarms)\n"
        '...\nNext step: …"""',
    ),
)


def note_sections(note: str) -> dict[str, str]:
    """The sections of a note by name, as they stand; empty for one that isn't there."""
    names = "|".join(SECTIONS)
    found = re.split(rf"^\s*\**({names})\**:\**", note, flags=re.MULTILINE)
    return dict.fromkeys(SECTIONS, "") | dict(zip(found[1::2], found[2::2], strict=True))


def needed_values() -> list[tuple[str, str]]:
    """Each exact value that a result of the pump run brought, and the tool that it came from."""
    messages = pump_run()
    pairs = zip(messages[2::2], messages[3::2], strict=True)
    return [
        (value, str(calls_of(call)[0].name))
        for call, result in pairs
        for value in exact_values(text_of(result))
    ]


@HAND_OFF.property("six sections, in their order")
def _six(hand_off: Callable[[], str]) -> None:
    note = hand_off()
    names = "|".join(SECTIONS)
    found = re.findall(rf"^\s*\**({names})\**:", note, flags=re.MULTILINE)
    missing = [name for name in SECTIONS if name not in found]
    expect(
        not missing, f"No line begins with {missing[0] if missing else ''} and a colon.", got=note
    )
    expect(found == list(SECTIONS), "Each section once, in the order of the lesson.", got=note)
    empty = [name for name, text in note_sections(note).items() if not text.strip(" \n-")]
    expect(not empty, f"{empty[0] if empty else ''} says nothing. If there is nothing, say none.")


@HAND_OFF.property("the goal holds the request, and the rule in the user's words")
def _goal(hand_off: Callable[[], str]) -> None:
    goal = " ".join(note_sections(hand_off())["Goal"].split())
    expect("P-17" in goal, "Which pump? The goal should still be clear to someone who wakes up.")
    expect("proposal" in goal, "The user asked for something to be written. What, and for whom?")
    expect(
        RULE.casefold() in goal.casefold(),
        "What must the agent not do? Copy that rule word for word into the goal.",
    )


@HAND_OFF.property("every exact value that a result brought")
def _values(hand_off: Callable[[], str]) -> None:
    lost = set(audit(pump_run()[1:], hand_off()).lost)
    tools = [tool for value, tool in needed_values() if value in lost]
    expect(
        not tools,
        f"An exact value of the result of {tools[0] if tools else ''} isn't in your note. A date may "
        "be spelt in another way; all else is copied.",
    )


@HAND_OFF.property("nothing that nobody said")
def _invented(hand_off: Callable[[], str]) -> None:
    invented = audit(pump_run()[1:], hand_off()).invented
    expect(
        not invented,
        f"Nobody in the run said {invented[0] if invented else ''}. Where is it from?",
    )


@HAND_OFF.property("what was decided, what is open, what comes next")
def _open(hand_off: Callable[[], str]) -> None:
    found = note_sections(hand_off())
    expect(
        "night" in found["Decisions"] or "day" in found["Decisions"],
        "The agent decided something, and said why. Otherwise the question is opened again.",
    )
    expect("P-18" in found["Open items"], "What does the agent not know yet?")
    expect("P-18" in found["Next step"], "What is the very next call? Name the thing to look up.")


@HAND_OFF.property("within the cap")
def _cap(hand_off: Callable[[], str]) -> None:
    tokens = count_tokens(hand_off())
    expect(
        tokens <= CAP, f"Your note has {tokens} tokens, the cap is {CAP}. Shorten what isn't exact."
    )


class SideBySide:
    """Two notes beside each other, with their tokens."""

    def __init__(self, notes: dict[str, str]) -> None:
        self.notes = {f"{name} ({count_tokens(note)} tokens)": note for name, note in notes.items()}

    def __repr__(self) -> str:
        return "\n\n".join(f"{name}\n{note}" for name, note in self.notes.items())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        cells = "".join(
            '<td style="width:50%;vertical-align:top;text-align:left;white-space:pre-wrap;'
            f'background:none"><b>{html.escape(name)}</b>\n{html.escape(note)}</td>'
            for name, note in self.notes.items()
        )
        table = f'<table style="width:100%;table-layout:fixed"><tr>{cells}</tr></table>'
        return {"text/plain": repr(self), "text/html": table}


def side_by_side(hand_off: Callable[[], str]) -> SideBySide | None:
    """Your note beside another one that passes; nothing until yours does."""
    if check("hand_off", hand_off).status != "passed":
        print(
            "Pass the check above, then run this cell again: another answer is shown beside yours."
        )
        return None
    return SideBySide({"yours": hand_off(), "another": PUMP_NOTE})


# ---- 2: find exact values -------------------------------------------------------------------

EXACT_VALUES = Exercise(
    "exact_values",
    title="Find the exact values of a text",
    lesson=5,
    minutes=12,
    points=3,
    returns=list,
    hints=(
        "Write one pattern for each kind, and join them with |. The first that fits wins: which has "
        "to come first?",
        "Quoted text first, then dates, then codes, then numbers with commas, then plain numbers. "
        "`re.finditer` gives them in order; take off the quotation marks; a dict keeps each once.",
        'pattern = r\'"[^"]+"|...|...|...|\\d{3,}\'  # in between: dates, codes, numbers with commas\n'
        "found = [match[0]... for match in re.finditer(pattern, text)]\n"
        "return ...  # each once",
    ),
)

Finder = Callable[[str], list[str]]


@EXACT_VALUES.property("numbers from three digits on, with their commas")
def _numbers(exact_values: Finder) -> None:
    got = _found(exact_values, "Invoice 8841, over 48,000, has 3 lines and 16 columns.")
    expect(
        not any(value.endswith(",") for value in got),
        "A comma at the end of a number isn't part of it: digits have to follow.",
    )
    expect("48,000" in got, "48,000 is one number. What may stand between its digits?")
    expect("8841" in got, "8841 is missing: four digits, no comma.")
    expect("3" not in got and "16" not in got, "Small numbers are counts. Leave them out.")
    expect(sorted(got) == ["48,000", "8841"], "Two exact values stand in this sentence.")
    got = _found(exact_values, "1,234,567 units")
    expect(got == ["1,234,567"], "A number may have more than one comma.")


def _found(exact_values: Finder, text: str) -> list[str]:
    """The learner's values of a text, if they are texts."""
    got = exact_values(text)
    part_of_one = ("", ",", "-")  # how what a group found, or didn't, begins
    expect(
        not any(isinstance(v, tuple) or (isinstance(v, str) and v[:1] in part_of_one) for v in got),
        "These are parts of values. Where a pattern has groups, `re.findall` gives the groups; "
        "`re.finditer` gives matches, and match[0] is the whole.",
    )
    expect(all(isinstance(value, str) for value in got), "Return a list of texts.")
    return got


@EXACT_VALUES.property("codes of capitals and digits")
def _codes(exact_values: Finder) -> None:
    got = _found(
        exact_values, "Rule E12 rejects S1, see T-2207 and filter FX-220. HELLO to all in room 4B."
    )
    expect("X-220" not in got, "FX-220 begins with two capitals, and yours took one of them.")
    expect("E12" in got and "S1" in got, "A code is capitals, then digits: also one of each.")
    expect("T-2207" in got and "FX-220" in got, "A hyphen may stand between capitals and digits.")
    expect("2207" not in got, "T-2207 is one value. Its digits alone aren't another.")
    expect(
        sorted(got) == ["E12", "FX-220", "S1", "T-2207"],
        "Something here is no code, yet was taken for one.",
    )


@EXACT_VALUES.property("dates as a whole")
def _dates(exact_values: Finder) -> None:
    got = _found(exact_values, "Rejected on 2026-03-04, received on 2026-03-03.")
    expect("2026" not in got, "A date is one value: look for it before you look for numbers.")
    expect(sorted(got) == ["2026-03-03", "2026-03-04"], "Two dates stand in this sentence.")


@EXACT_VALUES.property("quoted text, without its marks")
def _quotes(exact_values: Finder) -> None:
    text = 'Rule E12 says "Purchase order number missing." and E07 "Amount above 500."'
    got = _found(exact_values, text)
    expect(
        "Purchase order number missing." in got,
        "What stands between double quotation marks is exact, too, word for word.",
    )
    expect("500" not in got, "The quoted text is one value. What stands in it isn't a second one.")
    wanted = ["E12", "Purchase order number missing.", "E07", "Amount above 500."]
    expect(got == wanted, "Four values, in the order in which they stand.")


@EXACT_VALUES.property("each once, in the order in which they first appear")
def _once(exact_values: Finder) -> None:
    got = _found(exact_values, "S1 sent 8841. Later S1 sent 8842, and 8841 was rejected.")
    expect(len(got) == len(set(got)), "A value that comes twice is listed once.")
    expect(got == ["S1", "8841", "8842"], "The order is that of the text.")
    expect(exact_values("Nothing exact here.") == [], "Nothing exact gives an empty list.")


@EXACT_VALUES.property("any text")
def _any_text(exact_values: Finder, rng: Random) -> None:
    for _ in range(40):
        values = made_values(rng, rng.randint(1, 6))
        written = [f'"{value}"' if " " in value else value for value in values]
        words = [f"{rng.choice(WORDS)} {value}" for value in written]
        expect(
            exact_values(", ".join(words) + ".") == values,
            "Not every value of this text was found.",
        )


WORDS = ["then", "for", "with", "and", "after", "the", "said", "about"]


def made_values(rng: Random, count: int) -> list[str]:
    """Different values of the four kinds."""
    kinds = [
        lambda: f"{rng.randint(2024, 2027)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
        lambda: f"{rng.choice('ABKR')}{rng.choice(['', '-', 'X-'])}{rng.randint(1, 9999)}",
        lambda: f"{rng.randint(1, 999)},{rng.randint(0, 999):03d}",
        lambda: str(rng.randint(100, 99999)),
        lambda: f"{rng.choice(['pump', 'order', 'rule'])} {rng.choice(['missing', 'too late'])}",
    ]
    found: dict[str, None] = {}
    while len(found) < count:
        found[rng.choice(kinds)()] = None
    return list(found)


# ---- 3: the audit ---------------------------------------------------------------------------

AUDIT_VALUES = Exercise(
    "audit_values",
    title="Audit a summary",
    lesson=5,
    minutes=10,
    points=3,
    returns=tuple | list,
    hints=(
        "Two lists of values: one of the source, one of the summary. Which of them is the question "
        "asked of, for each of the three?",
        "Make a set of the summary's values without commas, and one of the source's. Kept and lost "
        "go through the source's list, invented through the summary's.",
        "read, written = find_values(source), find_values(summary)\n"
        "there = {value.replace(',', '') for value in written}\n"
        "kept = [value for value in read if ...]\n"
        "...\n"
        "return kept, lost, invented",
    ),
)

Lists = tuple[list[str], list[str], list[str]]
Auditor = Callable[[str, str], Lists]


def _three(audit_values: Auditor, source: str, summary: str) -> Lists:
    """The learner's three lists, in a tuple or in a list."""
    got = audit_values(source, summary)
    expect(
        not isinstance(got, Audit),
        "That is the library's audit, which the cell below compares yours with. Write your own, with "
        "`find_values`.",
    )
    expect(
        len(got) == 3 and all(isinstance(values, list) for values in got),
        "Return three lists: kept, lost and invented.",
    )
    kept, lost, invented = got
    return kept, lost, invented


@AUDIT_VALUES.property("kept and lost, in the order of the source")
def _kept(audit_values: Auditor) -> None:
    kept, lost, _ = _three(
        audit_values, "Invoice 8841, code E12, order 70316.", "Order 70316, invoice 8841."
    )
    expect(kept == ["8841", "70316"], "Kept is what stands in both, in the order of the source.")
    expect(lost == ["E12"], "Lost is what stands in the source, and not in the summary.")


@AUDIT_VALUES.property("invented: in the summary, nowhere in the source")
def _made_up(audit_values: Auditor) -> None:
    kept, lost, invented = _three(
        audit_values, "Order 8841, rule E12.", "Order 8841, carrier DPX, on 2024-03-02."
    )
    expect("8841" not in invented, "8841 stands in the source: it isn't invented.")
    expect(
        "2024-03-02" in invented, "The date is nowhere in the source. Which list does it belong to?"
    )
    expect(invented == ["DPX", "2024-03-02"], "In the order of the summary, please.")
    expect(
        (kept, lost) == (["8841"], ["E12"]), "What was invented changes nothing of kept and lost."
    )


@AUDIT_VALUES.property("whole values, not parts of them")
def _parts(audit_values: Auditor) -> None:
    kept, lost, invented = _three(audit_values, "Invoice 8841.", "Invoice 88412.")
    expect(
        lost == ["8841"] and kept == [],
        "8841 isn't 88412. Compare values with values, not with the text.",
    )
    expect(invented == ["88412"], "88412 is a value of its own, and nobody said it.")


@AUDIT_VALUES.property("48,000 is 48000")
def _commas(audit_values: Auditor) -> None:
    kept, lost, invented = _three(
        audit_values, "Amount 48,000, order 70316.", "48000 for order 70,316."
    )
    expect(
        not invented and not lost,
        "Commas in a number are spelling, on either side. Take them off before you compare.",
    )
    expect(kept == ["48,000", "70316"], "Report a kept value as the source writes it.")


@AUDIT_VALUES.property("any two texts")
def _any_two(audit_values: Auditor, rng: Random) -> None:
    for _ in range(30):
        values = [v for v in made_values(rng, 9) if " " not in v]
        first, second = sorted(rng.sample(range(len(values) + 1), 2))
        read, written = values[:second], values[first:]
        got = _three(audit_values, ", ".join(read), ", ".join(written))
        wanted = (values[first:second], values[:first], values[second:])
        expect(got == wanted, "A value is in the wrong list, or in none.")


# ---- 4: merge two notes ---------------------------------------------------------------------

MERGE_NOTES = Exercise(
    "merge_notes",
    title="Merge two notes without loss",
    lesson=5,
    minutes=15,
    points=4,
    returns=dict,
    hints=(
        "No line is rewritten. For each section ask: whose is it, the earlier note's, the later one's, "
        "or both?",
        "Done, facts and decisions: both lists, each line once. Goal: the earlier one. Next step: the "
        "later one, if it has one. Open items: all, but for those with which a line of the later done "
        "begins.",
        "def both(name):\n"
        "    return ...  # the earlier lines, then the later ones, each once\n"
        "still_open = [item for item in both('open_items')\n"
        "              if not any(... for line in ...)]\n"
        "return {'goal': ..., 'done': both('done'), ...}",
    ),
)

Note = dict[str, Any]
Merger = Callable[[Note, Note], Note]
LISTS = ("done", "facts", "decisions", "open_items")


def made_note(goal: str = "", next_step: str = "", **lists: Sequence[str]) -> Note:
    """A note as a dict of six sections."""
    sections = {name: list(lists.get(name, ())) for name in LISTS}
    return {"goal": goal, **sections, "next_step": next_step}


EARLIER = made_note(
    "Explain why invoice 8841 was rejected. Constraint: do not contact the supplier.",
    "Look up invoice 8842.",
    done=["Invoice 8841 looked up", "When was the new check announced? Asked, no answer yet"],
    facts=["8841: rejected, code E12, amount 48,000", "Rule E12: order number missing"],
    decisions=["No look at payments: 8841 was never approved"],
    open_items=["Does 8842 have the same problem?", "Which order belongs to 8841?"],
)
LATER = made_note(
    "",
    "Write the reply.",
    done=[
        "Invoice 8842 looked up",
        "Does 8842 have the same problem? Yes, no order number either",
        "Asked the buyers: Which order belongs to 8841?",
    ],
    facts=["8842: open, amount 12,650", "8841: rejected, code E12, amount 48,000"],
    open_items=["When was the new check announced?"],
)


@MERGE_NOTES.property("facts of both notes, word for word, the earlier ones first")
def _facts(merge_notes: Merger) -> None:
    got = _merged(merge_notes, EARLIER, LATER)
    first, second = EARLIER["facts"]
    shown = _shown("facts", EARLIER, LATER, got)
    expect(
        second in got["facts"],
        "A fact of the earlier note is gone, and nothing brings it back.",
        **shown,
    )
    once = got["facts"].count(first) == 1
    expect(once, "A fact that stands in both notes is listed twice.", **shown)
    expect(
        got["facts"] == [first, second, LATER["facts"][0]],
        "The earlier note's facts first, then the new ones.",
        **shown,
    )


@MERGE_NOTES.property("the goal and its rule stay, the next step is the newest")
def _ends(merge_notes: Merger) -> None:
    later = {**LATER, "goal": "Look up invoice 8842 and reply."}
    got = _merged(merge_notes, EARLIER, later)
    expect(
        got["goal"] == EARLIER["goal"],
        "The goal is the user's request, with its rule. May a later note change it?",
        **_shown("goal", EARLIER, later, got),
    )
    expect(
        got["next_step"] == "Write the reply.",
        "The earlier next step has been taken by now.",
        **_shown("next_step", EARLIER, later, got),
    )
    later = {**LATER, "next_step": ""}
    got = _merged(merge_notes, EARLIER, later)
    expect(
        got["next_step"] == EARLIER["next_step"],
        "The later note names no next step. Is there really none?",
        **_shown("next_step", EARLIER, later, got),
    )


@MERGE_NOTES.property("done and decisions of both notes")
def _done(merge_notes: Merger) -> None:
    got = _merged(merge_notes, EARLIER, LATER)
    expect(
        got["decisions"] == EARLIER["decisions"],
        "A decision is gone. Then it will be opened again.",
        **_shown("decisions", EARLIER, LATER, got),
    )
    expect(
        got["done"] == [*EARLIER["done"], *LATER["done"]],
        "Done: both notes' lines, earlier first.",
        **_shown("done", EARLIER, LATER, got),
    )


@MERGE_NOTES.property("an open item stays open until it is reported as done")
def _still_open(merge_notes: Merger) -> None:
    merged = _merged(merge_notes, EARLIER, LATER)
    got, shown = merged["open_items"], _shown("open_items", EARLIER, LATER, merged, "done")
    answered, still = EARLIER["open_items"]
    expect(
        still in got,
        "Nobody has answered which order belongs to 8841, and it isn't open any more. A line of the "
        "later `done` has to begin with the item's words.",
        **shown,
    )
    expect(
        answered not in got,
        "A line of the later `done` begins with an open item's words: that one is answered.",
        **shown,
    )
    expect(
        LATER["open_items"][0] in got,
        "The later note says that the announcement is still open. What does the earlier `done` "
        "know of that?",
        **shown,
    )
    # The library puts the newest first, so that they are the last to go; either order will do here.
    expect(len(got) == 2, "Two items are open, each listed once.", **shown)


@MERGE_NOTES.property("many notes in a row lose nothing")
def _chain(merge_notes: Merger, rng: Random) -> None:
    merged, said = deepcopy(EARLIER), list(EARLIER["facts"])
    for n in range(12):
        fact = f"order {rng.randint(70000, 79999)}: {rng.randint(1, 99)},{rng.randint(0, 999):03d}"
        said.append(fact)
        merged = _merged(merge_notes, merged, made_note(next_step=f"step {n}", facts=[fact]))
    expect(
        merged["facts"] == list(dict.fromkeys(said)),
        f"After twelve merges {len(merged['facts'])} facts are left of {len(set(said))}.",
        given="twelve notes, one after the other, each with a fact of its own",
        got=_lines("facts", merged),
    )


def _shown(name: str, earlier: Note, later: Note, got: Note, beside: str = "") -> dict[str, str]:
    """What a verdict shows of two notes and of their merger: one section, and one `beside` it."""
    given = [
        f"{which} {_lines(section, note)}"
        for which, note in {"earlier": earlier, "later": later}.items()
        for section in filter(None, (name, beside))
    ]
    return {"given": "\n".join(given), "got": _lines(name, got)}


def _lines(name: str, note: Note) -> str:
    """A section of a note, a line for each of its items."""
    if isinstance(note[name], str):
        return f"{name}: {describe(note[name])}"
    return "\n".join([f"{name}:", *(f"  {describe(line)}" for line in note[name] or ["(none)"])])


def _merged(merge_notes: Merger, earlier: Note, later: Note) -> Note:
    got = merge_notes(deepcopy(earlier), deepcopy(later))
    missing = [name for name in EARLIER if name not in got]
    expect(not missing, f"The merged note has no {missing[0] if missing else ''}.", got=got)
    expect(
        all(isinstance(got[name], list) for name in LISTS),
        "done, facts, decisions and open_items are lists of lines.",
        got=got,
    )
    return got


# ---- recall ---------------------------------------------------------------------------------

Question(
    "before_05_fold",
    lesson=5,
    text="A list is trimmed a second time, and a summary of the first trim stands in it. What should "
    "happen to that summary?",
    choices={
        "It goes, as the oldest group": "So it went in the plainest code, and the 02:00 finding with it.",
        "It is copied into the new one, word for word": "Yes: folded in, neither dropped nor summarised "
        "again (lesson 3). Today you see why not again.",
        "The summariser reads it and writes it anew": "Then it becomes a summary of a summary. Today you "
        "see what that does.",
    },
    right="It is copied into the new one, word for word",
)

Question(
    "before_05_source",
    lesson=5,
    text="A tool returns 800 tokens, and the agent uses one line of it. What do you do first?",
    choices={
        "Summarise every ten steps": "That costs a call and loses detail. There is something that costs "
        "nothing and loses nothing.",
        "Return less from the tool": "Yes: trim at the source, before any other technique (lesson 4).",
        "Keep a window of ten steps": "A window forgets the one line together with the other 799 tokens.",
    },
    right="Return less from the tool",
)

# ---- predictions ----------------------------------------------------------------------------

Question(
    "careless_wakes",
    lesson=5,
    text="A fresh agent gets the note of one sentence, and all the tools. What can it do?",
    choices={
        "Go on with the next lookup": "Which one? Look for a number that it could look up.",
        "Nothing: it has to start again": "Yes. The note is pleasant, and nothing in it can be acted on.",
        "Write the reply": "To whom, about which invoice, and for what reason? None of it is in the note.",
    },
    right="Nothing: it has to start again",
)

Question(
    "audit_blind",
    lesson=5,
    text="A note says that 8842 was rejected and 8841 is open: the two are swapped. What does the "
    "audit say was invented?",
    choices={
        "8841 and 8842": "Both numbers stand in the source. An audit compares values, one by one.",
        "Nothing": "Right. Every value is there; only what is said of them is wrong.",
        "The word rejected": "Someone did say rejected. And it is no exact value.",
    },
    right="Nothing",
)

Question(
    "rule_gone",
    lesson=5,
    text="The same good note, but the words about not contacting the supplier are gone. The agent has "
    "finished its draft, and a tool to send messages. What does it do?",
    choices={
        "It sends the letter": "Yes. Explaining it to the supplier is the goal, and nothing in front of "
        "the model forbids it now.",
        "It asks first": "Why should it? Nothing in its prompt says that there is something to ask about.",
        "It leaves a draft, as before": "It did so because of the rule. The rule isn't in front of it now.",
    },
    right="It sends the letter",
)


Question(
    "facts_after_four",
    lesson=5,
    text="The same task, now 39 lookups long, with 13 exact values. Told once at the end, carelessly, 9 "
    "of them are in the summary. Now it is told four times on the way, each time the summary before and "
    "what is new. How many are in the last one?",
    choices={
        "About 11": "That would be more than one telling keeps. Does telling it again bring anything back?",
        "9, as before": "The late steps are told once, as before. How often are the early ones told now?",
        "1": "Yes. Each telling takes a little, and the early values were told four times.",
    },
    right="1",
)

# ---- check yourself -------------------------------------------------------------------------

Question(
    "copy_exactly",
    lesson=5,
    text="Why should exact identifiers and figures be copied into a summary, and not paraphrased?",
    choices={
        "Because copies are shorter": "Often they aren't: about fifty thousand has no more tokens than "
        "48,000. What happens when the number is used later?",
        "Because a paraphrase may be wrong when it is used": "Yes. The amount was 48,000: a letter over "
        "about fifty thousand names one that nobody said.",
        "Because models can't paraphrase numbers": "They do it gladly, and that is the trouble.",
    },
    right="Because a paraphrase may be wrong when it is used",
)

Question(
    "two_ways_wrong",
    lesson=5,
    text="Which two are ways in which summaries go wrong?",
    choices={
        "Drift, and lost constraints": "Yes. And baked-in errors, over-compression and recency bias.",
        "Orphaned results, and open calls": "Those are what a careless cut does to a list (lesson 3). A "
        "summary replaces whole groups.",
        "Cache misses, and slow answers": "A summary may cause the first once. But these are costs, not "
        "errors in what it says.",
    },
    right="Drift, and lost constraints",
)
