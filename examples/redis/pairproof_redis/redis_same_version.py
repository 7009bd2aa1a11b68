"""``redis-same-version``: a replication id and an offset identify one version of the data.

Left out: offset 0. A primary that never had a replica stays there while clients write, although the page says that it
counts anyway (README.md, What was found). Source: Redis's page on replication: two instances with the same id and
offset have the same data; partial resynchronization depends on that.
"""

from __future__ import annotations

from pairproof import Known, Law
from pairproof_redis.version import Version


class RedisSameVersion(Law):
    id = "redis-same-version"
    promise = "Nodes with the same replication id and offset hold the same data."
    source = "Redis: replication, replication IDs"
    needs = frozenset({"version"})

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self.seen: dict[tuple[str, int], Version] = {}

    def on_version(self, event: Version) -> None:
        if not event.value:
            return
        first = self.seen.setdefault((event.message, event.value), event)
        if first is event:
            return
        self.judged += 1
        if first.digest != event.digest:
            what = f"{event.node} and {first.node} hold different data at offset {event.value} of {event.message[:8]}"
            self.violate(event, what)
