"""Everything that ever happened in a run, kept outside the context, in one SQLite database.

The trace only grows: what a trim or a summary leaves out of the prompt can be searched here and
read again. Long texts and tables are offloaded: one line in the context stands for them.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from course_lib.messages import OWN_KEYS, ROLES, BadMessage, CourseError, Message, role_of
from course_lib.tokens import count_tokens

APPLICATION_ID = 0x4D454D53  # "MEMS" in the header of the file: this database is ours
SCHEMA_VERSION = 1
WAIT = 30  # seconds that a writer waits for another one
REFERENCE_TOKENS = 100  # a reference has fewer
EXCERPT = 160  # characters of a hit that are shown
PART = 4096  # characters of a long text that are stored together
LONGEST_VALUE = 10_000_000  # bytes that one value of a query may have
LONGEST_QUERY = 1000  # characters of a search that are looked at

# Either would leave the database: one loads a program, the other is given an address in memory.
FORBIDDEN_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer"})


class StoreError(CourseError):
    """The store can't do what was asked; the text says why."""


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


# ---- the database file ----------------------------------------------------------------------


def append_only(table: str, same: str) -> tuple[str, ...]:
    """Triggers with which the database itself refuses to change or remove what `table` holds.

    `same` finds the row that a new one would take the place of: INSERT OR REPLACE removes it
    without asking the trigger for DELETE.
    """
    refuse = f"BEGIN SELECT RAISE(ABORT, '{table} is append-only: nothing in it may change'); END"
    taken = f"EXISTS (SELECT 1 FROM {table} WHERE {same})"
    return (
        f"CREATE TRIGGER {table}_update BEFORE UPDATE ON {table} {refuse}",
        f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} {refuse}",
        f"CREATE TRIGGER {table}_replace BEFORE INSERT ON {table} WHEN {taken} {refuse}",
    )


