"""A learner's own copy: what an update does to it, whatever they did to it before."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from course_lib.setup import copies, lab
from course_lib.setup.copies import Change, lay_out, sentences
from course_lib.setup.environment import ROOT

LESSON = "notebooks/03_trim_without_breaking.ipynb"
NEW = "notebooks/03_trim_without_breaking.new.ipynb"
NEWER = "notebooks/03_trim_without_breaking.new2.ipynb"
EXERCISES = "exercises/03_trim_without_breaking.ipynb"


def notebook(*sources: str, outputs: int = 0, widgets: bool = False) -> bytes:
    """A notebook of code cells, run or not."""
    ran = [{"output_type": "stream", "name": "stdout", "text": f"{n}\n"} for n in range(outputs)]
    cells = [
        {
            "cell_type": "code",
            "id": f"c{n}",
            "metadata": {},
            "execution_count": outputs or None,
            "outputs": ran,
            "source": source.splitlines(keepends=True),
        }
        for n, source in enumerate(sources)
    ]
    metadata = {"widgets": {"state": {}}} if widgets else {}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole).encode("utf-8")


FIRST, SECOND, THIRD = notebook("1 + 1"), notebook("1 + 2"), notebook("1 + 3")
MINE = notebook("1 + 1\nmine = 3")


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A small course: a lesson with a file that it reads, its exercises, and what isn't laid."""
    root = tmp_path / "course"
    for path, data in {
        LESSON: FIRST,
        "notebooks/files/run.jsonl": b"{}\n",
        "notebooks/.ipynb_checkpoints/old.ipynb": FIRST,
        EXERCISES: FIRST,
        "solutions/03_trim_without_breaking.ipynb": SECOND,
    }.items():
        write(root / path, data)
    return root


@pytest.fixture
def target(course: Path) -> Path:
    """The learner's copy of it, laid once."""
    lay_out(course, course / "my_course")
    return course / "my_course"


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def content(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def what(changes: list[Change]) -> dict[str, str]:
    """What became of which file, where something did."""
    return {change.path: change.what for change in changes if change.what != "kept"}


# ---- what is laid ---------------------------------------------------------------------------


def test_lessons_exercises_and_their_files_are_laid_and_nothing_else(course: Path) -> None:
    target = course / "my_course"
    changes = lay_out(course, target)
    laid = {EXERCISES, LESSON, "notebooks/files/run.jsonl"}
    assert [(change.path, change.what) for change in changes] == [(p, "new") for p in sorted(laid)]
    assert content(target).keys() == laid | {copies.MEMORY}
    for path in laid:
        assert (target / path).read_bytes() == (course / path).read_bytes()


def test_a_second_time_changes_no_byte(course: Path, target: Path) -> None:
    before = content(target)
    assert what(lay_out(course, target)) == {}
    assert content(target) == before


def test_what_was_deleted_comes_back(course: Path, target: Path) -> None:
    (target / LESSON).unlink()
    assert what(lay_out(course, target)) == {LESSON: "new"}
    assert (target / LESSON).read_bytes() == FIRST


# ---- updates --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "used",
    [
        FIRST,
        notebook("1 + 1", outputs=2, widgets=True),
        notebook("1 + 1", "", "  \n", outputs=1),  # Shift + Enter in the last cell adds one
    ],
    ids=["untouched", "run", "with an empty cell more"],
)
def test_a_notebook_that_was_only_run_is_updated(course: Path, target: Path, used: bytes) -> None:
    write(target / LESSON, used)
    write(course / LESSON, SECOND)
    assert what(lay_out(course, target)) == {LESSON: "updated"}
    assert (target / LESSON).read_bytes() == SECOND
    assert not (target / NEW).exists()


def test_new_outputs_alone_dont_touch_the_learners(course: Path, target: Path) -> None:
    ran = notebook("1 + 1", outputs=2)
    write(target / LESSON, ran)
    write(course / LESSON, notebook("1 + 1", outputs=1))
    assert what(lay_out(course, target)) == {}
    assert (target / LESSON).read_bytes() == ran


def test_an_edited_notebook_stays_until_the_course_changes(course: Path, target: Path) -> None:
    write(target / LESSON, MINE)
    assert what(lay_out(course, target)) == {}
    write(course / LESSON, SECOND)
    changes = lay_out(course, target)
    assert Change(LESSON, "beside", NEW) in changes
    assert (target / LESSON).read_bytes() == MINE
    assert (target / NEW).read_bytes() == SECOND
    assert what(lay_out(course, target)) == {}


