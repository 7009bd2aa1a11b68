"""What a scenario's file may say, and the one clear line for whatever it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairproof.chaos.scenarios import amounts, library, reading, yaml_tree
from pairproof.chaos.scenarios.amounts import Bound
from pairproof.chaos.scenarios.scenario import DURING, Load, Phase, When
from pairproof.harness.errors import UsageError
from pairproof.harness.trials.schedule import Op

WHOLE = """\
name: lag
about: What a slave does that lags.
promises: [It catches up.]
settings: {slaveTimeout: 1000, lab.slaves: 2}
workload:
  - send: {every: 50ms, for: 4s, queue: 1, size: 1KiB}
  - pull: {every: 1s, from: 500ms, for: 1m, node: slave}
timeline:
  - {at: 1s, fault: latency, with: {link: ha2, direction: up, ms: 2s}, for: 1s, id: slow}
  - {after: 500ms, fault: kill, with: {node: slave}, id: dead}
  - {after_sends: 70, heal: dead}
  - {at: 3s, misdirect: {node: slave}}
lasts: 4s
repeat: 2
laws: [contract, log-prefix]
expect:
  judged: [log-prefix]
  statuses: {PUT_OK: ">=1", PUT_OK@master: 1..9}
  during: {slow: {statuses: {timeout: 0}, events: {append@slave2: "<=3"}}}
  bites: false
