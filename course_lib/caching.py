"""The prompt cache: how much of a request the provider has read before, and what that costs.

Providers keep the start of a request for a while and read it again for less, as long as it is
the same to the token. One changed token, and everything behind it is read at full price.

Money is counted in `Decimal`, so that the parts of a cost add up to its total to the last
digit; nothing is rounded before `money` writes it down.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NamedTuple

from course_lib.messages import (
    SUMMARY_MARK,
    CourseError,
    Message,
    is_summary,
    sendable,
    text_of,
)
from course_lib.tokens import count_tokens

if TYPE_CHECKING:
    from course_lib.replay import Run

Number = Decimal | int | float | str

# OpenAI's guide "Prompt caching", models before GPT-5.6: from 1,024 tokens on, in steps of 128.
BLOCK = 128
MINIMUM = 1024


# ---- what a cache can serve -----------------------------------------------------------------


def common_prefix(before: Sequence[Message], now: Sequence[Message]) -> int:
    """How many messages at the start of both requests are the same."""
    if list(now[: len(before)]) == list(before):
        return len(before)  # as most calls are: something came at the end
    sent = zip(sendable(before), sendable(now), strict=False)
    return next((i for i, (a, b) in enumerate(sent) if a != b), min(len(before), len(now)))


def cached_tokens(prefix: int, block: int = BLOCK, minimum: int = MINIMUM) -> int:
    """The tokens of a common prefix that a cache can serve: whole blocks, from a minimum on."""
    return prefix // block * block if prefix >= minimum else 0


@dataclass(frozen=True)
class CacheRules:
    """What a provider keeps: whole blocks of tokens, from a minimum on, until they grow old.

    `seconds` and `calls` say how long something stays that no call uses; None means for good.
    """

    block: int = BLOCK
    minimum: int = MINIMUM
    seconds: float | None = None
    calls: int | None = None

    def __post_init__(self) -> None:
        if self.block < 1:
            raise CourseError(f"`block` is {self.block}: a cache block holds at least 1 token")

    def keeps(self, seconds: float, calls: int) -> bool:
        """True if something that was last used so long ago is still there."""
        fresh = self.seconds is None or seconds <= self.seconds
        return fresh and (self.calls is None or calls <= self.calls)


class CacheUse(NamedTuple):
    """One call, in tokens: `read` in all, and of those `cached` from before and `written` anew."""

    read: int
    cached: int
    written: int


def cache_use(read: int, shared: int, rules: CacheRules | None = None) -> CacheUse:
    """What the cache does for one call: `read` tokens, whose first `shared` it has seen."""
    rules = rules or CacheRules()
    cached = cached_tokens(min(shared, read), rules.block, rules.minimum)
    return CacheUse(read, cached, cached_tokens(read, rules.block, rules.minimum) - cached)


def cache_uses(
    prompts: Sequence[Sequence[Message]],
    rules: CacheRules | None = None,
    *,
    reads: Sequence[int] | None = None,
    seconds: float | Sequence[float] = 0,
    count: Callable[..., int] = count_tokens,
) -> list[CacheUse]:
    """What the cache does for each call, in order: any call before may have left the prefix.

    `seconds` is the time before each call, one number or a list. `reads` are the sizes of the
    whole requests; what they hold beyond the messages (tool schemas) stands in front of them.

    Raises `CourseError` if a list hasn't one entry per call.
    """
    rules = rules or CacheRules()
    reads = [count(list(prompt)) for prompt in prompts] if reads is None else reads
    for name, given in (("reads", reads), ("seconds", seconds)):
        if isinstance(given, Sequence) and len(given) != len(prompts):
            raise CourseError(f"`{name}` has {len(given)} entries for {len(prompts)} calls")
    uses, priming = [], count([])
    for read, sizes in zip(reads, _sizes(prompts, rules, seconds, count), strict=True):
        in_front = read - priming - sizes.all
        uses.append(cache_use(read, in_front + sizes.known if sizes.known else 0, rules))
    return uses


class _Sizes(NamedTuple):
    """The tokens of a prompt's messages: of all, and of those at its start that are known."""

    all: int
    known: int


