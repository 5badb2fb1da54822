"""What every explorer shares: controls that make a state, buttons for the claims, a saved picture.

An explorer is three things: a frozen dataclass (where every control stands), a scene that turns a
state into HTML without a widget in sight, and a subclass of `LiveExplorer` that joins the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Generic, TypeVar

import ipywidgets as w

from course_lib.messages import Message
from course_lib.transcript import Transcript
from course_lib.views import parts
from course_lib.views.still import Still

State = TypeVar("State")


@dataclass(frozen=True)
class Preset(Generic[State]):
    """A button: its name, what to look at, and the state that it sets."""

    name: str
    sentence: str
    state: State


class Explorer(w.VBox):
    """A box of widgets that also knows a picture and a text of its first state."""

    def __init__(self, children: list[Any], still: Still) -> None:
        super().__init__(children)
        self._still = still

    def _repr_mimebundle_(self, **options: Any) -> Any:
        live = super()._repr_mimebundle_(**options)
        data, metadata = live if isinstance(live, tuple) else (live, {})
        return {**(data or {}), **self._still.mimebundle()}, metadata


class LiveExplorer(Generic[State]):
    """Reads the controls, keeps the state, shows the pictures.

    Each control is named after the field of the state that it sets. A subclass says in
    `show_state` how a state looks, and in `coupled` which other fields move along.
    """

    heading = ""
    about = ""
    invitation = "Move a slider, or press a button above the picture."

    def __init__(
        self, state: State, controls: dict[str, Any], presets: Sequence[Preset[State]]
    ) -> None:
        self.state, self.controls = state, controls
        self.before: State | None = None
        self._last_moved, self._showing = "", False
        for name, control in controls.items():
            control.observe(lambda change, name=name: self.move(name, change["new"]), "value")
        self.presets = [self._button(preset) for preset in presets]
        self.title = w.HTML()
        self.say(self.invitation)

    # ---- for subclasses ---------------------------------------------------------------------

    def show_state(self, state: State, before: State | None) -> None:
        """Put the pictures of this state on the page; `before` is what to compare it with."""
        raise NotImplementedError

    def coupled(self, name: str, value: Any) -> dict[str, Any]:
        """The fields that change when one control moves; more than one if they are coupled."""
        return {name: value}

    def is_comparable(self, state: State, before: State) -> bool:
        """Whether a comparison of the two says anything."""
        return state != before

    # ---- what a move does -------------------------------------------------------------------

    def move(self, name: str, value: Any) -> None:
        """A control was moved by hand."""
        if not self._showing:
            self.change(name, replace(self.state, **self.coupled(name, value)))

    def change(self, name: str, state: State) -> None:
        """Go to a state. `name` is what was touched: a control, a pin, a button."""
        # What to compare with is the state before this control was touched, not its last pixel.
        if name != "step":
            if name != self._last_moved:
                self.before = self.state
            self._last_moved = name
        self.say(self.invitation)
        self.show(state)

    def show(self, state: State) -> None:
        """Bring every control and picture to this state."""
        self.state, self._showing = state, True
        try:
            for name, control in self.controls.items():
                if control.value != getattr(state, name):
                    control.value = getattr(state, name)
            before = self.before
            if before is not None and not self.is_comparable(state, before):
                before = None
            self.show_state(state, before)
        finally:
            self._showing = False

    def say(self, sentence: str) -> None:
        """Put a sentence under the heading: what to look at."""
        self.title.value = (
            f'<div class="stm"><h3>{escape(self.heading)}</h3><p>{escape(self.about)}</p>'
            '<p style="min-height:20px;color:var(--stm-ink)" aria-live="polite">'
            f"{escape(sentence)}</p></div>"
        )

    def _button(self, preset: Preset[State]) -> w.Button:
        button = w.Button(description=preset.name, tooltip=preset.sentence)

        def press(_: w.Button) -> None:
            self.change("preset " + preset.name, preset.state)
            self.say(preset.sentence)

        button.on_click(press)
        return button

    def layout(self, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        """The style, the heading, the buttons, and below them controls beside pictures."""
        layout = w.Layout(width="222px", flex="0 0 222px", overflow="hidden")
        controls = w.VBox(left, layout=layout)
        controls.add_class("stm-controls")
        pictures = w.VBox(right, layout=w.Layout(flex="1 1 auto", min_width="520px"))
        buttons = w.HBox(self.presets, layout=w.Layout(flex_flow="row wrap"))
        buttons.add_class("stm-presets")
        body = w.HBox([controls, pictures], layout=w.Layout(align_items="flex-start"))
        return [w.HTML(parts.STYLE), self.title, buttons, body]


def slider(value: int, low: int, high: int, step: int, name: str) -> w.IntSlider:
    """A slider that answers while it moves, with its name above it."""
    style = {"description_width": "initial"}
    return w.IntSlider(value, low, high, step, description=name, style=style)


def step_player(step: w.IntSlider) -> w.Play:
    """Play, pause and repeat for a step slider."""
    play = w.Play(value=step.value, min=step.min, max=step.max, interval=700)
    w.jslink((play, "value"), (step, "value"))
    return play


def choices(options: Sequence[str], tips: Sequence[str]) -> w.ToggleButtons:
    """A column of buttons of which one is chosen."""
    return w.ToggleButtons(options=options, tooltips=tips, layout=w.Layout(width="206px"))


def opened(source: str | Path | Transcript | Sequence[Message], run: int | None) -> Transcript:
    """The transcript itself, one made from a list, or the chosen run of a file."""
    if isinstance(source, Transcript):
        return source
    if isinstance(source, str | Path):
        from course_lib.traces import pick_run, read_transcripts

        return pick_run(read_transcripts(source), run, Path(source).name)
    return Transcript(list(source))
