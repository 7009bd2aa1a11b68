"""Errors that prevent a report, each one line with the remedy."""

from ..harness.errors import PairproofError


class NoJava(PairproofError):
    """No Java runtime for Spark: no tables and pages; the JSON and JUnit files can be made."""


class SparkFailed(PairproofError):
    """Spark could not be started, or its job failed."""
