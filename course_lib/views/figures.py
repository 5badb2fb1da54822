"""Figures that stand still, drawn with matplotlib; each is a `Still`, with its alt text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from course_lib.replay import Run
from course_lib.samples.positions import ACCURACY, CLOSED_BOOK, SOURCE
from course_lib.views.arithmetic_scene import ArithmeticScene, ArithmeticState
from course_lib.views.context_scene import MANAGERS, ContextScene, ContextState
from course_lib.views.conversation_scene import NAMES, ConversationScene, ConversationState
from course_lib.views.parts import Block, Line, compact
from course_lib.views.run_scene import OwnRunScene, RunState
from course_lib.views.session_scene import SessionScene, SessionState
from course_lib.views.still import Still
from course_lib.views.summary_scene import SummaryScene, SummaryState
from course_lib.views.trim_scene import TrimScene, TrimState

INK, QUIET, LINE = "#1f2933", "#5b6770", "#d5dae0"
FILL = {"head": "#3d4a57", "kept": "#56B4E9", "pinned": "#E69F00", "summary": "#D590B8"}
FILL |= {"fixed": FILL["head"], "said": "#009E73", "now": "#56B4E9", "old": "#EE8A4A"}
FILL |= {"again": "#F0E442", "notes": "#E69F00", "recent": "#56B4E9"}
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
    scale = 1.02 * max(state.budget, scene.row(state).read)
    title = f"What the model reads at step {state.step}"
    _draw_blocks(axes, scene.blocks(state), scene.lines(state), scale, title)


def _draw_blocks(
    axes: Any, blocks: Sequence[Block], lines: Sequence[Line], scale: float, title: str
) -> None:
    left = 0
    for block in blocks:
        axes.barh(0, block.tokens, left=left, color=FILL[block.kind], edgecolor="white", height=0.8)
        if block.tokens / scale > 0.012 * (len(block.label) + 0.5):
            colour = "white" if FILL[block.kind] == FILL["head"] else "#16202a"
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
    for line in lines:
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
    axes.set_title(title, loc="left", fontsize=10, color=QUIET)


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


def draw_conversation(scene: ConversationScene, state: ConversationState) -> Still:
    """The conversation explorer's state as a picture that stands still."""
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    *bars, curve = figure.subplots(3, 1, height_ratios=(1, 1, 3))
    window = Line(state.window, f"window {state.window:,}", solid=True)
    for axes, name, row in zip(bars, NAMES, scene.rows(state), strict=True):
        title = f"{name}: the last call of question {state.step}"
        _draw_blocks(axes, scene.blocks(row, state), [window], scene.scale(state), title)
    for run, name, colour in zip(scene.pair(state), NAMES, (QUIET, BLUE), strict=True):
        reads = [row.read for row in run.rows]
        curve.plot(range(1, len(reads) + 1), reads, color=colour, linewidth=1.8, label=name)
    curve.axhline(state.window, color=INK, linewidth=1.4)
    curve.axvline(scene.call(state) + 1, color=INK, linewidth=1)
    curve.set_title("Tokens read at each call", loc="left", fontsize=10, color=QUIET)
    curve.set_xlabel("call", color=QUIET)
    curve.legend(frameon=False, fontsize=9, loc="upper left")
    _plain_axes(curve)
    readouts = "; ".join(f"{r.caption} {r.value}" for r in scene.readouts(state))
    how = f"{scene.title} · {scene.steps} questions, tool results {state.results}"
    figure.suptitle(how, x=0.01, ha="left", fontsize=12, color=INK, fontweight="bold")
    caption = f"{scene.sentence(state)} Figures: {readouts}. Run the cell to move it."
    return Still(figure, f"{how}. {caption}", caption)


