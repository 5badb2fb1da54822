"""Lesson 7, Your own agent: its exercises and its predictions.

A check tries runs that are made up, and then the learner's own: the variable `run` of their
notebook, or the coding run where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from course_lib import challenge, reuses
from course_lib.arithmetic import overflow_step
from course_lib.audits import audit
from course_lib.checks.exercises import Exercise, NumberQuestion, Question, expect, fail
from course_lib.extraction import constraints_in, structured
from course_lib.messages import (
    Message,
    assistant,
    system,
    text_of,
    tool_call,
    tool_result,
    user,
    validate,
)
from course_lib.notes import CapTooSmall
from course_lib.replay import replay
from course_lib.samples.coding import coding_run
from course_lib.samples.incident import incident
from course_lib.shapes import shape_of, unmanaged_reads
from course_lib.tokens import count_tokens
from course_lib.transcript import Transcript
from course_lib.trimming import Policy, append_all, sliding_window

SECONDS = 30.0  # a run of the learner's own may be long

HEAD = [system("You are a clerk. Never pay."), user("Why was it late? Do not call the client.")]
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Look up a record by its key.",
            "parameters": {
                "type": "object",
                "properties": {"key": {"type": "string", "description": "The key, such as K-101"}},
            },
        },
    }
]


def own_run(learner: Any) -> Transcript:
    """The learner's `run`, where the function was defined beside one; else the coding run."""
    run = getattr(learner, "namespace", {}).get("run")
    return run if isinstance(run, Transcript) else coding_run()


def _step(number: int, result: str, **arguments: str) -> list[Message]:
    call = tool_call(f"c{number}", "look_up", **arguments)
    return [assistant("", [call]), tool_result(f"c{number}", result)]


def _random_run(rng: Random, steps: int) -> list[Message]:
    """A run that looks up keys, some of them keys that stood further back."""
    keys, messages = [f"K-{rng.randint(100, 999)}"], list(HEAD)
    for number in range(steps):
        new = [f"K-{rng.randint(1_000, 9_999)}" for _ in range(rng.randint(1, 3))]
        found = f"Found {', '.join(new)} in box {rng.randint(10_000, 99_999)}. " * rng.randint(1, 9)
        messages += _step(number, found, key=rng.choice(keys))
        keys += new
    return [*messages, assistant(f"It was {rng.choice(keys)}.")]


# ---- 1: the shape ---------------------------------------------------------------------------

RUN_SHAPE = Exercise(
    "run_shape",
    title="The shape of a run",
    lesson=7,
    minutes=8,
    points=3,
    returns=tuple[int, int, int | None],
    seconds=SECONDS,
    hints=(
        "What did each model call read? Everything in the list before the assistant message that "
        "answered it, and the schemas of the tools.",
        "Collect `count_tokens(messages[:i], tools=tools)` for the index of each assistant message. "
        "The first of these numbers is what is fixed; the differences between neighbours are the steps.",
        "reads = [count_tokens(messages[:i], tools=tools) for i, m in enumerate(messages) if ...]\n"
        "steps = [after - before for before, after in zip(reads, reads[1:])]\n"
        "over = next((call for call, read in enumerate(reads, 1) if ...), None)\n"
        "return reads[0], round(median(steps)) if steps else 0, over",
    ),
)

Shape = Callable[[Sequence[Message], Any, int], tuple[int, int, int | None]]


def _uneven() -> list[Message]:
    texts = ["a short result", "a short one too", "and a third", "a long result " * 90]
    steps = [_step(n, text, key=f"K-{101 + n}") for n, text in enumerate(texts)]
    return [*HEAD, *(m for step in steps for m in step), assistant("It was K-103.")]


@RUN_SHAPE.property("what is fixed is what the first model call reads, schemas included")
def _fixed(run_shape: Shape) -> None:
    run = _uneven()
    fixed = run_shape(run, TOOLS, 10_000)[0]
    expect(
        fixed != count_tokens(run[:2]),
        "The schemas of the tools go along with each model call. Are they counted?",
    )
    expect(
        fixed == unmanaged_reads(run, TOOLS)[0],
        "Before the first model call there are only system, task and schemas. Nothing else was read.",
    )


