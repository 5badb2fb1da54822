"""What a plan proposes for `Context`: as code to paste, and as a policy to replay on the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from course_lib.context import Context
from course_lib.messages import Message, group_indices, text_of
from course_lib.trimming import Policy


class Settings(NamedTuple):
    """Settings of a `Context`; sizes in tokens. `notes` are what is noted from the start."""

    budget: int
    keep_last: int  # turn groups
    notes_cap: int
    result_cap: int | None
    notes: tuple[str, ...]

    def code(self) -> str:
        """The settings as code, to be pasted."""
        cap = (
            f"    result_cap={self.result_cap},  # tokens; a longer tool result is shown cut\n"
            if self.result_cap
            else ""
        )
        return f"""\
from course_lib import Context, Store

ctx = Context(
    instructions, task, tools=tools, store=Store("run.db"),
    budget={self.budget}, high=0.8, low=0.5,  # tokens; above 80% it compacts, down to 50%
    keep_last={self.keep_last},  # turn groups that are spared while others can go
    notes_cap={self.notes_cap},  # tokens for all notes
{cap})""" + "".join(f"\nctx.note({text!r})" for text in self.notes)

    def context(self, head: Sequence[Message], tools: Sequence[dict[str, Any]] | None) -> Context:
        """A context that begins with the head of a run."""
        instructions = "\n\n".join(text_of(m) for m in head if m["role"] != "user")
        task = "\n\n".join(text_of(m) for m in head if m["role"] == "user")
        made = Context(
            instructions,
            task,
            tools=tools,
            budget=self.budget,
            keep_last=self.keep_last,
            notes_cap=self.notes_cap,
            result_cap=self.result_cap,
        )
        for text in self.notes:
            made.note(text)
        return made

    def policy(self, tools: Sequence[dict[str, Any]] | None = None) -> Policy:
        """A policy for one replay. Unlike others it remembers: its list is in the context.

        It raises `CourseError` where these settings can't take the run.
        """
        context: Context | None = None
        sent = 0

        def policy(messages: list[Message]) -> list[Message]:
            nonlocal context, sent
            new = messages[sent:]
            if context is None:
                head = group_indices(new).head
                context = self.context([new[i] for i in head], tools)
                new = [m for i, m in enumerate(new) if i not in head]
            for message in new:
                context.append(message)
            prompt = context.messages()
            sent = len(prompt)
            return prompt

        return policy
