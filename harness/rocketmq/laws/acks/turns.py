"""When a send's turn began at the earliest, where a master gives sends up one after the other.

A send waits behind every waiting send that was stored before it. Of those that were told FLUSH_SLAVE_TIMEOUT each had a
whole wait, from its append or the end of the one before it; any other answer may have come without one, and of a send
that is not answered yet nothing is known.
"""

from collections import deque


class Turn:
    """One send that the master has stored."""

    __slots__ = ("appended_ns", "message", "status")

    def __init__(self, message: str | None, appended_ns: int) -> None:
        self.message = message
        self.appended_ns = appended_ns
        self.status: str | None = None


class Turns:
    """The sends of a master's present life, in the order in which it stored them."""

    def __init__(self) -> None:
        self.turns: deque[Turn] = deque()
        self.by_message: dict[str | None, Turn] = {}
        self.free_ns = 0
        """When the first of them had its turn at the earliest; those before it are answered."""

    def stored(self, message: str | None, t: int) -> None:
        turn = Turn(message, t)
        self.turns.append(turn)
        self.by_message[message] = turn

    def answered(self, message: str | None, status: str | None) -> None:
        turn = self.by_message.get(message)
        if turn is not None:
            turn.status = status

    def begin_ns(self, message: str | None, wait_ns: int, known_ns: int) -> int:
        """When this send's turn began at the earliest, if each wait takes ``wait_ns``; ``known_ns`` if nobody knows."""
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
