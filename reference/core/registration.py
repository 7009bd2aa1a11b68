"""A broker makes itself known at every name server, and learns there where its master is.

It registers at the start, 10 s later, and then every registerNameServerPeriod (at least 10 s, at most 60 s); also when
its topics have changed, once for all changes of one turn of the event loop. A name server that does not answer is asked
again at the next period. Each has at most one registration under way; what changes meanwhile follows. The first answer
of a round counts. A clean stop says goodbye, without waiting.

Every registration carries the whole topic table, uncompressed; RocketMQ sends only what is new after a change. Left
out: asking first whether anything changed (forceRegister=false), the order configuration in answers.
Source: BrokerController.registerBrokerAll and doRegisterBrokerAll, BrokerOuterAPI.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from ..errors import CodecError
from ..ports import MS
from ..wire import headers, remoting
from ..wire.bodies import DataVersion, TopicConfigs
from ..wire.bodies_route import RegisterBrokerBody, body_crc, encode_registration
from ..wire.headers import RequestCode
from .calls import Outcome
from .parts import Parts

FIRST_NS = 10_000 * MS
SHORTEST_MS, LONGEST_MS = 10_000, 60_000
TIMEOUT_NS = 6_000 * MS
"""registerBrokerTimeoutMills."""
PERIOD = ("register", None)
SOON = ("register", "soon")


class Registration:
    """One broker's registrations. ``found``: called with a slave's master's address and HA address, empty where
    unknown.
    """

    def __init__(self, parts: Parts, found: Callable[[str, str], None]) -> None:
        config = parts.config
        self.parts = parts
        self.found = found
        self.name_servers = tuple(dict.fromkeys(config.name_servers))
        self.period_ns = max(SHORTEST_MS, min(config.registerNameServerPeriod, LONGEST_MS)) * MS
        self._on_duty = False
        self._under_way: set[str] = set()
        # Those that must hear once more, since something changed while their registration was under way.
        self._outdated: set[str] = set()
        self._said: tuple[DataVersion, bytes] | None = None
        """The last registration's body, and the version that it is of."""
        self._round = 0
        self._answered_round = 0

    # Life.

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
                calls.tell(address, RequestCode.UNREGISTER_BROKER, goodbye)

    def topics_changed(self) -> None:
        """Register anew, soon."""
        if self._on_duty:
            self.parts.io.timer(SOON, self.parts.io.now())

    def on_timer(self, key: Hashable) -> None:
        if key == PERIOD:
            self.parts.io.timer(PERIOD, self.parts.io.now() + self.period_ns)
        self._register_everywhere()

    # How it is done.

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
        if self._said is None or self._said[0] is not topics.version:
            table = TopicConfigs(dict(topics.entries), topics.version)
            self._said = topics.version, encode_registration(RegisterBrokerBody(table))
        body = self._said[1]
        more = {"haServerAddr": config.ha_address, "compressed": False, "bodyCrc32": body_crc(body)}
        fields = headers.encode_request(RequestCode.REGISTER_BROKER, {**self._identity(), **more})
        ended = partial(self._ended, address, self._round)
        self.parts.calls.call(address, RequestCode.REGISTER_BROKER, fields, body, ended, TIMEOUT_NS)

    def _ended(self, address: str, number: int, outcome: Outcome) -> None:
        self._under_way.discard(address)
        outdated = address in self._outdated
        self._outdated.discard(address)
        answer = _read(outcome)
        self.parts.watcher.registered(answer)
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
    """What a name server said; None if it refused, or said nothing that can be read."""
    answer = outcome.answer
    if answer is None or answer.code != remoting.SUCCESS:
        return None
    try:
        return headers.decode_response(RequestCode.REGISTER_BROKER, answer)
    except CodecError:
        return None
