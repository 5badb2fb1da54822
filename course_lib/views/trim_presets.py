"""The trimming explorer's first state, and its buttons: one for each claim of the lesson."""

from __future__ import annotations

from dataclasses import replace

from course_lib.caching import MINIMUM
from course_lib.views.explorer import Preset
from course_lib.views.trim_scene import POLICIES, TrimScene, TrimState


def first_state(scene: TrimScene) -> TrimState:
    """High and low water with a summary, the first finding pinned, most of the way through."""
    low, high, step = scene.budget_range
    biggest = max(row.read for row in scene.unmanaged.rows)
    budget = min(max(low, round(0.62 * biggest / step) * step), high)
    pins = frozenset(f.group for f in scene.findings[:1])
    at = max(1, round(0.8 * scene.steps))
    return TrimState(POLICIES[2], at, budget, summary=True, pins=pins)


def presets(scene: TrimScene) -> list[Preset[TrimState]]:
    """The buttons above the picture. Those about findings need a run that has some."""
    start = replace(first_state(scene), pins=frozenset(), summary=False, step=scene.steps)
    found = [
        Preset(
            "The finding is lost",
            "Trimming alone: once the first finding's group is dropped, the model can't know it.",
            start,
        ),
        Preset(
            "A summary keeps it",
            "The dropped groups leave a note of a few words, and the finding is in it.",
            replace(start, summary=True),
        ),
        Preset(
            "A pin keeps it",
            "No summary, but the finding's group is pinned: it stays word for word.",
            replace(start, pins=frozenset(f.group for f in scene.findings[:1])),
        ),
    ]
    # A run too short for the prompt cache has nothing to lose there.
    cost = ", and the cached share falls." if start.budget * 0.6 > MINIMUM else "."
    return [
        Preset(
            "Append all",
            "Nothing is managed: each call reads all that came before, and the curve climbs to the end.",
            replace(start, policy=POLICIES[0]),
        ),
        *(found if scene.findings else []),
        Preset(
            "Trim on every step",
            "Low water meets high water: a little goes each time" + cost,
            replace(start, high=80, low=80),
        ),
        Preset(
            "Trim rarely",
            "The marks stand apart: few trims, and in between the list only grows at its end.",
            start,
        ),
    ]
