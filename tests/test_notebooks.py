"""What a reader meets in a saved notebook; that its outputs are right is nbval's to say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest

from course_lib.checks.exercises import all_exercises

ROOT = Path(__file__).parents[1]
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTIONS = sorted((ROOT / "solutions").glob("*.ipynb"))
EXERCISES = sorted((ROOT / "exercises").glob("*.ipynb"))


def name(path):
    return f"{path.parent.name}/{path.name}"


def read(path):
    return nbformat.read(path, 4)


def code_cells(path):
    return [cell for cell in read(path).cells if cell.cell_type == "code" and cell.source.strip()]


def outputs(path):
    return [output for cell in code_cells(path) for output in cell.outputs]


saved = pytest.mark.parametrize("path", LESSONS + SOLUTIONS, ids=name)
every = pytest.mark.parametrize("path", LESSONS + SOLUTIONS + EXERCISES, ids=name)


def test_there_are_lessons_and_each_exercise_has_a_solution():
    assert LESSONS
    assert [path.name for path in EXERCISES] == [path.name for path in SOLUTIONS]
    assert EXERCISES


@saved
def test_every_code_cell_has_been_run_in_order(path):
    counts = [cell.execution_count for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1))


@saved
def test_no_error_and_nothing_on_stderr_is_saved(path):
    assert [o for o in outputs(path) if o.output_type == "error"] == []
    assert [o for o in outputs(path) if o.get("name") == "stderr"] == []


@every
def test_no_widget_state_and_no_widget_view_is_saved(path):
    assert "widgets" not in read(path).metadata
    assert "widget-view" not in json.dumps([o.get("data", {}) for o in outputs(path)])


@every
def test_the_notebook_is_valid_and_its_cells_have_ids_of_their_own(path):
    notebook = read(path)
    nbformat.validate(notebook)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert not any(re.fullmatch(r"[0-9a-f]{8}|[0-9a-f-]{36}", id) for id in ids)


@saved
def test_every_picture_has_alt_text(path):
    text = "".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    assert all(alt.strip() for alt in re.findall(r"!\[(.*?)\]\(", text))
    for output in outputs(path):
        data = output.get("data", {})
        assert not any(kind.startswith("image/") for kind in data), "a picture without alt text"
        for picture in re.findall(r"<img\b[^>]*>", data.get("text/html", "")):
            assert re.search(r'alt="[^"]{20,}"', picture)


@every
def test_cells_are_short(path):
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            prose = [line for line in cell.source.splitlines() if not line.startswith("|")]
            assert len(" ".join(prose).split()) <= 80, cell.source[:60]
        elif "### BEGIN SOLUTION" not in cell.source:
            assert len([line for line in cell.source.splitlines() if line.strip()]) <= 12, cell.id


@every
def test_only_the_first_code_cell_imports(path):
    for cell in code_cells(path)[1:]:
        assert not re.search(r"^\s*(from \S+ )?import ", cell.source, re.MULTILINE), cell.id


@every
def test_links_lead_somewhere(path):
    for cell in read(path).cells:
        for target in re.findall(r"\]\(([^)#]+)\)", cell.source):
            if not target.startswith(("http", "mailto")):
                assert (path.parent / target).exists(), target


@every
def test_no_emoji_and_no_path_of_a_machine(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search("[\U0001f300-\U0001faff]", text)
    assert not re.search(r"/(root|home|tmp|Users)/", text)


@pytest.mark.parametrize("path", LESSONS[1:], ids=name)
def test_a_lesson_asks_before_it_tells_and_ends_in_something_to_use(path):
    sources = [cell.source for cell in read(path).cells]
    assert sum(source.startswith("predict(") for source in sources) >= 2
    assert re.search(r"\d+ minutes", sources[0])
    assert "**After this lesson**" in sources[0]
    assert "**Use it tomorrow:**" in "".join(sources[-2:])
    assert any(source.startswith("explore_") for source in sources)


def test_the_exercises_hold_no_line_of_a_solution():
    for solution, exercise in zip(SOLUTIONS, EXERCISES, strict=True):
        text = exercise.read_text(encoding="utf-8")
        for cell in read(solution).cells:
            for block in re.findall(r"### BEGIN SOLUTION\n(.*?)### END", cell.source, re.DOTALL):
                lines = [line.strip() for line in block.splitlines() if len(line.strip()) > 25]
                assert not [line for line in lines if json.dumps(line)[1:-1] in text]


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


@pytest.mark.parametrize("path", LESSONS[1:], ids=name)
def test_the_readme_and_the_map_tell_what_a_lesson_and_its_exercises_take(path):
    exercises = all_exercises(int(path.name[:2]))
    title = read(path).cells[0].source.splitlines()[0].partition("· ")[2]
    minutes = re.search(r"^(\d+) minutes\.", read(path).cells[0].source, re.MULTILINE)[1]
    told = read(path.parents[1] / "exercises" / path.name).cells[0].source
    needed, points = re.search(r"about (\d+) minutes, (\d+) points", told).groups()
    assert int(points) == sum(exercise.points for exercise in exercises)
    assert abs(int(needed) - sum(exercise.minutes for exercise in exercises)) < 10
    many = f"[{NUMBERS[len(exercises)]}]({{}}exercises/{path.name}), {needed} minutes"
    row = f"[{title}]({{}}{path.name}) | {minutes} | {many}"
    readme = (path.parents[1] / "README.md").read_text(encoding="utf-8")
    assert row.format("notebooks/", "") + f", {points} points" in readme
    start = "\n".join(cell.source for cell in read(path.with_name("00_start_here.ipynb")).cells)
    assert row.format("", "../") in start
