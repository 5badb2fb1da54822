"""The explorer of your own run: a window, the pins that it wants, and every technique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as w

from course_lib.caching import PRESETS
from course_lib.messages import CourseError, Message
from course_lib.plans import FAR, MISSED, MOST_CALLS
from course_lib.transcript import Transcript
from course_lib.views.explorer import Explorer, LiveExplorer, Preset, opened
from course_lib.views.figures import draw_run
from course_lib.views.run_scene import SHOWN, OwnRunScene, RunState


def explore_run(
    source: str | Path | Transcript | Sequence[Message],
    *,
    run: int | None = None,
    tools: Sequence[dict[str, Any]] | None = None,
) -> Explorer:
    """Look into a run of your own agent: a file, a transcript, or a list of messages.

    `run` chooses among the runs of a file that holds many, counted from 1. `tools` are the tool
    schemas that go with each model call.

    Raises `CourseError` if there is no assistant message in the run, so no model call.
    """
    transcript = opened(source, run)
    given = list(tools if tools is not None else transcript.tools)
    if not any(message["role"] == "assistant" for message in transcript.messages):
        raise CourseError("There is no assistant message in this run, so no call to see.")
    scene = OwnRunScene(transcript.messages, given, transcript.name or "This run")
    return RunExplorer(scene, transcript.notes).box


def first_state(scene: OwnRunScene) -> RunState:
    """The window that a plan would take, with all proposed pins."""
    return RunState(scene.needed, frozenset(range(len(scene.proposed))))


def presets(scene: OwnRunScene) -> list[Preset[RunState]]:
    """The buttons above the picture; a claim that doesn't hold for this run has no button."""
    start = replace(first_state(scene), pins=frozenset())
    narrow, pinned = replace(start, window=1), first_state(scene)
    found = [
        Preset(
            "One group back",
            f"A window of one group misses {scene.missed(1):.0%} of the values that this run came back "
            "for: they stood further back.",
            narrow,
        ),
        Preset(
            "Most of it",
            _needed(scene),
            start,
        ),
    ]
    alone, lead = scene.lead(start), scene.lead(pinned)
    if pinned.pins and lead.missed < alone.missed:
        found.append(
            Preset(
                "The same, with pins",
                f"The pins take what is missed from {alone.missed:.0%} to {lead.missed:.0%}; each keeps "
                f"the whole turn group that brought it, so {lead.read - alone.read:,} tokens more are read.",
                pinned,
            )
        )
    return [*found, *_wide(scene, start), *_price(scene, start), _working_set(scene, pinned)]


def _needed(scene: OwnRunScene) -> str:
    missed = scene.missed(scene.needed)
    if missed <= FAR:
        return f"{scene.needed} is the smallest window that misses a fifth or less: {missed:.0%}."
    return f"Even a window of {scene.needed}, the widest that a plan tries, misses {missed:.0%}."


def _wide(scene: OwnRunScene, start: RunState) -> list[Preset[RunState]]:
    stop = next((each for each in scene.stops if scene.missed(each) <= MISSED), None)
    if stop is None or stop == start.window:
        return []
    state = replace(start, window=stop)
    part = scene.lead(state).read / (scene.techniques(state)[0].read or 1)
    sentence = (
        f"The first stop of the slider that misses {MISSED:.0%} or less without a pin is {stop}; it "
        f"reads {part:.0%} of what keeping everything reads."
    )
    return [Preset("Wide, no pins", sentence, state)]


def _price(scene: OwnRunScene, start: RunState) -> list[Preset[RunState]]:
    window, whole = scene.lead(start), scene.techniques(start)[0]
    part = window.prices[start.prices] / (whole.prices[start.prices] or 1)
    if not (window.read < whole.read and part > 1):
        return []
    sentence = (
        f"{window.read / whole.read:.0%} of the tokens at {part:.0%} of the price: a full window moves at "
        "every step, so the cache holds little more than the head."
    )
    return [Preset("Fewer tokens, more money", sentence, replace(start, shown=SHOWN[2]))]


def _working_set(scene: OwnRunScene, start: RunState) -> Preset[RunState]:
    most = max(scene.reuse.working_set(), default=0)
    sentence = (
        f"At most {most} values stand behind the model at once that will be used again. All of them as "
        "notes would be short; the text around them is not."
    )
    return Preset("The working set", sentence, replace(start, shown=SHOWN[1]))


class RunExplorer(LiveExplorer[RunState]):
    """The controls of the explorer, its pictures, and a box for each proposed pin."""

    invitation = "Move the window, switch a pin, or press a button above the picture."

    def __init__(self, scene: OwnRunScene, notes: Sequence[str] = ()) -> None:
        self.scene = scene
        self.heading = scene.name
        size = f"{len(scene.messages):,} messages, {scene.shape.calls:,} model calls"
        reads = f"{scene.shape.total:,} tokens read if everything is kept"
        cut = f"techniques on the last {MOST_CALLS} model calls"
        self.about = " · ".join([size, reads, *([cut] if scene.start else []), *notes])
        first = first_state(scene)
        scene.make_ready(first)
        super().__init__(first, _controls(scene, first), presets(scene))
        self.pins = [self._pin(at) for at in range(len(scene.proposed))]
        self.shape = w.HTML(scene.shape_picture(), layout=w.Layout(width="100%"))
        self.picture = w.HTML(layout=w.Layout(width="100%", min_height="520px"))
        self.show(first)
        self.box = Explorer(self.layout(self._left(), self._right()), draw_run(scene, first))

    def is_comparable(self, state: RunState, before: RunState) -> bool:
        return (state.window, state.pins) != (before.window, before.pins)

    def show_state(self, state: RunState, before: RunState | None) -> None:
        for at, box in enumerate(self.pins):
            if box.value != (at in state.pins):
                box.value = at in state.pins
        self.picture.value = self.scene.picture(state, before)

    def _pin(self, at: int) -> w.Checkbox:
        pin = self.scene.proposed[at]
        shared = [p.value for p in self.scene.proposed[:at] if p.group == pin.group]
        name = _short(pin.value, 12 if shared else 20)
        name += f" (with {_short(shared[0], 9)})" if shared else ""
        tip = f"{pin.value}: missed {pin.missed} times, up to {pin.distance} groups back"
        tip += f"; in one turn group with {', '.join(shared)}" if shared else ""
        layout = w.Layout(width="206px", height="28px")
        box = w.Checkbox(False, description=name, indent=False, tooltip=tip, layout=layout)

        def switched(change: dict[str, Any]) -> None:
            pins = self.state.pins | {at} if change["new"] else self.state.pins - {at}
            self.move("pins", pins)

        box.observe(switched, "value")
        return box

    # ---- layout -----------------------------------------------------------------------------

    def _left(self) -> list[Any]:
        c = self.controls
        words = "pins: values worth keeping" if self.pins else "no value is worth a pin"
        head = w.HTML(f'<div class="stm" style="padding-top:8px">{words}</div>')
        return [c["window"], c["shown"], c["prices"], head, *self.pins]

    def _right(self) -> list[Any]:
        return [self.shape, self.picture]


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _controls(scene: OwnRunScene, state: RunState) -> dict[str, Any]:
    style = {"description_width": "initial"}
    return {
        "window": w.SelectionSlider(
            options=scene.stops,
            value=state.window,
            description="window (turn groups)",
            style=style,
        ),
        "shown": w.Dropdown(options=SHOWN, value=state.shown, description="picture"),
        "prices": w.Dropdown(options=tuple(PRESETS), value=state.prices, description="prices"),
    }
