"""Lesson 2, The long-session collapse: its exercises and its predictions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random

from course_lib.checks.exercises import Exercise, NumberQuestion, Question, expect
from course_lib.messages import (
    SUMMARY_MARK,
    Message,
    assistant,
    is_summary,
    system,
    text_of,
    tool_call,
    tool_result,
    turn_groups,
    user,
    validate,
)
from course_lib.samples.research import research_session
from course_lib.tokens import count_tokens

TOPICS = ("harbour", "ferry", "tide", "pier", "cargo", "crew", "fuel", "berth", "ticket", "route")


def step(id: str, name: str, result: object, **arguments: str) -> list[Message]:
    """One turn: a call and its result."""
    return [assistant(calls=[tool_call(id, name, **arguments)]), tool_result(id, result)]


def page(number: int, words: int = 30) -> list[Message]:
    """A turn that fetched a page, which is source S<number>."""
    text = " ".join(TOPICS[(number + n) % len(TOPICS)] for n in range(words))
    result = {"source": f"S{number}", "text": text}
    return step(f"p{number}", "fetch_page", result, url=f"https://ferry.example/{number}")


def made_session(rng: Random, turns: int) -> list[Message]:
    """A session about ferries: pages, and now and then two searches at once."""
    messages = [system("You plan ferry routes."), user("Which route should run in winter?")]
    for n in range(1, turns + 1):
        if n % 4 == 2:
            ids = (f"s{n}", f"s{n}b")
            query = rng.choice(TOPICS)
            messages.append(assistant(calls=[tool_call(i, "web_search", query=query) for i in ids]))
            messages += [tool_result(i, {"results": rng.sample(TOPICS, 5)}) for i in ids]
        else:
            messages += page(n, rng.randint(20, 60))
    return messages


# ---- 1: the monitor -------------------------------------------------------------------------

CONTEXT_ALARM = Exercise(
    "context_alarm",
    title="A monitor that warns, and then says when to compact",
    lesson=2,
    minutes=6,
    points=2,
    returns=str,
    hints=(
        "What is sent on a call? Count all of that, not the texts of the messages alone.",
        "`count_tokens` counts a whole request, if you give it the schemas as well; look at its "
        "arguments with `help(count_tokens)`. Then compare with one mark after the other.",
        "tokens = count_tokens(messages, ...)\n"
        "if ...: return 'compact'\n"
        "if ...: return ...\n"
        "return ...",
    ),
)

Alarm = Callable[[list[Message], list[dict], int, int], str]
TOOL = {
    "name": "find_sailings",
    "description": "Find the sailings of one day between two harbours, with times and prices.",
    "parameters": {
        "type": "object",
        "properties": {"day": {"type": "string", "description": "The day, as YYYY-MM-DD"}},
    },
}


@CONTEXT_ALARM.property("a short list is ok")
def _short(context_alarm: Alarm, rng: Random) -> None:
    messages = made_session(rng, 3)
    tokens = count_tokens(messages)
    got = context_alarm(messages, [], tokens + 50, tokens + 100)
    expect(got in ("ok", "warn", "compact"), 'Answer with one of "ok", "warn" and "compact".')
    expect(got == "ok", f"The request has {tokens} tokens: fewer than both marks.")


@CONTEXT_ALARM.property("calls count, not only texts")
def _calls(context_alarm: Alarm, rng: Random) -> None:
    draft = " ".join(rng.choices(TOPICS, k=300))
    messages = made_session(rng, 1) + step("d", "write_draft", "saved", text=draft)
    tokens = count_tokens(messages)
    got = context_alarm(messages, [], tokens - 20, tokens + 50)
    expect(got == "warn", "A long draft stands in the arguments of a call. It is read, too.")


@CONTEXT_ALARM.property("between the marks it warns, above both it compacts")
def _marks(context_alarm: Alarm, rng: Random) -> None:
    messages = made_session(rng, 6)
    tokens = count_tokens(messages)
    got = context_alarm(messages, [], tokens - 50, tokens + 50)
    expect(got == "warn", f"{tokens} tokens are above `warn` and below `limit`.")
    got = context_alarm(messages, [], tokens - 100, tokens - 50)
    expect(got == "compact", f"{tokens} tokens are above both marks. Which one counts then?")


@CONTEXT_ALARM.property("on a mark is not above it")
def _on_the_mark(context_alarm: Alarm, rng: Random) -> None:
    messages = made_session(rng, 4)
    tokens = count_tokens(messages)
    got = context_alarm(messages, [], tokens, tokens + 50)
    expect(
        got == "ok",
        "Exactly `warn` tokens: only a request above the mark should warn. If your comparison says "
        "that, look at your count: `count_tokens` counts messages and `tools=` as one request.",
    )
    got = context_alarm(messages, [], tokens - 50, tokens)
    expect(got == "warn", "Exactly `limit` tokens: that still fits, so a warning is enough.")


@CONTEXT_ALARM.property("the tools' schemas count")
def _schemas(context_alarm: Alarm, rng: Random) -> None:
    messages, tools = made_session(rng, 4), [TOOL] * 6
    tokens = count_tokens(messages, tools=tools)
    got = context_alarm(messages, tools, count_tokens(messages) + 10, tokens + 50)
    expect(
        got == "warn",
        "The schemas of the tools are sent on each model call as well. `count_tokens` counts them "
        "with the messages, as `tools=`.",
    )


# ---- 2: keep or trim ------------------------------------------------------------------------

TURNS_TO_KEEP = Exercise(
    "turns_to_keep",
    title="Keep or trim",
    lesson=2,
    minutes=11,
    points=3,
    returns=list[int],
    hints=(
        "Three reasons to stay: it is one of the last three; it is the newest version of what a "
        "tool wrote; it brought a source that isn't used yet.",
        "First walk through the turns and note, for each tool whose name starts with `write_`, the "
        "number of its latest turn. Then walk again and ask the three questions of each turn.",
        "head, turns = turn_groups(messages)\n"
        "newest = {}\n"
        "for n, turn in enumerate(turns):\n"
        "    for call in calls_of(turn[0]): ...   # newest[call.name] = n\n"
        "keep = set(range(len(turns))[-3:])\n"
        "... then the newest of each write_ tool, and the sources that aren't in `used`",
    ),
)

Keeper = Callable[[list[Message], set[str]], list[int]]


def _library(*turns: list[Message]) -> list[Message]:
    """A session of these turns, with three plain ones behind them."""
    last = [step(f"z{n}", "calculate", {"result": n}, expression=f"{n} + {n}") for n in range(3)]
    head = [system("You plan ferry routes."), user("Which route should run in winter?")]
    return head + sum([*turns, *last], [])


def _search(n: int) -> list[Message]:
    return step(f"s{n}", "web_search", {"results": [{"title": "tide tables"}]}, query=f"tides {n}")


def _written(n: int, kind: str) -> list[Message]:
    return step(f"w{n}", f"write_{kind}", {"saved": kind}, text=f"version {n}")


@TURNS_TO_KEEP.property("the last three turns stay")
def _last_three(turns_to_keep: Keeper) -> None:
    got = turns_to_keep(_library(page(1), page(2)), {"S1", "S2"})
    expect(
        {2, 3, 4} <= set(got), "Replies connect to the last three turns; they are numbers 2 to 4."
    )
    got = turns_to_keep(_library()[:4], set())
    expect(got == [0], "This session has one turn only: it is among the last three.")


@TURNS_TO_KEEP.property("a result that has been used goes, one in use stays")
def _used(turns_to_keep: Keeper) -> None:
    got = turns_to_keep(_library(page(1), page(2)), {"S1"})
    expect(0 not in got, "S1 has been used: what it brought stands in the draft by now.")
    expect(1 in got, "S2 isn't used yet: the model still works with that result.")


@TURNS_TO_KEEP.property("searches go")
def _searches(turns_to_keep: Keeper) -> None:
    got = turns_to_keep(_library(_search(1), page(1), _search(2)), set())
    expect(not {0, 2} & set(got), "A list of hits was skimmed, and the picks were opened since.")
    expect(1 in got, "Between the two searches stands a page that isn't used yet.")


@TURNS_TO_KEEP.property("of a plan and of a draft the newest version stays")
def _versions(turns_to_keep: Keeper) -> None:
    messages = _library(_written(1, "plan"), _written(2, "plan"), _written(3, "draft"), page(1))
    got = turns_to_keep(messages, {"S1"})
    expect(0 not in got, "The first plan is done with: there is a newer one.")
    expect(2 in got, "The draft is what is being written: it stays.")
    expect(1 in got, "The draft is newer than the plan, but it is no new plan. Both stay.")


@TURNS_TO_KEEP.property("any session: the right turns, in order")
def _any_session(turns_to_keep: Keeper, rng: Random) -> None:
    for _ in range(15):
        kinds = rng.choices(("page", "search", "plan", "draft"), k=rng.randint(1, 9))
        makers = {"page": page, "search": _search}
        turns = [
            makers[kind](n) if kind in makers else _written(n, kind) for n, kind in enumerate(kinds)
        ]
        used = {f"S{n}" for n in range(9) if rng.random() < 0.5}
        right = [n for n, kind in enumerate(kinds) if _stays(n, kind, kinds, used)]
        right += range(len(kinds), len(kinds) + 3)
        got = turns_to_keep(_library(*turns), used)
        missing, extra = set(right) - set(got), set(got) - set(right)
        expect(not missing, f"Turn {min(missing, default=0)} should stay, and it is trimmed.")
        expect(not extra, f"Turn {min(extra, default=0)} may go, and it is kept.")
        expect(got == right, "Give the numbers in their order, each once.")


def _stays(n: int, kind: str, kinds: Sequence[str], used: set[str]) -> bool:
    if kind == "page":
        return f"S{n}" not in used
    return kind in ("plan", "draft") and kind not in kinds[n + 1 :]


# ---- 3: the same call twice -----------------------------------------------------------------

REPEATED_CALLS = Exercise(
    "repeated_calls",
    title="Find the calls that were made before",
    lesson=2,
    minutes=9,
    points=3,
    returns=list[str],
    hints=(
        "Two calls are the same when the tool and the arguments are the same. The ids always differ.",
        "Keep a set of what has been asked. Arguments are JSON texts: the same ones can be written "
        "in two orders, so compare what they mean: `json.loads`, then `json.dumps(…, sort_keys=True)`.",
        "seen, again = set(), []\n"
        "for message in messages:\n"
        "    for call in calls_of(message):\n"
        "        key = (..., ...)   # the tool, and what the arguments mean\n"
        "        if ...:\n"
        "            ...\n"
        "        ...\n"
        "return again",
    ),
)

Finder = Callable[[list[Message]], list[str]]


def _asked(*calls: tuple[str, str, dict]) -> list[Message]:
    messages = [user("When does the ferry sail?")]
    for id, name, arguments in calls:
        messages += step(id, name, "a result", **arguments)
    return messages


@REPEATED_CALLS.property("a call that was made before is found")
def _plain_repeat(repeated_calls: Finder) -> None:
    day = {"day": "2026-03-02"}
    got = repeated_calls(
        _asked(("a", "sailings", day), ("b", "fares", day), ("c", "sailings", day))
    )
    expect("c" in got, "Call `c` asks what call `a` has asked. They don't stand side by side.")
    expect("a" not in got, "Call `a` was the first. The one that repeats it should be reported.")
    expect(got == ["c"], "Call `b` asks another tool.")


@REPEATED_CALLS.property("other arguments are another question")
def _other_arguments(repeated_calls: Finder) -> None:
    calls = [(f"c{n}", "sailings", {"day": f"2026-03-0{n}"}) for n in range(1, 5)]
    got = repeated_calls(_asked(*calls))
    expect(got == [], "Each of these asks for another day: nothing was asked twice.")


@REPEATED_CALLS.property("the order of the arguments makes no difference")
def _argument_order(repeated_calls: Finder) -> None:
    one, two = {"from": "pier", "to": "island"}, {"to": "island", "from": "pier"}
    got = repeated_calls(_asked(("a", "fares", one), ("b", "fares", two)))
    expect(got == ["b"], "Both ask for pier to island. Compare what the arguments mean.")


@REPEATED_CALLS.property("two calls in one message, and a third time")
def _parallel(repeated_calls: Finder) -> None:
    same = {"day": "2026-03-02"}
    calls = [tool_call("a", "sailings", **same), tool_call("b", "sailings", **same)]
    results = [tool_result("a", "x"), tool_result("b", "x")]
    messages = [assistant(calls=calls), *results, *step("c", "sailings", "x", **same)]
    got = repeated_calls(messages)
    expect("b" in got, "A message may hold several calls. `b` repeats `a` within one message.")
    expect(got == ["b", "c"], "Each repetition counts, in the order of the calls.")


@REPEATED_CALLS.property("any run")
def _any_run(repeated_calls: Finder, rng: Random) -> None:
    for _ in range(15):
        calls = [
            (f"c{n}", rng.choice(("sailings", "fares")), {"day": rng.choice("123"), "to": "pier"})
            for n in range(rng.randint(0, 9))
        ]
        keys = [(name, arguments["day"]) for _, name, arguments in calls]
        right = [id for n, (id, *_) in enumerate(calls) if keys[n] in keys[:n]]
        got = repeated_calls(_asked(*calls))
        expect(got == right, f"{len(right)} of these calls were made before.")


# ---- 4: the intervention --------------------------------------------------------------------

COMPACT_SESSION = Exercise(
    "compact_session",
    title="The intervention: one note for all turns but the last",
    lesson=2,
    minutes=11,
    points=4,
    returns=list,
    hints=(
        "Work with turns, never with messages: `turn_groups` gives you the head and the turns.",
        "Cut the list of turns in two. `write_note` gets the messages of the old ones as one flat "
        "list. The note stands between head and new turns, if it is smaller than what it replaces.",
        "head, turns = turn_groups(messages)\n"
        "old, new = turns[:-keep], turns[-keep:]\n"
        "if not old: return messages\n"
        "note = user(f'{SUMMARY_MARK} ' + ...)\n"
        "if ...: return messages   # the note isn't smaller\n"
        "return head + [note] + sum(new, [])",
    ),
)

Compacter = Callable[..., list[Message]]


def _short_note(dropped: list[Message]) -> str:
    sources = [json.loads(text_of(m)).get("source") for m in dropped if m["role"] == "tool"]
    return "read " + ", ".join(filter(None, sources))


@COMPACT_SESSION.property("one marked note behind the head, and then the last turns")
def _one_note(compact_session: Compacter, rng: Random) -> None:
    for turns, keep in ((8, 3), (9, 4), (11, 5)):
        messages = made_session(rng, turns)
        got = compact_session(messages, keep, _short_note)
        expect(got[:2] == messages[:2], "The head (system message and task) always stays.")
        notes = [n for n, m in enumerate(got) if m["role"] == "user" and is_summary(m)]
        expect(notes == [2], f"One user message behind the head begins with {SUMMARY_MARK}.")
        groups = turn_groups(messages)[1]
        broken = validate(got)
        expect(not broken, f"A provider would reject this: {broken[0] if broken else ''}.")
        expect(
            got[3:] == sum(groups[-keep:], []),
            f"Behind the note stand the last {keep} turns, whole.",
        )


@COMPACT_SESSION.property("the note is written from all that goes")
def _from_all(compact_session: Compacter, rng: Random) -> None:
    seen: list[list[Message]] = []

    def write_note(dropped: list[Message]) -> str:
        seen.append(list(dropped))
        return "two routes were compared"

    messages = made_session(rng, 9)
    got = compact_session(messages, 4, write_note)
    old = sum(turn_groups(messages)[1][:-4], [])
    expect(bool(seen), "`write_note` was never called, though turns had to go.")
    expect(
        all(dropped == old for dropped in seen),
        "Give `write_note` the messages of the turns that go: all, and no others.",
    )
    expect("two routes" in text_of(got[2]), "What `write_note` returned isn't in the note.")


@COMPACT_SESSION.property("a short session comes back as it is")
def _short_session(compact_session: Compacter, rng: Random) -> None:
    for turns in (0, 3, 4):
        messages = made_session(rng, turns)
        got = compact_session(messages, 4, _short_note)
        expect(got == messages, f"{turns} turns, and 4 are to stay: there is nothing to replace.")


@COMPACT_SESSION.property("a note that saves nothing is refused")
def _no_saving(compact_session: Compacter, rng: Random) -> None:
    messages = made_session(rng, 6)
    got = compact_session(messages, 5, lambda dropped: "a long story about ferries " * 60)
    expect(got == messages, "The note is bigger than the turn that it replaces. What is it for?")


@COMPACT_SESSION.property("the research session: from 80,000 tokens to about 20,000")
def _eighty_to_twenty(compact_session: Compacter) -> None:
    messages = research_session()[:-1]
    got = compact_session(messages, 8, lambda dropped: "seven sources were read; angle chosen")
    tokens = count_tokens(got)
    expect(
        18_000 < tokens < 22_000,
        f"With eight turns kept it has {tokens:,} tokens: not about 20,000.",
    )


# ---- 5: when was it too late? ---------------------------------------------------------------

LAST_CHANCE = Exercise(
    "last_chance",
    title="The last call at which a note could still have been written",
    lesson=2,
    minutes=8,
    points=2,
    returns=int | None,
    hints=(
        "A note is written from what is still in the list. So: which calls still had the fact?",
        "Collect the numbers of the calls whose prompt has it, counted from 1. If there are none, or "
        "the last call is among them, it wasn't lost.",
        "there = [n for n, prompt in enumerate(prompts, 1)\n"
        "         if any(fact in m['content'] for m in prompt)]\n"
        "if not there or ...: return None\n"
        "return ...",
    ),
)

Chance = Callable[[list[list[Message]], str], int | None]


def _prompts(rng: Random, there: Sequence[bool]) -> list[list[Message]]:
    """Prompts of a run, those marked with the fact in one of their messages."""
    prompts = []
    for n, has in enumerate(there):
        text = "the tide turns at 04:10" if has else "nothing of note"
        messages = [user("When can we sail?"), *page(n, 5), tool_result("x", text), *page(n + 1, 5)]
        prompts.append(messages)
    return prompts


@LAST_CHANCE.property("the last call that still had the fact")
def _last_call(last_chance: Chance, rng: Random) -> None:
    got = last_chance(_prompts(rng, [False, True, True, False, False]), "04:10")
    expect(got != 2, "Count calls from 1, as people do.")
    expect(got != 4, "At call 4 the fact had gone: a note of that call can't have it any more.")
    expect(got == 3, "Calls 2 and 3 had the fact, calls 4 and 5 hadn't.")


@LAST_CHANCE.property("a fact that is still there isn't lost")
def _still_there(last_chance: Chance, rng: Random) -> None:
    got = last_chance(_prompts(rng, [False, True, True]), "04:10")
    expect(got is None, "The last call still has it: it isn't too late. Return None.")
    got = last_chance(_prompts(rng, [True, False, True]), "04:10")
    expect(got is None, "It went and came back, and the last call has it: not too late.")


@LAST_CHANCE.property("a fact that never was there")
def _never(last_chance: Chance, rng: Random) -> None:
    expect(last_chance(_prompts(rng, [False, False]), "04:10") is None, "It was never in a prompt.")
    expect(last_chance([], "04:10") is None, "No calls, so no chance: None.")


@LAST_CHANCE.property("any run")
def _any_prompts(last_chance: Chance, rng: Random) -> None:
    for _ in range(20):
        there = [rng.random() < 0.6 for _ in range(rng.randint(1, 8))]
        calls = [n for n, has in enumerate(there, 1) if has]
        right = None if there[-1] or not calls else calls[-1]
        got = last_chance(_prompts(rng, there), "04:10")
        marks = " ".join("yes" if has else "no" for has in there)
        expect(got == right, f"The fact was there, call by call: {marks}.")


# ---- predictions ----------------------------------------------------------------------------

Question(
    "recall_memory",
    lesson=2,
    text="Between two calls, where does a model keep what it has read so far?",
    choices={
        "In the model": "Nothing stays there: the model is the same before and after a call.",
        "At the provider, by session": "A provider may cache the start of a request to read it "
        "cheaper. What isn't sent isn't known.",
        "Only in the list that is sent again": "Yes. Memory is that list, and what isn't in it is "
        "forgotten.",
    },
    right="Only in the list that is sent again",
)

Question(
    "recall_promote",
    lesson=2,
    text="A question has been answered with five tool calls. What does `finalize_turn` leave for the "
    "next question?",
    choices={
        "Everything": "That is the naive loop, and each later call would pay for the five results.",
        "The question and the answer": "Yes, and what you pinned. The scratch of a task ends with "
        "the task.",
        "The answer only": "Without its question an answer is hard to place, for the model as for you.",
        "The five results": "They are scratch: what mattered in them is in the answer.",
    },
    right="The question and the answer",
)

NumberQuestion(
    "fifty_against_three",
    lesson=2,
    text="A model call with 50,000 tokens of context: how many times does it cost what one with "
    "3,000 costs, for reading?",
    answer=lambda: round(50_000 / 3_000, 1),
    tolerance=0.11,  # 15, the figure that is often given, counts as right
    unit="times",
    right="Yes, near enough: {answer} times. Reading is paid by the token, so divide one by the other.",
    too_low="More: reading is paid by the token, so divide one by the other ({answer}).",
    too_high="Less: reading is paid by the token, so divide one by the other ({answer}).",
)

Question(
    "middle_or_nothing",
    lesson=2,
    text="A model gets 20 documents, and the one with the answer is the tenth. How often is it "
    "right, compared with the same model that gets no documents at all?",
    choices={
        "More often": "One would hope so. Look at where the curve for 20 documents is at place 10.",
        "About as often": "Close, but look at which side of the dashed line the curve is on.",
        "Less often": "Yes, in this test. The answer is in front of it, and nineteen others are as "
        "well.",
    },
    right="Less often",
)

Question(
    "biggest_class",
    lesson=2,
    text="Twenty turns of reading, thinking and writing. What takes most of the room?",
    choices={
        "The model's own reasoning": "A sentence or two a turn is little, beside a page.",
        "Search results": "Lists of hits are long, but there were only four turns with them.",
        "Pages that have been used": "Yes: what they said has long been in the draft, and still all "
        "of it is read.",
        "Plan and draft": "They are what matters, and they are short.",
    },
    right="Pages that have been used",
)

Question(
    "intervention_total",
    lesson=2,
    text="From the 21st model call on, each one costs a quarter. What happens to the cost of the whole "
    "session, these 21 model calls?",
    choices={
        "It falls to a quarter": "The twenty before are paid already, at their full size.",
        "It falls by half": "Only one of the 21 is any cheaper so far.",
        "It hardly falls": "Yes. What was read is paid. It would have had to be done earlier.",
    },
    right="It hardly falls",
)
