"""Where readers are told to read, whom they ask, and whom the name server names."""

from __future__ import annotations

import json

import pytest

from pairproof.harness.rocketmq.laws.read_split import ReadSplit
from pairproof.harness.rocketmq.laws.route_choice import RouteChoice
from pairproof.harness.rocketmq.laws.route_expiry import RouteExpiry
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged
from pairproof.harness.verdict import Verdict

MB = 1_000_000


class Reads(H):
    """A pair whose log is written in bytes of choice, and a reader of t/0."""

    def begin_pull(self, node: str = "master", group: str | None = "g", value: int = 0) -> Reads:
        self.ops += 1
        self.add("invoke", node=node, process=1, op=self.ops, f="pull", queue="t/0", group=group, value=value)
        return self

    def end_pull(
        self, broker: int | None, following: int = 1, hi: int = 1, status: str = "PUT_OK", node: str = "master",
        group: str | None = "g",
    ) -> Reads:  # fmt: skip
        self.add(
            "ok", node=node, process=1, op=self.ops, f="pull", status=status, queue="t/0", group=group,
            queue_offset=following, lo=0, hi=hi, broker=broker,
        )  # fmt: skip
        return self

    def pulled(self, broker: int | None, following: int = 1, hi: int = 1, **how: str) -> Reads:
        self.begin_pull(how.get("node", "master"))
        return self.end_pull(broker, following, hi, **how)

    def message(self, offset: int, lo: int, node: str = "master") -> Reads:
        """A store reader, or a reader, finds a message there."""
        self.add("record", node=node, op=1, queue="t/0", queue_offset=offset, lo=lo, hi=lo + 100)
        return self

    def group(self, phase: str = "ok", node: str = "master", **choice: int) -> Reads:
        """An administrator changes g, as far as ``phase``."""
        self.ops += 1
        columns = {"node": node, "process": 9, "op": self.ops, "f": "group", "message": "g"}
        self.add("invoke", detail=json.dumps(choice), **columns)
        if phase != "invoke":
            self.add(phase, **columns)
        return self

    def sync(self) -> Reads:
        self.add("sync", node="slave", f="groups", status="asked").add(
            "sync", node="slave", f="groups", status="applied"
        )
        return self


def reads(log: int = 10 * MB, end: int | None = None, **settings: object) -> Reads:
    """Both logs have ``log`` bytes; of the brokers' 10 MB, 40 % serve for reading."""
    history = Reads()
    history.config("master", totalMemory=10 * MB, **settings).config("slave", totalMemory=10 * MB, **settings)
    history.start("master", log).start("slave")
    history.append("slave", 0, log if end is None else end)
    return history


ON = {"slaveReadEnable": True}

# read-split


@pytest.mark.parametrize("node", ["master", "slave"])
def test_without_a_split_every_reader_is_sent_to_the_master(node: str) -> None:
    assert_holds(ReadSplit, reads().pulled(0, node=node))
    assert_broken(ReadSplit, reads().pulled(1, node=node), f"{node} suggested broker 1 for t/0; slaveReadEnable is off")
    off = reads(slaveReadEnable="false").pulled(1, node=node, status="PULL_NOT_FOUND")
    assert_broken(ReadSplit, off, "slaveReadEnable is off")


def test_an_answer_without_a_suggestion_is_not_judged() -> None:
    assert_vacuous(ReadSplit, reads().pulled(None))


def test_a_slave_that_echoes_an_offset_may_name_the_group_s_own_broker() -> None:
    changed = reads().group(brokerId=1).sync().pulled(1, status="PULL_RETRY_IMMEDIATELY", node="slave")
    assert_holds(ReadSplit, changed)
    assert_broken(ReadSplit, reads().pulled(1, status="PULL_RETRY_IMMEDIATELY", node="slave"), "slaveReadEnable is off")
    on_master = reads().group(brokerId=1).pulled(1, status="PULL_RETRY_IMMEDIATELY")
    assert_broken(ReadSplit, on_master, "slaveReadEnable is off")


