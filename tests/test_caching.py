"""The prompt cache and its prices: what is served, what is written, and what it costs."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import caching as c
from course_lib.messages import CourseError, assistant, system, tool_call, tool_result, user
from course_lib.replay import replay
from course_lib.samples import long_incident
from course_lib.tokens import count_tokens
from course_lib.trimming import append_all, high_low, sliding_window
from tests.strategies import managed, valid_transcripts

EXACT = c.CacheRules(block=1, minimum=0)
PRICES = c.Prices(input=2, output=10, cache_read="0.2", cache_write="2.5", cache=EXACT)
HEAD = [system("You read logs."), user("Why did the export fail?")]


def step(n):
    """One call and its result."""
    return [
        assistant(calls=[tool_call(f"c{n}", "search_logs", part=n)]),
        tool_result(f"c{n}", f"part {n}: no errors"),
    ]


def growing(steps):
    """The prompts of a run in which everything is sent."""
    prompts = [HEAD]
    for n in range(steps):
        prompts.append(prompts[-1] + step(n))
    return prompts


# ---- blocks, minimum, lifetime --------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "cached"), [(0, 0), (1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152)]
)
def test_whole_blocks_from_a_minimum_on(prefix, cached):
    assert c.cached_tokens(prefix) == cached


def test_common_prefix_counts_messages():
    one, other = growing(2)[-1], [*HEAD, *step(0), *step(7)]
    assert c.common_prefix(one, other) == 4
    assert c.common_prefix(one, one[:3]) == 3
    assert c.common_prefix([], one) == 0


@given(st.integers(0, 9_000), st.integers(0, 9_000), st.integers(1, 300), st.integers(0, 3_000))
def test_a_token_is_read_once(read, shared, block, minimum):
    use = c.cache_use(read, shared, c.CacheRules(block, minimum))
    assert use.read == read
    assert 0 <= use.cached <= min(shared, read)
    assert use.written >= 0
    assert use.cached + use.written <= read
    assert use.cached % block == use.written % block == 0


def test_each_call_of_a_growing_list_is_served_the_one_before():
    prompts = growing(3)
    sizes = [count_tokens(prompt) for prompt in prompts]
    priming = count_tokens([])
    uses = c.cache_uses(prompts, EXACT)
    assert [use.read for use in uses] == sizes
    assert [use.cached for use in uses] == [0, *(size - priming for size in sizes[:-1])]
    assert [use.cached + use.written for use in uses] == sizes


def test_a_change_at_the_front_is_a_miss_for_all_behind_it():
    now = [system("You read logs. It is 09:31."), *growing(3)[-1][1:]]
    assert c.cache_uses([growing(3)[-1], now], EXACT)[1].cached == 0


def test_a_mark_of_ours_is_no_change():
    marked = [HEAD[0], {**HEAD[1], "pinned": True}]
    first, second = c.cache_uses([HEAD, marked], EXACT)
    assert second.cached == first.read - count_tokens([])


def test_another_context_in_between_does_not_push_out_the_first():
    other = [system("You are a sub-agent."), user("Read part 7.")]
    uses = c.cache_uses([HEAD, other, HEAD], EXACT)
    assert [use.cached > 0 for use in uses] == [False, False, True]


def test_lifetime_in_seconds():
    rules = replace(EXACT, seconds=300)
    served = [use.cached > 0 for use in c.cache_uses([HEAD] * 4, rules, seconds=[0, 300, 301, 9])]
    assert served == [False, True, False, True]


def test_using_a_prefix_keeps_it_alive():
    rules = replace(EXACT, seconds=300)
    assert all(use.cached for use in c.cache_uses([HEAD] * 9, rules, seconds=200)[1:])


def test_lifetime_in_calls():
    other = [[system(f"Another agent, {n}.")] for n in range(3)]
    prompts = [HEAD, other[0], HEAD, other[1], other[2], HEAD]
    uses = c.cache_uses(prompts, replace(EXACT, calls=2))
    assert [use.cached > 0 for use in uses] == [False, False, True, False, False, False]


def test_only_the_old_end_of_a_prefix_is_lost():
    long, short = growing(2)[-1], HEAD
    rules = replace(EXACT, calls=2)
    uses = c.cache_uses([long, short, short, long], rules)
    assert uses[3].cached == uses[2].cached > 0


def test_tool_schemas_stand_in_front():
    uses = c.cache_uses([HEAD, HEAD], EXACT, reads=[500, 500])
    assert uses[1].cached == 500 - count_tokens([])


@pytest.mark.parametrize("given", [{"reads": [1]}, {"seconds": [0, 1, 2]}])
def test_one_entry_for_each_call(given):
    with pytest.raises(CourseError, match="entries for 2 calls"):
        c.cache_uses([HEAD, HEAD], **given)


def test_a_block_holds_something():
    with pytest.raises(CourseError, match="`block` is 0"):
        c.CacheRules(block=0)


@given(managed("high_low", valid_transcripts()))
def test_the_cache_serves_at_least_what_replay_says(case):
    messages, setting = case
    run = replay(messages, append_all(), tools=setting.tools)
    rules = c.CacheRules()
    uses = c.cache_uses([r.prompt for r in run.rows], rules, reads=[r.read for r in run.rows])
    for use, row in zip(uses, run.rows, strict=True):
        assert use.read == row.read
        assert use.cached >= row.cached


@pytest.mark.parametrize("policy", [append_all(), sliding_window(4), high_low(6_000)])
def test_replay_and_the_cache_agree_on_a_real_run(policy):
    run = replay(long_incident(), policy, block=16, minimum=64)
    uses = c.cache_uses([row.prompt for row in run.rows], c.CacheRules(block=16, minimum=64))
    assert [use.cached for use in uses] == [row.cached for row in run.rows]
    assert sum(use.cached for use in uses) > 0


# ---- prices ---------------------------------------------------------------------------------


def test_without_a_cache_price_there_is_no_discount():
    prices = c.Prices(input=3, output=15)
    assert prices.cache_read == prices.cache_write == 3
    assert PRICES.uncached() == replace(PRICES, cache_read=2, cache_write=2)


def test_factors():
    prices = c.Prices.from_factors(3, 15, read=0.1, write=1.25, name="mine")
    assert (prices.cache_read, prices.cache_write) == (Decimal("0.3"), Decimal("3.75"))
    assert prices.name == "mine"


def test_floats_become_the_number_that_was_written():
    assert c.Prices(input=0.1, output=0.7).input == Decimal("0.1")


@pytest.mark.parametrize("wrong", ["cheap", -1, float("nan"), float("inf")])
def test_a_price_is_a_number(wrong):
    with pytest.raises(CourseError, match="`output`"):
        c.Prices(input=1, output=wrong)


def test_prices_are_for_some_tokens():
    with pytest.raises(CourseError, match="`per` is 0"):
        c.Prices(input=1, output=1, per=0)


@pytest.mark.parametrize("provider", ["OpenAI", "Anthropic", "Google"])
def test_presets_say_where_they_come_from(provider):
    prices = c.PRESETS[provider]
    assert date.fromisoformat(prices.date) > date(2026, 1, 1)
    assert prices.source.startswith("https://")
    assert prices.name
    assert 0 < prices.cache_read < prices.input <= prices.cache_write < prices.output


# ---- costs and rounding ---------------------------------------------------------------------


def test_each_token_at_its_own_price():
    uses = [c.CacheUse(1_000, 0, 900), c.CacheUse(1_500, 900, 500)]
    cost = c.price(uses, PRICES, answers=[30, 70])
    assert cost.reads == Decimal("0.0004")  # (100 + 100) x 2
    assert cost.cached == Decimal("0.00018")
    assert cost.written == Decimal("0.0035")
    assert cost.answers == Decimal("0.001")
    assert cost.total == Decimal("0.00508")


def test_summary_calls_are_paid_at_the_full_price():
    cost = c.price([], PRICES, summaries=[c.SummaryCall(8_000, 800)])
    assert cost == c.Cost(summaries=Decimal("0.024"))


def test_no_token_is_too_small_to_count():
    one = c.price([c.CacheUse(1, 1, 0)], c.GOOGLE)
    assert one.total == Decimal("0.00000003")
    assert sum([one] * 1_000, c.Cost()).total == Decimal("0.00003")


@given(st.lists(st.tuples(*[st.integers(0, 10**7)] * 3), max_size=20), st.integers(0, 9_999))
def test_calls_priced_one_by_one_add_up_to_the_digit(tokens, answer):
    uses = [c.CacheUse(a + b + d, a, b) for a, b, d in tokens]
    apart = sum((c.price([use], c.ANTHROPIC, answer) for use in uses), c.Cost())
    assert apart == c.price(uses, c.ANTHROPIC, answer)


@pytest.mark.parametrize(
    ("amount", "places", "written"),
    [
        ("0.00005", 4, "$0.0001"),
        ("0.00004999", 4, "$0.0000"),
        ("2.5", 0, "$3"),
        ("0.125", 2, "$0.13"),
        ("1234.5", 2, "$1,234.50"),
    ],
)
def test_money_is_rounded_half_up(amount, places, written):
    assert c.money(Decimal(amount), places) == written


def test_a_cost_in_words():
    cost = c.Cost(reads=Decimal("0.01"), answers=Decimal("0.002"))
    assert str(cost).startswith("$0.0120 (reads $0.0100, cached $0.0000")


# ---- the cost of a run ----------------------------------------------------------------------


def test_the_cost_of_a_run_without_a_cache_is_what_it_read():
    run = replay(long_incident(), sliding_window(4))
    cost = c.cost(run, PRICES.uncached(), answers=7)
    assert cost.reads + cost.cached + cost.written == Decimal(run.read) * 2 / 1_000_000
    assert cost.answers == Decimal(len(run.rows) * 70) / 1_000_000


def test_the_cache_makes_an_append_only_run_the_cheap_one():
    messages = long_incident()
    everything, windowed = replay(messages, append_all()), replay(messages, sliding_window(4))
    assert windowed.read < everything.read
    assert c.cost(windowed, c.OPENAI).total > c.cost(everything, c.OPENAI).total


def test_slow_calls_find_a_cold_cache():
    run = replay(long_incident(), append_all())
    assert c.cost(run, c.ANTHROPIC, seconds=299).cached > 0
    assert c.cost(run, c.ANTHROPIC, seconds=301).cached == 0


def test_answers_are_read_off_the_transcript():
    messages = [*HEAD, *step(1), assistant("It was a timeout.")]
    call, answer = c.answer_tokens(messages)
    assert call == count_tokens([messages[2]]) - count_tokens([])
    assert answer == count_tokens([messages[-1]]) - count_tokens([])


def test_summary_calls_are_found_in_a_run():
    notes = iter(f"note {n}" for n in range(20))
    run = replay(long_incident(), high_low(2_500, summarize=lambda gone: next(notes)))
    calls = c.summary_calls(run)
    assert len(calls) == sum(row.event == "summary" for row in run.rows) >= 2
    at = next(i for i, row in enumerate(run.rows) if row.event == "summary")
    before, now = run.rows[at - 1].prompt, run.rows[at].prompt
    gone = [m for m in before if m not in now]
    assert calls[0].read == count_tokens(gone)
    assert all(0 < call.answer < 30 for call in calls)  # a fold isn't written again


def test_a_summary_that_is_written_anew_is_paid_anew():
    def row(prompt, event=""):
        return type("Row", (), {"prompt": prompt, "event": event})

    old, new = (user(f"[Summary of earlier steps] {text}") for text in ("one", "something else"))
    run = type("Run", (), {"rows": [row([*HEAD, old, *step(1)]), row([*HEAD, new], "summary")]})
    nothing = count_tokens([])
    assert c.summary_calls(run)[0].answer == count_tokens([new]) - nothing


def test_the_cost_of_a_run_counts_its_summary_calls():
    run = replay(long_incident(), high_low(4_000, summarize=lambda gone: "a short note"))
    cost = c.cost(run, PRICES)
    assert cost.summaries > 0
    assert c.cost(run, PRICES, summary_prices=c.Prices(0, 0)).summaries == 0


# ---- when compacting pays -------------------------------------------------------------------


def spent(calls, before, after, prices, note, prefix):
    """What the next calls cost with and without a compaction, counted call by call."""
    kept = calls * before * prices.cache_read
    if calls == 0:
        return kept, Decimal(0)
    compacted = prefix * prices.cache_read + (after - prefix) * prices.cache_write
    compacted += (calls - 1) * after * prices.cache_read
    if note:
        compacted += (before - after + note) * prices.input + note * prices.output
    return kept, compacted


@given(
    st.integers(2_000, 50_000),
    st.integers(1, 99),
    st.integers(0, 100),
    st.integers(0, 2_000),
    st.sampled_from((PRICES, PRICES.uncached(), c.OPENAI, c.GOOGLE)),
)
def test_break_even_is_the_first_call_at_which_it_has_paid(before, part, same, note, prices):
    after = before * part // 100
    prefix = after * same // 100
    calls = c.break_even(before, after, prices, note=min(note, after), prefix=prefix)
    kept, compacted = spent(calls, before, after, prices, min(note, after), prefix)
    assert compacted <= kept
    if calls > 1:
        kept, compacted = spent(calls - 1, before, after, prices, min(note, after), prefix)
        assert compacted > kept


def test_the_cache_makes_compacting_pay_late():
    shrink = {"before": 30_000, "after": 10_000, "note": 800, "prefix": 2_000}
    assert c.break_even(prices=c.ANTHROPIC.uncached(), **shrink) == 2
    assert c.break_even(prices=c.ANTHROPIC, **shrink) == 17


def test_a_compaction_that_frees_nothing_never_pays():
    assert c.break_even(10_000, 10_000, PRICES, note=500) is None
    assert c.break_even(10_000, 12_000, PRICES, note=500) is None


def test_dropping_without_a_cache_costs_nothing():
    assert c.break_even(10_000, 4_000, PRICES.uncached()) == 0


def test_prices_are_frozen():
    with pytest.raises(AttributeError, match=re.escape("cannot assign to field 'input'")):
        PRICES.input = 1


def test_calls_come_at_once_unless_you_say_otherwise():
    run = replay(long_incident(), append_all())
    at_once = replace(PRICES, cache=replace(EXACT, seconds=0))
    assert c.cost(run, at_once).cached == c.cost(run, PRICES).cached > 0


def test_one_token_less_pays_in_the_end():
    assert c.break_even(1_000, 999, PRICES, prefix=999) == 0
    assert c.break_even(1_000, 999, PRICES, prefix=998) == 12  # 2.3 more once, 0.2 less a call
