"""Exact values, and the audit of a summary against what it stands for."""

from __future__ import annotations

import json
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import transcripts

from course_lib.audits import audit
from course_lib.messages import assistant, tool_call, tool_result, user
from course_lib.samples import incident, long_incident
from course_lib.summaries import careless, facts_only, structured
from course_lib.values import exact_values, normal_form

# ---- texts labelled by hand -----------------------------------------------------------------

# The values were marked as "copy this exactly" before any code ran, from four kinds of work. Some
# marks go beyond the rule of `exact_values` (a small number that does name something, a branch
# without a digit): they stay, and count as missed. Found when this was written: 95 values marked,
# 90 of them found (recall 0.95), and 3 others (precision 0.97).
SUPPORT = [
    ("Order 8841 is delayed; carrier DPX, promised 2024-03-02.", ["8841", "DPX", "2024-03-02"]),
    ("I ordered 2 lamps and got 1.", []),
    (
        "Hi, my order INV-8841 hasn't arrived. I paid £61.50 on 11 February 2026.",
        ["INV-8841", "£61.50", "11 February 2026"],
    ),
    ("You can reach me at nadia.k+orders@example.org or +44 20 7946 0958.",
     ["nadia.k+orders@example.org", "+44 20 7946 0958"]),
    ("Please DO NOT call before 9:30 am.", ["9:30 am"]),
    ("Refund 10 percent if it takes more than 5 days.", ["10 percent", "5 days"]),
    ("Ticket #4417 was merged into ticket #12.", ["#4417", "#12"]),
    ('The page says "Payment could not be verified" and nothing else.',
     ["Payment could not be verified"]),
    ("I tried three times and it's still broken, and/or slow.", []),
    ("Seat 14C on flight BA2490, leaving LHR at 06:25.", ["14C", "BA2490", "LHR", "06:25"]),
    ("My account is user_id_3668, plan Pro, renewed on March 3rd.", ["user_id_3668", "March 3rd"]),
    ("The parcel weighs 2.5 kg and the tracking number is 1Z999AA10123456784.",
     ["2.5 kg", "1Z999AA10123456784"]),
]  # fmt: skip

CODE = [
    ("Fix the off-by-one in src/app/main.py:42, see also tests/test_main.py.",
     ["src/app/main.py:42", "tests/test_main.py"]),
    ("Call trim() before each request, not pairs_ok().", ["trim()", "pairs_ok()"]),
    ("We support Python 3.11 and newer; numpy is at 1.26.4.", ["3.11", "1.26.4"]),
    ("The commit 9fceb02d0ae598e95dc970b74767f19372d61af8 broke it.",
     ["9fceb02d0ae598e95dc970b74767f19372d61af8"]),
    ("Rename the variable to something clearer and add a docstring.", []),
    ("`git rebase --onto main` failed twice.", ["git rebase --onto main"]),
    ("Set MAX_RETRIES=5 and db_timeout_s to 300.", ["MAX_RETRIES", "db_timeout_s", "300"]),
    ("Docs: https://docs.python.org/3/library/re.html#re.finditer.",
     ["https://docs.python.org/3/library/re.html#re.finditer"]),
    ("It is in README.md on line 42.", ["README.md", "42"]),
    ("TypeError: unsupported operand type(s) for +: 'int' and 'str'", ["int", "str"]),
    ("The build ran on feature/login-page at 14:03:22.", ["feature/login-page", "14:03:22"]),
    (r"Saved to C:\Users\nadia\report.xlsx, 48 KB.", [r"C:\Users\nadia\report.xlsx", "48 KB"]),
]  # fmt: skip

