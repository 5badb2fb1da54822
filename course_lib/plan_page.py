"""A context plan as one page: Markdown, or HTML without scripts or remote files.

Both are made from the same parts, so that no figure stands in one and not in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from textwrap import fill
from typing import NamedTuple

from course_lib.caching import PRESETS, money
from course_lib.plans import BIG, RULES, Plan
from course_lib.shapes import WINDOWS, Shape
from course_lib.summaries import SUMMARY_PROMPT
from course_lib.transcript import Transcript

BIGGEST = 3  # results that are named


class Heading(NamedTuple):
    """The title of a section."""

    text: str
    level: int = 2


class Table(NamedTuple):
    """Rows of texts under a first row of column names; figures stand to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class Items(NamedTuple):
    """A list of sentences."""

    texts: Sequence[str]


class Code(NamedTuple):
    """Text to copy as it is."""

    text: str


Part = Heading | Table | Items | Code | str


def text_of_shape(shape: Shape, transcript: Transcript) -> str:
    """What a run looks like, as text for a terminal, with the notes of its reader."""
    about = f"{transcript.name}, {transcript.format}: {len(transcript.messages)} messages"
    notes = [Items(transcript.notes)] if transcript.notes else []
    return "\n\n".join(map(_in_text, [about, *shape_parts(shape), *notes]))


def parts(plan: Plan) -> Iterator[Part]:
    """The page, part by part."""
    chosen = plan.chosen
    yield Heading(f"Context plan for {plan.name}", 1)
    yield f"Use {chosen.name}: {chosen.about}. In code: {chosen.setting}"
    yield Items(plan.reasons)
    yield f"How sure: {plan.sure}"
    yield Heading("The run")
    yield from shape_parts(plan.shape)
    yield Heading("Each technique on this run")
    lists = list(chosen.prices)
    yield Table(
        (
            "technique",
            "tokens read",
            "cached",
            *lists,
            "values missed",
            "biggest request",
            "sendable",
        ),
        [
            (
                each.name,
                f"{each.read:,}",
                f"{each.cached_share:.0%}",
                *(money(each.prices[at], 3) for at in lists),
                f"{each.missed:.0%}",
                f"{each.peak:,}",
                "yes" if each.sendable else "too long" if each.valid else "NO",
            )
            for each in plan.tried
        ],
    )
    yield "; ".join(f"{each.name}: {each.about}" for each in plan.tried) + "."
    dates = ", ".join(f"{at} {PRESETS[at].date}" for at in lists if at in PRESETS)
    yield f"Prices of {dates or 'your own lists'}, the prompt cache, answers and summary calls counted."
    yield Items(RULES)
    yield Heading("Keep in every prompt")
    pins = [
        f"{pin.value} (missed {pin.missed} time{'s' * (pin.missed != 1)}, up to {pin.distance} groups back)"
        for pin in plan.pins
    ]
    yield Items(
        [*(f"Constraint: {rule}" for rule in plan.constraints), *pins] or ["nothing was missed"]
    )
    if plan.pins:
        yield (
            "The values are this run's own. In the next one, pin the steps that bring such values, or note "
            "them as they come: ctx.pin(place), ctx.note(text)."
        )
    yield Heading("When")
    yield Items(_rules_of_time(plan))
    yield Heading("Settings")
    managed = plan.tried[-1]
    yield (
        f"This run can't be given to such a Context: {plan.fault}"
        if plan.fault
        else f"On this run they read {managed.read:,} tokens and miss {managed.missed:.0%}: the row "
        f"{managed.name} above."
    )
    yield Code(plan.settings.code())
    yield Heading("The summary prompt")
    yield Code(SUMMARY_PROMPT)


def shape_parts(shape: Shape) -> Iterator[Part]:
    """What the run looks like: its sizes, where it would overflow, its biggest results."""
    yield Table(
        ("model calls", "first call reads", "a step adds", "last call reads", "read in all"),
        [
            tuple(
                f"{n:,}"
                for n in (shape.calls, shape.fixed, shape.per_step, shape.reads[-1], shape.total)
            )
        ],
    )
    yield Table(
        tuple(f"window {window:,}" for window in WINDOWS),
        [tuple(_overflow(shape.overflow(window), shape.calls) for window in WINDOWS)],
    )
    big = ", ".join(f"{r.tool} {r.tokens:,}" for r in shape.results[:BIGGEST])
    yield (
        f"Biggest results, in tokens: {big or 'none'}. Nothing came back for {shape.dead_weight:,} of the "
        f"{shape.result_tokens:,} tokens of results. Tool calls made again: {len(shape.repeats)}."
    )


