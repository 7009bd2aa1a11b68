"""What a broker's table may say: an honest broker is always believed, whatever is under way; a forgetful one is not."""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Callable
from random import Random

from histories import MS, G, Q, Story
from histories.consumers import grouped

from pairproof.harness.history import kinds
from pairproof.harness.rocketmq.known.model import Known
from pairproof.harness.rocketmq.known.registers import NONE, offsets_of


def known(history: Story, node: str = "master") -> set[int] | None:
    """What a node's table may say at the end of a history."""
    known = Known()
    for event in history.events:
        handler = getattr(known, f"on_{event.kind}", None)
        if handler is not None:
            handler(event)
    register = known.consumption.registers.get((node, G, Q))
    return {NONE} if register is None else register.possible_since(history.t + 1)


def test_the_last_confirmed_commit_is_known() -> None:
    assert known(grouped().commit(1).commit(5).commit(3)) == {3}
    assert known(grouped()) == {NONE}


def test_commits_side_by_side_come_in_either_order() -> None:
    first = grouped().ops
    racing = grouped().commit(1, phase="").commit(2)
    assert known(racing) == {1, 2}
    racing.add("ok", node="master", process=1, op=first, f="commit", queue=Q, group=G, queue_offset=1)
    assert known(racing) == {1, 2}
    assert known(racing.commit(3)) == {3}


def test_what_nobody_answered_may_still_come_until_the_broker_goes_down() -> None:
    assert known(grouped().commit(1, phase="info").commit(2)) == {1, 2}
    down = grouped().commit(1, phase="info").after(9_000).commit(2).after(9_000).crash("master").start("master")
    assert known(down) == {1, 2}
    assert known(down.commit(3)) == {3}


def test_what_nobody_answered_has_come_once_its_way_has_been_free_for_ten_seconds() -> None:
    given_up = grouped().commit(1, phase="info").after(10_000)
    assert known(given_up) == {NONE, 1}
    assert known(given_up.commit(2)) == {2}
    stalled = grouped().commit(1, phase="info").after(10_000).fault("stall", "client-master").commit(2)
    assert known(stalled) == {1, 2}


def test_what_was_refused_may_have_been_stored_and_comes_no_more() -> None:
    assert known(grouped().commit(1).commit(2, phase="fail")) == {1, 2}
    assert known(grouped().commit(1, phase="fail").commit(2)) == {2}


def test_a_sync_brings_what_the_master_had_while_it_was_asked() -> None:
    assert known(grouped().commit(1).sync(), "slave") == {1}
    assert known(grouped().commit(1).sync("asked").commit(2).sync("applied"), "slave") == {1, 2}
    assert known(grouped().commit(1).sync("asked", "failed"), "slave") == {NONE}
    assert known(grouped().commit(5, "slave").commit(1).sync(), "slave") == {1}
    assert known(grouped().commit(1).sync("asked").commit(5, "slave").sync("applied"), "slave") == {NONE, 1, 5}
    assert known(grouped().commit(5, "slave").sync(), "slave") == {NONE, 5}


def test_nothing_is_known_of_a_table_after_a_power_loss_until_the_next_commit() -> None:
    lost = grouped().commit(1).after(20_000).crash("master", "machine").start("master")
    assert known(lost) is None
    assert known(lost.sync(), "slave") is None
    assert known(lost.commit(4)) == {4}


def test_a_table_is_read_with_and_without_its_wrapping() -> None:
    plain = {"T@G@x": {"0": 1, "3": 4}}
    for content in (plain, {"offsetTable": plain}):
        assert offsets_of(json.dumps(content)) == {("G@x", "T/0"): 1, ("G@x", "T/3"): 4}


