"""Figures that stand still, drawn with matplotlib; each is a `Still`, with its alt text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from course_lib.replay import Run
from course_lib.views.parts import compact
from course_lib.views.still import Still
from course_lib.views.trim_scene import TrimScene, TrimState

INK, QUIET, LINE = "#1f2933", "#5b6770", "#d5dae0"
FILL = {"head": "#3d4a57", "kept": "#56B4E9", "pinned": "#E69F00", "summary": "#D590B8"}
BLUE, ORANGE = "#0072B2", "#E69F00"


def plot_cache(runs: Mapping[str, Run]) -> Still:
    """What each call reads, and how much of it the prompt cache serves, a panel for each run."""
    figure = Figure(figsize=(9, 2.1 * len(runs)), layout="constrained")
    panels = figure.subplots(len(runs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    sentences = []
    for axes, (name, run) in zip(panels, runs.items(), strict=True):
        calls = [row.call for row in run.rows]
        fresh = [row.read - row.cached for row in run.rows]
        cached = [row.cached for row in run.rows]
        axes.bar(calls, cached, color="#b9dcf2", label="from the cache")
        axes.bar(
            calls,
            fresh,
            bottom=cached,
            color=BLUE,
            hatch="//",
            edgecolor="white",
            linewidth=0,
            label="read afresh",
        )
        share = run.cached / run.read if run.read else 0
        sentence = f"{name}: {run.trims} trims, {share:.0%} of {run.read:,} tokens from the cache"
        axes.set_title(sentence, loc="left", fontsize=10, color=INK)
        sentences.append(sentence)
        _plain_axes(axes)
    panels[0].legend(frameon=False, fontsize=9, ncols=2, loc="upper left")
    panels[-1].set_xlabel("call", color=QUIET)
    return Still(figure, "Bars of tokens read at each call. " + "; ".join(sentences) + ".")


def draw_trim(scene: TrimScene, state: TrimState) -> Still:
    """The trimming explorer's state as a picture that stands still."""
    figure = Figure(figsize=(9, 4.4), layout="constrained")
    bar, curve = figure.subplots(2, 1, height_ratios=(1, 3))
    _draw_bar(bar, scene, state)
    _draw_curve(curve, scene, state)
    readouts = "; ".join(f"{r.caption} {r.value}" for r in scene.readouts(state))
    how = f"{scene.title} · {state.policy}, budget {state.budget:,} tokens"
    figure.suptitle(how, x=0.01, ha="left", fontsize=12, color=INK, fontweight="bold")
    caption = f"{scene.sentence(state)} Figures: {readouts}. Run the cell to move it."
    return Still(figure, f"{how}. {caption}", caption)


def _draw_bar(axes: Any, scene: TrimScene, state: TrimState) -> None:
    left = 0
    row = scene.row(state)
    scale = 1.02 * max(state.budget, row.read)
    for block in scene.blocks(state):
        axes.barh(0, block.tokens, left=left, color=FILL[block.kind], edgecolor="white", height=0.8)
        if block.tokens / scale > 0.012 * (len(block.label) + 0.5):
            colour = "white" if block.kind == "head" else "#16202a"
            axes.text(
                left + block.tokens / 2,
                0,
                block.label,
                ha="center",
                va="center",
                fontsize=8,
                color=colour,
            )
        left += block.tokens
    for line in scene.lines(state):
        axes.axvline(
            line.at,
            color=INK,
            linewidth=1.6 if line.solid else 0.8,
            linestyle="-" if line.solid else "--",
        )
        axes.text(line.at - scale / 200, 0.62, line.label, ha="right", va="bottom", fontsize=8)
    axes.set_xlim(0, scale)
    axes.set_ylim(-0.5, 1.1)
    axes.axis("off")
    axes.set_title(
        f"What the model reads at step {state.step}", loc="left", fontsize=10, color=QUIET
    )


def _draw_curve(axes: Any, scene: TrimScene, state: TrimState) -> None:
    run = scene.run(state)
    calls = [row.call for row in run.rows]
    reads = [row.read for row in run.rows]
    axes.plot(
        calls,
        [row.read for row in scene.unmanaged.rows],
        color=QUIET,
        linewidth=1.3,
        label="append all",
    )
    axes.plot(calls, reads, color=BLUE, linewidth=2, label=state.policy)
    axes.fill_between(calls, reads, color=BLUE, alpha=0.1)
    trims = [row for row in run.rows if row.event]
    axes.plot(
        [r.call for r in trims],
        [r.read for r in trims],
        "o",
        color="#D590B8",
        markeredgecolor="#16202a",
        label="trim",
    )
    for line in scene.lines(state):
        axes.axhline(
            line.at,
            color=INK,
            linewidth=1.4 if line.solid else 0.8,
            linestyle="-" if line.solid else "--",
        )
    axes.axvline(state.step, color=INK, linewidth=1)
    axes.set_title("Tokens read at each step", loc="left", fontsize=10, color=QUIET)
    axes.set_xlabel("step", color=QUIET)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    _plain_axes(axes)


def _plain_axes(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LINE)
    axes.tick_params(colors=QUIET, labelsize=9)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda tokens, _: compact(tokens)))
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
