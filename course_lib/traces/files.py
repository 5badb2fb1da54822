"""From a file to the JSON in it, mending what a crash or an editor leaves behind.

Understands JSON and JSON Lines, gzip, UTF-8 with or without a byte order mark, UTF-16 with one.
Nothing in a file is executed, fetched or followed.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn, TextIO

from course_lib.messages import CourseError
from course_lib.traces.progress import Told, silent
from course_lib.traces.rows import Rows, slim
from course_lib.traces.wording import NotesTaken, article

GZIP = b"\x1f\x8b"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
OTHER_KINDS = {
    b"PK\x03\x04": "zip archive: unpack it first (of an Inspect .eval log, its folder samples)",
    b"SQLite format 3": "SQLite database",
    b"PAR1": "Parquet file",
    b"%PDF": "PDF",
    b"\x89PNG": "PNG picture",
    b"\xff\xd8\xff": "JPEG picture",
    b"\x28\xb5\x2f\xfd": "zstd archive: unpack it first",
    b"BZh": "bzip2 archive: unpack it first",
    b"\xfd7zXZ": "xz archive: unpack it first",
}
HEAD = 8192
CHUNK = 1 << 18

# json.loads joins the two halves of a pair; what is left after that is a half without its other.
HALF = re.compile("[\ud800-\udfff]")
HALF_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")
BLANK = re.compile(r"[ \t\r\n\x1e]*")
DECODER = json.JSONDecoder()

LEFT_OUT = ("Line {where} isn't complete: left out.", "Lines {where} aren't complete: left out.")
END_LEFT_OUT = (
    "The end of line {where} isn't complete: left out.",
    "The ends of lines {where} aren't complete: left out.",
)
NOT_JSON = ("Line {where} isn't JSON: left out.", "Lines {where} aren't JSON: left out.")
GLUED = (
    "Line {where} holds more than one JSON value: read one after the other.",
    "Lines {where} hold more than one JSON value each: read one after the other.",
)
HALVES = (
    "One half of a surrogate pair (a cut emoji, say) is shown as U+FFFD.",
    "{n} halves of surrogate pairs (cut emoji, say) are shown as U+FFFD.",
)
NOT_UTF8 = (
    "Line {where} holds bytes that aren't UTF-8: shown as U+FFFD.",
    "Lines {where} hold bytes that aren't UTF-8: shown as U+FFFD.",
)


class NotATranscript(CourseError):
    """A file that holds no transcript, or none that can be read; the text says what was seen."""


def load(path: str | os.PathLike[str], told: Told = silent) -> tuple[Any, tuple[str, ...]]:
    """The JSON in the file, and notes on what was mended. JSON Lines become a list of rows.

    `told` hears from time to time what share of the file is read.

    Raises `NotATranscript` for a path that isn't a file, an empty file, a binary one and one
    that isn't JSON.
    """
    file = _existing(path)
    notes = NotesTaken()
    try:
        with _open(file) as stream:
            size = file.stat().st_size
            lines = _watched(_lines(stream, notes), lambda: told(min(1, _place(stream) / size)))
            value = _parse(lines, file.name, notes)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NotATranscript(f"{file.name} can't be read: {reason}.") from error
    except RecursionError:
        raise NotATranscript(f"{file.name} is nested too deeply to be read.") from None
    return value, notes.sentences()


def parse_text(text: str) -> Any:
    """The JSON in a string, half surrogates as U+FFFD. Raises `ValueError` if it isn't JSON."""
    return _mended(json.loads(text), text, NotesTaken())


# ---- opening --------------------------------------------------------------------------------


def _existing(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike):
        kind = article(type(path).__name__)
        raise NotATranscript(f"read_transcripts takes the path of a file, not {kind}.")
    if not str(path).strip():
        raise NotATranscript("The path is empty; name a file.")
    try:
        file = Path(path).expanduser()
        folder, exists = file.is_dir(), file.exists()
    except (OSError, ValueError, RuntimeError) as error:
        raise NotATranscript(f"{str(path)!r:.80} can't be the path of a file: {error}") from error
    if folder:
        raise NotATranscript(f"{str(path)!r} is a folder; name one file in it.")
    if not exists:
        looked = "" if file.is_absolute() else f" in {Path.cwd()}"
        raise NotATranscript(f"There is no file {str(path)!r}{looked}.")
    return file


