"""The two laws of this package, each on histories that keep it and that break it."""

from __future__ import annotations

from pairproof_redis.redis_everysec import RedisEverysec
from pairproof_redis.redis_same_version import RedisSameVersion

from pairproof import testing


def pair(appendfsync: str = "everysec") -> testing.History:
    history = testing.History().add("config", node="master", detail=f'{{"appendfsync": "{appendfsync}"}}')
    return history.start("master").start("slave")


def acknowledged(history: testing.History, age_ms: int) -> testing.History:
    """A write that was acknowledged so long before the primary is killed and restarts."""
    return history.invoke("w1", f="write").ok("w1").after(age_ms).crash("master").start("master")


def test_what_is_older_than_two_seconds_survives() -> None:
    testing.assert_holds(RedisEverysec, acknowledged(pair(), 2_100).reading("master", "w1"))
    testing.assert_broken(RedisEverysec, acknowledged(pair(), 2_100).reading("master"), "1 writes are gone, such as w1")


def test_the_last_second_may_be_lost() -> None:
    testing.assert_vacuous(RedisEverysec, acknowledged(pair(), 1_000).reading("master"))


def test_a_disk_that_fails_is_the_disaster() -> None:
    history = pair().invoke("w1", f="write").ok("w1").after(1_000).fault("read_only", "master")
    testing.assert_vacuous(RedisEverysec, history.after(9_000).crash("master").start("master").reading("master"))


def test_an_emptied_store_owes_nothing() -> None:
    history = acknowledged(pair(), 5_000).wipe("master").start("master")
    testing.assert_vacuous(RedisEverysec, history.reading("master"))


def version(history: testing.History, node: str, offset: int, digest: int) -> testing.History:
    return history.add("version", node=node, message="8f1c", value=offset, digest=digest)


def test_one_version_is_one_content() -> None:
    same = version(version(pair(), "master", 70, 5), "slave", 70, 5)
    testing.assert_holds(RedisSameVersion, version(same, "slave", 84, 6))
    testing.assert_broken(RedisSameVersion, version(same, "slave", 70, 6), "hold different data at offset 70 of 8f1c")


def test_other_versions_say_nothing_of_each_other() -> None:
    testing.assert_vacuous(RedisSameVersion, version(version(pair(), "master", 70, 5), "slave", 69, 6))
    testing.assert_vacuous(RedisSameVersion, version(version(pair(), "master", 0, 5), "master", 0, 6))
