"""The report command."""
