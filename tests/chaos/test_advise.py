"""``pairproof advise``: its table is the contract's, its figures are decision 43's, each change is needed by a file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pairproof.chaos.commands.advise import advised
from pairproof.harness.commands.main import main
from pairproof.harness.errors import UsageError
from pairproof.harness.judging import deviations
from pairproof.harness.rocketmq import advice, contract, outlook
from pairproof.harness.rocketmq.outlook import MASTER, SLAVE, Pair

ROOT = Path(__file__).resolve().parents[2]
SLAVE_CONF = "brokerRole=SLAVE\nbrokerId=1\nnamesrvAddr=n:9876\n"
RELEASES = ("4.9.7", "5.3.3", "5.5.0")
ROLES, FLUSHES = ("ASYNC_MASTER", "SYNC_MASTER"), ("ASYNC_FLUSH", "SYNC_FLUSH")
PLAYED = {outlook.KILL: "kill", outlook.POWER: "power loss", outlook.WIPED: "disk", outlook.PROMOTION: "promotion"}


def asked(tmp_path: Path, master: str, slave: str = SLAVE_CONF, target: str = "rocketmq@4.9.7") -> dict[str, Any]:
    """What is said of these two texts."""
    files = {"master": tmp_path / "master.conf", "slave": tmp_path / "slave.conf"}
    for side, text in (("master", master), ("slave", slave)):
        files[side].write_text(text)
    return advised(files, target)


def pair(role: str, flush: str, release: str, **more: str) -> Pair:
    version = {"rocketmqVersion": release}
    return Pair({"brokerRole": role, "flushDiskType": flush, **version, **more}, {"brokerRole": "SLAVE", **version})


def changes(found: dict[str, Any]) -> list[str]:
    return [each["change"] for each in found["changes"]]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("flush", FLUSHES)
@pytest.mark.parametrize("role", ROLES)
def test_put_ok_means_what_the_contract_promises(role: str, flush: str, release: str, tmp_path: Path) -> None:
    found = asked(tmp_path, f"brokerRole={role}\nflushDiskType={flush}\n", target=f"rocketmq@{release}")
    waits = role == "SYNC_MASTER" and release == "4.9.7"
    assert f"RocketMQ {release}: {role}, {flush}" in found["deployment"][0]
    assert ("on the master's disk;" in found["deployment"][1]) == (flush == "SYNC_FLUSH")
    assert ("on a slave too: yes" in found["deployment"][1]) == waits
    assert any("waits for no slave" in each for each in found["deployment"]) == (role == "SYNC_MASTER" and not waits)
    lost = {(each["fault"], each["of"]): each["lost"]["says"] for each in found["faults"]}
    assert (lost[outlook.WIPED, MASTER].startswith("none")) == waits
    assert (lost[outlook.PROMOTION, SLAVE].startswith("none")) == waits
    assert (lost[outlook.POWER, MASTER].startswith("none")) == (waits or flush == "SYNC_FLUSH")
    assert (lost[outlook.POWER, "both"].startswith("none")) == (flush == "SYNC_FLUSH")
    assert lost[outlook.KILL, "both"] == "none" and lost[outlook.WIPED, "both"] == "all of the pair's"


def test_the_table_follows_the_contract_and_not_a_copy_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not outlook.may_lose(pair("ASYNC_MASTER", "SYNC_FLUSH", "5.5.0"), outlook.KILL, MASTER)
    monkeypatch.setattr(outlook, "must", lambda *asked: contract.MAY_VANISH)
    assert outlook.may_lose(pair("ASYNC_MASTER", "SYNC_FLUSH", "5.5.0"), outlook.KILL, MASTER)


def test_measured_figures_are_those_of_decision_43() -> None:
    page = next((ROOT / "docs" / "decisions").glob("0043-*")).read_text(encoding="utf-8")
    told, kind = {}, ""
    for deployment, faults, *cells in re.findall(r"^\|(.*)\|(.*)\|(.*)\|(.*)\|$", page, re.M):
        kind = deployment.strip() or kind
        for fault in faults.split(","):
            told[kind, fault.strip()] = [each.strip() for each in cells]
    for (fault, of), figures in outlook.MEASURED.items():
        for number, own in enumerate(figures):
            kind = ("asynchronous slaves", "synchronous slaves")[number // 2]
            if (fault, of) == (outlook.WIPED, SLAVE):
                assert told["both", "the slave's disk"] == ["nothing lost"] * 2 and own[1:] == (0, 0)
            else:
                assert told[kind, PLAYED[fault]][number % 2].split("/")[:3] == [*map(str, own)]


def test_measured_cells_are_of_the_release_that_was_measured() -> None:
    def sources(release: str) -> set[str]:
        rows = outlook.table(pair("ASYNC_MASTER", "ASYNC_FLUSH", release), ())
        return {cell.source for row in rows for cell in row[2:]}

    assert sources("4.9.7") == {"measured", "contract", "model"}
    assert sources("5.5.0") == {"contract", "model"}


def test_a_pool_makes_a_kill_a_loss_only_under_async_flush() -> None:
    assert outlook.may_lose(
        pair("ASYNC_MASTER", "ASYNC_FLUSH", "4.9.7", transientStorePoolEnable="true"), "kill", MASTER
    )
    assert not outlook.may_lose(
        pair("ASYNC_MASTER", "SYNC_FLUSH", "4.9.7", transientStorePoolEnable="true"), "kill", MASTER
    )
    assert not outlook.may_lose(pair("ASYNC_MASTER", "ASYNC_FLUSH", "4.9.7"), "kill", MASTER)
    # There PUT_OK waits for the disk, and so for the pool.
    assert not outlook.may_lose(
        pair("ASYNC_MASTER", "SYNC_FLUSH", "5.5.0", transientStorePoolEnable="true"), "kill", MASTER
    )


def test_a_pool_takes_nothing_where_put_ok_waits_for_a_slave_which_gets_what_left_the_pool(tmp_path: Path) -> None:
    pooled = "flushDiskType=ASYNC_FLUSH\ntransientStorePoolEnable=true\n"
    for role, is_lost in (("ASYNC_MASTER", True), ("SYNC_MASTER", False)):
        found = asked(tmp_path, f"brokerRole={role}\n{pooled}", READS)
        rows = {(each["fault"], each["of"]): each["lost"]["says"] for each in found["faults"]}
        assert ("pool" in rows[outlook.KILL, MASTER]) == ("pool" in rows[outlook.KILL, "both"]) == is_lost
        assert any("own memory" in each for each in found["deployment"]) == is_lost
        assert ("up to 0.4 s" in rows[outlook.KILL, MASTER]) == is_lost
        assert any("transientStorePoolEnable" in each for each in changes(found)) == is_lost
        assert not any("transientStorePoolEnable" in each for each in found["keys"]), "the table knows it"


def test_keys_that_only_controller_mode_or_an_acting_master_uses_are_named(tmp_path: Path) -> None:
    def idle(text: str) -> list[str]:
        found = asked(tmp_path, GOOD + text, READS, "rocketmq@5.5.0")["deployment"]
        return [each for each in found if "change nothing: enableAutoInSyncReplicas" in each]

    assert idle("enableAutoInSyncReplicas=true\n") and not idle("")
    assert not idle("enableAutoInSyncReplicas=true\nenableSlaveActingMaster=true\n")


def test_what_tells_most_of_a_configuration_is_played_first() -> None:
    order = list(outlook.classes())
    assert order[:2] == [(outlook.POWER, MASTER), (outlook.POWER, "both")] and order[-1] == (outlook.WIPED, "both")
    assert len(order) == len(set(order)) == 18
    assert {of for _, of in outlook.classes(has_slave=False)} == {MASTER}


GOOD = "brokerRole=SYNC_MASTER\nflushDiskType=SYNC_FLUSH\ninSyncReplicas=2\n"
READS = f"{SLAVE_CONF}slaveReadEnable=true\n"
NEEDS = [
    # A part of the change, the release, and the files that need it; after it those that do not.
    ("Enable=false (now true)", "4.9.7", ("flushDiskType=ASYNC_FLUSH\ntransientStorePoolEnable=true\n", READS),
     ("flushDiskType=SYNC_FLUSH\ntransientStorePoolEnable=true\n", READS)),
    ("now ASYNC_MASTER", "4.9.7", ("brokerRole=ASYNC_MASTER\n", READS), ("brokerRole=SYNC_MASTER\n", READS)),
    ("inSyncReplicas=2 (now 1)", "5.5.0", ("brokerRole=SYNC_MASTER\n", READS), (GOOD, READS)),
    ("Replicas=2 (now 1)", "5.3.3", ("brokerRole=SYNC_MASTER\nallAckInSyncStateSet=true\n", READS), (GOOD, READS)),
    ("now ASYNC_FLUSH", "5.5.0", ("brokerRole=SYNC_MASTER\n", READS), (GOOD, READS)),
    ("slaveReadEnable", "5.5.0", (GOOD, SLAVE_CONF), (GOOD, READS)),
    ("slave: add brokerRole=SLAVE, brokerId=1", "5.5.0", (GOOD, "slaveReadEnable=true\n"), (GOOD, READS)),
    ("haSendHeartbeatInterval", "5.5.0", (f"{GOOD}haHousekeepingInterval=4000\n", READS), (GOOD, READS)),
    ("mappedFileSizeCommitLog", "5.5.0", (f"{GOOD}mappedFileSizeCommitLog=65536\n", READS),
     (f"{GOOD}mappedFileSizeCommitLog=65536\n", f"{READS}mappedFileSizeCommitLog=65536\n")),
]  # fmt: skip


@pytest.mark.parametrize(("change", "release", "needing", "other"), NEEDS)
def test_a_change_is_recommended_to_files_that_need_it_and_followed_it_is_not_recommended_again(
    change: str, release: str, needing: tuple[str, str], other: tuple[str, str], tmp_path: Path
) -> None:
    found = asked(tmp_path, *needing, target=f"rocketmq@{release}")
    (own,) = (each for each in found["changes"] if change in each["change"])
    assert own["avoids"] and own["costs"] and len(found["changes"]) <= advice.MAX_ADVICE
    assert not any(change in each for each in changes(asked(tmp_path, *other, target=f"rocketmq@{release}")))
    # A later line of a properties file replaces an earlier one.
    files = dict(zip((MASTER, SLAVE), needing, strict=True))
    for key, value in own["sets"].items():
        side, _, name = key.partition(".")
        files[side] += f"{name}={value}\n"
    assert own["sets"]
    assert not any(change in each for each in changes(asked(tmp_path, *files.values(), target=f"rocketmq@{release}")))


@pytest.mark.parametrize("suggests", [True, False])
def test_consumers_may_wait_for_ever_if_the_master_sends_them_to_a_slave_that_serves_none(
    suggests: bool, tmp_path: Path
) -> None:
    master = f"{GOOD}slaveReadEnable={str(suggests).lower()}\n"
    (own,) = asked(tmp_path, master, SLAVE_CONF, target="rocketmq@5.5.0")["changes"]
    assert ("for ever" in own["avoids"]) is suggests


def test_an_upgrade_is_recommended_where_a_failed_flush_is_acknowledged(tmp_path: Path) -> None:
    assert "upgrade RocketMQ 5.3.3 to 5.5.0" in changes(asked(tmp_path, GOOD, READS, "rocketmq@5.3.3"))
    assert changes(asked(tmp_path, GOOD, READS, "rocketmq@5.5.0")) == []
    asynchronous = GOOD.replace("SYNC_FLUSH", "ASYNC_FLUSH")
    assert not any("to 5.5.0" in each for each in changes(asked(tmp_path, asynchronous, READS, "rocketmq@5.3.3")))
    rows = {(each["fault"], each["of"]): each for each in asked(tmp_path, "flushDiskType=SYNC_FLUSH\n")["faults"]}
    assert rows[outlook.READ_ONLY, MASTER]["lost"] == {
        "says": "messages answered PUT_OK after the disk failed (failed-flush-acknowledged)", "source": "measured",
    }  # fmt: skip
    others = asked(tmp_path, "flushDiskType=SYNC_FLUSH\n", target="rocketmq@5.3.3")["faults"]
    sources = {row[cell]["source"] for row in others for cell in ("lost", "single", "unavailable")}
    assert not sources - {"contract", "model"}


def test_a_disk_that_failed_takes_more_under_async_flush_than_the_last_flush_interval(tmp_path: Path) -> None:
    def row(master: str) -> dict[str, Any]:
        found = asked(tmp_path, master, READS, "rocketmq@5.5.0")["faults"]
        return next(each for each in found if (each["fault"], each["of"]) == (outlook.READ_ONLY, MASTER))

    assert row("brokerRole=SYNC_MASTER\n")["lost"]["says"].startswith("messages answered PUT_OK after the disk failed")
    copied = row("brokerRole=SYNC_MASTER\ninSyncReplicas=2\n")
    assert copied["lost"]["says"] == "none" and "on the slave only" in copied["single"]["says"]
    assert row(GOOD)["lost"]["says"] == row(GOOD)["single"]["says"] == "none"


def test_deviations_are_those_of_the_release_that_the_files_do_not_avoid(tmp_path: Path) -> None:
    def known(*files: str, target: str = "rocketmq@4.9.7") -> set[str]:
        return {each["id"] for each in asked(tmp_path, *files, target=target)["deviations"]}

    assert {"first-report-believed", "bare-connection-counts"} <= known("brokerRole=SYNC_MASTER\n")
    assert "bare-connection-counts" not in known("brokerRole=ASYNC_MASTER\n")
    assert "first-report-believed" not in known("brokerRole=SYNC_MASTER\n", target="rocketmq@5.5.0")
    assert "delete-topic-fails" not in known(GOOD, target="rocketmq@5.5.0")
    assert "delete-topic-fails" in known(f"{GOOD}timerWheelEnable=false\n", target="rocketmq@5.5.0")
    assert "file-size-unnoticed" not in known(GOOD)
    assert "file-size-unnoticed" in known(f"{GOOD}mappedFileSizeCommitLog=65536\n")
    assert "first-report-believed" not in known(GOOD, target="rocketmq@reference,4.9.7")


def test_every_deviation_of_ours_says_what_it_means_and_names_real_settings() -> None:
    from pairproof.reference.shell import catalogue

    for each in deviations.every().values():
        assert each.means.endswith("."), each.id
        assert set(each.only_with) <= set(catalogue.settings())


@pytest.mark.parametrize("said", ["means = 3\n", "only_with = { flushDiskType = 3 }\n"])
def test_a_deviation_file_with_another_type_is_refused(said: str) -> None:
    text = (ROOT / "harness/rocketmq/deviations/torn-backup-refused.toml").read_text(encoding="utf-8")
    assert deviations.from_text(text, "x").means
    wrong = said + re.sub(r'^means = (""".*?"""|".*?")\n', "", text, flags=re.M | re.S)
    with pytest.raises(UsageError, match=r"deviation x: (means|only_with)"):
        deviations.from_text(wrong, "x")


def test_keys_that_are_missing_differ_or_are_not_of_the_release_are_named(tmp_path: Path) -> None:
    keys = "\n".join(
        asked(tmp_path, "brokerName=a\ninSyncReplicas=2\nclusterTopicEnabel=true\n", "brokerName=b\n")["keys"]
    )
    for said in (
        "has no brokerRole: RocketMQ uses ASYNC_MASTER", "neither namesrvAddr nor haMasterAddress",
        "brokerName differs (a, b)", "4.9.7 has no key inSyncReplicas", "did you mean clusterTopicEnable?",
    ):  # fmt: skip
        assert said in keys
    good = asked(tmp_path, f"{GOOD}brokerName=a\n", f"{READS}brokerName=a\n", "rocketmq@5.5.0")
    assert good["keys"] == []
    newer = asked(tmp_path, f"{GOOD}brokerName=a\n", f"{READS}brokerName=a\n", "rocketmq@5.3.3")
    assert newer["keys"] == ["which keys RocketMQ 5.3.3 has is assumed from 5.3.1"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--master-conf", "typo.conf"], "no key flushDiskTyp, and would ignore 'SYNC_FLUSH'; did you mean"),
        (["--master-conf", str(ROOT / "README.md")], "in this file is a broker's setting"),
        (["--slave-conf", "absent.conf"], "absent.conf"),
        (["--master-conf", "slave.conf"], "are the two files the right way round?"),
        (["--master-conf", "quoted.conf"], "delete them"),
        ([], "--master-conf FILE --slave-conf FILE"),
    ],
)  # fmt: skip
def test_what_cannot_be_advised_ends_with_2_and_one_line(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "typo.conf").write_text("brokerRole=SYNC_MASTER\nflushDiskTyp=SYNC_FLUSH\n")
    (tmp_path / "slave.conf").write_text(SLAVE_CONF)
    (tmp_path / "quoted.conf").write_text('brokerRole="SYNC_MASTER"\n')
    monkeypatch.chdir(tmp_path)
    assert main(["advise", *arguments]) == 2
    said = capsys.readouterr()
    assert says in said.err and said.err.count("\n") == 1 and not said.out


def test_a_team_reads_its_answer_and_programs_the_same_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = ROOT / "examples" / "broker_team" / "conf"
    files = ["--master-conf", str(conf / "master.conf"), "--slave-conf", str(conf / "slave.conf")]
    assert main(["advise", *files]) == 0
    shown = capsys.readouterr().out
    assert "RocketMQ 4.9.7: SYNC_MASTER, ASYNC_FLUSH" in shown and "neither --target nor a file names" in shown
    assert shown.index("1. master: set flushDiskType=SYNC_FLUSH (now ASYNC_FLUSH)") < shown.index("PUT_OK messages")
    assert main(["advise", *files, "--target", "rocketmq@5.3.1", "--json", str(tmp_path / "a.json")]) == 0
    found: dict[str, Any] = json.loads((tmp_path / "a.json").read_text())
    assert found["changes"][0]["sets"] == {"master.inSyncReplicas": "2"}
    assert {"fault", "of", "lost", "single", "unavailable"} == set(found["faults"][0])
    assert all(each["means"] for each in found["deviations"]) and not found["keys"]
