"""The parts that explorers are made of: pure functions from plain data to HTML and SVG.

Each picture is as wide as its frame and of a fixed shape, so that nothing jumps while a slider
moves. Colours are those of Okabe and Ito, always beside a mark or a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 860  # units of every drawing
CURVES = 300  # units of height of a drawing with several curves

MARKS = {"pinned": "◆", "summarised": "Σ", "summary": "Σ", "dropped": "✕", "later": "·"}

STYLE = """<style>
.stm { --stm-ink: #1f2933; --stm-quiet: #5b6770; --stm-line: #d5dae0; --stm-blue: #0072B2;
  --stm-wash: rgba(0,114,178,.11); --stm-pale: #8b98a5; --stm-head: #3d4a57; --stm-good: #00714f;
  --stm-bad: #b34700; color: var(--stm-ink); font: 13px/1.4 system-ui, sans-serif; }
[data-jp-theme-light="false"] .stm { --stm-ink: #e8ecef; --stm-quiet: #aab4bd; --stm-line: #46505a;
  --stm-blue: #56B4E9; --stm-wash: rgba(86,180,233,.16); --stm-pale: #7b8792; --stm-head: #5d6f80;
  --stm-good: #3fd0a4; --stm-bad: #ff9d57; }
.stm h3 { font-size: 16px; margin: 0; color: var(--stm-ink); }
.stm p { margin: 2px 0 0; color: var(--stm-quiet); }
.stm svg { display: block; width: 100%; height: auto; }
.stm svg text { font: 12px system-ui, sans-serif; fill: var(--stm-quiet); }
.stm .stm-readouts { display: grid; grid-template-columns: 1.1fr 1.6fr .6fr 1fr 1fr .8fr; gap: 12px;
  height: 60px; }
.stm .stm-readouts b { display: block; height: 28px; font-size: 20px; line-height: 28px;
  white-space: nowrap; }
.stm .stm-readouts small { font-size: 12px; font-weight: 600; color: var(--stm-quiet); }
.stm .stm-readouts span { color: var(--stm-quiet); font-size: 12px; line-height: 15px;
  display: block; }
.stm .stm-good { color: var(--stm-good); } .stm .stm-bad { color: var(--stm-bad); }
.stm table.stm-rows { width: 100%; border-collapse: collapse; table-layout: fixed; margin: 0;
  font-size: 13px; border: 0; }
.stm table.stm-rows td, .stm table.stm-rows th { height: 30px; box-sizing: border-box;
  padding: 0 8px; border: 0; border-top: 1px solid var(--stm-line); text-align: left; white-space: nowrap;
  overflow: hidden; text-overflow: ellipsis; color: var(--stm-ink); background: none; }
.stm table.stm-rows th { color: var(--stm-quiet); font-weight: normal; border-top: 0;
  height: 24px; }
.stm table.stm-rows code { background: none; color: inherit; font-size: 12px; padding: 0; }
.stm .stm-tag { border-radius: 9px; padding: 1px 8px; color: #16202a; font-size: 12px; }
.stm .stm-kept { background: #56B4E9; } .stm .stm-pinned { background: #E69F00; }
.stm .stm-summarised { background: #D590B8; }
.stm .stm-dropped, .stm .stm-later { color: var(--stm-quiet); border: 1px dashed var(--stm-pale); }
.stm p.stm-heading { display: flex; overflow: hidden; white-space: nowrap; }
.stm .stm-heading b { flex: 0 1 auto; min-width: 0; overflow: hidden; text-overflow: ellipsis;
  font-weight: normal; }
.stm .stm-key { margin-left: 10px; white-space: nowrap; font-size: 12px; flex: none; }
.stm .stm-key i { display: inline-block; width: 10px; height: 10px; border-radius: 2px;
  margin-right: 5px; }
.stm .stm-bar { display: inline-block; height: 8px; background: #56B4E9; }
.stm table.stm-totals td, .stm table.stm-totals th { height: 24px; padding: 0 6px; }
.stm svg.stm-swatch { display: inline-block; width: 14px; height: 14px; vertical-align: -2px; }
.stm table.stm-totals tr.stm-lead td { background: var(--stm-wash); font-weight: 700; }
.stm-texts pre { margin: 0 0 8px; padding: 0; background: none; color: var(--stm-ink);
  font-size: 12px; line-height: 1.4; white-space: pre-wrap; }
.stm-controls .widget-hslider, .stm-controls .widget-dropdown { flex-wrap: wrap; height: auto;
  width: 206px; }
.stm-controls .widget-label { width: 100% !important; text-align: left; height: 22px; }
.stm-controls .widget-readout { min-width: 52px; }
.stm-controls .slider-container { width: 138px; flex: none; }
.stm-controls .noUi-connect, .stm-controls .noUi-handle { background: #0072B2 !important; }
.stm-controls .widget-toggle-buttons { width: 206px; margin-top: 0; }
.stm-controls .widget-toggle-button { width: 200px; text-align: left; margin: 0 0 2px; }
.stm-controls .widget-toggle-button.mod-active { background: #3d4a57; color: #ffffff;
  font-weight: 600; }
.stm-presets button { width: auto; }
.stm-pins .widget-checkbox { width: 86px; height: 30px; margin: 0; }
.stm-pins input { margin-top: 0; margin-bottom: 0; align-self: center; }
.stm-pins .widget-label-basic { height: 30px; line-height: 30px; align-items: center; }
</style>"""

KEY = {
    "head": "system and task",
    "fixed": "system, schemas",
    "summary": "Σ summary",
    "pinned": "◆ pinned",
    "kept": "kept",
    "again": "↻ again",
    "said": "questions, answers",
    "now": "its tool calls",
    "notes": "◆ notes",
    "recent": "recent steps",
    "old": "earlier tool calls",
}

FILL = {"head": "var(--stm-head)", "kept": "#56B4E9", "pinned": "#E69F00", "summary": "#D590B8"}
FILL |= {"fixed": FILL["head"], "said": "#009E73", "now": "#56B4E9", "old": "#EE8A4A"}
FILL |= {"again": "#F0E442", "notes": "#E69F00", "recent": "#56B4E9"}


@dataclass(frozen=True)
class Block:
    """One piece of a prompt: what it is, how many tokens, and a short label."""

    kind: str  # a key of FILL
    tokens: int
    label: str


@dataclass(frozen=True)
class Readout:
    """One figure with its caption. `good` colours it, and adds a mark: None, True or False.

    `change` says beside it how much it differs from the setting before.
    """

    value: str
    caption: str
    good: bool | None = None
    change: str = ""


@dataclass(frozen=True)
class TableRow:
    """One turn group of the transcript, and what has become of it."""

    call: str
    result: str
    tokens: int
    status: str  # kept, pinned, summarised, dropped or later
    finding: bool = False
    word: str = ""  # what the row says of its status, where that isn't its name


@dataclass(frozen=True)
class Line:
    """One level that is drawn across a bar or a curve."""

    at: float
    label: str
    solid: bool = False


def change(now: float, before: float, same: str = "as before") -> str:
    """How much more or less than before, in per cent; `same` where it rounds to nothing."""
    part = now / before - 1 if before else 0
    return f"{part:+.0%}".replace("-", "−") if abs(part) >= 0.005 else same


def compact(number: float) -> str:
    """A short figure for an axis: 950, 1.5k, 12k, 774k, 4.2M."""
    if number < 1000:
        return f"{number:.0f}"
    if number >= 999_500:
        return f"{number / 1_000_000:.1f}".removesuffix(".0") + "M"
    if number >= 99_950:
        return f"{number / 1000:.0f}k"
    return f"{number / 1000:.1f}".removesuffix(".0") + "k"


def readouts(items: Iterable[Readout], columns: str = "") -> str:
    """A row of figures, each with its caption; `columns` are CSS widths, if not the usual ones."""
    cells = []
    for item in items:
        mark = {None: "", True: "✓ ", False: "✕ "}[item.good]
        kind = {None: "", True: ' class="stm-good"', False: ' class="stm-bad"'}[item.good]
        change = f" <small>{escape(item.change)}</small>" if item.change else ""
        cells.append(
            f"<div><b{kind}>{mark}{escape(item.value)}{change}</b>"
            f"<span>{escape(item.caption)}</span></div>"
        )
    style = f' style="grid-template-columns:{columns}"' if columns else ""
    return f'<div class="stm-readouts"{style}>{"".join(cells)}</div>'


def bar_heading(text: str, kinds: Iterable[str], names: Mapping[str, str] = KEY) -> str:
    """A heading for a budget bar, with a key to the colours of the blocks that are on it."""
    shown = [kind for kind in KEY if kind in set(kinds)]
    key = "".join(
        f'<span class="stm-key"><i style="background:{FILL[kind]}"></i>{names[kind]}</span>'
        for kind in shown
    )
    return f'<p class="stm-heading"><b title="{escape(text)}">{escape(text)}</b>{key}</p>'


def budget_bar(
    blocks: Sequence[Block],
    lines: Sequence[Line],
    alt: str,
    scale: float,
    cached: int | None = None,
) -> str:
    """A prompt as blocks on a scale of tokens, with the budget and the water marks as lines.

    With `cached`, a bracket below says how many tokens at the start a prompt cache serves.
    """
    unit = (WIDTH - 4) / scale
    pieces, x = [], 1.0
    for block in blocks:
        width = block.tokens * unit
        drawn = max(width - 2, 1)
        colour = "#ffffff" if FILL[block.kind] == FILL["head"] else "#16202a"
        pieces.append(
            f'<rect x="{x:.1f}" y="28" width="{drawn:.1f}" height="38" rx="2" '
            f'fill="{FILL[block.kind]}">'
            f"<title>{escape(block.label)}: {block.tokens:,} tokens</title></rect>"
        )
        if width > 7 * len(block.label) + 4:
            pieces.append(
                f'<text x="{x + drawn / 2:.1f}" y="52" text-anchor="middle" style="fill:{colour}">'
                f"{escape(block.label)}</text>"
            )
        x += width
    right = WIDTH
    for line in sorted(lines, key=lambda line: -line.at):
        pieces.append(_upright(1 + line.at * unit, line, right, 18, 72))
        right = min(right, 1 + line.at * unit - 7 * len(line.label) - 8)
    if cached is None:
        return _svg(pieces, 76, alt)
    return _svg([*pieces, *_cached_part(cached, cached * unit)], 98, alt)


def _cached_part(cached: int, width: float) -> list[str]:
    """A bracket under the start of a bar, and what it means."""
    if not cached:
        return ['<text x="1" y="92">nothing of this call comes from the cache</text>']
    words = f"{cached:,} tokens from the cache"
    inside = width > 7 * len(words)
    x, anchor = (width / 2, "middle") if inside else (width + 8, "start")
    return [
        f'<path d="M 2 70 V 78 H {width:.1f} V 70" fill="none" stroke="var(--stm-good)" '
        'stroke-width="2.4"/>',
        f'<text x="{x:.1f}" y="{92 if inside else 82}" text-anchor="{anchor}" '
        f'style="fill:var(--stm-good);font-weight:600">{words}</text>',
    ]


def curve(
    reads: Sequence[int],
    lines: Sequence[Line],
    alt: str,
    *,
    unmanaged: Sequence[int] = (),
    before: Sequence[int] = (),
    events: Sequence[int] = (),
    at: int = 1,
    at_name: str = "",
    unmanaged_name: str = "append all",
    event_names: Sequence[str] = (),
    marks: Sequence[tuple[int, str]] = (),
) -> str:
    """Tokens read at each call. Pale: the setting before; grey: with nothing managed.

    `events` are the calls, counted from 1, before which the policy trimmed, or did what
    `event_names` say; `marks` are short texts above calls. `at` is marked.
    """
    top = 1.08 * max([*reads, *unmanaged, *before, *(line.at for line in lines), 1])
    n = max(len(reads), 2)

    def xy(i: int, tokens: float) -> tuple[float, float]:
        return 44 + (WIDTH - 56) * i / (n - 1), 170 - 150 * tokens / top

    def path(values: Sequence[int]) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in (xy(i, v) for i, v in enumerate(values)))

    pieces = _grid(top, lambda tokens: xy(0, tokens)[1])
    for line in lines:
        y, dash = xy(0, line.at)[1], "" if line.solid else ' stroke-dasharray="4 3"'
        pieces.append(
            f'<line x1="44" x2="{WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="var(--stm-quiet)"{dash}/>'
        )
    if unmanaged:
        pieces.append(_polyline(path(unmanaged), "var(--stm-pale)", 1.6))
        x, y = xy(2 * n // 3, unmanaged[min(2 * n // 3, len(unmanaged) - 1)])
        pieces.append(
            f'<text x="{x - 8:.1f}" y="{y - 6:.1f}" text-anchor="end">{escape(unmanaged_name)}</text>'
        )
    if before:
        pieces.append(_polyline(path(before), "var(--stm-pale)", 2, "1 4"))
    if reads:
        area = f"{path(reads)} {xy(len(reads) - 1, 0)[0]:.1f},170 44,170"
        pieces.append(f'<polygon points="{area}" fill="var(--stm-wash)"/>')
        pieces.append(_polyline(path(reads), "var(--stm-blue)", 2.4))
    names = event_names or ["trim"] * len(events)
    for call, name in zip(events, names, strict=True):
        x, y = xy(call - 1, reads[call - 1])
        pieces.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="#D590B8" stroke="#16202a"/>'
        )
        if len(events) <= 10:
            below = y + 18 if y < 150 else y - 10
            pieces.append(
                f'<text x="{x:.1f}" y="{below:.1f}" text-anchor="middle">{escape(name)}</text>'
            )
    for call, mark in marks:
        x, y = xy(call - 1, reads[call - 1])
        above = y - 10 if y < 150 else y - 24  # there the event's name is above as well
        pieces.append(
            f'<text x="{min(x, WIDTH - 16):.1f}" y="{above:.1f}" text-anchor="middle" '
            f'style="fill:var(--stm-bad);font-weight:600">{escape(mark)}</text>'
        )
    x = xy(at - 1, 0)[0]
    pieces.append(_upright(x, Line(0, at_name or f"step {at}", solid=True), WIDTH, 12, 170))
    return _svg(pieces, 176, alt)


@dataclass(frozen=True)
class Curve:
    """One of several curves: its values, its colour with a mark and a dash, `strong` if it leads."""

    name: str
    values: Sequence[float]
    colour: str
    mark: str  # "circle" or a name in SHAPES, "open " before it for an outline
    dash: str = ""
    strong: bool = False


def curves(
    shown: Sequence[Curve],
    alt: str,
    *,
    levels: Sequence[Line] = (),
    before: Sequence[float] = (),
    at: int = 1,
    figure: Callable[[float], str] = compact,
) -> str:
    """Several curves over the steps, each with its mark and its name at its end.

    `levels` are drawn across where they are in reach; pale is `before`; the step `at` is marked.
    """
    top = 1.04 * max([v for c in shown for v in c.values] + [*before, 1e-9])
    n = max([len(c.values) for c in shown] + [len(before), 2])
    right = WIDTH - 186

    def xy(i: int, value: float) -> tuple[float, float]:
        return 44 + (right - 44) * i / (n - 1), 286 - 262 * value / top

    pieces = _grid(top, lambda value: xy(0, value)[1], figure, right)
    for line in (level for level in levels if level.at <= top):
        y = xy(0, line.at)[1]
        pieces.append(
            f'<line x1="44" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--stm-quiet)" '
            f'stroke-dasharray="4 3"/><text x="50" y="{y - 4:.1f}">{escape(line.label)}</text>'
        )
    if before:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (xy(i, v) for i, v in enumerate(before)))
        pieces.append(_polyline(points, "var(--stm-pale)", 2.6, "1 5"))
    for place, one in enumerate(sorted(shown, key=lambda c: c.strong)):
        pieces += _one_curve(one, [xy(i, v) for i, v in enumerate(one.values)], place)
    pieces += _ends(shown, [xy(len(c.values) - 1, c.values[-1]) for c in shown], right)
    pieces.append(_upright(xy(at - 1, 0)[0], Line(0, f"step {at}", solid=True), right, 14, 286))
    return _svg(pieces, CURVES, alt)


def _one_curve(one: Curve, points: Sequence[tuple[float, float]], place: int) -> list[str]:
    """The line, and its mark a few times on it, at other places than the other curves' marks."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    gap = max(len(points) // 4, 1)
    marked = points[gap * (place + 1) // 10 :: gap]
    return [
        _polyline(path, one.colour, 3.4 if one.strong else 1.5, one.dash),
        *(_mark(one, x, y) for x, y in marked),
    ]


def _mark(one: Curve, x: float, y: float) -> str:
    """A curve's mark as a shape: a letter's look would hang on the fonts of a machine."""
    kind = one.mark.removeprefix("open ")
    fill = "var(--jp-layout-color0, #ffffff)" if kind != one.mark else one.colour
    look = (
        f'data-mark="{one.mark}" fill="{fill}" stroke="{one.colour}" stroke-width="1.4" '
        'stroke-linejoin="round"'
    )
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.2" {look}/>'
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in SHAPES[kind])
    return f'<polygon points="{points}" {look}/>'


SHAPES = {
    "square": ((-3.8, -3.8), (3.8, -3.8), (3.8, 3.8), (-3.8, 3.8)),
    "triangle": ((0, -4.8), (4.8, 3.8), (-4.8, 3.8)),
    "diamond": ((0, -5.2), (5.2, 0), (0, 5.2), (-5.2, 0)),
    "star": ((0, -6), (1.6, -1.8), (6, -1.6), (2.4, 1.2), (3.8, 5.4))
    + ((0, 3), (-3.8, 5.4), (-2.4, 1.2), (-6, -1.6), (-1.6, -1.8)),
}


def _ends(shown: Sequence[Curve], ends: Sequence[tuple[float, float]], right: float) -> list[str]:
    """The names behind the curves' ends, spread so that no two lie on each other."""
    order = sorted(range(len(shown)), key=lambda i: ends[i][1])
    gap, low, pieces = 17.0, 20.0, []
    heights = []
    for i in order:
        low = max(low, ends[i][1])
        heights.append(low)
        low += gap
    bottom = 292.0
    for place in range(len(heights) - 1, -1, -1):
        heights[place] = min(heights[place], bottom)
        bottom = heights[place] - gap
    for i, y in zip(order, heights, strict=True):
        x, end = ends[i]
        weight = ";font-weight:700" if shown[i].strong else ""
        pieces += [
            f'<line x1="{x:.1f}" y1="{end:.1f}" x2="{right + 22}" y2="{y:.1f}" '
            f'stroke="{shown[i].colour}" stroke-width="0.8"/>',
            _mark(shown[i], right + 30, y),
            f'<text x="{right + 42}" y="{y + 4:.1f}" style="fill:var(--stm-ink){weight}">'
            f"{escape(shown[i].name)}</text>",
        ]
    return pieces


@dataclass(frozen=True)
class TotalsRow:
    """One line of a table of totals: a curve's name and mark, its share as a bar, more figures."""

    curve: Curve
    total: str
    share: float
    cells: Sequence[str]


def totals(
    rows: Sequence[TotalsRow], heads: Sequence[str], groups: Sequence[tuple[str, Sequence[str]]]
) -> str:
    """A table with a bar in each row; `heads` name its first three columns, the curve's first.

    Each of `groups` is a heading, and the short names of the columns under it.
    """
    widest = max((row.share for row in rows), default=1) or 1
    body = "".join(_totals_row(row, widest) for row in rows)
    upper = "".join(f'<th scope="col" rowspan="2">{escape(head)}</th>' for head in heads)
    upper += "".join(
        f'<th scope="colgroup" colspan="{len(names)}">{escape(head)}</th>' for head, names in groups
    )
    names = [name for _, group in groups for name in group]
    lower = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    widths = ["162px", "92px", "156px", "64px", *["auto"] * (len(names) - 1)]
    columns = "".join(f'<col style="width:{width}">' for width in widths)
    return (
        f'<table class="stm-rows stm-totals"><colgroup>{columns}</colgroup>'
        f"<thead><tr>{upper}</tr><tr>{lower}</tr></thead><tbody>{body}</tbody></table>"
    )


def _totals_row(row: TotalsRow, widest: float) -> str:
    bar = f'<span class="stm-bar" style="width:{90 * row.share / widest:.0f}px"></span>'
    swatch = f'<svg class="stm-swatch" viewBox="-7 -7 14 14">{_mark(row.curve, 0, 0)}</svg>'
    name = f"{swatch} {escape(row.curve.name)}"
    cells = "".join(f"<td>{escape(cell)}</td>" for cell in row.cells)
    kind = ' class="stm-lead"' if row.curve.strong else ""
    share = f'<span style="display:inline-block;width:44px">{row.share:.0%}</span>'
    return (
        f"<tr{kind}><td>{name}</td><td>{escape(row.total)}</td><td>{share} {bar}</td>{cells}</tr>"
    )


def sweep(panels: Sequence[Panel], along: str, alt: str, height: int = 176) -> str:
    """Small charts side by side: one figure each, against the values of the slider `along`."""
    width = (WIDTH - 20 * (len(panels) - 1)) / len(panels)
    pieces = []
    for i, panel in enumerate(panels):
        pieces += _panel(panel, i * (width + 20), width, along, height)
    return _svg(pieces, height, alt)


@dataclass(frozen=True)
class Panel:
    """One small chart of a sweep: `ys` against `xs`, with `now` the value that is set.

    `told` says under the title what is read off where `now` is; `least` marks the lowest, too.
    """

    title: str
    xs: Sequence[float]
    ys: Sequence[float]
    now: float
    percent: bool = False
    top: float | None = None  # the axis' end, where the figure has a natural one
    digits: int = 0  # behind the point, for figures such as 4.6
    told: bool = False
    least: bool = False


def table(rows: Sequence[TableRow], prose: bool = False) -> str:
    """The transcript, a row for each turn group; its heading is `table_head`.

    With `prose` the first column holds sentences, not code.
    """
    biggest = max((row.tokens for row in rows), default=1) or 1
    body = "".join(_table_row(row, biggest, "span" if prose else "code") for row in rows)
    return f'<table class="stm-rows">{_columns()}<tbody>{body}</tbody></table>'


def table_head(at: int, names: Sequence[str] = ()) -> str:
    """The transcript's heading, which stays while the rows scroll; four `names`, or the usual."""
    names = names or ("call", "result", "tokens", f"at step {at}")
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f'<table class="stm-rows">{_columns()}<thead><tr>{heads}</tr></thead></table>'


def _columns() -> str:
    widths = ("auto", "auto", "136px", "124px")
    return "<colgroup>" + "".join(f'<col style="width:{w}">' for w in widths) + "</colgroup>"


def _table_row(row: TableRow, biggest: int, tag: str) -> str:
    status = f"{MARKS.get(row.status, '')} {row.word or row.status}"
    result = f"<b>★ {escape(row.result)}</b>" if row.finding else escape(row.result)
    bar = f'<span class="stm-bar" style="width:{56 * row.tokens / biggest:.0f}px"></span>'
    return (
        f'<tr><td title="{escape(row.call)}"><{tag}>{escape(row.call)}</{tag}></td>'
        f'<td title="{escape(row.result)}">{result}</td>'
        f'<td><span style="display:inline-block;width:46px">{row.tokens:,}</span> {bar}</td>'
        f'<td><span class="stm-tag stm-{row.status}">{status}</span></td></tr>'
    )


def _panel(panel: Panel, left: float, width: float, along: str, height: int) -> list[str]:
    top = panel.top or 1.1 * max([*panel.ys, 1e-9])
    low, high = min(panel.xs), max(panel.xs)
    bottom = height - 34

    def xy(x: float, y: float) -> tuple[float, float]:
        share = (x - low) / ((high - low) or 1)
        return left + 44 + (width - 56) * share, bottom - (height - 78) * y / top

    def figure(y: float) -> str:
        if panel.digits:
            return f"{y:.{panel.digits}f}"
        return f"{y:.0%}" if panel.percent else compact(y)

    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(xy, panel.xs, panel.ys))
    nearest = min(range(len(panel.xs)), key=lambda i: abs(panel.xs[i] - panel.now))
    x, y = xy(panel.xs[nearest], panel.ys[nearest])
    pieces = [
        f'<text x="{left:.1f}" y="14" style="fill:var(--stm-ink)">{escape(panel.title)}</text>',
        f'<text x="{left + 38:.1f}" y="48" text-anchor="end">{figure(top)}</text>',
        f'<text x="{left + 38:.1f}" y="{bottom + 4}" text-anchor="end">{figure(0)}</text>',
        f'<line x1="{left + 44:.1f}" x2="{left + width - 12:.1f}" y1="{bottom}" y2="{bottom}" '
        'stroke="var(--stm-line)"/>',
        f'<text x="{left + 44:.1f}" y="{bottom + 18}">{compact(low)}</text>',
        f'<text x="{left + width - 12:.1f}" y="{bottom + 18}" text-anchor="end">{compact(high)}</text>',
        f'<text x="{left + 16 + width / 2:.1f}" y="{bottom + 18}" text-anchor="middle">'
        f"{escape(along)}</text>",
        _polyline(points, "var(--stm-blue)", 2.2),
    ]
    told = [f"at {panel.xs[nearest]:,}: {figure(panel.ys[nearest])}"] if panel.told else []
    if panel.least:
        lowest = min(range(len(panel.ys)), key=lambda i: panel.ys[i])
        told.append(f"least at {panel.xs[lowest]:,}: {figure(panel.ys[lowest])}")
        low_x, low_y = xy(panel.xs[lowest], panel.ys[lowest])
        pieces.append(
            f'<circle cx="{low_x:.1f}" cy="{low_y:.1f}" r="7.5" fill="none" '
            'stroke="var(--stm-good)" stroke-width="2"/>'
        )
    if told:
        pieces.append(f'<text x="{left:.1f}" y="30">{" · ".join(told)}</text>')
    pieces.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#E69F00" stroke="#16202a"/>')
    anchor = "end" if x > left + width - 60 else "start"
    shift = -9 if anchor == "end" else 9
    pieces.append(
        f'<text x="{x + shift:.1f}" y="{y - 8:.1f}" text-anchor="{anchor}" '
        f'style="fill:var(--stm-ink);font-weight:600">{figure(panel.ys[nearest])}</text>'
    )
    return pieces


def _grid(top: float, y_of, figure=compact, right: float = WIDTH - 12) -> list[str]:
    step = next(s for s in _round_steps() if top / s <= 5)
    pieces, tokens = [], 0
    while tokens <= top:
        y = y_of(tokens)
        pieces.append(
            f'<line x1="44" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--stm-line)"/>'
            f'<text x="38" y="{y + 4:.1f}" text-anchor="end">{figure(tokens)}</text>'
        )
        tokens += step
    return pieces


def _round_steps():
    scale = 10
    while True:
        yield from (scale, 2 * scale, 5 * scale)
        scale *= 10


def _polyline(points: str, colour: str, width: float, dash: str = "") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" '
        f'stroke-linejoin="round" stroke-linecap="round"{dashes}/>'
    )


def _upright(x: float, line: Line, right: float, top: int, bottom: int) -> str:
    dash = "" if line.solid else ' stroke-dasharray="4 3"'
    width = 2 if line.solid else 1
    label_x = min(x + 4, right) if x + 7 * len(line.label) < right else min(x - 4, right)
    anchor = "start" if label_x > x else "end"
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" stroke="var(--stm-ink)" '
        f'stroke-width="{width}"{dash}/>'
        f'<text x="{label_x:.1f}" y="{top - 2}" text-anchor="{anchor}" style="fill:var(--stm-ink)">'
        f"{escape(line.label)}</text>"
    )


def _svg(pieces: Iterable[str], height: int, alt: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(alt)}">'
        f"{''.join(pieces)}</svg>"
    )
