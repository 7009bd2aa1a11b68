"""A producer sends an edge-case message."""

from __future__ import annotations

from ...trials.operation import INT_MAX, Drawn, Operation, number, one_of, text, truth
from ...trials.schedule import Args
from ..ports import CanSendOtherwise
from .scope import PRODUCERS, QUEUES, waiting

WORDS = {
    "keys": "with several keys",
    "repeated-key": "that names a key twice",
    "unique": "with nothing but a client's own id for a key",
    "foreign": "with a key and a tag beyond ASCII",
    "empty": "without a body",
    "any-queue": "to whatever queue the broker chooses",
    "compressed": "with a compressed body",
    "new-topic": "to a topic that nobody has created",
    "same-hash": "whose topic and key have the same hash as another topic and key",
    "retry-topic": "to the topic of what a group is to get again",
    "fills-file": "of the size that fills the log's present file",
    "misses-file": "a byte too large for the log's present file",
    "large": "as large as a file of the log takes, 300,000 bytes at most",
    "wordy": "whose properties fill most of a disk's sector, or two and more",
    "longest": "with about as many bytes of properties as a record can hold",
    "too-long": "with a byte more of properties than a record can hold once the broker has added its own",
}
"""Properties of edge-case messages, in words."""
NO_QUEUE = ("any-queue", "new-topic", "same-hash", "retry-topic")
"""Messages whose queue is not the given one."""


class EdgeCaseSend(Operation):
    """A producer sends an edge-case message to the master; ``what`` names the edge case."""

    name = "edge_case_send"
    needs = CanSendOtherwise
    act = CanSendOtherwise.send_edge_case
    arguments = {
        "producer": number(INT_MAX, range(PRODUCERS), (0,), usual=0),
        "what": text(tuple(WORDS), check=one_of(WORDS, f"an edge-case message is one of {', '.join(WORDS)}")),
        "wait": truth(0.67, simpler=True, usual=True),
        "queue": number(INT_MAX, range(QUEUES), (0,), usual=0),
    }
    drawn = Drawn()
    is_load = is_send = True

    def words(self, args: Args) -> str:
        where = "of the master" if args["what"] in NO_QUEUE else f"to queue {args['queue']}"
        return f"Producer {args['producer']} sends a message {WORDS[str(args['what'])]} {where} {waiting(args)}."


OPERATION = EdgeCaseSend()
