"""Mutants of how a broker serves groups of consumers: whom it tells of changes, and when it answers their pulls."""

from collections.abc import Hashable

from pairproof.chaos.mutants.mutant import seeded, seeded_in
from pairproof.reference.core.processors.members import Members
from pairproof.reference.core.processors.pulling import COMMITS, Pulling
from pairproof.reference.core.registration import Registration
from pairproof.reference.core.requests import Request


@seeded("master", "group-shared", "tells a group nothing of members that come or go")
class TellsNobody(Members):
    def tells(self, group: str) -> bool:
        return False


@seeded("master", "group-shared", "tells a group nothing of a member that says goodbye")
class HidesGoodbyes(Members):
    def on_unregister(self, request: Request) -> None:
        header = request.header
        self.parts.clients.unregister(request.conn, header.get("producerGroup"), header.get("consumerGroup"))
        request.answer()


@seeded("master", "pull-answered", "leaves a pull that waits until its next look, although a message came for it")
class WakesNobody(Pulling):
    def arrived(self, topic: str, queue_id: int, next_offset: int, tags_code: int) -> None:
        """They will be found."""


@seeded("master", "pull-answered", "answers a pull whose time is up only when a message comes for it")
class HoldsForEver(Pulling):
    def on_timer(self, key: Hashable) -> None:
        """They have time."""


@seeded("master", "route-told", "leaves a changed topic to the next period's registration")
class RegistersByPeriod(Registration):
    def topics_changed(self) -> None:
        """Soon enough."""


@seeded("master", "progress-as-committed", "takes in the progress of a pull that says that it carries none")
class CommitsEveryPull(Pulling):
    def on_pull(self, request: Request) -> None:
        super().on_pull(request)
        header = request.header
        if not header["sysFlag"] & COMMITS:
            offsets = self.parts.offsets
            offsets.commit(header["consumerGroup"], header["topic"], header["queueId"], header["commitOffset"])


GROUPS = seeded_in(__name__)
