"""The release: what is in the zip, what isn't, and that it runs where nothing of ours is."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import nbformat
import pytest

from course_lib.checks.exercises import all_exercises
from course_lib.setup.copies import Change, lay_out
from course_lib.setup.environment import ROOT
from course_lib.workshop import release as module
from course_lib.workshop.build import execute, make_exercise
from course_lib.workshop.release import FOLDER, ReleaseError, main, release, replace, zipped
from tests.lab_page import running_lab

LESSON = "notebooks/03_trim_without_breaking.ipynb"
EXERCISES = "exercises/03_trim_without_breaking.ipynb"
SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)
MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)")

# Lines of solutions that learners meet by design: the library's everyday phrases, and what lessons
# show of its code.
BY_DESIGN = {
    'if "tool_call_id" in message:',
    "for i, message in enumerate(messages):",
    'if message["role"] == "tool":',
    "for call in calls_of(message):",
    "result = json.loads(text_of(message))",
    'asked = [i for i, message in enumerate(messages) if message["role"] == "assistant"]',
    "for rule in constraints_in(messages)",
    "head, groups = turn_groups(messages)",  # lesson 3
    "return head + sum(groups, [])",  # lesson 3
    "summaries, recent = divmod(done, every)",  # lesson 4 shows rolling_summary_reads
    "reads.append(fixed + summary * summaries + per_step * recent)",  # the same
}


@pytest.fixture(scope="module")
def files() -> module.Files:
    """The files of a whole release."""
    return release()


@pytest.fixture(scope="module")
def partial() -> module.Files:
    """The files of a release of lessons 3 and 5."""
    return release((3, 5))


@pytest.fixture(scope="module")
def unpacked(files: module.Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release as a learner unpacks it."""
    return unpack(files, tmp_path_factory.mktemp("downloads"))


def unpack(files: module.Files, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(zipped(files))) as archive:
        archive.extractall(folder)
    return folder / FOLDER


