"""The session explorer: its walk, its claims, its pictures, and the thin layer of widgets."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from course_lib import (
    CourseError,
    Transcript,
    explore_session,
    find_repeats,
    incident,
    plot_positions,
    research_session,
    validate,
)
from course_lib.messages import assistant, system, tool_call, tool_result, user
from course_lib.samples import positions
from course_lib.tokens import count_tokens
from course_lib.views import parts
from course_lib.views.explore_session import SessionExplorer, first_state, presets
from course_lib.views.session_scene import SWEPT, SessionScene, SessionState
from course_lib.views.trim_scene import find_findings


@pytest.fixture(scope="module")
def scene():
    messages = research_session()
    return SessionScene(messages, findings=find_findings(messages))


@pytest.fixture
def state(scene):
    return first_state(scene)


@pytest.fixture
def explorer(scene):
    return SessionExplorer(scene)


def preset(scene, name):
    return next(p.state for p in presets(scene) if p.name == name)


# ---- the claims -----------------------------------------------------------------------------


def test_nothing_managed_reads_eighty_thousand_at_the_end(scene):
    unmanaged = preset(scene, "Nothing managed")
    walk = scene.solved(unmanaged)
    assert scene.row(unmanaged).read == pytest.approx(80_000, rel=0.03)
    assert walk.read == scene.unmanaged.read
    assert not walk.again and not any(row.event for row in walk.rows)


def test_the_intervention_brings_the_last_call_to_a_quarter(scene):
    once = preset(scene, "1–12 become a note")
    assert scene.row(once).read == pytest.approx(20_000, rel=0.03)
    assert scene.statuses(once) == ["summarised"] * 12 + ["kept"] * 8 + ["later"]
    assert scene.solved(once).events("note") == [21]
    assert scene.alive(once) == (11, 11)
    assert scene.solved(once).read > 0.9 * scene.unmanaged.read


def test_at_the_threshold_all_is_kept_for_far_less(scene, state):
    assert (state.threshold, state.keep, state.summary) == (30_000, 3, True)
    assert preset(scene, "At the threshold") == state
    walk = scene.solved(state)
    assert max(row.read for row in walk.rows) <= 30_000
    assert walk.read < 0.4 * scene.unmanaged.read
    assert not walk.again and scene.alive(state) == (11, 11)


def test_too_few_turns_kept_asks_again_and_one_more_does_not(scene):
    few = preset(scene, "Too few kept")
    assert scene.solved(few).again
    assert not scene.solved(replace(few, keep=few.keep + 1)).again


def test_dropped_without_a_note_costs_much_more_than_with_one(scene):
    bare = preset(scene, "Without a note")
    walk, noted = scene.solved(bare), scene.solved(replace(bare, summary=True))
    assert len(walk.again) > 10
    assert walk.read > 1.5 * noted.read
    assert scene.alive(bare)[0] < 11
    assert walk.events("drop") and not walk.events("note")
    assert "summarised" not in scene.statuses(bare)


def test_too_late_the_note_lacks_what_was_cut_and_a_lower_threshold_is_in_time(scene):
    late = preset(scene, "Too late")
    walk = scene.solved(late)
    assert min(walk.events("cut")) < min(walk.events("note"))
    note = scene.note(replace(late, step=walk.events("note")[0]))
    assert "Decided:" in note
    assert not re.search(r"\bS[13-7]:", note)
    assert walk.again and scene.alive(late)[0] < 11
    in_time = [
        threshold
        for threshold in range(30_000, late.threshold, 1_000)
        if not scene.solved(replace(late, threshold=threshold)).again
        and scene.alive(replace(late, threshold=threshold)) == (11, 11)
    ]
    assert in_time and max(in_time) < late.window


# ---- the walk -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Too few kept", "Without a note", "Too late"])
def test_calls_made_again_are_those_that_find_repeats_finds(scene, name):
    walk = scene.solved(preset(scene, name))
    repeats = find_repeats(walk.transcript, walk.prompts)
    assert len(repeats) == len(walk.again) > 0
    assert not any(repeat.still_there for repeat in repeats)


@pytest.mark.parametrize("keep", [1, 3])
@pytest.mark.parametrize("summary", [True, False])
def test_the_walk_is_a_run_that_a_provider_accepts(scene, state, keep, summary):
    walk = scene.solved(replace(state, keep=keep, summary=summary))
    assert validate(walk.transcript) == []
    assert all(validate(prompt) == [] for prompt in walk.prompts)
    assert walk.read == sum(map(count_tokens, walk.prompts))
    assert len(walk.prompts) == len(walk.rows) + len(walk.again)


def test_what_is_fetched_again_is_read_at_that_call_and_counts(scene, state):
    walk = scene.solved(replace(state, summary=False))
    call = walk.again[0].call
    extra = [m for m in walk.rows[call - 1].prompt if "again" in str(m.get("tool_call_id"))]
    assert extra
    assert walk.read > sum(row.read for row in walk.rows)


def test_a_need_is_a_value_that_a_result_was_first_to_bring(scene):
    urls = [need.value for needs in scene.needs for need in needs if "://" in need.value]
    assert len(urls) == 11
    by_value = {need.value: need.result for need in scene.needs[18]}
    assert '"source": "S9"' in scene.messages[by_value["£196.40"]]["content"]
    assert not any(need.value == "1928" for needs in scene.needs for need in needs)


def test_a_figure_that_stands_in_many_tables_belongs_to_the_finding_that_has_it(scene):
    answer = {need.value: need.result for need in scene.needs[20]}
    assert '"source": "S11"' in scene.messages[answer["£165"]]["content"]


def test_a_value_within_a_longer_one_does_not_count():
    messages = [
        system("rules"),
        user("task"),
        assistant(calls=[tool_call("a", "look", x="1")]),
        tool_result("a", "order 88412"),
        assistant(calls=[tool_call("b", "look", x="8841")]),
        tool_result("b", "done"),
    ]
    assert SessionScene(messages).needs == [[], []]


def test_escaped_results_are_read_as_what_they_say():
    messages = [
        user("task"),
        assistant(calls=[tool_call("a", "look", x="1")]),
        tool_result("a", {"price": "£2,350"}),  # written as \\u00a3
        assistant(calls=[tool_call("b", "pay", sum="£2,350")]),
        tool_result("b", "paid"),
    ]
    assert [need.value for need in SessionScene(messages).needs[1]] == ["£2,350"]


def test_a_window_that_cannot_hold_what_must_stay_is_said(scene, state):
    tiny = replace(state, window=5_000)
    assert "more than the window" in scene.sentence(tiny)
    assert scene.picture(tiny)


def test_the_transcript_is_left_alone(scene, state):
    scene.solved(replace(state, summary=False))
    assert list(scene.messages) == research_session()


# ---- pictures -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["At the threshold", "Without a note", "Too late"])
def test_blocks_add_up_to_what_is_read(scene, name):
    for step in range(1, scene.steps + 1):
        now = replace(preset(scene, name), step=step)
        assert sum(block.tokens for block in scene.blocks(now)) + 3 == scene.row(now).read


def test_blocks_of_calls_made_again_are_marked(scene, state):
    bare = replace(state, summary=False)
    blocks = scene.blocks(bare)
    assert any(block.kind == "again" and block.label.startswith("↻") for block in blocks)
    assert "↻ again" in scene.bar_heading(bare)
    assert "↻ again" not in scene.bar_heading(state)


def test_the_curve_marks_notes_cuts_and_calls_made_again(scene):
    late = scene.curve(preset(scene, "Too late"))
    assert ">note</text>" in late and ">cut</text>" in late and ">↻" in late
    noted = scene.curve(first_state(scene))
    assert noted.count(">note</text>") == 3 and "↻" not in noted
    assert "nothing managed" in noted and "threshold 30,000" in scene.bar(first_state(scene))


def test_readouts_say_what_changed(scene, state):
    before = preset(scene, "Nothing managed")
    total = scene.readouts(state, before)[1]
    change = 1 - scene.solved(state).read / scene.unmanaged.read
    assert total.change == f"−{change:.0%}"
    assert scene.readouts(replace(state, step=3), state)[1].change == "as before"
    assert [r.good for r in scene.readouts(preset(scene, "Too late"))[3:5]] == [False, False]


@pytest.mark.parametrize("along", SWEPT)
def test_every_setting_can_be_swept(scene, state, along):
    assert scene.sweep(state, along).count("<polyline") == 3
    values = scene.swept_values(along)
    assert values == sorted(set(values)) and len(values) <= 12


def test_the_sentence_counts_what_went_with_and_without_a_note(scene):
    assert "turns in the note: 12; none has gone" in scene.sentence(first_state(scene))
    bare = scene.sentence(preset(scene, "Without a note"))
    assert "no turn is in a note; gone without one: " in bare and "made again so far: 13" in bare


def test_the_same_state_gives_the_same_picture(scene, state):
    messages = research_session()
    other = SessionScene(messages, findings=find_findings(messages))
    assert other.picture(state) == scene.picture(state)


def test_pictures_have_a_description_and_text_is_escaped():
    nasty = [
        system("<script>alert(1)</script>"),
        user("</svg><b>bold"),
        assistant(calls=[tool_call("c", "<i>look</i>", x="<u>")]),
        tool_result("c", "<img src=x>"),
        assistant("done"),
    ]
    scene = SessionScene(nasty)
    html = scene.picture(first_state(scene)) + parts.table(scene.rows(first_state(scene)))
    assert "<script>" not in html and "<img" not in html and "<i>" not in html
    assert all('role="img" aria-label="' in svg for svg in re.findall(r"<svg[^>]*>", html))


# ---- the widgets ----------------------------------------------------------------------------


def test_a_slider_changes_picture_rows_and_note(explorer):
    before = explorer.picture.value, explorer.rows.value, explorer.note.value
    explorer.controls["threshold"].value = 90_000
    after = explorer.picture.value, explorer.rows.value, explorer.note.value
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert "no note in this prompt" in explorer.note.value


def test_the_note_is_shown_as_the_model_reads_it(explorer, scene, state):
    assert "S5: loft and draught-proofing" in scene.note(state)
    assert "S5: loft and draught-proofing" in explorer.note.value


def test_every_preset_can_be_shown_by_the_sliders(explorer, scene):
    for one in presets(scene):
        explorer.show(one.state)
        assert {name: c.value for name, c in explorer.controls.items()} == vars(one.state)


def test_a_preset_says_what_to_see(explorer):
    button = next(b for b in explorer.presets if b.description == "Too late")
    button.click()
    assert explorer.controls["window"].value == 40_000
    assert button.tooltip.split(".")[0] in explorer.title.value


def test_the_lower_picture_can_show_all_values(explorer):
    explorer.view.value = "keep"
    assert "calls made again</text>" in explorer.picture.value


def test_other_runs_can_be_opened(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"messages": [{"role": "user", "content": "hi"}, '
                    '{"role": "assistant", "content": "hello"}]}', encoding="utf-8")  # fmt: skip
    assert "run.json" in repr(explore_session(path)._still)
    assert "Mine" in repr(explore_session(Transcript(incident(), name="Mine"))._still)
    with pytest.raises(CourseError, match="no assistant message"):
        explore_session([user("hello")])


def test_named_findings_are_looked_for():
    messages = incident(14)
    still = repr(explore_session(messages, findings=["02:00"])._still)
    assert "findings alive at turn 14 1 of 1" in still


def test_the_saved_form_has_a_picture_with_words_and_the_same_bytes():
    first, second = (explore_session(incident())._repr_mimebundle_()[0] for _ in range(2))
    assert re.search(r'<img src="data:image/png;base64,[^"]+" alt="[^"]{50,}">', first["text/html"])
    assert first["text/html"] == second["text/html"]


def test_a_state_without_its_step_is_what_decides_the_walk(scene):
    one, two = (SessionState(step, 30_000, 3, True, 130_000) for step in (3, 9))
    assert one.settings == two.settings
    assert scene.solved(one) is scene.solved(two)


# ---- the published curves -------------------------------------------------------------------


def test_the_position_figure_says_in_words_what_it_draws():
    still = plot_positions()
    assert still.png.startswith(b"\x89PNG")
    assert "20 documents, by place of the answer: 1: 75.8, 5: 57.2, 10: 53.8" in still.alt
    assert "no documents at all: 56.1" in still.alt
    assert positions.SOURCE in still.caption
