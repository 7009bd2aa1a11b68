"""Measurements of recorded histories: pure functions from one trial's events to rows, which both engines sum."""
