"""The store: an append-only trace that survives a kill, search, offloading, read-only queries."""

from __future__ import annotations

import copy
import math
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from course_lib import store as module
from course_lib import store_file, store_texts
from course_lib.messages import BadMessage, CourseError, assistant, tool_call, tool_result, user
from course_lib.samples import long_incident
from course_lib.store import Store, StoreError
from course_lib.tokens import count_tokens
from course_lib.values import exact_values
from tests.strategies import transcripts

ROOT = Path(__file__).parent.parent
PAYMENTS = [
    {"date": f"2024-10-{i % 28 + 1:02}", "amount": i * 0.5, "reference": f"P-{i:04}"}
    for i in range(400)
]


@pytest.fixture
def store() -> Iterator[Store]:
    with Store() as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def sound(path: Path) -> None:
    """Fail unless SQLite finds nothing wrong with the file and with the index of words."""
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        db.execute("INSERT INTO store_words (store_words) VALUES ('integrity-check')")


def positions(store: Store, query: str, **options) -> list[int]:
    return [hit.position for hit in store.search(query, **options)]


# ---- the trace ------------------------------------------------------------------------------


def test_positions_count_from_0_in_each_run(store):
    assert [store.append(user("a")), store.append(user("b"))] == [0, 1]
    assert store.append(user("c"), run="sub-agent") == 0
    assert store.extend([user("d"), user("e")]) == range(2, 4)
    assert store.extend([]) == range(4, 4)
    assert store.messages() == [user(text) for text in "abde"]
    assert store.messages("sub-agent") == [user("c")]
    assert store.messages("nobody") == []
    assert store.runs() == ["main", "sub-agent"]
    assert len(store) == 5


def test_an_empty_store_is_true(store):
    assert len(store) == 0
    assert store


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
# Text with zero characters and halves of surrogate pairs, which `st.text` never makes.
ODD_TEXT = st.lists(
    st.text(max_size=4) | st.sampled_from(("\0", "\ud83d", "\ude00", "\udc80")), max_size=5
).map("".join)
ODD = st.fixed_dictionaries(
    {"role": st.sampled_from(("system", "user", "assistant", "tool")), "content": ODD_TEXT | JSON},
    optional={"tool_calls": JSON, "name": ODD_TEXT, "pinned": st.booleans(), "zusätzlich": JSON},
)


@given(st.lists(ODD, max_size=4) | transcripts(), st.integers(0, 4))
@example([user("a\ud83d"), user("\ud83d\ude00 \U0001f600"), user("\0")], 1)
def test_everything_comes_back_in_order_and_equal(messages, one_by_one):
    before = copy.deepcopy(messages)
    with Store() as store:
        for message in messages[:one_by_one]:
            store.append(message)
        store.extend(messages[one_by_one:])
        assert store.messages() == before == messages
        assert [list(message) for message in store.messages()] == [list(m) for m in before]
        assert len(store) == len(messages)


def test_what_comes_back_is_a_copy(store):
    message = assistant(calls=[tool_call("c", "look")])
    store.append(message)
    message["tool_calls"].clear()
    store.messages()[0]["tool_calls"].clear()
    assert store.messages() == [assistant(calls=[tool_call("c", "look")])]


BAD = {
    "no dict": (["user"], None, "a message is a dict, this is a list"),
    "no role": ({"content": "hi"}, "role", "without `role`"),
    "role": ({"role": "robot", "content": "hi"}, "role", "'robot' isn't one of"),
    "NaN": ({"role": "user", "content": [math.nan]}, "content", "`content` is or holds"),
    "infinity": ({"role": "user", "content": -math.inf}, "content", "`content` is or holds"),
    "tuple": ({"role": "user", "content": "", "x": (1,)}, "x", "a tuple"),
    "object": ({"role": "user", "content": object()}, "content", "an object"),
    "key": ({"role": "user", "content": "", 7: "seven"}, "7", "`7` is or holds"),
}


@pytest.mark.parametrize(("message", "field", "problem"), BAD.values(), ids=BAD)
def test_a_bad_message_is_named_and_nothing_is_written(store, message, field, problem):
    store.append(user("first"))
    for add, index in (
        (lambda: store.append(message), 1),
        (lambda: store.extend([user("a"), user("b"), message]), 2),
    ):
        with pytest.raises(BadMessage, match=f"index {index}: .*{problem}") as caught:
            add()
        assert (caught.value.index, caught.value.field) == (index, field)
    assert store.messages() == [user("first")]


def test_a_loop_or_a_tower_of_lists_is_refused(store):
    loop, tower = [], []
    loop.append(loop)
    for _ in range(100_000):
        tower = [tower]
    for content in (loop, tower):
        with pytest.raises(BadMessage, match="`content` is or holds"):
            store.append({"role": "user", "content": content})


def test_a_run_is_named_by_a_text(store):
    for name in (None, 7):
        with pytest.raises(StoreError, match="a run is named by a text"):
            store.append(user("a"), run=name)
        with pytest.raises(StoreError, match="a run is named by a text"):
            store.save_note("a", run=name)


