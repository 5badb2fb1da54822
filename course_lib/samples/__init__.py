"""The sample transcripts that the lessons look at, built by plain code, the same every time."""

from __future__ import annotations

from course_lib.samples.incident import incident, long_incident

__all__ = ["incident", "long_incident"]
