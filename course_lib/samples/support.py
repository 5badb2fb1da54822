"""The support chat: a customer of an outdoor shop asks twelve questions, and the agent has tools.

The tools answer as real interfaces do: with far more fields than the question needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from course_lib.messages import Message, assistant, system, tool_call, tool_result, user

Step = tuple[str, dict[str, str], dict[str, Any]]  # a tool, its arguments, its result


def support_chat() -> list[Message]:
    """Twelve questions, 32 tool calls, one customer; the first question comes back as the seventh.

    The fifth question needs no tool, and several need an answer that was given before. What
    decided an answer is marked as a `finding` in its result.
    """
    messages, number = [system(INSTRUCTIONS)], 0
    for question, steps, answer in _turns():
        messages.append(user(question))
        for step in steps:
            calls = [step] if isinstance(step, tuple) else step
            ids = [f"call_{number + i}" for i in range(1, len(calls) + 1)]
            number += len(calls)
            named = list(zip(ids, calls, strict=True))
            asked = [tool_call(id, name, **arguments) for id, (name, arguments, _) in named]
            messages.append(assistant(calls=asked))
            messages += [tool_result(id, result) for id, (*_, result) in named]
        messages.append(assistant(answer))
    return messages


def support_tools() -> list[dict[str, Any]]:
    """The schemas of the support chat's tools, which go along with each of its calls."""
    return [_schema(name, about, arguments) for name, (about, arguments) in TOOLS.items()]


def five_texts() -> dict[str, str]:
    """What the agent says of the first question, in English and four other forms."""
    return {
        "English": "Your order 58213 is held at the depot in Leeds, because the flat number is missing "
        "on the label. It goes out again on 4 June.",
        "code": 'if order.status == "held" and not label.flat_number:\n'
        '    order.next_attempt = held_since + timedelta(days=2)\n    notify(order.customer_id, "held")',
        "JSON": '{"order_id": "58213", "status": "held", "depot": {"code": "LDS-S", "city": "Leeds"}, '
        '"flat_number": null, "next_attempt": "2025-06-04"}',
        "Japanese": "ご注文58213は、ラベルに部屋番号がないため、リーズの配送センターで保管されています。"
        "6月4日に再度お届けします。",
        "Hindi": "आपका ऑर्डर 58213 लीड्स के डिपो में रुका है, क्योंकि लेबल पर फ़्लैट नंबर नहीं है। यह 4 जून को "
        "फिर से भेजा जाएगा।",
    }


INSTRUCTIONS = (
    "You answer customers of Fernhill Outdoors, a shop for tents and clothing in Leeds. The customer "
    "is signed in: Maya Lindqvist, C-3051, 14 Alder Court, Flat 3, Leeds LS6 2AB. Look things up "
    "before you answer; never guess a price, a date or a place. Name the order, return or payment "
    "that you speak of, and the day. Change nothing that the customer has not asked for. Answer in "
    "two or three short sentences."
)


