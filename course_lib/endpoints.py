"""A model behind an address: anything that speaks OpenAI's chat completions.

Ollama, llama.cpp's server, vLLM and hosted services do. Where the address and the model's name
stand in the environment, the lessons use that model; else they use the scripted one, and nothing
is sent anywhere.

    COURSE_MODEL_URL    http://localhost:11434/v1
    COURSE_MODEL        gemma3:1b
    COURSE_MODEL_KEY    only for services that ask for one
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from course_lib.messages import CourseError, Message, calls_of, sendable
from course_lib.models import Model, Schema

ADDRESS, NAME, KEY = "COURSE_MODEL_URL", "COURSE_MODEL", "COURSE_MODEL_KEY"
INSTALL = 'pip install ".[llm]"'
OPTIONS = {"temperature": 0, "seed": 0, "max_tokens": 1000}


class ModelError(CourseError):
    """The model gave no answer that can be used; the text says why, and what to try."""


@dataclass(frozen=True)
class EndpointModel:
    """The model `name` at an address, as a function from messages and tool schemas to a message.

    `seconds` is how long the server may be silent. The `options` go along with each request; a
    temperature of 0 and a fixed seed make answers as repeatable as the server allows. Some hosted
    models want other ones: `options={"max_completion_tokens": 1000}`.

    A call raises `ModelError`, in a sentence, for a server that can't be reached, takes too long
    or refuses, and for an answer that is empty or was cut. Nothing is tried a second time.
    """

    address: str
    name: str
    key: str = field(default="", repr=False)
    seconds: float = 60
    options: Mapping[str, Any] = field(default_factory=lambda: dict(OPTIONS))

    def __call__(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> Message:
        """The model's next message: an answer, or tool calls."""
        request: dict[str, Any] = {"messages": as_sent(messages)}
        if tools:
            request["tools"] = [as_schema(tool) for tool in tools]
        with self._client() as client, in_words(self):
            answer = client.chat.completions.create(model=self.name, **self.options, **request)
        return read_answer(answer, self)

    def _client(self) -> Any:
        try:
            from openai import OpenAI
        except ImportError:
            raise ModelError(f"To ask a model, install the openai client: {INSTALL}") from None
        key = self.key or "none"  # servers on one's own machine want none; the client wants one
        return OpenAI(base_url=self.address, api_key=key, timeout=self.seconds, max_retries=0)


def model_from_environment(
    otherwise: Model | None = None, environment: Mapping[str, str] = os.environ
) -> Model | None:
    """The model that COURSE_MODEL_URL and COURSE_MODEL name, or `otherwise` if they don't.

    Raises `ModelError` if only one of the two is set.
    """
    address, name = environment.get(ADDRESS, "").strip(), environment.get(NAME, "").strip()
    if not address and not name:
        return otherwise
    if not address or not name:
        missing = NAME if address else ADDRESS
        raise ModelError(f"{ADDRESS} and {NAME} belong together, and {missing} isn't set")
    return EndpointModel(address, name, environment.get(KEY, "").strip())


# ---- what goes out --------------------------------------------------------------------------


def as_sent(messages: Sequence[Message]) -> list[Message]:
    """The messages without our own marks, each call in the nested shape that servers expect."""
    return [
        {**message, "tool_calls": [as_call(raw) for raw in message["tool_calls"]]}
        if message.get("tool_calls")
        else message
        for message in sendable(messages)
    ]


def as_call(raw: Message) -> Message:
    """One call as `{"id", "type", "function": {"name", "arguments"}}`."""
    ((id, name, arguments),) = calls_of({"tool_calls": [raw]})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": id, "type": "function", "function": {"name": name, "arguments": text}}


def as_schema(tool: Schema) -> Schema:
    """A tool schema as `{"type": "function", "function": {...}}`."""
    return tool if "function" in tool else {"type": "function", "function": tool}


# ---- what comes back ------------------------------------------------------------------------


def read_answer(answer: Any, model: EndpointModel) -> Message:
    """The message in an answer. Raises `ModelError` if it is empty, was cut, or isn't one."""
    choice = next(iter(getattr(answer, "choices", None) or ()), None)
    said = getattr(choice, "message", None)
    if said is None:
        raise ModelError(
            f"{model.address} answered, but not as a chat model does. Its address often ends in /v1."
        )
    if choice.finish_reason == "length":
        raise ModelError(
            f"{model.name}'s answer was cut: it is longer than it may be, or the model's window is "
            "full. Raise `max_tokens` in its `options`, or send less."
        )
    calls = [
        {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}
        for call in said.tool_calls or ()
    ]
    if not calls and not (said.content or "").strip():
        raise ModelError(
            f"{model.name} gave an empty answer (it stopped for {choice.finish_reason!r})"
        )
    message: Message = {"role": "assistant", "content": said.content or ""}
    return {**message, "tool_calls": calls} if calls else message


@contextmanager
def in_words(model: EndpointModel) -> Iterator[None]:
    """Turn the client's errors into a `ModelError` with a sentence."""
    import openai

    try:
        yield
    except openai.APITimeoutError:
        said = f"{model.name} at {model.address} gave no answer within {model.seconds:g} seconds"
    except openai.APIConnectionError as error:
        cause = error.__cause__ or error
        said = f"nothing can be reached at {model.address} ({cause}). Is the server running?"
    except openai.APIStatusError as error:
        said = f"{model.address} refused ({error.status_code}): {_reason(error)}"
    except (openai.OpenAIError, ValueError) as error:
        said = f"{model.address} answered with something that can't be read: {error}"
    else:
        return
    raise ModelError(said)


def _reason(error: Any) -> str:
    body = error.body if isinstance(error.body, dict) else {}
    return str(body.get("message") or error.message)[:300]
