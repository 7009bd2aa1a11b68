"""A name server over a fake port, with what brokers and clients say to it in a line."""

from __future__ import annotations

from typing import Any

from fake_port import MS, FakePort
from registrations import encode_registration

from pairproof.reference.core.namesrv import NameServer
from pairproof.reference.wire import beans, headers, remoting
from pairproof.reference.wire.bodies import DataVersion, TopicConfig, TopicConfigs
from pairproof.reference.wire.bodies_route import RegisterBrokerBody, TopicRouteData, body_crc
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.remoting import Command, CommandReader

SECOND = 1_000 * MS


class Play:
    """A name server, and its clients: one connection by name each, opened when first used."""

    def __init__(self, server: type[NameServer] = NameServer) -> None:
        self.port = FakePort(None)
        self.server = server(self.port)
        self.server.on_start()
        self.opaque = 0
        self.open: set[str] = set()
        self.readers: dict[str, CommandReader] = {}

    def ask(self, conn: str, command: Command) -> Command | None:
        """The answer; None if there was none."""
        if conn not in self.open:
            self.open.add(conn)
            self.server.on_accepted(conn, "main")
        self.server.on_bytes(conn, remoting.encode(command))
        answers = list(CommandReader().feed(self.port.sent.pop(conn, b"")))
        assert len(answers) <= 1
        return answers[0] if answers else None

    def request(self, conn: str, code: int, body: bytes = b"", version: int = 407, **fields: Any) -> Command:
        self.opaque += 1
        texts = headers.encode_request(code, fields)
        answer = self.ask(conn, Command(code, self.opaque, 0, texts, body, version=version))
        assert answer is not None and answer.opaque == self.opaque
        return answer

    def register(
        self, conn: str, address: str, broker_id: int = 0, *, name: str = "a", version: int = 0, topics: str = "T",
        compressed: bool = False, **fields: Any,
    ) -> dict[str, Any]:  # fmt: skip
        table = {topic: TopicConfig(topic, 4, 4) for topic in topics.split()}
        body = encode_registration(
            RegisterBrokerBody(TopicConfigs(table, DataVersion(1, version))), compressed=compressed
        )
        who = identity(address, broker_id, name)
        host = address.partition(":")[0]
        known = {"haServerAddr": f"{host}:10912", "compressed": compressed, "bodyCrc32": body_crc(body)}
        answer = self.request(conn, RequestCode.REGISTER_BROKER, body, **{**who, **known, **fields})
        assert answer.code == remoting.SUCCESS, answer.remark
        return headers.decode_response(RequestCode.REGISTER_BROKER, answer)

    def unregister(self, conn: str, address: str, broker_id: int = 0, name: str = "a") -> None:
        answer = self.request(conn, RequestCode.UNREGISTER_BROKER, **identity(address, broker_id, name))
        assert answer.code == remoting.SUCCESS

    def version(self, conn: str, address: str, version: int) -> tuple[bool, DataVersion | None]:
        body = beans.encode(DataVersion(1, version))
        answer = self.request(conn, RequestCode.QUERY_DATA_VERSION, body, **identity(address, 0, "a"))
        fields = headers.decode_response(RequestCode.QUERY_DATA_VERSION, answer)
        return fields["changed"], beans.decode(DataVersion, answer.body) if answer.body else None

    def route(self, topic: str = "T") -> TopicRouteData | None:
        answer = self.request("client", RequestCode.GET_ROUTEINFO_BY_TOPIC, topic=topic)
        if answer.code == remoting.TOPIC_NOT_EXIST:
            return None
        return beans.decode(TopicRouteData, answer.body)

    def addresses(self, topic: str = "T") -> dict[str, dict[int, str]]:
        route = self.route(topic)
        return {data.broker_name: data.broker_addrs for data in route.broker_datas} if route else {}

    def wait(self, seconds: float) -> None:
        """Time passes, and timers ring on time."""
        end = self.port.time + int(seconds * SECOND)
        while self.port.timers and min(self.port.timers.values()) <= end:
            key = min(self.port.timers, key=lambda each: self.port.timers[each])
            self.port.time = self.port.timers.pop(key)
            self.server.on_timer(key)
        self.port.time = end


def identity(address: str, broker_id: int, name: str) -> dict[str, Any]:
    return {"clusterName": "c", "brokerName": name, "brokerId": broker_id, "brokerAddr": address}