def _turns() -> Iterator[tuple[str, list[Step | list[Step]], str]]:
    """Each question, the steps that it takes, and the answer."""
    yield (
        "Where is my order 58213?",
        [
            ("get_order", {"order_id": "58213"}, _order_58213("held", "2025-06-02T05:48:00Z")),
            ("track_parcel", {"parcel": "FH58213GB"}, _tracking("held", _scans()[:7])),
            ("get_depot", {"depot": "LDS-S"}, _depot()),
        ],
        "Order 58213, parcel FH58213GB, has been at the Leeds South depot since 2 June, 05:48: the "
        "label has no flat number, so the driver turned back. It goes out again on 4 June.",
    )
    yield (
        "Can it go to my neighbour at number 16 instead?",
        [
            ("get_policy", {"topic": "delivery"}, _policy("delivery")),
            ("list_delivery_options", {"parcel": "FH58213GB"}, _delivery_options("FH58213GB", 4)),
            (
                "change_delivery",
                {"parcel": "FH58213GB", "address": "16 Alder Court", "day": "2025-06-04"},
                _changed_delivery(),
            ),
        ],
        "Yes, that is arranged: parcel FH58213GB goes to 16 Alder Court on 4 June, between 10:00 and "
        "13:00. The change has the number D-7741.",
    )
    yield (
        "In order 57904 the jacket is too small. Do you have it one size larger?",
        [
            ("get_order", {"order_id": "57904"}, _order_57904()),
            ("get_product", {"product": "JKT-BRK"}, _jacket()),
            ("check_stock", {"sku": "JKT-BRK-L-SLT"}, _stock("JKT-BRK-L-SLT", 7, "2025-06-20")),
        ],
        "Yes. Yours is JKT-BRK-M-SLT, the Birk jacket in slate; in L (JKT-BRK-L-SLT) there are 7 in "
        "the warehouse, for the same 149.00.",
    )
    yield (
        "How do I send the small one back, and what does that cost me?",
        [
            ("get_policy", {"topic": "returns"}, _policy("returns")),
            (
                "create_return",
                {"order_id": "57904", "sku": "JKT-BRK-M-SLT", "reason": "too small"},
                _return("open"),
            ),
            ("list_drop_offs", {"postcode": "LS6 2AB"}, _drop_offs()),
        ],
        "It is free. Your return R-20417 is open: hand the jacket in by 18 June at Hyde Park Stores, "
        "0.4 km from you. The shop prints the label, and 149.00 comes back within 5 days.",
    )
    yield (
        "What do I have to write on the parcel?",
        [],
        "Only the number of the return, R-20417. The shop at the counter prints the label, so you "
        "need neither an address nor a stamp.",
    )
    yield (
        "Why was I charged twice in May?",
        [
            (
                "list_payments",
                {"customer": "C-3051", "month": "2025-05"},
                _reply("/payments", page=1, pages=1, payments=[_payment(n) for n in range(6)]),
            ),
            [
                ("get_payment", {"payment": "P-99120"}, _payment_in_full(4)),
                ("get_payment", {"payment": "P-99134"}, _payment_in_full(5)),
            ],
            ("get_policy", {"topic": "payments"}, _policy("payments")),
        ],
        "You paid once. P-99120 over 301.50 was only a reservation, and it was let go on 31 May; "
        "P-99134 over 301.50 is the payment for order 58213.",
    )
    yield (
        "Where is my order 58213?",
        [
            ("get_order", {"order_id": "58213"}, _order_58213("delivered", "2025-06-04T11:26:00Z")),
            ("track_parcel", {"parcel": "FH58213GB"}, _tracking("delivered", _scans())),
        ],
        "Order 58213, the tent (TNT-SKY2) and its pegs, was handed over at 16 Alder Court on 4 June at "
        "11:26, as arranged with D-7741. Your neighbour signed for it.",
    )
    yield (
        "Is the tent good enough for October in the Highlands?",
        [
            ("get_product", {"product": "TNT-SKY2"}, _tent()),
            ("search_reviews", {"product": "TNT-SKY2", "words": "wind rain"}, _reviews()),
            ("get_guide", {"topic": "three-season tents"}, _guide()),
        ],
        "For rain, yes: the flysheet of the Skerry 2 holds 3,000 mm and its floor 5,000. For storms, "
        "no: it is rated to 60 km/h, and two of eight reviewers bent a pole in more.",
    )
    yield (
        "Do you have a groundsheet that fits it?",
        [
            ("search_products", {"words": "groundsheet Skerry 2"}, _groundsheets()),
            ("get_product", {"product": "GRD-SKY2"}, _groundsheet()),
            ("check_stock", {"sku": "GRD-SKY2"}, _stock("GRD-SKY2", 12, "2025-07-01")),
        ],
        "Yes: GRD-SKY2 is cut for the Skerry 2. It costs 34.00 and weighs 210 g, and there are 12 in "
        "the warehouse.",
    )
    yield (
        "Send me one, to the same neighbour.",
        [
            ("quote_order", {"sku": "GRD-SKY2", "address": "16 Alder Court"}, _quote()),
            ("list_delivery_options", {"parcel": "new"}, _delivery_options("new", 9)),
            (
                "create_order",
                {"sku": "GRD-SKY2", "address": "16 Alder Court", "day": "2025-06-09"},
                _order_58377("accepted"),
            ),
        ],
        "Done. Order 58377, one GRD-SKY2 for 34.00 with free delivery, goes to 16 Alder Court on 9 "
        "June, between 10:00 and 13:00.",
    )
    yield (
        "How many points do I have after all this?",
        [
            ("get_customer", {"customer": "C-3051"}, _customer()),
            ("list_points", {"customer": "C-3051"}, _points()),
        ],
        "912 points are yours to use, worth 9.12. Another 34 for order 58377 come when it has been "
        "delivered, and the 149 for the jacket go when it is back.",
    )
    yield (
        "What is still open?",
        [
            ("list_cases", {"customer": "C-3051"}, _cases()),
            ("get_return", {"return_id": "R-20417"}, _return("waiting for the parcel")),
            ("get_order", {"order_id": "58377"}, _order_58377("packed")),
        ],
        "Two things: return R-20417, which you hand in by 18 June, and order 58377, which comes on 9 "
        "June. Order 58213 and its payment are settled.",
    )


