"""Calls labelled by hand: what stood earlier, what the call says, and what of that is a reuse.

The question was each time: would the agent have had to look this up again, had it not seen it?
"""

LABELLED = [
    # earlier texts, arguments, the values that came from there
    (["Invoice 8841 was rejected, code E12."], {"invoice": "8841"}, ["8841"]),
    (["Invoice 8841 was rejected, code E12."], {"code": "E12"}, ["E12"]),
    (["The user says the flight is late."], {"query": "flight"}, []),
    (['{"user_id": "mia_li_3668"}'], {"user_id": "mia_li_3668"}, ["mia_li_3668"]),
    (['{"cabin": "economy"}'], {"cabin": "economy"}, []),
    (['{"name": "Ada Okafor", "tier": "gold"}'], {"to": "Ada Okafor"}, ["Ada Okafor"]),
    (['{"insurance": "yes", "bags": 2}'], {"insurance": "yes", "bags": 2}, []),
    (["Seats from 2024-05-27 on."], {"date": "2024-05-27"}, ["2024-05-27"]),
    (["The amount is 48,000 euros."], {"amount": 48000}, ["48000"]),
    (["Row 7 of 12 is wrong."], {"row": 7}, []),
    (["Edit src/app/main.py, please."], {"path": "src/app/main.py"}, ["src/app/main.py"]),
    (["Traceback in parser.py:88"], {"command": "sed -n 80,95p parser.py"}, ["parser.py"]),
    (["Call load_rows() first."], {"code": "load_rows()"}, ["load_rows()"]),
    (["Mail to ada@example.org"], {"to": "ada@example.org"}, ["ada@example.org"]),
    (["See https://example.org/a?b=1"], {"url": "https://example.org/a?b=1"},
     ["https://example.org/a?b=1"]),
    (['{"flights": [{"number": "HAT170", "price": 127}]}'], {"flight": "HAT170", "price": 127},
     ["HAT170", "127"]),
    (['{"payment_id": "gift_card_7480005"}'],
     {"payments": [{"id": "gift_card_7480005", "amount": 120}]}, ["gift_card_7480005"]),
    (["Supplier S1 may not be contacted."], {"supplier": "S1"}, ["S1"]),
    (["Deploy 4417 raised batch_size to 50000."], {"key": "batch_size"}, ["batch_size"]),
    (["Deploy 4417 raised batch_size to 50000."], {"deploy": 4417, "key": "batch_size"},
     ["4417", "batch_size"]),
    (["The error was: lock wait timeout"], {"query": "lock wait timeout"}, []),
    (['{"status": "open", "title": "Export fails at night"}'],
     {"title": "Export fails at night"}, ["Export fails at night"]),
    (["order by date"], {"sql": "SELECT date FROM payments"}, []),
    (["table payments_oct has 400 rows"], {"sql": "SELECT sum(amount) FROM payments_oct"},
     ["payments_oct"]),
    (["Ticket OPS-1182 is open."], {"ticket": "OPS-1182", "state": "open"}, ["OPS-1182"]),
    (['{"city": "Lagos"}'], {"city": "Lagos"}, ["Lagos"]),
    (["between 02:00 and 03:00"], {"hour": "02:00"}, ["02:00"]),
    (["version 3.11.2 is affected"], {"version": "3.11.2"}, ["3.11.2"]),
    (["I waited 30 s and tried 5 times."], {"seconds": 30, "tries": 5}, []),
    # What the rule gets wrong: a level isn't an identifier, and a name in prose is a value.
    (["Security risk: LOW."], {"risk": "LOW"}, []),
    (["Ada lives in Lagos."], {"city": "Lagos"}, ["Lagos"]),
    (["The supplier is called Okafor Timber."], {"supplier": "Okafor Timber"}, ["Okafor Timber"]),
    (["host db-2.internal is slow"], {"host": "db-2.internal"}, ["db-2.internal"]),
]  # fmt: skip
