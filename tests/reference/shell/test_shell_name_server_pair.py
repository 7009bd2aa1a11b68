"""A name server, a master and a slave as processes: the slave finds its master, copies its log and its tables."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from real_brokers import BrokerProcess, Caller, NameServerProcess, caller, turns

from pairproof.reference.wire import beans, headers, remoting
from pairproof.reference.wire.bodies import ConsumerOffsets, DelayOffsets, SubscriptionGroups, TopicConfigs
from pairproof.reference.wire.bodies_route import TopicRouteData
from pairproof.reference.wire.headers import RequestCode

Make = Callable[..., BrokerProcess]
BODIES = {
    RequestCode.GET_ALL_TOPIC_CONFIG: TopicConfigs,
    RequestCode.GET_ALL_CONSUMER_OFFSET: ConsumerOffsets,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: SubscriptionGroups,
}
# The next registration, the look that follows, and room for a busy machine.
PERIODS_S = 30


@pytest.fixture
def brokers(name_server: NameServerProcess, broker: Make) -> Callable[[str], BrokerProcess]:
    """A master or a slave that knows nothing but the name server."""
    shared = {"namesrvAddr": name_server.address, "registerNameServerPeriod": 10_000}
    roles: dict[str, dict[str, Any]] = {
        "master": {"brokerRole": "SYNC_MASTER"},
        "slave": {"brokerRole": "SLAVE", "brokerId": 1},
    }
    return lambda name: broker(name, **shared, **roles[name])


async def tables(call: Caller, address: str) -> list[Any]:
    """Topics, offsets and groups as an administrator reads them."""
    found = []
    for code, body in BODIES.items():
        answer = await call.ask(address, code)
        assert answer is not None and answer.code == remoting.SUCCESS, answer
        found.append(beans.decode(body, answer.body))
    return found


async def route(call: Caller, address: str) -> dict[int, str]:
    """Broker ids and addresses of the topic that the tests send to."""
    answer = await call.ask(address, RequestCode.GET_ROUTEINFO_BY_TOPIC, topic="pairproof")
    if answer is None or answer.code != remoting.SUCCESS:
        return {}
    return beans.decode(TopicRouteData, answer.body).broker_datas[0].broker_addrs


@pytest.mark.slow
def test_a_pair_forms_by_itself_and_again_after_its_master_was_killed(
    name_server: NameServerProcess, brokers: Callable[[str], BrokerProcess]
) -> None:
    async def play() -> None:
        async with caller() as call:
            both = {0: master.address, 1: slave.address}
            await call.replicated(master.address)
            await turns(lambda: route(call, name_server.address), both, 1)
            delayed = await call.send(master.address, b"later", 0, "DELAY\x011")
            assert delayed.status == "PUT_OK"
            progress = {"consumerGroup": "G", "topic": "pairproof", "queueId": 3, "commitOffset": 7}
            answer = await call.ask(master.address, RequestCode.UPDATE_CONSUMER_OFFSET, **progress)
            assert answer is not None and answer.code == remoting.SUCCESS
            # The pull makes its group, which is a change, too.
            assert (await call.pull(master.address, 0)).answer is not None
            await turns(lambda: tables(call, slave.address), await tables(call, master.address), PERIODS_S)
            assert (await tables(call, slave.address))[1].offset_table["pairproof@G"] == {3: 7}
            await turns(delays, {1: 1}, PERIODS_S)

            master.kill()
            await turns(lambda: route(call, name_server.address), {1: slave.address}, 1)
            assert (await call.pull(slave.address, 0)).answer is not None, "a slave alone serves"

            again.start()
            await turns(lambda: route(call, name_server.address), both, 1)
            await turns(lambda: status(call), "PUT_OK", PERIODS_S)
            assert master.log() == slave.log()

    async def status(call: Caller) -> str:
        return (await call.send(again.address, b"is the slave back?", queue=3)).status

    async def delays() -> dict[int, int]:
        file = slave.store / "config" / "delayOffset.json"
        return beans.decode(DelayOffsets, file.read_bytes()).offset_table if file.exists() else {}

    name_server.start()
    master, slave = brokers("master").start(), brokers("slave").start()
    again = brokers("master")
    asyncio.run(play())
    assert "metadata: topics are those of the master" in slave.hear("metadata: topics")
    assert (slave.stop(), again.stop(), name_server.stop()) == (0, 0, 0)
    assert slave.said.decode().count("metadata: offsets are those") <= 2


@pytest.mark.slow
def test_a_slave_that_was_first_learns_its_master_at_its_next_registration(
    name_server: NameServerProcess, brokers: Callable[[str], BrokerProcess]
) -> None:
    async def play() -> None:
        async with caller() as call:
            await turns(lambda: status(call), "PUT_OK", PERIODS_S)

    async def status(call: Caller) -> str:
        return (await call.send(master.address, b"is there a slave?", queue=3)).status

    name_server.start()
    slave, master = brokers("slave").start(), brokers("master").start()
    asyncio.run(play())
    slave.hear(f"the master is {master.address}")


def test_a_goodbye_takes_a_broker_out_of_the_routes(
    name_server: NameServerProcess, brokers: Callable[[str], BrokerProcess]
) -> None:
    async def play() -> None:
        async with caller() as call:
            assert (await call.send(master.address, b"hello")).phase == "ok"
            await turns(lambda: route(call, name_server.address), {0: master.address}, 5)
            assert master.stop() == 0
            await turns(lambda: route(call, name_server.address), {}, 1)

    name_server.start()
    master = brokers("master").start()
    asyncio.run(play())


def test_a_slave_with_neither_master_nor_name_server_starts_and_serves_and_does_not_replicate(broker: Make) -> None:
    async def play() -> None:
        async with caller() as call:
            assert (await call.send(master.address, b"hello")).phase == "ok"
            answer = (await call.pull(slave.address, 0)).answer
            assert answer is not None and answer.code == remoting.TOPIC_NOT_EXIST
            assert len(await tables(call, slave.address)) == 3

    master = broker().start()
    slave = broker("slave", brokerRole="SLAVE", brokerId=1).start()
    assert "copies nobody" in slave.said.decode()
    asyncio.run(play())
    assert slave.stop() == 0
    assert "the log ends at 0" in slave.said.decode()
    assert "connect" not in slave.said.decode()


def test_the_fast_port_serves_all_but_pulls(broker: Make) -> None:
    async def play() -> None:
        async with caller() as call:
            fast = f"127.0.0.1:{master.port - 2}"
            assert (await call.send(fast, b"hello")).phase == "ok"
            answer = (await call.pull(fast, 0)).answer
            assert answer is not None and answer.code == remoting.REQUEST_CODE_NOT_SUPPORTED
            answer = (await call.pull(master.address, 0)).answer
            assert answer is not None and answer.code == remoting.SUCCESS

    master = broker().start()
    asyncio.run(play())


def test_a_name_server_that_is_away_or_talks_nonsense_stops_nobody(
    name_server: NameServerProcess, broker: Make
) -> None:
    async def play() -> None:
        async with caller() as call:
            assert (await call.send(master.address, b"hello")).phase == "ok"
            # Whoever says so, a slave has a master with an address that is none.
            fields = {"brokerName": "DefaultCluster", "clusterName": "DefaultCluster", "brokerId": 0}
            nonsense = {**fields, "brokerName": "broker-a", "brokerAddr": "nowhere", "haServerAddr": "x:y:99999"}
            answer = await call.ask(name_server.address, RequestCode.REGISTER_BROKER, b"", **nonsense)
            assert answer is not None and headers.decode_response(RequestCode.REGISTER_BROKER, answer) == {}
            slave.start()
            slave.hear("cannot connect to x:y:99999")
            assert (await call.pull(slave.address, 0)).answer is not None

    name_server.start()
    master = broker(namesrvAddr="127.0.0.1:1").start()
    slave = broker("slave", brokerRole="SLAVE", brokerId=1, namesrvAddr=name_server.address)
    asyncio.run(play())
    master.hear("registration: a name server does not answer")
    assert (master.stop(), slave.stop()) == (0, 0)
