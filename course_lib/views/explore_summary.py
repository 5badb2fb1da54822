"""The summary explorer: how much to shorten and how often, and what each summariser keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as w

from course_lib.messages import CourseError, Message
from course_lib.samples.handoffs import complaint_run, receipts_run
from course_lib.samples.invoices import invoice_run
from course_lib.transcript import Transcript
from course_lib.views.explorer import Explorer, LiveExplorer, Preset, choices, opened, slider
from course_lib.views.figures import draw_summary
from course_lib.views.summary_scene import (
    GENERATIONS,
    HOW,
    RATIOS,
    SWEPT,
    TEXT_LINE,
    Source,
    SummaryScene,
    SummaryState,
)

RUN, STORY, FIGURES = "the invoice run", "a story", "a list of figures"
LOOKUPS = 39  # of the invoice run, all but its answer
SHOWN_LINES = 10  # of the summary's text and its heading; the rest scrolls

HOW_TIPS = (
    "Tells it again in sentences, with rounded amounts, and keeps the newest",
    "Cuts each line to the same number of words",
    "Six sections; exact lines are copied, the note before is merged",
    "The same, with the facts in a block that is never shortened",
)


def explore_summary(
    source: str | Path | Transcript | Sequence[Message] | None = None, *, run: int | None = None
) -> Explorer:
    """What summaries keep, lose and invent: of three samples, or of a list or a file of your own.

    `run` chooses among the runs of a file that holds many, counted from 1. Exact values of what
    was asked, found and answered are the facts; of a result with a `finding`, that alone counts.

    Raises `CourseError` if there is nothing but a system message.
    """
    if source is None:
        return SummaryExplorer(SummaryScene(samples()), SAMPLE_START, sample_presets()).box
    transcript = opened(source, run)
    name = transcript.name or "your run"
    own = Source(transcript.messages)
    if not any(own.steps):
        raise CourseError("There is no message in this transcript that could be summarised.")
    start = SummaryState(name, HOW[0], 10, min(4, len(own.steps)))
    scene = SummaryScene({name: own})
    return SummaryExplorer(scene, start, own_presets(start), transcript.notes).box


def samples() -> dict[str, Source]:
    """The three samples by name."""
    return {
        RUN: Source(invoice_run(LOOKUPS).messages),
        STORY: Source(complaint_run()),
        FIGURES: Source(receipts_run()),
    }


SAMPLE_START = SummaryState(RUN, HOW[0], 40, 4)


def sample_presets() -> list[Preset[SummaryState]]:
    """The buttons above the picture: each is a claim of the lesson, set up to be seen."""
    figures = SummaryState(FIGURES, HOW[2], 10, 1)
    return [
        Preset(
            "Told once",
            "One careless summary at the end: most facts are there, and two rounded amounts are new.",
            replace(SAMPLE_START, generations=1),
        ),
        Preset(
            "Drift",
            "The same summariser, four times on the way: each loses a little, the last has one fact.",
            SAMPLE_START,
        ),
        Preset(
            "Merged, not retold",
            "As often, but exact lines are copied: all facts and the rule stay, in four times the tokens.",
            replace(SAMPLE_START, how=HOW[2]),
        ),
        Preset(
            "The rule is lost",
            "Twelve times each line is cut to its first words: all facts are there, the rule is not.",
            replace(SAMPLE_START, how=HOW[1], generations=12),
        ),
        Preset(
            "Ten to one on figures",
            "Where every word is an exact value, even a good summariser must drop four of five.",
            figures,
        ),
        Preset(
            "Six to one on a story",
            "Much text, few facts: at six to one all of them stay.",
            SummaryState(STORY, HOW[2], 6, 1),
        ),
        Preset(
            "Only the end is left",
            "Recency: of the last third it keeps three times as much as of the first, and no rule.",
            replace(figures, how=HOW[0], ratio=4),
        ),
        Preset(
            "Pins cost what they cost",
            "All figures pinned: nothing is lost, and little is saved. Such lists belong in a store.",
            replace(figures, how=HOW[3]),
        ),
    ]


def own_presets(start: SummaryState) -> list[Preset[SummaryState]]:
    """The buttons for a run of one's own: comparisons, without a promise of how they come out."""
    return [
        Preset("Told once", "One careless summary at the end.", replace(start, generations=1)),
        Preset("Retold", "The same, each summary made of the one before it.", start),
        Preset("Merged", "Exact lines copied, earlier notes merged.", replace(start, how=HOW[2])),
        Preset("Pinned", "The facts in a block of their own.", replace(start, how=HOW[3])),
    ]


class SummaryExplorer(LiveExplorer[SummaryState]):
    """The controls of the summary explorer, its picture, the facts, and the summary itself."""

    heading = "What a summary keeps"
    invitation = "Move a slider, choose a summariser, or press a button above the picture."

    def __init__(
        self,
        scene: SummaryScene,
        first: SummaryState,
        presets: Sequence[Preset[SummaryState]],
        notes: Sequence[str] = (),
    ) -> None:
        self.scene = scene
        self.about = " · ".join([*map(_size, scene.sources, scene.sources.values()), *notes])
        super().__init__(first, _controls(scene, first), presets)
        options = [("this run", ""), *((f"all values of {SWEPT[k]}", k) for k in SWEPT)]
        self.view = w.Dropdown(options=options, description="picture")
        self.view.observe(lambda change: self.show(self.state), "value")
        self.picture = w.HTML(layout=w.Layout(width="100%", min_height="290px"))
        self.facts = w.HTML(layout=w.Layout(width="100%", height="132px", overflow="hidden auto"))
        height = f"{SHOWN_LINES * TEXT_LINE}px"
        self.text = w.HTML(layout=w.Layout(width="100%", height=height, overflow="hidden auto"))
        self.show(first)
        self.box = Explorer(self.layout(self._left(), self._right()), draw_summary(scene, first))

    def is_comparable(self, state: SummaryState, before: SummaryState) -> bool:
        return state != before and state.source == before.source

    def show_state(self, state: SummaryState, before: SummaryState | None) -> None:
        self.picture.value = self.scene.picture(state, before, along=self.view.value)
        self.facts.value = self.scene.chips(state)
        self.text.value = self.scene.text(state)

    def _left(self) -> list[Any]:
        return [
            *(self.controls[name] for name in ("source", "how", "ratio", "generations")),
            self.view,
        ]

    def _right(self) -> list[Any]:
        return [self.picture, self.facts, self.text]


def _size(name: str, source: Source) -> str:
    return f"{name}: {len(source.facts)} facts in {source.sizes[-1]:,} tokens"


def _controls(scene: SummaryScene, state: SummaryState) -> dict[str, Any]:
    style = {"description_width": "initial"}
    # What comes out may be shorter. No spaces: the reading would break into two lines.
    ratios = [(f"≥{ratio}:1", ratio) for ratio in RATIOS]
    longest = max(len(source.steps) for source in scene.sources.values())
    most = max(min(GENERATIONS[-1], longest), 2)
    return {
        "source": w.Dropdown(options=list(scene.sources), value=state.source, description="source"),
        "how": choices(HOW, HOW_TIPS),
        "ratio": w.SelectionSlider(
            options=ratios, value=state.ratio, description="compression", style=style
        ),
        "generations": slider(state.generations, 1, most, 1, "generations"),
    }