def _rules_of_time(plan: Plan) -> list[str]:
    low = plan.budget // 2
    held = max(0, low - plan.shape.fixed) // max(plan.shape.per_step, 1)
    everything = plan.tried[0]
    later = [
        "Change nothing while a request fits your model's window. What follows is for after that."
    ]
    big = any(result.tokens >= BIG for result in plan.shape.results)
    offload = f"; results of {BIG:,} tokens and more as tables or texts with a one-line reference"
    return [
        *(later if plan.chosen == everything else []),
        f"Compact when a request passes {plan.budget * 8 // 10:,} tokens, down to {low:,}, which holds "
        f"about {held} turn groups of this run; {1 - plan.reuse.missed(held):.0%} of what it came back "
        "for was that near.",
        "Start afresh from a hand-off note when the task changes, when a call has been made three times, "
        "or after a crash.",
        f"Store for good: the whole trace, searchable{offload if big else ''}.",
    ]


def _overflow(call: int | None, calls: int) -> str:
    if call is None:
        return "never"
    return f"call {call:,}" if call <= calls else f"call {call:,}, if it went on"


# ---- Markdown -------------------------------------------------------------------------------


def markdown(plan: Plan) -> str:
    """The page as Markdown."""
    return "\n\n".join(map(_in_markdown, parts(plan))) + "\n"


def _in_markdown(part: Part) -> str:
    match part:
        case Heading(text, level):
            return f"{'#' * level} {_plain(text)}"
        case Items(texts):
            return "\n".join(f"- {_plain(text)}" for text in texts)
        case Code(text):
            return f"```\n{text}\n```"
        case Table(columns, rows):
            lines = [columns, [":---"] + ["---:"] * (len(columns) - 1), *rows]
            return "\n".join(f"| {' | '.join(map(_plain, line))} |" for line in lines)
    return _plain(part)


def _plain(text: str) -> str:
    """The text on one line, with nothing in it that Markdown or HTML would read as a mark."""
    line = " ".join(str(text).split())
    return escape(line, quote=False).translate({ord(c): f"\\{c}" for c in "|`*[]$"})


# ---- text -----------------------------------------------------------------------------------

WIDTH = 100  # characters to a line


def _in_text(part: Part) -> str:
    match part:
        case Items(texts):
            return "\n".join(fill(f"- {text}", WIDTH, subsequent_indent="  ") for text in texts)
        case Table(columns, rows):
            lines = [columns, *rows]
            widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
            return "\n".join("  ".join(map(str.rjust, line, widths)).rstrip() for line in lines)
    return fill(str(part), WIDTH)


# ---- HTML -----------------------------------------------------------------------------------

STYLE = """
body { font: 13px/1.45 system-ui, sans-serif; max-width: 60em; margin: 1.5em auto; padding: 0 1em;
  color: #1d2433; background: #fff; }
h1 { font-size: 20px; margin: 0 0 6px } h2 { font-size: 14px; margin: 14px 0 4px }
p, ul { margin: 4px 0 } table { border-collapse: collapse; margin: 6px 0 }
th, td { padding: 2px 10px 2px 0; border-bottom: 1px solid #c9d0dc; text-align: right }
th:first-child, td:first-child { text-align: left }
pre { background: #f2f4f8; padding: 8px; white-space: pre-wrap; font-size: 11px; margin: 4px 0 }
@media (prefers-color-scheme: dark) { @media screen {
  body { color: #e6e9f0; background: #14171f } pre { background: #1f2430 }
  th, td { border-color: #3a4356 } } }
@page { size: A4; margin: 12mm } @media print { body { font-size: 9px; margin: 0 } pre { font-size: 8px } }
"""


def html(plan: Plan) -> str:
    """The page as HTML: one file, no script, nothing fetched."""
    body = "\n".join(map(_in_html, parts(plan)))
    title = escape(f"Context plan for {plan.name}")
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style></head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _in_html(part: Part) -> str:
    match part:
        case Heading(text, level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Items(texts):
            return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"
        case Code(text):
            return f"<pre>{escape(text)}</pre>"
        case Table(columns, rows):
            head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
            lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
            inside = "".join(f"<tr>{line}</tr>" for line in lines)
            return f"<table><thead><tr>{head}</tr></thead><tbody>{inside}</tbody></table>"
    return f"<p>{escape(part)}</p>"
