"""What to write instead: one remedy per rule, edits that are put together, files that are replaced."""
