"""The context plan: every technique replayed on one run, and which of them to use, and why.

Each technique is set by the run itself: a window is as wide as its reuses need, and the low water
mark holds a window in which four of five are found; the rest is what pins and notes are for. Each
is judged by what it read, cost and missed on this very run. The rules that choose are `RULES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from course_lib.caching import PRESETS, Prices, answer_tokens, cache_use, price, summary_calls
from course_lib.extraction import constraints_in, structured
from course_lib.messages import BudgetTooSmall, Message, group_indices, validate
from course_lib.replay import Run, replay
from course_lib.reuses import Pin, Reuse, reuse
from course_lib.shapes import WINDOWS, Shape, shape_of
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
EVERY, KEEP = 10, 3  # groups between rolling summaries, results that masking leaves whole

RULES = (
    f"A run that never reads more than {SMALL:,} tokens is left alone.",
    "A technique is fit if each prompt is valid and within the model's window, and it misses at most "
    f"{MISSED:.0%} of the values that calls came back for.",
    "Of those that are fit, the cheapest by the price list is chosen, cache and summary calls counted; "
    f"within {NEAR:.0%} of it, the one that reads least.",
    "If none is fit, the one that misses least is chosen.",
)


REPLAYED = (
    "The techniques were replayed on the last {:,} of {:,} model calls: their figures are for these, "
    "and what only grows reads more in the whole run."
)


@dataclass(frozen=True)
class Tried:
    """A technique on this run: what it read, cost and missed."""

    name: str
    setting: str  # as code, to be pasted
    run: Run
    missed: float  # the share of the reuses whose value wasn't in the prompt
    valid: bool  # each prompt can be sent, and is within the model's window
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
    def fit(self) -> bool:
        """Whether it may be recommended."""
        return self.valid and self.missed <= MISSED


@dataclass(frozen=True, repr=False)
class Plan:
    """What to do about the context of a run like this one, and the figures behind it."""

    name: str
    shape: Shape
    reuse: Reuse
    window: int  # turn groups: the smallest window in which most reuses are found
    budget: int  # tokens: its low water, at half, holds such a window
    tried: tuple[Tried, ...]
    chosen: Tried
    reasons: tuple[str, ...]
    sure: str  # "high", "middling" or "low", and why
    pins: tuple[Pin, ...]
    constraints: tuple[str, ...]
    by: str  # the price list that decided

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
    budget = 2 * (shape.fixed + window * max(shape.per_step, 1))
    pins = found.pins(window)
    trying = candidates(needed_window(found, MISSED), budget, tools)
    if pins:
        trying.append(
            ("window and pins", f"sliding_window({window})  # and pins", sliding_window(window))
        )
    start = start_of_end(messages)
    part, marked = (end_of(run, start) for run in (messages, with_pins(messages, pins)))
    here = found if start is None else reuse(part, answers=True, tools=tools)
    tried = [
        attempt(*each, marked if "pins" in each[0] else part, tools, here, prices, model_window)
        for each in trying
    ]
    tried[0] = replace(tried[0], valid=tried[0].valid and max(shape.reads) <= model_window)
    chosen, reasons = choose(tried, shape, by)
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
        constraints=tuple(
            dict.fromkeys(rule.removeprefix("- ") for rule in constraints_in(messages))
        ),
        by=by,
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


def needed_window(found: Reuse, share: float) -> int:
    """The fewest turn groups with which a window misses at most that share, from 1 to WIDEST."""
    curve = found.curve()[1 : WIDEST + 1]
    return next((w for w, missed in enumerate(curve, 1) if missed <= share), max(1, len(curve)))


def candidates(
    window: int, budget: int, tools: Sequence[dict[str, Any]] | None
) -> list[tuple[str, str, Policy]]:
    """The techniques by name, as code, and as policies."""
    return [
        ("everything kept", "append_all()", append_all()),
        ("sliding window", f"sliding_window({window})", sliding_window(window)),
        ("water marks", f"high_low({budget})", high_low(budget, tools=tools)),
        (
            "water marks, summary",
            f"high_low({budget}, summarize=structured)",
            high_low(budget, summarize=structured, tools=tools),
        ),
        (
            "rolling summary",
            f"rolling_summary({EVERY}, 4, structured)",
            rolling_summary(EVERY, 4, structured),
        ),
        ("masking", f"mask_results({KEEP})", mask_results(KEEP)),
    ]


def attempt(
    name: str,
    setting: str,
    policy: Policy,
    messages: Sequence[Message],
    tools: Sequence[dict[str, Any]] | None,
    found: Reuse,
    prices: Mapping[str, Prices],
    model_window: int,
    checked: int = 50,
) -> Tried:
    """One technique on the run; at most so many of its prompts are `checked` for their validity."""
    run = replay(messages, forgiving(policy), tools=tools)
    answers, summaries = answer_tokens(messages), summary_calls(run)
    missed = found.missed_by(run)
    return Tried(
        name=name,
        setting=setting,
        run=run,
        missed=len(missed) / len(found.uses) if found.uses else 0.0,
        valid=max(row.read for row in run.rows) <= model_window
        and not any(validate(prompt) for prompt in some_prompts(run, checked)),
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


def choose(tried: Sequence[Tried], shape: Shape, by: str) -> tuple[Tried, list[str]]:
    """One of the techniques by `RULES`, and the reasons in words. The first keeps everything."""
    everything = tried[0]
    if max(shape.reads) <= SMALL:
        return everything, [
            f"No call reads more than {SMALL:,} tokens (the biggest: {max(shape.reads):,}), so "
            "there is nothing to manage yet."
        ]
    fit = [each for each in tried if each.fit]
    if not fit:
        chosen = min(tried, key=lambda each: (not each.valid, each.missed))
        return chosen, [f"Nothing misses less than {MISSED:.0%}; {chosen.name} misses least."]
    cheapest = min(each.prices[by] for each in fit)
    most = cheapest * Decimal(1 + NEAR)
    if everything.fit:
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
            f"With the cache counted, nothing that is fit is cheaper than keeping everything. That "
            f"ends where the window does: {_overflows(shape)}."
        ]
    return chosen, reasons


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
    others = [each.prices[by] for each in tried if each.fit and each is not chosen]
    close = [price for price in others if price <= chosen.prices[by] * Decimal(1 + NEAR)]
    if close and level == "high":
        level = "middling"
    why = f"{uses} reuses were seen in one run" + (
        ", and others cost nearly the same" if close else ""
    )
    return f"{level}: {why}. Try it on more runs of the same agent."


def settings_code(plan: Plan) -> str:
    """The plan as settings for `Context`, to be pasted."""
    cap = 50 + sum(pin.tokens + 10 for pin in plan.pins)
    result_cap = max(200, 2 * plan.shape.per_step)
    rules = "".join(f"\nctx.note({rule!r})" for rule in plan.constraints[:3])
    return f"""\
from course_lib import Context, Store

ctx = Context(
    instructions, task, tools=tools,
    budget={plan.budget}, high=0.8, low=0.5,
    keep_last={min(plan.window, 8)}, notes_cap={cap}, result_cap={result_cap},
    store=Store("run.db"),
){rules}"""
