"""A broker registers at every name server, and learns its master there.

It registers at the start, 10 s later, and then every registerNameServerPeriod (10 to 60 s); also after changes of its
topics or of brokerPermission, once per turn of the event loop. A name server that does not answer is retried at the
next period. Each has at most one registration in flight; changes during it cause another. The first answer of a round
counts. A clean stop unregisters without waiting.

Every registration carries the whole topic table, uncompressed, with the permissions that brokerPermission leaves; after
a change RocketMQ sends only the new topics. Left out: the version query before a registration (forceRegister=false),
the order configuration in answers. Source: BrokerController.registerBrokerAll and doRegisterBrokerAll, BrokerOuterAPI.
"""

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

from ..errors import CodecError
from ..ports import MS
from ..wire import beans, headers, remoting
from ..wire.bodies import READ, WRITE, DataVersion, TopicConfig, TopicConfigs
from ..wire.bodies_route import RegisterBrokerBody, body_crc
from ..wire.headers import RequestCode
from .calls import Outcome
from .parts import Parts

FIRST_NS = 10_000 * MS
SHORTEST_MS, LONGEST_MS = 10_000, 60_000
TIMEOUT_NS = 6_000 * MS
"""registerBrokerTimeoutMills."""
PERIOD = ("register", None)
SOON = ("register", "soon")
OPEN = READ | WRITE


class Registration:
    """One broker's registrations. ``found`` is called with the master's address and HA address, empty where unknown."""

    def __init__(self, parts: Parts, found: Callable[[str, str], None]) -> None:
        config = parts.config
        self.parts = parts
        self.found = found
        self.name_servers = tuple(dict.fromkeys(config.name_servers))
        self.period_ns = max(SHORTEST_MS, min(config.registerNameServerPeriod, LONGEST_MS)) * MS
        self._on_duty = False
        self._under_way: set[str] = set()
        # Name servers to register at again: the topics changed during their registration.
        self._outdated: set[str] = set()
        self._encoded: tuple[DataVersion, int, bytes] | None = None
        """The registered table, and for which version and brokerPermission."""
        self._round = 0
        self._answered_round = 0

    def start(self) -> None:
        if self.name_servers:
            self._on_duty = True
            self._register_everywhere()
            self.parts.io.timer(PERIOD, self.parts.io.now() + FIRST_NS)

    def stop(self) -> None:
        self._on_duty = False
        for key in (PERIOD, SOON):
            self.parts.io.cancel(key)
        calls = self.parts.calls
        goodbye = headers.encode_request(RequestCode.UNREGISTER_BROKER, self._identity())
        for address in self.name_servers:
            line = calls.lines.get(address)
            if line is not None and line.conn is not None:
                calls.send_oneway(address, RequestCode.UNREGISTER_BROKER, goodbye)

    def topics_changed(self) -> None:
        if self._on_duty:
            self.parts.io.timer(SOON, self.parts.io.now())

    def on_timer(self, key: Hashable) -> None:
        if key == PERIOD:
            self.parts.io.timer(PERIOD, self.parts.io.now() + self.period_ns)
        self._register_everywhere()

    def _register_everywhere(self) -> None:
        self._round += 1
        for address in self.name_servers:
            self._register(address)

    def _register(self, address: str) -> None:
        if address in self._under_way:
            self._outdated.add(address)
            return
        self._under_way.add(address)
        topics, config = self.parts.topics, self.parts.config
        permitted = config.brokerPermission
        if self._encoded is None or self._encoded[0] is not topics.version or self._encoded[1] != permitted:
            entries = dict(topics.entries)
            if permitted & OPEN != OPEN:
                # With only these fields, as in RocketMQ.
                entries = {
                    name: TopicConfig(name, each.read_queue_nums, each.write_queue_nums, each.perm & permitted)
                    for name, each in entries.items()
                }
            table = TopicConfigs(entries, topics.version)
            self._encoded = topics.version, permitted, beans.encode(RegisterBrokerBody(table))
        body = self._encoded[2]
        more = {"haServerAddr": config.ha_address, "compressed": False, "bodyCrc32": body_crc(body)}
        fields = headers.encode_request(RequestCode.REGISTER_BROKER, {**self._identity(), **more})
        ended = partial(self._ended, address, self._round, fields)
        self.parts.calls.call(address, RequestCode.REGISTER_BROKER, fields, body, ended, TIMEOUT_NS)

    def _ended(self, address: str, number: int, asked: Mapping[str, str], outcome: Outcome) -> None:
        self._under_way.discard(address)
        outdated = address in self._outdated
        self._outdated.discard(address)
        answer = _read(outcome)
        self.parts.watcher.registered(answer, asked)
        if answer is None:
            return
        if number > self._answered_round:
            self._answered_round = number
            self.found(answer.get("masterAddr", ""), answer.get("haServerAddr", ""))
        if outdated and self._on_duty:
            self._register(address)

    def _identity(self) -> dict[str, Any]:
        config = self.parts.config
        return {
            "brokerName": config.brokerName,
            "brokerAddr": config.address,
            "clusterName": config.brokerClusterName,
            "brokerId": config.brokerId,
        }


def _read(outcome: Outcome) -> dict[str, Any] | None:
    answer = outcome.answer
    if answer is None or answer.code != remoting.SUCCESS:
        return None
    try:
        return headers.decode_response(RequestCode.REGISTER_BROKER, answer)
    except CodecError:
        return None