def _sizes(
    prompts: Sequence[Sequence[Message]],
    rules: CacheRules,
    seconds: float | Sequence[float],
    count: Callable[..., int],
) -> Iterator[_Sizes]:
    """Walk each prompt through all that the cache holds. Using an entry keeps it alive."""
    root: dict[str, _Entry] = {}
    messages: dict[int, tuple[str, int]] = {}  # by identity: the prompts keep them alive
    now, priming = 0.0, count([])
    for call, prompt in enumerate(prompts):
        now += seconds[call] if isinstance(seconds, Sequence) else seconds
        below, size, known, held = root, 0, 0, True
        for message in prompt:
            if id(message) not in messages:
                key = json.dumps(sendable([message]), sort_keys=True, default=str)
                messages[id(message)] = (key, count([message]) - priming)
            key, tokens = messages[id(message)]
            entry = below.get(key)
            held = held and entry is not None and rules.keeps(now - entry.second, call - entry.call)
            if not held:
                entry = below[key] = _Entry({}, now, call)
            size, known = size + tokens, known + tokens * held
            entry.second, entry.call = now, call
            below = entry.below
        yield _Sizes(size, known)


@dataclass
class _Entry:
    """A message in the cache, behind those before it: what follows it, and when it was used."""

    below: dict[str, _Entry]
    second: float
    call: int


# ---- prices ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prices:
    """What a model costs for `per` tokens: read, answered, read from the cache, written to it.

    A token that is read costs one of `input`, `cache_read` and `cache_write`, never two of
    them. Without a cache price, the price is that of `input`. Numbers become `Decimal`.

    Raises `CourseError` for a price that isn't a number, or is below 0.
    """

    input: Number
    output: Number
    cache_read: Number | None = None
    cache_write: Number | None = None
    per: int = 1_000_000
    name: str = ""
    source: str = ""
    date: str = ""
    cache: CacheRules = CacheRules()

    def __post_init__(self) -> None:
        if self.per <= 0:
            raise CourseError(f"`per` is {self.per}: prices are for a number of tokens above 0")
        for field in ("input", "output", "cache_read", "cache_write"):
            given = getattr(self, field)
            price = self.input if given is None else _decimal(field, given)
            object.__setattr__(self, field, price)

    @classmethod
    def from_factors(
        cls, input: Number, output: Number, read: Number = 1, write: Number = 1, **others: Any
    ) -> Prices:
        """Prices whose cache reads and writes cost so many times the `input` price."""
        base = _decimal("input", input)
        cache_read, cache_write = _decimal("read", read) * base, _decimal("write", write) * base
        return cls(base, output, cache_read, cache_write, **others)

    def uncached(self) -> Prices:
        """The same model without a prompt cache: each token at the `input` price."""
        return replace(self, cache_read=self.input, cache_write=self.input)


def _decimal(field: str, value: Number) -> Decimal:
    try:
        price = Decimal(str(value))
    except InvalidOperation:
        raise CourseError(f"`{field}` is {value!r}: a price is a number") from None
    if not price.is_finite() or price < 0:
        raise CourseError(f"`{field}` is {value!r}: a price is a number of 0 or more")
    return price


# Three examples, in US dollars for a million tokens, to compare shapes of prices with. Prices
# age: `date` is the day on which these stood at `source`. Fill in your own before you decide.
OPENAI = Prices(
    input="2.00",
    output="10.00",
    cache_read="0.10",
    cache_write="2.50",
    name="GPT-6.1 Sol, standard, up to 272K tokens",
    source="https://developers.openai.com/api/docs/models/gpt-6.1-sol",
    date="2026-10-13",
    cache=CacheRules(block=1, minimum=1024, seconds=30 * 60),
)
ANTHROPIC = Prices(
    input="2.00",
    output="10.00",
    cache_read="0.20",
    cache_write="2.50",
    name="Claude Sonnet 5, five-minute cache",
    source="https://platform.claude.com/docs/en/about-claude/pricing",
    date="2026-10-10",
    cache=CacheRules(block=1, minimum=1024, seconds=5 * 60),
)
GOOGLE = Prices(
    input="0.30",
    output="2.50",
    cache_read="0.03",
    name="Gemini 2.5 Flash, implicit cache",
    source="https://ai.google.dev/gemini-api/docs/pricing",
    date="2026-10-07",
    cache=CacheRules(block=1, minimum=2048),
)
PRESETS = {"OpenAI": OPENAI, "Anthropic": ANTHROPIC, "Google": GOOGLE}


# ---- costs ----------------------------------------------------------------------------------


class SummaryCall(NamedTuple):
    """A call that only writes a summary: the tokens that it reads, and those that it answers."""

    read: int
    answer: int


