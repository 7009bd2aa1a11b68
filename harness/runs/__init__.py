"""Run folders: writing and reading the records of runs."""