@RUN_SHAPE.property("one long result doesn't make the step long")
def _middle(run_shape: Shape) -> None:
    run = _uneven()
    step = run_shape(run, TOOLS, 10_000)[1]
    expect(
        abs(step - shape_of(run, TOOLS).per_step) <= 1,
        "Three steps are short and one is long. The step in the middle is asked for, not the average.",
    )


@RUN_SHAPE.property("a run of one model call has no step")
def _one_call(run_shape: Shape) -> None:
    got = run_shape([*HEAD, assistant("No.")], TOOLS, 10_000)
    expect(got[1] == 0, "Nothing was added between two model calls: there is only one.")


@RUN_SHAPE.property("the first model call that doesn't fit, or None")
def _overflows(run_shape: Shape) -> None:
    run = _uneven()
    reads = unmanaged_reads(run, TOOLS)
    expect(
        run_shape(run, TOOLS, max(reads))[2] is None, "A window that is exactly full still fits."
    )
    got = run_shape(run, TOOLS, reads[2] - 1)[2]
    expect(
        got == 3, "Model calls count from 1. The first that reads more than the window is meant."
    )


@RUN_SHAPE.property("your own run")
def _own_shape(run_shape: Shape) -> None:
    run = own_run(run_shape)
    shape = shape_of(run.messages, run.tools)
    got = run_shape(run.messages, run.tools, 8_000)
    wanted = (shape.fixed, shape.per_step, overflow_step(shape.reads, 8_000))
    expect(
        _same_shape(got, wanted),
        "On your run, with a window of 8,000 tokens, something comes out differently.",
    )


@RUN_SHAPE.property("any run, any window")
def _any_shape(run_shape: Shape, rng: Random) -> None:
    for _ in range(8):
        run, window = _random_run(rng, rng.randint(1, 12)), rng.randint(60, 1_200)
        shape = shape_of(run, TOOLS)
        wanted = (shape.fixed, shape.per_step, overflow_step(shape.reads, window))
        expect(
            _same_shape(run_shape(run, TOOLS, window), wanted),
            "For this run something comes out differently.",
        )


def _same_shape(got: tuple[int, int, int | None], wanted: tuple[int, int, int | None]) -> bool:
    """Whether they are the same, however the median was made whole."""
    return got[::2] == wanted[::2] and abs(got[1] - wanted[1]) <= 1


# ---- 2: the window --------------------------------------------------------------------------

SMALLEST = Exercise(
    "smallest_window",
    title="The smallest window that is wide enough",
    lesson=7,
    minutes=6,
    points=2,
    returns=int,
    seconds=SECONDS,
    hints=(
        "`reuse(messages).missed(window)` is the share that a window misses. It falls as the window grows.",
        "Begin with a window of one group, and widen it while it misses more than the share.",
        "found = reuse(messages)\nwindow = 1\nwhile found.missed(window) > ...:\n    window += ...\n"
        "return window",
    ),
)

Smallest = Callable[[Sequence[Message], float], int]


def _far() -> list[Message]:
    """K-707 comes back after 1, 3 and 4 groups: windows of 1 to 4 miss 2/3, 2/3, 1/3 and 0."""
    keys = ["", "K-707", "", "", "K-707", "", "", "", "K-707"]
    steps = [
        _step(n, "K-707 is here" if n == 0 else "nothing", key=key) for n, key in enumerate(keys)
    ]
    return [*HEAD, *(m for step in steps for m in step)]


@SMALLEST.property("where nothing comes back, a window of one group is enough")
def _nothing_back(smallest_window: Smallest) -> None:
    got = smallest_window([*HEAD, *_step(0, "nothing", key="?"), assistant("No.")], 0.1)
    expect(got == 1, "Nothing is missed, whatever the window. The smallest window has one group.")


@SMALLEST.property("exactly the share is allowed")
def _exact_share(smallest_window: Smallest) -> None:
    run = _far()
    got = smallest_window(run, reuses.reuse(run).missed(1))
    expect(got == 1, "A window of one misses exactly the share, and that is still allowed.")


@SMALLEST.property("the smaller the share, the wider the window")
def _shares(smallest_window: Smallest) -> None:
    run = _far()
    expect(smallest_window(run, 0.4) == 3, "A window of three misses one reuse of three.")
    expect(
        smallest_window(run, 0.0) == 4,
        "Nothing may be missed. How far back had the key stood at its last use?",
    )


