"""The pages and search results of the research session, written by plain code from a seed.

All houses, firms, sources and figures are made up. Long pages are what they are on the web: a
few sentences, a long table of readings, and what readers wrote below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Cells = tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A page that the agent fetches: what it says, and how many rows its table has."""

    site: str
    slug: str
    title: str
    published: str
    finding: str
    lead: str
    columns: str
    rows: int
    row: Callable[[Random, int], Cells]

    @property
    def url(self) -> str:
        """Its address. No site under .example exists."""
        return f"https://{self.site}.example/{self.slug}"


def _reading(rng: Random, i: int) -> Cells:
    flow = rng.uniform(41, 57)
    heat, cop = rng.randint(610, 2190), 5.65 - 0.05 * flow + rng.uniform(-0.1, 0.1)
    month = ("Oct", "Nov", "Dec", "Jan", "Feb", "Mar", "Apr")[i % 7]
    used = f"{heat / cop:,.0f} kWh"
    return f"H{i // 7 + 1:02d}", month, f"{flow:.1f} °C", f"{heat:,} kWh", used, f"{cop:.2f}"


def _room(rng: Random, i: int) -> Cells:
    parts = rng.uniform(150, 760), rng.uniform(60, 300), rng.uniform(80, 350)
    watts = [f"{watt:,.0f} W" for watt in (*parts, sum(parts))]
    return f"no. {2 * (i // 8) + 3}", ROOMS[i % 8], *watts


def _radiator(rng: Random, i: int) -> Cells:
    need, gives = rng.randint(380, 1450), rng.randint(350, 1720)
    verdict = "warm enough" if gives >= need else f"short by {need - gives} W"
    size = f"{rng.choice([450, 600, 750])} x {rng.randrange(500, 1700, 100)} mm"
    kind = rng.choice(RADIATORS)
    return f"R{i + 1:03d}", kind, size, f"needs {need} W", f"gives {gives} W at 45 °C", verdict


def _moisture(rng: Random, i: int) -> Cells:
    depth, year, week = (40, 60, 80, 100)[i % 4], 2024 + i // 208, i // 4 % 52 + 1
    humid = 12.5 + 0.11 * depth + rng.uniform(-0.8, 0.8)
    place = f"joist {rng.randint(1, 9)}, {rng.choice(WALLS)} wall"
    degrees = f"{rng.uniform(6, 19):.1f} °C"
    return f"{year}-W{week:02d}", f"{depth} mm", place, f"{humid:.1f} %", degrees


def _measure(rng: Random, i: int) -> Cells:
    before, work = rng.randint(11200, 18900), rng.choice(MEASURES)
    after = before * rng.uniform(0.90, 0.99)
    price = f"£{rng.randrange(90, 1480, 5):,}"
    return f"case {i + 101}", work, price, f"{before:,} kWh", f"{after:,.0f} kWh"


def _noise(rng: Random, i: int) -> Cells:
    day, hour = 2 + i // 24, i % 24
    level = 34 + 5 * (6 <= hour <= 9) + rng.uniform(-2.0, 2.9)
    outside, fan = f"{rng.uniform(-4, 9):.1f} °C", f"fan {rng.randint(22, 88)} %"
    return f"2025-02-{day:02d} {hour:02d}:00", f"{level:.1f} dB", outside, fan


def _works(rng: Random, i: int) -> Cells:
    order = " > ".join(rng.sample(["flow", "loft", "radiators", "pump", "floor"], 4))
    before, after = rng.randint(640, 1490), rng.randint(560, 1310)
    return f"house {i + 1}", order, f"£{before:,} a year before", f"£{after:,} after"


def _quote(rng: Random, i: int) -> Cells:
    pump, labour = rng.randrange(4100, 6900, 50), rng.randrange(3900, 6150, 50)
    tank = rng.randrange(900, 1900, 20)
    size = f"{rng.choice([5, 6, 7, 8])} kW"
    return f"Q{i + 1:02d}", size, f"unit £{pump:,}", f"labour £{labour:,}", f"cylinder £{tank:,}"