FORBIDDEN = (
    "UPDATE trace SET message = '{}'",
    "UPDATE trace SET position = 9 WHERE position = 0",
    "DELETE FROM trace",
    "INSERT OR REPLACE INTO trace VALUES (1, 'other', 0, 'user', '', '{}')",
    "INSERT OR REPLACE INTO trace VALUES (99, 'main', 0, 'user', '', '{}')",
    "REPLACE INTO trace SELECT * FROM trace",
    "UPDATE store_note SET text = ''",
    "DELETE FROM store_note",
    "REPLACE INTO store_note SELECT id, run, 'other' FROM store_note",
    "UPDATE store_item SET reference = ''",
    "DELETE FROM store_item",
    "REPLACE INTO store_item SELECT name, kind, 'other', digest FROM store_item",
    "UPDATE store_part SET text = ''",
    "DELETE FROM store_part",
    "REPLACE INTO store_part SELECT name, part, 'other' FROM store_part",
)


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_the_database_itself_refuses_to_change_what_happened(path, sql):
    with Store(path) as store:
        store.extend([user("a"), user("b")])
        store.save_note("a note")
        store.offload_text("rules", "Rule E12")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        # Off, as SQLite has it by default: REPLACE then deletes without asking other triggers.
        db.execute("PRAGMA recursive_triggers = OFF")
        with pytest.raises(sqlite3.IntegrityError, match="is append-only"):
            db.execute(sql)
    with Store(path) as store:
        assert store.messages() == [user("a"), user("b")]
        assert store.last_note() == "a note"
        assert store.read_text("rules") == "Rule E12"


def test_a_file_keeps_everything(path):
    with Store(path) as store:
        store.extend(long_incident())
        store.save_note("Goal: find the cause.")
        reference = store.offload_table("payments", PAYMENTS)
    with Store(str(path)) as store:
        assert store.messages() == long_incident()
        assert store.append(user("and then?")) == len(long_incident())
        assert store.last_note() == "Goal: find the cause."
        assert store.offloaded() == [reference]
        assert store.search("db_timeout_s")
        assert repr(store) == "<Store run.db>"
    sound(path)
    assert sorted(p.name for p in path.parent.iterdir()) == ["run.db"]


def test_a_write_is_on_the_disk_when_it_returns(path):
    with Store(path) as store:
        assert store._all("PRAGMA journal_mode") == [("wal",)]
        assert store._all("PRAGMA synchronous") == [(2,)]  # FULL


def test_a_closed_store_says_so(store):
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.append(user("a"))


def test_an_interrupted_extend_writes_nothing(store, monkeypatch):
    insert, count = Store._insert, iter(range(9))

    def interrupted(*args):
        insert(*args)
        if next(count) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "_insert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.extend([user("a"), user("b"), user("c")])
    monkeypatch.undo()
    assert store.messages() == []
    assert store.search("a") == []
    assert store.append(user("d")) == 0


# ---- search ---------------------------------------------------------------------------------

VALUES = (
    *("INV-8841", "E12", "S1", "48,000", "48,000.50", "1.234,56", "€1,200", "#8841", "12%", "-5.2"),
    *("src/app.py", "/var/log/export.log", r"C:\temp\new.txt", "app.py:120", "config.yaml"),
    *("02:00", "2024-10-03", "2024-10-03T02:00:01Z", "3 October 2024", "10/03/2024"),
    *("timeout=300", "db_timeout_s", "user_id", "get_invoice()", "v2.10.1", "GPT-4o", "C++", "x"),
    *("anna.k@example.org", "https://example.org/a?b=1&c=%20d#e", "+44 20 7946 0018"),
    *("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "9f86d081", "00:1b:44:11:3a:b7", "10.0.0.1"),
    *("Purchase order number missing or invalid.", "Zürich", "naïve", "STRASSE", "счёт8841"),
    *("請求書8841番", "金额48,000元", "🎉", "\u00a0\u2192", "50%_x", "---", "?", "*", "''", "a\tb"),
)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "say",
    (
        lambda value: user(f"Before {value} after."),
        lambda value: user(f"({value})"),
        lambda value: user([{"type": "text", "text": f"Look: {value}"}]),
        lambda value: tool_result("c1", {"finding": value, "hours": [1, 2]}),
        lambda value: tool_result("c1", f"line\n{value}\nline"),
        lambda value: tool_result("c1", {"outer": f'{{"inner": "{value}\\nnext"}}'}),
        lambda value: assistant(calls=[tool_call("c1", "find", what=value)]),
        lambda value: assistant(calls=[{"id": "c", "name": "f", "arguments": {"type": value}}]),
    ),
)
def test_an_exact_value_is_found_wherever_it_stands(store, value, say):
    store.extend([user("nothing here"), say(value), assistant("nothing there")])
    assert 1 in positions(store, value)
    assert [hit.message for hit in store.search(value) if hit.position == 1] == [say(value)]


