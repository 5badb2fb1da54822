"""The context explorer: the layout of a working set, what is cached of it, and what it forgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as w

from course_lib.messages import CourseError, Message
from course_lib.transcript import Transcript
from course_lib.views.context_scene import MANAGERS, ContextScene, ContextState
from course_lib.views.explorer import (
    Explorer,
    LiveExplorer,
    Preset,
    choices,
    opened,
    slider,
    step_player,
)
from course_lib.views.figures import draw_context

TIPS = (
    "Compacts above the budget, keeps every fact and note in its text, and stores nothing",
    "Compacts above 80 % down to 50 %, caps its blocks, and has a store for all of it",
)


def explore_context(
    source: str | Path | Transcript | Sequence[Message],
    *,
    run: int | None = None,
    facts: Sequence[str] | None = None,
    tools: Sequence[dict[str, Any]] | None = None,
) -> Explorer:
    """Watch two context managers at work on a run: a list of messages, or a file with one.

    `run` chooses among the runs of a file that holds many, counted from 1. `facts` are texts that
    must not be lost; without them, lines that begin with `FACT:` and what results mark as a
    `finding` count. What the agent says behind `Note:` is pinned here, and the oldest note goes
    when they are full; a `Context` by itself leaves both to its agent. `tools` are tool schemas.

    Raises `CourseError` if the run has no user message, or nothing behind its head.
    """
    transcript = opened(source, run)
    given = list(tools if tools is not None else transcript.tools)
    scene = ContextScene(transcript.messages, transcript.name, given, facts)
    if not scene.steps:
        raise CourseError("There is nothing but a head in this run, so no step to see.")
    return ContextExplorer(scene, transcript.notes).box


def first_state(scene: ContextScene) -> ContextState:
    """The mended manager, at the last step of the run for which the cache had something."""
    low, high, unit = scene.budget_range
    state = ContextState(MANAGERS[1], len(scene.steps), min(max(low, 4000 // unit * unit), high))
    cached = [n for n, moment in enumerate(scene.walk(state).moments, 1) if moment.cached]
    return replace(state, step=cached[-1]) if cached else state


def presets(scene: ContextScene) -> list[Preset[ContextState]]:
    """The buttons above the picture: each is a claim of the lesson, set up to be seen."""
    start = first_state(scene)
    about_notes = [
        Preset(
            "A second history",
            "Under a high cap each note stays: the block grows with the run, and steps get less room.",
            replace(start, notes_cap=1500),
        ),
        Preset(
            "No notes at all",
            "No note changes the middle of the prompt, so far more of it comes from the cache.",
            replace(start, notes_cap=0),
        ),
    ]
    return [
        Preset(
            "The plain class",
            "Kept facts and notes only grow. Once they fill the budget, it compacts at nearly every step.",
            replace(start, manager=MANAGERS[0]),
        ),
        Preset(
            "The mended manager",
            "Never over the budget, few compactions, and each fact is in the prompt or can be searched.",
            start,
        ),
        Preset(
            "Whole results",
            "It reads as much in all as with cut results. Look at compactions and cached in all.",
            replace(start, result_cap=0),
        ),
        Preset(
            "Ten steps kept",
            "The class keeps its last ten steps whole, whether they fit into the budget or not.",
            replace(start, manager=MANAGERS[0], keep_last=10),
        ),
        *(about_notes if any(step.notes for step in scene.steps) else []),
    ]


class ContextExplorer(LiveExplorer[ContextState]):
    """The controls of the context explorer, its pictures, and the texts of the two blocks."""

    def __init__(self, scene: ContextScene, notes: Sequence[str] = ()) -> None:
        self.scene = scene
        self.heading = scene.name or "The working set"
        size = f"{len(scene.steps)} steps, {scene.whole:,} tokens if nothing is managed"
        self.about = " · ".join([size, *notes])
        first = first_state(scene)
        super().__init__(first, _controls(scene, first), presets(scene))
        self.picture = w.HTML(layout=w.Layout(width="100%", min_height="300px"))
        self.places = w.HTML(layout=w.Layout(width="100%", height="104px"))
        self.texts = w.HTML(layout=w.Layout(width="100%", height="190px", overflow="hidden auto"))
        self.show(first)
        self.box = Explorer(self.layout(self._left(), self._right()), draw_context(scene, first))

    def is_comparable(self, state: ContextState, before: ContextState) -> bool:
        return state.settings != before.settings

    def show_state(self, state: ContextState, before: ContextState | None) -> None:
        for name in ("notes_cap", "result_cap"):
            if self.controls[name].disabled != (state.manager == MANAGERS[0]):
                self.controls[name].disabled = state.manager == MANAGERS[0]
        self.picture.value = self.scene.picture(state, before)
        self.places.value = f'<div class="stm">{self.scene.places(state)}</div>'
        self.texts.value = self.scene.texts(state)

    def _left(self) -> list[Any]:
        c = self.controls
        settings = [c[name] for name in ("budget", "keep_last", "notes_cap", "result_cap")]
        return [c["manager"], c["step"], step_player(c["step"]), *settings]

    def _right(self) -> list[Any]:
        return [self.picture, self.places, self.texts]


def _controls(scene: ContextScene, state: ContextState) -> dict[str, Any]:
    return {
        "manager": choices(MANAGERS, TIPS),
        "step": slider(state.step, 1, len(scene.steps), 1, "step"),
        "budget": slider(state.budget, *scene.budget_range, "budget (tokens)"),
        "keep_last": slider(state.keep_last, 1, 18, 1, "keep-last (steps)"),
        "notes_cap": slider(state.notes_cap, 0, 1500, 50, "notes cap (tokens)"),
        "result_cap": slider(state.result_cap, 0, 400, 20, "result cap (0: whole)"),
    }
