"""The arithmetic explorer's buttons: one for each claim of the lesson."""

from __future__ import annotations

from dataclasses import replace

from course_lib.arithmetic import share
from course_lib.views.arithmetic_scene import (
    SHOWN,
    ArithmeticState,
    RunScene,
    first_run_state,
)
from course_lib.views.explorer import Preset


def model_presets() -> list[Preset[ArithmeticState]]:
    """The buttons of the model: the document's figures, and what it leaves out."""
    start = ArithmeticState()
    long = replace(start, steps=100, step=100)
    price = replace(start, shown=SHOWN[2])
    return [
        Preset(
            "Nothing managed",
            "Step 40 reads 33,200 tokens, and all 40 together 704,000: the curve climbs to the end.",
            replace(start, focus="unmanaged"),
        ),
        Preset(
            "A window of ten halves it",
            "Ten steps as before, then 10,000 tokens at each: 356,000 in all, 51 % of 704,000.",
            start,
        ),
        Preset(
            "A summary every ten: 39 %",
            "272,000 tokens, fewer than the window, and the old steps are condensed, not gone.",
            replace(start, focus="rolling summary"),
        ),
        Preset(
            "Less at the source: 61 %",
            "Results of 600 tokens cut to 250: nothing to manage, nothing lost, 431,000 tokens.",
            replace(start, focus="trim at source"),
        ),
        Preset(
            "At 100 steps: 23 %",
            "The longer the run, the more a window saves: 956,000 of 4,160,000 tokens.",
            long,
        ),
        Preset(
            "Short run: nothing to gain",
            "Ten steps fit in the window, and no summary is due: both read what doing nothing reads.",
            replace(start, steps=10, step=10),
        ),
        Preset(
            "Notes without a cap",
            "200 tokens a step, never capped: at step 100 the notes are 19,800 tokens, a second history "
            "bigger than the window beside them.",
            replace(long, focus="pinned notes", note=200, cap=0),
        ),
        Preset(
            "Compact on every step",
            "A fifth of the tokens, but 39 summary calls and a cache that never holds: it costs more "
            "than every ten steps, and more than doing nothing.",
            replace(price, focus="rolling summary", every=1),
        ),
        Preset(
            "What the cache changes",
            "Half the tokens at three times the price: a full window moves on every step, so the cache "
            "serves only what is fixed.",
            price,
        ),
    ]


def run_presets(scene: RunScene) -> list[Preset[ArithmeticState]]:
    """The buttons of a recorded run; their figures come from its replays."""
    start = first_run_state(scene)
    states = {name: replace(start, focus=name) for name in ("unmanaged", *RUN_BUTTONS)}
    price = replace(start, shown=SHOWN[2])
    return [
        Preset(
            "Nothing managed",
            f"{scene.focus(states['unmanaged']).total:,} tokens, {scene.fixed:,} of them read at every "
            "step before anything has happened.",
            states["unmanaged"],
        ),
        *(
            Preset(name, f"{_part(scene, states[focus])}. {sentence}", states[focus])
            for focus, (name, sentence) in RUN_BUTTONS.items()
        ),
        Preset(
            "What the cache changes",
            f"A window of ten: {_part(scene, price)}, and {_price(scene, price)} of its price.",
            price,
        ),
    ]


RUN_BUTTONS = {
    "sliding window": (
        "A window of ten",
        "The newest ten steps stay, and all before them is gone.",
    ),
    "rolling summary": ("A summary every ten", "A note has a token for each ten that it replaces."),
    "masking": ("Masking keeps three", "Calls stay, older results become a line each."),
    "trim at source": ("Less at the source", "Of each result the first 250 tokens."),
}


def _part(scene: RunScene, state: ArithmeticState) -> str:
    base = scene.techniques(state)[0]
    return f"{share(scene.focus(state).total, base.total or 1):.0%} of the tokens of doing nothing"


def _price(scene: RunScene, state: ArithmeticState) -> str:
    base = scene.cost(scene.techniques(state)[0], state)
    return f"{scene.cost(scene.focus(state), state) / (base or 1):.0%}"