@given(
    st.lists(
        st.lists(st.sampled_from(VALUES) | ODD_TEXT, min_size=1, max_size=5).map(" ".join),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from((user, lambda text: tool_result("c", {"a": text, "b": [text]}))),
)
def test_every_exact_value_that_was_appended_is_found(texts, say):
    messages = [say(text) for text in texts]
    with Store() as store:
        store.extend(messages)
        for position, message in enumerate(messages):
            for value in exact_values(message["content"]):
                assert position in positions(store, value, limit=len(messages)), value


def test_the_findings_of_a_run_are_found(store):
    store.extend(long_incident())
    assert store.search("db step")[0].position == 7
    first = store.search("load_job_settings batch_size")
    assert first and "batch_size" in first[0].excerpt


def test_glued_words_are_found_beside_whole_ones(store):
    store.extend([user("8841"), user("請求書8841番を探す"), user("счёт8841"), user("请求 8842")])
    assert sorted(positions(store, "8841")) == [0, 1, 2]
    assert positions(store, "請求書") == [1]
    assert positions(store, "8842") == [3]


def test_the_names_of_arguments_are_found(store):
    store.append(assistant(calls=[{"id": "c", "name": "f", "arguments": {"straße": "Kai 1"}}]))
    store.append(tool_result("c", '{"stra\\u00dfe": ["Kai 2"]}'))
    store.append(user("arguments"))
    assert positions(store, "straße") == [0, 1]
    assert positions(store, "arguments") == [2]
    assert positions(store, "assistant") == positions(store, "function") == []


def test_a_value_is_found_whole_and_not_inside_another(store):
    store.extend([user("code E123"), user("code E12."), user("48,0001"), user("S10")])
    assert positions(store, "E12") == [1]
    assert positions(store, "e12") == [1]
    assert positions(store, "S1") == [3]  # nothing is just S1, so a part of a word will do


def test_the_best_match_comes_first(store):
    store.extend(
        [
            user("48 000 and again 48 000, an order of purchase"),
            user("the amount is 48,000 " + "and so on " * 50),
            user("purchase order " + "and so on " * 50),
            user("purchase"),
        ]
    )
    assert positions(store, "48,000") == [1, 0]
    assert positions(store, "purchase order") == [2, 0]
    assert positions(store, '"purchase order"') == [2]
    assert positions(store, "purchase form") == [3, 0, 2]  # shorter first


def test_equally_good_matches_come_in_the_order_of_the_trace(store):
    store.extend([user("same words") for _ in range(20)])
    assert positions(store, "words same", limit=20) == list(range(20))
    assert positions(store, "ame wor", limit=20) == list(range(20))
    assert positions(store, "same other", limit=20) == list(range(20))


def test_search_in_one_run_and_with_a_limit(store):
    for run in ("main", "sub"):
        store.extend([user("invoice 8841")] * 3, run)
    assert [(h.run, h.position) for h in store.search("8841", limit=4)] == [
        *(("main", position) for position in range(3)),
        ("sub", 0),
    ]
    assert {hit.run for hit in store.search("8841", run="sub")} == {"sub"}
    assert store.search("8841", run="nobody") == []


def test_a_hit_shows_the_place_on_one_line(store):
    store.append(user("S10 " + "before\n" * 100 + "supplier S1 said " + "after\n" * 100))
    (found,) = store.search("S1")
    assert (found.run, found.position, found.role) == ("main", 0, "user")
    assert "supplier S1 said" in found.excerpt
    assert found.excerpt.startswith("…") and found.excerpt.endswith("…")
    assert "\n" not in found.excerpt and len(found.excerpt) <= store_texts.EXCERPT + 2


TYPED = (
    *('"', '""', "'", '"unbalanced', 'un"bal"anced"', "AND", "a AND", "NOT x", "OR", "NEAR(a b)"),
    *("INV-8841", "a:b", "text:x", "-x", "^x", "x*", "(", ")", "{a b}", "+", "%", "_", "\\", ";"),
    *("a\0b", "\ud83d", "x' OR 1=1 --", "store_words MATCH 'x'", "?", "?1", ":run", " \t\n "),
)


@pytest.mark.parametrize("typed", TYPED)
def test_no_query_is_a_syntax_error(store, typed):
    store.extend([user(f"it says {typed} here"), user("other")])
    assert 0 in positions(store, typed) or not typed.strip('" \t\n')


@given(ODD_TEXT | st.text('"*-:()^ aANDOR', max_size=30))
def test_whatever_is_typed_finds_the_message_that_holds_it(typed):
    with Store() as store:
        store.extend([user(f"x {typed} y"), user("z")])
        assert 0 in positions(store, typed) or not typed.replace("\0", "x").strip('" ').split()


def test_an_empty_query_finds_nothing(store):
    store.append(user("a"))
    assert [store.search(query) for query in ("", "  ", '"', '" "')] == [[], [], [], []]


def test_long_queries_are_looked_at_in_part(store):
    store.append(user("invoice " * 10_000))
    assert positions(store, "invoice " * 10_000) == [0]
    assert positions(store, " OR ".join(f"w{i}" for i in range(5_000))) == []
    assert positions(store, " ".join(map(chr, range(0x4E00, 0x4E00 + 500))) + " invoice") == []
    assert positions(store, " ".join(map(chr, range(0x4E00, 0x4E00 + 400))) + " invoice") == [0]


def test_what_can_not_be_searched_for_is_refused(store):
    with pytest.raises(StoreError, match="search for a text, not for int"):
        store.search(8841)
    for limit in (0, -1, True, 1.5):
        with pytest.raises(StoreError, match="`limit` must be a whole number, 1 or more"):
            store.search("a", limit=limit)


def test_pictures_are_kept_and_not_searched(store):
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJDRA+8841"}}
    store.append(user([picture, {"type": "text", "text": "data: INV-1"}]))
    assert store.messages()[0]["content"][0] == picture
    assert positions(store, "INV-1") == [0]
    assert positions(store, "8841") == []


def test_without_fts5_the_same_characters_are_found(monkeypatch, path):
    monkeypatch.setattr(store_file, "WORDS", store_file.WORDS.replace("fts5", "no_such_module"))
    with Store(path) as store:
        store.extend([user("code E123"), user("INV-8841, 50%"), tool_result("c", {"a": "x\nE12"})])
        assert positions(store, "E12") == [0, 2]
        assert positions(store, "inv-8841 50%") == [1]
        assert positions(store, '"') == positions(store, "E12 8841") == []
    monkeypatch.undo()
    with Store(path) as store:
        store.append(user("INV-8841"))
        assert positions(store, "INV-8841") == [1, 3]


# ---- notes ----------------------------------------------------------------------------------


def test_the_last_note_of_a_run(store):
    assert store.last_note() is None
    for text in ("Goal: pay\nNext step: \ud83d", "Goal: pay"):
        store.save_note(text)
        assert store.last_note() == text
    store.save_note("other", run="sub")
    assert store.last_note() == "Goal: pay"
    assert store._all("SELECT count(*) FROM store_note") == [(3,)]


def test_an_empty_note_is_refused(store):
    for text in ("", " \n", None):
        with pytest.raises(StoreError, match="this one is empty"):
            store.save_note(text)


# ---- offloading -----------------------------------------------------------------------------


def test_a_table_is_one_line_in_the_context(store):
    reference = store.offload_table("payments_oct", PAYMENTS, "Payments of October.")
    assert reference == (
        "[stored: payments_oct, table of 400 rows: Payments of October; columns date, amount, "
        'reference. Read with read_rows("payments_oct", first, count) or '
        "query('SELECT … FROM \"payments_oct\"')]"
    )
    assert store.offloaded() == [reference]
    assert store.read_rows("payments_oct") == PAYMENTS[:20]
    assert store.read_rows("payments_oct", 398) == PAYMENTS[398:]
    assert store.read_rows("payments_oct", 400) == []
    assert store.query("SELECT sum(amount) AS total FROM payments_oct") == [{"total": 39_900.0}]


def test_a_text_is_one_line_in_the_context(store):
    text = "Rule E12: purchase order number\nmissing or invalid. " * 5_000
    reference = store.offload_text("rules", text)
    assert reference == (
        '[stored: rules, text of 260,000 characters. Read with read_text("rules", start, length) '
        'or find_in_text("rules", words)]'
    )
    assert store.read_text("rules") == text[:2000]
    assert store.read_text("rules", 4_000, 200) == text[4_000:4_200]
    assert store.read_text("rules", 259_990, 999) == text[259_990:]
    assert store.read_text("rules", 260_000) == ""
    found = store.find_in_text("rules", "order NUMBER missing", limit=3)
    assert [passage.start for passage in found] == [19, 71, 123]
    assert all(text[p.start :].startswith("order number\nmissing") for p in found)
    assert "order number missing" in found[1].excerpt
    assert store.find_in_text("rules", "E.2") == []


NAMES = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=100)


