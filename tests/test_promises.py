"""The promises of the core, each as a property of every policy over generated transcripts.

The numbers are DESIGN's. Promise 7, that nothing appended is ever lost, belongs to the store.
"""

from __future__ import annotations

import copy
import logging
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from math import ceil
from unittest.mock import patch

import pytest
from hypothesis import Phase, assume, find, given, settings
from hypothesis import strategies as st

from course_lib import tokens
from course_lib.messages import (
    BudgetTooSmall,
    calls_of,
    group_indices,
    is_summary,
    text_of,
    turn_groups,
    validate,
)
from course_lib.providers import PROVIDERS
from course_lib.replay import replay
from course_lib.trimming import mask_results, shrink_newest, trim
from tests.strategies import (
    SUMMARISERS,
    TOOLS,
    WITH_BUDGET,
    WITHOUT_BUDGET,
    broken,
    facts,
    long_story,
    managed,
    must_stay,
    nothing,
    transcripts,
    valid_transcripts,
)

POLICIES = (*WITHOUT_BUDGET, *WITH_BUDGET)
DROPPING = POLICIES[1:]
WORKING = (None, facts, long_story)  # the summarisers that don't fail


@pytest.fixture(autouse=True, scope="module")
def quiet():
    """What the library logs of failing summarisers isn't collected, thousands of times."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def sent(setting, messages):
    """What the policy sends, or None where what must stay is bigger than the budget."""
    try:
        return setting.run(messages)
    except BudgetTooSmall:
        return None


def same(some, others):
    """True if both lists hold the same message objects."""
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def holds(messages, message):
    return any(m is message for m in messages)


def notes_in(messages):
    return [m for m in messages if is_summary(m)]


def gone_from(messages, out):
    return [m for m in messages if not holds(out, m)]


# ---- 1: at or under the high water, the output is the input ----------------------------------


@given(managed(POLICIES, transcripts()))
def test_1_at_the_high_water_the_output_is_the_input(case):
    messages, setting = case
    request = setting.request(messages)
    setting = replace(
        setting, budget=max(2, ceil(request / setting.shares[0])), window=len(messages) + 1
    )
    assume(setting.high >= request)
    assert same(setting.run(messages), messages)


# ---- 2: no call without its results, no result without its call ------------------------------


@given(managed(POLICIES, valid_transcripts()))
def test_2_what_a_provider_accepts_it_accepts_after_the_policy(case):
    messages, setting = case
    assert validate(messages) == []
    out = sent(setting, messages) or []
    for provider in PROVIDERS:
        assert validate(messages, provider) or not validate(out, provider)


@given(managed(POLICIES, transcripts()))
def test_2_only_what_was_broken_before_is_broken_after(case):
    messages, setting = case
    out = sent(setting, messages) or []
    broken_before = [messages[problem.index] for problem in validate(messages)]
    for problem in validate(out):
        assert holds(broken_before, out[problem.index]), problem


@given(managed(POLICIES, transcripts()))
def test_2_a_turn_group_stays_whole_or_leaves_whole(case):
    messages, setting = case
    out = sent(setting, messages) or []
    for group in turn_groups(messages)[1]:
        assert len({holds(out, m) for m in group}) == 1


@given(managed(POLICIES, transcripts()))
def test_2_an_open_call_is_never_cut(case):
    messages, setting = case
    asked = Counter(call.id for m in messages for call in calls_of(m))
    answered = {m["tool_call_id"] for m in messages if "tool_call_id" in m}
    out = sent(setting, messages)
    for message in messages if out is not None else ():
        if any(asked[c.id] == 1 and c.id and c.id not in answered for c in calls_of(message)):
            assert holds(out, message)


@given(managed(POLICIES, transcripts()))
def test_2_the_messages_stay_in_their_order(case):
    messages, setting = case
    out = sent(setting, messages) or []
    places = [next((i for i, m in enumerate(messages) if m is o), None) for o in out]
    old = [place for place in places if place is not None]
    assert old == sorted(set(old))
    assert places.count(None) <= 1  # one new note at most


# ---- 3: head, pinned groups and the newest group are kept ------------------------------------


@given(managed(POLICIES, transcripts()))
def test_3_head_pinned_groups_and_the_newest_group_are_kept(case):
    messages, setting = case
    out = sent(setting, messages)
    if out is None:
        return
    head, groups = turn_groups(messages)
    pinned = [g for at, g in enumerate(groups) if at in setting.pinned]
    pinned += [g for g in groups if any(m.get("pinned") for m in g)]
    for message in [*head, *sum(pinned, []), *sum(groups[-1:], []), *messages[-1:]]:
        assert holds(out, message)


@given(managed(WITH_BUDGET, transcripts()))
def test_3_a_budget_is_too_small_only_for_what_must_stay_and_the_numbers_say_so(case):
    messages, setting = case
    floor = setting.request(must_stay(messages, setting.pinned))
    try:
        setting.run(messages)
    except BudgetTooSmall as error:
        assert error.floor == sum(error.parts.values()) == floor > setting.budget == error.budget
    else:
        assert floor <= setting.budget


@given(valid_transcripts(), st.integers(0, 99))
def test_3_shrinking_the_newest_result_makes_room_or_says_that_it_cannot(messages, share):
    budget = max(1, tokens.count_tokens(must_stay(messages)) * share // 100)
    try:
        shorter = shrink_newest(messages, budget)
    except BudgetTooSmall as error:
        assert error.floor > budget
        return
    out = trim(shorter, budget).messages
    assert tokens.count_tokens(out) <= budget
    assert validate(out) == []


# ---- 4: the budget counts the whole request --------------------------------------------------


@given(managed(WITH_BUDGET, transcripts(), WORKING))
def test_4_the_whole_request_is_within_the_budget(case):
    messages, setting = case
    out = sent(setting, messages)
    assert out is None or setting.request(out) <= setting.budget


# ---- 5: a summary is committed only if it is worth it ----------------------------------------


@given(managed(DROPPING, transcripts(), (broken, nothing)))
def test_5_a_summariser_that_fails_leaves_the_history_as_it_was(case):
    messages, setting = case
    out = sent(setting, messages)
    assert out is None or same(out, messages)


@given(managed(DROPPING, transcripts(), (facts, long_story)))
def test_5_a_summary_is_smaller_than_what_it_replaces(case):
    messages, setting = case
    out = sent(setting, messages) or []
    written = [m for m in out if not holds(messages, m)]
    if written:
        assert setting.count(written) < setting.count(gone_from(messages, out))


@given(managed(DROPPING, transcripts(), WORKING))
def test_5_an_earlier_summary_passes_through_word_for_word(case):
    messages, setting = case
    out = sent(setting, messages)
    if out is not None:
        now = "\n".join(text_of(m) for m in notes_in(out))
        assert now.count("timeout at 02:00") >= len(notes_in(messages))


@given(managed(DROPPING, transcripts(), (facts,)))
def test_5_a_summary_is_never_summarised_again(case):
    messages, setting = case
    read = []
    setting = replace(setting, summarize=lambda dropped: read.extend(dropped) or "read")
    sent(setting, messages)
    assert not notes_in(read)


# ---- 6: water marks --------------------------------------------------------------------------


@given(managed(WITH_BUDGET, transcripts(), WORKING))
def test_6_after_a_trim_the_size_is_at_low_water_or_only_what_must_stay_is_left(case):
    messages, setting = case
    out = sent(setting, messages)
    if out is None or same(out, messages):
        return
    kept = [m for m in out if holds(messages, m)]
    left = gone_from(kept, must_stay(messages, setting.pinned))
    assert setting.request(out) <= setting.low or not left


@given(managed(WITH_BUDGET, transcripts(), (None,)))
def test_6_the_oldest_groups_go_and_none_that_would_have_fitted(case):
    messages, setting = case
    out = sent(setting, messages)
    gone = [] if out is None else gone_from(messages, out)
    if not gone:
        return
    stays = must_stay(messages, setting.pinned)
    old = [g for g in turn_groups(messages)[1] if not holds(stays, g[0])]
    assert same(gone, sorted(sum(old, [])[: len(gone)], key=messages_order(messages)))
    last = next(g for g in reversed(old) if not holds(out, g[0]))
    framing = setting.count([])
    assert setting.request(out) + setting.count(last) - framing > setting.low


def messages_order(messages):
    place = {id(m): i for i, m in enumerate(messages)}
    return lambda m: place[id(m)]


@given(managed(WITH_BUDGET, transcripts(), (None, facts)))
def test_6_a_second_trim_finds_nothing_to_do(case):
    messages, setting = case
    setting = replace(setting, pinned=())
    once = sent(setting, messages)
    assert once is None or same(setting.run(once), once)


@given(managed(("trim",), transcripts()))
def test_6_a_trim_that_dropped_nothing_returns_the_input(case):
    messages, setting = case
    try:
        out, dropped = trim(
            messages,
            setting.budget,
            setting.summarize,
            low=setting.low,
            high=setting.high,
            count=setting.count,
        )
    except BudgetTooSmall:
        return
    assert (dropped == 0) == same(out, messages)


# ---- 8: each message's tokens are counted once -----------------------------------------------


@given(managed(WITH_BUDGET, transcripts()))
def test_8_a_trim_counts_each_message_once(case):
    messages, setting = case
    counted = Counter()

    def count(some, **options):
        counted.update(id(m) for m in some)
        return setting.count(some, **options)

    sent(replace(setting, count=count), messages)
    assert max((counted[id(m)] for m in messages), default=0) <= 1


@given(managed(POLICIES, valid_transcripts(longest=64)))
def test_8_a_run_reads_each_text_once_with_the_tokeniser(case):
    messages, setting = case
    encoded = Counter()

    class Words:
        def encode_ordinary(self, text):
            encoded[text] += 1
            return text.split()

    tokens.count_text.cache_clear()
    try:
        with patch.object(tokens, "encoding", Words):
            replayed(messages, replace(setting, count=tokens.count_tokens))
    finally:
        tokens.count_text.cache_clear()
    assert set(encoded.values()) <= {1}


# ---- 9: nothing is mutated -------------------------------------------------------------------


@given(managed(POLICIES, transcripts()))
def test_9_nothing_that_was_passed_in_is_changed(case):
    messages, setting = case
    given_in, objects = copy.deepcopy((messages, setting.tools)), list(messages)
    sent(setting, messages)
    assert (messages, setting.tools) == given_in
    assert same(messages, objects)


@given(valid_transcripts(), st.integers(1, 100))
def test_9_shrinking_changes_a_copy(messages, budget):
    before = copy.deepcopy(messages)
    with suppress(BudgetTooSmall):
        shrink_newest(messages, budget)
    assert messages == before


# ---- masking keeps all messages ---------------------------------------------------------------


@given(transcripts(), st.integers(0, 3))
def test_a_mask_changes_nothing_but_old_results(messages, keep):
    before = copy.deepcopy(messages)
    out = mask_results(keep)(messages)
    assert messages == before
    assert [without_content(m) for m in out] == [without_content(m) for m in messages]
    stays = must_stay(messages)
    for was, now in zip(messages, out, strict=True):
        assert now is was or (was["role"] == "tool" and not holds(stays, was))


@given(valid_transcripts(), st.integers(0, 3))
def test_what_a_provider_accepts_it_accepts_masked(messages, keep):
    once = mask_results(keep)(messages)
    assert validate(once) == []
    assert same(mask_results(keep)(once), once)


def without_content(message):
    return {key: value for key, value in message.items() if key != "content"}


# ---- a whole run -----------------------------------------------------------------------------


def replayed(messages, setting):
    """The rows of the replay, or None where the budget is too small on the way."""
    setting = replace(setting, pinned=())  # numbers of groups mean nothing while the list grows
    try:
        return replay(messages, setting.build(), tools=setting.tools, block=8, minimum=16).rows
    except BudgetTooSmall:
        return None


@given(managed(POLICIES, valid_transcripts(longest=64)))
def test_every_request_of_a_run_is_accepted_and_counted_whole(case):
    messages, setting = case
    for row in replayed(messages, setting) or ():
        assert validate(row.prompt) == []
        assert row.read == tokens.count_tokens(row.prompt, tools=setting.tools)
        assert 0 <= row.cached < row.read
        assert row.cached % 8 == 0


@given(managed(POLICIES, valid_transcripts(longest=64)))
def test_a_run_replayed_twice_is_the_same(case):
    messages, setting = case
    assert replayed(messages, setting) == replayed(messages, setting)


@given(managed(POLICIES, valid_transcripts(longest=64)))
def test_a_pinned_message_is_in_every_request_after_it_came(case):
    messages, setting = case
    rows = replayed(messages, setting) or ()
    seen = [i for i, m in enumerate(messages) if m["role"] == "assistant"]
    for row, at in zip(rows, seen, strict=False):
        for message in messages[:at]:
            assert not message.get("pinned") or holds(row.prompt, message)


# ---- what is generated -----------------------------------------------------------------------


def head_of(messages):
    return turn_groups(messages)[0]


def ids_of(messages):
    return [call.id for m in messages for call in calls_of(m)]


QUICK_LOOK = settings(max_examples=5000, phases=[Phase.generate])
REACHED = {
    "nothing at all": lambda ms: not ms,
    "parallel calls": lambda ms: any(len(calls_of(m)) > 1 for m in ms),
    "results that interleave": lambda ms: any(
        len(g) > 1 and g != list(range(g[0], g[0] + len(g))) for g in group_indices(ms).groups
    ),
    "an open call": lambda ms: group_indices(ms).open,
    "an id used again": lambda ms: max(Counter(ids_of(ms)).values(), default=0) > 1,
    "a call without an id": lambda ms: None in ids_of(ms),
    "an orphan result": lambda ms: any(g[0]["role"] == "tool" for g in turn_groups(ms)[1]),
    "no content": lambda ms: any(m["content"] is None for m in ms),
    "content in parts": lambda ms: any(isinstance(m["content"], list) for m in ms),
    "a pin on the head": lambda ms: any(m.get("pinned") for m in head_of(ms)),
    "a pin on a result": lambda ms: any(m.get("pinned") and m["role"] == "tool" for m in ms),
    "two summaries": lambda ms: len(notes_in(ms)) > 1,
    "no system message": lambda ms: ms and all(m["role"] != "system" for m in ms),
    "no user message": lambda ms: ms and all(m["role"] != "user" for m in ms),
    "a greeting before the task": lambda ms: [m["role"] for m in ms[:2]] == ["assistant", "user"],
    "a system message in the middle": lambda ms: any(
        m["role"] == "system" and not holds(head_of(ms), m) for m in ms
    ),
    "flat and nested calls": lambda ms: (
        len({"function" in c for m in ms for c in m.get("tool_calls", ())}) == 2
    ),
    "hundreds of messages": lambda ms: len(ms) > 300,
}


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("kind", REACHED)
def test_the_transcripts_reach(kind):
    find(transcripts(), REACHED[kind], settings=QUICK_LOOK)


@pytest.mark.parametrize("summarize", SUMMARISERS)
def test_the_settings_reach_a_budget_that_is_too_small(summarize):
    cases = managed(WITH_BUDGET, valid_transcripts(), (summarize,))
    find(cases, lambda case: sent(case[1], case[0]) is None, settings=QUICK_LOOK)


@pytest.mark.parametrize("policy", DROPPING)
@pytest.mark.parametrize("summarize", [None, facts])
def test_the_settings_reach_a_trim(policy, summarize):
    def trims(case):
        messages, setting = case
        return len(sent(setting, messages) or messages) < len(messages)

    find(managed((policy,), valid_transcripts(), (summarize,)), trims, settings=QUICK_LOOK)


def test_the_settings_reach_tools():
    cases = managed(("trim",), valid_transcripts())
    find(cases, lambda case: case[1].tools is TOOLS, settings=QUICK_LOOK)
