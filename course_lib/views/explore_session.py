"""The session explorer: when to compact a long session, how much of it to keep, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
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
    Preset,
    opened,
    slider,
    step_player,
)
from course_lib.views.figures import draw_session
from course_lib.views.session_scene import SWEPT, SessionScene, SessionState
from course_lib.views.trim_scene import find_findings

ROWS = 40  # turns that are on the page at once


def explore_session(
    source: str | Path | Transcript | Sequence[Message],
    *,
    run: int | None = None,
    findings: Sequence[str] | None = None,
    tools: Sequence[dict[str, Any]] | None = None,
) -> Explorer:
    """Watch a size monitor at work on a long session: a list of messages, or a file with one.

    `run`, `findings` and `tools` are those of `explore_trim`.

    Raises `CourseError` if the transcript has no assistant message, so no call to look at.
    """
    transcript = opened(source, run)
    scene = SessionScene(
        transcript.messages,
        transcript.name,
        list(tools if tools is not None else transcript.tools),
        find_findings(transcript.messages, findings),
    )
    if not scene.steps:
        raise CourseError("There is no assistant message in this transcript, so no call to see.")
    return SessionExplorer(scene, transcript.notes).box


def first_state(scene: SessionScene) -> SessionState:
    """The monitor at work: a threshold far below the end, three turns kept, and a note."""
    low, high, step = scene.threshold_range
    threshold = min(max(low, round(0.37 * scene.biggest / step) * step), high)
    return SessionState(scene.steps, threshold, 3, True, scene.window_range[1])


def presets(scene: SessionScene) -> list[Preset[SessionState]]:
    """The buttons above the picture: each is a claim of the lesson, set up to be seen."""
    start = first_state(scene)
    step, end = scene.threshold_range[2], scene.steps
    last = (scene.biggest - 1) // step * step  # passed by the last call alone
    keep = min(8, scene.most_kept)
    old = max(len(scene.groups) - 1 - keep, 1)
    narrow = nearest(scene.biggest // 2, scene.window_range)
    above = nearest(narrow * 23 // 20, scene.threshold_range)

    def state(threshold: int, keep: int, summary: bool = True, window: int = 0) -> SessionState:
        return SessionState(end, threshold, keep, summary, window or start.window)

    return [
        Preset(
            "Nothing managed",
            "Each call reads all that came before: the last one costs most by far.",
            state(scene.highest, start.keep),
        ),
        Preset(
            f"1–{old} become a note",
            "Just before the last turn all older ones become one note; compare what that turn reads.",
            state(last, keep),
        ),
        Preset(
            "At the threshold",
            "Done each time the threshold is passed, the whole session costs far less.",
            start,
        ),
        Preset(
            "Too few kept",
            "What is still in use goes as well. Watch for ↻: the same tool call a second time.",
            state(start.threshold, 2),
        ),
        Preset(
            "Without a note",
            "The same cut, and nothing stays of it: the findings have to be fetched again.",
            state(start.threshold, start.keep, summary=False),
        ),
        Preset(
            "Too late",
            "The window is full first, and cuts. A note that comes later can't hold what was cut.",
            state(above, 4, window=narrow),
        ),
    ]


def nearest(value: int, slider_range: tuple[int, int, int]) -> int:
    """The value that a slider of this range can show."""
    low, high, step = slider_range
    return min(max(low, low + round((value - low) / step) * step), high)


class SessionExplorer(LiveExplorer[SessionState]):
    """The controls of the session explorer, its pictures, its turns, and the note."""

    def __init__(self, scene: SessionScene, notes: Sequence[str] = ()) -> None:
        self.scene = scene
        self.heading = scene.title
        size = f"{len(scene.messages)} messages, {count_tokens(scene.messages):,} tokens"
        self.about = " · ".join([f"{scene.steps} calls", size, *notes])
        first = first_state(scene)
        super().__init__(first, _controls(scene, first), presets(scene))
        options = [("this session", ""), *((f"all values of {SWEPT[k]}", k) for k in SWEPT)]
        self.view = w.Dropdown(options=options, description="lower picture")
        self.view.observe(lambda change: self.show(self.state), "value")
        self.picture = w.HTML(layout=w.Layout(width="100%", min_height="300px"))
        self.head = w.HTML(layout=w.Layout(width="100%"))
        self.rows = w.HTML(layout=w.Layout(width="100%", overflow="visible"))
        self.note = w.HTML(layout=w.Layout(width="100%", height="104px", overflow="hidden auto"))
        self.show(first)
        self.box = Explorer(self.layout(self._left(), self._right()), draw_session(scene, first))

    def is_comparable(self, state: SessionState, before: SessionState) -> bool:
        return state.settings != before.settings

    def show_state(self, state: SessionState, before: SessionState | None) -> None:
        self.picture.value = self.scene.picture(state, before, along=self.view.value)
        names = ("call", "result", "tokens", f"at turn {state.step}")
        self.head.value = f'<div class="stm">{parts.table_head(state.step, names)}</div>'
        rows = parts.table(self.scene.rows(state)[:ROWS])
        self.rows.value = f'<div class="stm">{rows}</div>'
        text = self.scene.note(state) or "no note in this prompt"
        self.note.value = f'<div class="stm"><p>Σ {escape(text)}</p></div>'

    def _left(self) -> list[Any]:
        c = self.controls
        settings = [c[name] for name in ("threshold", "keep", "summary", "window")]
        return [c["step"], step_player(c["step"]), *settings, self.view]

    def _right(self) -> list[Any]:
        scroll = w.Layout(max_height="222px", overflow="hidden auto", align_items="flex-start")
        heads = w.HBox([self.head], layout=w.Layout(padding="0 14px 0 0"))
        return [self.picture, heads, w.HBox([self.rows], layout=scroll), self.note]


def _controls(scene: SessionScene, state: SessionState) -> dict[str, Any]:
    return {
        "step": slider(state.step, 1, scene.steps, 1, "turn"),
        "threshold": slider(state.threshold, *scene.threshold_range, "threshold (tokens)"),
        "keep": slider(state.keep, 1, scene.most_kept, 1, "turns kept"),
        "summary": w.Checkbox(state.summary, description="a note for what goes", indent=False),
        "window": slider(state.window, *scene.window_range, "model's window (tokens)"),
    }
