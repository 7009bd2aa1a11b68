"""Mutants of stored messages: another queue, body, key, tags or flag than the producer sent."""

from __future__ import annotations

from collections.abc import Callable

from ...reference.core.processors.sending import Sending
from ...reference.core.processors.transactions import half_message
from ...reference.core.store import Stored
from ...reference.wire.properties import properties_of, properties_to
from ...reference.wire.record import Message
from .mutant import Mutant, with_parts

Change = Callable[[Message], Message]


class OtherBody(Sending):
    _body = b""

    def _put(self, messages: list[Message]) -> list[Stored]:
        last, self._body = self._body, messages[0].body
        messages[0] = messages[0]._replace(body=last) if len(last) == len(self._body) else messages[0]
        return super()._put(messages)


class FilesInFirstQueue(Sending):
    def _put(self, messages: list[Message]) -> list[Stored]:
        return super()._put([each._replace(queue_id=0) for each in messages])


class LiesAboutPlace(Sending):
    def _put(self, messages: list[Message]) -> list[Stored]:
        return [each._replace(queue_offset=each.queue_offset + 1) for each in super()._put(messages)]


def _without(name: str) -> Change:
    def change(message: Message) -> Message:
        kept = {key: value for key, value in properties_of(message.properties).items() if key != name}
        return message._replace(properties=properties_to(kept))

    return change


def _storing(change: Change) -> type[Sending]:
    class Storing(Sending):
        def _put(self, messages: list[Message]) -> list[Stored]:
            return super()._put([change(each) for each in messages])

    return Storing


def _mutant(name: str, part: type[Sending], breaks: str) -> Mutant:
    return Mutant(name, "master", with_parts(sending_class=part), "stored-as-sent", breaks)


CONTENTS = (
    _mutant("files_as_half", _storing(half_message), "stores every message as a half message, never delivered"),
    _mutant("files_in_first_queue", FilesInFirstQueue, "stores every message in the first queue"),
    _mutant("lies_about_place", LiesAboutPlace, "answers with a wrong queue offset"),
    _mutant("drops_keys", _storing(_without("KEYS")), "stores messages without their keys"),
    _mutant("drops_tags", _storing(_without("TAGS")), "stores messages without their tags"),
    _mutant("drops_flag", _storing(lambda each: each._replace(flag=0)), "stores every message with flag 0"),
    _mutant("other_body", OtherBody, "stores a message with the previous one's body"),
)
