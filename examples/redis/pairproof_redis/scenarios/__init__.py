"""Scenarios of a Redis pair."""
