"""The invoice run: an accounts agent finds out why a supplier's invoice was rejected."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from course_lib.messages import (
    CourseError,
    Message,
    assistant,
    system,
    tool_call,
    tool_result,
    user,
)
from course_lib.samples.invoice_tables import table
from course_lib.transcript import Transcript

LONGEST = 40


def invoice_run(steps: int = LONGEST) -> Transcript:
    """The document's run: 2,000 fixed tokens, 39 calls of about 800 each, and an answer.

    `.tools` are its tool schemas. With fewer `steps` the run stops after so many calls and their
    results, without an answer.

    Raises `CourseError` if `steps` isn't between 0 and 40.
    """
    if not 0 <= steps <= LONGEST:
        raise CourseError(f"the invoice run has 0 to {LONGEST} steps, so it can't have {steps}")
    messages = [system(INSTRUCTIONS), user(TASK)]
    for n, step in enumerate(_entries(STEPS)[:steps], 1):
        messages += _call_and_result(n, step.split("\n"))
    if steps == LONGEST:
        messages.append(assistant(ANSWER))
    return Transcript(messages, "Why was invoice 8841 rejected?", "openai", tools=_tools())


def _call_and_result(n: int, lines: list[str]) -> list[Message]:
    """The two messages of one step, as `STEPS` writes it down."""
    call, rows = lines[0].split(" | ")
    tool, _, given = call.partition(" ")
    arguments = _fields(given)
    extra = next((line[2:] for line in lines if line.startswith("= ")), "")
    finding = next((line[2:] for line in lines if line.startswith("* ")), "no errors")
    said = " ".join(line for line in lines[1:] if line[:2] not in ("= ", "* "))
    result = {"source": SOURCES[tool], "finding": finding, **arguments, **_fields(extra)}
    total = int(str(result.get("amount", "0")).replace(",", ""))
    name, count = rows.split()
    result[name] = table(name, int(count), 13 * n, total if name == "lines" else 0)
    id = f"call_{n:02d}"
    return [assistant(said, calls=[tool_call(id, tool, **arguments)]), tool_result(id, result)]


def _fields(text: str) -> dict[str, Any]:
    """`page=2; supplier=S1` as a dict; pages and years are numbers."""
    pairs = (part.split("=", 1) for part in text.split("; ") if part)
    return {k: int(v) if k in ("page", "pages", "year") else v for k, v in pairs}


def _tools() -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {
                    "type": "object",
                    "properties": {key: deepcopy(PARAMETERS[key]) for key in keys.split()},
                    "required": keys.split()[:1],
                },
            },
        }
        for name, _, keys, description in _tool_entries()
    )


def _tool_entries() -> Iterator[list[str]]:
    for entry in _entries(TOOLS):
        first, *description = entry.split("\n")
        yield [*first.split(" | "), " ".join(description)]


def _entries(text: str) -> list[str]:
    return text.strip().removeprefix("# ").split("\n# ")


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


INSTRUCTIONS = """\
You are a careful accounts agent in the payables team of Norrby Water. You find out what happened to
invoices, orders and payments, and you write for people who know their trade but not our systems.

How you work
- One question at a time: say in a sentence what you look up and why, then make one call.
- Results hold more than you need. Take from them what answers the question, with its source.
- Copy numbers, codes, dates and names exactly as they stand. A figure from memory is no figure.
- Keep what is known apart from what is likely. If two readings are possible, name both.
- Before you state that something is missing, look in every place where it could stand.
- Read the rule behind a code in its own words; suppliers are entitled to the exact text.
- If a lookup fails, try it once more, then say that it failed and go on with what there is.

Where things stand
- An invoice comes by portal, by post or by mail. It is captured, then checked by machine; what passes
  is matched with order and receipt, approved by the cost centre's owner, and paid on its due date.
