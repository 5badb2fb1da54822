"""Makes exercises from solutions, and runs notebooks and saves them clean.

The pure parts are `make_exercise`, `graded` and `clean`: they take a notebook and return a new one,
whose bytes depend on nothing else.
"""

from __future__ import annotations

import ast
import copy
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from course_lib.checks.exercises import find_exercise
from course_lib.messages import CourseError

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = "...  # your code here"
SOLUTION_ONLY = "solution-only"
CELL_SECONDS = 300
_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_CHECK = re.compile(r'^check\(\s*"(\w+)"', re.MULTILINE)
_RANDOM_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}")
_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_KEPT_IN_CELLS = ("editable", "deletable", "nbgrader", "slideshow", "tags")


class NotebookError(CourseError):
    """A notebook that can't be built; the message names the cell."""


def make_exercise(notebook: NotebookNode) -> NotebookNode:
    """The exercise of a solution notebook: solutions become stubs, and no output is left.

    Cells tagged "solution-only" go; ids stay. Raises NotebookError for unbalanced marks.
    """
    exercise = graded(notebook)
    exercise.metadata = copy.deepcopy(_METADATA)
    exercise.cells = [cell for cell in exercise.cells if not _solution_only(cell)]
    for number, cell in enumerate(exercise.cells, 1):
        cell.metadata = {k: v for k, v in cell.metadata.items() if k == "nbgrader"}
        cell.source = _without_solutions(cell, number)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return exercise


def graded(notebook: NotebookNode) -> NotebookNode:
    """The solution notebook with nbgrader's metadata on its solution and check cells.

    Points are those of the exercise. Raises NotebookError for a check of an unknown exercise.
    """
    notebook = copy.deepcopy(notebook)
    taken: set[str] = set()
    for number, cell in enumerate(notebook.cells, 1):
        cell.metadata.pop("nbgrader", None)
        if cell.cell_type != "code":
            continue
        check = _CHECK.search(cell.source)
        if BEGIN in cell.source:
            grading = _grading(_unique(_defined(cell), taken), solution=True)
        elif check:
            name = _unique(f"{check[1]}_check", taken)
            grading = _grading(name, solution=False) | {"points": _points(check[1], cell, number)}
        else:
            continue
        cell.metadata["nbgrader"] = grading
    return notebook


def clean(notebook: NotebookNode, stem: str) -> NotebookNode:
    """The notebook as it is saved: no widget state, times or versions; counts and ids in order.

    A random cell id is replaced by one made from the number at the start of `stem`; others stay.
    """
    notebook = copy.deepcopy(notebook)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = copy.deepcopy(_METADATA)
    new_ids = _new_ids(notebook.cells, stem)
    seen: set[str] = set()
    count = 0
    for cell in notebook.cells:
        if not _is_stable(cell) or cell.id in seen:
            cell.id = next(new_ids)
        seen.add(cell.id)
        cell.metadata = {k: v for k, v in cell.metadata.items() if k in _KEPT_IN_CELLS}
        if cell.cell_type == "code":
            if cell.execution_count is not None:
                count += 1
                cell.execution_count = count
            cell.outputs = list(_clean_outputs(cell))
    return notebook


def build_exercises(root: Path = ROOT) -> int:
    """Write exercises/ from solutions/; gives back 0, or 1 where one couldn't be made."""
    return _for_each(_notebooks(root / "solutions"), lambda path: _build_exercise(path, root))


def build_notebooks(paths: Iterable[str | Path] = (), root: Path = ROOT) -> int:
    """Run the notebooks (all lessons and solutions, if none is named) and save them clean.

    One that raises an error or writes to stderr stays as it was. Gives back 0, or 1 for such a one.
    """
    places = [Path(path) for path in paths] or [root / "notebooks", root / "solutions"]
    found = [path for place in places for path in _notebooks(place)]
    return _for_each(found, lambda path: _build_notebook(path, root))