SCHEMA = (
    """CREATE TABLE trace (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL, position INTEGER NOT NULL,
        role TEXT NOT NULL, text TEXT NOT NULL, message TEXT NOT NULL, UNIQUE (run, position))""",
    "CREATE TABLE store_note (id INTEGER PRIMARY KEY, run TEXT NOT NULL, text TEXT NOT NULL)",
    "CREATE INDEX store_note_run ON store_note (run)",
    """CREATE TABLE store_item (
        name TEXT NOT NULL UNIQUE COLLATE NOCASE, kind TEXT, reference TEXT, digest TEXT)""",
    "CREATE TABLE store_part (name TEXT, part INTEGER, text TEXT, UNIQUE (name, part))",
    *append_only("trace", "id = NEW.id OR run = NEW.run AND position = NEW.position"),
    *append_only("store_note", "id = NEW.id"),
    *append_only("store_item", "rowid = NEW.rowid OR name = NEW.name"),
    *append_only("store_part", "rowid = NEW.rowid OR name = NEW.name AND part = NEW.part"),
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
# The index holds no copy of the texts.
WORDS = "CREATE VIRTUAL TABLE store_words USING fts5(text, content='', tokenize='unicode61')"

INDEX = "store_words JOIN trace ON trace.id = store_words.rowid"
CONTAINS = r"trace.text LIKE ? ESCAPE '\'"
HITS = f"""SELECT run, position, role, trace.text, message FROM {{source}}
    WHERE {{condition}} AND (? IS NULL OR run = ?) ORDER BY {CONTAINS} DESC, {{rank}} id LIMIT ?"""


def opened(path: Path | None) -> sqlite3.Connection:
    """A connection to the store at `path`, made if it isn't there; in memory for None.

    Raises `StoreError` if it can't be opened or isn't a store.
    """
    with in_words(f"{path} can't be opened as a store"):
        if path is not None and path.exists():
            check_untouched(path)
        db = sqlite3.connect(
            path or ":memory:", timeout=WAIT, isolation_level=None, check_same_thread=False
        )
        try:
            db.text_factory = text_from
            set_up(db, path)
        except BaseException:
            db.close()
            raise
    return db


def check_untouched(path: Path) -> None:
    """Refuse a file that isn't a store. `immutable` reads it without leaving a trace beside it."""
    uri = f"{path.resolve().as_uri()}?immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as db:
        try:
            is_new(db, path)
        except sqlite3.DatabaseError as error:
            # A crash can leave the file shorter than it says. Opened to write, it mends itself.
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_CORRUPT:
                raise


def set_up(db: sqlite3.Connection, path: Path | None) -> None:
    """Make the tables if the database is new, and have each write reach the disk."""
    # Asked again inside, where nobody else can write: two may find the same file new.
    if is_new(db, path):
        with transaction(db):
            if is_new(db, path):
                make_tables(db)
    if path is not None:
        # Readers don't wait for the writer, and a write is on the disk before it returns.
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")


def make_tables(db: sqlite3.Connection) -> None:
    """The tables, and the index of words unless this SQLite lacks FTS5."""
    for statement in SCHEMA:
        db.execute(statement)
    try:
        db.execute(WORDS)
    except sqlite3.OperationalError as error:
        if "no such module" not in str(error):
            raise


def is_new(db: sqlite3.Connection, path: Path | None) -> bool:
    """True for an empty database, False for a store. Raises `StoreError` for any other."""
    ((owner,),) = db.execute("PRAGMA application_id")
    ((version,),) = db.execute("PRAGMA user_version")
    if owner == APPLICATION_ID and version <= SCHEMA_VERSION:
        return False
    if owner == APPLICATION_ID:
        raise StoreError(
            f"{path} was written by a newer version of the course (its schema is {version}, this "
            f"version knows {SCHEMA_VERSION}). Update the course to read it; it wasn't changed."
        )
    ((tables,),) = db.execute("SELECT count(*) FROM sqlite_master")
    if owner or version or tables:
        raise StoreError(f"{path} is a database of another program. It wasn't changed.")
    return True


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All that is done inside is written, or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


@contextmanager
def in_words(problem: str = "the store can't do this") -> Iterator[None]:
    """Turn what SQLite complains about into a `StoreError` with a sentence."""
    try:
        yield
    except (sqlite3.Error, UnicodeEncodeError, OverflowError) as error:
        code = getattr(error, "sqlite_errorcode", None) or 0
        if code & 0xFF == sqlite3.SQLITE_BUSY:
            error = f"another process has been writing for more than {WAIT} seconds"
        raise StoreError(f"{problem}: {error}") from None


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


# ---- tables ---------------------------------------------------------------------------------


def table_of(rows: Iterable[Any]) -> tuple[list[str], list[list[Any]]]:
    """The columns and the rows of a table, as it was given. Raises `StoreError`."""
    if isinstance(rows, tuple) and len(rows) == 2 and not isinstance(rows[0], dict):
        columns, values = list(rows[0]), [list(row) for row in rows[1]]
    else:
        dicts = list(rows)
        if not all(isinstance(row, dict) for row in dicts):
            raise StoreError("the rows of a table are dicts, or a pair (columns, rows)")
        columns = list(dict.fromkeys(column for row in dicts for column in row))
        values = [[row.get(column) for column in columns] for row in dicts]
    check_columns(columns)
    for i, row in enumerate(values):
        if len(row) != len(columns):
            raise StoreError(f"row {i} has {len(row)} values for {len(columns)} columns")
        values[i] = [checked_cell(value, i, at) for value, at in zip(row, columns, strict=True)]
    return columns, values


def check_columns(columns: list[Any]) -> None:
    """Raise `StoreError` for names that SQLite can't tell apart, or that are no names."""
    if not columns:
        raise StoreError("the table has no columns; for an empty table give (columns, [])")
    seen: set[str] = set()
    for column in columns:
        if not isinstance(column, str):
            raise StoreError(f"column {column!r}: the name of a column is a text")
        if column.lower() in seen:
            raise StoreError(f"two columns are called {column!r}; capitals make no difference")
        if column.lower() == "_rowid_":
            raise StoreError(f"column {column!r}: SQLite needs this name for itself; rename it")
        seen.add(column.lower())


def checked_cell(value: Any, row: int, column: str) -> Any:
    """A value that SQLite keeps exactly. Raises `StoreError` with the row and the column."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    if isinstance(value, float) and not math.isnan(value):
        return float(value)
    raise StoreError(
        f"row {row}, column {column!r}: a table keeps numbers of up to 64 bits, text and None, "
        f"not {type(value).__name__} {value!r:.40}. Write it as text first."
    )


def to_cell(value: Any) -> Any:
    """The value as SQLite takes it. A text with half an emoji goes in as bytes."""
    return utf8(value) if isinstance(value, str) and HALF.search(value) else value


def as_dicts(cursor: sqlite3.Cursor, most: int) -> Iterator[dict[str, Any]]:
    """The next rows of a cursor, with bytes as text. Of two equal names one gets `_2`."""
    if cursor.description is None:
        raise sqlite3.ProgrammingError("there is no statement in it")
    names: list[str] = []
    for name, *_ in cursor.description:
        while name in names:
            name += "_2"
        names.append(name)
    for row in cursor.fetchmany(most):
        values = (text_from(value) if isinstance(value, bytes) else value for value in row)
        yield dict(zip(names, values, strict=True))


def query_problem(error: Exception, seconds: float, tables: Sequence[str]) -> str:
    """Why a query gave nothing, in words."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
        return f"the query was stopped after {seconds:g} seconds; ask for less, or for a part"
    may = f"It may SELECT from {listed(tables)}, and do nothing else"
    return f"the query can't be run: {str(error).rstrip('.')}. {may}."


def check_run(run: Any) -> None:
    """Raise `StoreError` if a run can't be named like this."""
    if not isinstance(run, str):
        raise StoreError(f"a run is named by a text, not by {type(run).__name__}")


def check_number(name: str, value: Any, least: int) -> None:
    """Raise `StoreError` if the value isn't a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise StoreError(f"`{name}` must be a whole number, {least} or more; it is {value!r}")
