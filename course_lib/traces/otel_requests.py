"""What a span says of a request to a model, in the words of each of the conventions in use."""

from __future__ import annotations

from typing import Any

from course_lib.traces.chat import as_json, unwrapped
from course_lib.traces.otel_spans import Span, at, tree

Told = dict[str, Any]

# Spans of these kinds are about one request; those of agents and workflows are about several.
REQUESTS = {"chat", "generate_content", "text_completion", "completion", "message", "llm"}
TOOL_SPANS = {"execute_tool", "tool", "retriever", "embedding", "embeddings", "reranker"}
MODELS = (
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.model_name",
    "ai.response.model",
    "ai.model.id",
)
USAGES = ("gen_ai.usage", "llm.token_count", "ai.usage")
SAID_ABOUT = "gen_ai.client.inference.operation.details"


def is_request(span: Span) -> bool:
    """True for a span that says that it is about one request."""
    told = span.attributes
    return _operation(told) in REQUESTS or at(told, "gcp.vertex.agent.llm_request") is not None


def _operation(told: Told) -> str:
    paths = ("gen_ai.operation.name", "openinference.span.kind", "llm.request.type")
    named = (at(told, path) for path in paths)
    return next((str(name).lower() for name in named if name), "")


def request_of(span: Span) -> Told | None:
    """What a model was asked and answered, as arguments of `read_exchange`; None for nothing."""
    told = span.attributes
    for name, said in span.events:
        if name == SAID_ABOUT or name.startswith("gen_ai.content."):
            told = {**told, **{key: _joined(told.get(key), v) for key, v in tree(said).items()}}
    if _operation(told) in TOOL_SPANS:
        return None
    readers = (_vertex, _gen_ai, _openinference, _numbered, _vercel, _plain_values)
    found = next((said for reader in readers if (said := reader(told))), None)
    found = found or _by_events(span) or _agent(told)
    if not found or not unwrapped(found.get("asked")):
        return None
    model = next((m for path in MODELS if isinstance(m := at(told, path), str)), None)
    usage = next((u for path in USAGES if isinstance(u := at(told, path), dict)), None)
    return {"tools": tools_of(told), "model": model, "usage": usage, **found}


def _joined(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _joined(old.get(key), value) for key, value in new.items()}}
    return new


# ---- the conventions ------------------------------------------------------------------------


def _vertex(told: Told) -> Told | None:
    """Google's ADK: the request and the response whole, as JSON."""
    asked = unwrapped(at(told, "gcp.vertex.agent.llm_request"))
    answered = at(told, "gcp.vertex.agent.llm_response")
    return {"asked": asked, "answered": answered} if asked else None


def _gen_ai(told: Told) -> Told | None:
    """The convention of today: messages with parts, the instructions beside them."""
    asked = at(told, "gen_ai.input.messages") or at(told, "gen_ai.input_messages")
    answered = at(told, "gen_ai.output.messages") or at(told, "gen_ai.output_messages")
    if not asked:
        return None
    system = at(told, "gen_ai.system_instructions")
    return {"asked": asked, "answered": answered, "system": system}


def _openinference(told: Told) -> Told | None:
    asked, answered = at(told, "llm.input_messages"), at(told, "llm.output_messages")
    if not asked:
        return None
    return {"asked": _rows(asked), "answered": _rows(answered)}


def _rows(raw: Any) -> list[Told]:
    raw = as_json(raw)
    raw = [as_json(row) for row in raw] if isinstance(raw, list) else []
    return [_row(row) for row in raw if isinstance(row, dict)]


def _row(row: Told) -> Told:
    """One of OpenInference's messages in the shape of chat."""
    row = tree(row)
    row = row["message"] if isinstance(row.get("message"), dict) else row
    parts = row.get("contents") if isinstance(row.get("contents"), list) else []
    parts = [part.get("message_content", part) for part in parts if isinstance(part, dict)]
    calls = row.get("tool_calls") if isinstance(row.get("tool_calls"), list) else []
    calls = [call.get("tool_call", call) for call in calls if isinstance(call, dict)]
    old = {
        "name": row.get("function_call_name"),
        "arguments": row.get("function_call_arguments_json"),
    }
    out = {
        "role": row.get("role"),
        "content": row.get("content") or list(map(_part, parts)) or None,
    }
    out |= {"tool_calls": calls} if calls else {"function_call": old} if old["name"] else {}
    more = {key: row[key] for key in ("name", "tool_call_id") if row.get(key)}
    return {**out, **more}


