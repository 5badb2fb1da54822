"""Speed, as ratios that any machine should reproduce.

    python -m benchmarks                      all of them, one after the other
    python -m benchmarks trim_against_peers   one
    python -m benchmarks --list               what there is

The peers are in an extra of their own: pip install ".[peers]"
"""

from __future__ import annotations

import sys
from importlib import import_module

BENCHMARKS = {
    "trim_against_peers": "one trim, beside those of other libraries and two floors (some minutes)",
    "agent_loop": "1,000 steps of an agent with a trim before each call",
    "replays": "the replay of 1,000 steps under each policy",
    "own_run": "a run of 10,000 messages from its file: analysed, planned, drawn (a minute or two)",
    "start_up": "what `import course_lib` costs",
    "explorer_move": "what a move of a slider costs in the kernel",
    "browser_latency": "from a key on a slider to the picture, in a real browser",
}


def main(arguments: list[str]) -> int:
    """Run all benchmarks, or those that are named; the highest exit code of them."""
    unknown = [name for name in arguments if name not in BENCHMARKS]
    if unknown:
        width = max(map(len, BENCHMARKS))
        print("\n".join(f"{name:{width}}  {what}" for name, what in BENCHMARKS.items()))
        return 0 if unknown == ["--list"] else 2
    codes = [0]
    for name in arguments or BENCHMARKS:
        print(f"\n== {name}: {BENCHMARKS[name]}\n", flush=True)
        codes.append(import_module(f"benchmarks.{name}").main())
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
