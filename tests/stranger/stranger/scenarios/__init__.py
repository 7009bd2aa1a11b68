"""Scenarios from another repository."""
