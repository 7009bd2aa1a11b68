"""What a finding's page shows of a whole trial: consumers by group, syncs, the name server; and what it folds."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

from pairproof.harness.history import Event, Recorder
from pairproof.reports import groups
from pairproof.reports.events import words
from pairproof.reports.folding import fold
from pairproof.reports.lanes import Row
from pairproof.reports.scene import scene
from pairproof.reports.timeline import MAX_GROUP_ROWS, SIGN, draw, sign

MS = 1_000_000
Q = "T/0"


class Play:
    """A history in the making; each event is a millisecond behind the last one."""

    def __init__(self) -> None:
        self.made = Recorder()
        self.t = 0
        self.ops = 0

    def add(self, kind: str, node: str | None = None, **columns: object) -> Play:
        self.t += MS
        self.made.add(self.t, kind, node, **columns)
        return self

    def of(self, kind: str, node: str | None = None, process: int = 1, **columns: object) -> Play:
        return self.add(kind, node, process=process, **{"group": "g", **columns})

    def come(self, process: int = 1, f: str = "clustering", **columns: object) -> Play:
        return self.of("consumer", process=process, f=f, status="on", **columns)

    def take(self, at: int = 0, node: str | None = None, queue: str = Q, **columns: object) -> Play:
        return self.of("assign", node, queue=queue, status="on", value=at, **columns)

    def call(self, f: str, node: str, phase: str, status: str = "PUT_OK", **columns: object) -> Play:
        """A call that begins and, if it has a phase, ends."""
        self.ops += 1
        known = {"op": self.ops, "f": f, "queue": Q, **columns}
        self.of("invoke", node, **known)
        return self.of(phase, node, status=status, **known) if phase else self

    def receive(self, message: str, node: str = "master", at: int = 0, **columns: object) -> Play:
        return self.of("deliver", node, f="pull", message=message, queue=Q, queue_offset=at, **columns)

    def learn(self, nodes: dict[str, str], status: str = "found") -> Play:
        return self.of("route", status=status, detail=json.dumps(nodes))

    @property
    def events(self) -> list[Event]:
        return self.made.events


def rows(play: Play) -> dict[str, Row]:
    return {row.name: row for row in groups.rows(play.events)["g"]}


def bars(row: Row) -> list[tuple[int, int | None, str, str]]:
    return [(bar.began // MS, bar.ended and bar.ended // MS, bar.kind, bar.label) for bar in row.bars]


def test_a_consumer_s_life_says_which_brokers_its_route_names() -> None:
    play = Play().come().learn({"0": "master", "1": "slave"}).learn({"0": "master", "1": "slave"})
    play.learn({"1": "slave"}).learn({}, "none").of("consumer", status="lost")
    assert bars(rows(play)["g consumer 1"]) == [
        (1, 2, "route none", "no route yet"),
        (2, 4, "route", "route to master, slave"),
        (4, 5, "route partial", "route to slave"),
        (5, 6, "route none", "no route"),
    ]


def test_a_queue_s_bar_says_which_broker_answers_its_pulls() -> None:
    play = Play().come().take().call("pull", "master", "ok").call("pull", "master", "ok")
    play.call("pull", "master", "info", "disconnected").call("pull", "slave", "ok").call("pull", "master", "")
    assert bars(rows(play)["queue 0"]) == [
        (2, 3, "held asking", "not asked"),
        (3, 8, "held from master", "master"),
        (8, 9, "held nobody", "master: disconnected"),
        (9, 11, "held from slave", "slave"),
        (11, None, "held asking", "asks master"),
    ]
    assert "holds T/0 from 0 on" in rows(play)["queue 0"].bars[0].title


def test_a_queue_is_held_until_it_is_given_up_or_its_consumer_goes() -> None:
    play = Play().come().take().call("pull", "master", "ok").of("assign", queue=Q, status="off", value=0)
    play.take(queue="T/1").of("consumer", status="off")
    assert bars(rows(play)["queue 0"])[1:] == [(3, 5, "held from master", "master")]
    assert bars(rows(play)["queue 1"]) == [(6, 7, "held asking", "not asked")]


def test_queues_of_another_broker_name_are_rows_of_their_own() -> None:
    play = Play().come().take().take(node="other").call("pull", "other", "ok").call("pull", "master", "ok")
    assert [row.bars[-1].kind for name, row in rows(play).items() if name.startswith("queue 0")] == [
        "held from master", "held from other",
    ]  # fmt: skip
    assert "queue 0 of other" in rows(play)


def test_deliveries_of_one_moment_are_one_sign_and_repeats_another() -> None:
    play = Play().come().come(2).take()
    for message, at in (("m0", 0), ("m1", 1)):
        play.receive(message, at=at)
        play.t -= MS
    play.t += MS
    play.receive("m0", "slave", 0, process=2)
    (first,), (again,) = (row.ticks for row in groups.rows(play.events)["g"] if row.name == "queue 0")
    assert (first.kind, first.label, first.title) == ("first", "m0 +1", "received from the master: m0 at 0, m1 at 1")
    assert (again.kind, again.title) == ("again", "received again from the slave: m0 at 0")


def test_a_repeat_that_comes_with_something_new_is_not_hidden_by_it() -> None:
    play = Play().come().take().receive("m0").receive("m0")
    play.t -= MS
    play.receive("m1", at=1)
    drawn = str(draw(play.events, None, "a repeat"))
    again = re.search(r'd="M([\d.]+) [^"]*" class="sign again"', drawn)
    news = [float(each) for each in re.findall(r'cx="([\d.]+)"[^>]*class="sign first"', drawn)]
    assert again is not None and news[-1] - float(again[1]) >= 2 * SIGN


def test_what_another_broadcasting_consumer_received_is_no_repeat() -> None:
    play = Play().come(1, "broadcasting").come(2, "broadcasting").receive("m0", process=1).receive("m0", process=2)
    assert [tick.kind for row in groups.rows(play.events)["g"] for tick in row.ticks] == ["first", "first"]


def test_commits_say_where_they_went_and_those_that_ride_on_pulls_are_left_out() -> None:
    play = Play().come().call("commit", "master", "ok", queue_offset=1)
    play.call("commit", "slave", "ok", queue_offset=2).call("commit", "master", "info", "timeout", queue_offset=3)
    play.call("commit", "slave", "", queue_offset=4).call("commit", "master", "ok", queue_offset=5, value=1)
    found = [(tick.kind, tick.title) for tick in rows(play)["commits"].ticks]
    assert found == [
        ("usual", "commits to the master: 1 of T/0 answered OK"),
        ("aside", "commits to the slave: 2 of T/0 answered OK"),
        ("failed", "commits to the master: 3 of T/0 outcome unknown: timeout"),
        ("failed", "commits to the slave: 4 of T/0 never answered"),
    ]


def test_a_round_of_a_slave_s_sync_is_one_sign_and_so_is_a_moment_s_registrations() -> None:
    play = Play()
    for statuses in (("applied", "applied"), ("same", "applied"), ("failed", "applied")):
        for table, status in zip(("topics", "offsets"), statuses, strict=True):
            play.add("sync", "slave", f=table, status="asked").add("sync", "slave", f=table, status=status)
    play.add("register", "slave", status="ok")
    play.t -= MS
    play.add("register", "master", status="failed")
    syncs, registered = groups.syncs(play.events)
    assert [tick.kind for tick in syncs.ticks] == ["first", "usual", "failed"]
    assert syncs.ticks[2].title == "slave fetches its master's tables: topics failed, consumer offsets applied"
    assert [(tick.kind, tick.title) for tick in registered.ticks] == [
        ("failed", "slave registers, master not answered")
    ]


def whole() -> Play:
    play = Play()
    for node in ("names", "master", "slave", "other"):
        play.add("start", node, incarnation=1, f="empty", lo=None if node == "names" else 0, hi=0)
    play.add("append", "master", f="put", message="m0", lo=0, hi=230)
    play.add("append", "other", f="put", message="m9", lo=0, hi=9_000)
    play.add("crash", "names", incarnation=1, f="process", value=0)
    play.come().learn({"0": "master"}).take().call("pull", "master", "").receive("m0")
    return play.add("sync", "slave", f="topics", status="asked")


def test_other_broker_names_and_name_servers_have_no_part_in_the_pair_s_charts() -> None:
    shown = scene(whole().events)
    assert (shown.nodes, shown.others) == (["master", "slave"], ["other", "names"])
    assert set(shown.ends) == {"master", "slave"} and set(shown.lag) == {"slave"}
    assert [bar.label for bar in shown.down["names"]] == ["killed"]
    assert shown.clients == {}, "a consumer is no plain client"


def test_consumers_syncs_and_the_name_server_are_drawn_in_words() -> None:
    drawn = str(draw(whole().events, None, "a whole trial"))
    root = ElementTree.fromstring(drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))
    said = [each.text or "".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    for text in ("g consumer 1", "queue 0", "Name server runs", "Other master runs", "Slave syncs"):
        assert any(text in each for each in said), text
    assert "a pull from the master is not answered yet" in drawn and "received from the master: m0 at 0" in drawn


def test_a_drawing_ends_where_there_are_too_many_rows() -> None:
    play = Play()
    for process in range(MAX_GROUP_ROWS + 7):
        play.come(process)
    assert "7 more rows not drawn" in str(draw(play.events, None, "many"))


def test_every_kind_of_sign_looks_different() -> None:
    kinds = ("first", "again", "usual", "aside", "failed")
    looks = [sign(kind, 0, 0) for kind in kinds]
    assert looks[0] == looks[3] == [], "these two are circles, told apart by their filling"
    assert len({str(look) for look in looks}) == 4


# Folding.


def flood() -> list[Event]:
    made = Recorder()
    for number in range(5):
        made.add(MS, "keys", "master", op=1, message=f"m{number}", digest=0)
    for number in range(2):
        made.add(MS, "keys", "slave", op=1, message=f"m{number}", digest=0)
    for number in range(4):
        call = {"process": 1, "group": "g", "f": "commit", "queue": f"T/{number}", "queue_offset": number}
        made.add(2 * MS, "invoke", "master", op=number, **call)
    for number in range(3):
        made.add(2 * MS, "invoke", "master", process=0, op=9, f="send", message=f"m{number}", queue=Q)
    return made.events


def test_what_floods_is_folded_and_what_a_program_is_about_is_not() -> None:
    lines = fold(flood())
    assert [(line.first.seq, line.last.seq) for line in lines] == [
        (0, 4), (5, 5), (6, 6), (7, 10), (11, 11), (12, 12), (13, 13),
    ]  # fmt: skip
    assert lines[0].words == "store reader: the key index of master is asked for 5 keys, m0 to m4"
    assert lines[3].words == "consumer 1 of g: 4 commits to master: T/0 at 0, T/1 at 1, T/2 at 2, T/3 at 3"
    assert lines[1].words == words(flood()[5])


def test_the_event_that_broke_a_law_is_never_folded() -> None:
    lines = fold(flood(), keep=2)
    assert (2, 2) in [(line.first.seq, line.last.seq) for line in lines]
    assert [line.words for line in lines if line.first.seq == 2] == [words(flood()[2])]


OF_G = {"group": "g", "process": 2}


@pytest.mark.parametrize(
    ("kind", "columns", "said"),
    [
        ("record", {"lo": 5, "hi": 9}, "store reader: 3 records of slave, [5, 9)"),
        ("chunk", {"lo": 0, "hi": 9}, "store reader: 3 chunks of slave, [0, 9)"),
        ("entries", {"queue": Q}, "store reader: 3 queues of slave are read"),
        ("dispatch", {"hi": 7}, "slave has derived its queues from its log up to 7"),
        ("table", {"f": "topics"}, "table reader: 3 tables of slave: topics"),
        ("sync", {"f": "topics", "status": "asked"}, "slave: 3 steps of the metadata sync: topics"),
        ("persist", {"f": "offsets"}, "slave: 3 tables written to the disk: consumer offsets"),
        ("ok", {**OF_G, "f": "query", "status": "PUT_OK", "queue": Q}, "3 questions to slave answered OK"),
        ("assign", {**OF_G, "status": "on", "queue": Q, "value": 1}, "consumer 2 of g takes 3 queues: T/0 at 1"),
        ("deliver", {**OF_G, "message": "m1"}, "received 3 messages from slave: m1, m1, m1"),
    ],
)
def test_each_kind_that_floods_has_words_for_many(kind: str, columns: dict[str, object], said: str) -> None:
    made = Recorder()
    for _ in range(3):
        made.add(MS, kind, "slave", **columns)
    (line,) = fold(made.events)
    assert said in line.words
