"""`python -m course_lib look` and `plan`: a run of your own, without a notebook."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from course_lib.messages import CourseError
from course_lib.plan_page import markdown, text_of_shape
from course_lib.plans import plan
from course_lib.shapes import shape_of
from course_lib.traces import pick_run, read_transcripts
from course_lib.transcript import Transcript


def main(arguments: list[str]) -> int:
    """Write the plan to `--out` (.html or .md), or print it."""
    options = _parser("plan", out=True).parse_args(arguments)
    try:
        made = plan(_read(options), model_window=options.window)
        if options.out is None:
            print(markdown(made))
        else:
            page = made.html() if options.out.suffix in (".html", ".htm") else made.markdown()
            options.out.write_text(page, encoding="utf-8")
            print(f"{options.out}: use {made.chosen.name}. {made.reasons[0]}")
    except (CourseError, OSError) as error:
        return _say(error)
    return 0


def look(arguments: list[str]) -> int:
    """Print the shape of a run."""
    options = _parser("look").parse_args(arguments)
    try:
        transcript = _read(options)
        print(text_of_shape(shape_of(transcript.messages, transcript.tools), transcript))
    except (CourseError, OSError) as error:
        return _say(error)
    return 0


def _read(options: argparse.Namespace) -> Transcript:
    return pick_run(read_transcripts(options.file), options.run, options.file.name)


def _say(error: Exception) -> int:
    print(error, file=sys.stderr)
    return 1


def _parser(name: str, out: bool = False) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m course_lib {name}")
    parser.add_argument(
        "file", type=Path, help="a log of your agent, in any shape that is understood"
    )
    parser.add_argument("--run", type=int, help="which of several runs in the file, counted from 1")
    if out:
        parser.add_argument("--out", type=Path, help="where to write it: plan.html or plan.md")
        parser.add_argument(
            "--window", type=int, default=128_000, help="your model's window, in tokens"
        )
    return parser
