"""For whoever maintains or teaches the course: notebooks and exercises are made here."""
