"""What keeps a report from being made, each in one line that says what to do about it."""

from ..harness.errors import PairproofError


class NoJava(PairproofError):
    """No Java runtime that Spark can use: the tables and pages cannot be made, the JSON and JUnit files can."""


class SparkFailed(PairproofError):
    """Spark could not be started, or its job ended with an error."""
