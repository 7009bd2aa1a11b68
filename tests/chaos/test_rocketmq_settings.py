"""What a Java broker is told of a trial's settings: everything that its version knows, and nothing else."""

from __future__ import annotations

import re
import zipfile

import pytest

from pairproof.chaos.rocketmq import jvm
from pairproof.chaos.rocketmq.install import JARS
from pairproof.chaos.rocketmq.settings import DIALECTS, OURS
from pairproof.reference.core.config import BrokerConfig

PATHS = {"storePathRootDir": "/s", "storePathCommitLog": "/s/commitlog", "bindAddress": "127.0.0.1"}
CONFIGS = re.compile(r"/(BrokerConfig|BrokerIdentity|MessageStoreConfig|Netty(Server|Client)Config)\.class$")


def given(version: str, **settings: object) -> dict[str, object]:
    return DIALECTS[version].properties(BrokerConfig(rocketmqVersion=version, **settings), PATHS)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", list(JARS))
def test_a_broker_is_told_also_what_is_the_references_default(version: str) -> None:
    told = given(version)
    assert {key: told[key] for key in ("brokerName", "brokerIP1", "brokerIP2", "brokerClusterName", "brokerId")} == {
        "brokerName": "broker-a", "brokerIP1": "127.0.0.1", "brokerIP2": "127.0.0.1",
        "brokerClusterName": "DefaultCluster", "brokerId": 0,
    }  # fmt: skip
    assert told["autoCreateTopicEnable"] == "true" and told["slaveReadEnable"] == "false"
    assert not set(OURS) & set(told)


def test_an_address_that_is_not_set_is_not_written() -> None:
    assert not {"namesrvAddr", "haMasterAddress"} & set(given("4.9.7"))
    assert given("4.9.7", namesrvAddr="127.0.0.1:1")["namesrvAddr"] == "127.0.0.1:1"
    assert given("4.9.7", brokerIP2="127.0.0.2")["brokerIP2"] == "127.0.0.2"


def test_what_is_called_otherwise_or_unknown_is_written_as_each_version_knows_it() -> None:
    old, new = given("4.9.7", haSlaveFallbehindMax=3_000), given("5.5.0", haSlaveFallbehindMax=3_000, inSyncReplicas=2)
    assert old["haSlaveFallbehindMax"] == 3_000 and "haMaxGapNotInSync" not in old
    assert new["haMaxGapNotInSync"] == 3_000 and "haSlaveFallbehindMax" not in new
    assert new["inSyncReplicas"] == 2 and "inSyncReplicas" not in old
    # Its own value, 1, and not the number 0.
    assert "inSyncReplicas" not in given("5.5.0")


def test_a_name_server_of_the_machines_own_is_never_dialled() -> None:
    assert jvm.environment({"NAMESRV_ADDR": "production:9876", "PATH": "/bin"}) == {"PATH": "/bin"}


@pytest.mark.slow
@pytest.mark.parametrize("version", list(JARS))
def test_a_version_has_a_setter_for_every_key_that_it_is_given(version: str) -> None:
    found: set[str] = set()
    for jar in JARS[version].install().glob("rocketmq-*.jar"):
        with zipfile.ZipFile(jar) as classes:
            for name in filter(CONFIGS.search, classes.namelist()):
                found |= {each.decode() for each in re.findall(rb"set[A-Z]\w+", classes.read(name))}
    replicas = 2 if BrokerConfig(rocketmqVersion=version).version.counts_replicas else 0
    told = given(version, namesrvAddr="127.0.0.1:1", haMasterAddress="127.0.0.1:2", inSyncReplicas=replicas)
    assert {key for key in told if f"set{key[0].upper()}{key[1:]}" not in found} == set()
