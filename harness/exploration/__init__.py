"""Exploration of a target: searches, counts, coverage minimums, findings and the summary."""
