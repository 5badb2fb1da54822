"""The small project that the coding run works on: a package that works out shipping prices.

The code runs, and its tests fail where the run says that they do: `tests/test_samples_coding.py`
tries it.
"""

from __future__ import annotations

from course_lib.samples.coding_tables import depots, golden, tariff

FILES = """\
>>> parcelrate/errors.py
\"\"\"What can go wrong with a quote; each case has a code that the log shows.\"\"\"

CODES = {
    "RATE-1201": "the weight is not a number",
    "RATE-1202": "the weight is zero or less",
    "RATE-1204": "no zone for this postcode",
    "RATE-1207": "no band for this weight",
    "RATE-1210": "no such zone in the tariff",
    "RATE-1214": "unknown surcharge",
}


class RateError(ValueError):
    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{code} {CODES[code]}: {detail}")
        self.code, self.detail = code, detail
>>> parcelrate/zones.py
\"\"\"Which zone a postcode belongs to, and whether it is remote.\"\"\"

import re

from parcelrate.errors import RateError

AREAS = {
    "Z1": "B CV DE DY LE NG NN ST WS WV",
    "Z2": "AL CB E EC EN HA IG LU MK N NW RM SE SG SW W WC WD",
    "Z3": "BD DN HD HG HU HX L LS M OL S SK WA WF WN YO",
    "Z4": "BN BR CT DA GU ME PO RG RH SO TN TW",
    "Z5": "BA BH BS CF DT EX GL NP PL SA SN TA TQ TR",
    "Z6": "AB DD DG EH FK G KA KY ML PA PH TD",
    "Z7": "BT",
    "Z8": "GY IM JE",
    "Z9": "HS IV KW ZE",
}
ZONE = {area: zone for zone, areas in AREAS.items() for area in areas.split()}
REMOTE = {"HS1", "HS2", "HS9", "IV27", "KW15", "KW17", "ZE1", "ZE2", "PA78", "TR21"}
OUTWARD = re.compile(r"([A-Z]{1,2})[0-9][0-9A-Z]?")


def outward(postcode: str) -> str:
    \"\"\"The first half of a postcode: BT7 of BT7 1NN.\"\"\"
    return postcode.split(" ")[0]


def zone_of(postcode: str) -> str:
    match = OUTWARD.match(postcode)
    if match is None or match[1] not in ZONE:
        raise RateError("RATE-1204", repr(postcode))
    return ZONE[match[1]]


def is_remote(postcode: str) -> bool:
    return outward(postcode) in REMOTE
>>> parcelrate/tariff.py
\"\"\"The tariff: what a parcel costs by zone and weight, before surcharges.\"\"\"

import csv
from decimal import Decimal
from functools import cache
from pathlib import Path

from parcelrate.errors import RateError

TABLE = Path(__file__).parents[1] / "data" / "tariff_2025.csv"
UPLIFT = {"Z7": Decimal("1.12")}  # SHIP-455


@cache
def bands() -> dict[str, list[tuple[Decimal, Decimal]]]:
    \"\"\"For each zone its bands, lightest first: the heaviest weight, and the price.\"\"\"
    found: dict[str, list[tuple[Decimal, Decimal]]] = {}
    with TABLE.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            found.setdefault(row["zone"], []).append((Decimal(row["up_to_kg"]), Decimal(row["price"])))
    return found


def base_price(zone: str, weight: Decimal) -> Decimal:
    if zone not in bands():
        raise RateError("RATE-1210", zone)
    for up_to, price in bands()[zone]:
        if weight < up_to:
            return price * UPLIFT.get(zone, Decimal(1))
    raise RateError("RATE-1207", f"{weight} kg in {zone}")
>>> parcelrate/surcharges.py
\"\"\"What comes on top of the tariff: fuel, remote places, the weeks before Christmas.\"\"\"

from datetime import date
from decimal import Decimal

from parcelrate.errors import RateError
from parcelrate.zones import is_remote

FUEL = Decimal("0.12")
REMOTE_FEE = Decimal("2.50")
PEAK_FEE = Decimal("0.35")
PEAK = ((11, 15), (12, 24))


def fuel(base: Decimal) -> Decimal:
    return base * FUEL


def is_peak(day: date) -> bool:
    return PEAK[0] <= (day.month, day.day) <= PEAK[1]


def surcharges(postcode: str, base: Decimal, day: date) -> dict[str, Decimal]:
    \"\"\"Each surcharge that applies, by name.\"\"\"
    found = {"fuel": fuel(base)}
    if is_remote(postcode):
        found["remote"] = REMOTE_FEE
    if is_peak(day):
        found["peak"] = PEAK_FEE
    return found


def total_of(named: dict[str, Decimal]) -> Decimal:
    unknown = set(named) - {"fuel", "remote", "peak"}
    if unknown:
        raise RateError("RATE-1214", ", ".join(sorted(unknown)))
    return sum(named.values(), Decimal(0))
>>> parcelrate/quotes.py
\"\"\"A quote: the price of one parcel, with all that is in it.\"\"\"

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from parcelrate.surcharges import surcharges, total_of
from parcelrate.tariff import base_price
from parcelrate.zones import zone_of


@dataclass(frozen=True)
class Quote:
    zone: str
    base: Decimal
    extras: dict[str, Decimal]
    total: Decimal


def to_pence(amount: Decimal) -> Decimal:
    return round(amount, 2)


def quote(postcode: str, weight: Decimal, day: date) -> Quote:
    zone = zone_of(postcode)
    base = base_price(zone, weight)
    extras = surcharges(postcode, base, day)
    return Quote(zone, base, extras, to_pence(base + total_of(extras)))
>>> parcelrate/cache.py
\"\"\"Quotes that were worked out before. A day's quotes are forgotten at midnight.\"\"\"

from datetime import date
from decimal import Decimal

from parcelrate.quotes import Quote, quote

_known: dict[tuple[str, Decimal, date], Quote] = {}


def cached_quote(postcode: str, weight: Decimal, day: date) -> Quote:
    key = (postcode, weight, day)
    if key not in _known:
        if len(_known) > 50_000:
            _known.clear()
        _known[key] = quote(postcode, weight, day)
    return _known[key]
>>> parcelrate/api.py
\"\"\"What other services call. Teams checkout, returns and desk depend on these two functions.\"\"\"

from datetime import date
from decimal import Decimal, InvalidOperation

from parcelrate.cache import cached_quote
from parcelrate.errors import RateError


def price(postcode: str, weight: str, day: str = "2025-06-02") -> str:
    \"\"\"The price in pounds, as text with two decimals.\"\"\"
    try:
        kilograms = Decimal(weight)
    except InvalidOperation:
        raise RateError("RATE-1201", repr(weight)) from None
    if kilograms <= 0:
        raise RateError("RATE-1202", weight)
    return str(cached_quote(postcode, kilograms, date.fromisoformat(day)).total)


def prices(parcels: list[dict[str, str]]) -> list[dict[str, str]]:
    \"\"\"Many at once; a parcel without a price has an `error` instead.\"\"\"
    answers = []
    for parcel in parcels:
        try:
            answers.append({**parcel, "price": price(parcel["postcode"], parcel["weight"])})
        except RateError as error:
            answers.append({**parcel, "error": error.code})
    return answers
>>> tests/test_zones.py
import pytest

from parcelrate.errors import RateError
from parcelrate.zones import is_remote, outward, zone_of


@pytest.mark.parametrize(
    ("postcode", "zone"),
    [("NG1 5DT", "Z1"), ("SW1A 2AA", "Z2"), ("LS6 2AB", "Z3"), ("BT7 1NN", "Z7"), ("IM1 1AA", "Z8")],
)
def test_zone(postcode, zone):
    assert zone_of(postcode) == zone


def test_unknown_area():
    with pytest.raises(RateError, match="RATE-1204"):
        zone_of("QQ1 1AA")


def test_remote():
    assert is_remote("HS2 0XB") and not is_remote("IV1 1AA")


def test_outward():
    assert outward("KW17 2QG") == "KW17"
>>> tests/test_tariff.py
from decimal import Decimal

import pytest

from parcelrate.errors import RateError
from parcelrate.tariff import bands, base_price


def test_nine_zones_of_twenty_bands():
    assert [len(rows) for rows in bands().values()] == [20] * 9


def test_base_price():
    assert base_price("Z1", Decimal("1.9")) == Decimal("4.02")


def test_unknown_zone():
    with pytest.raises(RateError, match="RATE-1210"):
        base_price("Z0", Decimal(1))


def test_too_heavy():
    with pytest.raises(RateError, match="RATE-1207"):
        base_price("Z1", Decimal("30.1"))
>>> tests/test_surcharges.py
from datetime import date
from decimal import Decimal

import pytest

from parcelrate.errors import RateError
from parcelrate.surcharges import is_peak, surcharges, total_of

JUNE, DECEMBER = date(2025, 6, 2), date(2025, 12, 1)


def test_fuel_is_twelve_per_cent():
    assert surcharges("NG1 5DT", Decimal("5.00"), JUNE) == {"fuel": Decimal("0.6000")}


def test_remote_and_peak():
    named = surcharges("HS2 0XB", Decimal("5.00"), DECEMBER)
    assert total_of(named) == Decimal("3.45")


def test_peak_ends_on_christmas_eve():
    assert is_peak(date(2025, 12, 24)) and not is_peak(date(2025, 12, 25))


def test_unknown_surcharge():
    with pytest.raises(RateError, match="RATE-1214"):
        total_of({"tip": Decimal(1)})
>>> tests/test_api.py
import csv
from pathlib import Path

import pytest

from parcelrate.api import price, prices
from parcelrate.errors import RateError

GOLDEN = Path(__file__).parent / "golden" / "quotes.csv"


def test_price_is_text():
    assert price("NG1 5DT", "1.9") == "4.50"


@pytest.mark.parametrize(("weight", "code"), [("two", "RATE-1201"), ("0", "RATE-1202")])
def test_bad_weight(weight, code):
    with pytest.raises(RateError, match=code):
        price("NG1 5DT", weight)


def test_many_at_once():
    got = prices([{"postcode": "QQ1 1AA", "weight": "1"}, {"postcode": "NG1 5DT", "weight": "1.9"}])
    assert got[0]["error"] == "RATE-1204" and got[1]["price"] == "4.50"


def test_golden_quotes():
    rows = list(csv.DictReader(GOLDEN.open(encoding="utf-8")))
    wrong = [r["id"] for r in rows if price(r["postcode"], r["weight"]) != r["price"]]
    assert wrong == []
>>> docs/pricing.md
# Pricing rules

P-1. The base price is that of the zone and of the first band that holds the weight. A band holds
its upper weight: a parcel of exactly 2.0 kg is in the band up to 2.0 kg.
P-2. Fuel is a share of the base price, the same in all zones. It is added once.
P-3. Remote places pay a fee for each parcel, whatever its weight.
P-4. From 15 November to 24 December a peak fee is added.
P-5. Only the total is rounded, to whole pence; half a penny goes up.
P-6. Customers type postcodes as they like. Small letters and missing spaces are not an error.
P-7. Parcels over 30 kg are freight, and have no price here.
>>> docs/releases.md
# Releases

4.7.1 (2025-05-26): faster cache; the day is part of its key. SHIP-471.
4.7.0 (2025-05-19): fuel of Northern Ireland follows the ferry contract. SHIP-455. Tests of the API
read tests/golden/quotes.csv, signed off by finance.
4.6.3 (2025-04-28): fees for ZE2 and KW17. SHIP-431.
4.6.2 (2025-04-07): errors have codes, RATE-1201 to RATE-1214. SHIP-419.
4.6.0 (2025-03-10): tariff_2025.csv in place of the spreadsheet. SHIP-402, SHIP-405.
"""


def files() -> dict[str, str]:
    """The project before the run begins: each path with its text."""
    parts = FILES.removeprefix(">>> ").split("\n>>> ")
    written = {
        path: text + "\n" for path, text in (part.rstrip("\n").split("\n", 1) for part in parts)
    }
    tables = {
        "data/depots.csv": depots(),
        "data/tariff_2025.csv": tariff(),
        "tests/golden/quotes.csv": golden(),
    }
    return dict(sorted({**written, **tables}.items()))
