"""Everything that ever happened in a run, kept outside the context, in one SQLite database.

The trace only grows: what a trim or a summary leaves out of the prompt can be searched here and
read again. Long texts and tables are offloaded: one line in the context stands for them.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from course_lib.messages import Message
from course_lib.store_file import in_words, opened, transaction
from course_lib.store_tables import as_dicts, query_problem, table_of, to_cell
from course_lib.store_texts import (
    StoreError,
    check_number,
    check_run,
    checked_name,
    digest,
    excerpt,
    json_of,
    like,
    listed,
    plain,
    reference_to,
    searchable,
    spaced,
    spoken,
    sql_name,
    utf8,
    words_of,
)

PART = 4096  # characters of a long text that are stored together
LONGEST_VALUE = 10_000_000  # bytes that one value of a query may have
LONGEST_QUERY = 1000  # characters of a search that are looked at

# Either would leave the database: one loads a program, the other is given an address in memory.
FORBIDDEN_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer"})

INDEX = "store_words JOIN trace ON trace.id = store_words.rowid"
CONTAINS = r"trace.text LIKE ? ESCAPE '\'"
HITS = f"""SELECT run, position, role, trace.text, message FROM {{source}}
    WHERE {{condition}} AND (? IS NULL OR run = ?) ORDER BY {CONTAINS} DESC, {{rank}} id LIMIT ?"""


class Hit(NamedTuple):
    """A message that a search found, and an `excerpt` around the words, on one line."""

    run: str
    position: int
    role: str
    excerpt: str
    message: Message


class Passage(NamedTuple):
    """A place in an offloaded text: where the words `start`, and an `excerpt` around them."""

    start: int
    excerpt: str


class Rows(list[dict[str, Any]]):
    """The rows of a query. `.note` is a sentence if there were more, else empty."""

    def __init__(self, rows: Iterable[dict[str, Any]], note: str = "") -> None:
        super().__init__(rows)
        self.note = note

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n{self.note}".rstrip()


class Item(NamedTuple):
    """Something offloaded: its `name`, its `kind` (table or text), and what stands for it."""

    name: str
    kind: str
    reference: str
    digest: str


class Store:
    """A trace of messages, notes for a hand-off, and what was offloaded.

    `Store()` is kept in memory, `Store(path)` in a file, which outlives a crash: what `append`
    has returned for is on the disk. Several processes may use the file at once; writers wait for
    one another. Use it in a `with` block, or call `close`.

    Raises `StoreError` for a file of another program or of a newer version, and leaves it alone.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path in (None, ":memory:") else Path(path)
        self._lock = RLock()
        self._db = opened(self.path)
        self._indexed = bool(self._all("SELECT 1 FROM sqlite_master WHERE name = 'store_words'"))

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {'in memory' if self.path is None else self.path.name}>"

    def __len__(self) -> int:
        # Nothing is ever deleted, so the highest id is the number of messages: no need to count.
        return self._all("SELECT ifnull(max(id), 0) FROM trace")[0][0]

    def __bool__(self) -> bool:
        # Without this, `store or Store()` would throw away a store that is still empty.
        return True

    def close(self) -> None:
        """Close the database. Closing twice does no harm."""
        self._db.close()

    # ---- the trace --------------------------------------------------------------------------

    def append(self, message: Message, run: str = "main") -> int:
        """Add one message to the end of a run; its position, counted from 0.

        When this returns, the message is on the disk. Raises `BadMessage` for what isn't a
        message, or holds something that JSON can't keep; the index is the position in the run.
        """
        with self._writing():
            position = self._end_of(run)
            self._insert(run, position, message, json_of(message, position))
            return position

    def extend(self, messages: Iterable[Message], run: str = "main") -> range:
        """Add messages to the end of a run, all or none; their positions.

        Raises `BadMessage`; the index is the place in `messages`.
        """
        checked = [(message, json_of(message, i)) for i, message in enumerate(messages)]
        with self._writing():
            first = self._end_of(run)
            for position, (message, text) in enumerate(checked, first):
                self._insert(run, position, message, text)
        return range(first, first + len(checked))

    def messages(self, run: str = "main") -> list[Message]:
        """The messages of a run, in order, equal to those that were appended."""
        rows = self._all("SELECT message FROM trace WHERE run = ? ORDER BY position", run)
        return [json.loads(text) for (text,) in rows]

    def runs(self) -> list[str]:
        """The names of the runs, in the order in which they began."""
        return [run for (run,) in self._all("SELECT run FROM trace GROUP BY run ORDER BY min(id)")]

    def _end_of(self, run: str) -> int:
        check_run(run)
        return self._all("SELECT ifnull(max(position) + 1, 0) FROM trace WHERE run = ?", run)[0][0]

    def _insert(self, run: str, position: int, message: Message, text: str) -> None:
        words = searchable(message)
        added = self._db.execute(
            "INSERT INTO trace (run, position, role, text, message) "
            "VALUES (?, ?, ?, ?, CAST(? AS TEXT))",
            (run, position, message["role"], words, utf8(text)),
        )
        if self._indexed:
            sql = "INSERT INTO store_words (rowid, text) VALUES (?, ?)"
            self._db.execute(sql, (added.lastrowid, spaced(words)))

    # ---- notes for a hand-off ---------------------------------------------------------------

    def save_note(self, text: str, run: str = "main") -> None:
        """Keep a hand-off note, from which a run can start afresh. Earlier notes stay."""
        if not isinstance(text, str) or not text.strip():
            raise StoreError("a hand-off note is a text that says something; this one is empty")
        check_run(run)
        with self._writing():
            self._db.execute(
                "INSERT INTO store_note (run, text) VALUES (?, CAST(? AS TEXT))", (run, utf8(text))
            )

    def last_note(self, run: str = "main") -> str | None:
        """The newest hand-off note of a run, or None."""
        rows = self._all("SELECT text FROM store_note WHERE run = ? ORDER BY id DESC LIMIT 1", run)
        return rows[0][0] if rows else None

    # ---- search -----------------------------------------------------------------------------

    def search(self, query: str, run: str | None = None, limit: int = 10) -> list[Hit]:
        """The messages that hold the words of the query, best first; of all runs, or of one.

        Words are found whole, in any case; "INV-8841" or "48,000" as they are written, and so is
        a phrase in double quotes. Messages that hold the query just as typed come first. If none
        holds all words, parts of words are looked for, then messages that hold some of the words.

        The index is SQLite's FTS5. A SQLite without it compares texts instead, as LIKE does: the
        same characters are found, oldest message first.
        """
        if not isinstance(query, str):
            raise StoreError(f"search for a text, not for {type(query).__name__}")
        check_number("limit", limit, 1)
        query = plain(query[:LONGEST_QUERY])
        words = words_of(query)
        typed = " ".join(query.replace('"', " ").split())
        for source, condition, values, rank in self._ways(words):
            sql = HITS.format(source=source, condition=condition, rank=rank)
            rows = self._all(sql, *values, run, run, like(typed), limit)
            if rows:
                return [hit(row, [typed, *words]) for row in rows]
        return []

    def _ways(self, words: list[str]) -> Iterator[tuple[str, str, list[str], str]]:
        """Ways to look for the words, the strictest first: source, condition, values, rank."""
        if not words:
            return
        phrases = [sql_name(spaced(word)) for word in words]
        if self._indexed:
            yield INDEX, "store_words MATCH ?", [" ".join(phrases)], "bm25(store_words),"
        yield "trace", " AND ".join([CONTAINS] * len(words)), [like(word) for word in words], ""
        if self._indexed:
            yield INDEX, "store_words MATCH ?", [" OR ".join(phrases)], "bm25(store_words),"

    # ---- offloading -------------------------------------------------------------------------

    def offload_text(self, name: str, text: str, description: str = "") -> str:
        """Keep a long text; the line that stands for it in the context, under 100 tokens.

        Raises `StoreError` if the name is taken by something else.
        """
        if not isinstance(text, str):
            raise StoreError(f"`text` must be a text, not {type(text).__name__}")
        called = spoken(checked_name(name))
        what = f"text of {len(text):,} characters"
        how = f"read_text({called}, start, length) or find_in_text({called}, words)"
        reference = reference_to(name, what, how, description)
        parts = (
            (name, start // PART, utf8(text[start : start + PART]))
            for start in range(0, len(text), PART)
        )
        return self._offload(
            Item(name, "text", reference, digest("text", text)),
            lambda: self._db.executemany(
                "INSERT INTO store_part (name, part, text) VALUES (?, ?, CAST(? AS TEXT))", parts
            ),
        )

    def offload_table(self, name: str, rows: Iterable[Any], description: str = "") -> str:
        """Keep a table; the line that stands for it in the context, under 100 tokens.

        `rows` is a list of dicts, or a pair `(columns, rows)`. Whole numbers, floats, texts and
        None come back as they were; True and False as 1 and 0, a `Decimal` as its text. In SQL
        the table has the name that you give it here.

        Raises `StoreError` if the name is taken by something else, or a value can't be kept.
        """
        sql_table = sql_name(checked_name(name))
        columns, values = table_of(rows)
        what = f"table of {len(values):,} row{'s' * (len(values) != 1)}"
        query = spoken(f"SELECT … FROM {sql_table}", "'")
        how = f"read_rows({spoken(name)}, first, count) or query({query})"
        reference = reference_to(name, what, how, description, columns)
        places = ", ".join("?" * len(columns))

        def write() -> None:
            # Without declared types SQLite converts nothing: the text "0.10" stays that text.
            self._db.execute(f"CREATE TABLE {sql_table} ({', '.join(map(sql_name, columns))})")
            self._db.executemany(
                f"INSERT INTO {sql_table} VALUES ({places})",
                ([to_cell(value) for value in row] for row in values),
            )

        return self._offload(Item(name, "table", reference, digest(columns, values)), write)

    def offloaded(self) -> list[str]:
        """The references to all that was offloaded, oldest first."""
        sql = "SELECT reference FROM store_item ORDER BY rowid"
        return [reference for (reference,) in self._all(sql)]

    def _offload(self, item: Item, write: Callable[[], object]) -> str:
        with self._writing():
            known = self._item(item.name)
            if known is None:
                self._db.execute("INSERT INTO store_item VALUES (?, ?, ?, ?)", item)
                write()
                return item.reference
        if known.digest != item.digest:
            raise StoreError(
                f"the name {item.name!r} is taken by other content, which stays: {known.reference} "
                "Choose another name."
            )
        return known.reference

    def _item(self, name: str) -> Item | None:
        rows = self._all("SELECT * FROM store_item WHERE name = ?", name)
        return Item(*rows[0]) if rows else None

    # ---- reading a part ---------------------------------------------------------------------

    def read_text(self, name: str, start: int = 0, length: int = 2000) -> str:
        """A part of an offloaded text, in characters; empty behind its end."""
        check_number("start", start, 0)
        check_number("length", length, 1)
        name = self._known(name, "text")
        first = start // PART
        rows = self._all(
            "SELECT text FROM store_part WHERE name = ? AND part BETWEEN ? AND ? ORDER BY part",
            *(name, first, (start + length) // PART),
        )
        skip = start - first * PART
        return "".join(text for (text,) in rows)[skip : skip + length]

    def find_in_text(self, name: str, words: str, limit: int = 10) -> list[Passage]:
        """Where the words stand in an offloaded text, in this order, in any case."""
        check_number("limit", limit, 1)
        if not isinstance(words, str) or not words.strip():
            raise StoreError("`words` must be a text to look for; this one is empty")
        name = self._known(name, "text")
        parts = self._all("SELECT text FROM store_part WHERE name = ? ORDER BY part", name)
        text = "".join(part for (part,) in parts)
        pattern = re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)
        found = islice(pattern.finditer(text), limit)
        return [Passage(match.start(), excerpt(text, match.start())) for match in found]

    def read_rows(self, name: str, first: int = 0, count: int = 20) -> list[dict[str, Any]]:
        """A few rows of an offloaded table, from row `first` on, counted from 0."""
        check_number("first", first, 0)
        check_number("count", count, 1)
        table = sql_name(self._known(name, "table"))
        sql = f"SELECT * FROM {table} WHERE _rowid_ > ? AND _rowid_ <= ? ORDER BY _rowid_"
        with self._lock, in_words(), closing(self._db.execute(sql, (first, first + count))) as rows:
            return list(as_dicts(rows, count))

    def _known(self, name: str, kind: str) -> str:
        """The name as it was given first, if this is the name of such a thing."""
        item = self._item(name)
        if item is None:
            names = [name for (name,) in self._all("SELECT name FROM store_item")]
            raise StoreError(f"nothing is stored as {name!r}; what is: {listed(names)}")
        if item.kind != kind:
            raise StoreError(f"{name!r} is a {item.kind}, not a {kind}: {item.reference}")
        return item.name

    # ---- computing --------------------------------------------------------------------------

    def query(self, sql: str, limit: int = 100, seconds: float = 2) -> Rows:
        """The rows of one SELECT over offloaded tables and `trace`; it can change nothing.

        `trace` has the columns run, position, role, text (all that is searched) and message
        (JSON). At most `limit` rows are read: `.note` of the result says if there were more.

        Raises `StoreError` for any other statement or table, a mistake in the SQL, or a query
        that runs for more than `seconds`.
        """
        check_number("limit", limit, 1)
        tables = ["trace", *self._tables()]
        try:
            with (
                self._lock,
                self._only_reading(tables, seconds),
                closing(self._db.execute(sql)) as cursor,
            ):
                rows = list(as_dicts(cursor, limit))
                more = cursor.fetchone() is not None
        except (sqlite3.Error, TypeError, ValueError) as error:
            raise StoreError(query_problem(error, seconds, tables)) from None
        note = f"There are more than these {limit:,} rows: narrow the query, or compute in SQL."
        return Rows(rows, note if more else "")

    def _tables(self) -> list[str]:
        return [name for (name,) in self._all("SELECT name FROM store_item WHERE kind = 'table'")]

    @contextmanager
    def _only_reading(self, tables: Sequence[str], seconds: float) -> Iterator[None]:
        """In here, SQLite refuses all but SELECT on these tables, and stops when time is up."""

        def permit(action: int, thing: str | None, detail: str | None, *_: object) -> int:
            if action == sqlite3.SQLITE_READ:
                # No column: rows are counted, of a table or of a part of the query itself.
                may = thing in tables or not detail
            elif action == sqlite3.SQLITE_FUNCTION:
                may = detail not in FORBIDDEN_FUNCTIONS
            else:
                may = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
            return sqlite3.SQLITE_OK if may else sqlite3.SQLITE_DENY

        end = time.monotonic() + seconds
        self._db.set_authorizer(permit)
        self._db.set_progress_handler(lambda: time.monotonic() > end, 1000)
        longest = self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        try:
            yield
        finally:
            self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
            self._db.set_progress_handler(None, 0)
            self._db.set_authorizer(None)

    # ---- the database -----------------------------------------------------------------------

    def _all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, in_words():
            return self._db.execute(sql, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction: all of it is written, or nothing. Waits for another writer to end."""
        with self._lock, in_words(), transaction(self._db):
            yield


def hit(row: tuple[str, int, str, str, str], needles: list[str]) -> Hit:
    """A row of `HITS`, with an excerpt around the first of the needles that is in it."""
    run, position, role, text, message = row
    for needle in needles:
        bare = re.escape(needle)
        found = re.search(rf"(?<!\w){bare}(?!\w)", text, re.IGNORECASE) or re.search(
            bare, text, re.IGNORECASE
        )
        if found:
            break
    start = found.start() if found else 0
    return Hit(run, position, role, excerpt(text, start), json.loads(message))
