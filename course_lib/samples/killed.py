"""A run that really dies: another Python works through the payments, and is killed in between."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from course_lib.context import Context
from course_lib.messages import CourseError, text_of
from course_lib.samples.payments import keep_facts, payment_checks
from course_lib.store import Store


def run_and_kill(path: Path, step: int) -> None:
    """Start a run on the store at `path` in another Python; kill it in the middle of a step.

    Its call is on the disk then, and its result isn't. Raises `CourseError` if it ended by itself.
    """
    command = [sys.executable, "-m", "course_lib.samples.killed", str(path), str(step)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env=_environment(), **pipes) as run:
        waits = run.stdout.readline()
        run.kill()
        told = run.stderr.read().decode("utf-8", "replace")
    if not waits:
        raise CourseError(f"the other run ended by itself: {told.strip() or 'it said nothing'}")


def work(path: Path, step: int) -> None:
    """What the other Python does: payment after payment, until a result that never comes."""
    instructions, task, *messages = payment_checks()
    context = Context(
        *map(text_of, (instructions, task)),
        budget=4000,
        result_cap=80,
        summary_cap=1200,
        summarize=keep_facts,
        store=Store(path),
    )
    for message in messages[: 2 * step - 1]:
        context.append(message)
    print("waiting for the bank", flush=True)
    sys.stdin.read()


def _environment() -> dict[str, str]:
    """The other Python finds the same course."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]))