@SMALLEST.property("your own run")
def _own_window(smallest_window: Smallest) -> None:
    run = own_run(smallest_window)
    found = reuses.reuse(run.messages)
    got = smallest_window(run.messages, 0.2)
    expect(found.missed(got) <= 0.2, "On your run this window misses more than a fifth.")
    expect(got == 1 or found.missed(got - 1) > 0.2, "On your run a smaller window would do.")


@SMALLEST.property("any run, any share")
def _any_window(smallest_window: Smallest, rng: Random) -> None:
    for _ in range(8):
        run, share = _random_run(rng, rng.randint(2, 20)), rng.choice([0.0, 0.1, 0.3, 0.6])
        found, got = reuses.reuse(run), smallest_window(run, share)
        expect(found.missed(got) <= share, "This window misses more than the share.")
        expect(got == 1 or found.missed(got - 1) > share, "A smaller window would do as well.")


# ---- 3: the biggest result ------------------------------------------------------------------

OFFLOAD = Exercise(
    "offload_biggest",
    title="Offload the biggest result",
    lesson=7,
    minutes=10,
    points=3,
    returns=tuple[list[dict], str],
    seconds=SECONDS,
    hints=(
        "Among the messages with the role `tool`, which one has most tokens? What must stay of it, so "
        "that the call keeps its result?",
        "Find the index of the biggest with `max` and `count_tokens`. Copy the list, and put a copy of "
        "that message in its place, with a line as its `content`.",
        'results = [i for i, m in enumerate(messages) if m["role"] == "tool"]\n'
        "if not results: return list(messages), ''\n"
        "at = max(results, key=lambda i: ...)\n"
        "text = text_of(messages[at])\n"
        'line = f"[stored as {...}: {...} tokens; read it with fetch]"\n'
        'return [*messages[:at], {**messages[at], "content": ...}, *messages[at + 1:]], text',
    ),
)

Offload = Callable[[list[Message], str], tuple[list[Message], str]]


@OFFLOAD.property("a run without results comes back as it is")
def _no_results(offload_biggest: Offload) -> None:
    run = [*HEAD, assistant("No.")]
    got, text = offload_biggest(run, "doc-1")
    expect(
        got == run and text == "", "There is nothing to offload: the same messages, and no text."
    )


@OFFLOAD.property("the biggest by tokens goes, and comes back as text")
def _biggest(offload_biggest: Offload) -> None:
    long, heavy = "the same words again " * 60, "".join(f"{n}x" for n in range(3_000, 3_200))
    run = [*HEAD, *_step(0, "short", key="a"), *_step(1, long, key="b"), *_step(2, heavy, key="c")]
    _, text = offload_biggest(run, "doc-1")
    expect(text != long, "The result with most characters isn't the one with most tokens.")
    expect(text == heavy, "The whole text of the biggest result should come back, to be stored.")


def _offloaded(offload_biggest: Offload, run: list[Message]) -> None:
    got, text = offload_biggest(run, "doc-17")
    expect(len(got) == len(run), "The message stays: without a result its call would be open.")
    changed = [i for i, (a, b) in enumerate(zip(run, got, strict=True)) if a != b]
    expect(len(changed) == 1, "Only the biggest result changes.", got=f"changed: {changed}")
    line = got[changed[0]]
    expect(
        line.get("tool_call_id") == run[changed[0]].get("tool_call_id"), "The result lost its call."
    )
    expect(text_of(run[changed[0]]) == text, "The text that comes back isn't that of this message.")
    expect("doc-17" in text_of(line), "How would the model fetch it? The name isn't in the line.")
    expect(
        count_tokens(text_of(line)) <= 60 and "\n" not in text_of(line),
        "What stays should be one line of at most 60 tokens.",
    )


@OFFLOAD.property("one line stays in its place, with the name under which it is stored")
def _line(offload_biggest: Offload) -> None:
    _offloaded(
        offload_biggest, [*HEAD, *_step(0, "short", key="a"), *_step(1, "K-1 " * 90, key="b")]
    )


