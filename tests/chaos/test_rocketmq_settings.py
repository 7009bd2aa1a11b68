"""What a Java broker is told of a trial's settings: everything that its version knows, and nothing else."""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import fields
from pathlib import Path
from struct import pack

import pytest

from pairproof.chaos.rocketmq import jvm, setters
from pairproof.chaos.rocketmq.install import JARS, VERSIONS
from pairproof.chaos.rocketmq.settings import OURS, properties
from pairproof.harness.errors import LabError
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.shell import catalogue

PATHS = {"storePathRootDir": "/s", "storePathCommitLog": "/s/commitlog", "bindAddress": "127.0.0.1"}
COMMON = {each.name for each in fields(BrokerConfig)} - {*OURS, "inSyncReplicas", "haSlaveFallbehindMax"}
KNOWN = {
    "4.9.7": COMMON | {"haSlaveFallbehindMax"},
    "5.5.0": COMMON | {"haMaxGapNotInSync", "inSyncReplicas", "bindAddress", "timerWheelEnable"},
}
"""What the jars of a version would say, of the settings that matter here."""


def given(version: str, **settings: object) -> dict[str, str]:
    return properties(KNOWN[version], BrokerConfig(rocketmqVersion=version, **settings), PATHS)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_broker_is_told_also_what_is_the_references_default(version: str) -> None:
    told = given(version)
    assert {key: told[key] for key in ("brokerName", "brokerIP1", "brokerIP2", "brokerClusterName", "brokerId")} == {
        "brokerName": "broker-a", "brokerIP1": "127.0.0.1", "brokerIP2": "127.0.0.1",
        "brokerClusterName": "DefaultCluster", "brokerId": "0",
    }  # fmt: skip
    assert told["autoCreateTopicEnable"] == "true" and told["slaveReadEnable"] == "false"
    assert not set(OURS) & set(told)


def test_an_address_that_is_not_set_is_not_written() -> None:
    assert not {"namesrvAddr", "haMasterAddress"} & set(given("4.9.7"))
    assert given("4.9.7", namesrvAddr="127.0.0.1:1")["namesrvAddr"] == "127.0.0.1:1"
    assert given("4.9.7", brokerIP2="127.0.0.2")["brokerIP2"] == "127.0.0.2"


def test_what_is_called_otherwise_or_unknown_is_written_as_each_version_knows_it() -> None:
    old, new = given("4.9.7", haSlaveFallbehindMax=3_000), given("5.5.0", haSlaveFallbehindMax=3_000, inSyncReplicas=2)
    assert old["haSlaveFallbehindMax"] == "3000" and "haMaxGapNotInSync" not in old
    assert new["haMaxGapNotInSync"] == "3000" and "haSlaveFallbehindMax" not in new
    assert new["inSyncReplicas"] == "2" and "inSyncReplicas" not in old
    # Its own value, 1, and not the number 0.
    assert "inSyncReplicas" not in given("5.5.0")


def test_a_java_that_is_too_old_is_named_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(old))
    jvm.java.cache_clear()
    jvm.version.cache_clear()
    with pytest.raises(LabError, match=r"java is not a Java that the lab can use; real RocketMQ needs a JDK \(17"):
        jvm.java()


def test_a_name_server_of_the_machines_own_is_never_dialled() -> None:
    assert jvm.environment({"NAMESRV_ADDR": "production:9876", "PATH": "/bin"}) == {"PATH": "/bin"}


def class_file(**setters: str) -> bytes:
    """A class without fields; ``setters``: methods and what they take."""
    texts = [text.encode() for each in setters.items() for text in each]
    pool = b"".join(b"\x01" + len(each).to_bytes(2, "big") + each for each in texts)
    # A long has two places in the pool.
    pool = b"\x05" + bytes(8) + pool
    numbers = [(1, 3 + 2 * at, 4 + 2 * at, 1, 3, 2, 0) for at in range(len(setters))]
    methods = b"".join(pack(">HHHHHIH", *each) for each in numbers)
    head = b"\xca\xfe\xba\xbe\0\0\0\x34" + (len(texts) + 3).to_bytes(2, "big") + pool + bytes(8)
    return head + bytes(2) + len(setters).to_bytes(2, "big") + methods + bytes(2)


def test_the_settings_of_a_version_are_its_setters_and_nothing_that_only_looks_like_one(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "rocketmq-store-9.9.9.jar", "w") as jar:
        jar.writestr("org/other/BrokerConfig.class", class_file(setBrokerName="(Ljava/lang/String;)V", reset="(I)V"))
        role = "(Lorg/apache/rocketmq/store/config/BrokerRole;)V"
        more = class_file(setTimed="(Z)V", setRole=role, setRatio="(D)V", setSize="(J)V", set="(I)V")
        jar.writestr("config/MessageStoreConfig.class", more)
        jar.writestr("config/Unasked.class", class_file(setOther="(I)V"))
    assert setters.known(tmp_path) == {"brokerName": str, "timed": bool, "ratio": float, "size": int}


def test_a_folder_without_a_brokers_jars_says_so(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no settings of a RocketMQ broker in the jars of "):
        setters.known(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_jars_of_a_version_say_what_it_knows(version: str) -> None:
    found = setters.known(JARS[version].install())
    assert found == catalogue.of(version) and set(found) >= KNOWN[version]
    for absent in {"haMaxGapNotInSync", "inSyncReplicas", "haSlaveFallbehindMax"} - KNOWN[version]:
        assert absent not in found
    assert found["slaveTimeout"] is int and found["brokerRole"] is str and found["autoCreateTopicEnable"] is bool