class Brokers:
    """An honest master and slave, and clients of all kinds, in a history of their own; what they show is judged."""

    def __init__(self, seed: int, forgets: bool = False) -> None:
        self.random = Random(seed)
        self.forgets = forgets
        self.known = Known()
        self.known.healthy_ns = 1_000 * MS
        self.later: list[tuple[int, int, Callable[[], None]]] = []
        self.number = itertools.count()
        self.now = 0
        self.memory: dict[str, int] = {"master": NONE, "slave": NONE}
        self.disk = dict(self.memory)
        self.life = 0
        self.shown = self.impossible = 0

    def tell(self, kind: str, **columns: object) -> None:
        event = kinds()[kind](next(self.number), self.now, kind, **columns)  # type: ignore[arg-type]
        if kind == "table" or (kind == "ok" and columns["f"] == "query"):
            for each in self.known.consumption.observations(event):
                self.shown += 1
                self.impossible += not each.is_possible()
        if kind != "table":
            getattr(self.known, f"on_{kind}")(event)

    def at(self, ms: float, do: Callable[[], None]) -> None:
        heapq.heappush(self.later, (self.now + int(ms * MS), next(self.number), do))

    def run(self) -> Brokers:
        for node in ("master", "slave"):
            self.tell("start", node=node, hi=0)
        self.at(10_000, self.persist)
        doing = [self.commit, self.commit, self.commit, self.query, self.table, self.sync, self.kill]
        for _ in range(60):
            self.at(self.random.uniform(0, 60_000), self.random.choice(doing))
        while self.later:
            self.now, _, do = heapq.heappop(self.later)
            do()
        return self

    def persist(self) -> None:
        self.disk["master"] = self.memory["master"]
        if self.now < 60_000 * MS:
            life = self.life
            self.at(5_000, lambda: self.persist() if life == self.life else None)

    def commit(self) -> None:
        random, op, value, life = self.random, next(self.number), self.random.randint(0, 9), self.life
        node = random.choice(["master", "master", "slave"])
        call = {"node": node, "process": 1, "op": op, "f": "commit", "queue": Q, "group": G, "queue_offset": value}
        self.tell("invoke", **call)
        phase = random.choice(["ok", "ok", "ok", "fail", "info"])
        ends = random.choice([1, 300, 3_000])
        arrives = random.uniform(0, ends if phase != "info" else 9_000)

        def arrive() -> None:
            if life == self.life and (phase == "ok" or random.random() < 0.5):
                self.memory[node] = value

        if not (self.forgets and random.random() < 0.3):
            self.at(arrives, arrive)
        self.at(ends, lambda: self.tell(phase if life == self.life else "info", **call))

    def query(self) -> None:
        op, node, ends, life = next(self.number), self.random.choice(["master", "slave"]), 50, self.life
        call = {"node": node, "process": 2, "op": op, "f": "query", "queue": Q, "group": G}
        self.tell("invoke", **call)
        answers: list[int] = []
        self.at(self.random.uniform(0, ends), lambda: answers.append(self.memory[node]))

        def end() -> None:
            (answer,) = answers
            if life == self.life:
                self.tell("ok", **call, queue_offset=None if answer == NONE else answer)

        self.at(ends, end)

    def table(self) -> None:
        node = self.random.choice(["master", "slave"])
        known = self.memory[node]
        content = {} if known == NONE else {f"T@{G}": {"0": known}}
        self.at(
            self.random.uniform(0, 900), lambda: self.tell("table", node=node, f="offsets", detail=json.dumps(content))
        )

    def sync(self) -> None:
        self.tell("sync", node="slave", f="offsets", status="asked")
        found: list[int] = []
        self.at(self.random.uniform(0, 200), lambda: found.append(self.memory["master"]))

        def end() -> None:
            if found[0] != NONE:
                self.memory["slave"] = found[0]
            self.tell("sync", node="slave", f="offsets", status="applied")

        self.at(200, end)

    def kill(self) -> None:
        if self.random.random() < 0.5:
            return
        self.tell("crash", node="master", f="process")
        self.life += 1
        self.memory["master"] = self.disk["master"]
        self.tell("start", node="master", hi=0)
        life = self.life
        self.at(10_000, lambda: self.persist() if life == self.life else None)


def test_an_honest_broker_never_shows_what_is_not_possible() -> None:
    shown = 0
    for seed in range(300):
        brokers = Brokers(seed).run()
        shown += brokers.shown
        assert not brokers.impossible, seed
    assert shown > 3_000


def test_a_forgetful_one_is_found_out() -> None:
    assert sum(Brokers(seed, forgets=True).run().impossible for seed in range(40)) > 10
