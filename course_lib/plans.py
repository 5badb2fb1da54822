"""The context plan: every technique replayed on one run, and which of them to use, and why.

Each technique is set by the run itself: a window is as wide as its reuses need, and the low water
mark holds a window in which four of five are found; the rest is what pins and notes are for. Each
is judged by what it read, cost and missed on this very run. The rules that choose are `RULES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple

from course_lib.caching import PRESETS, Prices, answer_tokens, cache_use, price, summary_calls
from course_lib.extraction import constraints_in, structured
from course_lib.messages import BudgetTooSmall, CourseError, Message, group_indices, validate
from course_lib.plan_settings import Settings
from course_lib.replay import Run, replay
from course_lib.reuses import Pin, Reuse, reuse
from course_lib.shapes import WINDOWS, Shape, shape_of
from course_lib.tokens import count_text
from course_lib.transcript import Transcript
from course_lib.trimming import (
    Policy,
    append_all,
    high_low,
    mask_results,
    rolling_summary,
    sliding_window,
)

MISSED = 0.05  # the share of its reuses that a technique may miss
FAR = 0.2  # the share that may lie beyond the low water mark
SMALL = 8_000  # tokens: a run that never reads more needs no managing
BIG = 2_000  # tokens: a result to offload
DEAD = 0.5  # the share of the results' tokens from which on they are worth trimming at the source
NEAR = 0.1  # prices that differ by less are the same
MANY_USES, SOME_USES = 100, 30  # reuses, for how sure a plan is
WIDEST = 40  # turn groups: who needs a wider window needs something other than a window
MOST_CALLS = 400  # model calls: of a longer run, techniques are replayed on the end
EVERY, RATIO = 10, 4  # turn groups between rolling summaries, and how much shorter one is
KEEP = 3  # results that masking leaves whole
NOTED = 3  # rules that the settings note from the start

RULES = (
    f"A run that never reads more than {SMALL:,} tokens is left alone.",
    "A technique qualifies if each prompt is valid and within the model's window, and it misses at "
    f"most {MISSED:.0%} of the values that calls came back for.",
    "Of those that qualify, the cheapest by the price list is chosen, cache and summary calls counted; "
    f"within {NEAR:.0%} of it, the one that reads least.",
    "If none does, of those within the window the one that misses least; if none is within it, the one "
    "that comes nearest.",
)


REPLAYED = (
    "The techniques were replayed on the last {:,} of {:,} model calls: their figures are for these, "
    "and what only grows reads more in the whole run."
)


class Candidate(NamedTuple):
    """A technique to be tried: its name, its setting as code, what that does, and the policy."""

    name: str
    setting: str
    about: str
    policy: Policy


@dataclass(frozen=True)
class Tried:
    """A technique on this run: what it read, cost and missed."""

    name: str
    setting: str  # as code, to be pasted
    about: str  # what that does, in words
    run: Run
    missed: float  # the share of the reuses whose value wasn't in the prompt
    valid: bool  # each prompt would be taken by a provider
    fits: bool  # each prompt is within the model's window
    prices: Mapping[str, Decimal]  # for each price list, what the run costs

    @property
    def read(self) -> int:
        """Tokens read over all calls."""
        return self.run.read

    @property
    def cached_share(self) -> float:
        """The share of them that a prompt cache could serve."""
        return self.run.cached / self.run.read if self.run.read else 0.0

    @property
    def peak(self) -> int:
        """Tokens of the biggest call."""
        return max(row.read for row in self.run.rows)

    @property
    def sendable(self) -> bool:
        """Whether each prompt is valid, and within the model's window."""
        return self.valid and self.fits

    @property
    def qualifies(self) -> bool:
        """Whether it may be recommended."""
        return self.sendable and self.missed <= MISSED