@pytest.mark.parametrize("node", ["master", "slave"])
@pytest.mark.parametrize("on", [True, 1, "true", "1"])
def test_with_a_split_the_slow_are_sent_to_the_slave(node: str, on: object) -> None:
    def at(lo: int, broker: int) -> Reads:
        return reads(slaveReadEnable=on).pulled(broker, node=node).message(0, lo)

    assert_holds(ReadSplit, at(6 * MB - 1, 1))
    assert_holds(ReadSplit, at(6 * MB, 0))
    assert_broken(
        ReadSplit, at(6 * MB - 1, 0), "this was at least 4000001 bytes behind the log's end, and 4000000 are in"
    )
    assert_broken(ReadSplit, at(6 * MB, 1), "as to the slow; this was at most 4000000 bytes behind")


def test_each_broker_counts_to_the_end_of_its_own_log() -> None:
    def behind(broker: int) -> Reads:
        return reads(end=5 * MB, **ON).pulled(broker, node="slave").message(0, 2 * MB)

    assert_holds(ReadSplit, behind(0))
    assert_broken(ReadSplit, behind(1), "at most 3000000 bytes")


def test_the_ratio_says_how_much_is_in_memory() -> None:
    none = reads(**ON, accessMessageInMemoryMaxRatio=0)
    assert_holds(ReadSplit, none.pulled(1).message(0, 10 * MB - 100))
    assert_broken(
        ReadSplit, reads(**ON, accessMessageInMemoryMaxRatio="80").pulled(1).message(0, 2 * MB), "8000000 are in memory"
    )
    unknown = Reads().config("master", **ON).start("master", 10 * MB)
    assert isinstance(unknown, Reads)
    assert_holds(ReadSplit, unknown.pulled(1).message(0, 10 * MB - 100))


def test_a_full_answer_looked_at_the_next_entry_too() -> None:
    def full(broker: int, hi: int = 2) -> Reads:
        return reads(**ON).pulled(broker, 1, hi).message(0, 5 * MB).message(1, 7 * MB)

    # Between the entry given and the one behind it the answer may have gone either way.
    assert_holds(ReadSplit, full(0))
    assert_holds(ReadSplit, full(1))
    assert_broken(ReadSplit, full(0, hi=1), "at least 5000000 bytes")
    slow = reads(**ON).pulled(0, 1, 2).message(0, 4 * MB).message(1, 5 * MB)
    assert_broken(ReadSplit, slow, "at least 5000000 bytes")
    assert_holds(ReadSplit, reads(**ON).pulled(0, 1, 2).message(0, 4 * MB))


def test_what_arrives_meanwhile_may_count_or_not() -> None:
    def growing(broker: int) -> Reads:
        history = reads(**ON).begin_pull()
        history.append("master", 10 * MB, 12 * MB, "put")
        return history.end_pull(broker).message(0, 7 * MB)

    assert_holds(ReadSplit, growing(0))
    assert_holds(ReadSplit, growing(1))


def test_an_offset_that_was_given_twice_may_be_either_message() -> None:
    assert_holds(ReadSplit, reads(**ON).message(0, 2 * MB).pulled(0).message(0, 7 * MB))
    assert_holds(ReadSplit, reads(**ON).message(0, 2 * MB).pulled(1).message(0, 7 * MB))


def test_who_found_nothing_is_not_slow() -> None:
    for status in ("PULL_NOT_FOUND", "PULL_OFFSET_MOVED"):
        assert_holds(ReadSplit, reads(**ON).pulled(0, status=status).message(0, 0))
        assert_broken(ReadSplit, reads(**ON).pulled(1, status=status), "broker 1 for t/0; it looked at no entry")
    for broker in (0, 1):
        assert_holds(ReadSplit, reads(**ON).pulled(broker, status="PULL_RETRY_IMMEDIATELY").message(0, 0))


