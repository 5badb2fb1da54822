"""OpenHands: a stream of events, in which actions and what came of them stand one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from course_lib.traces.chat import (
    COMPACTED,
    ROWS_LEFT_OUT,
    Message,
    as_id,
    as_json,
    last_value,
    media_note,
    rows_in,
    simple_content,
    to_text,
    tool_call,
    tool_schemas,
    transcript,
)
from course_lib.traces.openai_chat import is_message, read_message
from course_lib.traces.wording import NotesTaken
from course_lib.transcript import Transcript

NAME = "OpenHands"

SUMMARY = {"condense", "condensation"}
# What the agent's own steering does, and what nothing came of: none of it is sent.
SILENT = {"recall", "null", *SUMMARY}
# What stands among an action's arguments and isn't the tool's.
BOOKKEEPING = {"thought", "blocking", "hidden", "confirmation_state", "security_risk", "is_input"}

REBUILT = (
    "A call was written without the model's answer ({where}): rebuilt from the action.",
    "{n} calls were written without the model's answer ({where}): rebuilt from the actions.",
)
USERS_ACTION = (
    "An action of the user's own ({where}) is kept as the user's text.",
    "{n} actions of the user's own ({where}) are kept as the user's text.",
)
RECALLED = (
    "What was added to the prompt at row {where} (`recall`) isn't there in the words that were "
    "sent: left out.",
    "What was added to the prompt at rows {where} (`recall`) isn't there in the words that were "
    "sent: left out.",
)


@dataclass
class _Talk:
    """The messages while the events come in."""

    notes: NotesTaken
    messages: list[Message] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)  # by the response's id
    made: dict[str, dict[str, Any]] = field(default_factory=dict)  # by event: its call
    users: set[str] = field(default_factory=set)  # the events that are the user's own actions


def recognise(document: Any) -> bool:
    """True for a list of events, or of pairs of them."""
    return any(map(_is_event, _events(document)))


def read(document: Any) -> list[Transcript]:
    """The one run in a document that `recognise` knows; empty if nothing was said in it."""
    talk = _Talk(NotesTaken())
    for number, (_, event) in enumerate(rows_in(_events(document), talk.notes), 1):
        if not _is_event(event):
            talk.notes.add(*ROWS_LEFT_OUT, where="no event")
        elif _is_silent(event, number, talk):
            talk.notes.add(*ROWS_LEFT_OUT, where=_kind(event))
        elif isinstance(event.get("action"), str):
            _add_action(event, talk)
        else:
            _add_observation(event, talk)
    responses = list(talk.answers.values())
    run = transcript(
        talk.messages,
        "OpenHands events",
        talk.notes,
        tools=tool_schemas(talk.tools),
        model=last_value(responses, "model", str),
        usage=last_value(responses, "usage", dict),
    )
    return [run] if talk.messages else []


def _events(document: Any) -> list[Any]:
    """The rows of a stream; older files hold pairs of an action and what came of it."""
    rows = document if isinstance(document, list) else []
    return [event for row in rows for event in (row if isinstance(row, list) else [row])]


def _is_event(event: Any) -> bool:
    if not isinstance(event, dict):
        return False
    acts = isinstance(event.get("action"), str) and isinstance(event.get("args"), dict)
    return acts or (isinstance(event.get("observation"), str) and "extras" in event)


def _kind(event: dict[str, Any]) -> str:
    kind = event.get("action", event.get("observation"))
    return kind if isinstance(kind, str) else event["observation"]


def _is_silent(event: dict[str, Any], number: int, talk: _Talk) -> bool:
    """True for an event that isn't sent; the notes say what it did to what is sent."""
    kind = _kind(event)
    if kind in SUMMARY:
        talk.notes.add(*COMPACTED, where=number)
    if kind == "recall" and isinstance(event.get("observation"), str):
        talk.notes.add(*RECALLED, where=number)
    steered = event.get("source") == "environment" and isinstance(event.get("action"), str)
    return kind in SILENT or (steered and kind != "system")


# ---- actions --------------------------------------------------------------------------------


