"""The arithmetic of a long run: what the model reads at each step, under each technique.

A run is three numbers: `fixed` tokens (instructions, tool schemas, task) that are read at every
step, `per_step` tokens (a call and its result) that each step adds for the steps after it, and
the number of `steps`. For each technique there is the list of what each step reads (`_reads`),
and its sum in closed form (`_total`). All sizes are in tokens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import NamedTuple

from course_lib.caching import Cost, Prices, SummaryCall, cache_use, price
from course_lib.messages import (
    CourseError,
    Message,
    assistant,
    system,
    tool_call,
    tool_result,
    user,
)
from course_lib.tokens import count_tokens

# ---- nothing managed, and less at the source ------------------------------------------------


def unmanaged_reads(fixed: int, per_step: int, steps: int) -> list[int]:
    """What each step reads if all of the history is sent."""
    _check(fixed=fixed, per_step=per_step, steps=steps)
    return [fixed + per_step * done for done in range(steps)]


def unmanaged_total(fixed: int, per_step: int, steps: int) -> int:
    """What all steps read together: it grows with the square of the steps."""
    _check(fixed=fixed, per_step=per_step, steps=steps)
    return fixed * steps + per_step * _sum_below(steps)


def trimmed_step(per_step: int, result: int, trimmed: int) -> int:
    """Trim at the source: what a step adds once its `result` is cut to `trimmed` tokens."""
    _check(trimmed=trimmed, result=result)
    _check_fits(per_step, result)
    return per_step - result + min(trimmed, result)


def offloaded_step(per_step: int, result: int, reference: int, fetched: int = 0) -> int:
    """Offload: a step adds a `reference` in place of its `result`, and what is `fetched` again."""
    _check(reference=reference, fetched=fetched, result=result)
    _check_fits(per_step, result)
    return per_step - result + reference + fetched


# ---- a sliding window, alone and with pinned notes ------------------------------------------


def window_reads(fixed: int, per_step: int, steps: int, window: int) -> list[int]:
    """What each step reads if only the newest `window` steps are sent."""
    _check(fixed=fixed, per_step=per_step, steps=steps, window=window)
    return [fixed + per_step * min(done, window) for done in range(steps)]


def window_total(fixed: int, per_step: int, steps: int, window: int) -> int:
    """What all steps read together under a window: once it is full, it grows in proportion."""
    _check(fixed=fixed, per_step=per_step, steps=steps, window=window)
    return fixed * steps + per_step * _sum_below(steps, most=window)


def notes_reads(
    fixed: int, per_step: int, steps: int, window: int, note: int, cap: int | None = None
) -> list[int]:
    """Pinned notes beside a window: each step adds a `note`, until the notes reach their `cap`."""
    _check(note=note, cap=cap or 0)
    window_only = window_reads(fixed, per_step, steps, window)
    return [read + _notes(done, note, cap) for done, read in enumerate(window_only)]


def notes_total(
    fixed: int, per_step: int, steps: int, window: int, note: int, cap: int | None = None
) -> int:
    """What all steps read together with pinned notes: without a cap, a square again."""
    _check(note=note, cap=cap or 0)
    without = window_total(fixed, per_step, steps, window)
    if cap is None or note == 0:
        return without + note * _sum_below(steps)
    growing = min(steps, cap // note + 1)
    return without + note * _sum_below(growing) + cap * (steps - growing)


def _notes(done: int, note: int, cap: int | None) -> int:
    return note * done if cap is None else min(note * done, cap)


# ---- notes in place of history: rolling summary, fresh start --------------------------------


def summary_size(per_step: int, every: int, ratio: float) -> int:
    """The tokens that `every` steps come to when they are summarised `ratio` to one."""
    _check(per_step=per_step)
    _check(1, every=every, ratio=ratio)
    return math.ceil(per_step * every / ratio)


def rolling_summary_reads(
    fixed: int, per_step: int, steps: int, every: int, ratio: float
) -> list[int]:
    """What each step reads if every `every` steps the history is summarised, `ratio` to one."""
    _check(fixed=fixed, steps=steps)
    summary = summary_size(per_step, every, ratio)
    reads = []
    for done in range(steps):
        summaries, recent = divmod(done, every)
        reads.append(fixed + summary * summaries + per_step * recent)
    return reads


def rolling_summary_total(fixed: int, per_step: int, steps: int, every: int, ratio: float) -> int:
    """What all steps read together under a rolling summary."""
    _check(fixed=fixed, steps=steps)
    summary = summary_size(per_step, every, ratio)
    rounds, rest = divmod(steps, every)
    recent = rounds * _sum_below(every) + _sum_below(rest)
    summaries = every * _sum_below(rounds) + rest * rounds
    return fixed * steps + per_step * recent + summary * summaries


def fresh_start_reads(fixed: int, per_step: int, steps: int, every: int, note: int) -> list[int]:
    """What each step reads if every `every` steps the run starts anew from a hand-off `note`."""
    _check(fixed=fixed, per_step=per_step, steps=steps, note=note)
    _check(1, every=every)
    return [
        fixed + (note if done >= every else 0) + per_step * (done % every) for done in range(steps)
    ]


def fresh_start_total(fixed: int, per_step: int, steps: int, every: int, note: int) -> int:
    """What all steps read together with fresh starts: the note doesn't grow."""
    _check(fixed=fixed, per_step=per_step, steps=steps, note=note)
    _check(1, every=every)
    rounds, rest = divmod(steps, every)
    recent = rounds * _sum_below(every) + _sum_below(rest)
    return fixed * steps + per_step * recent + note * max(0, steps - every)