@dataclass(frozen=True, repr=False)
class Plan:
    """What to do about the context of a run like this one, and the figures behind it."""

    name: str
    shape: Shape
    reuse: Reuse
    window: int  # turn groups: the smallest window in which most reuses are found
    budget: int  # tokens: its low water, at half, holds such a window, if the model's window can
    tried: tuple[Tried, ...]
    chosen: Tried
    reasons: tuple[str, ...]
    sure: str  # "high", "middling" or "low", and why
    pins: tuple[Pin, ...]
    constraints: tuple[str, ...]
    by: str  # the price list that decided
    settings: Settings  # for a `Context`
    fault: str  # why the run can't be given to such a `Context`, or ""

    def markdown(self) -> str:
        """The plan as one page of Markdown."""
        from course_lib.plan_page import markdown

        return markdown(self)

    def html(self) -> str:
        """The plan as one HTML page without scripts or remote files; it prints on one sheet."""
        from course_lib.plan_page import html

        return html(self)

    def __repr__(self) -> str:
        return f"<Plan for {self.name!r}: {self.chosen.name}, {self.chosen.setting}>"

    def _repr_markdown_(self) -> str:
        return self.markdown()


def plan(
    source: Transcript | Sequence[Message],
    *,
    tools: Sequence[dict[str, Any]] | None = None,
    prices: Mapping[str, Prices] = PRESETS,
    by: str | None = None,
    model_window: int = 128_000,
    name: str = "",
) -> Plan:
    """Replay every technique on a run, and recommend one. `by` names the price list that decides.

    `model_window` is the most tokens that a request of your model may have.

    Raises `CourseError` if there is no call of a model in the run.
    """
    if isinstance(source, Transcript):
        name, tools = name or source.name, tools if tools is not None else source.tools
        source = source.messages
    messages, by = list(source), by or next(iter(prices))
    found = reuse(messages, answers=True, tools=tools)
    shape = shape_of(messages, tools, found)
    window = needed_window(found, FAR)
    budget = budget_for(shape, window, model_window)
    pins = found.pins(window)
    constraints = tuple(constraints_in(messages))
    start = start_of_end(messages)
    part, marked = (end_of(run, start) for run in (messages, with_pins(messages, pins)))
    here = found if start is None else reuse(part, answers=True, tools=tools)
    rest = (tools, here, prices, model_window)
    trying = candidates(needed_window(found, MISSED), budget, tools)
    tried = [attempt(each, part, *rest) for each in trying]
    if pins:
        tried.append(attempt(windowed("window and pins", window), marked, *rest))
    settings = settings_for(shape, window, budget, pins, constraints)
    managed = Candidate("context manager", "ctx", "the settings below", settings.policy(tools))
    fault = ""
    try:
        tried.append(attempt(managed, part, *rest))
    except CourseError as error:
        fault = str(error)
    tried[0] = replace(tried[0], fits=max(shape.reads) <= model_window)
    chosen, reasons = choose(tried, shape, by, model_window)
    if start is not None:
        reasons.append(REPLAYED.format(MOST_CALLS, shape.calls))
    return Plan(
        name=name or "this run",
        shape=shape,
        reuse=found,
        window=window,
        budget=budget,
        tried=tuple(tried),
        chosen=chosen,
        reasons=(*reasons, *at_the_source(shape)),
        sure=how_sure(found, tried, chosen, by),
        pins=tuple(pins),
        constraints=constraints,
        by=by,
        settings=settings,
        fault=fault,
    )


def start_of_end(messages: Sequence[Message], calls: int = MOST_CALLS) -> int | None:
    """The turn group with which the last so many model calls begin; None if there are no more."""
    asked = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    if len(asked) <= calls:
        return None
    return group_indices(messages, strict=False).group_of(asked[-calls])


def end_of(messages: Sequence[Message], start: int | None) -> list[Message]:
    """The head and the turn groups from `start` on; everything for None."""
    if start is None:
        return list(messages)
    grouping = group_indices(messages, strict=False)
    groups = (grouping.group(at) for at in range(start, len(grouping)))
    return [messages[i] for i in sorted([*grouping.head, *(i for group in groups for i in group)])]


def budget_for(shape: Shape, window: int, model_window: int) -> int:
    """Tokens whose half holds such a window, but never more than the model takes."""
    return min(2 * (shape.fixed + window * max(shape.per_step, 1)), model_window)


def needed_window(found: Reuse, share: float) -> int:
    """The fewest turn groups with which a window misses at most that share, from 1 to WIDEST."""
    curve = found.curve()[1 : WIDEST + 1]
    return next((w for w, missed in enumerate(curve, 1) if missed <= share), max(1, len(curve)))


