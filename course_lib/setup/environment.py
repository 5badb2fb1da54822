"""Which Python the course runs in, and how the project's own `.venv` is made.

Standard library only: this runs before anything is installed. What the course needs stands in
pyproject.toml (the ranges) and in the two lock files made from it (the exact versions).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import deque
from collections.abc import Callable, Iterable
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

Need = Literal["lab", "workshop", "test"]

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
# Each lock file holds every pin of the one before it.
LOCKS: dict[Need, str] = {
    "lab": "requirements.txt",
    "workshop": "requirements-workshop.txt",
    "test": "requirements-test.txt",
}
EXTRAS: dict[Need, tuple[str, ...]] = {
    "lab": (),
    "workshop": ("workshop",),
    "test": ("workshop", "test"),
}
OLDEST = (3, 11)

# Read off pip's downloads on Linux; told to the learner before the wait, so a round figure will do.
MEGABYTES: dict[Need, int] = {"lab": 90, "workshop": 150, "test": 210}

PROBE = (
    "import json, sys, sysconfig;"
    " print(json.dumps([sys.version_info[:2], sysconfig.get_path('purelib')]))"
)


class Requirement(NamedTuple):
    """A package and the versions that will do: `lower` and up, below `upper`."""

    name: str
    lower: str
    upper: str

    @property
    def range(self) -> str:
        """The range as pyproject.toml writes it."""
        return f">={self.lower},<{self.upper}"


class Interpreter(NamedTuple):
    """What an interpreter says of itself; `site` is where its packages go."""

    python: Path
    version: tuple[int, ...]
    site: Path

    @property
    def has_pip(self) -> bool:
        """Whether a whole pip is there: an installer writes RECORD last."""
        return any(self.site.glob("pip-*.dist-info/RECORD"))


def say(sentence: str) -> None:
    """Print a line at once, also where the output is piped."""
    print(sentence, flush=True)


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: "8.1.9" is (8, 1, 9), "5.0rc1" is (5, 0)."""
    leading = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in leading.group().split(".")) if leading else ()


def parse_requirement(text: str) -> Requirement:
    """A line of pyproject.toml, always written as `name>=lower,<upper`.

    Raises `ValueError` for any other form.
    """
    parts = re.fullmatch(r"([\w.-]+)>=([\d.]+),<([\d.]+)", text)
    if not parts:
        raise ValueError(f"pyproject.toml: write {text!r} as name>=lower,<upper")
    return Requirement(*parts.groups())


def requirements(need: Need) -> list[Requirement]:
    """The packages that `lab`, `workshop` or `test` needs, from pyproject.toml."""
    file = ROOT / "pyproject.toml"
    if not file.exists():
        raise SystemExit("Run this in the course's folder, the one that holds pyproject.toml.")
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    extras = (project["optional-dependencies"][name] for name in EXTRAS[need])
    return [parse_requirement(text) for text in chain(project["dependencies"], *extras)]


def fault(requirement: Requirement, version_of: Callable[[str], str] = metadata.version) -> str:
    """What is wrong with an installed package, in words; empty when nothing is."""
    try:
        found = version_of(requirement.name)
    except metadata.PackageNotFoundError:
        found = None
    if not found:  # an interrupted install can leave a package without a version
        return f"{requirement.name} is not installed"
    if numbers(requirement.lower) <= numbers(found) < numbers(requirement.upper):
        return ""
    return f"{requirement.name} is {found}, the course needs {requirement.range}"


def faults(need: Need, version_of: Callable[[str], str] = metadata.version) -> list[str]:
    """What the running interpreter lacks, a phrase for each package."""
    return [words for each in requirements(need) if (words := fault(each, version_of))]


def choose(
    *, in_venv: bool, satisfied: bool, venv_exists: bool
) -> Literal["active", "venv", "make"]:
    """Which environment to use, given where we run and what is there.

    Inside `.venv` itself, being satisfied is not enough: an install that broke off can leave the
    named packages there without what they need in turn, so its stamp decides.
    """
    if satisfied and not in_venv:
        return "active"
    return "venv" if in_venv or venv_exists else "make"


def running_in_venv() -> bool:
    """Whether the running interpreter is the one of the project's `.venv`."""
    return VENV.exists() and Path(sys.prefix).resolve() == VENV.resolve()


def choice(need: Need) -> Literal["active", "venv", "make"]:
    """Which environment to use on this machine, now."""
    return choose(in_venv=running_in_venv(), satisfied=not faults(need), venv_exists=VENV.exists())


