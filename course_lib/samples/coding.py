"""The coding run: an agent finds out why shipping prices are wrong, and mends the code.

Files are read and changed for real: each result is worked out from the files as they stand at
that step. What the tests and the snippets gave is written down, and a test runs them to see.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from course_lib.messages import assistant, system, tool_call, tool_result, user
from course_lib.samples.coding_files import files
from course_lib.samples.coding_papers import COMMITS, TICKETS, TOOLS, TRACES
from course_lib.samples.coding_steps import (
    ANSWER,
    EDITS,
    FAILURES,
    INSTRUCTIONS,
    STEPS,
    TASK,
    WRITTEN,
)
from course_lib.samples.coding_tables import log
from course_lib.transcript import Transcript

Call = tuple[str, dict[str, str], str]  # a tool, its arguments, and what is known of its result


def coding_run() -> Transcript:
    """A run of over seventy model calls in a repository, several of them with parallel tool calls.

    Nothing in it is managed. `.tools` are its tool schemas.
    """
    project, messages, number = Project(), [system(INSTRUCTIONS), user(TASK)], 0
    for said, calls in steps():
        ids = [f"call_{number + i:03d}" for i in range(1, len(calls) + 1)]
        number += len(calls)
        named = list(zip(ids, calls, strict=True))
        asked = [tool_call(id, tool, **given) for id, (tool, given, _) in named]
        messages.append(assistant(said, asked))
        messages += [tool_result(id, project.answer(call)) for id, call in named]
    messages.append(assistant(ANSWER))
    return Transcript(messages, "Wrong prices since 4.7.0", "openai", tools=_tools())


def steps() -> Iterator[tuple[str, list[Call]]]:
    """Each step as `STEPS` writes it down: what the model says, and its calls."""
    for step in STEPS.strip().split("\n\n"):
        lines = step.split("\n")
        yield (
            " ".join(line for line in lines if not line.startswith("> ")),
            [_call(line[2:]) for line in lines if line.startswith("> ")],
        )


def _call(line: str) -> Call:
    line, _, known = line.partition(" => ")
    tool, _, rest = line.partition(" ")
    given = dict(part.split("=", 1) for part in re.split("; (?=[a-z]+=)", rest) if part)
    if tool == "edit_file":
        given |= dict(zip(("old", "new"), EDITS[given.pop("edit")], strict=True))
    if tool == "write_file":
        given["text"] = WRITTEN[given["path"]]
    return tool, given, known


class Project:
    """The files at one step of the run, and what each tool says of them."""

    def __init__(self) -> None:
        self.files = files()

    def answer(self, call: Call) -> str:
        """The result of a call; an edit changes the files."""
        tool, given, known = call
        return getattr(self, tool)(**given, **({"known": known} if known else {}))

    def list_files(self, path: str = "") -> str:
        """Each path with its number of lines."""
        found = {p: t for p, t in self.files.items() if p.startswith(path)}
        return "\n".join(f"{text.count(chr(10)):5}  {p}" for p, text in found.items())

    def read_file(self, path: str, start: str = "1", end: str = "400") -> str:
        """The lines of a file, numbered."""
        lines = self.files[path].splitlines()
        shown = range(int(start), min(int(end), len(lines)) + 1)
        head = f"{path}, lines {shown[0]} to {shown[-1]} of {len(lines)}"
        return "\n".join([head, *(f"{n:5}  {lines[n - 1]}" for n in shown)])

    def search(self, pattern: str, path: str = "") -> str:
        """The lines in which a pattern stands."""
        hits = [
            f"{p}:{n}: {line.strip()}"
            for p, text in self.files.items()
            if p.startswith(path)
            for n, line in enumerate(text.splitlines(), 1)
            if re.search(pattern, line)
        ]
        return "\n".join([f"{len(hits)} lines with {pattern}", *hits])

    def edit_file(self, path: str, old: str, new: str) -> str:
        """Replace a text that stands once in a file, and show the place."""
        text = self.files[path]
        if text.count(old) != 1:
            raise ValueError(f"{path} has {text.count(old)} places with {old!r}, not one")
        self.files[path] = text.replace(old, new)
        at = text[: text.index(old)].count("\n") + 1
        lines = new.count("\n") + 3
        return f"changed {path} at line {at}\n" + self.read_file(
            path, str(max(1, at - 2)), str(at + lines)
        )

    def write_file(self, path: str, text: str) -> str:
        """A new file."""
        self.files = dict(sorted({**self.files, path: text}.items()))
        return f"wrote {path}, {text.count(chr(10))} lines"

    def git_log(self, path: str = "") -> str:
        """The commits that touched a path, newest first."""
        return "\n".join(f"{sha}  {about[0]}" for sha, about in COMMITS.items() if path in about[1])

    def git_show(self, commit: str) -> str:
        """One commit."""
        first, _, change = COMMITS[commit]
        return f"commit {commit}\n{first}\n\n{change.strip()}"

    def read_ticket(self, ticket: str) -> str:
        """One ticket."""
        return f"{ticket}\n{TICKETS[ticket].strip()}"

    def query_logs(self, code: str, day: str) -> str:
        """The lines of the service's log with a code, on a day."""
        return log(code, day, 34 + int(day[-1]))

    def trace_request(self, request: str) -> str:
        """One request through the service."""
        return f"{request}\n{TRACES[request].strip()}"

    def run_python(self, code: str, known: str = "") -> str:
        """What a snippet printed."""
        return known

    def git_diff(self) -> str:
        """What the run has changed so far."""
        before = files()
        changed = {p: t for p, t in self.files.items() if before.get(p) != t}
        return "\n".join(f"{p}\n{_changes(before.get(p, ''), t)}" for p, t in changed.items())

    # ---- tests --------------------------------------------------------------------------------

    def run_tests(self, target: str = "tests", known: str = "") -> str:
        """What the tests say; `known` names those that fail, by the keys of FAILURES."""
        paths = [p for p in self.files if p.startswith(target) and p.startswith("tests/test_")]
        failing = {FAILURES[key][0]: key for key in known.split()}
        lines, blocks, short, passed = [], [], [], 0
        for path in paths:
            for name, cases, code in _tests(self.files[path]):
                key = failing.get(f"{path}::{name}")
                word = "FAILED" if key else "PASSED"
                lines += [f"{path}::{name}{case} {word}" for case in cases]
                passed += 0 if key else len(cases)
                if key:
                    blocks += [f"___ {name} ___", code, *self._raised(key)]
                    short += [f"FAILED {path}::{name}{c} - {FAILURES[key][1]}" for c in cases]
        end = f"{len(short)} failed, {passed} passed" if short else f"{passed} passed"
        return "\n".join([f"collected {len(lines)} items", *lines, *blocks, *short, end])

    def _raised(self, key: str) -> Iterator[str]:
        test, error, *frames = FAILURES[key]
        for frame in frames:
            path, _, code = frame.partition(" ")
            lines = self.files[path].splitlines()
            at = next(n for n, line in enumerate(lines, 1) if code in line)
            yield f"{path}:{at}:\n>   {lines[at - 1].strip()}"
        yield f"E   {error}"


