"""The steps of a slave's sync, combined from its taps and its log.

Taps observe a request and its answer. The log reports that a step failed: no connection, no answer in time, or an
unreadable answer. So

- an answer counts only if the log reports no failure of its step, before or after it; a failure with or after the
  answer means that the slave could not read it;
- a failure follows the request that it belongs to: a line of the log has whole milliseconds only.
"""

from __future__ import annotations

from bisect import bisect_left

from ....harness.history import MS, Event

CALL_NS = 3_000 * MS
"""A slave's timeout for an answer. Source: SlaveSynchronize, BrokerOuterAPI."""
CLUSTER_NS = 2 * MS
"""A log's whole milliseconds."""


def settled(steps: list[Event]) -> list[Event]:
    """One incarnation's ``sync`` events in order of time, see the module."""
    found: list[Event] = []
    asked: Event | None = None
    failed: int | None = None
    answered: int | None = None
    """Positions of the last request's failure and answer."""
    for each in sorted(_behind_requests(steps), key=lambda event: event.t):
        is_of_it = asked is not None and asked.f == each.f
        match each.status:
            case "asked":
                asked, failed, answered = each, None, None
            case "failed" if is_of_it and failed is None:
                if answered is not None:
                    del found[answered]
                    each = each._replace(status="unread")
                failed = len(found)
            case "failed":
                # It could not even send the request.
                asked = None
            case _ if is_of_it and failed is not None:
                assert asked is not None
                if each.t - found[failed].t < CLUSTER_NS and found[failed].t - asked.t < CALL_NS - CLUSTER_NS:
                    found[failed] = found[failed]._replace(status="unread")
                continue
            case _ if is_of_it:
                answered = len(found)
        found.append(each)
    return found


def _behind_requests(steps: list[Event]) -> list[Event]:
    """Move failures that are dated within a millisecond before their request behind it."""
    asked: dict[str | None, list[int]] = {}
    for each in steps:
        if each.status == "asked":
            asked.setdefault(each.f, []).append(each.t)
    for times in asked.values():
        times.sort()
    found = []
    for each in steps:
        times = asked.get(each.f, [])
        last = times[: bisect_left(times, each.t + MS)][-1:] if each.status == "failed" else []
        found.append(each._replace(t=max([each.t, *(t + 1 for t in last)])))
    return found
