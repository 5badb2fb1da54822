"""The arithmetic: the document's figures, closed forms against lists, lists against replays."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import arithmetic as a
from course_lib.caching import OPENAI, CacheRules, Prices, SummaryCall
from course_lib.messages import CourseError, validate
from course_lib.replay import replay
from course_lib.tokens import count_tokens
from course_lib.trimming import append_all, mask_results, sliding_window
from tests import strategies  # noqa: F401  loads the settings of hypothesis

RUN = (2_000, 800)


def at(reads, *steps):
    """What the steps read, counted from 1."""
    return [reads[step - 1] for step in steps]


# ---- the document's figures -----------------------------------------------------------------


def test_the_document_unmanaged():
    reads = a.unmanaged_reads(*RUN, 40)
    assert at(reads, 1, 10, 20, 40) == [2_000, 9_200, 17_200, 33_200]
    assert sum(reads) == a.unmanaged_total(*RUN, 40) == 704_000


def test_the_document_window_of_ten():
    assert a.window_total(*RUN, 40, 10) == 356_000
    assert a.window_reads(*RUN, 40, 10)[-1] == 10_000
    assert f"{a.share(356_000, 704_000):.0%}" == "51%"


def test_the_document_a_hundred_steps():
    window, all_of_it = a.window_total(*RUN, 100, 10), a.unmanaged_total(*RUN, 100)
    assert (window, all_of_it) == (956_000, 4_160_000)
    assert f"{a.share(window, all_of_it):.0%}" == "23%"


def test_the_document_twice_the_steps():
    more = a.share(a.unmanaged_total(*RUN, 80), a.unmanaged_total(*RUN, 40))
    assert f"{more:.1f}" == "3.8"


def test_the_document_trim_at_source():
    step = a.trimmed_step(800, result=600, trimmed=250)
    assert step == 450
    assert a.unmanaged_total(2_000, step, 40) == 431_000
    assert a.window_total(2_000, step, 40, 10) == 235_250
    assert a.rolling_summary_total(2_000, step, 40, 10, 10) == 188_000


def test_the_document_rolling_summary():
    reads = a.rolling_summary_reads(*RUN, 40, every=10, ratio=10)
    assert at(reads, 10, 20, 30, 40) == [9_200, 10_000, 10_800, 11_600]
    assert sum(reads) == a.rolling_summary_total(*RUN, 40, 10, 10) == 272_000
    assert f"{a.share(272_000, 704_000):.0%}" == "39%"


def test_the_document_check_yourself():
    assert a.unmanaged_reads(2_000, 500, 21)[-1] == 12_000
    assert max(a.window_reads(2_000, 500, 40, 5)) == 4_500


@pytest.mark.parametrize(("window", "total"), [(5, 228_000), (10, 356_000), (20, 552_000)])
def test_the_document_three_windows(window, total):
    assert a.window_total(*RUN, 40, window) == total


# ---- closed form == list --------------------------------------------------------------------

size = st.integers(0, 5_000)
count = st.integers(0, 60)
steps = st.integers(0, 150)


@given(size, size, steps)
def test_total_unmanaged(fixed, per_step, steps):
    assert a.unmanaged_total(fixed, per_step, steps) == sum(
        a.unmanaged_reads(fixed, per_step, steps)
    )


@given(size, size, steps, count)
def test_total_window(fixed, per_step, steps, window):
    run = (fixed, per_step, steps, window)
    assert a.window_total(*run) == sum(a.window_reads(*run))


@given(size, size, steps, count, st.integers(0, 90), st.none() | st.integers(0, 2_000))
def test_total_notes(fixed, per_step, steps, window, note, cap):
    run = (fixed, per_step, steps, window, note, cap)
    assert a.notes_total(*run) == sum(a.notes_reads(*run))


@given(size, size, steps, st.integers(1, 60), st.integers(1, 40) | st.floats(1, 40))
def test_total_rolling_summary(fixed, per_step, steps, every, ratio):
    run = (fixed, per_step, steps, every, ratio)
    assert a.rolling_summary_total(*run) == sum(a.rolling_summary_reads(*run))


@given(size, size, steps, st.integers(1, 60), size)
def test_total_fresh_start(fixed, per_step, steps, every, note):
    run = (fixed, per_step, steps, every, note)
    assert a.fresh_start_total(*run) == sum(a.fresh_start_reads(*run))


@given(size, size, steps, count, st.integers(0, 100), st.integers(0, 90))
def test_total_masking(fixed, per_step, steps, keep, part, breadcrumb):
    run = (fixed, per_step, steps, keep, per_step * part // 100, breadcrumb)
    assert a.masking_total(*run) == sum(a.masking_reads(*run))


@given(size, size, steps, st.floats(0, 1), size, st.none() | st.floats(0, 1))
def test_total_sub_agent(fixed, per_step, steps, delegated, answer, when):
    own = len(a.sub_agent_contexts(fixed, per_step, steps, delegated, answer).main)
    before = None if when is None else int(when * max(0, own - 1))
    run = (fixed, per_step, steps, delegated, answer, before)
    main, sub, _ = a.sub_agent_contexts(*run)
    assert a.sub_agent_total(*run) == sum(main) + sum(sub) == sum(a.sub_agent_reads(*run))


# ---- each technique means what it says ------------------------------------------------------


def test_a_wide_window_manages_nothing():
    assert a.window_reads(*RUN, 30, 30) == a.unmanaged_reads(*RUN, 30)


def test_a_window_of_nothing_sends_what_is_fixed():
    assert a.window_reads(*RUN, 5, 0) == [2_000] * 5


def test_notes_stop_at_their_cap():
    extra = [
        read - window
        for read, window in zip(
            a.notes_reads(*RUN, 20, window=5, note=40, cap=100),
            a.window_reads(*RUN, 20, 5),
            strict=True,
        )
    ]
    assert extra[:5] == [0, 40, 80, 100, 100]
    assert max(extra) == 100


def test_notes_without_a_cap_become_a_second_history():
    reads = a.notes_reads(*RUN, 400, window=10, note=40)
    assert reads[-1] == 10_000 + 40 * 399


def test_a_fresh_start_forgets_the_note_before():
    reads = a.fresh_start_reads(*RUN, 40, every=10, note=800)
    assert at(reads, 10, 11, 20, 21, 40) == [9_200, 2_800, 10_000, 2_800, 10_000]


def test_masking_keeps_calls_and_newest_results():
    reads = a.masking_reads(*RUN, 6, keep=2, result=600, breadcrumb=30)
    assert reads == [2_000, 2_800, 3_600, 3_830, 4_060, 4_290]


def test_masking_everything_or_nothing():
    assert a.masking_reads(*RUN, 9, keep=9, result=600, breadcrumb=30) == a.unmanaged_reads(*RUN, 9)
    offloaded = a.offloaded_step(800, result=600, reference=30)
    assert a.masking_reads(*RUN, 9, 0, 600, 30) == a.unmanaged_reads(2_000, offloaded, 9)


def test_a_sub_agent_has_a_context_of_its_own():
    main, sub, before = a.sub_agent_contexts(*RUN, 8, delegated=0.5, answer=200)
    assert main == [2_000, 2_800, 3_600, 3_800, 4_600]  # delegates on its third call
    assert sub == [2_000, 2_800, 3_600, 4_400]
    assert before == 2
    assert a.sub_agent_reads(*RUN, 8, 0.5, 200) == main[:3] + sub + main[3:]


def test_without_a_sub_agent_nothing_is_delegated():
    assert a.sub_agent_reads(*RUN, 8, 0, 200) == a.unmanaged_reads(*RUN, 8)


def test_trimming_never_makes_a_result_longer():
    assert a.trimmed_step(800, result=600, trimmed=900) == 800


def test_a_stored_result_costs_its_reference_and_what_is_fetched():
    assert a.offloaded_step(800, result=600, reference=30, fetched=120) == 350


def test_the_summary_is_rounded_up():
    assert a.summary_size(per_step=5, every=3, ratio=10) == 2


@pytest.mark.parametrize(
    ("window_size", "step"), [(8_192, 9), (33_199, 40), (33_200, None), (1_999, 1)]
)
def test_overflow_step(window_size, step):
    assert a.overflow_step(a.unmanaged_reads(*RUN, 40), window_size) == step


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: a.unmanaged_reads(2_000, 800, -1), "`steps` is -1"),
        (lambda: a.unmanaged_total(-1, 800, 1), "`fixed` is -1"),
        (lambda: a.window_reads(2_000, 800, 40, -1), "`window` is -1"),
        (lambda: a.notes_total(2_000, 800, 40, 10, note=-1), "`note` is -1"),
        (lambda: a.rolling_summary_reads(2_000, 800, 40, 0, 10), "`every` is 0"),
        (lambda: a.rolling_summary_total(2_000, 800, 40, 10, 0.5), "`ratio` is 0.5"),
        (lambda: a.fresh_start_reads(2_000, 800, 40, 0, 800), "`every` is 0"),
        (lambda: a.masking_reads(2_000, 800, 40, 3, 900, 30), "`result` is 900, more than the 800"),
        (lambda: a.trimmed_step(800, 900, 250), "`result` is 900"),
        (lambda: a.sub_agent_reads(2_000, 800, 40, 1.5, 200), "`delegated` is 1.5"),
        (lambda: a.sub_agent_total(2_000, 800, 40, 0.5, 200, 21), "`before` is 21"),
        (lambda: a.share(1, 0), "reads nothing"),
        (lambda: a.synthetic_run(10, 800, 1), "`fixed` is"),
        (lambda: a.synthetic_run(2_000, 10, 1), "`per_step` is"),
    ],
)
def test_numbers_that_cannot_be(wrong, says):
    with pytest.raises(CourseError) as raised:
        wrong()
    assert says in str(raised.value)


# ---- list == replay of a run that measures so -----------------------------------------------


@given(st.integers(60, 3_000), st.integers(60, 1_200), st.integers(0, 14))
def test_the_synthetic_run_measures_exactly(fixed, per_step, steps):
    messages = a.synthetic_run(fixed, per_step, steps)
    assert validate(messages) == []
    assert count_tokens(messages[:2]) == fixed
    for step in range(steps):
        pair = messages[2 + 2 * step : 4 + 2 * step]
        assert count_tokens(pair) - count_tokens([]) == per_step


def test_the_synthetic_run_measures_exactly_when_it_is_long():
    assert count_tokens(a.synthetic_run(*RUN, 400)) == 2_000 + 400 * 800


@given(st.integers(60, 3_000), st.integers(60, 900), st.integers(0, 12), st.integers(1, 8))
def test_lists_equal_a_replay(fixed, per_step, steps, window):
    messages = a.synthetic_run(fixed, per_step, steps)
    everything = replay(messages, append_all())
    assert [row.read for row in everything.rows] == a.unmanaged_reads(fixed, per_step, steps)
    assert everything.read == a.unmanaged_total(fixed, per_step, steps)
    windowed = replay(messages, sliding_window(window))
    assert [row.read for row in windowed.rows] == a.window_reads(fixed, per_step, steps, window)
    assert windowed.read == a.window_total(fixed, per_step, steps, window)


def test_the_document_run_for_real():
    messages = a.synthetic_run(*RUN, 40)
    assert replay(messages, append_all()).read == 704_000
    assert replay(messages, sliding_window(10)).read == 356_000


@given(st.integers(200, 900), st.integers(0, 10), st.integers(1, 5))
def test_masking_equals_a_replay(per_step, steps, keep):
    run = replay(a.synthetic_run(300, per_step, steps), mask_results(keep), block=1, minimum=0)
    priming = count_tokens([])
    call, crumb = (count_tokens(m) for m in masked_pair(per_step))
    measured = a.Settings(
        fixed=300,
        per_step=per_step,
        steps=steps,
        result=per_step - call,
        breadcrumb=crumb,
        keep=keep,
    )
    technique = a.masking_technique(measured)
    assert [row.read for row in run.rows] == technique.reads
    # The tokens that prime the answer are a part of what is fixed, and stand at the end.
    shared = [max(0, size - priming) for size in technique.shared]
    assert [row.cached for row in run.rows] == shared


def masked_pair(per_step):
    """A call of the synthetic run, and its result as masking leaves it."""
    call, result = mask_results(0)(a.synthetic_run(300, per_step, 2))[2:4]
    return call, result


# ---- what is shared, against layouts in blocks ----------------------------------------------


def layouts(s: a.Settings) -> dict[str, list[list[tuple[object, int]]]]:
    """What each technique sends at each step, as named blocks of tokens: another way to count."""
    head = ("head", s.fixed)
    crumb = s.breadcrumb
    trimmed = a.trimmed_step(s.per_step, s.result, s.trimmed)
    stored = a.offloaded_step(s.per_step, s.result, crumb, s.fetched)
    summary = a.summary_size(s.per_step, s.every, s.ratio)
    sent: dict[str, list[list[tuple[object, int]]]] = {}

    def add(name, *blocks):
        sent.setdefault(name, []).append([head, *blocks])

    for done in range(s.steps):
        steps = [(f"step {n}", s.per_step) for n in range(done)]
        start = done // s.every * s.every
        add("unmanaged", *steps)
        add("trim at source", *((name, trimmed) for name, _ in steps))
        add("offload to storage", *((name, stored) for name, _ in steps))
        newest = steps[max(0, done - s.window) :]
        add("sliding window", *newest)
        notes = s.note * done if s.cap is None else min(s.cap, s.note * done)
        add("pinned notes", ((notes, "tokens of notes"), notes), *newest)
        add("rolling summary", (f"to {start}", summary * (start // s.every)), *steps[start:])
        add("fresh start", (f"to {start}", s.hand_off if start else 0), *steps[start:])
        masked = max(0, done - s.keep)
        halves = []
        for n in range(done):
            halves.append((f"call {n}", s.per_step - s.result))
            old = n < masked
            halves.append((f"result {n} {old}", crumb if old else s.result))
        add("masking", *halves)
    return sent


def common(before, now) -> int:
    """The tokens of the blocks that both begin with."""
    tokens = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        tokens += one[1]
    return tokens


@st.composite
def all_settings(draw):
    per_step = draw(st.integers(0, 900))
    return a.Settings(
        fixed=draw(st.integers(1, 3_000)),
        per_step=per_step,
        steps=draw(st.integers(0, 30)),
        result=draw(st.integers(0, per_step)),
        trimmed=draw(st.integers(0, 400)),
        window=draw(st.integers(0, 12)),
        every=draw(st.integers(1, 12)),
        ratio=draw(st.integers(1, 12)),
        note=draw(st.integers(0, 60)),
        cap=draw(st.none() | st.integers(0, 300)),
        keep=draw(st.integers(0, 6)),
        breadcrumb=draw(st.integers(0, 60)),
        fetched=draw(st.integers(0, 60)),
        hand_off=draw(st.integers(0, 900)),
        delegated=draw(st.floats(0, 1)),
        answer=draw(st.integers(0, 300)),
    )


@given(all_settings())
def test_techniques_against_layouts(settings):
    by_name = {technique.name: technique for technique in a.techniques(settings)}
    assert all(len(t.reads) == len(t.shared) for t in by_name.values())
    for name, sent in layouts(settings).items():
        technique = by_name[name]
        assert technique.reads == [sum(size for _, size in blocks) for blocks in sent], name
        for step in range(1, settings.steps):
            really = common(sent[step - 1], sent[step])
            assert technique.shared[step] <= really, (name, step)
            # an empty block may hide that a rewritten part was in truth the same
            if all(size for _, size in sent[step - 1] + sent[step]):
                assert technique.shared[step] == really, (name, step)


def test_no_technique_shares_more_than_it_reads():
    for technique in a.techniques():
        assert technique.shared[0] == 0
        assert all(0 <= s <= r for r, s in zip(technique.reads, technique.shared, strict=True))


def test_the_sub_agent_shares_only_within_its_own_context():
    technique = a.sub_agent_technique(replace(a.Settings(), steps=8))
    assert technique.reads == [2_000, 2_800, 3_600, 2_000, 2_800, 3_600, 4_400, 3_800, 4_600]
    assert technique.shared == [0, 2_000, 2_800, 0, 2_000, 2_800, 3_600, 3_600, 3_800]


def test_techniques_begin_with_the_documents_run():
    totals = {technique.name: technique.total for technique in a.techniques()}
    assert totals["unmanaged"] == 704_000
    assert totals["trim at source"] == 431_000
    assert totals["sliding window"] == 356_000
    assert totals["rolling summary"] == 272_000
    assert len(totals) == 9


def test_summary_calls_read_what_they_replace():
    rolling = a.rolling_summary_technique(a.Settings())
    assert rolling.summaries == [SummaryCall(8_000, 800)] * 3
    fresh = a.fresh_start_technique(a.Settings())
    assert fresh.summaries == [SummaryCall(8_000, 800), *[SummaryCall(8_800, 800)] * 2]


# ---- priced ---------------------------------------------------------------------------------

PLAIN = Prices(input=1, output=5, per=1, cache=CacheRules(block=1, minimum=0))
CACHED = replace(PLAIN, cache_read=Decimal("0.1"), cache_write=Decimal("1.25"))


def priced(name, prices, answers=0):
    return a.priced({t.name: t for t in a.techniques()}[name], prices, answers)


def test_priced_without_a_cache_is_tokens_times_price():
    assert priced("unmanaged", PLAIN).total == 704_000
    assert priced("sliding window", PLAIN).total == 356_000


def test_priced_adds_answers_and_summary_calls():
    cost = priced("rolling summary", PLAIN, answers=100)
    assert cost.answers == 40 * 100 * 5
    assert cost.summaries == 3 * (8_000 + 800 * 5)
    assert cost.total == 272_000 + 20_000 + 36_000


def test_priced_with_a_cheaper_model_for_the_summaries():
    rolling = a.rolling_summary_technique(a.Settings())
    cheap = replace(PLAIN, input=Decimal("0.1"), output=Decimal("0.5"))
    cost = a.priced(rolling, PLAIN, summary_prices=cheap)
    assert cost.summaries == 3 * (800 + 400)
    assert cost.total - cost.summaries == 272_000


def test_a_growing_list_is_read_from_the_cache():
    cost = priced("unmanaged", CACHED)
    assert cost.reads == 0
    assert cost.cached == Decimal("0.1") * (704_000 - 33_200)
    assert cost.written == Decimal("1.25") * 33_200


def test_with_a_cache_the_window_costs_more_than_doing_nothing():
    assert priced("sliding window", PLAIN).total < priced("unmanaged", PLAIN).total
    assert priced("sliding window", OPENAI).total > 3 * priced("unmanaged", OPENAI).total


def test_an_answer_for_each_call():
    technique = a.sub_agent_technique(a.Settings())
    answers = list(range(len(technique.reads)))
    assert a.priced(technique, PLAIN, answers).answers == sum(answers) * 5
    with pytest.raises(CourseError, match="`answers` has 3 entries for 41 calls"):
        a.priced(technique, PLAIN, [1, 2, 3])
