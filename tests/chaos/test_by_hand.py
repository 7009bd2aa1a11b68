"""A finding's script for people without pairproof: what a shell and RocketMQ's tools can do."""

from __future__ import annotations

import subprocess

import pytest

from pairproof.chaos.rocketmq import by_hand
from pairproof.harness.trials.schedule import Op

FILES = {
    "master": "brokerRole=SYNC_MASTER\nlistenPort=4711\nstorePathRootDir=/somewhere\nmaxMessageSize=9\n"
    "slaveTimeout=3000\n",
    "slave": "brokerRole=SLAVE\nbrokerId=1\nhaMasterAddress=127.0.0.1:4712\n",
}
USUAL = {"slaveTimeout": "3000", "maxMessageSize": "4194304"}


def script(*ops: Op) -> str:
    return by_hand.script("lost:\nm1", "4.9.7", ops, FILES, USUAL, lambda op: f"{op.do}\nin words")


def steps(*ops: Op) -> list[str]:
    return script(*ops).split(f"sleep {by_hand.SAVED_S}\n\n")[1].split("\n\n# What")[0].splitlines()


def test_brokers_keep_their_settings_but_not_the_labs_places() -> None:
    found = script()
    master = found.split("cat > master.conf <<'END'\n")[1].split("END")[0].splitlines()
    assert {"brokerRole=SYNC_MASTER", "maxMessageSize=9", "listenPort=10911", "storePathRootDir=master"} <= set(master)
    assert "slaveTimeout=3000" not in master and "haMasterAddress=127.0.0.1:10912" in found
    assert "4711" not in found and "4712" not in found and "somewhere" not in found
    assert found.splitlines()[1] == "# lost: m1"


@pytest.mark.parametrize(
    ("op", "line"),
    [
        (Op("advance", {"ms": 1_500}), "sleep 1.5"),
        (Op("send", {"producer": 0, "size": 30, "wait": False, "queue": 2}), "send 2 30 1 0 false"),
        (Op("batch", {"producer": 0, "size": 30, "wait": True, "queue": 2, "count": 3}), "send 2 30 3 0 true"),
        (Op("delayed", {"producer": 0, "queue": 1, "level": 3}), "send 1 100 1 3 true"),
        (Op("join", {"group": 2, "consumer": 1}), "CONSUMER=1 consume g2 clustering 'paidAa || a' 0 0 0 16"),
        (Op("join", {"group": 8, "consumer": 0}), "CONSUMER=0 consume g8 broadcasting '*' 0 0 0 16"),
        (Op("leave", {"group": 2, "consumer": 1, "lost": True}), "signal KILL g2-1"),
        (
            Op("topic", {"number": 0, "queues": 2, "node": "slave", "perm": 4}),
            "admin updateTopic -b 127.0.0.1:20911 -t t0 -w 2 -r 2 -p 4",
        ),
        (
            Op("recreate", {"what": "group", "number": 1, "steps": 2, "node": "master"}),
            "admin updateSubGroup -b 127.0.0.1:10911 -g ga1 -i 1 -w 0; "
            "admin deleteSubGroup -b 127.0.0.1:10911 -g ga1 -r true",
        ),
        (Op("fault", {"name": "down", "link": "ha"}), "# Not possible by hand: fault in words"),
        (Op("fault", {"name": "kill", "node": "slave3"}), "# Not possible by hand: fault in words"),
        (Op("topic", {"number": 0, "queues": 2, "node": "slave2"}), "# Not possible by hand: topic in words"),
    ],
)
def test_a_step_is_a_line_or_a_comment(op: Op, line: str) -> None:
    assert steps(op) == [line]


def test_a_fault_ends_where_the_program_ends_it_or_at_the_end() -> None:
    kill, pause = Op("fault", {"name": "kill", "node": "master"}), Op("fault", {"name": "pause", "node": "slave"})
    assert steps(kill, pause, Op("heal", {"name": "kill"}), Op("heal", {"name": "kill"})) == [
        "signal KILL master; ended master", "signal STOP slave", "start master", "signal CONT slave",
    ]  # fmt: skip


@pytest.mark.parametrize(("more", "status"), [("", 0), ("\nif", 2)])
def test_the_script_is_one_that_a_shell_reads(more: str, status: int) -> None:
    done = subprocess.run(["sh", "-n"], input=(script() + more).encode(), capture_output=True, check=False)
    assert done.returncode == status, done.stderr
