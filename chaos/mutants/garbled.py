"""Mutants with unreadable output: answers without required fields, truncated tables."""

from ...reference.core.metadata_sync import MetadataSync
from ...reference.core.processors.sending import Sending
from ...reference.core.requests import Request
from ...reference.wire import headers, remoting
from .mutant import seeded


@seeded("master", "ack-readable", "answers an unreplicated send without its queue offset")
class AnswersWithoutOffset(Sending):
    def answer(self, request: Request, ids: list[str], queue_id: int, queue_offset: int, status: str) -> None:
        if status == "PUT_OK":
            super().answer(request, ids, queue_id, queue_offset, status)
            return
        code = remoting.CODE_OF_STATUS[status]
        values = {"msgId": ",".join(ids), "queueId": queue_id, "queueOffset": queue_offset}
        fields = headers.encode_response(request.command.code, values, code)
        del fields["queueOffset"]
        request.peers.answer(request.conn, request.command, code, fields, b"", None)


@seeded("slave", "meta-readable", "saves its master's delay offsets without the last byte")
class KeepsMostOfTheText(MetadataSync):
    def take_delays(self, body: bytes) -> bool:
        self.parts.delay_offsets.file.save(body[:-1])
        return True