def candidates(window: int, budget: int, tools: Sequence[dict[str, Any]] | None) -> list[Candidate]:
    """The techniques of the lessons, set for a run."""
    high, low = budget * 8 // 10, budget // 2
    return [
        Candidate("everything kept", "append_all()", "nothing is cut", append_all()),
        windowed("sliding window", window),
        Candidate(
            "water marks",
            f"high_low({budget})",
            f"above {high:,} tokens the oldest turn groups go, down to {low:,}",
            forgiving(high_low(budget, tools=tools)),
        ),
        Candidate(
            "water marks, summary",
            f"high_low({budget}, summarize=structured)",
            "the same, with a summary of what goes",
            forgiving(high_low(budget, summarize=structured, tools=tools)),
        ),
        Candidate(
            "rolling summary",
            f"rolling_summary({EVERY}, {RATIO}, structured)",
            f"every {EVERY} turn groups a summary, of one token at most for each {RATIO} that go",
            rolling_summary(EVERY, RATIO, structured),
        ),
        Candidate(
            "masking",
            f"mask_results({KEEP})",
            f"a line in the place of all results but the last {KEEP}",
            mask_results(KEEP),
        ),
    ]


def windowed(name: str, window: int) -> Candidate:
    """A sliding window, by that name; with pins it keeps their turn groups as well."""
    pinned = ", and those of the pinned values" if "pins" in name else ""
    setting = f"sliding_window({window})" + ("  # and pins" if pinned else "")
    about = f"the last {window} turn group{'s' * (window != 1)}{pinned}"
    return Candidate(name, setting, about, sliding_window(window))


def attempt(
    candidate: Candidate,
    messages: Sequence[Message],
    tools: Sequence[dict[str, Any]] | None,
    found: Reuse,
    prices: Mapping[str, Prices],
    model_window: int,
    checked: int = 50,
) -> Tried:
    """One technique on the run; at most so many of its prompts are `checked` for their validity."""
    run = replay(messages, candidate.policy, tools=tools)
    answers, summaries = answer_tokens(messages), summary_calls(run)
    missed = found.missed_by(run)
    return Tried(
        name=candidate.name,
        setting=candidate.setting,
        about=candidate.about,
        run=run,
        missed=len(missed) / len(found.uses) if found.uses else 0.0,
        valid=not any(validate(prompt) for prompt in some_prompts(run, checked)),
        fits=max(row.read for row in run.rows) <= model_window,
        prices={
            at: price(
                [cache_use(row.read, row.shared, each.cache) for row in run.rows],
                each,
                answers,
                summaries,
            ).total
            for at, each in prices.items()
        },
    )


