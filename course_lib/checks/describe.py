"""Values in a few characters, and types in words: what a verdict shows of an input or a result.

The same value always gives the same text: no addresses, sets sorted.
"""

from __future__ import annotations

import inspect
import re
import reprlib
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

_LINE = 76
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_WORDS = {
    list: "a list",
    str: "a text (str)",
    dict: "a dict",
    int: "a whole number (int)",
    float: "a number (float)",
    bool: "True or False (bool)",
    tuple: "a tuple",
    set: "a set",
    type(None): "nothing (None)",
    types.FunctionType: "a function",
    types.GeneratorType: "a generator",
    types.CoroutineType: "a coroutine",
}


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 4, 60, 70
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = 12

    def repr_instance(self, x: Any, level: int) -> str:
        return clip(_ADDRESS.sub("", repr(x)), self.maxother)

    def repr_function(self, x: Any, level: int) -> str:
        return x.__name__

    repr_type = repr_builtin_function_or_method = repr_function


_short = _Short()


def clip(text: str, width: int = _LINE) -> str:
    """The text, its middle cut out where it is longer than `width` characters."""
    half = (width - 3) // 2
    return text if len(text) <= width else f"{text[:half]}...{text[-half:]}"


def describe(value: Any) -> str:
    """The value on a line; a list of messages as a line for each message."""
    if _is_messages(value):
        return "\n".join([f"{len(value)} messages", *_middle_out(list(_message_lines(value)))])
    if isinstance(value, tuple) and any(map(_is_messages, value)):
        names = getattr(value, "_fields", range(len(value)))
        return "\n".join(f"[{n}] {describe(v)}" for n, v in zip(names, value, strict=False))
    return _on_a_line(value)


def describe_call(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> str:
    """The call as the learner would write it; what doesn't fit on a line stands below, by name."""
    name = getattr(function, "__name__", "it")
    texts = [_on_a_line(a) for a in args] + [f"{k}={_on_a_line(v)}" for k, v in kwargs.items()]
    call = f"{name}({', '.join(texts)})"
    values = [*zip(argument_names(function, len(args)), args, strict=False), *kwargs.items()]
    if len(call) <= _LINE and not any(_is_messages(value) for _, value in values):
        return call
    lines = [f"{n} = {_indent(describe(value))}" for n, value in values]
    return "\n".join([f"{name}({', '.join(n for n, _ in values)})", *lines])


def argument_names(function: Callable[..., Any], count: int) -> list[str]:
    """The names of the first `count` parameters; "argument 2" where the function has no name."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    return [names[i] if i < len(names) else f"argument {i + 1}" for i in range(count)]


def kind(value: Any) -> str:
    """What sort of thing a value is, in words: "a list", "nothing (None)"."""
    return in_words(type(value))


def in_words(shape: Any) -> str:
    """A type in words: `list[dict]` is "a list, each item a dict"."""
    args = typing.get_args(shape)
    base = typing.get_origin(shape) or shape
    if base in (typing.Union, types.UnionType):
        return " or ".join(map(in_words, args))
    if base in (list, set) and args:
        return f"{_WORDS[base]}, each item {in_words(args[0])}"
    if base is tuple and args and args[-1] is not Ellipsis:
        return f"a tuple of {len(args)}: " + ", then ".join(map(in_words, args))
    return _WORDS.get(base, "something callable" if base is Callable else _named(base))


def misfit(value: Any, shape: Any, what: str = "Your result") -> str:
    """Where a value isn't of the type `shape`, in words; empty where it is."""
    base = typing.get_origin(shape) or (type(None) if shape is None else shape)
    args = typing.get_args(shape)
    if base is Any:
        return ""
    if base in (typing.Union, types.UnionType):
        fits = any(not misfit(value, option) for option in args)
        return "" if fits else f"{what} is {kind(value)}, not {in_words(shape)}."
    accepted = (int, float) if base is float else base
    confused = isinstance(value, bool) and base in (int, float)
    if confused or not isinstance(value, accepted):
        return f"{what} is {kind(value)}, not {in_words(base)}."
    if base is tuple and args and args[-1] is not Ellipsis and len(args) != len(value):
        return f"{what} is a tuple of {len(value)}, not of {len(args)}."
    inner = (misfit(*part) for part in _parts(value, base, args, what))
    return next(filter(None, inner), "")


def _parts(value: Any, base: Any, args: tuple, what: str) -> Iterator[tuple[Any, Any, str]]:
    if base is dict and args:
        yield from ((k, args[0], f"The key {_on_a_line(k)}") for k in value)
        yield from ((v, args[1], f"The value of {_on_a_line(k)}") for k, v in value.items())
    elif base in (list, set, tuple) and args:
        shapes = args if base is tuple and args[-1] is not Ellipsis else [args[0]] * len(value)
        pairs = enumerate(zip(value, shapes, strict=True))
        yield from ((v, shape, f"{what}[{i}]") for i, (v, shape) in pairs)


def _named(base: Any) -> str:
    return f"an object of the type {getattr(base, '__name__', base)}"


def _on_a_line(value: Any) -> str:
    try:
        return clip(_short.repr(value), 3 * _LINE)
    except Exception:  # a learner's own __repr__, or a number with more digits than Python prints
        return f"{kind(value)} that can't be printed"


def _is_messages(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(item, dict) and "role" in item for item in value)
    )


def _message_lines(messages: list[dict[str, Any]]) -> Iterator[str]:
    for i, message in enumerate(messages):
        parts = [_call_words(call) for call in message.get("tool_calls") or []]
        if "tool_call_id" in message:
            parts.append(f"answers {message['tool_call_id']}")
        if message.get("content"):
            parts.append(clip(_short.repr(message["content"]), 52))
        if message.get("pinned"):
            parts.append("(pinned)")
        yield f"  {f'[{i}]':5}{message['role']!s:10} {' '.join(parts)}".rstrip()


def _call_words(call: Any) -> str:
    if not isinstance(call, dict):
        return "calls ?"
    inner = call.get("function")
    name = call.get("name") or (inner.get("name") if isinstance(inner, dict) else None)
    return f"calls {name or '?'} as {call.get('id', '?')}"


def _middle_out(lines: list[str], keep: int = 4) -> list[str]:
    if len(lines) <= 2 * keep + 1:
        return lines
    return [*lines[:keep], f"  ... {len(lines) - 2 * keep} more ...", *lines[-keep:]]


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")
