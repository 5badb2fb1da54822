"""Other libraries' ways to bring a message list within a budget, each set up as well as it can be.

Wherever a library has an option that keeps the task, or the pairs of calls and results, it is on.
Exact counts are asked of all of them, by tiktoken with o200k_base.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.measure import tokenise, tokens_of
from course_lib import count_tokens, trim
from course_lib.messages import Message
from course_lib.tokens import TOKENS_PER_MESSAGE, VOCABULARY, encoding

FRAMING = TOKENS_PER_MESSAGE + 1  # what wraps a message, and its role


@dataclass(frozen=True)
class Contender:
    """A way to trim: into its own kind of messages, the trim, and back. Only the trim is timed."""

    trim: Callable[[Any, int], Any]
    into: Callable[[list[Message]], Any] = list
    back: Callable[[Any], list[Message]] = list


def course_lib() -> Contender:
    """The library of this course."""
    return Contender(lambda messages, budget: trim(messages, budget).messages)


def document() -> Contender:
    """The loop of the document that the course grew from, with tokens in the place of characters.

    It counts all that is left again for each group that it drops, remembering each text's count.
    """

    def trim_as_written(messages: list[Message], budget: int) -> list[Message]:
        head, groups = messages[:2], _groups_by_order(messages[2:])
        while groups and count_tokens(head) + count_tokens(sum(groups, [])) > budget:
            groups.pop(0)
        return head + sum(groups, [])

    return Contender(trim_as_written)


def _groups_by_order(messages: Sequence[Message]) -> list[list[Message]]:
    groups: list[list[Message]] = []
    for message in messages:
        if message["role"] == "tool" and groups:
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups


def langchain() -> Contender:
    """`trim_messages`; it may start on an answer, so that pairs stay whole. Has no way to keep the task."""
    from langchain_core.messages import (
        BaseMessage,
        convert_to_messages,
        convert_to_openai_messages,
        trim_messages,
    )

    def texts_of(message: BaseMessage) -> Iterator[str]:
        yield message.content
        yield getattr(message, "tool_call_id", "")
        for call in getattr(message, "tool_calls", ()):
            yield from (call["id"], call["name"], json.dumps(call["args"]))

    def count(messages: list[BaseMessage]) -> int:
        texts = [text for message in messages for text in texts_of(message)]
        return FRAMING * len(messages) + sum(map(tokens_of, texts))

    def shorten(messages: list[BaseMessage], budget: int) -> list[BaseMessage]:
        return trim_messages(
            messages,
            max_tokens=budget,
            token_counter=count,
            strategy="last",
            include_system=True,
            start_on=("human", "ai"),
        )

    return Contender(shorten, convert_to_messages, convert_to_openai_messages)


def haystack() -> Contender:
    """`SlidingWindowCompactor`, without the note that it may leave."""
    os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
    from haystack.dataclasses import ChatMessage
    from haystack.hooks.compaction import SlidingWindowCompactor
    from haystack.token_counters import TiktokenCounter

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says on each use that it is experimental
        compactor = SlidingWindowCompactor(omission_note=None)
    counter = TiktokenCounter("o200k_base")
    return Contender(
        lambda messages, budget: compactor.compact(messages, budget, counter) or messages,
        lambda messages: [ChatMessage.from_openai_dict_format(m) for m in messages],
        lambda messages: [m.to_openai_dict_format() for m in messages],
    )


def agent_framework() -> Contender:
    """`TruncationStrategy`, told to keep the first message of the user."""
    from agent_framework import Content, TruncationStrategy, apply_compaction
    from agent_framework import Message as Theirs

    class Tokenizer:
        def count_tokens(self, text: str) -> int:
            return tokens_of(text)

    def shorten(messages: list[Theirs], budget: int) -> list[Theirs]:
        strategy = TruncationStrategy(
            max_n=budget,
            compact_to=budget,
            tokenizer=Tokenizer(),
            preserve_first_user_group=True,
        )
        return _finished(apply_compaction(messages, strategy=strategy, tokenizer=Tokenizer()))

    def into(message: Message) -> Theirs:
        if message["role"] == "tool":
            result = Content.from_function_result(
                message["tool_call_id"], result=message["content"]
            )
            return Theirs("tool", [result])
        contents = [Content.from_text(message["content"])]
        for call in message.get("tool_calls", ()):
            function = call["function"]
            arguments = function["arguments"]
            contents.append(
                Content.from_function_call(call["id"], function["name"], arguments=arguments)
            )
        return Theirs(message["role"], contents)

    def back(message: Theirs) -> Message:
        role = str(message.role)
        if role == "tool":
            (result,) = message.contents
            return {"role": role, "tool_call_id": result.call_id, "content": result.result}
        calls = [
            _nested(c.call_id, c.name, c.arguments)
            for c in message.contents
            if c.type == "function_call"
        ]
        return _with_calls({"role": role, "content": message.text}, calls)

    return Contender(shorten, lambda ms: [into(m) for m in ms], lambda ms: [back(m) for m in ms])


def llama_index() -> Contender:
    """`ChatMemoryBuffer`. It counts the contents only."""
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import ChatMemoryBuffer

    def into(message: Message) -> ChatMessage:
        extra = {k: v for k, v in message.items() if k not in ("role", "content")}
        return ChatMessage(
            role=message["role"], content=message["content"], additional_kwargs=extra
        )

    def shorten(buffer: ChatMemoryBuffer, budget: int) -> list[ChatMessage]:
        buffer.token_limit = budget
        return buffer.get()

    return Contender(
        shorten,
        lambda messages: ChatMemoryBuffer.from_defaults(
            chat_history=[into(m) for m in messages],
            token_limit=1,
            tokenizer_fn=encoding().encode_ordinary,
        ),
        lambda messages: [
            {"role": m.role.value, "content": m.content, **m.additional_kwargs} for m in messages
        ],
    )


def contexttrim() -> Contender:
    """`ImportanceWeighted`, the strategy of its quick start, with system and user messages pinned."""
    from contexttrim import ContextManager
    from contexttrim.strategies import ImportanceWeighted

    def shorten(messages: list[Message], budget: int) -> list[Message]:
        strategy = ImportanceWeighted(pin_roles=frozenset({"system", "user"}))
        manager = ContextManager(budget, strategy, token_counter=count_one)
        return manager.extend(messages).fit()

    def count_one(message: Message) -> int:
        return FRAMING + tokenise([message])

    return Contender(shorten)


def tokentrim() -> Contender:
    """`trim`, given the system message apart, so that it stays."""
    from tokentrim import trim as shorten

    return Contender(
        # Of the models with this vocabulary, "o1" is one that it doesn't take for another.
        lambda messages, budget: shorten(
            messages[1:], "o1", system_message=messages[0]["content"], max_tokens=budget
        )
    )


def autogen() -> Contender:
    """`TokenLimitedChatCompletionContext`, with its own client's way to count."""
    from autogen_core import FunctionCall
    from autogen_core.model_context import TokenLimitedChatCompletionContext
    from autogen_core.models import (
        AssistantMessage,
        FunctionExecutionResult,
        FunctionExecutionResultMessage,
        LLMMessage,
        SystemMessage,
        UserMessage,
    )
    from autogen_ext.models.openai import OpenAIChatCompletionClient
    from autogen_ext.models.openai._openai_client import to_oai_type

    client = OpenAIChatCompletionClient(model="gpt-4o", api_key="none")

    def into_result(message: Message) -> FunctionExecutionResult:
        return FunctionExecutionResult(
            content=message["content"], name="", call_id=message["tool_call_id"], is_error=False
        )

    def into(group: list[Message]) -> list[LLMMessage]:
        asked, *results = group
        if asked["role"] == "system":
            return [SystemMessage(content=asked["content"])]
        if asked["role"] == "user":
            return [UserMessage(content=asked["content"], source="user")]
        calls = [
            FunctionCall(call["id"], call["function"]["arguments"], call["function"]["name"])
            for call in asked["tool_calls"]
        ]
        answers = FunctionExecutionResultMessage(content=[into_result(m) for m in results])
        return [
            AssistantMessage(content=calls, thought=asked["content"], source="agent"),
            answers,
        ]

    def shorten(messages: list[LLMMessage], budget: int) -> list[LLMMessage]:
        context = TokenLimitedChatCompletionContext(
            client, token_limit=budget, initial_messages=messages
        )
        return _finished(context.get_messages())

    return Contender(
        shorten,
        lambda messages: [m for group in _groups_by_order(messages) for m in into(group)],
        lambda messages: [dict(m) for theirs in messages for m in to_oai_type(theirs)],
    )


def _finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that waits for nothing: no event loop is part of its time."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("it waits for something")


def _nested(id: str, name: str, arguments: str) -> Message:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _with_calls(message: Message, calls: list[Message]) -> Message:
    return {**message, "tool_calls": calls} if calls else message


def prepare_tiktoken() -> None:
    """Peers that ask tiktoken for o200k_base get the bundled one: nothing is fetched."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(VOCABULARY)
    encoding()


# The name of each peer is that of its distribution, which knows its version.
PEERS: dict[str, Callable[[], Contender]] = {
    "langchain-core": langchain,
    "haystack-ai": haystack,
    "agent-framework-core": agent_framework,
    "llama-index-core": llama_index,
    "contexttrim": contexttrim,
    "tokentrim": tokentrim,
    "autogen-core": autogen,
}
OURS = "course_lib"
DOCUMENT = "the document's loop"
CONTENDERS: dict[str, Callable[[], Contender]] = {OURS: course_lib, DOCUMENT: document, **PEERS}
