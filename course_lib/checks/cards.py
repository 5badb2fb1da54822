"""What checks, hints and questions show: a mark, a headline, labelled lines; as text and as HTML.

The text is complete by itself. The HTML still reads well where a page drops its styles.
"""

from __future__ import annotations

import html
import re
from dataclasses import KW_ONLY, dataclass
from typing import Any

MARKS = {"passed": "✓", "failed": "✗", "not attempted": "○"}
# Okabe-Ito green and vermillion; at least 3 to 1 against white and against the dark theme.
_COLOURS = {"passed": "#009E73", "failed": "#D55E00"}
_QUIET = "var(--jp-ui-font-color2, #6b7785)"
_TEXT = (
    "color: var(--jp-ui-font-color1, inherit); line-height: 1.5;"
    " font-family: var(--jp-ui-font-family, system-ui, sans-serif);"
)
_PRE = (
    "margin: 2px 0 6px; padding: 6px 10px; white-space: pre-wrap; overflow-wrap: anywhere;"
    " color: inherit; background: var(--jp-layout-color2, rgba(127, 127, 127, 0.12));"
    " font-family: var(--jp-code-font-family, monospace); font-size: 0.92em;"
)


@dataclass(frozen=True)
class Line:
    """A labelled line of a card; `code` is shown in a fixed-width face, as it stands."""

    label: str
    text: str
    code: bool = False


@dataclass(frozen=True, repr=False)
class Card:
    """A short answer. `status` is "passed", "failed" or anything else, which has a neutral mark."""

    _: KW_ONLY
    status: str
    headline: str
    lines: tuple[Line, ...] = ()

    @property
    def message(self) -> str:
        """The whole card as plain text."""
        width = max((len(line.label) for line in self.lines), default=0)
        rows = [f"{mark(self.status)} {self.headline}"]
        for line in self.lines:
            label = (
                f"  {line.label} "
                if line.label in MARKS.values()
                else f"    {line.label:{width}}  "
            )
            rows.append(label + line.text.replace("\n", "\n" + " " * len(label)))
        return "\n".join(rows)

    def __str__(self) -> str:
        return self.message

    __repr__ = __str__

    def html(self) -> str:
        """The card as HTML."""
        border = f"border-left: 4px solid {_COLOURS.get(self.status, _QUIET)};"
        # A single sentence is no heading.
        words = f"<b>{_inline(self.headline)}</b>" if self.lines else _inline(self.headline)
        head = f"{mark_html(self.status)} {words}"
        body = "".join(map(_line_html, self.lines))
        return f'<div style="{_TEXT} {border} padding: 4px 14px"><div>{head}</div>{body}</div>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.message, "text/html": self.html()}


def mark(status: str) -> str:
    """The sign of a status: it says without colour what the colour says."""
    return MARKS.get(status, "○")


def mark_html(status: str) -> str:
    """The sign in its colour."""
    colour = _COLOURS.get(status, _QUIET)
    return f'<span style="color: {colour}; font-weight: bold">{mark(status)}</span>'


def prose_html(text: str) -> str:
    """Paragraphs between empty lines, `code` between backticks, blocks indented by four spaces."""
    blocks = re.split(r"\n\s*\n", text.strip("\n"))
    return "".join(
        f'<pre style="{_PRE}">{html.escape(_dedent(block))}</pre>'
        if block.startswith("    ")
        else f"<div>{_inline(block)}</div>"
        for block in blocks
    )


def styled(inner: str) -> str:
    """HTML in the theme's text colour and face."""
    return f'<div style="{_TEXT}">{inner}</div>'


def _line_html(line: Line) -> str:
    status = next((status for status, sign in MARKS.items() if sign == line.label), None)
    quiet = f'<span style="color: {_QUIET}">{html.escape(line.label)}</span>'
    label = mark_html(status) if status else quiet
    if line.code:
        return f'<div>{label}</div><pre style="{_PRE}">{html.escape(line.text)}</pre>'
    if "\n" in line.text:
        return f"<div>{label}</div>{prose_html(line.text)}"
    return f"<div>{label} {_inline(line.text)}</div>"


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def _dedent(block: str) -> str:
    return re.sub(r"(?m)^    ", "", block)