def venv_python() -> Path:
    """The interpreter of `.venv`, whether it exists or not."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def probe(python: Path) -> Interpreter | None:
    """Start an interpreter and ask it what it is; None when it does not start."""
    try:
        answer = subprocess.run(
            [python, "-I", "-c", PROBE], capture_output=True, text=True, check=True
        )
        version, site = json.loads(answer.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return None
    return Interpreter(python, tuple(version), Path(site))


def make_venv() -> Interpreter:
    """The interpreter of `.venv`, made or mended first where it is needed."""
    found = probe(venv_python())
    fits = found is not None and found.version >= OLDEST
    if fits and found.has_pip:
        return found
    say("Making .venv, a Python environment for this course alone …")
    if fits:
        forget_unfinished(found.site)
    clear = ["--clear"] if VENV.exists() and not fits else []
    made = subprocess.run(
        [sys.executable, "-m", "venv", *clear, VENV], capture_output=True, text=True
    )
    found = probe(venv_python())
    if made.returncode or found is None:
        raise SystemExit(_venv_failed(made.stdout + made.stderr))
    return found


def forget_unfinished(site: Path) -> None:
    """Let pip install again what it was installing when it was cut off.

    pip takes a package for installed as soon as its METADATA is there, though the files of its
    front end come after that; RECORD comes last.
    """
    for info in site.glob("*.dist-info"):
        if not (info / "RECORD").exists():
            shutil.rmtree(info)


def _venv_failed(output: str) -> str:
    if "ensurepip" in output:
        return (
            "This Python comes without venv. On Debian and Ubuntu, install it with"
            " `sudo apt install python3-venv`, then run the same command again."
        )
    reason = (output.strip().splitlines() or ["no reason given"])[-1]
    return f"Python could not make the folder .venv: {reason}"


def link_course(site: Path) -> None:
    """Make `import course_lib` work from any folder with this interpreter.

    The path is relative, so that the course's folder can be moved or renamed.
    """
    pth = site / "short_term_memory_course.pth"
    line = os.path.relpath(ROOT, site.resolve()) + "\n"
    if not pth.exists() or pth.read_text(encoding="utf-8") != line:
        pth.write_text(line, encoding="utf-8")


def _stamp(site: Path, need: Need) -> Path:
    return site / f"{LOCKS[need]}.installed"


def _digest(need: Need) -> str:
    return hashlib.sha256((ROOT / LOCKS[need]).read_bytes()).hexdigest()


def installed(site: Path, need: Need) -> bool:
    """Whether the lock file as it is now was installed there to the end."""
    stamp = _stamp(site, need)
    return stamp.exists() and stamp.read_text(encoding="utf-8") == _digest(need)


def install(interpreter: Interpreter, need: Need) -> None:
    """Install a lock file with its hashes; the stamp is written only after all went well."""
    say(f"Installing what the course needs (about {MEGABYTES[need]} MB, once) …")
    for each in LOCKS:
        _stamp(interpreter.site, each).unlink(missing_ok=True)
    forget_unfinished(interpreter.site)
    run_pip(interpreter.python, ROOT / LOCKS[need])
    for each in list(LOCKS)[: list(LOCKS).index(need) + 1]:
        _stamp(interpreter.site, each).write_text(_digest(each), encoding="utf-8")


def pins(lock: Path) -> dict[str, list[str]]:
    """The exact versions in a lock file, by package; some differ between systems."""
    found: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", lock.read_text("utf-8"), re.MULTILINE):
        found.setdefault(name, []).append(version)
    return found


def run_pip(python: Path, lock: Path) -> None:
    """Run pip on a lock file and show how far it is.

    Raises `SystemExit` with pip's own reason in a sentence.
    """
    command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    pip = subprocess.Popen(
        [*command, "--require-hashes", "-r", lock],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "PIP_USER": "0"},  # a "user = true" of the learner's breaks a venv
    )
    with pip:
        last = show_progress(pip.stdout, total=len(pins(lock)))
    if pip.returncode:
        errors = [line for line in last if line.startswith("ERROR:")] or [*last, "no reason given"]
        raise SystemExit(
            f"pip could not install the packages. It says: {errors[0].strip()}\n"
            "Is there a network? Run the same command again: what is there already is kept.\n"
            "If it still fails, delete the folder .venv and run it once more."
        )


def show_progress(lines: Iterable[str], total: int) -> list[str]:
    """Turn pip's output into a line that counts packages; gives back its last lines.

    On a terminal the line is rewritten in place; elsewhere every 25th package is told.
    """
    last, seen, live = deque(maxlen=20), 0, sys.stdout.isatty()
    for line in lines:
        last.append(line)
        if line.startswith("Collecting "):
            seen += 1
            if live or seen % 25 == 0:
                _note(f"  fetching package {seen} of about {total}", live)
        elif line.startswith("Installing collected"):
            _note("  unpacking them, which takes as long again …", live)
    if live:
        say("")
    return list(last)


def _note(text: str, live: bool) -> None:
    print(f"\r{text:<50}" if live else text, end="" if live else "\n", flush=True)


def ensure(need: Need) -> Path:
    """The interpreter that has what the command needs; makes and fills `.venv` if none has."""
    if choice(need) == "active":
        return Path(sys.executable)
    interpreter = make_venv()
    link_course(interpreter.site)
    if not installed(interpreter.site, need):
        install(interpreter, need)
    return interpreter.python


def is_running(python: Path) -> bool:
    """Whether the interpreter that `ensure` chose is the one that runs this."""
    return python == Path(sys.executable) or running_in_venv()


def child_environment(python: Path) -> dict[str, str]:
    """The variables for a program that runs with that interpreter.

    Kernels find `course_lib`; `python3` means this interpreter, whatever kernels the learner's
    home holds; `pip` in a cell or a terminal of JupyterLab is this interpreter's.
    """
    return {
        **os.environ,
        "PYTHONPATH": _in_front(str(ROOT), "PYTHONPATH"),
        "PATH": _in_front(str(python.parent), "PATH"),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }


def _in_front(folder: str, variable: str) -> str:
    return os.pathsep.join([folder, *filter(None, [os.environ.get(variable)])])


def run_course(python: Path, *arguments: str) -> int:
    """Run a command of the course with another interpreter; gives back its exit code."""
    command = [python, "-m", "course_lib", *arguments]
    return subprocess.call(command, env=child_environment(python))
