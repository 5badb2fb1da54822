"""Exact values: what a summary has to copy, because a paraphrase of it can't be used later.

One pass over the text cuts it into tokens, each of one kind; a rule then says whether the token
is exact. It reads patterns, not meaning: it takes a product's name such as GPT-4 for an
identifier, and it doesn't see that Monday is a date, or that "twelve" is a number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

QUOTE_LIMIT = 120  # characters; what is longer is a passage, and only the values in it count

_W = "A-Za-z0-9_À-ÖØ-öø-ɏ"  # what a word is made of: Latin letters, so that 請求書8841 parts well
# A value starts behind a \\n too: the line break of a JSON text that was cut, so isn't JSON now.
_START, _END = rf"(?:(?<![{_W}])|(?<=\\[nrt]))", rf"(?![{_W}])"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?"
_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    "|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_DATES = (
    rf"(?:19|20)\d\d-[01]\d(?:-[0-3]\d(?:[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?)?)?",
    r"\d{1,4}/\d{1,2}/\d{1,4}",
    r"\d{1,2}\.\d{1,2}\.\d{4}",
    rf"\d{{1,2}}/[A-Z][a-z]{{2}}/\d{{4}}(?::{_CLOCK})?",
    rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b\.?(?:,? \d{{4}})?",
    rf"{_MONTH}\.? (?:\d{{4}}|\d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?)",
)
_CURRENCY = "EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN"
_UNIT = (
    rf"%|‰|per ?cent|bps|basis points?|thousand|million|billion|mn|bn|k|M|{_CURRENCY}|[€£$]"
    "|euros?|dollars?|pounds?|cents?|pence"
    "|ms|µs|ns|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|weeks?|months?|quarters?|years?"
    "|(?:business |working |calendar )?days?"
    "|[KMGT]i?B|[kMG]bps|bytes?|°C|°F|km|cm|mm|m|kg|mg|g|kWh|kW|[kMG]?Hz|rpm|px"
)
_FILE = (
    "py|ipynb|js|ts|tsx|json|jsonl|csv|tsv|txt|md|log|ya?ml|toml|xml|html?|css|pdf|sql|db|sh|go"
    "|rs|java|cpp|ini|cfg|conf|xlsx?|docx?|pptx?|png|jpe?g|svg|zip|gz|tar|parquet|lock|env"
    "|com|org|net|io|dev|edu|gov|internal|local"
)
_QUOTED = (
    *(rf"(?<![{_W}{q}]){q}(?=[^\s{q}])[^{q}\n]{{1,{QUOTE_LIMIT}}}{q}{_END}" for q in "\"'`"),
    rf"“[^“”\n]{{1,{QUOTE_LIMIT}}}”",
    rf"«[^«»\n]{{1,{QUOTE_LIMIT}}}»",
)

# The kinds, tried in this order. Each repeat is possessive (`++`), atomic (`(?>…)`) or has a limit,
# and `word` takes whole words that nothing else wants: no text can make the search go back over
# itself. Groups are atomic, because Python before 3.11.5 goes wrong on a possessive group.
KINDS = {
    "plain": rf"{_START}[a-z]++(?=[\s,;)]|[.:]\s|$)",  # most words: out of the way, first
    "key": r'"[^"\n]{1,60}"(?=\s{0,3}:)',
    "quote": "|".join(_QUOTED),
    "url": rf"{_START}[a-z][a-z0-9+.-]{{1,15}}://[^\s\"'<>`]++",
    "email": rf"{_START}\w[\w.+-]{{0,63}}+@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,8}}",
    "phone": rf"{_START}\+\d[\d ()-]{{6,18}}\d{_END}",
    "uuid": rf"{_START}[\dA-Fa-f]{{8}}(?:-[\dA-Fa-f]{{4}}){{3}}-[\dA-Fa-f]{{12}}{_END}",
    "hardware": rf"{_START}[\dA-Fa-f]{{2}}(?::[\dA-Fa-f]{{2}}){{5}}{_END}",
    "date": rf"{_START}(?:{'|'.join(_DATES)}){_END}",
    "time": rf"{_START}(?:{_CLOCK}Z?|\d{{1,2}}(?= ?[ap]\.?m\b))(?: ?[ap]\.?m\b)?{_END}",
    "file": rf"(?<![{_W}./-])(?:\w[\w-]{{0,59}}+\.){{1,5}}(?:{_FILE})(?::\d{{1,6}}){{0,2}}"
    rf"(?![{_W}/])",
    "path": rf"(?<![{_W}<])(?:[A-Za-z]:\\[^\s\"'<>|:*?]{{1,200}}"
    r"|(?:[\w.@][\w.@+-]{0,99}+|~)?(?>(?:/[\w.@%+~-]{1,100})+)/?)(?::\d{1,6}){0,2}",
    "escape": r'\\[nrt"]',
    "figure": rf"{_START}(?:#|[£€$¥₹]|(?:{_CURRENCY}) ?)?[-−+±]?"
    r"\d++(?>(?:[.,'’_]\d++|[\u00a0\u202f]\d{3}(?!\d))*)"
    rf"(?:[\s-]?(?:{_UNIT}){_END})?(?![{_W}]|-[A-Z])",
    "code": rf"(?<![{_W}-])(?<![A-Z][A-Z] )[A-Z]{{3,6}}(?![{_W}:-])(?! [A-Z]{{2}})",
    "word": rf"[{_W}]++(?>(?:[-.][{_W}]++)*)(?:\(\))?",
}
# Capitals that name no thing of the run: levels of a log, formats, and words that are shouted.
_NOT_CODES = (
    " INFO WARN ERROR DEBUG FATAL TRACE GET POST PUT HEAD PATCH DELETE API HTTP HTTPS URL URI JSON "
    "XML HTML CSV PDF SQL YAML TCP UDP DNS SSL TLS SSH CPU GPU RAM LLM UTC GMT FAQ CEO CFO USA "
    "ASAP FYI NOT AND THE ALL ANY BUT NEVER ONLY MUST NULL TRUE FALSE NONE TODO FACT DONE "
)


def exact_values(text: str) -> list[str]:
    """The exact values of a text, in the order in which they first appear, each once.

    Exact are: web and e-mail addresses, paths, file names; dates and times; what stands in
    quotation marks, and the short texts of a JSON object (not its keys), together with the values
    inside them; words with a digit or an underscore in them (E12, INV-8841, user_id); codes of 3
    to 6 capitals (DPX), where they aren't shouting, a label (NOTE:) or a common acronym; figures
    with a unit, a currency, a sign like # or a separator; and bare numbers from three digits on.
    A smaller bare number is a count, and means little without its sentence: it isn't one.
    """
    found: dict[str, str] = {}
    for value in _values(text):
        found.setdefault(normal_form(value), value)
    return list(found.values())


@lru_cache(maxsize=2**14)
def normal_form(value: str) -> str:
    """The value in the form in which two spellings of it are the same.

    Letter case, thousands separators, the space before a unit, the form of a date, quotation
    marks and punctuation at the ends make no difference: 48,000 is 48000, "10 per cent" is 10%.
    """
    text = " ".join(value.split()).casefold().strip("\"'`“”«».,;:!?")
    if not _has_digit(text):
        return text
    dated = _DATE_IN_WORDS.fullmatch(text)
    if dated:
        return _iso_date(dated)
    if _TIMESTAMP.match(text):
        return text.replace("t", " ").removesuffix("z")
    figure = _FIGURE_PARTS.fullmatch(text)
    return _normal_figure(*figure.groups("")) if figure else text


def bare_number(form: str) -> str:
    """The number in the normal form of a figure with a unit; empty for anything else."""
    figure = _WITH_UNIT.fullmatch(form)
    return figure[1] if figure else ""


def plain_words(text: str) -> list[str]:
    """The words of a text in normal form, without the punctuation around them."""
    leaves = _json_leaves(text)
    if leaves is not None:
        text = " ".join(leaf for leaf, _ in leaves)
    words = (word.strip("()[]{}<>*\"',;") for word in re.split(r"[\s=|]+", text))
    return [normal_form(word) for word in words if word]


# ---- finding them ---------------------------------------------------------------------------


def _values(text: str) -> Iterator[str]:
    leaves = _json_leaves(text)
    if leaves is None:
        yield from _scanned(text)
        return
    for leaf, is_key in leaves:
        if is_key:
            yield from _scanned(leaf) if _has_digit(leaf) else ()
        else:
            if _quotable(leaf):
                yield leaf
            yield from _values(leaf)


def _scanned(text: str) -> Iterator[str]:
    for match in _tokens().finditer(text):
        kind, token = match.lastgroup, match[0]
        if kind == "key":
            yield from _scanned(token[1:-1]) if _has_digit(token) else ()
        elif kind == "quote":
            if _quotable(token[1:-1]):
                yield token[1:-1]
            yield from _scanned(token[1:-1])
        elif kind == "path" and not _is_path(token):
            for part in token.split("/"):
                yield from _scanned(part)
        elif _is_exact(kind, token):
            yield token.rstrip(".,;:!?)]}") if kind in ("url", "path") else token


@cache
def _tokens() -> re.Pattern[str]:
    """All kinds in one pattern; made at first use, since that takes some 20 ms."""
    kinds = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in KINDS.items())
    return re.compile(rf"(?=\S)(?:{kinds})")


def _is_exact(kind: str | None, token: str) -> bool:
    if kind == "figure":
        return not token.lstrip("-−+±").isdigit() or len(token.lstrip("-−+±")) >= 3
    if kind == "code":
        return f" {token} " not in _NOT_CODES
    if kind == "word":
        return _is_identifier(token)
    return kind not in ("plain", "escape")


def _is_identifier(word: str) -> bool:
    if len(word) > QUOTE_LIMIT or not any(c.isalpha() for c in word):
        return False
    if _has_digit(word):
        return not _NO_IDENTIFIER.fullmatch(word)
    return word.endswith("()") or "_" in word.strip("_")


def _is_path(token: str) -> bool:
    """Not everything with a slash is a path: and/or, 24/7, I/O."""
    token = token.rstrip(".,;:!?")
    if token[0] in "/~." or "\\" in token:
        return True
    return any(c in "._" or c.isdigit() for c in token) and any(c.isalpha() for c in token)


def _quotable(text: str) -> bool:
    return 2 <= len(text) <= QUOTE_LIMIT and "\n" not in text and any(c.isalpha() for c in text)


def _has_digit(text: str) -> bool:
    return re.search(r"\d", text) is not None


def _json_leaves(text: str) -> list[tuple[str, bool]] | None:
    """The keys, texts and numbers of a JSON text in its order, or None if it isn't JSON."""
    stripped = text.strip()
    if not (stripped.startswith(("{", "[")) and stripped.endswith(("}", "]"))):
        return None
    try:
        # Numbers stay as they are written: 48000.00, and ids too long for a float.
        waiting: list[Any] = [json.loads(stripped, parse_int=str, parse_float=str)]
    except (ValueError, RecursionError):
        return None
    leaves: list[tuple[str, bool]] = []
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += [part for k, v in reversed(item.items()) for part in (v, (k,))]
        elif isinstance(item, list):
            waiting += reversed(item)
        elif isinstance(item, tuple):
            leaves.append((item[0], True))
        elif isinstance(item, str):
            leaves.append((item, False))
    return leaves