LOGS = [
    ("2026-02-11T02:04:09Z ERROR db step: no answer after 300 s",
     ["2026-02-11T02:04:09Z", "300 s"]),
    ("02:09 export-worker-1 INFO batch 4100 rows written", ["02:09", "export-worker-1", "4100"]),
    ('10.0.0.12 - - [11/Feb/2026:02:00:00 +0000] "GET /api/orders/8841 HTTP/1.1" 500 1042',
     ["10.0.0.12", "11/Feb/2026:02:00:00", "GET /api/orders/8841 HTTP/1.1", "/api/orders/8841",
      "500", "1042"]),
    ("request_id=550e8400-e29b-41d4-a716-446655440000 status=timeout retries=3",
     ["request_id", "550e8400-e29b-41d4-a716-446655440000", "3"]),
    ("WARN disk 91% full on /var/lib/postgresql", ["91%", "/var/lib/postgresql"]),
    ("INFO nothing to do, sleeping", []),
    ("worker exited with code 137 (OOM), restarted after 15s", ["137", "OOM", "15s"]),
    ('{"hour": "02:00", "finding": "timeout on db step", "tries": 2}',
     ["02:00", "timeout on db step"]),
    ("connection to db-7.internal:5432 refused", ["db-7.internal", "5432"]),
    ("GC pause 12.4 ms, heap 1.5 GiB", ["12.4 ms", "1.5 GiB"]),
    ("vacuum locked table exports from 02:04 to 02:31", ["02:04", "02:31"]),
    ("eth0 00:1A:2B:3C:4D:5E link up", ["eth0", "00:1A:2B:3C:4D:5E"]),
]  # fmt: skip

FINANCE = [
    ("Invoice 8841, amount 48,000, rejected, code E12.", ["8841", "48,000", "E12"]),
    ('Rule E12 text: "Purchase order number missing or invalid."',
     ["E12", "Purchase order number missing or invalid."]),
    ("The rate rose by 25 bps to 3.5 %.", ["25 bps", "3.5 %"]),
    ("PO-2203 covers EUR 12,500.50 net 30 days.", ["PO-2203", "EUR 12,500.50", "30 days"]),
    ("We paid about forty thousand, in two parts.", []),
    ("Revenue was $1.2 million in Q3 2026, up from $950k.",
     ["$1.2 million", "Q3", "2026", "$950k"]),
    ("IBAN GB29NWBK60161331926819, due 01/03/2026.", ["GB29NWBK60161331926819", "01/03/2026"]),
    ("Look at 2 of the 3 open items first.", []),
    ("Payment ref RF18-5390-0754-7034, CHF 75.", ["RF18-5390-0754-7034", "CHF 75"]),
    ('{"invoice": 8842, "status": "rejected", "lines": 3, "currency": "EUR"}',
     ["8842", "rejected", "EUR"]),
    ("The supplier S1 has a limit of 1'000'000 and a balance of -6,150.",
     ["S1", "1'000'000", "-6,150"]),
    ("The CFO approves anything above the limit. Month end is on Friday.", []),
]  # fmt: skip

LABELLED = [*SUPPORT, *CODE, *LOGS, *FINANCE]


def test_labelled_texts_are_read_with_high_precision_and_recall():
    assert len(LABELLED) >= 40
    hits = extra = marked = 0
    for text, values in LABELLED:
        found = exact_values(text)
        hits += sum(value in found for value in values)
        extra += sum(value not in values for value in found)
        marked += len(values)
    assert hits / marked >= 0.94, f"recall {hits / marked:.2f}"
    assert hits / (hits + extra) >= 0.96, f"precision {hits / (hits + extra):.2f}"


