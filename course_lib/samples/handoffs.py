"""What lesson 5 summarises: the invoice run in findings, a story, a list of figures, and notes.

The desk is what an agent works at after it has woken up with a note: three tools over a little
data, and a scripted model that can use only what stands in its prompt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from course_lib.conversation import Registry, registry, tool
from course_lib.messages import (
    Message,
    assistant,
    system,
    text_of,
    tool_call,
    tool_result,
    user,
)
from course_lib.models import Rule, ScriptedModel, say, use
from course_lib.samples.invoices import invoice_run

# ---- runs to summarise ----------------------------------------------------------------------


def invoice_steps(steps: int = 15) -> list[Message]:
    """The invoice run's first steps, each result cut down at the source to what it found."""
    return findings_alone(invoice_run(steps).messages)


def findings_alone(messages: Sequence[Message]) -> list[Message]:
    """The messages, with each result that is JSON with a `finding` replaced by that finding."""
    return [{**m, "content": _finding(m)} if m["role"] == "tool" else m for m in messages]


def _finding(message: Message) -> str:
    text = text_of(message)
    try:
        result = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return str(result["finding"]) if isinstance(result, dict) and "finding" in result else text


def complaint_run() -> list[Message]:
    """A story: an agent reads letters about a hot water supply. Much text, few exact values."""
    steps = [("read_letter", {"page": n}, text) for n, text in enumerate(_paragraphs(LETTERS), 1)]
    return _run(LETTERS_ROLE, LETTERS_TASK, steps)


def receipts_run() -> list[Message]:
    """A list of figures: an agent reads receipts. Nearly every word is an exact value."""
    steps = [("read_receipt", {"receipt": line.partition(":")[0]}, line) for line in _receipts()]
    return _run(RECEIPTS_ROLE, RECEIPTS_TASK, steps)


def pump_run() -> list[Message]:
    """A run of seven steps that stops before its end: what the exercises write a note of."""
    said = "Decided not to test the drive by day, because it overheats only at night."
    still = (
        "Still open: whether pump P-18 has the same filter. Next: look up the filter of pump P-18."
    )
    steps = [
        ("list_alarms", {"pump": "P-17"}, "3 stops, each with alarm H40; the last 2026-02-11"),
        ("get_alarm", {"code": "H40"}, 'H40: "Drive temperature above limit."'),
        ("read_sensor", {"pump": "P-17"}, "drive at 92 °C when it stopped; the limit is 85 °C"),
        ("get_filter", {"pump": "P-17"}, "cooling filter FX-220, last changed 2025-08-04"),
        ("read_manual", {"part": "FX-220"}, "filter FX-220 has to be changed every 90 days"),
        ("get_stock", {"part": "FX-220"}, "none in stock; 4 pieces arrive on 2026-03-20"),
        ("list_pumps", {"station": "Tranby"}, "two pumps: P-17 and P-18"),
    ]
    messages = _run(PUMP_ROLE, PUMP_TASK, steps)
    place = len(messages) - 2
    return [*messages[:place], {**messages[place], "content": f"{said} {still}"}, messages[-1]]


def _run(role: str, task: str, steps: Sequence[tuple[str, dict[str, Any], str]]) -> list[Message]:
    messages = [system(role), user(task)]
    for n, (name, arguments, result) in enumerate(steps, 1):
        id = f"call_{n:02d}"
        messages += [
            assistant(calls=[tool_call(id, name, **arguments)]),
            tool_result(id, result),
        ]
    return messages


def _paragraphs(text: str) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]


LETTERS_ROLE = "You read letters of tenants for a housing company, and sum up what is behind them."

LETTERS_TASK = (
    "Find out why the tenants of Mill Street complain about hot water. Do not promise lower rents."
)

