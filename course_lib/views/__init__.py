"""What a reader sees: explorers, charts, and the library's own source in a lesson."""