def some_prompts(run: Run, most: int = 50) -> list[list[Message]]:
    """The last prompt, and of those before which something was changed at most so many."""
    changed = [row.prompt for row in run.rows if row.event]
    return [*changed[:: max(1, len(changed) // most)], run.rows[-1].prompt]


def forgiving(policy: Policy) -> Policy:
    """The policy, but where what must stay is over its budget, the list is sent as it is."""

    def forgiven(messages: list[Message]) -> list[Message]:
        try:
            return policy(messages)
        except BudgetTooSmall:
            return messages

    return forgiven


def with_pins(messages: Sequence[Message], pins: Sequence[Pin]) -> list[Message]:
    """The messages, with a mark on those that brought the values worth pinning."""
    sources = {pin.source for pin in pins}
    return [{**m, "pinned": True} if i in sources else m for i, m in enumerate(messages)]


# ---- choosing -------------------------------------------------------------------------------


def choose(
    tried: Sequence[Tried], shape: Shape, by: str, model_window: int
) -> tuple[Tried, list[str]]:
    """One of the techniques by `RULES`, and the reasons in words. The first keeps everything."""
    everything = tried[0]
    if max(shape.reads) <= min(SMALL, model_window):
        return everything, [
            f"No call reads more than {SMALL:,} tokens (the biggest: {max(shape.reads):,}), so "
            "there is nothing to manage yet."
        ]
    fit = [each for each in tried if each.qualifies]
    if not fit:
        return _nearest(tried, model_window)
    cheapest = min(each.prices[by] for each in fit)
    most = cheapest * Decimal(1 + NEAR)
    if everything.qualifies:
        most = min(most, everything.prices[by])
    chosen = min((each for each in fit if each.prices[by] <= most), key=lambda each: each.read)
    saved = 1 - chosen.prices[by] / everything.prices[by] if everything.prices[by] else Decimal(0)
    compared = f"{saved:.0%} less" if saved >= 0 else f"{-saved:.0%} more"
    reasons = [
        f"{chosen.name} costs {compared} than keeping everything, at {by}'s prices, reads "
        f"{chosen.read:,} tokens instead of {everything.read:,}, and misses {chosen.missed:.0%} of "
        "the values that calls came back for."
    ]
    if chosen is everything:
        reasons = [
            "With the cache counted, nothing that qualifies is cheaper than keeping everything. That "
            f"ends where the window does: {_overflows(shape)}."
        ]
    return chosen, reasons


def _nearest(tried: Sequence[Tried], model_window: int) -> tuple[Tried, list[str]]:
    """What comes nearest where no technique qualifies, and the reason in words."""
    within = [each for each in tried if each.sendable]
    if not within:
        chosen = min(tried, key=lambda each: (not each.valid, each.peak))
        return chosen, [
            f"No technique keeps every request of this run within {model_window:,} tokens. "
            f"{chosen.name} comes nearest: its biggest request has {chosen.peak:,}."
        ]
    chosen = min(within, key=lambda each: each.missed)
    return chosen, [
        f"Whatever stays within {model_window:,} tokens misses more than {MISSED:.0%}. "
        f"{chosen.name} misses least: {chosen.missed:.0%}."
    ]


def _overflows(shape: Shape) -> str:
    found = {window: shape.overflow(window) for window in WINDOWS[1:4]}
    return ", ".join(
        f"{window:,} tokens at call {call:,}" for window, call in found.items() if call
    )


def at_the_source(shape: Shape) -> list[str]:
    """What to do before a result reaches the list."""
    advice = []
    share = shape.dead_weight / shape.result_tokens if shape.result_tokens else 0.0
    if share >= DEAD:
        advice.append(
            f"Trim at the source first: no later call used a value from results of "
            f"{shape.dead_weight:,} tokens ({share:.0%} of all results)."
        )
    big = [result for result in shape.results if result.tokens >= BIG]
    if big:
        tools = ", ".join(dict.fromkeys(result.tool for result in big))
        advice.append(f"Offload: {len(big)} results have {BIG:,} tokens or more (from {tools}).")
    if shape.repeats:
        advice.append(f"{len(shape.repeats)} calls were made before, with the same arguments.")
    return advice


def how_sure(found: Reuse, tried: Sequence[Tried], chosen: Tried, by: str) -> str:
    """How much to trust the choice, and why."""
    uses = len(found.uses)
    level = "high" if uses >= MANY_USES else "middling" if uses >= SOME_USES else "low"
    others = [each.prices[by] for each in tried if each.qualifies and each is not chosen]
    close = [price for price in others if price <= chosen.prices[by] * Decimal(1 + NEAR)]
    if close and level == "high":
        level = "middling"
    why = f"{uses} reuses were seen in one run"
    if not chosen.qualifies:
        level, why = "low", "it doesn't meet all the rules, it only comes nearest"
    elif close:
        why += ", and others cost nearly the same"
    return f"{level}: {why}. Try it on more runs of the same agent."


def settings_for(
    shape: Shape, window: int, budget: int, pins: Sequence[Pin], constraints: Sequence[str]
) -> Settings:
    """What a plan proposes for a `Context`: its notes hold the first rules, and room for the pins."""
    notes = tuple(constraints[:NOTED])
    cap = 2 * shape.per_step
    return Settings(
        budget=budget,
        keep_last=min(window, 8),
        notes_cap=50 + sum(count_text(n) + 10 for n in notes) + sum(p.tokens + 10 for p in pins),
        result_cap=max(200, cap) if any(r.tokens > max(200, cap) for r in shape.results) else None,
        notes=notes,
    )


def settings_code(plan: Plan) -> str:
    """The plan as settings for `Context`, to be pasted."""
    return plan.settings.code()