@given(
    NAMES,
    st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=90), max_size=300),
    st.text(max_size=900),
    st.integers(0, 10**6),
)
@example('"' * 30, ["請" * 90] * 300, "🎉" * 900, 1)
@example("payments", [f"column_{i}" for i in range(300)], "word " * 180, 400)
def test_no_reference_reaches_100_tokens(name, columns, description, length):
    with Store() as store:
        columns = list({c.lower(): c for c in columns if "\0" not in c} or {"a": "a"})
        for offload in (
            lambda: store.offload_table(name, (columns, [[length] * len(columns)]), description),
            lambda: store.offload_text(name, "x" * length, description),
        ):
            try:
                reference = offload()
            except StoreError as error:
                assert re.search("too long|taken|own|needs this name", str(error))
                assert len(name) > 9 or "too long" not in str(error)
                continue
            assert count_tokens(reference) < 100
            assert name in reference and "\n" not in reference


CELLS = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | ODD_TEXT
    | st.sampled_from(("0.10", "48,000", "007", "1e3", "9" * 30, "", "NULL"))
)
COLUMNS = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8)
    | st.sampled_from(('"', "a;b", "select", "rowid", "oid", "", "a b", "[x]", "'", "été")),
    min_size=1,
    max_size=4,
    unique_by=lambda name: name.lower(),
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[object]]]:
    columns = draw(COLUMNS)
    row = st.lists(CELLS, min_size=len(columns), max_size=len(columns))
    return columns, draw(st.lists(row, max_size=6))


