"""The lessons as a learner meets them: in JupyterLab, in a browser, by keyboard, in both themes."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any

import nbformat
import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from course_lib import long_incident
from course_lib.checks.exercises import all_exercises, find_exercise, find_question
from course_lib.views.trim_presets import first_state, presets
from course_lib.views.trim_scene import POLICIES, TrimScene, TrimState, find_findings
from tests.lab_page import THEMES, ExplorerView, Lab, NotebookPage, poor_contrasts

LESSON = "notebooks/03_trim_without_breaking.ipynb"
EXERCISES = "exercises/03_trim_without_breaking.ipynb"
EXPLORERS = ("explore_trim(long_incident())", 'explore_trim("files/')
PICTURE = """async image => {
  await image.decode();
  return {
    alt: image.alt, drawn: image.naturalWidth > 0, visible: image.checkVisibility(),
    live: image.closest(".jp-Cell").querySelector(".jupyter-widgets") !== null,
  };
}"""
SCENE = TrimScene(long_incident(), findings=find_findings(long_incident()))
FIRST = first_state(SCENE)

expect.set_options(timeout=10_000)


@pytest.fixture(scope="module")
def unrun_lesson(lab: Lab, context: BrowserContext) -> tuple[NotebookPage, list[dict[str, Any]]]:
    """Lesson 3 as it opens, and the pictures that its explorers then are."""
    notebook = NotebookPage(context.new_page()).open(lab.url(LESSON))
    pictures = [notebook.cell(notebook.index_of(source)).get_by_role("img") for source in EXPLORERS]
    return notebook, [picture.evaluate(PICTURE) for picture in pictures]


@pytest.fixture(scope="module")
def lesson(unrun_lesson: tuple[NotebookPage, list[dict[str, Any]]]) -> NotebookPage:
    """Lesson 3, all cells run."""
    notebook, _ = unrun_lesson
    notebook.run_all()
    return notebook


@pytest.fixture
def explorer(lesson: NotebookPage) -> ExplorerView:
    """The explorer of the incident, made anew."""
    index = lesson.index_of(EXPLORERS[0])
    lesson.run(index)
    view = ExplorerView(lesson, index)
    view.start_at_the_top()
    return view


@pytest.fixture(scope="module")
def exercise_tab(lab: Lab, context: BrowserContext) -> NotebookPage:
    return NotebookPage(context.new_page()).open(lab.url(EXERCISES))


@pytest.fixture
def exercises(lab: Lab, exercise_tab: NotebookPage) -> NotebookPage:
    """The exercises of lesson 3 with nothing written yet, all cells run."""
    (lab.root / "progress.json").unlink(missing_ok=True)
    stubs = nbformat.read(lab.root / EXERCISES, 4)
    for index, cell in enumerate(stubs.cells):
        exercise_tab.write(index, cell.source)
    exercise_tab.run_all()
    return exercise_tab


def assert_shows(explorer: ExplorerView, state: TrimState, before: TrimState | None) -> None:
    """The figures and the sentence in the page are those of this state."""
    items = SCENE.readouts(state, before)
    figures = [" ".join(filter(None, (i.value, i.change, i.caption))) for i in items]
    expect(explorer.readouts).to_contain_text(figures, use_inner_text=True)
    expect(explorer.sentence).to_have_text(SCENE.sentence(state))


def words(state: TrimState) -> tuple:
    return SCENE.readouts(state), SCENE.sentence(state)


# ---- the notebooks open and run -------------------------------------------------------------


def test_the_start_page_opens_at_the_printed_address_and_runs(
    lab: Lab, context: BrowserContext
) -> None:
    notebook = NotebookPage(context.new_page()).open(lab.address)
    assert "notebooks/00_start_here.ipynb" in notebook.page.url
    expect(notebook.page.get_by_role("heading", name="Start here")).to_be_visible()
    notebook.run_all()
    assert notebook.error_outputs() == []
    assert notebook.errors == []
    # The question about news, and the choice of a kernel.
    expect(notebook.page.locator(".Toastify__toast, .jp-Dialog")).to_have_count(0)
    notebook.page.close()


def test_a_saved_explorer_is_a_picture_with_words_before_anything_runs(
    unrun_lesson: tuple[NotebookPage, list[dict[str, Any]]],
) -> None:
    for picture in unrun_lesson[1]:
        assert picture["drawn"] and picture["visible"] and not picture["live"]
        assert "the model reads" in picture["alt"]


def test_lesson_3_runs_and_its_explorers_come_alive(lesson: NotebookPage) -> None:
    assert lesson.error_outputs() == []
    assert lesson.errors == []
    for source in EXPLORERS:
        view = ExplorerView(lesson, lesson.index_of(source))
        expect(view.slider("step")).to_be_visible()
        expect(view.sentence).to_be_visible()


# ---- the explorer by keyboard ---------------------------------------------------------------

SLIDERS = [
    # label, field, policy that it belongs to, key, value after one press
    ("step", "step", FIRST.policy, "ArrowLeft", FIRST.step - 1),
    ("budget (tokens)", "budget", FIRST.policy, "ArrowRight", FIRST.budget + 100),
    ("high water (%)", "high", FIRST.policy, "ArrowLeft", FIRST.high - 5),
    ("low water (%)", "low", FIRST.policy, "ArrowUp", FIRST.low + 5),
    ("window (groups)", "window", "sliding window", "ArrowDown", FIRST.window - 1),
]


@pytest.mark.parametrize(("label", "field", "policy", "key", "value"), SLIDERS)
def test_a_slider_moves_by_an_arrow_key(
    explorer: ExplorerView, label: str, field: str, policy: str, key: str, value: int
) -> None:
    before = replace(FIRST, policy=policy)
    after = replace(before, **{field: value})
    assert words(after) != words(before)
    if policy != FIRST.policy:
        explorer.notebook.tab_to(explorer.button(policy)).press("Space")
        assert_shows(explorer, before, FIRST)
    explorer.notebook.tab_to(explorer.slider(label)).press(key)
    expect(explorer.slider(label)).to_have_attribute("aria-valuetext", str(value))
    assert_shows(explorer, after, None if field == "step" else before)


@pytest.mark.parametrize("policy", [p for p in POLICIES if p != FIRST.policy])
@pytest.mark.parametrize("key", ["Space", "Enter"])
def test_a_policy_is_chosen_by_keyboard(explorer: ExplorerView, policy: str, key: str) -> None:
    explorer.notebook.tab_to(explorer.button(policy)).press(key)
    assert_shows(explorer, replace(FIRST, policy=policy), FIRST)


def test_the_summary_is_switched_by_keyboard(explorer: ExplorerView) -> None:
    expect(explorer.status(1)).to_contain_text("summarised")
    explorer.notebook.tab_to(explorer.checkbox("summary of dropped groups")).press("Space")
    assert_shows(explorer, replace(FIRST, summary=False), FIRST)
    expect(explorer.status(1)).to_contain_text("dropped")


def test_a_sweep_is_chosen_by_keyboard(explorer: ExplorerView) -> None:
    sweep = explorer.box.get_by_role("img", name="Sweep along budget")
    expect(sweep).to_have_count(0)
    # A closed list would leave its arrow keys to JupyterLab, so: open, down, choose.
    explorer.notebook.tab_to(explorer.box.get_by_role("combobox", name="lower picture"))
    for key in ("Space", "ArrowDown", "Enter"):
        explorer.notebook.page.keyboard.press(key)
    expect(sweep).to_be_visible()
    expect(sweep).to_contain_text("findings alive at the end")


def test_each_preset_is_pressed_by_keyboard(explorer: ExplorerView) -> None:
    before = FIRST
    for preset in presets(SCENE):
        explorer.notebook.tab_to(explorer.button(preset.name)).press("Space")
        assert_shows(explorer, preset.state, before)
        expect(explorer.box.get_by_text(preset.sentence)).to_be_visible()
        before = preset.state


def test_a_pin_brings_a_lost_finding_back(explorer: ExplorerView) -> None:
    alive = explorer.readouts.filter(has_text="findings alive")
    explorer.button("The finding is lost").press("Space")
    expect(explorer.status(3)).to_contain_text("dropped")
    expect(alive).to_contain_text("✕ 2 of 3")
    explorer.notebook.tab_to(explorer.checkbox("step 3")).press("Space")
    expect(explorer.status(3)).to_contain_text("pinned")
    expect(alive).to_contain_text("✓ 3 of 3")


def test_a_pin_stands_beside_its_row_also_after_scrolling(explorer: ExplorerView) -> None:
    for step in (1, len(SCENE.groups)):
        explorer.notebook.tab_to(explorer.checkbox(f"step {step}"))
        pin, row = explorer.checkbox(f"step {step}"), explorer.status(step)
        assert middle(pin) == pytest.approx(middle(row), abs=6), f"step {step}"


def middle(part: Locator) -> float:
    """Where it stands on the page, in pixels from the top."""
    frame = part.bounding_box()
    return frame["y"] + frame["height"] / 2


def test_play_walks_through_the_steps_and_stops(explorer: ExplorerView) -> None:
    explorer.notebook.tab_to(explorer.slider("step")).press("Home")
    assert_shows(explorer, replace(FIRST, step=1), None)
    play = explorer.box.locator(".widget-play button").first
    explorer.notebook.tab_to(play).press("Space")
    assert_shows(explorer, replace(FIRST, step=3), None)
    expect(play.locator("i")).to_have_class(re.compile("pause"))
    play.press("Space")
    expect(play.locator("i")).to_have_class(re.compile("play"))


NAMELESS = re.compile(r'- (button|checkbox|combobox|slider|spinbutton)( "\W*")?( \[[^]]*\])*:?')


@pytest.mark.xfail(
    reason="ipywidgets names neither a slider's handle nor Play's buttons", strict=True
)
def test_each_control_has_a_name_for_those_who_listen(explorer: ExplorerView) -> None:
    controls = explorer.box.aria_snapshot().splitlines()
    assert [line for line in map(str.strip, controls) if NAMELESS.fullmatch(line)] == []


MOVES = [
    ("slider", "step", "Home"),
    ("slider", "step", "End"),
    ("slider", "budget (tokens)", "Home"),
    ("slider", "budget (tokens)", "End"),
    ("slider", "low water (%)", "Home"),
    ("slider", "high water (%)", "End"),
    ("slider", "high water (%)", "Home"),
    ("checkbox", "summary of dropped groups", "Space"),
    ("checkbox", "step 5", "Space"),
    *(("button", preset.name, "Space") for preset in presets(SCENE)),
    ("button", "append all", "Space"),
    ("button", "sliding window", "Space"),
    ("slider", "window (groups)", "Home"),
    ("slider", "window (groups)", "End"),
]


def test_nothing_jumps_whatever_is_moved(explorer: ExplorerView) -> None:
    first, jumps = explorer.frames(), []
    for kind, name, key in MOVES:
        getattr(explorer, kind)(name).press(key)
        jumps += [f"{key} on {name}"] * explorer.has_moved(first)
    views = explorer.box.get_by_role("combobox", name="lower picture")
    for label in ["all values of budget", "all values of low water (%)"]:
        views.select_option(label)
        expect(explorer.picture("Sweep along")).to_be_visible()
        jumps += [label] * explorer.has_moved(first)
    assert jumps == []


# ---- exercises and predictions --------------------------------------------------------------


def verdict_on(notebook: NotebookPage, name: str) -> Locator:
    """What the check of this exercise shows."""
    return notebook.cell(notebook.index_of(f'check("{name}"')).locator(".jp-OutputArea-output")


def progress_of(notebook: NotebookPage, name: str) -> Locator:
    """The row of this exercise in the table at the top."""
    return notebook.page.get_by_role("row").filter(has_text=find_exercise(name).title)


def test_the_exercises_run_on_their_stubs(exercises: NotebookPage) -> None:
    assert exercises.error_outputs() == []
    assert exercises.errors == []
    names = [exercise.name for exercise in all_exercises(3)]
    assert len(names) == 6
    for name in names:
        expect(verdict_on(exercises, name)).to_contain_text("not attempted yet")
        expect(progress_of(exercises, name)).to_contain_text("not attempted")


def test_a_right_answer_passes_and_the_table_follows(lab: Lab, exercises: NotebookPage) -> None:
    name, points = "hour_ranges", find_exercise("hour_ranges").points
    expect(progress_of(exercises, name)).to_contain_text(f"0 of {points}")
    solution = nbformat.read(lab.root / "solutions" / EXERCISES.rpartition("/")[2], 4)
    answer = next(cell.source for cell in solution.cells if f"def {name}(" in cell.source)
    at = exercises.index_of(f"def {name}(")
    exercises.write(at, answer)
    exercises.run(at, exercises.index_of(f'check("{name}"'))
    expect(verdict_on(exercises, name)).to_contain_text("✓")
    expect(progress_of(exercises, name)).to_contain_text("passed")
    expect(progress_of(exercises, name)).to_contain_text(f"{points} of {points}")


def test_an_endless_loop_gets_a_sentence_and_the_kernel_lives(exercises: NotebookPage) -> None:
    at = exercises.index_of("def hour_ranges(")
    exercises.write(at, "def hour_ranges(hours):\n    while True:\n        pass")
    start = time.monotonic()
    exercises.run(at, exercises.index_of('check("hour_ranges"'))
    assert time.monotonic() - start < 10
    expect(verdict_on(exercises, "hour_ranges")).to_contain_text("still running after 3 seconds")
    exercises.write(at, "6 * 7")
    exercises.run(at)
    expect(exercises.cell(at).locator(".jp-OutputArea-output")).to_have_text("42")


def test_a_prediction_is_made_by_keyboard_and_answered_by_its_own_sentence(
    lesson: NotebookPage,
) -> None:
    question = find_question("cut_by_count")
    index = lesson.index_of('predict("cut_by_count")')
    lesson.run(index)
    cell = lesson.cell(index)
    show, answer = cell.get_by_role("button", name="Show"), cell.get_by_role("status")
    expect(show).to_be_disabled()
    expect(answer).to_have_count(0)
    wrong = next(choice for choice in question.choices if choice != question.right)
    assert question.choices[wrong] != question.choices[question.right]
    for choice, mark in ((wrong, "✗"), (question.right, "✓")):
        cell.get_by_role("radio").first.focus()
        lesson.tab_to(cell.get_by_role("radio", name=choice)).press("Space")
        expect(show).to_be_enabled()
        lesson.tab_to(show).press("Enter")
        expect(answer).to_contain_text(f"{mark} {question.choices[choice]}")


# ---- both themes ----------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
def test_an_explorer_can_be_read_in_both_themes(explorer: ExplorerView, theme: str) -> None:
    explorer.notebook.use_theme(theme)
    assert poor_contrasts(explorer.box) == []
    explorer.box.get_by_role("combobox").select_option("all values of budget")
    expect(explorer.picture("Sweep along")).to_be_visible()
    explorer.button("The finding is lost").press("Space")
    expect(explorer.readouts.filter(has_text="findings alive")).to_contain_text("✕")
    assert poor_contrasts(explorer.box) == []


@pytest.mark.parametrize("theme", THEMES)
def test_a_check_and_the_progress_table_can_be_read_in_both_themes(
    exercises: NotebookPage, theme: str
) -> None:
    exercises.use_theme(theme)
    at = exercises.index_of("def hour_ranges(")
    exercises.write(at, "def hour_ranges(hours):\n    return 'all'")
    exercises.run(at, exercises.index_of('check("hour_ranges"'))
    expect(verdict_on(exercises, "hour_ranges")).to_contain_text("✗")
    assert poor_contrasts(verdict_on(exercises, "hour_ranges")) == []
    expect(progress_of(exercises, "hour_ranges")).to_contain_text("failed")
    table = exercises.cell(exercises.index_of("progress(3)"))
    assert poor_contrasts(table.locator(".jp-OutputArea-output")) == []
