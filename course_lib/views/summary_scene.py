"""What the summary explorer shows, without a widget: a state goes in, pictures come out.

A run is walked through step by step. A few times on the way, the summary so far and the steps since
then become the next summary; each of these is a generation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from html import escape
from itertools import accumulate
from typing import NamedTuple

from course_lib.audits import Known, texts_of
from course_lib.extraction import constraints_in, note_of, split
from course_lib.messages import SYSTEM_ROLES, Message, calls_of, group_indices, text_of
from course_lib.notes import CapTooSmall, Note, fit, merge, parse_note
from course_lib.samples.handoffs import findings_alone
from course_lib.tokens import count_tokens
from course_lib.values import exact_values, normal_form
from course_lib.views import parts
from course_lib.views.parts import Panel, Readout

HOW = ("careless", "first words", "structured", "structured + pins")
SWEPT = {"ratio": "compression ratio", "generations": "generations"}
RATIOS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 60, 80, 100, 150)
GENERATIONS = tuple(range(1, 13))
PINNED = "Pinned facts:"
COLUMNS = "1.8fr 1fr .6fr .8fr 1.4fr .9fr"  # of the readouts


@dataclass(frozen=True)
class SummaryState:
    """Where every control stands. A ratio of 10 means ten to one."""

    source: str
    how: str = "structured"
    ratio: int = 10
    generations: int = 1


# ---- the summarisers ------------------------------------------------------------------------


@dataclass(eq=False)
class Piece:
    """Some steps of a run, as summarisers read them: results cut down to what they found."""

    messages: Sequence[Message]

    @cached_property
    def lines(self) -> list[str]:
        """What was asked, found and answered; not what was said on the way, or no finding."""
        told = [m for m in self.messages if m["role"] != "assistant" or not calls_of(m)]
        lines = [line for message in told for line in text_of(message).split("\n")]
        return [line for line in lines if line.strip() not in ("", "no errors")]

    @cached_property
    def note(self) -> Note:
        """The six-section note of these steps, made by rules."""
        return note_of(self.messages)


# From an earlier summary, the steps since then and a size in tokens to a new summary.
Summarise = Callable[[str, Piece, int], str]


def careless(earlier: str, new: Piece, tokens: int) -> str:
    """A retelling; when there isn't room for all of it, the newest sentences stay."""
    told = [retold(sentence, again=True) for sentence in split(earlier)]
    told += [retold(sentence) for line in new.lines for sentence in split(line)]
    kept: list[str] = []
    for sentence in reversed(told):
        tokens -= count_tokens(f" {sentence}")
        if kept and tokens < 0:
            break
        kept = [sentence, *kept]
    return " ".join(kept)


AMOUNT = re.compile(
    r"(?:about )?(?<![\w.,-])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?= ?(?:EUR|USD|kg|°C|%)))"
)


@lru_cache(maxsize=2**12)
def retold(sentence: str, again: bool = False) -> str:
    """The sentence without its last exact value, and with each amount less exact by a digit.

    An exact value that stands alone in its sentence goes only when it is told `again`.
    """
    values = [v for v in exact_values(sentence) if not AMOUNT.search(v) and v[0].isalnum()]
    if len(values) > (0 if again else 1):
        before, _, after = sentence.rpartition(values[-1])
        before = re.sub(r"[\s,(]*\b(on|at|of|with|code|file|number|gate)?\s*$", "", before)
        sentence = (before + after).strip(" ,:;")
    sentence = AMOUNT.sub(lambda match: f"about {_rounded(match[1])}", sentence)
    return sentence if not sentence or sentence[-1] in ".?!" else f"{sentence}."


def _rounded(amount: str) -> str:
    plain = amount.replace(",", "")
    digits = len(plain.replace(".", "").strip("0"))
    return f"{float(f'{float(plain):.{max(digits - 1, 1)}g}'):,.12g}"


def first_words(earlier: str, new: Piece, tokens: int) -> str:
    """The beginning of each line, all cut to the same number of words, as many as there is room."""
    words = [line.split() for line in (*earlier.splitlines(), *new.lines)] or [[]]

    def cut(most: int) -> str:
        return "\n".join(" ".join(line[:most]) for line in words)

    most = 1
    while most < max(map(len, words)) and count_tokens(cut(most + 1)) <= tokens:
        most += 1
    text = cut(most)
    while count_tokens(text) > tokens and "\n" in text:
        text = text.rpartition("\n")[0]
    return text


def structured(earlier: str, new: Piece, tokens: int) -> str:
    """Six sections; the note before is merged, not told again. The oldest lines go first."""
    return _fitted(merge(parse_note(earlier), new.note), tokens).render()


