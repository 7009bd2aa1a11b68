"""Spark jobs over recorded runs, and pages made from their tables."""
