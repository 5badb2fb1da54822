"""Lesson 4, The arithmetic of a long run: its exercises and its predictions."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from course_lib import arithmetic
from course_lib.checks.exercises import Exercise, NumberQuestion, Question, expect, fail

# ---- 1: the total under a window ------------------------------------------------------------

WINDOW_TOTAL = Exercise(
    "window_total",
    title="What a run reads under a sliding window",
    lesson=4,
    minutes=7,
    points=3,
    returns=int,
    hints=(
        "How many steps of history does the first step carry? And the one after the window is full?",
        "Go through the steps, with `done` counting 0, 1, 2 and so on. Each reads what is fixed and "
        "the steps before it, but never more of them than the window holds. Add it all up.",
        "total = 0\n"
        "for done in range(steps):\n"
        "    history = min(..., ...)\n"
        "    total += fixed + per_step * history\n"
        "return total",
    ),
)


@WINDOW_TOTAL.property("the first step carries no history")
def _first_step(window_total: Callable[..., int]) -> None:
    got = window_total(2_000, 800, 1, 10)
    expect(
        got == 2_000,
        "A run shorter than the window, of one step. Before the first step nothing has happened: what "
        "is there to read?",
    )


@WINDOW_TOTAL.property("until the window is full, nothing is saved")
def _not_full(window_total: Callable[..., int]) -> None:
    for steps in range(2, 6):
        got = window_total(1_000, 100, steps, 5)
        expect(
            got == arithmetic.unmanaged_total(1_000, 100, steps),
            "A run no longer than the window: each step reads what is fixed and all steps before it.",
        )


@WINDOW_TOTAL.property("a full window stays full, and no fuller")
def _full(window_total: Callable[..., int]) -> None:
    for steps in range(4, 8):
        more = window_total(1_000, 100, steps + 1, 3) - window_total(1_000, 100, steps, 3)
        expect(
            more == 1_300,
            "Once the window is full, each further step reads what is fixed and a whole window. "
            "How many steps is a whole window?",
            given=f"1,000 fixed, 100 a step, a window of 3: {steps} steps, then {steps + 1}",
            got=f"the further step reads {more:,}",
        )


@WINDOW_TOTAL.property("a window of no step reads what is fixed")
def _no_window(window_total: Callable[..., int]) -> None:
    expect(window_total(50, 10, 4, 0) == 200, "Nothing of the history is sent: what is left?")


@WINDOW_TOTAL.property("any run, any window")
def _any_window(window_total: Callable[..., int], rng: Random) -> None:
    for _ in range(30):
        run = (rng.randint(0, 5_000), rng.randint(1, 2_000), rng.randint(1, 60), rng.randint(1, 40))
        got = window_total(*run)
        expect(got == arithmetic.window_total(*run), "For this run the sum comes out differently.")


# ---- 2: what a rolling summary reads --------------------------------------------------------

ROLLING = Exercise(
    "rolling_summary_reads",
    title="What each step reads under a rolling summary",
    lesson=4,
    minutes=9,
    points=4,
    returns=list[int],
    hints=(
        "At each step two things stand behind what is fixed: the summaries so far, and the steps "
        "since the last of them.",
        "With `done` steps behind it, a step sees `done // every` summaries, each as big as `every` "
        "steps divided by the ratio, and `done % every` steps as they were.",
        "summary = ...   # the tokens of one summary\n"
        "reads = []\n"
        "for done in range(steps):\n"
        "    summaries, recent = ..., ...   # how many summaries, how many steps since\n"
        "    reads.append(...)\n"
        "return reads",
    ),
)


@ROLLING.property("a number for each step, and the first is what is fixed")
def _each_step(rolling_summary_reads: Callable[..., list[int]]) -> None:
    got = rolling_summary_reads(2_000, 800, 12, 10, 10)
    expect(len(got) == 12, "There should be one number for each of the twelve steps.")
    expect(got[0] == 2_000, "The first step reads only what is fixed.")


@ROLLING.property("until the first summary, it reads everything")
def _before_the_first(rolling_summary_reads: Callable[..., list[int]]) -> None:
    got = rolling_summary_reads(1_000, 100, 4, 4, 4)
    expect(
        got == arithmetic.unmanaged_reads(1_000, 100, 4),
        "With up to three steps behind it and a summary every four, no step meets a summary yet.",
    )


@ROLLING.property("the step after a summary reads what is fixed and the summary alone")
def _after(rolling_summary_reads: Callable[..., list[int]]) -> None:
    got = rolling_summary_reads(1_000, 100, 6, 4, 4)
    expect(
        got[4] == 1_100,
        "Four steps of 100 were summarised four to one. What does the fifth step read?",
    )
    expect(got[5] > got[4], "After the summary the history grows again, step by step.")


@ROLLING.property("summaries add up")
def _add_up(rolling_summary_reads: Callable[..., list[int]]) -> None:
    got = rolling_summary_reads(1_000, 100, 13, 4, 4)
    after = [got[4], got[8], got[12]]
    expect(
        after == [1_100, 1_200, 1_300],
        "The earlier summaries stay when a new one comes. Look at the steps right after each.",
        given="1,000 fixed, 100 a step, 13 steps, a summary every 4 steps, 4 to 1",
        got=f"steps 5, 9 and 13 read {after}",
    )


@ROLLING.property("any run, any interval")
def _any_interval(rolling_summary_reads: Callable[..., list[int]], rng: Random) -> None:
    for _ in range(30):
        ratio, every = rng.randint(1, 12), rng.randint(1, 12)
        run = (rng.randint(0, 4_000), ratio * rng.randint(1, 90), rng.randint(1, 50), every, ratio)
        expect(
            rolling_summary_reads(*run) == arithmetic.rolling_summary_reads(*run),
            "For this run some step reads something else.",
        )


# ---- 3: the overflow ------------------------------------------------------------------------

OVERFLOW = Exercise(
    "overflow_at",
    title="The step that doesn't fit",
    lesson=4,
    minutes=4,
    points=2,
    returns=int | None,
    hints=(
        "You look for the first step that reads more than the window holds.",
        "Go through the list with the number of each step, `enumerate(reads, 1)`, and stop at the "
        "first one that is too big. What if the loop comes to its end?",
        "for step, read in ...:\n    ...   # a step that is too big ends the search\n...",
    ),
)


@OVERFLOW.property("a run that fits has no such step")
def _fits(overflow_at: Callable[..., int | None]) -> None:
    got = overflow_at([2_000, 2_800, 3_600], 8_000)
    expect(got is None, "Every step fits. What says that there is no such step?")


@OVERFLOW.property("exactly full still fits")
def _exactly(overflow_at: Callable[..., int | None]) -> None:
    expect(overflow_at([100, 200, 300], 300) is None, "A window of 300 holds 300 tokens.")


@OVERFLOW.property("steps are counted from 1")
def _from_one(overflow_at: Callable[..., int | None]) -> None:
    got = overflow_at([9_000], 8_000)
    expect(got == 1, "The very first step is too big already. Which number has the first step?")


@OVERFLOW.property("the first that doesn't fit, whatever comes after")
def _first(overflow_at: Callable[..., int | None]) -> None:
    got = overflow_at([100, 500, 900, 300, 950, 200], 800)
    expect(
        got is not None,
        "A step in the middle doesn't fit. After a summary the later ones may fit again.",
    )
    expect(got == 3, "Two steps of this run don't fit. The run fails at the earlier one.")


@OVERFLOW.property("any reads, any window")
def _any_reads(overflow_at: Callable[..., int | None], rng: Random) -> None:
    for _ in range(40):
        reads = [rng.randint(1, 900) for _ in range(rng.randint(1, 30))]
        window = rng.randint(100, 1_000)
        expect(
            overflow_at(reads, window) == arithmetic.overflow_step(reads, window),
            "For these reads it is another step.",
        )


# ---- 4: does it pay? ------------------------------------------------------------------------

SAVES = Exercise(
    "compaction_saves",
    title="When compacting costs more than it saves",
    lesson=4,
    minutes=12,
    points=4,
    returns=float,
    hints=(
        "Write down what the calls cost without the compaction, then with it, and subtract.",
        "Without: each call reads `before` tokens at `cached`. With: the summary call (what it reads "
        "at `input`, the note at `output`), then one call that reads `after` at `input`, then the "
        "others, which read `after` at `cached`.",
        "without = calls * before * cached\n"
        "summary = (before - after + note) * input + note * output\n"
        "first = after * ...\n"
        "others = (calls - 1) * ...\n"
        "return (without - summary - first - others) / 1_000_000",
    ),
)

CASE = {"before": 10_000, "after": 2_800, "note": 800}
PRICED = {"input": 2.0, "output": 10.0, "cached": 0.2}


def _saving(before, after, note, calls, input, output, cached) -> float:
    summary = (before - after + note) * input + note * output
    reads = after * input + (calls - 1) * after * cached
    return (calls * before * cached - summary - reads) / 1_000_000


def _differs(got: float, expected: float) -> bool:
    return not math.isclose(got, expected, rel_tol=1e-6, abs_tol=1e-12)


@SAVES.property("without a cache, each further call saves what it needn't read")
def _further_plain(compaction_saves: Callable[..., float]) -> None:
    prices = PRICED | {"cached": 2.0}
    more = compaction_saves(**CASE, calls=6, **prices) - compaction_saves(**CASE, calls=5, **prices)
    if _differs(more, 7_200 * 2.0 / 1e6):
        fail(
            "With `cached` equal to `input`, a call reads 7,200 tokens less than before, at 2 dollars "
            "for a million. Is the result in dollars?",
            given="10,000 tokens before, 2,800 after: 5 calls, then 6",
            got=f"the further call saves {more:.6f} dollars",
        )


@SAVES.property("with a cache, a further call saves less")
def _further_cached(compaction_saves: Callable[..., float]) -> None:
    more = compaction_saves(**CASE, calls=6, **PRICED) - compaction_saves(**CASE, calls=5, **PRICED)
    if _differs(more, 7_200 * 0.2 / 1e6):
        fail(
            "The tokens that a later call is spared would have come from the cache. What would they "
            "have cost?",
            given="10,000 tokens before, 2,800 after, cached tokens at 0.2: 5 calls, then 6",
            got=f"the further call saves {more:.6f} dollars",
        )


@SAVES.property("the note is answered at the price of answers")
def _answered(compaction_saves: Callable[..., float]) -> None:
    plain = compaction_saves(**CASE, calls=5, **PRICED)
    higher = compaction_saves(**CASE, calls=5, **PRICED | {"output": 20.0})
    if _differs(plain - higher, 800 * 10.0 / 1e6):
        fail(
            "Answers cost twice as much now, and the note is an answer of 800 tokens.",
            given="answers at 10 dollars for a million, then at 20",
            got=f"the saving falls by {plain - higher:.6f} dollars",
        )


@SAVES.property("the first call after it finds nothing in the cache")
def _first_call(compaction_saves: Callable[..., float]) -> None:
    got = compaction_saves(10_000, 2_800, 0, 1, 2.0, 0.0, 0.0)
    if not _differs(got, -7_200 * 2.0 / 1e6):
        fail("The start of the request is new. At which price are its 2,800 tokens read?")
    expect(
        not _differs(got, -10_000 * 2.0 / 1e6),
        "Cached tokens are free here, so all that it costs is the summary call's reading and the "
        "first call after it. How many tokens do these two read at the full price?",
    )


@SAVES.property("any context, any prices, any number of calls")
def _any_saving(compaction_saves: Callable[..., float], rng: Random) -> None:
    for _ in range(30):
        after = rng.randint(500, 5_000)
        case = (after + rng.randint(100, 9_000), after, rng.randint(50, 500), rng.randint(1, 60))
        prices = (
            rng.choice([0.3, 2.0, 5.0]),
            rng.choice([2.5, 10.0]),
            rng.choice([0.03, 0.2, 2.0]),
        )
        expect(
            not _differs(compaction_saves(*case, *prices), _saving(*case, *prices)),
            "For this case the sum comes out differently. Does the summary call read the old part, "
            "its own note's worth of it included?",
        )


# ---- remembering ----------------------------------------------------------------------------

Question(
    "before_04_list",
    lesson=4,
    text="A message stood in the list at call 3. At call 9 it isn't there any more. What does the model "
    "know of it at call 9?",
    choices={
        "Everything: it has read it once": "A model keeps nothing between two calls. Each call starts "
        "from the list that it is sent.",
        "The gist of it": "Only if someone wrote the gist into the list. The model itself keeps nothing.",
        "Nothing": "Yes. Memory is the list of messages that is sent, and nothing else (lesson 1).",
    },
    right="Nothing",
)

Question(
    "before_04_group",
    lesson=4,
    text="You drop an old tool result to save tokens. What else has to go?",
    choices={
        "Nothing": "Then a call stands there without its result, and a provider rejects the request.",
        "The call that it answers": "Yes. A call and its results are one turn group and go together "
        "(lesson 3).",
        "All that came before it": "That would be a cut by place. What belongs together is smaller.",
    },
    right="The call that it answers",
)

# ---- predictions ----------------------------------------------------------------------------

Question(
    "window_of_ten",
    lesson=4,
    text="A run of 40 steps. Only the newest ten steps are sent, all older ones are dropped. By how much "
    "does that cut what the 40 steps read in all?",
    choices={
        "By about a tenth": "It cuts more: from step 11 on each step reads the same, while without a "
        "window each reads more than the one before.",
        "By about a half": "Yes. The first eleven steps read as before, and each later one still carries "
        "ten steps.",
        "By about nine tenths": "That would be so if all steps were as long as the last. But the early "
        "steps are unchanged, and each later one still carries ten steps.",
    },
    right="By about a half",
)

NumberQuestion(
    "twice_the_steps",
    lesson=4,
    text="40 steps read 704,000 tokens. How many times as much do 80 steps read?",
    answer=lambda: round(
        arithmetic.unmanaged_total(2_000, 800, 80) / arithmetic.unmanaged_total(2_000, 800, 40), 1
    ),
    tolerance=0.06,
    unit="times",
    right="Yes, {answer} times: nearly the square of two. Only the fixed tokens grow in proportion.",
    too_low="It is more: there are twice as many steps, and the later ones carry longer histories.",
    too_high="A little less: twice the steps, and on average nearly twice the history in each.",
)

Question(
    "cheapest_with_cache",
    lesson=4,
    text="Now count money. A prompt cache reads again for a twentieth of the price whatever the start of "
    "the request has in common with the last one. Which run of 40 steps costs least?",
    choices={
        "A window of ten": "It reads half the tokens. But each step drops the oldest group, so the "
        "cache is good for the fixed part alone.",
        "A summary every ten steps": "It reads fewest of the three. But each summary is a call of its own, "
        "and after it the start is new.",
        "Doing nothing": "Yes. A list that only grows is served from the cache, all but its newest step.",
    },
    right="Doing nothing",
)

NumberQuestion(
    "step_21",
    lesson=4,
    text="A run has 2,000 fixed tokens and adds 500 a step. How many tokens does the model read at step "
    "21, with nothing managed?",
    answer=lambda: arithmetic.unmanaged_reads(2_000, 500, 21)[-1],
    tolerance=0,
    unit="tokens",
    right="Yes: 2,000 + 500 × 20 = {answer}.",
    too_low="Twenty steps have happened before step 21. And the fixed tokens count too.",
    too_high="How many steps have happened before step 21?",
)

NumberQuestion(
    "most_with_window",
    lesson=4,
    text="The same run with a window of 5 steps: what is the most that the model reads at any step?",
    answer=lambda: max(arithmetic.window_reads(2_000, 500, 40, 5)),
    tolerance=0,
    unit="tokens",
    right="Yes: 2,000 + 500 × 5 = {answer}.",
    too_low="The fixed tokens and a whole window: five steps.",
    too_high="However long the run, no more than five steps stand behind what is fixed.",
)

NumberQuestion(
    "calls_to_pay",
    lesson=4,
    text="A context of 10,000 tokens is compacted to 2,800, a note of 800 among them. Reading costs 2 "
    "dollars a million, from the cache 0.20, answers 10. After how many calls has it paid for itself?",
    answer=lambda: next(c for c in range(1, 1_000) if _saving(**CASE, calls=c, **PRICED) >= 0),
    tolerance=0.1,
    unit="calls",
    right="Yes, {answer}. A compaction that comes that near the end of a run is money lost.",
    too_low="Each call saves 7,200 tokens, but at the cached price. The summary call costs the full one.",
    too_high="Fewer: set what the summary and the new start cost against what each call saves.",
)
