"""The October payments, the run that checks them, and the run that is killed."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from course_lib import CourseError, Store, count_tokens, payment_checks, payments, turn_groups
from course_lib.context import Context
from course_lib.handoff import parse_hand_off
from course_lib.messages import calls_of, text_of, validate
from course_lib.samples import payments as sample
from course_lib.samples.killed import run_and_kill
from course_lib.samples.payments import fact, keep_facts


@pytest.fixture(scope="module")
def rows():
    return payments()


@pytest.fixture(scope="module")
def run():
    return payment_checks()


# ---- the table ------------------------------------------------------------------------------


def test_the_table_has_400_rows_of_october_in_order(rows):
    assert len(rows) == 400
    assert [row["reference"] for row in rows] == [f"PAY-10-{n:04d}" for n in range(1, 401)]
    dates = [row["date"] for row in rows]
    assert dates == sorted(dates)
    assert (dates[0], dates[-1]) == ("2026-10-01", "2026-10-30")
    assert set(rows[0]) >= {"date", "amount", "reference", "supplier"}


def test_the_rows_differ(rows):
    assert len({row["name"] for row in rows}) == 24
    assert len({row["amount"] for row in rows}) > 390
    assert len({(row["supplier"], row["name"]) for row in rows}) == 24


def test_four_invoices_were_paid_twice_each_to_the_same_supplier(rows):
    counts = Counter(row["invoice"] for row in rows)
    twice = [invoice for invoice, count in counts.items() if count > 1]
    assert len(twice) == 4 and set(counts.values()) == {1, 2}
    for invoice in twice:
        first, again = [row for row in rows if row["invoice"] == invoice]
        assert (first["supplier"], first["amount"]) == (again["supplier"], again["amount"])
        assert first["date"] < again["date"]
    assert sum(row["status"] == "returned" for row in rows) == 8


def test_offloaded_it_takes_under_100_tokens_and_sql_gives_what_python_gives(rows):
    store = Store()
    assert count_tokens(store.offload_table("payments", rows, "October, in euros")) < 100
    assert count_tokens(json.dumps(rows)) > 20_000
    got = store.query("SELECT status, sum(amount) AS euros FROM payments GROUP BY status")
    for row in got:
        assert row["euros"] == sum(r["amount"] for r in rows if r["status"] == row["status"])


def test_each_caller_gets_rows_of_its_own(rows):
    rows_again = payments()
    rows_again[0]["amount"] = 0
    assert payments() == rows != rows_again


# ---- the run --------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["openai", "anthropic", "responses", "gemini"])
def test_the_run_is_one_that_every_provider_accepts(run, provider):
    assert validate(run, provider) == []
    assert len(run) == 802


def test_a_step_has_about_the_documents_640_tokens_and_none_is_like_another(run):
    groups = turn_groups(run)[1]
    sizes = [sum(map(count_tokens, group)) for group in groups]
    assert sum(sizes) / len(sizes) == pytest.approx(650, rel=0.03)
    assert min(sizes) > 600 and max(sizes) < 720
    assert len({text_of(group[1]) for group in groups}) == 400
    assert not any("{" in text_of(group[1]) for group in groups)


def test_each_result_has_the_fact_of_the_payment_that_was_asked_for(run, rows):
    for row, (call, result) in zip(rows, turn_groups(run)[1], strict=True):
        assert json.loads(calls_of(call)[0].arguments) == {"reference": row["reference"]}
        lines = text_of(result).split("\n")
        assert lines[1] == fact(row)
        assert f"{row['amount']:,}" in lines[1] and row["reference"] in lines[1]
        assert sum(line.startswith("FACT: ") for line in lines) == 1
        times = [line[:8] for line in lines[2:]]
        assert times == sorted(times)


def test_the_agent_notes_what_stands_out_and_nothing_else(run, rows):
    said = [text_of(call) for call, _ in turn_groups(run)[1]]
    assert said[0] == ""
    for row, note in zip(rows[:-1], said[1:], strict=True):
        again = row["reference"] in {f"PAY-10-{n:04d}" for n in sample.TWICE}
        stands_out = again or row["status"] == "returned" or row["amount"] >= sample.LARGE
        assert bool(note) == stands_out
        assert not note or row["reference"] in note
        assert ("was paid before" in note) == again


def test_it_can_be_shorter_and_says_what_it_can_not_be(run):
    assert payment_checks(3) == run[:8]
    assert len(payment_checks(0)) == 2
    for steps in (-1, 401):
        with pytest.raises(CourseError, match="400 payments"):
            payment_checks(steps)


def test_the_summariser_copies_facts_and_says_how_far_it_came(run):
    text = keep_facts(run[:12])
    assert text.count("PAY-10-") == 5
    assert "PAY-10-0005 amount 715 booked 2026-10-01" in text
    assert "5 results, to Payment 5 of 400" in text
    assert "gateway" not in text
    assert keep_facts(run[:2]) == ""


# ---- the run that is killed -----------------------------------------------------------------


def test_a_killed_run_leaves_all_but_the_result_and_can_go_on(tmp_path, run):
    path = tmp_path / "run.db"
    run_and_kill(path, 45)
    options = {"budget": 4000, "result_cap": 80, "summary_cap": 1200, "summarize": keep_facts}
    with Store(path) as store:
        assert store.messages() == run[:91]
        note = parse_hand_off(store.last_note()).note
        assert note.done == (f"{len(note.facts)} results, to Payment {len(note.facts)} of 400",)
        assert note.facts[0].startswith("PAY-10-0001 ") and not note.left_out
        again = Context.resume(store, **options)
        assert again.open_calls == ["check_045"]
        again.append(run[91])
        assert again.open_calls == [] and validate(again.messages()) == []
        assert "Do not contact the supplier." in store.last_note()


def test_a_run_that_ends_by_itself_is_told(tmp_path):
    path = tmp_path / "no_store.db"
    path.write_text("something else " * 100, encoding="utf-8")
    with pytest.raises(CourseError, match="ended by itself"):
        run_and_kill(path, 3)
