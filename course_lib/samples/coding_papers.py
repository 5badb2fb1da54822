"""The tools of the coding run, and its tickets, requests and commits, as these tools show them."""

from __future__ import annotations

TOOLS = """
list_files | List the files of the repository with their numbers of lines. | path: Only below this \
folder, such as docs
read_file | Read a file, or some lines of it, with line numbers. | path: The file, from the root of the \
repository | start: The first line, counted from 1 | end: The last line
search | Search all files for a regular expression. Gives path, line and text of each hit. | pattern: \
The expression, in the syntax of Python | path: Only below this folder
edit_file | Replace a text by another one. The old text must stand exactly once in the file. | path: \
The file | old: The text as it stands, line breaks included | new: What comes in its place
write_file | Write a new file. An existing one is not overwritten. | path: The file | text: All of its \
text
run_tests | Run tests and give pytest's report. | target: A file, a folder, or file::test
run_python | Run a snippet in the repository's root and give what it prints. Nothing is saved. | code: \
The snippet
git_log | The commits that touched a file, newest first. | path: The file
git_show | One commit with its message and its change. | commit: Seven characters of its hash
git_diff | All changes since the last commit.
read_ticket | A ticket with its comments. | ticket: Its key, such as SHIP-120
query_logs | The lines of the production log with an error code, on one day. | code: The code, such as \
RATE-1201 | day: YYYY-MM-DD
trace_request | One request's way through the service. | request: Its id, such as req-0a1b2c
"""

TICKETS = {
    "SHIP-482": """
Prices wrong since 4.7.0. Reported by desk, 2025-05-28, priority high.
desk: 61 complaints since 2025-05-19. Three kinds, as far as we can see.
desk: (a) Northern Ireland is too high. Order 90417: BT7 1NN, 2.0 kg, charged 12.08.
desk: (b) Parcels of exactly 30 kg get no price, RATE-1207, see req-1f0b5c. And 2.0 kg costs as much as 2.1.
desk: (c) Some customers get RATE-1204 for a postcode that is right, see req-7ac41e.
finance: tests/golden/quotes.csv is what we signed. We have not changed it.
ops: 4.7.1 touched the cache (SHIP-471). Could old prices be served?
""",
    "SHIP-455": """
Fuel for Northern Ireland follows the ferry contract. Asked by finance, done in 4.7.0.
finance: from 2025-05-19 fuel is 12 per cent in all zones. Z7 had 9 per cent as an exception until then.
dev (m.oduya): done in a41f9c7, as an uplift of the tariff for Z7.
finance: the exception in FUEL had to go, nothing more. Please look again.
dev (m.oduya): I am on leave until 2025-06-10.
""",
    "SHIP-471": """
Prices of yesterday in the first minutes of a day. Done in 4.7.1.
ops: at midnight the cache served prices of the day before.
dev (r.kaya): the day is part of the key since e7720bd. Looked at 40 requests, all right.
""",
    "SHIP-419": """
Errors need codes. Done in 4.6.2.
dev (r.kaya): 5be8810. RATE-1201 to RATE-1214. zones.py now raises where it returned Z1 before.
desk: so that is why unknown postcodes had a price at all until now.
""",
    "SHIP-402": """
The tariff comes from a file. Done in 4.6.0.
finance: the spreadsheet had "up to and including" on top of each column.
dev (m.oduya): c09d2e4 reads data/tariff_2025.csv; column up_to_kg.
""",
}

TRACES = {
    "req-1f0b5c": """
2025-05-27T09:14:02Z api.price client=checkout postcode='NG1 5DT' weight=30.0 day=2025-05-27
2025-05-27T09:14:02Z cache miss key=('NG1 5DT', 30.0, 2025-05-27)
2025-05-27T09:14:02Z zones.zone_of -> Z1
2025-05-27T09:14:02Z tariff.base_price Z1 30.0: 20 bands read, last up_to_kg=30
2025-05-27T09:14:02Z RateError RATE-1207 no band for this weight: 30.0 kg in Z1 took=6ms
""",
    "req-7ac41e": """
2025-05-27T18:40:51Z api.price client=checkout postcode='bt7 1nn' weight=2.0 day=2025-05-27
2025-05-27T18:40:51Z cache miss key=('bt7 1nn', 2.0, 2025-05-27)
2025-05-27T18:40:51Z RateError RATE-1204 no zone for this postcode: 'bt7 1nn' took=2ms
""",
}

# For each commit: its first line, the paths it touched, its change.
COMMITS = {
    "e7720bd": (
        "SHIP-471 cache: the day is part of the key (r.kaya, 2025-05-26)",
        "parcelrate/cache.py docs/releases.md",
        "--- parcelrate/cache.py\n-    key = (postcode, weight)\n+    key = (postcode, weight, day)",
    ),
    "a41f9c7": (
        "SHIP-455 fuel of Northern Ireland follows the ferry contract (m.oduya, 2025-05-19)",
        "parcelrate/tariff.py parcelrate/surcharges.py docs/releases.md",
        '--- parcelrate/surcharges.py\n-FUEL = {"Z7": Decimal("0.09")}\n-STANDARD = Decimal("0.12")\n'
        '+FUEL = Decimal("0.12")\n--- parcelrate/tariff.py\n+UPLIFT = {"Z7": Decimal("1.12")}  # SHIP-455\n'
        "-            return price\n+            return price * UPLIFT.get(zone, Decimal(1))",
    ),
    "3d4a90f": (
        "SHIP-431 fees for ZE2 and KW17 (r.kaya, 2025-04-28)",
        "parcelrate/zones.py docs/releases.md",
        '--- parcelrate/zones.py\n-"KW15", "ZE1"\n+"KW15", "KW17", "ZE1", "ZE2"',
    ),
    "5be8810": (
        "SHIP-419 errors have codes (r.kaya, 2025-04-07)",
        "parcelrate/errors.py parcelrate/zones.py parcelrate/tariff.py parcelrate/api.py",
        "--- parcelrate/zones.py\n def zone_of(postcode: str) -> str:\n-    postcode = postcode.upper()\n"
        '-    return ZONE.get(area(postcode), "Z1")\n+    match = OUTWARD.match(postcode)\n'
        '+        raise RateError("RATE-1204", repr(postcode))',
    ),
    "c09d2e4": (
        "SHIP-402 tariff_2025.csv in place of the spreadsheet (m.oduya, 2025-03-10)",
        "parcelrate/tariff.py data/tariff_2025.csv",
        "--- parcelrate/tariff.py\n-    column = next(c for c in sheet.columns if weight <= c.up_to)\n"
        "+    for up_to, price in bands()[zone]:\n+        if weight < up_to:",
    ),
    "18f6b23": (
        "SHIP-398 a quote shows what is in it (l.marsh, 2025-02-17)",
        "parcelrate/quotes.py parcelrate/surcharges.py",
        "--- parcelrate/quotes.py\n-    return str(round(float(total), 2))\n+    return round(amount, 2)",
    ),
}
