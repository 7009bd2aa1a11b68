"""Tests of ``pull-is-filled``."""

from histories import SIZE, H, assert_broken, assert_holds, assert_vacuous
from histories.pulls import Q, pulled, world

from pairproof.harness.rocketmq.laws.delivery.pull_is_filled import PullIsFilled


def listed(history: H, *offsets: int, size: int = SIZE) -> H:
    for offset in offsets:
        history.add(
            "record", node="master", op=7, message=f"m{offset}", queue=Q, queue_offset=offset, lo=offset * size,
            hi=(offset + 1) * size, digest=5,
        )  # fmt: skip
    return history


def test_an_answer_ends_with_its_queue_or_with_the_messages_asked_for() -> None:
    assert assert_holds(PullIsFilled, pulled(world(), got=(0, 1, 2, 3), to=4)).judged == 2
    assert_holds(PullIsFilled, listed(pulled(world(), got=(0, 1), to=2, most=2), 2, 3))
    wrong = "brings 2 messages of 200 bytes, although the queue goes on with one of 100 bytes at 2"
    assert_broken(PullIsFilled, listed(pulled(world(), got=(0, 1), to=2, most=3), 2, 3), wrong)
    assert_broken(PullIsFilled, listed(pulled(world(), got=(0, 1), to=2), 2, 3), "the limits are 8 messages and 65536")


def test_an_answer_ends_at_the_brokers_limit_of_bytes() -> None:
    large = 30_000
    assert_holds(PullIsFilled, listed(pulled(world(), got=(0, 1), to=2, size=large), 2, size=large))
    in_memory = world(totalMemory=1_000_000)
    wrong = "the limits are 32 messages and 262144 bytes"
    assert_broken(PullIsFilled, listed(pulled(in_memory, got=(0, 1), to=2, size=large), 2, size=large), wrong)


def test_an_answer_brings_no_more_than_the_limits_and_one_message_whatever_its_size() -> None:
    wrong = "brings 2 messages of 200 bytes and more; the limits are 1 messages and 262144 bytes"
    assert_broken(PullIsFilled, pulled(world(), got=(0, 1), to=2, most=1, held=(0, 2)), wrong)
    large = 140_000
    assert_holds(PullIsFilled, pulled(world(), got=(0,), to=1, size=300_000, held=(0, 1)))
    wrong = "brings 2 messages of 280000 bytes and more; the limits are 32 messages and 262144 bytes"
    for f in ("pull", "select"):
        assert_broken(PullIsFilled, pulled(world(), got=(0, 1), to=2, size=large, held=(0, 2), f=f), wrong)
    assert_holds(PullIsFilled, pulled(world(), got=(0, 1), to=2, size=131_072, held=(0, 2)))


def test_messages_in_memory_have_the_larger_limits() -> None:
    eight = tuple(range(8))

    def answer(log: int, **settings: object) -> H:
        history = world(**settings).append("master", 0, log, "put", "m0")
        return listed(pulled(history, got=eight, to=8, held=(0, 9)), 8)

    assert_holds(PullIsFilled, answer(900, totalMemory=200))
    assert_broken(PullIsFilled, answer(900, totalMemory=300), "the limits are 32 messages")
    assert_holds(PullIsFilled, answer(900, totalMemory=300, maxTransferCountOnMessageInMemory=8))
    assert_holds(PullIsFilled, answer(900, totalMemory=300, accessMessageInMemoryMaxRatio=0))
    assert_holds(PullIsFilled, answer(900))


def test_a_broker_that_started_since_the_pull_began_may_have_another_log() -> None:
    """The master restarted with an older image: the message asked for is in memory now."""

    def answer(started: str) -> H:
        history = world(totalMemory=200).append("master", 0, 2_000, "put", "m0")
        return pulled(history, got=tuple(range(9)), to=9, held=(0, 9), starts=started)

    assert_holds(PullIsFilled, answer("master"))
    assert_broken(PullIsFilled, answer("slave"), "brings 9 messages of 900 bytes and more; the limits are 8 messages")


def test_after_a_restart_a_message_left_out_may_have_been_on_disk() -> None:
    def answer(started: str, count: int = 8) -> H:
        history = world(totalMemory=20_000).append("master", 0, 20_000, "put", "m0")
        history = pulled(history, got=tuple(range(count)), to=count, held=(0, 9), starts=started)
        return listed(history, count)

    assert_holds(PullIsFilled, answer("master"))
    assert_broken(PullIsFilled, answer("master", 7), "brings 7 messages")


def test_java_may_end_an_answer_with_a_file_of_the_queue() -> None:
    files = {"mappedFileSizeConsumeQueue": 40}
    assert assert_holds(PullIsFilled, listed(pulled(world(java=True, **files), got=(0, 1), to=2), 2)).judged == 1
    assert_broken(PullIsFilled, listed(pulled(world(**files), got=(0, 1), to=2), 2), "brings 2 messages")
    assert_broken(PullIsFilled, listed(pulled(world(java=True, **files), got=(0,), to=1), 1), "brings 1 messages")


def test_a_message_of_unknown_size_may_be_too_large() -> None:
    assert_vacuous(PullIsFilled, pulled(world(), got=(0,), to=1))
    assert_vacuous(PullIsFilled, listed(pulled(world(), got=(0,), to=1, group="G"), 1))
    assert_vacuous(PullIsFilled, listed(pulled(world(), got=(0,), to=1, f="select"), 1))