@given(tables(), NAMES.filter(lambda name: len(name) < 9), st.integers(1, 7), st.booleans())
def test_a_table_comes_back_as_it_was_page_by_page(table, name, count, as_dicts):
    columns, rows = table
    dicts = [dict(zip(columns, row, strict=True)) for row in rows]
    before = copy.deepcopy(rows)
    with Store() as store:
        store.offload_table(name, dicts if as_dicts and dicts else (columns, rows))
        pages = [store.read_rows(name, first, count) for first in range(0, len(rows) + 1, count)]
        back = [row for page in pages for row in page]
        assert back == dicts and rows == before
        for row, kept in zip(dicts, back, strict=True):
            assert [type(value) for value in row.values()] == [type(v) for v in kept.values()]
        assert store.query(f"SELECT * FROM {store_texts.sql_name(name)}") == dicts


@given(st.lists(ODD_TEXT, max_size=4).map("".join), st.integers(1, 9), st.integers(1, 50))
@example("\0a\ud83d\ude00\U0001f600" * 5, 3, 2)
def test_a_text_comes_back_as_it_was_part_by_part(text, part, length):
    with pytest.MonkeyPatch.context() as patch, Store() as store:
        patch.setattr(module, "PART", part)
        store.offload_text("t", text)
        starts = range(0, len(text) + 1, length)
        assert "".join(store.read_text("t", start, length) for start in starts) == text
        assert store.read_text("t", 1, length) == text[1 : 1 + length]


def test_ragged_rows_truth_and_decimals(store):
    store.offload_table("t", [{"a": True}, {"b": Decimal("0.10")}, {}])
    assert store.read_rows("t") == [
        {"a": 1, "b": None},
        {"a": None, "b": "0.10"},
        {"a": None, "b": None},
    ]
    store.offload_table("pair", ({"a": 1}, {"a": 2}))
    assert store.read_rows("pair") == [{"a": 1}, {"a": 2}]
    assert "table of 0 rows; columns a, b" in store.offload_table("empty", (["a", "b"], []))
    assert store.read_rows("empty") == []


BAD_TABLES = {
    "nothing": ([], "the table has no columns"),
    "no dicts": ([[1, 2]], "the rows of a table are dicts"),
    "length": ((["a", "b"], [[1, 2], [3]]), "row 1 has 1 values for 2 columns"),
    "column": ([{1: 2}], "column 1: the name of a column is a text"),
    "capitals": ([{"Date": 1, "date": 2}], "two columns are called 'date'"),
    "rowid": ([{"_ROWID_": 1}], "SQLite needs this name"),
    "zero": ([{"a\0": 1}], "the store can't do this"),
    "half": ([{"a\ud83d": 1}], "the store can't do this"),
    "many": ([{f"c{i}": i for i in range(3_000)}], "too many columns"),
    "list": ([{"a": 1}, {"a": [1]}], r"row 1, column 'a': .* not list \[1\]"),
    "NaN": ([{"a": math.nan}], "row 0, column 'a': .* not float nan"),
    "big": ([{"a": 2**63}], "row 0, column 'a': a table keeps numbers of up to 64 bits"),
    "bytes": ([{"a": b"x"}], "not bytes"),
}


@pytest.mark.parametrize(("rows", "problem"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_table_is_refused_and_leaves_nothing(store, rows, problem):
    with pytest.raises(StoreError, match=problem):
        store.offload_table("t", rows)
    assert store.offloaded() == []
    store.offload_table("t", [{"a": 1}])


def test_a_name_is_taken_once(store):
    reference = store.offload_table("payments", PAYMENTS, "Payments.")
    assert store.offload_table("payments", copy.deepcopy(PAYMENTS), "Again.") == reference
    for offload in (
        lambda: store.offload_table("payments", PAYMENTS[1:]),
        lambda: store.offload_table("PAYMENTS", [{**PAYMENTS[0], "amount": "0.0"}]),
        lambda: store.offload_text("Payments", "a text"),
    ):
        with pytest.raises(StoreError, match="is taken by other content, which stays"):
            offload()
    assert store.offloaded() == [reference]
    assert store.read_rows("Payments", 0, 400) == PAYMENTS


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\0", "\ud83d", "x" * 101, None, 7])
def test_what_is_no_name(store, name):
    for offload in (store.offload_text, store.offload_table):
        with pytest.raises(StoreError, match="can't be a name"):
            offload(name, "")


@pytest.mark.parametrize("name", ["trace", "TRACE", "store_note", "Store_x", "sqlite_master"])
def test_the_stores_own_names_are_refused(store, name):
    with pytest.raises(StoreError, match="is the store's own"):
        store.offload_text(name, "")


@pytest.mark.parametrize(
    "name",
    ['x"; DROP TABLE trace; --', "'; DELETE FROM trace; '", "a b", "select", "?1", "%s", "]"],
)
def test_hostile_names_do_no_harm(store, name):
    store.append(user("a"))
    store.offload_table(name, [{name: 1}])
    store.offload_text(name + "2", "text")
    assert store.read_rows(name) == [{name: 1}]
    assert store.read_text(name + "2") == "text"
    assert store.messages() == [user("a")]


def test_what_is_not_there_or_is_of_the_other_kind(store):
    with pytest.raises(StoreError, match="nothing is stored as 'x'; what is: nothing yet"):
        store.read_rows("x")
    store.offload_table("payments", PAYMENTS)
    store.offload_text("rules", "E12")
    with pytest.raises(StoreError, match="nothing is stored as 'x'; what is: payments, rules"):
        store.read_text("x")
    with pytest.raises(StoreError, match=r"'payments' is a table, not a text: \[stored: payments"):
        store.read_text("payments")
    with pytest.raises(StoreError, match="'rules' is a text, not a table"):
        store.read_rows("rules")
    with pytest.raises(StoreError, match="`text` must be a text, not list"):
        store.offload_text("list", [])
    with pytest.raises(StoreError, match="`words` must be a text to look for"):
        store.find_in_text("rules", " ")


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda store: store.read_rows("payments", -1), "first"),
        (lambda store: store.read_rows("payments", 0, 0), "count"),
        (lambda store: store.read_text("rules", -1), "start"),
        (lambda store: store.read_text("rules", 0, 0), "length"),
        (lambda store: store.read_text("rules", "1"), "start"),
        (lambda store: store.find_in_text("rules", "E12", 0), "limit"),
        (lambda store: store.query("SELECT 1", limit=0), "limit"),
    ],
)
def test_numbers_out_of_range_are_named(store, call, field):
    with pytest.raises(StoreError, match=f"`{field}` must be a whole number"):
        call(store)


