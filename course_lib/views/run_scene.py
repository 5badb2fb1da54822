"""What the explorer of your own run shows, without a widget: a state goes in, pictures come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from course_lib.caching import PRESETS, money
from course_lib.messages import HEAD, Message, group_indices
from course_lib.plans import (
    FAR,
    KEEP,
    MISSED,
    Candidate,
    Tried,
    attempt,
    budget_for,
    candidates,
    end_of,
    needed_window,
    start_of_end,
    windowed,
    with_pins,
)
from course_lib.reuses import Pin, Reuse, forms_of, reuse
from course_lib.shapes import WINDOWS, Shape, shape_of
from course_lib.values import normal_form
from course_lib.views import parts
from course_lib.views.parts import Block, Curve, Line, Readout, TotalsRow

SHOWN = ("what a window misses", "the working set", "tokens read at each call")
STOPS = (1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 60, 100, 200)  # groups
MOST_PINS = 10
READY = 150  # calls: a run up to this long is replayed at every stop when the explorer opens
CHECKED = 3  # prompts of a replay whose validity is looked at: a move must be quick
NO_LIMIT = 10**12  # a window of the model that nothing outgrows
REMEMBERED = 200  # replays

NAMES = {
    "fixed": "fixed",
    "kept": "results used again",
    "said": "said, called",
    "old": "results never used",
}

STYLES = {
    "everything kept": ("var(--stm-ink)", "circle"),
    "sliding window": ("var(--stm-blue)", "square"),
    "window and pins": ("#E69F00", "star"),
    "water marks": ("#009E73", "triangle"),
    "water marks, summary": ("#009E73", "open triangle"),
    "rolling summary": ("#CC79A7", "diamond"),
    "masking": ("#D55E00", "open square"),
}


@dataclass(frozen=True)
class RunState:
    """Where every control stands; `pins` are places in the list of proposed pins."""

    window: int
    pins: frozenset[int] = frozenset()
    shown: str = SHOWN[0]
    prices: str = next(iter(PRESETS))


@dataclass
class OwnRunScene:
    """A recorded run under the explorer: its shape, its reuses, and every technique on it."""

    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]] = ()
    name: str = "This run"
    _tried: dict[tuple[Any, ...], Tried] = field(default_factory=dict)

    # ---- what the run is --------------------------------------------------------------------

    @cached_property
    def reuse(self) -> Reuse:
        """What its calls and answers came back for."""
        return reuse(self.messages, answers=True, tools=self.tools)

    @cached_property
    def shape(self) -> Shape:
        """Its sizes."""
        return shape_of(self.messages, self.tools, self.reuse)

    @cached_property
    def needed(self) -> int:
        """The smallest window in which most reuses are found, as a plan has it."""
        return needed_window(self.reuse, FAR)

    @cached_property
    def proposed(self) -> list[Pin]:
        """The values that such a window misses most often."""
        return self.reuse.pins(self.needed, MOST_PINS)

    @cached_property
    def stops(self) -> list[int]:
        """The windows that the slider stops at: round ones, the needed one, and all groups."""
        widest = max(self.reuse.groups, 1)
        return sorted({min(stop, widest) for stop in (*STOPS, self.needed)})

    @cached_property
    def start(self) -> int | None:
        """The turn group from which on techniques are replayed, in a long run; else None."""
        return start_of_end(self.messages)

    @cached_property
    def end(self) -> list[Message]:
        """What techniques are replayed on: everything, or the end of a long run."""
        return end_of(self.messages, self.start)

    @cached_property
    def reuse_here(self) -> Reuse:
        """What that part came back for."""
        if self.start is None:
            return self.reuse
        return reuse(self.end, answers=True, tools=self.tools)

    # ---- the techniques ---------------------------------------------------------------------

    def techniques(self, state: RunState) -> list[Tried]:
        """All techniques; the windows follow the state, the others are as a plan sets them."""
        budget = budget_for(self.shape, self.needed, NO_LIMIT)
        tried = []
        for each in candidates(state.window, budget, self.tools):
            slides = each.name == "sliding window"
            key = (each.name, state.window if slides else None, frozenset())
            tried.append(self._attempt(key, each, self.end))
            if slides:
                tried.append(self._with_pins(state))
        return tried

    def lead(self, state: RunState) -> Tried:
        """The technique that the readouts are about: the window, with its pins if it has some."""
        if state.pins:
            return self._with_pins(state)
        return next(each for each in self.techniques(state) if each.name == "sliding window")

    def pins(self, state: RunState) -> list[Pin]:
        """The pins that are switched on."""
        return [self.proposed[at] for at in sorted(state.pins)]

    def _with_pins(self, state: RunState) -> Tried:
        key = ("window and pins", state.window, state.pins)
        marked = end_of(with_pins(self.messages, self.pins(state)), self.start)
        return self._attempt(key, windowed("window and pins", state.window), marked)

    def _attempt(
        self, key: tuple[Any, ...], candidate: Candidate, messages: Sequence[Message]
    ) -> Tried:
        if key not in self._tried:
            if len(self._tried) >= REMEMBERED:
                self._tried.clear()
            rest = (self.tools, self.reuse_here, PRESETS, NO_LIMIT, CHECKED)
            self._tried[key] = attempt(candidate, messages, *rest)
        return self._tried[key]

    def make_ready(self, state: RunState) -> None:
        """Replay every stop of the slider, with the state's pins, if the run is short enough."""
        if self.shape.calls <= READY:
            for stop in self.stops:
                self.techniques(replace(state, window=stop))

    # ---- what a window misses ---------------------------------------------------------------

    def missed(self, window: int, pins: frozenset[int] = frozenset()) -> float:
        """The share of the reuses that a window misses, with those pins, without a replay."""
        if not self.reuse.uses:
            return 0.0
        far = [u for u, covered in self._covered(pins) if u.distance > window and not covered]
        return len(far) / len(self.reuse.uses)

    def miss_curve(self, pins: frozenset[int] = frozenset()) -> list[float]:
        """`missed` in per cent for each window from 1 on, as far as the slider goes."""
        far = [0] * (self.stops[-1] + 2)
        for use, covered in self._covered(pins):
            if not covered:
                far[min(use.distance, self.stops[-1] + 1)] += 1
        total, left, curve = len(self.reuse.uses) or 1, sum(far) - far[0], []
        for window in range(1, self.stops[-1] + 1):
            left -= far[window]
            curve.append(100 * left / total)
        return curve

    def _covered(self, pins: frozenset[int]) -> list[tuple[Any, bool]]:
        """Each reuse, and whether a pinned group before it holds its value."""
        groups = {self.proposed[at].group for at in pins}
        held = {at: self._forms_in(at) for at in groups}
        return [
            (use, any(at < use.group and normal_form(use.value) in held[at] for at in groups))
            for use in self.reuse.uses
        ]

    def _forms_in(self, group: int) -> frozenset[str]:
        members = self._grouping.head if group == HEAD else self._grouping.group(group)
        return frozenset().union(*(forms_of(self.messages[i]) for i in members))

    @cached_property
    def _grouping(self) -> Any:
        return group_indices(self.messages, strict=False)

    # ---- pictures ---------------------------------------------------------------------------

    def picture(self, state: RunState, before: RunState | None = None) -> str:
        """Figures, the curve that is chosen, all techniques, and a sentence."""
        return (
            f'<div class="stm">{parts.readouts(self.readouts(state, before))}'
            f"<p>{self.heading(state)}</p>{self.curve(state, before)}{self.totals(state)}"
            f'<p role="status" style="min-height:38px">{self.sentence(state)}</p></div>'
        )

    def readouts(self, state: RunState, before: RunState | None = None) -> list[Readout]:
        """The figures of the window, with its pins."""
        lead, whole = self.lead(state), self.techniques(state)[0]
        was = self.lead(before) if before else None
        tokens = sum(pin.tokens for pin in self.pins(state))
        return [
            Readout(
                f"{lead.missed:.0%}",
                f"missed, of {len(self.reuse.uses)} reuses",
                good=lead.missed <= MISSED,
                change=_points(lead.missed, was.missed) if was else "",
            ),
            Readout(
                f"{lead.read:,}",
                f"read in all · {lead.read / (whole.read or 1):.0%} of everything",
                change=parts.change(lead.read, was.read, "") if was else "",
            ),
            Readout(str(len(state.pins)), f"pins, {tokens} tokens"),
            Readout(f"{lead.cached_share:.0%}", "served from cache"),
            Readout(money(lead.prices[state.prices], 3), f"price, {state.prices}"),
            Readout(f"{lead.peak:,}", "most at once"),
        ]

    def heading(self, state: RunState) -> str:
        """What the curve shows."""
        if state.shown == SHOWN[0]:
            pale = ", pale: without pins" if state.pins else ""
            return f"Missed, in per cent, by windows of 1 to {self.stops[-1]} turn groups{pale}"
        if state.shown == SHOWN[1]:
            return "Values that have been seen and will be used again, at each turn group"
        return "Tokens read at each model call"

    def curve(self, state: RunState, before: RunState | None = None) -> str:
        """One of the three curves."""
        alt = f"{self.heading(state)}. {self.sentence(state)}"
        if state.shown == SHOWN[1]:
            held = self.reuse.working_set()
            most = max(range(len(held)), key=held.__getitem__) + 1
            return parts.curve(held, [], alt, at=most, at_name=f"most: {max(held)}, group {most}")
        if state.shown == SHOWN[2]:
            reads = [row.read for row in self.lead(state).run.rows]
            whole = [row.read for row in self.techniques(state)[0].run.rows]
            last = len(whole)
            levels = [Line(size, f"{size:,}") for size in WINDOWS if size <= max(whole)]
            pale = [row.read for row in self.lead(before).run.rows] if before else ()
            return parts.curve(
                reads,
                levels,
                alt,
                unmanaged=whole,
                before=pale,
                at=last,
                at_name=f"model call {last}",
                unmanaged_name="everything kept",
            )
        return parts.curve(
            self.miss_curve(state.pins),
            [Line(100 * MISSED, f"{MISSED:.0%}")],
            alt,
            before=self.miss_curve() if state.pins else (),
            at=state.window,
            at_name=f"window {state.window}",
        )

    def totals(self, state: RunState) -> str:
        """A row for each technique."""
        tried, lead = self.techniques(state), self.lead(state)
        whole = tried[0]
        price = float(whole.prices[state.prices]) or 1e-12
        rows = [
            TotalsRow(
                Curve(self._label(each, state), (), *STYLES[each.name], strong=each is lead),
                f"{each.read:,}",
                each.read / (whole.read or 1),
                [
                    money(each.prices[state.prices], 3),
                    f"{float(each.prices[state.prices]) / price:.0%}",
                    f"{each.cached_share:.0%}",
                    f"{'✓' if each.missed <= MISSED else '✕'} {each.missed:.0%}",
                ],
            )
            for each in tried
        ]
        groups = [
            ("price", ["in all", "share"]),
            ("cache", ["serves"]),
            ("values", ["missed"]),
        ]
        return parts.totals(rows, ["technique", "read in all", "of everything"], groups)

    def _label(self, each: Tried, state: RunState) -> str:
        words = {
            "sliding window": f"window {state.window}",
            "water marks, summary": "marks, summary",
            "masking": f"masking, keeps {KEEP}",
        }
        return words.get(each.name, each.name)

    def sentence(self, state: RunState) -> str:
        """What there is to see, in words."""
        alone, whole = self.missed(state.window), self.techniques(state)[0]
        lead = self.lead(state)
        text = (
            f"A window of {_many(state.window, 'turn group')} misses {alone:.0%} of what came back"
        )
        if state.pins:
            pins = _many(len(state.pins), "pin")
            verb = "brings" if len(state.pins) == 1 else "bring"
            text += f"; {pins} {verb} that to {lead.missed:.0%}"
        part = lead.prices[state.prices] / (whole.prices[state.prices] or 1)
        return (
            f"{text}. It reads {lead.read / (whole.read or 1):.0%} of the tokens of keeping "
            f"everything, at {part:.0%} of the price."
        )

    def shape_picture(self) -> str:
        """What the last call would read if nothing were managed, by kind, and the run in words."""
        shape = self.shape
        used = shape.result_tokens - shape.dead_weight
        said = shape.reads[-1] - shape.fixed - shape.result_tokens
        sizes = {"fixed": shape.fixed, "kept": used, "said": said, "old": shape.dead_weight}
        blocks = [Block(k, n, f"{NAMES[k]} {parts.compact(n)}") for k, n in sizes.items() if n > 0]
        lines = [Line(size, f"{size:,}") for size in WINDOWS if size <= shape.reads[-1]]
        alt = f"What the last model call reads, by kind. {self.shape_sentence()}"
        scale = 1.02 * max(shape.reads[-1], sum(block.tokens for block in blocks))
        bar = parts.budget_bar(blocks, lines, alt, scale)
        kinds = [block.kind for block in blocks]
        heading = parts.bar_heading("The last model call, everything kept", kinds, NAMES)
        return f'<div class="stm">{heading}{bar}<p>{self.shape_sentence()}</p></div>'

    def shape_sentence(self) -> str:
        """The run in a few words."""
        shape = self.shape
        big = ", ".join(f"{r.tool} {r.tokens:,}" for r in shape.results[:3]) or "none"
        over = {size: shape.overflow(size) for size in WINDOWS[:3]}
        ends = ", ".join(f"{size:,} at model call {at:,}" for size, at in over.items() if at)
        dead = shape.dead_weight / (shape.result_tokens or 1)
        return (
            f"A step adds {shape.per_step:,} tokens. It outgrows {ends or 'no window'}. Biggest results: "
            f"{big}. Nothing came back for {dead:.0%} of the results. "
            f"{_many(len(shape.repeats), 'tool call')} made again."
        )


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _points(now: float, before: float) -> str:
    points = round(100 * now) - round(100 * before)
    return f"{points:+d}".replace("-", "−") if points else ""
