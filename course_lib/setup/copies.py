"""A learner's own copy of the notebooks: an update adds to it and never overwrites what they wrote.

Standard library only. What was laid is remembered in the copy's folder, in `.course.json`, as a
hash of each notebook's cells; running a notebook changes its outputs, not that.

    {"version": 1, "laid": {"notebooks/03_trim_without_breaking.ipynb": "…", …}}
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

from course_lib.setup.saving import save

FOLDERS = ("notebooks", "exercises")
MEMORY = ".course.json"

Laid = dict[str, str]


class Change(NamedTuple):
    """What became of one file of the course in the copy; paths are relative, with `/`.

    "new" was missing, "updated" hadn't been edited, "kept" was left as it is. "beside": it was
    edited and has changed in the course, so the new one lies beside it, under the name `beside`.
    """

    path: str
    what: Literal["new", "updated", "beside", "kept"]
    beside: str = ""


def lay_out(course: Path, target: Path) -> list[Change]:
    """Lay the notebooks of `course` into `target`; a Change for each file, in order of path.

    Raises `OSError` where nothing can be written to `target`; what is there stays whole.
    """
    target.mkdir(parents=True, exist_ok=True)
    laid = _recall(target)
    changes = []
    for path in _files(course):
        data = (course / path).read_bytes()
        before = dict(laid)
        changes.append(_lay(path, data, target, laid))
        if laid != before:  # at once, so that a run that is cut off is remembered up to there
            _write(target / MEMORY, _memory(laid))
    return changes


def sentences(changes: Sequence[Change]) -> list[str]:
    """What to tell the learner; nothing where nothing has changed."""
    if changes and all(change.what == "new" for change in changes):
        return [
            "You work in a copy of your own: an update of the course never overwrites what you write."
        ]
    return [told for change in changes if (told := _told(change))]


def _told(change: Change) -> str:
    name, have = _called(change.path)
    if change.what == "beside":
        new = change.beside.rpartition("/")[2]
        return (
            f"{name} {have} changed. Your edited copy is kept; the new one lies beside it as {new}."
        )
    numbered = name != change.path
    if change.what == "updated" and numbered:
        return f"{name} {have} changed. You hadn't edited your copy, so it is the new one now."
    be = {"has": "is", "have": "are"}[have]
    return f"{name} {be} new." if change.what == "new" and numbered else ""


def _called(path: str) -> tuple[str, str]:
    """What people call a file, and the verb that goes with it."""
    numbered = re.fullmatch(r"(notebooks|exercises)/0*(\d+)_[^/]*\.ipynb", path)
    if not numbered:
        return path, "has"
    lesson = f"esson {numbered[2]}"
    if numbered[1] == "notebooks":
        return f"L{lesson}", "has"
    return f"The exercises of l{lesson}", "have"


# ---- one file -------------------------------------------------------------------------------


def _lay(path: str, data: bytes, target: Path, laid: Laid) -> Change:
    """Lay one file, and note in `laid` what was laid."""
    wanted, there = fingerprint(path, data), _there(target / path)
    if there == wanted:
        laid[path] = wanted
        return Change(path, "kept")
    missing = not os.path.lexists(target / path)
    if missing or (there is not None and there == laid.get(path)):
        try:
            _write(target / path, data)
        except PermissionError:
            if missing:
                raise
            # Windows doesn't replace a file that is write-protected or open in a program.
        else:
            laid[path] = wanted
            return Change(path, "new" if missing else "updated")
    elif laid.get(path) == wanted:
        return Change(path, "kept")
    return _lay_beside(path, data, target, laid)


def _lay_beside(path: str, data: bytes, target: Path, laid: Laid) -> Change:
    """Lay the new one beside the learner's: where nothing is, or a `.new` that nobody edited."""
    wanted = fingerprint(path, data)
    stem, dot, ending = path.rpartition(".")
    names = (f"{stem}.new{number if number > 1 else ''}{dot}{ending}" for number in count(1))
    name = next(each for each in names if _is_free(each, wanted, target, laid))
    if _there(target / name) != wanted:
        _write(target / name, data)
    # Both are noted: a `.new` that the learner has read and deleted doesn't come back.
    laid[name] = laid[path] = wanted
    return Change(path, "beside", name)


def _is_free(name: str, wanted: str, target: Path, laid: Laid) -> bool:
    there = _there(target / name)
    if there is None:
        return not os.path.lexists(target / name)
    return there in (wanted, laid.get(name))


def fingerprint(path: str, data: bytes) -> str:
    """A hash of what a learner can write: a notebook's cells, any other file's bytes.

    Outputs, metadata and empty cells don't count: running a notebook leaves such behind. A notebook
    that can't be read counts byte for byte.
    """
    if path.endswith(".ipynb"):
        with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            data = json.dumps(list(_sources(json.loads(data)))).encode("ascii")
    return hashlib.sha256(data).hexdigest()


def _sources(notebook: dict) -> Iterator[tuple[str, str]]:
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if source.strip():
            yield cell["cell_type"], source


def _there(path: Path) -> str | None:
    """The fingerprint of a file; None where there is none, or it can't be read."""
    try:
        return fingerprint(path.name, path.read_bytes())
    except OSError:
        return None


# ---- the folder -----------------------------------------------------------------------------


def _files(course: Path) -> list[str]:
    """The files that are laid; hidden ones, such as checkpoints, aren't of the course."""
    found = (path for folder in FOLDERS for path in (course / folder).rglob("*") if path.is_file())
    relative = (path.relative_to(course) for path in found)
    return sorted(
        path.as_posix()
        for path in relative
        if not any(part.startswith((".", "__")) for part in path.parts)
    )


def _recall(target: Path) -> Laid:
    """What was laid before; nothing where the file is torn or somebody else's."""
    try:
        memory = json.loads((target / MEMORY).read_text(encoding="utf-8"))
        laid = memory["laid"] if memory["version"] == 1 else {}
        return {str(path): str(digest) for path, digest in laid.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _memory(laid: Laid) -> bytes:
    text = json.dumps({"version": 1, "laid": laid}, indent=1, sort_keys=True, ensure_ascii=False)
    return text.encode("utf-8") + b"\n"


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, data)
