"""`python -m course_lib test`: every check of the course that can run on this machine."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from course_lib.setup.environment import ROOT, child_environment

FOLDERS = ("tests", "notebooks", "solutions")
NBVAL = ("--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/nbval.cfg")
# A worker for each core; the cells of a notebook need one kernel, so a file is one worker's. The
# order of files is that of tests/conftest.py.
WORKERS = ("--numprocesses", "auto", "--dist", "loadfile", "--no-loadscope-reorder")


def pytest_arguments(arguments: list[str], root: Path = ROOT) -> list[str]:
    """What pytest is told: all folders that exist, or only the files that were named."""
    named = any((root / each.split("::")[0]).exists() for each in arguments)
    folders = [] if named else [folder for folder in FOLDERS if (root / folder).is_dir()]
    return [*NBVAL, *WORKERS, *folders, *arguments]


def quiet_environment(python: Path, scratch: Path) -> dict[str, str]:
    """Variables that keep the tests off the learner's progress and out of their home.

    What a home holds (settings, start-up files, kernels) can't change a result either.
    """
    places = {
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "jupyter/config",
        "JUPYTER_DATA_DIR": "jupyter/data",
        "JUPYTER_RUNTIME_DIR": "jupyter/runtime",
        "MPLCONFIGDIR": "matplotlib",
    }
    apart = {name: str(scratch / at) for name, at in places.items()}
    # In memory, so that what one notebook's checks record can't change another's output; and the
    # saved outputs are those of the scripted model, whatever model this machine has.
    fixed = {"COURSE_PROGRESS": "memory", "COURSE_MODEL_URL": "", "COURSE_MODEL": ""}
    return child_environment(python) | apart | fixed


def main(arguments: list[str]) -> int:
    """Run pytest and give back its exit code; its closing line is the last one printed."""
    python = Path(sys.executable)  # the command has seen to what it needs
    with tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True) as scratch:
        env = quiet_environment(python, Path(scratch))
        # matplotlib lists the fonts at its first import and warns where that takes long; a
        # notebook's saved output must not depend on it.
        subprocess.run([python, "-c", "import matplotlib.font_manager"], env=env, check=True)
        command = [python, "-m", "pytest", *pytest_arguments(arguments)]
        return subprocess.call(command, cwd=ROOT, env=env)
