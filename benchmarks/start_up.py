"""What `import course_lib` costs beyond the bare interpreter, each time in a new process.

From compiled files, as at every start but the first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measure import interleaved, table, times

HOME = Path(__file__).parents[1]
IMPORTS = ("course_lib", "json, re, dataclasses", "tiktoken")
BARE = "the bare interpreter"


def main() -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as compiled:
        contenders = {BARE: partial(_ready, "", compiled)}
        for names in IMPORTS:
            contenders[f"import {names}"] = partial(_ready, f"import {names}", compiled)
        for ready in contenders.values():
            ready()()
        measured = interleaved(contenders, allowance=5)
    bare = measured[BARE].seconds
    rows = [
        [name, times(one.seconds / bare), f"{(one.seconds - bare) * 1000:.0f} ms"]
        for name, one in measured.items()
    ]
    print(table(("a new process", "time", "beyond bare"), rows))
    return 0


def _ready(code: str, compiled: str) -> Callable[[], object]:
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-X", f"pycache_prefix={compiled}", "-c", code]
    return partial(subprocess.run, command, cwd=HOME, env=settings, check=True)


if __name__ == "__main__":
    sys.exit(main())
