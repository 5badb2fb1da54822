"""The context explorer: its two walks, its claims, its pictures, and the thin layer of widgets."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from course_lib import (
    CourseError,
    Store,
    explore_context,
    incident,
    long_incident,
    payment_checks,
)
from course_lib.caching import cached_tokens
from course_lib.first_context import FirstContext
from course_lib.messages import assistant, system, text_of, tool_call, tool_result, user, validate
from course_lib.tokens import count_tokens
from course_lib.views import parts
from course_lib.views.context_scene import COLUMNS, MANAGERS, ContextScene, ContextState, give
from course_lib.views.explore_context import ContextExplorer, first_state, presets

LESSON = Path(__file__).parents[1] / "notebooks" / "06_the_working_set.ipynb"
FIRST, MENDED = MANAGERS


@pytest.fixture(scope="module")
def scene():
    return ContextScene(payment_checks(60))


@pytest.fixture
def state(scene):
    return first_state(scene)


@pytest.fixture
def explorer(scene):
    return ContextExplorer(scene)


def preset(scene, name):
    return next(p.state for p in presets(scene) if p.name == name)


def reads(scene, state):
    return [moment.read for moment in scene.walk(state).moments]


# ---- the claims -----------------------------------------------------------------------------


def test_the_plain_class_fills_its_budget_and_then_compacts_at_each_step(scene):
    state = preset(scene, "The plain class")
    assert (state.budget, state.keep_last) == (4000, 4)
    walk = scene.walk(state)
    assert set(range(21, 61)) <= set(walk.compactions)
    assert len([n for n in walk.compactions if n <= 20]) < 10
    assert max(reads(scene, state)[:34]) <= 4000 < min(reads(scene, state)[39:])
    assert scene.where(state)["facts"] == (state.step, 0, 0)
    assert scene.where(state)["results, whole"] == (4, 0, state.step - 4)


def test_the_mended_manager_is_never_over_and_loses_nothing(scene):
    state = preset(scene, "The mended manager")
    walk = scene.walk(state)
    assert max(reads(scene, state)) <= 4000
    assert len(walk.compactions) == 3
    for places in scene.where(replace(state, step=60)).values():
        assert places.lost == 0
    facts = scene.where(replace(state, step=60))["facts"]
    assert facts.inside + facts.stored == 60 and facts.inside > 20


def test_whole_results_make_it_compact_again_and_again(scene, state):
    whole = preset(scene, "Whole results")
    assert len(scene.walk(whole).compactions) >= 6 * len(scene.walk(state).compactions)
    assert max(reads(scene, whole)) <= 4000
    # What tells the two apart isn't what is read in all.
    assert abs(scene.walk(whole).read / scene.walk(state).read - 1) < 0.03
    assert scene.walk(whole).cached < 0.7 * scene.walk(state).cached
    assert scene.where(whole)["results, whole"].inside > 0


def test_ten_whole_steps_are_over_the_classs_budget_from_the_seventh_on(scene):
    ten = preset(scene, "Ten steps kept")
    over = [n for n, read in enumerate(reads(scene, ten), 1) if read > 4000]
    assert over == list(range(7, 61))


def test_under_a_high_cap_the_notes_grow_with_the_run(scene, state):
    def notes(state, step):
        blocks = scene.blocks(replace(state, step=step))
        return sum(block.tokens for block in blocks if block.kind == "notes")

    high = preset(scene, "A second history")
    assert notes(high, 20) < notes(high, 40) < notes(high, 60)
    assert notes(high, 60) > 2.4 * notes(state, 60)
    assert all(notes(state, step) <= state.notes_cap for step in range(1, 61))
    assert scene.where(replace(high, step=60))["what notes say"].stored == 0


def test_without_notes_the_cache_serves_far_more_and_none_is_lost(scene, state):
    bare, tick = preset(scene, "No notes at all"), replace(state, notes_cap=50)
    share = scene.walk(bare).cached / scene.walk(bare).read
    assert share > 1.4 * scene.walk(state).cached / scene.walk(state).read
    # One tick of the slider costs it all, and more costs no more.
    shares = [scene.walk(s).cached / scene.walk(s).read for s in (tick, state)]
    assert abs(shares[0] - shares[1]) < 0.02
    assert "<td>what notes say</td>" in scene.places(bare)
    assert "notes" not in {block.kind for block in scene.blocks(bare)}
    assert scene.where(bare)["what notes say"].lost == 0


# ---- the plain class ------------------------------------------------------------------------


def the_lessons_class():
    """The class as the lesson writes it out."""
    cells = nbformat.read(LESSON, 4).cells
    wanted = ("def summarise", "class FirstContext", "NOTE = ")
    namespace = {}
    for cell in cells:
        if cell.cell_type == "code" and cell.source.startswith(wanted):
            exec(cell.source, namespace)
    return namespace


def test_the_library_has_the_class_that_the_lesson_writes_out():
    lesson = the_lessons_class()
    written = lesson["FirstContext"]("You are careful. " * 30, budget=1200, keep_last=3)
    # Piece by piece in characters, the same rule: over the budget is four characters more.
    ours = FirstContext("You are careful. " * 30, 4 * 1200 + 3, 3, count=len)
    for step in range(1, 80):
        if step % 7 == 0:
            written.notes.append(f"note {step}")
            ours.note(f"note {step}")
        text = f"Step {step}: result\nFACT: item {step}\n" + "some words " * (40 + step % 9)
        written.add(text)
        ours.add(text)
        assert ours.render() == lesson["rendered"](written)
        assert ours.compactions == written.compactions
    assert ours.compactions > 20


def test_the_lessons_demo_ends_as_the_lesson_says():
    demo = the_lessons_class()["demo"]
    assert (demo(40).size(), demo(40).compactions) == (3209, 18)
    assert (demo(400).size(), demo(400).compactions) == (8387, 372)
    assert (demo(400, pinned=False).size(), demo(400, pinned=False).compactions) == (8360, 370)


def test_the_walk_of_the_class_is_the_class(scene, state):
    context = FirstContext(scene.instructions, 4000, 4)
    context.note(scene.task)
    for step, moment in zip(
        scene.steps, scene.walk(replace(state, manager=FIRST)).moments, strict=True
    ):
        for note in step.notes:
            context.note(note)
        context.add(step.text)
        assert "".join(piece.text for piece in moment.pieces) == context.render()
        assert moment.read == context.size()


# ---- the mended manager ---------------------------------------------------------------------


@pytest.mark.parametrize("result_cap", [0, 80])
def test_the_walk_of_the_manager_is_the_manager_with_a_real_store(scene, state, result_cap):
    state = replace(state, result_cap=result_cap)
    store = Store()
    context = scene.manager(state, store)
    for step, moment in zip(scene.steps, scene.walk(state).moments, strict=True):
        give(context, step)
        assert moment.read == context.size() == count_tokens(context.messages())
        assert validate(context.messages()) == []
    prompt = "\n".join(map(text_of, context.messages()))
    gone = [fact for step in scene.steps for fact in step.facts if fact not in prompt]
    assert len(gone) == scene.where(replace(state, step=60))["facts"].stored > 0
    for fact in gone:
        assert fact in text_of(context.recall(f'"{fact}"')[0].message)


def test_the_oldest_notes_go_first(scene, state):
    noted = [note for step in scene.steps for note in step.notes]
    prompt = "\n".join(p.text for p in scene.moment(replace(state, step=60)).pieces)
    block = next(p.text for p in scene.moment(replace(state, step=60)).pieces if p.kind == "notes")
    kept = [note for note in noted if note in block]
    assert kept == noted[-len(kept) :] and 0 < len(kept) < len(noted)
    assert noted[0] not in prompt


def test_the_cache_serves_what_two_prompts_have_in_common(scene, state):
    moments = scene.walk(state).moments
    for old, new in zip(moments, moments[1:], strict=False):
        shared = 0
        for a, b in zip(old.pieces, new.pieces, strict=False):
            if (a.kind, a.text) != (b.kind, b.text):
                break
            shared += b.tokens
        assert new.cached == cached_tokens(shared + 3)
    assert moments[0].cached == 0 and any(moment.cached for moment in moments)
    assert all(not moment.cached for moment in moments if moment.compacted)


def test_a_budget_that_can_not_hold_stops_the_walk_and_says_so(scene, state):
    tight = replace(state, budget=1000, result_cap=0, notes_cap=600)
    walk = scene.walk(tight)
    assert len(walk.moments) == 60
    assert "Stopped at step" in scene.sentence(tight) and "of 1,000" in scene.sentence(tight)
    assert scene.picture(tight)
    assert scene.picture(replace(tight, budget=20))


def test_what_the_sliders_allow_can_be_shown(scene, state):
    low, high, unit = scene.budget_range
    assert low < 4000 < high and 4000 % unit == low % unit == 0
    for budget in (low, high):
        for keep_last in (1, 18):
            for manager in MANAGERS:
                now = replace(state, manager=manager, budget=budget, keep_last=keep_last)
                assert scene.picture(replace(now, result_cap=0, notes_cap=1500))


def test_the_run_is_left_alone(scene, state):
    scene.walk(replace(state, result_cap=20))
    assert scene.messages == payment_checks(60)


# ---- other runs -----------------------------------------------------------------------------


def test_findings_count_as_facts_and_the_structured_summary_tells_of_them():
    scene = ContextScene(long_incident())
    state = replace(first_state(scene), step=len(scene.steps))
    assert sum(scene.where(state)["facts"]) == 3 and scene.where(state)["facts"].lost == 0
    assert scene.walk(state).compactions and not scene.walk(state).trouble
    assert "Facts:" in scene.texts(state)
    # What is said about notes is left out where nobody wrote one.
    assert "No notes at all" not in [preset.name for preset in presets(scene)]


def test_facts_can_be_named_and_tools_count():
    named = ContextScene(incident(), facts=["05:00"])
    assert [step.facts for step in named.steps].count(["05:00"]) == 1
    tool = {"name": "search_logs", "description": "Search the logs of one hour."}
    state = ContextState(MENDED, 1, 1500)
    bare, with_tools = ContextScene(incident()), ContextScene(incident(), tools=[tool])
    more = with_tools.moment(state).read - bare.moment(state).read
    assert more == count_tokens([], tools=[tool]) - count_tokens([])
    assert with_tools.blocks(state)[0].label == "tools"


def test_a_run_without_a_task_or_without_steps_is_refused():
    with pytest.raises(CourseError, match="no user message"):
        explore_context([system("rules"), assistant("done")])
    with pytest.raises(CourseError, match="nothing but a head"):
        explore_context([system("rules"), user("task")])


def test_a_run_without_a_system_message_and_a_file_are_opened(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(nbformat.v4.nbjson.json.dumps(incident()[1:]), encoding="utf-8")
    assert "12 steps" in explore_context(path).children[1].value


# ---- pictures -------------------------------------------------------------------------------


@pytest.mark.parametrize("manager", MANAGERS)
def test_blocks_add_up_to_what_is_read_and_stand_in_the_order_of_the_layout(scene, state, manager):
    order = {
        FIRST: ["head", "notes", "summary", "recent"],
        MENDED: ["head", "summary", "notes", "recent"],
    }[manager]
    for step in range(1, 61):
        now = replace(state, manager=manager, step=step)
        blocks = scene.blocks(now)
        framing = 3 if manager == MENDED else 0
        assert sum(block.tokens for block in blocks) + framing == scene.moment(now).read
        kinds = [block.kind for block in blocks]
        assert kinds == [kind for kind in order if kind in kinds]


def test_the_bar_draws_what_the_cache_serves(scene, state):
    moment = scene.moment(state)
    assert 0 < moment.cached < moment.read
    bar = scene.bar(state)
    width = moment.cached * (parts.WIDTH - 4) / (1.02 * 4000)
    assert f"{moment.cached:,} tokens from the cache" in bar and f"H {width:.1f}" in bar
    nothing = next(n for n, m in enumerate(scene.walk(state).moments, 1) if m.compacted)
    assert "nothing of this call" in scene.bar(replace(state, step=nothing))
    blocks = scene.blocks(state)
    assert "cache" not in parts.budget_bar(blocks, scene.lines(state), "alt", 4000)


def test_the_words_of_a_narrow_bracket_stand_beside_it(scene, state):
    narrow = parts.budget_bar(scene.blocks(state), [], "alt", 10_000, cached=1024)
    assert 'text-anchor="start"' in narrow and "1,024 tokens from the cache" in narrow


def test_readouts_are_those_of_the_moment_and_say_what_changed(scene, state):
    first = replace(state, manager=FIRST)
    values = [readout.value for readout in scene.readouts(first, state)]
    facts = scene.where(first)["facts"]
    assert values[0] == f"{scene.moment(first).read:,}"
    assert values[2] == str(sum(n <= state.step for n in scene.walk(first).compactions))
    assert values[4] == f"{facts.inside} + 0"
    assert scene.readouts(first, state)[0].good is False
    change = scene.walk(first).read / scene.walk(state).read - 1
    assert scene.readouts(first, state)[1].change == f"+{change:.0%}"


def test_the_curve_shows_the_other_manager_and_the_compactions(scene, state):
    curve = scene.curve(state)
    assert FIRST.replace("'", "&#x27;") in curve and curve.count(">compacts</text>") == 3
    assert MENDED in scene.curve(replace(state, manager=FIRST))


def test_table_and_texts_show_the_moment(scene, state):
    table = scene.places(state)
    facts = scene.where(state)["facts"]
    assert f"<td>facts</td><td>{facts.inside}</td><td>{facts.stored}</td><td>0</td>" in table
    assert "PAY-10-0031" in scene.texts(state)
    assert "none yet" in scene.texts(replace(state, step=1))


def test_the_sentence_says_what_only_a_search_finds(scene, state):
    assert "and 26 facts are found by search only" in scene.sentence(state)
    cut = replace(state, result_cap=40)  # the summariser sees results that lack the fact's date
    assert f"and {state.step} facts are found by search only" in scene.sentence(cut)
    assert "no fact has left the prompt" in scene.sentence(replace(state, step=3))
    plain = replace(state, manager=FIRST)
    assert f"{state.step - 4} whole results are nowhere any more" in scene.sentence(plain)
    assert "1 whole result is nowhere" in scene.sentence(replace(plain, step=7, keep_last=6))


def test_captions_have_columns_that_are_wide_enough_for_two_lines(scene, state):
    assert f"grid-template-columns:{COLUMNS}" in scene.picture(state)
    widths = [int(column.removesuffix("fr")) for column in COLUMNS.split()]
    for shown in (state, replace(state, manager=FIRST)):
        # 566 px are left for the columns on a narrow page, and a letter takes some 6.2 of them.
        for readout, width in zip(scene.readouts(shown), widths, strict=True):
            letters = 566 * width / sum(widths) / 6.2
            lines = textwrap.wrap(readout.caption, int(letters))
            assert len(lines) <= 2, readout.caption


def test_one_compaction_is_said_in_the_singular(scene, state):
    first = scene.walk(state).compactions[0]
    said = [scene.readouts(replace(state, step=n))[2].caption for n in (first - 1, first)]
    assert said == ["compactions", "compaction"]


def test_the_same_state_gives_the_same_picture(scene, state):
    assert ContextScene(payment_checks(60)).picture(state) == scene.picture(state)


def test_pictures_have_a_description_and_text_is_escaped():
    nasty = [
        system("<script>alert(1)</script>"),
        user("</svg><b>bold"),
        assistant("Note: <i>look</i>", calls=[tool_call("c", "<i>look</i>", x="<u>")]),
        tool_result("c", "FACT: <img src=x>"),
        assistant("done"),
    ]
    scene = ContextScene(nasty)
    state = first_state(scene)
    html = scene.picture(state) + scene.texts(state) + scene.places(state)
    assert "<script>" not in html and "<img" not in html and "<i>" not in html
    assert all('role="img" aria-label="' in svg for svg in re.findall(r"<svg[^>]*>", html))


# ---- the widgets ----------------------------------------------------------------------------


def test_each_control_changes_the_picture(scene):
    moves = {
        "manager": FIRST,
        "step": 20,
        "budget": 3000,
        "keep_last": 18,
        "notes_cap": 0,
        "result_cap": 0,
    }
    for name, value in moves.items():
        explorer = ContextExplorer(scene)
        before = explorer.picture.value
        explorer.controls[name].value = value
        assert explorer.picture.value != before, name
        assert getattr(explorer.state, name) == value


def test_the_class_has_no_caps_to_set(explorer):
    explorer.controls["manager"].value = FIRST
    assert explorer.controls["notes_cap"].disabled and explorer.controls["result_cap"].disabled
    assert str(explorer.scene.where(explorer.state)["results, whole"].lost) in explorer.places.value
    explorer.controls["manager"].value = MENDED
    assert not explorer.controls["notes_cap"].disabled


def test_a_button_sets_its_state_and_says_what_to_look_at(explorer, scene):
    for button, wanted in zip(explorer.presets, presets(scene), strict=True):
        button.click()
        assert explorer.state == wanted.state
        assert wanted.sentence.split("'")[0] in explorer.title.value


def test_a_saved_explorer_is_a_picture_with_its_words(explorer, scene, state):
    saved = explorer.box._still.mimebundle()
    assert scene.sentence(state) in saved["text/plain"]
    assert "data:image/png;base64," in saved["text/html"]
