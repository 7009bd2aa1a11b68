"""A producer with routes, queues in turn and retries sends a message."""

from __future__ import annotations

from ...trials.operation import INT_MAX, Drawn, Operation, number, one_of, text, truth
from ...trials.schedule import Args
from ..ports import CanProduce
from .scope import PRODUCERS, QUEUES, waiting

TURN, ORDER, QUEUE, ONE_WAY = "turn", "order", "queue", "one-way"
WORDS = {
    TURN: "to the topic's queues in turn",
    ORDER: "to the queue of its order, which is that of queue {queue}'s number",
    QUEUE: "to queue {queue} of the master",
    ONE_WAY: "to the topic's queues in turn, without asking for an answer",
}
"""The choice of the queue, in words."""
_KNOWN = one_of(WORDS, f"how a producer sends is {', '.join(WORDS)}")


class Produce(Operation):
    """A producer learns from the name server where the topic is, and sends a message; ``how`` chooses the queue. It
    retries a failed send where its choice allows.
    """

    name = "produce"
    needs = CanProduce
    act = CanProduce.produce
    arguments = {
        "producer": number(INT_MAX, range(PRODUCERS), (0,), usual=0),
        "how": text((TURN, TURN, TURN, ORDER, QUEUE, ONE_WAY), usual=TURN, check=_KNOWN),
        "wait": truth(0.67, simpler=True, usual=True),
        "queue": number(INT_MAX, range(QUEUES), (0,), usual=0),
    }
    drawn = Drawn(whole=True, always=1)
    is_load = is_send = True

    def words(self, args: Args) -> str:
        where = WORDS[str(args["how"])].format(queue=args["queue"])
        return f"Producer {args['producer']} looks up where the topic is, sends a message {where} {waiting(args)}."


OPERATION = Produce()