# ---- what the tools return ------------------------------------------------------------------


def _reply(path: str, finding: str = "", **body: Any) -> dict[str, Any]:
    """A reply as real interfaces wrap it; with a `finding` where it decides the answer."""
    found = {"source": path.strip("/").split("/")[0], "finding": finding} if finding else {}
    links = {"self": f"https://api.fernhill.example/v3{path}", "docs": "/docs/v3", "next": None}
    return {**found, "object": path.strip("/").split("/")[0], **body, "links": links}


def _address(number: str, flat: str | None) -> dict[str, Any]:
    return {
        "name": "Maya Lindqvist",
        "line_1": f"{number} Alder Court",
        "line_2": flat,
        "city": "Leeds",
        "postcode": "LS6 2AB",
        "country": "GB",
        "phone": None,
        "safe_place": None,
    }


def _item(sku: str, name: str, price: float, count: int = 1) -> dict[str, Any]:
    return {
        "sku": sku,
        "name": name,
        "quantity": count,
        "unit_price": f"{price:.2f}",
        "line_total": f"{price * count:.2f}",
        "tax_rate": "0.20",
        "tax_included": f"{price * count / 6:.2f}",
        "gift_wrap": False,
        "discounts": [],
        "returnable_until": None,
        "warehouse": "LDS-W1",
    }


def _order(number: str, placed: str, status: str, items: list[dict], **more: Any) -> dict[str, Any]:
    total = sum(float(item["line_total"]) for item in items)
    body = {
        "order_id": number,
        "customer": "C-3051",
        "placed_at": placed,
        "status": status,
        "channel": "web",
        "currency": "GBP",
        "items": items,
        "shipping": {"method": "standard", "price": "0.00", "free_from": "30.00"},
        "total": f"{total:.2f}",
        "notes": [],
        "fraud_check": {"result": "pass", "score": 4, "engine": "rules-7"},
    }
    return _reply(f"/orders/{number}", **body, **more)


def _order_58213(status: str, since: str) -> dict[str, Any]:
    items = [
        _item("TNT-SKY2-GRN", "Skerry 2 tent, moss green", 289.00),
        _item("PEG-Y8", "Y-pegs, set of 8", 12.50),
    ]
    return _order(
        "58213",
        "2025-05-29T19:04:11Z",
        status,
        items,
        status_since=since,
        parcels=[{"parcel": "FH58213GB", "carrier": "Ryde", "weight_g": 2840}],
        ship_to=_address("14", None),
        payment={"payment": "P-99134", "method": "card", "captured": "301.50"},
    )


def _order_57904() -> dict[str, Any]:
    items = [
        _item("JKT-BRK-M-SLT", "Birk jacket, M, slate", 149.00),
        _item("SCK-MER-M", "Merino socks, M", 14.00, 2),
    ]
    return _order(
        "57904",
        "2025-05-16T08:31:40Z",
        "delivered",
        items,
        status_since="2025-05-19T10:12:00Z",
        parcels=[{"parcel": "FH57904GB", "carrier": "Ryde", "weight_g": 960}],
        ship_to=_address("14", "Flat 3"),
        payment={"payment": "P-98811", "method": "card", "captured": "177.00"},
    )


def _order_58377(status: str) -> dict[str, Any]:
    return _order(
        "58377",
        "2025-06-05T17:20:09Z",
        status,
        [_item("GRD-SKY2", "Groundsheet for Skerry 2", 34.00)],
        finding=f"order 58377 is {status}, delivery on 9 June to 16 Alder Court",
        status_since="2025-06-05T17:20:09Z",
        delivery={"day": "2025-06-09", "from": "10:00", "to": "13:00", "price": "0.00"},
        ship_to=_address("16", None),
        payment={"payment": "P-99207", "method": "card", "captured": "34.00"},
    )


