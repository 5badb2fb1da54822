"""Conversations with tools: the inner loop of one task, and what is kept of it afterwards.

Three scopes, each a list of its own. The *scratch* of a task holds the question, each tool call
and each result. The *history* of a conversation holds what was promoted from the scratch: the
question, the answer, and little else. *Facts* outlive the conversation.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from course_lib.messages import (
    BadMessage,
    Call,
    CourseError,
    Message,
    assistant,
    calls_of,
    group_indices,
    is_summary,
    role_of,
    sendable,
    system,
    text_of,
    tool_result,
    user,
)
from course_lib.models import Model, Schema
from course_lib.tokens import count_tokens
from course_lib.trimming import Policy

Promote = Callable[[list[Message]], bool]
Remember = Callable[[list[Message]], Sequence[str]]


class ContextWindowExceeded(CourseError):
    """A request that doesn't fit in the model's window. `.window` and `.size` are in tokens."""

    def __init__(self, window: int, size: int) -> None:
        self.window, self.size = window, size
        super().__init__(
            f"The request has {size:,} tokens, and the model's window holds {window:,}. "
            "Send less: trim the list, summarise it, or promote less of each turn."
        )


# ---- what is kept of a turn -----------------------------------------------------------------


def pinned(group: list[Message]) -> bool:
    """The usual rule for what to promote from the scratch: turn groups with a pinned message."""
    return any(message.get("pinned") for message in group)


def everything(group: list[Message]) -> bool:
    """The rule that promotes all of the scratch, as the naive loop does."""
    return True


def finalize_turn(
    messages: Sequence[Message],
    question: int | str | None,
    answer: str,
    promote: Promote = pinned,
) -> list[Message]:
    """Replace the scratch of a turn by its answer, and keep the groups that `promote` chooses.

    The `question` is the index of the user message that began the turn, or its text; None
    stands for the newest user message. A text that was asked more than once means the last
    time, so that nothing between the two is lost.

    Raises `BadMessage` for an index that isn't a user message, `CourseError` for a text that
    no user message has.
    """
    boundary = question_index(messages, question)
    last = len(messages) - 1
    kept = set(range(boundary + 1))
    for group in group_indices(messages).groups:
        is_answer = group == [last] and messages[last]["role"] == "assistant"
        if group[0] < boundary or (not is_answer and promote([messages[i] for i in group])):
            kept.update(group)
    return [messages[i] for i in sorted(kept)] + [assistant(answer)]


def question_index(messages: Sequence[Message], question: int | str | None) -> int:
    """The index of the user message that began a turn; see `finalize_turn`."""
    if isinstance(question, int):
        if not 0 <= question < len(messages):
            raise BadMessage(question, None, f"there are only {len(messages)} messages")
        if role_of(messages[question], question) != "user":
            raise BadMessage(question, "role", "the question must be a `user` message")
        return question
    for i, message in reversed(list(enumerate(messages))):
        if role_of(message, i) != "user" or is_summary(message):
            continue
        if question is None or text_of(message) == question:
            return i
    wanted = (
        "there is no user message" if question is None else f"no user message says {question!r}"
    )
    raise CourseError(f"{wanted} in the list of {len(messages)} messages")


# ---- tools ----------------------------------------------------------------------------------


class Tool(NamedTuple):
    """A function that a model may call, and the schema that describes it to the model."""

    function: Callable[..., Any]
    schema: Schema


Registry = Mapping[str, Tool]


def tool(
    function: Callable[..., Any], description: str, name: str = "", /, **arguments: str
) -> Tool:
    """A tool from a function whose arguments are texts; `arguments` says what each one means."""
    properties = {
        argument: {"type": "string", "description": meaning}
        for argument, meaning in arguments.items()
    }
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    about = {"name": name or function.__name__, "description": description}
    return Tool(function, {"type": "function", "function": {**about, "parameters": parameters}})


def registry(*tools: Tool) -> dict[str, Tool]:
    """The tools by name, as the inner loop looks them up."""
    return {each.schema["function"]["name"]: each for each in tools}


def run_tool(call: Call, tools: Registry) -> Any:
    """What a tool returns for a call. Whatever goes wrong comes back in words for the model."""
    if call.name not in tools:
        return f"There is no tool {call.name!r}. The tools are: {', '.join(tools) or 'none'}."
    function = tools[call.name].function
    try:
        arguments = arguments_of(call)
        inspect.signature(function).bind(**arguments)
    except (TypeError, ValueError) as error:
        return f"{call.name} was not called: {error}."
    try:
        return function(**arguments)
    except Exception as error:  # a tool may fail in any way, and the run goes on
        return f"{call.name} failed: {type(error).__name__}: {error}"


def arguments_of(call: Call) -> dict[str, Any]:
    """The arguments of a call as a dict. Raises `CourseError` if they aren't a JSON object."""
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError as error:
            raise CourseError(f"its arguments aren't JSON ({error}): {arguments}") from None
    if not isinstance(arguments, dict):
        raise CourseError(f"its arguments must be a JSON object, not {json.dumps(arguments)}")
    return arguments