@OFFLOAD.property("your own run, and still valid")
def _own_offload(offload_biggest: Offload) -> None:
    run = own_run(offload_biggest).messages
    if not any(m["role"] == "tool" and count_tokens(text_of(m)) > 60 for m in run):
        run = coding_run().messages
    _offloaded(offload_biggest, run)
    before, after = validate(run), validate(offload_biggest(run, "doc-17")[0])
    expect(len(after) <= len(before), "A provider would refuse this request.", got=str(after[:1]))


# ---- 4: the summary -------------------------------------------------------------------------

NOTE = Exercise(
    "note_of_run",
    title="A note with the values that matter",
    lesson=7,
    minutes=12,
    points=4,
    returns=str,
    seconds=SECONDS,
    hints=(
        "`structured(messages, cap)` writes a note of six sections. What of `values` is missing in it?",
        "Make room first: a line with all values, and `structured` with what is left of the cap. "
        "`parse_note` makes a `Note` of the text; its `facts` are a tuple that you can lengthen.",
        'line = "Exact values: " + ", ".join(values)\n'
        "note = parse_note(structured(messages, cap - count_tokens(line) - 10))\n"
        "return replace(note, facts=(*note.facts, ...)).render()",
    ),
)

SECTIONS = ("Goal:", "Done:", "Facts:", "Decisions:", "Open items:", "Next step:")
Noted = Callable[[Sequence[Message], list[str], int], str]


def _audited(note_of_run: Noted, run: Sequence[Message], values: list[str], cap: int) -> None:
    note = note_of_run(run, values, cap)
    starts = [line for line in note.splitlines() if line.startswith(SECTIONS)]
    missing = [name for name in SECTIONS if not any(line.startswith(name) for line in starts)]
    expect(
        not missing, "The six sections of lesson 5, each with its name and a colon.", got=note[:300]
    )
    lost = [value for value in values if value.casefold() not in note.casefold()]
    expect(
        not lost, f"{len(lost)} of the values that calls come back for aren't in it.", got=str(lost)
    )
    rules = [rule.removeprefix("- ") for rule in constraints_in(run)]
    expect(
        all(rule in " ".join(note.split()) for rule in map(_on_one_line, rules)),
        "A rule of the system message or the user isn't in it word for word.",
    )
    expect(
        count_tokens(note) <= cap,
        f"The note has {count_tokens(note):,} tokens; the cap is {cap:,}.",
    )
    invented = audit(run, note).invented
    expect(not invented, "Values in the note that stand nowhere in the run.", got=str(invented[:5]))


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


@NOTE.property("six sections, the rules, and each value")
def _small_note(note_of_run: Noted) -> None:
    run = _uneven()
    _audited(note_of_run, run, ["K-101", "K-103"], 400)


@NOTE.property("a long run under a cap: the values stay, other lines go")
def _capped_note(note_of_run: Noted, rng: Random) -> None:
    run = _random_run(rng, 40)
    pins = reuses.reuse(run).pins(3)
    _audited(note_of_run, run, [pin.value for pin in pins], 320)


@NOTE.property("your own run, audited against it")
def _own_note(note_of_run: Noted) -> None:
    run, cap = own_run(note_of_run).messages, 900
    values = [pin.value for pin in reuses.reuse(run).pins(5)]
    try:
        structured(run, cap - 200)
    except CapTooSmall:
        run, cap = coding_run().messages, 900
        values = [pin.value for pin in reuses.reuse(run).pins(5)]
    _audited(note_of_run, run, values, cap)


# ---- 5: pins under a cap --------------------------------------------------------------------

PINS = Exercise(
    "choose_pins",
    title="Pins under a cap",
    lesson=7,
    minutes=10,
    points=3,
    returns=list[str],
    seconds=SECONDS,
    hints=(
        "`reuse(messages).pins(window, most=1000)` lists what a window misses, the most missed first. "
        "Each has a `value`, `tokens` and how often it was `missed`.",
        "Go through them in this order and take each one that still fits under the cap. One that "
        "doesn't fit is no reason to stop: a shorter one may come.",
        "chosen, room = [], cap\n"
        "for pin in reuse(messages).pins(window, most=1000):\n"
        "    if pin.tokens <= room:\n"
        "        chosen.append(...)\n"
        "        room -= ...\n"
        "return chosen",
    ),
)

