"""Short-term memory in LLM agents: what a long run sends, what to leave out, and what that costs.

`import course_lib` loads the standard library only. tiktoken, matplotlib and ipywidgets load
when a function that needs them is first used.
"""

import sys

if sys.version_info < (3, 11):
    raise SystemExit("The course needs Python 3.11 or newer; this is %d.%d." % sys.version_info[:2])

from importlib import import_module as _import_module
from typing import Any as _Any

from course_lib.messages import (
    BadMessage,
    BudgetTooSmall,
    CourseError,
    pairs_ok,
    sendable,
    size,
    turn_groups,
    validate,
)
from course_lib.replay import Run, replay
from course_lib.samples import incident, long_incident
from course_lib.summaries import facts_only
from course_lib.tokens import count_tokens
from course_lib.transcript import Transcript
from course_lib.trimming import (
    append_all,
    high_low,
    mask_results,
    rolling_summary,
    shrink_newest,
    sliding_window,
    trim,
)

# Names whose modules need Jupyter or matplotlib, or are rarely needed: loaded at first use.
_LATER = {
    "Context": "course_lib.context",
    "Conversation": "course_lib.conversation",
    "Store": "course_lib.store",
    "audit": "course_lib.audits",
    "model_from_environment": "course_lib.endpoints",
    "plan": "course_lib.plans",
    "reuse": "course_lib.reuses",
    "shape_of": "course_lib.shapes",
    "summarize_with": "course_lib.summaries",
    "exact_values": "course_lib.values",
    "finalize_turn": "course_lib.conversation",
    "find_repeats": "course_lib.conversation",
    "coding_run": "course_lib.samples.coding",
    "invoice_run": "course_lib.samples.invoices",
    "repair": "course_lib.providers",
    "five_texts": "course_lib.samples.support",
    "support_chat": "course_lib.samples.support",
    "support_tools": "course_lib.samples.support",
    "explore_context": "course_lib.views.explore_context",
    "explore_conversation": "course_lib.views.explore_conversation",
    "explore_arithmetic": "course_lib.views.explore_arithmetic",
    "explore_run": "course_lib.views.explore_run",
    "explore_session": "course_lib.views.explore_session",
    "explore_summary": "course_lib.views.explore_summary",
    "explore_trim": "course_lib.views.explore_trim",
    "message_classes": "course_lib.sessions",
    "plot_cache": "course_lib.views.figures",
    "plot_reads": "course_lib.views.figures",
    "payment_checks": "course_lib.samples.payments",
    "payments": "course_lib.samples.payments",
    "plot_positions": "course_lib.views.figures",
    "research_session": "course_lib.samples.research",
    "session_note": "course_lib.sessions",
    "show": "course_lib.views.show",
    "check": "course_lib.checks",
    "hint": "course_lib.checks",
    "predict": "course_lib.checks",
    "progress": "course_lib.checks",
    "pick_run": "course_lib.traces",
    "read_transcripts": "course_lib.traces",
}

__all__ = [
    "BadMessage",
    "BudgetTooSmall",
    "CourseError",
    "Run",
    "Transcript",
    "append_all",
    "count_tokens",
    "facts_only",
    "high_low",
    "incident",
    "long_incident",
    "mask_results",
    "pairs_ok",
    "replay",
    "rolling_summary",
    "sendable",
    "shrink_newest",
    "size",
    "sliding_window",
    "trim",
    "turn_groups",
    "validate",
]
__all__ += list(_LATER)


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module 'course_lib' has no attribute {name!r}")
    return getattr(_import_module(_LATER[name]), name)
