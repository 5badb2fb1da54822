"""What the coding run says and does, step by step."""

from __future__ import annotations

INSTRUCTIONS = """\
You are a software engineer in the pricing team of Larkfield Parcels. You work in one repository,
through tools, until the task is done. You find causes before you change code.

How you work
- Read before you edit. Say in a sentence what you do and why.
- Independent calls go out together.
- After each change run the tests that cover it, and all tests at the end.
- Copy codes, commits, paths and figures exactly. A number that you didn't read is no number.
- If a test of your own fails, find out whether the test or the code is wrong.

Rules
- Never edit a file under tests/golden. Finance signed those figures off.
- Do not change parcelrate/api.py: three other teams call it.
- Do not push, and do not close the ticket. A person does both.
- The rules in docs/pricing.md decide what a price should be, not the code."""

TASK = (
    "SHIP-482: customers say that our prices have been wrong since release 4.7.0. Find every cause, mend "
    "the code, cover each cause with a test, and add the release note for 4.7.2. Never edit a file "
    "under tests/golden. Close with a summary for the ticket: cause, commit, change and test for each."
)

ANSWER = """\
SHIP-482, for the ticket. Nothing was pushed, and the ticket is open.

1. Fuel twice in zone Z7. Commit a41f9c7 (SHIP-455) put 1.12 into UPLIFT in parcelrate/tariff.py,
and fuel() adds 12 per cent again, against P-2. UPLIFT is gone. BT7 1NN at 2.0 kg: 12.08 before, 10.25
now. Test: test_fuel_is_added_once in tests/test_quotes.py.
2. The upper weight of a band. Commit c09d2e4 (SHIP-402) wrote `weight < up_to`, against P-1: the price
of the next band, or RATE-1207 at 30.0 kg (req-1f0b5c). Now `<=`. Test: test_a_band_holds_its_upper_weight.
3. Postcodes as customers type them. Since 5be8810 (SHIP-419) small letters give RATE-1204, against P-6
(req-7ac41e). tidy() in parcelrate/zones.py. Test: test_as_customers_type.
All 29 tests pass, the 96 golden quotes among them. Release note 4.7.2 is in docs/releases.md.
Left alone: to_pence() rounds half to even, against P-5. With fuel at 0.12 none of the 180 prices of the
tariff ends in half a penny, so nobody sees it; it needs a decision before the share changes."""

EDITS = {
    "uplift": (
        "            return price * UPLIFT.get(zone, Decimal(1))",
        "            return price",
    ),
    "uplift2": ('UPLIFT = {"Z7": Decimal("1.12")}  # SHIP-455\n', ""),
    "band": ("        if weight < up_to:", "        if weight <= up_to:"),
    "price": (
        'quote("BT7 1NN", Decimal("2.0"), JUNE).total == Decimal("10.06")',
        'quote("BT7 1NN", Decimal("2.0"), JUNE).total == Decimal("10.25")',
    ),
    "tidy": (
        'def outward(postcode: str) -> str:\n    """The first half of a postcode: BT7 of BT7 1NN."""\n'
        '    return postcode.split(" ")[0]',
        "def tidy(postcode: str) -> str:\n"
        '    """A postcode as it should be written: LS6 2AB of ls62ab. P-6."""\n'
        '    joined = "".join(postcode.upper().split())\n    return f"{joined[:-3]} {joined[-3:]}"\n\n\n'
        'def outward(postcode: str) -> str:\n    """The first half of a postcode: BT7 of BT7 1NN."""\n'
        '    return postcode.split(" ")[0]',
    ),
    "match": ("    match = OUTWARD.match(postcode)", "    match = OUTWARD.match(tidy(postcode))"),
    "remote": ('    return postcode.split(" ")[0]', '    return tidy(postcode).split(" ")[0]'),
    "types": (
        "def test_unknown_area():",
        '@pytest.mark.parametrize("typed", ["bt7 1nn", "bt71nn", " BT7 1NN ", "Bt7  1nN"])\n'
        'def test_as_customers_type(typed):\n    assert zone_of(typed) == "Z7"\n'
        '    assert outward(typed) == "BT7"\n'
        "\n\ndef test_unknown_area():",
    ),
    "bands": (
        "def test_unknown_zone():",
        "def test_a_band_holds_its_upper_weight():\n"
        '    assert base_price("Z1", Decimal("2.0")) == Decimal("4.02")\n'
        '    assert base_price("Z1", Decimal("30.0")) == Decimal("12.86")\n\n\ndef test_unknown_zone():',
    ),
    "release": (
        "# Releases\n",
        "# Releases\n\n4.7.2: prices as in docs/pricing.md again. Fuel once in Z7 (P-2), a band holds\n"
        "its upper weight (P-1), postcodes as customers type them (P-6). SHIP-482.\n",
    ),
}