def _scans() -> list[dict[str, Any]]:
    """The parcel's way: to the depot, back to it, and out again two days later."""
    told = [
        ("05-30T06:12", "LDS-W1", "label printed"),
        ("05-30T16:40", "LDS-W1", "handed to the carrier"),
        ("05-31T02:05", "LDS-N", "sorted"),
        ("06-01T21:37", "LDS-S", "arrived at the depot"),
        ("06-02T04:58", "LDS-S", "loaded on van 31"),
        ("06-02T05:41", "LDS-S", "address incomplete: no flat number"),
        ("06-02T05:48", "LDS-S", "held at the depot"),
        ("06-03T09:15", "LDS-S", "new address by D-7741"),
        ("06-04T07:02", "LDS-S", "loaded on van 12"),
        ("06-04T11:26", "LS6", "handed over, signed by a neighbour"),
    ]
    return [
        {
            "at": f"2025-{at}:00Z",
            "place": place,
            "event": event,
            "code": f"E{30 + 7 * n}",
            "scanner": f"RY-{4100 + 37 * n}",
            "public": n != 4,
            "eta_changed": n in (5, 7),
        }
        for n, (at, place, event) in enumerate(told)
    ]


def _tracking(status: str, scans: list[dict[str, Any]]) -> dict[str, Any]:
    told = {
        "held": "held at LDS-S since 2 June 05:48: the label has no flat number",
        "delivered": "handed over at 16 Alder Court on 4 June at 11:26",
    }
    return _reply(
        "/parcels/FH58213GB",
        told[status],
        parcel="FH58213GB",
        carrier="Ryde",
        service="standard 48",
        status=status,
        dimensions_cm=[58, 21, 19],
        events=scans,
    )


def _depot() -> dict[str, Any]:
    days = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
    return _reply(
        "/depots/LDS-S",
        "held parcels go out again after two days: FH58213GB on 4 June",
        depot="LDS-S",
        name="Leeds South",
        address="Unit 4, Pontefract Lane, Leeds LS9 0DX",
        opening={
            day: {"open": "07:00", "close": "19:00" if n < 5 else "13:00"}
            for n, day in enumerate(days)
        },
        collection={"possible": True, "identity": ["passport", "driving licence"], "days": 7},
        held_parcels={"second_attempt_after_days": 2, "returned_after_days": 10},
    )


def _delivery_options(parcel: str, day: int) -> dict[str, Any]:
    slots = [("08:00", "10:00"), ("10:00", "13:00"), ("13:00", "16:00"), ("16:00", "19:00")]
    return _reply(
        f"/parcels/{parcel}/options",
        parcel=parcel,
        options=[
            {
                "option": f"OPT-{d:02d}{n}",
                "day": f"2025-06-{d:02d}",
                "from": start,
                "to": end,
                "price": "0.00" if n in (1, 2) else "2.95",
                "carbon_g": 180 + 40 * n,
                "left_on_van": 14 - 3 * n,
                "possible_for": ["door", "neighbour", "safe place"],
            }
            for d in (day, day + 1)
            for n, (start, end) in enumerate(slots)
        ],
    )


def _changed_delivery() -> dict[str, Any]:
    return _reply(
        "/parcels/FH58213GB/changes",
        "D-7741: FH58213GB goes to 16 Alder Court on 4 June, 10:00 to 13:00",
        change="D-7741",
        parcel="FH58213GB",
        accepted=True,
        ship_to=_address("16", None),
        day="2025-06-04",
        slot={"option": "OPT-041", "from": "10:00", "to": "13:00"},
        signature="asked for at the door",
        price="0.00",
        can_be_changed_until="2025-06-03T18:00:00Z",
    )


