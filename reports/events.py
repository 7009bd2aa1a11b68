"""An event in words."""

from ..harness.history import Event
from ..harness.rocketmq.naming import the


def words(event: Event) -> str:
    """The event as a sentence, for readers who do not know the history's columns."""
    return event.words(the)