catches: [acks_at_once]
differs: {log-prefix: Clocks differ., verdict: So there.}
"""


def test_whole_file_is_read() -> None:
    found = reading.from_text(WHOLE, "lag")
    (case,) = found.cases
    assert (found.name, found.repeat, found.laws) == ("lag", 2, ("contract", "log-prefix"))
    assert (found.catches, found.promises) == (("acks_at_once",), ("It catches up.",))
    assert found.differs == {"log-prefix": "Clocks differ.", "verdict": "So there."}
    assert case.settings == {"slaveTimeout": 1000, "lab.slaves": 2} and case.lasts_ms == 4_000
    send = Op("send", {"producer": 0, "size": 1024, "wait": True, "queue": 1})
    assert case.loads == (
        Load(send, 50, 0, 4_000),
        Load(Op("pull", {"reader": 0, "node": "slave", "queue": 0}), 1_000, 500, 60_500),
    )
    slow, dead, heal, astray = case.steps
    assert slow.op == Op("fault", {"name": "latency", "link": "ha2", "direction": "up", "ms": 2_000})
    assert (slow.when, slow.for_ms, slow.id) == (When(at_ms=1_000), 1_000, "slow")
    assert (dead.when, heal.op, heal.when) == (When(after_ms=500), Op("heal", {"name": "kill"}), When(sends=70))
    assert astray.op == Op("send_to_wrong_broker", {"node": "slave", "queue": 0})
    expect = case.expect
    assert expect.whole.statuses == {"PUT_OK": Bound(1, None), "PUT_OK@master": Bound(1, 9)}
    (phase,) = expect.phases
    assert isinstance(phase, Phase) and (phase.when, phase.id) == (DURING, "slow")
    assert phase.counts == ({"timeout": Bound(0, 0)}, {"append@slave2": Bound(0, 3)})
    assert expect.judged == ("log-prefix",) and not expect.bites


EMPTY = "name: x\nabout: y\nexpect: {}\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        # YAML
        ("", "x.yaml is empty; a scenario is a mapping"),
        ("a: b: c", "x.yaml, line 1: not YAML: mapping values are not allowed here"),
        ("name: x\n\tabout: y", "x.yaml, line 2: not YAML"),
        ("name: x\nname: z", "x.yaml, line 2: 'name' is there twice, first in line 1"),
        ("name: &a x\nabout: *a", "line 1: anchors and aliases are not taken here"),
        ("name: !!python/name:os.system x", "to YAML; put it in quotes"),
        ("name: 2020-01-01", "line 1: '2020-01-01' is a timestamp to YAML; put it in quotes"),
        ("name: 1" + ":59" * 174 + ".5", ":59:59:59:5' cannot be read; put it in quotes"),
        ("name: 1" + ":59" * 5_000, ":59:59:59:5' cannot be read; put it in quotes"),
        ("name: 0x" + "f" * 5_000, "cannot be read; put it in quotes"),
        ("name: " + "1" * 5_000, "cannot be read; put it in quotes"),
        ("1: x", "line 1: a key must be text, not 1; put it in quotes"),
        ("name: \x01", "line 1: not YAML: a character that it does not allow"),
        ("[" * 500 + "]" * 500, "nested deeper than 20 levels"),
        ("[" * 40 + "]" * 40, "nested deeper than 20 levels"),
        ("x" * 300_000, "larger than 256 KiB"),
        # Keys
        ("[]", "line 1: a scenario is a mapping of name, about"),
        ("name: x", "line 1: a scenario needs 'about'"),
        (EMPTY + "seting: {}", "line 4: a scenario has no key 'seting'; did you mean 'settings'?"),
        ("name: y\nabout: y\nexpect: {}", "line 1: the scenario calls itself 'y', its file is x.yaml"),
        ("name: X y\nabout: y\nexpect: {}", "line 1: a name is lower-case words joined by hyphens"),
        ("name: x\nabout: ''\nexpect: {}", "line 2: about is a text, not ''"),
        (EMPTY + "promises: [1]", "line 4: a promise is a text, not 1"),
        (EMPTY + "repeat: 0", "line 4: repeat is a whole number from 1 to 1000, not 0"),
        (EMPTY + "lasts: forever", "line 4: lasts: needs a time such as 300ms, 2s or 1m, not 'forever'"),
        (EMPTY + "lasts: 11m", "line 4: lasts: may be 10m at most, not '11m'"),
        # Settings
        (EMPTY + "settings: []", "line 4: settings are the target's keys"),
        (EMPTY + "settings:\n  slaveTimeout: 1\n  slaveTimout: 1", "line 6: unknown setting 'slaveTimout'"),
        (EMPTY + "settings: {lab.slaves: 9}", "line 4: lab.slaves must be a whole number from 0 to 3, not 9"),
        (EMPTY + "settings: {lab.others: 1}", "line 4: lab.others needs a name server"),
        (EMPTY + "settings: {slaveTimeout: 1.5}", "line 4: slaveTimeout is a whole number, a text, true or false"),
        (EMPTY + "settings: {slaveTimeout: 1s}", "line 4: slaveTimeout must be a whole number, not '1s'"),
        (EMPTY + "settings: {rocketmqVersion: 4.9.7, inSyncReplicas: 2}", "line 4: inSyncReplicas came with 5.0, and"),
        # Workload
        (EMPTY + "workload: {send: 1}", "line 4: workload is a list, not a mapping"),
        (EMPTY + "workload:\n- sent: {every: 1s, for: 1s}", "line 5: a load has no key 'sent'; did you mean 'send'?"),
        (EMPTY + "workload:\n- send: {every: 1s}", "line 5: send needs 'for'"),
        (EMPTY + "workload:\n- send: {every: 1 week, for: 1s}", "line 5: every: unknown unit 'week'"),
        (EMPTY + "workload:\n- send: {every: 5, for: 1s}", "line 5: every: needs a time such as 300ms"),
        (EMPTY + "workload:\n- send: {every: 0.5ms, for: 1s}", "line 5: every: '0.5ms' is not a whole number of ms"),
        (EMPTY + "workload:\n- send: {every: 0, for: 1s}", "line 5: every must be 1ms at least"),
        (EMPTY + "workload:\n- send: {every: 1s, for: 1s, size: 1GB}", "line 5: size: unknown unit 'GB'"),
        (EMPTY + "workload:\n- send: {every: 1s, for: 1s, size: 8MiB}", "line 5: send: size must be 4194304 at most"),
        (EMPTY + "workload:\n- send: {every: 1s, for: 1s, wait: 1}", "line 5: send needs wait as bool, not 1"),
        (EMPTY + "workload:\n- pull: {every: 1s, for: 1s, node: slave2}", "line 5: this scenario has no 'slave2'"),
        (EMPTY + "workload:\n- send: {every: 1ms, for: 60s}", "the workload makes 60000 operations"),
        # Timeline
        (EMPTY + "timeline:\n- {at: 1s, fault: dwon}", "line 5: unknown fault 'dwon'; did you mean 'down'?"),
        (EMPTY + "timeline:\n- {at: 1s, fault: down, with: {lnk: ha}}", "no key 'lnk'; did you mean 'link'?"),
        (EMPTY + "timeline:\n- {at: 1s, fault: down, with: {link: ha2}}", "line 5: this scenario has no 'ha2'"),
        (EMPTY + "timeline:\n- {at: 1s, fault: down, with: {link: moon}}", "link cannot be 'moon'; valid: ha, client"),
        (EMPTY + "timeline:\n- {at: 1s, fault: latency, with: {ms: -1}}", "ms cannot be -1; valid: 0 to"),
        (EMPTY + "timeline:\n- {at: 1s, fault: kill, with: {node: names}}", "line 5: this scenario has no 'names'"),
        (EMPTY + "timeline:\n- {fault: down}", "line 5: a step's time is one of at, after, after_sends"),
        (EMPTY + "timeline:\n- {at: 1s, after: 1s, fault: down}", "not at and after"),
        (EMPTY + "timeline:\n- {at: 1s}", "line 5: a step does one thing: fault, heal, or one of arm, await"),
        (EMPTY + "timeline:\n- {at: 1s, fault: down, heal: down}", "line 5: a step does one thing"),
        (EMPTY + "timeline:\n- {at: 1s, pull: {}, for: 1s}", "line 5: for belongs to a fault, not to pull"),
        (EMPTY + "timeline:\n- {at: 1s, advance: {ms: 1}}", "line 5: a step has no key 'advance'"),
        (EMPTY + "timeline:\n- {at: 1s, heal: cut}", "line 5: heal: no fault before it has the id or the name 'cut'"),
        (EMPTY + "timeline:\n- {at: 1s, await: {what: rain, count: 1, ms: 1}}", "line 5: nothing called 'rain'"),
        (
            EMPTY + "timeline:\n- {at: 1s, arm: {node: master, point: put, nth: 1, name: kll}}",
            "line 5: unknown fault 'kll'; did you mean 'kill'?",
        ),
        (
            EMPTY + "timeline:\n- {at: 1s, fault: down, for: 1s, id: a}\n- {at: 3s, fault: down, for: 1s, id: a}",
            "line 6: the id 'a' is there twice",
        ),
        (
            EMPTY + "timeline:\n- {at: 1s, fault: down, for: 9s}\n- {at: 2s, fault: down, for: 1s}",
            "line 6: two 'down' overlap and the later one ends first",
        ),
        (
            EMPTY + "timeline:\n- {at: 1s, fault: down, for: 1s}\n- {at: 5s, heal: down}",
            "line 6: heal: no 'down' without an end is active then",
        ),
        (EMPTY + "timeline:\n- {after_sends: 1, fault: down}", "line 5: after_sends: 1: the workload sends only 0"),
        # Expectations and the rest
        ("name: x\nabout: y\nexpect: {judged: [gravity]}", "line 3: unknown law 'gravity'"),
        ("name: x\nabout: y\nexpect: {judged: [log-prefx]}", "unknown law 'log-prefx'; did you mean 'log-prefix'?"),
        ("name: x\nabout: y\nexpect: {statuses: {PUT_KO: 1}}", "unknown status 'PUT_KO'; did you mean 'PUT_OK'?"),
        ("name: x\nabout: y\nexpect: {events: {divrged: 1}}", "line 3: unknown kind of event 'divrged'; did you mean"),
        ("name: x\nabout: y\nexpect: {events: {append@moon: 1}}", "line 3: unknown node 'moon'"),
        ("name: x\nabout: y\nexpect: {statuses: {PUT_OK: many}}", "line 3: PUT_OK: needs a count such as 0, '>=1'"),
        ("name: x\nabout: y\nexpect: {statuses: {PUT_OK: 9..1}}", "line 3: PUT_OK: needs a count such as"),
        ("name: x\nabout: y\nexpect: {during: {cut: {}}}", "line 3: no step of the timeline has the id 'cut'"),
        ("name: x\nabout: y\nexpect: {costs: {lot: 1}}", "line 3: costs has no key 'lot'; did you mean 'lost'?"),
        ("name: x\nabout: y\nexpect: {costs: {lost: few}}", "line 3: lost: needs a count such as 0, '>=1'"),
        ("name: x\nabout: y\nexpect: {bites: 1}", "line 3: bites is true or false, not 1"),
        (EMPTY + "laws: [gravity]", "line 4: unknown law 'gravity'"),
        (EMPTY + "catches: [nobody]", "line 4: unknown mutant 'nobody'"),
        (EMPTY + "differs: {gravity: x}", "line 4: unknown law 'gravity'"),
        # Variables
        (EMPTY + "each: {}", "line 4: each is a mapping of variables"),
        (EMPTY + "each: {a: 0..999}", "line 4: 0..999 has more than 256 values"),
        (EMPTY + "each: {a: 0..99, b: 0..99}", "line 4: each makes 10000 combinations; 1 to 256 are valid"),
        (EMPTY + "each: []", "line 4: each makes no combination"),
        (EMPTY + "each: {a: 0..255, b: 0..255, c: 0..255, d: 0..255}", "line 4: each makes 4294967296 combinations"),
        (EMPTY + "settings:\n  haTransferBatchSize: 512\n  lab.bufferBytes: 1\n  lab.latencyMicros: 9000", "lab.buff"),
        (EMPTY + "each: {a: []}", "line 4: each makes 0 combinations"),
        (EMPTY + "each: [{a: 1}, {b: 1}]", "line 4: each combination gives the same variables a value"),
        (EMPTY + 'each: {bytes: [1]}\nlasts: "${bites}"', "unknown variable 'bites'; did you mean 'bytes'?"),
        (EMPTY + 'lasts: "${bytes}"', "line 4: unknown variable 'bytes'"),
    ],
)  # fmt: skip
def test_complaint_names_the_line_and_the_remedy(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as why:
        reading.from_text(text, "x")
    assert complaint in str(why.value) and str(why.value).startswith("x.yaml")
    assert "\n" not in str(why.value) and len(str(why.value)) < 3_000


def test_smallest_file_is_a_scenario() -> None:
    (case,) = reading.from_text(EMPTY, "x").cases
    assert case.steps == case.loads == () and case.expect.bites


def test_variables_keep_their_type_alone_and_become_text_within_text() -> None:
    text = (
        'name: x\nabout: y\neach: {bytes: 1..3, node: [slave, master]}\nsettings: {slaveTimeout: "${bytes}000"}\n'
        'timeline:\n- {at: 1s, fault: limit_data, with: {link: "client-${node}", bytes: "${bytes}"}}\nexpect: {}\n'
    )
    cases = reading.from_text(text, "x").cases
    assert [each.label for each in cases[:3]] == ["bytes=1, node=slave", "bytes=1, node=master", "bytes=2, node=slave"]
    assert cases[3].steps[0].op.args["bytes"] == 2 and cases[3].steps[0].op.args["link"] == "client-master"
    assert cases[3].settings == {"slaveTimeout": "2000"}


def test_combinations_are_taken_as_listed_and_name_keys_too() -> None:
    text = (
        "name: x\nabout: y\neach:\n- {told: PUT_OK, never: timeout}\n- {told: timeout, never: PUT_OK}\n"
        'expect: {statuses: {"${told}": ">=1", "${never}": 0}}\n'
    )
    one, other = reading.from_text(text, "x").cases
    assert one.expect.whole.statuses == {"PUT_OK": Bound(1, None), "timeout": Bound(0, 0)}
    assert other.expect.whole.statuses == {"timeout": Bound(1, None), "PUT_OK": Bound(0, 0)}
    with pytest.raises(UsageError, match="two of its keys are the same where told=PUT_OK"):
        reading.from_text(text.replace("told: PUT_OK, never: timeout", "told: PUT_OK, never: PUT_OK"), "x")


@pytest.mark.parametrize(("text", "ms"), [("300ms", 300), ("2s", 2_000), ("1m", 60_000), ("1.5 s", 1_500), (0, 0)])
def test_times(text: object, ms: int) -> None:
    assert amounts.time_ms(text) == ms


@pytest.mark.parametrize(("text", "size"), [("200B", 200), ("4KiB", 4_096), ("1MiB", 1_048_576)])
def test_sizes(text: object, size: int) -> None:
    assert amounts.size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "ms", "-1s", "1e3s", "1", 1, True, None, "٣s", "1s2"])
def test_what_is_no_time(text: object) -> None:
    with pytest.raises(ValueError, match="needs a time"):
        amounts.time_ms(text)


@pytest.mark.parametrize(
    ("text", "holds", "not_held"),
    [(3, (3,), (2, 4)), (">=2", (2, 99), (0, 1)), ("<= 2", (0, 2), (3,)), ("1..2", (1, 2), (0, 3)), ("0", (0,), (1,))],
)
def test_bounds(text: object, holds: tuple[int, ...], not_held: tuple[int, ...]) -> None:
    found = amounts.bound(text)
    assert all(map(found.holds, holds)) and not any(map(found.holds, not_held))


def test_bounds_in_words() -> None:
    assert [str(amounts.bound(each)) for each in (1, ">=2", "<=3", "4..5")] == [
        "exactly 1", "at least 2", "at most 3", "4 to 5",
    ]  # fmt: skip


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file or directory; name a scenario's file"):
        library.find(str(tmp_path / "nowhere.yaml"))
    with pytest.raises(UsageError, match="Is a directory"):
        library.find(f"{tmp_path}/")
    path = tmp_path / "x.yaml"
    path.write_bytes(b"name: x\nabout: \xff\n")
    with pytest.raises(UsageError, match=r"x\.yaml, line 2: not UTF-8"):
        library.find(str(path))
    path.write_bytes(b"x" * (yaml_tree.MAX_FILE_BYTES + 10))
    with pytest.raises(UsageError, match="larger than 256 KiB"):
        library.find(str(path))


def test_scenarios_are_found_by_name_and_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(EMPTY.replace("name: x", "name: mine"), encoding="utf-8")
    assert [each.name for each in library.find_all(["slave-lag", str(path), "slave-lag"])] == ["slave-lag", "mine"]
    own = tmp_path / "notes.md"
    own.write_text("# Mine\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UsageError, match=r"notes\.md is a file, but not a scenario: a scenario is YAML and its name ends in \.yaml"
    ):
        library.find("notes.md")
    with pytest.raises(UsageError, match=r"unknown scenario 'slave-lga'; did you mean 'slave-lag'\? \(or name a file"):
        library.find("slave-lga")
    twin = tmp_path / "slave-lag.yaml"
    twin.write_text(EMPTY.replace("name: x", "name: slave-lag"), encoding="utf-8")
    with pytest.raises(UsageError, match="two scenarios are called 'slave-lag'"):
        library.find_all(["slave-lag", str(twin)])


APART = WHOLE.replace(
    """\