def _open(file: Path) -> TextIO:
    """The file as text, unpacked if it is gzip. What can't be decoded stays as half surrogates."""
    with file.open("rb") as raw:
        opener = gzip.open if raw.read(len(GZIP)) == GZIP else open
    with ExitStack() as stack:
        stream = stack.enter_context(opener(file, "rb"))
        head = stream.read(HEAD)
        stream.seek(0)
        if not head.strip():
            raise NotATranscript(f"{file.name} is empty.")
        wide = head.startswith(UTF16)
        if not wide:
            _refuse_binary(head, file.name)
        stack.pop_all()  # from here on the text that is returned closes it
    encoding, errors = ("utf-16", "replace") if wide else ("utf-8-sig", "surrogateescape")
    return io.TextIOWrapper(stream, encoding=encoding, errors=errors)


def _refuse_binary(head: bytes, name: str) -> None:
    for magic, kind in OTHER_KINDS.items():
        if head.startswith(magic):
            raise NotATranscript(f"{name} is {article(kind)}, not JSON.")
    text = head.decode("utf-8", errors="replace")
    odd = sum(char == "\ufffd" or (char < " " and char not in "\t\n\r\x1e") for char in text)
    if "\0" in text or odd > len(text) * 0.3:
        raise NotATranscript(f"{name} is a binary file, not JSON text.")


def _lines(stream: TextIO, notes: NotesTaken) -> Iterator[tuple[int, str]]:
    """The lines that aren't blank, numbered from 1. A gzip file that was cut ends where it ends."""
    number = 0
    try:
        for number, line in enumerate(stream, 1):
            if not line.isascii() and HALF.search(line):
                notes.add(*NOT_UTF8, where=number)
                line = HALF.sub("\ufffd", line)
            if line.strip():
                yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile):
        if not number:
            raise
        notes.add(f"The gzip file is cut off after line {number}: the rest is left out.")


def _watched(
    lines: Iterator[tuple[int, str]], tell: Callable[[], None]
) -> Iterator[tuple[int, str]]:
    """The lines, with a word about the place in the file whenever a chunk has been read."""
    length = 0
    for number, line in lines:
        length += len(line)
        if length >= CHUNK:
            length = 0
            tell()
        yield number, line


def _place(stream: TextIO) -> int:
    """How far the file itself is read, in bytes, packed or not."""
    packed = isinstance(stream.buffer, gzip.GzipFile)
    return (stream.buffer.fileobj if packed else stream.buffer).tell()


# ---- JSON, JSON Lines and what lies between -------------------------------------------------


def _parse(lines: Iterator[tuple[int, str]], name: str, notes: NotesTaken) -> Any:
    first = next(lines, None)
    if first is None:
        raise NotATranscript(f"{name} is empty.")
    values, rest = _values(first[1])
    second = next(lines, None)
    if second is None and len(values) == 1 and not rest:
        return _mended(values[0], first[1], notes)
    following = [] if second is None else [second]
    if values and isinstance(values[0], dict | list):
        return Rows(_rows(chain([first], following, lines), notes))
    return _whole([first, *following, *lines], name, notes)


def _values(text: str) -> tuple[list[Any], str]:
    """The JSON values that stand one after the other in a text, and what is left after them."""
    values: list[Any] = []
    at = BLANK.match(text).end()
    while at < len(text):
        try:
            value, at = DECODER.raw_decode(text, at)
        except ValueError:
            return values, text[at:]
        values.append(value)
        at = BLANK.match(text, at).end()
    return values, ""


def _rows(lines: Iterator[tuple[int, str]], notes: NotesTaken) -> Iterator[Any]:
    for chunk in _chunks(lines):
        rows = _at_once([line for _, line in chunk])
        if rows is None:
            yield from _one_by_one(chunk, notes)
        else:
            yield from (slim(row, len(line)) for row, (_, line) in zip(rows, chunk, strict=True))