def test_a_broker_that_the_group_never_named_is_wrong() -> None:
    assert_broken(ReadSplit, reads(**ON).pulled(2), "suggested broker 2 for t/0; its group wants 0, or 1 when slow")


def test_a_group_s_own_choice_counts() -> None:
    def chosen(broker: int, lo: int) -> Reads:
        return reads(**ON).group(brokerId=2, whichBrokerWhenConsumeSlowly=3).pulled(broker).message(0, lo)

    assert_holds(ReadSplit, chosen(2, 9 * MB))
    assert_holds(ReadSplit, chosen(3, 0))
    assert_broken(ReadSplit, chosen(0, 9 * MB), "its group wants 2, or 3 when slow")
    assert_broken(ReadSplit, chosen(2, 0), "at least 10000000 bytes")
    assert_broken(ReadSplit, chosen(3, 9 * MB), "as to the slow")


@pytest.mark.parametrize("phase", ["invoke", "info"])
def test_a_choice_that_may_have_arrived_may_count(phase: str) -> None:
    assert_holds(ReadSplit, reads(**ON).group(phase, brokerId=2).pulled(2).message(0, 9 * MB))
    assert_holds(ReadSplit, reads(**ON).group(phase, brokerId=2).pulled(0).message(0, 9 * MB))
    assert_broken(ReadSplit, reads(**ON).group("fail", brokerId=2).pulled(2), "its group wants 0, or 1")


def test_a_slave_holds_what_it_has_synced() -> None:
    def asked(history: Reads, broker: int) -> Reads:
        return history.pulled(broker, node="slave").message(0, 9 * MB)

    for broker in (0, 2):
        assert_holds(ReadSplit, asked(reads(**ON).sync().group(brokerId=2), broker))
        assert_holds(ReadSplit, asked(reads(**ON).group(brokerId=2), broker))
    assert_holds(ReadSplit, asked(reads(**ON).group(brokerId=2).sync(), 2))
    assert_broken(ReadSplit, asked(reads(**ON).group(brokerId=2).sync(), 0), "its group wants 2, or 1")
    lost = reads(**ON).group(brokerId=2).sync().crash("slave", "machine").start("slave")
    assert isinstance(lost, Reads)
    assert_holds(ReadSplit, asked(lost, 0))


def test_a_pull_that_was_held_may_be_answered_as_of_its_beginning() -> None:
    held = reads(**ON).sync().begin_pull("slave").group(brokerId=2).sync()
    op = held.ops - 1
    for broker, verdict in ((0, Verdict.HOLDS), (2, Verdict.HOLDS), (3, Verdict.VIOLATED)):
        events = [*held.events]
        event = events[0]._replace(
            seq=len(events), kind="ok", node="slave", op=op, f="pull", queue="t/0", status="PULL_NOT_FOUND", group="g",
            queue_offset=1, broker=broker, detail=None,
        )  # fmt: skip
        assert judged(ReadSplit, [*events, event]).verdict is verdict


@pytest.mark.parametrize("how", ["machine", "wipe"])
def test_a_master_that_lost_its_disk_s_tail_may_know_less(how: str) -> None:
    history = reads(**ON).group(brokerId=2)
    if how == "wipe":
        history.wipe("master", "image")
    else:
        history.crash("master", "machine")
    history.start("master", 10 * MB)
    assert_holds(ReadSplit, history.pulled(0).message(0, 9 * MB))


@pytest.mark.parametrize("how", ["crash", "stop"])
def test_what_a_broker_could_not_save_goes_with_its_process(how: str) -> None:
    def ended(node: str, saved: bool) -> Reads:
        history = reads(**ON).group(brokerId=2).sync()
        if saved:
            history.add("persist", node=node, f="groups")
        (history.crash if how == "crash" else history.stop)(node)
        return history.start(node, 10 * MB)  # type: ignore[return-value]

    for node in ("master", "slave"):
        assert_holds(ReadSplit, ended(node, False).pulled(0, node=node).message(0, 9 * MB))
    assert_broken(ReadSplit, ended("master", True).pulled(0).message(0, 9 * MB), "its group wants 2")
    assert_broken(ReadSplit, ended("slave", True).pulled(0, node="slave").message(0, 9 * MB), "its group wants 2")


