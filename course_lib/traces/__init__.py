"""Readers of other people's transcripts: from a file to messages in the OpenAI chat shape."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from course_lib.messages import CourseError, Message, calls_of, text_of
from course_lib.traces.files import NotATranscript, load
from course_lib.traces.progress import Bar, part
from course_lib.traces.registry import read_document, understood
from course_lib.traces.wording import seen
from course_lib.transcript import Transcript

__all__ = ["NoSuchRun", "NotATranscript", "Transcript", "pick_run", "read_transcripts"]


LOADED = 0.3  # the share of the work that is done when a long file is parsed

GROWING = "Each run begins with all of the run before it: run {last} holds the whole session."


class NoSuchRun(CourseError):
    """A run was asked for that isn't there; the text says how many there are."""


def read_transcripts(path: str | os.PathLike[str]) -> list[Transcript]:
    """The runs in a file, in the file's order, each as messages in the OpenAI chat shape.

    The format is told by what the file holds, never by its name. What had to be mended or left
    out stands in each transcript's `notes`. Nothing in the file is executed, fetched or followed.

    Raises `NotATranscript` for a file that can't be read or holds no run that is understood.
    """
    with Bar("Reading") as bar:
        document, mended = load(path, part(bar.at, 0, LOADED))
        name, what = Path(path).name, seen(document)
        try:
            runs, skipped = read_document(document, part(bar.at, LOADED, 1))
        except RecursionError:
            raise NotATranscript(f"{name} is nested too deeply to be read.") from None
    if not runs:
        trouble = " ".join(["", *mended])
        raise NotATranscript(
            f"{name} is {what}; no run is in it that is understood.{trouble} "
            f"Understood are {understood()}, as JSON or JSON Lines."
        )
    notes = (*mended, *skipped, *_growing(runs))
    number = "run {}" if len(runs) > 1 else ""
    which = [run.name or number.format(i) for i, run in enumerate(runs, 1)]
    return [
        replace(run, name=f"{name}, {part}" if part else name, notes=(*notes, *run.notes))
        for run, part in zip(runs, which, strict=True)
    ]


def pick_run(
    transcripts: Sequence[Transcript], run: int | None = None, name: str = ""
) -> Transcript:
    """One of a file's runs, counted from 1; the first one if none is asked for.

    Then, if there are more, a note in it says how many there are and how to choose. `name` is
    the file's name, for the sentences. Raises `NoSuchRun` if that run isn't there.
    """
    many, what = len(transcripts), name or "The file"
    if run is None and many:
        first = transcripts[0]
        return replace(first, notes=(*first.notes, *_choice(many, what)))
    if isinstance(run, bool) or not isinstance(run, int) or not 1 <= run <= many:
        holds = f"{many} runs, counted from 1: choose run=1 to run={many}"
        if many < 2:
            holds = "one run: leave out run, or write run=1" if many else "no runs"
        raise NoSuchRun(f"There is no run={run!r}. {what} holds {holds}.")
    return transcripts[run - 1]


def _choice(many: int, what: str) -> tuple[str, ...]:
    """The note for the first of several runs; none for an only one."""
    if many == 1:
        return ()
    others = "run=2" if many == 2 else f"run=2 to run={many}"
    return (f"{what} holds {many} runs, counted from 1; this is run 1. Choose another: {others}.",)


def _growing(runs: Sequence[Transcript]) -> tuple[str, ...]:
    """A note for a log in which each request repeats the one before it and goes on."""
    grows = len(runs) > 1 and all(
        len(old.messages) < len(new.messages) and all(map(_same, old.messages, new.messages))
        for old, new in pairwise(runs)
    )
    return (GROWING.format(last=len(runs)),) if grows else ()


def _same(one: Message, other: Message) -> bool:
    """True if both say and call the same; what else is written beside it may differ."""
    if one is other:
        return True
    told = ((m["role"], text_of(m), calls_of(m)) for m in (one, other))
    return next(told) == next(told)