def _part(part: Told) -> Told:
    url = at(part, "image.image.url") or at(part, "image.url")
    if url:
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": part.get("type") or "text", "text": part.get("text") or ""}


def _numbered(told: Told) -> Told | None:
    """Traceloop's: prompts and completions by number. The first events held them as JSON."""
    asked, answered = at(told, "gen_ai.prompt"), at(told, "gen_ai.completion")
    asked, answered = asked or at(told, "llm.prompts"), answered or at(told, "llm.completions")
    return {"asked": asked, "answered": answered} if asked else None


def _vercel(told: Told) -> Told | None:
    asked = at(told, "ai.prompt.messages") or at(told, "ai.prompt")
    if not asked:
        return None
    text = at(told, "ai.response.text")
    calls = as_json(at(told, "ai.response.toolCalls")) or []
    calls = [
        {
            "id": c.get("toolCallId"),
            "name": c.get("toolName"),
            "arguments": c.get("args", c.get("input")),
        }
        for c in calls
        if isinstance(c, dict)
    ]
    answer = {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})
    return {"asked": asked, "answered": answer if text or calls else at(told, "ai.response.object")}


def _plain_values(told: Told) -> Told | None:
    """The request and the answer as the program passed them, where only they are there."""
    if _operation(told) not in REQUESTS:
        return None
    asked = at(told, "input.value") or at(told, "traceloop.entity.input")
    answered = at(told, "output.value") or at(told, "traceloop.entity.output")
    return {"asked": asked, "answered": answered} if asked else None


def _agent(told: Told) -> Told | None:
    """The whole talk as pydantic-ai keeps it beside an agent's run."""
    asked = at(told, "pydantic_ai.all_messages")
    return {"asked": asked, "answered": None} if asked else None


# ---- events ---------------------------------------------------------------------------------


def _by_events(span: Span) -> Told | None:
    """The messages that stand in events of their own, or in a list of such in an attribute."""
    listed = as_json(at(span.attributes, "events"))
    listed = listed or as_json(at(span.attributes, "all_messages_events"))
    listed = listed if isinstance(listed, list) else []
    events = [(str(e.get("event.name") or ""), e) for e in listed if isinstance(e, dict)]
    asked, answered = [], []
    for name, said in events or span.events:
        if name == "gen_ai.choice":
            answered += [] if answered else [_choice(said)]
        elif name.startswith("gen_ai.") and name.endswith(".message"):
            asked.append(_message(said, name.split(".")[1]))
    return {"asked": asked, "answered": answered} if asked else None


def _message(said: Told, role: str) -> Told:
    row = {"role": said.get("role") or role, "content": as_json(said.get("content"))}
    calls = as_json(said.get("tool_calls"))
    row |= {"tool_calls": calls} if calls else {}
    id = said.get("id") or said.get("tool_call_id")
    return {**row, "tool_call_id": id} if role == "tool" and id else row


def _choice(said: Told) -> Told:
    message = as_json(said.get("message"))
    if isinstance(message, dict):
        return _message({"tool_calls": said.get("tool_calls"), **message}, "assistant")
    return _message({**said, "content": said.get("content") or message}, "assistant")


# ---- tools ----------------------------------------------------------------------------------


def tools_of(told: Told) -> list[Any]:
    """The schemas of the tools that a request offered."""
    asked = as_json(at(told, "model_request_parameters"))
    held = [
        at(told, "gen_ai.tool.definitions"),
        at(told, "llm.tools"),
        at(told, "llm.request.functions"),
        at(told, "ai.prompt.tools"),
        [*(asked.get("function_tools") or ()), *(asked.get("output_tools") or ())]
        if isinstance(asked, dict)
        else None,
    ]
    tools = next((tools for raw in held if isinstance(tools := as_json(raw), list) and tools), [])
    return [_tool(as_json(tool)) for tool in tools]


def _tool(tool: Any) -> Any:
    """A tool's schema out of the wrapping of its convention."""
    if not isinstance(tool, dict):
        return tool
    schema = at(tool, "tool.json_schema") or tool.get("json_schema")
    if schema:
        return as_json(schema)
    held = as_json(tool.get("parameters") or tool.get("parameters_json_schema"))
    return {**tool, "parameters": held} if held else tool
