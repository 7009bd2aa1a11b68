"""A consumer among brokers and name servers that answer anything: it neither fails nor spins, and its story is true."""

from __future__ import annotations

from typing import Any

from client_peers import SILENCE, TOPIC, Answer, FakeBroker, Names, Notes, Request
from client_world import World
from hypothesis import given, settings
from hypothesis import strategies as st

from pairproof.reference.client.consumer import Consumer, ConsumerSettings
from pairproof.reference.wire import record
from pairproof.reference.wire.bodies_client import MessageQueue
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.record import Message

LONG = (1 << 63) - 1
offsets = st.sampled_from([-LONG - 1, -1, 0, 1, 2, 5, 40, LONG - 1, LONG])
codes = st.sampled_from([0, 0, 0, 19, 20, 21, 1, 2, 10, 11, 22, 24, 4711])
bodies = st.one_of(
    st.just(b""),
    st.binary(max_size=100),
    st.builds(
        lambda at, count: b"".join(record.encode(Message(TOPIC, 0, b"x"), at + n, 0, 0) for n in range(count)),
        st.sampled_from([0, 1, 5, LONG - 3]),
        st.integers(1, 3),
    ),
    st.just(record.encode_blank(20) + bytes(12)),
)
FIELDS = ("suggestWhichBrokerId", "nextBeginOffset", "minOffset", "maxOffset")
headers_of_pulls = st.one_of(
    st.fixed_dictionaries(dict.fromkeys(FIELDS, offsets)),
    st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, offsets)),
)
pulled = st.builds(Answer, codes, headers_of_pulls, bodies)
anything = st.one_of(st.just(SILENCE), st.builds(Answer, codes, st.just({}), bodies), st.just(None))
ASKED = [
    RequestCode.HEART_BEAT,
    RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    RequestCode.QUERY_CONSUMER_OFFSET,
    RequestCode.UPDATE_CONSUMER_OFFSET,
    RequestCode.GET_MIN_OFFSET,
    RequestCode.LOCK_BATCH_MQ,
    RequestCode.PULL_MESSAGE,
]


class Liar(FakeBroker):
    """Answers as a script of (request code, answer) says; where that has none, or None, as it should."""

    def lie(self, script: dict[int, list[Any]]) -> None:
        for code, answers in script.items():
            honest, left = self.scripts[code], list(answers)

            def answer(request: Request, honest: Any = honest, left: list[Any] = left) -> Any:
                lie = left.pop(0) if left else None
                return honest(request) if lie is None else lie

            self.scripts[code] = answer

    def answer(self, request: Request, answer: Answer) -> None:
        fields = {name: str(value) for name, value in answer.values.items()}
        self.peers.answer(request.conn, request.command, answer.code, fields, answer.body)


scripts = st.fixed_dictionaries({}, optional={code: st.lists(anything, max_size=6) for code in ASKED[:-1]})


@settings(max_examples=30)
@given(scripts, st.lists(st.one_of(pulled, st.just(SILENCE)), max_size=30), st.booleans(), st.booleans())
def test_whatever_brokers_answer(script: dict[int, list[Any]], pulls: list[Any], orderly: bool, stops: bool) -> None:
    world = World()
    world.host("names").start(lambda host: Names(host, 1, a={0: "m", 1: "s"}))
    brokers = [world.host(name).start(Liar) for name in ("m", "s")]
    for broker in brokers:
        broker.put(0, 5)
        broker.lie({**script, RequestCode.PULL_MESSAGE: pulls})
    host = world.host("c1")
    notes = Notes(host)
    what = ConsumerSettings(
        "c1", "g", {TOPIC: "*"}, ("names",), orderly=orderly, consume_from_where="CONSUME_FROM_FIRST_OFFSET"
    )
    consumer: Consumer = host.start(lambda host: Consumer(host, what, notes))
    world.run(100)
    pulls_begun = len(notes.of("pull_began"))
    assert pulls_begun <= 2 * len(pulls) + 100 * 50
    consumer.stop() if stops else consumer.abandon()
    world.run(12)
    assert consumer.over and notes.open_calls() == set() and host.timers == {} and host.ends == []
    check_template(notes)


def check_template(notes: Notes) -> None:
    """Queues are held once at a time; messages come from pulls of held queues; commits are within what was said."""
    held: set[MessageQueue] = set()
    given: dict[MessageQueue, int] = {}
    for _, what, args in notes.all:
        if what == "assigned":
            assert args[0] not in held
            held.add(args[0])
            given[args[0]] = max(given.get(args[0], args[1]), args[1])
        elif what == "given_up":
            held.remove(args[0])
        elif what in ("delivered", "pull_began"):
            assert args[1] in held
        elif what == "pull_ended" and args[2] is not None:
            queue = next(a[1] for _, w, a in notes.all if w == "pull_began" and a[0] == args[0])
            given[queue] = max(given.get(queue, 0), args[2]["nextBeginOffset"])
        elif what == "commit_began":
            assert args[2] <= given[args[1]]


BROKER = '{"brokerAddrs":%s,"brokerName":"a","cluster":"c"}'
QUEUES = '{"brokerName":"a","perm":%d,"readQueueNums":%d,"topicSysFlag":0,"writeQueueNums":-5}'
routes = st.builds(
    lambda brokers, queues: Answer(body=f'{{"brokerDatas":[{brokers}],"queueDatas":[{queues}]}}'.encode()),
    st.sampled_from(["", BROKER % "{}", BROKER % '{"-1":"","7":"m"}', BROKER % '{"0":"nobody"}']),
    st.sampled_from(["", QUEUES % (-1, 3), QUEUES % (4, -3), QUEUES % (4, 20), QUEUES % (0, 1)]),
)


@settings(max_examples=30)
@given(st.lists(st.one_of(st.just(SILENCE), st.builds(Answer, codes, st.just({}), bodies), routes), max_size=8))
def test_whatever_name_servers_answer(answers: list[Any]) -> None:
    world = World()
    names = world.host("names").start(lambda host: Names(host, 1, a={0: "m"}))
    world.host("m").start(FakeBroker).put(0, 3)
    honest, left = names.scripts[RequestCode.GET_ROUTEINFO_BY_TOPIC], list(answers)
    names.scripts[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda request: left.pop(0) if left else honest(request)
    host = world.host("c1")
    notes = Notes(host)
    what = ConsumerSettings("c1", "g", {TOPIC: "*"}, ("names",), consume_from_where="CONSUME_FROM_FIRST_OFFSET")
    consumer: Consumer = host.start(lambda host: Consumer(host, what, notes))
    world.run(400)
    assert set(notes.delivered_bodies()) == {"0/0", "0/1", "0/2"}, "in the end all is well"
    consumer.stop()
    world.run(12)
    assert consumer.over and notes.open_calls() == set()
