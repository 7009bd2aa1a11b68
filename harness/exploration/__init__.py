"""Explores a target: searches in turn, counts, floors, findings and the summary."""