def test_a_slave_of_5_may_send_the_quick_to_the_master() -> None:
    def quick(version: str) -> Reads:
        history = reads(**ON, rocketmqVersion=version).group(brokerId=1, whichBrokerWhenConsumeSlowly=2).sync()
        return history.pulled(0, node="slave").message(0, 9 * MB)

    assert_holds(ReadSplit, quick("5.5.0"))
    assert_broken(ReadSplit, quick("4.9.7"), "its group wants 1, or 2")


def test_where_nobody_knows_how_far_behind_a_reader_is_both_are_right() -> None:
    for broker in (0, 1):
        rolled = reads(**ON).crash("master", "machine").start("master", 5 * MB)
        assert isinstance(rolled, Reads)
        assert_holds(ReadSplit, rolled.pulled(broker, node="slave").message(0, 9 * MB if broker else 0))
        empty = Reads().config("master", **ON, totalMemory=10 * MB).config("slave", **ON, totalMemory=10 * MB)
        empty.start("master", 10 * MB).start("slave")
        assert isinstance(empty, Reads)
        assert_holds(ReadSplit, empty.pulled(broker, node="slave").message(0, 9 * MB if broker else 0))
    cut = reads(**ON).begin_pull().crash("master", "machine").start("master", 5 * MB)
    assert isinstance(cut, Reads)
    assert_holds(ReadSplit, cut.end_pull(0).message(0, 0))


def test_a_call_that_failed_suggests_nothing() -> None:
    history = reads().begin_pull()
    history.add("fail", node="master", process=1, op=history.ops, f="pull", status="SYSTEM_ERROR")
    assert_vacuous(ReadSplit, history)


# route-choice: a consumer of three brokers.

PAIR = {0: "master", 1: "slave", 2: "slave2"}


class Chooses(H):
    """Process 1 is a consumer of t/0."""

    def learns(self, route: dict[int, str], status: str = "found") -> Chooses:
        self.add("route", process=1, status=status, detail=json.dumps(route))
        return self

    def told(self, broker: int, queue: str = "t/0", node: str = "master") -> Chooses:
        self.add("ok", process=1, f="pull", status="PUT_OK", node=node, queue=queue, group="g", broker=broker)
        return self

    def asks(self, broker: int | None, node: str | None = None, f: str = "pull", queue: str = "t/0") -> Chooses:
        node = PAIR.get(-1 if broker is None else broker, "master") if node is None else node
        self.add("invoke", process=1, f=f, node=node, queue=queue, group="g", broker=broker, message="m")
        return self

    def takes(self, status: str = "on") -> Chooses:
        self.add("assign", process=1, status=status, group="g", queue="t/0", value=0)
        return self


def consumer(route: dict[int, str] | None = None, **settings: object) -> Chooses:
    history = Chooses()
    for node in ("master", "slave", "slave2"):
        history.config(node, namesrvAddr="names:9876", **settings).start(node)
    history.add("consumer", process=1, status="on", group="g", f="clustering")
    return history.learns(PAIR if route is None else route)


def test_a_topic_whose_route_has_nobody_left_takes_no_broker_from_another_s() -> None:
    gone = consumer().learns({}).asks(0).told(1)
    assert isinstance(gone, Chooses)
    assert_holds(RouteChoice, gone.asks(1))
    assert_broken(RouteChoice, gone.asks(0), "chose broker 0; 1 was suggested")


def test_the_first_pull_goes_to_the_master_and_the_next_where_it_was_told() -> None:
    assert_holds(RouteChoice, consumer().asks(0).told(1).asks(1).told(2).asks(2).told(0).asks(0))
    assert_broken(
        RouteChoice, consumer().asks(1), "a pull of t/0 chose broker 1; 0 was suggested, the route has 0: master"
    )
    assert_broken(RouteChoice, consumer().told(1).asks(0), "chose broker 0; 1 was suggested")
    assert_broken(RouteChoice, consumer().told(1).asks(2), "chose broker 2; 1 was suggested")


