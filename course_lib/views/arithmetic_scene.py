"""What the arithmetic explorer shows, without a widget: a state goes in, pictures come out.

A scene gives the techniques for a state: the model scene by the arithmetic, the run scene by a
replay of a recorded run. All that is drawn from them is the same for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

from course_lib.arithmetic import (
    Settings,
    Technique,
    overflow_step,
    priced,
    share,
    techniques,
)
from course_lib.caching import (
    PRESETS,
    CacheRules,
    Prices,
    answer_tokens,
    cache_use,
    cache_uses,
    money,
    summary_calls,
)
from course_lib.messages import Message, text_of
from course_lib.replay import Run, replay
from course_lib.tokens import TOKENS_PER_REPLY, count_tokens
from course_lib.trimming import (
    Policy,
    append_all,
    mask_results,
    rolling_summary,
    sliding_window,
)
from course_lib.views import parts
from course_lib.views.parts import Curve, Line, Panel, Readout, TotalsRow

SHOWN = ("tokens read at each step", "tokens read so far", "price so far")
WINDOWS = {"8K": 8_000, "32K": 32_000, "128K": 128_000}
NO_CACHE = "no cache"
PRICES = (*PRESETS, NO_CACHE)
REMEMBERED = 300  # replays; each is some kilobytes

# Colours of Okabe and Ito, and a mark and a dash, so that no two differ in colour alone.
STYLES = {
    "unmanaged": ("var(--stm-ink)", "circle", ""),
    "trim at source": ("#009E73", "triangle", ""),
    "sliding window": ("var(--stm-blue)", "square", ""),
    "rolling summary": ("#CC79A7", "diamond", ""),
    "pinned notes": ("#E69F00", "star", ""),
    "offload to storage": ("#009E73", "open triangle", "6 3"),
    "fresh start": ("#CC79A7", "open diamond", "6 3"),
    "sub-agent": ("var(--stm-pale)", "open circle", "6 3"),
    "masking": ("#D55E00", "open square", ""),
}

# The technique that a setting belongs to: a sweep along it shows that one.
OWNERS = {
    "trimmed": "trim at source",
    "window": "sliding window",
    "every": "rolling summary",
    "ratio": "rolling summary",
    "note": "pinned notes",
    "cap": "pinned notes",
    "keep": "masking",
}

# The settings on which the replay of a technique depends.
DEPENDS = {
    "unmanaged": (),
    "trim at source": ("trimmed",),
    "sliding window": ("window",),
    "rolling summary": ("every", "ratio"),
    "masking": ("keep",),
}

RANGES = {
    "steps": (2, 200, 1),
    "fixed": (0, 20_000, 500),
    "per_step": (200, 3_000, 50),
    "trimmed": (0, 1_000, 10),
    "window": (1, 50, 1),
    "every": (1, 50, 1),
    "ratio": (1, 50, 1),
    "note": (0, 400, 10),
    "cap": (0, 1_500, 50),  # at most what the first state's notes come to
    "keep": (0, 20, 1),
}

LABELS = {
    "steps": "run length (steps)",
    "fixed": "fixed (tokens)",
    "per_step": "per step (tokens)",
    "trimmed": "result at source (tokens)",
    "window": "window (steps)",
    "every": "summary every … steps",
    "ratio": "ratio (… to one)",
    "note": "note (tokens a step)",
    "cap": "notes cap (0: none)",
    "keep": "masking keeps (results)",
}


@dataclass(frozen=True)
class ArithmeticState:
    """Where every control stands. A `cap` of 0 is none."""

    focus: str = "sliding window"
    shown: str = SHOWN[0]
    step: int = 40
    steps: int = 40
    fixed: int = 2_000
    per_step: int = 800
    trimmed: int = 250
    window: int = 10
    every: int = 10
    ratio: int = 10
    note: int = 40
    cap: int = 400
    keep: int = 3
    prices: str = "OpenAI"

    @property
    def settings(self) -> ArithmeticState:
        """The state without the step: what decides the run."""
        return replace(self, step=0)


@dataclass
class ArithmeticScene:
    """Techniques under the explorer: every picture of them for any state."""

    title: str = "The arithmetic of a long run"

    def techniques(self, state: ArithmeticState) -> list[Technique]:
        """The techniques for these settings, the unmanaged one first."""
        raise NotImplementedError

    def answers(self, state: ArithmeticState) -> list[int]:
        """The tokens of each answer."""
        raise NotImplementedError

    def steps(self, state: ArithmeticState) -> int:
        """How many steps the run has."""
        return state.steps

    # ---- figures ----------------------------------------------------------------------------

    def focus(self, state: ArithmeticState) -> Technique:
        """The technique that leads the picture; the unmanaged one where there is no such."""
        all_of_them = self.techniques(state)
        return next((t for t in all_of_them if t.name == state.focus), all_of_them[0])

    def prices(self, state: ArithmeticState) -> Prices:
        """The prices that are chosen; without a cache, those of the first preset."""
        if state.prices == NO_CACHE:
            return next(iter(PRESETS.values())).uncached()
        return PRESETS[state.prices]

    def cost(self, technique: Technique, state: ArithmeticState) -> float:
        """What the whole run costs in dollars."""
        return float(self._cost(technique, state).total)

    def _cost(self, technique: Technique, state: ArithmeticState) -> Any:
        return priced(technique, self.prices(state), self._answers_of(technique, state))

    def _answers_of(self, technique: Technique, state: ArithmeticState) -> list[int]:
        # A sub-agent makes a call more; it answers as much as any other.
        answers = self.answers(state)
        return [*answers, *answers[-1:]][: len(technique.reads)]

    def cached(self, technique: Technique, state: ArithmeticState) -> float:
        """The part of what is read that the cache serves."""
        rules = self.prices(state).cache
        pairs = zip(technique.reads, technique.shared, strict=True)
        served = sum(cache_use(read, shared, rules).cached for read, shared in pairs)
        return served / (technique.total or 1)

    def costs(self, technique: Technique, state: ArithmeticState) -> list[float]:
        """What each call costs in dollars, the summary that is written before it included."""
        prices = self.prices(state)
        unit = {
            name: float(getattr(prices, name)) / prices.per
            for name in ("input", "output", "cache_read", "cache_write")
        }
        costs = []
        answers = self._answers_of(technique, state)
        for read, shared, answer in zip(technique.reads, technique.shared, answers, strict=True):
            use = cache_use(read, shared, prices.cache)
            plain = use.read - use.cached - use.written
            cost = plain * unit["input"] + use.cached * unit["cache_read"]
            costs.append(cost + use.written * unit["cache_write"] + answer * unit["output"])
        for at, call in zip(summary_places(technique), technique.summaries, strict=True):
            costs[at] += call.read * unit["input"] + call.answer * unit["output"]
        return costs

    def values(self, technique: Technique, state: ArithmeticState) -> list[float]:
        """What the curve of a technique shows, a number for each call."""
        if state.shown == SHOWN[0]:
            return list(technique.reads)
        if state.shown == SHOWN[1]:
            return list(accumulate(technique.reads))
        return list(accumulate(1000 * cost for cost in self.costs(technique, state)))

    # ---- pictures ---------------------------------------------------------------------------

    def picture(
        self, state: ArithmeticState, before: ArithmeticState | None = None, along: str = ""
    ) -> str:
        """Figures, curves (or a sweep along one setting), the totals and a sentence."""
        if along:
            drawn = self.sweep(state, along)
        else:
            drawn = f"<p>{state.shown.capitalize()}</p>{self.curves(state, before)}"
        return (
            f'<div class="stm">{parts.readouts(self.readouts(state, before))}'
            f"{drawn}{self.totals(state)}"
            f'<p role="status" style="min-height:38px">{self.sentence(state)}</p></div>'
        )

    def readouts(
        self, state: ArithmeticState, before: ArithmeticState | None = None
    ) -> list[Readout]:
        """The figures of the leading technique."""
        lead, total = self.focus(state), self.techniques(state)[0].total
        step = self.step(state)
        change, price_change = "", ""
        if before is not None:
            change = parts.change(lead.total, self.focus(before).total, "")
            then = self.cost(self.focus(before), before)
            price_change = parts.change(self.cost(lead, state), then, "")
        return [
            Readout(f"{lead.reads[step - 1]:,}", f"tokens read at step {step}"),
            Readout(
                f"{lead.total:,}",
                f"read in all · {share(lead.total, total or 1):.0%} of unmanaged",
                change=change,
            ),
            Readout(str(len(lead.summaries)), "summary calls"),
            Readout(f"{self.cached(lead, state):.0%}", "served from cache"),
            Readout(money(self._cost(lead, state).total, 3), "price in all", change=price_change),
            Readout(f"{max(lead.reads):,}", "most at once"),
        ]

    def step(self, state: ArithmeticState) -> int:
        """The step that is looked at; the last one, where the run is shorter."""
        return min(state.step, self.steps(state))

    def curves(self, state: ArithmeticState, before: ArithmeticState | None = None) -> str:
        """All techniques at once."""
        lead = self.focus(state)
        shown = [self._curve(t, self.values(t, state), lead.name) for t in self.techniques(state)]
        comparable = before is not None and before.shown == state.shown
        pale = self.values(self.focus(before), before) if comparable else ()
        alt = f"{state.shown.capitalize()} under {len(shown)} techniques; {self.sentence(state)}"
        levels = [Line(size, f"{name} window") for name, size in WINDOWS.items()]
        return parts.curves(
            shown,
            alt,
            levels=levels if state.shown == SHOWN[0] else (),
            before=pale,
            at=self.step(state),
            figure=_dollars if state.shown == SHOWN[2] else parts.compact,
        )

    def _curve(self, technique: Technique, values: Sequence[float], lead: str) -> Curve:
        colour, mark, dash = STYLES[technique.name]
        return Curve(technique.name, values, colour, mark, dash, technique.name == lead)

    def totals(self, state: ArithmeticState) -> str:
        """A row for each technique: what it reads, what it costs, where it overflows."""
        lead, all_of_them = self.focus(state).name, self.techniques(state)
        base, least = all_of_them[0], 1e-12
        price = max(self.cost(base, state), least)
        rows = [
            TotalsRow(
                self._curve(t, (), lead),
                f"{t.total:,}",
                share(t.total, base.total or 1),
                [
                    money(self._cost(t, state).total, 3),
                    f"{self.cost(t, state) / price:.0%}",
                    *(str(overflow_step(t.reads, size) or "–") for size in WINDOWS.values()),
                ],
            )
            for t in all_of_them
        ]
        heads = ["technique", "read in all", "of unmanaged"]
        groups = [("price", ["in all", "share"]), ("outgrows a window of", list(WINDOWS))]
        return parts.totals(rows, heads, groups)

    def sweep(self, state: ArithmeticState, along: str) -> str:
        """One technique for many values of one setting: tokens, their share, the price's share."""
        now, low_to_high = getattr(state, along), self.swept_values(state, along)
        focus = OWNERS.get(along, state.focus)
        tried = sorted({*low_to_high, now})
        states = [replace(state, **{along: v}, focus=focus) for v in tried]
        leads, bases = [self.focus(s) for s in states], [self.techniques(s)[0] for s in states]
        pairs = list(zip(states, leads, bases, strict=True))
        panels = [
            Panel(
                "tokens read in all", tried, [t.total for t in leads], now, told=True, least=True
            ),
            Panel(
                "tokens, part of unmanaged",
                tried,
                [t.total / (b.total or 1) for _, t, b in pairs],
                now,
                percent=True,
                told=True,
                least=True,
            ),
            Panel(
                "price, part of unmanaged",
                tried,
                [self.cost(t, s) / max(self.cost(b, s), 1e-12) for s, t, b in pairs],
                now,
                percent=True,
                told=True,
                least=True,
            ),
        ]
        label = LABELS[along].partition(" (")[0]
        heading = f"<p>{leads[0].name.capitalize()}, for every value of the slider</p>"
        return heading + parts.sweep(panels, label, f"Sweep along {label}", parts.CURVES)

    def swept_values(self, state: ArithmeticState, along: str) -> list[int]:
        """The values of a setting that a sweep tries, some two dozen."""
        low, high, step = RANGES[along]
        return list(range(low, high + 1, max(step, (high - low) // 24 // step * step)))

    def sentence(self, state: ArithmeticState) -> str:
        """What there is to see, in words."""
        lead, base = self.focus(state), self.techniques(state)[0]
        step, price = self.step(state), self.cost(base, state)
        how = "without a cache" if state.prices == NO_CACHE else "with the cache"
        text = (
            f"{lead.name.capitalize()}: step {step} reads {lead.reads[step - 1]:,} tokens, "
            f"all {len(lead.reads)} model calls {lead.total:,}."
        )
        if lead is base:
            return text
        tokens = share(lead.total, base.total or 1)
        part = f" That is {tokens:.1%} of the tokens of doing nothing"
        return f"{text}{part}, and {how} {self.cost(lead, state) / (price or 1):.0%} of the price."


# ---- by the arithmetic ----------------------------------------------------------------------


@dataclass
class ModelScene(ArithmeticScene):
    """Runs that are three numbers: fixed tokens, tokens a step, steps."""

    _known: dict[ArithmeticState, list[Technique]] = field(default_factory=dict)

    def techniques(self, state: ArithmeticState) -> list[Technique]:
        key = replace(state, focus="", shown="", step=0, prices="")
        if key not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = techniques(settings_of(state))
        return self._known[key]

    def answers(self, state: ArithmeticState) -> list[int]:
        settings = settings_of(state)
        return [settings.per_step - settings.result] * state.steps


def settings_of(state: ArithmeticState) -> Settings:
    """The state in the words of the arithmetic; three quarters of a step are its result."""
    return Settings(
        fixed=state.fixed,
        per_step=state.per_step,
        steps=state.steps,
        result=state.per_step * 3 // 4,
        trimmed=state.trimmed,
        window=state.window,
        every=state.every,
        ratio=state.ratio,
        note=state.note,
        cap=state.cap or None,
        keep=state.keep,
    )


def summary_places(technique: Technique) -> list[int]:
    """For each summary call, the index of the call that reads its note first."""
    # What primes the reply stands at the end of a request, so no later one shares it.
    before = [read - TOKENS_PER_REPLY for read in [0, *technique.reads]]
    rewritten = [i for i, shared in enumerate(technique.shared) if i and shared < before[i]]
    # Before the second call there may be nothing to rewrite but the fixed tokens, which stay.
    missing = len(technique.summaries) - len(rewritten)
    return ([1] * missing + rewritten)[: len(technique.summaries)]


# ---- by a replay ----------------------------------------------------------------------------


@dataclass
class RunScene(ArithmeticScene):
    """A recorded run, replayed under each policy."""

    messages: Sequence[Message] = ()
    tools: Sequence[dict[str, Any]] = ()
    _known: dict[tuple[Any, ...], Technique] = field(default_factory=dict)

    @cached_property
    def length(self) -> int:
        """The calls of the whole run."""
        return sum(m["role"] == "assistant" for m in self.messages)

    @cached_property
    def fixed(self) -> int:
        """What the first call reads."""
        return self._replayed("unmanaged", first_run_state(self)).reads[0]

    @cached_property
    def per_step(self) -> int:
        """What a step adds, on average."""
        reads = self._replayed("unmanaged", first_run_state(self)).reads
        return round((reads[-1] - reads[0]) / max(len(reads) - 1, 1))

    @cached_property
    def result(self) -> int:
        """The tokens of a result, on average."""
        sizes = [count_tokens(m) for m in self.messages if m["role"] == "tool"]
        return min(round(sum(sizes) / max(len(sizes), 1)), self.per_step)

    def steps(self, state: ArithmeticState) -> int:
        return min(state.steps, self.length)

    def answers(self, state: ArithmeticState) -> list[int]:
        return self._answers[: self.steps(state)]

    @cached_property
    def _answers(self) -> list[int]:
        return answer_tokens(self.messages)

    def techniques(self, state: ArithmeticState) -> list[Technique]:
        return [_first(self._replayed(name, state), self.steps(state)) for name in DEPENDS]

    def _replayed(self, name: str, state: ArithmeticState) -> Technique:
        key = (name, *(getattr(state, setting) for setting in DEPENDS[name]))
        if key not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            messages, policy = self._on(name, state)
            self._known[key] = technique_of(name, replay(messages, policy, tools=self.tools))
        return self._known[key]

    def _on(self, name: str, state: ArithmeticState) -> tuple[list[Message], Policy]:
        policies: dict[str, Callable[[], Policy]] = {
            "sliding window": lambda: sliding_window(state.window),
            "rolling summary": lambda: rolling_summary(state.every, state.ratio),
            "masking": lambda: mask_results(state.keep),
        }
        if name == "trim at source":
            return trimmed_at_source(self.messages, state.trimmed), append_all()
        return list(self.messages), policies.get(name, append_all)()

    def by_arithmetic(self, state: ArithmeticState) -> Technique:
        """The leading technique on a run of equal steps, of the same average size."""
        model = replace(
            settings_of(state),
            fixed=self.fixed,
            per_step=self.per_step,
            steps=self.steps(state),
            result=self.result,
        )
        return next(t for t in techniques(model) if t.name == self.focus(state).name)

    def sentence(self, state: ArithmeticState) -> str:
        model, lead = self.by_arithmetic(state), self.focus(state)
        off = parts.change(model.total, lead.total, "as replayed")
        equal = f"{self.fixed:,} + {self.per_step:,} a step"
        return f"{super().sentence(state)} By the arithmetic ({equal}): {model.total:,}, {off}."


def first_run_state(scene: RunScene) -> ArithmeticState:
    """All of the run, with a window of ten."""
    return ArithmeticState(step=scene.length, steps=scene.length)


def technique_of(name: str, run: Run) -> Technique:
    """A replayed run as a technique: what each call read, and of that what was read before."""
    reads = [row.read for row in run.rows]
    every_token = CacheRules(block=1, minimum=0)
    uses = cache_uses([row.prompt for row in run.rows], every_token, reads=reads)
    return Technique(name, reads, [use.cached for use in uses], summary_calls(run))


def trimmed_at_source(messages: Sequence[Message], tokens: int) -> list[Message]:
    """The run as if its tools had returned less: of each long result only the first `tokens`."""
    return [_cut(m, tokens) if m["role"] == "tool" else m for m in messages]


def _cut(message: Message, tokens: int) -> Message:
    text = text_of(message)
    size = count_tokens(text)
    return message if size <= tokens else {**message, "content": text[: len(text) * tokens // size]}


def _first(technique: Technique, steps: int) -> Technique:
    """The technique on a run that ends earlier: no policy looks ahead."""
    if steps == len(technique.reads):
        return technique
    places = summary_places(technique)
    written = [c for at, c in zip(places, technique.summaries, strict=True) if at < steps]
    return Technique(technique.name, technique.reads[:steps], technique.shared[:steps], written)


def _dollars(thousandths: float) -> str:
    return f"${thousandths / 1000:.2f}"