def course(root: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of the course in `root`, by this Python, in an empty home."""
    names = ("COURSE_PROGRESS", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    env = {name: value for name, value in os.environ.items() if name not in names}
    env |= {"HOME": str(home), "USERPROFILE": str(home), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


# ---- what is in it --------------------------------------------------------------------------


def test_all_lessons_and_exercises_are_in_it_and_nothing_for_maintainers(
    files: module.Files,
) -> None:
    for folder in ("notebooks", "exercises"):
        for path in (ROOT / folder).glob("[0-9]*.ipynb"):
            assert f"{folder}/{path.name}" in files
    tops = {PurePosixPath(path).parts[0] for path in files}
    assert tops - {"LICENSE"} == {
        *("README.md", "pyproject.toml", "environment.yml", "requirements.txt"),
        *("notebooks", "exercises", "course_lib"),
    }
    strange = (
        r"workshop/|classroom/|testing|solutions|wrong_|benchmarks|__pycache__|checkpoints|\.pyc"
    )
    assert [path for path in files if re.search(strange, path)] == []


def test_the_zip_opens_into_one_folder_with_files_that_can_be_read(files: module.Files) -> None:
    with zipfile.ZipFile(io.BytesIO(zipped(files))) as archive:
        for info in archive.infolist():
            assert info.filename.startswith(f"{FOLDER}/")
            assert (info.create_system, info.external_attr >> 16) == (3, 0o100644)
            assert (info.date_time, info.compress_type) == ((1980, 1, 1, 0, 0, 0), 0)
        assert archive.testzip() is None


def test_the_same_bytes_from_a_clone_of_windows_that_somebody_has_worked_in(
    files: module.Files, tmp_path: Path
) -> None:
    for name in ("notebooks", "solutions", "course_lib"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("README.md", *(name for name in files if "/" not in name)):
        shutil.copy(ROOT / name, tmp_path)
    for path in tmp_path.rglob("*"):
        if path.suffix in (".py", ".md", ".txt", ".ipynb", ".toml"):
            data = path.read_bytes()
            path.write_bytes(data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    solved = (ROOT / "solutions" / PurePosixPath(EXERCISES).name).read_bytes()
    for left in (
        EXERCISES,
        "notebooks/Untitled.ipynb",
        "notebooks/.ipynb_checkpoints/03.ipynb",
        "my_course/exercises/mine.ipynb",
        "course_lib/__pycache__/answers.cpython-311.pyc",
        "progress.json",
        ".venv/lib.py",
    ):
        (tmp_path / left).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / left).write_bytes(solved)
    assert zipped(release(root=tmp_path)) == zipped(release())


def test_exercises_are_stubs(files: module.Files) -> None:
    for path in (ROOT / "solutions").glob("*.ipynb"):
        made = nbformat.reads(files[f"exercises/{path.name}"].decode("utf-8"), as_version=4)
        assert made == make_exercise(nbformat.read(path, as_version=4))


# ---- what is left out of a part of it -------------------------------------------------------


@pytest.mark.parametrize("which", ["files", "partial"])
def test_every_link_leads_somewhere(which: str, request: pytest.FixtureRequest) -> None:
    released = request.getfixturevalue(which)
    count = 0
    for path, text in texts(released):
        for target in MARKDOWN_LINK.findall(text):
            if "://" not in target:
                place = os.path.normpath(PurePosixPath(path).parent / target.partition("#")[0])
                assert Path(place).as_posix() in released, (path, target)
                count += 1
    assert count > 15


def texts(released: module.Files) -> list[tuple[str, str]]:
    """The texts with links in them: README, and the text cells of the notebooks."""
    found = [("README.md", released["README.md"].decode("utf-8"))]
    for path, data in released.items():
        if path.endswith(".ipynb"):
            cells = json.loads(data)["cells"]
            text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
            found.append((path, text))
    return found


def test_lessons_left_out_are_left_out_everywhere(partial: module.Files) -> None:
    numbered = {int(name[1]) for path in partial if (name := re.search(r"/(\d\d)_.*ipynb", path))}
    assert numbered == {0, 3, 5}
    assert {p for p in partial if re.search(r"checks/lesson", p)} == {
        f"course_lib/checks/lesson{n:02}.py" for n in (0, 3, 5)
    }
    for path in ("README.md", "notebooks/00_start_here.ipynb"):
        text = partial[path].decode("utf-8")
        assert "03_trim_without_breaking" in text and "05_summaries" in text
        assert not re.search(r"0[12467]_\w+\.ipynb", text)
        assert "Memory is a list" not in text


def test_the_start_of_a_part_counts_on_no_other_lesson(
    files: module.Files, partial: module.Files
) -> None:
    start = "notebooks/00_start_here.ipynb"
    for only_whole in (module.WHOLE_COURSE_ONLY, "Lesson 1"):
        assert only_whole in files[start].decode("utf-8")
        assert only_whole not in partial[start].decode("utf-8")


def test_the_whole_releases_notebooks_are_those_of_the_course(files: module.Files) -> None:
    for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"):
        assert files[f"notebooks/{path.name}"] == path.read_bytes().replace(b"\r\n", b"\n")


def test_the_start_is_always_in_it() -> None:
    assert "notebooks/00_start_here.ipynb" in release((4,))
    assert "exercises/04_the_arithmetic_of_a_long_run.ipynb" not in release((0,))


def test_the_readme_names_only_what_is_there(unpacked: Path, tmp_path: Path) -> None:
    text = (unpacked / "README.md").read_text(encoding="utf-8")
    assert not re.search(r"solutions|tests?/|benchmarks|course_lib test|teaching|\[peers\]", text)
    listed = course(unpacked, tmp_path, "-m", "course_lib").stdout
    named = set(re.findall(r"python -m course_lib (\w+)", text))
    assert {"lab", "doctor"} <= named <= set(re.findall(r"^  (\w+)", listed, re.MULTILINE))


@pytest.mark.parametrize("heading", module.README_SECTIONS)
def test_a_section_that_is_gone_from_the_readme_is_missed(heading: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    with pytest.raises(ReleaseError, match=heading):
        module._readme(text.replace(f"## {heading}", "## Something else"))


# ---- it runs where nothing of ours is -------------------------------------------------------


def test_only_commands_that_work_there_are_listed(unpacked: Path, tmp_path: Path) -> None:
    listed = course(unpacked, tmp_path, "-m", "course_lib")
    names = re.findall(r"^  (\w+)", listed.stdout, re.MULTILINE)
    assert names == ["lab", "doctor", "look", "plan"]
    refused = course(unpacked, tmp_path, "-m", "course_lib", "grade")
    assert refused.returncode == 2
    assert "no command 'grade'" in refused.stderr


def test_the_doctor_finds_all_well(unpacked: Path, tmp_path: Path) -> None:
    found = course(unpacked, tmp_path, "-m", "course_lib", "doctor")
    assert found.returncode == 0, found.stdout
    assert str(unpacked) in found.stdout


def test_the_readmes_own_command_opens_a_copy(unpacked: Path, tmp_path: Path) -> None:
    with running_lab(tmp_path, unpacked) as lab:
        assert "/lab/tree/my_course/notebooks/00_start_here.ipynb?" in lab.address
        there = lab.request("GET", "api/contents/my_course/exercises?content=1")["content"]
        assert PurePosixPath(EXERCISES).name in {each["name"] for each in there}


def test_all_checks_are_there_and_load(unpacked: Path, tmp_path: Path) -> None:
    code = (
        "from course_lib.checks.exercises import all_exercises, all_questions\n"
        "from course_lib import hint\n"
        "print(*(e.name for e in all_exercises()))\n"
        "print(len(all_questions()) > 30, hint('hour_ranges', 1))"
    )
    told = course(unpacked, tmp_path, "-c", code)
    first, second = told.stdout.splitlines()
    assert first.split() == [exercise.name for exercise in all_exercises()]
    assert second.startswith("True Hint 1 of 3.")


def test_a_lesson_and_its_exercises_run_with_the_releases_own_course_lib(
    unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    where = nbformat.v4.new_code_cell("import course_lib; print(course_lib.__file__)")
    lesson = nbformat.read(unpacked / LESSON, as_version=4)
    lesson.cells.append(where)
    ran = execute(lesson, unpacked / "notebooks", unpacked)
    assert Path(ran.cells[-1].outputs[0].text.strip()) == unpacked / "course_lib/__init__.py"
    solved = filled_in(nbformat.read(unpacked / EXERCISES, as_version=4))
    ran = execute(solved, unpacked / "exercises", unpacked)
    verdicts = [text for text in shown(ran) if re.match(r"[✓✕○]", text)]
    assert len(verdicts) == len(all_exercises(3))
    assert all(text.startswith("✓") for text in verdicts)


def filled_in(exercise: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The exercise notebook with the solutions' answers in it."""
    solution = nbformat.read(ROOT / "solutions" / PurePosixPath(EXERCISES).name, as_version=4)
    answers = {cell.id: cell.source for cell in solution.cells if "BEGIN SOLUTION" in cell.source}
    for cell in exercise.cells:
        cell.source = answers.get(cell.id, cell.source)
    return exercise


def shown(notebook: nbformat.NotebookNode) -> list[str]:
    """What the cells' values say in text."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.data["text/plain"] for output in outputs if "data" in output]


# ---- no answer is in it ---------------------------------------------------------------------


def solution_lines() -> set[str]:
    """The lines between solution marks that are long enough to be nothing but an answer."""
    cells = [
        "".join(cell["source"])
        for path in (ROOT / "solutions").glob("*.ipynb")
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    ]
    parts = [part for source in cells for part in SOLUTION.findall(source)]
    return {line for part in parts for each in part.splitlines() if len(line := each.strip()) > 25}


def spellings(line: str) -> set[bytes]:
    """A line as it stands in a text, and in the JSON of a notebook."""
    forms = {line, json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1]}
    return {form.encode("utf-8") for form in forms}


def found_in(folder: Path, lines: set[str]) -> dict[str, str]:
    """Which of the lines stand in which file."""
    left = {line: spellings(line) for line in lines}
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        found |= {line: path.name for line, forms in left.items() if any(f in data for f in forms)}
    return found


def test_no_line_of_a_solution_is_in_it_also_after_it_has_run(
    unpacked: Path, tmp_path: Path
) -> None:
    lines = solution_lines() - BY_DESIGN
    assert len(lines) > 100
    loaded = course(unpacked, tmp_path, "-c", "from course_lib import check; check('x', len)")
    assert loaded.returncode == 0, loaded.stderr
    assert list(unpacked.rglob("lesson03*.pyc"))
    assert found_in(unpacked, lines) == {}


def test_the_search_for_answers_finds_what_stands_in_the_course_itself(tmp_path: Path) -> None:
    lines = solution_lines() - BY_DESIGN
    assert found_in(ROOT / "course_lib/checks", lines)
    assert found_in(ROOT / "course_lib/samples", lines)
    assert len(found_in(ROOT / "solutions", lines)) == len(lines)


def test_an_answer_that_has_moved_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWERS", {"course_lib/samples/handoffs.py": "OLD_NAME"})
    with pytest.raises(ReleaseError, match="OLD_NAME"):
        release((5,))


# ---- updates --------------------------------------------------------------------------------


def test_a_newer_release_unpacked_over_it_keeps_what_the_learner_wrote(
    files: module.Files, tmp_path: Path
) -> None:
    root = unpack(files, tmp_path)
    lay_out(root, root / "my_course")
    (root / "progress.json").write_text("{}", encoding="utf-8")
    mine = json.loads((root / "my_course" / LESSON).read_bytes())
    mine["cells"][2]["source"] = "my own words"
    (root / "my_course" / LESSON).write_text(json.dumps(mine), encoding="utf-8")
    unpack({**files, LESSON: files[LESSON].replace(b"A long run", b"A very long run")}, tmp_path)
    changes = [change for change in lay_out(root, root / "my_course") if change.what != "kept"]
    new = LESSON.replace(".ipynb", ".new.ipynb")
    assert changes == [Change(LESSON, "beside", new)]
    assert json.loads((root / "my_course" / LESSON).read_bytes()) == mine
    assert b"A very long run" in (root / "my_course" / new).read_bytes()
    assert (root / "progress.json").read_text(encoding="utf-8") == "{}"


# ---- the file that is written ---------------------------------------------------------------


def test_it_replaces_an_older_release_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "course.zip"
    for version in (b"old", b"new"):
        replace(out, zipped({"README.md": version}))
    assert b"new" in out.read_bytes()
    for other in (b"my thesis", b"", foreign_zip("photos/1.txt"), foreign_zip()):
        out.write_bytes(other)
        with pytest.raises(ReleaseError, match="no release"):
            replace(out, zipped({"README.md": b"new"}))
        assert out.read_bytes() == other


def foreign_zip(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "mine")
    return buffer.getvalue()


def test_it_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "course.zip"
    replace(out, zipped({"README.md": b"old"}))

    def full(new: Path, path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        replace(out, zipped({"README.md": b"new"}))
    assert out.read_bytes() == zipped({"README.md": b"old"})
    assert [path.name for path in tmp_path.iterdir()] == ["course.zip"]


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "course.zip"
    assert main(["--out", str(out)]) == 0
    assert out.read_bytes() == zipped(release())
    said = capsys.readouterr().out
    assert "lessons 1 to 7" in said and re.search(r"SHA-256 [0-9a-f]{64}", said)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--out", "course.zip", "--lessons", "9"], 1, "There is no lesson 9"),
        (["--out", "course.zip", "--lessons", "1,x"], 2, "write lessons as 3 or 1,3,4"),
        (["--out", "course.zip", "--lessons", ""], 2, "write lessons as 3 or 1,3,4"),
        (["--out", "nowhere/course.zip"], 1, "no folder nowhere"),
        (["--out", "."], 1, "no release"),
        ([], 2, "--out"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    arguments: list[str],
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        ended = main(arguments)
    except SystemExit as end:
        ended = end.code
    assert ended == code
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