def with_pins(earlier: str, new: Piece, tokens: int) -> str:
    """The same, with the facts in a block of their own that nothing shortens, beside the ratio."""
    text, _, pins = earlier.partition(f"\n{PINNED}\n")
    facts = dict.fromkeys(filter(None, pins.split("\n")))
    facts |= dict.fromkeys(f"  - {fact}" for fact in new.note.facts)
    whole = merge(parse_note(text), replace(new.note, facts=()))
    return "\n".join([_fitted(whole, tokens).render(), PINNED, *facts])


def _fitted(note: Note, tokens: int) -> Note:
    try:
        return fit(note, tokens)
    except CapTooSmall as error:
        return fit(note, error.floor)  # goal, constraints and next step stay whatever it costs


SUMMARISERS: dict[str, Summarise] = dict(
    zip(HOW, (careless, first_words, structured, with_pins), strict=True)
)


# ---- a run that is summarised ---------------------------------------------------------------


class Fact(NamedTuple):
    """An exact value of the run, and the step, counted from 1, at which it first came up."""

    value: str
    step: int


class Generation(NamedTuple):
    """One summary: after which step, its text, and what the audit says of it."""

    step: int
    text: str
    tokens: int
    ratio: float
    kept: tuple[Fact, ...]
    lost: tuple[Fact, ...]
    invented: tuple[str, ...]


class Telling(NamedTuple):
    """A whole run: its summaries, and how many facts stand in the context after each step."""

    generations: tuple[Generation, ...]
    alive: tuple[int, ...]

    @property
    def last(self) -> Generation:
        """The summary at the end."""
        return self.generations[-1]


