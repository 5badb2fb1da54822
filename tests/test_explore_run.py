"""The explorer of your own run: its figures against replays, its claims, and what a move costs."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from course_lib import (
    CourseError,
    Transcript,
    coding_run,
    count_tokens,
    explore_run,
    invoice_run,
    plan,
    replay,
    sliding_window,
    support_chat,
    support_tools,
)
from course_lib.messages import assistant, system, tool_call, tool_result, user
from course_lib.plans import FAR, MISSED, MOST_CALLS, with_pins
from course_lib.reuses import reuse
from course_lib.views.explore_run import RunExplorer, first_state, presets
from course_lib.views.run_scene import MOST_PINS, READY, SHOWN, OwnRunScene, RunState


def chat():
    return Transcript(support_chat(), "The support chat", tools=tuple(support_tools()))


RUNS = {"coding": coding_run(), "chat": chat(), "invoices": invoice_run()}


@pytest.fixture(scope="module", params=RUNS)
def scene(request):
    run = RUNS[request.param]
    return OwnRunScene(run.messages, list(run.tools), run.name)


@pytest.fixture(scope="module")
def coding():
    run = RUNS["coding"]
    return OwnRunScene(run.messages, list(run.tools), run.name)


@pytest.fixture(scope="module")
def explorer(coding):
    return RunExplorer(coding)


def by_name(scene, state):
    return {each.name: each for each in scene.techniques(state)}


# ---- its figures ----------------------------------------------------------------------------


def test_the_table_has_the_figures_of_the_plan(scene):
    run = next(run for run in RUNS.values() if run.name == scene.name)
    made, shown = plan(run), by_name(scene, first_state(scene))
    assert scene.needed == made.window and scene.proposed == list(made.pins)
    for each in made.tried:
        # A plan widens the window, here it follows the slider; a context manager is the plan's alone.
        if each.name not in ("sliding window", "context manager"):
            mine = shown[each.name]
            assert (mine.read, mine.missed, mine.prices) == (each.read, each.missed, each.prices)


@pytest.mark.parametrize("window", [1, 5, 20])
def test_what_is_missed_without_a_replay_is_what_a_replay_misses(scene, window):
    found, count = scene.reuse, len(scene.reuse.uses)
    for pins in (frozenset(), frozenset({0}), frozenset(range(len(scene.proposed)))):
        marked = with_pins(scene.messages, [scene.proposed[at] for at in pins])
        run = replay(marked, sliding_window(window), tools=scene.tools)
        assert scene.missed(window, pins) == pytest.approx(len(found.missed_by(run)) / count)
        assert scene.miss_curve(pins)[window - 1] == pytest.approx(100 * scene.missed(window, pins))


def test_windows_follow_the_slider_and_the_pins_and_the_others_stay(coding):
    one, other = (by_name(coding, replace(first_state(coding), window=w)) for w in (5, 30))
    moved = {name for name in one if one[name].read != other[name].read}
    assert moved == {"sliding window", "window and pins"}
    fewer = by_name(coding, replace(first_state(coding), window=5, pins=frozenset({0})))
    changed = {name for name in one if one[name].read != fewer[name].read}
    assert changed == {"window and pins"}


def test_without_a_pin_the_two_windows_are_one(coding):
    shown = by_name(coding, RunState(8))
    assert shown["window and pins"].read == shown["sliding window"].read


def test_the_readouts_are_those_of_the_window_with_its_pins(coding):
    state = first_state(coding)
    lead, whole = (
        by_name(coding, state)["window and pins"],
        by_name(coding, state)["everything kept"],
    )
    texts = [(r.value, r.caption) for r in coding.readouts(state)]
    assert texts[0] == (f"{lead.missed:.0%}", f"missed, of {len(coding.reuse.uses)} reuses")
    assert texts[1] == (
        f"{lead.read:,}",
        f"read in all · {lead.read / whole.read:.0%} of everything",
    )
    tokens = sum(count_tokens(pin.value) for pin in coding.proposed)
    assert texts[2] == (str(len(coding.proposed)), f"pins, {tokens} tokens")
    assert texts[5][0] == f"{max(row.read for row in lead.run.rows):,}"


def test_a_readout_says_what_has_changed(coding):
    state = first_state(coding)
    wide = replace(state, window=coding.stops[-1])
    changes = [r.change for r in coding.readouts(wide, state)]
    lead, was = coding.lead(wide), coding.lead(state)
    assert changes[0] == f"−{round(100 * was.missed) - round(100 * lead.missed)}"
    assert changes[1] == f"+{lead.read / was.read - 1:.0%}"
    assert [r.change for r in coding.readouts(state, state)] == [""] * 6


def test_good_is_what_a_plan_would_allow(coding):
    for window in coding.stops:
        state = RunState(window)
        assert coding.readouts(state)[0].good == (coding.missed(window) <= MISSED)


def test_the_slider_stops_at_the_needed_window_and_at_all_groups(scene):
    assert scene.needed in scene.stops and scene.stops[0] == 1
    assert scene.stops[-1] <= scene.reuse.groups
    assert scene.missed(scene.stops[-1]) == 0.0 or scene.stops[-1] == 200


def test_the_first_bar_adds_up_to_the_last_call(scene):
    drawn = re.findall(r"<title>.*?: ([\d,]+) tokens</title>", scene.shape_picture())
    assert sum(int(n.replace(",", "")) for n in drawn) == pytest.approx(
        scene.shape.reads[-1], rel=0.01
    )
    dead = scene.shape.dead_weight / scene.shape.result_tokens
    assert f"Nothing came back for {dead:.0%} of the results" in scene.shape_picture()


def test_each_picture_says_what_it_shows(coding):
    state = first_state(coding)
    most = max(coding.reuse.working_set())
    words = {SHOWN[0]: "pale: without pins", SHOWN[1]: f"most: {most}", SHOWN[2]: "everything kept"}
    for shown, said in words.items():
        picture = coding.picture(replace(state, shown=shown))
        assert said in picture and 'role="status"' in picture and "<script" not in picture
    assert "pale" not in coding.heading(RunState(5))


def test_prices_follow_the_list(coding):
    state = first_state(coding)
    for name in ("OpenAI", "Google"):
        price = coding.lead(state).prices[name]
        shown = coding.readouts(replace(state, prices=name))[4]
        assert shown.value == f"${price:.3f}" and name in shown.caption


# ---- its claims -----------------------------------------------------------------------------


def claim(scene, name):
    return next((p for p in presets(scene) if p.name == name), None)


def share(scene, window, pins=()):
    marked = with_pins(scene.messages, pins)
    run = replay(marked, sliding_window(window), tools=scene.tools)
    return len(scene.reuse.missed_by(run)) / len(scene.reuse.uses), run.read


def test_one_group_back(scene):
    missed, _ = share(scene, 1)
    assert f"misses {missed:.0%} of the values" in claim(scene, "One group back").sentence
    assert claim(scene, "One group back").state == replace(
        first_state(scene), window=1, pins=frozenset()
    )


def test_most_of_it(scene):
    said, window = claim(scene, "Most of it").sentence, scene.needed
    missed, _ = share(scene, window)
    assert said.startswith(f"{window} is the smallest") and said.endswith(f"{missed:.0%}.")
    assert missed <= FAR < share(scene, window - 1)[0]


def test_the_same_with_pins(scene):
    said, window = claim(scene, "The same, with pins").sentence, scene.needed
    alone, plain = share(scene, window)
    pinned, read = share(scene, window, scene.proposed)
    assert f"from {alone:.0%} to {pinned:.0%}" in said and f"so {read - plain:,} tokens" in said
    assert pinned < alone and read > plain


def test_wide_without_pins(scene):
    preset = claim(scene, "Wide, no pins")
    window = preset.state.window
    before = scene.stops[scene.stops.index(window) - 1]
    assert share(scene, window)[0] <= MISSED < share(scene, before)[0]
    part = share(scene, window)[1] / scene.shape.total
    assert f"is {window}; it reads {part:.0%}" in preset.sentence


def test_fewer_tokens_more_money(scene):
    preset = claim(scene, "Fewer tokens, more money")
    window, whole = (
        by_name(scene, preset.state)[name] for name in ("sliding window", "everything kept")
    )
    assert window.read < whole.read and window.prices["OpenAI"] > whole.prices["OpenAI"]
    assert (
        f"at {window.prices['OpenAI'] / whole.prices['OpenAI']:.0%} of the price" in preset.sentence
    )
    assert window.cached_share < whole.cached_share / 2


def test_the_working_set(scene):
    most = max(scene.reuse.working_set())
    preset = claim(scene, "The working set")
    assert f"At most {most} values" in preset.sentence and preset.state.shown == SHOWN[1]


def test_a_claim_that_does_not_hold_has_no_button():
    run = [
        system("s"),
        user("t"),
        assistant("", [tool_call("a", "f")]),
        tool_result("a", "x"),
        assistant("y"),
    ]
    names = [p.name for p in presets(OwnRunScene(run))]
    assert "The same, with pins" not in names and "Fewer tokens, more money" not in names


# ---- the widgets ----------------------------------------------------------------------------


def test_a_move_of_the_window_replays_nothing_and_a_pin_one_policy(explorer):
    explorer.change("start", first_state(explorer.scene))
    tried = explorer.scene._tried
    known = len(tried)
    for stop in explorer.scene.stops:
        explorer.controls["window"].value = stop
    assert len(tried) == known
    explorer.pins[0].value = not explorer.pins[0].value
    assert len(tried) == known + 1


def test_a_long_run_is_not_replayed_before_it_is_asked_for():
    steps = [
        message
        for n in range(READY + 1)
        for message in (assistant("", [tool_call(f"c{n}", "f", n=n)]), tool_result(f"c{n}", "x"))
    ]
    scene = OwnRunScene([system("s"), user("t"), *steps])
    scene.make_ready(first_state(scene))
    assert scene._tried == {}


def test_of_a_long_run_the_techniques_are_those_of_its_end():
    run = [
        message
        for n in range(MOST_CALLS + 9)
        for message in (assistant("", [tool_call(f"c{n}", "f", n=n)]), tool_result(f"c{n}", "x"))
    ]
    scene = OwnRunScene([system("s"), user("t"), *run])
    state = first_state(scene)
    assert {len(each.run.rows) for each in scene.techniques(state)} == {MOST_CALLS}
    assert scene.shape.calls == MOST_CALLS + 9
    assert f"techniques on the last {MOST_CALLS} model calls" in RunExplorer(scene).about


def test_at_most_ten_pins_and_each_switches(explorer):
    assert 0 < len(explorer.pins) <= MOST_PINS
    explorer.change("start", RunState(10))
    explorer.pins[1].value = True
    assert explorer.state.pins == frozenset({1})
    assert "1 pin brings that to" in explorer.picture.value
    explorer.pins[1].value = False
    assert explorer.state.pins == frozenset()
    assert explorer.pins[1].tooltip.startswith(explorer.scene.proposed[1].value)


def test_a_preset_moves_every_control(explorer):
    for button, preset in zip(explorer.presets, presets(explorer.scene), strict=True):
        button.click()
        assert explorer.controls["window"].value == preset.state.window
        assert {at for at, box in enumerate(explorer.pins) if box.value} == set(preset.state.pins)
        assert preset.sentence in explorer.title.value.replace("&#x27;", "'")


def test_only_another_window_or_other_pins_are_compared(explorer):
    state = first_state(explorer.scene)
    assert not explorer.is_comparable(replace(state, prices="Google"), state)
    assert explorer.is_comparable(replace(state, window=1), state)
    assert explorer.is_comparable(replace(state, pins=frozenset()), state)


def test_the_saved_picture_says_what_is_on_it(explorer):
    data = explorer.box._repr_mimebundle_()[0]
    words = data["text/plain"]
    assert explorer.scene.sentence(first_state(explorer.scene)) in words
    assert "Biggest results: read_file" in words and "Run the cell to move it." in words
    assert re.search(r'alt="[^"]{20,}"', data["text/html"])


# ---- what goes in ---------------------------------------------------------------------------


def test_a_list_a_transcript_and_a_file_all_go_in(tmp_path):
    run = RUNS["chat"]
    path = tmp_path / "log.json"
    request = {"messages": run.messages, "tools": list(run.tools)}
    path.write_text(json.dumps(request), encoding="utf-8")
    texts = [
        repr(explore_run(source, **more)._still)
        for source, more in ((run, {}), (run.messages, {"tools": run.tools}), (path, {}))
    ]
    figures = {tuple(re.findall(r"\d[\d,.]*", text.split("·", 1)[1])) for text in texts}
    assert len(figures) == 1
    assert texts[0].startswith("The support chat") and texts[2].startswith("log.json")


def test_one_of_many_runs_is_chosen(tmp_path):
    path = tmp_path / "two.jsonl"
    runs = [{"messages": RUNS["chat"].messages[:n]} for n in (20, 40)]
    path.write_text("\n".join(map(json.dumps, runs)), encoding="utf-8")
    calls = sum(m["role"] == "assistant" for m in RUNS["chat"].messages[:40])
    second = RunExplorer(OwnRunScene(RUNS["chat"].messages[:40]))
    assert f"{calls} model calls" in second.about
    still = repr(explore_run(path, run=2)._still)
    assert still.split("·", 1)[1] == repr(second.box._still).split("·", 1)[1]


def test_what_its_reader_mended_stands_under_the_title():
    run = Transcript(RUNS["chat"].messages, "log", notes=("Line 812 isn't complete: left out.",))
    scene = OwnRunScene(run.messages, [], run.name)
    assert "Line 812" in RunExplorer(scene, run.notes).about


def test_a_run_without_a_call_is_refused_in_words():
    with pytest.raises(CourseError, match="no assistant message"):
        explore_run([system("s"), user("t")])


def test_a_run_in_which_nothing_comes_back_can_be_looked_at():
    run = [system("s"), user("t"), assistant("Hello.")]
    view = RunExplorer(OwnRunScene(run))
    assert view.pins == [] and "misses 0%" in view.picture.value
    assert reuse(run).uses == ()
