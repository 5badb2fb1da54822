"""The replay of a run of 1,000 steps under each policy, with all counts still to be made.

The floor is to tokenise each message once.
"""

from __future__ import annotations

import sys
from functools import partial

from benchmarks.measure import fresh, interleaved, table, times, tokenise
from benchmarks.transcripts import steps
from course_lib import append_all, high_low, replay, sliding_window
from course_lib.summaries import call_log
from course_lib.tokens import encoding
from course_lib.trimming import mask_results

STEPS = 1_000
BUDGET = 8_000
WINDOW = 30  # groups, about as many as fit into the budget

POLICIES = {
    "append_all": append_all(),
    "sliding_window": sliding_window(WINDOW),
    "sliding_window, summary": sliding_window(WINDOW, call_log),
    "high_low": high_low(BUDGET),
    "high_low, summary": high_low(BUDGET, summarize=call_log),
    "mask_results": mask_results(),
}


def main() -> int:
    """Measure and print."""
    encoding()
    head, groups = steps(STEPS)
    messages = sum(groups, head)
    contenders = {"floor": lambda: partial(tokenise, fresh(messages))} | {
        name: lambda policy=policy: partial(replay, fresh(messages), policy)
        for name, policy in POLICIES.items()
    }
    measured = interleaved(contenders)
    floor = measured["floor"].seconds
    rows = []
    for name, (seconds, result) in measured.items():
        trims = "" if name == "floor" else f"{result.trims:,}"
        rows.append([name, times(seconds / floor), trims])
    print(table((f"replay of {STEPS:,} steps", "time", "changes"), rows))
    print(f"(time 1 is to tokenise each message once, {floor * 1000:.0f} ms here)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