def _tariff(rng: Random, i: int) -> Cells:
    rate, standing, night = rng.uniform(24.7, 27.8), rng.uniform(44, 61), rng.uniform(9, 17)
    prices = f"{rate:.1f} p", f"{standing:.1f} p a day", f"night {night:.1f} p"
    return REGIONS[i % 8], f"tariff {chr(65 + i // 8)}", *prices


def _tank(rng: Random, i: int) -> Cells:
    top, heat = f"top {rng.uniform(46, 52):.1f} °C", f"{rng.randint(22, 61)} kWh"
    return f"tank {i % 6 + 1}", f"week {i // 6 + 1}", top, heat, "clear"


def _service(rng: Random, i: int) -> Cells:
    price, minutes = f"£{rng.randrange(95, 240, 5)}", f"{rng.randint(35, 130)} min"
    return f"visit {i + 1}", f"year {rng.randint(1, 9)}", rng.choice(VISITS), price, minutes


ROOMS = (
    *("living room", "kitchen", "hall", "bedroom 1"),
    *("bedroom 2", "bathroom", "landing", "box room"),
)
WALLS = ("north", "east", "south", "west")
RADIATORS = ("single panel", "double panel", "double convector", "column, cast iron", "towel rail")
MEASURES = ("loft to 300 mm", "draught strips", "chimney balloon", "floor edges", "hatch and pipes")
REGIONS = ("North", "South", "East", "West", "Midlands", "Coast", "Borders", "Capital")
VISITS = ("filter cleaned", "fan bearing", "pressure topped up", "sensor replaced", "nothing found")

