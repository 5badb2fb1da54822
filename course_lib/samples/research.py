"""The research session: twenty turns on heat pumps in old houses, about 80,000 tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from course_lib.messages import Message, assistant, system, tool_call, tool_result, user
from course_lib.samples.research_pages import hits, page


def research_session() -> list[Message]:
    """Twenty turns, each a step of the agent with its calls and results, and then the answer.

    Turns 1 to 12 read widely and end in a decision; 13 to 20 work on the chosen angle. Fetched
    pages are JSON with a `source` and a `finding`, which the page's text bears out.
    """
    messages = [system(INSTRUCTIONS), user(TASK)]
    for turn, (thought, calls) in enumerate(_steps(), 1):
        ids = [f"t{turn}" if n == 0 else f"t{turn}{'abc'[n]}" for n in range(len(calls))]
        asked = [
            tool_call(id, name, **arguments)
            for id, (name, arguments, _) in zip(ids, calls, strict=True)
        ]
        messages.append(assistant(thought, asked))
        for id, (_, _, result) in zip(ids, calls, strict=True):
            # Plain £ and °, as a real tool would send them: an escape costs several tokens.
            messages.append(tool_result(id, json.dumps(result, ensure_ascii=False)))
    return [*messages, assistant(ANSWER)]


INSTRUCTIONS = (
    "You are a research assistant for people who own old houses. Search, read the pages that "
    "look best, and write for a reader who is no engineer. Cite each source by its number, "
    "such as [S1]. Copy figures exactly, with their units. Say what is measured and what is "
    "estimated. Keep one plan and one draft, and write a new version when either changes. "
    "Never contact an installer."
)

TASK = (
    "Should we replace our gas boiler by a heat pump? The house is a mid-terrace of 1928 with "
    "solid brick walls. What must be done to it first, what would an air-source pump cost to "
    "run, and in what order should we do things? The front must not change: the street is a "
    "conservation area. Please write a recommendation of two pages at most, with sources."
)

ANSWER = (
    "Recommendation: yes, and the order matters. First draught-proof and insulate the loft: "
    "heat demand falls by 18 % for £2,350 [S5]. Then replace two of the seven radiators, so "
    "that the house is warm at 45 °C [S3]; at that temperature pumps in such houses reach a "
    "seasonal COP of 3.4, against 2.9 at 55 °C [S1]. Then fit the pump, at the back, where it "
    "stays under the limit of 42 dB [S6]; the median quote is £11,900 before the grant of "
    "£7,500 [S8]. Heating costs about £1,042 a year at the best tariff [S9], and servicing "
    "£165 a year [S11]. Leave the walls as they are for now: internal insulation over 60 mm "
    "kept joist ends damp [S4]. Houses that lowered the flow temperature first paid 11 % less "
    "to run in the end [S7]."
)


# ---- the twenty turns -----------------------------------------------------------------------

Step = tuple[str, list[tuple[str, dict[str, str], Any]]]


def _fetch(number: int, thought: str) -> Step:
    result = page(number)
    return thought, [("fetch_page", {"url": result["url"]}, result)]


def _search(thought: str, **queries: Sequence[int]) -> Step:
    texts = [(words.replace("_", " "), picked) for words, picked in queries.items()]
    return thought, [("web_search", {"query": q}, hits(q, picked)) for q, picked in texts]


def _write(tool: str, thought: str, **arguments: str) -> Step:
    return thought, [(tool, arguments, {"saved": tool.removeprefix("write_"), **_only(arguments)})]


def _only(arguments: dict[str, str]) -> dict[str, str]:
    return {"version": arguments["version"]} if "version" in arguments else {}


def _calculate(thought: str, expression: str, result: str) -> Step:
    return thought, [("calculate", {"expression": expression}, {"result": result})]


def _steps() -> Iterator[Step]:
    yield _write(
        "write_plan",
        "I'll write down what has to be found out, then search.",
        version="1",
        plan="1 how well pumps do in solid-wall terraces; 2 how much heat such a house needs; "
        "3 radiators; 4 walls, without touching the front; 5 cheap measures; 6 noise; 7 the "
        "order; 8 prices; 9 write",
    )
    yield _search(
        "Two questions can be asked at once: how well pumps do, and how much heat is needed.",
        heat_pump_field_trial_in_solid_wall_terraces=(1, 3),
        heat_loss_1928_mid_terrace_measured=(2,),
    )
    yield _fetch(
        1, "The field trial has measured values from houses of the right age. I read it first."
    )
    yield _fetch(2, "Next the heat loss. A row of 1928 houses is as near to this one as it gets.")
    yield _fetch(3, "If 45 °C is worth so much [S1], the radiators decide. There is a survey.")
    yield _search(
        "Walls: what happens behind internal insulation, since the front can't be touched?",
        internal_insulation_solid_brick_moisture=(4,),
        draught_and_loft_savings_old_house=(5,),
    )
    yield _fetch(
        4, "Moisture at joist ends is the known risk. This one has fifteen months of readings."
    )
    yield _fetch(
        5, "If walls are risky [S4], the cheap measures matter more. I look at loft and draughts."
    )
    yield _search(
        "Two things are left before I choose: noise at the back, and in what order others worked.",
        heat_pump_noise_back_yard_limit=(6,),
        order_of_works_retrofit_regret=(7,),
    )
    yield _fetch(6, "The unit has to stand at the back. How loud is it there?")
    yield _fetch(7, "And the order: two hundred houses, five years later.")
    yield _write(
        "decide",
        "I have enough to choose. Each finding points the same way [S1] [S3] [S5] [S7].",
        decision="lower the flow temperature first, then loft and draughts, two radiators, and "
        "the pump last; leave the walls",
        because="S7: 11 % less to run; S1: 3.4 instead of 2.9; S4: walls are a risk",
    )
    yield _write(
        "write_plan",
        "The first plan is done with. The new one follows the decision.",
        version="2",
        plan="A prices: quotes and tariffs; B draft sections 1 and 2; C hot water; D running "
        "cost; E servicing; F answer",
    )
    yield _search(
        "Now prices: what installers ask, and what a kWh costs from April.",
        heat_pump_quotes_2026_terrace=(8, 11),
        heat_pump_tariff_unit_rate_2026=(9, 10),
    )
    yield _fetch(8, "Quotes with every line are better than an average. I read those.")
    yield _write(
        "write_draft",
        "Sections 1 and 2 can be written: they rest on the first seven sources.",
        version="1",
        text="1. The house. Such a house needs 14,200 kWh of heat a year and 6.8 kW on the "
        "coldest day [S2]. Loft and draught-proofing cut heat demand by 18 % for £2,350 [S5]. "
        "The walls should stay as they are: over 60 mm of internal insulation kept joist ends "
        "above 20 % moisture [S4]. Nothing at the front changes.\n"
        "2. The system. At 45 °C the seasonal COP is 3.4, at 55 °C 2.9 [S1]. Two of seven "
        "radiators must be replaced for that [S3]. At the back the unit stays under 42 dB "
        "[S6]. Lower the flow temperature first: such houses paid 11 % less to run [S7].\n"
        "3. Costs. (to come)",
    )
    yield _fetch(9, "For the running cost I need the unit rate and the standing charge.")
    yield _fetch(10, "Hot water is the other half of the demand. How warm must the tank be?")
    yield _calculate(
        "Demand after the cheap measures, at the lower temperature, and a year's standing charge.",
        "14,200 kWh * 0.82 / 3.4 * 24.7 p + £196.40",
        "£1,042 a year",
    )
    yield _fetch(11, "One line is missing: what servicing costs over the years.")