# ---- exact values ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        *("INV-8841", "E12", "c10", "PO-2203", "user_id_3668", "S1", "8841", "007"),
        *("48,000", "3.5 %", "£6,150", "EUR 12,500.50", "-18 %", "25 bps", "300 s", "48k"),
        *("2026-02-11", "02:00", "11 February 2026", "Feb 11, 2026", "01/03/2026", "9:30 am"),
        *("2026-02-11T02:04:09Z", "2026-02-11 02:04:09.123+01:00", "3 working days"),
        *("src/app/main.py:42", "/var/log/x.log", "README.md", "~/notes", r"C:\new\report.xlsx"),
        *("https://example.org/a?b=1#c", "s3://bucket/key", "nadia.k+orders@example.org"),
        *("550e8400-e29b-41d4-a716-446655440000", "9fceb02", "v2.3.1", "3.11.4rc1", "10.0.0.12"),
        *("+44 20 7946 0958", "#12", "search_logs", "trim()", "DPX", "00:1A:2B:3C:4D:5E"),
    ],
)
def test_a_value_is_found_whole_wherever_it_stands(value):
    for text in (value, f"It was {value}.", f"({value}), then", f"see\n{value}\nthere"):
        assert exact_values(text) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Two of the three items are open.",
        "1, 2 and 10 of them",
        "the 2nd and 3rd time, and/or 24/7",
        "DO NOT CALL. NOTE: it is JSON over HTTP, an ERROR",
        "don't, can't, the dogs' and cats' tails",
        "a well-known, hand-written hand-off",
    ],
)
def test_ordinary_words_and_counts_are_not_values(text):
    assert exact_values(text) == []


def test_quoted_words_are_a_value_with_the_values_inside_them():
    text = "Rule E12: \"Purchase order number missing or invalid.\" Then 'batch 4100 failed'."
    quotes = ["Purchase order number missing or invalid.", "batch 4100 failed", "4100"]
    assert exact_values(text) == ["E12", *quotes]


def test_json_is_read_by_its_values_and_not_by_its_keys():
    text = json.dumps(
        {"user_id": "u-77", "status": "rejected", "lines": 3, "amount": 48000, "E12": [None, True]}
    )
    assert exact_values(text) == ["u-77", "rejected", "48000", "E12"]
    assert exact_values('{"amount": 48000.50, "id": 12345678901234567890123}') == [
        "48000.50",
        "12345678901234567890123",
    ]


def test_line_breaks_inside_json_do_not_stick_to_the_values_behind_them():
    log = json.dumps({"raw": "rows written\n02:04 batch 4100 " + "." * 200})
    assert exact_values(log) == ["02:04", "4100"]
    assert exact_values(log[:39]) == ["02:04", "4100"]  # cut, so it can't be read as JSON


def test_values_come_in_order_and_each_once_however_they_are_spelt():
    text = "E12, 48,000 and INV-7; then e12, 48000 and again INV-7, 10 percent, 10 %."
    assert exact_values(text) == ["E12", "48,000", "INV-7", "10 percent"]


@pytest.mark.parametrize(
    "spellings",
    [
        ("48,000", "48000", "48000.00", "48\u202f000", "48'000"),
        ("£6,150", "GBP 6150", "6,150 pounds"),
        ("10 percent", "10 per cent", "10%", "10 %"),
        ("11 February 2026", "February 11th, 2026", "11 Feb 2026", "2026-02-11"),
        ("5 days", "5-day", "5 day"),
        ("300 s", "300s", "300 seconds", "300 sec"),
        ("2026-02-11T02:00:00Z", "2026-02-11 02:00:00"),
        ("E12", "e12", "E12.", '"E12"'),
        ("#8841", "8841"),
        ("$5m", "$5 million", "USD 5 mn"),
    ],
)
def test_spellings_of_one_value_have_one_normal_form(spellings):
    assert len(set(map(normal_form, spellings))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("48,000", "4,800"),
        ("£5", "$5"),
        ("£5m", "$5m"),
        ("5 ms", "5 m"),
        ("5 h", "5 s"),
        ("02:00", "2:00 pm"),
    ],
)
def test_different_values_have_different_normal_forms(one, other):
    assert normal_form(one) != normal_form(other)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    values = exact_values(text)
    assert len(set(map(normal_form, values))) == len(values)
    assert all(value.strip() for value in values)


PLANTED = st.sampled_from(["INV-8841", "£6,150", "2026-02-11", "02:00", "/var/log/x.log", "48,000"])


@given(st.lists(PLANTED, unique=True), st.sampled_from(["; ", " and ", "\n", ", then ", " (or) "]))
def test_planted_values_are_all_found_in_order(values, between):
    assert exact_values("It was " + between.join(values) + ".") == values