def test_numbers_beyond_64_bits_are_refused_in_words(store):
    store.offload_table("t", [{"a": 1}])
    with pytest.raises(StoreError, match="the store can't do this: Python int too large"):
        store.read_rows("t", 10**30)


# ---- queries --------------------------------------------------------------------------------


def test_queries_compute_on_tables_and_read_the_trace(store):
    store.append(user("What did P-0399 pay?"))
    store.offload_table("Payments", PAYMENTS)
    assert store.query("SELECT amount FROM payments WHERE reference = 'P-0399'") == [
        {"amount": 199.5}
    ]
    assert store.query("SELECT count(*) AS n FROM PAYMENTS") == [{"n": 400}]
    assert store.query("SELECT run, position, role, text FROM trace") == [
        {"run": "main", "position": 0, "role": "user", "text": "What did P-0399 pay?"}
    ]
    assert store.query("SELECT message FROM Trace")[0]["message"].startswith('{"role": "user"')
    counted = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT sum(i) s FROM n"
    assert store.query(counted) == [{"s": 6}]
    assert store.query("SELECT a.amount, b.amount FROM payments a, payments b LIMIT 1") == [
        {"amount": 0.0, "amount_2": 0.0}
    ]
    assert store.query("VALUES (x'ff', CAST(x'ff' AS TEXT), 1e999, NULL)") == [
        {"column1": "\ufffd", "column2": "\ufffd", "column3": math.inf, "column4": None}
    ]
    assert store.query("SELECT * FROM payments WHERE 0") == []


def test_a_query_that_has_more_rows_says_so(store):
    store.offload_table("payments", PAYMENTS)
    rows = store.query("SELECT reference FROM payments", limit=2)
    assert rows == [{"reference": "P-0000"}, {"reference": "P-0001"}]
    assert rows.note == "There are more than these 2 rows: narrow the query, or compute in SQL."
    assert str(rows) == f"{list(rows)}\n{rows.note}"
    exactly = store.query("SELECT reference FROM payments", limit=400)
    assert len(exactly) == 400 and exactly.note == "" and str(exactly) == str(list(exactly))


REFUSED = (
    *("INSERT INTO payments VALUES (1, 2, 3)", "UPDATE payments SET amount = 0"),
    *("DELETE FROM payments", "DROP TABLE payments", "ALTER TABLE payments ADD x", "REINDEX"),
    *("REPLACE INTO trace SELECT * FROM trace", "INSERT INTO trace SELECT * FROM trace"),
    *("DROP TRIGGER trace_delete", "CREATE TABLE t (a)", "CREATE TEMP TABLE t (a)", "ANALYZE"),
    *("CREATE VIEW v AS SELECT 1", "CREATE TEMP VIEW v AS SELECT 1", "VACUUM", "BEGIN", "COMMIT"),
    *("CREATE INDEX i ON payments (amount)", "CREATE VIRTUAL TABLE v USING fts5(a)", "SAVEPOINT s"),
    *("PRAGMA query_only", "PRAGMA user_version = 9", "PRAGMA writable_schema = 1", "ROLLBACK"),
    *("ATTACH '{other}' AS other", "VACUUM INTO '{other}'", "DETACH main", "EXPLAIN DELETE FROM t"),
    *("SELECT load_extension('x')", "SELECT fts3_tokenizer('simple')", "SELECT * FROM store_item"),
    *("SELECT text FROM store_note", "SELECT sql FROM sqlite_master", "SELECT * FROM store_words"),
    *("SELECT * FROM pragma_table_info('trace')", "SELECT 1; DELETE FROM payments", "SELECT ?"),
    *("", "-- nothing", "SELECT", "SELECT 'a\0b'", "SELECT '\ud83d'", "SELECT x FROM payments"),
    *("SELECT * FROM payments WHERE amount IN (SELECT digest FROM store_item)", None, 7),
    *("SELECT hex(zeroblob(400000000))", "SELECT * FROM nowhere"),
)