def test_each_queue_has_a_suggestion_of_its_own() -> None:
    assert_holds(RouteChoice, consumer().told(1, "t/1").asks(0).asks(1, queue="t/1"))
    assert_broken(RouteChoice, consumer().told(1, "t/1").asks(1), "0 was suggested")


def test_for_a_missing_broker_the_next_one_stands_in_and_then_any() -> None:
    assert_holds(RouteChoice, consumer({0: "master", 2: "slave2"}).told(1).asks(2))
    assert_broken(RouteChoice, consumer({0: "master", 2: "slave2"}).told(1).asks(0), "chose broker 0; 1 was suggested")
    for broker in (1, 2):
        assert_holds(RouteChoice, consumer({1: "slave", 2: "slave2"}).asks(broker))
    assert_holds(RouteChoice, consumer({0: "master", 1: "slave"}).told(2).asks(0))
    assert_holds(RouteChoice, consumer({0: "master", 2: "slave2"}, rocketmqVersion="4.7.1").told(1).asks(0))


def test_what_a_client_learned_last_counts() -> None:
    assert_holds(RouteChoice, consumer().learns({1: "slave"}).asks(1).learns(PAIR).asks(0))
    assert_holds(RouteChoice, consumer({1: "slave"}).learns({}, "none").asks(1))


def test_the_node_is_the_one_of_the_route() -> None:
    assert_broken(RouteChoice, consumer().asks(0, "slave"), "chose broker 0 and asked slave; the route has 0: master")
    assert_broken(RouteChoice, consumer({0: "master"}).told(1).asks(1), "chose broker 1 and asked slave; the route has")


def test_a_queue_just_taken_may_start_anew() -> None:
    assert_holds(RouteChoice, consumer().told(1).takes("off").takes().asks(0))
    assert_holds(RouteChoice, consumer().told(1).takes("off").takes().asks(1))
    assert_broken(RouteChoice, consumer().told(1).takes().asks(2), "chose broker 2; 1 was suggested")
    assert_broken(RouteChoice, consumer().takes().told(1).asks(0), "chose broker 0; 1 was suggested")


def fixing(broker: int, route: dict[int, str] | None = None) -> Chooses:
    """The consumer's user has fixed a broker."""
    history = consumer(route)
    history.add("consumer", process=1, status="on", group="g", f="clustering", broker=broker)
    return history


def test_who_has_a_fixed_broker_asks_it_whatever_is_suggested() -> None:
    assert_holds(RouteChoice, fixing(1).asks(1).told(0).asks(1).told(2).asks(1))
    assert_holds(RouteChoice, fixing(0).asks(0).told(1).asks(0))
    ignored = "a pull of t/0 chose broker 0; 1 is fixed by its user, the route has 0: master"
    assert_broken(RouteChoice, fixing(1).asks(0), ignored)
    assert_broken(RouteChoice, fixing(1).asks(1).told(0).asks(0), ignored)
    assert_broken(RouteChoice, fixing(0).told(1).asks(1), "chose broker 1; 0 is fixed by its user")
    # To be led is right for others only.
    assert_holds(RouteChoice, consumer().asks(0).told(1).asks(1))
    assert_broken(RouteChoice, consumer().asks(0).told(1).asks(0), "1 was suggested")


def test_a_fixed_broker_that_is_missing_is_replaced_as_a_suggested_one_is() -> None:
    assert_holds(RouteChoice, fixing(1, {0: "master", 2: "slave2"}).asks(2))
    assert_broken(RouteChoice, fixing(1, {0: "master", 2: "slave2"}).asks(0), "1 is fixed by its user")
    assert_holds(RouteChoice, fixing(1, {0: "master"}).asks(0).learns(PAIR).asks(1))
    assert_broken(RouteChoice, fixing(1, {0: "master"}).asks(0).learns(PAIR).asks(0), "1 is fixed by its user")


