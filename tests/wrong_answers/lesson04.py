"""Wrong answers to the exercises of lesson 4."""

from __future__ import annotations

from tests.wrong_answers import wrong

# ---- window_total ---------------------------------------------------------------------------


@wrong("window_total", "the first step carries a step already", "Before the first step nothing")
def counts_from_one(fixed, per_step, steps, window):
    return sum(fixed + per_step * min(step, window) for step in range(1, steps + 1))


@wrong("window_total", "takes the window for full from the start", "Before the first step nothing")
def always_full(fixed, per_step, steps, window):
    return steps * (fixed + per_step * window)


@wrong("window_total", "ignores the window", "How many steps is a whole window?")
def no_window(fixed, per_step, steps, window):
    return sum(fixed + per_step * done for done in range(steps))


@wrong("window_total", "the step itself takes a place in the window", "How many steps is a whole")
def one_short(fixed, per_step, steps, window):
    return sum(
        fixed + per_step * min(done, window - 1 if done >= window else done)
        for done in range(steps)
    )


@wrong("window_total", "counts the fixed tokens once", "all steps before it")
def fixed_once(fixed, per_step, steps, window):
    return fixed + sum(per_step * min(done, window) for done in range(steps))


@wrong("window_total", "has no case for a short run", "shorter than the window")
def never_short(fixed, per_step, steps, window):
    growing = window * (window - 1) // 2
    return fixed * steps + per_step * (growing + window * (steps - window))


@wrong("window_total", "gives the list, not its sum", "a whole number")
def the_list(fixed, per_step, steps, window):
    return [fixed + per_step * min(done, window) for done in range(steps)]


# ---- rolling_summary_reads ------------------------------------------------------------------


@wrong("rolling_summary_reads", "a new summary replaces the old one", "The earlier summaries stay")
def replaces(fixed, per_step, steps, every, ratio):
    note = per_step * every // ratio
    return [
        fixed + (note if done >= every else 0) + per_step * (done % every) for done in range(steps)
    ]


@wrong(
    "rolling_summary_reads", "drops the old steps without a note", "What does the fifth step read?"
)
def drops(fixed, per_step, steps, every, ratio):
    return [fixed + per_step * (done % every) for done in range(steps)]


@wrong("rolling_summary_reads", "counts the step itself", "The first step reads only")
def one_more(fixed, per_step, steps, every, ratio):
    note = per_step * every // ratio
    return [
        fixed + note * (step // every) + per_step * (step % every) for step in range(1, steps + 1)
    ]


@wrong("rolling_summary_reads", "summarises one step late", "What does the fifth step read?")
def late(fixed, per_step, steps, every, ratio):
    note = per_step * every // ratio
    reads, summaries, recent = [], 0, 0
    for _ in range(steps):
        reads.append(fixed + note * summaries + per_step * recent)
        recent += 1
        if recent > every:
            summaries, recent = summaries + 1, recent - every
    return reads


@wrong("rolling_summary_reads", "shrinks what is fixed as well", "reads only what is fixed")
def shrinks_all(fixed, per_step, steps, every, ratio):
    return [fixed // ratio + per_step * (done % every) for done in range(steps)]


@wrong("rolling_summary_reads", "gives whole tokens as fractions", "a whole number")
def fractions(fixed, per_step, steps, every, ratio):
    note = per_step * every / ratio
    return [fixed + note * (done // every) + per_step * (done % every) for done in range(steps)]


# ---- overflow_at ----------------------------------------------------------------------------


@wrong("overflow_at", "counts from 0", "Which number has the first step?")
def from_zero(reads, window):
    return next((i for i, read in enumerate(reads) if read > window), None)


@wrong("overflow_at", "takes a full window for too full", "A window of 300 holds 300")
def full_is_over(reads, window):
    return next((i for i, read in enumerate(reads, 1) if read >= window), None)


@wrong("overflow_at", "looks only at the last step", "A step in the middle")
def last_only(reads, window):
    if reads[-1] <= window:
        return None
    return next(i for i, read in enumerate(reads, 1) if read > window)


@wrong("overflow_at", "names the biggest step", "The run fails at the earlier one")
def biggest(reads, window):
    return None if max(reads) <= window else reads.index(max(reads)) + 1


@wrong("overflow_at", "says 0 where all fits", "What says that there is no such step?")
def zero_for_none(reads, window):
    return next((i for i, read in enumerate(reads, 1) if read > window), 0)


@wrong("overflow_at", "counts the steps that fit", "no such step")
def how_many_fit(reads, window):
    return sum(read <= window for read in reads) + 1


# ---- compaction_saves -----------------------------------------------------------------------


@wrong(
    "compaction_saves", "forgets the cache: spared tokens at the full price", "come from the cache"
)
def full_price(before, after, note, calls, input, output, cached):
    summary = (before - after + note) * input + note * output
    return (calls * (before - after) * input - summary) / 1e6


@wrong("compaction_saves", "forgets that the start is new", "The start of the request is new")
def warm_start(before, after, note, calls, input, output, cached):
    summary = (before - after + note) * input + note * output
    return (calls * (before - after) * cached - summary) / 1e6


@wrong("compaction_saves", "forgets the summary call", "the note is an answer of 800 tokens")
def no_summary_call(before, after, note, calls, input, output, cached):
    return (calls * before * cached - after * input - (calls - 1) * after * cached) / 1e6


@wrong(
    "compaction_saves", "bills the note as if it were read", "the note is an answer of 800 tokens"
)
def note_as_input(before, after, note, calls, input, output, cached):
    summary = (before - after + note) * input + note * input
    return (calls * before * cached - summary - after * input - (calls - 1) * after * cached) / 1e6


@wrong("compaction_saves", "leaves the result in millionths", "Is the result in dollars?")
def millionths(before, after, note, calls, input, output, cached):
    summary = (before - after + note) * input + note * output
    return calls * before * cached - summary - after * input - (calls - 1) * after * cached


@wrong("compaction_saves", "lets the summary call read only what is gone", "worth of it included")
def reads_too_little(before, after, note, calls, input, output, cached):
    summary = (before - after) * input + note * output
    reads = after * input + (calls - 1) * after * cached
    return (calls * before * cached - summary - reads) / 1e6


@wrong("compaction_saves", "every later call is read afresh", "come from the cache")
def never_cached(before, after, note, calls, input, output, cached):
    summary = (before - after + note) * input + note * output
    return (calls * before * cached - summary - calls * after * input) / 1e6