LETTERS = """
The first letter came from Mrs Aune on the third floor. She writes that the water has been turning cold
in the mornings, and that at first she thought it was the weather. She has lived in the house since it
was built, and nothing of the kind has happened to her before; she encloses a drawing of the bathroom,
with arrows, in case that helps.

Her neighbours tell the same story in other words. The family below her heats water in a kettle for the
children, and they ask, politely, whether somebody could come and have a look; they add that the kettle is
a good one, and that they don't mean to complain, but that winter is long and the children are small.

The caretaker was there on 2026-01-14 and let the water run for a while. It was warm when he came, and he
left again. The tenants felt that they had not been believed, and that has made the tone of all later
letters sharper, and one of them asks whether anybody reads these letters at all.

A student in the attic kept a diary, which is the most useful thing in the whole folder. Between half
past six and eight the water is never warm; at noon it always is. He suspects that the boiler sleeps too
long, and he offers to go on with the diary for as long as it is of any use to somebody.

The plumber who services the boiler answered that all was well at his last visit. He had been there in the
afternoon, though, and he did not know of the mornings. He offers to come again at an hour that suits
everybody, and says that old houses have their moods and that this one has more of them than most.

The file on the boiler says that its timer was set anew when the clocks were changed. Whoever did it
moved the start of the day by mistake to 08:15. That explains what the diary says, and it explains as well
why nobody who came later in the day ever found anything wrong with the water.

Two tenants have asked a lawyer, whose letter has the file number R-6120. It is a friendly one: she
asks for an explanation and for a date, and she would rather not go any further. She has had cold showers
herself, she writes, and knows how they colour a person's view of the world before breakfast.

The caretaker says that he can set the timer back in a few minutes, but he wants it in writing, because
somebody once blamed him for a change that he had not made. The people in the office understand that
well; they remember the affair with the bicycle cellar, and nobody wants to go through that again.

The last letter is from Mrs Aune again. She has heard of the timer from the plumber and finds it rather
funny. She hopes that someone will say sorry to the family with the children, and she invites the office
to a coffee on the third floor, when the water is warm again and the days are longer.
"""

RECEIPTS_ROLE = "You check receipts of goods against orders for a water company, line by line."

RECEIPTS_TASK = (
    "List what was received for order 70316, when and at what price. Never correct a figure."
)

GOODS = """
inlet strainers IS-40 148.20
impellers IM-200 1,930.00
bearing housings BH-75 967.03
drive couplings DC-12 411.75
wear rings WR-80 82.28
flow meters FM-50 1,364.44
check valves CV-80 680.80
pump casings PC-400 7,420.40
shaft seals SS-33 216.15
pressure switches PS-16 93.60
control cards CC-09 845.90
base frames BF-71 529.35
"""


def _receipts() -> list[str]:
    """Three deliveries of each kind of goods; receipt, number, part, price, day, gate and weight."""
    goods = [line.rsplit(" ", 2) for line in GOODS.strip().split("\n")]
    lines = []
    for n in range(3 * len(goods)):
        name, part, price = goods[n % len(goods)]
        number, weight = 2 + n * 5 % 7, 41 + n * 389 % 3470
        lines.append(
            f"R-{31560 + n * 11 + n % 4}: {number} {name} {part} at {price} EUR, "
            f"2026-02-{1 + n * 28 // 36:02d}, gate {112 + n * 3 % 5}, weighed {weight / 10} kg"
        )
    return lines


PUMP_ROLE = "You find out for the operators of a water works why machines stop."

PUMP_TASK = (
    "Find out why pump P-17 at Tranby stops at night, and write a proposal for the shift leader. "
    "Do not switch anything off."
)

# ---- notes of the invoice run after fifteen steps ----------------------------------------------

CARELESS_NOTE = (
    "The agent looked into the supplier's invoice problem, found a few issues with the purchase "
    "order and is close to an answer."
)

STRUCTURED_NOTE = """\
Goal: Explain to supplier S1 why invoice 8841 was rejected. Write it as a draft that I can sign, with the \
exact text of the rule, what they have to change, and whether any other invoice of theirs needs the same \
correction. Constraint: It goes out under my name: do not contact the supplier.
Done: Invoice 8841 looked up. Rule E12 looked up. Log of 8841 read: never approved for payment.
Facts:
  - Invoice 8841: rejected, code E12, amount 48,000, on 2026-03-04, no purchase order field (invoice archive)
  - Rule E12: "Purchase order number missing or invalid." (check rules)
  - Supplier S1 is Halden Pump Works, contact Ms Lindqvist (master data)
Decisions: Not checking payments, because the invoice was never approved for payment.
Open items: Whether the supplier's other invoice, 8842, has the same problem.
Next step: Look up invoice 8842, then write the reply."""

PUMP_NOTE = """\
Goal: Find out why pump P-17 at Tranby stops at night, and write a proposal for the shift leader. \
Constraint: Do not switch anything off.
Done: Alarms, sensor, filter, manual and stock of P-17 looked up; the station's pumps listed.
Facts:
  - P-17 stopped 3 times with alarm H40, last on 2026-02-11 (list_alarms)
  - H40: "Drive temperature above limit." (get_alarm)
  - Drive at 92 °C, limit 85 °C (read_sensor)
  - Filter FX-220, changed 2025-08-04 (get_filter), due every 90 days (read_manual)
  - FX-220: none in stock, 4 arrive on 2026-03-20 (get_stock)
Decisions: No test of the drive by day, because it overheats only at night.
Open items: Whether pump P-18 has the same filter.
Next step: Look up the filter of pump P-18."""