WRITTEN = {
    "tests/test_quotes.py": """\
from datetime import date
from decimal import Decimal

from parcelrate.quotes import quote

JUNE = date(2025, 6, 2)


def test_fuel_is_added_once():
    assert quote("BT7 1NN", Decimal("2.0"), JUNE).total == Decimal("10.06")


def test_exactly_thirty_kilograms():
    assert quote("BT48 7JL", Decimal("30.0"), JUNE).total == Decimal("20.16")


def test_a_remote_place_pays_once():
    assert quote("HS2 0XB", Decimal("7.3"), JUNE).extras["remote"] == Decimal("2.50")
""",
}

_GOLDEN = "tests/test_api.py::test_golden_quotes"
_WRONG = "tests/test_api.py assert wrong == []"
_NAME = "NameError: name 'UPLIFT' is not defined"
_INSIDE = (
    "parcelrate/api.py return str(cached_quote",
    "parcelrate/cache.py _known[key] = quote(",
    "parcelrate/quotes.py base = base_price(",
    "parcelrate/tariff.py return price",
)

# For each failure: the test, the error, and where it was raised, outermost first.
FAILURES = {
    "no-band": (
        _GOLDEN,
        "parcelrate.errors.RateError: RATE-1207 no band for this weight: 30.0 kg in Z2",
        'tests/test_api.py wrong = [r["id"]',
        "parcelrate/api.py return str(cached_quote",
        "parcelrate/cache.py _known[key] = quote(",
        "parcelrate/quotes.py base = base_price(",
        'parcelrate/tariff.py raise RateError("RATE-1207"',
    ),
    "z7": (
        _GOLDEN,
        "AssertionError: assert ['G-025', 'G-026', 'G-027', 'G-028', 'G-061', 'G-062', ...] == []",
        _WRONG,
    ),
    "price": (
        "tests/test_quotes.py::test_fuel_is_added_once",
        "AssertionError: assert Decimal('10.25') == Decimal('10.06')",
        'tests/test_quotes.py assert quote("BT7 1NN"',
    ),
    "bands": (
        "tests/test_tariff.py::test_a_band_holds_its_upper_weight",
        "AssertionError: assert Decimal('4.54') == Decimal('4.02')",
        'tests/test_tariff.py assert base_price("Z1", Decimal("2.0"))',
    ),
    "types": (
        "tests/test_zones.py::test_as_customers_type",
        "parcelrate.errors.RateError: RATE-1204 no zone for this postcode: 'bt7 1nn'",
        "tests/test_zones.py assert zone_of(typed)",
        'parcelrate/zones.py raise RateError("RATE-1204"',
    ),
    "outward": (
        "tests/test_zones.py::test_as_customers_type",
        "AssertionError: assert 'bt7' == 'BT7'",
        "tests/test_zones.py assert outward(typed)",
    ),
    "name-golden": (_GOLDEN, _NAME, 'tests/test_api.py wrong = [r["id"]', *_INSIDE),
    "name-text": (
        "tests/test_api.py::test_price_is_text",
        _NAME,
        'tests/test_api.py assert price("NG1 5DT", "1.9")',
        *_INSIDE,
    ),
    "name-many": (
        "tests/test_api.py::test_many_at_once",
        _NAME,
        "tests/test_api.py got = prices(",
        'parcelrate/api.py answers.append({**parcel, "price"',
        *_INSIDE,
    ),
}

