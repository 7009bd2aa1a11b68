"""How visits are answered in which time passes, or which use several connections: see ``visits`` beside this module.

Measured as those are. Sources: RebalanceLockManager (60 s), ConsumerManager and ProducerManager (120 s, looked at every
10 s), PullRequestHoldService (every 5 s), ScheduleMessageService, RouteInfoManager (120 s).
"""

from __future__ import annotations

from collections.abc import Mapping

from pairproof.harness.rocketmq.served import (
    BROKER,
    ELSEWHERE,
    ERROR,
    MASTER,
    NOTHING,
    OTHER,
    SECOND,
    TOLD,
    VISITOR,
    Served,
    at,
    holds,
    message,
    pulled,
    said,
    stored,
    ways,
)  # fmt: skip

_BOTH = Served(says=said(clients=sorted((VISITOR, OTHER))))
_FIRST, _SECOND = Served(says=said(clients=[VISITOR])), Served(says=said(clients=[OTHER]))
_TOLD = Served(frozenset({TOLD}), said(group="visiting-group"))
_SILENCE = Served(frozenset({NOTHING}))
_CLOSED = Served(frozenset({"CLOSED"}))
_NOTHING_NEW = Served(frozenset({"PULL_NOT_FOUND"}))
_WAITS = Served(frozenset({"PUT_OK", "UNANSWERED"}))
"""The reference waits for a slave, or a disk, where no time passes."""
_BLUE = pulled(2, 2, message(0, 1, "two", TAGS="blue"))
_ONE = ways({BROKER: ([3, 2, 6], {"0": MASTER})})

IN_TIME: Mapping[str, Served] = {
    "a first member locks two queues": holds(0, 1),
    "a second member asks for both after 55 s": holds(),
    "the first member renews one of them after 57 s": holds(0),
    "the second member asks for both after 63 s": holds(1),
    "the second member asks for the renewed one 55 s later": holds(),
    "the second member asks for both 62 s later": holds(0, 1),
    "the second member gives both back": Served(),
    "a first client comes": Served(),
    "the first client is told that it came": _TOLD,
    "a second client comes": Served(),
    "the first client is told that the second one came": _TOLD,
    "the second client beats again after 60 s": Served(),
    "the first client is not told that nothing has changed": _SILENCE,
    "who consumes after 60 s": _BOTH,
    "who consumes after 115 s": _BOTH,
    "who produces after 115 s": _BOTH,
    "who consumes after 140 s": _SECOND,
    "who produces after 140 s": _SECOND,
    "the first client's connection has been closed": _CLOSED,
    "the second client leaves": Served(),
    "who consumes when both have gone": Served(ERROR),
    "who produces when both have gone": Served(ERROR),
    "the first client is told of both": _TOLD,
    "the first client is told that the second one is gone": _TOLD,
    "who consumes when one is gone": _FIRST,
    "who produces when one is gone": _FIRST,
    "the first client wants one more topic": Served(),
    "the first client is told that the group wants more": _TOLD,
    "the first client wants it still": Served(),
    "the first client is not told of what is as it was": _SILENCE,
    "the first client wants one topic less": Served(),
    "the first client is told that the group wants less": _TOLD,
    "a third client comes": Served(),
    "the first client is told that a third one came": _TOLD,
    "the third client leaves": Served(),
    "the first client is told that the third one left": _TOLD,
    "the first client leaves": Served(),
    "a client comes that only produces": Served(),
    "who only produces after 115 s": _FIRST,
    # 4.9.7 keeps the empty group.
    "who only produces after 140 s": Served(ERROR | {"PUT_OK"}, said(clients=[])),
    "its connection has been closed": _CLOSED,
    "a group is made that wants to hear nothing": Served(),
    "a client joins it": Served(),
    "another client joins it": Served(),
    "who is in the group that hears nothing": _BOTH,
    "the other client leaves it": Served(),
    "the client hears nothing of all that": _SILENCE,
    "the client leaves it": Served(),
    "the group wants to hear again": Served(),
    "a message comes into the queue beside": stored(0),
    "nothing has come for the pull": _SILENCE,
    "a message comes for the pull": stored(0, 1),
    "the pull is answered at once": pulled(1, 1, message(1, 0, "awaited")),
    "nothing comes before the time is over": _SILENCE,
    "the time of the pull is over": _NOTHING_NEW,
    "a message comes when nobody waits": stored(1, 1),
    "the message for which nobody waited": pulled(2, 2, message(1, 1, "late")),
    "a red one comes": stored(0),
    "the red one is enough for the other pull": pulled(1, 1, message(0, 0, "one", TAGS="red")),
    "a blue one comes": stored(1),
    "the blue one has come": _BLUE._replace(statuses=_BLUE.statuses | {"PULL_RETRY_IMMEDIATELY"}),
    "nothing has come for it yet": _SILENCE,
    "it has not waited for so long": _NOTHING_NEW,
    "nothing has come after 700 ms": at(0),
    "the delayed message has come": pulled(1, 1, message(0, 0, "later", TAGS="red")),
    "it is sent back for a second": _WAITS,
    "it is not back after 700 ms": at(0),
    "it is back after 2 s": at(1),
    "the first broker compares after 60 s": Served(says=said(changed="false", counter=1)),
    "the way to the broker that was heard of": _ONE,
    "the second broker's connection has been closed": _CLOSED,
    "the way to it 115 s after it was heard of": _ONE,
    "the first broker leaves": Served(),
    "a lonely broker registers": Served(says=said(master="", ha="")),
    "the lonely broker compares after 60 s": Served(says=said(changed="false", counter=1)),
    "the lonely broker's connection has been closed": _CLOSED,
    "a second master registers": Served(says=said(master="", ha="")),
    "the master registers over another connection": Served(says=said(master="", ha="")),
    "the way to the second one alone": ways({SECOND: ([1, 1, 2], {"0": ELSEWHERE})}),
}
