"""Mutants of stored messages: another queue, body, key, tags or flag than the producer sent."""

from __future__ import annotations

from collections.abc import Callable

from ...reference.core.processors.sending import Sending
from ...reference.core.processors.transactions import half_message
from ...reference.core.store import Stored
from ...reference.wire.properties import properties_of, properties_to
from ...reference.wire.record import Message
from .mutant import seeded

Change = Callable[[Message], Message]


def _storing(name: str, breaks: str, change: Change) -> None:
    """A mutant that stores each message with a change."""

    class Storing(Sending):
        def _put(self, messages: list[Message]) -> list[Stored]:
            return super()._put([change(each) for each in messages])

    Storing.__name__ = name
    seeded("master", "stored-as-sent", breaks)(Storing)


def _without(name: str) -> Change:
    def change(message: Message) -> Message:
        kept = {key: value for key, value in properties_of(message.properties).items() if key != name}
        return message._replace(properties=properties_to(kept))

    return change


_storing("FilesAsHalf", "stores every message as a half message, never delivered", half_message)
_storing("FilesInFirstQueue", "stores every message in the first queue", lambda each: each._replace(queue_id=0))


@seeded("master", "stored-as-sent", "answers with a wrong queue offset")
class LiesAboutPlace(Sending):
    def _put(self, messages: list[Message]) -> list[Stored]:
        return [each._replace(queue_offset=each.queue_offset + 1) for each in super()._put(messages)]


_storing("DropsKeys", "stores messages without their keys", _without("KEYS"))
_storing("DropsTags", "stores messages without their tags", _without("TAGS"))
_storing("DropsFlag", "stores every message with flag 0", lambda each: each._replace(flag=0))


@seeded("master", "stored-as-sent", "stores a message with the previous one's body")
class OtherBody(Sending):
    _body = b""

    def _put(self, messages: list[Message]) -> list[Stored]:
        last, self._body = self._body, messages[0].body
        messages[0] = messages[0]._replace(body=last) if len(last) == len(self._body) else messages[0]
        return super()._put(messages)
