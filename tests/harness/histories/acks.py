"""Histories of sends that wait for a slave or a disk."""

from histories import H, pair

FIVE = {"rocketmqVersion": "5.3.1"}
TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
SYNC_FLUSH = {"flushDiskType": "SYNC_FLUSH"}


def passing(history: H, place: str) -> H:
    """A fault comes and goes."""
    return history.fault("some", place).fault("some", place, "off")


def second(history: H) -> H:
    """The second slave gets all."""
    link = history.link
    history.frame(0, 100, peer="slave2").append("slave2", 0, 100)
    return history.report(100, peer="slave2", link=link)


def stalled() -> H:
    return pair().fault("some", "ha")