Choose = Callable[[Sequence[Message], int, int], list[str]]


def _judge_pins(chosen: list[str], run: Sequence[Message], window: int, cap: int) -> None:
    pins = {pin.value: pin for pin in reuses.reuse(run).pins(window, most=10_000)}
    strange = [value for value in chosen if value not in pins]
    expect(not strange, "A window of this size doesn't miss these values.", got=str(strange[:5]))
    expect(len(set(chosen)) == len(chosen), "A value needs only one pin.", got=str(chosen))
    tokens = sum(pins[value].tokens for value in chosen)
    expect(tokens <= cap, f"The pins have {tokens:,} tokens; the cap is {cap:,}.")
    left = [p.value for v, p in pins.items() if v not in chosen and p.tokens <= cap - tokens]
    expect(not left, f"There is room for {len(left)} more, such as {left[0] if left else ''!r}.")
    room, plain = cap, 0
    for pin in pins.values():
        if pin.tokens <= room:
            room, plain = room - pin.tokens, plain + pin.missed
    saved = sum(pins[value].missed for value in chosen)
    expect(
        saved >= 0.8 * plain,
        f"These pins bring back {saved} of the missed reuses; another choice under the same cap brings "
        f"{plain}. Which values are missed most often?",
    )


@PINS.property("where nothing is missed, nothing is pinned")
def _no_pins(choose_pins: Choose) -> None:
    expect(choose_pins(_far(), 50, 100) == [], "A window of 50 groups misses nothing of this run.")


@PINS.property("no more tokens than the cap, and no room left for another")
def _pins_cap(choose_pins: Choose, rng: Random) -> None:
    run = _random_run(rng, 30)
    for cap in (0, 9, 25, 10_000):
        _judge_pins(choose_pins(run, 2, cap), run, 2, cap)


@PINS.property("your own run")
def _own_pins(choose_pins: Choose) -> None:
    run = own_run(choose_pins).messages
    for cap in (20, 200):
        _judge_pins(choose_pins(run, 3, cap), run, 3, cap)


@PINS.property("any run, any window, any cap")
def _any_pins(choose_pins: Choose, rng: Random) -> None:
    for _ in range(6):
        run, window, cap = (
            _random_run(rng, rng.randint(3, 25)),
            rng.randint(1, 5),
            rng.randint(5, 60),
        )
        _judge_pins(choose_pins(run, window, cap), run, window, cap)


# ---- 6: a constraint is lost ----------------------------------------------------------------

UNSEEN = Exercise(
    "unseen_rules",
    title="The rules that a policy loses",
    lesson=7,
    minutes=10,
    points=3,
    returns=list[str],
    seconds=SECONDS,
    hints=(
        "A rule is lost if it has been said, and a later model call doesn't have it in its prompt.",
        "`constraints_in(messages)` gives the rules. Replay the policy and `append_all()`: their rows "
        "go side by side, and the second shows what had been said by each call.",
        "told = replay(messages, append_all()).rows\n"
        "sent = replay(messages, policy).rows\n"
        "def says(row, rule): return any(rule in text_of(m) for m in row.prompt)\n"
        "return [rule for rule in constraints_in(messages)\n"
        "        if any(says(t, rule) and not ... for t, s in zip(told, sent))]",
    ),
)

Unseen = Callable[[Sequence[Message], Policy], list[str]]
LATE_RULE = "Never send anything before Friday."


def _late() -> list[Message]:
    """A rule comes in the middle of the run."""
    steps = [_step(n, "nothing", key=f"K-{200 + n}") for n in range(6)]
    told = [assistant("I look on."), user(LATE_RULE)]
    before, after = steps[:3], steps[3:]
    return [*HEAD, *sum(before, []), *told, *sum(after, []), assistant("It was late.")]


def _without_system(messages: list[Message]) -> list[Message]:
    return [m for m in messages if m["role"] != "system"]


def _now_and_then(messages: list[Message]) -> list[Message]:
    """Hides the late rule while the list is short, and brings it back later."""
    hidden = {**user(LATE_RULE), "content": "…"}
    there, shown = (user(LATE_RULE), hidden) if len(messages) <= 12 else (hidden, user(LATE_RULE))
    return [shown if m == there else m for m in messages]


