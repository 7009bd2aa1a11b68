"""Mutants of a pull's answer: the next offset, and the end of the answer."""

from ...reference.core.reading import Found, Reader, Takes
from .mutant import seeded


@seeded("slave", "pull-goes-on", "a slave returns readers ahead of it to its own end, although it may only be behind")
class SlaveMovesReaders(Reader):
    @property
    def moves(self) -> bool:
        return True


@seeded("master", "pull-is-filled", "returns one message at a time, although more are requested and available")
class GivesOneByOne(Reader):
    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        return super().read(topic, queue_id, offset, 1, takes)