# ---- the inner loop -------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """What an inner loop did: its answer, all of its messages, and what it read for that."""

    answer: str
    messages: list[Message]  # what it was given, then all that came
    prompts: list[list[Message]]  # what was sent, call by call
    reads: list[int]  # tokens of each request, schemas included
    subs: tuple[Result, ...] = ()  # what sub-agents did, in contexts of their own
    finished: bool = True  # False if it was stopped at its last step

    @property
    def calls(self) -> int:
        """How many times the model was called."""
        return len(self.reads)

    @property
    def read(self) -> int:
        """Tokens read in this context."""
        return sum(self.reads)

    @property
    def total_read(self) -> int:
        """Tokens read in this context and in those of its sub-agents."""
        return self.read + sum(sub.total_read for sub in self.subs)


def inner_loop(
    messages: Sequence[Message],
    model: Model,
    tools: Registry,
    max_steps: int = 20,
    *,
    window: int | None = None,
    policy: Policy = list,
) -> Result:
    """Call the model, run the tools that it asks for, and again, until it answers.

    Before each call the `policy` decides what is sent, from what was sent last and what is new.
    After `max_steps` calls without an answer, a sentence that says so is the answer.

    Raises `ContextWindowExceeded` before a request of more than `window` tokens would be sent.
    """
    if max_steps < 1:
        raise CourseError(f"`max_steps` is {max_steps}: the model must be called at least once")
    schemas = [each.schema for each in tools.values()]
    trace, prompt, prompts, reads, subs = list(messages), list(messages), [], [], []
    while len(reads) < max_steps:
        prompt = policy(prompt)
        reads.append(fitting_size(prompt, schemas, window))
        prompts.append(prompt)
        reply = model(sendable(prompt), schemas)
        new = [reply, *_results(reply, tools, subs)]
        trace, prompt = trace + new, prompt + new
        if len(new) == 1:
            return Result(text_of(reply), trace, prompts, reads, tuple(subs))
    answer = f"I stopped after {max_steps} steps without an answer."
    return Result(answer, trace, prompts, reads, tuple(subs), finished=False)


def fitting_size(prompt: Sequence[Message], schemas: Sequence[Schema], window: int | None) -> int:
    """The tokens of a request. Raises `ContextWindowExceeded` if they don't fit."""
    size = count_tokens(prompt, tools=schemas)
    if window is not None and size > window:
        raise ContextWindowExceeded(window, size)
    return size


def _results(reply: Message, tools: Registry, subs: list[Result]) -> list[Message]:
    """The results that answer a reply's calls; those of sub-agents are added to `subs`."""
    if not isinstance(reply, dict) or reply.get("role") != "assistant":
        raise CourseError(f"a model returns an assistant message, this one returned {reply!r}")
    results = []
    for call in calls_of(reply):
        value = run_tool(call, tools)
        if isinstance(value, Result):
            subs.append(value)
            value = value.answer
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        results.append(tool_result(call.id, text))
    return results


# ---- a conversation -------------------------------------------------------------------------


