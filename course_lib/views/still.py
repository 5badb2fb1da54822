"""A picture that stands still, with the words that say what is on it."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import Any


class Still:
    """A drawn matplotlib figure as a picture with alt text, and a caption if there is one."""

    def __init__(self, figure: Any, alt: str, caption: str = "") -> None:
        buffer = io.BytesIO()
        # No software name or date in the file: the same figure gives the same bytes.
        figure.savefig(buffer, format="png", dpi=100, metadata={"Software": None})
        self.png, self.alt, self.caption = buffer.getvalue(), alt, caption

    def __repr__(self) -> str:
        return self.alt

    def mimebundle(self) -> dict[str, str]:
        """Text, and HTML with the picture: HTML is the one form that carries alt text."""
        source = base64.b64encode(self.png).decode("ascii")
        image = f'<img src="data:image/png;base64,{source}" alt="{escape(self.alt)}">'
        # A tag around each dollar sign: what stands between two of them would be set as a formula.
        words = escape(self.caption).replace("$", "<span>$</span>")
        caption = f"<p>{words}</p>" if self.caption else ""
        return {"text/plain": self.alt, "text/html": image + caption}

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return self.mimebundle()
