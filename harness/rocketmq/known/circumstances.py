"""Circumstances under which laws about RocketMQ abstain, by name: each verdict counts them.

A circumstance concerns the node of an event, in the model's state before the event.
"""

from __future__ import annotations

from ...judging.law import Circumstance

EARLIER_INCARNATION = Circumstance("earlier-incarnation", lambda known, event: not known.calls.is_current(event))
"""The called incarnation has ended, and its answer may be in flight; or the call's beginning was not recorded."""
DIVERGED = Circumstance("diverged", lambda known, event: event.node in known.logs.diverged)
"""The node holds bytes that its master's log has lost, so its log is not a copy of any one log."""
MIXED = Circumstance("diverged", lambda known, event: known.logs.is_of_two_logs(event.node, event.lo, event.hi))
"""The event's record may begin with bytes that the master has lost and end with others of the same offsets."""
LONGER = Circumstance("longer-than-promoted", lambda known, event: known.logs.is_longer(event.node))
"""The node's log begins before the log of a promoted slave, which assigns its queue offsets again."""
LOST_UNDETECTED = Circumstance("disk-lied", lambda known, event: event.node in known.lost_undetected)
"""The node's disk lied, and no recovery has detected what its log, queues and index lack."""
QUEUES_LOST_UNDETECTED = Circumstance("disk-lied", lambda known, event: known.lost_undetected.ran)
"""A node ran with queues of which a lying disk had taken a part: logs may have a queue offset twice, also on copies."""
LEVELS_CHANGED = Circumstance("delay-levels-changed", lambda known, event: bool(known.derived_under.levels(event.node)))
"""The node's store was dispatched under several values of messageDelayLevel: by an earlier start, or before a promotion
on the slave. Which value gave a delivery time is unknown.
"""
