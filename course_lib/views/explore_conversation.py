"""The conversation explorer: one conversation, and two lists that are made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as w

from course_lib.messages import CourseError, Message
from course_lib.tokens import count_tokens
from course_lib.transcript import Transcript
from course_lib.views import parts
from course_lib.views.conversation_scene import (
    FACTOR,
    NO_STATE,
    NO_TOOLS,
    RESULTS,
    SHORT,
    SMALL_WINDOW,
    ConversationScene,
    ConversationState,
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
from course_lib.views.figures import draw_conversation

RESULT_TIPS = (
    "Tool results as they came",
    "Tool results as if each had 200 characters",
    "As if every answer had come without a tool",
)


def explore_conversation(
    source: str | Path | Transcript | Sequence[Message],
    *,
    run: int | None = None,
    tools: Sequence[dict[str, Any]] | None = None,
) -> Explorer:
    """Watch one conversation become two lists: everything, and questions and answers only.

    The source is a list of messages, or a file with one; `run` chooses among the runs of a file
    that holds many, counted from 1. `tools` are the tool schemas that go with each call.

    Raises `CourseError` if there is no assistant message, so no call to look at.
    """
    transcript = opened(source, run)
    schemas = list(tools if tools is not None else transcript.tools)
    scene = ConversationScene(transcript.messages, transcript.name, schemas)
    if not any(m["role"] == "assistant" for m in scene.messages):
        raise CourseError("There is no assistant message in this transcript, so no call to see.")
    return ConversationExplorer(scene, transcript.notes).box


class ConversationExplorer(LiveExplorer[ConversationState]):
    """The controls of the conversation explorer, and its pictures."""

    def __init__(self, scene: ConversationScene, notes: Sequence[str] = ()) -> None:
        self.scene = scene
        self.heading = scene.title
        size = f"{len(scene.messages)} messages, {count_tokens(scene.messages):,} tokens"
        schemas = [f"{len(scene.tools)} tool schemas"] if scene.tools else []
        self.about = " · ".join([f"{scene.steps} questions", size, *schemas, *notes])
        first = first_state(scene)
        super().__init__(first, _controls(scene, first), presets(scene))
        options = [("this conversation", ""), (FACTOR, "step")]
        self.view = w.Dropdown(options=options, description="lower picture")
        self.view.observe(lambda change: self.show(self.state), "value")
        self.picture = w.HTML(layout=w.Layout(width="100%", min_height="420px"))
        self.head = w.HTML(layout=w.Layout(width="100%"))
        self.rows = w.HTML(layout=w.Layout(width="100%", overflow="visible"))
        self.show(first)
        still = draw_conversation(scene, first)
        self.box = Explorer(self.layout(self._left(), self._right()), still)

    def is_comparable(self, state: ConversationState, before: ConversationState) -> bool:
        return state.settings != before.settings

    def show_state(self, state: ConversationState, before: ConversationState | None) -> None:
        self.picture.value = self.scene.picture(state, before, along=self.view.value)
        names = ("question", "answer", "tool calls", f"at question {state.step}")
        self.head.value = f'<div class="stm">{parts.table_head(state.step, names)}</div>'
        self.rows.value = (
            f'<div class="stm">{parts.table(self.scene.table_rows(state), prose=True)}</div>'
        )

    def _left(self) -> list[Any]:
        c = self.controls
        heading = w.HTML('<div class="stm">tool results</div>')
        left = [c["step"], step_player(c["step"]), c["window"], heading, c["results"]]
        return [*left, c["last_result"], self.view]

    def _right(self) -> list[Any]:
        scroll = w.Layout(max_height="312px", overflow="hidden auto")
        heads = w.HBox([self.head], layout=w.Layout(padding="0 14px 0 0"))
        return [self.picture, heads, w.HBox([self.rows], layout=scroll)]


def first_state(scene: ConversationScene) -> ConversationState:
    """Most of the way through, with a window that everything overflows, if there is one."""
    low, _, step = scene.window_range
    biggest = max(row.read for row in scene.pair(NO_STATE).everything.rows)
    window = SMALL_WINDOW if biggest > SMALL_WINDOW else 0.62 * biggest
    at = max(1, round(0.75 * scene.steps))
    return ConversationState(at, max(low, round(window / step) * step))


def presets(scene: ConversationScene) -> list[Preset[ConversationState]]:
    """The buttons above the picture, each with a claim that holds for this conversation."""
    end = replace(first_state(scene), step=scene.steps)
    start = replace(end, step=1)
    made = [
        Preset(
            "Both start alike",
            "At the first question there is nothing to promote yet: both lists are the same.",
            start,
        )
    ]
    full = scene.overflow(scene.pair(end).everything, end)
    short = scene.overflow(scene.pair(end).promoted, end)
    if full is not None and short is None:
        made.append(
            Preset(
                "Everything overflows",
                f"Question {full} no longer fits, though every question so far has its answer.",
                replace(end, step=full),
            )
        )
    if scene.steps == 1:
        made.append(
            Preset(
                "One question, no gain",
                "There is no earlier question whose tool calls could go: the lists are the same.",
                end,
            )
        )
    if scene.factor(end) > 1:
        made += _about_tools(scene, end)
    return made


def _about_tools(
    scene: ConversationScene, end: ConversationState
) -> list[Preset[ConversationState]]:
    made = [
        Preset(
            "Promoted only",
            "Questions and answers stay, the tool calls of earlier questions go: after each question "
            "that used tools the curve falls back.",
            end,
        ),
    ]
    if scene.factor(replace(end, last_result=True)) < scene.factor(end):
        made.append(
            Preset(
                "One result more",
                "The last tool call of each question is promoted as well: more detail, less gain.",
                replace(end, last_result=True),
            )
        )
    if scene.factor(replace(end, results=SHORT)) < scene.factor(end):
        made.append(
            Preset(
                "Short results, small gain",
                "If the tools answer in a few words, there is less to leave out.",
                replace(end, results=SHORT),
            )
        )
    made.append(
        Preset(
            "No tools, no gain",
            "Without tool calls all is question and answer: both lists are the same to the end.",
            replace(end, results=NO_TOOLS),
        )
    )
    return made


def _controls(scene: ConversationScene, state: ConversationState) -> dict[str, Any]:
    low, high, step = scene.window_range
    return {
        "step": slider(state.step, 1, max(scene.steps, 2), 1, "question"),
        "window": slider(state.window, low, high, step, "window (tokens)"),
        "results": choices(RESULTS, RESULT_TIPS),
        "last_result": w.Checkbox(
            state.last_result, description="promote last result too", indent=False
        ),
    }
