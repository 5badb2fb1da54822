"""The conversation explorer: two lists of one conversation, their figures, and the widgets."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace

import pytest

from course_lib import (
    CourseError,
    Transcript,
    append_all,
    explore_conversation,
    finalize_turn,
    incident,
    replay,
    support_chat,
    support_tools,
)
from course_lib.messages import (
    SUMMARY_MARK,
    assistant,
    pairs_ok,
    system,
    tool_call,
    tool_result,
    user,
)
from course_lib.tokens import count_tokens
from course_lib.views import parts
from course_lib.views.conversation_scene import (
    FACTOR,
    NO_TOOLS,
    SHORT,
    ConversationScene,
    promoted_only,
    question_starts,
    with_short_results,
    without_tools,
)
from course_lib.views.explore_conversation import ConversationExplorer, first_state, presets

CHAT, TOOLS = support_chat(), support_tools()


@pytest.fixture
def scene():
    return ConversationScene(CHAT, tools=TOOLS)


@pytest.fixture
def state(scene):
    return first_state(scene)


@pytest.fixture
def explorer(scene):
    return ConversationExplorer(scene)


def preset(scene, name):
    return next(p.state for p in presets(scene) if p.name == name)


# ---- what is promoted -----------------------------------------------------------------------


def test_promoting_by_the_policy_is_finalizing_each_turn():
    history, starts = CHAT[:1], question_starts(CHAT)
    for start, end in zip(starts, [*starts[1:], len(CHAT)], strict=True):
        *turn, answer = CHAT[start:end]
        run = replay([*CHAT[:start], *turn, answer], promoted_only())
        assert run.rows[-1].prompt == [*history, *turn]
        history = finalize_turn([*history, *turn], None, answer["content"])


def test_a_pinned_group_is_promoted():
    pinned = [{**m, "pinned": True} if i == 5 else m for i, m in enumerate(CHAT)]
    kept = promoted_only()(pinned)
    assert [m for m in kept if m["role"] == "tool"][0] == pinned[5]
    assert pinned[4] in kept and pinned[2] not in kept and pairs_ok(kept)


def test_the_last_result_of_each_question_is_promoted_if_asked_for():
    kept = promoted_only(last_result=True)(CHAT[:18])
    assert [i for i, m in enumerate(CHAT[:18]) if m in kept and m["role"] == "tool"] == [7, 15]
    assert CHAT[6] in kept and pairs_ok(kept)


def test_promoting_twice_changes_nothing_and_nothing_is_changed_in_place():
    before = support_chat()
    for policy in (promoted_only(), promoted_only(last_result=True)):
        once = policy(list(CHAT))
        assert policy(list(once)) == once
    assert before == CHAT


def test_an_open_call_of_an_earlier_question_keeps_its_late_result():
    call = assistant(calls=[tool_call("a", "look")])
    late = [user("one"), call, user("two"), tool_result("a", "late"), assistant("done")]
    assert pairs_ok(promoted_only()(late)) and call in promoted_only()(late)


def test_user_messages_in_a_row_are_one_question_and_a_note_is_none():
    note = user(f"{SUMMARY_MARK} nothing yet")
    chat = [system("s"), user("a"), user("b"), assistant("c"), note, assistant("d"), user("e")]
    assert question_starts(chat) == [1, 6]


def test_changed_chats_differ_in_their_results_only():
    short = with_short_results(CHAT)
    assert max(len(m["content"]) for m in short if m["role"] == "tool") == 200
    assert [m for m in short if m["role"] != "tool"] == [m for m in CHAT if m["role"] != "tool"]
    assert {m["role"] for m in without_tools(CHAT)} == {"system", "user", "assistant"}
    assert len(without_tools(CHAT)) == 25


# ---- figures --------------------------------------------------------------------------------


def test_the_runs_are_replays(scene, state):
    full, short = scene.pair(state)
    assert full.read == replay(CHAT, append_all(), tools=TOOLS).read
    assert short.read == replay(CHAT, promoted_only(), tools=TOOLS).read


def test_totals_and_factors_at_the_end_are_those_of_the_runs(scene, state):
    end = replace(state, step=12)
    full, short = scene.pair(end)
    assert scene.totals(end) == (full.read, short.read)
    assert scene.factor(end) == full.read / short.read
    assert scene.call_factor(end) == full.rows[-1].read / short.rows[-1].read


def test_each_question_is_shown_at_its_last_call(scene, state):
    for step in range(1, 13):
        full, _ = scene.rows(replace(state, step=step))
        assert sum(m["role"] == "user" for m in full.prompt) == step
    calls = [scene.call(replace(state, step=step)) for step in range(1, 13)]
    assert calls == sorted(set(calls)) and calls[-1] == 42


def test_blocks_add_up_to_what_is_read(scene, state):
    for step in range(1, 13):
        for last in (False, True):
            now = replace(state, step=step, last_result=last)
            for row in scene.rows(now):
                assert sum(block.tokens for block in scene.blocks(row, now)) == row.read


def test_blocks_without_schemas_add_up_but_for_the_answer_s_three():
    scene = ConversationScene(CHAT)
    row = scene.rows(first_state(scene))[0]
    assert sum(b.tokens for b in scene.blocks(row, first_state(scene))) + 3 == row.read


def test_earlier_tool_calls_are_marked_apart_and_promotion_leaves_none(scene, state):
    now = replace(state, step=6)
    full, short = (scene.blocks(row, now) for row in scene.rows(now))
    assert {b.label for b in full if b.kind == "old"} == {"1", "2", "3", "4"}
    assert {b.label for b in full if b.kind == "now"} == {"6"}
    assert {b.kind for b in short} == {"fixed", "said", "now"}


def test_a_summary_in_the_list_has_a_block_of_its_own():
    note = user(f"{SUMMARY_MARK} looked at three orders")
    scene = ConversationScene([system("s"), user("a"), note, assistant("b")])
    kinds = [b.kind for b in scene.blocks(scene.rows(first_state(scene))[0], first_state(scene))]
    assert kinds == ["fixed", "said", "summary"]


def test_the_overflow_is_the_first_question_that_does_not_fit(scene, state):
    run = scene.pair(state).everything
    row = next(row for row in run.rows if row.read > state.window)
    assert scene.overflow(run, state) == sum(m["role"] == "user" for m in row.prompt)
    exactly = replace(state, window=max(row.read for row in run.rows))
    assert scene.overflow(run, exactly) is None
    assert scene.overflow(run, replace(exactly, window=exactly.window - 1)) == 12


# ---- presets: each claim is true ------------------------------------------------------------


def test_both_start_alike(scene):
    now = preset(scene, "Both start alike")
    assert scene.call_factor(now) == 1 == scene.factor(now)


def test_everything_overflows_and_every_question_before_fits(scene):
    now = preset(scene, "Everything overflows")
    full, short = scene.pair(now)
    assert scene.overflow(full, now) == now.step and scene.overflow(short, now) is None
    before = scene.call(replace(now, step=now.step - 1))
    assert all(row.read <= now.window for row in full.rows[: before + 1])


def test_promoted_only_falls_back_after_each_question_with_tools(scene):
    now = preset(scene, "Promoted only")
    assert now.step == 12 and scene.factor(now) > 4
    rows = scene.pair(now).promoted.rows
    for step in (1, 2, 3, 4, 6, 7, 8, 9, 10, 11):
        last = scene.call(replace(now, step=step))
        assert rows[last + 1].read < rows[last].read


def test_one_result_more_gains_less(scene):
    plain, more = preset(scene, "Promoted only"), preset(scene, "One result more")
    assert 1 < scene.factor(more) < scene.factor(plain)


def test_short_results_gain_little(scene):
    now = preset(scene, "Short results, small gain")
    assert now.results == SHORT
    assert scene.factor(now) < scene.factor(preset(scene, "Promoted only")) / 2


def test_no_tools_no_gain(scene):
    now = preset(scene, "No tools, no gain")
    assert now.results == NO_TOOLS
    full, short = scene.pair(now)
    assert [row.read for row in full.rows] == [row.read for row in short.rows]
    assert "tools" not in [b.label for b in scene.blocks(scene.rows(now)[0], now)]


def test_a_chat_gets_no_preset_whose_claim_fails():
    names = [p.name for p in presets(ConversationScene(incident()))]
    assert names == ["Both start alike", "One question, no gain"]
    plain = [user("a"), assistant("b"), user("c"), assistant("d")]
    assert [p.name for p in presets(ConversationScene(plain))] == ["Both start alike"]


# ---- pictures -------------------------------------------------------------------------------


def test_the_sentence_says_both_sizes_the_factors_and_the_overflow(scene, state):
    now = replace(state, step=12)
    full, short = scene.rows(now)
    said = scene.sentence(now)
    for figure in (
        f"{full.read:,}",
        f"{short.read:,}",
        f"{scene.factor(now):.1f} times less in all",
    ):
        assert figure in said
    assert "overflows the window at question 6; promoted only never does" in said
    assert "Both fit" in scene.sentence(replace(now, window=20_000))
    assert "promoted only at 1." in scene.sentence(replace(now, window=2_000))


def test_readouts_mark_what_is_over_the_window(scene, state):
    over = scene.readouts(replace(state, step=12))
    assert [r.good for r in over] == [False, None, None, None, None, None]
    assert scene.readouts(replace(state, step=12, window=20_000))[0].good is None


def test_a_readout_says_how_much_changed(scene, state):
    before = replace(state, step=12)
    after = replace(before, last_result=True)
    part = scene.rows(after)[1].read / scene.rows(before)[1].read - 1
    assert scene.readouts(after, before)[1].change == f"+{part:.0%}"
    assert scene.readouts(replace(before, window=9_000), before)[1].change == "as before"


def test_both_bars_have_one_scale_and_the_window_on_them(scene, state):
    bars = scene.bars(state)
    assert bars.count("window 8,000") == 2 and bars.count("<svg") == 2
    assert scene.scale(replace(state, step=1)) == scene.scale(replace(state, step=12))


def test_the_curve_has_both_lines_and_the_one_before(scene, state):
    assert scene.curve(state).count("<polyline") == 2
    pale = scene.curve(replace(state, last_result=True), before=state)
    assert pale.count("<polyline") == 3
    assert "everything" in pale and "question 9" in pale


def test_the_sweep_shows_the_factor_of_the_question_that_is_set(scene, state):
    swept = scene.sweep(replace(state, step=12))
    assert f">{scene.factor(replace(state, step=12)):.1f}<" in swept
    assert re.findall(r">(at [^<]*)</text>", swept) == ["at 12: 4.6", "at 12: 5.8", "at 12: 361k"]
    assert swept.count("<polyline") == 3


def test_rows_say_what_has_become_of_the_tool_calls(scene, state):
    rows = scene.table_rows(replace(state, step=7))
    said = [row.word or row.status for row in rows]
    assert said == [*["left out"] * 4, "none", "left out", "in both lists", *["later"] * 5]
    assert rows[4].tokens == 0 and rows[0].tokens > 1_000
    kept = scene.table_rows(replace(state, step=7, last_result=True))
    assert kept[0].word == "last one kept"
    assert "last one kept" in parts.table(kept) and "<code>" not in parts.table(kept, prose=True)


def test_pictures_have_a_description_and_text_is_escaped():
    nasty = [
        system("<script>alert(1)</script>"),
        user("</svg><b>bold"),
        assistant(calls=[tool_call("c", "<i>look</i>", x="<u>")]),
        tool_result("c", "<img src=x>"),
        assistant("<img src=y>"),
        user("more"),
        assistant("done"),
    ]
    scene = ConversationScene(nasty)
    state = first_state(scene)
    html = scene.picture(state) + parts.table(scene.table_rows(state))
    assert "<script>" not in html and "<img" not in html and "<i>" not in html
    assert all('role="img" aria-label="' in svg for svg in re.findall(r"<svg[^>]*>", html))


def test_a_move_costs_far_less_than_50_ms(explorer):
    for button in explorer.presets:
        button.click()
    start = time.perf_counter()
    for step in range(1, 13):
        explorer.controls["step"].value = step
    assert (time.perf_counter() - start) / 12 < 0.05


# ---- the widgets ----------------------------------------------------------------------------


def test_each_control_changes_the_picture(explorer):
    for name, value in {"step": 3, "window": 5_000, "results": SHORT, "last_result": True}.items():
        before = explorer.picture.value
        explorer.controls[name].value = value
        assert explorer.picture.value != before, name
        assert getattr(explorer.state, name) == value


def test_a_preset_sets_every_control_and_says_what_to_see(explorer):
    button = next(b for b in explorer.presets if b.description == "No tools, no gain")
    button.click()
    assert explorer.controls["results"].value == NO_TOOLS
    assert explorer.controls["step"].value == 12
    assert button.tooltip in explorer.title.value


def test_moving_through_the_questions_is_no_new_setting(explorer):
    explorer.controls["step"].value = 2
    assert explorer.before is None
    explorer.controls["window"].value = 5_000
    assert explorer.before.window == 8_000


def test_the_lower_picture_can_show_the_factors(explorer):
    explorer.view.value = "step"
    assert "times less, in all" in explorer.picture.value
    assert FACTOR in dict(explorer.view.options)


def test_the_first_picture_is_one_that_everything_overflows(explorer):
    assert explorer.state.window == 8_000 and "✕" in explorer.picture.value
    small = ConversationScene(CHAT[:25])
    window, full = first_state(small).window, small.pair(first_state(small)).everything
    assert small.window_range[0] < window < full.rows[-1].read


def test_the_saved_form_has_a_picture_with_words_and_the_same_bytes():
    first, second = (
        explore_conversation(CHAT, tools=TOOLS)._repr_mimebundle_()[0] for _ in range(2)
    )
    assert first["text/html"] == second["text/html"]
    assert re.search(r'<img src="data:image/png;base64,[^"]+" alt="[^"]{50,}">', first["text/html"])
    assert "times less in all" in first["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in first


def test_a_transcript_is_opened_with_its_name_and_tools():
    box = explore_conversation(Transcript(CHAT, name="Maya", tools=tuple(TOOLS)))
    assert "Maya" in repr(box._still) and "21 tool schemas" in str(box.children[1].value)


def test_the_second_run_of_a_file_is_the_second(tmp_path):
    path = tmp_path / "runs.jsonl"
    runs = [{"messages": incident(3)}, {"messages": CHAT}]
    path.write_text("\n".join(map(json.dumps, runs)), encoding="utf-8")
    assert f"{count_tokens(CHAT):,}" in str(explore_conversation(path, run=2).children[1].value)


@pytest.mark.parametrize(
    "chat",
    [
        [assistant("hello")],
        [user("a"), assistant("b"), user("never answered")],
        [assistant("welcome"), user("a"), assistant("b"), user("c"), assistant("d")],
        [user("a"), assistant(calls=[tool_call("x", "look")])],
    ],
)
def test_odd_chats_are_shown_all_the_same(chat):
    explorer = ConversationExplorer(ConversationScene(chat))
    for button in explorer.presets:
        button.click()
    explorer.view.value = "step"
    assert "times less" in explorer.picture.value


def test_a_list_without_a_call_has_nothing_to_show():
    with pytest.raises(CourseError, match="no assistant message"):
        explore_conversation([user("hello")])
