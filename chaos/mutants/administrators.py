"""Mutants that execute administrators' requests wrongly: deletions and re-creations."""

from collections.abc import Mapping
from typing import Any

from ...reference.core.processors.administration import Administration
from ...reference.core.requests import Request
from ...reference.core.topics import TopicTable
from ...reference.wire import remoting
from ...reference.wire.bodies import TopicConfig
from .mutant import seeded, seeded_in


@seeded("master", "meta-as-administered", "with a topic also deletes the one created before it")
class DeletesNeighbour(TopicTable):
    def remove(self, name: str) -> bool:
        names = list(self.entries)
        if name not in names:
            return False
        gone = names[max(names.index(name) - 1, 0) : names.index(name) + 1]
        self._change({key: entry for key, entry in self.entries.items() if key not in gone})
        return True


@seeded("master", "meta-as-administered", "reports a group as deleted, and keeps it")
class KeepsDeletedGroups(Administration):
    def on_delete_group(self, request: Request) -> None:
        self.check_role()
        request.answer()


@seeded("master", "meta-as-administered", "re-creates a deleted topic with its old settings, ignoring the request")
class MakesAsBefore(TopicTable):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.deleted: dict[str, TopicConfig] = {}

    def remove(self, name: str) -> bool:
        if name in self.entries:
            self.deleted[name] = self.entries[name]
        return super().remove(name)

    def put_all(self, entries: Mapping[str, TopicConfig]) -> Mapping[str, TopicConfig]:
        return super().put_all({name: self.deleted.pop(name, entry) for name, entry in entries.items()})


@seeded("master", "valid-taken", "deletes a topic, and reports a failure", seen_in="5.3.3 to 5.5.0")
class FailsOverDeletedTopics(Administration):
    def on_delete_topic(self, request: Request) -> None:
        self.check_role()
        name = request.header["topic"]
        # Its refusals are correct.
        self.check_own_topic(name)
        self.parts.topics.remove(name)
        request.refuse(remoting.SYSTEM_ERROR, "java.lang.NullPointerException")


ADMINISTRATORS = seeded_in(__name__)