POLICIES = {
    "delivery": (
        "a parcel may go to a neighbour in the same street, free, until 18:00 the day before",
        [
            "Standard delivery takes two working days and is free from 30.00; below that it is 3.95.",
            "A parcel may go to another address in the same street. The change is free until 18:00 on "
            "the day before the delivery; after that it can't be changed any more.",
            "The neighbour signs. Without a signature the parcel goes back to the depot.",
            "A parcel that could not be delivered is tried a second time after two days, and goes back "
            "to the warehouse after ten.",
            "Tents over 4 kg, stoves and gas are not left with neighbours.",
        ],
    ),
    "returns": (
        "returns of clothing are free for 30 days after delivery",
        [
            "Clothing and shoes may be sent back within 30 days of the delivery, unworn, with the tags.",
            "Sending back is free from any drop-off in the country. The shop there prints the label; "
            "the number of the return has to be written on the parcel.",
            "The money goes back the way it came, within 5 working days of the parcel's arrival.",
            "An exchange is a return and a new order, so that the new size can be sent at once.",
            "Points that were credited for the article are taken back with it.",
            "Underwear, opened food and used gas cylinders can't be taken back.",
        ],
    ),
    "payments": (
        "a reservation is let go within two days when the card is charged",
        [
            "When an order is placed, its sum is reserved on the card. Nothing has been paid then.",
            "When the parcel leaves the warehouse the card is charged. The reservation is let go "
            "within two days; some banks show both for a while.",
            "If an order is changed before it leaves, the reservation is replaced by a new one.",
            "Refunds show as a payment with a minus, under the number of the first payment.",
        ],
    ),
}


def _policy(topic: str) -> dict[str, Any]:
    finding, paragraphs = POLICIES[topic]
    return _reply(
        f"/policies/{topic}",
        finding,
        topic=topic,
        version="2025-04",
        audience=["customers", "agents"],
        languages=["en", "cy"],
        paragraphs=[{"n": f"{n}.", "text": text} for n, text in enumerate(paragraphs, 1)],
        superseded=["2024-10", "2023-11"],
    )


def _jacket() -> dict[str, Any]:
    colours = {"SLT": "slate", "MOS": "moss", "RST": "rust"}
    return _reply(
        "/products/JKT-BRK",
        product="JKT-BRK",
        name="Birk jacket",
        category="clothing > jackets > shell",
        price="149.00",
        material={"outer": "nylon, 3 layers", "membrane": "20,000 mm", "repellent": "PFC-free"},
        care=["wash at 30", "no softener", "tumble dry low"],
        variants=[
            {
                "sku": f"JKT-BRK-{size}-{code}",
                "size": size,
                "colour": colour,
                "weight_g": 395 + 18 * n,
                "active": (size, code) != ("XS", "RST"),
            }
            for n, size in enumerate(("XS", "S", "M", "L", "XL"))
            for code, colour in colours.items()
        ],
        rating={"stars": 4.4, "count": 212},
    )


def _stock(sku: str, count: int, next_delivery: str) -> dict[str, Any]:
    shops = ("Leeds", "York", "Sheffield", "Keswick")
    return _reply(
        f"/stock/{sku}",
        f"{sku}: {count} in the warehouse",
        sku=sku,
        warehouse={"place": "LDS-W1", "on_hand": count + 1, "reserved": 1, "available": count},
        shops=[
            {"shop": shop, "available": (count * (n + 1)) % 4, "click_and_collect": n < 3}
            for n, shop in enumerate(shops)
        ],
        next_delivery=next_delivery,
        counted_at="2025-06-02T22:00:00Z",
    )


def _return(status: str) -> dict[str, Any]:
    return _reply(
        "/returns/R-20417",
        f"R-20417 for the jacket is {status}: hand in by 18 June, 149.00 back",
        return_id="R-20417",
        status=status,
        order_id="57904",
        item={"sku": "JKT-BRK-M-SLT", "quantity": 1, "reason": "too small", "condition": "new"},
        refund={"amount": "149.00", "currency": "GBP", "to": "P-98811", "within_days": 5},
        cost="0.00",
        hand_in_by="2025-06-18",
        label={"printed_by": "drop-off", "code": "R-20417", "format": "PDF417"},
        history=[{"at": "2025-06-02T09:41:55Z", "event": "created", "by": "agent"}],
    )


def _drop_offs() -> dict[str, Any]:
    places = [
        ("Hyde Park Stores", "12 Brudenell Road", 0.4),
        ("Headingley Post Office", "1 Otley Road", 0.9),
        ("Kirkstall Garage", "204 Kirkstall Road", 1.3),
        ("Woodhouse Lockers", "Raglan Road", 1.4),
        ("Fernhill Outdoors Leeds", "31 Vicar Lane", 2.6),
    ]
    return _reply(
        "/drop-offs",
        "nearest drop-off: Hyde Park Stores, 0.4 km",
        near="LS6 2AB",
        places=[
            {
                "name": name,
                "address": f"{address}, Leeds",
                "distance_km": far,
                "prints_labels": n != 3,
                "open": {"weekdays": f"0{7 + n % 3}:00-2{n % 3}:00", "sunday": n in (0, 3)},
                "largest_cm": [60, 50, 50],
                "carrier": "Ryde",
            }
            for n, (name, address, far) in enumerate(places)
        ],
    )


