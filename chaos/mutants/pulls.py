"""Mutants of what a pull's answer says and holds: where to go on, and where the answer ends."""

from ...reference.core.reading import Found, Reader, Takes
from .mutant import seeded, seeded_in


@seeded("slave", "pull-goes-on", "sends readers that are ahead of a slave back to its end, where it may only be behind")
class SlaveMovesReaders(Reader):
    @property
    def moves(self) -> bool:
        return True


@seeded("master", "pull-is-filled", "gives one message at a time, however many a reader asks for and it has")
class GivesOneByOne(Reader):
    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        return super().read(topic, queue_id, offset, 1, takes)


PULLS = seeded_in(__name__)
