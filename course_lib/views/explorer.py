"""What every explorer has: a static picture for the saved notebook, and the live view for JupyterLab."""

from __future__ import annotations

from typing import Any

from ipywidgets import VBox

from course_lib.views.still import Still


class Explorer(VBox):
    """A box of widgets that also knows a picture and a text of its first state."""

    def __init__(self, children: list[Any], still: Still) -> None:
        super().__init__(children)
        self._still = still

    def _repr_mimebundle_(self, **options: Any) -> Any:
        live = super()._repr_mimebundle_(**options)
        data, metadata = live if isinstance(live, tuple) else (live, {})
        return {**(data or {}), **self._still.mimebundle()}, metadata
