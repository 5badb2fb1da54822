"""The prompt cache: how much of a request the provider has read before.

Providers keep the start of a request for a while and read it again for less, as long as it is
the same to the token. One changed token, and everything behind it is read at full price.
"""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.messages import Message

# OpenAI's guide "Prompt caching": prompts from 1,024 tokens on, in steps of 128.
BLOCK = 128
MINIMUM = 1024


def common_prefix(before: Sequence[Message], now: Sequence[Message]) -> int:
    """How many messages at the start of both requests are the same."""
    shorter = min(len(before), len(now))
    if before[:shorter] == now[:shorter]:
        return shorter
    return next(i for i in range(shorter) if before[i] != now[i])


def cached_tokens(prefix: int, block: int = BLOCK, minimum: int = MINIMUM) -> int:
    """The tokens of a common prefix that a cache can serve: whole blocks, from a minimum on."""
    return prefix // block * block if prefix >= minimum else 0
