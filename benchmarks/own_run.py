"""A long run of your own: opened from its file, analysed, planned and drawn.

A run of 10,000 messages, some 4 MB. Each step is measured beside the floor, which is to tokenise
every text once; and the growth from 1,000 to 10,000 messages is given as an exponent, where 1
means that ten times the run takes ten times as long.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import Measured, fresh, table, timed, times, tokenise
from benchmarks.transcripts import transcript
from course_lib import plan, read_transcripts, reuse, shape_of
from course_lib.plans import forgiving
from course_lib.replay import replay
from course_lib.tokens import encoding
from course_lib.trimming import sliding_window

SHORT, LONG = 1_000, 10_000
ROUNDS = 2  # the quicker of them counts: what else the machine does can only add


def main() -> int:
    """Measure and print."""
    encoding()
    with tempfile.TemporaryDirectory() as folder:
        short, long = (measured(_written(Path(folder), length)) for length in (SHORT, LONG))
    floor = long["tokenise once"].seconds
    rows = []
    for name, (seconds, _) in long.items():
        exponent = math.log(seconds / short[name].seconds) / math.log(LONG / SHORT)
        rows.append([name, times(seconds / floor), f"{exponent:.2f}", f"{seconds:.2f} s"])
    print(table((f"a run of {LONG:,} messages", "time", "growth", "here"), rows))
    print(f"(time 1 is to tokenise each text once; growth is from {SHORT:,} messages on)")
    return 0


def measured(path: Path) -> dict[str, Measured]:
    """Each step on the run in a file, with all counts still to be made."""
    steps: dict[str, Callable[[list[Any]], Any]] = {
        "tokenise once": tokenise,
        "open the file": lambda _: read_transcripts(path),
        "reuse": lambda messages: reuse(messages, answers=True),
        "shape_of": shape_of,
        "one window, replayed": lambda messages: replay(messages, forgiving(sliding_window(20))),
        "plan": plan,
        "plan, as a page": lambda messages: plan(messages).html(),
        "the explorer, drawn": _drawn,
    }
    messages = read_transcripts(path)[0].messages
    return {name: _quickest(step, messages) for name, step in steps.items()}


def _quickest(step: Callable[[list[Any]], Any], messages: list[Any]) -> Measured:
    def once() -> Measured:
        anew = fresh(messages)
        return timed(lambda: step(anew))

    return min((once() for _ in range(ROUNDS)), key=lambda run: run.seconds)


def _drawn(messages: list[Any]) -> str:
    """All that is drawn when the explorer opens, without a browser."""
    from course_lib.views.explore_run import first_state
    from course_lib.views.run_scene import OwnRunScene

    scene = OwnRunScene(messages)
    state = first_state(scene)
    scene.make_ready(state)
    return scene.shape_picture() + scene.picture(state)


def _written(folder: Path, length: int) -> Path:
    """The run in a file, a message a line, with results of the size that real tools give."""
    path = folder / f"{length}.jsonl"
    lines = [json.dumps(_longer(message, i)) for i, message in enumerate(transcript(length))]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _longer(message: dict[str, Any], number: int) -> dict[str, Any]:
    """A result with the id of an earlier ticket in it, which a later call may come back for."""
    if message["role"] != "tool":
        return message
    return {**message, "content": f"ticket T-{number % 977 + 1000}\n{message['content']}"}


if __name__ == "__main__":
    sys.exit(main())
