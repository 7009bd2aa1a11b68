"""Tests of ``lost_undetected``."""

from typing import cast

from histories import pair

from pairproof.harness.event_types.base import OfNode
from pairproof.harness.event_types.node import Wipe
from pairproof.harness.rocketmq.known.lost_undetected import LostUndetected


def test_what_a_lying_disk_has_taken_of_queues_is_missed_until_they_are_made_again() -> None:
    def lied(*starts: str) -> LostUndetected:
        found = LostUndetected()
        history = pair().add("crash", node="slave", f="machine", status="lied", value=0)
        found.crashed(cast(OfNode, history.events[-1]))
        for each in starts:
            found.started(cast(OfNode, history.add("start", node="slave", f=each, lo=0, hi=0).events[-1]))
        return found

    assert "slave" in lied() and "slave" in lied("normal") and "slave" in lied("normal", "normal")
    assert "slave" not in lied("abnormal") and "slave" not in lied("abnormal", "normal")
    assert "slave" not in lied("normal", "abnormal") and "master" not in lied("normal")
    emptied = lied("normal")
    emptied.wiped(cast(Wipe, pair().wipe("slave").events[-1]))
    assert "slave" not in emptied