def test_a_queue_just_taken_excuses_nobody_from_the_user_s_choice() -> None:
    assert_broken(RouteChoice, fixing(1).asks(1).told(0).takes("off").takes().asks(0), "1 is fixed by its user")
    assert_holds(RouteChoice, fixing(1).asks(1).told(0).takes("off").takes().asks(1))


def test_a_user_s_choice_ends_with_its_consumer() -> None:
    gone = fixing(1).asks(1)
    gone.add("consumer", process=1, status="off", group="g", f="clustering")
    gone.add("consumer", process=1, status="on", group="g", f="clustering")
    assert_holds(RouteChoice, gone.asks(0))


def test_a_broker_suggests_to_a_reader_with_a_fixed_broker_as_to_any_other() -> None:
    def fixed(broker: int) -> Reads:
        history = reads(**ON)
        history.add("consumer", process=1, status="on", group="g", f="clustering", broker=1)
        return history.pulled(broker, node="slave").message(0, 9 * MB, "slave")

    assert_holds(ReadSplit, fixed(0))
    assert_broken(ReadSplit, fixed(1), "suggested broker 1")


def test_only_what_pulls_were_told_counts() -> None:
    commit = consumer().told(1).add("ok", process=1, f="commit", node="master", queue="t/0", group="g", broker=0)
    assert isinstance(commit, Chooses)
    assert_holds(RouteChoice, commit.asks(1))
    silent = consumer().told(1).add("ok", process=1, f="pull", node="slave", queue="t/0", group="g")
    assert isinstance(silent, Chooses)
    assert_holds(RouteChoice, silent.asks(1))
    assert_broken(RouteChoice, consumer().told(1).takes("off").asks(0), "chose broker 0; 1 was suggested")


def test_sends_go_to_the_master() -> None:
    assert_holds(RouteChoice, consumer().asks(0, f="send"))
    assert_broken(RouteChoice, consumer().asks(1, f="send"), "a send of m chose broker 1; only 0 takes messages")


def test_who_did_not_choose_is_not_judged() -> None:
    assert_vacuous(RouteChoice, consumer().asks(None))
    assert_vacuous(RouteChoice, consumer().asks(1, f="commit"))
    assert_vacuous(RouteChoice, consumer().asks(0, "other"))
    gone = consumer()
    gone.add("consumer", process=1, status="lost", group="g")
    assert_vacuous(RouteChoice, gone.asks(1))
    blind = Chooses().config("master", namesrvAddr="names").start("master").add("consumer", process=1, status="on")
    assert isinstance(blind, Chooses)
    assert_vacuous(RouteChoice, blind.asks(1))


@pytest.mark.parametrize("law", [RouteChoice, RouteExpiry])
def test_without_a_name_server_there_are_no_routes(law: type[RouteChoice] | type[RouteExpiry]) -> None:
    assert judged(law, H().config("master").start("master").events).verdict is Verdict.NOT_APPLICABLE


# route-expiry


class Names(H):
    def read(self, *nodes: str, ids: dict[str, int] | None = None) -> Names:
        """The name server's table, which names these."""
        known = {str((ids or {}).get(node, {"slave": 1}.get(node, 0))): node for node in nodes if node != "other"}
        table = {"broker-a": known} | ({"broker-b": {"0": "other"}} if "other" in nodes else {})
        self.add("table", node="names", f="brokers", detail=json.dumps(table))
        return self

    def learned(self, *nodes: str) -> Names:
        self.add("route", process=1, status="found", detail=json.dumps({str(int(n != "master")): n for n in nodes}))
        return self


def names(**settings: object) -> Names:
    history = Names()
    history.config("master", namesrvAddr="n", brokerId=0, **settings)
    history.config("slave", namesrvAddr="n", brokerId=1, **settings).add("start", node="names")
    history.start("master").start("slave")
    for node in ("master", "slave"):
        history.add("register", node=node, status="ok")
    return history