- The order number stands in the invoice's head or on each line. Capture reads both.
- A rejected invoice leaves the queue. It is not paid, not approved and not posted until it comes again.
- Receipts are entered at the gate, one for each delivery; an order may have several.
- The ledger shows goods that were received and not yet invoiced on an account of their own.

What you may do
- You may read invoices, orders, receipts, ledgers, contracts, policies and letters.
- You may write a draft. You may not approve, pay, change or release anything.
- You may use send_message only if the person who gave you the task asks for it in so many words.

How you answer
- The outcome first, then the reason, then what has to be done, by whom and until when.
- Plain words, no internal abbreviations, no blame. At most a page.
- Amounts are in euro unless a currency stands beside them. Dates are written year-month-day.
- Close with what is still open and with what you did not look at."""

TASK = (
    "Explain to supplier S1 why invoice 8841 was rejected. Write it as a draft that I can sign, with "
    "the exact text of the rule, what they have to change, and whether any other invoice of theirs "
    "needs the same correction. It goes out under my name: do not contact the supplier."
)

ANSWER = """\
Draft for your signature. Nothing was sent.

Dear Ms Lindqvist, dear Halden Pump Works,

Your invoice 8841 of 48,000 euro was rejected on 2026-03-04 with code E12. The rule reads: "Purchase
order number missing or invalid." The invoice has no purchase order field at all. The goods were
delivered under order 70316, which is for the same amount and not invoiced yet. Please send the
invoice again through the portal, under its number, with order 70316 on it, within 30 days of the
rejection. Your invoice 8842 of 12,650 euro is still open and has no purchase order number either:
please add order 70342.

