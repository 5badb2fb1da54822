"""The trimming explorer: sliders, pins and presets over a transcript."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ipywidgets as w

from course_lib.messages import CourseError, Message
from course_lib.tokens import count_tokens
from course_lib.transcript import Transcript
from course_lib.views import parts
from course_lib.views.explorer import (
    Explorer,
    LiveExplorer,
    choices,
    opened,
    slider,
    step_player,
)
from course_lib.views.figures import draw_trim
from course_lib.views.trim_presets import first_state, presets
from course_lib.views.trim_scene import POLICIES, SWEPT, TrimScene, TrimState, find_findings

ROWS = 40  # rows of the transcript, and so pins, that are on the page at once

POLICY_TIPS = (
    "Nothing is ever left out",
    "The newest groups stay, older ones go",
    "Above the high water, trim down to the low water",
)


def explore_trim(
    source: str | Path | Transcript | Sequence[Message],
    *,
    run: int | None = None,
    findings: Sequence[str] | None = None,
    tools: Sequence[dict[str, Any]] | None = None,
) -> Explorer:
    """Watch trimming at work on a transcript: a list of messages, or a file with one.

    `run` chooses among the runs of a file that holds many, counted from 1. `findings` are texts
    that must not be lost; without them, what results mark as a `finding` counts. `tools` are the
    tool schemas that go with each call.

    Raises `CourseError` if the transcript has no assistant message, so no call to look at.
    """
    transcript = opened(source, run)
    scene = TrimScene(
        transcript.messages,
        transcript.name,
        list(tools if tools is not None else transcript.tools),
        find_findings(transcript.messages, findings),
    )
    if not scene.steps:
        raise CourseError("There is no assistant message in this transcript, so no call to see.")
    return TrimExplorer(scene, transcript.notes).box


class TrimExplorer(LiveExplorer[TrimState]):
    """The controls of the trimming explorer, its pictures, and a pin for each turn group."""

    invitation = "Move a slider, pin a step, or press a button above the picture."

    def __init__(self, scene: TrimScene, notes: Sequence[str] = ()) -> None:
        self.scene, self.page = scene, 0
        self.heading = scene.title
        size = f"{len(scene.messages)} messages, {count_tokens(scene.messages):,} tokens"
        self.about = " · ".join([f"{scene.steps} calls", size, *notes])
        first = first_state(scene)
        super().__init__(first, _controls(scene, first), presets(scene))
        options = [("this run", ""), *((f"all values of {SWEPT[k]}", k) for k in SWEPT)]
        self.view = w.Dropdown(options=options, description="lower picture")
        self.view.observe(lambda change: self.show(self.state), "value")
        self._make_pins()
        self.picture = w.HTML(layout=w.Layout(width="100%", min_height="300px"))
        self.head = w.HTML(layout=w.Layout(width="100%"))
        self.rows = w.HTML(layout=w.Layout(flex="1 1 auto", width="100%", overflow="visible"))
        self.show(first)
        self.box = Explorer(self.layout(self._left(), self._right()), draw_trim(scene, first))

    def coupled(self, name: str, value: Any) -> dict[str, Any]:
        """High water can't be below low water: the one takes the other along."""
        if name == "high" and value < self.state.low:
            return {"high": value, "low": value}
        if name == "low" and value > self.state.high:
            return {"low": value, "high": value}
        return {name: value}

    def is_comparable(self, state: TrimState, before: TrimState) -> bool:
        return state.settings != before.settings

    def show_state(self, state: TrimState, before: TrimState | None) -> None:
        for name, policy in (("window", POLICIES[1]), ("high", POLICIES[2]), ("low", POLICIES[2])):
            if self.controls[name].disabled != (state.policy != policy):
                self.controls[name].disabled = state.policy != policy
        self._show_pins()
        self.picture.value = self.scene.picture(state, before, along=self.view.value)
        shown = slice(self.page * ROWS, (self.page + 1) * ROWS)
        self.head.value = f'<div class="stm">{parts.table_head(state.step)}</div>'
        self.rows.value = f'<div class="stm">{parts.table(self.scene.rows(state)[shown])}</div>'

    # ---- pins -------------------------------------------------------------------------------

    @property
    def pages(self) -> int:
        """How many pages the rows of the transcript fill."""
        return -(-len(self.scene.groups) // ROWS)

    def _make_pins(self) -> None:
        count = min(ROWS, len(self.scene.groups))
        layout = w.Layout(width="86px")
        self.pins = [w.Checkbox(False, indent=False, layout=layout) for _ in range(count)]
        for n, pin in enumerate(self.pins):
            pin.observe(lambda change, n=n: self._pinned(n, change["new"]), "value")
        self.pager = slider(1, 1, max(self.pages, 2), 1, f"page of rows (of {self.pages})")
        self.pager.observe(lambda change: self._turn(change["new"] - 1), "value")

    def _pinned(self, n: int, on: bool) -> None:
        at = self.page * ROWS + n
        self.move("pins", self.state.pins | {at} if on else self.state.pins - {at})

    def _turn(self, page: int) -> None:
        self.page = min(page, self.pages - 1)
        self.show(self.state)

    def _show_pins(self) -> None:
        for n, pin in enumerate(self.pins):
            at = self.page * ROWS + n
            there = at < len(self.scene.groups)
            label = f"step {self.scene.labels[at]}" if there else "none"
            if pin.description != label:
                pin.description = label
                pin.disabled = not there
            if pin.value != (at in self.state.pins):
                pin.value = at in self.state.pins

    # ---- layout -----------------------------------------------------------------------------

    def _left(self) -> list[Any]:
        c = self.controls
        left = [c["policy"], c["step"], step_player(c["step"])]
        left += [c[name] for name in ("budget", "high", "low", "window", "summary")]
        return [*left, self.view, *([self.pager] if self.pages > 1 else [])]

    def _right(self) -> list[Any]:
        pins = w.VBox(self.pins, layout=w.Layout(flex="0 0 90px", overflow="visible"))
        pins.add_class("stm-pins")
        # Only this box scrolls: pins and rows must stay side by side.
        scroll = w.Layout(max_height="312px", overflow="hidden auto", align_items="flex-start")
        pin_head = w.HTML('<div class="stm" style="width:90px;padding-top:3px">pin</div>')
        heads = w.HBox([pin_head, self.head], layout=w.Layout(padding="0 14px 0 0"))
        return [self.picture, heads, w.HBox([pins, self.rows], layout=scroll)]


def _controls(scene: TrimScene, state: TrimState) -> dict[str, Any]:
    low, high, step = scene.budget_range
    widest = min(24, max(len(scene.groups), 2))
    return {
        "policy": choices(POLICIES, POLICY_TIPS),
        "step": slider(state.step, 1, scene.steps, 1, "step"),
        "budget": slider(state.budget, low, high, step, "budget (tokens)"),
        "high": slider(state.high, 10, 100, 5, "high water (%)"),
        "low": slider(state.low, 10, 100, 5, "low water (%)"),
        "window": slider(state.window, 1, widest, 1, "window (groups)"),
        "summary": w.Checkbox(state.summary, description="summary of dropped groups", indent=False),
    }