def later(history: H, ms: float) -> Names:
    assert isinstance(history, Names)
    history.after(ms)
    return history


def test_who_runs_is_named_under_its_own_id() -> None:
    assert_holds(RouteExpiry, later(names(), 60_000).read("master", "slave").learned("master", "slave"))
    for bad in (later(names(), 60_000).read("master"), later(names(), 60_000).learned("master")):
        assert_broken(
            RouteExpiry, bad, "slave runs, untouched for 60000 ms, and is not named; it registers every 30000 ms"
        )
    swapped = later(names(), 60_000).read("master", "slave", ids={"master": 1, "slave": 0})
    assert_broken(RouteExpiry, swapped, "master is named as broker 1; it is 0", times=2)


@pytest.mark.parametrize(("period", "ms"), [(30_000, 40_000), (5_000, 20_000), (90_000, 70_000), ("20000", 30_000)])
def test_who_returned_is_back_within_its_period(period: object, ms: int) -> None:
    def returned(after: float) -> Names:
        history = later(names(registerNameServerPeriod=period), 1_000).crash("slave").after(5_000).start("slave")
        return later(history, after).read("master")

    assert_vacuous(RouteExpiry, later(names(registerNameServerPeriod=period), 5_000).read("master"))
    assert judged(RouteExpiry, returned(ms).events).verdict is not Verdict.VIOLATED
    assert_broken(RouteExpiry, returned(ms + 1), "slave runs, untouched for")


def lacking(history: H, ms: float, node: str = "slave") -> Names:
    return later(history, ms).read(*({"master", "slave"} - {node}))


@pytest.mark.parametrize("place", ["names-slave", "names", "slave"])
def test_after_trouble_who_was_touched_has_two_periods(place: str) -> None:
    def mended() -> H:
        return later(names(), 100_000).fault("stall", place).after(10_000).fault("stall", place, "off")

    assert judged(RouteExpiry, lacking(mended(), 70_000).events).verdict is not Verdict.VIOLATED
    assert_broken(RouteExpiry, lacking(mended(), 70_001), "slave runs, untouched for 70001 ms")
    going_on = later(names(), 100_000).fault("stall", place).after(100_000)
    assert judged(RouteExpiry, lacking(going_on, 0).events).verdict is not Verdict.VIOLATED


@pytest.mark.parametrize("node", ["names", "slave"])
def test_who_stood_still_has_two_periods_too(node: str) -> None:
    def woke() -> H:
        return later(names(), 100_000).pause(node, 5_000)

    assert judged(RouteExpiry, lacking(woke(), 70_000).events).verdict is not Verdict.VIOLATED
    assert_broken(RouteExpiry, lacking(woke(), 70_001), "slave runs")


def test_a_name_server_that_was_restarted_learns_anew() -> None:
    def anew(ms: float) -> Names:
        history = later(names(), 100_000).crash("names").after(1_000).add("start", node="names")
        return later(history, ms).read()

    assert_vacuous(RouteExpiry, anew(70_000))
    assert_broken(RouteExpiry, anew(70_001), "master runs", times=2)
    assert_vacuous(RouteExpiry, later(later(names(), 100_000).crash("names"), 100_000).read().learned())


@pytest.mark.parametrize("how", ["process", "stop"])
def test_who_was_killed_or_stopped_is_not_named_a_moment_later(how: str) -> None:
    def dead(ms: float) -> Names:
        history = later(names(), 60_000)
        return later(history.stop("slave") if how == "stop" else history.crash("slave", how), ms)

    assert_holds(RouteExpiry, dead(1_000).read("master", "slave"))
    assert_holds(RouteExpiry, dead(1_001).read("master"))
    assert_broken(
        RouteExpiry, dead(1_001).read("master", "slave"), "slave is down for 1001 ms and still named; 1000 ms"
    )
    assert_broken(RouteExpiry, dead(1_001).learned("master", "slave"), "slave is down for 1001 ms and still named")