class Conversation:
    """A conversation of several questions, with its three scopes kept apart.

    `history` is what each new question is sent with, `scratch` the last turn from its question
    to its answer, `facts` what `remember` took from the turns; give them to the conversation
    that comes after. `results` has a `Result` for each turn.
    """

    def __init__(
        self,
        system_prompt: str,
        model: Model,
        tools: Registry | None = None,
        *,
        promote: Promote = pinned,
        remember: Remember = lambda turn: (),
        facts: Sequence[str] = (),
        max_steps: int = 20,
        window: int | None = None,
        policy: Policy = list,
    ) -> None:
        self.system_prompt, self.model, self.tools = system_prompt, model, tools or {}
        self.promote, self.remember, self.policy = promote, remember, policy
        self.max_steps, self.window = max_steps, window
        self.history: list[Message] = []
        self.scratch: list[Message] = []
        self.facts = list(facts)
        self.results: list[Result] = []

    def turn(self, question: str) -> str:
        """Answer one question. If that fails, history and facts are what they were before.

        Raises `ContextWindowExceeded` if a request doesn't fit in the window.
        """
        task = [*self.instructions(), *self.history, user(question)]
        result = inner_loop(
            task,
            self.model,
            self.tools,
            self.max_steps,
            window=self.window,
            policy=self.policy,
        )
        scratch = result.messages[len(task) - 1 :]
        promoted = finalize_turn(scratch, 0, result.answer, self.promote)
        new = [fact for fact in self.remember(scratch) if fact not in self.facts]
        self.history, self.facts = [*self.history, *promoted], [*self.facts, *new]
        self.scratch, self.results = scratch, [*self.results, result]
        return result.answer

    def instructions(self) -> list[Message]:
        """The system prompt, and the facts that are known, if there are any."""
        if not self.facts:
            return [system(self.system_prompt)]
        known = "\n".join(f"- {fact}" for fact in self.facts)
        return [system(self.system_prompt), system(f"What you know already:\n{known}")]

    @property
    def read(self) -> int:
        """Tokens read over all turns, those of sub-agents included."""
        return sum(result.total_read for result in self.results)


# ---- sub-agents -----------------------------------------------------------------------------


@dataclass(frozen=True)
class SubAgent:
    """An agent that works on a task in a context of its own. Call it with the task."""

    system_prompt: str
    model: Model
    tools: Registry
    max_steps: int = 20
    window: int | None = None
    policy: Policy = list

    def __call__(self, task: str) -> Result:
        """Work on a task. Nothing of the caller's context is seen but the task itself."""
        return inner_loop(
            [system(self.system_prompt), user(task)],
            self.model,
            self.tools,
            self.max_steps,
            window=self.window,
            policy=self.policy,
        )


def as_tool(agent: SubAgent, name: str, description: str) -> Tool:
    """A sub-agent as a tool: its answer is the result, and its `Result` stands in `.subs`."""
    return tool(agent, description, name, task="What to find out, with all that is needed for it.")


# ---- calls that were made again -------------------------------------------------------------


class Repeat(NamedTuple):
    """A tool call that was made before, with the same arguments. The indices are of messages.

    `still_there` is True if the `earlier` call's result stood in the prompt when it was made
    `again`. If it didn't, too much had been trimmed.
    """

    earlier: int
    again: int
    name: str
    arguments: Any
    still_there: bool


def find_repeats(
    messages: Sequence[Message], prompts: Sequence[Sequence[Message]] = ()
) -> list[Repeat]:
    """The calls of a transcript that repeat an earlier one: same tool, same JSON arguments.

    `prompts` is what was sent on each of the last calls, as a `Result` or the rows of a replayed
    run have it. Where there is none, everything is taken to have been sent.

    Raises `CourseError` if there are more prompts than assistant messages.
    """
    asked = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    if len(prompts) > len(asked):
        raise CourseError(f"there are {len(prompts)} prompts for {len(asked)} assistant messages")
    sent = dict(zip(reversed(asked), reversed(prompts), strict=False))
    results = _results_by_call(messages)
    last: dict[tuple[str | None, str], tuple[int, int]] = {}
    repeats = []
    for i in asked:
        for n, call in enumerate(calls_of(messages[i])):
            key = (call.name, same_json(call.arguments))
            if key in last:
                result = results.get(last[key])
                there = result is not None and result in sent.get(i, messages[:i])
                repeats.append(Repeat(last[key][0], i, call.name or "", call.arguments, there))
            last[key] = (i, n)
    return repeats


def same_json(arguments: Any) -> str:
    """A text that is the same for all ways to write the same JSON value."""
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return json.dumps(json.loads(text, parse_float=_number), sort_keys=True)
    except (TypeError, ValueError):
        return str(arguments)


def _number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _results_by_call(messages: Sequence[Message]) -> dict[tuple[int, int], Message]:
    """For each call, as (index of its message, place in it), the result that answers it."""
    answers: dict[tuple[int, int], Message] = {}
    for first, *rest in group_indices(messages).groups:
        calls = list(enumerate(calls_of(messages[first])))
        for i in rest:
            id = messages[i].get("tool_call_id")
            n = next(n for n, call in calls if call.id == id)
            calls = [(other, call) for other, call in calls if other != n]
            answers[first, n] = messages[i]
    return answers
