"""The policy challenge: fewest tokens read on three runs, nothing missed, every prompt valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from course_lib.extraction import structured
from course_lib.messages import validate
from course_lib.plans import forgiving
from course_lib.replay import replay
from course_lib.reuses import Reuse, reuse
from course_lib.samples.coding import coding_run
from course_lib.samples.invoices import invoice_run
from course_lib.samples.support import support_chat, support_tools
from course_lib.transcript import Transcript
from course_lib.trimming import (
    Policy,
    append_all,
    high_low,
    mask_results,
    rolling_summary,
    sliding_window,
)

BUDGET = 12_000  # tokens, for the techniques that need one
YOURS = "your policy"

TECHNIQUES = {
    "everything kept": append_all(),
    "window of 20": sliding_window(20),
    "water marks": high_low(BUDGET),
    "water marks, summary": high_low(BUDGET, summarize=structured),
    "rolling summary": rolling_summary(10, 4, structured),
    "masking": mask_results(3),
}


class Score(NamedTuple):
    """What a policy did on the three runs together."""

    name: str
    read: int  # tokens
    missed: int  # reuses whose value wasn't in the prompt
    problems: int  # prompts that a provider would refuse


@dataclass(frozen=True)
class Scores:
    """All scores, the fewest tokens first, as text and as a table."""

    scores: tuple[Score, ...]

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """For each score: name, tokens read, their share of everything, missed, refused."""
        whole = max(score.read for score in self.scores)
        return [
            (s.name, f"{s.read:,}", f"{s.read / whole:.0%}", f"{s.missed:,}", f"{s.problems:,}")
            for s in self.scores
        ]

    def __repr__(self) -> str:
        return "\n".join(
            f"{name:22}{read:>10}{part:>6}   missed {missed:>4}   refused {problems:>4}"
            for name, read, part, missed, problems in self.rows()
        )

    def _repr_markdown_(self) -> str:
        lines = ["|policy|tokens read|of everything|values missed|prompts refused|"]
        lines.append("|---|---:|---:|---:|---:|")
        for row in self.rows():
            cells = [f"**{cell}**" for cell in row] if row[0] == YOURS else list(row)
            lines.append(f"|{'|'.join(cells)}|")
        return "\n".join(lines)


def challenge(policy: Policy) -> Scores:
    """The score of a policy beside those of the course's techniques."""
    scores = [score(policy, YOURS), *(_of_technique(name) for name in TECHNIQUES)]
    return Scores(tuple(sorted(scores, key=lambda each: each.read)))


def score(policy: Policy, name: str = YOURS) -> Score:
    """What a policy reads, misses and breaks on the three runs."""
    read = missed = problems = 0
    for transcript, found in three_runs():
        run = replay(transcript.messages, forgiving(policy), tools=transcript.tools)
        read += run.read
        missed += len(found.missed_by(run))
        problems += sum(bool(validate(row.prompt)) for row in run.rows)
    return Score(name, read, missed, problems)


@cache
def three_runs() -> Sequence[tuple[Transcript, Reuse]]:
    """The coding run, the support chat and the invoice run, with what they came back for."""
    chat = Transcript(support_chat(), "The support chat", tools=tuple(support_tools()))
    runs = (coding_run(), chat, invoice_run())
    return tuple((run, reuse(run.messages, answers=True, tools=run.tools)) for run in runs)


@cache
def _of_technique(name: str) -> Score:
    return score(TECHNIQUES[name], name)
