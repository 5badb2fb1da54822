"""The tables and logs of the coding run, made by plain functions, the same each time."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from itertools import count


def _parts(text: str) -> list[str]:
    return text.split("|")


ZONES = [f"Z{n}" for n in range(1, 10)]
WEIGHTS = _parts("0.5|1|2|3|4|5|6|7|8|9|10|12|14|16|18|20|22.5|25|27.5|30")
GOLDEN_WEIGHTS = _parts("0.4|1.9|2.0|7.3|12.0|18.4|29.9|30.0")
POSTCODES = _parts(
    "NG1 5DT|SW1A 2AA|LS6 2AB|RH10 1HS|BS8 1TH|EH3 9QG|BT7 1NN|IM1 1AA|HS2 0XB|CV4 7AL|N1 9GU|YO10 5DD|"
    "TN24 0SA|EX4 4QJ|G12 8QQ|BT48 7JL|GY1 1FH|KW17 2QG|DE22 1GB|MK9 3XS|HU5 2NN|PO1 3AH|TR21 0LW|PA78 6SY"
)
ZONE_OF = {postcode: ZONES[n % len(ZONES)] for n, postcode in enumerate(POSTCODES)}
REMOTE = ("HS2 ", "KW17", "TR21", "PA78")  # of the postcodes above


def tariff() -> str:
    """Nine zones of twenty bands."""
    rows = [f"{zone},{weight},{_base(zone, weight)}" for zone in ZONES for weight in WEIGHTS]
    return "\n".join(["zone,up_to_kg,price", *rows]) + "\n"


def _base(zone: str, weight: str) -> Decimal:
    place, band = ZONES.index(zone), WEIGHTS.index(weight)
    return Decimal(298 + 52 * band + 83 * place + (band * place * 7) % 23) / 100


def golden() -> str:
    """Prices as the rules want them, signed off by finance."""
    numbers, rows = count(1), ["id,postcode,weight,price"]
    for n, postcode in enumerate(POSTCODES):
        for weight in GOLDEN_WEIGHTS[n % 2 :: 2]:
            price = right_price(postcode, weight)
            rows.append(f"G-{next(numbers):03d},{postcode},{weight},{price}")
    return "\n".join(rows) + "\n"


def right_price(postcode: str, weight: str) -> Decimal:
    """What the rules say, worked out apart from the package's own code."""
    band = next(up_to for up_to in WEIGHTS if Decimal(weight) <= Decimal(up_to))
    exact = _base(ZONE_OF[postcode], band) * Decimal("1.12")
    exact += Decimal("2.50") if postcode.startswith(REMOTE) else 0
    return exact.quantize(Decimal("0.01"), ROUND_HALF_UP)


def depots() -> str:
    """Where parcels are sorted; nothing in the run depends on it."""
    towns = _parts(
        "Corby|Thame|Selby|Redhill|Yate|Stirling|Newry|Douglas|Wick|Crewe|Ely|Goole|Hythe|Truro"
    )
    rows = [
        f"D-{310 + 7 * n},{town} {side},{48 + n * 13 % 60}.{n * 37 % 90 + 10},{4 + n % 3}:{n * 5 % 6}0,"
        f"{900 + n * 271 % 4000},{(n * 17) % 9 + 2} docks,{('rail', 'road', 'ferry')[n % 3]}"
        for n, (side, town) in enumerate((s, t) for s in ("north", "south", "hub") for t in towns)
    ]
    return "\n".join(["depot,name,grid,opens,parcels_an_hour,docks,linehaul", *rows]) + "\n"


def log(code: str, day: str, rows: int) -> str:
    """The lines of a service's log with one code, from one day."""
    shown = _TYPED if code == "RATE-1204" else _HEAVY if code == "RATE-1207" else _ODD
    lines = [f"{rows} lines with {code} on {day}"]
    for n in range(rows):
        seed = n * 7919 + int(code[-4:]) * 31 + int(day[-2:]) * 104_729
        clock = f"{6 + n * 14 // rows:02d}:{seed % 60:02d}:{seed * 7 % 60:02d}"
        what = shown[(seed // 3) % len(shown)]
        client = ("checkout", "desk", "returns", "checkout")[seed % 4]
        lines.append(
            f"{day}T{clock}Z parcelrate-{1 + seed % 3} req-{seed * 2_654_435_761 % 16**6:06x} "
            f"client={client} {what} code={code} took={2 + seed % 17}ms"
        )
    return "\n".join(lines)


_TYPED = _parts(
    "postcode='bt7 1nn' weight=2.0|postcode='ls62ab' weight=1.2|postcode='Sw1A 2aa' weight=0.4|"
    "postcode='hs2 0xb' weight=7.3"
)
_HEAVY = _parts(
    "postcode='NG1 5DT' weight=30.0|postcode='BT48 7JL' weight=30.0|postcode='EX4 4QJ' weight=30|"
    "postcode='YO10 5DD' weight=30.00"
)
_ODD = _parts(
    "postcode='EH3 9QG' weight='2,5'|postcode='SA1 3SN' weight='900 g'|postcode='DL3 7TJ' weight='-'|"
    "postcode='CB2 3QZ' weight=0|postcode='TQ1 2BG' weight='1kg'"
)