PAGES = (
    Page(
        "old-house-energy",
        "terrace-field-trial",
        "Air-source heat pumps in 34 solid-wall terraces",
        "2025-06-11",
        "seasonal COP 3.4 at a flow of 45 °C and 2.9 at 55 °C",
        "We followed 34 terraced houses, built between 1890 and 1931, through one heating "
        "season. Walls were solid in all of them, and none was insulated. Two settings were "
        "compared in each house. At a flow of 45 °C the seasonal COP was 3.4; at 55 °C it was "
        "2.9. The house mattered less than the setting.",
        "house | month | mean flow | heat | electricity | COP",
        238,
        _reading,
    ),
    Page(
        "northmoor-homes",
        "heat-loss-1928",
        "Heat loss of a row of 1928 houses, room by room",
        "2024-11-02",
        "a 1928 mid-terrace needs 14,200 kWh of heat a year and 6.8 kW on the coldest day",
        "Northmoor owns 26 houses of one row and measured each room. The mid-terrace house "
        "needs 14,200 kWh of heat in a normal year, and 6.8 kW at −3 °C outside. End houses "
        "need a third more. Air through floors and chimneys is a quarter of the loss, which "
        "surprised the surveyors.",
        "house | room | walls | windows | air | total",
        208,
        _room,
    ),
    Page(
        "warm-radiators",
        "survey-45",
        "Will your radiators do at 45 °C? A survey of 180",
        "2025-01-20",
        "two of seven radiators must be replaced to keep the house warm at 45 °C",
        "In a house like yours there are seven radiators. Five of them were bought too big in "
        "the first place. In the middle house of our survey two of seven have to be replaced "
        "before 45 °C is enough. Bathrooms and north rooms come first. Pipes of 10 mm were no "
        "obstacle in nine houses of ten.",
        "radiator | kind | size | need | output | verdict",
        180,
        _radiator,
    ),
    Page(
        "brickwork-journal",
        "joist-ends",
        "Moisture at joist ends behind internal insulation",
        "2025-09-30",
        "internal insulation over 60 mm kept joist ends above 20 % moisture",
        "Sensors sat at the ends of the floor joists for fifteen months, behind boards of 40, "
        "60, 80 and 100 mm. Behind more than 60 mm the wood stayed above 20 % moisture, where "
        "decay can begin. West walls were worst. The authors advise to leave a wall alone "
        "unless rain is kept off it first.",
        "week | board | place | moisture | temperature",
        260,
        _moisture,
    ),
    Page(
        "draught-index",
        "cheap-measures",
        "What loft and draught work saved in 240 old houses",
        "2024-08-15",
        "loft and draught-proofing cut heat demand by 18 % for £2,350",
        "Loft insulation and draught-proofing, done together, cut heat demand by 18 %. The two "
        "cost £2,350 in the median house. None of it shows from the street, so no consent was "
        "needed in conservation areas. A blower test before and after is worth its £180.",
        "case | work | price | heat before | heat after",
        240,
        _measure,
    ),
    Page(
        "quiet-streets",
        "rear-units",
        "Noise of heat pumps in back yards, hour by hour",
        "2025-03-08",
        "a unit at the back stays under 42 dB at the neighbour's window",
        "The limit is 42 dB, one metre from the neighbour's window. A unit of 7 kW on rubber "
        "feet, three metres from the fence, stayed under it in each hour of ten days. Walls on "
        "three sides added 5 dB. Defrosting at dawn is what neighbours notice.",
        "time | level | outside | fan",
        240,
        _noise,
    ),
    Page(
        "order-of-works",
        "two-hundred-houses",
        "In what order did they do it? 200 houses, five years on",
        "2025-10-17",
        "houses that lowered the flow temperature first paid 11 % less to run",
        "Of two hundred houses, some insulated first and some turned the old boiler down first "
        "to see what the radiators could do. The second group, flow temperature first, paid 11 "
        "% less to run in the end. They had learned which rooms were short before they spent "
        "anything. Regret was highest where walls came first.",
        "house | order of works | before | after",
        200,
        _works,
    ),
    Page(
        "installer-quotes",
        "spring-2026",
        "150 quotes for a heat pump, with every line",
        "2026-02-27",
        "the median quote is £11,900 before the grant of £7,500",
        "We collected 150 quotes for terraced houses. The median is £11,900 before the grant, "
        "which is £7,500. A buffer tank at £640 was in half of them and needed in few. "
        "Scaffolding is never needed for a unit on the ground.",
        "quote | size | pump | labour | cylinder",
        150,
        _quote,
    ),
    Page(
        "tariff-watch",
        "april-2026",
        "Unit rates for heat pump homes from 1 April 2026",
        "2026-03-12",
        "the best heat pump tariff is 24.7 p for a kWh",
        "Sixteen suppliers have a tariff for homes with a pump. The best, without a night "
        "rate, is 24.7 p for a kWh. Its standing charge is £196.40 a year. Night rates pay only "
        "with a tank of 250 litres or more.",
        "region | tariff | unit rate | standing charge | night",
        128,
        _tariff,
    ),
    Page(
        "hot-water-lab",
        "fifty-degrees",
        "Hot water at 50 °C: half a year in six tanks",
        "2025-05-05",
        "a tank at 50 °C with a weekly hour at 60 °C stayed clear",
        "Six tanks ran for 26 weeks at 50 °C with one hour a week at 60 °C. All stayed clear. "
        "The weekly hour takes 96 kWh a year. A family of four uses 2,180 kWh of heat for hot "
        "water in a year.",
        "tank | week | temperature | heat | sample",
        156,
        _tank,
    ),
    Page(
        "pump-service-log",
        "nine-years",
        "Nine years of service visits",
        "2025-12-01",
        "servicing costs £165 a year",
        "A service once a year costs £165 on average, call-outs included. Pumps that were "
        "cleaned in autumn had half the faults. The first part to go is the fan, in year 7.",
        "visit | age | work | price | time",
        126,
        _service,
    ),
)