@UNSEEN.property("a policy that keeps everything loses nothing")
def _keeps(unseen_rules: Unseen) -> None:
    got = unseen_rules(_late(), append_all())
    expect(
        got == [],
        "Everything that had been said is in each prompt. A rule can't stand there earlier.",
    )


@UNSEEN.property("a rule that goes with the system message is lost")
def _head_rule(unseen_rules: Unseen) -> None:
    got = unseen_rules(_late(), _without_system)
    expect("Never pay." in got, "The system message isn't sent, and a rule stands in it.")
    expect(got == ["Never pay."], "The other rules are in the user's messages, which are all sent.")


@UNSEEN.property("a rule that came in the middle of the run")
def _middle_rule(unseen_rules: Unseen) -> None:
    got = unseen_rules(_late(), sliding_window(2))
    expect(
        LATE_RULE in got,
        "The rule came in the middle, and the window has moved past it at the end.",
    )
    expect(got == [LATE_RULE], "System and task stay in a window: their rules aren't lost.")


@UNSEEN.property("one prompt without it is enough")
def _one_prompt(unseen_rules: Unseen) -> None:
    got = unseen_rules(_late(), _now_and_then)
    expect(
        got == [LATE_RULE],
        "It is in the last prompt, but not in one before. An agent acts at each.",
    )


@UNSEEN.property("your own run without its first rule")
def _own_rules(unseen_rules: Unseen) -> None:
    run = own_run(unseen_rules).messages
    rules = constraints_in(run)
    if not rules:
        run, rules = coding_run().messages, constraints_in(coding_run().messages)
    broken = _losing(rules[0])
    told, sent = replay(run, append_all()).rows, replay(run, broken).rows
    wanted = [
        rule
        for rule in rules
        if any(
            _says(t.prompt, rule) and not _says(s.prompt, rule)
            for t, s in zip(told, sent, strict=True)
        )
    ]
    expect(
        unseen_rules(run, broken) == wanted,
        "The first rule of your run is taken out of each prompt.",
    )


def _losing(rule: str) -> Policy:
    def policy(messages: list[Message]) -> list[Message]:
        return [
            {**m, "content": text_of(m).replace(rule, "")} if rule in text_of(m) else m
            for m in messages
        ]

    return policy


def _says(prompt: Sequence[Message], rule: str) -> bool:
    return any(rule in text_of(message) for message in prompt)


# ---- 7: the challenge -----------------------------------------------------------------------

BAR = 0.75  # of the tokens of keeping everything

POLICY = Exercise(
    "my_policy",
    title="The policy challenge",
    lesson=7,
    minutes=20,
    points=6,
    returns=list[dict],
    seconds=60.0,
    hints=(
        "What did the calls come back for? Not for texts: for exact values. What of an old result has "
        "to stay, then?",
        "Leave the newest results whole. Put in the place of each older one a short text with its exact "
        "values, and mark it, so that you see next time that it is done.",
        'results = [i for i, m in enumerate(messages) if m["role"] == "tool"]\n'
        "for i in results[:-2]:\n"
        "    text = text_of(messages[i])\n"
        '    if not text.startswith("values: "):\n'
        '        short = "values: " + json.dumps(exact_values(text))\n'
        "        ...  # a copy of the message, if this is shorter",
    ),
)


def _tried(my_policy: Policy, run: Transcript) -> Any:
    rows = replay(run.messages, my_policy, tools=run.tools).rows
    for row in rows:
        problems = validate(row.prompt)
        if problems:
            fail(f"{run.name}, model call {row.call}: a provider would refuse it. {problems[0]}")
    return rows


@POLICY.property("every prompt of the incident run is valid, and its question is in it")
def _valid(my_policy: Policy) -> None:
    for row in _tried(my_policy, Transcript(incident(), "The incident run")):
        task = next(m for m in incident() if m["role"] == "user")
        expect(task in row.prompt, "The model doesn't see what it was asked.")