STEPS = """
I start with the ticket and the layout of the repository.
> read_ticket ticket=SHIP-482
> list_files

The rules decide what a price should be, so I read those, and what was released.
> read_file path=docs/pricing.md
> read_file path=docs/releases.md

Release 4.7.0 names SHIP-455 and 4.7.1 SHIP-471. Both tickets.
> read_ticket ticket=SHIP-455
> read_ticket ticket=SHIP-471

Finance says that the uplift is too much. Before I look at code: what do the tests say?
> run_tests target=tests => no-band

One test fails, with RATE-1207 raised in the tariff.
> read_file path=parcelrate/tariff.py

And the code around it.
> read_file path=parcelrate/quotes.py
> read_file path=parcelrate/surcharges.py
> read_file path=parcelrate/errors.py

What was changed for SHIP-455?
> git_show commit=a41f9c7

So fuel stands in the tariff and in the surcharges. Who else uses either?
> search pattern=UPLIFT
> search pattern=fuel

UPLIFT is used in one place. Now case (a) of the ticket by number: order 90417.
> run_python code=from parcelrate.api import price; print(price("BT7 1NN", "2.0")) => 12.08

12.08, as charged. The parts of that price:
> run_python code=from datetime import date; from decimal import Decimal; from parcelrate.quotes import \
quote; print(quote("BT7 1NN", Decimal("2.0"), date(2025, 6, 2))) => Quote(zone='Z7', \
base=Decimal('10.7856'), extras={'fuel': Decimal('1.294272')}, total=Decimal('12.08'))

The base 10.7856 is no price of a tariff. What does the tariff have for Z7?
> search pattern=^Z7,; path=data

Up to 2 kg it is 9.15, and 10.7856 is 9.63 with the uplift: the band above. That is case (b) as well.
> read_file path=data/tariff_2025.csv

Is Northern Ireland served from depots of its own, which could have prices of their own?
> read_file path=data/depots.csv

No: a depot has no price. Which golden quotes has finance for BT7?
> search pattern=BT7 1NN; path=tests/golden

G-026 wants 10.25 for 2.0 kg, which is 9.15 and 12 per cent. The whole file, to know what it covers.
> read_file path=tests/golden/quotes.csv

Case (b): the request that the desk names.
> trace_request request=req-1f0b5c

The last band is up to 30, and 30.0 isn't in it. How often does that happen?
> query_logs code=RATE-1207; day=2025-05-27
> query_logs code=RATE-1207; day=2025-05-26

Only parcels of exactly 30 kg. Since when is it `<`?
> git_log path=parcelrate/tariff.py

Three commits. The oldest one brought the file in.
> git_show commit=c09d2e4
> read_ticket ticket=SHIP-402

"Up to and including", and P-1 says the same. The comparison was turned around in c09d2e4. Are there other
comparisons of weights?
> search pattern=weight <|<= up_to|< up_to

Only the one. Case (c): the request that the desk names.
> trace_request request=req-7ac41e

A postcode in small letters. How many are there, and what do they look like?
> query_logs code=RATE-1204; day=2025-05-27
> query_logs code=RATE-1204; day=2025-05-28

Small letters and missing spaces, all of them real places. The code:
> read_file path=parcelrate/zones.py

And since when?
> git_log path=parcelrate/zones.py

5be8810 looks like it.
> git_show commit=5be8810
> read_ticket ticket=SHIP-419

Did the codes of 5be8810 bring other complaints? The two for weights:
> query_logs code=RATE-1201; day=2025-05-27
> query_logs code=RATE-1202; day=2025-05-27

Weights with a comma or a unit: refused on purpose, and no complaint names them. Back to zones.py, where
5be8810 took `postcode.upper()` away. Before, unknown postcodes were Z1. P-6 wants neither. Who calls \
these?
> search pattern=zone_of|is_remote|outward

The question of ops remains: is the cache to blame?
> read_file path=parcelrate/cache.py
> git_show commit=e7720bd

The key holds the postcode, the weight and the day, and it calls quote() for the rest: not the cause. The
key takes the postcode as typed, which costs a miss and no wrong price. How are the functions called?
> read_file path=parcelrate/api.py

I must not change parcelrate/api.py, and needn't. Rounding is left: P-5 wants half a penny to go up.
> git_log path=parcelrate/quotes.py

18f6b23 wrote round(amount, 2), which rounds half to even.
> git_show commit=18f6b23

Does any price of the tariff end in half a penny with fuel at 0.12?
> run_python code=from decimal import Decimal; from parcelrate.tariff import bands; print(sum((p * \
Decimal("112")) % 1 == Decimal("0.5") for rows in bands().values() for _, p in rows), "of", \
sum(map(len, bands().values()))) => 0 of 180

None of 180, so it explains no complaint. I leave it and report it. Now the tests as they are.
> read_file path=tests/test_tariff.py
> read_file path=tests/test_zones.py
> read_file path=tests/test_surcharges.py

And the test that reads the golden quotes.
> read_file path=tests/test_api.py

There is no test of quotes.py. First the band: a test that fails, then the change.
> edit_file path=tests/test_tariff.py; edit=bands

It should fail now.
> run_tests target=tests/test_tariff.py => bands

It does, with the price of the band above: 4.54 for 4.02.
> edit_file path=parcelrate/tariff.py; edit=band

> run_tests target=tests/test_tariff.py

The tariff's tests pass. And the golden quotes?
> run_tests target=tests/test_api.py => z7

No RATE-1207 any more. What is left are G-025 to G-028 and G-061 and on: all of them Z7?
> search pattern=^G-02[5-8]|^G-06[1-4]; path=tests/golden

All BT. That is cause (a). A test for it, in a file of its own. 9.15 less 2 per cent and 12 on top is \
10.06.
> write_file path=tests/test_quotes.py

Take the uplift out.
> edit_file path=parcelrate/tariff.py; edit=uplift2

> run_tests target=tests/test_api.py => name-text name-many name-golden

I took away the name and left its use. The place:
> search pattern=UPLIFT

> edit_file path=parcelrate/tariff.py; edit=uplift

> run_tests target=tests/test_api.py

All golden quotes are right. My own tests:
> run_tests target=tests/test_quotes.py => price

10.25 came back where I expected 10.06. Which is right? G-026 in the golden quotes, and the rule.
> search pattern=^G-026; path=tests/golden
> search pattern=^P-2; path=docs

G-026 says 10.25: there is no 2 per cent off, I made that up. My test was wrong, not the code.
> edit_file path=tests/test_quotes.py; edit=price

> run_tests target=tests/test_quotes.py

Order 90417 once more, through the API.
> run_python code=from parcelrate.api import price; print(price("BT7 1NN", "2.0")) => 10.25

10.25, as finance wants. Cause (c): the test first.
> edit_file path=tests/test_zones.py; edit=types

> run_tests target=tests/test_zones.py => types

It fails as in req-7ac41e. A function that writes a postcode as it should be:
> edit_file path=parcelrate/zones.py; edit=tidy

> edit_file path=parcelrate/zones.py; edit=match

> run_tests target=tests/test_zones.py => outward

zone_of() is right, outward() isn't: a remote place in small letters would pay no fee.
> read_file path=parcelrate/zones.py; start=22; end=44

> edit_file path=parcelrate/zones.py; edit=remote

> run_tests target=tests/test_zones.py

Does the fee come now for a remote place as typed in the log?
> run_python code=from parcelrate.api import price; print(price("hs2 0xb", "7.3"), price("HS2 0XB", \
"7.3")) => 18.06 18.06

The same for both. What of the postcodes that the log had with RATE-1204?
> run_python code=from parcelrate.api import price; print([price(p, w) for p, w in [("bt7 1nn", "2.0"), \
("ls62ab", "1.2"), ("Sw1A 2aa", "0.4")]]) => ['10.25', '6.42', '4.27']

And the parcel of req-1f0b5c, with those of 30 kg from the log?
> run_python code=from parcelrate.api import price; print(price("NG1 5DT", "30.0"), price("BT48 7JL", \
"30.0"), price("YO10 5DD", "30.00")) => 14.40 20.16 16.41

14.40 for NG1 5DT is what G-040 has for the same zone. Something that must still fail:
> run_python code=from parcelrate.api import prices; print(prices([{"postcode": "QQ1 1AA", "weight": \
"1"}, {"postcode": "NG1 5DT", "weight": "30.1"}])) => [{'postcode': 'QQ1 1AA', 'weight': '1', 'error': \
'RATE-1204'}, {'postcode': 'NG1 5DT', 'weight': '30.1', 'error': 'RATE-1207'}]

Unknown areas and freight (P-7) have no price, as before. All tests:
> run_tests target=tests

All pass. The release note, in the form of the others:
> read_file path=docs/releases.md

> edit_file path=docs/releases.md; edit=release

Are there other places that speak of the uplift, or of SHIP-455?
> search pattern=SHIP-455

Only the note of 4.7.0, which is history. The rules once more, to see whether the code keeps each:
> read_file path=docs/pricing.md

P-1, P-2 and P-6 hold now. A look at all that I changed.
> git_diff

tests/golden and parcelrate/api.py are untouched. The tests one last time, for the summary.
> run_tests target=tests
"""