Sources: invoice 8841, rule E12, orders 70316 and 70342, policy section resubmission. Not looked at:
payments, because invoice 8841 was never approved for payment."""

PARAMETERS = {
    "invoice": _text("Our number of the invoice, four digits, such as 8610"),
    "supplier": _text("The supplier's key in the master data, such as S1 or S27"),
    "order": _text("The number of the purchase order, five digits, such as 70288"),
    "code": _text("The code of a check, a letter and two digits, such as E07"),
    "section": _text("The name of the section in the handbook, in lower case"),
    "thread": _text("The key of a thread of letters, such as T-2207"),
    "account": _text("The ledger account, four digits, such as 4400 for goods received"),
    "year": {"type": "integer", "description": "The calendar year of the document's date"},
    "month": _text("The month of posting, written as year and month, such as 2026-02"),
    "page": {"type": "integer", "description": "The page of a long result, counted from 1"},
    "status": _text("Only documents in this state", enum=["open", "rejected", "paid", "all"]),
    "to": _text("The address of the person who is to read it, as in the master data"),
    "words": _text("What to search for; put words in quotation marks that stand together"),
    "subject": _text("One line that says what the message is about"),
    "text": _text("The message itself, without greeting formulas that our template adds"),
}

# For each tool: its name, the source that its results name, its parameters; what it does.
TOOLS = """
# get_invoice | invoice archive | invoice
Read one invoice as it was received and captured: its state and code, the fields of its head, the
lines with tax and cost centres. Fields that were not on the document are left out.
# get_supplier | supplier master data | supplier
Read a supplier's master data: name, address, terms, tax numbers, contacts, and the invoices of
the last months. Treat bank details as confidential.
# get_rule | check rules | code page
Read the rule behind a code of the automatic check: its exact text, since when it applies, who
owns it, and the most recent documents that it was applied to.
# list_invoices | invoice archive | supplier year status page
List the invoices of one supplier with amount, state, code, order and due date. Long lists come in
pages.
# get_audit_log | audit log | invoice page
Read what happened to an invoice, entry by entry: captured, checked, matched, approved, paid or
rejected, with actor and time. Entries are in order of time.
# list_purchase_orders | purchasing | supplier year status page
List the purchase orders that we placed with one supplier: buyer, date, amount, what has been
delivered and what has been invoiced.
# get_purchase_order | purchasing | order
Read one purchase order with its lines, the agreed prices, the places of delivery and all changes
since it was placed.
# list_receipts | goods received | order page
List the goods received under an order, with quantity, warehouse, the person who checked them and
any complaint that was noted at the gate.
# list_ledger_lines | general ledger | account month page
List the postings on one ledger account in one month, with voucher, text, amounts and cost centre.
Read only; corrections are made by the general ledger team.
# list_payments | payments | supplier month page
List the payments that were made to one supplier in one month: date, amount, reference, bank
account and the invoices that they settle.
# get_contract | contracts | supplier page
Read the frame contract with a supplier, clause by clause, with its annexes.
# read_policy | payables handbook | section
Read a section of the payables handbook. Sections: rejection, purchase orders, resubmission,
letters, archive.
# read_correspondence | letters | supplier thread
Read a thread of letters between us and a supplier, oldest first, with sender and date.
# get_approval_route | workflow | invoice
Read who has to approve an invoice, in which order and up to which amount, who stands in for whom,
and which of them have seen it, with the time of each decision.
# list_disputes | disputes | supplier status page
List the open and settled disputes with one supplier: what it is about, the amount that is held
back, who leads it on either side, and the next date.
# search_documents | archive | words year page
Search the archive of scanned papers for words, a number or a name. Gives the kind of paper, its
date, the page and the line around each hit, best first. Papers older than ten years are not
searched.
# send_message | mail | to subject text
Send a message to a person outside the company under the company's name. It leaves at once and
can't be called back.
"""

SOURCES = {name: source for name, source, *_ in _tool_entries()}

# The steps: `# call | table rows`, then `= more fields of the result`, `* what it found` (nothing:
# no errors), and what the model says. The number of rows makes the size of a step.
STEPS = """
# get_invoice invoice=8841 | lines 16
= supplier=S1; status=rejected; code=E12; amount=48,000; currency=EUR; received=2026-03-03
* invoice 8841 rejected, code E12, amount 48,000, no purchase order field
I start with the invoice itself.
# get_supplier supplier=S1 | invoices 13
= name=Halden Pump Works; contact=Ms Lindqvist; terms=30 days
* supplier S1 is Halden Pump Works, contact Ms Lindqvist
Who is S1? The draft needs the name and a person to address.
# get_rule code=E12 | cases 19
= text=Purchase order number missing or invalid.; since=2026-03-01
* rule E12: Purchase order number missing or invalid.
The code is E12. I read the rule in its own words.
# get_audit_log invoice=8841; page=1 | entries 12
= pages=3
* invoice 8841 rejected on 2026-03-04 at 06:12 by the automatic check, before approval
Which check rejected it, and when?
# get_audit_log invoice=8841; page=2 | entries 18
= pages=3
Could the number have been on the paper and been lost in capture? The next page shows the fields.
# read_policy section=rejection | clauses 26
= edition=2026-01
Every field was read well. Now what the handbook says about a rejection.
# read_correspondence supplier=S1; thread=T-2207 | letters 12
Perhaps the supplier sent the number in a letter.
# read_correspondence supplier=S1; thread=T-2219 | letters 17
Not in that thread. There is one more from the same month.
# get_contract supplier=S1; page=1 | clauses 14
= pages=2; signed=2023-05-16
Does the contract oblige them to name an order?
# list_purchase_orders supplier=S1; year=2025 | orders 17
I look for the order behind the delivery, last year's first.
# read_policy section=purchase orders | clauses 19
= edition=2026-01
None of those fits. What does the handbook ask of orders?
# list_invoices supplier=S1; page=1 | invoices 19
= not_settled=8841 rejected, 8842 open; pages=2
* supplier S1 has one other invoice that is open: 8842
Are there other invoices of S1 that are not settled?
# list_invoices supplier=S1; page=2 | invoices 14
= pages=2
The second page, so that none is missed.
# get_audit_log invoice=8841; page=3 | entries 12
= pages=3
* invoice 8841 was never approved for payment
Was 8841 ever approved by a person?
# list_ledger_lines account=4400; month=2026-01 | postings 16
Decided not to check payments, because the invoice was never approved for payment. Still open:
whether the supplier's other invoice, 8842, has the same problem. Here I make sure that the goods
were posted. Next: look up invoice 8842, then write the reply.
# get_invoice invoice=8842 | lines 16
= supplier=S1; status=open; amount=12,650; currency=EUR; received=2026-03-03
* invoice 8842 open, amount 12,650, no purchase order field
Now the other invoice.
# get_audit_log invoice=8842; page=1 | entries 12
= pages=1
It lacks the number too, and hasn't been checked yet. Its log should say so.
# list_purchase_orders supplier=S1; year=2026 | orders 17
= not_invoiced=70316 (48,000), 70342 (12,650)
* order 70316, amount 48,000, delivered in full and not invoiced
Which orders could the two belong to? This year's list.
# get_purchase_order order=70316 | lines 13
= supplier=S1; amount=48,000; placed=2026-01-19
70316 has the very amount. I compare its lines.
# list_receipts order=70316; page=1 | receipts 11
= pages=2
Was everything under 70316 received?
# list_receipts order=70316; page=2 | receipts 14
= pages=2
The rest of the receipts.
# get_purchase_order order=70342 | lines 16
= supplier=S1; amount=12,650; placed=2026-02-02
* order 70342, amount 12,650, fits invoice 8842
And the order for the smaller invoice: 70342 is the only one left.
# list_receipts order=70342; page=1 | receipts 10
= pages=1
Received as well?
# get_invoice invoice=8610 | lines 17
= supplier=S1; status=paid; amount=9,420; purchase_order=70128
How did they name the order before? An earlier invoice that was paid.
# get_invoice invoice=8655 | lines 14
= supplier=S1; status=paid; amount=17,310; purchase_order=70151
One more, to be sure that it was their habit.
# get_invoice invoice=8702 | lines 19
= supplier=S1; status=paid; amount=6,885; purchase_order=70203
And the last one before the turn of the year.
# get_invoice invoice=8733 | lines 12
= supplier=S1; status=paid; amount=21,070; purchase_order=70288
The first of this year has a number too.
# get_audit_log invoice=8733; page=1 | entries 14
= pages=1
Did 8733 pass the check without a hand's help?
# read_correspondence supplier=S1; thread=T-2251 | letters 18
= opened=2026-01-12; subject=Order numbers on invoices
* letter of 2026-01-12: order numbers are required from 2026-03-01
Were suppliers told about the new check?
# read_correspondence supplier=S1; thread=T-2263 | letters 14
Did they answer it?
# list_ledger_lines account=4400; month=2026-02 | postings 11
I check that the goods of 70316 are posted: February.
# list_ledger_lines account=4400; month=2026-03 | postings 15
March, up to today.
# list_ledger_lines account=1600; month=2026-03 | postings 12
Is there an accrual that waits for the invoice?
# get_contract supplier=S1; page=2 | clauses 27
= pages=2; signed=2023-05-16
The annex of the contract may set a time for corrections.
# read_policy section=resubmission | clauses 17
= edition=2026-01
* a corrected invoice keeps its number and is sent again through the portal within 30 days
It doesn't. The handbook should: how is an invoice sent again?
# get_rule code=E07 | cases 19
= text=Bank details differ from the master data.; since=2024-06-01
Would it meet another check once it has a number? E07 looks at bank details.
# get_rule code=E15 | cases 13
= text=Amount above the open amount of the order.; since=2024-06-01
And E15, which compares amounts with the order.
# list_invoices supplier=S1; year=2026 | invoices 19
= page=1; pages=1
A last look at this year's invoices of S1, so that the draft names all that need a correction.
# read_policy section=letters | clauses 20
= edition=2026-01
All is known. How do we write to suppliers?
"""
