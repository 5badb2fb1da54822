"""A picture that stands still, with the words that say what is on it."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import Any


class Still:
    """A drawn matplotlib figure as a picture with alt text, and the same in words."""

    def __init__(self, figure: Any, alt: str) -> None:
        buffer = io.BytesIO()
        # No software name or date in the file: the same figure gives the same bytes.
        figure.savefig(buffer, format="png", dpi=100, metadata={"Software": None})
        self.png, self.alt = buffer.getvalue(), alt

    def __repr__(self) -> str:
        return self.alt

    def mimebundle(self) -> dict[str, str]:
        """Text, and HTML with the picture: HTML is the one form that carries alt text."""
        source = base64.b64encode(self.png).decode("ascii")
        image = f'<img src="data:image/png;base64,{source}" alt="{escape(self.alt)}">'
        return {"text/plain": self.alt, "text/html": image}

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return self.mimebundle()