# ---- masking --------------------------------------------------------------------------------


def masking_reads(
    fixed: int, per_step: int, steps: int, keep: int, result: int, breadcrumb: int
) -> list[int]:
    """What each step reads if all but the newest `keep` results become a one-line breadcrumb.

    A step is a call and its `result`; the calls stay.
    """
    _check(fixed=fixed, steps=steps, keep=keep)
    masked = offloaded_step(per_step, result, breadcrumb)
    reads = []
    for done in range(steps):
        whole = min(done, keep)
        reads.append(fixed + per_step * whole + masked * (done - whole))
    return reads


def masking_total(
    fixed: int, per_step: int, steps: int, keep: int, result: int, breadcrumb: int
) -> int:
    """What all steps read together under masking: still a square, of a much smaller step."""
    masked = offloaded_step(per_step, result, breadcrumb)
    whole = _sum_below(steps, most=keep)
    return window_total(fixed, per_step, steps, keep) + masked * (_sum_below(steps) - whole)


# ---- a sub-agent ----------------------------------------------------------------------------


class Contexts(NamedTuple):
    """What the main agent and its sub-agent read, a number for each of their calls.

    The main agent's first `before` steps and the call that delegates come first in time, then
    the sub-agent's, then the rest of the main agent's.
    """

    main: list[int]
    sub: list[int]
    before: int


def sub_agent_contexts(
    fixed: int, per_step: int, steps: int, delegated: float, answer: int, before: int | None = None
) -> Contexts:
    """A part of the steps, `delegated`, goes to a sub-agent, which returns one short `answer`.

    Its own context has the same `fixed` tokens. The main agent needs one call more, to delegate,
    after `before` of its own steps (half of them, unless you say otherwise).
    """
    _check(fixed=fixed, per_step=per_step, steps=steps, answer=answer)
    own, before = _own_steps(steps, delegated, before)
    if own == steps:
        return Contexts(unmanaged_reads(fixed, per_step, steps), [], steps)
    first = [fixed + per_step * done for done in range(before + 1)]
    rest = [fixed + per_step * done + answer for done in range(before, own)]
    return Contexts(first + rest, unmanaged_reads(fixed, per_step, steps - own), before)


def sub_agent_reads(
    fixed: int, per_step: int, steps: int, delegated: float, answer: int, before: int | None = None
) -> list[int]:
    """What each call reads, in order of time, the sub-agent's calls among the main agent's."""
    main, sub, before = sub_agent_contexts(fixed, per_step, steps, delegated, answer, before)
    return main[: before + 1] + sub + main[before + 1 :]


def sub_agent_total(
    fixed: int, per_step: int, steps: int, delegated: float, answer: int, before: int | None = None
) -> int:
    """What both contexts read together: two small squares in place of a big one."""
    own, before = _own_steps(steps, delegated, before)
    if own == steps:
        return unmanaged_total(fixed, per_step, steps)
    main = unmanaged_total(fixed, per_step, own) + fixed + per_step * before
    return main + answer * (own - before) + unmanaged_total(fixed, per_step, steps - own)


def _own_steps(steps: int, delegated: float, before: int | None) -> tuple[int, int]:
    if not 0 <= delegated <= 1:
        raise CourseError(f"`delegated` is {delegated}: it is a part of the steps, from 0 to 1")
    own = steps - math.floor(steps * delegated + 0.5)
    before = own // 2 if before is None else before
    if not 0 <= before <= own:
        raise CourseError(f"`before` is {before}, but the main agent has {own} steps of its own")
    return own, before