def _tests(text: str) -> list[tuple[str, list[str], str]]:
    """The test functions of a file: name, the marks of its cases, code."""
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            values = [d.args[1].elts for d in node.decorator_list if isinstance(d, ast.Call)]
            cases = [_mark(value) for value in values[0]] if values else [""]
            found.append((node.name, cases, ast.get_source_segment(text, node) or ""))
    return found


def _mark(value: ast.expr) -> str:
    """A case of a test, as pytest writes it: [NG1 5DT-Z1]."""
    given = ast.literal_eval(value)
    return f"[{'-'.join(given) if isinstance(given, tuple) else given}]"


def _changes(before: str, after: str) -> str:
    old, new = before.splitlines(), after.splitlines()
    gone = [f"-{line}" for line in old if line not in new]
    return "\n".join([*gone, *(f"+{line}" for line in new if line not in old)])


def _tools() -> tuple[dict[str, Any], ...]:
    made = []
    for entry in TOOLS.strip().split("\n"):
        name, about, *parameters = entry.split(" | ")
        properties = {}
        for parameter in parameters:
            key, _, what = parameter.partition(": ")
            properties[key] = {"type": "string", "description": what}
        schema = {"type": "object", "properties": properties, "required": list(properties)[:1]}
        function = {"name": name, "description": about, "parameters": schema}
        made.append({"type": "function", "function": function})
    return tuple(made)
