"""The systems under test."""
