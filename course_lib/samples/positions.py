"""Published: how often a model answers from one document among many, by where that one stands."""

from __future__ import annotations

from types import MappingProxyType

SOURCE = (
    "Liu et al., Lost in the Middle: How Language Models Use Long Contexts (2023), "
    "arXiv 2307.03172, appendix G, GPT-3.5-Turbo"
)

# Documents in the prompt -> {index of the one that holds the answer: accuracy in per cent}.
ACCURACY = MappingProxyType(
    {
        10: MappingProxyType({0: 76.8, 4: 61.2, 9: 62.4}),
        20: MappingProxyType({0: 75.8, 4: 57.2, 9: 53.8, 14: 55.4, 19: 63.2}),
        30: MappingProxyType({0: 73.4, 4: 55.1, 9: 50.5, 14: 50.9, 19: 51.8, 24: 54.9, 29: 63.7}),
    }
)

CLOSED_BOOK = 56.1  # the same questions, with no documents at all
