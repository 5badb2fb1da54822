"""The trimming explorer: its pictures and words for a state, and the thin layer of widgets."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from course_lib import (
    Conversation,
    CourseError,
    Transcript,
    explore_trim,
    incident,
    long_incident,
    replay,
    trim,
)
from course_lib.messages import assistant, system, tool_call, tool_result, user
from course_lib.tokens import count_tokens
from course_lib.trimming import append_all, high_low
from course_lib.views import parts
from course_lib.views.explore_trim import ROWS, TrimExplorer
from course_lib.views.figures import plot_cache
from course_lib.views.show import show
from course_lib.views.still import Still
from course_lib.views.trim_presets import first_state, presets
from course_lib.views.trim_scene import POLICIES, TrimScene, TrimState, find_findings


@pytest.fixture
def scene():
    messages = long_incident()
    return TrimScene(messages, findings=find_findings(messages))


@pytest.fixture
def state(scene):
    return first_state(scene)


@pytest.fixture
def explorer(scene):
    return TrimExplorer(scene)


def preset(scene, name):
    return next(p.state for p in presets(scene) if p.name == name)


def readout(scene, state, caption):
    return next(r.value for r in scene.readouts(state) if r.caption.startswith(caption))


# ---- the scene ------------------------------------------------------------------------------


def test_the_run_is_the_replay_of_the_policy(scene, state):
    bare = replace(state, pins=frozenset(), summary=False)
    policy = high_low(bare.budget, bare.high / 100, bare.low / 100)
    assert scene.run(bare).read == replay(scene.messages, policy).read


def test_the_first_state_shows_a_pin_a_summary_and_kept_groups(scene, state):
    assert {"pinned", "summarised", "kept", "later"} <= set(scene.statuses(state))


def test_blocks_add_up_to_what_is_read(scene, state):
    for step in range(1, scene.steps + 1):
        now = replace(state, step=step)
        assert sum(block.tokens for block in scene.blocks(now)) + 3 == scene.row(now).read


def test_blocks_with_tools_add_up_as_well(scene, state):
    tool = {"name": "search_logs", "description": "Search", "parameters": {"properties": {}}}
    with_tools = TrimScene(scene.messages, tools=[tool])
    now = first_state(with_tools)
    assert with_tools.blocks(now)[0].label == "tools"
    assert sum(block.tokens for block in with_tools.blocks(now)) == with_tools.row(now).read


def test_without_a_summary_the_status_is_dropped(scene, state):
    bare = replace(state, summary=False)
    assert "dropped" in scene.statuses(bare)
    assert "summarised" not in scene.statuses(bare)


def test_a_pin_marks_a_copy_and_leaves_the_transcript_alone(scene, state):
    before = long_incident()
    scene.run(replace(state, pins=frozenset({2, 5})))
    assert scene.messages == before


@pytest.mark.parametrize(
    ("name", "alive"),
    [
        ("Append all", (3, 3)),
        ("The finding is lost", (2, 3)),
        ("A summary keeps it", (3, 3)),
        ("A pin keeps it", (3, 3)),
    ],
)
def test_presets_show_what_they_claim_about_findings(scene, name, alive):
    assert scene.alive(preset(scene, name)) == alive


def test_presets_show_what_they_claim_about_the_cache(scene):
    small_steps, rare = (preset(scene, name) for name in ("Trim on every step", "Trim rarely"))
    share = {s: scene.run(s).cached / scene.run(s).read for s in (small_steps, rare)}
    assert share[small_steps] < share[rare] / 2
    assert scene.run(rare).trims < scene.run(small_steps).trims / 3


def test_a_run_too_short_for_the_cache_gets_no_claim_about_it():
    scene = TrimScene(incident())
    assert not any("cache" in p.sentence for p in presets(scene))
    assert any("needs 1,024" in r.caption for r in scene.readouts(first_state(scene)))


def test_presets_about_findings_need_findings():
    names = [p.name for p in presets(TrimScene(long_incident()))]
    assert not any("keeps it" in name or "lost" in name for name in names)


def test_a_readout_says_how_much_changed(scene, state):
    less = replace(state, budget=state.budget // 2)
    change = scene.run(less).read / scene.run(state).read - 1
    changes = [r.change for r in scene.readouts(less, before=state)]
    assert changes[1] == f"−{-change:.0%}"
    assert "as before" in parts.readouts(scene.readouts(replace(state, step=2), before=state))


def test_a_budget_that_cannot_hold_is_said_and_nothing_breaks(scene, state):
    tiny = replace(state, budget=150)
    assert "what must stay needs" in scene.sentence(tiny)
    assert scene.run(tiny).rows
    assert "what must stay needs" in scene.picture(tiny)


def test_a_sweep_leaves_out_what_cannot_hold_and_marks_what_is_set(scene, state):
    swept = scene.sweep(replace(state, budget=2345), "budget")
    assert f"{scene.run(replace(state, budget=2345)).read / 1000:.1f}k" in swept
    smallest = replace(state, budget=scene.budget_range[0])
    assert scene.trouble(smallest)
    points = re.search(r'<polyline points="([^"]*)"', swept)[1].split()
    assert len(points) < len({*scene.swept_values(state, "budget"), 2345})


@pytest.mark.parametrize("along", ["budget", "high", "low", "window"])
def test_every_setting_can_be_swept(scene, state, along):
    policy = POLICIES[1] if along == "window" else POLICIES[2]
    assert scene.sweep(replace(state, policy=policy), along).count("<polyline") == 3


def test_the_same_state_gives_the_same_picture(scene, state):
    other = TrimScene(long_incident(), findings=find_findings(long_incident()))
    assert scene.picture(state) == other.picture(state)


def test_pictures_have_a_description_and_text_is_escaped():
    nasty = [
        system("<script>alert(1)</script>"),
        user("</svg><b>bold"),
        assistant(calls=[tool_call("c", "<i>look</i>", x="<u>")]),
        tool_result("c", "<img src=x>"),
        assistant("done"),
    ]
    scene = TrimScene(nasty)
    state = first_state(scene)
    html = scene.picture(state) + parts.table(scene.rows(state))
    assert "<script>" not in html and "<img" not in html and "<i>" not in html
    assert all('role="img" aria-label="' in svg for svg in re.findall(r"<svg[^>]*>", html))


def test_named_findings_are_looked_for():
    messages = long_incident()
    [finding] = find_findings(messages, ["batch 50000 rows"])
    assert finding.group == 2
    assert find_findings(messages, ["nowhere"]) == []


def test_only_findings_so_far_count(scene, state):
    assert scene.alive(replace(state, step=3)) == (0, 0)
    assert scene.alive(replace(state, step=4)) == (1, 1)


def test_a_group_that_starts_with_the_user_is_named_so():
    messages = [user("task"), assistant("hello"), user("more"), assistant("bye")]
    scene = TrimScene(messages)
    assert scene.labels == ["1", "u", "2"]
    assert [row.call for row in scene.rows(first_state(scene))] == ["answer", "user", "answer"]


# ---- the widgets ----------------------------------------------------------------------------


def test_a_slider_changes_the_picture(explorer):
    before = explorer.picture.value
    explorer.controls["budget"].value = 1500
    assert explorer.picture.value != before
    assert "1,500" in explorer.picture.value


def test_low_water_pushes_high_water_up_and_the_other_way_round(explorer):
    explorer.controls["low"].value = 90
    assert explorer.controls["high"].value == 90
    explorer.controls["high"].value = 40
    assert explorer.controls["low"].value == 40


def test_a_pin_changes_the_row(explorer):
    explorer.controls["step"].value = 28
    assert explorer.pins[0].description == "step 1"
    explorer.pins[0].value = True
    assert explorer.state.pins == {0, 2}
    assert explorer.rows.value.count("◆ pinned") == 2


def test_a_preset_sets_every_control_and_says_what_to_see(explorer):
    button = next(b for b in explorer.presets if b.description == "Trim on every step")
    button.click()
    assert explorer.controls["low"].value == explorer.controls["high"].value == 80
    assert not explorer.pins[2].value
    assert button.tooltip in explorer.title.value


def test_the_pale_curve_is_the_run_before_this_control_was_touched(explorer):
    first = explorer.state
    explorer.controls["budget"].value = 2000
    explorer.controls["budget"].value = 1800
    assert explorer.before == first
    explorer.controls["step"].value = 9
    assert explorer.before == first
    explorer.controls["low"].value = 30
    assert explorer.before.budget == 1800


def test_controls_that_do_nothing_are_disabled(explorer):
    explorer.controls["policy"].value = "sliding window"
    assert explorer.controls["low"].disabled and not explorer.controls["window"].disabled


def test_the_lower_picture_can_show_all_values(explorer):
    explorer.view.value = "low"
    assert "findings alive at the end" in explorer.picture.value


def test_every_control_has_a_name(explorer):
    named = [w for w in explorer.controls.values() if hasattr(w, "description")]
    assert all(w.description for w in [*named[1:], *explorer.pins, explorer.view])


def test_a_long_run_is_shown_in_pages_and_pins_stay_with_their_groups():
    explorer = TrimExplorer(TrimScene(incident(ROWS + 5)))
    assert len(explorer.pins) == ROWS
    explorer.pins[1].value = True
    explorer.pager.value = 2
    assert [pin.value for pin in explorer.pins[:3]] == [False, False, False]
    assert explorer.pins[0].description == f"step {ROWS + 1}"
    explorer.pins[4].value = True
    assert explorer.state.pins == {1, ROWS + 4}
    explorer.pager.value = 1
    assert explorer.pins[1].value


def test_the_saved_form_has_a_picture_with_words_and_the_live_one_a_view():
    data, _ = explore_trim(incident())._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert re.search(r'<img src="data:image/png;base64,[^"]+" alt="[^"]{50,}">', data["text/html"])
    assert "tokens read at step" in data["text/plain"]


def test_the_same_explorer_is_saved_with_the_same_bytes():
    first, second = (explore_trim(incident())._repr_mimebundle_()[0] for _ in range(2))
    assert first["text/html"] == second["text/html"]
    assert first["text/plain"] == second["text/plain"]


def test_no_formula_can_stand_between_two_prices_of_a_caption():
    caption = Still(Figure(), "alt", "$2.00 a million, $0.73 in all").mimebundle()["text/html"]
    assert "<p><span>$</span>2.00 a million, <span>$</span>0.73 in all</p>" in caption


def test_a_transcript_is_opened_with_its_name_and_tools():
    tools = ({"type": "function", "function": {"name": "look", "description": "Look."}},)
    box = explore_trim(Transcript(incident(), name="My run", tools=tools))
    assert "My run" in repr(box._still)
    assert "tools" in str(box.children[3].children[1].children[0].value)


def test_a_file_is_opened(tmp_path):
    import json

    path = tmp_path / "run.json"
    path.write_text(json.dumps({"messages": incident()}), encoding="utf-8")
    assert "run.json" in repr(explore_trim(path)._still)
    assert repr(explore_trim(str(path))._still) == repr(explore_trim(path)._still)


def test_the_second_run_of_a_file_is_the_second(tmp_path):
    import json

    path = tmp_path / "runs.jsonl"
    runs = [{"messages": incident(3)}, {"messages": long_incident()}]
    path.write_text("\n".join(map(json.dumps, runs)), encoding="utf-8")
    assert f"{count_tokens(long_incident()):,}" in str(explore_trim(path, run=2).children[1].value)


def test_a_list_without_a_call_has_nothing_to_show():
    with pytest.raises(CourseError, match="no assistant message"):
        explore_trim([user("hello")])


# ---- still figures and source ---------------------------------------------------------------


def test_the_cache_figure_says_in_words_what_it_draws():
    run = replay(long_incident(), append_all())
    still = plot_cache({"nothing managed": run})
    assert f"{run.cached / run.read:.0%} of {run.read:,}" in still.alt
    assert still.png.startswith(b"\x89PNG")


def test_show_prints_the_librarys_own_source():
    source = show(trim)
    assert repr(source).startswith("def trim(")
    assert source._repr_markdown_() == f"```python\n{source!r}\n```"
    assert repr(show(Conversation.turn)).startswith("def turn(self")


def test_a_state_without_its_step_is_what_decides_the_run():
    assert TrimState("append all", 3, 100).settings == TrimState("append all", 9, 100).settings