def test_a_machine_that_loses_power_as_its_broker_stops_closes_nothing() -> None:
    def dead(after: float) -> Names:
        history = later(names(), 60_000).stop("slave").after(after).crash("slave", "machine")
        return later(history, 2_000).read("master", "slave")

    assert_holds(RouteExpiry, dead(0))
    assert_broken(RouteExpiry, dead(1), "slave is down for 2001 ms and still named")


def test_routes_name_a_slave_only_once_its_master_has_told_the_topics() -> None:
    def lone(*registers: str) -> Names:
        """The name server is started anew while the master is down."""
        history = later(names(), 60_000).crash("master").crash("names").add("start", node="names")
        for node in registers:
            history = later(history, 1_000).add("register", node=node, status="ok")
        return later(history, 99_000)

    assert_holds(RouteExpiry, lone("slave").learned("other"))
    assert_broken(RouteExpiry, lone("slave").read("other"), "slave runs")
    back = lone("slave").start("master").add("register", node="master", status="ok")
    assert_broken(RouteExpiry, later(back, 1_000).learned("master"), "slave runs, untouched for")


def test_who_did_not_register_since_may_be_named_by_an_older_connection() -> None:
    def dead(status: str, ms: float) -> Names:
        history = later(names(), 60_000).crash("slave", "machine").after(1_000).start("slave")
        history.add("register", node="slave", status=status).after(1_000).crash("slave")
        return later(history, ms).read("master", "slave")

    assert_broken(RouteExpiry, dead("ok", 1_001), "slave is down for 1001 ms and still named")
    assert_holds(RouteExpiry, dead("failed", 130_000))
    assert_broken(RouteExpiry, dead("failed", 130_001), "slave is down for 130001 ms")


@pytest.mark.parametrize("why", ["machine", "names-slave", "names", "pause"])
def test_whose_end_nobody_heard_expires(why: str) -> None:
    def dead(ms: float) -> Names:
        history = later(names(), 60_000)
        if why.startswith("names"):
            history.fault("stall", why)
        history.crash("slave", "machine" if why == "machine" else "process")
        if why == "pause":
            history.pause("names", 3_000)
        return later(history, ms)

    assert not judged(RouteExpiry, dead(130_000).read("master", "slave").events).broken
    assert not judged(RouteExpiry, dead(130_001).read("master").events).broken
    assert_broken(
        RouteExpiry, dead(130_001).read("master", "slave"), "slave is down for 130001 ms and still named; 130000"
    )


def test_other_tables_name_nobody() -> None:
    for node, f in (("names", "topics"), ("master", "brokers")):
        assert_vacuous(RouteExpiry, later(names(), 60_000).add("table", node=node, f=f, detail="{}"))


def test_a_route_learned_over_a_troubled_link_may_be_an_old_one() -> None:
    def learned(history: H, ms: float) -> Names:
        return later(history, ms).learned("master", "slave")

    stalled = later(names(), 60_000).crash("slave").fault("stall", "names-client").after(20_000)
    stalled.fault("stall", "names-client", "off")
    assert_vacuous(RouteExpiry, learned(stalled, 10_000))
    assert_broken(RouteExpiry, learned(stalled, 1), "still named")
    paused = later(names(), 60_000).crash("slave").pause("names", 1_000)
    assert_vacuous(RouteExpiry, learned(paused, 9_000))


def test_another_broker_s_name_is_in_the_table_and_in_no_pair_s_route() -> None:
    def three() -> Names:
        history = Names().config("master", namesrvAddr="n").config("other", namesrvAddr="n", brokerRole="ASYNC_MASTER")
        return later(history.add("start", node="names").start("master").add("start", node="other"), 60_000)

    assert_holds(RouteExpiry, three().learned("master").read("master", "other"))
    assert_broken(RouteExpiry, three().read("master"), "other runs")
