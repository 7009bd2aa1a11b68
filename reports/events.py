"""An event in words."""

from ..harness.history import Event
from ..harness.rocketmq.naming import the


def words(event: Event) -> str:
    """What happened, as a sentence for somebody who does not know the history's columns."""
    return event.words(the)
