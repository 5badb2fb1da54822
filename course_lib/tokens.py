"""Counting tokens as OpenAI's published recipes do, with the bundled o200k_base vocabulary.

Sources of the constants: the OpenAI cookbook, "How to count tokens with tiktoken", sections 6
(`num_tokens_from_messages`) and 7 (`num_tokens_for_tools`, the figures for gpt-4o). Other
models frame messages in other ways: take the counts as close estimates, never as a bill.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from course_lib.messages import OWN_KEYS, BadMessage, CourseError, Message, check_shape, role_of

TOKENS_PER_MESSAGE = 3  # cookbook, section 6: what wraps each message
TOKENS_PER_NAME = 1  # cookbook, section 6: a `name` costs one more
TOKENS_PER_REPLY = (
    3  # cookbook, section 6: every answer is primed with <|start|>assistant<|message|>
)

TOOL_START = 7  # cookbook, section 7: `func_init`, each function
PARAMETERS_START = 3  # `prop_init`, a function that has parameters
PARAMETER = 3  # `prop_key`, each parameter
ENUM_START = -3  # `enum_init`, a parameter with a list of allowed values
ENUM_ITEM = 3  # `enum_item`, each allowed value
TOOLS_END = 12  # `func_end`, once after all functions

NOT_PLAIN = OWN_KEYS | {"name"}  # keys whose text costs nothing, or one more

TOKENS_PER_IMAGE = 85  # OpenAI's image guide: a picture at low detail in gpt-4o

LONGEST_PIECE = 100_000  # characters
LINE_START = re.compile(r"(?<=\n)(?=\S)")

VOCABULARY = Path(__file__).parent / "data"


def count_tokens(
    thing: str | Message | Sequence[Message], tools: Sequence[dict[str, Any]] | None = None
) -> int:
    """Tokens of a text, of one message, or of a whole request.

    A list counts as a request: its messages, the schemas of its `tools`, and the few tokens
    that prime the answer. Each text is tokenised once and its count remembered.

    Raises `BadMessage` with the index and the field of a message that can't be counted.
    """
    if isinstance(thing, str):
        return count_text(thing)
    if isinstance(thing, dict):
        return _message_tokens(thing)
    if not isinstance(thing, Sequence):
        raise CourseError(
            f"count a text, a message or a list of messages, not {type(thing).__name__}"
        )
    total = TOKENS_PER_REPLY + count_tools(tools)
    for i, message in enumerate(thing):
        total += _message_tokens(message, i)
    return total


@lru_cache(maxsize=2**15)
def count_text(text: str) -> int:
    """Tokens of a text. The count is remembered, so that a run counts each text once."""
    if len(text) <= LONGEST_PIECE:
        return len(encoding().encode_ordinary(text))
    return sum(len(encoding().encode_ordinary(piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that the tokenizer can take: a million spaces at once break it.

    The cut is behind a line, where it changes no token, if there is one.
    """
    while len(text) > LONGEST_PIECE:
        lines = LINE_START.finditer(text, 0, LONGEST_PIECE)
        cut = max((line.start() for line in lines), default=LONGEST_PIECE)
        yield text[:cut]
        text = text[cut:]
    yield text


def count_tools(tools: Sequence[dict[str, Any]] | None) -> int:
    """Tokens of tool schemas, in the shape `{"type": "function", "function": {...}}` or flat.

    Raises `CourseError` with the number of a schema that can't be read.
    """
    if not tools:
        return 0
    return TOOLS_END + sum(_tool_tokens(tool, i) for i, tool in enumerate(tools))


@cache
def encoding() -> Any:
    """The o200k_base encoding, read from the bundled file: nothing is fetched."""
    import tiktoken

    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(VOCABULARY)
    try:
        return tiktoken.get_encoding("o200k_base")
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


def cost_of(
    messages: Sequence[Message], count: Callable[..., int] = count_tokens
) -> Callable[[Iterable[int]], int]:
    """A function from indices of `messages` to what those messages add to a request.

    Nothing is counted before it is asked for, and each message is counted once.
    """
    nothing = count([])
    known: dict[int, int] = {}

    def count_one(i: int) -> int:
        if count is count_tokens:
            return _message_tokens(messages[i], i)
        try:
            return count([messages[i]]) - nothing
        except BadMessage as bad:
            raise BadMessage(i, bad.field, bad.problem) from None

    def cost(indices: Iterable[int]) -> int:
        total = 0
        for i in indices:
            tokens = known.get(i)
            if tokens is None:
                tokens = known[i] = count_one(i)
            total += tokens
        return total

    return cost


def _message_tokens(message: Message, index: int | None = None) -> int:
    role_of(message, index)
    total = TOKENS_PER_MESSAGE
    try:
        for key, value in message.items():
            if type(value) is str and key not in NOT_PLAIN:
                total += count_text(value)
            else:
                total += _field_tokens(key, value)
        return total
    except (AttributeError, TypeError):
        check_shape(message, index)  # says what is wrong with it
        raise


def _field_tokens(key: str, value: Any) -> int:
    if value is None or key in OWN_KEYS:
        return 0
    if isinstance(value, str):
        return count_text(value) + (TOKENS_PER_NAME if key == "name" else 0)
    if key == "content":
        return _parts_tokens(value)
    if key == "tool_calls":
        return sum(map(_call_tokens, value))
    return count_text(_as_json(value))


def _parts_tokens(parts: Any) -> int:
    total = 0
    for part in parts:
        if isinstance(part, str):
            total += count_text(part)
        elif "image" in str(part.get("type")):
            total += TOKENS_PER_IMAGE
        elif isinstance(part.get("text"), str):
            total += count_text(part["text"])
        else:
            total += count_text(_as_json(part))
    return total


def _call_tokens(call: dict[str, Any]) -> int:
    """Id, name and arguments. No recipe is published for calls: this counts each text in them."""
    inner = call.get("function") or call
    total = 0
    for text in (call.get("id"), inner.get("name"), inner.get("arguments")):
        if text is not None:
            total += count_text(text if isinstance(text, str) else _as_json(text))
    return total


def _tool_tokens(tool: dict[str, Any], index: int) -> int:
    try:
        return _function_tokens(tool.get("function") or tool)
    except (AttributeError, KeyError, TypeError):
        problem = "it must be a dict with a `name`, and its `parameters` a JSON schema"
        raise CourseError(f"tool {index} is no tool schema: {problem}") from None


def _function_tokens(function: dict[str, Any]) -> int:
    total = TOOL_START + count_text(f"{function['name']}:{_description(function)}")
    properties = (function.get("parameters") or {}).get("properties") or {}
    if properties:
        total += PARAMETERS_START
    for name, schema in properties.items():
        total += PARAMETER + count_text(f"{name}:{schema.get('type', '')}:{_description(schema)}")
        if schema.get("enum"):
            total += ENUM_START
            total += sum(ENUM_ITEM + count_text(str(item)) for item in schema["enum"])
    return total


def _description(schema: dict[str, Any]) -> str:
    return str(schema.get("description") or "").removesuffix(".")


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