@pytest.mark.parametrize(
    "edited",
    [
        notebook("1 + 1", "# a cell more"),
        notebook(),
        FIRST.replace(b'"code"', b'"markdown"'),
        b"",
        MINE[:60],
        b"[]",
        b"\xff\xfe\x00",
    ],
    ids=["a cell more", "no cell", "another kind", "empty", "torn", "no notebook", "no text"],
)
def test_whatever_was_edited_is_kept(course: Path, target: Path, edited: bytes) -> None:
    write(target / LESSON, edited)
    write(course / LESSON, SECOND)
    assert what(lay_out(course, target)) == {LESSON: "beside"}
    assert (target / LESSON).read_bytes() == edited
    assert (target / NEW).read_bytes() == SECOND


def test_a_newer_one_takes_the_place_of_a_new_one_that_was_only_read(
    course: Path, target: Path
) -> None:
    write(target / LESSON, MINE)
    for version in (SECOND, THIRD):
        write(course / LESSON, version)
        assert Change(LESSON, "beside", NEW) in lay_out(course, target)
        write(target / NEW, notebook("".join(json.loads(version)["cells"][0]["source"]), outputs=3))
    assert [path for path in content(target) if ".new" in path] == [NEW]


def test_a_new_one_that_was_edited_too_is_kept(course: Path, target: Path) -> None:
    write(target / LESSON, MINE)
    write(course / LESSON, SECOND)
    lay_out(course, target)
    write(target / NEW, notebook("1 + 2\nmine, too"))
    write(course / LESSON, THIRD)
    assert Change(LESSON, "beside", NEWER) in lay_out(course, target)
    assert (target / NEW).read_bytes() == notebook("1 + 2\nmine, too")
    assert (target / NEWER).read_bytes() == THIRD


def test_a_new_one_that_was_read_and_deleted_stays_deleted(course: Path, target: Path) -> None:
    write(target / LESSON, MINE)
    write(course / LESSON, SECOND)
    lay_out(course, target)
    (target / NEW).unlink()
    assert what(lay_out(course, target)) == {}
    assert not (target / NEW).exists()


def test_whoever_takes_the_new_one_over_gets_updates_again(course: Path, target: Path) -> None:
    write(target / LESSON, MINE)
    write(course / LESSON, SECOND)
    lay_out(course, target)
    os.replace(target / NEW, target / LESSON)
    write(course / LESSON, THIRD)
    assert what(lay_out(course, target)) == {LESSON: "updated"}


def test_a_lesson_that_left_the_course_stays_with_the_learner(course: Path, target: Path) -> None:
    (course / LESSON).unlink()
    assert what(lay_out(course, target)) == {}
    assert (target / LESSON).read_bytes() == FIRST


def test_a_file_of_data_that_was_edited_is_kept(course: Path, target: Path) -> None:
    write(target / "notebooks/files/run.jsonl", b'{"mine": 1}\n')
    write(course / "notebooks/files/run.jsonl", b'{"new": 1}\n')
    changes = lay_out(course, target)
    assert what(changes) == {"notebooks/files/run.jsonl": "beside"}
    assert (target / "notebooks/files/run.jsonl").read_bytes() == b'{"mine": 1}\n'
    assert (target / "notebooks/files/run.new.jsonl").read_bytes() == b'{"new": 1}\n'


# ---- what goes wrong ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "memory",
    [None, b"", b'{"version": 1, "laid": {"note', b"[]", b'{"version": 2}', b'{"version": 1}'],
)
def test_without_its_memory_it_takes_what_differs_for_edited(
    course: Path, target: Path, memory: bytes | None
) -> None:
    (target / copies.MEMORY).unlink()
    if memory is not None:
        write(target / copies.MEMORY, memory)
    write(target / LESSON, MINE)
    write(course / LESSON, SECOND)
    assert what(lay_out(course, target)) == {LESSON: "beside"}
    assert (target / LESSON).read_bytes() == MINE
    write(course / EXERCISES, SECOND)  # the memory is whole again
    assert what(lay_out(course, target)) == {EXERCISES: "updated"}


@pytest.mark.parametrize("cut_off", range(1, 7))
def test_a_run_that_is_cut_off_anywhere_is_made_good_by_the_next(
    course: Path, monkeypatch: pytest.MonkeyPatch, cut_off: int
) -> None:
    target, replace, calls = course / "my_course", os.replace, []

    def stop_there(new: Path, path: Path) -> None:
        calls.append(path)
        if len(calls) == cut_off:
            raise KeyboardInterrupt
        replace(new, path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stop_there)
        with pytest.raises(KeyboardInterrupt):
            lay_out(course, target)
    assert not [path for path in content(target) if path.endswith(".part")]
    lay_out(course, target)
    write(course / LESSON, SECOND)
    assert what(lay_out(course, target)) == {LESSON: "updated"}
    assert not [path for path in content(target) if ".new" in path]