@dataclass(frozen=True)
class Cost:
    """What a run costs, part by part, in the currency of the prices."""

    reads: Decimal = Decimal(0)  # tokens read at the full price
    cached: Decimal = Decimal(0)  # tokens that the cache served
    written: Decimal = Decimal(0)  # tokens read and put into the cache
    answers: Decimal = Decimal(0)
    summaries: Decimal = Decimal(0)  # the calls that write summaries, both ways

    @property
    def total(self) -> Decimal:
        """All parts together."""
        return sum((getattr(self, field.name) for field in fields(self)), Decimal(0))

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __str__(self) -> str:
        parts = ", ".join(f"{f.name} {money(getattr(self, f.name))}" for f in fields(self))
        return f"{money(self.total)} ({parts})"


def money(amount: Decimal, places: int = 4) -> str:
    """An amount in dollars, rounded half up: `$0.0125` is `$0.013` to three places."""
    return f"${amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):,}"


def price(
    uses: Sequence[CacheUse],
    prices: Prices,
    answers: int | Sequence[int] = 0,
    summaries: Sequence[SummaryCall] = (),
    summary_prices: Prices | None = None,
) -> Cost:
    """What the calls cost. `answers` are the tokens of each answer, one number or a list.

    A summary call is a prompt of its own, so no cache serves it; `summary_prices` are those of
    a cheaper model, if you use one for it.

    Raises `CourseError` if `answers` is a list without one entry per call.
    """
    if isinstance(answers, int):
        answers = [answers] * len(uses)
    if len(answers) != len(uses):
        raise CourseError(f"`answers` has {len(answers)} entries for {len(uses)} calls")
    plain = sum(use.read - use.cached - use.written for use in uses)
    writer = summary_prices or prices
    note = sum(call.read * writer.input + call.answer * writer.output for call in summaries)
    return Cost(
        reads=plain * prices.input / prices.per,
        cached=sum(use.cached for use in uses) * prices.cache_read / prices.per,
        written=sum(use.written for use in uses) * prices.cache_write / prices.per,
        answers=sum(answers) * prices.output / prices.per,
        summaries=Decimal(note) / writer.per,
    )


def cost(
    run: Run,
    prices: Prices,
    answers: int | Sequence[int] = 0,
    *,
    seconds: float | Sequence[float] = 0,
    summary_prices: Prices | None = None,
    count: Callable[..., int] = count_tokens,
) -> Cost:
    """What a replayed run costs, under the cache rules of `prices`, with its summary calls.

    `answers` are the tokens of each answer (`answer_tokens` reads them off a transcript),
    `seconds` the time before each call, `count` what the run was replayed with.
    """
    uses = cache_uses(
        [row.prompt for row in run.rows],
        prices.cache,
        reads=[row.read for row in run.rows],
        seconds=seconds,
        count=count,
    )
    return price(uses, prices, answers, summary_calls(run, count), summary_prices)


def answer_tokens(
    messages: Sequence[Message], count: Callable[..., int] = count_tokens
) -> list[int]:
    """The tokens of each answer in a transcript: one answer, or set of calls, for each call."""
    nothing = count([])
    return [count([m]) - nothing for m in messages if m["role"] == "assistant"]


def summary_calls(run: Run, count: Callable[..., int] = count_tokens) -> list[SummaryCall]:
    """The calls that wrote a run's summaries: each read what went, and answered the new note."""
    calls: list[SummaryCall] = []
    before: list[Message] = []
    for row in run.rows:
        if row.event == "summary":
            kept = {id(m) for m in row.prompt}
            gone = [m for m in before if id(m) not in kept and not is_summary(m)]
            calls.append(SummaryCall(count(gone), _newly_written(before, row.prompt, count)))
        before = row.prompt
    return calls


def _newly_written(
    before: Sequence[Message], now: Sequence[Message], count: Callable[..., int]
) -> int:
    """The tokens of the new notes, without the older notes that stand in them word for word."""
    old = [m for m in before if is_summary(m)]
    new = [m for m in now if is_summary(m) and m not in old]
    texts = "\n".join(map(text_of, new))
    folded = [m for m in old if text_of(m).removeprefix(SUMMARY_MARK).strip() in texts]
    return count(new) - count(folded) if new else 0


def break_even(
    before: int, after: int, prices: Prices, *, note: int = 0, prefix: int = 0
) -> int | None:
    """How many calls a compaction needs to pay for itself; None if it never does.

    The context shrinks from `before` to `after` tokens, a `note` among them that a model call
    writes from what goes (0: nothing is written, so there is no such call). Behind the first
    `prefix` tokens the cache is lost and has to be written again. Then each call reads less.
    """
    saved = (before - after) * prices.cache_read
    if saved <= 0:
        return None
    summary = (before - after + note) * prices.input + note * prices.output if note else 0
    rewritten = max(0, after - prefix) * (prices.cache_write - prices.cache_read)
    return math.ceil((summary + rewritten) / saved)