OPENINGS = (
    "We are in a 1926 end house.", "Same row, other side of the hill.", "I rent, so take this with care.",
    "Three winters in now.", "My father built radiators for a living.", "We did it the other way round.",
    "A question to the authors.", "Thank you for printing the table.", "Our surveyor disagreed.",
    "I measured this myself.", "We nearly gave up.", "For what it is worth.", "Second season here.",
    "We live above a shop.", "The street has eleven pumps by now.", "I was against it.",
)  # fmt: skip
BODIES = (
    "The upstairs rooms were never the trouble; the hall was, until the letter box was sealed.",
    "At {t} °C the front room took an hour longer to warm, and after that nobody noticed.",
    "Our bill for {m} came to £{p}, which is £{q} less than the year before.",
    "The plumber wanted to swap every pipe. We kept the old ones and lost nothing.",
    "Why is row {n} so far from its neighbours? A window left open, I suppose.",
    "Turning the boiler down to {t} °C first cost nothing and told us most of what we know.",
    "The cylinder went where the wardrobe was, and that was the only quarrel.",
    "Nobody told us that the meter would have to be moved, for £{p}.",
    "Night setback saved £{q} in {m} and made the mornings miserable.",
    "We had two quotes, £{p} apart, for the same pump.",
    "The council answered after {n} days: nothing at the front, anything at the back.",
    "Damp came with the new windows, and went when we opened the old vents.",
    "Cast iron holds the heat; I would keep such radiators whatever a table says.",
    "With the doors open the {n} W that were missing came from the next room.",
    "In {m} the fan iced up twice, and a kettle of water was all it took.",
    "Our house is a storey higher, so I would add {n} W to each room.",
)  # fmt: skip
CLOSINGS = (
    "I'd do it again.", "Ask to see the readings.", "No regrets so far.", "Measure first.",
    "Your wall may differ.", "Wish we had known.", "It is quieter than the fridge.", "More in spring.",
    "Corrections welcome.", "We still have the old boiler in the shed.", "That is all.",
    "Mind the loft hatch.",
)  # fmt: skip
WRITERS = (
    "Ada B.", "Tom K.", "R. Osei", "Lin", "Marta W.", "J. Pryce", "Noor", "Hugh D.", "Ines", "P. Stahl",
)  # fmt: skip
SUBJECTS = (
    "Heat pumps", "Solid walls", "Old radiators", "Loft insulation", "Brick terraces", "Gas boilers",
    "Draughts", "Hot water tanks", "Electricity tariffs", "Damp walls", "Back yards", "Floor heating",
)  # fmt: skip
ANGLES = (
    "in Norway", "for landlords", "explained in a minute", "in new flats", "on a farm", "and the law",
    "(price list)", "(2019 edition)", "before you buy", "from A to Z", "in my street", "for schools",
)  # fmt: skip
MONTHS = ("October", "November", "December", "January", "February", "March")


def _said(rng: Random) -> str:
    """Two of the things that people say about their houses, with figures of their own."""
    return " ".join(rng.sample(BODIES, 2)).format(
        t=rng.randint(40, 55),
        m=rng.choice(MONTHS),
        p=rng.randint(61, 940),
        q=rng.randint(12, 180),
        n=rng.randint(24, 190),
    )


def _comment(rng: Random) -> str:
    return f"{rng.choice(WRITERS)}: {rng.choice(OPENINGS)} {_said(rng)} {rng.choice(CLOSINGS)}"


def page(number: int) -> dict[str, str]:
    """What fetching a page brings: the marked finding, and the text with its table."""
    it, rng = PAGES[number - 1], Random(number)
    table = [" | ".join(it.row(rng, i)) for i in range(it.rows)]
    comments = [_comment(rng) for _ in range(max(4, it.rows // 14))]
    text = "\n".join([it.lead, "", it.columns, *table, "", "Comments", *comments])
    return {
        "source": f"S{number}",
        "title": it.title,
        "url": it.url,
        "published": it.published,
        "finding": it.finding,
        "text": text,
    }


def hits(query: str, picked: Sequence[int]) -> dict[str, Any]:
    """A list of search results: those that will be read stand among many that won't."""
    rng = Random(query)
    found = [_other_hit(rng) for _ in range(18)]
    for number in picked:
        it = PAGES[number - 1]
        snippet = it.lead.split(". ")[0] + "."
        hit = {"title": it.title, "url": it.url, "published": it.published, "snippet": snippet}
        found.insert(rng.randrange(8), hit)
    return {"query": query, "results": found}


def _other_hit(rng: Random) -> dict[str, str]:
    """A search result that nobody opens: a leaflet, a thread, a page that sells something."""
    title = f"{rng.choice(SUBJECTS)} {rng.choice(ANGLES)}"
    site = rng.choice(("forum", "council", "trade-fair", "homepage", "evening-news", "library"))
    day = f"20{rng.randint(12, 25)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
    url = f"https://{site}-{rng.randint(2, 99)}.example/{title.split()[0].lower()}-{rng.randint(1000, 9999)}"
    return {"title": title, "url": url, "published": day, "snippet": _said(rng)}