def _add_action(event: dict[str, Any], talk: _Talk) -> None:
    kind, args = event["action"], event["args"]
    role = "user" if event.get("source") == "user" else "assistant"
    if kind == "system":
        talk.messages.append({"role": "system", "content": to_text(args.get("content") or "")})
        talk.tools = args["tools"] if isinstance(args.get("tools"), list) else talk.tools
    elif kind == "message":
        content = _with_pictures(args.get("content"), args.get("image_urls"), talk.notes)
        talk.messages.append({"role": role, "content": content})
    elif role == "user":
        talk.notes.add(*USERS_ACTION, where=kind)
        talk.users.add(as_id(event.get("id")) or "")
        talk.messages.append({"role": "user", "content": f"[{kind}: {to_text(args)}]"})
    elif not _add_answer(_metadata(event), talk):
        _add_rebuilt(event, talk)


def _metadata(event: dict[str, Any]) -> dict[str, Any]:
    metadata = as_json(event.get("tool_call_metadata"))
    return metadata if isinstance(metadata, dict) else {}


def _add_answer(metadata: dict[str, Any], talk: _Talk) -> bool:
    """Add the model's answer that an action came from, once. False if the event has none."""
    response = as_json(metadata.get("model_response"))
    choices = response.get("choices") if isinstance(response, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    raw = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(raw, dict) or not is_message({"role": "assistant", **raw}):
        return False
    id = as_id(response.get("id")) or f"answer {len(talk.answers)}"
    if id not in talk.answers:
        talk.answers[id] = response
        talk.messages.append(read_message({**raw, "role": "assistant"}, talk.notes))
    return True


def _add_rebuilt(event: dict[str, Any], talk: _Talk) -> None:
    """Add an answer made of an action: its thought, and the call with the action's arguments."""
    kind, args, metadata = event["action"], event["args"], _metadata(event)
    thought = next((args[key] for key in ("thought", "final_thought") if args.get(key)), None)
    outputs = args.get("outputs")
    if kind == "finish" and not metadata:
        said = thought or (outputs.get("content") if isinstance(outputs, dict) else "") or ""
        talk.messages.append({"role": "assistant", "content": to_text(said)})
        return
    talk.notes.add(*REBUILT, where=kind)
    given = {key: v for key, v in args.items() if key not in BOOKKEEPING and v is not None}
    id = as_id(metadata.get("tool_call_id")) or as_id(event.get("id"))
    call = tool_call(id, metadata.get("function_name") or kind, given)
    talk.made[as_id(event.get("id")) or ""] = call
    content = to_text(thought) if thought else None
    talk.messages.append({"role": "assistant", "content": content, "tool_calls": [call]})


# ---- observations ---------------------------------------------------------------------------


def _add_observation(event: dict[str, Any], talk: _Talk) -> None:
    content = _content(event, talk.notes)
    metadata, cause = _metadata(event), as_id(event.get("cause"))
    call = talk.made.get(cause or "")
    id = as_id(metadata.get("tool_call_id")) or (call and call["id"])
    if id:
        name = metadata.get("function_name") or (call and call["function"]["name"])
        message = {"role": "tool", "content": content, "tool_call_id": id}
        talk.messages.append({**message, "name": name} if isinstance(name, str) else message)
    elif cause in talk.users or event["observation"] == "error":
        talk.messages.append({"role": "user", "content": content})
    else:
        talk.notes.add(*ROWS_LEFT_OUT, where=event["observation"])


def _content(event: dict[str, Any], notes: NotesTaken) -> Any:
    """What an observation says, with the pictures that stand beside it in their places."""
    extras = event["extras"] if isinstance(event["extras"], dict) else {}
    seen = extras.get("set_of_marks") or extras.get("screenshot")
    urls = extras.get("image_urls") or extras.get("images") or [seen]
    return _with_pictures(event.get("content"), urls, notes)


def _with_pictures(text: Any, urls: Any, notes: NotesTaken) -> Any:
    pictures = (
        [url for url in urls if isinstance(url, str) and url] if isinstance(urls, list) else []
    )
    said = "" if text is None else simple_content(text, notes)
    if not pictures:
        return said
    before = [{"type": "text", "text": said}] if isinstance(said, str) and said else said or []
    return [*before, *(media_note(url, notes) for url in pictures)]
