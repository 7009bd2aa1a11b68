"""The earliest start of a send's turn, for masters that handle waiting sends one after the other.

A send waits behind every waiting send that was stored before it. Each one that was answered FLUSH_SLAVE_TIMEOUT had a
whole wait, from its append or from the end of the wait before it. Any other answer may have come without a wait, and a
send without an answer yet proves nothing.
"""

from collections import deque

from ...known.model import Known
from ...topology import MASTER


class Turn:
    __slots__ = ("appended_ns", "message", "status")

    def __init__(self, message: str | None, appended_ns: int) -> None:
        self.message = message
        self.appended_ns = appended_ns
        self.status: str | None = None


class Turns:
    """The sends of the master's present incarnation, in the order in which it stored them."""

    def __init__(self) -> None:
        self._incarnation = 0
        self._puts = 0
        """How many of the master's appends are recorded here."""
        self.turns: deque[Turn] = deque()
        self.by_message: dict[str | None, Turn] = {}
        self.free_ns = 0
        """The earliest start of the first one's turn; all sends before it are answered."""

    def stored(self, known: Known) -> None:
        ended, since = known.nodes.ended(MASTER), known.nodes.last_start(MASTER)
        if ended != self._incarnation:
            self.clear()
            self._incarnation = ended
        puts = known.logs.puts
        for put in puts[self._puts :]:
            # A delayed message is appended again for its delivery.
            if put.message is not None and known.logs.put(put.message) is put and put.t >= since:
                turn = Turn(put.message, put.t)
                self.turns.append(turn)
                self.by_message[put.message] = turn
        self._puts = len(puts)

    def answered(self, message: str | None, status: str | None) -> None:
        turn = self.by_message.get(message)
        if turn is not None:
            turn.status = status

    def begin_ns(self, message: str | None, wait_ns: int, known_ns: int) -> int:
        """The earliest start of this send's turn if each wait takes ``wait_ns``; ``known_ns`` for an unknown send."""
        own = self.by_message.get(message)
        if own is None:
            return known_ns
        while self.turns and self.turns[0].status is not None and self.turns[0] is not own:
            first = self.turns.popleft()
            del self.by_message[first.message]
            self.free_ns = _after(first, self.free_ns, wait_ns)
        begin = self.free_ns
        for each in self.turns:
            if each is own:
                break
            begin = _after(each, begin, wait_ns)
        return max(begin, own.appended_ns)

    def clear(self) -> None:
        self.turns.clear()
        self.by_message.clear()
        self.free_ns = 0


def _after(turn: Turn, begin: int, wait_ns: int) -> int:
    return max(begin, turn.appended_ns) + wait_ns if turn.status == "FLUSH_SLAVE_TIMEOUT" else begin
