"""The SQLite file of a store: its tables, its triggers, and transactions on it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from course_lib.store_texts import StoreError, text_from

APPLICATION_ID = 0x4D454D53  # "MEMS" in the header of the file: this database is ours
SCHEMA_VERSION = 1
WAIT = 30  # seconds that a writer waits for another one
MAKING = 0.5  # seconds that it may take another process to make a store's tables


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

    def look() -> None:
        with closing(sqlite3.connect(uri, uri=True)) as db:
            try:
                is_new(db, path)
            except sqlite3.DatabaseError as error:
                # A crash can leave the file shorter than it says. Opened to write, it mends itself.
                if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_CORRUPT:
                    raise

    # Read without a lock, a store that another process is just making looks like nobody's.
    patiently(look, (StoreError, sqlite3.DatabaseError), seconds=MAKING)


def set_up(db: sqlite3.Connection, path: Path | None) -> None:
    """Make the tables if the database is new, and have each write reach the disk."""
    with transaction(db, "DEFERRED"):  # what it reads is of one moment, and a reader never waits
        new = is_new(db, path)
    if new:
        with transaction(db):
            # Asked again where nobody else can write: two may find the same file new.
            if is_new(db, path):
                make_tables(db)
    if path is not None:
        # Readers don't wait for the writer, and a write is on the disk before it returns.
        patiently(lambda: db.execute("PRAGMA journal_mode = WAL"), sqlite3.OperationalError)
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


def patiently(
    act: Callable[[], object],
    failure: type[Exception] | tuple[type[Exception], ...],
    seconds: float | None = None,
) -> None:
    """Try again while it fails for another process that is writing, up to WAIT seconds.

    SQLite itself waits for a lock, but not to change its journal.
    """
    until = time.monotonic() + (WAIT if seconds is None else seconds)
    while True:
        try:
            act()
            return
        except failure:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


@contextmanager
def transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """All that is done inside is written, or nothing."""
    db.execute(f"BEGIN {kind}")
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