# ---- comparing them -------------------------------------------------------------------------

_NO_IDENTIFIER = re.compile(r"\d+(?:st|nd|rd|th|s|x)", re.IGNORECASE)
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dt\d\d:\d\d")
_DATE_IN_WORDS = re.compile(
    rf"(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?({_MONTH})\.?"
    r"(?: (\d{1,2})(?:st|nd|rd|th)?)?(?:,? (\d{4}))?",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FIGURE_PARTS = re.compile(
    rf"#?([£€$¥₹]|(?:{_CURRENCY}) ?|)([-−+±]?)(\d[\d.,'’_]*(?: \d{{3}})*)[\s-]?({_UNIT}|)",
    re.IGNORECASE,
)
_WITH_UNIT = re.compile(rf"(-?\d[\d.,]*)(?:{_UNIT}){{1,2}}", re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}(?:[,'’_ ]\d{2,3})*[,'’_ ]\d{3}(?:\.\d+)?")
_UNITS = {
    "£": "gbp", "pound": "gbp", "€": "eur", "euro": "eur", "$": "usd", "dollar": "usd",
    "¥": "jpy", "₹": "inr", "per cent": "%", "percent": "%", "sec": "s", "second": "s",
    "min": "minute", "hr": "h", "hour": "h", "thousand": "k", "m": "m", "mn": "million",
    "bn": "billion", "basis point": "bps", "yr": "year", "yrs": "year", "hrs": "h",
}  # fmt: skip


def _iso_date(parts: re.Match[str]) -> str:
    before, month, after, year = parts.groups()
    number = _MONTHS.index(month[:3]) + 1
    day = before or after
    return "-".join(filter(None, [year, f"{number:02d}", day and f"{int(day):02d}"]))


def _normal_figure(currency: str, sign: str, number: str, unit: str) -> str:
    if _GROUPED.fullmatch(number):
        number = re.sub(r"[,'’_ ]", "", number)
    if re.fullmatch(r"\d+\.0+", number):
        number = number.split(".")[0]
    unit = unit.removesuffix("s") if len(unit) > 3 else unit
    unit = "million" if currency and unit == "m" else _UNITS.get(unit, unit)
    currency = _UNITS.get(currency.strip(), currency.strip())
    return f"{sign.replace('−', '-').strip('+')}{number}{unit}{currency}"