def plot_reads(reads: Mapping[str, Sequence[int]]) -> Still:
    """What each step reads under several techniques, a line for each list."""
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    axes = figure.subplots()
    for (name, values), mark, colour in zip(
        reads.items(), "os^D", (INK, BLUE, "#B85C8E", "#B34700"), strict=False
    ):
        steps = range(1, len(values) + 1)
        every = max(len(values) // 5, 1)
        axes.plot(steps, values, color=colour, marker=mark, markevery=every, label=name)
    axes.set_title("Tokens read at each step", loc="left", fontsize=10, color=QUIET)
    axes.set_xlabel("step", color=QUIET)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    _plain_axes(axes)
    sentences = (
        f"{name}: {values[0]:,} at step 1, {values[-1]:,} at step {len(values)}, {sum(values):,} in all"
        for name, values in reads.items()
    )
    return Still(figure, "Tokens read at each step. " + "; ".join(sentences) + ".")


def draw_arithmetic(scene: ArithmeticScene, state: ArithmeticState) -> Still:
    """The arithmetic explorer's state as a picture that stands still."""
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    axes = figure.subplots()
    lead = scene.focus(state)
    for technique, mark in zip(scene.techniques(state), "o^sD*v<>X", strict=False):
        values, leads = scene.values(technique, state), technique is lead
        axes.plot(
            range(1, len(values) + 1),
            values,
            color=BLUE if leads else INK,
            linewidth=2.6 if leads else 0.9,
            alpha=1 if leads else 0.65,
            marker=mark,
            markersize=5,
            markevery=max(len(values) // 5, 1),
            label=technique.name,
        )
    axes.set_title(state.shown.capitalize(), loc="left", fontsize=10, color=QUIET)
    axes.set_xlabel("step", color=QUIET)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    _plain_axes(axes)
    totals = ", ".join(f"{t.name} {t.total:,}" for t in scene.techniques(state))
    how = f"{scene.title} · {len(lead.reads)} calls, {len(scene.techniques(state))} techniques"
    figure.suptitle(how, x=0.01, ha="left", fontsize=12, color=INK, fontweight="bold")
    caption = f"{scene.sentence(state)} In all: {totals}. Run the cell to move it."
    return Still(figure, f"{how}. {caption}", caption)


def plot_positions() -> Still:
    """Published accuracy by the position of the answer among 10, 20 and 30 documents."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots()
    sentences = []
    for (count, curve), colour, mark in zip(
        ACCURACY.items(), (BLUE, "#009E73", "#D55E00"), "os^", strict=True
    ):
        places = [index + 1 for index in curve]
        axes.plot(
            places, list(curve.values()), color=colour, marker=mark, label=f"{count} documents"
        )
        points = ", ".join(f"{index + 1}: {share}" for index, share in curve.items())
        sentences.append(f"{count} documents, by place of the answer: {points}")
    axes.axhline(CLOSED_BOOK, color=INK, linewidth=1, linestyle="--")
    axes.text(12.5, CLOSED_BOOK + 0.4, "no documents at all", ha="center", fontsize=9, color=INK)
    axes.set_xlabel("place of the document that holds the answer", color=QUIET)
    axes.set_title("Questions answered rightly (%)", loc="left", fontsize=10, color=QUIET)
    axes.legend(frameon=False, fontsize=9, loc="upper center", ncols=3)
    _plain_axes(axes)
    axes.set_ylim(45, 85)
    alt = f"Accuracy in per cent. {'; '.join(sentences)}; no documents at all: {CLOSED_BOOK}."
    return Still(figure, alt, f"Source: {SOURCE}.")


def draw_session(scene: SessionScene, state: SessionState) -> Still:
    """The session explorer's state as a picture that stands still."""
    figure = Figure(figsize=(9, 4.4), layout="constrained")
    bar, curve = figure.subplots(2, 1, height_ratios=(1, 3))
    title = f"What the model reads at turn {state.step}"
    _draw_blocks(bar, scene.blocks(state), scene.lines(state), 1.02 * scene.highest, title)
    walk = scene.solved(state)
    plain = [row.read for row in scene.unmanaged.rows]
    calls, reads = range(1, len(plain) + 1), [row.read for row in walk.rows]
    curve.plot(calls, plain, color=QUIET, linewidth=1.3, label="nothing managed")
    curve.plot(calls, reads, color=BLUE, linewidth=2, label="with the monitor")
    curve.fill_between(calls, reads, color=BLUE, alpha=0.1)
    noted = [row for row in walk.rows if row.event]
    dots = {"marker": "o", "linestyle": "", "color": "#D590B8", "markeredgecolor": "#16202a"}
    curve.plot([r.call for r in noted], [r.read for r in noted], label="note", **dots)
    for line in scene.lines(state):
        curve.axhline(line.at, color=INK, linewidth=0.8, linestyle="--")
    curve.set_title("Tokens read at each turn", loc="left", fontsize=10, color=QUIET)
    curve.set_xlabel("turn", color=QUIET)
    curve.xaxis.set_major_locator(MaxNLocator(integer=True))
    curve.legend(frameon=False, fontsize=9, loc="upper left")
    _plain_axes(curve)
    readouts = "; ".join(f"{r.caption} {r.value}" for r in scene.readouts(state))
    how = f"{scene.title} · threshold {state.threshold:,} tokens, {state.keep} turns kept"
    figure.suptitle(how, x=0.01, ha="left", fontsize=12, color=INK, fontweight="bold")
    caption = f"{scene.sentence(state)} Figures: {readouts}. Run the cell to move it."
    return Still(figure, f"{how}. {caption}", caption)


def draw_summary(scene: SummaryScene, state: SummaryState) -> Still:
    """The summary explorer's state as a picture that stands still."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots()
    told, source = scene.told(state), scene.source(state)
    steps = range(1, len(source.steps) + 1)
    all_facts = [len(source.so_far(step)) for step in steps]
    axes.plot(steps, all_facts, color=QUIET, linewidth=1.3, label="all that came up")
    axes.plot(steps, told.alive, color=BLUE, linewidth=2, label=state.how)
    axes.fill_between(steps, told.alive, color=BLUE, alpha=0.1)
    dots = {"marker": "o", "linestyle": "", "color": "#D590B8", "markeredgecolor": "#16202a"}
    made = told.generations
    axes.plot([g.step for g in made], [len(g.kept) for g in made], label="summary", **dots)
    title = "Facts in front of the model after each step"
    axes.set_title(title, loc="left", fontsize=10, color=QUIET)
    axes.set_xlabel("step", color=QUIET)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    _plain_axes(axes)
    how = f"{state.source} · {state.how}, {state.ratio} to one, {len(made)} generations"
    figure.suptitle(how, x=0.01, ha="left", fontsize=12, color=INK, fontweight="bold")
    readouts = "; ".join(f"{r.caption} {r.value}" for r in scene.readouts(state))
    caption = f"{scene.sentence(state)} Figures: {readouts}. Run the cell to move it."
    return Still(figure, f"{how}. {caption}", caption)


def draw_context(scene: ContextScene, state: ContextState) -> Still:
    """The context explorer's state as a picture that stands still."""
    figure = Figure(figsize=(9, 4.4), layout="constrained")
    bar, curve = figure.subplots(2, 1, height_ratios=(1, 3))
    title = f"What the model reads after step {state.step}"
    scale = 1.02 * max(state.budget, scene.moment(state).read)
    _draw_blocks(bar, scene.blocks(state), scene.lines(state), scale, title)
    for name, colour in zip(MANAGERS, (QUIET, BLUE), strict=True):
        walk = scene.walk(replace(state, manager=name))
        reads = [moment.read for moment in walk.moments]
        curve.plot(range(1, len(reads) + 1), reads, color=colour, linewidth=1.8, label=name)
    curve.axhline(state.budget, color=INK, linewidth=1.4)
    curve.set_title("Tokens read after each step", loc="left", fontsize=10, color=QUIET)
    curve.set_xlabel("step", color=QUIET)
    curve.legend(frameon=False, fontsize=9, loc="lower right")
    _plain_axes(curve)
    readouts = "; ".join(f"{r.caption} {r.value}" for r in scene.readouts(state))
    how = f"{state.manager.capitalize()}, budget {state.budget:,} tokens"
    figure.suptitle(how, x=0.01, ha="left", fontsize=12, color=INK, fontweight="bold")
    caption = f"{scene.sentence(state)} Figures: {readouts}. Run the cell to move it."
    return Still(figure, f"{how}. {caption}", caption)


def draw_run(scene: OwnRunScene, state: RunState) -> Still:
    """The state of the explorer of your own run as a picture that stands still."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    misses, reads = figure.subplots(1, 2, width_ratios=(3, 2))
    alone, pinned = scene.miss_curve(), scene.miss_curve(state.pins)
    windows = range(1, len(alone) + 1)
    misses.plot(windows, alone, color=QUIET, linewidth=1.4, linestyle="--", label="window alone")
    misses.plot(windows, pinned, color=BLUE, linewidth=2, label=f"with {len(state.pins)} pins")
    misses.axvline(state.window, color=INK, linewidth=1)
    misses.set_title(
        "Values missed (%), by the window's size", loc="left", fontsize=10, color=QUIET
    )
    misses.set_xlabel("turn groups", color=QUIET)
    misses.xaxis.set_major_locator(MaxNLocator(integer=True))
    misses.legend(frameon=False, fontsize=9, loc="upper right")
    _plain_axes(misses)
    tried = scene.techniques(state)
    names = [f"{each.name}, misses {each.missed:.0%}" for each in tried]
    reads.barh(names, [each.read for each in tried], color="#56B4E9")
    reads.invert_yaxis()
    reads.set_title("Tokens read in all", loc="left", fontsize=10, color=QUIET)
    reads.spines[["top", "right"]].set_visible(False)
    reads.tick_params(colors=QUIET, labelsize=9)
    reads.xaxis.set_major_formatter(FuncFormatter(lambda tokens, _: compact(tokens)))
    reads.xaxis.set_major_locator(MaxNLocator(3))
    readouts = "; ".join(f"{r.caption} {r.value}" for r in scene.readouts(state))
    how = f"{scene.name} · window of {state.window} turn groups, {len(state.pins)} pins"
    figure.suptitle(how, x=0.01, ha="left", fontsize=12, color=INK, fontweight="bold")
    caption = f"{scene.sentence(state)} Figures: {readouts}. Run the cell to move it."
    return Still(figure, f"{how}. {caption} {scene.shape_sentence()}", caption)


def _plain_axes(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LINE)
    axes.tick_params(colors=QUIET, labelsize=9)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda tokens, _: compact(tokens)))
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