# ---- reading the lists ----------------------------------------------------------------------


def overflow_step(reads: Sequence[int], window_size: int) -> int | None:
    """The first step, from 1, that doesn't fit in the model's window; None if all do."""
    return next((step for step, read in enumerate(reads, 1) if read > window_size), None)


def share(total: float, of: float) -> float:
    """One total as a part of another: `f"{share(356_000, 704_000):.0%}"` is 51 per cent.

    Raises `CourseError` if the other total is 0.
    """
    if of == 0:
        raise CourseError("a share of 0 tokens: the run to compare with reads nothing")
    return total / of


# ---- all techniques at once, and their price ------------------------------------------------


class Technique(NamedTuple):
    """A technique on one run: for each call what it reads, and what it shares with one before.

    `shared` is the beginning that an earlier call has read too, which a cache can serve;
    `summaries` are the extra calls that write notes.
    """

    name: str
    reads: list[int]
    shared: list[int]
    summaries: list[SummaryCall]

    @property
    def total(self) -> int:
        """Tokens read over all calls, those that write notes not counted."""
        return sum(self.reads)


@dataclass(frozen=True)
class Settings:
    """A run and how each technique is set, in tokens and steps. Begins as the document's run."""

    fixed: int = 2_000
    per_step: int = 800
    steps: int = 40
    result: int = 600  # of the tokens per step
    trimmed: int = 250  # a result trimmed at the source
    window: int = 10
    every: int = 10
    ratio: float = 10
    note: int = 40  # a pinned note, one a step
    cap: int | None = 400  # all pinned notes
    keep: int = 3  # results that masking leaves whole
    breadcrumb: int = 30  # also the reference to a stored result
    fetched: int = 100  # read back from storage, a step
    hand_off: int = 800
    delegated: float = 0.5  # the sub-agent's share of the steps
    answer: int = 200  # what the sub-agent returns


def techniques(settings: Settings | None = None) -> list[Technique]:
    """All techniques on the same run, the unmanaged one first."""
    s = settings or Settings()
    run = (s.fixed, s.per_step, s.steps)
    trimmed = trimmed_step(s.per_step, s.result, s.trimmed)
    offloaded = offloaded_step(s.per_step, s.result, s.breadcrumb, s.fetched)
    return [
        _appending("unmanaged", unmanaged_reads(*run)),
        _appending("trim at source", unmanaged_reads(s.fixed, trimmed, s.steps)),
        sliding_window_technique(s),
        rolling_summary_technique(s),
        notes_technique(s),
        _appending("offload to storage", unmanaged_reads(s.fixed, offloaded, s.steps)),
        fresh_start_technique(s),
        sub_agent_technique(s),
        masking_technique(s),
    ]


def priced(
    technique: Technique,
    prices: Prices,
    answers: int | Sequence[int] = 0,
    summary_prices: Prices | None = None,
) -> Cost:
    """What a technique costs once answers, summary calls and the prompt cache are counted.

    `answers` are the tokens of each answer, one number or a list with one for each call.
    """
    uses = [
        cache_use(read, shared, prices.cache)
        for read, shared in zip(technique.reads, technique.shared, strict=True)
    ]
    return price(uses, prices, answers, technique.summaries, summary_prices)


def sliding_window_technique(s: Settings) -> Technique:
    """Once the window is full, each step drops one: only what is fixed stays the same."""
    reads = window_reads(s.fixed, s.per_step, s.steps, s.window)
    rewritten = [done > s.window for done in range(s.steps)]
    return Technique("sliding window", reads, _shared(reads, s.fixed, rewritten), [])


def rolling_summary_technique(s: Settings) -> Technique:
    """The summary changes every so many steps, and with it all behind what is fixed."""
    reads = rolling_summary_reads(s.fixed, s.per_step, s.steps, s.every, s.ratio)
    call = SummaryCall(s.per_step * s.every, summary_size(s.per_step, s.every, s.ratio))
    rewritten = [done % s.every == 0 for done in range(s.steps)]
    calls = [call] * sum(rewritten[1:])
    return Technique("rolling summary", reads, _shared(reads, s.fixed, rewritten), calls)


def notes_technique(s: Settings) -> Technique:
    """Notes stand before the recent steps, so a new note changes all behind what is fixed."""
    reads = notes_reads(s.fixed, s.per_step, s.steps, s.window, s.note, s.cap)
    shared = _read_before(reads)
    for done in range(1, s.steps):
        notes = _notes(done, s.note, s.cap)
        if notes != _notes(done - 1, s.note, s.cap):
            shared[done] = s.fixed
        elif done > s.window:
            shared[done] = s.fixed + notes
    return Technique("pinned notes", reads, shared, [])


