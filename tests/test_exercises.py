"""Every exercise: its solution passes, its stub does not count, wrong answers are told why."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections import Counter
from pathlib import Path

import nbformat
import pytest

import tests.wrong_answers
from course_lib import check
from course_lib.checks.exercises import all_exercises
from course_lib.workshop.build import make_exercise

ROOT = Path(__file__).parents[1]
SOLUTIONS = sorted((ROOT / "solutions").glob("*.ipynb"))

for _module in pkgutil.iter_modules(tests.wrong_answers.__path__):
    importlib.import_module(f"tests.wrong_answers.{_module.name}")
BANK = tests.wrong_answers.BANK


def functions_of(notebook, names):
    """The functions that a notebook's cells define, by running its imports and definitions."""
    namespace, defined = {"__name__": "notebook"}, set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        kept = [
            node
            for node in ast.parse(cell.source).body
            if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)
        ]
        exec(compile(ast.Module(kept, []), cell.id, "exec"), namespace)
        defined |= {node.name for node in kept if not isinstance(node, ast.Import | ast.ImportFrom)}
    return {name: namespace[name] for name in names if name in defined}


NAMES = [exercise.name for exercise in all_exercises()]
SOLVED = {
    name: function
    for path in SOLUTIONS
    for name, function in functions_of(nbformat.read(path, 4), NAMES).items()
}
STUBS = {
    name: function
    for path in SOLUTIONS
    for name, function in functions_of(make_exercise(nbformat.read(path, 4)), NAMES).items()
}


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


@pytest.mark.parametrize("name", SOLVED)
def test_a_solution_passes(name):
    verdict = check(name, SOLVED[name])
    assert verdict.status == "passed", verdict.message


@pytest.mark.parametrize("name", STUBS)
def test_a_stub_is_not_attempted(name):
    verdict = check(name, STUBS[name])
    assert verdict.status == "not attempted"
    assert "not attempted yet" in verdict.message


@pytest.mark.parametrize("wrong", BANK, ids=lambda wrong: f"{wrong.exercise}: {wrong.mistake}")
def test_a_wrong_answer_is_told_why(wrong):
    verdict = check(wrong.exercise, wrong.answer)
    assert verdict.status == "failed"
    assert wrong.says in verdict.message


def test_every_exercise_has_at_least_three_wrong_answers():
    counts = Counter(wrong.exercise for wrong in BANK)
    assert {name for name in NAMES if counts[name] < 3} == set()


def test_every_exercise_of_a_lesson_has_a_solution():
    wanted = {exercise.name for exercise in all_exercises() if exercise.lesson > 0}
    assert set(SOLVED) == wanted
    assert set(STUBS) == wanted


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.name)
def test_the_exercise_notebook_is_what_the_generator_makes(path):
    made = make_exercise(nbformat.read(path, 4))
    saved = nbformat.read(ROOT / "exercises" / path.name, 4)
    assert saved == made


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.name)
def test_points_in_the_notebook_are_those_of_the_exercises(path):
    points = {exercise.name: exercise.points for exercise in all_exercises()}
    for cell in nbformat.read(path, 4).cells:
        grading = cell.metadata.get("nbgrader", {})
        if grading.get("grade"):
            assert grading["points"] == points[grading["grade_id"].removesuffix("_check")]
