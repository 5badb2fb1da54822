"""Tables of a store: rows as they were given, as SQLite keeps them, and as a query gives them."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from course_lib.store_texts import HALF, StoreError, listed, text_from, utf8


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