def _chunks(lines: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """The lines, so many at a time that they fill a chunk."""
    chunk, size = [], 0
    for number, line in lines:
        chunk.append((number, line))
        size += len(line)
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _at_once(lines: list[str]) -> list[Any] | None:
    """The objects of lines that hold one each; None if a line must be looked at by itself.

    Read together the objects share the strings of their keys: a fifth of the memory of a long log
    with short rows.
    """
    if not all(line.startswith("{") and line.rstrip().endswith("}") for line in lines):
        return None
    text = ",".join(lines)
    if HALF_ESCAPED.search(text):
        return None
    try:
        rows = json.loads(f"[{text}]")
    except ValueError:
        return None
    return rows if len(rows) == len(lines) else None


def _one_by_one(lines: list[tuple[int, str]], notes: NotesTaken) -> Iterator[Any]:
    for number, line in lines:
        values, rest = _values(line)
        if len(values) > 1:
            notes.add(*GLUED, where=number)
        if rest.strip() not in ("", ","):
            kind = END_LEFT_OUT if values else LEFT_OUT if rest[0] in "{[" else NOT_JSON
            notes.add(*kind, where=number)
        yield from (slim(_mended(value, line, notes), len(line)) for value in values)


def _whole(lines: list[tuple[int, str]], name: str, notes: NotesTaken) -> Any:
    """A value that goes over several lines, or several such values after each other as a list."""
    text = "".join(line for _, line in lines)
    values, rest = _values(text)
    if rest:
        rows = _rows_after_a_bad_start(lines, notes)
        return rows if rows else _complain(text, rest, lines, name)
    if len(values) > 1:
        notes.add(f"The file holds {len(values)} JSON values: read one after the other.")
    mended = [_mended(value, text, notes) for value in values]
    return mended if len(mended) > 1 else mended[0]


def _rows_after_a_bad_start(lines: list[tuple[int, str]], notes: NotesTaken) -> list[Any]:
    """The rows of a JSON Lines file whose first line is torn; empty if most lines aren't rows."""
    whole = sum(line.startswith("{") and not _values(line)[1] for _, line in lines)
    return Rows(_rows(iter(lines), notes)) if whole * 2 >= len(lines) else []


def _complain(text: str, rest: str, lines: list[tuple[int, str]], name: str) -> NoReturn:
    """Raise the sentence that says where the text stops being JSON."""
    start = len(text) - len(rest)
    try:
        _, end = DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        end, problem = error.pos, error.msg[:1].lower() + error.msg[1:]
    except ValueError as error:
        end, problem = start, str(error)
    before = text[:end]
    row, column = before.count("\n"), end - before.rfind("\n")
    number = lines[min(row, len(lines) - 1)][0]
    if not text[end:].strip() or problem.startswith("unterminated"):
        raise NotATranscript(
            f"{name} isn't complete JSON: it ends at line {number}, column {column}, in the "
            f"middle of a value ({problem}). Was the program stopped while it wrote?"
        )
    hint = ""
    if re.match(r"\s*\[?\s*\{\s*'", text):
        hint = " It looks like a printed Python dict: save it with json.dump instead."
    raise NotATranscript(
        f"{name} isn't JSON: line {number}, column {column}: {problem}.{hint}"
    ) from None


def _mended(value: Any, text: str, notes: NotesTaken) -> Any:
    return _without_halves(value, notes) if HALF_ESCAPED.search(text) else value


def _without_halves(value: Any, notes: NotesTaken) -> Any:
    """The value with each half of a surrogate pair replaced by U+FFFD."""
    if isinstance(value, str):
        for _ in HALF.findall(value):
            notes.add(*HALVES)
        return HALF.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_halves(item, notes) for item in value]
    if isinstance(value, dict):
        return {
            _without_halves(key, notes): _without_halves(item, notes) for key, item in value.items()
        }
    return value