expect:
  judged: [log-prefix]
  statuses: {PUT_OK: ">=1", PUT_OK@master: 1..9}
  during: {slow: {statuses: {timeout: 0}, events: {append@slave2: "<=3"}}}
  bites: false
""",
    """\
expect:
  - judged: [log-prefix]
  - when: "<5, not bare-connection-counts"
    judged: [ack-unavailable-honest]
    statuses: {SLAVE_NOT_AVAILABLE: ">=1"}
  - when: bare-connection-counts
    statuses: {FLUSH_SLAVE_TIMEOUT: ">=1"}
  - when: 5.5.0
    during: {slow: {statuses: {PUT_OK: 3}}}
""",
)


def test_expectations_with_when_count_for_the_versions_and_deviations_that_they_name() -> None:
    (case,) = reading.from_text(APART, "lag").cases
    clean, bare, new = case.on("4.9.7", ()), case.on("4.9.7", {"bare-connection-counts"}), case.on("5.5.0", ())
    assert [each.expect.judged for each in (clean, bare, new)] == [
        ("log-prefix", "ack-unavailable-honest"), ("log-prefix",), ("log-prefix",),
    ]  # fmt: skip
    assert clean.expect.whole.statuses == {"SLAVE_NOT_AVAILABLE": Bound(1, None)}
    assert bare.expect.whole.statuses == {"FLUSH_SLAVE_TIMEOUT": Bound(1, None)}
    assert [each.when for each in new.expect.phases] == [DURING] and not clean.expect.phases
    assert case.judged == {"log-prefix", "ack-unavailable-honest"}


@pytest.mark.parametrize(
    ("old", "new", "line", "complaint"),
    [
        ("when: 5.5.0", "when: =>5", 23, "unknown deviation '=>5'"),
        ("when: 5.5.0", "when: 5.x", 23, "'5.x' is not a range of versions; valid are such as 5.5.0"),
        ("when: 5.5.0", "when: bare-conection-counts", 23, "did you mean 'bare-connection-counts'?"),
        ("when: 5.5.0", "when: [5.5.0]", 23, "when is a text"),
        ("when: 5.5.0", "whenn: 5.5.0", 23, "did you mean 'when'?"),
        ("  - judged: [log-prefix]\n", "  - judged\n", 17, "expect is a mapping of when, judged"),
    ],
)
def test_a_when_that_means_nothing_is_refused_with_its_line(old: str, new: str, line: int, complaint: str) -> None:
    assert old in APART
    with pytest.raises(UsageError) as why:
        reading.from_text(APART.replace(old, new), "lag")
    assert str(why.value).startswith(f"lag.yaml, line {line}: ")
    assert complaint in str(why.value)
