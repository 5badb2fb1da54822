"""The progress file: what a learner has checked, asked for and predicted. Losing it loses no work.

    {"version": 1,
     "exercises": {name: {"status", "points", "attempts", "hints"}},
     "questions": {name: {"first", "right", "tries"}}}

It stands where COURSE_PROGRESS says, else in the project's root as progress.json. With
COURSE_PROGRESS=memory, and where the file can't be written, progress lasts as long as the kernel.
A file that can't be read is put aside as progress.json.bad.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from course_lib.setup.saving import save

State = dict[str, Any]
EXERCISE = {"status": "not attempted", "points": 0, "attempts": 0, "hints": 0}
QUESTION = {"first": "", "right": False, "tries": 0}
_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE = 2.0  # seconds; a write takes milliseconds, so whoever holds the lock longer has died
_memory: State = {}
_listeners: list[Callable[[], None]] = []


def checked(name: str, status: str, points: int) -> None:
    """Note a check. What was passed once stays passed; an untouched stub is no attempt."""

    def change(entry: State) -> State:
        passed = "passed" in (status, entry["status"])
        tried = status != "not attempted"
        return entry | {
            "status": "passed" if passed else status if tried else entry["status"],
            "points": max(points, entry["points"]),
            "attempts": entry["attempts"] + tried,
        }

    _change("exercises", name, EXERCISE, change)


def hinted(name: str, stage: int) -> None:
    """Note that the hint of that stage (1 to 3) was shown."""
    _change("exercises", name, EXERCISE, lambda e: e | {"hints": max(stage, e["hints"])})


def answered(name: str, choice: str | float, right: bool) -> None:
    """Note a prediction; the first choice is kept."""

    def change(entry: State) -> State:
        first = entry["first"] if entry["tries"] else choice
        return {"first": first, "right": entry["right"] or right, "tries": entry["tries"] + 1}

    _change("questions", name, QUESTION, change)


def load() -> State:
    """All that is noted, from the file and from memory."""
    path = _path()
    state = _read(path) if path else None
    state = state or _empty()
    return {"version": 1} | {
        part: state[part] | _memory.get(part, {}) for part in ("exercises", "questions")
    }


def on_change(listener: Callable[[], None]) -> None:
    """Call `listener()` after each note that is taken in this process."""
    if listener not in _listeners:
        _listeners.append(listener)


def _change(part: str, name: str, blank: State, change: Callable[[State], State]) -> None:
    def changed(state: State) -> State:
        entry = change(blank | state[part].get(name, {}))
        return state | {part: state[part] | {name: entry}}

    path = _path()
    try:
        if path is None:
            raise OSError("no place for a file")
        with _locked(path):
            _put_bad_aside(path)
            text = json.dumps(changed(load()), indent=1, sort_keys=True) + "\n"
            save(path, text.encode("utf-8"))
        _memory.clear()
    except OSError:
        _memory.update(changed(load()))
    for listener in _listeners:
        listener()


def _path() -> Path | None:
    named = os.environ.get("COURSE_PROGRESS")
    if named:
        return None if named == "memory" else Path(named)
    # Installed elsewhere than in the course's folder, the folder above isn't the learner's.
    return _ROOT / "progress.json" if (_ROOT / "pyproject.toml").is_file() else None


def _empty() -> State:
    return {"version": 1, "exercises": {}, "questions": {}}


def _read(path: Path) -> State | None:
    """The file's state; None where there is no file, or it is torn or somebody else's."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(state, dict) or state.get("version") != 1:
        return None
    for part, blank in (("exercises", EXERCISE), ("questions", QUESTION)):
        entries = state.get(part)
        if not isinstance(entries, dict) or not all(_fits(e, blank) for e in entries.values()):
            return None
    return state


def _fits(entry: Any, blank: State) -> bool:
    return isinstance(entry, dict) and all(
        key == "first" or isinstance(entry.get(key, value), type(value))
        for key, value in blank.items()
    )


def _put_bad_aside(path: Path) -> None:
    if path.is_file() and _read(path) is None:
        os.replace(path, path.parent / f"{path.name}.bad")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold `progress.json.lock`, so that two kernels don't write over each other's notes."""
    lock = path.parent / f"{path.name}.lock"
    holder, since = None, time.monotonic()
    while not _created(lock):
        now = _stamp(lock)
        if now != holder:
            holder, since = now, time.monotonic()
        elif time.monotonic() - since > _PATIENCE:
            lock.unlink(missing_ok=True)
        time.sleep(0.005)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            lock.unlink(missing_ok=True)


def _created(lock: Path) -> bool:
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    except PermissionError:
        # Windows says so while another process is deleting the lock.
        if os.name == "nt" and lock.exists():
            return False
        raise
    return True


def _stamp(lock: Path) -> int | None:
    try:
        return lock.stat().st_mtime_ns
    except OSError:
        return None
