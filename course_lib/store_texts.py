"""Texts and names of a store: what a search reads of a message, and how things are named."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from course_lib.messages import OWN_KEYS, ROLES, BadMessage, CourseError, Message, role_of
from course_lib.tokens import count_tokens

REFERENCE_TOKENS = 100  # a reference has fewer
EXCERPT = 160  # characters of a hit that are shown


class StoreError(CourseError):
    """The store can't do what was asked; the text says why."""


# ---- texts ----------------------------------------------------------------------------------

HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair: an emoji that was cut in two, say
ALONE = re.compile(
    r"[A-Za-z0-9_\u00c0-\u024f\u0300-\u036f]+"  # Latin letters, and accents on them
    "|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"  # Thai and Lao, Burmese, Khmer
    "|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"  # Japanese and Chinese
)
CALL_KEYS = ("tool_calls", "tool_call_id", "id", "type", "function", "name", "arguments")
FORMAT_KEYS = frozenset({"role", "content", "text", *CALL_KEYS, *OWN_KEYS})
FORMAT_VALUES = (*ROLES, "function", "text")
PICTURE = re.compile(r"data:[^,\s]{0,100};base64,")


def utf8(text: str) -> bytes:
    """The text as bytes. Half an emoji, which Python can hold and UTF-8 can't, stays what it is."""
    return text.encode("utf-8", "surrogatepass")


def text_from(raw: bytes) -> str:
    """The other way round. Bytes that no text has are shown as U+FFFD."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace")


def plain(text: str) -> str:
    """The text as it is searched: half an emoji, or a zero character, is U+FFFD."""
    return HALF.sub("\ufffd", text).replace("\0", "\ufffd")


def json_of(message: Message, index: int) -> str:
    """The message as JSON. Raises `BadMessage` if it wouldn't come back equal."""
    if not isinstance(message, dict):
        raise BadMessage(index, None, f"a message is a dict, this is a {type(message).__name__}")
    role_of(message, index)
    text = json_text(message)
    if text is None:
        wrong = (key for key, value in message.items() if json_text({key: value}) is None)
        field = str(next(wrong, "message"))
        what = "what JSON can't give back as it is: an object, a tuple, a set, NaN or infinity"
        raise BadMessage(index, field, f"`{field}` is or holds {what}")
    return text


def json_text(value: Any) -> str | None:
    """The value as JSON, or None if it wouldn't come back equal."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        return text if json.loads(text) == value else None
    except (TypeError, ValueError, RecursionError):
        return None


def searchable(message: Message) -> str:
    """All texts and numbers in a message, however deep: content, tool names, arguments, ids.

    JSON in a text is there a second time with its escapes resolved: "\\u00fc" is found as "ü".
    """
    found, todo = [], [message]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += reversed(in_dict(value))
        elif isinstance(value, list):
            todo += reversed(value)
        elif isinstance(value, str) and not PICTURE.match(value):
            found.append(value)
            todo += unescaped(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append(str(value))
    return plain("\n".join(filter(None, found)))


def in_dict(value: dict[str, Any]) -> list[Any]:
    """Keys and values, without what each message has because of its format."""
    found: list[Any] = []
    for key, inner in value.items():
        if key not in FORMAT_KEYS:
            found.append(key)
        if key not in ("role", "type") or inner not in FORMAT_VALUES:
            found.append(inner)
    return found


def spaced(text: str) -> str:
    """The text with a space around each word in Latin letters and each character of a script that
    has no spaces, so that the index takes them for words: 8841 and 請求書 in 請求書8841番.
    """
    return text if text.isascii() else ALONE.sub(r" \g<0> ", text)


def unescaped(text: str) -> list[Any]:
    """What a JSON text with escapes in it stands for, in a list; empty for any other text."""
    if "\\" not in text:
        return []
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return []


def words_of(query: str) -> list[str]:
    """The words and quoted phrases of a query, each once."""
    found = re.findall(r'"([^"]+)"|([^\s"]+)', query)
    words = (phrase.strip() or word for phrase, word in found)
    return list(dict.fromkeys(word for word in words if word))


def like(text: str) -> str:
    """The pattern with which LIKE finds the text anywhere in another."""
    return "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"


def excerpt(text: str, start: int) -> str:
    """One line of the text around the place `start`."""
    first = max(0, start - EXCERPT // 4)
    line = " ".join(text[first : first + EXCERPT].split())
    return f"{'…' if first else ''}{line}{'…' if first + EXCERPT < len(text) else ''}"


# ---- names and references -------------------------------------------------------------------


def checked_name(name: str) -> str:
    """The name, if something can be stored under it. Raises `StoreError` if not."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > 100:
        raise StoreError(f"{name!r:.60} can't be a name: use one line of 1 to 100 characters")
    if name.lower() == "trace" or name.lower().startswith(("store_", "sqlite_")):
        raise StoreError(f"the name {name!r} is the store's own; choose another")
    return name


def reference_to(
    name: str, what: str, how: str, description: str, columns: Sequence[str] = ()
) -> str:
    """The line that stands for something stored. It says as much as fits in 100 tokens."""
    about = " ".join(str(description).split()).rstrip(".")
    for most in (40, 20, 10, 5, 2, 0):
        text = f"[stored: {name}, {what}"
        if about and most:
            text += f": {clipped(about, most * 8)}"
        if columns:
            text += f"; {listed_columns(columns, most)}"
        text += f". Read with {how}]"
        if count_tokens(text) < REFERENCE_TOKENS:
            return text
    raise StoreError(f"the name {name!r} is too long for a one-line reference; choose a shorter")


def listed_columns(columns: Sequence[str], most: int) -> str:
    """The first columns, on one line, and how many there are besides."""
    if not most:
        return f"{len(columns):,} columns"
    shown = ", ".join(clipped(" ".join(column.split()), 30) for column in columns[:most])
    rest = len(columns) - most
    return f"columns {shown}" + (f" and {rest:,} more" if rest > 0 else "")


def listed(names: Sequence[str], most: int = 10) -> str:
    """The first names, for a message."""
    return (", ".join(names[:most]) + (", …" if len(names) > most else "")) or "nothing yet"


def clipped(text: str, length: int) -> str:
    """The text, or its beginning."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def spoken(text: str, quote: str = '"') -> str:
    """The text in quotation marks, as a caller would write it."""
    return quote + text.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote


def sql_name(name: str) -> str:
    """A name, or a word to search for, in the quotation marks in which it can do no harm."""
    return '"' + name.replace('"', '""') + '"'


def digest(*content: Any) -> str:
    """A fingerprint: equal for equal content only."""
    return hashlib.sha256(utf8(json.dumps(content, ensure_ascii=False))).hexdigest()


def check_run(run: Any) -> None:
    """Raise `StoreError` if a run can't be named like this."""
    if not isinstance(run, str):
        raise StoreError(f"a run is named by a text, not by {type(run).__name__}")


def check_number(name: str, value: Any, least: int) -> None:
    """Raise `StoreError` if the value isn't a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise StoreError(f"`{name}` must be a whole number, {least} or more; it is {value!r}")