@POLICY.property("nothing is missed on the three runs")
def _nothing_missed(my_policy: Policy) -> None:
    for run, found in challenge.three_runs():
        _tried(my_policy, run)
        missed = found.missed_by(replay(run.messages, my_policy, tools=run.tools))
        shown = ", ".join(f"{use.value} at model call {use.call}" for use in missed[:3])
        expect(
            not missed,
            f"{run.name}: {len(missed)} values weren't in the prompt when a call came back for them.",
            got=shown,
        )


@POLICY.property("it reads at most three quarters of what keeping everything reads")
def _reads_less(my_policy: Policy) -> None:
    for run, _ in challenge.three_runs():
        read = replay(run.messages, my_policy, tools=run.tools).read
        part = read / sum(unmanaged_reads(run.messages, run.tools))
        expect(
            part <= BAR,
            f"{run.name}: it reads {part:.0%} of the tokens of keeping everything. What stands in the "
            "prompt that no call comes back for?",
            got=f"{read:,} tokens read",
        )


@POLICY.property("it knows no run by heart: a fresh one is valid too")
def _fresh(my_policy: Policy, rng: Random) -> None:
    for _ in range(3):
        run = _random_run(rng, rng.randint(5, 30))
        found = reuses.reuse(run)
        rows = replay(run, my_policy)
        _tried(my_policy, Transcript(run, "A fresh run"))
        expect(
            len(found.missed_by(rows)) <= 0.1 * len(found.uses),
            "On a run that it hasn't met it misses more than a tenth of what comes back.",
        )


# ---- remembering ----------------------------------------------------------------------------

Question(
    "before_07_price",
    lesson=7,
    text="Your provider has a prompt cache. A window of ten halves the tokens of a run. What does it do to "
    "the price?",
    choices={
        "It halves it as well": "So it would without a cache. With one, most tokens cost a tenth or less "
        "as long as the start of the list stays the same.",
        "It can double or treble it": "Yes. A full window moves at every step, so nearly all behind the "
        "head is read afresh (lesson 4).",
        "Nothing": "The tokens do change, and so does what the cache can serve.",
    },
    right="It can double or treble it",
)

Question(
    "before_07_lost",
    lesson=7,
    text="A summary has left out an order number, and the agent needs it fifty steps later. What helps?",
    choices={
        "A longer summary, written now": "From what? The messages that held the number have left the list.",
        "A search in the stored trace": "Yes. What was stored whole can be found again (lessons 5 and 6).",
        "Asking the model to think back": "It keeps nothing between two model calls.",
    },
    right="A search in the stored trace",
)

# ---- predictions ----------------------------------------------------------------------------

NumberQuestion(
    "coding_missed_by_ten",
    lesson=7,
    text="The coding agent works in the same few files, step after step. How many per cent of the values "
    "that it came back for had last been seen more than ten turn groups ago?",
    answer=lambda: round(100 * _coding_reuse().missed(10)),
    tolerance=0.25,
    right="Yes: {answer} per cent. It reads first and acts later, on what it read at the start.",
    too_low="It is more: tickets, commits and request ids are read early and used at the end.",
    too_high="It is less: paths and names come up again every few steps.",
)

Question(
    "coding_plan",
    lesson=7,
    text="All techniques are replayed on the coding run, and priced with the cache. One is allowed to miss "
    "at most 5 per cent of the values. Which one will be recommended?",
    choices={
        "A sliding window": "One that misses so little is wider than 40 groups here, and a window that moves "
        "at each step costs several times as much as no window.",
        "Masking old results": "It reads fewest tokens. But the values in the results go with them.",
        "Keeping everything": "Yes. Nothing that misses so little is cheaper, as long as the model's window "
        "holds the run.",
    },
    right="Keeping everything",
)

NumberQuestion(
    "needed_window",
    lesson=7,
    text="How many turn groups must a window have to miss at most a fifth of what the coding run's calls "
    "came back for?",
    answer=lambda: next(
        w for w in range(1, 99) if reuses.reuse(coding_run().messages).missed(w) <= 0.2
    ),
    tolerance=0.25,
    unit="groups",
    right="Yes, {answer}. Ten would have been a guess.",
    too_low="More: files are read in the first third of the run, and changed in the last.",
    too_high="Fewer would do. Most paths come back within a few steps.",
)


def _coding_reuse() -> reuses.Reuse:
    run = coding_run()
    return reuses.reuse(run.messages, answers=True, tools=run.tools)
