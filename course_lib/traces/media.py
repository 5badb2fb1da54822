"""The bytes of pictures and files in a message: found by their look, kept as a size only."""

from __future__ import annotations

import re
from typing import Any

MEDIA_PARTS = {
    "audio",
    "document",
    "file",
    "image",
    "image_url",
    "input_audio",
    "input_file",
    "input_image",
    "media",
    "video",
    "video_url",
}
DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,", re.ASCII)
BASE64 = re.compile(r"[A-Za-z0-9+/_=\r\n-]+")
LEAST_BASE64 = 64
DATA_KEYS = ("data", "image", "file_data", "bytes", "b64_json", "base64", "image_base64")
TYPE_KEYS = ("media_type", "mime_type", "mimeType", "mediaType", "format")
INLINE_KEYS = ("inlineData", "inline_data")  # Gemini's parts name no type
# What the model wrote itself, or reads as text: it stays to the letter.
TEXT_KEYS = ("arguments", "args", "input", "text")

HELD = 256  # characters of a base64 text that tell what it is


class Cut(str):
    """The beginning of a base64 text that was let go of; `size` is how many bytes the whole held."""

    size: int

    def __new__(cls, text: str, start: int = 0) -> Cut:
        cut = super().__new__(cls, text[: start + HELD])
        cut.size = decoded_size(text, start)
        return cut


def decoded_size(base64: str, start: int = 0) -> int:
    """The number of bytes that a base64 text holds, from a place in it on."""
    if isinstance(base64, Cut):
        return base64.size
    digits = "".join(base64[start:].split()).replace("=", "")
    return len(digits) * 3 // 4


def bytes_in(value: Any, key: str = "", least: int = LEAST_BASE64) -> tuple[str, int] | None:
    """The media type ("" if not said) and the number of bytes of the base64 data in a part.

    Under the keys that name data a string counts as base64 from `least` characters on.
    """
    if isinstance(value, str):
        url = DATA_URL.match(value)
        if url:
            return url[1] or "", decoded_size(value, url.end())
        if key in DATA_KEYS and len(value) >= least and BASE64.fullmatch(value):
            return "", decoded_size(value)
        return None
    if isinstance(value, list):
        return next(filter(None, (bytes_in(item, "", least) for item in value)), None)
    if not isinstance(value, dict) or value.get("type") == "text":
        return None
    inside = (bytes_in(item, name, least) for name, item in value.items())
    found = next(filter(None, inside), None)
    said = next((value[name] for name in TYPE_KEYS if isinstance(value.get(name), str)), "")
    return found and (found[0] or said, found[1])


def without_bytes(value: Any, key: str = "", media: bool = False) -> Any:
    """The JSON value with the bytes of its pictures and files `Cut`; all else is as it was."""
    if isinstance(value, str):
        return _cut(value, key) if media and len(value) > 2 * HELD else value
    if isinstance(value, list):
        return [without_bytes(item, key, media) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    media = media or key in INLINE_KEYS or (isinstance(kind, str) and kind in MEDIA_PARTS)
    return {
        name: item
        if name in TEXT_KEYS and not isinstance(item, list)
        else without_bytes(item, name, media)
        for name, item in value.items()
    }


def _cut(text: str, key: str) -> str:
    url = DATA_URL.match(text)
    start = url.end() if url else 0
    return Cut(text, start) if (url or key in DATA_KEYS) and BASE64.fullmatch(text, start) else text
