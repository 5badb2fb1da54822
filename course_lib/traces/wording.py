"""Small helpers for sentences about what was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LISTED_AT_MOST = 8


class NotesTaken:
    """Sentences about what was mended or left out, each kind once, in the order they came up."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], list[Any]] = {}

    def add(self, one: str, many: str = "", where: Any = "") -> None:
        """Note something. `one` and `many` may hold `{n}`, how often, and `{where}`, the places."""
        self._places.setdefault((one, many or one), []).append(where)

    def sentences(self) -> tuple[str, ...]:
        """The notes as sentences."""
        return tuple(
            (one if len(places) == 1 else many).format(
                n=len(places), where=listed(list(dict.fromkeys(map(str, places))))
            )
            for (one, many), places in self._places.items()
        )


def listed(items: Sequence[Any], most: int = LISTED_AT_MOST) -> str:
    """The items as words: "2, 5 and 7"; of a long list the first ones and how many more."""
    words = [str(item) for item in items]
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _names(keys: list[str]) -> str:
    more = len(keys) - LISTED_AT_MOST
    shown = ", ".join(f"{key!r:.40}" for key in keys[:LISTED_AT_MOST])
    return f"{shown} and {more} more" if more > 0 else shown


def article(noun: str) -> str:
    """The noun with "a" or "an" before it."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def seen(value: Any) -> str:
    """What a JSON value is, in words: its type and the keys or rows that it has."""
    if isinstance(value, dict):
        if not value:
            return "an empty JSON object"
        keys = "key" if len(value) == 1 else "keys"
        return f"a JSON object with the {keys} {_names(list(value))}"
    if isinstance(value, list):
        if not value:
            return "an empty JSON list"
        rows = "1 row" if len(value) == 1 else f"{len(value):,} rows"
        if isinstance(value[0], list):
            return f"a JSON list of {rows}, the first of them a list too"
        return f"a JSON list of {rows}, the first of them {seen(value[0])}"
    return {str: "a JSON string", bool: "a JSON true or false"}.get(
        type(value), "JSON's null" if value is None else "a JSON number"
    )