NASTY = ["a", "1", "1,", ",22", "a-", "a_", "a/", "/a", "a@", "a.", "1.", "11:", '"a ', "'a ", "`a"]
NASTY += [
    "1 Jan",
    "+1 ",
    "ff:",
    "2026-02",
    "EUR ",
    "A",
    "AAA ",
    "-",
    "{",
    "\\",
    "http://",
    "1\u00a0",
]


@pytest.mark.parametrize("unit", NASTY)
def test_time_grows_with_the_length_of_the_text_and_no_faster(unit):
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        start = perf_counter()
        exact_values(text)
        return perf_counter() - start

    # Sixteen times the text: quadratic would take 256 times as long. The least of a few tries,
    # since the machine may be busy.
    ratios = (seconds(32_000) / seconds(2_000) for _ in range(5))
    assert any(ratio < 64 for ratio in ratios)


# ---- the audit ------------------------------------------------------------------------------

LINES = (
    "Looked up invoice 8841: status rejected, code E12, amount 48,000, supplier S1. Rule E12: "
    "purchase order number missing or invalid. The supplier must not be contacted."
)
WRITTEN_BY_A_MODEL = (  # Gemma 3 270M, Q4_K_M, temperature 0, after one example of a late order
    "order 8841 delayed; carrier DPX; promised 2024-03-02; rule E12; "
    "refund 10 percent after 5 days."
)


def test_the_recorded_summary_kept_lost_and_invented():
    kept, lost, invented = audit(LINES, WRITTEN_BY_A_MODEL)
    assert kept == ["8841", "E12"]
    assert lost == ["48,000", "S1"]
    assert invented == ["DPX", "2024-03-02", "10 percent", "5 days"]


def test_spelling_and_quotation_marks_make_no_difference():
    source = 'Paid 48,000 on 11 February 2026: "Order number missing or invalid." (E12)'
    summary = "e12, paid 48000 on 2026-02-11; order number missing or invalid"
    assert audit(source, summary).lost == []
    assert audit(source, summary).invented == []


def test_a_figure_may_lose_or_gain_its_unit_but_not_change_it():
    assert audit("48,000 EUR", "48000").lost == []
    assert audit('{"amount": 48000}', "48,000 EUR").invented == []
    assert audit("£6,150", "6,150").invented == []
    changed = audit("£6,150", "$6,150")
    assert (changed.lost, changed.invented) == (["£6,150"], ["$6,150"])
    assert audit("in 5 days", "5 of them").lost == ["5 days"]


def test_what_a_summary_computed_counts_as_invented():
    assert audit(incident(), facts_only(incident())).invented == ["12 hours"]


def test_a_source_of_messages_has_its_calls_and_results_but_not_their_ids():
    messages = [
        user("Look at 8841."),
        assistant(calls=[tool_call("c1", "look_up", invoice="INV-7")]),
        tool_result("c1", {"status": "rejected"}),
    ]
    assert audit(messages, "INV-7 rejected") == (
        ["INV-7", "rejected"],
        ["8841", "look_up"],
        [],
    )


def test_the_audit_reads_out_as_three_lines():
    assert str(audit("E12", "E13")) == "kept: none\nlost: E12\ninvented: E13"


@given(st.text(max_size=120))
def test_a_text_is_a_perfect_summary_of_itself(text):
    assert audit(text, text) == (exact_values(text), [], [])


@given(transcripts())
def test_an_empty_summary_loses_all_and_invents_nothing(messages):
    kept, lost, invented = audit(messages, "")
    assert kept == invented == []
    assert lost == audit(messages, "E99").lost


@pytest.mark.parametrize("run", [incident(), long_incident()])
def test_the_careless_summary_keeps_nothing_and_the_structured_one_invents_nothing(run):
    assert audit(run, careless(run)).kept == []
    assert audit(run, careless(run)).invented == []
    assert audit(run, structured(run)).invented == []
