"""Long sessions: what each message of one is by now, and a note that stands for its old turns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from course_lib.messages import Call, Message, calls_of, group_indices, text_of
from course_lib.summaries import findings_in, is_hit, place_of

KEEP = ("system prompt", "original request", "last turns", "plan and draft", "results in use")
TRIM = ("used results", "search results", "old reasoning", "finished planning")

HEAD_CLASSES = {
    "system": "system prompt",
    "developer": "system prompt",
    "user": "original request",  # and what the user said later
}

# A tool of these names writes something that holds until its next version.
WRITERS = ("write_", "decide")


def session_note(dropped: Sequence[Message]) -> str:
    """A note in the document's words: what was searched, the sources, the facts, the decision.

    Reads results that are JSON with a `finding`, and the `query` and `decision` of calls. It
    stands in for a cheap model call, and gives the same note each time.
    """
    found = [result for result in findings_in(dropped) if is_hit(result)]
    calls = [call for message in dropped for call in calls_of(message)]
    facts = [": ".join(filter(None, [place_of(f), f["finding"]])) for f in found]
    lines = [
        ("Searched for", _given(calls, "query")),
        ("Key facts", facts),
        ("Decided", _given(calls, "decision")),
    ]
    said = [f"{name}: {'; '.join(items)}." for name, items in lines if items]
    return "Earlier in this session. " + " ".join(said or [f"{len(calls)} calls, nothing found."])


def message_classes(messages: Sequence[Message], recent: int = 3) -> list[str]:
    """For each message a name from `KEEP` or `TRIM`, by the two lists of lesson 2.

    The last `recent` turn groups stay. Tools named `write_…` or `decide` write
    something, and its newest version counts. A result that is JSON with a `source`
    has been used when that version cites it, as [S1]; a list of `results` is a search.
    """
    grouping = group_indices(messages)
    writers = [_writer(messages[group[0]]) for group in grouping.groups]
    newest = {name: at for at, name in enumerate(writers) if name}
    cited = _words(messages[grouping.groups[at][0]] for at in newest.values())
    classes = [HEAD_CLASSES.get(m["role"], "") for m in messages]
    for at, group in enumerate(grouping.groups):
        name = writers[at]
        for i in group:
            if at >= len(grouping) - recent:
                classes[i] = "last turns"
            elif name and newest[name] == at:
                classes[i] = "plan and draft"
            elif name:
                classes[i] = "finished planning"
            elif messages[i]["role"] == "assistant":
                classes[i] = "old reasoning"
            elif messages[i]["role"] == "tool":
                classes[i] = _class_of_result(messages[i], cited)
    return classes


def _class_of_result(message: Message, cited: str) -> str:
    result = _as_dict(text_of(message))
    if isinstance(result.get("results"), list):
        return "search results"
    source = result.get("source")
    return "used results" if source and f"[{source}]" in cited else "results in use"


def _writer(message: Message) -> str:
    """The name of the writing tool that a message calls, or nothing."""
    names = (call.name or "" for call in calls_of(message))
    return next((name for name in names if name.startswith(WRITERS)), "")


def _words(messages: Iterator[Message]) -> str:
    return " ".join(str(call.arguments) for message in messages for call in calls_of(message))


def _given(calls: Sequence[Call], key: str) -> list[str]:
    """The texts that calls were given under this name, each once."""
    values = (_as_dict(call.arguments).get(key) for call in calls)
    return list(dict.fromkeys(str(value) for value in values if value))


def _as_dict(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