@pytest.mark.parametrize("sql", REFUSED)
@pytest.mark.parametrize("kind", ["file", "memory"])
def test_a_query_can_do_nothing_but_read_what_it_may(path, tmp_path, sql, kind):
    other = tmp_path / "other.db"
    with Store(path if kind == "file" else None) as store:
        store.append(user("INV-1"))
        store.offload_table("payments", PAYMENTS)
        before = dump(store)
        with pytest.raises(StoreError, match="the query can't be run: .* SELECT from trace, payme"):
            store.query(sql.format(other=other.as_posix()) if isinstance(sql, str) else sql)
        assert dump(store) == before
        assert not store._db.in_transaction
        assert not other.exists()
        # What was refused in there is possible again outside.
        assert store.append(user("INV-2")) == 1
        assert positions(store, "INV-2") == [1]
        assert store._all("SELECT name FROM store_item") == [("payments",)]


def dump(store: Store) -> list[str]:
    """All that is in the database, as SQL."""
    return [line for line in store._db.iterdump() if "store_words" not in line]


def test_the_first_query_of_all_can_not_reach_the_index(path):
    with Store(path) as store:
        store.append(user("INV-1"))
    with Store(path) as store:
        with pytest.raises(StoreError, match="the query can't be run"):
            store.query("SELECT * FROM store_words")
        assert positions(store, "INV-1") == [0]


ENDLESS = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def test_an_endless_query_is_stopped(store):
    start = time.monotonic()
    with pytest.raises(StoreError, match=r"the query was stopped after 0\.2 seconds"):
        store.query(ENDLESS, seconds=0.2)
    assert time.monotonic() - start < 5
    rows = store.query(ENDLESS.replace("max(i)", "i"), limit=3)
    assert rows == [{"i": 1}, {"i": 2}, {"i": 3}] and rows.note
    # The clock of the query doesn't run on for what comes after it.
    store.extend(long_incident() * 20)
    assert len(store.messages()) == 20 * len(long_incident())


# ---- files that aren't ours -----------------------------------------------------------------


def other_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE bookmarks (url)")


