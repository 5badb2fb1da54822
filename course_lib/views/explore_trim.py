"""The trimming explorer: sliders, pins and presets over a transcript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as w

from course_lib.messages import CourseError, Message
from course_lib.tokens import count_tokens
from course_lib.transcript import Transcript
from course_lib.views import parts
from course_lib.views.explorer import Explorer
from course_lib.views.figures import draw_trim
from course_lib.views.trim_presets import Preset, first_state, presets
from course_lib.views.trim_scene import POLICIES, SWEPT, TrimScene, TrimState, find_findings

ROWS = 40  # rows of the transcript, and so pins, that are on the page at once


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
        raise CourseError("there is no assistant message in this transcript, so no call to look at")
    return TrimExplorer(scene, transcript.notes).box


def opened(source: str | Path | Transcript | Sequence[Message], run: int | None) -> Transcript:
    """The transcript itself, one made from a list, or the chosen run of a file."""
    if isinstance(source, Transcript):
        return source
    if isinstance(source, str | Path):
        from course_lib.traces import pick_run, read_transcripts

        return pick_run(read_transcripts(source), run, Path(source).name)
    return Transcript(list(source))


class TrimExplorer:
    """The thin layer between the widgets and the scene: reads the controls, shows the picture."""

    def __init__(self, scene: TrimScene, notes: Sequence[str] = ()) -> None:
        self.scene, self.notes = scene, notes
        self.first = first_state(scene)
        self.state, self.before, self.moved = self.first, None, ""
        self.page = 0
        self.busy = False
        self._make_controls()
        self._make_pins()
        self.title = w.HTML()
        self.picture = w.HTML(layout=w.Layout(width="100%", min_height="300px"))
        self.head = w.HTML(layout=w.Layout(width="100%"))
        self.rows = w.HTML(layout=w.Layout(flex="1 1 auto", width="100%"))
        self.show(self.first)
        self.box = Explorer(self._layout(), draw_trim(scene, self.first))

    # ---- controls ---------------------------------------------------------------------------

    def _make_controls(self) -> None:
        scene, state = self.scene, self.first
        low, high, step = scene.budget_range
        wide = {"continuous_update": True, "style": {"description_width": "initial"}}
        self.controls: dict[str, Any] = {
            "policy": w.ToggleButtons(
                options=POLICIES, tooltips=POLICY_TIPS, layout=w.Layout(width="206px")
            ),
            "step": w.IntSlider(state.step, 1, scene.steps, description="step", **wide),
            "budget": w.IntSlider(
                state.budget, low, high, step, description="budget (tokens)", **wide
            ),
            "high": w.IntSlider(state.high, 10, 100, 5, description="high water (%)", **wide),
            "low": w.IntSlider(state.low, 10, 100, 5, description="low water (%)", **wide),
            "window": w.IntSlider(
                state.window,
                1,
                min(24, max(len(scene.groups), 2)),
                description="window (groups)",
                **wide,
            ),
            "summary": w.Checkbox(
                state.summary, description="summary of dropped groups", indent=False
            ),
        }
        for name, control in self.controls.items():
            control.observe(lambda change, name=name: self._moved(name, change["new"]), "value")
        self.play = w.Play(value=state.step, min=1, max=scene.steps, interval=700)
        w.jslink((self.play, "value"), (self.controls["step"], "value"))
        self.view = w.Dropdown(
            options=[("this run", ""), *((f"all values of {SWEPT[k]}", k) for k in SWEPT)],
            description="lower picture",
        )
        self.view.observe(lambda change: self.show(self.state), "value")
        self.presets = [self._preset(p) for p in presets(scene)]

    def _preset(self, preset: Preset) -> w.Button:
        button = w.Button(description=preset.name, tooltip=preset.sentence)

        def press(_: w.Button) -> None:
            self._change("preset " + preset.name, preset.state)
            self.title.value = self._title(preset.sentence)

        button.on_click(press)
        return button

    def _make_pins(self) -> None:
        count = min(ROWS, len(self.scene.groups))
        self.pins = [
            w.Checkbox(False, indent=False, layout=w.Layout(width="86px")) for _ in range(count)
        ]
        for n, pin in enumerate(self.pins):
            pin.observe(lambda change, n=n: self._pinned(n, change["new"]), "value")
        pages = -(-len(self.scene.groups) // ROWS)
        self.pager = w.IntSlider(1, 1, max(pages, 2), description=f"page of rows (of {pages})")
        self.pager.observe(lambda change: self._turn(change["new"] - 1), "value")

    def _layout(self) -> list[Any]:
        c = self.controls
        left = [
            c["policy"],
            c["step"],
            self.play,
            *(c[k] for k in ("budget", "high", "low", "window")),
        ]
        left += [c["summary"], self.view]
        if len(self.scene.groups) > ROWS:
            left.append(self.pager)
        controls = w.VBox(left, layout=w.Layout(width="222px", flex="0 0 222px"))
        controls.add_class("stm-controls")
        pins = w.VBox(self.pins, layout=w.Layout(flex="0 0 90px"))
        pins.add_class("stm-pins")
        scroll = w.HBox(
            [pins, self.rows], layout=w.Layout(max_height="312px", overflow="hidden auto")
        )
        pin_head = w.HTML('<div class="stm" style="width:90px;padding-top:3px">pin</div>')
        table_head = w.HBox([pin_head, self.head], layout=w.Layout(padding="0 14px 0 0"))
        right = w.VBox(
            [self.picture, table_head, scroll], layout=w.Layout(flex="1 1 auto", min_width="520px")
        )
        presets_row = w.HBox(self.presets, layout=w.Layout(flex_flow="row wrap"))
        presets_row.add_class("stm-presets")
        body = w.HBox([controls, right], layout=w.Layout(align_items="flex-start"))
        return [w.HTML(parts.STYLE), self.title, presets_row, body]

    # ---- what a move does -------------------------------------------------------------------

    def _moved(self, name: str, value: Any) -> None:
        if self.busy:
            return
        changes = {name: value}
        if name == "high" and value < self.state.low:
            changes["low"] = value
        if name == "low" and value > self.state.high:
            changes["high"] = value
        self._change(name, replace(self.state, **changes))

    def _pinned(self, n: int, on: bool) -> None:
        if self.busy:
            return
        at = self.page * ROWS + n
        pins = self.state.pins | {at} if on else self.state.pins - {at}
        self._change("pins", replace(self.state, pins=pins))

    def _turn(self, page: int) -> None:
        self.page = min(page, -(-len(self.scene.groups) // ROWS) - 1)
        self.show(self.state)

    def _change(self, name: str, state: TrimState) -> None:
        # The pale curve is the run before this control was touched, not before its last pixel.
        if name != "step":
            if name != self.moved:
                self.before = self.state
            self.moved = name
        self.show(state)

    def show(self, state: TrimState) -> None:
        """Bring every control and picture to this state."""
        self.state, self.busy = state, True
        try:
            for name, control in self.controls.items():
                value = getattr(state, name)
                if control.value != value:
                    control.value = value
            for name, policy in (
                ("window", POLICIES[1]),
                ("high", POLICIES[2]),
                ("low", POLICIES[2]),
            ):
                if self.controls[name].disabled != (state.policy != policy):
                    self.controls[name].disabled = state.policy != policy
            self._show_pins()
        finally:
            self.busy = False
        along, scene = self.view.value, self.scene
        if not self.title.value:
            self.title.value = self._title(
                "Move a slider, pin a step, or press a button above the picture."
            )
        before = self.before if self.before and self.before.settings != state.settings else None
        self.picture.value = (
            scene.swept_picture(state, along, before) if along else scene.picture(state, before)
        )
        shown = slice(self.page * ROWS, (self.page + 1) * ROWS)
        self.head.value = f'<div class="stm">{parts.table_head(state.step)}</div>'
        self.rows.value = (
            f'<div class="stm">{parts.table(scene.rows(state)[shown], state.step)}</div>'
        )

    def _show_pins(self) -> None:
        for n, pin in enumerate(self.pins):
            at = self.page * ROWS + n
            there = at < len(self.scene.groups)
            label = f"step {self.scene.labels[at]}" if there else ""
            if pin.description != label:
                pin.description = label
                pin.layout.visibility = "visible" if there else "hidden"
            if pin.value != (at in self.state.pins):
                pin.value = at in self.state.pins

    def _title(self, sentence: str) -> str:
        scene = self.scene
        size = f"{len(scene.messages)} messages, {count_tokens(scene.messages):,} tokens"
        about = [f"{scene.steps} calls", size, *self.notes]
        return (
            f'<div class="stm"><h3>{escape(scene.title)}</h3>'
            f"<p>{escape(' · '.join(filter(None, about)))}</p>"
            f'<p style="min-height:20px;color:var(--stm-ink)" aria-live="polite">{escape(sentence)}</p></div>'
        )


POLICY_TIPS = (
    "Nothing is ever left out",
    "The newest groups stay, older ones go",
    "Above the high water, trim down to the low water",
)