PAYMENTS = [
    ("P-98702", "2025-05-03T11:20:31Z", "18.00", "captured", "57610"),
    ("P-98811", "2025-05-16T08:31:44Z", "177.00", "captured", "57904"),
    ("P-98840", "2025-05-18T20:02:10Z", "-18.00", "refunded", "57610"),
    ("P-99003", "2025-05-25T13:45:02Z", "0.00", "card check", None),
    ("P-99120", "2025-05-29T19:04:15Z", "301.50", "released", "58213"),
    ("P-99134", "2025-05-30T16:41:20Z", "301.50", "captured", "58213"),
]


def _payment(n: int) -> dict[str, Any]:
    payment, at, amount, state, order = PAYMENTS[n]
    return {
        "payment": payment,
        "at": at,
        "amount": amount,
        "currency": "GBP",
        "state": state,
        "order_id": order,
        "card": {"brand": "debit", "last_4": "8830", "expires": "2027-11"},
        "statement_text": "FERNHILL OUTDOORS LEEDS",
    }


def _payment_in_full(n: int) -> dict[str, Any]:
    payment, at, amount, state, _ = PAYMENTS[n]
    told = {
        "released": "only reserved, let go on 31 May",
        "captured": "the payment for order 58213",
    }
    events = [{"at": at, "event": "authorised", "amount": amount, "answer": "00"}]
    day = "2025-05-31T04:10:00Z" if state == "released" else at
    events.append({"at": day, "event": state, "amount": amount, "answer": "00"})
    return _reply(
        f"/payments/{payment}",
        f"{payment} over {amount}: {told[state]}",
        **_payment(n),
        events=events,
        risk={"score": 7, "rules": ["known device", "known address"], "three_d_secure": "passed"},
        fees={"scheme": "0.21", "processor": "0.10"},
        dispute=None,
    )


def _tent() -> dict[str, Any]:
    parts = [("flysheet", 3000, 620), ("floor", 5000, 540), ("inner tent", 0, 410)]
    return _reply(
        "/products/TNT-SKY2",
        "Skerry 2: flysheet 3,000 mm, floor 5,000 mm, rated to 60 km/h of wind",
        product="TNT-SKY2",
        name="Skerry 2 tent",
        category="tents > two persons > three seasons",
        price="289.00",
        persons=2,
        packed_cm=[46, 15],
        wind_rating_kmh=60,
        seasons=["spring", "summer", "autumn"],
        fabrics=[
            {"part": part, "water_column_mm": column, "weight_g": weight, "ripstop": column > 0}
            for part, column, weight in parts
        ],
        poles={"material": "aluminium 7001", "diameter_mm": 8.5, "count": 2, "repair_sleeve": True},
        pegs=12,
        guy_lines=4,
        guarantee_years=3,
        rating={"stars": 4.1, "count": 87},
    )


REVIEWS = [
    (5, "Two wet weeks on Skye and not a drop inside.", "rain"),
    (2, "A pole bent in a gale at Glen Coe, some 80 km/h by the forecast.", "wind"),
    (4, "Condensation on cold mornings, otherwise dry.", "rain"),
    (5, "Up in ten minutes, in rain, alone.", "rain"),
    (4, "Noisy in wind, but it stood.", "wind"),
    (1, "Flattened on a ridge in November; one pole bent, one seam open.", "wind"),
    (5, "Light enough for the bike.", "weight"),
    (4, "The floor took stones without a groundsheet, I would still buy one.", "floor"),
]


def _reviews() -> dict[str, Any]:
    return _reply(
        "/products/TNT-SKY2/reviews",
        "2 of 8 reviewers bent a pole in strong wind",
        product="TNT-SKY2",
        words="wind rain",
        total=8,
        reviews=[
            {
                "review": f"V-{6120 + 13 * n}",
                "stars": stars,
                "text": text,
                "topic": topic,
                "verified": n != 6,
                "helpful": {"yes": (n * 7 + 3) % 11, "no": n % 3},
                "written": f"2024-{(n * 5) % 12 + 1:02d}-{3 * n + 2:02d}",
            }
            for n, (stars, text, topic) in enumerate(REVIEWS)
        ],
    )