# Recorded: Gemma 3 270M (Q4_K_M, temperature 0). Its prompt held these lines, and one worked example
# of a summary, about a delayed order.
GEMMA_SOURCE = (
    "Looked up invoice 8841: status rejected, code E12, amount 48,000, supplier S1. Rule E12: purchase "
    "order number missing or invalid. The supplier must not be contacted."
)
GEMMA_NOTE = "order 8841 delayed; carrier DPX; promised 2024-03-02; rule E12; refund 10 percent after 5 days."

# ---- the desk ---------------------------------------------------------------------------------

DESK_ROLE = "You are a careful accounts agent. Go on with the work that the note hands over."

INVOICES = {
    "8841": {
        "invoice": "8841",
        "status": "rejected",
        "code": "E12",
        "amount": "48,000",
        "purchase_order": None,
    },
    "8842": {"invoice": "8842", "status": "open", "amount": "12,650", "purchase_order": None},
}
RULES = {"E12": {"code": "E12", "text": "Purchase order number missing or invalid."}}


class Desk(NamedTuple):
    """Three tools over a little data, and all that was sent, newest last."""

    tools: Registry
    outbox: list[dict[str, str]]


def invoice_desk() -> Desk:
    """A desk with nothing sent yet: look up an invoice, read a rule, send a message."""
    outbox: list[dict[str, str]] = []

    def get_invoice(invoice: str) -> dict[str, Any] | str:
        return _looked_up(INVOICES, invoice, "invoice")

    def get_rule(code: str) -> dict[str, Any] | str:
        return _looked_up(RULES, code, "rule")

    def send_message(to: str, text: str) -> str:
        outbox.append({"to": to, "text": text})
        return f"sent to {to}"

    tools = registry(
        tool(get_invoice, "Read one invoice.", invoice="Its number, such as 8610"),
        tool(get_rule, "Read the rule behind a code.", code="The code, such as E07"),
        tool(send_message, "Send a message at once.", to="To whom", text="The message"),
    )
    return Desk(tools, outbox)


def _looked_up(data: dict[str, dict[str, Any]], key: str, what: str) -> dict[str, Any] | str:
    return data.get(key) or f"there is no {what} {key}"


# What the agent's rules look for in the prompt, and what it writes. They read these forms, and no
# others: the amount of a note that says "worth 48,000" would not be found.
CASE = r"invoice (?P<number>\d{4}):? rejected, code (?P<code>\w+), amount (?P<amount>[\d,]*\d)"
RULE_TEXT = r'(?:rule {code}:|"{code}", "text":) "?(?P<rule>[A-Z][^"\n]+)'
SUPPLIER = r"supplier (?P<supplier>S\d+)"
OTHER = r"other invoice, (?P<other>\d{4})"
MISSING = r"no (?P<missing>[a-z ]+) field"
CHECKED = r'"invoice": "(?P<second>\d+)".*"purchase_order": null'
PATTERNS = {
    "CASE": CASE,
    "RULE_TEXT": RULE_TEXT,
    "MISSING": MISSING,
    "SUPPLIER": SUPPLIER,
    "OTHER": OTHER,
    "CHECKED": CHECKED,
}
LETTER = (
    'Invoice {number} ({amount}) was rejected, {code}: "{rule}" Please add the {missing} number, '
    "and to {second} as well."
)


def invoice_agent() -> ScriptedModel:
    """A model for the desk: it looks up what is open, reads the rule, then drafts or sends."""
    ready = [CASE, RULE_TEXT, MISSING, SUPPLIER, CHECKED]
    look_up, read = use("get_invoice", invoice="{other}"), use("get_rule", code="{code}")
    rules = [
        Rule(look_up, needs=OTHER, unless="get_invoice .*{other}"),
        Rule(read, needs=CASE, unless=[RULE_TEXT, "calls get_rule"]),
        Rule(say("Draft to sign: " + LETTER), needs=[*ready, "do not contact"]),
        Rule(say("I sent it to {supplier}."), needs=[SUPPLIER, "calls send_message"]),
        Rule(use("send_message", to="{supplier}", text=LETTER), needs=ready),
    ]
    return ScriptedModel(rules, otherwise="I can't go on: which invoice, which code, for whom?")
