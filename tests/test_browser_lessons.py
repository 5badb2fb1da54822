"""What holds for every lesson in a browser: it runs, its explorers move by keyboard and stay put."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from course_lib.checks.exercises import all_exercises
from tests.lab_page import ROOT, THEMES, ExplorerView, Lab, NotebookPage, poor_contrasts

LESSONS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
EXERCISES = sorted(path.name for path in (ROOT / "exercises").glob("*.ipynb"))
ENDS = ("Home", "End", "ArrowLeft")  # in this order a slider moves at least twice

expect.set_options(timeout=10_000)


@pytest.fixture(scope="module", params=LESSONS)
def lesson(request: pytest.FixtureRequest, lab: Lab, context: BrowserContext) -> Iterator:
    """Each lesson in turn, all cells run."""
    notebook = NotebookPage(context.new_page()).open(lab.url(f"notebooks/{request.param}"))
    notebook.run_all()
    yield notebook
    notebook.page.close()


@pytest.fixture
def explorers(lesson: NotebookPage) -> list[ExplorerView]:
    """The explorers of the lesson, made anew."""
    views = []
    for index, cell in enumerate(lesson.cells()):
        if cell["cell_type"] == "code" and "".join(cell["source"]).startswith("explore_"):
            lesson.run(index)
            views.append(ExplorerView(lesson, index))
    return views


def state(view: ExplorerView) -> str:
    """All that the pictures of an explorer say, in one text."""
    view.notebook.settle()
    return "".join(view.box.locator(".widget-html-content").evaluate_all(HTML))


HTML = "parts => parts.map(part => part.innerHTML)"


def enabled(controls: Locator) -> list[Locator]:
    return [control for control in controls.all() if control.is_enabled()]


def sliders(view: ExplorerView) -> list[Locator]:
    """The handles of the sliders that can be moved now."""
    handles = view.box.locator(".widget-slider .noUi-target:not([disabled]) .noUi-handle")
    return handles.all()


def test_a_lesson_runs_without_an_error(lesson: NotebookPage) -> None:
    assert lesson.error_outputs() == []
    assert lesson.errors == []


def test_every_slider_moves_the_picture_by_keyboard(explorers: list[ExplorerView]) -> None:
    for view in explorers:
        count = len(sliders(view))
        assert count
        for n in range(count):
            view.notebook.run(view.index)  # anew: where one slider stands, another may do nothing
            handle, seen = sliders(view)[n], set()
            for key in ENDS:
                handle.press(key)
                seen.add(state(view))
            assert len(seen) > 1, f"slider {n}, now at {handle.get_attribute('aria-valuetext')}"


def test_every_preset_says_what_to_see_and_nothing_jumps(explorers: list[ExplorerView]) -> None:
    for view in explorers:
        first, seen, jumps = view.frames(), {state(view)}, []
        for button in enabled(view.box.locator(".stm-presets button")):
            button.press("Space")
            seen.add(state(view))
            jumps += [button.inner_text()] * view.has_moved(first)
            expect(view.box.locator(".stm p[aria-live]")).to_have_text(
                button.get_attribute("title") or "no sentence"
            )
        assert len(seen) > 2
        for handle in sliders(view):
            for key in ENDS:
                handle.press(key)
                jumps += [f"{key} on {handle.get_attribute('aria-valuetext')}"] * view.has_moved(
                    first
                )
        assert jumps == []


@pytest.mark.parametrize("theme", THEMES)
def test_every_explorer_can_be_read(explorers: list[ExplorerView], theme: str) -> None:
    for view in explorers:
        view.notebook.use_theme(theme)
        assert poor_contrasts(view.box) == []


@pytest.mark.parametrize("name", EXERCISES)
def test_exercises_run_on_their_stubs(lab: Lab, context: BrowserContext, name: str) -> None:
    (lab.root / "progress.json").unlink(missing_ok=True)
    shutil.copy(ROOT / "exercises" / name, lab.root / "exercises")  # a tab may have saved answers
    notebook = NotebookPage(context.new_page()).open(lab.url(f"exercises/{name}"))
    notebook.run_all()
    assert notebook.error_outputs() == []
    assert notebook.errors == []
    for exercise in all_exercises(int(Path(name).name[:2])):
        verdict = notebook.cell(notebook.index_of(f'check("{exercise.name}"'))
        expect(verdict.locator(".jp-OutputArea-output")).to_contain_text("not attempted yet")
    notebook.page.close()
