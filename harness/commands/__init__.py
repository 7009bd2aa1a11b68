"""The commands of the harness."""
