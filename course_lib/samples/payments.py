"""The October payments of Norrby Water: a table of 400 rows, and the run that checks each of them.

The same rows come out each time: every value is computed from the number of its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from course_lib.messages import (
    CourseError,
    Message,
    assistant,
    system,
    text_of,
    tool_call,
    tool_result,
    user,
)
from course_lib.notes import Note

ROWS = 400
# Each of these rows pays again what the other had paid a few days before.
TWICE = {73: 31, 166: 120, 248: 197, 371: 340}
RETURNED = 47  # each 47th payment came back from the bank
LARGE = 6_500  # euros; a payment that the agent writes down

Row = dict[str, Any]


def payments() -> list[Row]:
    """The payment list of October: 400 rows, oldest first; amounts in whole euros.

    Columns: date, reference, supplier, name, invoice, amount, status. Four invoices were paid
    twice, and a few payments came back.
    """
    rows = [_row(n) for n in range(1, ROWS + 1)]
    for again, first in TWICE.items():
        same = ("supplier", "name", "invoice", "amount")
        rows[again - 1] |= {key: rows[first - 1][key] for key in same}
    return rows


def _row(n: int) -> Row:
    key = (n * 7 + n // 9) % len(SUPPLIERS)
    return {
        "date": f"2026-10-{1 + (n - 1) * 30 // ROWS:02d}",
        "reference": f"PAY-10-{n:04d}",
        "supplier": f"S{key + 1}",
        "name": SUPPLIERS[key],
        "invoice": str(61000 + n * 37 % 9000),
        "amount": 120 + n * 7919 % 9800 + 50 * (key % 7),
        "status": "returned" if n % RETURNED == 0 else "paid",
    }


# ---- the run that checks them ---------------------------------------------------------------


def payment_checks(steps: int = ROWS) -> list[Message]:
    """A run that looks up each payment at the bank: two messages a step, about 660 tokens.

    Each result has a line that begins with `FACT:`; the rest is the bank's trail. What stands out
    the agent writes down, in a text that begins with `Note:`, before its next call.

    Raises `CourseError` if `steps` isn't between 0 and 400.
    """
    if not 0 <= steps <= ROWS:
        raise CourseError(
            f"there are {ROWS} payments to check, so the run can't have {steps} steps"
        )
    messages, said, paid = [system(INSTRUCTIONS), user(TASK)], "", {}
    for n, row in enumerate(payments()[:steps], 1):
        id, reference = f"check_{n:03d}", row["reference"]
        messages += [
            assistant(said, calls=[tool_call(id, "look_up_payment", reference=reference)]),
            tool_result(id, "\n".join([f"Payment {n} of {ROWS}", fact(row), *trail(n, row)])),
        ]
        said = note_on(row, paid.setdefault(row["invoice"], reference))
    return messages


def fact(row: Row) -> str:
    """The line that the check of a payment is about."""
    state = "returned" if row["status"] == "returned" else "booked"
    return f"FACT: {row['reference']} amount {row['amount']:,} {state} {row['date']}"


def note_on(row: Row, first: str) -> str:
    """What the agent writes down about a payment, if it stands out; `first` paid this invoice."""
    about = f"Note: {row['reference']} to {row['supplier']} {row['name']}, {row['amount']:,} euros"
    if first != row["reference"]:
        return f"{about}: invoice {row['invoice']} was paid before, {first}"
    if row["status"] == "returned":
        return f"{about}: returned"
    return f"{about}: large, ask for the order behind it" if row["amount"] >= LARGE else ""


def keep_facts(messages: Sequence[Message]) -> str:
    """A plain summariser as a note: exact `FACT:` lines, and a line for all the rest."""
    results = [text_of(m).split("\n") for m in messages if m["role"] == "tool"]
    lines = [line for result in results for line in result]
    facts = [line.removeprefix("FACT: ") for line in lines if line.startswith("FACT: ")]
    done = f"{len(results)} results, to {results[-1][0][:60]}" if results else ""
    return Note(done=[done], facts=facts).render(empty="")


def trail(n: int, row: Row) -> list[str]:
    """What else the bank's system says about a payment: its way through the day, step by step."""
    values = {
        "file": 3300 + n // 16,
        "place": n % 16 + 1,
        "name": row["name"],
        "key": row["supplier"],
        "score": f"0.{n * 29 % 100:02d}",
        "desk": DESKS[n % len(DESKS)],
    }
    lines = []
    for k, what in enumerate(TRAIL):
        minute = 372 + n % 40 + k * 9
        at = f"{minute // 60:02d}:{minute % 60:02d}:{(n * 13 + k * 31) % 60:02d}"
        id = f"{n * 48271 % 2**31:08x}-{k:02d}"
        balance = f"{1_284_000 - n * 2_417 - k * 9:,}"
        lines.append(f"{at} {what.format(id=id, balance=balance, **values)}")
    return lines


INSTRUCTIONS = (
    "You are a careful accounts agent in the payables team of Norrby Water. Look up one payment at a "
    "time, take the fact from the result, and write down what stands out. Do not contact the supplier."
)

TASK = (
    "Check each of the 400 payments of October against the bank. Tell me which invoices were paid "
    "twice, and which payments came back."
)

DESKS = ("Oslo", "Turku", "Gdansk", "Aarhus", "Riga")

SUPPLIERS = (
    "Halden Pump Works",
    "Solberg Valves",
    "Nordlys Electric",
    "Vinge Transport",
    "Tarn Filter Supply",
    "Aker Pipe Co",
    "Birka Coatings",
    "Lund Instruments",
    "Skagen Marine Survey",
    "Ystad Chemicals",
    "Mora Steelwork",
    "Falun Drilling",
    "Rena Laboratory",
    "Odda Crane Hire",
    "Voss Control Systems",
    "Lahti Gaskets",
    "Kemi Laundry",
    "Visby Cleaning",
    "Tromsa Diving",
    "Alta Surveyors",
    "Hamar Office Goods",
    "Narvik Fuel",
    "Borga Security",
    "Ekeby Insulation",
)

TRAIL = (
    "gateway: file {file} received, 16 payments, signature of Norrby Water verified, certificate {id}",
    "parser: position {place} of file {file} read, 41 fields, none unknown, record {id}",
    "matcher: IBAN of {name} matches the master data of {key}, last change 2025-11-18, by two people",
    "screening: lists of EU, UN and UK searched for {name}: no hit, score {score}, ticket {id}",
    "limits: day's limit of 250,000 not reached, balance before {balance}, counter {id}",
    "approval: two signatures found, roles payer and approver, session {id}, both from the office",
    "pricing: currency EUR on both sides, no conversion, no fee to {key}, tariff of 2026-01, note {id}",
    "router: chosen way is clearing, desk {desk}, cut-off 15:30, priority normal, ticket {id}",
    "writer: message pacs.008 written, 1 transaction, checksum {id}, schema version 8",
    "clearing: message sent, answer ACTC after 2 seconds, queue {desk}-{place}, receipt {id}",
    "ledger: amount reserved on account 1920, balance after {balance}, entry {id}, not yet final",
    "clearing: status report pacs.002 received, code ACSC, reason none given, report {id}",
    "ledger: entry posted on account 1920, statement page {place}, balance {balance}, entry {id}",
    "reports: line {place} of the day's list for {name} ({key}) written, language English, list {id}",
    "archive: remittance text of 44 characters kept, structured reference valid, document {id}",
    "notifier: customer told by file camt.054, entry {place} of {file}, message {id}, no answer needed",
    "closing: payment closed, no task left open, next review in 2027-10, folder {id}",
)
