"""What `import course_lib` costs beyond the bare interpreter, each time in a new process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measure import interleaved, table, times

HOME = Path(__file__).parents[1]
IMPORTS = ("course_lib", "json, re, dataclasses", "tiktoken")
BARE = "the bare interpreter"


def main() -> int:
    """Measure and print."""
    contenders = {BARE: partial(_ready, "")}
    contenders |= {f"import {names}": partial(_ready, f"import {names}") for names in IMPORTS}
    measured = interleaved(contenders, allowance=6)
    bare = measured[BARE].seconds
    rows = [
        [name, times(one.seconds / bare), f"{(one.seconds - bare) * 1000:.0f} ms"]
        for name, one in measured.items()
    ]
    print(table(("a new process", "time", "beyond bare"), rows))
    return 0


def _ready(code: str) -> Callable[[], object]:
    command = [sys.executable, "-c", code]
    return partial(subprocess.run, command, cwd=HOME, check=True)


if __name__ == "__main__":
    sys.exit(main())
