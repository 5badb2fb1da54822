"""All commands of the course: `python -m course_lib` lists them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from course_lib.setup import environment


class Command(NamedTuple):
    """A command: a sentence for the list, what it needs installed, and what it runs."""

    sentence: str
    needs: environment.Need | None
    run: Callable[[list[str]], int]


def _module(name: str) -> ModuleType:
    return import_module(f"course_lib.{name}")


COMMANDS = {
    "lab": Command(
        "Open the course in JupyterLab; the first time, install what it needs.",
        None,
        lambda arguments: _module("setup.lab").main(arguments),
    ),
    "test": Command(
        "Run every check of the course itself; what follows goes to pytest (test -k trim).",
        "test",
        lambda arguments: _module("setup.testing").main(arguments),
    ),
    "doctor": Command(
        "Look for what commonly breaks on a machine, and say what to do about it.",
        None,
        lambda arguments: _module("setup.doctor").main(),
    ),
    "look": Command(
        "Say what a run of your own agent looks like: look RUN.json (--run N for one of many).",
        "lab",
        lambda arguments: _module("plan_command").look(arguments),
    ),
    "plan": Command(
        "Replay every technique on a run and write a context plan: plan RUN.json --out plan.html.",
        "lab",
        lambda arguments: _module("plan_command").main(arguments),
    ),
    "release": Command(
        "Write the course as a zip for learners: release --out course.zip (--help for more).",
        "workshop",
        lambda arguments: _module("workshop.release").main(arguments),
    ),
    "exercises": Command(
        "For maintainers: make the exercises from the solutions.",
        "test",
        lambda arguments: _module("workshop.build").build_exercises(),
    ),
    "notebooks": Command(
        "For maintainers: run the notebooks named (all, if none is) and save them clean.",
        "test",
        lambda arguments: _module("workshop.build").build_notebooks(arguments),
    ),
}


def available() -> dict[str, Command]:
    """The commands that work here: a release has the lock file for learners only."""
    return {
        name: command
        for name, command in COMMANDS.items()
        if command.needs in (None, "lab")
        or (environment.ROOT / environment.LOCKS[command.needs]).is_file()
    }


def listing() -> str:
    """The commands, a line each."""
    lines = [f"  {name:<10} {command.sentence}" for name, command in available().items()]
    return "\n".join(["The commands of the course, each after `python -m course_lib`:", *lines])


def run(name: str, arguments: list[str]) -> int:
    """Run a command where what it needs is installed; gives back its exit code."""
    command = COMMANDS[name]
    if command.needs:
        python = environment.ensure(command.needs)
        if not environment.is_running(python):
            return environment.run_course(python, name, *arguments)
    return command.run(arguments)


def main(arguments: list[str]) -> int:
    """The command line: 0 went well, 1 did not, 2 no such command, 130 stopped by Ctrl-C."""
    name, *rest = arguments or ["--help"]
    if name in ("--help", "-h", "help"):
        print(listing())
        return 0
    if name not in available():
        print(f"There is no command {name!r}. `python -m course_lib` lists them.", file=sys.stderr)
        return 2
    try:
        return run(name, rest)
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from here.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
