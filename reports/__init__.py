"""Spark jobs over recorded runs, and pages from their tables."""