def execute(notebook: NotebookNode, folder: Path, root: Path = ROOT) -> NotebookNode:
    """The notebook with its outputs, run by this Python in `folder`, with progress of its own.

    Raises NotebookError where a cell raises or writes to stderr, and says which.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = copy.deepcopy(notebook)
    client = NotebookClient(
        notebook,
        kernel_manager_class=_kernel_manager(),
        kernel_name="python3",
        timeout=CELL_SECONDS,
        resources={"metadata": {"path": str(folder)}},
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        try:
            client.execute(env=_environment(root, Path(scratch)))
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            _refuse_failures(notebook)
            raise NotebookError(f"it could not be run to its end: {error}") from None
    _refuse_failures(notebook)
    return notebook


def _build_exercise(path: Path, root: Path) -> None:
    target = root / "exercises" / path.name
    target.parent.mkdir(exist_ok=True)
    _save(make_exercise(_read(path)), target)


def _build_notebook(path: Path, root: Path) -> None:
    notebook = _read(path)
    if path.resolve().parent.name == "solutions":
        notebook = graded(notebook)
    _save(clean(execute(notebook, path.resolve().parent, root), path.stem), path)


def _for_each(paths: list[Path], build: Callable[[Path], None]) -> int:
    failed = 0
    for path in paths:
        try:
            build(path)
            print(f"{path.name}: done")
        except NotebookError as error:
            failed = 1
            print(f"{path.name}: left as it was, because {error}")
    return failed


def _notebooks(place: Path) -> list[Path]:
    if not place.is_dir():
        return [place]
    return sorted(p for p in place.glob("*.ipynb") if not p.name.startswith("."))


def _read(path: Path) -> NotebookNode:
    try:
        return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except (OSError, ValueError) as error:
        raise NotebookError(f"it can't be read as a notebook: {error}") from None


def _save(notebook: NotebookNode, path: Path) -> None:
    # Bytes, so that line ends are the same on every system.
    path.write_bytes(nbformat.writes(notebook).rstrip("\n").encode("utf-8") + b"\n")


def _solution_only(cell: NotebookNode) -> bool:
    return SOLUTION_ONLY in cell.metadata.get("tags", [])


def _without_solutions(cell: NotebookNode, number: int) -> str:
    lines: list[str] = []
    inside = False
    for line in cell.source.split("\n"):
        mark = line.strip()
        if mark in (BEGIN, END) and (cell.cell_type != "code" or inside == (mark == BEGIN)):
            raise NotebookError(f"{_words(cell, number)} has `{mark}` where it doesn't belong.")
        if mark == BEGIN:
            lines.append(line[: line.index(BEGIN)] + STUB)
        if not inside and mark != BEGIN:
            lines.append(line)
        inside = mark != END and (inside or mark == BEGIN)
    if inside:
        raise NotebookError(f"{_words(cell, number)} has `{BEGIN}` without `{END}`.")
    return "\n".join(lines)


def _words(cell: NotebookNode, number: int) -> str:
    first = next((line.strip() for line in cell.source.splitlines() if line.strip()), "")
    return f"cell {number} (`{first[:60]}`)"


def _defined(cell: NotebookNode) -> str:
    """The name of the function or class that holds the solution; else the cell's id."""
    try:
        nodes = ast.parse(cell.source).body
    except SyntaxError:
        nodes = []
    lines = cell.source.split("\n")
    for node in nodes:
        text = lines[node.lineno - 1 : node.end_lineno + 1]
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and any(BEGIN in t for t in text):
            return node.name
    return cell.id


def _points(name: str, cell: NotebookNode, number: int) -> int:
    exercise = find_exercise(name)
    if exercise is None:
        raise NotebookError(
            f'{_words(cell, number)} checks "{name}", and no exercise has that name.'
        )
    return exercise.points


def _grading(name: str, solution: bool) -> dict[str, Any]:
    return {
        "grade": not solution,
        "grade_id": name,
        "locked": not solution,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }


def _unique(name: str, taken: set[str]) -> str:
    count, free = 1, name
    while free in taken:
        count += 1
        free = f"{name}_{count}"
    taken.add(free)
    return free


def _is_stable(cell: NotebookNode) -> bool:
    return bool(cell.get("id")) and not _RANDOM_ID.fullmatch(cell.id)


def _new_ids(cells: list[NotebookNode], stem: str) -> Iterator[str]:
    """Ids that count on from the highest in use, so that a new cell doesn't rename the others."""
    prefix = re.match(r"\d*", stem)[0] or re.sub(r"[^A-Za-z0-9_-]", "-", stem)[:40] or "cell"
    pattern = re.compile(rf"{re.escape(prefix)}-(\d+)")
    used = [int(m[1]) for c in cells if (m := pattern.fullmatch(c.get("id", "")))]
    number = max(used, default=0)
    while True:
        number += 1
        yield f"{prefix}-{number:02}"


def _clean_outputs(cell: NotebookNode) -> Iterator[NotebookNode]:
    stream: NotebookNode | None = None
    for output in cell.outputs:
        if output.output_type == "stream" and stream and stream.name == output.name:
            stream.text += output.text
            continue
        stream = output if output.output_type == "stream" else None
        if "data" in output:
            output.data = {k: v for k, v in output.data.items() if k != _WIDGET_VIEW}
            if not output.data:
                continue
        if "execution_count" in output:
            output.execution_count = cell.execution_count
        yield output


def _refuse_failures(notebook: NotebookNode) -> None:
    for number, cell in enumerate(notebook.cells, 1):
        allowed = "raises-exception" in cell.metadata.get("tags", [])
        for output in cell.get("outputs", []):
            if output.output_type == "error" and not allowed:
                what = f"{output.ename}: {output.evalue}"
                raise NotebookError(f"{_words(cell, number)} raised {what}")
            if output.output_type == "stream" and output.name == "stderr":
                what = output.text.strip().splitlines()[-1]
                raise NotebookError(f"{_words(cell, number)} wrote to stderr: {what}")


def _environment(root: Path, scratch: Path) -> dict[str, str]:
    """Nothing of the maintainer's home or progress gets into a saved notebook."""
    paths = [str(root), os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "COURSE_PROGRESS": str(scratch / "progress.json"),
        "IPYTHONDIR": str(scratch / "ipython"),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }


def _kernel_manager() -> type:
    """A manager whose kernel is this Python, whatever kernels are installed in the user's home."""
    from ipykernel.kernelspec import get_kernel_dict
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            return KernelSpec(**get_kernel_dict(["--log-level=ERROR"]))

    class Manager(AsyncKernelManager):
        def _kernel_spec_manager_default(self) -> KernelSpecManager:
            return ThisPython()

    return Manager