def other_program_in_wal(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE bookmarks (url)")


def other_programs_crash(path: Path) -> None:
    """What a killed program leaves: a file, and beside it what it wrote last."""
    source = path.with_name("source.db")
    other_program_in_wal(source)
    with closing(sqlite3.connect(source, isolation_level=None)) as db:
        db.execute("INSERT INTO bookmarks VALUES ('x')")
        for end in ("", "-wal"):
            shutil.copy(f"{source}{end}", f"{path}{end}")
    source.unlink()


def other_programs_number(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA application_id = 77")


def newer_version(path: Path) -> None:
    Store(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 2")


def no_database(path: Path) -> None:
    path.write_text("Dear diary, " * 100, encoding="utf-8")


def cut_database(path: Path) -> None:
    other_program(path)
    path.write_bytes(path.read_bytes()[:60])


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (other_program, "run.db is a database of another program. It wasn't changed."),
        (other_program_in_wal, "run.db is a database of another program. It wasn't changed."),
        (other_programs_crash, "run.db is a database of another program. It wasn't changed."),
        (other_programs_number, "run.db is a database of another program. It wasn't changed."),
        (newer_version, r"newer version of the course \(its schema is 2, this version knows 1\)"),
        (no_database, "run.db can't be opened as a store: file is not a database"),
        (cut_database, "run.db can't be opened as a store: database disk image is malformed"),
        (Path.mkdir, "run.db can't be opened as a store: unable to open database file"),
    ],
)
def test_a_file_of_someone_else_is_left_alone(path, make, problem):
    make(path)
    before = {p.name: p.is_file() and p.read_bytes() for p in path.parent.iterdir()}
    with pytest.raises(StoreError, match=problem):
        Store(path)
    assert {p.name: p.is_file() and p.read_bytes() for p in path.parent.iterdir()} == before


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(CourseError, match="can't be opened as a store: unable to open"):
        Store(tmp_path / "nowhere" / "run.db")


@pytest.mark.parametrize("name", ["run.db", "a b?#%41.db", "ünï 請.db", "file:x.db", "'.db"])
def test_a_new_or_empty_file_becomes_a_store(tmp_path, name):
    if sys.platform == "win32" and set(name) & set("?:"):
        pytest.skip("Windows has no such names")
    path = tmp_path / name
    path.touch()
    for n in range(2):
        with Store(path) as store:
            assert store.append(user("a")) == n
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_memory_has_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Store(":memory:") as store, Store() as other:
        store.append(user("a"))
        assert len(other) == 0 and repr(other) == "<Store in memory>"
    assert list(tmp_path.iterdir()) == []


# ---- crashes and other processes ------------------------------------------------------------

WRITER = """
import sys
from course_lib.messages import user
from course_lib.store import Store

path, name, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Store(path) as store:
    for i in range(most):
        message = user(f"{name}-{len(store.messages(name))} " + "filler " * 400)
        print(store.append(message, run=name), store.append(message, run="both"), flush=True)
"""


def writer(path: Path, name: str, most: int) -> subprocess.Popen[str]:
    """Another process, which appends, and prints the positions that it got."""
    command = [sys.executable, "-c", WRITER, str(path), name, str(most)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_a_killed_run_loses_nothing_that_was_appended(path):
    chance = random.Random(8841)
    known = 0
    for _ in range(6):
        with writer(path, "run", 10**6) as child:
            for _ in range(chance.randint(1, 25)):
                known = int(child.stdout.readline().split()[0]) + 1
            time.sleep(chance.random() / 50)
            child.kill()
            known += len([line for line in child.stdout if line.endswith("\n")])
        with Store(path) as store:
            messages = store.messages("run")
            assert known <= len(messages) <= known + 1
            assert [m["content"].split()[0] for m in messages] == [
                f"run-{i}" for i in range(len(messages))
            ]
            assert len(messages) - len(store.messages("both")) in (0, 1)
            assert f"run-{known - 1}" in store.search(f'"run-{known - 1}"')[0].message["content"]
            store.extend(messages[len(store.messages("both")) :], run="both")
        known = len(messages)
        sound(path)


def test_a_crash_while_the_file_was_brought_up_to_date(path):
    """The log holds everything; of the file, the first page alone is written anew."""
    working = path.with_name("working.db")
    with Store(working) as store:
        store.extend(long_incident())
        for end in ("", "-wal"):
            shutil.copy(f"{working}{end}", f"{path}{end}")
    with path.open("r+b") as file:
        file.write(working.read_bytes()[:4096])
    file_alone = sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)
    with closing(file_alone), pytest.raises(sqlite3.DatabaseError, match="malformed"):
        file_alone.execute("PRAGMA application_id")
    with Store(path) as store:
        assert store.messages() == long_incident()
    sound(path)


def test_several_processes_may_make_the_same_store(path):
    names = ["four", "one", "three", "two"]
    for n in range(5):
        new = path.with_name(f"{n}.db")
        children = [writer(new, name, 1) for name in names]
        for child in children:
            with child:
                assert child.stdout.read().count("\n") == 1
        with Store(new) as store:
            assert sorted(store.runs()) == ["both", *names]


def test_opening_tries_again_where_sqlite_itself_does_not_wait(path, monkeypatch):
    """Two that change the journal of a new file at once: one of them is refused, at once."""
    refused = []

    class Refusing(sqlite3.Connection):
        def execute(self, sql, *values):
            if "journal_mode" in sql and len(refused) < 3:
                refused.append(sql)
                raise sqlite3.OperationalError("database is locked")
            return super().execute(sql, *values)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Refusing))
    with Store(path) as store:
        assert store.append(user("hello")) == 0
    assert len(refused) == 3


def test_two_writers_wait_for_one_another_and_readers_for_nobody(path):
    children = [writer(path, name, 40) for name in ("one", "two")]
    seen = 0
    while any(child.poll() is None for child in children):
        if path.exists():
            with Store(path) as store:
                assert seen <= (seen := len(store.messages("both")))
    for child in children:
        with child:
            assert child.stdout.read().count("\n") == 40
            assert child.wait() == 0
    with Store(path) as store:
        both = [m["content"].split()[0] for m in store.messages("both")]
        for name in ("one", "two"):
            own = [m["content"].split()[0] for m in store.messages(name)]
            assert own == [f"{name}-{i}" for i in range(40)]
            assert [first for first in both if first.startswith(name)] == own
        assert len(store) == 160
    sound(path)


def test_a_reader_does_not_wait_and_a_writer_does(path):
    with Store(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        store.append(user("a"))
        other.execute("BEGIN IMMEDIATE")
        with Store(path) as reader:
            assert reader.messages() == [user("a")]
            assert reader.query("SELECT count(*) AS n FROM trace") == [{"n": 1}]
        waiting = threading.Thread(target=store.append, args=[user("b")])
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        other.execute("COMMIT")
        waiting.join(20)
        assert store.messages() == [user("a"), user("b")]


def test_a_writer_does_not_wait_for_ever(path, monkeypatch):
    monkeypatch.setattr(store_file, "WAIT", 0.05)
    with Store(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"another process has been writing for more than"):
            store.append(user("a"))
        other.execute("ROLLBACK")
        assert store.append(user("a")) == 0


def test_threads_share_a_store(store):
    store.offload_table("payments", PAYMENTS)

    def work(name: str) -> None:
        for _ in range(30):
            store.append(user(name), run=name)
            store.append(user(name), run="both")
            store.query("SELECT sum(amount) FROM payments")
            store.search(name)

    threads = [threading.Thread(target=work, args=[name]) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(store.messages(run)) for run in ("one", "two", "three", "both")] == [30, 30, 30, 90]
