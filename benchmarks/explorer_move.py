"""What a move of a control costs in the kernel, before a browser has heard of it.

Each control of the trimming explorer goes once through its values, in an explorer made anew: so
each run is met for the first time. Beside each move, one replay of the first state's run.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

from benchmarks.measure import table, timed, times
from course_lib import high_low, long_incident, replay


class Moves(NamedTuple):
    """The seconds of each move of one control, and of a replay beside each."""

    control: list[float]
    replay: list[float]


def main() -> int:
    """Measure and print; 1 where there are no widgets."""
    if find_spec("ipywidgets") is None:
        print("ipywidgets isn't installed, so nothing was measured.", file=sys.stderr)
        return 1
    rows = []
    for name in _explorer().controls:
        for view, words in (("", "this run"), ("budget", "all values of budget")):
            moves = go_through(name, view)
            median = statistics.median(moves.control)
            ratio = median / statistics.median(moves.replay)
            slowest = max(moves.control) / statistics.median(moves.replay)
            count = str(len(moves.control))
            rows.append([f"{name}, {words}", count, times(ratio), times(slowest), _ms(median)])
    head = ("control, lower picture", "moves", "median", "slowest", "median here")
    print(table(head, rows))
    print("(1 is one replay of the run, its tokens counted before)")
    return 0


def go_through(name: str, view: str) -> Moves:
    """Move a control to each of its values, under the policy for which it acts."""
    explorer, moves = _explorer(), Moves([], [])
    if name == "window":
        explorer.controls["policy"].value = explorer.controls["policy"].options[1]
    explorer.view.value = view
    control = explorer.controls[name]
    for value in _values(control):
        if value != control.value:
            moves.control.append(timed(partial(setattr, control, "value", value)).seconds)
            moves.replay.append(timed(partial(_replayed, explorer)).seconds)
    return moves


def _values(control: Any) -> Iterator[Any]:
    """Every value of a slider, a row of buttons or a check box."""
    if hasattr(control, "step"):
        return iter(range(control.min, control.max + 1, control.step))
    return iter(getattr(control, "options", (True, False)))


def _replayed(explorer: Any) -> object:
    """The run of the explorer's first state, replayed by the library's own functions."""
    from course_lib.views.trim_presets import first_state

    state, scene = first_state(explorer.scene), explorer.scene
    policy = high_low(state.budget, state.high / 100, state.low / 100, scene.summarize)
    return replay(scene.messages, policy)


def _explorer() -> Any:
    from course_lib.views.explore_trim import TrimExplorer
    from course_lib.views.trim_scene import TrimScene, find_findings

    messages = long_incident()
    return TrimExplorer(TrimScene(messages, findings=find_findings(messages, None)))


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


if __name__ == "__main__":
    sys.exit(main())