@dataclass
class Source:
    """A run to summarise, in steps; its system message stays in the head and isn't summarised."""

    messages: Sequence[Message]
    _pieces: dict[tuple[int, int], Piece] = field(default_factory=dict)
    _read: dict[int, Known] = field(default_factory=dict)

    @cached_property
    def steps(self) -> list[list[Message]]:
        """The messages of each step; the task belongs to the first one."""
        grouping = group_indices(self.messages, strict=False)
        head = [self.messages[i] for i in grouping.head]
        task = [m for m in head if m["role"] not in SYSTEM_ROLES]
        groups = [[self.messages[i] for i in group] for group in grouping.groups]
        return [task + groups[0], *groups[1:]] if groups else [task]

    @cached_property
    def sizes(self) -> list[int]:
        """The tokens that the steps add to the list, all up to and with each."""
        return list(accumulate(sum(map(count_tokens, step)) for step in self.steps))

    @cached_property
    def values(self) -> list[list[str]]:
        """The exact values in what was asked, found and answered at each step."""
        return [Known(self.piece(n, n + 1).lines).values for n in range(len(self.steps))]

    @cached_property
    def facts(self) -> list[Fact]:
        """The exact values, each once, however it is spelt."""
        found: dict[str, Fact] = {}
        for step, values in enumerate(self.values, 1):
            for value in values:
                found.setdefault(normal_form(value), Fact(value, step))
        return list(found.values())

    @cached_property
    def rules(self) -> list[str]:
        """The rules that the user gave, word for word."""
        return constraints_in([m for m in self.messages if m["role"] == "user"])

    def piece(self, start: int, end: int) -> Piece:
        """Some steps, as summarisers read them."""
        if (start, end) not in self._pieces:
            messages = [m for step in self.steps[start:end] for m in step]
            self._pieces[start, end] = Piece(findings_alone(messages))
        return self._pieces[start, end]

    def read(self, step: int) -> Known:
        """All that stood in the steps until then: what isn't here is invented."""
        if step not in self._read:
            self._read[step] = Known(texts_of(self.piece(0, step).messages))
        return self._read[step]

    def so_far(self, step: int) -> list[Fact]:
        """The facts that have come up until then."""
        return [fact for fact in self.facts if fact.step <= step]

    def cuts(self, generations: int) -> list[int]:
        """The steps after which a summary is made, evenly over the run; the last step is one."""
        n = len(self.steps)
        return sorted({max(n * i // generations, 1) for i in range(1, generations + 1)})

    def told(self, how: str, ratio: int, generations: int) -> Telling:
        """The run with so many summaries on the way."""
        made: list[Generation] = []
        alive: list[int] = []
        start, text = 0, ""
        for cut in self.cuts(generations):
            seen = {normal_form(fact.value) for fact in made[-1].kept} if made else set()
            for step in range(start, cut - 1):
                seen |= set(map(normal_form, self.values[step]))
                alive.append(len(seen))
            tokens = max(self.sizes[cut - 1] // ratio, 1)
            text = SUMMARISERS[how](text, self.piece(start, cut), tokens)
            made.append(self.judged(cut, text))
            alive.append(len(made[-1].kept))
            start = cut
        return Telling(tuple(made), tuple(alive))

    def judged(self, step: int, text: str) -> Generation:
        """What a summary after that step is worth: its size, and its audit."""
        written, read, tokens = Known([text]), self.read(step), count_tokens(text)
        fates = [(fact, fact.value in written) for fact in self.so_far(step)]
        return Generation(
            step,
            text,
            tokens,
            self.sizes[step - 1] / (tokens or 1),
            tuple(fact for fact, kept in fates if kept),
            tuple(fact for fact, kept in fates if not kept),
            tuple(value for value in written.values if value not in read),
        )

    def rules_kept(self, text: str) -> bool:
        """True if each rule of the user stands in the text, word for word."""
        flat = " ".join(text.split())
        return all(" ".join(rule.split()) in flat for rule in self.rules)


# ---- the scene ------------------------------------------------------------------------------


@dataclass
class SummaryScene:
    """Some sources under the explorer: every picture for any state."""

    sources: Mapping[str, Source]
    _told: dict[SummaryState, Telling] = field(default_factory=dict)

    def source(self, state: SummaryState) -> Source:
        """The run that is summarised."""
        return self.sources[state.source]

    def told(self, state: SummaryState) -> Telling:
        """The run under a state; each is told once."""
        if state not in self._told:
            self._told[state] = self.source(state).told(state.how, state.ratio, state.generations)
        return self._told[state]

    def ends(self, state: SummaryState) -> tuple[float, float]:
        """The share of facts kept from the first third of the steps, and from the last third."""
        n = len(self.source(state).steps)
        kept = {fact.value for fact in self.told(state).last.kept}

        def share(facts: list[Fact]) -> float:
            return sum(f.value in kept for f in facts) / len(facts) if facts else 1.0

        facts = self.source(state).facts
        early = [f for f in facts if 3 * f.step <= n]
        return share(early), share([f for f in facts if 3 * f.step > 2 * n])

    # ---- pictures ---------------------------------------------------------------------------

    def picture(
        self, state: SummaryState, before: SummaryState | None = None, along: str = ""
    ) -> str:
        """The figures, and below them the whole run, or all values of the setting `along`."""
        if along:
            below = "<p>The last summary, for every value of the slider</p>"
            below += self.sweep(state, along)
        else:
            below = "<p>Facts that the model has in front of it after each step</p>"
            below += self.curve(state, before)
        return (
            f'<div class="stm">{parts.readouts(self.readouts(state, before), COLUMNS)}{below}'
            f'<p role="status" style="min-height:38px">{escape(self.sentence(state))}</p></div>'
        )

    def readouts(self, state: SummaryState, before: SummaryState | None = None) -> list[Readout]:
        """The figures on top of the picture, all of the last summary."""
        last, source = self.told(state).last, self.source(state)
        early, late = self.ends(state)
        change = ""
        if before is not None:
            more = len(last.kept) - len(self.told(before).last.kept)
            change = f"{more:+d}".replace("-", "−") if more else "±0"
        everything = not last.lost
        return [
            Readout(f"{len(last.kept)} of {len(source.facts)}", "facts kept", everything, change),
            Readout(f"{last.tokens:,}", f"tokens, came out {last.ratio:.1f} : 1"),
            Readout(str(len(last.lost)), "lost"),
            Readout(str(len(last.invented)), "invented", not last.invented),
            Readout(f"{early:.0%} | {late:.0%}", "kept of the first and the last third"),
            self._rule(last, source),
        ]

    def _rule(self, last: Generation, source: Source) -> Readout:
        if not source.rules:
            return Readout("none", "rule of the user")
        there = source.rules_kept(last.text)
        return Readout("kept" if there else "lost", "the user's rule", there)

    def curve(self, state: SummaryState, before: SummaryState | None = None) -> str:
        """Facts in the context after each step, beside all that came up so far."""
        told, source = self.told(state), self.source(state)
        steps = range(1, len(source.steps) + 1)
        cuts = [g.step for g in told.generations]
        alt = (
            f"Facts in the context after each of {len(steps)} steps: at the end "
            f"{told.alive[-1]} of {len(source.facts)}, after {len(cuts)} summaries"
        )
        return parts.curve(
            told.alive,
            [],
            alt,
            unmanaged=[len(source.so_far(step)) for step in steps],
            unmanaged_name="all that came up",
            before=self.told(before).alive if before else (),
            events=cuts,
            # The last one stands at the marker's line: em spaces move its letter off the line.
            event_names=["Σ"] * (len(cuts) - 1) + ["Σ\u2003\u2003"],
            at=len(steps),
        )

    def sweep(self, state: SummaryState, along: str) -> str:
        """The last summary for all values of one setting: what is kept, what is invented, its size."""
        values, now = RATIOS if along == "ratio" else GENERATIONS, getattr(state, along)
        lasts = [self.told(replace(state, **{along: value})).last for value in values]
        top, invented = max(len(self.source(state).facts), 1), [len(g.invented) for g in lasts]
        panels = [
            Panel("facts kept", values, [len(g.kept) for g in lasts], now, top=top),
            Panel("values invented", values, invented, now, top=max(*invented, 1)),
            Panel("tokens of the summary", values, [g.tokens for g in lasts], now),
        ]
        return parts.sweep(panels, SWEPT[along], f"Sweep along {SWEPT[along]}")

    def chips(self, state: SummaryState) -> str:
        """Each fact in the order in which it came up, with a mark; behind them what was invented."""
        last = self.told(state).last
        kept = {fact.value for fact in last.kept}
        pinned = Known([last.text.partition(PINNED)[2]])
        tags = [
            _chip(fact.value, _fate(fact.value, kept, pinned)) for fact in self.source(state).facts
        ]
        tags += [_chip(value, "invented") for value in last.invented]
        return f'<div class="stm">{_key(state)}<div style="line-height:23px">{" ".join(tags)}</div></div>'

    def text(self, state: SummaryState) -> str:
        """The last summary itself, with its exact values marked."""
        last = self.told(state).last
        text = marked(last.text, {f.value for f in last.kept}, set(last.invented))
        return (
            f'<div class="stm"><p style="{HEADING_LOOK}">The last summary itself:</p>'
            f'<div style="{TEXT_LOOK}">{text}</div></div>'
        )

    def sentence(self, state: SummaryState) -> str:
        """What there is to see, in words."""
        told, source = self.told(state), self.source(state)
        last, n = told.last, len(told.generations)
        times = "One summary" if n == 1 else f"{n} summaries, each made of the one before"
        invented = f", and {len(last.invented)} values that nobody said" if last.invented else ""
        rule = "" if source.rules_kept(last.text) else " The user's rule is gone."
        return (
            f"{times}: the last holds {len(last.kept)} of {len(source.facts)} facts in "
            f"{last.tokens:,} tokens{invented}.{rule}"
        )


# A heading and lines of one height, so that a box of whole lines cuts none of them through.
TEXT_LINE = 19  # px
HEADING_LOOK = f"margin:0;line-height:{TEXT_LINE}px"
IN_A_LINE = f"line-height:{TEXT_LINE - 2}px;padding:0 8px;vertical-align:top"
TEXT_LOOK = f"white-space:pre-wrap;font-size:12.5px;line-height:{TEXT_LINE}px;color:var(--stm-ink)"

MARKS = {"kept": "✓", "pinned": "◆", "lost": "✕", "invented": "!"}
LOOKS = {
    "kept": "background:#56B4E9",
    "pinned": "background:#E69F00",
    "lost": "border:1px dashed var(--stm-pale);color:var(--stm-quiet)",
    "invented": "background:#F0E442",
}


def _fate(value: str, kept: set[str], pinned: Known) -> str:
    if value not in kept:
        return "lost"
    return "pinned" if value in pinned else "kept"


def _chip(value: str, fate: str, place: str = "line-height:18px") -> str:
    look = f"display:inline-block;{place};{LOOKS[fate]}"
    return f'<span class="stm-tag" style="{look}">{MARKS[fate]} {escape(value)}</span>'


def _key(state: SummaryState) -> str:
    fates = [fate for fate in MARKS if fate != "pinned" or state.how == HOW[3]]
    return (
        f"<p>The facts, as they came up. Key: {' '.join(_chip(fate, fate) for fate in fates)}</p>"
    )


def marked(text: str, kept: set[str], invented: set[str]) -> str:
    """The text as HTML: what is invented on yellow with a mark, exact values of the source bold."""
    values = sorted({*exact_values(text)} & {*kept, *invented}, key=len, reverse=True)
    if not values:
        return escape(text)
    pattern = rf"(?<!\w)({'|'.join(map(re.escape, values))})(?!\w)"
    looks = {value: f"<b>{escape(value)}</b>" for value in kept}
    looks |= {value: _chip(value, "invented", IN_A_LINE) for value in invented}
    return "".join(looks.get(part, escape(part)) for part in re.split(pattern, text))