def test_a_file_that_is_write_protected_is_no_obstacle(course: Path, target: Path) -> None:
    (target / LESSON).chmod(0o444)
    write(course / LESSON, SECOND)
    changed = what(lay_out(course, target))
    # Windows doesn't replace such a file; the others do. The learner has the new one either way.
    there = NEW if changed == {LESSON: "beside"} else LESSON
    assert (target / there).read_bytes() == SECOND


def test_where_windows_refuses_to_replace_a_file_the_new_one_lies_beside(
    course: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def refuse(new: Path, path: Path) -> None:
        if path == target / LESSON:
            raise PermissionError(13, "Permission denied")
        replace(new, path)

    monkeypatch.setattr(os, "replace", refuse)
    write(course / LESSON, SECOND)
    assert what(lay_out(course, target)) == {LESSON: "beside"}
    assert (target / LESSON).read_bytes() == FIRST
    assert (target / NEW).read_bytes() == SECOND


def test_a_folder_in_the_place_of_a_notebook_is_kept(course: Path, target: Path) -> None:
    (target / LESSON).unlink()
    write(target / LESSON / "mine.txt", b"mine")
    write(course / LESSON, SECOND)
    assert what(lay_out(course, target)) == {LESSON: "beside"}
    assert (target / LESSON / "mine.txt").read_bytes() == b"mine"


def test_a_write_protected_course_gives_copies_that_can_be_edited(course: Path) -> None:
    (course / LESSON).chmod(0o444)
    lay_out(course, course / "my_course")
    assert os.stat(course / "my_course" / LESSON).st_mode & 0o200


# ---- what is said ---------------------------------------------------------------------------


def test_the_first_time_one_sentence_says_what_the_copy_is_for(course: Path) -> None:
    (told,) = sentences(lay_out(course, course / "my_course"))
    assert "copy of your own" in told and "never overwrites" in told


def test_nothing_is_said_where_nothing_changed(course: Path, target: Path) -> None:
    assert sentences(lay_out(course, target)) == []
    assert sentences([]) == []


def test_each_change_is_said_in_a_sentence() -> None:
    changes = [
        Change(EXERCISES, "updated"),
        Change(LESSON, "beside", NEW),
        Change("notebooks/04_arithmetic.ipynb", "new"),
        Change("exercises/04_arithmetic.ipynb", "new"),
        Change("notebooks/05_summaries.ipynb", "kept"),
        Change("notebooks/files/picture.png", "new"),
        Change("notebooks/files/run.jsonl", "beside", "notebooks/files/run.new.jsonl"),
    ]
    assert sentences(changes) == [
        "The exercises of lesson 3 have changed. You hadn't edited your copy, so it is the new one"
        " now.",
        "Lesson 3 has changed. Your edited copy is kept; the new one lies beside it as"
        " 03_trim_without_breaking.new.ipynb.",
        "Lesson 4 is new.",
        "The exercises of lesson 4 are new.",
        "notebooks/files/run.jsonl has changed. Your edited copy is kept; the new one lies beside it"
        " as run.new.jsonl.",
    ]


# ---- the lab --------------------------------------------------------------------------------


def test_the_lab_opens_the_copy_and_says_what_has_changed(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lab.own_copy(course) == "my_course/notebooks/00_start_here.ipynb"
    assert "copy of your own" in capsys.readouterr().out
    write(course / "my_course" / LESSON, MINE)
    write(course / LESSON, SECOND)
    lab.own_copy(course)
    assert "03_trim_without_breaking.new.ipynb" in capsys.readouterr().out
    lab.own_copy(course)
    assert capsys.readouterr().out == ""


def test_where_no_copy_can_be_written_the_originals_open(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(course / "my_course", b"a file of that name")
    assert lab.own_copy(course) == "notebooks/00_start_here.ipynb"
    assert "the originals open instead" in capsys.readouterr().out


def test_a_copy_that_is_there_opens_also_when_the_disk_is_full(
    course: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(course / "notebooks/00_start_here.ipynb", FIRST)
    lab.own_copy(course)
    write(course / LESSON, SECOND)

    def full(new: Path, path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert lab.own_copy(course) == "my_course/notebooks/00_start_here.ipynb"
    assert "No space left on device" in capsys.readouterr().out


def test_links_of_the_real_notebooks_hold_in_a_copy(tmp_path: Path) -> None:
    lay_out(ROOT, tmp_path)
    linked = set()
    for folder in copies.FOLDERS:
        for path in (tmp_path / folder).glob("*.ipynb"):
            cells = json.loads(path.read_bytes())["cells"]
            text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
            targets = re.findall(r"\]\(([^)#:\s]+)\)", text)
            linked |= {(path.parent / target).resolve() for target in targets}
    assert len(linked) >= 15
    assert [place for place in linked if not place.is_file()] == []
    assert (tmp_path / "notebooks/files/two_runs.jsonl").is_file()  # lessons 1 and 3 read it