def fresh_start_technique(s: Settings) -> Technique:
    """Each start writes a note from all that the context held but what is fixed."""
    reads = fresh_start_reads(s.fixed, s.per_step, s.steps, s.every, s.hand_off)
    starts = [done for done in range(1, s.steps) if done % s.every == 0]
    calls = [SummaryCall(reads[done - 1] + s.per_step - s.fixed, s.hand_off) for done in starts]
    rewritten = [done in starts for done in range(s.steps)]
    return Technique("fresh start", reads, _shared(reads, s.fixed, rewritten), calls)


def sub_agent_technique(s: Settings) -> Technique:
    """Both contexts only grow, each behind its own beginning."""
    main, sub, before = sub_agent_contexts(s.fixed, s.per_step, s.steps, s.delegated, s.answer)
    shared_main, shared_sub = _read_before(main), _read_before(sub)
    return Technique(
        "sub-agent",
        main[: before + 1] + sub + main[before + 1 :],
        shared_main[: before + 1] + shared_sub + shared_main[before + 1 :],
        [],
    )


def masking_technique(s: Settings) -> Technique:
    """Each step turns one result into a breadcrumb: what stands behind that one is read anew."""
    reads = masking_reads(s.fixed, s.per_step, s.steps, s.keep, s.result, s.breadcrumb)
    masked = offloaded_step(s.per_step, s.result, s.breadcrumb)
    shared = _read_before(reads)
    for done in range(s.keep + 1, s.steps):
        before = done - s.keep - 1  # the steps that were masked already
        same = s.fixed + masked * before + s.per_step - s.result
        shared[done] = min(same, reads[done - 1])
    return Technique("masking", reads, shared, [])


def _appending(name: str, reads: list[int]) -> Technique:
    return Technique(name, reads, _read_before(reads), [])


def _shared(reads: list[int], fixed: int, rewritten: list[bool]) -> list[int]:
    """What each step shares with the one before: all of that, or only what is fixed."""
    return [
        fixed if changed and done else before
        for done, (before, changed) in enumerate(zip(_read_before(reads), rewritten, strict=True))
    ]


def _read_before(reads: list[int]) -> list[int]:
    """For each call what the call before it read; nothing for the first."""
    return [0, *reads][: len(reads)]


# ---- a run to measure -----------------------------------------------------------------------

# Common words, each of them one token with or without a space before it.
WORDS = (
    "the",
    "worker",
    "read",
    "the",
    "next",
    "rows",
    "of",
    "this",
    "batch",
    "and",
    "had",
    "no",
    "error",
)


def synthetic_run(fixed: int, per_step: int, steps: int) -> list[Message]:
    """Messages that measure exactly what the arithmetic says: a head, then calls and results.

    Raises `CourseError` if `fixed` or `per_step` is too small to hold its messages.
    """
    _check(steps=steps)
    head = [system(""), user("Why did the export job fail last night?")]
    messages = [system(_filler("fixed", fixed - count_tokens(head))), head[1]]
    nothing = count_tokens([])
    for step in range(steps):
        call = assistant(calls=[tool_call(f"c{step}", "search_logs", part=step)])
        room = per_step - count_tokens([call, tool_result(f"c{step}", "")]) + nothing
        messages += [call, tool_result(f"c{step}", _filler("per_step", room))]
    return messages


def _filler(name: str, tokens: int) -> str:
    if tokens < 0:
        raise CourseError(f"`{name}` is {-tokens} tokens too small for the messages themselves")
    return " ".join(islice(cycle(WORDS), tokens))


# ---- the numbers that come in ---------------------------------------------------------------


def _sum_below(steps: int, most: int | None = None) -> int:
    """0 + 1 + 2 + ... for so many `steps`, no number of them above `most`."""
    growing = steps if most is None else min(steps, most)
    return growing * (growing - 1) // 2 + (steps - growing) * (most or 0)


def _check(least: int = 0, **numbers: float) -> None:
    for name, number in numbers.items():
        if number < least:
            raise CourseError(f"`{name}` is {number}: it can't be below {least}")


def _check_fits(per_step: int, result: int) -> None:
    if result > per_step:
        raise CourseError(
            f"`result` is {result:,}, more than the {per_step:,} tokens that a whole step adds"
        )