def _guide() -> dict[str, Any]:
    texts = [
        "A three-season tent is made for spring to autumn. It sheds rain and stands in wind up to its "
        "rating; it is not made for snow on the roof.",
        "A water column of 1,500 mm is called waterproof. For days of rain choose 3,000 for the "
        "flysheet and 5,000 for the floor.",
        "In the Highlands gusts over 80 km/h are common from October on. Look for five poles or a "
        "geodesic frame, or stay low in the glens.",
        "Guy lines halve the load on the poles. Use all of them, and add two to windward.",
    ]
    return _reply(
        "/guides/three-season-tents",
        "gusts over 80 km/h are common in the Highlands from October on",
        topic="three-season tents",
        author="Fernhill workshop",
        updated="2025-02-11",
        reading_minutes=4,
        sections=[{"heading": f"Part {n}", "text": text} for n, text in enumerate(texts, 1)],
    )


def _groundsheets() -> dict[str, Any]:
    hits = [
        ("GRD-SKY2", "Groundsheet for Skerry 2", "34.00"),
        ("GRD-SKY3", "Groundsheet for Skerry 3", "39.00"),
        ("GRD-UNI-S", "Groundsheet, 120 x 220 cm", "19.50"),
        ("GRD-UNI-L", "Groundsheet, 220 x 280 cm", "27.00"),
        ("TRP-ASH", "Ash tarp, 3 x 3 m", "74.00"),
        ("PEG-Y8", "Y-pegs, set of 8", "12.50"),
    ]
    return _reply(
        "/products",
        query="groundsheet Skerry 2",
        total=6,
        took_ms=14,
        facets={"category": {"groundsheets": 4, "tarps": 1, "pegs": 1}, "brand": {"Fernhill": 6}},
        hits=[
            {
                "product": product,
                "name": name,
                "price": price,
                "score": round(9.1 - 1.3 * n, 1),
                "image": f"/img/{product.lower()}-400.webp",
                "badges": ["bestseller"] if n == 3 else [],
                "rating": round(4.7 - 0.1 * n, 1),
            }
            for n, (product, name, price) in enumerate(hits)
        ],
    )


def _groundsheet() -> dict[str, Any]:
    return _reply(
        "/products/GRD-SKY2",
        "GRD-SKY2 is cut for the Skerry 2: 34.00, 210 g",
        product="GRD-SKY2",
        name="Groundsheet for Skerry 2",
        category="tents > accessories > groundsheets",
        price="34.00",
        fits=["TNT-SKY2-GRN", "TNT-SKY2-SND"],
        water_column_mm=5000,
        weight_g=210,
        packed_cm=[24, 9],
        material={"fabric": "ripstop polyester 75D", "coating": "PU", "seams": "taped"},
        variants=[{"sku": "GRD-SKY2", "colour": "graphite", "active": True}],
        care=["wipe clean", "dry before packing"],
        rating={"stars": 4.7, "count": 31},
    )


def _quote() -> dict[str, Any]:
    return _reply(
        "/quotes",
        quote="Q-3310",
        valid_until="2025-06-06T17:18:00Z",
        items=[_item("GRD-SKY2", "Groundsheet for Skerry 2", 34.00)],
        shipping={"method": "standard", "price": "0.00", "free_from": "30.00"},
        total="34.00",
        currency="GBP",
        ship_to=_address("16", None),
        payment={"method": "card", "last_4": "8830", "reserved": False},
    )


def _customer() -> dict[str, Any]:
    return _reply(
        "/customers/C-3051",
        customer="C-3051",
        name="Maya Lindqvist",
        email="maya.lindqvist@mail.example",
        since="2021-03-14",
        language="en",
        addresses=[_address("14", "Flat 3")],
        marketing={"email": False, "post": False, "sms": False, "asked_at": "2024-01-08"},
        loyalty={"card": "L-771204", "level": "ridge", "next_level_at": 1000},
        orders={"count": 17, "total": "1988.40", "returned": 2},
        tags=["clothing", "tents", "cycling"],
    )


