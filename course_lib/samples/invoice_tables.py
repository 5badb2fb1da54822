"""What the invoice run's results hold beyond what was asked: tables of plausible records.

Each column is a function from a number to a value; a row takes its values from one number, so
that the same table comes out each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[[int], Any]
Row = dict[str, Any]


def table(name: str, rows: int, start: int, total: int = 0) -> list[Row]:
    """So many rows of the named table, in the order of its first column.

    With a `total`, the `net` amounts come to just that.
    """
    columns = TABLES[name]
    made = [{key: make(start + i) for key, make in columns.items()} for i in range(rows)]
    made.sort(key=lambda row: row[next(iter(columns))])
    return _scaled(made, total) if total else made


def _scaled(rows: list[Row], total: int) -> list[Row]:
    """The rows with `net` amounts in the same proportions that add up to the total."""
    unit = total / sum(row["net"] for row in rows)
    nets = [round(row["net"] * unit, 2) for row in rows[1:]]
    nets = [round(total - sum(nets), 2), *nets]
    return [row | {"net": net} for row, net in zip(rows, nets, strict=True)]


def _one_of(words: str, stride: int = 1) -> Make:
    choices = words.split("|")
    return lambda k: choices[(k * stride + k // len(choices)) % len(choices)]


def _number(low: int, high: int, stride: int, text: str = "{}") -> Make:
    return lambda k: text.format(low + k * stride % (high - low + 1))


def _amount(low: int, high: int, stride: int) -> Make:
    return lambda k: (low + k * stride % (high - low)) + (k * 37 % 100) / 100


def _words(*parts: Make) -> Make:
    return lambda k: " ".join(str(part(k + 3 * i)) for i, part in enumerate(parts))


ITEM = _one_of(
    "centrifugal pump C40|shaft seal set|wear ring 80 mm|inlet strainer|bearing housing|flow meter DN50|"
    "pressure gauge 0-16 bar|impeller, bronze|gasket kit|drive coupling|motor 7.5 kW|check valve DN80"
)
PERSON = _one_of("a.holm|j.berg|m.sund|k.dahl|p.ek|r.moen|t.vik|l.strand|o.lie", 2)
STATE = _one_of("paid|paid|matched|paid|in approval", 3)
CENTRE = _number(4100, 4990, 37)
WINTER = _number(1, 28, 9, "2026-02-{:02d}")
ORDER = _number(70100, 70299, 23)

TABLES: dict[str, dict[str, Make]] = {
    "lines": {
        "item": ITEM,
        "quantity": lambda k: 1 + k * 7 % 12,
        "unit": _one_of("piece|set|piece|pair"),
        "net": _amount(180, 5200, 731),
        "tax_code": _one_of("V25|V25|V12"),
        "cost_centre": CENTRE,
    },
    "entries": {
        "at": lambda k: f"2026-03-0{3 + k % 2} 0{k * 5 % 6}:{k * 17 % 60:02d}",
        "actor": _one_of("capture|matcher|check-engine|archive|workflow", 2),
        "event": _one_of("field read|field compared|queue changed|page archived|score stored", 3),
        "field": _one_of("iban|net amount|tax number|invoice date|due date|currency|line total"),
        "score": lambda k: (900 + k * 29 % 100) / 1000,
    },
    "orders": {
        "order": ORDER,
        "week": _number(1, 52, 11),
        "buyer": PERSON,
        "item": ITEM,
        "amount": _amount(900, 19000, 1733),
        "delivered": _one_of("all|all|part|all", 3),
        "state": STATE,
    },
    "invoices": {
        "invoice": _number(8500, 8799, 41),
        "week": _number(1, 52, 7),
        "amount": _amount(700, 21000, 1931),
        "order": ORDER,
        "due": WINTER,
        "state": STATE,
    },
    "receipts": {
        "date": WINTER,
        "receipt": _number(31000, 31999, 77, "R-{}"),
        "item": ITEM,
        "quantity": lambda k: 1 + k * 5 % 9,
        "warehouse": _one_of("Norrby north|Norrby south|Kil works|Tranby station|central store", 2),
        "checked_by": PERSON,
        "remark": _one_of(
            "none|box dented, goods sound|none|a day late|none|certificate to follow", 5
        ),
    },
    "postings": {
        "day": _number(1, 28, 9),
        "voucher": _number(510000, 519999, 733, "V{}"),
        "text": _words(
            _one_of("goods received|accrual|price difference|freight|reversal", 2), ITEM
        ),
        "debit": _amount(40, 8800, 977),
        "cost_centre": CENTRE,
        "posted_by": PERSON,
    },
    "clauses": {
        "clause": lambda k: f"{1 + k * 4 % 9}.{1 + k * 3 % 7}",
        "rule": _words(
            _one_of("The buyer|The supplier|The payables team|The warehouse|The auditor"),
            _one_of("records|confirms in writing|keeps|compares|reports|signs for|passes on"),
            _one_of(
                "each price that differs from the order|the delivery note|every change of bank details|"
                "part deliveries|the date of receipt|credit notes|complaints about quality|tax evidence"
            ),
            _one_of(
                "within 5 working days|before the month is closed|on receipt|within 14 days|at once"
            ),
        ),
        "owner": PERSON,
    },
    "letters": {
        "date": WINTER,
        "from": _one_of("H. Lindqvist, Halden|J. Berg, Norrby Water|Dispatch, Halden"),
        "text": _words(
            _one_of(
                "About the|We have a question on the|Thank you for your note on the|Attached you find "
                "papers for the|We confirm receipt of the"
            ),
            ITEM,
            _one_of(
                "which left our works on Monday.|that your crew asked for.|from the second delivery.|"
                "which was tested at 12 bar.|as agreed on the telephone.|for the station at Tranby."
            ),
            _one_of(
                "The certificate follows by post.|Please tell us the gate for unloading.|The crate "
                "weighs about 140 kg.|Our workshop is closed on Friday.|A spare is in stock here."
            ),
        ),
    },
    "cases": {
        "invoice": _number(8100, 8499, 57),
        "supplier": _number(2, 48, 5, "S{}"),
        "checked": WINTER,
        "amount": _amount(300, 16000, 1279),
        "outcome": _one_of("sent again, paid|sent again, matched|withdrawn|waiting", 3),
    },
}
