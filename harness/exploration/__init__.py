"""Explores a target: searches in turn, counts, coverage minimums, findings and the summary."""
