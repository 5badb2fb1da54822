"""The arithmetic explorer: sliders over a run, and all techniques at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ipywidgets as w

from course_lib.caching import PRESETS
from course_lib.messages import CourseError, Message
from course_lib.transcript import Transcript
from course_lib.views.arithmetic_presets import model_presets, run_presets
from course_lib.views.arithmetic_scene import (
    DEPENDS,
    LABELS,
    PRICES,
    RANGES,
    SHOWN,
    STYLES,
    ArithmeticScene,
    ArithmeticState,
    ModelScene,
    RunScene,
    first_run_state,
)
from course_lib.views.explorer import (
    Explorer,
    LiveExplorer,
    Preset,
    choices,
    opened,
    slider,
    step_player,
)
from course_lib.views.figures import draw_arithmetic

SHOWN_TIPS = (
    "What the model reads at each step",
    "All tokens up to each step",
    "All dollars up to each step, with cache, answers and summary calls",
)


def explore_arithmetic(
    source: str | Path | Transcript | Sequence[Message] | None = None,
    *,
    run: int | None = None,
    tools: Sequence[dict[str, Any]] | None = None,
) -> Explorer:
    """All techniques on a run of three numbers, or on a recorded one: a list, or a file with one.

    `run` chooses among the runs of a file that holds many, counted from 1. `tools` are the tool
    schemas that go with each call.

    Raises `CourseError` if the transcript has fewer than two calls: one call shows no growth.
    """
    if source is None:
        prices = "; ".join(f"{p.name} ({p.date})" for p in PRESETS.values())
        about = f"A step adds a tool call and its result; a quarter of it is the answer. Prices: {prices}."
        scene = ModelScene()
        return ArithmeticExplorer(scene, ArithmeticState(), model_presets(), about).box
    transcript = opened(source, run)
    given = transcript.tools if tools is None else tools
    scene = RunScene(transcript.name or "The run", transcript.messages, list(given))
    if scene.length < 2:
        raise CourseError("This transcript has fewer than two calls, so nothing grows in it.")
    about = " · ".join(
        [
            f"{scene.length} calls, replayed token by token",
            f"{scene.fixed:,} tokens fixed, {scene.per_step:,} a step on average",
            *transcript.notes,
        ]
    )
    return ArithmeticExplorer(scene, first_run_state(scene), run_presets(scene), about).box


class ArithmeticExplorer(LiveExplorer[ArithmeticState]):
    """The controls of the arithmetic explorer and its picture."""

    def __init__(
        self,
        scene: ArithmeticScene,
        first: ArithmeticState,
        presets: Sequence[Preset[ArithmeticState]],
        about: str,
    ) -> None:
        self.scene = scene
        self.heading, self.about = scene.title, about
        self.real = scene if isinstance(scene, RunScene) else None
        super().__init__(first, self._make_controls(first), presets)
        swept = [name for name in LABELS if name in self.controls]
        self.view = w.Dropdown(
            options=[("this run", ""), *((f"all values of {_short(n)}", n) for n in swept)],
            description="picture",
        )
        self.view.observe(lambda change: self.show(self.state), "value")
        self.picture = w.HTML(layout=w.Layout(width="100%", min_height="640px"))
        self.show(first)
        self.box = Explorer(self.layout(self._left(), self._right()), draw_arithmetic(scene, first))

    def coupled(self, name: str, value: Any) -> dict[str, Any]:
        """A run that gets longer or shorter is looked at from its end."""
        return {name: value, "step": value} if name == "steps" else {name: value}

    def is_comparable(self, state: ArithmeticState, before: ArithmeticState) -> bool:
        return state.settings != before.settings

    def show(self, state: ArithmeticState) -> None:
        # First the slider's end, and silently: a value beyond it would be cut back.
        self._showing = True
        self.controls["step"].max = self.scene.steps(state)
        super().show(state)

    def show_state(self, state: ArithmeticState, before: ArithmeticState | None) -> None:
        self.picture.value = self.scene.picture(state, before, along=self.view.value)

    # ---- layout -----------------------------------------------------------------------------

    def _make_controls(self, first: ArithmeticState) -> dict[str, Any]:
        names = list(DEPENDS if self.real else STYLES)
        longest = self.real.length if self.real else RANGES["steps"][1]
        controls: dict[str, Any] = {
            "focus": w.Dropdown(options=names, value=first.focus, description="leading curve"),
            "shown": choices(SHOWN, SHOWN_TIPS),
            "step": slider(first.step, 1, first.steps, 1, "step"),
        }
        for name in self._settings():
            low, high, step = RANGES[name]
            high = longest if name == "steps" else high
            controls[name] = slider(getattr(first, name), low, high, step, LABELS[name])
        prices = w.Dropdown(options=PRICES, value=first.prices, description="prices")
        return controls | {"prices": prices}

    def _settings(self) -> list[str]:
        """The settings that have a slider; what a recorded run has of its own has none."""
        if not self.real:
            return list(LABELS)
        moved = {setting for settings in DEPENDS.values() for setting in settings}
        return [name for name in LABELS if name == "steps" or name in moved]

    def _left(self) -> list[Any]:
        c = self.controls
        player = step_player(c["step"])
        w.jslink((c["step"], "max"), (player, "max"))
        return [c["shown"], c["step"], player, *(c[name] for name in self._settings())]

    def _right(self) -> list[Any]:
        row = w.Layout(min_height="50px", overflow="visible")
        chosen = w.HBox([self.controls["focus"], self.controls["prices"], self.view], layout=row)
        chosen.add_class("stm-controls")
        return [chosen, self.picture]


def _short(name: str) -> str:
    return LABELS[name].partition(" (")[0]
