"""Exercises made from solutions, and notebooks run and saved clean."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_lib.checks import exercises as registry
from course_lib.workshop import build
from course_lib.workshop.build import NotebookError, build_exercises, clean, graded, make_exercise

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = '''def how_many(messages):
    """How many there are."""
    ### BEGIN SOLUTION
    secret = len(messages)
    return secret
    ### END SOLUTION'''
WIDGET = "application/vnd.jupyter.widget-view+json"


def code(source: str, id: str = "a-1", **more: object) -> NotebookNode:
    return new_code_cell(source, id=id, **more)


def text(source: str, id: str = "t-1", **metadata: object) -> NotebookNode:
    return new_markdown_cell(source, id=id, metadata=metadata)


def notebook(*cells: NotebookNode) -> NotebookNode:
    return new_notebook(cells=list(cells))


def solution_notebook() -> NotebookNode:
    return notebook(
        text("# Exercises", "t-1"),
        code(SOLUTION, "a-1", execution_count=7),
        code(
            'check("how_many", how_many)',
            "a-2",
            execution_count=9,
            outputs=[new_output("stream", text="secret output")],
        ),
        text("The secret is `len`.", "t-2", tags=["solution-only"]),
    )


# ---- exercises ------------------------------------------------------------------------------


def test_the_solution_becomes_a_stub_and_nothing_of_it_is_left() -> None:
    exercise = make_exercise(solution_notebook())
    assert exercise.cells[1].source == (
        'def how_many(messages):\n    """How many there are."""\n    ...  # your code here'
    )
    everything = nbformat.writes(exercise)
    assert "secret" not in everything and "SOLUTION" not in everything
    compile(exercise.cells[1].source, "stub", "exec")


def test_outputs_and_counts_go_and_ids_stay() -> None:
    exercise = make_exercise(solution_notebook())
    assert [cell.id for cell in exercise.cells] == ["t-1", "a-1", "a-2"]
    code_cells = exercise.cells[1:]
    assert all(not cell.outputs and cell.execution_count is None for cell in code_cells)
    nbformat.validate(exercise)


def test_what_stands_around_the_marks_stays() -> None:
    source = (
        "a = 1\n### BEGIN SOLUTION\nb = 2\n### END SOLUTION\n\ndef f():\n    x = 1\n"
        "    ### BEGIN SOLUTION\n\n    y = 2\n    ### END SOLUTION\n    return x\n"
    )
    assert make_exercise(notebook(code(source))).cells[0].source == (
        "a = 1\n...  # your code here\n\ndef f():\n    x = 1\n"
        "    ...  # your code here\n    return x\n"
    )


def test_cells_get_nbgraders_metadata_and_no_other() -> None:
    given = solution_notebook()
    given.cells[1].metadata = {"collapsed": True, "nbgrader": {"grade_id": "old"}}
    given.cells[0].metadata = {"tags": ["x"]}
    exercise = make_exercise(given)
    assert [dict(cell.metadata) for cell in exercise.cells] == [
        {},
        {
            "nbgrader": {
                "schema_version": 3,
                "solution": True,
                "grade": False,
                "locked": False,
                "task": False,
                "grade_id": "how_many",
            }
        },
        {
            "nbgrader": {
                "schema_version": 3,
                "solution": False,
                "grade": True,
                "locked": True,
                "task": False,
                "grade_id": "how_many_check",
                "points": registry.find_exercise("how_many").points,
            }
        },
    ]


def test_grade_ids_are_unique_and_name_the_function_with_the_solution() -> None:
    check = 'print(1)\ncheck("how_many", how_many)'
    helper = "def helper():\n    return 1\n\n" + SOLUTION
    made = graded(notebook(code(helper, "a"), code(check, "b"), code(check, "c"), code("1", "d")))
    ids = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in made.cells]
    assert ids == ["how_many", "how_many_check", "how_many_check_2", None]
    free = notebook(code("### BEGIN SOLUTION\n1\n### END SOLUTION", "loose"))
    assert graded(free).cells[0].metadata.nbgrader.grade_id == "loose"


def test_a_check_of_no_exercise_is_refused() -> None:
    with pytest.raises(NotebookError, match=r'cell 2 .* checks "how_mny", and no exercise'):
        graded(notebook(text("hello"), code('check("how_mny", how_mny)')))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "### BEGIN SOLUTION\nx",
            r"cell 2 \(`### BEGIN SOLUTION`\) has `### BEGIN SOLUTION` without",
        ),
        ("x\n### END SOLUTION", r"cell 2 \(`x`\) has `### END SOLUTION` where it doesn't"),
        ("### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION", "where it doesn't belong"),
        ("### BEGIN SOLUTION\n### END SOLUTION\n### END SOLUTION", "where it doesn't belong"),
    ],
)
def test_unbalanced_marks_are_refused_with_the_cell(source: str, words: str) -> None:
    with pytest.raises(NotebookError, match=words):
        make_exercise(notebook(text("hello"), code(source)))


def test_marks_in_a_text_cell_are_refused() -> None:
    with pytest.raises(NotebookError, match="cell 1"):
        make_exercise(notebook(text("### BEGIN SOLUTION\nsecret\n### END SOLUTION")))


def test_the_functions_change_nothing_that_they_are_given() -> None:
    given = solution_notebook()
    before = copy.deepcopy(given)
    make_exercise(given)
    clean(given, "03_x")
    assert given == before


def test_build_exercises_writes_the_same_bytes_each_time(tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    source = tmp_path / "solutions" / "03_x.ipynb"
    source.write_text(nbformat.writes(solution_notebook()), encoding="utf-8")
    seen = []
    for _ in range(2):
        assert build_exercises(tmp_path) == 0
        seen.append((tmp_path / "exercises" / "03_x.ipynb").read_bytes())
    assert seen[0] == seen[1] and seen[0].endswith(b"}\n") and b"\r" not in seen[0]
    assert json.loads(seen[0])["cells"][1]["source"][-1] == "    ...  # your code here"


def test_build_exercises_names_the_one_that_it_could_not_make(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "01_torn.ipynb").write_text("{", encoding="utf-8")
    (tmp_path / "solutions" / "02_open.ipynb").write_text(
        nbformat.writes(notebook(code("### BEGIN SOLUTION"))), encoding="utf-8"
    )
    assert build_exercises(tmp_path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("01_torn.ipynb: left as it was, because it can't be read")
    assert lines[1].startswith("02_open.ipynb: left as it was, because cell 1")
    assert list((tmp_path / "exercises").iterdir()) == []


# ---- clean ----------------------------------------------------------------------------------


def test_clean_drops_widgets_and_keeps_what_stands_beside_them() -> None:
    view = {"model_id": "abc", "version_major": 2, "version_minor": 0}
    shown = {WIDGET: view, "text/plain": "Hello", "text/html": "<b>Hello</b>"}
    outputs = [
        new_output("display_data", data=shown),
        new_output("display_data", data={WIDGET: view}),
        new_output("execute_result", data={"image/png": "abcd"}, execution_count=40),
    ]
    given = notebook(code("x", outputs=outputs, execution_count=40))
    given.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {"state": {}}}
    cleaned = clean(given, "03_x")
    assert [dict(output.data) for output in cleaned.cells[0].outputs] == [
        {"text/plain": "Hello", "text/html": "<b>Hello</b>"},
        {"image/png": "abcd"},
    ]
    assert "widget" not in nbformat.writes(cleaned)


def test_clean_drops_times_and_versions_and_counts_in_order() -> None:
    times = {"execution": {"iopub.execute_input": "2031-01-01T00:00:00Z"}, "scrolled": True}
    result = new_output("execute_result", data={"text/plain": "1"}, execution_count=7)
    given = notebook(
        code("1", "a", execution_count=7, metadata=times | {"tags": ["keep"]}, outputs=[result]),
        code("2", "b"),
        code("3", "c", execution_count=12),
    )
    given.metadata = {
        "kernelspec": {"name": "my-env", "display_name": "Mine", "language": "python"},
        "language_info": {"name": "python", "version": "3.11.7"},
        "toc": {},
    }
    cleaned = clean(given, "03_x")
    assert cleaned.metadata == {
        "kernelspec": {
            "name": "python3",
            "display_name": "Python 3 (ipykernel)",
            "language": "python",
        },
        "language_info": {"name": "python"},
    }
    assert [cell.execution_count for cell in cleaned.cells] == [1, None, 2]
    assert cleaned.cells[0].outputs[0].execution_count == 1
    assert cleaned.cells[0].metadata == {"tags": ["keep"]}


def test_clean_joins_what_was_printed_in_pieces() -> None:
    pieces = [
        new_output("stream", name="stdout", text="a"),
        new_output("stream", name="stdout", text="b\n"),
        new_output("display_data", data={"text/plain": "x"}),
        new_output("stream", name="stdout", text="c"),
    ]
    cleaned = clean(notebook(code("x", outputs=pieces, execution_count=1)), "03_x")
    assert [output.get("text") for output in cleaned.cells[0].outputs] == ["ab\n", None, "c"]


def test_clean_keeps_ids_that_people_made_and_replaces_random_ones() -> None:
    given = notebook(
        text("a", "0f3a9c1e"),
        text("b", "trim-07"),
        text("c", "5f0c2c9e-8a77-4be6-9d8a-1f1e5a1d2c3b"),
        text("d", "other"),
    )
    given.cells[3].id = "trim-07"
    assert [cell.id for cell in clean(given, "03_trim").cells] == [
        "03-01",
        "trim-07",
        "03-02",
        "03-03",
    ]


def test_a_cell_that_is_put_in_between_renames_no_other() -> None:
    cleaned = clean(notebook(text("a", "0f3a9c1e"), text("b", "1f3a9c1e")), "03_trim")
    cleaned.cells.insert(1, text("new", "2f3a9c1e"))
    again = clean(cleaned, "03_trim")
    assert [cell.id for cell in again.cells] == ["03-01", "03-03", "03-02"]
    assert clean(again, "03_trim") == again
    assert clean(notebook(text("a", "0f3a9c1e")), "my notes").cells[0].id == "my-notes-01"


# ---- run and save ---------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose notebooks find course_lib here."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "solutions").mkdir()
    return tmp_path


def saved(path: Path, *sources: str) -> Path:
    cells = [new_code_cell(source) for source in sources]
    path.write_text(nbformat.writes(notebook(*cells)), encoding="utf-8")
    return path


SHOWN = (
    "from course_lib.checks import *",
    "import os, sys\nprint('a', flush=True)\nprint(os.path.basename(os.getcwd()))",
    "progress(3)",
    SOLUTION,
    "check('how_many', how_many)",
    'check("how_many", lambda messages: 0)',
    "hint('how_many')",
    "predict('reads_again')",
    "predict('groups_to_drop')",
    "progress(0)",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
)


def test_a_notebook_is_run_saved_clean_and_passes_nbval(project: Path) -> None:
    path = saved(project / "solutions" / "03_x.ipynb", *SHOWN)
    assert build.build_notebooks(root=project) == 0
    first = path.read_bytes()
    made = nbformat.reads(first.decode("utf-8"), as_version=4)
    assert [cell.execution_count for cell in made.cells] == list(range(1, len(SHOWN) + 1))
    assert made.cells[1].outputs[0].text == "a\nsolutions\n"
    assert "image/png" in made.cells[-1].outputs[0].data
    assert "passed" in made.cells[-2].outputs[0].data["text/plain"]
    for number in (2, 4, 5, 6, 7, 8, 9):
        assert set(made.cells[number].outputs[0].data) == {"text/plain", "text/html"}
    assert made.cells[5].metadata.nbgrader.grade_id == "how_many_check"
    assert "widget" not in first.decode("utf-8") and str(project) not in first.decode("utf-8")

    assert build.build_notebooks([path], root=project) == 0
    assert path.read_bytes() == first

    env = os.environ | {"COURSE_PROGRESS": "memory"}
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-q", str(path)]
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
    assert f"{len(SHOWN)} passed" in done.stdout, done.stdout[-3000:]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("1 / 0", "cell 2 (`1 / 0`) raised ZeroDivisionError: division by zero"),
        ("import warnings\nwarnings.warn('old')", "cell 2 (`import warnings`) wrote to stderr: "),
    ],
)
def test_a_notebook_that_fails_is_left_as_it_was(
    project: Path, capsys: pytest.CaptureFixture, source: str, words: str
) -> None:
    path = saved(project / "notebooks" / "01_x.ipynb", "print(1)", source)
    before = path.read_bytes()
    assert build.build_notebooks([path], root=project) == 1
    assert path.read_bytes() == before
    assert f"01_x.ipynb: left as it was, because {words}" in capsys.readouterr().out