def _points() -> dict[str, Any]:
    told = [
        ("2025-05-03", 18, "order 57610", "credited"),
        ("2025-05-19", 177, "order 57904", "credited"),
        ("2025-05-20", -18, "refund of order 57610", "credited"),
        ("2025-06-04", 301, "order 58213", "credited"),
        ("2025-06-05", 34, "order 58377", "after delivery"),
        ("2025-06-05", -149, "return R-20417", "when it is back"),
    ]
    before = 912 - sum(points for _, points, _, state in told if state == "credited")
    return _reply(
        "/customers/C-3051/points",
        "912 points now; 34 more after delivery of 58377, 149 less for R-20417",
        balance=912,
        worth="9.12",
        before_may=before,
        expire_on="2026-12-31",
        entries=[
            {"day": day, "points": points, "for": what, "state": state, "rate": "1 per pound"}
            for day, points, what, state in told
        ],
    )


def _cases() -> dict[str, Any]:
    told = [
        ("K-5512", "order 58213", "closed", "parcel handed over"),
        ("K-5513", "return R-20417", "open", "waits for the customer"),
        ("K-5520", "payment P-99120", "closed", "explained"),
        ("K-5534", "order 58377", "open", "delivery on 9 June"),
    ]
    return _reply(
        "/cases",
        "open: return R-20417 and order 58377",
        customer="C-3051",
        cases=[
            {
                "case": case,
                "about": about,
                "state": state,
                "last_note": note,
                "owner": "chat agent",
                "priority": "normal",
                "opened": f"2025-06-0{2 + n}",
                "minutes_to_answer": 2 + n,
            }
            for n, (case, about, state, note) in enumerate(told)
        ],
    )


# ---- the tools' schemas ---------------------------------------------------------------------

TOOLS = {
    "get_order": ("Look up an order: items, address, state.", {"order_id": "Its number, 5 digits"}),
    "track_parcel": ("The scans of a parcel, oldest first.", {"parcel": "Its number, FH…GB"}),
    "get_depot": ("A carrier's depot: opening hours, rules.", {"depot": "Its code, such as LDS-S"}),
    "get_policy": ("The shop's rules.", {"topic": "delivery, returns or payments"}),
    "list_delivery_options": ("Days and hours for a delivery.", {"parcel": "Its number, or new"}),
    "change_delivery": (
        "Send a parcel to another address or on another day.",
        {"parcel": "Its number", "address": "Number and street", "day": "YYYY-MM-DD"},
    ),
    "get_product": ("All about a product, with its variants.", {"product": "Its number"}),
    "check_stock": ("How many there are, and where.", {"sku": "The number of the variant"}),
    "create_return": (
        "Open a return. Only if the customer asks for it.",
        {"order_id": "The order", "sku": "The article", "reason": "In the customer's words"},
    ),
    "list_drop_offs": ("Where a parcel can be handed in.", {"postcode": "The customer's postcode"}),
    "list_payments": (
        "The payments of a customer in a month.",
        {"customer": "C-…", "month": "YYYY-MM"},
    ),
    "get_payment": ("One payment, with its history.", {"payment": "Its number, P-…"}),
    "search_reviews": (
        "What customers wrote about a product.",
        {"product": "Its number", "words": "What to look for"},
    ),
    "get_guide": ("The workshop's advice on a topic.", {"topic": "In a few words"}),
    "search_products": ("Find products by words.", {"words": "What to look for"}),
    "quote_order": ("The price of an order.", {"sku": "The article", "address": "Where it goes"}),
    "create_order": (
        "Place an order. Only if the customer asks for it.",
        {"sku": "The article", "address": "Where it goes", "day": "YYYY-MM-DD"},
    ),
    "get_customer": ("The customer's record.", {"customer": "C-…"}),
    "list_points": ("The customer's points, entry by entry.", {"customer": "C-…"}),
    "list_cases": ("What was asked, and what is open.", {"customer": "C-…"}),
    "get_return": ("One return, with its state.", {"return_id": "Its number, R-…"}),
}


def _schema(name: str, about: str, arguments: dict[str, str]) -> dict[str, Any]:
    properties = {key: {"type": "string", "description": what} for key, what in arguments.items()}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    function = {"name": name, "description": about, "parameters": parameters}
    return {"type": "function", "function": function}
